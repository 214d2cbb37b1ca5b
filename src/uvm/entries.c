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
 * the directory that leads there. The 16 sectors that were asked for last stay at
 * hand, from kernel to kernel, until an entry of theirs changes; the lines of two
 * sectors in which they came stay close by, until an entry of either does. Where the
 * entries of a line are of several kinds (of memory elsewhere, or that may be read
 * only beside such that may be written to), half as much comes: at hand is the half of
 * a sector that was asked for, until one of its own entries changes, close by its other
 * half for as long, and the rest of the last such line not as near.
 * A sector of windows' entries that comes to hand has those of its neighbours, mapped
 * or not; that there is no table is not remembered.
 *
 * Half of a device's memory answers sooner, that behind the nearer half of its second
 * cache. Tables by page take 4 KiB each and lie there two by two, in the order in which
 * they are made: of four the second and the third, or, where there are several devices
 * (which begin one table earlier), the third and the fourth. */
#include "uvm/internal.h"

enum {
    ONE_BY_ONE = 4, /* entries dropped */
    HALF_ENTRIES = 4,
    SECTOR_ENTRIES = 8,
    LINE_ENTRIES = 16,
    MOST_AT_HAND = 16,
    TURNS = 4, /* of tables by page */
    KNOWN = 128,
};

struct known {
    uint64_t number[KNOWN]; /* newest first */
    unsigned used;          /* those from there on are 0 */
};
/* By the number of their first entry. */
static struct {
    struct known at_hand;   /* sectors, and HALF of some */
    struct known close;     /* sectors of which a half came */
    struct known lines;     /* that are close */
    uint64_t line_by_half;  /* of the half that came last */
    struct known directories;
} known[PROCESSORS];
static const uint64_t HALF = 1ull << 63;

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

/* NULL: it has none. */
static const struct layout *table_by_page(const struct window *w, unsigned p)
{
    for (const struct block *b = w->blocks; b; b = b->next) {
        const struct layout *l = layout_of(b, p);
        if (l && l->has_small) return l;
    }
    return NULL;
}

static enum level level_of(const struct block *b, unsigned p, unsigned page)
{
    const struct layout *l = layout_of(b, p);
    if (!l) return level_in(b->window, p);
    return l->whole ? WHOLE : l->big >> (page / BIG_PAGE) & 1 ? BIG : SMALL;
}

/* What a valid entry of that level says but for the address; 0: there is none. */
static unsigned kind_of_entry(const struct block *b, unsigned p, unsigned page, enum level level)
{
    if (!b || page < b->region.first || page >= b->region.outer) return 0;
    enum prot prot = page_prot(b, p, page);
    if (!prot || level_of(b, p, page) != level) return 0;
    return closest(p, page_holders(b, page)) << 2 | prot;
}

static bool has_several_kinds(uint64_t line, unsigned p, enum level level)
{
    unsigned kind = 0;
    for (unsigned k = 0; k < LINE_ENTRIES; k++) {
        uint64_t va = line + k * entry_bytes[level];
        unsigned other = kind_of_entry(block_at(va, false), p, page_of(va), level);
        if (kind && other && other != kind) return true;
        if (other) kind = other;
    }
    return false;
}

static struct sector sector_of(const struct block *b, unsigned p, unsigned page)
{
    const struct layout *l = layout_of(b, p);
    enum level lowest = level_in(b->window, p), level = level_of(b, p, page);
    uint64_t line_bytes = LINE_ENTRIES * entry_bytes[level], va = b->window->va + (uint64_t)page * PAGE_BYTES;
    struct sector s = { .va = va,
                        .number = entry_sector(b, page, level),
                        .half = HALF | entry_group(b, page, level, HALF_ENTRIES),
                        .directory = entry_sector(b, page, DIRECTORY),
                        .mixed = has_several_kinds(va / line_bytes * line_bytes, p, level),
                        .tables = level != WHOLE && lowest == SMALL ? TWO : ONE };
    if (level == WHOLE && !page_prot(b, p, page)) s.tables = NONE;
    if (s.tables != TWO) return s;
    if (level == BIG && l && l->fresh >> (page / BIG_PAGE) & 1) s.tables = NEW;
    if (table_by_page(b->window, p)->near) s.tables += TWO_NEAR - TWO;
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

static uint64_t group_around(uint64_t number, unsigned entries)
{
    return number / (entries << 2) * (entries << 2) | (number & 3);
}
static uint64_t line_of(uint64_t number) { return group_around(number, LINE_ENTRIES); }

static unsigned place_in(const struct known *list, uint64_t number)
{
    unsigned k = 0;
    while (k < list->used && list->number[k] != number) k++;
    return k < list->used ? k : KNOWN;
}

static bool is_known(const struct known *list, uint64_t number) { return place_in(list, number) < KNOWN; }

enum distance sector_distance(unsigned p, struct sector s, bool store)
{
    const struct known *hand = &known[p].at_hand;
    if (place_in(hand, s.number) < MOST_AT_HAND || place_in(hand, s.half) < MOST_AT_HAND) return AT_HAND;
    if (s.tables) {
        uint64_t line = line_of(s.number);
        if (place_in(&known[p].close, s.number) < MOST_AT_HAND || is_known(&known[p].lines, line)) return CLOSE;
        if (store && known[p].line_by_half == line) return NEAR;
    }
    return (is_known(&known[p].directories, s.directory) ? NO_TABLE : NO_TABLE_LOST) + s.tables;
}

static void put_first(struct known *list, uint64_t number)
{
    if (list->number[0] == number) return;
    unsigned k = place_in(list, number);
    if (k == KNOWN) k = list->used < KNOWN ? list->used++ : KNOWN - 1;
    memmove(list->number + 1, list->number, k * sizeof *list->number);
    list->number[0] = number;
}

/* A walk has read what the table by page has for that piece of 64 KiB. */
static void table_read(unsigned p, struct sector s)
{
    struct block *b = block_at(s.va, false);
    if (!b || !layout_of(b, p)) return;
    b->layout[p - 1].fresh &= ~(1u << page_of(s.va) / BIG_PAGE);
    changes++;
}

/* The directory is asked only for what is not at hand. */
void sector_read(unsigned p, struct sector s)
{
    if (!s.number) return;
    if (s.tables == NEW || s.tables == NEW_NEAR) table_read(p, s);
    uint64_t line = line_of(s.number);
    bool had = is_known(&known[p].at_hand, s.number);
    if (!s.tables || !had) put_first(&known[p].directories, s.directory);
    if (!s.tables) return;
    if (s.mixed && !had) {
        put_first(&known[p].at_hand, s.half);
        put_first(&known[p].close, s.number);
        known[p].line_by_half = line;
    } else {
        put_first(&known[p].at_hand, s.number);
        put_first(&known[p].lines, line);
    }
}

void entries_forget(unsigned p)
{
    changes++;
    memset(&known[p], 0, sizeof known[p]);
}

static void drop_from(struct known *list, uint64_t number)
{
    unsigned k = place_in(list, number);
    if (k < KNOWN) list->number[k] = 0;
}

static void drop(unsigned p, uint64_t number)
{
    drop_from(&known[p].at_hand, number);
    drop_from(&known[p].directories, number);
    drop_from(&known[p].lines, line_of(number));
}

static void drop_all(unsigned p, bool directories)
{
    struct known kept = known[p].directories;
    memset(&known[p], 0, sizeof known[p]);
    if (!directories) known[p].directories = kept;
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

static void drop_groups(struct known *list, unsigned entries, const struct block *b, const struct mask *pages)
{
    for (unsigned k = 0; k < list->used; k++)
        if (has_entries(list->number[k], entries, b, pages)) list->number[k] = 0;
}

static void drop_pages(const struct block *b, unsigned p, const struct mask *pages)
{
    struct known *hand = &known[p].at_hand;
    for (unsigned k = 0; k < hand->used; k++) {
        unsigned entries = hand->number[k] & HALF ? HALF_ENTRIES : SECTOR_ENTRIES;
        if (has_entries(hand->number[k] & ~HALF, entries, b, pages)) hand->number[k] = 0;
    }
    drop_groups(&known[p].close, SECTOR_ENTRIES, b, pages);
    drop_groups(&known[p].lines, LINE_ENTRIES, b, pages);
    if (has_entries(known[p].line_by_half, LINE_ENTRIES, b, pages)) known[p].line_by_half = 0;
}

/* ---- layout */

/* A word of a mask is four pieces. Of each the lowest bit: whether the word has pages of it. */
static uint64_t pieces_of_word(uint64_t w)
{
    w = (w | w >> 8) & 0x00ff00ff00ff00ff;
    w = (w | w >> 4) & 0x000f000f000f000f;
    w = (w | w >> 2) & 0x0003000300030003;
    return (w | w >> 1) & 0x0001000100010001;
}

/* Pieces of which m has pages; all: of which it has every one. */
static uint32_t pieces_of(const struct mask *m, bool all)
{
    uint32_t pieces = 0;
    for (unsigned k = 0; k < MASK_WORDS; k++) {
        uint64_t lowest = pieces_of_word(all ? ~m->w[k] : m->w[k]);
        pieces |= (uint32_t)(lowest * 0x0001000200040008 >> 48 & 15) << 4 * k;
    }
    return all ? ~pieces : pieces;
}

static struct mask pages_in(const struct mask *m, uint32_t pieces)
{
    struct mask out;
    for (unsigned k = 0; k < MASK_WORDS; k++) {
        uint64_t lowest = (pieces >> 4 * k & 15) * 0x0000200040008001 & 0x0001000100010001;
        out.w[k] = m->w[k] & lowest * 0xffff;
    }
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

static unsigned made[PROCESSORS]; /* tables by page */

void entries_init(void)
{
    for (unsigned p = 1; p < PROCESSORS; p++) made[p] = topology.processors > 2 ? TURNS - 1 : 0;
}

/* The window's, if there is one. */
static void take_table_by_page(struct layout *l, const struct window *w, unsigned p)
{
    const struct layout *of_window = table_by_page(w, p);
    unsigned turn = of_window ? 0 : made[p]++ % TURNS;
    l->near = of_window ? of_window->near : turn == 1 || turn == 2;
    l->has_small = true;
}

static bool window_is_full(const struct window *w)
{
    unsigned pages = 0;
    for (const struct block *b = w->blocks; b; b = b->next) pages += b->region.outer - b->region.first;
    return pages == MASK_PAGES;
}

/* Returns how many entries are written of those that the device may know. */
static unsigned lay_out(struct layout *l, const struct block *b, unsigned p, const struct mask *pages,
                        const struct mask *after, enum prot prot)
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
    if (small && !l->has_small) take_table_by_page(l, b->window, p);
    *l = (struct layout){ true, false, l->has_big || big, l->has_small, l->near, big, fresh & ~(covered & ~big) };
    return written;
}

void entries_changed(struct block *b, unsigned p, const struct mask *pages, enum prot prot)
{
    if (p == CPU || mask_empty(pages)) return;
    changes++;
    struct mask after = alike(b, p, pages, prot);
    struct layout *l = &b->layout[p - 1], before = *l;
    unsigned written = lay_out(l, b, p, pages, &after, prot);
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
        if (l->whole) *l = (struct layout){ true, false, true, l->has_small, l->near, ~0u, ~0u };
        if (page % BIG_PAGE && l->big >> piece & 1) {
            if (!l->has_small) take_table_by_page(l, low->window, p);
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
