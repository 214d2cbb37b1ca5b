/* What becomes of managed memory when the program changes its mapping by itself, as in the real driver, whose mapping that
 * is: what it unmaps is gone for everybody, ranges end where mappings do, and nothing ever joins them again. The allocation
 * stays until it is freed, advice and all. */
#include "ordinary/mappings.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

static struct range *next_held(uint64_t va, uint64_t end)
{
    struct range *r = range_above(va);
    while (r && r->gone) r = range_above(r->end);
    return r && r->start < end ? r : NULL;
}

static bool holds(uint64_t va, uint64_t end, bool all)
{
    quiet_lock(&uvm_lock);
    bool some = all ? range_covers(va, end) : next_held(va, end) != NULL;
    quiet_unlock(&uvm_lock);
    return some;
}

static void leave_blocks(uint64_t start, uint64_t end)
{
    uint64_t at = start;
    for (struct window *w; (w = window_next(&at, end));)
        for (struct block *b = w->blocks, *next; b; b = next) {
            struct region r = block_overlap(b, start, end);
            struct mask pages = mask_region(b->region);
            next = b->next;
            if (r.first >= r.outer) continue;
            for_each_processor(q, b->mapped) block_unmap(b, q, &pages);
            block_remove(b);
        }
}

/* Up to end, which is where a range begins or ends. */
static void left(uint64_t va, uint64_t end, bool unmapped)
{
    for (struct range *r; (r = next_held(va, end)); va = r->end) {
        if (unmapped) leave_blocks(r->start, r->end);
        mmu_left(r->start, r->end - r->start, unmapped);
        r->gone = unmapped;
    }
}

/* Under the lock, so that whoever touches the pages meanwhile waits, and finds there what comes. */
static CUresult goes(uint64_t va, uint64_t end, bool (*perform)(void *arg), void *arg)
{
    struct range *r;
    uvm_enter();
    CUresult e = range_split(va, end, NULL, NULL);
    for (uint64_t at = va; !e && (r = next_held(at, end)); at = r->end) {
        e = mmu_leave(r->start, r->end - r->start);
        if (e) left(va, r->start, false);
    }
    if (!e) {
        bool done = perform(arg);
        left(va, end, done);
        if (!done) e = CUDA_ERROR_INVALID_VALUE;
    }
    uvm_leave();
    return e;
}

struct bits { unsigned mask, value; };
static bool differs(const struct range *r, const void *arg)
{
    const struct bits *b = arg;
    return (r->mapping & b->mask) != b->value;
}

/* Without memory for the cut nothing is cut, which costs no more than its consequences for what comes along. */
static void parts(uint64_t va, uint64_t end, unsigned mask, unsigned value)
{
    const struct bits b = { mask, value };
    uvm_enter();
    if (!range_split(va, end, differs, &b))
        for (struct range *r = range_above(va); r && r->start < end; r = range_above(r->end))
            r->mapping = (r->mapping & ~mask) | value;
    uvm_leave();
}

CUresult remapped_lead(void)
{
    static const struct mappings_client client = { .holds = holds, .goes = goes, .parts = parts };
    return mappings_lead(&client, space_managed_base(), space_managed_end());
}
