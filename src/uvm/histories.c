/* Histories that pages share. A page whose history changes leaves those it shared the old one with, and joins pages that
 * have the new one if one of these changed just before it: so pages that are gone through one after the other stay
 * together, even if each changes more than once. */
#include "uvm/histories.h"
#include "base/heap.h"
#include "uvm/types.h"

#include <string.h>

enum { FIRST = 4 /* how many there is room for in the beginning */, RECENT = 4, WASTE = 4 };
_Static_assert(sizeof(struct history) == 32, "");

struct kept {
    struct history is;
    unsigned pages; /* that have it */
};

struct histories {
    unsigned count, room; /* in `all`; some may be nobody's */
    unsigned used;        /* those that are not */
    unsigned sets;
    uint16_t recent[RECENT]; /* those that were set last, the newest at sets % RECENT */
    uint16_t of[WINDOW_PAGES];
    struct kept *all;
};

static bool same(const struct history *a, const struct history *b) { return !memcmp(a, b, sizeof *a); }

struct histories *histories_new(const struct history *first)
{
    struct histories *h = heap_take(sizeof *h);
    if (!h || !(h->all = heap_take(FIRST * sizeof *h->all))) {
        heap_give(h);
        return NULL;
    }
    h->count = h->used = 1;
    h->room = FIRST;
    h->all[0] = (struct kept){ *first, WINDOW_PAGES };
    return h;
}

void histories_free(struct histories *h)
{
    if (h) heap_give(h->all);
    heap_give(h);
}

const struct history *history_of(const struct histories *h, unsigned page) { return &h->all[h->of[page]].is; }

/* Without those that are nobody's. */
static bool resize(struct histories *h, unsigned room)
{
    uint16_t now[WINDOW_PAGES];
    struct kept *all = heap_take(room * sizeof *all);
    if (!all) return false;
    unsigned n = 0;
    for (unsigned k = 0; k < h->count; k++) {
        if (!h->all[k].pages) continue;
        all[n] = h->all[k];
        now[k] = (uint16_t)n++;
    }
    for (unsigned page = 0; page < WINDOW_PAGES; page++) h->of[page] = now[h->of[page]];
    heap_give(h->all);
    h->all = all;
    h->count = n;
    h->room = room;
    memset(h->recent, 0, sizeof h->recent);
    return true;
}

void histories_tidy(struct histories *h)
{
    unsigned room = h->room;
    while (room > FIRST && h->used * WASTE <= room) room /= 2;
    if (room < h->room) resize(h, room);
}

/* The number of one that is nobody's. While a page shares its history fewer are in use than there are pages. What is
 * somebody's keeps its number. */
static bool one_more(struct histories *h, unsigned *out)
{
    if (h->count == h->room)
        for (unsigned k = 0; k < h->count; k++)
            if (!h->all[k].pages) return *out = k, true;
    if (h->count == h->room && !resize(h, h->room * 2 < WINDOW_PAGES ? h->room * 2 : WINDOW_PAGES)) return false;
    *out = h->count++;
    return true;
}

/* One that was set lately, and is the same; otherwise `none`. */
static unsigned recent(const struct histories *h, const struct history *is, unsigned none)
{
    for (unsigned k = 0; k < RECENT; k++) {
        unsigned n = h->recent[(h->sets - k) % RECENT];
        if (h->all[n].pages && same(&h->all[n].is, is)) return n;
    }
    return none;
}

bool history_set(struct histories *h, unsigned page, const struct history *is)
{
    unsigned from = h->of[page];
    if (same(&h->all[from].is, is)) return true;
    unsigned to = recent(h, is, from);
    if (to == from) {
        if (h->all[from].pages > 1 && !one_more(h, &to)) return false;
        h->all[to].is = *is;
        h->recent[++h->sets % RECENT] = (uint16_t)to;
    }
    if (!--h->all[from].pages) h->used--;
    if (!h->all[to].pages++) h->used++;
    h->of[page] = (uint16_t)to;
    return true;
}
