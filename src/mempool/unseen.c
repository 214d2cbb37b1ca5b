/* Which memory of a chunk was freed in streams and has not been waited for since: it is not given back to the system
 * (observed on H200). What is lent again counts no more, whoever it is lent to. */
#include "mempool/internal.h"

static void drop(struct chunk *c, unsigned k) { c->unseen[k] = c->unseen[--c->unseen_count]; }

/* Of more streams than are known the first counts as seen. */
void unseen_note(struct chunk *c, const struct unseen *n)
{
    unsigned k = 0;
    while (k < c->unseen_count) {
        struct unseen *u = &c->unseen[k++];
        if (u->place.id != n->place.id || u->place.stream != n->place.stream || n->to < u->from || u->to < n->from)
            continue;
        u->place = n->place;
        if (n->from < u->from) u->from = n->from;
        if (n->to > u->to) u->to = n->to;
        return;
    }
    if (c->unseen_count == FREES_KNOWN) drop(c, 0);
    c->unseen[c->unseen_count++] = *n;
}

void unseen_lent(struct chunk *c, uint64_t from, uint64_t to)
{
    for (unsigned k = c->unseen_count; k--;) {
        struct unseen *u = &c->unseen[k];
        if (u->from >= from && u->to <= to)
            drop(c, k);
        else if (u->from >= from && u->from < to)
            u->from = to;
        else if (u->to <= to && u->to > from)
            u->to = from;
    }
}

bool unseen_any(const struct chunk *c, uint64_t from, uint64_t to)
{
    for (unsigned k = 0; k < c->unseen_count; k++)
        if (c->unseen[k].from < to && c->unseen[k].to > from) return true;
    return false;
}

void unseen_cut(struct chunk *c, uint64_t from, uint64_t to)
{
    unseen_lent(c, 0, from);
    unseen_lent(c, to, UINT64_MAX);
    for (unsigned k = 0; k < c->unseen_count; k++) c->unseen[k].from -= from, c->unseen[k].to -= from;
}

bool was_waited_for(const struct place *p, const struct waited *w)
{
    if (w->mark) return point_follows(w->mark, p);
    if (w->stream && place_in_legacy(p)) return stream_came_after_legacy(w->stream, p); /* observed on H200 */
    return w->stream ? stream_follows(w->stream, p) : !w->context || place_in(p, w->context);
}

bool unseen_wait(struct chunk *c, const struct waited *w)
{
    for (unsigned k = c->unseen_count; k--;)
        if (was_waited_for(&c->unseen[k].place, w)) drop(c, k);
    return c->unseen_count;
}
