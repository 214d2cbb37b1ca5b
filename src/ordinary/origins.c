/* See origins.h. Pages are named by where they were replaced, wherever the
 * program has moved them since. Read in any call of the program's, so it takes
 * nothing from its heap, and one lock that is held for a moment only. */
#include "ordinary/origins.h"
#include "base/heap.h"
#include "base/quiet.h"
#include "base/tree.h"
#include "base/units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct span {
    struct origin o;
    RB_ENTRY(span) link;
    struct span *next; /* of those that have been taken out */
};
RB_HEAD(spans, span);
static int by_place(struct span *x, struct span *y) { return x->o.va < y->o.va ? -1 : x->o.va > y->o.va; }
TREE_FUNCTIONS(spans, span, link, by_place)

static struct spans all = RB_INITIALIZER(&all); /* none overlaps another */
static struct quiet_mutex lock = QUIET_MUTEX_INITIALIZER;

/* Under the lock: the lowest that ends above va. */
static struct span *above(uint64_t va)
{
    struct span key = { .o.va = va }, *s = RB_NFIND(spans, &all, &key),
                *below = s ? RB_PREV(spans, &all, s) : RB_MAX(spans, &all);
    return below && below->o.end > va ? below : s;
}

static struct origin cut(struct origin o, uint64_t va, uint64_t end)
{
    if (va > o.va) {
        o.offset += va - o.va;
        o.va = va;
    }
    if (end < o.end) o.end = end;
    return o;
}

bool origins_at(uint64_t va, uint64_t end, struct origin *o)
{
    quiet_lock(&lock);
    const struct span *s = above(va);
    bool known = s && s->o.va <= va;
    *o = (struct origin){ .va = va, .end = s && s->o.va < end ? s->o.va : end, .fd = -1 };
    if (known) *o = cut(s->o, va, end);
    quiet_unlock(&lock);
    return known;
}

/* ---- changes, under registrations_lock */

static bool insert(struct origin o)
{
    struct span *s = heap_take(sizeof *s);
    if (!s) return false;
    s->o = o;
    registration_keep_file(o.file);
    RB_INSERT(spans, &all, s);
    return true;
}

/* Under the lock: true if s goes, all but what of it lies outside of [va, end). Without memory the upper part goes, too. */
static bool take_out(struct span *s, uint64_t va, uint64_t end)
{
    struct origin before = s->o;
    s->o.end = va; /* if that is behind its beginning */
    if (before.va >= va) RB_REMOVE(spans, &all, s);
    if (before.end > end) insert(cut(before, end, before.end));
    return before.va >= va;
}

void origins_forget(uint64_t va, uint64_t end)
{
    struct span *gone = NULL;
    quiet_lock(&lock);
    for (struct span *s; (s = above(va)) && s->o.va < end;) {
        if (!take_out(s, va, end)) continue;
        s->next = gone;
        gone = s;
    }
    quiet_unlock(&lock);
    for (struct span *s; (s = gone);) {
        gone = s->next;
        registration_drop_file(s->o.file); /* takes from the heap's locks */
        heap_give(s);
    }
}

CUresult origins_add(struct origin o)
{
    origins_forget(o.va, o.end);
    quiet_lock(&lock);
    bool done = insert(o);
    quiet_unlock(&lock);
    return done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- reading */

/* What lies behind the file's end is zeros. */
static void read_page(int fd, uint64_t offset, uint64_t va)
{
    static char page[PAGE_BYTES];
    uint64_t have = 0, done = 0;
    for (ssize_t n = 1; n && have<sizeof page; have += n> 0 ? (uint64_t)n : 0) {
        n = pread(fd, page + have, sizeof page - have, (off_t)(offset + have));
        if (n < 0 && errno != EINTR) break;
    }
    memset(page + have, 0, sizeof page - have);
    while (done < sizeof page) {
        ssize_t n = pwrite(registrations_descriptor(), page + done, sizeof page - done, (off_t)(va + done));
        if (n < 0 && errno != EINTR) return;
        if (n > 0) done += (uint64_t)n;
    }
}

bool origins_read(uint64_t va, uint64_t size)
{
    quiet_lock(&lock);
    const struct span *s = above(va);
    bool known = s && s->o.va <= va && s->o.end >= va + size && s->o.file;
    for (uint64_t at = 0; known && at < size; at += PAGE_BYTES)
        read_page(s->o.fd, s->o.offset + (va - s->o.va) + at, va + at);
    quiet_unlock(&lock);
    return known;
}
