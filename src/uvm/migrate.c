/* What programs ask for by name: prefetching and discarding. */
#include "uvm/internal.h"
#include "uvm/uvm.h"

/* Pages that some processor maps. */
static struct mask mapped_pages(const struct block *b)
{
    struct mask m = { { 0 } };
    for_each_processor(p, b->mapped) m = mask_or(&m, &b->place[p]->mapped[PROT_RO - 1]);
    return m;
}

/* What was discarded, and was read where it is already, stays as it is mapped (observed on H200). */
static CUresult map_destination(struct block *b, unsigned to, const struct mask *pages, const struct mask *discarded)
{
    struct mask mapped = mapped_pages(b), fresh = mask_andnot(pages, &mapped), old = mask_and(pages, &mapped);
    old = mask_andnot(&old, discarded);
    CUresult r = block_add_mappings(b, to, &fresh, TRACE_CAUSE_POLICY);
    if (!r) r = block_map_others(b, to, to, &fresh, PROT_RWA);
    return r ? r : block_add_mappings(b, to, &old, TRACE_CAUSE_POLICY);
}

/* Of read-mostly pages, too, a single copy that nobody maps may be written where it is prefetched to (observed on H200). */
static CUresult map_single_copies(struct block *b, unsigned to, const struct mask *pages)
{
    struct mask mapped = mapped_pages(b), fresh = mask_andnot(pages, &mapped);
    fresh = mask_andnot(&fresh, &b->read_duplicated);
    return mask_empty(&fresh) ? CUDA_SUCCESS : block_map(b, to, &fresh, PROT_RWA, TRACE_CAUSE_POLICY);
}

/* Read-mostly pages that were discarded are no copies, but for those that are preferred elsewhere: there they come
 * first (observed on H200, which then lets the destination write beside that copy; here it may not). */
static CUresult restore_where_preferred(struct block *b, const struct mask *pages, unsigned to)
{
    unsigned preferred = b->range->policy.preferred;
    struct mask lost = mask_and(pages, &b->discarded);
    if (preferred == NOBODY || preferred == to || mask_empty(&lost)) return CUDA_SUCCESS;
    CUresult r = block_make_resident(b, preferred, &lost, NULL, TRACE_CAUSE_USER);
    if (!r) b->discarded = mask_andnot(&b->discarded, &lost);
    return r;
}

CUresult block_bring(struct block *b, const struct mask *pages, unsigned to)
{
    struct mask before = b->place[to]->resident, moved = mask_andnot(pages, &before), moves = *pages;
    struct mask discarded = b->discarded;
    bool duplicate = b->range->policy.read_duplication == READ_DUPLICATION_ENABLED;
    CUresult r = CUDA_SUCCESS;
    if (duplicate) {
        r = restore_where_preferred(b, pages, to);
        struct mask copies = mask_andnot(pages, &b->discarded);
        moves = mask_and(pages, &b->discarded);
        if (!r && !mask_empty(&copies)) r = block_duplicate(b, to, &copies, NULL, TRACE_CAUSE_USER);
    }
    if (!r && !mask_empty(&moves)) r = block_make_resident(b, to, &moves, NULL, TRACE_CAUSE_USER);
    if (r) return r;
    thrashing_reset(b, &moved);
    b->discarded = mask_andnot(&b->discarded, pages);
    if (duplicate) r = map_single_copies(b, to, pages);
    if (!r) r = map_destination(b, to, pages, &discarded);
    block_done(b);
    return r;
}

/* Calls f for what of [*at, end) lies in one block, which is made if it does not exist; *at is behind it. */
typedef CUresult block_action(struct block *b, const struct mask *pages, unsigned p);
static CUresult for_block(uint64_t *at, uint64_t end, block_action *f, unsigned p)
{
    struct block *b = block_at(*at, true);
    if (!b) return range_at(*at) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    struct region part = block_overlap(b, *at, end);
    struct mask pages = mask_region(part);
    *at = b->window->va + (uint64_t)part.outer * PAGE_BYTES;
    return f(b, &pages, p);
}

/* uvm_enter, unless some of the range is not there any more: of such a one nothing is moved or discarded (observed on
 * H200). To look in a section of its own would cost two system calls more. */
static CUresult enter_whole(uint64_t start, uint64_t end)
{
    uvm_enter();
    if (range_covers(start, end)) return CUDA_SUCCESS;
    uvm_leave();
    return CUDA_ERROR_INVALID_VALUE;
}

/* Between blocks others get their turn; at the end as well, having left. */
static bool goes_on(uint64_t at, uint64_t end, CUresult r)
{
    uvm_leave();
    if (at >= end || r) return false;
    uvm_enter();
    return true;
}

CUresult uvm_prefetch(uint64_t va, uint64_t size, CUmemLocation location)
{
    unsigned to = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1 + (unsigned)location.id : CPU;
    uint64_t at = page_down(va), end = page_up(va + size);
    CUresult r = enter_whole(at, end);
    if (r) return r;
    if (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) mmu_prefer_node(at, end - at, location.id);
    do r = for_block(&at, end, block_bring, to);
    while (goes_on(at, end, r));
    return r;
}

static void forget_bytes(struct block *b, const struct mask *pages)
{
    b->discarded = mask_or(&b->discarded, pages);
    for_each_run(run, pages)
        mmu_discard(b->window->va + (uint64_t)run.first * PAGE_BYTES, (uint64_t)(run.outer - run.first) * PAGE_BYTES);
    block_done(b);
}

static CUresult discard_in_place(struct block *b, const struct mask *pages, unsigned p)
{
    CUresult r = block_keep_one(b, pages);
    (void)p;
    if (!r) forget_bytes(b, pages);
    return r;
}

static CUresult discard_block(struct block *b, const struct mask *pages, unsigned p)
{
    (void)p;
    CUresult r = places_loosen(b, b->resident, pages);
    if (r) return r;
    for_each_processor(q, b->mapped) block_unmap(b, q, pages);
    b->read_duplicated = mask_andnot(&b->read_duplicated, pages);
    for_each_processor(q, b->resident) block_lose(b, q, pages);
    forget_bytes(b, pages);
    return r;
}

CUresult uvm_discard(uint64_t va, uint64_t size, bool in_place)
{
    uint64_t at = page_down(va), end = page_up(va + size);
    CUresult r = enter_whole(at, end);
    if (r) return r;
    do {
        at = windows_discard(at, end);
        if (at < end) r = for_block(&at, end, in_place ? discard_in_place : discard_block, CPU);
    } while (goes_on(at, end, r));
    return r;
}
