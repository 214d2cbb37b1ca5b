/* Events of whole contexts: behind all that was issued into any stream of one,
 * or before all that will be. */
#include "stream/event.h"
#include "stream/internal.h"
#include "stream/operations.h"
#include "stream/point.h"

#include <stdlib.h>

static bool concerned(const struct stream *s, const struct green *g)
{
    return !g || s->green == g;
}

/* What is issued into a lane comes after the launch that it is of, and may come before what is waited for. */
static bool waits(const struct stream *s) { return s->kind != STREAM_LANE; }

/* Behind everything in all streams; without a lock. */
static CUresult after_all(struct stream_set *set, const struct green *g, struct marks *after)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&set->lock);
    for (struct stream *t = busy_first(set); t && !r; t = busy_next(t)) {
        pthread_mutex_lock(&t->lock);
        if (atomic_load(&set->dying))
            r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
        else if (concerned(t, g) && !stream_idle(t))
            r = mark_behind(t, after);
        pthread_mutex_unlock(&t->lock);
    }
    pthread_mutex_unlock(&set->lock);
    return r;
}

CUresult context_points(struct context *c, struct marks **points)
{
    struct marks *m = malloc(sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    marks_init(m);
    CUresult r = after_all(c->streams, NULL, m);
    if (r)
        points_release(m);
    else
        *points = m;
    return r;
}

bool points_done(const struct marks *m)
{
    bool done = true;
    for (unsigned k = 0; k < m->count && done; k++) done = mark_done(marks_list(m)[k]);
    return done;
}

void points_release(struct marks *m)
{
    marks_free(m);
    free(m);
}

CUresult context_record(struct context *c, const struct green *g, struct event *e)
{
    struct marks after;
    struct stream *s;
    CUresult r = stream_create(c, CU_STREAM_NON_BLOCKING, 0, &s);
    if (r) return r;
    marks_init(&after);
    r = after_all(c->streams, g, &after);
    for (unsigned k = 0; k < after.count && !r; k++) {
        r = stream_wait(s, marks_list(&after)[k]);
        if (!r) stream_learn_clock(s, marks_list(&after)[k]);
    }
    marks_free(&after);
    if (!r) r = event_record(e, s);
    stream_destroy(s); /* goes when its work is done */
    return r;
}

/* With the stream's lock. The device sees to it, if it can: no thread is needed then. */
static CUresult wait_here(struct stream *s, struct mark *m)
{
    struct item *i = item_new(ITEM_NOTHING, NULL, 0);
    CUresult r = i ? marks_add(&i->after, mark_reference(m)) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && !(queue_empty(s) && channel_follow(s, &i->after))) return queue_append(s, i);
    if (i) item_free(i);
    return r;
}

CUresult stream_pass_gate(struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    const struct marks *gate = &s->set->gate;
    uint32_t channel;
    uint64_t seq;
    for (unsigned k = 0; k < gate->count && !r && waits(s); k++)
        if (!mark_place(marks_list(gate)[k], NULL, &channel, &seq) || seq) r = wait_here(s, marks_list(gate)[k]);
    return r;
}

/* What has come to pass is not waited for by streams to come. With the set's lock. */
static void open_gate(struct marks *gate)
{
    for (unsigned k = 0; k < gate->count; k++)
        if (!mark_done(marks_list(gate)[k])) return;
    marks_free(gate);
}

static CUresult wait_everywhere(struct stream_set *set, const struct green *g, struct mark *m)
{
    CUresult r;
    pthread_mutex_lock(&set->lock);
    open_gate(&set->gate);
    r = marks_add(&set->gate, mark_reference(m));
    for (struct stream *s = set->streams; s && !r; s = s->next) {
        pthread_mutex_lock(&s->lock);
        if (s->id && m->stream != s && waits(s) && concerned(s, g)) r = wait_here(s, m);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&set->lock);
    return r;
}

CUresult context_wait(struct context *c, const struct green *g, struct event *e)
{
    if (event_adopted(e)) return CUDA_ERROR_NOT_SUPPORTED; /* its state is another process's */
    struct mark *m = event_mark(e);
    CUresult r = m && !mark_done(m) ? wait_everywhere(c->streams, g, m) : CUDA_SUCCESS;
    mark_release(m);
    return r;
}
