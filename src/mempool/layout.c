/* See layout.h. */
#include "mempool/layout.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more. */
static bool grow(void **array, unsigned count, unsigned *room, size_t size)
{
    if (count < *room) return true;
    const unsigned more = *room ? 2 * *room : 8;
    void *larger = reallocarray(*array, more, size);
    if (!larger) return false;
    *array = larger;
    *room = more;
    return true;
}

static void forget(struct layout *l, struct hole *h)
{
    l->holes--;
    memmove(h, h + 1, (size_t)(l->hole + l->holes - h) * sizeof *h);
}

/* ---- taking */

static struct hole *find_hole(struct layout *l, uint64_t size, comes_after *after)
{
    struct hole *best = NULL;
    for (struct hole *h = l->hole; h < l->hole + l->holes; h++) {
        if (h->size < size || (best && h->lane > best->lane) ||
            (best && h->lane == best->lane && h->size >= best->size))
            continue;
        if (after(h->point)) best = h;
    }
    return best;
}

static struct segment *find_end(struct layout *l, uint64_t size)
{
    struct segment *best = NULL;
    for (struct segment *s = l->segment; s < l->segment + l->segments; s++)
        if (s->size - s->used >= size && (!best || s->size - s->used < best->size - best->used)) best = s;
    return best;
}

bool layout_take(struct layout *l, uint64_t size, comes_after *after, uint64_t *at)
{
    struct hole *h = find_hole(l, size, after);
    struct segment *s = h ? NULL : find_end(l, size);
    if (h) {
        *at = h->at;
        h->at += size;
        h->size -= size;
        if (!h->size) forget(l, h);
    } else if (s) {
        *at = s->at + s->used;
        s->used += size;
    }
    return h || s;
}

CUresult layout_extend(struct layout *l, uint64_t at, uint64_t size)
{
    for (struct segment *s = l->segment; s < l->segment + l->segments; s++)
        if (s->at + s->size == at) {
            s->size += size;
            return CUDA_SUCCESS;
        }
    if (!grow((void **)&l->segment, l->segments, &l->segment_room, sizeof *l->segment)) return CUDA_ERROR_OUT_OF_MEMORY;
    l->segment[l->segments++] = (struct segment){ .at = at, .size = size };
    return CUDA_SUCCESS;
}

/* ---- freeing */

/* The lane that a free continues, which may be a new one. */
static unsigned lane_of(const struct layout *l, comes_after *after)
{
    unsigned k = 0;
    while (k < l->lanes && !after(l->lane[k])) k++;
    return k;
}

/* Takes the neighbours of its lane into h. */
static void join(struct layout *l, struct hole *h)
{
    for (unsigned k = l->holes; k--;) {
        const struct hole *o = &l->hole[k];
        const bool below = o->at + o->size == h->at, above = h->at + h->size == o->at;
        if (o->lane != h->lane || (!below && !above)) continue;
        if (below) h->at = o->at;
        h->size += o->size;
        forget(l, &l->hole[k]);
    }
}

CUresult layout_free(struct layout *l, uint64_t at, uint64_t size, const void *point, comes_after *after)
{
    struct hole h = { .at = at, .size = size, .point = point, .lane = lane_of(l, after) };
    if (!grow((void **)&l->hole, l->holes, &l->hole_room, sizeof *l->hole) ||
        !grow((void **)&l->lane, l->lanes, &l->lane_room, sizeof *l->lane))
        return CUDA_ERROR_OUT_OF_MEMORY;
    l->lanes += h.lane == l->lanes;
    l->lane[h.lane] = point;
    join(l, &h);
    l->hole[l->holes++] = h;
    return CUDA_SUCCESS;
}

void layout_end(struct layout *l)
{
    free(l->hole);
    free(l->lane);
    free(l->segment);
}
