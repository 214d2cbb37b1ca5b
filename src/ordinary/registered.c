/* Registered host memory; see registered.h. One lock guards the list; it is
 * taken before the space's. What lies behind the pages is registration_pages.c's. */
#include "ordinary/registered.h"
#include "base/tree.h"
#include "base/units.h"
#include "context/context.h"
#include "processor/mmu.h"
#include "ordinary/given.h"
#include "ordinary/origins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

RB_HEAD(registrations, registration);

static int by_base(struct registration *x, struct registration *y)
{
    return x->a.base < y->a.base ? -1 : x->a.base > y->a.base;
}
TREE_FUNCTIONS(registrations, registration, link, by_base)

pthread_mutex_t registrations_lock = PTHREAD_MUTEX_INITIALIZER;
static struct registrations all = RB_INITIALIZER(&all);
/* ---- devices */

static CUresult map_piece(struct device *d, const struct registration *g, const struct piece *p)
{
    bool writes = p->prot & PROT_WRITE && !(g->a.flags & CU_MEMHOSTREGISTER_READ_ONLY);
    CUresult r = processor_map(d->processor, p->va, p->size, registration_backing(p), p->file ? p->offset : p->va,
                               PROT_DEVICE_READ | (writes ? PROT_DEVICE_WRITE : 0) | PROT_DEVICE_KEEP |
                                   (g->moves ? PROT_DEVICE_WATCHED : 0));
    if (!r && g->moves) mmu_ordinary_mapped(1 + (unsigned)d->ordinal);
    return r;
}

struct piece piece_within(const struct piece *p, uint64_t from, uint64_t to)
{
    struct piece part = *p;
    if (from > p->va) {
        part.va = from;
        part.offset += from - p->va;
    }
    if (to > p->va + p->size) to = p->va + p->size;
    part.size = to > part.va ? to - part.va : 0;
    return part;
}

/* The pages of p without those that the neighbours below and above have too. They
 * can only have the first and the last of g, because bytes are registered once. */
static struct piece own_part(const struct registration *g, const struct piece *p, const struct registration *below,
                             const struct registration *above)
{
    bool first = (below && below->end > g->va) || (above && above->va == g->va), last = above && above->va < g->end;
    return piece_within(p, g->va + (first ? PAGE_BYTES : 0), g->end - (last ? PAGE_BYTES : 0));
}

/* g is in the tree. */
static struct piece alone(struct registration *g, size_t k)
{
    return own_part(g, &g->pieces[k], RB_PREV(registrations, &all, g), RB_NEXT(registrations, &all, g));
}

static CUresult map_own(struct device *d, struct registration *g)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < g->count && !r; k++) {
        struct piece own = alone(g, k);
        if (own.size) r = map_piece(d, g, &own);
    }
    return r;
}

/* ---- registering */

bool registration_special(const struct region *r)
{
    struct stat s;
    if (!strncmp(r->path, "[v", 2)) return true;
    return r->path[0] == '/' && !stat(r->path, &s) && s.st_ino == r->inode &&
           (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode));
}

/* Not so behind the end of a file. Kernels that cannot tell (before Linux 5.14) say EINVAL. */
static bool readable(const struct region *r)
{
    return !madvise((void *)r->start, r->end - r->start, MADV_POPULATE_READ) || errno == EINVAL;
}

/* One piece for each mapping; checks what may be registered. */
CUresult registration_make_pieces(struct registration *g)
{
    struct region *list;
    size_t count;
    int need = g->a.flags & CU_MEMHOSTREGISTER_READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE;
    CUresult r = regions_of(g->va, g->end, &list, &count);
    if (r) return r;
    uint64_t at = g->va;
    g->pieces = calloc(count ? count : 1, sizeof *g->pieces);
    if (!g->pieces) r = CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t k = 0; k < count && !r; k++) {
        struct region *m = &list[k];
        struct piece *p = &g->pieces[g->count];
        if (m->start != at || (m->prot & need) != need || registration_special(m) || (!g->moves && !readable(m)))
            r = CUDA_ERROR_INVALID_VALUE;
        else if (!strncmp(m->path, "/anon_hugepage", 14))
            r = CUDA_ERROR_NOT_SUPPORTED;
        if (r) break;
        *p = (struct piece){ .va = m->start, .size = m->end - m->start, .prot = m->prot, .offset = m->offset };
        p->here = registration_in_place(m);
        p->main_stack = !strcmp(m->path, "[stack]");
        if (m->shared && !p->here) r = registration_use_file(m, &p->file);
        if (!m->shared && m->path[0] == '/') registration_use_file(m, &p->origin);
        if (!r) g->count++;
        at = m->end;
    }
    if (!r && at != g->end) r = CUDA_ERROR_INVALID_VALUE;
    free(list);
    return r;
}

void registration_free(struct registration *g)
{
    for (size_t k = 0; k < g->count; k++) {
        registration_drop_file(g->pieces[k].file);
        registration_drop_file(g->pieces[k].origin);
    }
    free(g->pieces);
    free(g);
}

/* Devices do not see these pages any more, which are ordinary again, unless another registration needs them. */
static void make_ordinary(struct registration *g, uint64_t from, uint64_t to)
{
    for (size_t k = 0; k < g->count; k++) {
        struct piece own = alone(g, k);
        own = piece_within(&own, from, to);
        if (!own.size) continue;
        for (int d = 0; d < device_count; d++)
            if (devices[d].processor) processor_unmap(devices[d].processor, own.va, own.size);
        if (!own.file) registration_unshare(own.va, own.va + own.size);
    }
}

/* Under the lock. */
CUresult registration_insert(struct registration *g)
{
    CUresult r = registrations_watch_forks();
    if (r) return r;
    RB_INSERT(registrations, &all, g);
    for (size_t k = 0; k < g->count && !r; k++)
        if (!g->pieces[k].file && !g->pieces[k].here)
            r = (g->moves ? registration_share_thinly : registration_share)(&g->pieces[k]);
    if (!r && g->watched && !mmu_ordinary_add(g->va, g->end - g->va)) r = CUDA_ERROR_NOT_READY;
    if (!r && g->watched) r = origins_add((struct origin){ .va = g->va, .end = g->end, .fd = -1 });
    for (int d = 0; d < device_count && !r; d++)
        if (devices[d].processor) r = map_own(&devices[d], g);
    if (!r && !g->adopted) r = space_publish(&g->a);
    if (!r) return r;
    if (g->watched) mmu_ordinary_remove(g->va, g->end - g->va);
    make_ordinary(g, g->va, g->end);
    RB_REMOVE(registrations, &all, g);
    return r;
}

struct registration *registration_above(uint64_t va)
{
    struct registration key = { .a.base = va }, *g = RB_NFIND(registrations, &all, &key),
                        *below = g ? RB_PREV(registrations, &all, g) : RB_MAX(registrations, &all);
    return below && below->end > va ? below : g;
}

struct registration *registration_next(struct registration *g) { return RB_NEXT(registrations, &all, g); }

/* Under the lock. */
void registration_drop(struct registration *g)
{
    if (!g->adopted) space_withdraw(&g->a);
    registration_drop_view(g);
    if (g->watched) adopted_leaves(g, g->va, g->end);
    make_ordinary(g, g->va, g->end);
    RB_REMOVE(registrations, &all, g);
    registration_free(g);
}

/* The same pages, as they are. */
static struct registration *part_of(const struct registration *g, uint64_t va, uint64_t end)
{
    struct registration *part = calloc(1, sizeof *part);
    struct piece *pieces = calloc(g->count, sizeof *pieces);
    if (!part || !pieces) {
        free(part);
        free(pieces);
        return NULL;
    }
    *part = *g;
    registration_place(part, va, end);
    part->pieces = pieces;
    part->count = 0;
    for (size_t k = 0; k < g->count; k++) {
        struct piece p = piece_within(&g->pieces[k], va, end);
        if (!p.size) continue;
        registration_keep_file(p.file);
        registration_keep_file(p.origin);
        pieces[part->count++] = p;
    }
    return part;
}

void registration_cut(struct registration *g, uint64_t from, uint64_t to)
{
    struct registration *rest[2] = { NULL, NULL };
    bool fails = (g->va < from && !(rest[0] = part_of(g, g->va, from))) ||
                 (to < g->end && !(rest[1] = part_of(g, to, g->end))) ||
                 (g->watched && adopted_leaves(g, from, to));
    if (fails) {
        registration_drop(g);
    } else {
        make_ordinary(g, from, to);
        RB_REMOVE(registrations, &all, g);
        registration_free(g);
    }
    for (int k = 0; k < 2; k++) {
        if (rest[k] && fails) registration_free(rest[k]);
        if (rest[k] && !fails) RB_INSERT(registrations, &all, rest[k]);
    }
}

/* What kernels have touched there is registered by name now. */
static void cut_adopted(uint64_t va, uint64_t end)
{
    for (struct registration *g; va < end && (g = registration_above(va)) && g->va < end;) {
        uint64_t from = g->va > va ? g->va : va, to = g->end < end ? g->end : end;
        if (g->adopted) registration_cut(g, from, to);
        va = to;
    }
}

/* What the range touches already. */
static CUresult collision(uint64_t va, uint64_t size)
{
    struct allocation found;
    if (!space_first(va, size, &found)) return CUDA_SUCCESS;
    return found.kind == ALLOCATION_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_ERROR_INVALID_VALUE;
}

CUresult registered_add(struct context *c, uint64_t va, uint64_t size, unsigned flags)
{
    uint64_t end;
    if (!va || !size || __builtin_add_overflow(va, size, &end)) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&registrations_lock);
    CUresult r = collision(va, size);
    pthread_mutex_unlock(&registrations_lock);
    if (r) return r;
    if (size > c->device->profile->host_memory) return CUDA_ERROR_OUT_OF_MEMORY; /* wherever it would end */
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY) return CUDA_ERROR_INVALID_VALUE;    /* no machine here has such */
    if (va >> 63) return CUDA_ERROR_NOT_SUPPORTED;                               /* the kernel's (observed on H200) */
    if (end > REGISTRATION_END) return CUDA_ERROR_INVALID_VALUE;
    if (end > PROCESSOR_PRIVATE && va < PROCESSOR_PRIVATE_END) return CUDA_ERROR_NOT_SUPPORTED;
    struct registration *g = calloc(1, sizeof *g);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    g->va = page_down(va);
    g->end = page_up(end);
    g->a = (struct allocation){ .base = va,
                                .size = size,
                                .kind = ALLOCATION_REGISTERED,
                                .context = c,
                                .flags = flags,
                                .mapping_base = g->va,
                                .mapping_size = g->end - g->va,
                                .owner = &registered_owner };
    given_lead();
    pthread_mutex_lock(&registrations_lock);
    r = collision(va, size);
    if (!r) r = registrations_open();
    if (!r) cut_adopted(g->va, g->end);
    if (!r) r = registration_make_pieces(g);
    if (!r) r = adopted_part(g->va, g->end);
    if (!r) r = registration_insert(g);
    if (r) registration_free(g);
    pthread_mutex_unlock(&registrations_lock);
    return r;
}

CUresult registered_remove(uint64_t va)
{
    struct allocation a;
    CUresult r = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    pthread_mutex_lock(&registrations_lock);
    struct registration key = { .a.base = va }, *g = RB_FIND(registrations, &all, &key);
    if (g && !g->adopted) {
        registration_drop(g);
        r = CUDA_SUCCESS;
    } else if (space_look(va, &a)) {
        r = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&registrations_lock);
    return r;
}

void registrations_clear(void) { RB_INIT(&all); }

/* ---- as the space's owner */

static CUresult attach(struct device *d)
{
    struct registration *g;
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&registrations_lock);
    RB_FOREACH(g, registrations, &all)
    for (size_t k = 0; k < g->count && !r; k++) {
        /* a page that several have is mapped with the first */
        struct piece own = own_part(g, &g->pieces[k], RB_PREV(registrations, &all, g), NULL);
        if (own.size) r = map_piece(d, g, &own);
    }
    pthread_mutex_unlock(&registrations_lock);
    return r;
}

static void release_context(struct context *c)
{
    struct registration *g, *next;
    pthread_mutex_lock(&registrations_lock);
    RB_FOREACH_SAFE(g, registrations, &all, next)
    if (g->a.context == c) registration_drop(g);
    pthread_mutex_unlock(&registrations_lock);
}

static unsigned may_access(const struct allocation *a, const struct device *d)
{
    (void)d;
    return PROT_DEVICE_READ | (a->flags & CU_MEMHOSTREGISTER_READ_ONLY ? 0 : PROT_DEVICE_WRITE);
}

const struct space_owner registered_owner = { .attach = attach,
                                              .release_context = release_context,
                                              .access = may_access };
