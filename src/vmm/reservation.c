/* Reservations: which addresses of the window are taken, and where the next
 * one goes. Nothing is mapped for them: in every process they are addresses
 * that nobody else uses. Gaps are kept by size too, so that finding a place
 * does not get slower with the number of reservations. */
#include "vmm/internal.h"
#include "base/tree.h"
#include "base/units.h"

#include <stdlib.h>

/* Addresses between reservations. */
struct gap {
    uint64_t base, size;
    RB_ENTRY(gap) by_base, by_size;
};

static int compare(uint64_t x, uint64_t y) { return x < y ? -1 : x > y; }
static int order_reservations(struct reservation *x, struct reservation *y) { return compare(x->base, y->base); }
static int order_by_base(struct gap *x, struct gap *y) { return compare(x->base, y->base); }
static int order_by_size(struct gap *x, struct gap *y)
{
    return x->size == y->size ? compare(x->base, y->base) : compare(x->size, y->size);
}

RB_HEAD(reservations, reservation);
RB_HEAD(bases, gap);
RB_HEAD(sizes, gap);
TREE_FUNCTIONS(reservations, reservation, link, order_reservations)
TREE_FUNCTIONS(bases, gap, by_base, order_by_base)
TREE_FUNCTIONS(sizes, gap, by_size, order_by_size)

pthread_rwlock_t vmm_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct reservations reservations = RB_INITIALIZER(&reservations);
static struct bases bases = RB_INITIALIZER(&bases);
static struct sizes sizes = RB_INITIALIZER(&sizes);

const struct reservation *reservation_find(uint64_t address)
{
    struct reservation key = { .base = address }, *r = RB_NFIND(reservations, &reservations, &key);
    if (!r || r->base != address) r = r ? RB_PREV(reservations, &reservations, r) : RB_MAX(reservations, &reservations);
    return r && address - r->base < r->size ? r : NULL;
}

bool vmm_reserved(uint64_t address, uint64_t *base, uint64_t *size)
{
    pthread_rwlock_rdlock(&vmm_lock);
    const struct reservation *r = reservation_find(address);
    if (r) {
        *base = r->base;
        *size = r->size;
    }
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

bool reservations_cover(uint64_t base, uint64_t size)
{
    if (base + size <= base) return false;
    for (uint64_t at = base, end = base + size; at < end;) {
        const struct reservation *r = reservation_find(at);
        if (!r) return false;
        at = r->base + r->size;
    }
    return true;
}

static void add_gap(struct gap *g, uint64_t base, uint64_t size)
{
    g->base = base;
    g->size = size;
    RB_INSERT(bases, &bases, g);
    RB_INSERT(sizes, &sizes, g);
}

static void remove_gap(struct gap *g)
{
    RB_REMOVE(bases, &bases, g);
    RB_REMOVE(sizes, &sizes, g);
}

/* At the first call the window is one gap. */
static bool window_ready(void)
{
    static bool ready;
    struct gap *g = ready ? NULL : malloc(sizeof *g);
    if (g) add_gap(g, space_reserve_base(), space_reserve_end() - space_reserve_base());
    return ready |= g != NULL;
}

static bool fits(const struct gap *g, uint64_t base, uint64_t size)
{
    return base >= g->base && base - g->base <= g->size && size <= g->size - (base - g->base);
}

/* What is small is put beside others: its hint is honoured where it begins a gap, that is, where it continues another
 * reservation (observed on H200: one in the middle of free addresses is not). */
static struct gap *gap_at(uint64_t hint, uint64_t size, uint64_t alignment)
{
    struct gap key = { .base = hint }, *g = RB_FIND(bases, &bases, &key);
    return g && !(hint & (alignment - 1)) && fits(g, hint, size) ? g : NULL;
}

/* What is large goes where its hint says, or to the next place above (observed on H200). */
static struct gap *gap_from(uint64_t hint, uint64_t size, uint64_t alignment, uint64_t *base)
{
    struct gap key = { .base = hint }, *g = RB_NFIND(bases, &bases, &key),
               *below = g ? RB_PREV(bases, &bases, g) : RB_MAX(bases, &bases);
    if (below && below->base + below->size > hint) g = below;
    for (; g; g = RB_NEXT(bases, &bases, g))
        if (fits(g, *base = round_up(g->base > hint ? g->base : hint, alignment), size)) return g;
    return NULL;
}

static struct gap *wished_gap(uint64_t hint, uint64_t size, uint64_t alignment, uint64_t *base)
{
    *base = hint;
    if (hint < space_reserve_base() || hint >= space_reserve_end()) return NULL;
    if (size < VMM_CHUNK && alignment < VMM_CHUNK) return gap_at(hint, size, alignment);
    return gap_from(hint, size, alignment < VMM_CHUNK ? VMM_CHUNK : alignment, base);
}

/* The smallest gap that has room, and the place in it. */
static struct gap *find_place(uint64_t size, uint64_t alignment, uint64_t hint, uint64_t *base)
{
    struct gap key = { .size = size }, *g = wished_gap(hint, size, alignment, base);
    if (g) return g;
    for (g = RB_NFIND(sizes, &sizes, &key); g; g = RB_NEXT(sizes, &sizes, g))
        if (fits(g, *base = round_up(g->base, alignment), size)) return g;
    return NULL;
}

CUresult vmm_reserve(uint64_t size, uint64_t alignment, uint64_t hint, uint64_t *base)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    struct reservation *v = malloc(sizeof *v);
    struct gap *rest = malloc(sizeof *rest);
    if (alignment < VMM_GRANULARITY) alignment = VMM_GRANULARITY;
    pthread_rwlock_wrlock(&vmm_lock);
    if (!v || !rest || !window_ready()) goto out;
    uint64_t at;
    struct gap *g = find_place(size, alignment, hint, &at);
    if (!g) goto out;
    uint64_t before = at - g->base, after = g->size - before - size;
    remove_gap(g);
    if (before) {
        add_gap(g, g->base, before);
        g = rest;
        rest = NULL;
    }
    if (after)
        add_gap(g, at + size, after);
    else
        free(g);
    v->base = *base = at;
    v->size = size;
    RB_INSERT(reservations, &reservations, v);
    v = NULL;
    r = CUDA_SUCCESS;
out:
    pthread_rwlock_unlock(&vmm_lock);
    free(v);
    free(rest);
    return r;
}

/* Its addresses join the gaps beside them. */
static void join(struct gap *g, uint64_t base, uint64_t size)
{
    struct gap key = { .base = base }, *above = RB_NFIND(bases, &bases, &key),
               *below = above ? RB_PREV(bases, &bases, above) : RB_MAX(bases, &bases);
    if (below && below->base + below->size == base) {
        remove_gap(below);
        base = below->base;
        size += below->size;
        free(below);
    }
    if (above && base + size == above->base) {
        remove_gap(above);
        size += above->size;
        free(above);
    }
    add_gap(g, base, size);
}

CUresult vmm_reservation_free(uint64_t base, uint64_t size)
{
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    struct reservation key = { .base = base }, *v = NULL;
    struct gap *g = malloc(sizeof *g);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_rwlock_wrlock(&vmm_lock);
    const struct vmm_mapping *m = mapping_from(base);
    if ((v = RB_FIND(reservations, &reservations, &key)) && v->size == size && !(m && m->a.base < base + size)) {
        RB_REMOVE(reservations, &reservations, v);
        join(g, base, size);
        g = NULL;
        r = CUDA_SUCCESS;
    } else {
        v = NULL;
    }
    pthread_rwlock_unlock(&vmm_lock);
    free(v);
    free(g);
    return r;
}
