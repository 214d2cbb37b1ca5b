/* Points, and which of other streams' points a stream is known to come after:
 * a vector clock of bounded size. An event takes its stream's clock along and
 * whoever waits for the event learns it. Forgetting an entry is safe. */
#include "stream/point.h"
#include "stream/internal.h"

#include <stdlib.h>

static void learn(struct clock *c, uint64_t id, uint64_t number)
{
    unsigned oldest = 0;
    for (unsigned i = 0; i < CLOCK_ENTRIES; i++) {
        if (c->entry[i].id == id) {
            if (c->entry[i].number < number) c->entry[i].number = number;
            return;
        }
        if (c->entry[i].number && c->entry[oldest].number && c->entry[i].id < c->entry[oldest].id)
            oldest = i;
        else if (!c->entry[i].number && c->entry[oldest].number)
            oldest = i;
    }
    c->entry[oldest] = (struct clock_entry){ id, number };
}

void mark_note_clock(struct mark *m, struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->points || s->clock.entry[0].number) m->clock = malloc(sizeof *m->clock);
    if (m->clock) {
        *m->clock = s->clock;
        if (s->points) learn(m->clock, s->id, s->points);
    }
    pthread_mutex_unlock(&s->lock);
}

void stream_learn_clock(struct stream *s, const struct mark *m)
{
    if (!m->clock) return;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < CLOCK_ENTRIES; i++)
        if (m->clock->entry[i].number && m->clock->entry[i].id != s->id)
            learn(&s->clock, m->clock->entry[i].id, m->clock->entry[i].number);
    pthread_mutex_unlock(&s->lock);
}

/* A stream whose legacy stream has nothing to do, or no other streams to order with. */
static bool all_done(struct stream *s)
{
    if (!stream_idle(s)) return false;
    return s->kind == STREAM_LEGACY ? !atomic_load(&s->set->blocking)
                                    : !stream_orders_with_legacy(s) || stream_idle(s->set->legacy);
}

CUresult stream_point(struct stream *s, struct place *place, struct mark **mark)
{
    CUresult r = CUDA_SUCCESS;
    struct mark *m = NULL;
    if (!all_done(s)) {
        if (!(m = mark_new(s, false))) return CUDA_ERROR_OUT_OF_MEMORY;
        r = stream_record(s, &m);
    }
    if (r || (m && mark_done(m))) {
        mark_release(m);
        m = NULL;
    }
    if (r) return r;
    pthread_mutex_lock(&s->lock);
    note_legacy(s);
    *place = (struct place){ s, s->id, ++s->points };
    pthread_mutex_unlock(&s->lock);
    *mark = m;
    return CUDA_SUCCESS;
}

CUresult stream_mark(struct stream *s, struct mark **mark)
{
    struct mark *m = mark_new(s, false);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    mark_note_clock(m, s);
    CUresult r = stream_record(s, &m);
    if (r || (mark_done(m) && !m->clock)) {
        mark_release(m);
        m = NULL;
    }
    *mark = m;
    return r;
}

CUresult stream_follow(struct stream *s, struct mark *m)
{
    CUresult r = m ? stream_wait(s, m) : CUDA_SUCCESS;
    if (m && !r) stream_learn_clock(s, m);
    return r;
}

bool stream_done(struct stream *s) { return stream_idle(s); }

bool point_done(struct mark *m) { return !m || mark_done(m); }

struct mark *point_share(struct mark *m) { return mark_reference(m); }

void point_release(struct mark *m) { mark_release(m); }

CUresult stream_after(struct stream *s, struct mark *m) { return m ? stream_wait(s, m) : CUDA_SUCCESS; }

bool stream_is_at(const struct stream *s, const struct place *place)
{
    return place->stream == s && place->id == s->id;
}

bool place_in(const struct place *place, const struct context *c)
{
    return place->stream->id != place->id || place->stream->set->context == c;
}

bool place_in_legacy(const struct place *place) { return place->stream->kind == STREAM_LEGACY; }

void stream_note_lent(struct stream *s)
{
    if (!stream_orders_with_legacy(s)) return;
    pthread_mutex_lock(&s->lock);
    note_legacy(s);
    pthread_mutex_unlock(&s->lock);
}

bool stream_came_after_legacy(struct stream *s, const struct place *place)
{
    if (stream_is_at(s, place)) return true;
    pthread_mutex_lock(&s->lock);
    bool came = stream_orders_with_legacy(s) && stream_is_at(s->set->legacy, place) && place->number <= s->after_legacy;
    pthread_mutex_unlock(&s->lock);
    return came;
}

static bool knows(const struct clock *c, const struct place *place)
{
    for (unsigned i = 0; i < CLOCK_ENTRIES; i++)
        if (c->entry[i].id == place->id && c->entry[i].number >= place->number) return true;
    return false;
}

/* Whether one of both is the legacy stream, and comes before and after the other in turn. */
static bool take_turns(struct stream *s, const struct place *place)
{
    struct stream *t = place->stream;
    const bool does = t->set == s->set && ((s->kind == STREAM_LEGACY && stream_orders_with_legacy(t)) ||
                                           (t->kind == STREAM_LEGACY && stream_orders_with_legacy(s)));
    return does && t->id == place->id; /* asked last: so all that was another stream's, if it is one by now */
}

bool stream_follows(struct stream *s, const struct place *place)
{
    if (stream_is_at(s, place) || take_turns(s, place)) return true;
    pthread_mutex_lock(&s->lock);
    bool known = knows(&s->clock, place);
    pthread_mutex_unlock(&s->lock);
    return known;
}

bool point_follows(const struct mark *m, const struct place *place)
{
    return (m->clock && knows(m->clock, place)) || take_turns(m->stream, place);
}
