/* Windows by address, blocks within them: made when first needed, cut where ranges
 * are, removed. A tebibyte in which nothing has happened has none; one that was
 * discarded untouched has none either, but for a mark for each GiB. */
#include "uvm/internal.h"

/* The windows of one GiB. */
enum { GROUP_WINDOWS = 512, GROUPS = 1 << 17 };
static const uint64_t GROUP_BYTES = (uint64_t)GROUP_WINDOWS * WINDOW_BYTES;
struct group {
    struct window *window[GROUP_WINDOWS];
    unsigned used; /* of them, not NULL */
};
static struct group **groups; /* of all addresses; NULL: no windows */
/* Stand for windows without blocks, and for a whole GiB of them, all of which was discarded. */
static struct window discarded_window;
static struct group discarded_group = { .window = { [0 ... GROUP_WINDOWS - 1] = &discarded_window },
                                        .used = GROUP_WINDOWS };

CUresult windows_init(void)
{
    if (!groups) groups = heap_take(GROUPS * sizeof *groups);
    return groups ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static struct group **group_slot(uint64_t va)
{
    uint64_t number = va / GROUP_BYTES;
    return groups && number < GROUPS ? &groups[number] : NULL;
}

/* One that windows can be put into; NULL: no memory, or no address of this kind. */
static struct group *group_make(uint64_t va)
{
    struct group **at = group_slot(va);
    if (!at || (*at && *at != &discarded_group)) return at ? *at : NULL;
    struct group *g = heap_take(sizeof *g);
    if (!g) return NULL;
    if (*at) *g = discarded_group;
    return *at = g;
}

static void set_window(uint64_t va, struct window *w)
{
    struct group **group = group_slot(va), *g = *group;
    struct window **at = &g->window[va / WINDOW_BYTES % GROUP_WINDOWS];
    g->used += (w != NULL) - (*at != NULL);
    *at = w;
    if (g->used) return;
    *group = NULL;
    heap_give(g);
}

struct window *window_at(uint64_t va, bool create)
{
    struct group **at = group_slot(va), *g = at ? *at : NULL;
    struct window *w = g ? g->window[va / WINDOW_BYTES % GROUP_WINDOWS] : NULL;
    bool discarded = w == &discarded_window;
    if (discarded) w = NULL;
    if (w || !create || !group_make(va) || !(w = heap_take(sizeof *w))) return w;
    w->va = va / WINDOW_BYTES * WINDOW_BYTES;
    w->ordinary = !is_managed(va);
    w->discarded = discarded;
    set_window(va, w);
    return w;
}

struct window *window_next(uint64_t *va, uint64_t end)
{
    struct window *w = NULL;
    while (!w && *va < end) {
        struct group **at = group_slot(*va);
        bool none = !at || !*at || *at == &discarded_group;
        uint64_t step = none ? GROUP_BYTES : WINDOW_BYTES;
        if (!none) w = window_at(*va, false);
        *va = (*va / step + 1) * step;
    }
    return w;
}

uint64_t windows_discard(uint64_t va, uint64_t end)
{
    while (end - va >= WINDOW_BYTES && va % WINDOW_BYTES == 0) {
        struct group **at = group_slot(va);
        bool whole = va % GROUP_BYTES == 0 && end - va >= GROUP_BYTES && (!*at || *at == &discarded_group);
        if (whole)
            *at = &discarded_group;
        else if (window_at(va, false) || !group_make(va))
            break;
        else
            set_window(va, &discarded_window);
        va += whole ? GROUP_BYTES : WINDOW_BYTES;
    }
    return va;
}

static void window_free(struct window *w)
{
    for (unsigned p = 1; p < PROCESSORS; p++) chunk_give(w, p);
    for (struct block *b = w->blocks, *next; b; b = next) {
        next = b->next;
        block_free(b);
    }
    heap_give(w);
}

void windows_remove(uint64_t start, uint64_t end)
{
    for (uint64_t va = start, next; va < end; va = next) {
        struct group **at = group_slot(va);
        next = *at && *at != &discarded_group ? va + WINDOW_BYTES : (va / GROUP_BYTES + 1) * GROUP_BYTES;
        if (!*at) continue;
        struct window *w = window_at(va, false);
        if (w) window_free(w);
        if (*at == &discarded_group)
            *at = NULL;
        else
            set_window(va, NULL);
    }
}

/* ---- blocks */

struct block *block_make(struct window *w, struct range *r, uint64_t start, uint64_t end)
{
    struct block *b = heap_take(sizeof *b), **at = &w->blocks;
    if (!b) return NULL;
    b->window = w;
    b->range = r;
    places_begin(b);
    b->region.first = start > w->va ? page_of(start) : 0;
    b->region.outer = end < w->va + WINDOW_BYTES ? page_of(end) : WINDOW_PAGES;
    if (w->discarded) b->discarded = mask_region(b->region);
    while (*at && (*at)->region.first < b->region.first) at = &(*at)->next;
    b->next = *at;
    *at = b;
    return b;
}

struct block *block_at(uint64_t va, bool create)
{
    struct window *w = window_at(va, create && is_managed(va));
    if (!w) return NULL;
    for (struct block *b = w->blocks; b; b = b->next)
        if (page_of(va) >= b->region.first && page_of(va) < b->region.outer) return b;
    struct range *r = create && !w->ordinary ? range_at(va) : NULL;
    return r ? block_make(w, r, r->start, r->end) : NULL;
}

struct region block_overlap(const struct block *b, uint64_t start, uint64_t end)
{
    struct region r = b->region;
    uint64_t va = b->window->va;
    if (start > va + (uint64_t)r.first * PAGE_BYTES) r.first = page_of(start);
    if (end < va + (uint64_t)r.outer * PAGE_BYTES) r.outer = page_of(end);
    return r;
}

void block_remove(struct block *b)
{
    struct window *w = b->window;
    struct block **at = &w->blocks;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    for (unsigned p = 1; p < PROCESSORS; p++)
        if (w->blocks)
            chunk_update(w, p, false);
        else
            chunk_give(w, p);
    block_free(b);
    if (w->blocks) return;
    set_window(w->va, w->discarded ? &discarded_window : NULL);
    heap_give(w);
}

/* ---- cutting a block */

static void keep(struct mask *low, struct mask *high, const struct mask *upper)
{
    *high = mask_and(low, upper);
    *low = mask_andnot(low, upper);
}

static void split_place(struct block *low, struct block *high, unsigned p, const struct mask *upper)
{
    struct place l = *low->place[p], h;
    keep(&l.resident, &h.resident, upper);
    for (int k = 0; k < 3; k++) keep(&l.mapped[k], &h.mapped[k], upper);
    place_set(low, p, &l);
    place_set(high, p, &h);
}

CUresult block_split(struct block *low, unsigned page)
{
    struct block *high = heap_take(sizeof *high);
    if (!high) return CUDA_ERROR_OUT_OF_MEMORY;
    *high = *low;
    high->region.first = page;
    places_begin(high);
    high->layout = NULL;
    high->thrashing = NULL;
    uint32_t known = low->resident | low->mapped;
    struct mask upper = mask_region(high->region);
    CUresult r = places_loosen(low, known, &upper);
    if (!r) r = places_loosen(high, known, &upper);
    if (!r && low->layout) r = entries_begin(high);
    if (r) {
        block_free(high);
        return r;
    }
    thrashing_free(low);
    entries_split(low, high);
    for_each_processor(p, known) split_place(low, high, p, &upper);
    keep(&low->read_duplicated, &high->read_duplicated, &upper);
    keep(&low->discarded, &high->discarded, &upper);
    keep(&low->asked_for, &high->asked_for, &upper);
    low->region.outer = page;
    low->next = high;
    places_tidy(low);
    places_tidy(high);
    return CUDA_SUCCESS;
}

CUresult block_part(uint64_t va)
{
    struct block *b = block_at(va, false);
    return b && b->region.first < page_of(va) ? block_split(b, page_of(va)) : CUDA_SUCCESS;
}
