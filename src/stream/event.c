/* An event owns a reference to the mark of its last record. Who waits for the
 * event takes one of its own, so recording again or destroying the event does
 * not concern it. What else is read without a lock is atomic, because another
 * event may take the place of this one meanwhile. */
#include "stream/event.h"
#include "stream/beacon.h"
#include "stream/internal.h"
#include "stream/operations.h"

struct event {
    struct object_link link;
    _Atomic uint64_t id; /* 0: the handle is not valid */
    struct stream_set *_Atomic set;
    struct event *next, **from; /* in the set's list, guarded by the set's lock */
    _Atomic unsigned flags;
    pthread_mutex_t lock;    /* guards mark */
    struct mark *mark;       /* NULL: never recorded */
    _Atomic bool captured;   /* by a capture that is over, since the mark */
    struct beacon *_Atomic beacon; /* its state, if interprocess: the mark is this process's view alone */
    void (*_Atomic left)(void *arg); /* the beacon is another process's: to be called when the event goes */
    void *arg;
};

static void construct_event(void *object) { pthread_mutex_init(&((struct event *)object)->lock, NULL); }

static struct objects events = OBJECTS_INIT(struct event, construct_event);
static _Atomic uint64_t newest_id;

static struct stream_set *set_of(const struct event *e) { return atomic_load_explicit(&e->set, memory_order_acquire); }

/* Replaces the event's mark; takes the reference over. */
static void set_mark(struct event *e, struct mark *m)
{
    pthread_mutex_lock(&e->lock);
    struct mark *old = e->mark;
    e->mark = m;
    e->captured = false;
    pthread_mutex_unlock(&e->lock);
    mark_release(old);
}

static void leave_beacon(struct event *e)
{
    pthread_mutex_lock(&e->lock);
    struct beacon *b = e->beacon;
    e->beacon = NULL;
    pthread_mutex_unlock(&e->lock);
    if (b) beacon_release(b);
    void (*left)(void *) = atomic_exchange(&e->left, NULL);
    if (left) left(e->arg);
}

/* Counted: the event may be destroyed while the caller uses it. NULL: not interprocess. */
static struct beacon *take_beacon(struct event *e)
{
    if (!e->beacon) return NULL;
    pthread_mutex_lock(&e->lock);
    struct beacon *b = e->beacon;
    if (b) beacon_hold(b);
    pthread_mutex_unlock(&e->lock);
    return b;
}

/* An event that is never seen. */
static void forget_beacon(struct beacon *b, void (*left)(void *), void *arg)
{
    if (b) beacon_release(b);
    if (left) left(arg);
}

/* The beacon's reference is taken over. */
static CUresult enter(struct context *c, unsigned flags, struct beacon *b, void (*left)(void *), void *arg,
                      struct event **out)
{
    struct stream_set *set = c->streams;
    struct event *e = object_take(&events);
    if (!e) {
        forget_beacon(b, left, arg);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    set_mark(e, NULL);
    e->beacon = b;
    e->left = left;
    e->arg = arg;
    pthread_mutex_lock(&set->lock);
    bool dying = atomic_load(&set->dying);
    if (!dying) {
        atomic_store_explicit(&e->set, set, memory_order_release);
        atomic_store_explicit(&e->flags, flags, memory_order_relaxed);
        e->from = &set->events;
        e->next = set->events;
        if (e->next) e->next->from = &e->next;
        set->events = e;
        atomic_store_explicit(&e->id, atomic_fetch_add(&newest_id, 1) + 1, memory_order_release);
    }
    pthread_mutex_unlock(&set->lock);
    if (dying) {
        leave_beacon(e);
        object_give(&events, e);
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    *out = e;
    return CUDA_SUCCESS;
}

CUresult event_create(struct context *c, unsigned flags, struct event **out)
{
    struct beacon *b = NULL;
    if (flags & CU_EVENT_INTERPROCESS && !(b = beacon_new())) return CUDA_ERROR_OUT_OF_MEMORY;
    return enter(c, flags, b, NULL, NULL, out);
}

CUresult event_adopt(struct context *c, struct beacon *b, void (*left)(void *arg), void *arg, struct event **out)
{
    return enter(c, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, b, left, arg, out);
}

struct beacon *event_beacon(const struct event *e) { return e->beacon; }

uint64_t event_id(const struct event *e) { return atomic_load(&e->id); }

bool event_adopted(const struct event *e) { return e->left != NULL; }

CUresult event_get(CUevent handle, struct event **out)
{
    struct event *e = (struct event *)handle;
    if (!objects_hold(&events, e) || !atomic_load_explicit(&e->id, memory_order_acquire))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = e;
    return CUDA_SUCCESS;
}

struct mark *event_mark(struct event *e)
{
    pthread_mutex_lock(&e->lock);
    struct mark *m = e->mark ? mark_reference(e->mark) : NULL;
    pthread_mutex_unlock(&e->lock);
    return m;
}

/* With the set's lock. */
static void invalidate(struct event *e)
{
    *e->from = e->next;
    if (e->next) e->next->from = e->from;
    set_mark(e, NULL);
    leave_beacon(e);
    object_give(&events, e);
}

CUresult event_destroy(struct event *e)
{
    struct stream_set *set = set_of(e);
    pthread_mutex_lock(&set->lock);
    bool valid = set_of(e) == set && atomic_exchange(&e->id, 0);
    if (valid) invalidate(e);
    pthread_mutex_unlock(&set->lock);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void events_invalidate(struct stream_set *set)
{
    while (set->events) {
        atomic_store(&set->events->id, 0);
        invalidate(set->events);
    }
}

struct context *event_context(const struct event *e) { return set_of(e)->context; }

unsigned event_flags(const struct event *e) { return atomic_load_explicit(&e->flags, memory_order_relaxed); }

/* ---- interprocess events */

struct beacon_work {
    struct beacon *beacon;
    uint64_t n;
};

static void complete(void *arg, CUresult status)
{
    struct beacon_work *w = arg;
    (void)status; /* what will not be done any more keeps nobody waiting */
    beacon_complete(w->beacon, w->n);
    beacon_release(w->beacon);
}

/* The reference is taken over, here and below. */
static CUresult record_beacon(struct beacon *b, struct stream *s)
{
    struct beacon_work w = { b, beacon_record(b) };
    CUresult r = stream_call(s, complete, &w, sizeof w);
    if (r) complete(&w, r);
    return r;
}

static void wait_for_beacon(void *arg, CUresult status)
{
    struct beacon_work *w = arg;
    if (!status) beacon_wait(w->beacon, w->n);
    beacon_release(w->beacon);
}

static CUresult stream_wait_beacon(struct stream *s, struct beacon *b)
{
    struct beacon_work w = { b, beacon_newest(b) };
    const bool done = beacon_done(b, w.n);
    CUresult r = done ? CUDA_SUCCESS : stream_call(s, wait_for_beacon, &w, sizeof w);
    if (done || r) beacon_release(b);
    return r;
}

/* ---- what is done with events */

CUresult event_record(struct event *e, struct stream *s)
{
    struct beacon *b = take_beacon(e);
    CUresult r = b ? record_beacon(b, s) : CUDA_SUCCESS;
    if (r) return r;
    struct mark *m = mark_new(s, !(event_flags(e) & CU_EVENT_DISABLE_TIMING));
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    mark_note_clock(m, s);
    if ((r = stream_record(s, &m)))
        mark_release(m);
    else
        set_mark(e, m);
    return r;
}

bool event_was_recorded(struct event *e)
{
    struct mark *m = event_mark(e);
    mark_release(m);
    return e->beacon || m;
}

bool event_was_captured(const struct event *e) { return e->captured; }
void event_set_captured(struct event *e, bool captured) { e->captured = captured; }

CUresult event_query(struct event *e)
{
    struct stream_set *set = set_of(e); /* e may be destroyed meanwhile, and be another event */
    struct beacon *b = take_beacon(e);
    struct mark *m = b ? NULL : event_mark(e);
    bool done = b ? beacon_over(b, beacon_newest(b)) : !m || mark_done(m);
    if (b) beacon_release(b);
    mark_release(m);
    if (!done) return CUDA_ERROR_NOT_READY;
    if (!b) streams_seen(set);
    return set_error(set); /* what was before the event may have failed, and is over all the same */
}

CUresult event_synchronize(struct event *e, struct mark **reached)
{
    struct stream_set *set = set_of(e);
    struct beacon *b = take_beacon(e);
    struct mark *m = b ? NULL : event_mark(e);
    if (m) mark_wait(m, true);
    if (reached)
        *reached = m;
    else
        mark_release(m);
    if (b) {
        beacon_wait(b, beacon_newest(b));
        beacon_release(b);
    }
    streams_seen(set);
    struct processor *p = set->context->device->processor;
    if (p) processor_flush_printf(p);
    return set_error(set);
}

CUresult event_elapsed(struct event *start, struct event *end, float *ms)
{
    if (event_context(start)->device != event_context(end)->device ||
        (event_flags(start) | event_flags(end)) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    struct mark *a = event_mark(start), *b = event_mark(end);
    CUresult r = CUDA_ERROR_INVALID_HANDLE;
    if (a && b) r = mark_done(a) && mark_done(b) ? set_error(set_of(end)) : CUDA_ERROR_NOT_READY;
    if (!r) *ms = (float)((double)(int64_t)(b->time - a->time) / 1e6);
    mark_release(a);
    mark_release(b);
    return r;
}

CUresult stream_wait_event(struct stream *s, struct event *e)
{
    struct beacon *b = take_beacon(e);
    if (b) return stream_wait_beacon(s, b);
    struct mark *m = event_mark(e);
    CUresult r = m ? stream_wait(s, m) : CUDA_SUCCESS;
    if (m && !r) stream_learn_clock(s, m);
    mark_release(m);
    return r;
}
