/* The tree prefetcher: what should come along with the pages that faulted. A
 * binary tree over the block, from its first 64 KiB boundary; the largest node
 * of which more than 51 % is there, or coming, comes whole. */
#include "uvm/internal.h"

enum { THRESHOLD = 51 /* per cent */ };

/* 64 KiB pieces of the block; the ragged ends are one piece each, and a block without a whole one is one. */
static struct region big_page(const struct block *b, unsigned page)
{
    struct region all = b->region,
                  whole = { (all.first + BIG_PAGE - 1) / BIG_PAGE * BIG_PAGE, all.outer / BIG_PAGE * BIG_PAGE };
    if (whole.first >= whole.outer) return all;
    if (page < whole.first) return (struct region){ all.first, whole.first };
    if (page >= whole.outer) return (struct region){ whole.outer, all.outer };
    page = page / BIG_PAGE * BIG_PAGE;
    return (struct region){ page, page + BIG_PAGE };
}

static unsigned tree_root(const struct block *b, unsigned *origin)
{
    struct region all = b->region;
    bool big = (all.first + BIG_PAGE - 1) / BIG_PAGE < all.outer / BIG_PAGE;
    *origin = big ? all.first / BIG_PAGE * BIG_PAGE : all.first;
    unsigned leaves = all.outer - *origin, size = 1;
    while (size < leaves) size *= 2;
    return size;
}

/* The largest dense node above the page; empty if there is none. Each is the one below and its sibling. */
static struct region dense_node(const struct block *b, const struct mask *there, unsigned page, unsigned origin,
                                unsigned root)
{
    struct region best = { 0, 0 }, node = { page, page };
    unsigned n = 0, end = b->region.outer;
    for (unsigned size = 1; size <= root; size *= 2) {
        unsigned first = (page - origin) / size * size + origin, outer = first + size < end ? first + size : end;
        n += mask_count(there, (struct region){ first, node.first }) + mask_count(there, (struct region){ node.outer, outer });
        node = (struct region){ first, outer };
        if (n * 100 > (outer - first) * THRESHOLD) best = node;
    }
    /* Observed on H200: a node that begins before the block is cut by as much again after its beginning. */
    if (best.outer && best.first < b->region.first) best.first = b->region.first + (b->region.first - origin);
    if (best.first > best.outer) best.first = best.outer;
    return best;
}

static struct mask tree_pages(const struct block *b, unsigned destination, const struct mask *faulted,
                              const struct mask *thrashing)
{
    struct mask there = mask_or(faulted, &b->place[destination]->resident), out = { { 0 } };
    unsigned origin, root = tree_root(b, &origin);
    for_each_page(page, faulted) {
        struct region big = big_page(b, page);
        if (!thrashing || !mask_count(thrashing, big)) mask_fill(&there, big);
    }
    for_each_page(page, faulted) {
        if (thrashing && mask_test(thrashing, page)) continue;
        struct region node = dense_node(b, &there, page, origin, root);
        mask_fill(&out, node);
        if (node.outer == b->region.outer) break;
    }
    return out;
}

struct mask prefetch_pages(const struct block *b, unsigned destination, const struct mask *faulted,
                           const struct mask *thrashing)
{
    struct mask out;
    if (!b->resident && destination == b->range->policy.preferred)
        out = mask_region(b->region);
    else
        out = tree_pages(b, destination, faulted, thrashing);
    out = mask_andnot(&out, faulted);
    if (destination == CPU) { /* mapping these again would cost and bring nothing */
        struct mask there = mask_and(&b->place[CPU]->resident, &b->place[CPU]->mapped[PROT_RO - 1]);
        out = mask_andnot(&out, &there);
    }
    if (thrashing) out = mask_andnot(&out, thrashing);
    return out;
}
