/* Takes the host's commands from the ring, in order. Whoever is idle does it,
 * one thread at a time; each channel's kernels are handed on one by one. */
#include "device/device.h"
#include "base/futex.h"
#include "base/log.h"
#include "processor/processor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct queue {
    struct grid *first, **last;
    struct grid *awaiting; /* first ones of other channels, which wait for this one */
    bool running;
};

static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER, queue_lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue queues[CHANNELS];

static _Atomic unsigned awaiting; /* how many there are */

static void *needed(void *p)
{
    if (p) return p;
    fl_log(FL_LOG_ERROR, "the device process has no memory left for a launch");
    _exit(1);
}

static void *memory(size_t size) { return needed(calloc(1, size)); }

/* Grids that are over are used again, with the memory for their parameters: thousands come and go in a moment. */
static struct grid *unused;             /* under ring_lock */
static _Atomic(struct grid *) returned; /* taken as a whole */

static void grid_return(struct grid *g)
{
    struct grid *next = atomic_load_explicit(&returned, memory_order_relaxed);
    do g->next_queued = next;
    while (!atomic_compare_exchange_weak(&returned, &next, g));
}

static struct grid *grid_new(void)
{
    if (!unused) unused = atomic_exchange(&returned, NULL);
    struct grid *g = unused;
    if (!g) return memory(sizeof *g);
    unused = g->next_queued;
    *g = (struct grid){ .params = g->params, .params_room = g->params_room };
    return g;
}

/* Channels that the calling thread is to go on with: one that goes on may set others going, and so on. */
static _Thread_local struct agenda {
    bool busy, noted[CHANNELS];
    unsigned count;
    uint16_t channel[CHANNELS];
} *agenda;
_Static_assert(CHANNELS <= 1 << 16, "a channel's number fits");

static void note(uint32_t channel)
{
    if (!agenda) agenda = memory(sizeof *agenda);
    if (agenda->noted[channel]) return;
    agenda->noted[channel] = true;
    agenda->channel[agenda->count++] = (uint16_t)channel;
}

/* Those that wait for the channel look again, once the caller is back in channel_go_on. */
static void wake_awaiting(uint32_t channel)
{
    struct queue *q = &queues[channel];
    pthread_mutex_lock(&queue_lock);
    for (struct grid *g; (g = q->awaiting);) {
        q->awaiting = g->next_waiting;
        g->listed = false;
        note(g->channel);
        atomic_fetch_sub(&awaiting, 1);
    }
    pthread_mutex_unlock(&queue_lock);
}

/* Who begins to wait raises the count, says for what, and looks at done behind that; here it is the other way round.
 * completion changes last: who was too late to be asked for is not asleep yet. */
static void channel_advance(uint32_t channel, uint64_t seq)
{
    struct channel *c = &control->channels[channel];
    atomic_store(&c->done, seq);
    uint64_t wanted = atomic_load(&control->waiters) ? atomic_load(&c->wanted) : 0;
    bool wake = wanted && wanted <= seq;
    if (wake) atomic_store(&c->wanted, 0);
    atomic_fetch_add(&control->completion, 1);
    if (wake) futex_wake(&control->completion, 1 << 30);
    if (atomic_load(&awaiting)) wake_awaiting(channel);
}

/* Behind a kernel that has failed nothing is reached any more: the host must not take it for done. */
static void mark(struct grid *g)
{
    if (!g->awaited_seq) control->channels[g->channel].time[g->seq % MARKS] = now_ns();
    if (!grids_aborted()) channel_advance(g->channel, g->seq);
    grid_return(g);
}

/* Whether g, the first of its channel, must wait; then it is looked at again when that is over. Under the lock. */
static bool must_wait(struct grid *g)
{
    if (!g->awaited_seq || g->listed) return g->listed;
    atomic_fetch_add(&awaiting, 1);
    if (atomic_load(&control->channels[g->awaited].done) >= g->awaited_seq) {
        atomic_fetch_sub(&awaiting, 1);
        return false;
    }
    struct queue *q = &queues[g->awaited];
    g->next_waiting = q->awaiting;
    q->awaiting = g;
    return g->listed = true;
}

/* Runs what the channel has next: marks are done on the spot. */
static void go_on(uint32_t channel)
{
    struct queue *q = &queues[channel];
    for (bool marked = false;; marked = true) {
        pthread_mutex_lock(&queue_lock);
        if (marked) q->running = false;
        struct grid *g = q->running ? NULL : q->first;
        if (g && must_wait(g)) g = NULL;
        if (g) {
            q->first = g->next_queued;
            if (!q->first) q->last = &q->first;
            q->running = true;
        }
        pthread_mutex_unlock(&queue_lock);
        if (!g) return;
        if (g->blocks) {
            grid_submit(g);
            return;
        }
        mark(g);
    }
}

/* The same, and for those that waited for it. Called without the lock. */
static void channel_go_on(uint32_t channel)
{
    note(channel);
    if (agenda->busy) return;
    agenda->busy = true;
    while (agenda->count) {
        uint32_t next = agenda->channel[--agenda->count];
        agenda->noted[next] = false;
        go_on(next);
    }
    agenda->busy = false;
}

static void enqueue(struct grid *g)
{
    uint32_t channel = g->channel; /* once it is in the queue it may end at any time */
    struct queue *q = &queues[channel];
    pthread_mutex_lock(&queue_lock);
    if (!q->first) q->last = &q->first;
    *q->last = g;
    q->last = &g->next_queued;
    pthread_mutex_unlock(&queue_lock);
    channel_go_on(channel);
}

void grid_done(struct grid *g)
{
    uint32_t channel = g->channel;
    uint64_t seq = g->seq;
    free(g->parts);
    grid_return(g);
    atomic_fetch_sub(&control->running, 1);
    /* before anyone may go on: what comes next must not be overtaken by this number */
    if (!grids_aborted()) channel_advance(channel, seq);
    pthread_mutex_lock(&queue_lock);
    queues[channel].running = false;
    pthread_mutex_unlock(&queue_lock);
    channel_go_on(channel);
}

/* The host wants to know what a single thread accesses of managed memory (probes are slow: only if it may). */
static bool is_told(const struct grid *g, uint32_t params_size)
{
    if (g->blocks != 1 || g->block[0] * g->block[1] * g->block[2] != 1 || g->code.kernel->flags & FL_KERNEL_WHOLE)
        return false;
    for (uint32_t k = 0; k + sizeof(uint64_t) <= params_size; k += sizeof(uint64_t)) {
        uint64_t p;
        memcpy(&p, g->params + k, sizeof p);
        if (p >= control->managed_base && p < control->managed_end) return true;
    }
    return false;
}

/* Parameters may be as large as a tensor map, which is aligned. */
static void take_parameters(const struct command *c, struct grid *g)
{
    enum { ALIGN = 128, BEHIND = 64 };
    uint32_t size = c->launch.params_size, room = (size + BEHIND + ALIGN - 1) / ALIGN * ALIGN;
    if (room > g->params_room) {
        free(g->params);
        g->params = needed(aligned_alloc(ALIGN, room));
        g->params_room = room;
    }
    for (uint32_t k = 0; k < size; k++) g->params[k] = control->params[(c->launch.params + k) % PARAM_BYTES];
    memset(g->params + size, 0, room - size);
    atomic_store(&control->params_tail, c->launch.params + size);
}

static void launch(const struct command *c)
{
    uint32_t size = c->launch.params_size;
    struct grid *g = grid_new();
    take_parameters(c, g);
    g->code.image = (const struct fl_image *)c->launch.image;
    g->code.kernel =
        (const struct fl_image_kernel *)((const char *)g->code.image + g->code.image->kernels) + c->launch.kernel;
    g->code.segments = (const struct fl_image_segment *)((const char *)g->code.image + g->code.image->segments) +
                       g->code.kernel->first_segment;
    memcpy(g->grid, c->launch.grid, sizeof g->grid);
    memcpy(g->block, c->launch.block, sizeof g->block);
    memcpy(g->cluster, c->launch.cluster, sizeof g->cluster);
    g->cluster_size = g->cluster[0] * g->cluster[1] * g->cluster[2];
    g->explicit_cluster = c->launch.explicit_cluster;
    g->dynamic_shared = c->launch.dynamic_shared;
    g->stack_limit = c->launch.stack_limit;
    g->cooperative = c->launch.cooperative;
    g->resident = c->launch.resident;
    g->symbols = (const uint64_t *)c->launch.symbols;
    g->heap = c->launch.heap;
    g->heap_size = c->launch.heap_size;
    g->gridid = c->launch.gridid;
    memcpy(g->sms, c->launch.sms, sizeof g->sms);
    for (int k = 0; k < 4; k++) g->sm_count += (uint32_t)__builtin_popcountll(g->sms[k]);
    g->channel = c->channel;
    g->seq = c->seq;
    g->blocks = (uint64_t)g->grid[0] * g->grid[1] * g->grid[2];
    g->code.told = c->launch.tells && is_told(g, size);
    enqueue(g);
}

/* A mark, or a wait for another channel: no grid, but it has its turn as one. */
static void enqueue_point(const struct command *c)
{
    struct grid *g = grid_new();
    g->channel = c->channel;
    g->seq = c->seq;
    if (c->kind == COMMAND_WAIT) {
        g->awaited = c->awaited.channel;
        g->awaited_seq = c->awaited.seq;
    }
    enqueue(g);
}

static void apply(const struct command *c)
{
    switch (c->kind) {
    case COMMAND_MAP:
        agent_map(c->map.va, c->map.size, c->map.backing, c->map.offset, c->map.prot);
        if (c->map.prot & PROT_DEVICE_WATCHED) managed_watch(c->map.va, c->map.size);
        break;
    case COMMAND_UNMAP: agent_unmap(c->map.va, c->map.size); break;
    case COMMAND_PROTECT: agent_protect(c->map.va, c->map.size, c->map.prot); break;
    case COMMAND_WINDOW: managed_map(c->map.va, c->map.size, c->map.backing); break;
    case COMMAND_ENTRIES: managed_change(c->map.va, c->map.size, (int)c->map.prot); break;
    case COMMAND_MULTICAST: multimem_map(c->map.va, c->map.size, c->map.backing, c->map.offset, c->map.prot); break;
    case COMMAND_MULTICAST_END: multimem_unmap(c->map.va, c->map.size, c->map.prot >> 16); break;
    case COMMAND_FORGET: agent_forget(c->map.backing); break;
    case COMMAND_LAUNCH: launch(c); break;
    case COMMAND_MARK:
    case COMMAND_WAIT: enqueue_point(c); break;
    case COMMAND_STOP: _exit(0);
    }
}

pid_t commands_fork(void)
{
    pthread_mutex_lock(&ring_lock);
    pid_t child = fork();
    pthread_mutex_unlock(&ring_lock);
    return child;
}

bool commands_take(void)
{
    bool any = false;
    if (atomic_load(&control->head) == atomic_load_explicit(&control->tail, memory_order_relaxed)) return false;
    if (pthread_mutex_trylock(&ring_lock)) return false;
    for (uint64_t tail = atomic_load(&control->tail); tail != atomic_load(&control->head); tail++) {
        struct command c = control->slots[tail % RING_SLOTS];
        if (c.kind == COMMAND_LAUNCH && grids_aborted())
            atomic_store(&control->params_tail, c.launch.params + c.launch.params_size),
                atomic_fetch_sub(&control->running, 1);
        else if (!((c.kind == COMMAND_MARK || c.kind == COMMAND_WAIT) && grids_aborted()))
            apply(&c);
        atomic_store(&control->tail, tail + 1);
        any = true;
    }
    pthread_mutex_unlock(&ring_lock);
    return any;
}
