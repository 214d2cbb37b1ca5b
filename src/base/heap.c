/* See heap.h. Cells of some sizes, cut from regions; what is larger has a mapping of its own. */
#include "base/heap.h"
#include "base/quiet.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
/* it sees what is used too late, or never given back */
void *heap_take(size_t size) { return calloc(1, size); }
void heap_give(void *p) { free(p); }
#else

enum { SIZES = 24, REGION = 1 << 20 };

struct cell {
    size_t size;       /* of a mapping; or the number of the cell's size */
    struct cell *next; /* while it is free */
};

static struct quiet_mutex lock = QUIET_MUTEX_INITIALIZER; /* a leaf */
static struct cell *unused[SIZES];
static char *at, *end; /* what is left of the newest region */

/* 32, 48, 64, 96, ... */
static size_t bytes(unsigned step) { return (step % 2 ? (size_t)48 : 32) << step / 2; }

static void *map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Under the lock. */
static struct cell *cut(size_t size)
{
    if ((size_t)(end - at) < size) {
        char *region = map(REGION);
        if (!region) return NULL;
        at = region;
        end = region + REGION;
    }
    at += size;
    return (struct cell *)(at - size);
}

static struct cell *take(unsigned step)
{
    quiet_lock(&lock);
    struct cell *c = unused[step];
    if (c)
        unused[step] = c->next;
    else
        c = cut(bytes(step));
    quiet_unlock(&lock);
    return c;
}

void *heap_take(size_t size)
{
    unsigned step = 0;
    size += sizeof(struct cell);
    while (step < SIZES && bytes(step) < size) step++;
    struct cell *c = step < SIZES ? take(step) : map(size);
    if (!c) return NULL;
    c->size = step < SIZES ? step : size;
    return memset(c + 1, 0, size - sizeof *c);
}

void heap_give(void *p)
{
    struct cell *c = (struct cell *)p - 1;
    if (!p) return;
    if (c->size >= SIZES) {
        munmap(c, c->size);
        return;
    }
    quiet_lock(&lock);
    c->next = unused[c->size];
    unused[c->size] = c;
    quiet_unlock(&lock);
}
#endif
