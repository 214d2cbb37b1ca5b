/* Which addresses are managed: ranges, by address. Splits them, and blocks with
 * them, where policies part. What happened there is in windows (windows.c). */
#include "uvm/internal.h"
#include "base/tree.h"

RB_HEAD(ranges, range);
static int by_start(struct range *x, struct range *y) { return x->start < y->start ? -1 : x->start > y->start; }
TREE_FUNCTIONS(ranges, range, link, by_start)

static struct ranges all = RB_INITIALIZER(&all), ordinary = RB_INITIALIZER(&ordinary);
static struct ranges *ranges_of(uint64_t va) { return is_managed(va) ? &all : &ordinary; }

struct range *range_above(uint64_t va)
{
    struct ranges *in = ranges_of(va);
    struct range key = { .start = va }, *r = RB_NFIND(ranges, in, &key),
                 *below = r ? RB_PREV(ranges, in, r) : RB_MAX(ranges, in);
    return below && va < below->end ? below : r;
}

static struct range *any_at(uint64_t va)
{
    struct range *r = range_above(va);
    return r && va >= r->start ? r : NULL;
}

struct range *range_at(uint64_t va)
{
    struct range *r = any_at(va);
    return r && !r->gone ? r : NULL;
}

bool range_covers(uint64_t start, uint64_t end)
{
    const struct range *r;
    for (; start < end && (r = range_at(start)); start = r->end);
    return start >= end;
}

struct range *range_first(void) { return RB_MIN(ranges, &all); }
struct range *range_next(struct range *r) { return RB_NEXT(ranges, &all, r); }

/* A free place of size bytes, from `from` on; 0: none. */
static uint64_t gap(uint64_t from, uint64_t size)
{
    struct range key = { .start = from }, *r = any_at(from);
    if (r) from = r->owner->end;
    key.start = from;
    for (r = RB_NFIND(ranges, &all, &key); r && r->start - from < size; r = RB_NEXT(ranges, &all, r))
        from = r->owner->end;
    return space_managed_end() - from >= size ? from : 0;
}

/* Addresses come again after a while: page tables stay where they were once. */
uint64_t range_place(uint64_t size)
{
    static uint64_t next, turn = 64ull << 30;
    const uint64_t base = space_managed_base(), end = space_managed_end();
    if (size > end - base) return 0;
    if (!next || next - base >= turn || end - next < size) next = base;
    uint64_t va = gap(next, size);
    if (!va) va = gap(base, size);
    if (!va) return 0;
    next = va + size;
    if (va - base >= turn) turn = 2 * (next - base); /* all before is taken, and not to be looked through each time */
    return va;
}

struct range *range_new(struct managed *m, uint64_t start, uint64_t end)
{
    struct range *r = heap_take(sizeof *r);
    if (!r) return NULL;
    *r = (struct range){ .start = start, .end = end, .owner = m, .policy = no_policy };
    RB_INSERT(ranges, ranges_of(start), r);
    return r;
}

void range_drop(struct range *r)
{
    RB_REMOVE(ranges, ranges_of(r->start), r);
    heap_give(r);
}

/* ---- splitting */

static CUresult split_at(uint64_t va, range_differs *differs, const void *arg)
{
    struct range *r = range_at(va);
    if (!r || r->start == va || (differs && !differs(r, arg))) return CUDA_SUCCESS;
    struct range *high = heap_take(sizeof *high);
    if (!high) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult e = block_part(va);
    if (e) {
        heap_give(high);
        return e;
    }
    *high = *r;
    high->start = va;
    r->end = va;
    RB_INSERT(ranges, ranges_of(va), high);
    uint64_t at = va;
    for (struct window *w; (w = window_next(&at, high->end));)
        for (struct block *b = w->blocks; b; b = b->next)
            if (w->va + (uint64_t)b->region.first * PAGE_BYTES >= va && b->range == r) b->range = high;
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
    struct range *kept = any_at(m->start), *r;
    windows_remove(m->start, m->end);
    while ((r = RB_NEXT(ranges, &all, kept)) && r->owner == m) range_drop(r);
    kept->end = m->end;
    kept->gone = true;
}

void range_release(struct managed *m) { range_drop(any_at(m->start)); }

/* Pages of p's, without memory to say that the host has them now: as if nobody had touched them, but for copies. */
static void abandon(struct block *b, unsigned p, const struct mask *held)
{
    struct mask single = *held;
    for_each_processor(q, b->mapped) block_unmap(b, q, held);
    for_each_processor(q, b->resident & ~bit(p)) single = mask_andnot(&single, &b->place[q]->resident);
    b->read_duplicated = mask_andnot(&b->read_duplicated, &single);
    block_lose(b, p, held);
}

static void forget_processor(struct ranges *in, unsigned p)
{
    struct range *r;
    RB_FOREACH(r, ranges, in)
    {
        uint64_t va = r->start;
        for (struct window *w; (w = window_next(&va, r->end)); chunk_give(w, p))
            for (struct block *b = w->blocks; b; b = b->next) {
                if (b->range != r) continue;
                struct mask held = b->place[p]->resident;
                block_forget_mappings(b, p);
                if (block_make_resident(b, CPU, &held, NULL, TRACE_CAUSE_NONE)) abandon(b, p, &held);
            }
    }
}

void ranges_forget_processor(unsigned p)
{
    forget_processor(&all, p);
    forget_processor(&ordinary, p);
}

struct managed *range_owned_by(const struct context *c)
{
    struct range *r;
    RB_FOREACH(r, ranges, &all)
    if (r->owner->context == c && !LIST_EMPTY(&r->owner->pieces)) return r->owner;
    return NULL;
}
