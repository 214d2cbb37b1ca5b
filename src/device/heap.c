/* malloc of kernels: a list of pieces that lives in the heap itself, where the
 * kernel may damage it, so nothing in it is believed. The search for a free
 * piece goes on where the last one ended: it seldom has far to go. */
#include "device/device.h"
#include "base/futex.h"
#include "device/rt.h"

struct heap {
    _Atomic uint32_t lock;
    uint32_t ready;
    uint64_t size, next /* offset of the piece where the search begins */;
};
struct piece {
    uint64_t size /* with this header */, used;
};
enum { USED = 0x46415553u, FREE = 0x45455246u }; /* as unlikely in damaged memory as any other numbers */
enum { FIRST = 64 };                             /* offset of the first piece, behind struct heap */

static void unlock(struct heap *h) { atomic_store(&h->lock, 0); }

static void damaged(struct heap *h)
{
    unlock(h);
    fault_raise(FAULT_TRAP, 0, 0, "the heap of device-side malloc is damaged");
}

/* Who holds the lock may have been ended by a fault: nobody waits for it then. */
static void lock(struct heap *h)
{
    for (unsigned n = 0; atomic_exchange(&h->lock, 1); n++)
        if (n < 100)
            cpu_relax();
        else if (grids_aborted())
            fault_raise(FAULT_TRAP, 0, 0, NULL);
        else
            futex_wait(&h->lock, 1, 20000);
}

/* The piece at offset; NULL at the end. */
static struct piece *piece_at(struct heap *h, uint64_t offset)
{
    uint64_t room = worker.grid->heap_size & ~15ull;
    struct piece *p = (struct piece *)((char *)h + offset);
    if (offset == room) return NULL;
    if (offset < FIRST || offset % 16 || offset > room - sizeof *p) damaged(h);
    if ((p->used != USED && p->used != FREE) || p->size < sizeof *p || p->size % 16 || p->size > room - offset)
        damaged(h);
    return p;
}

static uint64_t offset_of(const struct heap *h, const struct piece *p)
{
    return (uint64_t)((const char *)p - (const char *)h);
}

/* A free piece of at least need bytes among those from offset begin to end. */
static struct piece *find(struct heap *h, uint64_t begin, uint64_t end, uint64_t need)
{
    for (struct piece *p; begin < end && (p = piece_at(h, begin)); begin += p->size) {
        if (p->used != FREE) continue;
        for (struct piece *n; (n = piece_at(h, begin + p->size)) && n->used == FREE;) {
            if (h->next == begin + p->size) h->next = begin;
            p->size += n->size;
        }
        if (p->size >= need) return p;
    }
    return NULL;
}

static void make_ready(struct heap *h)
{
    if (h->ready == USED) return;
    h->size = worker.grid->heap_size & ~15ull;
    h->next = FIRST;
    *(struct piece *)((char *)h + FIRST) = (struct piece){ h->size - FIRST, FREE };
    h->ready = USED;
}

uint64_t device_malloc(struct fl_block *b, uint64_t size)
{
    (void)b;
    struct heap *h = (struct heap *)worker.grid->heap;
    uint64_t need = ((size ? size : 1) + sizeof(struct piece) + 15) & ~15ull;
    if (!h || size > worker.grid->heap_size || worker.grid->heap_size < 4096) return 0;
    lock(h);
    make_ready(h);
    struct piece *p = find(h, h->next, UINT64_MAX, need);
    if (!p) p = find(h, FIRST, h->next, need);
    if (p) {
        if (p->size - need >= 64) {
            *(struct piece *)((char *)p + need) = (struct piece){ p->size - need, FREE };
            p->size = need;
        }
        p->used = USED;
        h->next = offset_of(h, p) + p->size;
        if (h->next >= h->size) h->next = FIRST;
    }
    unlock(h);
    return p ? (uint64_t)(p + 1) : 0;
}

void device_free(struct fl_block *b, uint64_t address)
{
    (void)b;
    struct heap *h = (struct heap *)worker.grid->heap;
    if (!address) return;
    struct piece *p = (struct piece *)address - 1;
    bool inside = h && address >= (uint64_t)h + FIRST + sizeof *p && address < (uint64_t)h + worker.grid->heap_size;
    if (!inside || address & 15 || p->used != USED) fault_raise(FAULT_TRAP, 0, 0, "free of what malloc did not give");
    lock(h);
    p->used = FREE;
    unlock(h);
}
