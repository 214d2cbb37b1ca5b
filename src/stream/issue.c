/* Issuing operations: what each must come after, and whether it can be done or
 * submitted at once. */
#include "stream/internal.h"
#include "stream/operations.h"
#include "uvm/uvm.h"

static uint64_t load(_Atomic uint64_t *v) { return atomic_load_explicit(v, memory_order_acquire); }

CUresult mark_behind(struct stream *t, struct marks *after)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    struct mark *m = mark_new(t, false);
    if (!m) return r;
    if (queue_empty(t)) {
        mark_submit(m);
        r = CUDA_SUCCESS;
    } else {
        struct item *i = item_new(ITEM_MARK, NULL, 0);
        if (i) {
            i->mark = mark_reference(m);
            r = queue_append(t, i);
        }
    }
    if (!r) return marks_add(after, m);
    mark_release(m);
    return r;
}

/* The same, unless the state of t is one that the waiting stream has seen. */
static CUresult after_stream(struct stream *t, struct seen *seen, struct marks *after)
{
    CUresult r = CUDA_SUCCESS;
    if (stream_idle(t)) return r;
    pthread_mutex_lock(&t->lock);
    if (atomic_load(&t->set->dying))
        r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    else if (seen->issued != load(&t->issued) || seen->last != load(&t->last))
        r = mark_behind(t, after);
    if (!r) *seen = (struct seen){ load(&t->issued), load(&t->last) };
    pthread_mutex_unlock(&t->lock);
    return r;
}

static CUresult after_blocking_streams(struct stream_set *set, struct marks *after)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&set->lock);
    for (struct stream *t = busy_first(set); t && !r; t = busy_next(t))
        if (stream_orders_with_legacy(t)) r = after_stream(t, &t->to_legacy, after);
    pthread_mutex_unlock(&set->lock);
    return r;
}

/* Nothing was issued, so what would have been waited for has not been seen. */
static void forget(struct stream *s)
{
    s->from_legacy = (struct seen){ 0, 0 };
    if (s->kind != STREAM_LEGACY) return;
    pthread_mutex_lock(&s->set->lock);
    for (struct stream *t = s->set->streams; t; t = t->next) t->to_legacy = (struct seen){ 0, 0 };
    pthread_mutex_unlock(&s->set->lock);
}

/* Whether an operation issued into s has to look at other streams. */
static bool ordered(struct stream *s)
{
    if (s->kind == STREAM_LEGACY) return atomic_load_explicit(&s->set->blocking, memory_order_acquire) > 0;
    return stream_orders_with_legacy(s) && !stream_idle(s->set->legacy);
}

/* One operation on its way into a stream. Between begin and end the stream is locked. */
struct issue {
    struct stream *stream;
    struct marks after;
    bool ordered;
};

static void end(struct issue *o, CUresult r)
{
    pthread_mutex_unlock(&o->stream->lock);
    marks_free(&o->after);
    if (!o->ordered) return;
    if (r) forget(o->stream);
    pthread_mutex_unlock(&o->stream->order);
}

/* The operation is in its place: others may be issued behind it from now on. */
static void placed(struct issue *o)
{
    if (o->ordered) pthread_mutex_unlock(&o->stream->order);
    o->ordered = false;
}

/* alone: it comes after its own stream only. */
static CUresult begin_as(struct issue *o, struct stream *s, bool alone)
{
    CUresult r = CUDA_SUCCESS;
    o->stream = s;
    marks_init(&o->after);
    o->ordered = !alone && ordered(s);
    if (o->ordered) {
        pthread_mutex_lock(&s->order);
        r = s->kind == STREAM_LEGACY ? after_blocking_streams(s->set, &o->after)
                                     : after_stream(s->set->legacy, &s->from_legacy, &o->after);
    }
    pthread_mutex_lock(&s->lock);
    if (!r && !s->id) r = stream_refusal(s);
    if (!r && !alone) note_legacy(s);
    if (r) end(o, r);
    return r;
}

static CUresult begin(struct issue *o, struct stream *s) { return begin_as(o, s, false); }

/* Takes the item over. */
static CUresult append(struct issue *o, struct item *i)
{
    if (!i) return CUDA_ERROR_OUT_OF_MEMORY;
    i->after = o->after;
    marks_init(&o->after);
    return queue_append(o->stream, i);
}

/* Whether the operation may go ahead of nothing: neither queue nor other streams hold it up. */
static bool unobstructed(const struct issue *o) { return queue_empty(o->stream) && !o->after.count; }

/* If the device itself can see to it that what comes next comes after the others, it is told to. */
static void follow_on_device(struct issue *o)
{
    if (o->after.count && queue_empty(o->stream) && channel_follow(o->stream, &o->after)) marks_free(&o->after);
}

static CUresult issue_launch(struct stream *s, const struct launch *l)
{
    struct issue o;
    struct launch noted;
    CUresult r = begin(&o, s);
    if (r) return r;
    if (trace_wanted(TRACE_LISTEN_KERNELS | TRACE_LISTEN_MAP)) {
        noted = *l;
        noted.ticket = kernel_note(s, l);
        l = &noted;
    }
    r = channel_open(s);
    if (!r) follow_on_device(&o);
    if (!r && unobstructed(&o)) {
        /* it may run before channel_launch comes back: meanwhile the stream is not idle */
        queue_take_turn(s);
        r = channel_launch(s, l);
        queue_end_turn(s);
    } else if (!r) {
        struct item *i = item_new(ITEM_KERNEL, l->params, l->params_size);
        if (i) {
            i->launch = *l;
            i->launch.params = i->data;
        }
        r = append(&o, i);
    }
    end(&o, r);
    return r;
}

CUresult stream_launch(struct stream *s, const struct launch *l)
{
    channel_throttle(s);
    CUresult r = uvm_watches_launches ? uvm_before_launch(s->set->context->device->ordinal, s) : CUDA_SUCCESS;
    if (r) return r;
    r = issue_launch(s, l);
    if (uvm_exclusive) uvm_after_launch(s, !r);
    return r;
}

static CUresult enqueue(struct issue *o, enum item_kind kind, stream_work *run, const void *arg, size_t size)
{
    struct item *i = item_new(kind, arg, size);
    if (i) i->run = run;
    return append(o, i);
}

static CUresult enqueue_as(enum item_kind kind, struct stream *s, stream_work *run, const void *arg, size_t size)
{
    struct issue o;
    CUresult r = begin(&o, s);
    if (r) return r;
    r = enqueue(&o, kind, run, arg, size);
    end(&o, r);
    return r;
}

CUresult stream_enqueue(struct stream *s, stream_work *run, const void *arg, size_t size)
{
    return enqueue_as(ITEM_WORK, s, run, arg, size);
}

CUresult stream_enqueue_calls(struct stream *s, stream_work *run, const void *arg, size_t size)
{
    return enqueue_as(ITEM_CALLS, s, run, arg, size);
}

CUresult stream_call(struct stream *s, host_work *call, const void *arg, size_t size)
{
    struct issue o;
    CUresult r = begin(&o, s);
    if (r) return r;
    struct item *i = item_new(ITEM_HOST, arg, size);
    if (i) i->call = call;
    r = append(&o, i);
    end(&o, r);
    return r;
}

/* Behind what is queued: the calling thread waits, and does the stream's work if nobody else does. */
static CUresult run_queued(struct issue *o, stream_work *run, const void *arg)
{
    CUresult result = CUDA_SUCCESS;
    struct stream *s = o->stream;
    struct item *i = item_new(ITEM_WORK, NULL, 0);
    if (i) {
        i->run = run;
        i->arg = (void *)arg;
        i->result = &result;
    }
    CUresult r = append(o, i);
    if (r) return r;
    placed(o);
    s->pins++;
    queue_wait(s, load(&s->issued), true);
    stream_unpin(s);
    return result;
}

/* At once: the calling thread has the stream's turn while it works. */
static CUresult run_here(struct issue *o, stream_work *run, const void *arg)
{
    struct stream *s = o->stream;
    queue_take_turn(s);
    placed(o);
    pthread_mutex_unlock(&s->lock);
    marks_wait(&o->after, true);
    CUresult r = channel_drain(s);
    if (!r) r = stream_error(s);
    if (!r) r = run((void *)arg);
    pthread_mutex_lock(&s->lock);
    queue_end_turn(s);
    return r;
}

CUresult stream_run(struct stream *s, stream_work *run, const void *arg)
{
    struct issue o;
    CUresult r = begin(&o, s);
    if (r) return r;
    r = queue_empty(s) ? run_here(&o, run, arg) : run_queued(&o, run, arg);
    end(&o, r);
    streams_seen(s->set);
    if (stream_processor(s)) processor_flush_printf(stream_processor(s));
    return is_of_device(r) ? sticky_set(r) : r; /* observed on H200 */
}

struct unasked {
    stream_work *run;
    const void *arg;
};

/* Nobody waits for the work: what a device would do wrong stays, as if a thread of the stream had been there. What it
 * could not begin is the caller's. */
static CUresult run_unasked(void *arg)
{
    const struct unasked *u = arg;
    CUresult r = u->run((void *)u->arg);
    if (!is_of_device(r)) return r;
    sticky_set(r);
    return CUDA_SUCCESS;
}

CUresult stream_enqueue_short(struct stream *s, stream_work *run, const void *arg, size_t size)
{
    struct issue o;
    CUresult r = begin(&o, s);
    if (r) return r;
    if (unobstructed(&o) && channel_idle(s))
        r = run_here(&o, run_unasked, &(struct unasked){ run, arg });
    else
        r = enqueue(&o, ITEM_WORK, run, arg, size);
    end(&o, r);
    return r;
}

/* What has no time and is only behind the legacy stream is a point of that: an idle stream stays idle (observed on H200). */
static bool is_point_of_legacy(struct issue *o, const struct mark *m)
{
    return !m->timed && stream_orders_with_legacy(o->stream) && o->after.count == 1 && stream_idle(o->stream);
}

static void take_point(struct issue *o, struct mark **m)
{
    struct mark *point = mark_reference(marks_list(&o->after)[0]); /* nobody else knows it but its queue */
    point->clock = (*m)->clock;
    (*m)->clock = NULL;
    mark_release(*m);
    *m = point;
    o->stream->from_legacy = (struct seen){ 0, 0 }; /* nothing of the stream's own waits for that */
}

static CUresult place_mark(struct issue *o, struct mark *m)
{
    struct item *i = item_new(ITEM_MARK, NULL, 0);
    if (i) i->mark = mark_reference(m);
    return append(o, i);
}

CUresult stream_record(struct stream *s, struct mark **m)
{
    struct issue o;
    channel_throttle(s);
    CUresult r = begin(&o, s);
    if (r) return r;
    if (unobstructed(&o))
        mark_submit(*m);
    else if (is_point_of_legacy(&o, *m))
        take_point(&o, m);
    else
        r = place_mark(&o, *m);
    end(&o, r);
    return r;
}

CUresult stream_wait(struct stream *s, struct mark *m)
{
    if (mark_done(m)) return CUDA_SUCCESS;
    struct issue o;
    CUresult r = begin_as(&o, s, true); /* what is issued behind it orders with others by itself (observed on H200) */
    if (r) return r;
    if (m->stream != s) r = marks_add(&o.after, mark_reference(m));
    if (!r) follow_on_device(&o);
    if (!r && o.after.count) r = append(&o, item_new(ITEM_NOTHING, NULL, 0));
    end(&o, r);
    return r;
}
