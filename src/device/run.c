/* What a worker does for a grid: it starts blocks, its own part of them first,
 * and tries those again that wait. */
#include "device/cluster.h"
#include "device/device.h"
#include "processor/processor.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SPARE = 64 };
/* From as many threads on, a kernel's stores go past the cache if they can: 32 MiB of words. With
 * 16 MiB they and who reads the result were slower by 7 to 20 %, with 32 MiB faster by 20 %. */
static const uint64_t STREAM_THREADS = 8 << 20;

static struct frame *spare; /* frames without a block; under grids_lock */
static unsigned spare_count;

/* ---- frames */

static struct frame *frame_take(void)
{
    struct frame *f = worker.spare;
    if (f) {
        worker.spare = NULL;
        return f;
    }
    pthread_mutex_lock(&grids_lock);
    f = spare;
    if (f) {
        spare = f->next;
        spare_count--;
    }
    pthread_mutex_unlock(&grids_lock);
    return f ? f : calloc(1, sizeof *f);
}

static void frame_give(struct frame *f)
{
    if (!worker.spare) {
        worker.spare = f;
        return;
    }
    pthread_mutex_lock(&grids_lock);
    bool keep = spare_count < MOST_SPARE && !f->fibers.size;
    if (keep) {
        f->next = spare;
        spare = f;
        spare_count++;
    }
    pthread_mutex_unlock(&grids_lock);
    if (keep) return;
    frame_release(f);
    free(f);
}

/* Where a thread's local variables are while it runs: on the worker's stack, or in the frame. */
static bool local_on_worker(const struct fl_image_kernel *k)
{
    return k->nsegments == 1 || !(k->local || k->flags & FL_KERNEL_WHOLE);
}

static bool shape_frame(struct frame *f, struct grid *g)
{
    if (!frame_prepare(f, &g->code, g->block, g->dynamic_shared, g->stack_limit)) return false;
    struct fl_block *b = &f->b;
    memcpy(b->nctaid, g->grid, sizeof b->nctaid);
    memcpy(b->cluster, g->cluster, sizeof b->cluster);
    b->explicit_cluster = g->explicit_cluster;
    b->windows = (const uint64_t *)&b->shared;
    f->cluster = NULL;
    b->params = g->params;
    b->symbols = g->symbols;
    b->rt = &runtime;
    b->gridid = g->gridid;
    b->grid_workspace = g->cooperative ? (uint64_t)g->workspace : 0;
    b->nsmid = control->sm_count;
    b->keep_cached = g->blocks * b->nthreads < STREAM_THREADS ? ~0ull : 0;
    if (local_on_worker(g->code.kernel)) {
        b->local_lo = worker.stack_lo;
        b->local_hi = worker.stack_hi;
    }
    return true;
}

static uint32_t nth_sm(const struct grid *g, uint32_t n)
{
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t here = (uint32_t)__builtin_popcountll(g->sms[k]);
        uint64_t word = g->sms[k];
        if (n >= here) {
            n -= here;
            continue;
        }
        while (n--) word &= word - 1;
        return 64 * k + (uint32_t)__builtin_ctzll(word);
    }
    return 0;
}

static void place_block(struct frame *f, const struct grid *g, uint64_t number)
{
    cluster_place(&f->b, g->cluster, number);
    f->b.smid = g->sm_count ? nth_sm(g, (uint32_t)(number % g->sm_count)) : (uint32_t)(number % control->sm_count);
    block_begin(f);
}

/* ---- queues of blocks that wait */

/* Blocks that wait are tried in rounds. Whenever a block ends, the round begins
 * anew with the earliest, which is the one most likely to have waited for it;
 * when a round is over some more blocks are started. */

static void queue_init(struct frame_queue *q) { *q = (struct frame_queue){ NULL, &q->first }; }

static void queue_add(struct frame_queue *q, struct frame *f)
{
    f->next = NULL;
    *q->end = f;
    q->end = &f->next;
}

/* Puts all that other has before what q has. */
static void queue_prepend(struct frame_queue *q, struct frame_queue *other)
{
    if (!other->first) return;
    *other->end = q->first;
    if (!q->first) q->end = other->end;
    q->first = other->first;
    queue_init(other);
}

static struct frame *queue_take(struct frame_queue *q)
{
    struct frame *f = q->first;
    if (f && !(q->first = f->next)) q->end = &q->first;
    return f;
}

/* A block of g has run, for the first time or again; true if its frame is free now. */
static bool after_run(struct grid *g, struct frame *f, enum block_outcome outcome, bool again)
{
    if (outcome == BLOCK_FAULT) fault_report(FAULT_MISALIGNED);
    if (outcome == BLOCK_YIELDED && !grids_aborted()) {
        pthread_mutex_lock(&grids_lock);
        queue_add(&g->tried, f);
        if (f->cluster) f->cluster->busy = false;
        if (!again) atomic_fetch_add(&g->waiting_count, 1);
        atomic_store(&g->has_waited, true);
        pthread_mutex_unlock(&grids_lock);
        return false;
    }
    if (atomic_load(&g->waiting_count)) {
        pthread_mutex_lock(&grids_lock);
        queue_prepend(&g->waiting, &g->tried);
        if (f->cluster) {
            f->cluster->busy = false;
            cluster_leave(f);
        }
        if (again) atomic_fetch_sub(&g->waiting_count, 1);
        pthread_mutex_unlock(&grids_lock);
    }
    atomic_fetch_add(&g->finished, 1);
    return true;
}

/* Blocks that one worker starts together. */
struct run {
    uint64_t first, end;
};

/* How many blocks of g a worker starts at a time. */
static uint64_t share_of(const struct grid *g)
{
    uint64_t share = g->blocks / (worker_count * 8ull) + 1, most = g->code.kernel->nsegments > 1 ? 16 : 256;
    if (atomic_load(&g->has_waited)) share = atomic_load(&g->waiting_count) / 2 + 1;
    return share < most ? share : most;
}

static struct run take_from(_Atomic uint64_t *next, uint64_t end, uint64_t share)
{
    uint64_t first = atomic_load(next) < end ? atomic_fetch_add(next, share) : end;
    if (first > end) first = end;
    return (struct run){ first, end - first < share ? end : first + share };
}

/* The worker's own part first, then what is left of the others'. */
static struct run take_blocks(struct grid *g)
{
    uint64_t share = share_of(g);
    if (!g->parts) return take_from(&g->next, g->blocks, share);
    for (unsigned k = 0; k < worker_count; k++) {
        struct part *p = &g->parts[(worker.number + k) % worker_count];
        struct run r = take_from(&p->next, p->end, k ? share / 4 + 1 : share);
        if (r.first < r.end) return r;
    }
    return (struct run){ 0, 0 };
}

static bool has_new_blocks(struct grid *g)
{
    if (!g->parts) return atomic_load(&g->next) < g->blocks;
    for (unsigned k = 0; k < worker_count; k++)
        if (atomic_load(&g->parts[k].next) < g->parts[k].end) return true;
    return false;
}

/* Without memory for it, blocks are simply taken in turn. */
static void divide(struct grid *g)
{
    if (g->cluster_size > 1 || g->code.kernel->nsegments > 1 || g->blocks < worker_count * 16ull || worker_count == 1)
        return;
    g->parts = aligned_alloc(64, worker_count * sizeof *g->parts);
    for (unsigned k = 0; k < worker_count && g->parts; k++) {
        atomic_init(&g->parts[k].next, g->blocks / worker_count * k);
        g->parts[k].end = k + 1 < worker_count ? g->blocks / worker_count * (k + 1) : g->blocks;
    }
}

/* Puts all blocks of a cluster where they wait for their turn; each may need the others. */
static bool start_cluster(struct grid *g)
{
    struct run run = take_from(&g->next, g->blocks, g->cluster_size);
    if (run.first == run.end) return false;
    struct cluster *c = calloc(1, sizeof *c);
    struct frame_queue all;
    queue_init(&all);
    for (uint32_t rank = 0; rank < g->cluster_size; rank++) {
        struct frame *f = c ? frame_take() : NULL;
        if (!f || !shape_frame(f, g)) {
            fault_report(FAULT_RESOURCES);
            return true;
        }
        place_block(f, g, run.first + rank);
        f->b.windows = c->windows;
        f->cluster = c;
        f->meeting = &c->meeting;
        c->meeting.live = c->meeting.missing += f->b.nthreads;
        c->windows[rank] = (uint64_t)f->b.shared;
        queue_add(&all, f);
    }
    c->size = g->cluster_size;
    pthread_mutex_lock(&grids_lock);
    queue_prepend(&all, &g->waiting);
    queue_prepend(&g->waiting, &all);
    atomic_fetch_add(&g->waiting_count, c->size);
    atomic_store(&g->has_waited, true);
    pthread_mutex_unlock(&grids_lock);
    return true;
}

/* Starts blocks of g until it has none left, one waits, or its share is done. */
static bool run_new(struct grid *g)
{
    if (g->cluster_size > 1) return start_cluster(g);
    struct run run = take_blocks(g);
    if (run.first == run.end) return false;
    struct frame *f = frame_take();
    if (!f || !shape_frame(f, g)) {
        if (f) frame_give(f);
        worker.frame = NULL;
        fault_report(FAULT_RESOURCES);
        return true;
    }
    worker.frame = f;
    if (g->code.kernel->nsegments == 1) {
        place_block(f, g, run.first);
        if (fault_guarded_batch(f, run.end - run.first) && f->b.misaligned) fault_report(FAULT_MISALIGNED);
        if (!f->b.keep_cached) __builtin_ia32_sfence(); /* what went past the cache is there before it counts */
        atomic_fetch_add(&g->finished, run.end - run.first);
        worker.frame = NULL;
        frame_give(f);
        return true;
    }
    for (uint64_t n = run.first; n < run.end && !grids_aborted(); n++) {
        place_block(f, g, n);
        if (after_run(g, f, fault_guarded_run(f), false)) continue;
        worker.frame = NULL;
        f = frame_take();
        if (!f || !shape_frame(f, g)) {
            fault_report(FAULT_RESOURCES);
            break;
        }
        worker.frame = f;
    }
    worker.frame = NULL;
    if (f) frame_give(f);
    return true;
}

/* Tries a block that waits once more; true if it moved. */
static bool run_again(struct grid *g, struct frame *f)
{
    if (local_on_worker(g->code.kernel)) {
        f->b.local_lo = worker.stack_lo;
        f->b.local_hi = worker.stack_hi;
    }
    worker.frame = f;
    enum block_outcome outcome = BLOCK_DONE;
    if (g->code.kernel->nsegments > 1)
        outcome = fault_guarded_run(f);
    else if (fault_guarded_batch(f, 1) && f->b.misaligned)
        outcome = BLOCK_FAULT;
    worker.frame = NULL;
    bool moved = f->moved; /* once it is put aside the frame is anybody's */
    if (!after_run(g, f, outcome, true)) return moved;
    frame_give(f);
    return true;
}

static struct frame *next_of_round(struct grid *g)
{
    pthread_mutex_lock(&grids_lock);
    struct frame *f;
    while ((f = queue_take(&g->waiting)) && f->cluster && f->cluster->busy) queue_add(&g->tried, f);
    if (f && f->cluster) f->cluster->busy = true;
    pthread_mutex_unlock(&grids_lock);
    return f;
}

static void begin_round(struct grid *g)
{
    pthread_mutex_lock(&grids_lock);
    queue_prepend(&g->waiting, &g->tried);
    pthread_mutex_unlock(&grids_lock);
}

enum progress grid_run(struct grid *g)
{
    struct frame *f = atomic_load(&g->waiting_count) ? next_of_round(g) : NULL;
    if (f) return run_again(g, f) ? MOVED : TRIED;
    const uint32_t most = g->resident > RESIDENT_FEW ? g->resident : RESIDENT_FEW;
    bool started = (g->cooperative || atomic_load(&g->waiting_count) < most) && run_new(g);
    if (atomic_load(&g->waiting_count)) begin_round(g);
    return started ? MOVED : STILL;
}

bool grid_has_work(struct grid *g) { return g->waiting.first || g->tried.first || has_new_blocks(g); }

void grid_begin(struct grid *g)
{
    if (g->code.told) managed_begins();
    queue_init(&g->waiting);
    queue_init(&g->tried);
    divide(g);
}
