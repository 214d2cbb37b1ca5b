/* Kernels in the trace. While somebody wants them each launch stands between
 * two marks of its channel, which say when it began and ended. Launches whose
 * second mark is still to come are in one list, which a thread of its own
 * looks through, and whoever has just waited for the device. */
#include "base/log.h"
#include "base/thread.h"
#include "processor/ring.h"
#include "stream/internal.h"
#include "trace/page_map.h"
#include "trace/region.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_US = 200 };

struct pending {
    struct pending *next;
    struct processor *processor;
    uint32_t channel;
    uint8_t device;
    uint64_t before, behind; /* its marks; before 0: there is none */
    uint64_t ticket, gridid;
    uint32_t name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* inside a stream's lock; guards all below */
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct pending *first, **end = &first;
static bool watched; /* the thread exists, or could not be made */

/* What to add to the device's clock (CLOCK_MONOTONIC) for the trace's. Between the two readings the thread
 * may lose its processor, so the quickest of some tries counts, and is off by half of what it took at most.
 * As long as that agrees with the last answer the last one stays: kernels of a stream keep their order. */
static uint64_t clock_offset(void)
{
    static uint64_t offset, accuracy;
    uint64_t best = UINT64_MAX, found = 0;
    for (int tries = 0; tries < 4; tries++) {
        uint64_t before = clock_now(), now = trace_now(), took = clock_now() - before;
        if (took < best) found = now - before - took / 2;
        if (took < best) best = took;
    }
    uint64_t apart = found > offset ? found - offset : offset - found;
    if (apart > best / 2 + accuracy + 2) {
        offset = found;
        accuracy = best / 2;
    }
    return offset;
}

static void record(const struct pending *k, uint64_t from, uint64_t to)
{
    trace_write(&(struct trace_record){ .kind = TRACE_KERNEL,
                                        .time = from,
                                        .end = to,
                                        .address = k->ticket,
                                        .processor = (uint8_t)(k->device + 1),
                                        .batch = k->gridid });
}

/* The latest look that left a kernel of this channel in the list. */
static uint32_t left_by[MAX_DEVICES][CHANNELS];

/* With the lock: writes records of those that have ended and of the given channel, ended or not. Of a channel
 * whose kernels end meanwhile the later ones wait for the next look, so that its records are in order. */
static void look(struct processor *p, uint32_t channel)
{
    static uint32_t this_look;
    bool ended = false;
    this_look++;
    uint64_t offset = clock_offset();
    struct pending *newest = NULL;
    for (struct pending **at = &first, *k; (k = *at);) {
        bool dead = processor_status(k->processor) != CUDA_SUCCESS;
        bool done = processor_done(k->processor, k->channel, k->behind);
        bool closing = k->processor == p && k->channel == channel;
        uint32_t *left = &left_by[k->device][k->channel];
        if (!dead && !closing && (!done || *left == this_look)) {
            *left = this_look;
            at = &k->next;
            continue;
        }
        uint64_t now = clock_now();
        uint64_t to = done ? processor_mark_time(k->processor, k->channel, k->behind) : now;
        uint64_t from = k->before && (done || processor_done(k->processor, k->channel, k->before))
                            ? processor_mark_time(k->processor, k->channel, k->before)
                            : to;
        record(k, from + offset, to + offset);
        *at = k->next;
        if (end == &k->next) end = at;
        free(newest);
        newest = k;
        ended = true;
    }
    if (ended && trace_wanted(TRACE_LISTEN_MAP)) page_map_note(MOMENT_AFTER, newest->name, newest->device);
    free(newest);
}

static void *watch(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!first) pthread_cond_wait(&more, &lock);
        look(NULL, 0);
        pthread_mutex_unlock(&lock);
        usleep(LOOK_US);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

/* With the lock. Without the thread records come later, but they come. */
static void start_watch(void)
{
    if (watched) return;
    watched = true;
    atexit(streams_trace_flush); /* what ended just before the process does */
    if (thread_start(watch, NULL, THREAD_STACK))
        fl_log_once(FL_LOG_WARN, "no thread to watch kernels end: their times appear when the program synchronises");
}

uint64_t kernel_note(struct stream *s, const struct launch *l)
{
    uint64_t ticket = 0;
    struct trace_kernel *k = trace_kernel_begin(&ticket);
    if (!k) return 0;
    k->name = trace_intern(l->name ? l->name : "");
    memcpy(k->grid, l->grid, sizeof k->grid);
    memcpy(k->block, l->block, sizeof k->block);
    k->shared_static = l->static_shared;
    k->shared_dynamic = l->dynamic_shared;
    k->local = l->local;
    k->registers = l->registers;
    k->device = (uint32_t)s->set->context->device->ordinal;
    k->context = s->set->context->id;
    k->stream = stream_describe(s).id;
    k->queued = trace_now();
    trace_kernel_publish(k, ticket);
    return ticket;
}

/* The name's place in the table, if the details are still there. */
static uint32_t name_of(const struct launch *l)
{
    struct trace_kernel k;
    return trace_kernel_details(trace_region(), l->ticket, &k) ? k.name : 0;
}

uint64_t kernel_before(struct stream *s, const struct launch *l)
{
    if (trace_wanted(TRACE_LISTEN_MAP)) {
        streams_trace_flush();
        page_map_note(MOMENT_BEFORE, name_of(l), s->set->context->device->ordinal);
    }
    return processor_mark(stream_processor(s), s->channel);
}

uint64_t kernel_behind(struct stream *s, const struct launch *l, uint64_t before, uint64_t seq)
{
    struct processor *p = stream_processor(s);
    struct pending *k = calloc(1, sizeof *k);
    uint64_t behind = k ? processor_mark(p, s->channel) : 0;
    if (!behind) {
        free(k);
        return seq;
    }
    *k = (struct pending){ .processor = p,
                           .channel = s->channel,
                           .device = (uint8_t)s->set->context->device->ordinal,
                           .before = before,
                           .behind = behind,
                           .ticket = l->ticket,
                           .gridid = l->gridid,
                           .name = name_of(l) };
    pthread_mutex_lock(&lock);
    *end = k;
    end = &k->next;
    start_watch();
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
    return behind;
}

void kernels_forget(struct stream *s)
{
    if (!s->open) return;
    pthread_mutex_lock(&lock);
    if (first) look(stream_processor(s), s->channel);
    pthread_mutex_unlock(&lock);
}

void streams_trace_flush(void)
{
    pthread_mutex_lock(&lock);
    if (first) look(NULL, 0);
    pthread_mutex_unlock(&lock);
}

void streams_trace_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    first = NULL;
    end = &first;
}
