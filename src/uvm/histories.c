/* Histories that pages share. A page whose history changes leaves those it shared the old one with, and joins pages that
 * have the new one if one of these changed just before it: so pages that are gone through one after the other stay
 * together, even if each changes more than once. */
#include "uvm/histories.h"
#include "base/heap.h"
#include "uvm/types.h"

#include <string.h>

enum { FIRST = 4 /* how many there is room for in the beginning */, RECENT = 4, WASTE = 4 };
_Static_assert(sizeof(struct history) == 32, "");

struct histories {
    unsigned kept, room; /* in `all`; of those that are kept some may be nobody's */
    unsigned used;       /* those that are not */
    unsigned sets;
    uint16_t recent[RECENT]; /* those that were set last, the newest at sets % RECENT */
    uint16_t of[WINDOW_PAGES], pages[WINDOW_PAGES]; /* a page's history; how many pages have it */
    struct history *all;
};

static bool same(const struct history *a, const struct history *b) { return !memcmp(a, b, sizeof *a); }

struct histories *histories_new(const struct history *first)
{
    struct histories *h = heap_take(sizeof *h);
    if (!h || !(h->all = heap_take(FIRST * sizeof *h->all))) {
        heap_give(h);
        return NULL;
    }
    h->kept = h->used = 1;
    h->room = FIRST;
    h->pages[0] = WINDOW_PAGES;
    h->all[0] = *first;
    return h;
}

void histories_free(struct histories *h)
{
    if (h) heap_give(h->all);
    heap_give(h);
}

const struct history *history_of(const struct histories *h, unsigned page) { return &h->all[h->of[page]]; }

/* Without those that are nobody's. */
static bool resize(struct histories *h, unsigned room)
{
    uint16_t now[WINDOW_PAGES];
    struct history *all = heap_take(room * sizeof *all);
    if (!all) return false;
    unsigned n = 0;
    for (unsigned k = 0; k < h->kept; k++) {
        if (!h->pages[k]) continue;
        all[n] = h->all[k];
        h->pages[n] = h->pages[k];
        now[k] = (uint16_t)n++;
    }
    for (unsigned page = 0; page < WINDOW_PAGES; page++) h->of[page] = now[h->of[page]];
    heap_give(h->all);
    h->all = all;
    h->kept = n;
    h->room = room;
    memset(h->pages + n, 0, (WINDOW_PAGES - n) * sizeof *h->pages);
    memset(h->recent, 0, sizeof h->recent);
    return true;
}

void histories_tidy(struct histories *h)
{
    if (h->room > FIRST && h->used * WASTE <= h->room) resize(h, h->room / 2);
}

/* The number of one that is nobody's. While a page shares its history fewer are in use than there are pages. What is
 * somebody's keeps its number. */
static bool one_more(struct histories *h, unsigned *out)
{
    if (h->kept == h->room)
        for (unsigned k = 0; k < h->kept; k++)
            if (!h->pages[k]) return *out = k, true;
    if (h->kept == h->room && !resize(h, h->room * 2 < WINDOW_PAGES ? h->room * 2 : WINDOW_PAGES)) return false;
    *out = h->kept++;
    return true;
}

/* One that was set lately, and is the same; otherwise `none`. */
static unsigned recent(const struct histories *h, const struct history *is, unsigned none)
{
    for (unsigned k = 0; k < RECENT; k++) {
        unsigned n = h->recent[(h->sets - k) % RECENT];
        if (h->pages[n] && same(&h->all[n], is)) return n;
    }
    return none;
}

bool history_set(struct histories *h, unsigned page, const struct history *is)
{
    unsigned from = h->of[page];
    if (same(&h->all[from], is)) return true;
    unsigned to = recent(h, is, from);
    if (to == from) {
        if (h->pages[from] > 1 && !one_more(h, &to)) return false;
        h->all[to] = *is;
        h->recent[++h->sets % RECENT] = (uint16_t)to;
    }
    if (!--h->pages[from]) h->used--;
    if (!h->pages[to]++) h->used++;
    h->of[page] = (uint16_t)to;
    return true;
}
