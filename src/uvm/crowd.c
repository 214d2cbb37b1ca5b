/* Which faults of a kernel of several threads come together, if all of it runs at
 * once: its faults are held until somebody waits for it, and dealt into batches
 * as if its blocks had run side by side. Observed on an H200 (blocks of 32 to 1,024
 * threads, one access each, 4, 16 and 64 KiB from the last one's):
 *
 * A few blocks have a multiprocessor each, and the host knows of all faults before it
 * decides on the first. A multiprocessor translates by 32 KiB and has 14 such walks
 * under way; more of its accesses wait. It starts with up to 56 accesses under these.
 * Later batches have 14 if each is a walk of its own, and 8 if several wait for the
 * same. A batch is what all multiprocessors have under way, 256 faults at most.
 *
 * Those of more blocks come from everywhere, 256 at a time; the first ones of each
 * are spread over about one piece of 64 KiB for two warps.
 *
 * Held are as many as there are threads, once in a kernel. One that goes on is to
 * profit from what the prefetcher brings: then 256 are enough. */
#include "uvm/internal.h"

enum {
    FIRST_MOST = 56,
    LATER_MOST = 8, /* if some share a walk */
    FEW_BLOCKS = 16,
    PIECES_MOST = 64,
    HELD_MOST = 8192,
};

struct access_of {
    uint64_t va; /* of its page */
    uint32_t block;
    uint16_t order;
    uint8_t access; /* enum access */
};
static struct crowd {
    struct access_of *held; /* noted, not yet decided; NULL: none */
    unsigned n, most;
    struct grid grid; /* whose they are */
} crowds[PROCESSORS];

static bool is_over(unsigned p, const struct access_of *a) { return fault_is_over(p, a->va, a->access); }
static void take(struct faults *f, const struct access_of *a) { faults_add(f, a->va, a->access); }

/* ---- few blocks */

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

static bool sets_out(struct under_way *u, uint64_t va, unsigned first, unsigned share)
{
    uint64_t group = va / (GROUP_PAGES * PAGE_BYTES);
    bool fresh = !has_group(u, group), shared = u->accesses > u->groups;
    unsigned most = first ? first : shared ? LATER_MOST : FETCHED;
    if (u->accesses >= (most < share ? most : share) || (fresh && u->groups == GROUPS_MOST)) u->waits = true;
    if (u->waits) return false;
    if (fresh) u->group[u->groups++] = group;
    u->accesses++;
    return true;
}

/* The next batch leaves the list. first: how many more set out at the start, which is over with a batch that is not
 * full. */
static unsigned next_batch(struct access_of *list, unsigned n, unsigned p, unsigned first[FEW_BLOCKS], struct faults *f)
{
    struct under_way under_way[FEW_BLOCKS] = { 0 };
    uint32_t blocks = 0;
    unsigned left = 0;
    f->n = 0;
    for (unsigned k = 0; k < n; k++) blocks |= bit(list[k].block % FEW_BLOCKS);
    unsigned share = FETCHED / (unsigned)__builtin_popcount(blocks);
    for (unsigned k = 0; k < n; k++) {
        unsigned block = list[k].block % FEW_BLOCKS;
        if (!under_way[block].waits && is_over(p, &list[k])) continue;
        if (!sets_out(&under_way[block], list[k].va, first[block], share)) {
            list[left++] = list[k];
            continue;
        }
        take(f, &list[k]);
    }
    for (unsigned k = 0; k < FEW_BLOCKS; k++) {
        unsigned more = first[k] > under_way[k].accesses ? first[k] - under_way[k].accesses : 0;
        first[k] = f->n == FETCHED ? more : 0;
    }
    return left;
}

static CUresult decide_by_multiprocessor(struct access_of *list, unsigned n, unsigned p)
{
    unsigned first[FEW_BLOCKS];
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < FEW_BLOCKS; k++) first[k] = FIRST_MOST;
    while (n && !r) {
        struct faults f;
        n = next_batch(list, n, p, first, &f);
        if (f.n) r = faults_service(&f, p);
    }
    return r;
}

/* ---- more */

/* As if one block had run after the other, whichever did. Not the C library's: it might take memory. */
static void sort_by_block(struct access_of *list, unsigned n)
{
    static const unsigned gaps[] = { 4001, 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
    for (unsigned g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (unsigned k = gaps[g]; k < n; k++) {
            struct access_of a = list[k];
            uint64_t key = (uint64_t)a.block << 16 | a.order;
            unsigned at = k;
            for (; at >= gaps[g]; at -= gaps[g]) {
                const struct access_of *other = &list[at - gaps[g]];
                if (((uint64_t)other->block << 16 | other->order) <= key) break;
                list[at] = *other;
            }
            list[at] = a;
        }
}

/* The next faults of one piece of 64 KiB; *at is behind them. */
static void take_piece(const struct access_of *list, unsigned *at, unsigned end, unsigned p, struct faults *f)
{
    const uint64_t bytes = BIG_PAGE * PAGE_BYTES;
    while (*at < end && is_over(p, &list[*at])) ++*at;
    for (unsigned first = *at; *at < end && *at - first < BIG_PAGE && list[*at].va / bytes == list[first].va / bytes;)
        take(f, &list[(*at)++]);
}

/* No more than the driver takes at a time, from all over the list. */
static CUresult service_in_parts(const struct faults *all, unsigned p)
{
    unsigned parts = (all->n + FETCHED - 1) / FETCHED;
    CUresult r = CUDA_SUCCESS;
    for (unsigned part = 0; part < parts && !r; part++) {
        struct faults f;
        f.n = 0;
        for (unsigned k = part; k < all->n; k += parts) faults_add(&f, all->page[k], all->access[k]);
        r = faults_service(&f, p);
    }
    return r;
}

/* From both halves of the grid in turn. */
static CUresult decide_spread(struct access_of *list, unsigned n, unsigned p, const struct grid *g)
{
    uint64_t most = g->threads / WARP / 2 < PIECES_MOST ? g->threads / WARP / 2 : PIECES_MOST;
    unsigned half = 0;
    CUresult r = CUDA_SUCCESS;
    sort_by_block(list, n);
    while (half < n && list[half].block < g->blocks / 2) half++;
    for (unsigned low = 0, high = half; (low < half || high < n) && !r;) {
        struct faults f;
        f.n = 0;
        for (unsigned pieces = 0;
             (pieces < most || f.n < FETCHED) && f.n <= FAULTS_MOST - 2 * BIG_PAGE && (low < half || high < n);
             pieces += 2) {
            take_piece(list, &low, half, p, &f);
            take_piece(list, &high, n, p, &f);
        }
        r = service_in_parts(&f, p);
    }
    return r;
}

CUresult crowd_close(unsigned p)
{
    struct crowd c = crowds[p];
    uint64_t last[WARP];
    unsigned tried = c.n < WARP ? c.n : WARP;
    if (!c.n) return CUDA_SUCCESS;
    for (unsigned k = 0; k < tried; k++) last[k] = c.held[c.n - tried + k].va;
    crowds[p] = (struct crowd){ .most = c.most, .grid = c.grid }; /* naps let others gather more meanwhile */
    CUresult r =
        c.grid.blocks <= FEW_BLOCKS ? decide_by_multiprocessor(c.held, c.n, p) : decide_spread(c.held, c.n, p, &c.grid);
    entries_tried(p, last, tried);
    heap_give(c.held);
    return r;
}

CUresult crowd_fault(unsigned p, uint64_t va, enum access a, uint32_t block, const struct grid *g)
{
    struct crowd *c = &crowds[p];
    if (c->n && c->n >= c->most) { /* what comes may be what this access needs: it is tried again */
        c->most = FETCHED;
        return crowd_close(p);
    }
    if (!c->held && !(c->held = heap_take(HELD_MOST * sizeof *c->held))) return CUDA_ERROR_OUT_OF_MEMORY;
    if (c->grid.launch != g->launch) {
        c->most = g->threads < FETCHED ? FETCHED : g->threads < HELD_MOST ? (unsigned)g->threads : HELD_MOST;
        c->grid = *g;
    }
    c->held[c->n] = (struct access_of){ va, block, (uint16_t)c->n, (uint8_t)a };
    c->n++;
    return fault_noted(p, va, a);
}
