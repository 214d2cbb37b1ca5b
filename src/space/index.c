/* A radix tree over addresses whose leaves are records: copies of allocations
 * that a reader may look at without holding their owner off. With a record's
 * address an entry has the number of its traits (traits.h), which are all that most
 * readers want: among many allocations a record is seldom in a cache.
 *
 * An entry of a table is empty, a record, or a table of the next level. A record
 * fills every entry that lies within its allocation, so an entry of the last
 * level is one byte and no two allocations share one. A table that becomes empty
 * is taken out of its parent and used again for other addresses; neither tables
 * nor records are ever given back, so a reader that was overtaken reads an old
 * table or an old record, never freed memory.
 *
 * Such a reader answers "none" when what it finds is empty or does not contain
 * the address. That is right: a table is only taken out, and a record only used
 * again, after the moment at which nothing was allocated at the address, and
 * that moment lies within the reader's call. Who does not look at the record has
 * to see that no table was used again meanwhile.
 *
 * A record's words are guarded by its version: odd while they change. A reader
 * that sees the same even version before and after has one allocation's words:
 * each store to a word releases the odd version before it, each load of a word
 * keeps the second look at the version behind it. */
#include "space/index.h"
#include "space/traits.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LEVELS = 6, ADDRESS_BITS = 47, BLOCK = 2 << 20, TAG_RECORD = 1, TRAITS_SHIFT = 48 };
/* what an entry of each level spans, as a power of two, and how many entries a table has */
static const unsigned span_bits[LEVELS] = { 34, 21, 12, 9, 4, 0 }, table_bits[LEVELS] = { 13, 13, 9, 3, 5, 4 };

/* The part of an allocation that readers see: all but its place in the owner's tree. */
enum { WORDS = offsetof(struct allocation, link) / 8, LINE = 64 };
_Static_assert(offsetof(struct allocation, link) % 8 == 0, "copied in words");

struct record {
    _Alignas(LINE) _Atomic uint64_t version;
    _Atomic uint64_t words[WORDS];
    _Atomic(struct allocation *) object;
    uintptr_t entry; /* in tables */
    struct record *next_free;
};

/* Behind the entries of a large one comes the count of those that are not empty; a
 * small one is one cache line, and is counted when it matters. */
struct table {
    _Atomic uintptr_t entries[1];
};
enum { SMALL = 8 };

struct stack {
    struct table **item;
    size_t count, room;
};

static _Atomic uintptr_t root[1 << 13];
static struct stack free_tables[LEVELS];
static struct record *free_records;
static char *block, *block_end; /* the newest block's rest */
static _Alignas(LINE) struct {
    _Atomic uint64_t count;
    char rest[LINE - sizeof(uint64_t)];
} emptied; /* tables, which may be used again */

static struct record *record_of(uintptr_t entry)
{
    return (struct record *)((entry & (((uintptr_t)1 << TRAITS_SHIFT) - 1)) - TAG_RECORD);
}

static uintptr_t entry_of(const struct record *r, const struct allocation *a)
{
    return (uintptr_t)r | TAG_RECORD | (uintptr_t)traits_number(a) << TRAITS_SHIFT;
}

/* ---- readers */

/* The entry, of a record or 0. */
static uintptr_t walk(uint64_t address)
{
    uintptr_t e =
        address >> ADDRESS_BITS ? 0 : atomic_load_explicit(&root[address >> span_bits[0]], memory_order_acquire);
    for (unsigned level = 1; e && !(e & TAG_RECORD); level++)
        e = atomic_load_explicit(
            &((struct table *)e)->entries[address >> span_bits[level] & ((1u << table_bits[level]) - 1)],
            memory_order_acquire);
    return e;
}

struct allocation *index_find(uint64_t address, struct allocation *copy)
{
    uintptr_t e = walk(address);
    struct record *r = record_of(e);
    uint64_t *words = (uint64_t *)copy, before;
    struct allocation *object;
    if (!e) return NULL;
    do {
        while ((before = atomic_load_explicit(&r->version, memory_order_acquire)) & 1) __builtin_ia32_pause();
        for (unsigned k = 0; k < WORDS; k++) words[k] = atomic_load_explicit(&r->words[k], memory_order_acquire);
        object = atomic_load_explicit(&r->object, memory_order_acquire);
    } while (atomic_load_explicit(&r->version, memory_order_relaxed) != before);
    return address - copy->base < copy->size ? object : NULL;
}

bool index_glance(uint64_t address, struct allocation *copy)
{
    uint64_t before = atomic_load_explicit(&emptied.count, memory_order_acquire);
    uintptr_t e = walk(address);
    unsigned traits = (unsigned)(e >> TRAITS_SHIFT);
    if (!e) return false;
    if (!traits || atomic_load_explicit(&emptied.count, memory_order_relaxed) != before)
        return index_find(address, copy);
    traits_copy(traits, copy);
    return true;
}

struct allocation *index_object(uint64_t address)
{
    struct allocation copy;
    return index_find(address, &copy);
}

/* ---- memory that stays */

static void *take_bytes(size_t size)
{
    size = (size + 63) & ~(size_t)63;
    if (size > BLOCK) return NULL;
    if ((size_t)(block_end - block) < size) {
        char *fresh = mmap(NULL, 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (fresh == MAP_FAILED) return NULL;
        char *aligned = (char *)(((uintptr_t)fresh + BLOCK - 1) & ~((uintptr_t)BLOCK - 1));
        if (aligned != fresh) munmap(fresh, (size_t)(aligned - fresh));
        if (aligned + BLOCK != fresh + 2 * BLOCK) munmap(aligned + BLOCK, (size_t)(fresh + BLOCK - aligned));
        /* lookups hop about in it; the first block is all that most programs need */
        if (block) madvise(aligned, BLOCK, MADV_HUGEPAGE);
        block = aligned;
        block_end = aligned + BLOCK;
    }
    void *p = block;
    block += size;
    return p;
}

static struct record *record_new(void)
{
    struct record *r = free_records;
    if (r)
        free_records = r->next_free;
    else
        r = take_bytes(sizeof *r);
    return r;
}

static size_t entries_of(unsigned level) { return (size_t)1 << table_bits[level]; }

static struct table *table_new(unsigned level)
{
    struct stack *f = &free_tables[level];
    if (f->count) return f->item[--f->count];
    size_t n = entries_of(level);
    return take_bytes((n > SMALL ? n + 1 : n) * sizeof(uintptr_t));
}

/* All its entries are empty, and nothing leads to it. Without memory to remember it, it is lost. */
static void table_free(struct table *t, unsigned level)
{
    struct stack *f = &free_tables[level];
    uint64_t count = atomic_load_explicit(&emptied.count, memory_order_relaxed);
    atomic_store_explicit(&emptied.count, count + 1, memory_order_release);
    if (f->count == f->room) {
        size_t room = f->room ? 2 * f->room : 64;
        struct table **more = realloc(f->item, room * sizeof *more);
        if (!more) return;
        f->item = more;
        f->room = room;
    }
    f->item[f->count++] = t;
}

static void table_count(struct table *t, unsigned level, int change)
{
    size_t n = entries_of(level);
    if (n > SMALL)
        atomic_store_explicit(&t->entries[n],
                              atomic_load_explicit(&t->entries[n], memory_order_relaxed) + (uintptr_t)(intptr_t)change,
                              memory_order_relaxed);
}

static bool table_empty(const struct table *t, unsigned level)
{
    size_t n = entries_of(level);
    if (n > SMALL) return !atomic_load_explicit(&t->entries[n], memory_order_relaxed);
    for (size_t k = 0; k < n; k++)
        if (atomic_load_explicit(&t->entries[k], memory_order_relaxed)) return false;
    return true;
}

/* ---- writers */

/* a NULL: the record is nobody's. */
static void record_write(struct record *r, const struct allocation *a)
{
    uint64_t words[WORDS] = { 0 }, version = atomic_load_explicit(&r->version, memory_order_relaxed);
    if (a) memcpy(words, a, sizeof words);
    atomic_store_explicit(&r->version, version + 1, memory_order_relaxed);
    for (unsigned k = 0; k < WORDS; k++) atomic_store_explicit(&r->words[k], words[k], memory_order_release);
    atomic_store_explicit(&r->object, (struct allocation *)a, memory_order_release);
    atomic_store_explicit(&r->version, version + 2, memory_order_release);
}

struct change {
    uint64_t first, last; /* bytes, both included */
    uintptr_t from, to;   /* entries */
};

/* Changes the entries for [c->first, c->last] of the table t (NULL: the root), which begins at address base. False: no memory. */
static bool change(const struct change *c, unsigned level, struct table *t, uint64_t base)
{
    _Atomic uintptr_t *entries = t ? t->entries : root;
    uint64_t span = 1ull << span_bits[level], last_entry = entries_of(level) - 1;
    uint64_t k = c->first <= base ? 0 : (c->first - base) >> span_bits[level];
    uint64_t end = (c->last - base) >> span_bits[level];
    for (end = end < last_entry ? end : last_entry; k <= end; k++) {
        uint64_t at = base + k * span;
        uintptr_t e = atomic_load_explicit(&entries[k], memory_order_relaxed);
        if (e == c->from && c->first <= at && c->last - at >= span - 1) {
            atomic_store_explicit(&entries[k], c->to, memory_order_release);
            if (t) table_count(t, level, !e - !c->to);
            continue;
        }
        if (e & TAG_RECORD || (!e && c->from)) continue;
        struct table *below = (struct table *)e;
        if (!below && !(below = table_new(level + 1))) return false;
        if (!e && t) table_count(t, level, 1);
        bool done = change(c, level + 1, below, at);
        bool empty = table_empty(below, level + 1);
        atomic_store_explicit(&entries[k], empty ? 0 : (uintptr_t)below, memory_order_release);
        if (empty) {
            table_free(below, level + 1);
            if (t) table_count(t, level, -1);
        }
        if (!done) return false;
    }
    return true;
}

static bool change_all(const struct allocation *a, uintptr_t from, uintptr_t to)
{
    const struct change c = { a->base, a->base + a->size - 1, from, to };
    return change(&c, 0, NULL, 0);
}

CUresult index_insert(struct allocation *a)
{
    if (!a->size || (a->base + a->size - 1) >> ADDRESS_BITS) return CUDA_ERROR_INVALID_VALUE;
    struct record *r = record_new();
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    r->entry = entry_of(r, a);
    a->record = r;
    record_write(r, a);
    if (change_all(a, 0, r->entry)) return CUDA_SUCCESS;
    index_remove(a);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void index_update(const struct allocation *a)
{
    struct record *r = a->record;
    uintptr_t before = r->entry;
    r->entry = entry_of(r, a);
    record_write(r, a);
    if (r->entry != before) change_all(a, before, r->entry); /* which takes no memory */
}

void index_remove(struct allocation *a)
{
    struct record *r = a->record;
    change_all(a, r->entry, 0);
    record_write(r, NULL);
    r->next_free = free_records;
    free_records = r;
    a->record = NULL;
}
