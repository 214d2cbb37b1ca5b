/* See heap.h. Cells of some sizes, cut from regions; what is larger has a mapping of its own. */
#include "base/heap.h"
#include "base/quiet.h"
#include "base/units.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* AddressSanitizer is told of cells, so that it sees what is used too late or beyond its end. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { RESTING = 4096 };
#else
#define ASAN_POISON_MEMORY_REGION(p, size) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)0)
enum { RESTING = 0 };
#endif

/* LeakSanitizer is told that cells may point to the C library's memory. It may be the program's: then it is there,
 * though this library was compiled without. */
__attribute__((weak)) void __lsan_register_root_region(const void *p, size_t size);
__attribute__((weak)) void __lsan_unregister_root_region(const void *p, size_t size);

enum { SIZES = 85, REGION = 1 << 20 };

struct cell {
    size_t size;       /* of a mapping; or the number of the cell's size */
    struct cell *next; /* while it is free */
};

static struct quiet_mutex lock = QUIET_MUTEX_INITIALIZER; /* a leaf */
static struct cell *unused[SIZES];
static char *at, *end; /* what is left of the newest region */

/* By 16 from 32 to 128, and from there on eight sizes to each doubling: 144, 160, ... 256, 288, ... */
static size_t bytes(unsigned step)
{
    if (step < 6) return 32 + 16 * (size_t)step;
    return (size_t)(8 + (step - 6) % 8) << ((step - 6) / 8 + 4);
}

/* The least that has room; SIZES: none has. */
static unsigned step_for(size_t size)
{
    unsigned step = size > 128 ? 6 + 8 * (unsigned)(__builtin_clzl(128) - __builtin_clzl(size - 1)) : 0;
    while (step < SIZES && bytes(step) < size) step++;
    return step;
}

/* What has been mapped; neighbours are one. More than there is room for: there are some anywhere. */
enum { SPANS = 1024 };
static struct span {
    uint64_t from, to;
} spans[SPANS];
static unsigned span_count;
static bool spans_full;

/* Under the lock. */
static void note(uint64_t from, uint64_t to)
{
    for (unsigned k = 0; k < span_count; k++) {
        struct span *s = &spans[k];
        if (from > s->to || to < s->from) continue;
        if (from < s->from) s->from = from;
        if (to > s->to) s->to = to;
        return;
    }
    if (span_count < SPANS)
        spans[span_count++] = (struct span){ from, to };
    else
        spans_full = true;
}

bool heap_overlaps(uint64_t va, uint64_t end, uint64_t *from, uint64_t *to)
{
    bool found = false;
    quiet_lock(&lock);
    for (unsigned k = 0; k < span_count; k++) {
        const struct span *s = &spans[k];
        if (s->from >= end || s->to <= va || (found && s->from >= *from)) continue;
        *from = s->from;
        *to = s->to;
        found = true;
    }
    if (spans_full) {
        *from = va;
        *to = end;
        found = true;
    }
    quiet_unlock(&lock);
    return found;
}

/* Under the lock. */
static void *map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    note((uint64_t)p, (uint64_t)p + page_up(size));
    if (__lsan_register_root_region) __lsan_register_root_region(p, size);
    return p;
}

/* Under the lock. */
static struct cell *cut(size_t size)
{
    if ((size_t)(end - at) < size) {
        char *region = map(REGION);
        if (!region) return NULL;
        ASAN_POISON_MEMORY_REGION(region, REGION);
        at = region;
        end = region + REGION;
    }
    at += size;
    return (struct cell *)(at - size);
}

/* Under the lock. */
static struct cell *first_unused(unsigned step)
{
    struct cell *c = unused[step];
    if (!c) return NULL;
    ASAN_UNPOISON_MEMORY_REGION(c, sizeof *c);
    unused[step] = c->next;
    return c;
}

/* Of the size of a step; step SIZES: a mapping of its own. */
static struct cell *take(unsigned step, size_t size)
{
    quiet_lock(&lock);
    struct cell *c = step < SIZES ? first_unused(step) : NULL;
    if (!c) c = step < SIZES ? cut(bytes(step)) : map(size);
    quiet_unlock(&lock);
    return c;
}

void *heap_take(size_t size)
{
    size += sizeof(struct cell);
    unsigned step = step_for(size);
    struct cell *c = take(step, size);
    if (!c) return NULL;
    ASAN_UNPOISON_MEMORY_REGION(c, size);
    c->size = step < SIZES ? step : size;
    if (step < SIZES) memset(c + 1, 0, size - sizeof *c);
    ASAN_POISON_MEMORY_REGION(c, sizeof *c);
    return c + 1;
}

/* Under the lock. The cell that may be used again now; for AddressSanitizer not the one that was just given back. */
static struct cell *rest(struct cell *c)
{
    static struct cell *resting[RESTING + 1];
    static unsigned turn;
    struct cell *rested = resting[turn];
    if (!RESTING) return c;
    resting[turn] = c;
    turn = (turn + 1) % (RESTING + 1);
    return rested;
}

void heap_give(void *p)
{
    if (!p) return;
    struct cell *c = (struct cell *)p - 1;
    ASAN_UNPOISON_MEMORY_REGION(c, sizeof *c);
    if (c->size >= SIZES) {
        if (__lsan_unregister_root_region) __lsan_unregister_root_region(c, c->size);
        ASAN_UNPOISON_MEMORY_REGION(c, c->size);
        munmap(c, c->size);
        return;
    }
    ASAN_POISON_MEMORY_REGION(c, bytes((unsigned)c->size));
    quiet_lock(&lock);
    c = rest(c);
    if (c) {
        ASAN_UNPOISON_MEMORY_REGION(c, sizeof *c);
        unsigned step = (unsigned)c->size;
        c->next = unused[step];
        unused[step] = c;
        ASAN_POISON_MEMORY_REGION(c, sizeof *c);
    }
    quiet_unlock(&lock);
}
