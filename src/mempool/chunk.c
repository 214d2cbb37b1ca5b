/* Chunks: addresses and memory of a pool, who has them mapped, how they come
 * and grow. Memory of devices and of the host comes from src/space, that of
 * exportable pools from the pool's own file, managed memory from whoever
 * cuMemAllocManaged asks. What is given back, and when, is release.c's. */
#include "context/context.h"
#include "mempool/internal.h"
#include "uvm/attributes.h"
#include "uvm/uvm.h"

#include <stdlib.h>
#include <sys/mman.h>

static _Atomic uint64_t changes;
uint64_t mempool_changes(void) { return atomic_load_explicit(&changes, memory_order_acquire); }
void chunks_changed(void) { atomic_fetch_add_explicit(&changes, 1, memory_order_acq_rel); }

struct backing *chunk_backing(struct chunk *c)
{
    struct backing *whole = share_backing(c->pool);
    return whole ? whole : c->view.id ? &c->view : (struct backing *)c->memory.backing;
}

CUresult chunk_map(const struct chunk *c, struct device *d)
{
    const struct backing *b = chunk_backing((struct chunk *)c);
    unsigned access = c->pool->access[d->ordinal];
    if (!access || !d->processor) return CUDA_SUCCESS;
    return processor_map(d->processor, c->memory.va, c->memory.size, b, c->offset, access);
}

void chunk_unmap(const struct chunk *c, struct device *d)
{
    if (d->processor && c->pool->access[d->ordinal]) processor_unmap(d->processor, c->memory.va, c->memory.size);
}

static CUresult map_devices(struct chunk *c)
{
    CUresult r = CUDA_SUCCESS;
    int k = 0;
    for (; k < device_count && !r; k++) r = chunk_map(c, &devices[k]);
    if (r)
        for (k--; k--;) chunk_unmap(c, &devices[k]);
    return r;
}

/* Host memory has the same addresses in this process. */
static CUresult map_host(const struct chunk *c)
{
    const struct backing *b = chunk_backing((struct chunk *)c);
    void *at = (void *)c->memory.va, *here;
    here = mmap(at, c->memory.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, b->fd,
                (off_t)c->offset);
    if (here != at) {
        if (here != MAP_FAILED) munmap(here, c->memory.size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    madvise(here, c->memory.size, MADV_DONTFORK);
    return CUDA_SUCCESS;
}

/* A managed pool's location is where its memory prefers to be. */
static CUresult prefer(const struct mempool *p, const struct allocation *a)
{
    const CUmem_advise advice = CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    CUmemLocation l = p->location;
    if (l.type == CU_MEM_LOCATION_TYPE_INVALID) return CUDA_SUCCESS;
    if (l.type == CU_MEM_LOCATION_TYPE_HOST) l.id = CU_DEVICE_CPU;
    CUresult r = attributes_advise(a, a->base, a->size, advice, l);
    return r ? r : uvm_advise(a->base, a->size, advice, l);
}

/* The chunk is a managed allocation of its own that nobody sees: its pieces are published instead. */
static CUresult take_managed(const struct mempool *p, struct chunk *c, uint64_t size)
{
    struct allocation *a;
    CUresult r = uvm_alloc(NULL, size, CU_MEM_ATTACH_GLOBAL, &a);
    if (r) return r;
    if ((r = prefer(p, a))) {
        uvm_free(a);
        return r;
    }
    space_withdraw(a);
    c->managed = a;
    c->memory = (struct space_chunk){ a->base, a->offset, size, a->backing };
    c->offset = a->offset;
    return CUDA_SUCCESS;
}

static void give_managed(struct chunk *c)
{
    if (!space_publish(c->managed)) uvm_free(c->managed); /* else there is no memory to say so */
}

/* What is imported was counted where it comes from. */
static CUresult take_addresses(const struct mempool *p, const struct chunk *c, uint64_t size, struct space_chunk *out)
{
    if (p->imported) return space_place_in_turn(p->device, size, out);
    return (chunk_divisible(c) ? space_take_apart : space_take)(p->device, size, out);
}

static void give_addresses(const struct mempool *p, const struct space_chunk *c)
{
    (p->imported ? space_unplace : space_give)(p->device, c);
}

static CUresult take(struct mempool *p, struct chunk *c, uint64_t size)
{
    if (p->type == CU_MEM_ALLOCATION_TYPE_MANAGED) return take_managed(p, c, size);
    CUresult r = take_addresses(p, c, size, &c->memory);
    if (r) return r;
    if (!p->imported) c->offset = c->memory.offset;
    if (p->share && (r = share_chunk(p, c))) goto give;
    if (!p->device && (r = map_host(c))) goto unshare;
    if (!(r = map_devices(c))) return r;
    if (!p->device) munmap((void *)c->memory.va, size);
unshare:
    share_unmap(c, 0, size);
give:
    give_addresses(p, &c->memory);
    return r;
}

void chunk_free_memory(struct chunk *c, uint64_t from, uint64_t size)
{
    struct mempool *p = c->pool;
    struct space_chunk gone = c->memory;
    chunks_changed();
    if (c->managed) {
        give_managed(c);
        return;
    }
    gone.va += from, gone.offset += from, gone.size = size;
    for (int k = 0; k < device_count; k++)
        if (devices[k].processor && p->access[k]) processor_unmap(devices[k].processor, gone.va, gone.size);
    if (!p->device) munmap((void *)gone.va, gone.size);
    if (p->share) {
        if (!p->imported) backing_discard(chunk_backing(c), c->offset + from, gone.size);
        share_unmap(c, from, gone.size);
    }
    give_addresses(p, &gone);
}

CUresult chunk_new(struct mempool *p, uint64_t size, uint64_t offset, struct chunk **out)
{
    uint64_t bytes = round_up(size, MEMPOOL_MAPPING);
    if (size > bytes || bytes > p->limit || p->reserved > p->limit - bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    struct chunk *c = calloc(1, sizeof *c);
    struct block *b = block_new(p);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!c || !b) goto failed;
    c->pool = p;
    c->offset = offset;
    if ((r = take(p, c, bytes))) goto failed;
    c->next = p->chunks;
    p->chunks = c;
    p->reserved += bytes;
    if (p->reserved > p->reserved_high) p->reserved_high = p->reserved;
    *out = c;
    if (p->imported) {
        block_spare(p, b);
        return r;
    }
    b->chunk = c;
    b->at = 0;
    b->size = bytes;
    c->first = c->last = b;
    block_insert_free(p, b);
    return r;
failed:
    if (b) block_spare(p, b);
    free(c);
    return r;
}

bool chunk_divisible(const struct chunk *c)
{
    return !c->managed && !c->view.id && !c->pool->imported;
}

/* More memory behind a chunk, one free block. */
static CUresult grow(struct chunk *c, struct block *last, uint64_t bytes)
{
    struct mempool *p = c->pool;
    struct chunk more = { .pool = p };
    struct block *b = block_new(p);
    if (!b) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = space_take_behind(p->device, &c->memory, bytes, &more.memory);
    if (r) goto spare;
    more.offset = more.memory.offset;
    if (p->share && (r = share_grow(c, bytes))) goto give;
    if (!p->device && (r = map_host(&more))) goto unshare;
    if ((r = map_devices(&more))) goto unmap;
    b->chunk = c;
    b->at = c->memory.size;
    b->size = bytes;
    b->below = last;
    last->above = c->last = b;
    c->memory.size += bytes;
    p->reserved += bytes;
    if (p->reserved > p->reserved_high) p->reserved_high = p->reserved;
    block_insert_free(p, b);
    block_merge(p, b);
    return r;
unmap:
    if (!p->device) munmap((void *)more.memory.va, bytes);
unshare:
    if (p->share) share_unmap(&more, 0, bytes);
give:
    space_give(p->device, &more.memory);
spare:
    block_spare(p, b);
    return r;
}

bool chunk_grow(struct mempool *p, uint64_t size, struct stream *s)
{
    for (struct chunk *c = p->chunks; c; c = c->next) {
        struct block *last = c->last;
        bool adds = last->state == BLOCK_FREE && block_usable(p, last, s);
        if (!chunk_divisible(c) || (adds && last->size >= size)) continue;
        uint64_t bytes = round_up(adds ? size - last->size : size, MEMPOOL_MAPPING);
        if (bytes <= p->limit && p->reserved <= p->limit - bytes && !grow(c, last, bytes)) return true;
    }
    return false;
}
