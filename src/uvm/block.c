/* Makes decisions so: residency, copies, mappings, and the processors' page
 * tables with them. Every function leaves the block's invariants true. */
#include "uvm/internal.h"
#include "base/log.h"
#include "context/context.h"

void block_free(struct block *b)
{
    entries_end(b);
    places_end(b);
    thrashing_free(b);
    heap_give(b);
}

static uint64_t address(const struct block *b, unsigned page) { return b->window->va + (uint64_t)page * PAGE_BYTES; }
static uint64_t bytes(struct region r) { return (uint64_t)(r.outer - r.first) * PAGE_BYTES; }

static void trace(const struct block *b, enum trace_kind kind, enum trace_cause cause, unsigned processor,
                  unsigned source, struct region r)
{
    trace_write(&(struct trace_record){ .kind = (uint8_t)kind,
                                        .cause = (uint8_t)cause,
                                        .processor = (uint8_t)processor,
                                        .source = (uint8_t)source,
                                        .address = address(b, r.first),
                                        .bytes = bytes(r) });
}

/* ---- mappings */

static CUresult set_entries(const struct block *b, unsigned p, const struct mask *pages, enum mmu_access access)
{
    CUresult r = CUDA_SUCCESS;
    for_each_run(run, pages)
        if (!r) r = mmu_set(p, address(b, run.first), bytes(run), access);
    return r;
}

static void unmap(struct block *b, unsigned p, const struct mask *pages, bool late)
{
    if (!(b->mapped & bit(p))) return;
    struct place at = *b->place[p];
    struct mask gone = mask_and(&at.mapped[PROT_RO - 1], pages);
    if (mask_empty(&gone)) return;
    for (int k = 0; k < 3; k++) at.mapped[k] = mask_andnot(&at.mapped[k], &gone);
    if (place_set(b, p, &at)) {
        at = *b->place[p];
        gone = at.mapped[PROT_RO - 1];
        memset(at.mapped, 0, sizeof at.mapped);
        place_set(b, p, &at);
    }
    if (!late) set_entries(b, p, &gone, MMU_NONE);
    if (late)
        for_each_run(run, &gone) mmu_take_late(p, address(b, run.first), bytes(run));
    entries_changed(b, p, &gone, PROT_NOTHING);
}

void block_unmap(struct block *b, unsigned p, const struct mask *pages) { unmap(b, p, pages, false); }
void block_unmap_late(struct block *b, unsigned p, const struct mask *pages) { unmap(b, p, pages, true); }

void block_forget_mappings(struct block *b, unsigned p)
{
    struct place at = *b->place[p];
    memset(at.mapped, 0, sizeof at.mapped);
    place_set(b, p, &at); /* alike, or its own already */
    if (b->layout) b->layout[p - 1] = (struct layout){ 0 };
    entries_forget(p);
}

CUresult block_revoke(struct block *b, unsigned p, const struct mask *pages, enum prot prot)
{
    if (!(b->mapped & bit(p)) || prot == PROT_RWA) return CUDA_SUCCESS;
    struct place at = *b->place[p];
    struct mask lowered = mask_and(&at.mapped[prot], pages);
    if (mask_empty(&lowered)) return CUDA_SUCCESS;
    for (unsigned k = prot; k < PROT_RWA; k++) at.mapped[k] = mask_andnot(&at.mapped[k], pages);
    CUresult r = place_prepare(b, p, &at);
    if (!r) r = set_entries(b, p, &lowered, entry_of(prot));
    if (r) return r;
    place_set(b, p, &at);
    entries_changed(b, p, &lowered, prot);
    return CUDA_SUCCESS;
}

/* What of the pages is elsewhere, told to who listens. */
static void trace_remote(const struct block *b, unsigned p, const struct mask *pages, enum trace_cause cause)
{
    struct mask remote = mask_andnot(pages, &b->place[p]->resident);
    for_each_processor(q, b->resident & ~bit(p)) {
        struct mask there = mask_and(&remote, &b->place[q]->resident);
        for_each_run(run, &there) trace(b, TRACE_MAP_REMOTE, cause, p, q, run);
        remote = mask_andnot(&remote, &there);
    }
}

CUresult block_map(struct block *b, unsigned p, const struct mask *pages, enum prot prot, enum trace_cause cause)
{
    struct place at = *b->place[p];
    struct mask raised = mask_andnot(pages, &at.mapped[prot - 1]);
    if (mask_empty(&raised)) return CUDA_SUCCESS;
    for (int k = 0; k < (int)prot; k++) at.mapped[k] = mask_or(&at.mapped[k], &raised);
    CUresult r = place_prepare(b, p, &at);
    if (!r && p != CPU) r = entries_begin(b);
    if (!r) r = set_entries(b, p, &raised, entry_of(prot));
    if (r) return r;
    place_set(b, p, &at);
    entries_changed(b, p, &raised, prot);
    trace_remote(b, p, &raised, cause);
    return CUDA_SUCCESS;
}

CUresult block_add_mappings(struct block *b, unsigned p, const struct mask *pages, enum trace_cause cause)
{
    struct mask by_prot[PROT_RWA + 1] = { 0 }, lower = mask_andnot(pages, &b->place[p]->mapped[PROT_RWA - 1]);
    CUresult r = CUDA_SUCCESS;
    for_each_page(page, &lower) mask_set(&by_prot[policy_highest_prot(b, page, p)], page);
    for (unsigned prot = PROT_RO; prot <= PROT_RWA && !r; prot++)
        if (!mask_empty(&by_prot[prot])) r = block_map(b, p, &by_prot[prot], (enum prot)prot, cause);
    return r;
}

/* What q, a bystander, gets of pages at `at` to which p was mapped with prot. */
static enum prot bystander_prot(unsigned p, unsigned at, unsigned q, enum prot prot)
{
    if (prot != PROT_RWA) return prot;
    if (native_atomics(p, at)) return native_atomics(q, at) ? PROT_RWA : PROT_RW;
    return p == CPU ? PROT_RW : PROT_RO;
}

/* Another one is to write pages at `at`: who may do atomics that the memory does not see may only write now. */
static CUresult end_foreign_atomics(struct block *b, unsigned at, const struct mask *pages)
{
    CUresult r = CUDA_SUCCESS;
    for_each_processor(q, b->mapped)
        if (!native_atomics(q, at) && !r) r = block_revoke(b, q, pages, PROT_RW);
    return r;
}

/* Those of the pages that are pinned because q, among others, takes them from the others. */
static struct mask pinned_with(const struct block *b, unsigned q, const struct mask *pages)
{
    struct mask m = { { 0 } };
    if (!thrashing_pages(b)) return m;
    for_each_page(page, pages)
        if (thrashing_pinned(b, page) && thrashing_processors(b, page) & bit(q)) mask_set(&m, page);
    return m;
}

CUresult block_map_others(struct block *b, unsigned p, unsigned at, const struct mask *pages, enum prot prot)
{
    const struct policy *policy = &b->range->policy;
    CUresult r = CUDA_SUCCESS;
    if (policy->read_duplication == READ_DUPLICATION_ENABLED) return r;
    struct mask single = mask_andnot(pages, &b->read_duplicated);
    for (unsigned q = 0; q < topology.processors && !r; q++) {
        if (q == p || !can_access(q, at) || (q == policy->preferred && q != at)) continue;
        const bool named = policy->accessed_by & bit(q);
        struct mask some = named ? single : pinned_with(b, q, &single);
        if (mask_empty(&some)) continue;
        enum prot given = bystander_prot(p, at, q, prot);
        if (given >= PROT_RW) r = end_foreign_atomics(b, at, &some);
        if (!r) r = block_map(b, q, &some, given, named ? TRACE_CAUSE_POLICY : TRACE_CAUSE_THRASHING);
    }
    return r;
}

/* ---- residency */

void block_lose(struct block *b, unsigned p, const struct mask *pages)
{
    if (!(b->resident & bit(p))) return;
    struct place at = *b->place[p];
    at.resident = mask_andnot(&at.resident, pages);
    place_set(b, p, &at);
    chunk_update(b->window, p, false);
}

static CUresult gain(struct block *b, unsigned p, const struct mask *pages)
{
    struct place at = *b->place[p];
    at.resident = mask_or(&at.resident, pages);
    return place_set(b, p, &at);
}

/* Duplicates go; `keep` stays, who holds the page. */
static CUresult collapse(struct block *b, unsigned keep, const struct mask *pages)
{
    struct mask dups = mask_and(&b->read_duplicated, pages);
    if (mask_empty(&dups)) return CUDA_SUCCESS;
    CUresult r = places_loosen(b, b->resident & ~bit(keep), &dups);
    if (r) return r;
    for_each_processor(q, b->resident & ~bit(keep)) {
        struct mask gone = mask_and(&b->place[q]->resident, &dups);
        if (mask_empty(&gone)) continue;
        block_unmap(b, q, &gone);
        block_lose(b, q, &gone);
    }
    for_each_run(run, &dups) trace(b, TRACE_READ_DUPLICATE_INVALIDATE, TRACE_CAUSE_NONE, keep, keep, run);
    b->read_duplicated = mask_andnot(&b->read_duplicated, &dups);
    return CUDA_SUCCESS;
}

CUresult block_keep_one(struct block *b, const struct mask *pages)
{
    struct mask rest = mask_and(&b->read_duplicated, pages);
    unsigned preferred = b->range->policy.preferred;
    CUresult r = CUDA_SUCCESS;
    if (preferred != NOBODY && b->resident & bit(preferred)) {
        struct mask there = mask_and(&rest, &b->place[preferred]->resident);
        r = collapse(b, preferred, &there);
        rest = mask_andnot(&rest, &there);
    }
    for_each_processor(q, b->resident) {
        struct mask there = mask_and(&rest, &b->place[q]->resident);
        if (!r) r = collapse(b, q, &there);
        rest = mask_andnot(&rest, &there);
    }
    return r;
}

/* Devices that do not reach each other copy by way of the host. */
static bool by_way_of_host(unsigned to, unsigned from) { return to != CPU && from != CPU && !can_access(to, from); }

/* Tells of pages that come from `from`, faulted and prefetched ones apart; what was discarded is not copied. */
static void trace_migration(const struct block *b, unsigned to, unsigned from, const struct mask *pages,
                            const struct mask *prefetched, enum trace_cause cause)
{
    if (by_way_of_host(to, from)) {
        trace_migration(b, CPU, from, pages, prefetched, cause);
        from = CPU;
    }
    struct mask copied = mask_andnot(pages, &b->discarded), part = copied;
    if (prefetched) {
        part = mask_and(&copied, prefetched);
        for_each_run(run, &part) trace(b, TRACE_MIGRATION, TRACE_CAUSE_PREFETCH, to, from, run);
        part = mask_andnot(&copied, prefetched);
    }
    for_each_run(run, &part) trace(b, TRACE_MIGRATION, cause, to, from, run);
}

/* The pages of `need` by the holder nearest to `to`. */
static void by_source(const struct block *b, unsigned to, const struct mask *need, struct mask sources[PROCESSORS],
                      uint32_t *which)
{
    struct mask rest = *need;
    uint32_t holders = b->resident & ~bit(to);
    *which = 0;
    for (unsigned q; (q = closest(to, holders)) != NOBODY; holders &= ~bit(q)) {
        sources[q] = mask_and(&b->place[q]->resident, &rest);
        if (mask_empty(&sources[q])) continue;
        rest = mask_andnot(&rest, &sources[q]);
        *which |= bit(q);
    }
}

CUresult block_make_resident(struct block *b, unsigned to, const struct mask *pages, const struct mask *prefetched,
                             enum trace_cause cause)
{
    struct place at = *b->place[to];
    struct mask need = mask_andnot(pages, &at.resident), there = mask_and(pages, &at.resident);
    struct mask sources[PROCESSORS];
    uint32_t which;
    CUresult r = places_loosen(b, b->resident | bit(to), &need);
    if (!r && to != CPU) r = chunk_take(b->window, to, mask_count(&need, b->region));
    if (!r) r = collapse(b, to, &there);
    if (r) return r;
    for_each_processor(q, b->mapped) block_unmap(b, q, &need);
    by_source(b, to, &need, sources, &which);
    for_each_processor(q, which) trace_migration(b, to, q, &sources[q], prefetched, cause);
    b->read_duplicated = mask_andnot(&b->read_duplicated, &need);
    if ((r = gain(b, to, &need))) return r;
    for_each_processor(q, b->resident & ~bit(to)) block_lose(b, q, &need);
    if (to != CPU) chunk_update(b->window, to, true);
    return to == CPU && b->window->ordinary ? block_map(b, CPU, &need, PROT_RWA, cause) : CUDA_SUCCESS;
}

CUresult block_found(struct block *b, const struct mask *pages)
{
    struct place at = *b->place[CPU];
    at.resident = mask_or(&at.resident, pages);
    for (int k = 0; k < 3; k++) at.mapped[k] = mask_or(&at.mapped[k], pages);
    CUresult r = place_prepare(b, CPU, &at);
    for_each_run(run, pages)
        if (!r) r = mmu_ordinary_touched(address(b, run.first), bytes(run));
    return r ? r : place_set(b, CPU, &at);
}

/* What was copied by way of the host stays there as a further copy. */
static CUresult keep_on_host(struct block *b, unsigned from, const struct mask *pages, enum trace_cause cause)
{
    CUresult r = gain(b, CPU, pages);
    if (r) return r;
    for_each_run(run, pages) trace(b, TRACE_READ_DUPLICATE, cause, CPU, from, run);
    return CUDA_SUCCESS;
}

/* From a device atomics are taken first, then writing: an event each. From the host both at once (observed on H200). */
static CUresult keep_to_reading(struct block *b, unsigned q, const struct mask *pages)
{
    for (unsigned prot = q == CPU ? PROT_RO : PROT_RW; prot >= PROT_RO; prot--) {
        struct mask taken = mask_and(pages, &b->place[q]->mapped[prot]);
        if (!mask_empty(&taken)) thrashing_event(b, &taken, q, true, uvm_now());
    }
    return block_revoke(b, q, pages, PROT_RO);
}

CUresult block_duplicate(struct block *b, unsigned to, const struct mask *pages, const struct mask *prefetched,
                         enum trace_cause cause)
{
    struct place at = *b->place[to];
    struct mask need = mask_andnot(pages, &at.resident), copied = { { 0 } };
    struct mask sources[PROCESSORS];
    uint32_t which;
    CUresult r = places_loosen(b, bit(to), &need);
    if (!r && to != CPU) r = chunk_take(b->window, to, mask_count(&need, b->region));
    if (r) return r;
    by_source(b, to, &need, sources, &which);
    for_each_processor(q, b->resident) /* `to` as well: of pages that it has it keeps to reading */
    {
        struct mask held = mask_and(&b->place[q]->resident, pages), fresh = mask_and(&held, &need);
        copied = mask_or(&copied, &fresh);
        if ((r = keep_to_reading(b, q, &held))) return r;
    }
    for_each_processor(q, b->mapped) {
        struct mask remote = mask_andnot(&copied, &b->place[q]->resident);
        block_unmap(b, q, &remote);
    }
    for_each_processor(q, which) {
        trace_migration(b, to, q, &sources[q], prefetched, cause);
        if (by_way_of_host(to, q) && (r = keep_on_host(b, q, &sources[q], cause))) return r;
        for_each_run(run, &sources[q]) trace(b, TRACE_READ_DUPLICATE, cause, to, q, run);
    }
    if ((r = gain(b, to, &need))) return r;
    b->read_duplicated = mask_or(&b->read_duplicated, &copied);
    if (to != CPU) chunk_update(b->window, to, true);
    return r;
}

void block_done(struct block *b)
{
    places_tidy(b);
    block_check(b);
}

/* ---- invariants: types.h says what they are about */

#ifdef NDEBUG
void block_check(const struct block *b) { (void)b; }
#else
/* Who may do atomics that the memory at `at` does not see is the only one who may, and the only writer. */
static bool atomics_are_sound(const struct block *b, unsigned page, unsigned at)
{
    unsigned writers = 0, foreign = 0;
    for_each_processor(p, b->mapped) {
        enum prot prot = page_prot(b, p, page);
        writers += prot >= PROT_RW;
        foreign += prot == PROT_RWA && !native_atomics(p, at);
    }
    return !foreign || writers == 1;
}

/* Several holders: each reads its own copy, and nobody else has access. One: who has access reaches it. None: nobody has. */
static bool page_is_sound(const struct block *b, unsigned page)
{
    uint32_t holders = page_holders(b, page);
    bool several = holders & (holders - 1), duplicated = mask_test(&b->read_duplicated, page);
    if ((several && !duplicated) || (duplicated && !holders)) return false;
    for_each_processor(p, b->mapped) {
        enum prot prot = page_prot(b, p, page);
        if (!prot) continue;
        if (!holders) return false;
        if (several && (prot > PROT_RO || !(holders & bit(p)))) return false;
        if (!several && !can_access(p, (unsigned)__builtin_ctz(holders))) return false;
    }
    return !holders || several || atomics_are_sound(b, page, (unsigned)__builtin_ctz(holders));
}

/* Its masks lie in the block and in each other, their summaries are right, and pages on a device are in its memory. */
static bool place_is_sound(const struct block *b, unsigned p, const struct mask *all)
{
    const struct place *at = b->place[p];
    return mask_subset(&at->resident, all) && mask_subset(&at->mapped[0], all) &&
           mask_subset(&at->mapped[1], &at->mapped[0]) && mask_subset(&at->mapped[2], &at->mapped[1]) &&
           !mask_empty(&at->resident) == !!(b->resident & bit(p)) &&
           !mask_empty(&at->mapped[0]) == !!(b->mapped & bit(p)) &&
           (p == CPU || mask_empty(&at->resident) || b->window->chunk[p]);
}

/* It lies in its range, before the next one of its window. */
static bool is_in_place(const struct block *b)
{
    uint64_t va = b->window->va;
    return b->region.first < b->region.outer && b->region.outer <= WINDOW_PAGES &&
           (!b->next || b->region.outer <= b->next->region.first) && b->range->start <= address(b, b->region.first) &&
           b->range->end >= va + (uint64_t)b->region.outer * PAGE_BYTES;
}

void block_check(const struct block *b)
{
    struct mask all = mask_region(b->region);
    bool sound = is_in_place(b) && mask_subset(&b->read_duplicated, &all) && mask_subset(&b->discarded, &all);
    for (unsigned p = 0; p < PROCESSORS && sound; p++) sound = place_is_sound(b, p, &all);
    for (unsigned page = b->region.first; page < b->region.outer && sound; page++) sound = page_is_sound(b, page);
    if (sound) return;
    fl_log(FL_LOG_ERROR, "managed memory at 0x%llx is in a state that cannot be",
           (unsigned long long)address(b, b->region.first));
    sticky_set(CUDA_ERROR_UNKNOWN);
}
#endif
