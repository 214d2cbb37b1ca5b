/* How this process itself reaches registered memory: where it is or, where the
 * program has protected or unmapped it since, in a view of the same pages. A GPU
 * does not notice what becomes of mappings of pages that are pinned. */
#include "base/backing.h"
#include "ordinary/registered.h"
#include "ordinary/registration.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { VIEWS = 64 };

/* Where they are, for those who hold no lock. */
static struct {
    _Atomic uint64_t start, end; /* 0: free */
} views[VIEWS];

bool registration_is_view(uint64_t va)
{
    for (unsigned k = 0; k < VIEWS; k++)
        if (va >= atomic_load(&views[k].start) && va < atomic_load(&views[k].end)) return true;
    return false;
}

static bool may_touch(uint64_t va, uint64_t size, bool write)
{
    return regions_permit(va, va + size, PROT_READ | (write ? PROT_WRITE : 0));
}

static bool fill(const struct registration *g, char *at)
{
    for (size_t k = 0; k < g->count; k++) {
        const struct piece *p = &g->pieces[k];
        if (mmap(at + (p->va - g->va), p->size, p->prot & (PROT_READ | PROT_WRITE), MAP_SHARED | MAP_FIXED,
                 registration_backing(p)->fd, (off_t)(p->file ? p->offset : p->va)) == MAP_FAILED)
            return false;
    }
    backing_hide(at, g->end - g->va);
    return true;
}

static char *view_of(struct registration *g)
{
    const uint64_t size = g->end - g->va;
    unsigned k = 0;
    while (k < VIEWS && atomic_load(&views[k].end)) k++;
    if (g->view || k == VIEWS) return g->view;
    char *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return NULL;
    atomic_store(&views[k].start, (uint64_t)at);
    atomic_store(&views[k].end, (uint64_t)at + size);
    g->view = at;
    if (fill(g, at)) return at;
    registration_drop_view(g);
    return NULL;
}

void registration_drop_view(struct registration *g)
{
    if (!g->view) return;
    for (unsigned k = 0; k < VIEWS; k++)
        if (atomic_load(&views[k].start) == (uint64_t)g->view) atomic_store(&views[k].end, 0);
    space_unmap_view(g->view, g->end - g->va);
    g->view = NULL;
}

void *registered_reach(uint64_t va, uint64_t size, bool write)
{
    const int error = errno;
    char *at = (char *)va;
    if (!may_touch(va, size, write)) {
        pthread_mutex_lock(&registrations_lock); /* what is being replaced may not be touched for a moment */
        struct registration *g = registration_above(va);
        while (g && g->a.base + g->a.size <= va) g = registration_next(g); /* that has bytes of the same page */
        if (!g || g->adopted || g->a.base > va || g->end < va + size) {
            at = NULL;
        } else if (!may_touch(va, size, write)) {
            at = view_of(g);
            if (at) at += va - g->va;
            if (at && !may_touch((uint64_t)at, size, write)) at = NULL;
        }
        pthread_mutex_unlock(&registrations_lock);
    }
    errno = error;
    return at;
}
