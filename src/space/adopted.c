/* Pageable memory access: what a kernel touches of the application's ordinary
 * memory is registered there and then, unseen, a piece at a time. Pieces grow
 * while kernels go through memory in order. What the application does to its
 * mappings is noticed before the next kernel. */
#include "space/adopted.h"
#include "context/context.h"
#include "space/registration.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, LEAST = 64 << 10, MOST = 2 << 20, TRIES = 4 };

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
    return registration_shows(r) || strncmp(r->path, "/memfd:faultline", 16) != 0;
}

/* The part of the mapping around va that is adopted with it: aligned, within bounds, and free of other registrations. */
static CUresult extent(uint64_t va, bool write, struct range bounds, struct registration *g)
{
    struct region *list;
    size_t count;
    uint64_t size = va == expected ? step : LEAST, low = va & ~(size - 1), high = low + size;
    CUresult r = regions_of(low, high, &list, &count);
    if (r) return r;
    r = CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < count && r; k++)
        if (va >= list[k].start && va < list[k].end && touchable(&list[k], write)) {
            low = list[k].start > bounds.start ? list[k].start : bounds.start;
            high = list[k].end < bounds.end ? list[k].end : bounds.end;
            g->a.flags = list[k].prot & PROT_WRITE ? 0 : CU_MEMHOSTREGISTER_READ_ONLY;
            r = CUDA_SUCCESS;
        }
    free(list);
    for (struct registration *o = registration_above(low); o && o->va < high && !r; o = registration_next(o)) {
        if (o->va > va)
            high = o->va;
        else
            low = o->end;
    }
    if (r || low >= high) return CUDA_ERROR_INVALID_VALUE;
    step = size < MOST ? size * 2 : MOST;
    expected = high;
    g->va = g->a.base = g->a.mapping_base = low;
    g->end = high;
    g->a.size = g->a.mapping_size = high - low;
    return CUDA_SUCCESS;
}

/* The page is known to devices: a kernel faults there because its device has not caught up, or for good reason. */
static CUresult known(const struct registration *g, uint64_t va, bool write)
{
    for (size_t k = 0; k < g->count; k++)
        if (va >= g->pieces[k].va && va - g->pieces[k].va < g->pieces[k].size)
            return write && (!(g->pieces[k].prot & PROT_WRITE) || g->a.flags & CU_MEMHOSTREGISTER_READ_ONLY)
                       ? CUDA_ERROR_INVALID_VALUE
                       : CUDA_SUCCESS;
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
    if (!r) r = extent(va, write, bounds, g);
    if (!r) r = registration_make_pieces(g);
    if (!r) r = adopted_part(g->va, g->end);
    if (!r) r = registration_insert(g);
    if (r)
        registration_free(g);
    else
        any = true;
    return r;
}

/* Memory around va that comes and goes is left alone in the end. */
static CUresult adopt(uint64_t va, bool write, struct range bounds)
{
    CUresult r = CUDA_ERROR_NOT_READY;
    if (va < LEAST || (va >= PROCESSOR_PRIVATE && va < PROCESSOR_PRIVATE_END)) return CUDA_ERROR_INVALID_VALUE;
    va &= ~(uint64_t)(PAGE - 1);
    pthread_mutex_lock(&registrations_lock);
    struct registration *g = registration_above(va);
    if (g && g->va <= va) r = known(g, va, write);
    for (int tries = 0; tries < TRIES && r == CUDA_ERROR_NOT_READY; tries++) r = adopt_new(va, write, bounds);
    if (r == CUDA_ERROR_NOT_READY) r = adopt_new(va, write, (struct range){ va, va + PAGE });
    pthread_mutex_unlock(&registrations_lock);
    return r;
}

CUresult adopted_add(uint64_t va, bool write) { return adopt(va, write, anywhere); }

/* Not a page more than that: who names a range knows that it stays. */
CUresult adopted_cover(uint64_t va, uint64_t size)
{
    CUresult r = CUDA_SUCCESS;
    struct range all = { va & ~(uint64_t)(PAGE - 1), (va + size + PAGE - 1) & ~(uint64_t)(PAGE - 1) };
    for (uint64_t at = all.start; at < all.end && !(r = adopt(at, false, all));) {
        pthread_mutex_lock(&registrations_lock);
        const struct registration *g = registration_above(at);
        at = g && g->va <= at ? g->end : at + PAGE;
        pthread_mutex_unlock(&registrations_lock);
    }
    return r;
}

/* ---- what the application has changed */

static void (*on_loss)(uint64_t va, uint64_t size);

void adopted_on_loss(void (*lost)(uint64_t va, uint64_t size)) { on_loss = lost; }

static void lose(struct registration *g)
{
    if (on_loss) on_loss(g->va, g->end - g->va);
    registration_drop(g);
}

/* All of g is where it was put, with the access that it had. */
static bool intact(const struct registration *g, const struct region *list, size_t count)
{
    size_t k = 0;
    for (size_t n = 0; n < g->count; n++) {
        const struct piece *p = &g->pieces[n];
        for (uint64_t at = p->va; at < p->va + p->size; at = list[k].end) {
            while (k < count && list[k].end <= at) k++;
            if (k == count || list[k].start > at || list[k].prot != p->prot) return false;
            if (p->file ? registration_shows(&list[k]) : !registration_shows(&list[k])) return false;
        }
    }
    return true;
}

void adopted_review(void)
{
    struct region *list;
    size_t count;
    pthread_mutex_lock(&registrations_lock);
    if (any && !regions_of(0, UINT64_MAX, &list, &count)) {
        part(list, count, 0, UINT64_MAX);
        for (struct registration *g = registration_above(0), *next; g; g = next) {
            next = registration_next(g);
            if (g->adopted && !intact(g, list, count)) lose(g);
        }
        free(list);
    }
    pthread_mutex_unlock(&registrations_lock);
}

bool adopted_touchable(uint64_t va, uint64_t size)
{
    struct region *list;
    size_t count;
    uint64_t at = va, end;
    if (!size || __builtin_add_overflow(va, size, &end) || regions_of(va, end, &list, &count)) return false;
    for (size_t k = 0; k < count && list[k].start <= at && touchable(&list[k], false); k++) at = list[k].end;
    free(list);
    return at >= end;
}
