/* Pageable memory access: what a kernel touches of the application's ordinary
 * memory is registered there and then, unseen, a piece at a time. Pieces grow
 * while kernels go through memory in order. What the application does to its
 * mappings is noticed before the next kernel. */
#include "ordinary/adopted.h"
#include "base/backing.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/units.h"
#include "context/context.h"
#include "processor/mmu.h"
#include "ordinary/movable.h"
#include "ordinary/given.h"
#include "ordinary/mappings.h"
#include "ordinary/origins.h"
#include "ordinary/signal_stack.h"
#include "ordinary/standstill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LEAST = 64 << 10, MOST = 2 << 20, TRIES = 4 };

static uint64_t expected, step = LEAST; /* where the next fault would be in order; bytes then */
static bool any;                        /* something was adopted; all under the lock */

struct range {
    uint64_t start, end;
};
static const struct range anywhere = { 0, UINT64_MAX };

/* A kernel may touch what the program itself may, of its own memory. */
static bool touchable(const struct region *r, bool write)
{
    int need = write ? PROT_READ | PROT_WRITE : PROT_READ;
    if ((r->prot & need) != need || registration_special(r)) return false;
    return registration_shows(r) || !backing_shows(r->device, r->path);
}

/* ---- pages that move */

static const struct adopted_client *client;
static bool may_move;       /* as adopted_begin said; */
static bool watches, moves; /* and what this system can do, once that is known */

static void stop_watching(uint64_t va, uint64_t end)
{
    origins_forget(va, end);
    mmu_ordinary_remove(va, end - va);
}

/* When the program ends, a leak checker stops all threads and reads the whole heap: nobody could serve its faults. */
static void watch_no_more(void)
{
    struct timespec latest;
    clock_gettime(CLOCK_REALTIME, &latest);
    latest.tv_sec++;
    if (pthread_mutex_timedlock(&registrations_lock, &latest)) return; /* this thread's own, perhaps */
    watches = moves = false;
    for (struct registration *g = registration_above(0); g; g = registration_next(g))
        if (g->watched) stop_watching(g->va, g->end);
    pthread_mutex_unlock(&registrations_lock);
}

static void find_out_what_can_be_done(void)
{
    static bool known;
    if (known) return;
    known = true;
    watches = mmu_ordinary_init(registrations_backing(), client->gone);
    moves = watches && may_move;
    if (watches)
        atexit(watch_no_more);
    else
        fl_log(
            FL_LOG_WARN,
            "ordinary memory does not migrate: it would take a userfaultfd that serves system calls, and mremap with "
            "MREMAP_DONTUNMAP (Linux 5.14)");
}

CUresult adopted_leaves(const struct registration *g, uint64_t va, uint64_t end)
{
    CUresult r = g->moves ? client->leaves(va, end) : CUDA_SUCCESS;
    stop_watching(va, end);
    return r;
}

/* ---- what is adopted together */

/* What devices reach where it is: aligned pieces, which grow while kernels go through memory in order. */
static void extent_in_place(uint64_t va, uint64_t *low, uint64_t *high)
{
    uint64_t size = va == expected ? step : LEAST, first = va & ~(size - 1);
    if (first > *low) *low = first;
    if (first + size < *high) *high = first + size;
    step = size < MOST ? size * 2 : MOST;
    expected = *high;
}

void registration_place(struct registration *g, uint64_t va, uint64_t end)
{
    g->va = g->a.base = g->a.mapping_base = va;
    g->end = end;
    g->a.size = g->a.mapping_size = end - va;
}

/* The part of the mapping around va that is adopted with it: within bounds, and free of other registrations. Of
 * memory that moves it is all in the same 2 MiB, unless one page alone is asked for. */
static CUresult extent(uint64_t va, bool write, struct range bounds, struct registration *g)
{
    struct region *list;
    size_t count, at = 0;
    bool one = bounds.end - bounds.start == PAGE_BYTES;
    uint64_t low = va & ~(uint64_t)(MOST - 1), high = low + MOST, reach = movable_reach();
    CUresult r = regions_of(low > reach ? low - reach : 0, high, &list, &count);
    if (r) return r;
    while (at < count && list[at].end <= va) at++;
    if (at == count || va < list[at].start || !touchable(&list[at], write)) {
        free(list);
        return CUDA_ERROR_INVALID_VALUE;
    }
    g->watched = watches && movable_page(list, at, va, &low, &high) && region_bounds(va, &g->mapping, &g->mapping_end);
    g->moves = g->watched && moves;
    if (list[at].start > low) low = list[at].start;
    if (list[at].end < high) high = list[at].end;
    if (!g->moves || one) {
        if (bounds.start > low) low = bounds.start;
        if (bounds.end < high) high = bounds.end;
    }
    if (!g->moves) extent_in_place(va, &low, &high);
    g->a.flags = list[at].prot & PROT_WRITE ? 0 : CU_MEMHOSTREGISTER_READ_ONLY;
    free(list);
    for (struct registration *o = registration_above(low); o && o->va < high; o = registration_next(o)) {
        if (o->va > va)
            high = o->va;
        else
            low = o->end;
    }
    if (low >= high) return CUDA_ERROR_INVALID_VALUE;
    registration_place(g, low, high);
    return CUDA_SUCCESS;
}

/* The page is known to devices: a kernel faults there because its device has not caught up, or for good reason.
 * missing: it is mapped, but there is nothing; a file has become shorter. */
static CUresult known(const struct registration *g, uint64_t va, bool write, bool missing)
{
    for (size_t k = 0; k < g->count; k++) {
        const struct piece *p = &g->pieces[k];
        if (va < p->va || va - p->va >= p->size) continue;
        bool writes = p->prot & PROT_WRITE && !(g->a.flags & CU_MEMHOSTREGISTER_READ_ONLY);
        return (missing && p->file) || (write && !writes) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Pages that the application has moved away hold what comes to their old place next: in both places at once. */
static CUresult part(const struct region *list, size_t count, uint64_t start, uint64_t end)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < count; k++)
        if (list[k].offset != list[k].start && list[k].prot & PROT_READ &&
            registration_shows_of(&list[k], start, end) && !registration_rescue(&list[k]))
            r = CUDA_ERROR_NOT_READY;
    return r;
}

CUresult adopted_part(uint64_t start, uint64_t end)
{
    struct region *list;
    size_t count;
    if (!any) return CUDA_SUCCESS;
    CUresult r = regions_of(0, UINT64_MAX, &list, &count);
    if (r) return r;
    r = part(list, count, start, end);
    free(list);
    return r;
}

static CUresult adopt_new(uint64_t va, bool write, struct range bounds)
{
    struct registration *g = calloc(1, sizeof *g);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    g->adopted = true;
    g->a.kind = ALLOCATION_REGISTERED;
    CUresult r = registrations_open();
    if (!r) find_out_what_can_be_done();
    if (!r) r = extent(va, write, bounds, g);
    /* what cannot be adopted any more has changed since that looked */
    if (!r && (r = registration_make_pieces(g)) == CUDA_ERROR_INVALID_VALUE) r = CUDA_ERROR_NOT_READY;
    if (!r) r = adopted_part(g->va, g->end);
    if (!r) r = registration_insert(g);
    if (r) {
        registration_free(g);
        return r;
    }
    any = true;
    if (g->moves && (r = client->comes(g->va, g->end, g->mapping, g->mapping_end))) registration_drop(g);
    return r;
}

/* Memory around va that comes and goes, or cannot be had, is left alone in the end: va's own page is what counts. */
static CUresult adopt_some(uint64_t va, bool write, struct range bounds)
{
    CUresult r = CUDA_ERROR_NOT_READY;
    for (int tries = 0; tries < TRIES && r == CUDA_ERROR_NOT_READY; tries++) r = adopt_new(va, write, bounds);
    return r ? adopt_new(va, write, (struct range){ va, va + PAGE_BYTES }) : r;
}

static CUresult adopt(uint64_t va, bool write, bool missing, struct range bounds, bool *moving)
{
    if (va < LEAST || (va >= PROCESSOR_PRIVATE && va < PROCESSOR_PRIVATE_END)) return CUDA_ERROR_INVALID_VALUE;
    va = page_down(va);
    pthread_mutex_lock(&registrations_lock);
    struct registration *g = registration_above(va);
    CUresult r = g && g->va <= va ? known(g, va, write, missing) : adopt_some(va, write, bounds);
    g = registration_above(va);
    *moving = g && g->va <= va && g->moves;
    pthread_mutex_unlock(&registrations_lock);
    return r;
}

CUresult adopted_add(uint64_t va, bool write, bool missing, bool *moving)
{
    return adopt(va, write, missing, anywhere, moving);
}

/* Not a page more than that: who names a range knows that it stays. */
CUresult adopted_cover(uint64_t va, uint64_t size)
{
    CUresult r = CUDA_SUCCESS;
    bool moving;
    struct range all = { page_down(va), page_up(va + size) };
    for (uint64_t at = all.start; at < all.end && !(r = adopt(at, false, false, all, &moving));) {
        pthread_mutex_lock(&registrations_lock);
        const struct registration *g = registration_above(at);
        at = g && g->va <= at ? g->end : at + PAGE_BYTES;
        pthread_mutex_unlock(&registrations_lock);
    }
    return r;
}

/* ---- what the application has changed */

void adopted_begin(const struct adopted_client *c, bool pages_move)
{
    client = c;
    may_move = pages_move;
    given_lead();
    mappings_lead_moves();
    standstill_prepare(); /* later, who adopts may hold a lock for which another thread waits */
}

enum state { INTACT, CHANGED, LOST };

/* How far a look at everything has come. */
struct look {
    const struct region *list;
    size_t count, k;
};

/* LOST: the page of p's at `at` is not where it was put; CHANGED: it has not the access that it had. So are all up to *end. */
static enum state look_at(struct look *l, const struct piece *p, uint64_t at, uint64_t *end)
{
    while (l->k < l->count && l->list[l->k].end <= at) l->k++;
    const struct region *r = l->k < l->count ? &l->list[l->k] : NULL;
    bool there = r && r->start <= at;
    *end = p->va + p->size;
    if (r && (there ? r->end : r->start) < *end) *end = there ? r->end : r->start;
    if (!there || !(p->file ? registration_shows_file(r, p) : registration_in_place(r))) return LOST;
    return r->prot == p->prot ? INTACT : CHANGED;
}

/* The first part of g from `at` on that is not intact, all of it in the same state. */
static enum state look_for(struct look *l, const struct registration *g, uint64_t at, struct range *found)
{
    enum state s = INTACT;
    for (size_t k = 0; k < g->count; k++) {
        const struct piece p = piece_within(&g->pieces[k], at, g->end);
        for (uint64_t from = p.va, to; from < p.va + p.size; from = to) {
            enum state now = look_at(l, &p, from, &to);
            if (s != INTACT && now != s) return s;
            if (s == INTACT) found->start = from;
            found->end = to;
            s = now;
        }
    }
    return s;
}

/* With all that is mapped around it, without holes. */
static void tell_of_the_rest(const struct region *list, size_t count)
{
    struct range run = { 0, 0 };
    size_t k = 0;
    for (struct registration *g = registration_above(0); g; g = registration_next(g)) {
        while (run.end <= g->va && k < count) {
            run.start = list[k].start;
            do run.end = list[k++].end;
            while (k < count && list[k].start == run.end);
        }
        if (g->moves && g->va >= run.start && g->va < run.end) client->remains(g->va, run.start, run.end);
    }
}

static void review(struct look *l)
{
    struct registration *g;
    bool lost = false;
    for (uint64_t at = 0; (g = registration_above(at));) {
        struct range part = { g->va, g->end };
        enum state s = g->adopted ? look_for(l, g, at, &part) : INTACT;
        at = s == INTACT ? g->end : part.end;
        if (s == LOST && client->lost(part.start, part.end)) part = (struct range){ g->va, at = g->end };
        if (s != INTACT) registration_cut(g, part.start, part.end);
        lost |= s == LOST;
    }
    if (lost) tell_of_the_rest(l->list, l->count);
}

void adopted_review(void)
{
    struct region *list;
    size_t count;
    signal_stack_give();
    given_lead();
    mappings_lead_moves();
    pthread_mutex_lock(&registrations_lock);
    if (any && !regions_of(0, UINT64_MAX, &list, &count)) {
        part(list, count, 0, UINT64_MAX);
        review(&(struct look){ list, count, 0 });
        free(list);
    }
    pthread_mutex_unlock(&registrations_lock);
}

void adopted_move(uint64_t va, uint64_t end, void (*move)(void *arg), void *arg)
{
    if (!client) {
        move(arg);
        return;
    }
    const int before = errno, cancel = cancel_defer();
    pthread_mutex_lock(&registrations_lock);
    for (struct registration *g; va < end && (g = registration_above(va)) && g->va < end;) {
        uint64_t from = g->va > va ? g->va : va, to = g->end < end ? g->end : end;
        if (g->watched) registration_cut(g, from, to);
        va = to;
    }
    errno = before;
    move(arg);
    const int error = errno;
    pthread_mutex_unlock(&registrations_lock);
    cancel_restore(cancel);
    errno = error;
}

bool adopted_touchable(uint64_t va, uint64_t size, bool write)
{
    struct region *list;
    size_t count;
    uint64_t at = va, end;
    if (!size || __builtin_add_overflow(va, size, &end)) return false;
    pthread_mutex_lock(&registrations_lock); /* what is being replaced seems to be missing for a moment */
    if (!regions_of(va, end, &list, &count)) {
        for (size_t k = 0; k < count && list[k].start <= at && touchable(&list[k], write); k++) at = list[k].end;
        free(list);
    }
    pthread_mutex_unlock(&registrations_lock);
    return at >= end;
}

bool adopted_unmapped(uint64_t va, uint64_t end, uint64_t *from, uint64_t *to)
{
    struct region *list;
    size_t count, k = 0;
    if (va >= end) return false;
    pthread_mutex_lock(&registrations_lock); /* as above */
    CUresult r = regions_of(va, end, &list, &count);
    pthread_mutex_unlock(&registrations_lock);
    if (r) return false;
    for (*from = va; k < count && list[k].start <= *from; k++) *from = list[k].end;
    *to = k < count ? list[k].start : end;
    free(list);
    return *from < end;
}
