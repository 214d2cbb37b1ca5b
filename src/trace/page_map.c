/* The page map's rows; see page_map.h. A row that looks like the one before it
 * of the same allocation is not written: that one counts the repetition. */
#include "trace/page_map.h"
#include "base/units.h"
#include "trace/statistics.h"
#include "uvm/uvm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* src/trace is also tested without src/uvm */
#pragma weak uvm_residency

enum { PIECE = 4096 }; /* PIECE: pages asked for at once */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rows */

static void merge(uint8_t *cell, bool *empty, uint8_t place)
{
    if (*empty)
        *cell = place & (CELL_PLACE | CELL_DUPLICATED);
    else if ((*cell & (CELL_PLACE | CELL_DUPLICATED)) != (place & (CELL_PLACE | CELL_DUPLICATED)))
        *cell |= CELL_MIXED;
    *empty = false;
}

/* Pages are spread over the cells evenly; of a small allocation several cells show the same page. */
static void look(const struct live_allocation *a, uint8_t cell[MAP_CELLS])
{
    uint8_t place[PIECE];
    bool empty[MAP_CELLS];
    uint64_t pages = page_up(a->bytes) / PAGE_BYTES;
    memset(empty, true, sizeof empty);
    for (uint64_t from = 0; from < pages; from += PIECE) {
        uint64_t n = pages - from < PIECE ? pages - from : PIECE;
        uvm_residency(a->address + from * PAGE_BYTES, n, place);
        for (uint64_t k = 0; k < n; k++) {
            uint64_t low = (from + k) * MAP_CELLS / pages, high = (from + k + 1) * MAP_CELLS / pages;
            for (uint64_t c = low; c < (high > low ? high : low + 1); c++) merge(&cell[c], &empty[c], place[k]);
        }
    }
}

static void put(struct trace_region *r, const struct live_allocation *a, struct trace_map_row *row)
{
    struct trace_allocation *entry = &r->allocations[a->entry];
    if (entry->ordinal != a->ordinal) return; /* freed meanwhile, and its entry used again */
    struct trace_map_row *last = entry->last_row ? &r->map[entry->last_row - 1] : NULL;
    if (last && last->ordinal == a->ordinal && !memcmp(last->cell, row->cell, sizeof row->cell)) {
        last->repeats++;
        return;
    }
    uint64_t at = atomic_fetch_add(&r->map_rows, 1);
    if (at >= MAP_ROWS) return;
    r->map[at] = *row;
    entry->last_row = at + 1;
}

static bool asked; /* for the rows at this process's end */

static void note_end(void)
{
    if (asked) page_map_note(MOMENT_END, 0, 0);
}

void page_map_at_exit(void)
{
    asked = true;
    atexit(note_end);
}

void page_map_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    asked = false;
}

void page_map_note(enum trace_moment moment, uint32_t name, int device)
{
    struct trace_region *r = trace_region();
    if (!r || !uvm_residency) return;
    size_t room = statistics_live(r, NULL, 0), n = 0;
    struct live_allocation *live = room ? malloc(room * sizeof *live) : NULL;
    if (live && (n = statistics_live(r, live, room)) > room) n = room;
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < n; k++) {
        struct trace_map_row row = {
            .time = trace_now(), .ordinal = live[k].ordinal, .name = name, .moment = moment, .device = (uint16_t)device
        };
        look(&live[k], row.cell);
        put(r, &live[k], &row);
    }
    pthread_mutex_unlock(&lock);
    free(live);
}
