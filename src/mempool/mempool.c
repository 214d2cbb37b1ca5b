/* Pools: which there are, what can be asked of them and set. Which ones a
 * location has is location.c's affair, who may touch their memory access.c's,
 * lending it alloc.c's. */
#include "mempool/internal.h"

#include <string.h>

static void construct(void *object) { pthread_mutex_init(&((struct mempool *)object)->lock, NULL); }

static struct objects pools = OBJECTS_INIT(struct mempool, construct);
pthread_mutex_t mempools_lock = PTHREAD_MUTEX_INITIALIZER;
struct mempool *mempools;

/* ---- life */

struct mempool *mempool_new(void)
{
    struct mempool *p = object_take(&pools);
    if (!p) return NULL;
    struct block *spare = p->spare; /* what stays with the object: its lock and its blocks */
    memset((char *)p + offsetof(struct mempool, in_use), 0,
           offsetof(struct mempool, lock) - offsetof(struct mempool, in_use));
    memset(&p->follow, 0, sizeof *p - offsetof(struct mempool, follow));
    p->spare = spare;
    p->follow = p->opportunistic = p->internal = 1;
    return p;
}

void mempool_enter(struct mempool *p)
{
    p->in_use = true;
    p->next = mempools;
    mempools = p;
    atomic_store(&p->valid, true);
}

void mempool_discard(struct mempool *p)
{
    share_free(p);
    object_give(&pools, p);
}

bool mempool_finished(const struct mempool *p) { return !atomic_load(&p->valid) && !p->lent; }

void mempool_finish(struct mempool *p)
{
    pthread_mutex_lock(&mempools_lock);
    pthread_mutex_lock(&p->lock);
    bool gone = p->in_use && mempool_finished(p) && (chunks_release(p, 0), !p->chunks);
    if (gone) {
        p->in_use = false;
        for (struct mempool **at = &mempools; *at; at = &(*at)->next)
            if (*at == p) {
                *at = p->next;
                break;
            }
    }
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_unlock(&mempools_lock);
    if (gone) mempool_discard(p);
}

CUresult mempool_get(CUmemoryPool handle, struct mempool **out)
{
    struct mempool *p = (struct mempool *)handle;
    if (!objects_hold(&pools, p) || !atomic_load_explicit(&p->valid, memory_order_acquire))
        return CUDA_ERROR_INVALID_VALUE;
    *out = p;
    return CUDA_SUCCESS;
}

/* ---- making them */

/* Of the host's memory only a node's can be exported (observed on H200). */
static CUresult check_handles(const CUmemPoolProps *props)
{
    if (props->handleTypes && props->location.type == CU_MEM_LOCATION_TYPE_HOST) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)props->handleTypes) {
    case CU_MEM_HANDLE_TYPE_NONE: return CUDA_SUCCESS;
    case CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
    case CU_MEM_HANDLE_TYPE_FABRIC: /* of which none can be exported: there is no fabric */
    case CU_MEM_HANDLE_TYPE_FABRIC | CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* The device itself may use its pool; the host's memory is for the host until somebody says otherwise. */
static void set_location(struct mempool *p, CUmemLocation l)
{
    if (l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) l = (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST_NUMA, 0 };
    p->location = l;
    if (p->type == CU_MEM_ALLOCATION_TYPE_PINNED && l.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        p->device = &devices[l.id];
        p->access[l.id] = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
    } else if (p->type == CU_MEM_ALLOCATION_TYPE_PINNED)
        p->host_access = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
}

CUresult mempool_make(const CUmemPoolProps *props, struct mempool **out)
{
    struct mempool *p = mempool_new();
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = CUDA_SUCCESS;
    p->type = props->allocType;
    p->handle_types = props->handleTypes;
    p->limit = props->maxSize ? round_up(props->maxSize, MEMPOOL_MAPPING) : UINT64_MAX;
    set_location(p, props->location);
    if (props->handleTypes) r = share_new(p);
    if (r)
        mempool_discard(p);
    else
        *out = p;
    return r;
}

CUresult mempool_create(const CUmemPoolProps *props, struct mempool **out)
{
    unsigned place;
    CUresult r = check_handles(props);
    if (r) return r;
    /* observed on H200: any usage is accepted, but for managed pools, which have no largest size either */
    if (props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED && (props->maxSize || props->usage)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < sizeof props->reserved; k++)
        if (props->reserved[k]) return CUDA_ERROR_INVALID_VALUE;
    if ((r = mempool_place(props->location, props->allocType, &place))) return r;
    if (props->maxSize >= MEMPOOL_TOO_LARGE) return CUDA_ERROR_OUT_OF_MEMORY;
    if ((r = mempool_make(props, out))) return r;
    pthread_mutex_lock(&mempools_lock);
    mempool_enter(*out);
    pthread_mutex_unlock(&mempools_lock);
    return r;
}

CUdevice mempool_ordinal(const struct mempool *p)
{
    return p->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? device_name(&devices[p->location.id]) : 0;
}

void mempool_describe(const struct mempool *p, CUmemPoolProps *props)
{
    *props = (CUmemPoolProps){ .allocType = p->type, .handleTypes = p->handle_types, .location = p->location };
}

CUresult mempool_destroy(struct mempool *p)
{
    if (p->is_default) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&mempools_lock);
    if (atomic_load(&p->valid) && p->imported && (p->lent || --p->imports)) {
        CUresult r = p->lent ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        pthread_mutex_unlock(&mempools_lock);
        return r;
    }
    if (!atomic_load(&p->valid)) {
        pthread_mutex_unlock(&mempools_lock);
        return CUDA_ERROR_INVALID_VALUE;
    }
    location_forget(p); /* first: who finds it gone finds another one current (mempool_alloc_current) */
    atomic_store(&p->valid, false);
    pthread_mutex_lock(&p->lock);
    p->threshold = 0; /* what is freed goes */
    pthread_mutex_unlock(&p->lock);
    mempool_note_free();
    pthread_mutex_unlock(&mempools_lock);
    mempool_finish(p);
    return CUDA_SUCCESS;
}

/* ---- attributes */

CUresult mempool_get_attribute(struct mempool *p, CUmemPool_attribute attribute, void *value)
{
    CUresult r = CUDA_SUCCESS;
    if (p->imported) return CUDA_ERROR_INVALID_VALUE; /* observed on H200: another process's pool has none */
    pthread_mutex_lock(&p->lock);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: *(int *)value = p->follow; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: *(int *)value = p->opportunistic; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *(int *)value = p->internal; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(cuuint64_t *)value = p->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(cuuint64_t *)value = p->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(cuuint64_t *)value = p->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)value = p->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)value = p->used_high; break;
    default: r = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* Only zero, which means the value of now. */
static CUresult reset(uint64_t *high, uint64_t now, const void *value)
{
    if (*(const cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    *high = now;
    return CUDA_SUCCESS;
}

CUresult mempool_set_attribute(struct mempool *p, CUmemPool_attribute attribute, const void *value)
{
    CUresult r = CUDA_SUCCESS;
    if (p->imported) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&p->lock);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: p->follow = *(const int *)value != 0; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: p->opportunistic = *(const int *)value != 0; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: p->internal = *(const int *)value != 0; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        p->threshold = *(const cuuint64_t *)value;
        mempool_note_free();
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: r = reset(&p->reserved_high, p->reserved, value); break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: r = reset(&p->used_high, p->used, value); break;
    default: r = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

CUresult mempool_trim(struct mempool *p, uint64_t keep)
{
    if (p->imported) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&p->lock);
    blocks_settle(p, NULL);
    /* which wraps around: SIZE_MAX keeps nothing (observed on H200) */
    chunks_release_seen(p, round_up(keep, MEMPOOL_MAPPING));
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}
