/* The program's ordinary memory, which devices reach, as far as it can move
 * (ordinary/movable.h): its ranges and blocks, as the driver has them with the
 * kernel's heterogeneous memory management. They differ from managed ones:
 *
 * - Policy is of addresses, whether there are blocks or not, and ends with what
 *   the program has mapped there. A block is the piece of a mapping and a policy
 *   in a window, as it was when a device first came there.
 * - Who faults on the host gets the page there, whatever policy says.
 * - Pages are never duplicated.
 * - The host's first touch is no fault that counts. What it had touched when a device
 *   first came is found then, on the host and mapped there, as every page on the host is. */
#include "uvm/internal.h"

#include <sys/mman.h>

static struct managed everything = { .end = 1ull << 47 };

CUresult ordinary_cover(uint64_t start, uint64_t end)
{
    for (uint64_t at = start; at < end;) {
        const struct range *r = range_above(at);
        uint64_t gap = r && r->start < end ? r->start : end;
        if (at < gap && !range_new(&everything, at, gap)) return CUDA_ERROR_OUT_OF_MEMORY;
        at = r && r->start < end ? r->end : end;
    }
    return CUDA_SUCCESS;
}

CUresult ordinary_forget(uint64_t start, uint64_t end)
{
    range_split(start, end, NULL, NULL);
    CUresult e = ordinary_end(start, end);
    for (struct range *r = range_above(start), *next; r && r->start < end; r = next) {
        next = range_next(r);
        if (r->start >= start && r->end <= end)
            range_drop(r);
        else
            r->policy = no_policy; /* without memory for the cut, more is forgotten */
    }
    return e;
}

/* ---- blocks */

/* The host may have touched pages unseen. */
static CUresult look(struct block *b)
{
    unsigned char there[WINDOW_PAGES];
    struct mask found = { { 0 } }, unknown = mask_region(b->region);
    unknown = mask_andnot(&unknown, &b->asked_for);
    for_each_processor(p, b->resident) unknown = mask_andnot(&unknown, &b->place[p]->resident);
    if (mask_empty(&unknown)) return CUDA_SUCCESS;
    char *at = (char *)b->window->va + b->region.first * PAGE_BYTES;
    if (mincore(at, (size_t)(b->region.outer - b->region.first) * PAGE_BYTES, there)) return CUDA_SUCCESS;
    for_each_page(page, &unknown)
        if (there[page - b->region.first] & 1) mask_set(&found, page);
    return mask_empty(&found) ? CUDA_SUCCESS : block_found(b, &found);
}

static CUresult begin_window(uint64_t start, uint64_t end)
{
    struct window *w = window_at(start, true);
    for (struct range *r = w ? range_above(start) : NULL; r && r->start < end; r = range_next(r)) {
        uint64_t from = r->start > start ? r->start : start, to = r->end < end ? r->end : end;
        struct block *b = block_make(w, r, from, to);
        if (!b || look(b)) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return w ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ordinary_begin(uint64_t start, uint64_t end)
{
    CUresult r = ordinary_cover(start, end);
    for (uint64_t at = start, next; at < end && !r; at = next) {
        next = (at / WINDOW_BYTES + 1) * WINDOW_BYTES;
        if (next > end) next = end;
        r = begin_window(at, next);
    }
    if (r) ordinary_end(start, end);
    return r;
}

CUresult ordinary_end(uint64_t start, uint64_t end)
{
    CUresult low = block_part(start), high = block_part(end);
    for (uint64_t at = start; at < end; at = (at / WINDOW_BYTES + 1) * WINDOW_BYTES) {
        struct window *w = window_at(at, false);
        for (struct block *b = w ? w->blocks : NULL, *next; b; b = next) {
            next = b->next;
            struct region r = block_overlap(b, start, end);
            if (r.first < r.outer) block_remove(b);
        }
    }
    return low ? low : high;
}

/* ---- the host's first touch */

bool ordinary_touched(uint64_t va)
{
    unsigned char there = 0;
    bool managed = va >= space_managed_base() && va < space_managed_end();
    return !managed && !mincore((void *)va, PAGE_BYTES, &there) && there & 1;
}

CUresult ordinary_touch(struct block *b, unsigned page)
{
    CUresult r = look(b);
    if (!r && !page_holders(b, page)) mask_set(&b->asked_for, page);
    return r;
}

CUresult ordinary_begun(struct block *b, unsigned page)
{
    struct mask one = mask_region((struct region){ page, page + 1 });
    return block_found(b, &one);
}

void ordinary_gone(uint64_t start, uint64_t end)
{
    for (uint64_t at = start; at < end; at = (at / WINDOW_BYTES + 1) * WINDOW_BYTES) {
        struct window *w = window_at(at, false);
        for (struct block *b = w ? w->blocks : NULL; b; b = b->next) {
            struct region part = block_overlap(b, start, end);
            if (part.first >= part.outer) continue;
            struct mask pages = mask_region(part);
            /* without memory to tell them from the others these are looked at again, too */
            if (places_loosen(b, b->resident, &pages)) pages = mask_region(b->region);
            for_each_processor(p, b->mapped) block_unmap(b, p, &pages);
            for_each_processor(p, b->resident) block_lose(b, p, &pages);
            b->asked_for = mask_andnot(&b->asked_for, &pages);
            block_done(b);
        }
    }
}

/* ---- prefetches */

void ordinary_bring(uint64_t at, uint64_t start, uint64_t end, unsigned to)
{
    struct window *w = window_at(at, false);
    for (struct block *b = w ? w->blocks : NULL; b; b = b->next) {
        struct region part = block_overlap(b, start, end);
        if (part.first >= part.outer || look(b)) continue;
        struct mask pages = mask_region(part);
        block_bring(b, &pages, to);
    }
}
