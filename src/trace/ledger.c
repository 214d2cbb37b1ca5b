/* See ledger.h. Entries stay where they are in the region, for its reader; which have a name is found by a table of this
 * process's own. Those that the region has no room for are this process's own, too: the reader knows how many they are. */
#include "base/heap.h"
#include "trace/ledger.h"
#include "trace/region.h"

#include <pthread.h>
#include <string.h>

enum { BUCKETS = 1 << 14, FIRST_MORE = 1 << 12 };

/* Innermost but for the heap's. Numbers of entries count from 1; those above TRACE_LEDGER are in no region. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t bucket[BUCKETS], next[TRACE_LEDGER + 1], used;
static struct {
    struct ledger_entry entry;
    uint32_t next;
} * more;
static uint32_t more_room;
static uint32_t unused[2]; /* by is_more */

static uint32_t *bucket_of(uint64_t name) { return &bucket[(name * 0x9e3779b97f4a7c15u) >> 50]; }
static bool is_more(uint32_t k) { return k > TRACE_LEDGER; }
static uint32_t *next_of(uint32_t k) { return is_more(k) ? &more[k - TRACE_LEDGER - 1].next : &next[k]; }
static struct ledger_entry *entry_of(struct trace_region *r, uint32_t k)
{
    return is_more(k) ? &more[k - TRACE_LEDGER - 1].entry : &r->ledger[k - 1];
}

static bool make_room(void)
{
    const uint32_t room = more_room ? 2 * more_room : FIRST_MORE;
    void *larger = heap_take(room * sizeof *more);
    if (!larger) return false;
    if (more) memcpy(larger, more, more_room * sizeof *more);
    heap_give(more);
    more = larger;
    more_room = room;
    return true;
}

/* 0: there is no memory for it. */
static uint32_t place(struct trace_region *r)
{
    for (int m = 0; m < 2; m++) {
        const uint32_t k = unused[m];
        if (!k) continue;
        unused[m] = *next_of(k);
        return k;
    }
    if (used == TRACE_LEDGER + more_room && !make_room()) return 0;
    used++;
    if (!is_more(used)) atomic_store(&r->ledger_entries, used);
    return used;
}

static void put(struct trace_region *r, const struct ledger_entry *entry)
{
    const uint32_t k = place(r);
    if (!k || is_more(k)) atomic_fetch_add(&r->ledger_lost, 1);
    if (!k) return;
    *entry_of(r, k) = *entry;
    *next_of(k) = *bucket_of(entry->name);
    *bucket_of(entry->name) = k;
}

static void drop(struct trace_region *r, uint32_t *at)
{
    const uint32_t k = *at;
    *at = *next_of(k);
    *next_of(k) = unused[is_more(k)];
    unused[is_more(k)] = k;
    entry_of(r, k)->kind = LEDGER_NOTHING;
    if (is_more(k)) atomic_fetch_sub(&r->ledger_lost, 1);
}

void ledger_restore(const struct ledger_entry *entry)
{
    struct trace_region *r = trace_region();
    if (!r || !entry->kind) return;
    pthread_mutex_lock(&lock);
    put(r, entry);
    pthread_mutex_unlock(&lock);
}

void ledger_enter(struct ledger_entry entry)
{
    entry.origin = origin_intern();
    ledger_restore(&entry);
}

bool ledger_take(enum ledger_kind kind, uint64_t name, struct ledger_entry *out)
{
    struct trace_region *r = trace_region();
    *out = (struct ledger_entry){ .kind = LEDGER_NOTHING };
    if (!r) return false;
    pthread_mutex_lock(&lock);
    uint32_t *at = bucket_of(name);
    while (*at && (entry_of(r, *at)->name != name || entry_of(r, *at)->kind != kind)) at = next_of(*at);
    if (*at) {
        *out = *entry_of(r, *at);
        drop(r, at);
    }
    pthread_mutex_unlock(&lock);
    return out->kind;
}

typedef bool is_meant(const struct ledger_entry *e, uint64_t first, uint64_t end);
static void drop_all(is_meant *meant, uint64_t first, uint64_t end)
{
    struct trace_region *r = trace_region();
    if (!r) return;
    pthread_mutex_lock(&lock);
    for (uint32_t k = 1; k <= used; k++) {
        const struct ledger_entry *e = entry_of(r, k);
        if (!e->kind || !meant(e, first, end)) continue;
        uint32_t *at = bucket_of(e->name);
        while (*at != k) at = next_of(*at);
        drop(r, at);
    }
    pthread_mutex_unlock(&lock);
}

static bool is_mapped_in(const struct ledger_entry *e, uint64_t first, uint64_t end)
{
    return e->kind == LEDGER_MAPPING && e->name >= first && e->name < end;
}
void ledger_unmapped(uint64_t first, uint64_t end) { drop_all(is_mapped_in, first, end); }

static bool goes_with(const struct ledger_entry *e, uint64_t context, uint64_t none)
{
    (void)none;
    return e->context == context;
}
void ledger_end_context(uint64_t context) { drop_all(goes_with, context, 0); }

void ledger_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(bucket, 0, sizeof bucket);
    memset(unused, 0, sizeof unused);
    used = 0;
}
