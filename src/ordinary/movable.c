/* See movable.h. */
#include "ordinary/movable.h"
#include "base/heap.h"
#include "base/tasks.h"
#include "base/units.h"
#include "ordinary/copied.h"
#include "ordinary/registration.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD_MOST = 64 << 10, STATIC_MOST = 64 << 10 };

static uint64_t stack_size(void)
{
    static const uint64_t least = 1 << 20, most = 64 << 20;
    pthread_attr_t a;
    size_t size = 0;
    if (!pthread_getattr_default_np(&a)) {
        pthread_attr_getstacksize(&a, &size);
        pthread_attr_destroy(&a);
    }
    return size < least ? least : size > most ? most : size;
}

uint64_t movable_reach(void) { return stack_size() + GUARD_MOST + PAGE_BYTES; }

/* ---- what stays: pieces [from, to) are cut off the bounds, or are the bounds if va is in one */

struct bounds {
    uint64_t va, low, high;
    bool stays;
};

static void cut(struct bounds *b, uint64_t from, uint64_t to)
{
    if (b->stays || from >= b->high || to <= b->low) return;
    if (b->va >= from && b->va < to) {
        b->stays = true;
        if (from > b->low) b->low = from;
        if (to < b->high) b->high = to;
    } else if (to <= b->va) {
        b->low = to;
    } else {
        b->high = from;
    }
}

static bool is_guard(const struct region *r) { return !r->prot && !r->shared && !r->inode; }

struct cut {
    struct bounds *bounds;
    const struct region *region;
    bool guarded;
};

static void cut_thread(void *arg, int thread, uint64_t descriptor)
{
    const struct cut *c = arg;
    const struct region *r = c->region;
    uint64_t at = descriptor & -(uint64_t)PAGE_BYTES, most = stack_size();
    if (at < r->start || at >= r->end) return;
    /* the main thread's stack is elsewhere */
    uint64_t from = at - (thread == getpid() ? STATIC_MOST : most);
    if (c->guarded && thread != getpid() && at - r->start < 2 * most) from = r->start;
    cut(c->bounds, from, at + TASK_DESCRIPTOR);
}

/* Of the program's own file the zeroed data may move, as that of others may not. */
static bool of_shared_object(const struct region *below)
{
    static char program[256];
    if (below->path[0] != '/' || below->shared) return false;
    if (!program[0] && readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return true;
    return strcmp(program, below->path) != 0;
}

static bool anonymous(const struct region *r)
{
    if (registration_in_place(r)) return true;
    return !r->shared && !r->inode && (!r->path[0] || !strcmp(r->path, "[heap]") || !strncmp(r->path, "[anon:", 6));
}

bool movable_page(const struct region *list, size_t at, uint64_t va, uint64_t *low, uint64_t *high)
{
    const struct region *r = &list[at], *below = at && list[at - 1].end == r->start ? &list[at - 1] : NULL;
    struct bounds b = { va, *low > r->start ? *low : r->start, *high < r->end ? *high : r->end, false };
    uint64_t from, to;
    b.stays = !anonymous(r) || r->prot != (PROT_READ | PROT_WRITE) || (below && of_shared_object(below));
    if (!b.stays && below && is_guard(below) && below->end - below->start <= GUARD_MOST)
        cut(&b, r->start, r->start + stack_size());
    struct cut c = { &b, r, below && is_guard(below) };
    if (!tasks_each(cut_thread, &c)) b.stays = true;
    if (!b.stays && copied_overlaps(b.low, b.high, &from, &to)) cut(&b, from, to);
    while (!b.stays && heap_overlaps(b.low, b.high, &from, &to)) cut(&b, from, to);
    *low = b.low;
    *high = b.high;
    return !b.stays;
}
