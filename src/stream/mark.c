/* Marks: points in a stream's order that others wait for. */
#include "stream/internal.h"

#include <stdlib.h>
#include <time.h>

uint64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct mark *mark_new(struct stream *s, bool timed)
{
    struct mark *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    atomic_init(&m->references, 1);
    atomic_init(&m->state, MARK_QUEUED);
    m->stream = s;
    m->timed = timed;
    return m;
}

struct mark *mark_reference(struct mark *m)
{
    atomic_fetch_add_explicit(&m->references, 1, memory_order_relaxed);
    return m;
}

void mark_release(struct mark *m)
{
    if (m && atomic_fetch_sub_explicit(&m->references, 1, memory_order_acq_rel) == 1) {
        free(m->clock);
        free(m);
    }
}

static void set_state(struct mark *m, enum mark_state state)
{
    atomic_store_explicit(&m->state, state, memory_order_release);
}

static enum mark_state state_of(const struct mark *m) { return atomic_load_explicit(&m->state, memory_order_acquire); }

void mark_submit(struct mark *m)
{
    struct stream *s = m->stream;
    if (channel_idle(s)) {
        m->time = clock_now();
        set_state(m, MARK_DONE);
        return;
    }
    m->seq = m->timed ? processor_mark(stream_processor(s), s->channel) : 0;
    if (m->seq)
        atomic_store_explicit(&s->last, m->seq, memory_order_release);
    else
        m->seq = atomic_load_explicit(&s->last, memory_order_relaxed);
    m->channel = s->channel;
    m->processor = stream_processor(s);
    set_state(m, MARK_SUBMITTED);
    m->next = NULL;
    *s->marks_end = mark_reference(m);
    s->marks_end = &m->next;
}

void marks_resolve(struct stream *s)
{
    if (!s->marks) return;
    struct processor *p = stream_processor(s);
    for (struct mark *m; (m = s->marks);) {
        bool dead = processor_status(p) != CUDA_SUCCESS;
        if (!dead && !processor_done(p, s->channel, m->seq)) return;
        if (m->timed) m->time = dead ? clock_now() : processor_mark_time(p, s->channel, m->seq);
        s->marks = m->next;
        if (!s->marks) s->marks_end = &s->marks;
        set_state(m, MARK_DONE);
        mark_release(m);
    }
}

bool mark_place(const struct mark *m, const struct processor *p, uint32_t *channel, uint64_t *seq)
{
    enum mark_state state = state_of(m);
    *seq = 0;
    if (state != MARK_SUBMITTED) return state == MARK_DONE;
    *channel = m->channel;
    *seq = m->seq;
    return m->processor == p;
}

bool mark_done(struct mark *m)
{
    enum mark_state state = state_of(m);
    /* its item was retired a moment ago: it is submitted under the same lock */
    bool retired = state == MARK_QUEUED && m->ticket && atomic_load(&m->stream->retired) >= m->ticket;
    if (state == MARK_SUBMITTED || retired) {
        pthread_mutex_lock(&m->stream->lock);
        marks_resolve(m->stream);
        pthread_mutex_unlock(&m->stream->lock);
    }
    return state_of(m) == MARK_DONE;
}

void mark_wait(struct mark *m, bool help)
{
    if (mark_done(m)) return;
    struct stream *s = m->stream;
    pthread_mutex_lock(&s->lock);
    /* A mark that is not done keeps its stream from being released, so s is still its stream. */
    s->pins++;
    if (state_of(m) == MARK_QUEUED) queue_wait(s, m->ticket, help);
    while (state_of(m) == MARK_SUBMITTED) {
        pthread_mutex_unlock(&s->lock);
        processor_wait(m->processor, m->channel, m->seq);
        pthread_mutex_lock(&s->lock);
        marks_resolve(s);
    }
    stream_unpin(s);
    pthread_mutex_unlock(&s->lock);
}

void marks_init(struct marks *m)
{
    m->count = 0;
    m->capacity = sizeof m->inlined / sizeof *m->inlined;
    m->mark = NULL;
}

static struct mark **marks_array(struct marks *m) { return m->mark ? m->mark : m->inlined; }

struct mark *const *marks_list(const struct marks *m) { return m->mark ? m->mark : m->inlined; }

CUresult marks_add(struct marks *m, struct mark *reference)
{
    if (m->count == m->capacity) {
        struct mark **more = malloc(2 * m->capacity * sizeof *more);
        if (!more) {
            mark_release(reference);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        for (unsigned i = 0; i < m->count; i++) more[i] = marks_array(m)[i];
        free(m->mark);
        m->mark = more;
        m->capacity *= 2;
    }
    marks_array(m)[m->count++] = reference;
    return CUDA_SUCCESS;
}

void marks_wait(struct marks *m, bool help)
{
    for (unsigned i = 0; i < m->count; i++) mark_wait(marks_array(m)[i], help);
}

void marks_free(struct marks *m)
{
    for (unsigned i = 0; i < m->count; i++) mark_release(marks_array(m)[i]);
    free(m->mark);
    marks_init(m);
}
