/* Device memory that managed pages take, by chunks of 2 MiB; that ordinary pages
 * take, by the page. When a device is full the chunk that is unused, then
 * discarded, then least recently the destination of a service leaves: its pages
 * move to the host.
 *
 * Threads that on a GPU go over the same memory side by side come one after the
 * other here, and each would fetch all of it again. So what one kernel has
 * fetched MOST_FETCHED times stays in its reach until it ends. */
#include "base/log.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"
#include "context/context.h"

TAILQ_HEAD(chunks, chunk);
static struct chunks lists[PROCESSORS][CHUNK_LISTS];

void chunk_init(void)
{
    for (unsigned p = 0; p < PROCESSORS; p++)
        for (int k = 0; k < CHUNK_LISTS; k++) TAILQ_INIT(&lists[p][k]);
}

static void move(struct chunk *c, enum chunk_list list)
{
    TAILQ_REMOVE(&lists[c->processor][c->list], c, link);
    c->list = list;
    TAILQ_INSERT_TAIL(&lists[c->processor][list], c, link);
}

static void uncharge(struct chunk *c, uint64_t bytes)
{
    c->bytes -= bytes;
    if (!uvm_exclusive) vram_uncharge(&devices[c->processor - 1].vram, bytes);
}

void chunk_update(struct window *w, unsigned p, bool used)
{
    struct chunk *c = w->chunk[p];
    bool resident = false, kept = false;
    uint64_t bytes = 0;
    if (!c) return;
    for (struct block *b = w->blocks; b; b = b->next) {
        if (!(b->resident & bit(p))) continue;
        resident = true;
        bytes += (uint64_t)mask_count(&b->place[p]->resident, b->region) * PAGE_BYTES;
        kept |= !mask_subset(&b->place[p]->resident, &b->discarded);
    }
    if (w->ordinary && bytes < c->bytes) uncharge(c, c->bytes - bytes);
    enum chunk_list list = !resident ? CHUNK_UNUSED : kept ? CHUNK_USED : CHUNK_DISCARDED;
    /* being a destination refreshes whole windows only */
    if (list != c->list || (used && !w->ordinary && list == CHUNK_USED && w->blocks && !w->blocks->next)) move(c, list);
}

enum { MOST_FETCHED = 4 };

static bool same_work(const struct window *w, unsigned p)
{
    return w->taken.processor == p && w->taken.since == mmu_progress(p);
}

static void note_taken(struct window *w, unsigned p)
{
    if (!same_work(w, p)) {
        w->taken.times = 0;
        w->taken.since = mmu_progress(p);
        w->taken.processor = (uint8_t)p;
    }
    if (w->taken.times < MOST_FETCHED) w->taken.times++;
}

/* Who is to have access wherever the pages go has it to those that are the host's now; without memory for that it faults. */
static void map_accessors(struct block *b, unsigned evicted_from, const struct mask *pages)
{
    const struct policy *policy = &b->range->policy;
    if (policy->read_duplication == READ_DUPLICATION_ENABLED) return;
    for_each_processor(q, policy->accessed_by & ~bit(evicted_from)) {
        if (!can_access(q, CPU)) continue;
        if (block_add_mappings(b, q, pages, TRACE_CAUSE_EVICTION)) return;
    }
}

static CUresult evict_block(struct block *b, unsigned p)
{
    if (!(b->resident & bit(p))) return CUDA_SUCCESS;
    struct mask pages = b->place[p]->resident;
    if (b->window->taken.times == MOST_FETCHED && same_work(b->window, p)) block_unmap_late(b, p, &pages);
    /* no processor keeps a copy of what was duplicated but the host */
    CUresult r = block_make_resident(b, CPU, &pages, NULL, TRACE_CAUSE_EVICTION);
    if (r) return r;
    map_accessors(b, p, &pages);
    block_done(b);
    return CUDA_SUCCESS;
}

static struct chunk *victim(unsigned p, const struct chunk *except)
{
    struct chunk *c;
    for (int k = 0; k < CHUNK_LISTS; k++)
        for (c = TAILQ_FIRST(&lists[p][k]); c; c = TAILQ_NEXT(c, link))
            if (c != except) return c;
    return NULL;
}

static void drop(struct chunk *c)
{
    TAILQ_REMOVE(&lists[c->processor][c->list], c, link);
    c->window->chunk[c->processor] = NULL;
    uncharge(c, c->bytes);
    heap_give(c);
}

/* One chunk of the device goes; CUDA_ERROR_OUT_OF_MEMORY if none can. */
static CUresult evict_one(unsigned p, const struct chunk *except)
{
    struct chunk *c = victim(p, except);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    for (struct block *b = c->window->blocks; b; b = b->next) {
        CUresult r = evict_block(b, p);
        if (r) return r;
    }
    drop(c);
    return CUDA_SUCCESS;
}

static CUresult charge(struct chunk *c, uint64_t bytes)
{
    unsigned p = c->processor;
    /* where host and kernels take turns its allocation has taken it */
    while (!uvm_exclusive && vram_charge(&devices[p - 1].vram, bytes)) {
        if (!evict_one(p, c)) continue;
        fl_log_once(FL_LOG_ERROR,
                    "device %u is full of memory that cannot be evicted: managed memory cannot come to it", p - 1);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    c->bytes += bytes;
    return CUDA_SUCCESS;
}

CUresult chunk_take(struct window *w, unsigned p, unsigned pages)
{
    uint64_t bytes = w->ordinary ? (uint64_t)pages * PAGE_BYTES : VRAM_CHUNK;
    if (w->chunk[p]) return w->ordinary ? charge(w->chunk[p], bytes) : CUDA_SUCCESS;
    struct chunk *c = heap_take(sizeof *c);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (struct chunk){ .window = w, .processor = p, .list = CHUNK_UNUSED };
    CUresult r = charge(c, bytes);
    if (r) {
        heap_give(c);
        return r;
    }
    w->chunk[p] = c;
    note_taken(w, p);
    TAILQ_INSERT_TAIL(&lists[p][CHUNK_UNUSED], c, link);
    return CUDA_SUCCESS;
}

void chunk_give(struct window *w, unsigned p)
{
    if (w->chunk[p]) drop(w->chunk[p]);
}

/* What managed memory there is on p. */
static uint64_t evictable(unsigned p)
{
    uint64_t bytes = 0;
    struct chunk *c;
    quiet_lock(&uvm_lock);
    for (int k = 0; k < CHUNK_LISTS; k++) TAILQ_FOREACH(c, &lists[p][k], link) bytes += c->bytes;
    quiet_unlock(&uvm_lock);
    return bytes;
}

/* Some chunks at a time: others' faults, and signals, wait meanwhile. Who asks for too much changes nothing. */
CUresult chunk_reclaim(struct vram *v, uint64_t size)
{
    enum { AT_ONCE = 64 };
    unsigned p = 1;
    while (&devices[p - 1].vram != v) p++;
    CUresult r = v->capacity - v->used + evictable(p) < size ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    while (v->capacity - v->used < size && !r) {
        uvm_enter();
        for (int n = 0; n < AT_ONCE && v->capacity - v->used < size && !r; n++) r = evict_one(p, NULL);
        uvm_leave();
    }
    return r;
}
