/* The addresses of graphs' memory: zones, and what of them is whose; see arena.h. */
#include "mempool/arena.h"
#include "context/context.h"

#include <stdlib.h>

/* As an H200 has for all graphs of a device, in capacities; and a small device, for as many graphs. */
enum { ZONE = 2, SMALL_ZONE = 8 };
static const uint64_t ENOUGH = 256ull << 30;

static struct zone zones[MAX_DEVICES];
static pthread_once_t zones_once = PTHREAD_ONCE_INIT;

static void init_zones(void)
{
    for (int k = 0; k < MAX_DEVICES; k++) {
        pthread_mutex_init(&zones[k].lock, NULL);
        pthread_cond_init(&zones[k].launched, NULL);
        zones[k].device = &devices[k];
    }
}

struct zone *zone_of(struct device *d)
{
    pthread_once(&zones_once, init_zones);
    return &zones[d->ordinal];
}

static CUresult open_zone(struct zone *z)
{
    if (z->span) return CUDA_SUCCESS;
    const uint64_t capacity = z->device->vram.capacity, small = SMALL_ZONE * capacity;
    uint64_t most = small < ENOUGH ? small : ENOUGH;
    if (most < ZONE * capacity) most = ZONE * capacity;
    CUresult r = space_place(z->device, round_up(most, MEMPOOL_MAPPING), MEMPOOL_MAPPING, &z->place);
    if (r) return r;
    if ((z->span = calloc(z->place.size / MEMPOOL_MAPPING, sizeof *z->span))) {
        z->spans = (unsigned)(z->place.size / MEMPOOL_MAPPING);
        return r;
    }
    space_unplace(z->device, &z->place);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- addresses of an arena */

static bool are_free(const struct zone *z, uint64_t first, uint64_t count)
{
    if (count > z->spans || first > z->spans - count) return false;
    for (uint64_t k = first; k < first + count; k++)
        if (z->span[k].arena) return false;
    return true;
}

/* The first that are free (observed on H200). */
static bool find_spans(const struct zone *z, uint64_t count, uint64_t *first)
{
    for (*first = 0; *first + count <= z->spans; ++*first)
        if (are_free(z, *first, count)) return true;
    return false;
}

static void set_arena(struct zone *z, uint64_t at, uint64_t size, struct arena *a)
{
    for (uint64_t k = 0; k < size / MEMPOOL_MAPPING; k++) z->span[at / MEMPOOL_MAPPING + k].arena = a;
}

/* The zone is full: a gets a segment of an arena that only launches under way use. Its own come after these. */
static CUresult inherit(struct arena *a, uint64_t size)
{
    for (struct arena *old = a->zone->dying; old; old = old->next) {
        struct layout *l = &old->layout;
        struct segment *g = l->segment, *end = g + l->segments;
        while (g < end && (g->size < size || old->others != a->others)) g++;
        if (g == end) continue;
        CUresult r = CUDA_SUCCESS;
        for (uint64_t at = g->at; at < g->at + g->size && !r; at += MEMPOOL_MAPPING)
            r = span_inherit(&a->zone->span[at / MEMPOOL_MAPPING]);
        if (r || (r = layout_extend(&a->layout, g->at, g->size))) return r;
        set_arena(a->zone, g->at, g->size, a);
        *g = end[-1];
        l->segments--;
        return r;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* With the zone's lock: as many addresses more as size, in whole spans (observed on H200). */
static CUresult extend(struct arena *a, uint64_t size)
{
    struct zone *z = a->zone;
    uint64_t first;
    size = round_up(size, MEMPOOL_MAPPING);
    arenas_bury(z);
    CUresult r = open_zone(z);
    if (!r && !find_spans(z, size / MEMPOOL_MAPPING, &first))
        r = inherit(a, size);
    else if (!r && !(r = layout_extend(&a->layout, first * MEMPOOL_MAPPING, size)))
        set_arena(z, first * MEMPOOL_MAPPING, size, a);
    return r;
}

CUresult arena_take(struct arena *a, uint64_t size, comes_after *after, uint64_t *at)
{
    CUresult r = CUDA_SUCCESS;
    if (size > UINT64_MAX - MEMPOOL_MAPPING) return CUDA_ERROR_OUT_OF_MEMORY; /* it has to be rounded up */
    size = round_up(size, BLOCK_UNIT);
    pthread_mutex_lock(&a->zone->lock); /* an executable graph with the same addresses may be launched meanwhile */
    if (!layout_take(&a->layout, size, after, at) && !(r = extend(a, size)) && !layout_take(&a->layout, size, after, at))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&a->zone->lock);
    return r;
}

CUresult arena_open(struct arena *a, uint32_t others)
{
    struct zone *z = a->zone;
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&z->lock);
    const uint32_t more = others & ~a->others;
    a->others |= others;
    for (struct span *s = z->span; s < z->span + z->spans && more && !r; s++)
        for (int k = 0; k < device_count && !r && s->arena == a && s->mapped; k++)
            if (more >> k & 1) r = span_map(z, s, &devices[k]);
    pthread_mutex_unlock(&z->lock);
    return r;
}

/* ---- life */

CUresult arena_make(struct mempool *p, struct arena **out)
{
    struct arena *a = calloc(1, sizeof *a);
    if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
    a->pool = p;
    a->zone = zone_of(p->device);
    a->references = 1;
    *out = a;
    return CUDA_SUCCESS;
}

static bool is_done(const struct arena *a)
{
    for (unsigned k = 0; k < a->layout.segments; k++) {
        const struct segment *g = &a->layout.segment[k];
        for (uint64_t at = g->at; at < g->at + g->size; at += MEMPOOL_MAPPING)
            if (!span_is_idle(&a->zone->span[at / MEMPOOL_MAPPING])) return false;
    }
    return true;
}

static void bury(struct arena *a)
{
    for (unsigned k = 0; k < a->layout.segments; k++) {
        const struct segment *g = &a->layout.segment[k];
        for (uint64_t at = g->at; at < g->at + g->size; at += MEMPOOL_MAPPING) {
            struct span *s = &a->zone->span[at / MEMPOOL_MAPPING];
            span_clear(a->zone, s);
            s->arena = NULL;
        }
    }
    for (struct piece *p = a->zone->pieces; p; p = p->next)
        if (p->arena == a) p->arena = NULL;
    layout_end(&a->layout);
    free(a);
}

void arenas_bury(struct zone *z)
{
    for (struct arena **at = &z->dying, *a; (a = *at);) {
        if (!is_done(a)) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        bury(a);
    }
}

void arena_release(struct arena *a)
{
    struct zone *z = a->zone;
    pthread_mutex_lock(&z->lock);
    if (!--a->references) {
        a->next = z->dying;
        z->dying = a;
        arenas_bury(z);
    }
    pthread_mutex_unlock(&z->lock);
}
