/* Streams come and go: sets, handles, creation and destruction. */
#include "context/green.h"
#include "stream/event.h"
#include "stream/internal.h"
#include "stream/operations.h"
#include "uvm/uvm.h"

#include <limits.h>

enum { SOME = 16 }; /* streams that are gone are looked at where others come and go: far more than come */

/* Ids of streams are as an H200 numbers them: its driver takes one for a new context, one for the default stream, and
 * some for its own use; so the first default stream is 7, and the first other one 14. */
enum { IDS_BEFORE = 5, IDS_OF_CONTEXT = 1, IDS_BEHIND_DEFAULT = 6 };
static _Atomic uint64_t newest_id = IDS_BEFORE;

static void construct_stream(void *object)
{
    struct stream *s = object;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->order, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, &monotonic);
    pthread_cond_init(&s->changed, NULL);
    pthread_condattr_destroy(&monotonic);
    s->end = &s->first;
    s->marks_end = &s->marks;
    s->awaited = UINT64_MAX;
}

static void construct_set(void *object) { pthread_mutex_init(&((struct stream_set *)object)->lock, NULL); }

static struct objects streams = OBJECTS_INIT(struct stream, construct_stream);
static struct objects sets = OBJECTS_INIT(struct stream_set, construct_set);

/* With the set's lock, here and below. */
static void gone_append(struct stream_set *set, struct stream *s)
{
    s->next_gone = NULL;
    *set->gone_end = s;
    set->gone_end = &s->next_gone;
}

static struct stream *gone_first(struct stream_set *set)
{
    struct stream *s = set->gone;
    if (s && !(set->gone = s->next_gone)) set->gone_end = &set->gone;
    return s;
}

/* With both locks. */
static void invalidate(struct stream *s)
{
    if (atomic_exchange(&s->id, 0)) gone_append(s->set, s);
    s->quit = true;
    if (s->worker) pthread_cond_signal(&s->work);
}

CUresult stream_new(struct stream_set *set, const struct stream_traits *t, struct stream **out)
{
    struct stream *s = object_take(&streams);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    pthread_mutex_lock(&set->lock);
    pthread_mutex_lock(&s->lock);
    const unsigned long long green_id = t->green ? atomic_load(&t->green->id) : 0;
    if (atomic_load(&set->dying) || (t->green && !green_id)) goto out;
    s->set = set;
    s->kind = t->kind;
    s->flags = t->flags;
    s->priority = t->priority;
    s->green = t->green;
    s->green_id = green_id;
    atomic_store(&s->outlived_by, 0);
    s->quit = false;
    s->attributes =
        (struct stream_attributes){ .synchronization = (CUsynchronizationPolicy)-1, .domain_map = { 0, 1 } };
    s->from_legacy = s->to_legacy = (struct seen){ 0, 0 };
    s->points = s->after_legacy = 0;
    s->clock = (struct clock){ 0 };
    s->from = &set->streams;
    s->next = set->streams;
    if (s->next) s->next->from = &s->next;
    set->streams = s;
    atomic_fetch_add(&set->blocking, stream_orders_with_legacy(s));
    atomic_store_explicit(&s->id, atomic_fetch_add(&newest_id, 1) + 1, memory_order_release);
    *out = s;
    r = stream_pass_gate(s);
    if (r) {
        invalidate(s);
        pthread_mutex_unlock(&s->lock);
        streams_reap(set, SOME);
        pthread_mutex_unlock(&set->lock);
        return r;
    }
out:
    pthread_mutex_unlock(&s->lock);
    if (r)
        object_give(&streams, s);
    else
        streams_reap(set, SOME);
    pthread_mutex_unlock(&set->lock);
    return r;
}

/* With the set's lock and the stream's, which it drops. The stream is not among those that are gone any more. */
static void release(struct stream_set *set, struct stream *s)
{
    marks_resolve(s);
    if (uvm_exclusive) uvm_stream_gone(s);
    channel_close(s);
    busy_leave(s);
    *s->from = s->next;
    if (s->next) s->next->from = s->from;
    atomic_fetch_sub(&set->blocking, stream_orders_with_legacy(s));
    pthread_mutex_unlock(&s->lock);
    object_give(&streams, s);
}

static bool finished(struct stream *s) { return queue_empty(s) && !s->worker && !s->pins && channel_idle(s); }

void streams_reap(struct stream_set *set, unsigned most)
{
    struct stream *s, *first = NULL; /* that stays */
    while (!atomic_load(&set->dying) && most-- && set->gone != first && (s = gone_first(set))) {
        pthread_mutex_lock(&s->lock);
        if (finished(s)) {
            release(set, s);
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        gone_append(set, s);
        if (!first) first = s;
    }
}

CUresult stream_create(struct context *c, unsigned flags, int priority, struct stream **out)
{
    return stream_new(c->streams, &(struct stream_traits){ STREAM_CREATED, flags, priority, NULL }, out);
}

static void (*ending)(struct stream *s);
static void (*all_ending)(struct context *c);

void streams_on_end(void (*one)(struct stream *s), void (*all)(struct context *c))
{
    ending = one;
    all_ending = all;
}

/* With the set's lock, which it drops meanwhile; the stream stays in the set's list. False: that is another one by now. */
static bool end_one(struct stream_set *set, struct stream *s, uint64_t id, unsigned long long outlived_by)
{
    pthread_mutex_lock(&s->lock);
    bool valid = id && s->id == id && s->set == set;
    if (valid) {
        atomic_store(&s->outlived_by, outlived_by);
        invalidate(s);
        s->pins++;
    }
    pthread_mutex_unlock(&s->lock);
    if (!valid) return false;
    pthread_mutex_unlock(&set->lock);
    if (ending) ending(s);
    pthread_mutex_lock(&set->lock);
    pthread_mutex_lock(&s->lock);
    stream_unpin(s);
    pthread_mutex_unlock(&s->lock);
    return true;
}

CUresult stream_end(struct stream *s, uint64_t id)
{
    struct stream_set *set = s->set;
    pthread_mutex_lock(&set->lock);
    bool valid = end_one(set, s, id, 0);
    streams_reap(set, SOME);
    pthread_mutex_unlock(&set->lock);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult stream_destroy(struct stream *s)
{
    uint64_t id = atomic_load(&s->id); /* first: what has this number is of this kind */
    return s->kind >= STREAM_CREATED ? stream_end(s, id) : CUDA_ERROR_INVALID_HANDLE;
}

void stream_unpin(struct stream *s)
{
    s->pins--;
    if (s->sleepers) pthread_cond_broadcast(&s->changed);
}

void stream_leave(struct stream *s)
{
    struct stream_set *set = s->set;
    pthread_mutex_lock(&set->lock);
    pthread_mutex_lock(&s->lock);
    stream_unpin(s);
    pthread_mutex_unlock(&s->lock);
    streams_reap(set, SOME);
    pthread_mutex_unlock(&set->lock);
}

CUresult stream_set_create(struct context *c)
{
    struct stream_set *set = object_take(&sets);
    if (!set) return CUDA_ERROR_OUT_OF_MEMORY;
    set->context = c;
    set->gone = NULL;
    set->gone_end = &set->gone;
    marks_init(&set->gate);
    atomic_store(&set->dying, false);
    atomic_fetch_add(&newest_id, IDS_OF_CONTEXT);
    CUresult r = stream_new(set, &(struct stream_traits){ .kind = STREAM_LEGACY }, &set->legacy);
    atomic_fetch_add(&newest_id, IDS_BEHIND_DEFAULT);
    if (r)
        object_give(&sets, set);
    else
        c->streams = set;
    return r;
}

/* The stream's work is done, its worker gone, and nobody waits for it any more. */
static void finish(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    while (!queue_empty(s) || s->worker || s->pins) {
        s->sleepers++;
        pthread_cond_wait(&s->changed, &s->lock);
        s->sleepers--;
    }
    channel_drain(s);
    pthread_mutex_unlock(&s->lock);
}

void stream_set_destroy(struct context *c)
{
    struct stream_set *set = c->streams;
    if (!set) return;
    atomic_store(&set->dying, true);
    pthread_mutex_lock(&set->lock);
    for (struct stream *s = set->streams; s; s = s->next) {
        pthread_mutex_lock(&s->lock);
        invalidate(s);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&set->lock);
    if (all_ending) all_ending(c);
    pthread_mutex_lock(&set->lock);
    events_invalidate(set);
    while (set->streams) {
        struct stream *s = set->streams;
        pthread_mutex_unlock(&set->lock);
        finish(s);
        pthread_mutex_lock(&set->lock);
        pthread_mutex_lock(&s->lock);
        if (finished(s))
            release(set, s);
        else /* somebody has come meanwhile who waits for it */
            pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&set->lock);
    marks_free(&set->gate);
    /* c keeps it: a call that was on its way when the context ended finds a dying set, never none */
    object_give(&sets, set);
}

_Thread_local bool stream_default_per_thread;

/* That goes with the primary context, too. */
static CUresult stream_of_green(const struct green *g, struct stream **out)
{
    *out = g->standard;
    return atomic_load(&g->standard->id) == g->standard_id ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult stream_refusal(const struct stream *s)
{
    const unsigned long long id = atomic_load(&s->outlived_by);
    return id && primary_lives(id) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_HANDLE;
}

CUresult stream_get(struct context *c, CUstream handle, bool per_thread, struct stream **out)
{
    const bool of_thread = handle == CU_STREAM_PER_THREAD || (!handle && (per_thread || stream_default_per_thread));
    const bool standard = of_thread || !handle || handle == CU_STREAM_LEGACY;
    const struct green *g = standard ? green_current() : NULL;
    if (g && g->primary == c) return of_thread ? CUDA_ERROR_INVALID_HANDLE : stream_of_green(g, out);
    if (of_thread) return stream_of_thread(c, out);
    if (standard) {
        *out = c->streams->legacy;
        return CUDA_SUCCESS;
    }
    struct stream *s = (struct stream *)handle;
    if (!objects_hold(&streams, s)) return CUDA_ERROR_INVALID_HANDLE;
    if (!atomic_load_explicit(&s->id, memory_order_acquire)) return stream_refusal(s);
    *out = s;
    return s->green && atomic_load(&s->green->id) != s->green_id ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult stream_create_green(struct green *g, unsigned flags, int priority, struct stream **out)
{
    return stream_new(g->primary->streams, &(struct stream_traits){ STREAM_CREATED, flags, priority, g }, out);
}

CUresult stream_create_lane(struct context *c, struct stream **out)
{
    struct green *g = c->real ? c->green : NULL;
    const struct stream_traits traits = { STREAM_LANE, CU_STREAM_NON_BLOCKING, STREAM_PRIORITY_LEAST, g };
    return stream_new(g ? g->primary->streams : c->streams, &traits, out);
}

CUresult stream_green_begins(struct green *g)
{
    CUresult r = stream_new(g->primary->streams, &(struct stream_traits){ .kind = STREAM_GREEN, .green = g }, &g->standard);
    if (!r) g->standard_id = atomic_load(&g->standard->id);
    return r;
}

void stream_green_ends(const struct green *g, unsigned long long id)
{
    struct stream_set *set = g->primary->streams;
    pthread_mutex_lock(&set->lock);
    for (struct stream *s = set->streams; s; s = s->next)
        if (s->green_id == id) end_one(set, s, atomic_load(&s->id), g->primary->id);
    streams_reap(set, UINT_MAX);
    pthread_mutex_unlock(&set->lock);
}

struct green *stream_green(const struct stream *s) { return s->green; }

struct context *stream_context(const struct stream *s) { return s->set->context; }

bool stream_is_default(const struct stream *s) { return s->kind < STREAM_CREATED; }

bool stream_is_legacy(const struct stream *s) { return s->kind == STREAM_LEGACY || s->kind == STREAM_GREEN; }

bool stream_legacy_orders(const struct stream *legacy, const struct stream *s)
{
    return legacy->kind == STREAM_LEGACY && legacy->set == s->set && stream_orders_with_legacy(s);
}
