/* See ledger.h. Entries stay where they are in the region, for its reader; which have a name is found by a table of this
 * process's own. */
#include "trace/ledger.h"
#include "trace/region.h"

#include <pthread.h>
#include <string.h>

enum { BUCKETS = 1 << 14 };

/* Innermost. Numbers of entries count from 1. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t bucket[BUCKETS], next[TRACE_LEDGER + 1], unused;

static uint32_t *bucket_of(uint64_t name) { return &bucket[(name * 0x9e3779b97f4a7c15u) >> 50]; }

static uint32_t place(struct trace_region *r)
{
    uint32_t k = unused;
    if (k)
        unused = next[k];
    else if ((k = atomic_load(&r->ledger_entries)) < TRACE_LEDGER)
        atomic_store(&r->ledger_entries, ++k);
    else
        k = 0;
    return k;
}

static void put(struct trace_region *r, const struct ledger_entry *entry)
{
    const uint32_t k = place(r);
    if (!k) {
        atomic_fetch_add(&r->ledger_lost, 1);
        return;
    }
    r->ledger[k - 1] = *entry;
    next[k] = *bucket_of(entry->name);
    *bucket_of(entry->name) = k;
}

static void drop(struct trace_region *r, uint32_t *at)
{
    const uint32_t k = *at;
    *at = next[k];
    next[k] = unused;
    unused = k;
    r->ledger[k - 1].kind = LEDGER_NOTHING;
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
    while (*at && (r->ledger[*at - 1].name != name || r->ledger[*at - 1].kind != kind)) at = &next[*at];
    if (*at) {
        *out = r->ledger[*at - 1];
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
    for (uint32_t k = 1; k <= atomic_load(&r->ledger_entries); k++) {
        const struct ledger_entry *e = &r->ledger[k - 1];
        if (!e->kind || !meant(e, first, end)) continue;
        uint32_t *at = bucket_of(e->name);
        while (*at != k) at = &next[*at];
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
    unused = 0;
}
