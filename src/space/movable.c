/* See movable.h. */
#include "space/movable.h"
#include "base/heap.h"
#include "space/registration.h"

#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, GUARD_MOST = 64 << 10, DESCRIPTOR = 8 << 10, STATIC_MOST = 64 << 10 };

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

uint64_t movable_reach(void) { return stack_size() + GUARD_MOST + PAGE; }

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

/* The descriptor of a thread, where the system's list of locks begins; 0: not known. */
static uint64_t descriptor_of(int thread)
{
    struct robust_list_head *head = NULL;
    size_t size;
    return syscall(SYS_get_robust_list, thread, &head, &size) ? 0 : (uint64_t)head;
}

/* stack: what of the region begins a stack, if it lies above a guard. */
static void cut_threads(struct bounds *b, const struct region *r, bool guarded)
{
    uint64_t most = stack_size();
    DIR *d = opendir("/proc/self/task");
    if (!d) {
        b->stays = true;
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        int thread = atoi(e->d_name);
        uint64_t at = thread ? descriptor_of(thread) & -(uint64_t)PAGE : 0, from;
        if (at < r->start || at >= r->end) continue;
        /* the main thread's stack is elsewhere */
        from = at - (thread == getpid() ? STATIC_MOST : most);
        if (guarded && thread != getpid() && at - r->start < 2 * most) from = r->start;
        cut(b, from, at + DESCRIPTOR);
    }
    closedir(d);
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
    if (!b.stays) cut_threads(&b, r, below && is_guard(below));
    while (!b.stays && heap_overlaps(b.low, b.high, &from, &to)) cut(&b, from, to);
    *low = b.low;
    *high = b.high;
    return !b.stays;
}
