/* What advice changes at once: the policy of ranges, and mappings. Nothing
 * moves. Real driver's effects, by advice. */
#include "uvm/internal.h"
#include "uvm/uvm.h"

typedef CUresult block_effect(struct block *b, const struct mask *pages, unsigned p);

/* For each block of the range that there is. */
static CUresult for_blocks(const struct range *r, block_effect *effect, unsigned p)
{
    CUresult e = CUDA_SUCCESS;
    uint64_t va = r->start;
    for (struct window *w; !e && (w = window_next(&va, r->end));)
        for (struct block *b = w->blocks; b && !e; b = b->next) {
            if (b->range != r) continue;
            struct mask pages = mask_region(b->region);
            e = effect(b, &pages, p);
            block_done(b);
        }
    return e;
}

/* Every page's remote mappings go, its owner keeps to reading. */
static CUresult begin_duplication(struct block *b, const struct mask *pages, unsigned p)
{
    CUresult r = CUDA_SUCCESS;
    (void)p;
    for_each_processor(q, b->mapped) {
        struct mask here = mask_and(pages, &b->place[q]->resident);
        struct mask remote = mask_andnot(pages, &here);
        block_unmap(b, q, &remote);
        if (!r) r = block_revoke(b, q, &here, PROT_RO);
    }
    return r;
}

/* local: only to what they hold themselves; the rest waits for the next fault (observed on H200 when duplication ends). */
static CUresult remap_accessed_by(struct block *b, const struct mask *pages, bool local)
{
    const struct policy *policy = &b->range->policy;
    CUresult r = CUDA_SUCCESS;
    if (policy->read_duplication == READ_DUPLICATION_ENABLED) return r;
    struct mask some = mask_andnot(pages, &b->read_duplicated);
    some = mask_andnot(&some, &b->discarded);
    for_each_processor(q, policy->accessed_by) {
        struct mask mine = some;
        if (local || q == policy->preferred) mine = mask_and(&some, &b->place[q]->resident);
        if (!r) r = block_add_mappings(b, q, &mine, TRACE_CAUSE_POLICY);
    }
    return r;
}

static CUresult end_duplication(struct block *b, const struct mask *pages, unsigned p)
{
    CUresult r = block_keep_one(b, pages);
    (void)p;
    return r ? r : remap_accessed_by(b, pages, true);
}

/* The new preferred processor is to fault on what it has not got. */
static CUresult prefer(struct block *b, const struct mask *pages, unsigned p)
{
    if (p == NOBODY || b->range->policy.read_duplication == READ_DUPLICATION_ENABLED) return CUDA_SUCCESS;
    struct mask away = mask_andnot(pages, &b->place[p]->resident);
    block_unmap(b, p, &away);
    return CUDA_SUCCESS;
}

static CUresult map_accessor(struct block *b, const struct mask *pages, unsigned p)
{
    uint32_t all = b->range->policy.accessed_by;
    b->range->policy.accessed_by &= bit(p);
    CUresult r = remap_accessed_by(b, pages, false);
    b->range->policy.accessed_by = all;
    return r;
}

/* ---- ranges */

struct change {
    CUmem_advise advice;
    unsigned p;
    int node;
};

static bool differs(const struct range *r, const void *arg)
{
    const struct change *c = arg;
    const struct policy *policy = &r->policy;
    switch (c->advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: return policy->read_duplication != READ_DUPLICATION_ENABLED;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        return policy->read_duplication == READ_DUPLICATION_ENABLED; /* observed on H200 */
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        return policy->preferred != c->p || (c->p == CPU && policy->preferred_node != c->node);
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: return policy->preferred != NOBODY;
    case CU_MEM_ADVISE_SET_ACCESSED_BY: return !(policy->accessed_by & bit(c->p));
    default: return policy->accessed_by & bit(c->p);
    }
}

static CUresult change_preferred(struct range *r, unsigned p, int node)
{
    unsigned before = r->policy.preferred;
    if (before == p && (p != CPU || r->policy.preferred_node == node)) return CUDA_SUCCESS;
    int node_before = r->policy.preferred_node;
    r->policy.preferred = p;
    r->policy.preferred_node = p == CPU ? node : -1;
    if (r->policy.preferred_node != node_before) mmu_prefer_node(r->start, r->end - r->start, r->policy.preferred_node);
    CUresult e = for_blocks(r, prefer, p);
    if (!e && before != NOBODY && r->policy.accessed_by & bit(before)) e = for_blocks(r, map_accessor, before);
    return e;
}

static CUresult change_duplication(struct range *r, enum read_duplication to, block_effect *effect)
{
    if (r->policy.read_duplication == to) return CUDA_SUCCESS;
    r->policy.read_duplication = to;
    return for_blocks(r, effect, NOBODY);
}

/* To all of the range, which goes on outside of what was advised if its policy was the same before. */
static CUresult apply(struct range *r, const struct change *c)
{
    struct policy *policy = &r->policy;
    switch (c->advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: return change_duplication(r, READ_DUPLICATION_ENABLED, begin_duplication);
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: return change_duplication(r, READ_DUPLICATION_DISABLED, end_duplication);
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: return change_preferred(r, c->p, c->node);
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: return change_preferred(r, NOBODY, -1);
    case CU_MEM_ADVISE_SET_ACCESSED_BY: policy->accessed_by |= bit(c->p); return for_blocks(r, map_accessor, c->p);
    default: policy->accessed_by &= ~bit(c->p); return CUDA_SUCCESS;
    }
}

CUresult advise(uint64_t start, uint64_t end, CUmem_advise advice, unsigned p, int node)
{
    struct change c = { advice, p, node };
    CUresult e = range_split(start, end, differs, &c);
    for (struct range *r = range_above(start); r && r->start < end && !e; r = range_next(r))
        if (!r->gone) e = apply(r, &c);
    return e;
}

CUresult uvm_advise(uint64_t va, uint64_t size, CUmem_advise advice, CUmemLocation location)
{
    uint64_t start = page_down(va), end = page_up(va + size);
    unsigned p = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1 + (unsigned)location.id : CPU;
    uvm_enter();
    CUresult e = CUDA_ERROR_INVALID_VALUE;
    if (range_covers(start, end))
        e = advise(start, end, advice, p, location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ? location.id : -1);
    uvm_leave();
    return e;
}
