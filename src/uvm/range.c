/* Which addresses are managed: ranges by address, windows and their blocks by
 * index. Splits ranges, and blocks with them, where policies part. */
#include "uvm/internal.h"
#include "base/tree.h"

#include <sys/mman.h>

RB_HEAD(ranges, range);
static int by_start(struct range *x, struct range *y) { return x->start < y->start ? -1 : x->start > y->start; }
TREE_FUNCTIONS(ranges, range, link, by_start)

static struct ranges all = RB_INITIALIZER(&all), ordinary = RB_INITIALIZER(&ordinary);
static struct window **windows; /* by (va - base) / WINDOW_BYTES; touched as needed */
/* The same for memory that is not managed: by GiB, NULL where there is none. */
enum { GROUP_WINDOWS = 512, GROUPS = 1 << 17 };
static struct window ***groups;

static bool is_managed(uint64_t va) { return va >= space_managed_base() && va < space_managed_end(); }
static struct ranges *ranges_of(uint64_t va) { return is_managed(va) ? &all : &ordinary; }

CUresult range_init(void)
{
    size_t count = (space_managed_end() - space_managed_base()) / WINDOW_BYTES;
    windows =
        mmap(NULL, count * sizeof *windows, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (windows != MAP_FAILED) return CUDA_SUCCESS;
    windows = NULL;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult range_init_ordinary(void)
{
    if (!groups) groups = heap_take(GROUPS * sizeof *groups);
    return groups ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

struct range *range_above(uint64_t va)
{
    struct ranges *in = ranges_of(va);
    struct range key = { .start = va }, *r = RB_NFIND(ranges, in, &key),
                 *below = r ? RB_PREV(ranges, in, r) : RB_MAX(ranges, in);
    return below && va < below->end ? below : r;
}

struct range *range_at(uint64_t va)
{
    struct range *r = range_above(va);
    return r && va >= r->start ? r : NULL;
}

struct range *range_first(void) { return RB_MIN(ranges, &all); }
struct range *range_next(struct range *r) { return RB_NEXT(ranges, &all, r); }

/* A free place of size bytes, from `from` on; 0: none. */
static uint64_t gap(uint64_t from, uint64_t size)
{
    struct range key = { .start = from }, *r = range_at(from);
    if (r) from = r->owner->end;
    key.start = from;
    for (r = RB_NFIND(ranges, &all, &key); r && r->start - from < size; r = RB_NEXT(ranges, &all, r))
        from = r->owner->end;
    return space_managed_end() - from >= size ? from : 0;
}

uint64_t range_place(uint64_t size)
{
    static uint64_t next;
    if (size > space_managed_end() - space_managed_base()) return 0;
    if (!next || space_managed_end() - next < size) next = space_managed_base();
    uint64_t va = gap(next, size);
    if (!va) va = gap(space_managed_base(), size);
    if (va) next = va + size;
    return va;
}

struct range *range_new(struct managed *m, uint64_t start, uint64_t end)
{
    struct range *r = heap_take(sizeof *r);
    if (!r) return NULL;
    *r = (struct range){
        .start = start, .end = end, .owner = m, .policy = { .preferred = NOBODY, .preferred_node = -1 }
    };
    RB_INSERT(ranges, ranges_of(start), r);
    return r;
}

void range_drop(struct range *r)
{
    RB_REMOVE(ranges, ranges_of(r->start), r);
    heap_give(r);
}

/* ---- windows and blocks */

/* NULL: there is none, or (create) no memory. */
static struct window **slot(uint64_t va, bool create)
{
    if (is_managed(va)) return &windows[(va - space_managed_base()) / WINDOW_BYTES];
    uint64_t number = va / WINDOW_BYTES, group = number / GROUP_WINDOWS;
    if (!groups || group >= GROUPS) return NULL;
    if (!groups[group] && create) groups[group] = heap_take(GROUP_WINDOWS * sizeof **groups);
    return groups[group] ? &groups[group][number % GROUP_WINDOWS] : NULL;
}

struct window *window_at(uint64_t va, bool create)
{
    struct window **w = slot(va, create);
    if (!w) return NULL;
    if (*w || !create) return *w;
    *w = heap_take(sizeof **w);
    if (!*w) return NULL;
    (*w)->va = va / WINDOW_BYTES * WINDOW_BYTES;
    (*w)->ordinary = !is_managed(va);
    return *w;
}

struct block *block_make(struct window *w, struct range *r, uint64_t start, uint64_t end)
{
    struct block *b = heap_take(sizeof *b), **at = &w->blocks;
    if (!b) return NULL;
    b->window = w;
    b->range = r;
    b->region.first = start > w->va ? page_of(start) : 0;
    b->region.outer = end < w->va + WINDOW_BYTES ? page_of(end) : WINDOW_PAGES;
    while (*at && (*at)->region.first < b->region.first) at = &(*at)->next;
    b->next = *at;
    *at = b;
    return b;
}

struct block *block_at(uint64_t va, bool create)
{
    struct window *w = window_at(va, create && is_managed(va));
    if (!w) return NULL;
    for (struct block *b = w->blocks; b; b = b->next)
        if (page_of(va) >= b->region.first && page_of(va) < b->region.outer) return b;
    struct range *r = create && !w->ordinary ? range_at(va) : NULL;
    return r ? block_make(w, r, r->start, r->end) : NULL;
}

struct region block_overlap(const struct block *b, uint64_t start, uint64_t end)
{
    struct region r = b->region;
    uint64_t va = b->window->va;
    if (start > va + (uint64_t)r.first * PAGE_BYTES) r.first = page_of(start);
    if (end < va + (uint64_t)r.outer * PAGE_BYTES) r.outer = page_of(end);
    return r;
}

static void keep(struct mask *low, struct mask *high, const struct mask *upper)
{
    *high = mask_and(low, upper);
    *low = mask_andnot(low, upper);
}

static void split_place(struct block *low, struct block *high, unsigned p, const struct mask *upper)
{
    struct place *l = low->place[p], *h = high->place[p];
    keep(&l->resident, &h->resident, upper);
    keep(&l->evicted, &h->evicted, upper);
    for (int k = 0; k < 3; k++) keep(&l->mapped[k], &h->mapped[k], upper);
    struct block *both[] = { low, high };
    for (int k = 0; k < 2; k++) {
        const struct place *at = both[k]->place[p];
        both[k]->resident &= ~bit(p);
        both[k]->mapped &= ~bit(p);
        if (!mask_empty(&at->resident)) both[k]->resident |= bit(p);
        if (!mask_empty(&at->mapped[0])) both[k]->mapped |= bit(p);
    }
}

static CUresult block_split(struct block *low, unsigned page)
{
    struct block *high = heap_take(sizeof *high);
    if (!high) return CUDA_ERROR_OUT_OF_MEMORY;
    *high = *low;
    high->region.first = page;
    memset(high->place, 0, sizeof high->place);
    CUresult r = CUDA_SUCCESS;
    for (unsigned p = 0; p < PROCESSORS && !r; p++)
        if (low->place[p] && !place_at(high, p)) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) r = thrashing_split(low, high);
    if (r) {
        high->thrashing = NULL;
        block_free(high);
        return r;
    }
    struct mask upper = mask_region(high->region);
    for (unsigned p = 0; p < PROCESSORS; p++) {
        if (!low->place[p]) continue;
        entries_split(low, high, p);
        split_place(low, high, p, &upper);
    }
    keep(&low->read_duplicated, &high->read_duplicated, &upper);
    keep(&low->discarded, &high->discarded, &upper);
    low->region.outer = page;
    low->next = high;
    return CUDA_SUCCESS;
}

/* ---- splitting */

static CUresult split_at(uint64_t va, range_differs *differs, const void *arg)
{
    struct range *r = range_at(va);
    if (!r || r->start == va || !differs(r, arg)) return CUDA_SUCCESS;
    struct range *high = heap_take(sizeof *high);
    if (!high) return CUDA_ERROR_OUT_OF_MEMORY;
    struct block *b = page_of(va) ? block_at(va, false) : NULL;
    CUresult e = b ? block_split(b, page_of(va)) : CUDA_SUCCESS;
    if (e) {
        heap_give(high);
        return e;
    }
    *high = *r;
    high->start = va;
    r->end = va;
    RB_INSERT(ranges, ranges_of(va), high);
    for (uint64_t at = va; at < high->end; at = (at / WINDOW_BYTES + 1) * WINDOW_BYTES) {
        struct window *w = window_at(at, false);
        for (b = w ? w->blocks : NULL; b; b = b->next)
            if (w->va + (uint64_t)b->region.first * PAGE_BYTES >= va && b->range == r) b->range = high;
    }
    return CUDA_SUCCESS;
}

CUresult range_split(uint64_t start, uint64_t end, range_differs *differs, const void *arg)
{
    CUresult r = split_at(start, differs, arg);
    return r ? r : split_at(end, differs, arg);
}

/* ---- the end of an allocation */

void range_remove(struct managed *m)
{
    for (uint64_t va = m->start; va < m->end; va += WINDOW_BYTES) {
        struct window *w = *slot(va, false);
        if (!w) continue;
        *slot(va, false) = NULL;
        for (unsigned p = 1; p < PROCESSORS; p++) chunk_give(w, p);
        for (struct block *b = w->blocks, *next; b; b = next) {
            next = b->next;
            block_free(b);
        }
        heap_give(w);
    }
    for (struct range *r = range_at(m->start), *next; r && r->owner == m; r = next) {
        next = RB_NEXT(ranges, &all, r);
        RB_REMOVE(ranges, &all, r);
        heap_give(r);
    }
}

static void forget_processor(struct ranges *in, unsigned p)
{
    struct range *r;
    RB_FOREACH(r, ranges, in)
    for (uint64_t va = r->start; va < r->end; va = (va / WINDOW_BYTES + 1) * WINDOW_BYTES) {
        struct window *w = window_at(va, false);
        for (struct block *b = w ? w->blocks : NULL; b; b = b->next) {
            if (b->range != r || !b->place[p]) continue;
            struct mask held = b->place[p]->resident;
            block_forget_mappings(b, p);
            block_make_resident(b, CPU, &held, NULL, TRACE_CAUSE_NONE);
        }
        if (w) chunk_give(w, p);
    }
}

void ranges_forget_processor(unsigned p)
{
    forget_processor(&all, p);
    forget_processor(&ordinary, p);
}

void block_remove(struct block *b)
{
    struct window *w = b->window;
    struct block **at = &w->blocks;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    for (unsigned p = 1; p < PROCESSORS; p++)
        if (w->blocks)
            chunk_update(w, p, false);
        else
            chunk_give(w, p);
    block_free(b);
    if (w->blocks) return;
    *slot(w->va, false) = NULL;
    heap_give(w);
}

struct managed *range_owned_by(const struct context *c)
{
    struct range *r;
    RB_FOREACH(r, ranges, &all)
    if (r->owner->context == c) return r->owner;
    return NULL;
}
