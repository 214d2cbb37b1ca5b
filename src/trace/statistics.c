/* What happened to which allocation. The list of those that live is sorted by
 * address; entries of the region are used again, oldest first, once all are
 * taken by allocations that were freed: what they counted goes to entry 0. */
#include "trace/statistics.h"
#include "base/heap.h"
#include "base/quiet.h"

#include <string.h>

struct live {
    uint64_t address, end;
    uint32_t entry;
};

#define BLOCK (2ull << 20)
#define PAGE 4096ull

static struct quiet_mutex lock = QUIET_MUTEX_INITIALIZER; /* a leaf; guards the statics and the region's allocations */
static struct live *live;
static size_t live_count, live_room;
static uint64_t last_ordinal;
static uint32_t freed;      /* entries of allocations that were freed */
static bool counted;        /* there may be something in the region's statistics */
static uint32_t oldest = 1; /* where to look next for an entry to use again */

/* The number of live allocations that begin at or below the address. */
static size_t below(uint64_t address)
{
    size_t low = 0, high = live_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (live[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The driver moves whole pieces of the 2 MiB that small allocations lie in: what is behind one counts as its. */
static uint32_t entry_at(uint64_t address)
{
    size_t n = below(address);
    return n && address < (live[n - 1].end + BLOCK - 1) / BLOCK * BLOCK ? live[n - 1].entry : 0;
}

/* Where the pages from address on, up to end, become another allocation's. */
static uint64_t piece_end(uint64_t address, uint64_t end)
{
    size_t n = below(address);
    uint64_t next = end;
    do next = n < live_count ? (live[n].address + PAGE - 1) / PAGE * PAGE : end;
    while (next <= address && n++ < live_count);
    return next < end ? next : end;
}

static void add_up(struct trace_statistics *to, const struct trace_statistics *from)
{
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)from;
    for (size_t k = 0; k < sizeof *to / sizeof *a; k++) a[k] += b[k];
}

/* An entry for a new allocation; 0: there is none. */
static uint32_t take_entry(struct trace_region *r)
{
    if (r->allocation_count < TRACE_ALLOCATIONS) return (uint32_t)r->allocation_count++;
    if (!freed) return 0;
    uint32_t entry;
    do {
        entry = oldest;
        oldest = oldest + 1 < TRACE_ALLOCATIONS ? oldest + 1 : 1;
    } while (!r->allocations[entry].freed);
    freed--;
    if (counted) {
        add_up(&r->statistics[0], &r->statistics[entry]);
        memset(&r->statistics[entry], 0, sizeof *r->statistics);
    }
    return entry;
}

static void enter(struct trace_region *r, const struct trace_record *record)
{
    uint64_t ordinal = ++last_ordinal;
    if (live_count == live_room) {
        size_t room = live_room ? 2 * live_room : 64;
        struct live *more = heap_take(room * sizeof *more);
        if (!more) return; /* what happens to it is counted in entry 0 */
        if (live) memcpy(more, live, live_count * sizeof *more);
        heap_give(live);
        live = more;
        live_room = room;
    }
    uint32_t entry = take_entry(r);
    if (!entry) return;
    size_t at = below(record->address);
    memmove(live + at + 1, live + at, (live_count - at) * sizeof *live);
    live_count++;
    live[at] = (struct live){ record->address, record->address + record->bytes, entry };
    r->allocations[entry] = (struct trace_allocation){
        .address = record->address, .bytes = record->bytes, .made = record->time, .ordinal = ordinal,
        .ordinary = record->source != 0
    };
}

static void leave(struct trace_region *r, const struct trace_record *record)
{
    size_t at = below(record->address);
    if (!at || live[at - 1].address != record->address) return;
    r->allocations[live[at - 1].entry].freed = record->time;
    freed++;
    memmove(live + at - 1, live + at, (live_count - at) * sizeof *live);
    live_count--;
}

static void add(uint64_t *counter, uint64_t n) { __atomic_fetch_add(counter, n, __ATOMIC_RELAXED); }

/* Whether the first page of a migration has been moved by faults before, at least there and back.
 * A table of recent ones; what falls out of it begins anew. */
static bool returns(const struct trace_record *r)
{
    static struct {
        uint64_t page, times;
    } recent[1 << 12];
    uint64_t page = r->address >> 12, k = (page * 0x9e3779b97f4a7c15u) >> 52;
    if (r->kind != TRACE_MIGRATION || (r->cause != TRACE_CAUSE_COHERENCE && r->cause != TRACE_CAUSE_PREFETCH))
        return false;
    if (recent[k].page != page) {
        recent[k].page = page;
        recent[k].times = 0;
    }
    return recent[k].times++ >= 2;
}

static void count(struct trace_statistics *s, const struct trace_record *r)
{
    add(&s->events[r->kind], 1);
    switch (r->kind) {
    case TRACE_MIGRATION:
        add(&s->moved[trace_direction(r)][r->cause], r->bytes);
        add(&s->migrations[trace_direction(r)][r->cause], 1);
        break;
    case TRACE_CPU_FAULT: add(&s->faults[0][r->access & 7], 1); break;
    case TRACE_GPU_FAULT: add(&s->faults[1][r->access & 7], r->count ? r->count : 1); break;
    case TRACE_KERNEL:
    case TRACE_TRANSFER: break;
    default: add(&s->bytes[r->kind], r->bytes);
    }
}

/* A migration may concern several small allocations: each has its own part of it. */
static void count_by_allocation(struct trace_region *r, const struct trace_record *record)
{
    bool fault = record->kind == TRACE_CPU_FAULT || record->kind == TRACE_GPU_FAULT;
    struct trace_record piece = *record;
    uint64_t end = record->address + record->bytes;
    do {
        if (!fault && record->bytes) piece.bytes = piece_end(piece.address, end) - piece.address;
        struct trace_statistics *s = &r->statistics[entry_at(piece.address)];
        count(s, &piece);
        s->returns += returns(&piece);
        piece.address += piece.bytes;
    } while (!fault && piece.address < end);
}

void statistics_total(struct trace_region *r, const struct trace_record *record) { count(&r->total, record); }

void statistics_count(struct trace_region *r, const struct trace_record *record, bool of_allocation)
{
    statistics_total(r, record);
    bool changes = record->kind == TRACE_ALLOC || record->kind == TRACE_FREE;
    bool of_none = record->kind == TRACE_KERNEL || record->kind == TRACE_TRANSFER || record->kind == TRACE_GPU_FAULT_REPLAY;
    if (of_none || (!of_allocation && !changes)) return;
    quiet_lock(&lock);
    if (record->kind == TRACE_ALLOC) enter(r, record);
    if (of_allocation) {
        counted = true;
        count_by_allocation(r, record);
    }
    if (record->kind == TRACE_FREE) leave(r, record);
    quiet_unlock(&lock);
}

void statistics_forget(void)
{
    lock = (struct quiet_mutex)QUIET_MUTEX_INITIALIZER;
    live_count = 0;
    freed = 0;
    last_ordinal = 0;
    oldest = 1;
}

size_t statistics_live(struct trace_region *r, struct live_allocation *out, size_t most)
{
    quiet_lock(&lock);
    size_t n = live_count;
    for (size_t k = 0; k < n && k < most; k++)
        out[k] = (struct live_allocation){ live[k].address, live[k].end - live[k].address,
                                           r->allocations[live[k].entry].ordinal, live[k].entry };
    quiet_unlock(&lock);
    return n;
}
