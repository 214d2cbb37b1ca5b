/* Memory kept for a graph: lent for the graph's life at one address, which its
 * launches allocate and somebody frees, again and again. What is freed stays
 * kept; the next launch comes after that free. */
#include "context/context.h"
#include "mempool/internal.h"

/* Graphs' pools of a device: one for each set of devices that may use what it lends. Nobody has their handles, and they
 * stay. */
static bool is_open_to(const struct mempool *p, const struct device *d, uint32_t others)
{
    bool same = p->graphs && p->device == d;
    for (int k = 0; k < device_count && same; k++) same = k == d->ordinal || !p->access[k] == !(others >> k & 1);
    return same;
}

static CUresult pool_of(struct device *d, uint32_t others, struct mempool **out)
{
    pthread_mutex_lock(&mempools_lock);
    struct mempool *p = mempools;
    while (p && !is_open_to(p, d, others)) p = p->next;
    if (!p && (p = mempool_new())) {
        p->type = CU_MEM_ALLOCATION_TYPE_PINNED;
        p->location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->ordinal };
        p->device = d;
        p->graphs = true;
        p->is_default = true;
        p->limit = p->threshold = UINT64_MAX;
        for (int k = 0; k < device_count; k++)
            if (k == d->ordinal || others >> k & 1) p->access[k] = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
        p->next = mempools;
        mempools = p;
        p->in_use = true;
        atomic_store(&p->valid, true);
    }
    pthread_mutex_unlock(&mempools_lock);
    *out = p;
    return p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Number n of them, NULL: there are not so many. */
static struct mempool *pool_at(const struct device *d, unsigned n)
{
    pthread_mutex_lock(&mempools_lock);
    struct mempool *p = mempools;
    while (p && (!p->graphs || p->device != d || n--)) p = p->next;
    pthread_mutex_unlock(&mempools_lock);
    return p;
}

/* Of all of a device's. */
static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint64_t now, used_high, reserved_high;
} totals[MAX_DEVICES];

/* Observed on H200: memory of graphs is there from the first launch that allocates it until it is
 * trimmed, is used as a whole, and counts as used until then, whoever frees it. */
static void count(struct mempool *p)
{
    uint64_t there = 0;
    for (const struct chunk *c = p->chunks; c; c = c->next)
        if (c->backed) there += c->memory.size;
    pthread_mutex_lock(&totals_lock);
    uint64_t now = totals[p->device->ordinal].now += there - p->graph_there;
    uint64_t *high[] = { &totals[p->device->ordinal].used_high, &totals[p->device->ordinal].reserved_high };
    for (int k = 0; k < 2; k++)
        if (now > *high[k]) *high[k] = now;
    pthread_mutex_unlock(&totals_lock);
    p->graph_there = there;
}

void kept_count(struct mempool *p, struct block *b, bool allocated)
{
    struct chunk *c = b->chunk;
    unsigned before = c->allocated;
    b->allocated = allocated;
    c->allocated += allocated ? 1 : -1u;
    c->backed |= allocated;
    if (!before || !c->allocated) count(p);
}

static void show(struct block *b)
{
    b->a.dormant = !b->allocated;
    space_update(&b->a);
}

/* The lent block that begins at an address, its pool locked. */
static struct block *lock_lent(CUdeviceptr address, struct mempool **p)
{
    struct allocation a;
    if (!space_look(address, &a) || a.base != address || !a.pool) return NULL;
    *p = a.pool;
    pthread_mutex_lock(&(*p)->lock);
    if (block_is(a.detail, &a)) return a.detail;
    pthread_mutex_unlock(&(*p)->lock);
    return NULL;
}

CUresult mempool_keep(struct device *d, uint32_t others, uint64_t size, struct stream *s, struct kept *out)
{
    struct mempool *p;
    CUresult r = pool_of(d, others, &p);
    if (r || (r = mempool_alloc(p, size, s, &out->address))) return r;
    struct block *b = lock_lent(out->address, &p);
    if (!b) return CUDA_ERROR_INVALID_VALUE; /* somebody else has freed it */
    b->kept = true;
    b->allocated = false;
    show(b);
    p->used -= b->a.size;
    out->id = b->a.buffer_id;
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* The kept block at an address, its pool locked. */
static struct block *lock_kept(struct kept k, struct mempool **p)
{
    struct block *b = lock_lent(k.address, p);
    if (!b || (b->kept && (!k.id || b->a.buffer_id == k.id))) return b;
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
        kept_count(p, b, true);
        show(b);
        p->used += b->a.size;
        if (p->used > p->used_high) p->used_high = p->used;
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

void mempool_free_kept(struct mempool *p, struct block *b)
{
    kept_count(p, b, false);
    show(b);
    p->used -= b->a.size;
}

void mempool_unkeep(struct kept k)
{
    struct mempool *p;
    struct block *b = lock_kept(k, &p);
    if (!b) return;
    struct allocation a;
    /* if it is allocated, whoever frees it gives it back */
    bool give_back = !b->allocated && space_look(k.address, &a);
    b->kept = false;
    if (give_back) p->used += a.size;
    pthread_mutex_unlock(&p->lock);
    if (give_back) mempool_free_now(&a, k.address);
}

CUresult mempool_kept_attribute(struct device *d, CUgraphMem_attribute attribute, cuuint64_t *value, bool set)
{
    struct mempool *p;
    bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    bool used = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT || attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
    if ((unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH || (set && (!high || *value)))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned n = 0; (p = pool_at(d, n)); n++) {
        pthread_mutex_lock(&p->lock);
        count(p);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_lock(&totals_lock);
    uint64_t *now = &totals[d->ordinal].now;
    uint64_t *most = used ? &totals[d->ordinal].used_high : &totals[d->ordinal].reserved_high;
    if (set)
        *most = *now;
    else
        *value = high ? *most : *now;
    pthread_mutex_unlock(&totals_lock);
    return CUDA_SUCCESS;
}

CUresult mempool_trim_kept(struct device *d)
{
    struct mempool *p;
    for (unsigned n = 0; (p = pool_at(d, n)); n++) {
        pthread_mutex_lock(&p->lock);
        blocks_settle(p, false, NULL, NULL);
        chunks_release(p, 0);
        for (struct chunk *c = p->chunks; c; c = c->next) c->backed = c->allocated;
        pthread_mutex_unlock(&p->lock);
    }
    return CUDA_SUCCESS;
}

bool mempool_of_graphs(const void *pool) { return ((const struct mempool *)pool)->graphs; }
