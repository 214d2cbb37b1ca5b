/* What becomes of managed memory when the program changes its mapping by itself, as in the real driver, whose mapping that
 * is: what it unmaps is gone for everybody, ranges end where mappings do, and nothing ever joins them again. The allocation
 * stays until it is freed, advice and all. */
#include "ordinary/mappings.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

static bool holds(uint64_t va, uint64_t end, bool all)
{
    quiet_lock(&uvm_lock);
    bool some = range_covers(va, end);
    if (!all)
        for (const struct range *r = range_above(va); !some && r && r->start < end; r = range_above(r->end)) some = !r->gone;
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

static CUresult goes(uint64_t va, uint64_t end)
{
    uvm_enter();
    CUresult e = range_split(va, end, NULL, NULL);
    for (struct range *r = range_above(va); !e && r && r->start < end; r = range_above(r->end)) {
        if (r->gone) continue;
        leave_blocks(r->start, r->end);
        if (!(e = mmu_unmapped(r->start, r->end - r->start))) r->gone = true;
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
            if (!r->gone && differs(r, &b)) r->mapping = (r->mapping & ~mask) | value;
    uvm_leave();
}

void remapped_lead(void)
{
    static struct mappings_client client = { .holds = holds, .goes = goes, .parts = parts };
    client.base = space_managed_base();
    client.end = space_managed_end();
    mappings_lead(&client);
}
