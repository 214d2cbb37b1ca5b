/* Waiting for streams and asking whether they are done. */
#include "context/green.h"
#include "uvm/uvm.h"
#include "stream/internal.h"

#include <limits.h>

bool stream_runs(const void *stream)
{
    struct stream *s = (struct stream *)stream;
    if (atomic_load(&s->sending)) return true;
    uint64_t last = atomic_load(&s->last_kernel);
    struct processor *p = stream_processor(s);
    return last && !processor_done(p, s->channel, last) && !processor_status(p);
}

bool stream_idle(struct stream *s) { return queue_empty(s) && channel_idle(s); }

/* All that is in s now. */
static void finish_issued(struct stream *s)
{
    if (stream_idle(s)) return;
    pthread_mutex_lock(&s->lock);
    s->pins++;
    queue_wait(s, atomic_load(&s->issued), true);
    pthread_mutex_unlock(&s->lock);
    channel_drain(s);
    pthread_mutex_lock(&s->lock);
    marks_resolve(s);
    stream_unpin(s);
    pthread_mutex_unlock(&s->lock);
}

typedef bool stream_choice(const struct stream *s, const struct green *g);

/* Those of the set that are chosen, one after the other. A pinned stream stays in the list,
 * so the walk goes on from it. */
static void finish_chosen(struct stream_set *set, stream_choice *chosen, const struct green *g)
{
    pthread_mutex_lock(&set->lock);
    for (struct stream *s = busy_first(set); s; s = busy_next(s)) {
        if (!chosen(s, g)) continue;
        pthread_mutex_lock(&s->lock);
        s->pins++;
        pthread_mutex_unlock(&s->lock);
        pthread_mutex_unlock(&set->lock);
        finish_issued(s);
        pthread_mutex_lock(&set->lock);
        pthread_mutex_lock(&s->lock);
        stream_unpin(s);
        pthread_mutex_unlock(&s->lock);
    }
    streams_reap(set, UINT_MAX);
    pthread_mutex_unlock(&set->lock);
}

static bool is_of(const struct stream *s, const struct green *g) { return !g || s->green == g; }

static bool is_blocking(const struct stream *s, const struct green *unused)
{
    (void)unused;
    return stream_orders_with_legacy(s);
}

/* Whatever else is in the stream: who has waited for what comes after its last kernel may not know of that. */
static bool has_no_kernel(const void *stream, const void *set)
{
    struct stream *s = (struct stream *)stream;
    return s->set == set && !atomic_load(&s->kernels) && !stream_runs(s);
}

void streams_take_back(struct stream_set *set)
{
    if (uvm_exclusive) uvm_take_back(has_no_kernel, set);
}

void streams_settle(struct stream_set *set)
{
    const struct processor *p = set->context->device->processor;
    if (p && !processor_busy(p)) uvm_settle();
}

/* The kernels that have ended are in the trace, even if the program ends at once. */
static void take_back_and_tell(struct stream_set *set)
{
    streams_take_back(set);
    if (trace_wanted(TRACE_LISTEN_KERNELS | TRACE_LISTEN_MAP)) streams_trace_flush();
}

void streams_seen(struct stream_set *set)
{
    streams_settle(set);
    take_back_and_tell(set);
}

static CUresult synchronized(struct stream *s)
{
    uvm_after_wait();
    take_back_and_tell(s->set);
    if (stream_processor(s)) processor_flush_printf(stream_processor(s));
    return stream_error(s);
}

/* The legacy stream is done when all that it orders with is. */
CUresult stream_synchronize(struct stream *s)
{
    uvm_before_wait();
    if (s->kind == STREAM_LEGACY && atomic_load(&s->set->blocking)) finish_chosen(s->set, is_blocking, NULL);
    finish_issued(s);
    return synchronized(s);
}

CUresult context_synchronize(struct context *c)
{
    uvm_before_wait();
    finish_chosen(c->streams, is_of, NULL);
    return synchronized(c->streams->legacy);
}

CUresult green_synchronize(const struct green *g)
{
    uvm_before_wait();
    finish_chosen(g->primary->streams, is_of, g);
    return synchronized(g->standard);
}

bool context_idle(struct context *c)
{
    pthread_mutex_lock(&c->streams->lock);
    bool idle = !busy_first(c->streams);
    pthread_mutex_unlock(&c->streams->lock);
    return idle;
}

CUresult stream_query(struct stream *s)
{
    bool idle = stream_idle(s);
    if (idle && s->kind == STREAM_LEGACY && atomic_load(&s->set->blocking)) {
        pthread_mutex_lock(&s->set->lock);
        for (struct stream *t = busy_first(s->set); t && idle; t = busy_next(t)) idle = !stream_orders_with_legacy(t);
        pthread_mutex_unlock(&s->set->lock);
    }
    if (idle) streams_seen(s->set); /* which may be what finds an error */
    CUresult r = stream_error(s);
    return r ? r : idle ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
