/* Which faults of a kernel of a few blocks come together: such a kernel's blocks all
 * run at once, each on a multiprocessor of its own, and the host knows of all faults
 * before it decides on the first. Observed on an H200 (blocks of 32 to 1,024 threads,
 * one access each, 4, 16 and 64 KiB from the last one's):
 *
 * A multiprocessor translates by 32 KiB and has 14 such walks under way; more of its
 * accesses wait. It starts with up to 56 accesses under these. Later batches have 14
 * if each is a walk of its own, and 8 if several wait for the same. A batch is what
 * all multiprocessors have under way, 256 faults at most. */
#include "uvm/internal.h"

enum {
    GROUP_PAGES = 8,
    GROUPS_MOST = 14,
    FIRST_MOST = 56,
    LATER_MOST = 8, /* if some share a walk */
    FETCHED = 256,
    HELD_MOST = 8192,
    WARP = 32,
};

struct access_of {
    uint64_t va; /* of its page */
    uint32_t block;
    enum access access;
};
static struct few {
    struct access_of *held; /* noted, not yet decided; NULL: none */
    unsigned n;
} few[PROCESSORS];

/* What one multiprocessor has in a batch. */
struct under_way {
    unsigned accesses, groups;
    uint64_t group[GROUPS_MOST];
    bool waits; /* so does all that comes later */
};

static bool has_group(const struct under_way *u, uint64_t group)
{
    for (unsigned k = 0; k < u->groups; k++)
        if (u->group[k] == group) return true;
    return false;
}

static bool sets_out(struct under_way *u, uint64_t va, bool first, unsigned share)
{
    uint64_t group = va / (GROUP_PAGES * PAGE_BYTES);
    bool fresh = !has_group(u, group), shared = u->accesses > u->groups;
    unsigned most = first ? FIRST_MOST : shared ? LATER_MOST : FETCHED;
    if (u->accesses >= (most < share ? most : share) || (fresh && u->groups == GROUPS_MOST)) u->waits = true;
    if (u->waits) return false;
    if (fresh) u->group[u->groups++] = group;
    u->accesses++;
    return true;
}

static bool is_permitted(unsigned p, const struct access_of *a)
{
    const struct block *b = block_at(a->va, true);
    return !b || page_prot(b, p, page_of(a->va)) >= prot_needed(p, a->access);
}

/* The next batch leaves the list; if there is more than the driver takes, the rest has set out already. What an
 * earlier one brought is no fault any more. */
static unsigned next_batch(struct access_of *list, unsigned n, unsigned p, bool *first, struct faults *f)
{
    struct under_way under_way[FEW_BLOCKS] = { 0 };
    uint32_t blocks = 0;
    unsigned left = 0;
    f->n = 0;
    for (unsigned k = 0; k < n; k++) blocks |= bit(list[k].block % FEW_BLOCKS);
    unsigned share = FETCHED / (unsigned)__builtin_popcount(blocks);
    for (unsigned k = 0; k < n; k++) {
        if (is_permitted(p, &list[k])) continue;
        if (!sets_out(&under_way[list[k].block % FEW_BLOCKS], list[k].va, *first, share)) {
            list[left++] = list[k];
            continue;
        }
        f->page[f->n] = list[k].va;
        f->access[f->n++] = (uint8_t)list[k].access;
    }
    *first = f->n == FETCHED;
    return left;
}

CUresult few_close(unsigned p)
{
    struct access_of *list = few[p].held;
    uint64_t last[WARP];
    unsigned n = few[p].n, tried = n < WARP ? n : WARP;
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < tried; k++) last[k] = list[n - tried + k].va;
    few[p] = (struct few){ NULL, 0 }; /* naps let others gather more meanwhile */
    for (bool first = true; n && !r;) {
        struct faults f;
        n = next_batch(list, n, p, &first, &f);
        if (f.n) r = faults_service(&f, p);
    }
    entries_tried(p, last, tried);
    heap_give(list);
    return r;
}

CUresult few_fault(unsigned p, uint64_t va, enum access a, uint32_t block)
{
    struct few *t = &few[p];
    /* what comes may be what this access needs: it is tried again */
    if (t->n == HELD_MOST) return few_close(p);
    if (!t->held && !(t->held = heap_take(HELD_MOST * sizeof *t->held))) return CUDA_ERROR_OUT_OF_MEMORY;
    t->held[t->n++] = (struct access_of){ va, block, a };
    return fault_noted(p, va, a);
}
