/* A stream's channel into the device process: opened by the first kernel. */
#include "processor/ring.h"
#include "space/space.h"
#include "stream/internal.h"
#include "uvm/uvm.h"

static void set_last(struct stream *s, uint64_t seq)
{
    busy_join(s);
    atomic_store_explicit(&s->last, seq, memory_order_release);
}

CUresult channel_open(struct stream *s)
{
    if (s->open) return CUDA_SUCCESS;
    CUresult r = processor_channel_open(stream_processor(s), &s->channel);
    s->open = !r;
    return r;
}

void channel_close(struct stream *s)
{
    kernels_forget(s);
    if (s->open) processor_channel_close(stream_processor(s), s->channel);
    s->open = false;
    atomic_store(&s->last_kernel, 0);
    atomic_store_explicit(&s->last, 0, memory_order_release);
}

static uint64_t product(const uint32_t of[3]) { return (uint64_t)of[0] * of[1] * of[2]; }

static CUresult send_kernel(struct stream *s, const struct launch *l)
{
    uint64_t seq;
    CUresult r = space_settle();
    if (r) return r;
    uint64_t before = l->ticket ? kernel_before(s, l) : 0;
    bool tells = uvm_launching(s->set->context->device->ordinal, product(l->grid), product(l->grid) * product(l->block));
    r = processor_launch(stream_processor(s), s->channel, l, tells, &seq);
    if (r) {
        const CUresult error = stream_error(s);
        return error ? error : r;
    }
    space_settle();
    if (l->ticket) seq = kernel_behind(s, l, before, seq);
    atomic_store(&s->last_kernel, seq);
    set_last(s, seq);
    return CUDA_SUCCESS;
}

CUresult channel_launch(struct stream *s, const struct launch *l)
{
    marks_resolve(s);
    atomic_store(&s->sending, true);
    CUresult r = send_kernel(s, l);
    atomic_store(&s->sending, false);
    return r;
}

bool channel_follow(struct stream *s, const struct marks *after)
{
    uint32_t channel;
    uint64_t seq;
    struct processor *p = stream_processor(s);
    for (unsigned k = 0; k < after->count; k++)
        if (!mark_place(marks_list(after)[k], p, &channel, &seq)) return false;
    if (!p || processor_status(p) || channel_open(s)) return false;
    for (unsigned k = 0; k < after->count; k++) {
        mark_place(marks_list(after)[k], p, &channel, &seq);
        if (seq && channel != s->channel && (seq = processor_wait_for(p, s->channel, channel, seq))) set_last(s, seq);
    }
    return true;
}

void channel_throttle(struct stream *s)
{
    enum { LAG = MARKS / 2, STEP = MARKS / 4 };
    uint64_t last = atomic_load_explicit(&s->last, memory_order_acquire);
    uint64_t before = atomic_load_explicit(&s->looked_at, memory_order_relaxed);
    if (last < before + STEP && last >= before) return;
    if (last > LAG) processor_wait(stream_processor(s), s->channel, last - LAG);
    pthread_mutex_lock(&s->lock);
    marks_resolve(s);
    pthread_mutex_unlock(&s->lock);
    streams_trace_flush();
    atomic_store_explicit(&s->looked_at, last, memory_order_relaxed);
}

bool channel_idle(struct stream *s)
{
    uint64_t last = atomic_load_explicit(&s->last, memory_order_acquire);
    if (!last) return true;
    struct processor *p = stream_processor(s);
    return processor_done(p, s->channel, last) || processor_status(p);
}

CUresult channel_drain(struct stream *s)
{
    uint64_t last = atomic_load_explicit(&s->last, memory_order_acquire);
    if (last && processor_wait(stream_processor(s), s->channel, last)) return stream_error(s);
    return CUDA_SUCCESS;
}

CUresult set_error(const struct stream_set *set)
{
    const struct processor *p = set->context->device->processor;
    CUresult r = p ? processor_status(p) : CUDA_SUCCESS;
    return r ? sticky_set(r) : sticky_get();
}

CUresult stream_error(struct stream *s) { return set_error(s->set); }
