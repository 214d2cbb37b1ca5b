/* The pools that locations have: each one from the start, and one, that or
 * another, that allocations there come from. */
#include "context/context.h"
#include "mempool/internal.h"

/* By location: the devices, memory without a location, the host, its node. */
enum { AT_NONE = MAX_DEVICES, AT_HOST, AT_NODE, PLACES };
struct standard {
    _Atomic(struct mempool *) first, current; /* read without a lock, too */
};
static struct standard standards[2][PLACES];

/* Which of the standard pools a location means. Observed on H200: pinned memory needs a place, managed does not. */
CUresult mempool_place(CUmemLocation l, CUmemAllocationType type, unsigned *place)
{
    bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED && !managed) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)l.type) {
    case CU_MEM_LOCATION_TYPE_INVALID: *place = AT_NONE; return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_DEVICE:
        *place = (unsigned)l.id;
        return l.id < 0 || l.id >= device_count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST: *place = AT_HOST; return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: *place = AT_NODE; return l.id ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *place = AT_NODE;
        return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default: /* those of later headers, too */
        return managed && l.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    }
}

/* A device's managed memory comes from its first pool of pinned memory then (observed on H200). */
void location_forget(struct mempool *p)
{
    for (unsigned t = 0; t < 2; t++)
        for (unsigned k = 0; k < PLACES; k++)
            if (standards[t][k].current == p) standards[t][k].current = standards[k < AT_NONE ? 0 : t][k].first;
}

/* ---- the pools of locations */

/* With the list's lock. */
static CUresult standard(CUmemLocation l, CUmemAllocationType type, struct standard **out)
{
    unsigned place;
    if ((unsigned)l.type >= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult r = mempool_place(l, type, &place);
    if (r) return r;
    struct standard *s = &standards[type == CU_MEM_ALLOCATION_TYPE_MANAGED][place];
    if (!s->first) {
        struct mempool *p;
        CUmemPoolProps props = { .allocType = type, .location = l };
        if ((r = mempool_make(&props, &p))) return r;
        p->is_default = true;
        mempool_enter(p);
        s->first = p;
    }
    if (!s->current) s->current = s->first;
    *out = s;
    return r;
}

/* What exists is found without the lock, which others may hold while devices unmap. */
static struct mempool *known(CUmemLocation l, CUmemAllocationType type, bool current)
{
    unsigned place;
    if (l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT || mempool_place(l, type, &place)) return NULL;
    struct standard *s = &standards[type == CU_MEM_ALLOCATION_TYPE_MANAGED][place];
    return current ? s->current : s->first;
}

static CUresult find(CUmemLocation l, CUmemAllocationType type, bool current, struct mempool **out)
{
    struct standard *s;
    if ((*out = known(l, type, current))) return CUDA_SUCCESS;
    pthread_mutex_lock(&mempools_lock);
    CUresult r = standard(l, type, &s);
    if (!r) *out = current ? s->current : s->first;
    pthread_mutex_unlock(&mempools_lock);
    return r;
}

CUresult mempool_default(CUmemLocation l, CUmemAllocationType type, struct mempool **out)
{
    return find(l, type, false, out);
}

CUresult mempool_alloc_current(CUmemLocation l, CUmemAllocationType type, uint64_t size, struct stream *s, CUdeviceptr *out)
{
    struct mempool *p = NULL;
    CUresult r;
    do {
        r = mempool_current(l, type, &p);
        if (!r) r = mempool_alloc(p, size, s, out);
    } while (r == CUDA_ERROR_INVALID_VALUE && p && known(l, type, true) != p); /* it was destroyed meanwhile */
    return r;
}

CUresult mempool_current(CUmemLocation l, CUmemAllocationType type, struct mempool **out)
{
    return find(l, type, true, out);
}

CUresult mempool_set_current(CUmemLocation l, CUmemAllocationType type, struct mempool *p)
{
    struct standard *s;
    unsigned mine = PLACES, asked = PLACES;
    pthread_mutex_lock(&mempools_lock);
    CUresult r = standard(l, type, &s);
    if (!r && (p->type != type || p->imported || !atomic_load(&p->valid) ||
               mempool_place(p->location, p->type, &mine) || mempool_place(l, type, &asked) || mine != asked))
        r = CUDA_ERROR_INVALID_VALUE;
    if (!r) s->current = p;
    pthread_mutex_unlock(&mempools_lock);
    return r;
}

CUresult mempool_set_device(int ordinal, struct mempool *p)
{
    const CUmemLocation l = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal };
    return mempool_set_current(l, p->type, p);
}
