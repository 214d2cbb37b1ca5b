/* Which entries a device's page table has for a block, laid out as the real
 * driver does, and which of them its translation knows. What is mapped is
 * block.c's; how far entries are decides which faults come together (lone.c).
 *
 * A block of 2 MiB whose pages are all mapped alike, or not at all, has one
 * entry. Others have entries of 64 KiB for pieces that are mapped alike when
 * they change, or unmapped, and of 4 KiB below the rest; a directory says where
 * these tables are. Whoever writes entries makes the device drop them: one by
 * one (pages in a row that are unmapped together at once), or all of the tables'
 * if there are more than four, and the directory's where a window's one entry
 * comes, goes or gives way to tables.
 *
 * Observed on an H200 (tests/behaviour): entries are read by sectors of 8, after
 * the directory that leads there. Some 20 sectors stay at hand, from kernel to
 * kernel, until an entry of theirs changes. The lines of two sectors in which they
 * came stay close by, until an entry of either changes. A store to a page that may
 * only be read finds half as much: at hand is the half of a sector that was asked
 * for, close by its other half, and the rest of the line not as near. A sector of
 * windows' entries that comes to hand has those of its neighbours, mapped or not;
 * that there is no table is not remembered. */
#include "uvm/internal.h"

enum {
    PIECES = MASK_PAGES / BIG_PAGE,
    ONE_BY_ONE = 4, /* entries dropped */
    HALF_ENTRIES = 4,
    SECTOR_ENTRIES = 8,
    LINE_ENTRIES = 16,
    SECTORS_AT_HAND = 20,
    KNOWN = 128,
};

struct known {
    uint64_t number[KNOWN]; /* newest first */
};
/* By the number of their first entry. Directories are among the sectors. */
static struct known halves[PROCESSORS], sectors[PROCESSORS], lines[PROCESSORS];

/* ---- what is known */

enum level { BIG, SMALL, WHOLE, DIRECTORY, LEVELS };
static const uint64_t entry_bytes[LEVELS] = { BIG_PAGE * PAGE_BYTES, PAGE_BYTES, WINDOW_BYTES, WINDOW_BYTES };

static uint64_t entry_group(const struct block *b, unsigned page, enum level level, unsigned entries)
{
    uint64_t va = b->window->va + (uint64_t)page * PAGE_BYTES;
    return va / entry_bytes[level] / entries * entries << 2 | level;
}

static uint64_t entry_sector(const struct block *b, unsigned page, enum level level)
{
    return entry_group(b, page, level, SECTOR_ENTRIES);
}

/* NULL: there are none. */
static const struct layout *layout_of(const struct block *b, unsigned p)
{
    return b->layout && b->layout[p - 1].made ? &b->layout[p - 1] : NULL;
}

/* A block that is smaller than its window, or cut, is never mapped by one entry. */
static bool is_window(const struct block *b) { return b->region.outer - b->region.first == MASK_PAGES; }

/* Tables are the window's: which decides on a page of which this block has no entry? */
static enum level level_in(const struct window *w, unsigned p)
{
    enum level level = WHOLE;
    for (const struct block *b = w->blocks; b && level != SMALL; b = b->next) {
        const struct layout *l = layout_of(b, p);
        if (l && !l->whole) level = l->has_small ? SMALL : BIG;
    }
    return level;
}

static struct sector sector_of(const struct block *b, unsigned p, unsigned page)
{
    const struct layout *l = layout_of(b, p);
    enum level lowest = level_in(b->window, p);
    enum level level = !l ? lowest : l->whole ? WHOLE : (l->big >> (page / BIG_PAGE) & 1 ? BIG : SMALL);
    struct sector s = { entry_sector(b, page, level), entry_sector(b, page, DIRECTORY), 0, false, ONE };
    if (level == WHOLE && !page_prot(b, p, page)) s.tables = NONE;
    if (level != WHOLE && lowest == SMALL) {
        s.half = entry_group(b, page, SMALL, HALF_ENTRIES);
        s.tables = TWO;
    }
    s.readable = level == SMALL && page_prot(b, p, page) == PROT_RO;
    if (s.tables == TWO && level == BIG && l && l->fresh >> (page / BIG_PAGE) & 1) s.tables = NEW;
    return s;
}

/* What was found last, by page, until anything changes: kernels stay with a page for many accesses. */
enum { FOUND = 16 };
static uint64_t changes;
static struct {
    uint64_t page, changes;
    struct sector sector;
} found[PROCESSORS][FOUND];

struct sector sector_at(unsigned p, uint64_t va)
{
    uint64_t page = va / PAGE_BYTES;
    unsigned k = page % FOUND;
    if (found[p][k].page == page && found[p][k].changes == changes) return found[p][k].sector;
    const struct block *b = block_at(va, false);
    if (!b) return (struct sector){ .number = 0 };
    found[p][k].page = page;
    found[p][k].changes = changes;
    return found[p][k].sector = sector_of(b, p, page_of(va));
}

static uint64_t line_of(uint64_t number) { return number / (LINE_ENTRIES << 2) * (LINE_ENTRIES << 2) | (number & 3); }

static unsigned place_in(const struct known *list, uint64_t number)
{
    unsigned k = 0;
    while (k < KNOWN && list->number[k] != number) k++;
    return k;
}

enum distance sector_distance(unsigned p, struct sector s, bool store)
{
    unsigned k = place_in(&sectors[p], s.number);
    bool by_half = store && s.readable;
    if (k < SECTORS_AT_HAND && (!by_half || place_in(&halves[p], s.half) < KNOWN)) return AT_HAND;
    if (by_half && k < KNOWN) return CLOSE;
    if (s.tables && place_in(&lines[p], line_of(s.number)) < KNOWN) return by_half ? NEAR : CLOSE;
    return (place_in(&sectors[p], s.directory) < KNOWN ? NO_TABLE : NO_TABLE_LOST) + s.tables;
}

static void put_first(struct known *list, uint64_t number)
{
    if (list->number[0] == number) return;
    unsigned k = place_in(list, number);
    memmove(list->number + 1, list->number, (k < KNOWN ? k : KNOWN - 1) * sizeof *list->number);
    list->number[0] = number;
}

/* The directory is asked only for what is not known. */
void sector_read(unsigned p, struct sector s)
{
    if (!s.number) return;
    if (s.half) put_first(&halves[p], s.half);
    if (!s.tables || place_in(&sectors[p], s.number) == KNOWN) put_first(&sectors[p], s.directory);
    if (!s.tables) return;
    put_first(&sectors[p], s.number);
    put_first(&lines[p], line_of(s.number));
}

void entries_forget(unsigned p)
{
    changes++;
    memset(&halves[p], 0, sizeof halves[p]);
    memset(&sectors[p], 0, sizeof sectors[p]);
    memset(&lines[p], 0, sizeof lines[p]);
}

static void drop_from(struct known *list, uint64_t number)
{
    unsigned k = place_in(list, number);
    if (k < KNOWN) list->number[k] = 0;
}

static void drop(unsigned p, uint64_t number)
{
    drop_from(&sectors[p], number);
    drop_from(&lines[p], line_of(number));
}

static void drop_all(unsigned p, bool directory)
{
    for (unsigned k = 0; k < KNOWN; k++)
        if (directory || (sectors[p].number[k] & 3) != DIRECTORY) sectors[p].number[k] = 0;
    memset(&halves[p], 0, sizeof halves[p]);
    memset(&lines[p], 0, sizeof lines[p]);
}

/* Whether so many entries, from the first on, have some of the pages. */
static bool has_entries(uint64_t number, unsigned entries, const struct block *b, const struct mask *pages)
{
    enum level level = number & 3;
    uint64_t va = (number >> 2) * entry_bytes[level];
    if (level >= WHOLE || va < b->window->va || va >= b->window->va + WINDOW_BYTES) return false;
    unsigned first = page_of(va), outer = first + (unsigned)(entries * entry_bytes[level] / PAGE_BYTES);
    return mask_next(pages, first, outer) < outer;
}

static void drop_pages(const struct block *b, unsigned p, const struct mask *pages)
{
    for (unsigned k = 0; k < KNOWN; k++) {
        if (has_entries(halves[p].number[k], HALF_ENTRIES, b, pages)) halves[p].number[k] = 0;
        if (has_entries(sectors[p].number[k], SECTOR_ENTRIES, b, pages)) sectors[p].number[k] = 0;
        if (has_entries(lines[p].number[k], LINE_ENTRIES, b, pages)) lines[p].number[k] = 0;
    }
}

/* ---- layout */

static unsigned piece_pages(const struct mask *m, unsigned piece)
{
    return m->w[piece / 4] >> (piece % 4 * BIG_PAGE) & 0xffff;
}

/* Pieces of which m has pages; all: of which it has every one. */
static uint32_t pieces_of(const struct mask *m, bool all)
{
    uint32_t pieces = 0;
    for (unsigned k = 0; k < PIECES; k++)
        if (all ? piece_pages(m, k) == 0xffff : piece_pages(m, k)) pieces |= 1u << k;
    return pieces;
}

static struct mask pages_in(const struct mask *m, uint32_t pieces)
{
    struct mask out = { { 0 } };
    for (unsigned k = 0; k < PIECES; k++)
        if (pieces >> k & 1) out.w[k / 4] |= (uint64_t)piece_pages(m, k) << (k % 4 * BIG_PAGE);
    return out;
}

/* Pages that are mapped now as those of `pages` are. */
static struct mask alike(const struct block *b, unsigned p, const struct mask *pages, enum prot prot)
{
    struct place at = *b->place[p];
    struct mask region = mask_region(b->region), out;
    if (!prot) return mask_andnot(&region, &at.mapped[PROT_RO - 1]);
    out = at.mapped[prot - 1];
    if (prot < PROT_RWA) out = mask_andnot(&out, &at.mapped[prot]);
    unsigned holder = closest(p, page_holders(b, mask_next(pages, 0, MASK_PAGES)));
    return holder == NOBODY ? out : mask_and(&out, &b->place[holder]->resident);
}

static bool window_is_full(const struct window *w)
{
    unsigned pages = 0;
    for (const struct block *b = w->blocks; b; b = b->next) pages += b->region.outer - b->region.first;
    return pages == MASK_PAGES;
}

/* Returns how many entries are written of those that the device may know. */
static unsigned lay_out(struct layout *l, const struct block *b, const struct mask *pages, const struct mask *after,
                        enum prot prot)
{
    struct mask region = mask_region(b->region);
    bool was_whole = l->whole || (is_window(b) && !l->made);
    if (is_window(b) && mask_full(after)) {
        l->whole = l->made = true;
        l->big = 0;
        return 1;
    }
    uint32_t inside = pieces_of(&region, true), covered = pieces_of(pages, false) & inside;
    struct mask in_pieces = pages_in(pages, inside), ragged = mask_andnot(pages, &in_pieces);
    bool may_grow = prot || l->has_big || l->whole; /* unmapping makes no table */
    uint32_t big = may_grow ? covered & pieces_of(after, true) : 0;
    bool small = covered & ~big || !mask_empty(&ragged);
    big |= (was_whole || (!l->has_small && !small) ? ~covered : l->big & ~covered) & inside;
    struct mask in_big = pages_in(pages, l->big | big), singly = mask_andnot(pages, &in_big);
    unsigned written = was_whole ? 1
                                 : (prot ? mask_weight(&singly) : mask_runs(&singly)) + word_weight(l->big & big & covered) +
                                       2 * word_weight(big & ~l->big) + word_weight(l->big & ~big);
    uint32_t fresh = l->whole || (small && !l->has_small && window_is_full(b->window)) ? ~0u : l->fresh;
    *l = (struct layout){ true, false, l->has_big || big, l->has_small || small, big, prot ? fresh & ~covered : fresh };
    return written;
}

void entries_changed(struct block *b, unsigned p, const struct mask *pages, enum prot prot)
{
    if (p == CPU || mask_empty(pages)) return;
    changes++;
    struct mask after = alike(b, p, pages, prot);
    struct layout *l = &b->layout[p - 1], before = *l;
    unsigned written = lay_out(l, b, pages, &after, prot);
    bool one_entry = before.whole || l->whole;
    if (written > ONE_BY_ONE) return drop_all(p, one_entry);
    drop_pages(b, p, pages);
    if (before.made && !one_entry) return;
    drop(p, entry_sector(b, 0, WHOLE));
    drop(p, entry_sector(b, 0, DIRECTORY));
}

CUresult entries_begin(struct block *b)
{
    if (!b->layout) b->layout = heap_take((topology.processors - 1) * sizeof *b->layout);
    return b->layout ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void entries_end(struct block *b)
{
    changes++;
    /* tables go, the directory changes */
    for (unsigned p = 1; p < topology.processors; p++)
        if (layout_of(b, p)) entries_forget(p);
    heap_give(b->layout);
}

static void split(struct block *low, struct block *high, unsigned p)
{
    struct layout *l = &low->layout[p - 1], *h = &high->layout[p - 1];
    unsigned page = high->region.first, piece = page / BIG_PAGE;
    uint32_t above = piece ? ~0u << piece : ~0u;
    if (l->made) {
        if (l->whole) *l = (struct layout){ true, false, true, l->has_small, ~0u, ~0u };
        if (page % BIG_PAGE && l->big >> piece & 1) {
            l->has_small = true;
            l->big &= ~(1u << piece);
            drop(p, entry_sector(low, page, BIG));
        }
    }
    *h = *l;
    l->big &= ~above;
    h->big &= above;
}

/* The high block begins with the page at which they part. */
void entries_split(struct block *low, struct block *high)
{
    changes++;
    for (unsigned p = 1; low->layout && p < topology.processors; p++) split(low, high, p);
}
