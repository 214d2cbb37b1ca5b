/* Allocations of graphs: kept for a graph's life, at one address, which launches
 * allocate and somebody frees, again and again. Only while one is allocated it is
 * published: others of its graph, which come before or after it, may have some of
 * the same addresses. */
#include "context/context.h"
#include "mempool/arena.h"

/* What stands for memory of graphs where allocations have a pool: one for each device. Nobody has its handle, and it
 * stays. */
static CUresult pool_of(struct device *d, struct mempool **out)
{
    pthread_mutex_lock(&mempools_lock);
    struct mempool *p = mempools;
    while (p && (!p->graphs || p->device != d)) p = p->next;
    if (!p && (p = mempool_new())) {
        p->type = CU_MEM_ALLOCATION_TYPE_PINNED;
        p->location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->ordinal };
        p->device = d;
        p->graphs = true;
        p->is_default = true;
        p->limit = p->threshold = UINT64_MAX;
        p->access[d->ordinal] = PROT_DEVICE_READ | PROT_DEVICE_WRITE;
        mempool_enter(p);
    }
    pthread_mutex_unlock(&mempools_lock);
    *out = p;
    return p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult mempool_arena(struct device *d, struct arena **out)
{
    struct mempool *p;
    CUresult r = pool_of(d, &p);
    return r ? r : arena_make(p, out);
}

void mempool_arena_drop(struct arena *a) { arena_release(a); }

/* ---- keeping */

static void describe(struct block *b, uint64_t size)
{
    const struct zone *z = b->arena->zone;
    const uint64_t first = round_down(b->at, MEMPOOL_MAPPING);
    b->a = (struct allocation){
        .base = z->place.va + b->at,
        .size = size,
        .kind = ALLOCATION_DEVICE,
        .device = z->device,
        .mapping_base = z->place.va + first,
        .mapping_size = round_up(b->at + size, MEMPOOL_MAPPING) - first,
        .backing = z->place.backing,
        .offset = z->place.offset + b->at,
        .owner = &mempool_owner,
        .dormant = true,
        .pool = b->arena->pool,
        .detail = b,
    };
}

CUresult mempool_keep(struct arena *a, uint64_t size, uint32_t others, comes_after *after, struct kept *out)
{
    struct mempool *p = a->pool;
    uint64_t at;
    pthread_mutex_lock(&p->lock);
    struct block *b = block_new(p);
    pthread_mutex_unlock(&p->lock);
    if (!b) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = arena_open(a, others);
    if (!r) r = arena_take(a, size, after, &at);
    pthread_mutex_lock(&p->lock);
    if (r) {
        block_spare(p, b);
    } else {
        *b = (struct block){ .state = BLOCK_LENT,
                             .arena = a,
                             .at = at,
                             .size = round_up(size, BLOCK_UNIT),
                             .others = others,
                             .kept = true };
        describe(b, size);
        pthread_mutex_lock(&a->zone->lock);
        a->references++;
        b->above = a->blocks;
        if (b->above) b->above->below = b;
        a->blocks = b;
        pthread_mutex_unlock(&a->zone->lock);
        *out = (struct kept){ a, b, b->a.base };
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

CUresult mempool_reuse_kept(struct kept k, const void *point, comes_after *after)
{
    if (k.block->freer == FREER_OTHERS) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = layout_free(&k.arena->layout, k.block->at, k.block->size, point, after);
    if (!r) k.block->freer = FREER_OWN;
    return r;
}

/* With the pool's lock: nobody needs it any more. */
static void end(struct mempool *p, struct block *b)
{
    struct arena *a = b->arena;
    pthread_mutex_lock(&a->zone->lock);
    *(b->below ? &b->below->above : &a->blocks) = b->above;
    if (b->above) b->above->below = b->below;
    pthread_mutex_unlock(&a->zone->lock);
    block_spare(p, b);
    arena_release(a);
}

void mempool_unkeep(struct kept k)
{
    struct mempool *p = k.arena->pool;
    pthread_mutex_lock(&p->lock);
    k.block->kept = false;
    if (!k.block->allocated) end(p, k.block); /* if it is, with its free */
    pthread_mutex_unlock(&p->lock);
}

bool mempool_is_allocated(struct kept k)
{
    struct mempool *p = k.arena->pool;
    pthread_mutex_lock(&p->lock);
    const bool is = k.block->allocated;
    pthread_mutex_unlock(&p->lock);
    return is;
}

/* Those of the arena that has the address. */
static struct block *blocks_at(const struct zone *z, uint64_t address)
{
    const uint64_t at = address - z->place.va;
    const struct arena *a = z->span && at < z->place.size ? z->span[at / MEMPOOL_MAPPING].arena : NULL;
    return a ? a->blocks : NULL;
}

bool mempool_free_from_outside(CUdeviceptr address)
{
    struct block *found = NULL;
    for (int k = 0; k < device_count && !found; k++) {
        struct zone *z = zone_of(&devices[k]);
        pthread_mutex_lock(&z->lock);
        for (struct block *b = blocks_at(z, address); b && !found; b = b->above)
            if (b->a.base == address && b->freer != FREER_OWN) found = b;
        if (found) found->freer = FREER_OTHERS;
        pthread_mutex_unlock(&z->lock);
    }
    return found;
}

/* Of several that begin there or lie there, one that has the bytes. */
static bool look(struct zone *z, uint64_t address, uint64_t size, struct allocation *copy)
{
    bool found = false;
    pthread_mutex_lock(&z->lock);
    for (const struct block *b = blocks_at(z, address); b; b = b->above) {
        const uint64_t in = address - b->a.base;
        if (in >= b->a.size || (found && size > b->a.size - in)) continue;
        *copy = b->a;
        found = true;
        if (size <= b->a.size - in) break;
    }
    pthread_mutex_unlock(&z->lock);
    return found;
}

bool mempool_look_kept(CUdeviceptr address, uint64_t size, struct allocation *copy)
{
    for (int k = 0; k < device_count && space_is_ours(address); k++)
        if (look(zone_of(&devices[k]), address, size, copy)) return true;
    return false;
}

bool mempool_look_any(CUdeviceptr address, uint64_t size, struct allocation *copy)
{
    return space_look(address, copy) || mempool_look_kept(address, size, copy);
}

unsigned mempool_access_any(const struct allocation *copy, const struct device *d)
{
    if (!copy->dormant) return space_access(copy, d);
    struct zone *z = zone_of(copy->device);
    unsigned may = PROT_DEVICE_NONE;
    pthread_mutex_lock(&z->lock);
    for (const struct block *b = blocks_at(z, copy->base); b; b = b->above)
        if (b == copy->detail) may = mempool_owner.access(&b->a, d);
    pthread_mutex_unlock(&z->lock);
    return may;
}

/* ---- launching */

static CUresult get_pieces(struct arena *a, struct stream *s, const void *launch, bool waits)
{
    pthread_mutex_lock(&a->zone->lock);
    arenas_bury(a->zone);
    CUresult r = pieces_get(a, s, launch, waits);
    pthread_mutex_unlock(&a->zone->lock);
    return r;
}

CUresult mempool_ready_arena(struct arena *a, struct stream *s, const void *launch)
{
    CUresult r = get_pieces(a, s, launch, false);
    if (r != CUDA_ERROR_OUT_OF_MEMORY) return r;
    mempool_shrink(a->zone->device);
    return get_pieces(a, s, launch, true);
}

void mempool_launched(const void *launch, struct stream *s)
{
    struct place place = { 0 };
    struct mark *mark = NULL;
    if (stream_point(s, &place, &mark))
        return; /* there is no memory to say so: until the next launch nobody gets the pieces */
    for (int k = 0; k < device_count; k++) {
        struct zone *z = zone_of(&devices[k]);
        pthread_mutex_lock(&z->lock);
        pieces_launched(z, launch, &place, mark);
        pthread_mutex_unlock(&z->lock);
    }
    if (mark) point_release(mark);
}

CUresult mempool_allocate_kept(struct kept k)
{
    struct block *b = k.block;
    struct mempool *p = b->arena->pool;
    struct zone *z = b->arena->zone;
    pthread_mutex_lock(&p->lock);
    pthread_mutex_lock(&z->lock); /* who looks there copies the allocation */
    CUresult r = b->allocated ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!r) {
        b->a.dormant = false;
        r = space_publish(&b->a);
    }
    if (!r) {
        pieces_hold(z, b->at, b->size);
        b->allocated = true;
    }
    b->a.dormant = !b->allocated;
    pthread_mutex_unlock(&z->lock);
    pthread_mutex_unlock(&p->lock);
    return r;
}

CUresult mempool_free_kept(const struct allocation *copy, CUdeviceptr address, struct stream *s, const void *launch)
{
    struct mempool *p = copy->pool;
    struct block *b = copy->detail;
    pthread_mutex_lock(&p->lock);
    CUresult r = copy->base == address && block_is(b, copy) && b->allocated ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!r) {
        struct zone *z = b->arena->zone;
        pthread_mutex_lock(&z->lock);
        r = pieces_release(z, b->at, b->size, s, launch);
        if (!r) {
            space_withdraw(&b->a);
            b->allocated = false;
            b->a.dormant = true;
        }
        pthread_mutex_unlock(&z->lock);
    }
    if (!r && !b->kept) end(p, b);
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* ---- what a device has for graphs */

CUresult mempool_kept_attribute(struct device *d, CUgraphMem_attribute attribute, cuuint64_t *value, bool set)
{
    const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    const bool used = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT || attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
    if ((unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH || (set && (!high || *value)))
        return CUDA_ERROR_INVALID_VALUE;
    struct zone *z = zone_of(d);
    pthread_mutex_lock(&z->lock);
    const unsigned now = used ? z->used : z->count;
    unsigned *most = used ? &z->used_most : &z->count_most;
    if (set)
        *most = now;
    else
        *value = (high ? *most : now) * MEMPOOL_MAPPING;
    pthread_mutex_unlock(&z->lock);
    return CUDA_SUCCESS;
}

bool mempool_trim_kept(const struct device *d)
{
    struct zone *z = zone_of((struct device *)d);
    pthread_mutex_lock(&z->lock);
    arenas_bury(z);
    const bool any = pieces_trim(z);
    pthread_mutex_unlock(&z->lock);
    return any;
}

CUresult mempool_attach_kept(struct device *d)
{
    CUresult r = CUDA_SUCCESS;
    for (int k = 0; k < device_count; k++) {
        struct zone *z = zone_of(&devices[k]);
        pthread_mutex_lock(&z->lock);
        for (struct span *s = z->span; s < z->span + z->spans && !r; s++)
            if (s->mapped) r = span_map(z, s, d);
        pthread_mutex_unlock(&z->lock);
    }
    return r;
}

char *mempool_kept_bytes(uint64_t address, uint64_t size, const struct device *d)
{
    char *bytes = NULL;
    for (int k = 0; k < device_count && !bytes; k++) {
        struct zone *z = zone_of(&devices[k]);
        pthread_mutex_lock(&z->lock);
        const uint64_t at = address - z->place.va;
        if (z->span && at < z->place.size && size <= z->place.size - at && size) {
            const struct span *s = &z->span[at / MEMPOOL_MAPPING], *last = &z->span[(at + size - 1) / MEMPOOL_MAPPING];
            while (s <= last && s->mapped && arena_is_open(s->arena, d)) s++;
            if (s > last) bytes = z->place.backing->alias + z->place.offset + at;
        }
        pthread_mutex_unlock(&z->lock);
    }
    return bytes;
}

bool mempool_of_graphs(const void *pool) { return ((const struct mempool *)pool)->graphs; }
