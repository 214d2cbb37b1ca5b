/* Memory kept for a graph: lent for the graph's life at one address, which its
 * launches allocate and somebody frees, again and again. What is freed stays
 * kept; the next launch comes after that free. */
#include "context/context.h"
#include "pool/internal.h"

static struct mempool *pools[MAX_DEVICES]; /* guarded by mempools_lock */

/* The graphs' pool of a device; nobody has its handle. */
static CUresult pool_of(struct device *d, struct mempool **out)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&mempools_lock);
    struct mempool *p = pools[d->ordinal];
    if (!p && (p = mempool_new())) {
        p->type = CU_MEM_ALLOCATION_TYPE_PINNED;
        p->location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->ordinal };
        p->device = d;
        p->is_default = true;
        p->limit = p->threshold = UINT64_MAX;
        p->access[d->ordinal] = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
        p->next = mempools;
        mempools = pools[d->ordinal] = p;
        p->in_use = true;
        atomic_store(&p->valid, true);
    }
    if (!p) r = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&mempools_lock);
    *out = p;
    return r;
}

CUresult mempool_keep(struct device *d, uint64_t size, struct stream *s, struct kept *out)
{
    struct mempool *p;
    CUresult r = pool_of(d, &p);
    if (r || (r = mempool_alloc(p, size, s, &out->address))) return r;
    struct block *b = (struct block *)space_find(out->address);
    pthread_mutex_lock(&p->lock);
    b->kept = true;
    b->allocated = false;
    p->used -= b->a.size;
    out->id = b->a.buffer_id;
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* The kept block at an address, its pool locked. */
static struct block *lock_kept(struct kept k, struct mempool **p)
{
    struct allocation *a = space_find(k.address);
    if (!a || a->base != k.address || !a->pool) return NULL;
    struct block *b = (struct block *)a;
    *p = a->detail;
    pthread_mutex_lock(&(*p)->lock);
    if (b->state == BLOCK_LENT && b->kept && (!k.id || b->a.buffer_id == k.id)) return b;
    pthread_mutex_unlock(&(*p)->lock);
    return NULL;
}

bool mempool_is_kept(struct kept k, bool *allocated)
{
    struct mempool *p;
    struct block *b = lock_kept(k, &p);
    if (!b) return false;
    if (allocated) *allocated = b->allocated;
    pthread_mutex_unlock(&p->lock);
    return true;
}

CUresult mempool_allocate_kept(struct kept k, struct stream *s)
{
    struct mempool *p;
    struct block *b = lock_kept(k, &p);
    if (!b) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = b->allocated ? CUDA_ERROR_INVALID_VALUE : stream_after(s, b->mark);
    if (!r) {
        b->allocated = true;
        p->used += b->a.size;
        if (p->used > p->used_high) p->used_high = p->used;
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

void mempool_free_kept(struct mempool *p, struct block *b)
{
    b->allocated = false;
    p->used -= b->a.size;
}

void mempool_unkeep(struct kept k)
{
    struct mempool *p;
    struct block *b = lock_kept(k, &p);
    if (!b) return;
    bool allocated = b->allocated;
    b->kept = false; /* if it is allocated, whoever frees it gives it back */
    if (!allocated) p->used += b->a.size;
    pthread_mutex_unlock(&p->lock);
    if (!allocated) mempool_free_now(&b->a, k.address);
}

CUresult mempool_kept_attribute(struct device *d, CUgraphMem_attribute attribute, cuuint64_t *value, bool set)
{
    static const CUmemPool_attribute same[] = { CU_MEMPOOL_ATTR_USED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
                                                CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                                CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH };
    struct mempool *p;
    if ((unsigned)attribute >= sizeof same / sizeof *same) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = pool_of(d, &p);
    if (r) return r;
    return set ? mempool_set_attribute(p, same[attribute], value) : mempool_get_attribute(p, same[attribute], value);
}

CUresult mempool_trim_kept(struct device *d)
{
    struct mempool *p;
    CUresult r = pool_of(d, &p);
    return r ? r : mempool_trim(p, 0);
}
