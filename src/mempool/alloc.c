/* Lending and taking back, in the order of streams, and what synchronisation
 * does for pools. */
#include "context/context.h"
#include "mempool/internal.h"
#include "vmm/vmm.h"

/* How often something was freed; up to which of these nothing is left to synchronising calls, with the list's lock. */
static _Atomic uint64_t frees, settled;

void mempool_note_free(void) { atomic_fetch_add_explicit(&frees, 1, memory_order_relaxed); }

/* ---- lending */

static enum allocation_kind kind_of(const struct mempool *p)
{
    return p->type == CU_MEM_ALLOCATION_TYPE_MANAGED ? ALLOCATION_MANAGED
           : p->device                               ? ALLOCATION_DEVICE
                                                     : ALLOCATION_HOST;
}

CUresult block_lend(struct mempool *p, struct block *b, uint64_t size)
{
    struct chunk *c = b->chunk;
    b->a = (struct allocation){
        .base = c->memory.va + b->at,
        .size = size,
        .kind = kind_of(p),
        .device = p->device,
        .flags = kind_of(p) == ALLOCATION_MANAGED ? CU_MEM_ATTACH_GLOBAL : 0,
        .mapping_base = c->memory.va,
        .mapping_size = c->memory.size,
        .backing = chunk_backing(c),
        .offset = c->offset + b->at,
        .owner = &mempool_owner,
        .sync_memops = kind_of(p) == ALLOCATION_MANAGED, /* observed on H200 */
        .handle_types = p->imported ? CU_MEM_HANDLE_TYPE_NONE : p->handle_types, /* observed on H200 */
        .pool = p,
        .detail = b,
    };
    b->state = BLOCK_LENT;
    CUresult r = space_publish(&b->a);
    if (r) return r;
    unseen_lent(c, b->at, b->at + b->size);
    c->lent++;
    p->lent++;
    p->used += size;
    if (p->used > p->used_high) p->used_high = p->used;
    return r;
}

/* The free block, of at least size bytes, for s. */
static CUresult find(struct mempool *p, uint64_t size, struct stream *s, struct block **out)
{
    struct chunk *c;
    CUresult r = CUDA_SUCCESS;
    if ((*out = block_find(p, size, s))) return r;
    if (chunk_grow(p, size, s) && (*out = block_find(p, size, s))) return r;
    if ((r = chunk_new(p, size, 0, &c))) return r;
    *out = c->first;
    return r;
}

/* Memory is short: what nobody uses any more goes first, of other pools, too, then s waits for what others have freed.
 * The pool's lock is dropped in between. */
static CUresult find_hard(struct mempool *p, uint64_t size, struct stream *s, struct block **out)
{
    pthread_mutex_unlock(&p->lock);
    vmm_settle();
    mempool_free_idle();
    mempool_shrink(p->device);
    pthread_mutex_lock(&p->lock);
    if (!atomic_load(&p->valid)) return CUDA_ERROR_INVALID_VALUE; /* destroyed meanwhile */
    CUresult r = find(p, size, s, out);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && p->internal && (*out = block_find_waiting(p, size, s))) r = CUDA_SUCCESS;
    return r;
}

static CUresult lend(struct mempool *p, uint64_t size, struct stream *s, CUdeviceptr *out)
{
    struct block *b;
    const uint64_t bytes = round_up(size, BLOCK_UNIT);
    if (!atomic_load(&p->valid)) return CUDA_ERROR_INVALID_VALUE;
    if (size >= MEMPOOL_TOO_LARGE) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = find(p, bytes, s, &b);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) r = find_hard(p, bytes, s, &b);
    if (r) return r;
    if (!block_cut(p, b, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    block_remove_free(p, b);
    if ((r = block_lend(p, b, size))) {
        block_insert_free(p, b);
        block_merge(p, b);
        return r;
    }
    stream_note_lent(s);
    *out = b->a.base;
    return r;
}

CUresult mempool_alloc(struct mempool *p, uint64_t size, struct stream *s, CUdeviceptr *out)
{
    if (p->imported) return CUDA_ERROR_INVALID_VALUE;
    if (!size) { /* observed on H200: no error */
        *out = 0;
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&p->lock);
    CUresult r = lend(p, size, s, out);
    pthread_mutex_unlock(&p->lock);
    return r;
}

/* ---- taking back */

/* What the block waits for is set. */
static void take_back(struct mempool *p, struct block *b, bool in_stream)
{
    space_withdraw(&b->a);
    if (b->slot) share_forget(b);
    if (in_stream) p->used -= b->a.size; /* cuMemFree leaves it in the count of what is used (observed on H200) */
    p->lent--;
    b->chunk->lent--;
    block_insert_free(p, b);
    if (!p->imported)
        block_merge(p, b);
    else if (!b->bound)
        block_drop_imported(p, b);
    mempool_note_free();
}

bool block_is(const struct block *b, const struct allocation *copy)
{
    return b->state == BLOCK_LENT && b->a.buffer_id == copy->buffer_id;
}

static CUresult free_block(const struct allocation *copy, CUdeviceptr address, struct stream *s)
{
    struct mempool *p = copy->pool;
    struct block *b = copy->detail;
    CUresult r = CUDA_SUCCESS;
    struct place place;
    struct mark *mark = NULL;
    if (p->graphs) return mempool_free_kept(copy, address, s, NULL);
    pthread_mutex_lock(&p->lock);
    if (copy->base != address || !block_is(b, copy))
        r = CUDA_ERROR_INVALID_VALUE;
    else if (s && !(r = stream_point(s, &place, &mark))) {
        if (b->mark) point_release(b->mark);
        b->mark = mark;
        b->place = place;
        b->bound = true; /* also if it is done: it is its stream's first (observed on H200) */
        unseen_note(b->chunk, &(struct unseen){ place, b->at, b->at + b->size });
    } else if (!s && b->bound && point_done(b->mark)) {
        block_unbind(p, b);
    }
    if (!r) take_back(p, b, s);
    if (!r && !s) chunks_release_surplus(p);
    bool last = !r && mempool_finished(p);
    pthread_mutex_unlock(&p->lock);
    if (last) mempool_finish(p);
    return r;
}

CUresult mempool_free(const struct allocation *a, CUdeviceptr address, struct stream *s)
{
    return free_block(a, address, s);
}

/* A shared pool's memory leaves this process with its chunk: what the caller has left in progress,
 * against the rules, must not find nothing there. */
CUresult mempool_free_now(const struct allocation *a, CUdeviceptr address)
{
    struct mempool *p = a->pool;
    pthread_mutex_lock(&p->lock);
    const bool shared = p->share;
    pthread_mutex_unlock(&p->lock);
    if (shared && context_top() && !atomic_load(&context_top()->destroyed)) context_synchronize(context_top());
    return free_block(a, address, NULL);
}

/* ---- synchronisation */

/* Whether chunks are left whose frees the caller has not seen. */
static bool see_frees(struct mempool *p, const struct waited *w)
{
    bool left = false;
    for (struct chunk *c = p->chunks; c; c = c->next) left |= unseen_wait(c, w);
    return left;
}

static void synchronized(const struct waited *w)
{
    bool left = false;
    if (atomic_load_explicit(&frees, memory_order_relaxed) == atomic_load_explicit(&settled, memory_order_relaxed)) return;
    struct mempool *done = NULL;
    pthread_mutex_lock(&mempools_lock);
    const uint64_t now = atomic_load_explicit(&frees, memory_order_relaxed);
    for (struct mempool *p = mempools; p; p = p->next) {
        pthread_mutex_lock(&p->lock);
        if (p->bound) blocks_settle(p, w);
        left |= see_frees(p, w) | (p->bound > 0);
        chunks_release_surplus(p);
        if (mempool_finished(p)) done = p;
        pthread_mutex_unlock(&p->lock);
    }
    if (!left && !done) atomic_store_explicit(&settled, now, memory_order_relaxed);
    pthread_mutex_unlock(&mempools_lock);
    if (done) mempool_finish(done);
}

void mempool_synchronized(struct context *c, struct stream *s)
{
    later_free(c, s);
    synchronized(&(struct waited){ .context = c, .stream = s });
}

void mempool_reached(struct mark *m)
{
    later_free(NULL, NULL);
    if (m) synchronized(&(struct waited){ .mark = m });
}

bool mempool_shrink(const struct device *d)
{
    bool any = d && mempool_trim_kept(d);
    pthread_mutex_lock(&mempools_lock);
    for (struct mempool *p = mempools; p; p = p->next) {
        if (p->device != d || p->type == CU_MEM_ALLOCATION_TYPE_MANAGED) continue;
        pthread_mutex_lock(&p->lock);
        any |= chunks_release_seen(p, 0);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&mempools_lock);
    return any;
}
