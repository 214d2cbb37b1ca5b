/* Commands to a device process. */
#include "base/futex.h"
#include "base/log.h"
#include "base/message.h"
#include "processor/lazy.h"
#include "processor/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOCK_TRIES = 500 };

/* Wakes a worker, if any sleeps that is not being woken. */
static void ring_bell(struct control *c)
{
    if (!atomic_load(&c->sleepers) || atomic_exchange(&c->called, 1)) return;
    atomic_fetch_add(&c->doorbell, 1);
    futex_wake(&c->doorbell, 1);
}

/* Pauses until the device has moved on; false once it is dead. */
static bool pause_for_device(struct processor *p, unsigned *rounds)
{
    if (processor_status(p)) return false;
    ring_bell(p->control);
    if (++*rounds < 2000)
        cpu_relax();
    else
        usleep(50);
    return true;
}

/* The slot for the next command, zeroed; NULL if the device is dead. Under the lock. */
static struct command *slot_begin(struct processor *p)
{
    struct control *c = p->control;
    uint64_t head = atomic_load_explicit(&c->head, memory_order_relaxed);
    unsigned rounds = 0;
    if (processor_status(p)) return NULL;
    while (head - atomic_load_explicit(&c->tail, memory_order_acquire) >= RING_SLOTS)
        if (!pause_for_device(p, &rounds)) return NULL;
    struct command *slot = &c->slots[head % RING_SLOTS];
    memset(slot, 0, sizeof *slot);
    return slot;
}

/* Makes it visible. Sequentially consistent: the device must not miss both the command and the wake. */
static void slot_end(struct processor *p, bool ring)
{
    struct control *c = p->control;
    atomic_fetch_add(&c->head, 1);
    atomic_fetch_add(&c->doorbell, 1);
    if (!ring || !atomic_load(&c->sleepers)) return;
    watch_from_here(c);
    ring_bell(c);
}

/* Nobody holds the socket's other end: the process is ending, which the monitor sees in a moment. */
static CUresult ended(struct processor *p)
{
    enum { MOST_MS = 2000 };
    for (int k = 0; !processor_status(p) && k < MOST_MS; k++) usleep(1000);
    return processor_status(p) ? processor_status(p) : CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult send_backing(struct processor *p, const struct backing *b)
{
    for (struct sent *s = p->sent[b->id % 64]; s; s = s->next)
        if (s->id == b->id) return CUDA_SUCCESS;
    struct sent *s = malloc(sizeof *s);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    const struct backing_message message = { b->id };
    unsigned rounds = 0;
    /* a full socket empties as the device takes the commands that the messages in it belong to */
    while (!message_try(p->socket, &message, sizeof message, b->fd))
        if ((errno != EAGAIN && errno != ETOOMANYREFS) || !pause_for_device(p, &rounds)) {
            bool gone = errno == EPIPE || errno == ECONNRESET || processor_status(p);
            free(s);
            return gone ? ended(p) : CUDA_ERROR_OPERATING_SYSTEM;
        }
    s->id = b->id;
    s->next = p->sent[b->id % 64];
    p->sent[b->id % 64] = s;
    return CUDA_SUCCESS;
}

/* Until a device that runs has taken all commands so far; under the lock. */
static void wait_applied(struct processor *p)
{
    uint64_t head = atomic_load(&p->control->head);
    unsigned rounds = 0;
    while (atomic_load(&p->control->tail) < head && processor_busy(p))
        if (!pause_for_device(p, &rounds)) break;
}

void processor_settle(struct processor *p)
{
    pthread_mutex_lock(&p->lock);
    if (processor_busy(p)) wait_applied(p);
    pthread_mutex_unlock(&p->lock);
}

CUresult page_command_now(struct processor *p, enum command_kind kind, uint64_t va, uint64_t size,
                          const struct backing *b, uint64_t offset, unsigned prot)
{
    CUresult r = processor_status(p);
    if (!r && b) r = send_backing(p, b);
    if (r) return r;
    struct command *c = slot_begin(p);
    if (!c) return processor_status(p);
    c->kind = kind;
    c->map.va = va;
    c->map.size = size;
    c->map.backing = b ? b->id : 0;
    c->map.offset = offset;
    c->map.prot = prot;
    slot_end(p, false);
    return r;
}

/* Access must be gone from a running device on return. */
static void revoke_now(struct processor *p, enum command_kind kind)
{
    if (kind != COMMAND_MAP && kind != COMMAND_WINDOW && processor_busy(p)) wait_applied(p);
}

static CUresult page_command(struct processor *p, enum command_kind kind, uint64_t va, uint64_t size,
                             const struct backing *b, uint64_t offset, unsigned prot)
{
    pthread_mutex_lock(&p->lock);
    CUresult r = page_command_now(p, kind, va, size, b, offset, prot);
    if (!r) revoke_now(p, kind);
    pthread_mutex_unlock(&p->lock);
    return r;
}

CUresult window_command(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t *position)
{
    CUresult r = page_command(p, COMMAND_WINDOW, va, size, b, 0, 0);
    *position = atomic_load(&p->control->head);
    return r;
}

bool entries_command(struct processor *p, uint64_t va, uint64_t size, int prot, uint64_t *position)
{
    for (unsigned k = 0; pthread_mutex_trylock(&p->lock); k++) {
        if (k == LOCK_TRIES) return false;
        cpu_relax();
    }
    struct command *c = slot_begin(p);
    if (c) {
        c->kind = COMMAND_ENTRIES;
        c->map.prot = (uint32_t)prot;
        c->map.va = va;
        c->map.size = size;
        slot_end(p, false);
        *position = atomic_load(&p->control->head);
    }
    pthread_mutex_unlock(&p->lock);
    return true;
}

bool commands_applied(struct processor *p, uint64_t position)
{
    for (unsigned rounds = 0; atomic_load(&p->control->tail) < position;)
        if (!pause_for_device(p, &rounds)) return false;
    return true;
}

CUresult processor_map(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset,
                       unsigned prot)
{
    return page_command(p, COMMAND_MAP, va, size, b, offset, prot);
}

CUresult processor_unmap(struct processor *p, uint64_t va, uint64_t size)
{
    return page_command(p, COMMAND_UNMAP, va, size, NULL, 0, 0);
}

CUresult processor_multicast(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset,
                             unsigned prot, unsigned member, unsigned team)
{
    return page_command(p, COMMAND_MULTICAST, va, size, b, offset, prot | team << 8 | member << 16);
}

CUresult processor_multicast_end(struct processor *p, uint64_t va, uint64_t size, unsigned member)
{
    return page_command(p, COMMAND_MULTICAST_END, va, size, NULL, 0, member << 16);
}

CUresult processor_protect(struct processor *p, uint64_t va, uint64_t size, unsigned prot)
{
    return page_command(p, COMMAND_PROTECT, va, size, NULL, 0, prot);
}

/* ---- whole ranges, lazily */

static CUresult whole_command(struct processor *p, const struct lazy_command *c)
{
    pthread_mutex_lock(&p->lock);
    CUresult r = CUDA_SUCCESS;
    if (processor_busy(p) || !lazy_put(p, c)) {
        r = lazy_flush(p);
        if (!r)
            r = page_command_now(p, c->kind, c->va, c->size, c->backing, c->offset, c->prot);
        else if (c->kind != COMMAND_MAP)
            lazy_put(p, c); /* or it would be mapped behind this, of memory that is gone perhaps */
        if (!r) revoke_now(p, c->kind);
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

CUresult processor_map_whole(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset,
                             unsigned prot)
{
    const struct lazy_command c = {
        .kind = COMMAND_MAP, .va = va, .size = size, .backing = b, .offset = offset, .prot = prot
    };
    return whole_command(p, &c);
}

CUresult processor_unmap_whole(struct processor *p, uint64_t va, uint64_t size)
{
    return whole_command(p, &(struct lazy_command){ .kind = COMMAND_UNMAP, .va = va, .size = size });
}

CUresult processor_protect_whole(struct processor *p, uint64_t va, uint64_t size, unsigned prot)
{
    return whole_command(p, &(struct lazy_command){ .kind = COMMAND_PROTECT, .va = va, .size = size, .prot = prot });
}

static void forget(struct processor *p, uint64_t id)
{
    struct command *c = slot_begin(p);
    if (!c) return;
    c->kind = COMMAND_FORGET;
    c->map.backing = id;
    slot_end(p, true);
}

void processor_forget(struct processor *p, const struct backing *b)
{
    struct sent *gone = NULL;
    pthread_mutex_lock(&p->lock);
    for (struct sent **at = &p->sent[b->id % 64]; *at; at = &(*at)->next)
        if ((*at)->id == b->id) {
            gone = *at;
            *at = gone->next;
            break;
        }
    /* behind the unmapping of it that may wait; a device that sleeps is woken, or the memory would stay with it */
    if (gone && !lazy_flush(p)) forget(p, b->id);
    pthread_mutex_unlock(&p->lock);
    free(gone);
}

/* ---- channels */

CUresult processor_channel_open(struct processor *p, uint32_t *channel)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&p->lock);
    for (uint32_t k = 0; k < CHANNELS / 64 && r; k++)
        if (~p->used[k]) {
            const unsigned bit = (unsigned)__builtin_ctzll(~p->used[k]);
            p->used[k] |= 1ull << bit;
            *channel = k * 64 + bit;
            r = CUDA_SUCCESS;
        }
    pthread_mutex_unlock(&p->lock);
    if (r) fl_log(FL_LOG_ERROR, "device %d has run kernels of %d streams, and cannot of more at once", p->ordinal, CHANNELS);
    return r;
}

/* Sequence numbers go on counting, so the next owner is not confused by the last one's. */
void processor_channel_close(struct processor *p, uint32_t channel)
{
    pthread_mutex_lock(&p->lock);
    p->used[channel / 64] &= ~(1ull << (channel % 64));
    pthread_mutex_unlock(&p->lock);
}

static bool put_params(struct processor *p, const struct launch *l, struct command *c)
{
    unsigned rounds = 0;
    while (p->params_head + l->params_size - atomic_load(&p->control->params_tail) > PARAM_BYTES)
        if (!pause_for_device(p, &rounds)) return false;
    const uint8_t *from = l->params;
    for (uint32_t k = 0; k < l->params_size; k++) p->control->params[(p->params_head + k) % PARAM_BYTES] = from[k];
    c->launch.params = p->params_head;
    c->launch.params_size = l->params_size;
    p->params_head += l->params_size;
    return true;
}

/* Either who holds launches back sees that one has begun, or it sees that it is held back. */
static void begin_running(struct processor *p)
{
    while (atomic_fetch_add(&p->control->running, 1), atomic_load(&p->holds) && !processor_status(p)) {
        atomic_fetch_sub(&p->control->running, 1);
        usleep(100);
    }
}

bool processor_hold(struct processor *p)
{
    atomic_fetch_add(&p->holds, 1);
    return !processor_busy(p);
}

void processor_release(struct processor *p) { atomic_fetch_sub(&p->holds, 1); }

CUresult processor_launch(struct processor *p, uint32_t channel, const struct launch *l, bool tells, uint64_t *seq)
{
    /* from here on what is taken away is waited for, and what was put off is done first */
    begin_running(p);
    table_settle(p);
    pthread_mutex_lock(&p->lock);
    CUresult r = lazy_flush(p);
    struct command *c = r ? NULL : slot_begin(p);
    if (c && put_params(p, l, c)) {
        c->kind = COMMAND_LAUNCH;
        c->channel = channel;
        c->seq = *seq = ++p->submitted[channel];
        c->launch.image = l->image;
        c->launch.symbols = l->symbols;
        c->launch.kernel = l->kernel;
        c->launch.heap = l->heap;
        c->launch.heap_size = l->heap_size;
        c->launch.gridid = l->gridid;
        memcpy(c->launch.sms, l->sms, sizeof l->sms);
        memcpy(c->launch.grid, l->grid, sizeof l->grid);
        memcpy(c->launch.block, l->block, sizeof l->block);
        for (int i = 0; i < 3; i++) c->launch.cluster[i] = l->cluster[i] ? l->cluster[i] : 1;
        c->launch.explicit_cluster = l->explicit_cluster;
        c->launch.dynamic_shared = l->dynamic_shared;
        c->launch.stack_limit = l->stack_limit;
        c->launch.cooperative = l->cooperative;
        c->launch.resident = l->resident;
        c->launch.tells = tells;
        slot_end(p, true);
    } else {
        atomic_fetch_sub(&p->control->running, 1);
        if (!r) r = processor_status(p);
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* A command in its channel's order that needs no more than that. */
static uint64_t channel_command(struct processor *p, const struct command *command)
{
    uint64_t seq = 0;
    pthread_mutex_lock(&p->lock);
    struct command *c = slot_begin(p);
    if (c) {
        *c = *command;
        c->seq = seq = ++p->submitted[c->channel];
        slot_end(p, true);
    }
    pthread_mutex_unlock(&p->lock);
    return seq;
}

uint64_t processor_mark(struct processor *p, uint32_t channel)
{
    return channel_command(p, &(struct command){ .kind = COMMAND_MARK, .channel = channel });
}

uint64_t processor_wait_for(struct processor *p, uint32_t channel, uint32_t awaited, uint64_t seq)
{
    const struct command c = { .kind = COMMAND_WAIT,
                               .channel = channel,
                               .awaited = { .channel = awaited, .seq = seq } };
    return channel_command(p, &c);
}

uint64_t processor_mark_time(struct processor *p, uint32_t channel, uint64_t seq)
{
    return p->control->channels[channel].time[seq % MARKS];
}
