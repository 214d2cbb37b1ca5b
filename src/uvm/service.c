/* What happens when a processor touches pages it may not: decide for each page,
 * let the prefetcher add others, move, revoke, map. */
#include "uvm/internal.h"
#include "uvm/uvm.h"

struct service {
    struct block *b;
    unsigned p;
    struct mask to[PROCESSORS]; /* pages by destination */
    uint32_t destinations;
    struct mask duplicate, prefetched, written, atomic;
};

static enum access access_of(const struct service *s, unsigned page)
{
    if (mask_test(&s->prefetched, page)) return ACCESS_PREFETCH;
    if (!mask_test(&s->written, page)) return ACCESS_READ;
    return s->p == CPU || mask_test(&s->atomic, page) ? ACCESS_ATOMIC_STRONG : ACCESS_WRITE;
}

/* Which of the pages go where. */
static void decide(struct service *s, const struct request *q, bool copy_engine, struct mask *throttled,
                   uint64_t *until)
{
    uint64_t now = uvm_now();
    s->written = q->writes;
    s->atomic = q->atomics;
    for_each_page(page, &q->pages) {
        enum access a = access_of(s, page);
        if (page_prot(s->b, s->p, page) >= prot_needed(s->p, a)) continue;
        struct hint hint = { HINT_NONE, NOBODY, 0 };
        if (uvm_exclusive)
            hint = exclusive_hint(s->b, s->p);
        else if (!copy_engine)
            hint = thrashing_hint(s->b, page, s->p, now);
        if (hint.kind == HINT_THROTTLE) {
            mask_set(throttled, page);
            if (hint.until > *until) *until = hint.until;
            continue;
        }
        struct decision d = policy_select_residency(s->b, page, s->p, a == ACCESS_READ, hint);
        mask_set(&s->to[d.residency], page);
        s->destinations |= bit(d.residency);
        if (d.duplicate) mask_set(&s->duplicate, page);
    }
}

static void add_prefetched(struct service *s)
{
    if (!s->destinations || s->destinations & (s->destinations - 1)) return;
    unsigned to = (unsigned)__builtin_ctz(s->destinations);
    s->prefetched = prefetch_pages(s->b, to, &s->to[to], thrashing_pages(s->b));
    if (uvm_exclusive) {
        struct mask denied = exclusive_denied(s->b, s->p);
        s->prefetched = mask_andnot(&s->prefetched, &denied);
    }
    s->to[to] = mask_or(&s->to[to], &s->prefetched);
    if (s->b->range->policy.read_duplication == READ_DUPLICATION_ENABLED)
        s->duplicate = mask_or(&s->duplicate, &s->prefetched);
}

/* The service's processor gets prot on pages that were at `at` already: who else may keep what. */
static CUresult revoke_others(struct service *s, unsigned at, const struct mask *pages, enum prot prot)
{
    struct mask taken = { { 0 } };
    CUresult r = CUDA_SUCCESS;
    bool everybody = prot == PROT_RWA && !native_atomics(s->p, at) && s->p != CPU;
    for_each_processor(q, s->b->mapped & ~bit(s->p)) {
        if (r || (!everybody && native_atomics(q, at))) continue;
        struct mask had = mask_and(pages, &s->b->place[q]->mapped[everybody ? PROT_RW - 1 : PROT_RWA - 1]);
        if (mask_empty(&had)) continue;
        r = block_revoke(s->b, q, &had, everybody ? PROT_RO : PROT_RW);
        taken = mask_or(&taken, &had);
    }
    if (!mask_empty(&taken)) thrashing_event(s->b, &taken, s->p, true, uvm_now());
    return r;
}

static CUresult map_results(struct service *s, unsigned at, const struct mask *moved)
{
    struct mask by_prot[PROT_RWA + 1] = { 0 };
    CUresult r = CUDA_SUCCESS;
    for_each_page(page, &s->to[at]) mask_set(&by_prot[policy_new_prot(s->b, page, s->p, at, access_of(s, page))], page);
    for (unsigned prot = PROT_RW; prot <= PROT_RWA && !r; prot++) {
        struct mask stayed = mask_andnot(&by_prot[prot], moved);
        if (!mask_empty(&stayed)) r = revoke_others(s, at, &stayed, (enum prot)prot);
    }
    for (unsigned prot = PROT_RO; prot <= PROT_RWA && !r; prot++) {
        const struct mask *pages = &by_prot[prot];
        if (mask_empty(pages)) continue;
        if (prot > PROT_RO) s->b->discarded = mask_andnot(&s->b->discarded, pages);
        r = block_map(s->b, s->p, pages, (enum prot)prot, TRACE_CAUSE_POLICY);
        if (!r) r = block_map_others(s->b, s->p, at, pages, (enum prot)prot);
    }
    return r;
}

/* The pages that go to one destination. */
static CUresult perform(struct service *s, unsigned at, bool copy_engine)
{
    struct block *b = s->b;
    struct mask here = b->place[at]->resident, held = { { 0 } };
    for_each_processor(q, b->resident) held = mask_or(&held, &b->place[q]->resident);
    struct mask moved = mask_andnot(&s->to[at], &here), copied = mask_and(&moved, &held);
    struct mask dup = mask_and(&s->to[at], &s->duplicate), move = mask_andnot(&s->to[at], &s->duplicate);
    CUresult r = CUDA_SUCCESS;
    if (!mask_empty(&move)) r = block_make_resident(b, at, &move, &s->prefetched, TRACE_CAUSE_COHERENCE);
    if (!r && !mask_empty(&dup)) r = block_duplicate(b, at, &dup, &s->prefetched, TRACE_CAUSE_COHERENCE);
    if (r) return r;
    struct mask as_move = mask_and(&copied, &move);
    if (copy_engine || b->range->policy.read_duplication == READ_DUPLICATION_ENABLED)
        thrashing_reset(b, &copied);
    else if (!mask_empty(&as_move))
        thrashing_event(b, &as_move, at, false, uvm_now());
    return map_results(s, at, &moved);
}

CUresult service_faults(struct block *b, unsigned p, const struct request *q, bool copy_engine, struct mask *throttled,
                        uint64_t *until)
{
    struct service s = { .b = b, .p = p };
    CUresult r = CUDA_SUCCESS;
    decide(&s, q, copy_engine, throttled, until);
    add_prefetched(&s);
    for_each_processor(at, s.destinations)
        if (!r) r = perform(&s, at, copy_engine);
    block_done(b);
    return r;
}
