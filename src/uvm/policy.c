/* Where a page should be and what a processor may do with it: the decision
 * tables of the real driver, in its order. Reads block state, changes nothing. */
#include "uvm/internal.h"

uint32_t page_holders(const struct block *b, unsigned page)
{
    uint32_t holders = 0;
    for_each_processor(p, b->resident)
        if (mask_test(&b->place[p]->resident, page)) holders |= bit(p);
    return holders;
}

enum prot page_prot(const struct block *b, unsigned p, unsigned page)
{
    const struct place *at = b->place[p];
    unsigned prot = PROT_NOTHING;
    while (prot < PROT_RWA && mask_test(&at->mapped[prot], page)) prot++;
    return (enum prot)prot;
}

/* Itself, a device by a fast link, the host by one, any device it reaches, the host, anybody. */
unsigned closest(unsigned p, uint32_t candidates)
{
    uint32_t devices = ~bit(CPU), order[] = { bit(p),
                                              topology.fast_link[p] & devices,
                                              topology.fast_link[p],
                                              p == CPU ? 0 : topology.can_access[p] & devices,
                                              bit(CPU),
                                              ~0u };
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        if (candidates & order[k]) return (unsigned)__builtin_ctz(candidates & order[k]);
    return NOBODY;
}

static bool may_duplicate(const struct block *b, unsigned page, struct hint hint)
{
    enum read_duplication d = b->range->policy.read_duplication;
    return d == READ_DUPLICATION_ENABLED ||
           (d != READ_DUPLICATION_DISABLED && mask_test(&b->read_duplicated, page) && hint.kind != HINT_PIN);
}

struct decision policy_select_residency(const struct block *b, unsigned page, unsigned p, bool only_reads,
                                        struct hint hint)
{
    const struct policy *policy = &b->range->policy;
    uint32_t holders = page_holders(b, page);
    unsigned preferred = policy->preferred, near = closest(p, holders);
    bool reaches_preferred = preferred != NOBODY && can_access(p, preferred);

    if (may_duplicate(b, page, hint)) return (struct decision){ p, only_reads };
    if (p == preferred) return (struct decision){ p, false };
    if (p == CPU && b->window->ordinary) return (struct decision){ p, false };
    if (hint.kind == HINT_PIN) return (struct decision){ hint.target, false };
    if (!holders) return (struct decision){ reaches_preferred ? preferred : p, false };
    if (policy->accessed_by & bit(p) && can_access(p, near)) return (struct decision){ near, false };
    if (near != p && reaches_preferred) return (struct decision){ preferred, false };
    return (struct decision){ p, false };
}

/* Somebody but p may do atomics on the page that those of the memory at `at` would not see. */
static bool foreign_atomics(const struct block *b, unsigned page, unsigned p, unsigned at)
{
    for_each_processor(q, b->mapped & ~bit(p))
        if (mask_test(&b->place[q]->mapped[PROT_RWA - 1], page) && !native_atomics(q, at)) return true;
    return false;
}

enum prot policy_new_prot(const struct block *b, unsigned page, unsigned p, unsigned at, enum access a)
{
    if (mask_test(&b->discarded, page) && a <= ACCESS_READ) return PROT_RO;
    enum prot prot = a <= ACCESS_READ ? PROT_RO : a == ACCESS_ATOMIC_STRONG ? PROT_RWA : PROT_RW;
    bool duplicated =
        b->range->policy.read_duplication == READ_DUPLICATION_ENABLED ||
        (b->range->policy.read_duplication != READ_DUPLICATION_DISABLED && mask_test(&b->read_duplicated, page));
    if (prot == PROT_RO && !duplicated && !foreign_atomics(b, page, p, at)) prot = PROT_RW;
    if (prot == PROT_RW && native_atomics(p, at)) prot = PROT_RWA;
    return prot;
}

enum prot policy_highest_prot(const struct block *b, unsigned page, unsigned p)
{
    uint32_t holders = page_holders(b, page);
    if (!holders) return PROT_NOTHING;
    if (holders & (holders - 1) || b->range->policy.read_duplication == READ_DUPLICATION_ENABLED)
        return holders & bit(p) ? PROT_RO : PROT_NOTHING;
    unsigned at = (unsigned)__builtin_ctz(holders);
    if (!can_access(p, at)) return PROT_NOTHING;
    bool mapped = false, written = false;
    for_each_processor(q, b->mapped & ~bit(p)) {
        mapped |= mask_test(&b->place[q]->mapped[PROT_RO - 1], page);
        written |= mask_test(&b->place[q]->mapped[PROT_RW - 1], page);
    }
    /* the host may write to its own at any time, where that is no page table's of the driver's */
    if (b->window->ordinary && at == CPU && p != CPU) return native_atomics(p, at) ? PROT_RWA : PROT_RW;
    if (!mapped) return PROT_RWA;
    if (foreign_atomics(b, page, p, at)) return PROT_RO;
    return native_atomics(p, at) || !written ? PROT_RWA : PROT_RW;
}
