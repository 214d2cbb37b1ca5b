/* The pieces of each advised mapping, in a tree, and the driver's way through
 * them; see attributes.h. A mapping that nobody advised has no tree. */
#include "uvm/attributes.h"
#include "base/tree.h"

#include <pthread.h>
#include <stdlib.h>

enum { PAGE_SHIFT = 12 };

/* Pages of a mapping with one value. */
struct piece {
    RB_ENTRY(piece) link;
    uint64_t start, end; /* page numbers, of the whole address space */
    struct attributes value;
};
RB_HEAD(pieces, piece);

struct mapping {
    RB_ENTRY(mapping) link;
    uint64_t base, end;   /* page numbers */
    struct pieces pieces; /* cover it without a gap */
    struct piece *spare;  /* linked by link.rbe_left */
    unsigned spares;
};
RB_HEAD(mappings, mapping);

static int by_start(struct piece *x, struct piece *y) { return x->start < y->start ? -1 : x->start > y->start; }
static int by_base(struct mapping *x, struct mapping *y) { return x->base < y->base ? -1 : x->base > y->base; }
TREE_FUNCTIONS(pieces, piece, link, by_start)
TREE_FUNCTIONS(mappings, mapping, link, by_base)

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* not waited for under uvm_lock */
static struct mappings mappings = RB_INITIALIZER(&mappings);

static const CUmemLocation nowhere = { .type = CU_MEM_LOCATION_TYPE_INVALID, .id = ATTRIBUTES_NOBODY };
static const struct attributes fresh = { .preferred = nowhere, .prefetched = nowhere };

static bool same_place(CUmemLocation x, CUmemLocation y) { return x.type == y.type && x.id == y.id; }

static bool same(const struct attributes *x, const struct attributes *y)
{
    return x->read_mostly == y->read_mostly && x->accessed_by == y->accessed_by &&
           same_place(x->preferred, y->preferred) && same_place(x->prefetched, y->prefetched);
}

static struct mapping *mapping_at(uint64_t base)
{
    struct mapping key = { .base = base >> PAGE_SHIFT };
    return RB_FIND(mappings, &mappings, &key);
}

/* ---- pieces */

static void keep(struct mapping *m, struct piece *p)
{
    p->link.rbe_left = m->spare;
    m->spare = p;
    m->spares++;
}

/* One walk cuts two pieces at most: at the start of its range and at its end. */
static bool provide(struct mapping *m)
{
    while (m->spares < 2) {
        struct piece *p = malloc(sizeof *p);
        if (!p) return false;
        keep(m, p);
    }
    return true;
}

static struct piece *take(struct mapping *m)
{
    struct piece *p = m->spare;
    m->spare = p->link.rbe_left;
    m->spares--;
    return p;
}

static void discard(struct mapping *m, struct piece *p)
{
    RB_REMOVE(pieces, &m->pieces, p);
    if (m->spares < 2)
        keep(m, p);
    else
        free(p);
}

static struct piece *piece_at(struct mapping *m, uint64_t page)
{
    struct piece *p = RB_ROOT(&m->pieces);
    while (page < p->start || page >= p->end) p = page < p->start ? RB_LEFT(p, link) : RB_RIGHT(p, link);
    return p;
}

/* As piece_at, for a page that is behind p and rarely far. */
static struct piece *piece_behind(struct mapping *m, struct piece *p, uint64_t page)
{
    for (int k = 0; k < 4; k++) {
        p = RB_NEXT(pieces, &m->pieces, p);
        if (page < p->end) return p;
    }
    return piece_at(m, page);
}

/* p ends at page; what was behind it is a piece of its own, which is returned. */
static struct piece *cut(struct mapping *m, struct piece *p, uint64_t page)
{
    struct piece *rest = take(m);
    rest->start = page;
    rest->end = p->end;
    rest->value = p->value;
    p->end = page;
    RB_INSERT(pieces, &m->pieces, rest);
    return rest;
}

static struct piece *merge(struct mapping *m, struct piece *p)
{
    struct piece *below = RB_PREV(pieces, &m->pieces, p), *above = RB_NEXT(pieces, &m->pieces, p);
    if (below && same(&below->value, &p->value)) {
        below->end = p->end;
        discard(m, p);
        p = below;
    }
    if (above && same(&above->value, &p->value)) {
        p->end = above->end;
        discard(m, above);
    }
    return p;
}

/* ---- walks */

struct change {
    enum { CHANGE_ADVICE, CHANGE_PREFETCHED, CHANGE_FREED } kind;
    CUmem_advise advice;
    CUmemLocation location;
};

static void apply(struct attributes *v, const struct change *c)
{
    uint32_t who = c->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1u << c->location.id : ATTRIBUTES_HOST;
    if (c->kind == CHANGE_FREED) {
        *v = fresh;
        return;
    }
    if (c->kind == CHANGE_PREFETCHED) {
        v->prefetched = c->location;
        return;
    }
    switch (c->advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: v->read_mostly = true; break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: v->read_mostly = false; break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: v->preferred = c->location; break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: v->preferred = nowhere; break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY: v->accessed_by |= who; break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: v->accessed_by &= ~who; break;
    default: break;
    }
}

/* The pages of a range of bytes. */
struct range {
    uint64_t start, end;
};

static struct range pages(uint64_t va, uint64_t size)
{
    return (struct range){ va >> PAGE_SHIFT, (va + size + (1u << PAGE_SHIFT) - 1) >> PAGE_SHIFT };
}

static void walk(struct mapping *m, struct range r, const struct change *c)
{
    struct piece *p = NULL;
    for (uint64_t at = r.start; at < r.end && at < m->end; at += p->end - p->start) {
        p = p ? piece_behind(m, p, at) : piece_at(m, at);
        if (p->end > r.end) cut(m, p, r.end);
        if (p->start < r.start) p = cut(m, p, r.start);
        apply(&p->value, c);
        p = merge(m, p);
    }
}

static struct mapping *mapping_new(const struct allocation *a)
{
    struct mapping *m = calloc(1, sizeof *m);
    if (!m || !provide(m)) goto failed;
    struct range r = pages(a->mapping_base, a->mapping_size);
    m->base = r.start;
    m->end = r.end;
    struct piece *whole = take(m);
    *whole = (struct piece){ .start = r.start, .end = r.end, .value = fresh };
    RB_INSERT(pieces, &m->pieces, whole);
    RB_INSERT(mappings, &mappings, m);
    return m;
failed:
    if (m) free(m->spare);
    free(m);
    return NULL;
}

static void mapping_free(struct mapping *m)
{
    struct piece *p;
    RB_REMOVE(mappings, &mappings, m);
    while ((p = RB_ROOT(&m->pieces))) {
        RB_REMOVE(pieces, &m->pieces, p);
        free(p);
    }
    while ((p = m->spare)) {
        m->spare = p->link.rbe_left;
        free(p);
    }
    free(m);
}

static CUresult change(const struct allocation *a, uint64_t va, uint64_t size, const struct change *c)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_rwlock_wrlock(&lock);
    struct mapping *m = mapping_at(a->mapping_base);
    if (!m) m = mapping_new(a);
    if (m && provide(m)) {
        walk(m, pages(va, size), c);
        r = CUDA_SUCCESS;
    }
    pthread_rwlock_unlock(&lock);
    return r;
}

CUresult attributes_advise(const struct allocation *a, uint64_t va, uint64_t size, CUmem_advise advice,
                           CUmemLocation location)
{
    return change(a, va, size, &(struct change){ CHANGE_ADVICE, advice, location });
}

CUresult attributes_prefetched(const struct allocation *a, uint64_t va, uint64_t size, CUmemLocation location)
{
    return change(a, va, size, &(struct change){ .kind = CHANGE_PREFETCHED, .location = location });
}

static void agree(struct attributes *all, const struct attributes *v)
{
    all->read_mostly &= v->read_mostly;
    all->accessed_by &= v->accessed_by;
    if (!same_place(all->preferred, v->preferred)) all->preferred = nowhere;
    if (!same_place(all->prefetched, v->prefetched)) all->prefetched = nowhere;
}

struct attributes attributes_get(const struct allocation *a, uint64_t va, uint64_t size)
{
    struct attributes all = fresh;
    struct range r = pages(va, size);
    if (r.start >= r.end) {
        all.read_mostly = true;
        all.accessed_by = UINT32_MAX;
        return all;
    }
    pthread_rwlock_rdlock(&lock);
    struct mapping *m = mapping_at(a->mapping_base);
    if (m && r.start < m->end) {
        struct piece *p = piece_at(m, r.start);
        all = p->value;
        /* what nobody has for all, no further piece changes */
        for (uint64_t at = r.start + (p->end - p->start); at < r.end && at < m->end && !same(&all, &fresh);
             at += p->end - p->start) {
            p = piece_behind(m, p, at);
            agree(&all, &p->value);
        }
    }
    pthread_rwlock_unlock(&lock);
    return all;
}

void attributes_freed(const struct allocation *a)
{
    pthread_rwlock_wrlock(&lock);
    struct mapping *m = mapping_at(a->mapping_base);
    if (m && provide(m))
        walk(m, pages(a->base, a->size), &(struct change){ .kind = CHANGE_FREED });
    else if (m)
        mapping_free(m); /* no memory: less is known than could be */
    pthread_rwlock_unlock(&lock);
}

void attributes_unmapped(uint64_t mapping_base)
{
    pthread_rwlock_wrlock(&lock);
    struct mapping *m = mapping_at(mapping_base);
    if (m) mapping_free(m);
    pthread_rwlock_unlock(&lock);
}
