/* Unified Memory: prefetches and discards, of one range or many, in stream order.
 * What they do is in src/uvm. */
#include "api/um.h"
#include "base/units.h"
#include "graph/capture.h"
#include "stream/stream.h"
#include "uvm/pageable.h"
#include "uvm/uvm.h"

#include <stdlib.h>

/* Moves of no more than this are done at once where the stream is idle: waking a thread costs as much. */
static const uint64_t SHORT_MOVE = 2ul << 20;

/* One range of a call, checked. */
struct move {
    struct allocation a;
    CUdeviceptr p;
    size_t size;
    CUmemLocation target, shown; /* for src/uvm; as asked for */
    bool ordinary;               /* not managed: a is nothing; what is discarded of it stays */
};

/* What is done in stream order. */
struct step {
    uint64_t va, size;
    CUmemLocation target;
    bool discard, prefetch, ordinary;
};
struct steps {
    size_t count;
    struct step step[];
};

/* What shares a page with the range keeps its bytes. */
static CUresult discard_whole_pages(uint64_t va, uint64_t size, bool in_place)
{
    uint64_t start = page_up(va), end = page_down(va + size);
    return start < end ? uvm_discard(start, end - start, in_place) : CUDA_SUCCESS;
}

static CUresult do_steps(void *arg)
{
    const struct steps *s = arg;
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < s->count && !r; k++) {
        const struct step *t = &s->step[k];
        if (t->discard) r = discard_whole_pages(t->va, t->size, t->prefetch);
        if (t->prefetch && !r) r = (t->ordinary ? pageable_prefetch : uvm_prefetch)(t->va, t->size, t->target);
    }
    /* to a full device nothing comes, and nobody is told (observed on H200): nothing depends on where memory is, nor on
     * memory that somebody has freed meanwhile */
    return r == CUDA_ERROR_OUT_OF_MEMORY || r == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : r;
}

/* The stream that the caller means. What is refused for its flags ends no capture (observed on H200). */
static CUresult moving_stream(CUstream handle, unsigned long long flags, struct stream **out)
{
    CUresult r = stream_named(handle, out);
    if (r) return r;
    return flags ? CUDA_ERROR_INVALID_VALUE : capture_refuse(*out);
}

/* What was asked for is told from the call on. */
static CUresult show(const struct move *moves, size_t count)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < count && !r; k++)
        r = moves[k].ordinary ? pageable_prefetched(moves[k].p, moves[k].size, moves[k].shown)
                              : attributes_prefetched(&moves[k].a, moves[k].p, moves[k].size, moves[k].shown);
    return r;
}

static CUresult move(struct stream *s, const struct move *moves, size_t count, bool discard, bool prefetch)
{
    if (!um_concurrent(stream_context(s)->device)) return CUDA_ERROR_INVALID_DEVICE;
    size_t bytes = sizeof(struct steps) + count * sizeof(struct step);
    _Alignas(struct steps) char few[sizeof(struct steps) + 4 * sizeof(struct step)];
    struct steps *steps = bytes <= sizeof few ? (void *)few : malloc(bytes);
    uint64_t total = 0;
    if (!steps) return CUDA_ERROR_OUT_OF_MEMORY;
    steps->count = 0;
    for (size_t k = 0; k < count; k++) {
        /* discarding ordinary memory does nothing */
        if ((moves[k].ordinary && !prefetch) || !moves[k].size) continue;
        steps->step[steps->count++] =
            (struct step){ moves[k].p, moves[k].size,    moves[k].target, discard && !moves[k].ordinary,
                           prefetch,   moves[k].ordinary };
        total += moves[k].size;
    }
    CUresult r = (total <= SHORT_MOVE ? stream_enqueue_short : stream_enqueue)(s, do_steps, steps, bytes);
    if ((char *)steps != few) free(steps);
    return r || !prefetch ? r : show(moves, count);
}

static CUresult find(struct move *m, CUdeviceptr p, size_t size)
{
    m->p = p;
    m->size = size;
    CUresult r = um_managed(&m->p, &m->size, &m->a);
    m->ordinary = r && um_ordinary(p, size);
    return m->ordinary ? CUDA_SUCCESS : r;
}

static CUresult prefetch(CUdeviceptr p, size_t count, CUmemLocation l, unsigned flags, CUstream handle)
{
    struct stream *s;
    struct move m = { .shown = l };
    CUresult r = moving_stream(handle, flags, &s);
    if (r) return r;
    if (!p || !count) return CUDA_ERROR_INVALID_VALUE;
    if ((r = um_resolve(l, &m.target))) return r;
    if ((r = find(&m, p, count))) return r;
    if (l.type == CU_MEM_LOCATION_TYPE_HOST) m.shown = m.target;
    return move(s, &m, 1, false, true);
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                                       CUstream hStream)
{
    return prefetch(devPtr, count, location, flags, hStream);
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
    return prefetch(devPtr, count, um_from_device(dstDevice), 0, hStream);
}

/* The arguments that all three batches have. Location k is that of the ranges from index[k] on. */
struct batch {
    CUdeviceptr *p;
    size_t *size, count;
    CUmemLocation *location;
    size_t *index, locations;
    unsigned long long flags;
    bool discard, prefetch;
};

static CUresult check_locations(const struct batch *b)
{
    CUmemLocation l;
    for (size_t k = 0; k < b->locations; k++)
        if (b->index[k] >= b->count || (!k && b->index[k]) ||
            um_resolve(b->location[k], &l)) /* not INVALID_DEVICE, as of a single prefetch (observed on H200) */
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* The ranges up to the first bad one. A location whose index is not above the one before it is never come to, nor are
 * those behind it; and unlike a single prefetch's, the host's is shown with the id it was given (observed on H200). */
static CUresult check_ranges(const struct batch *b, struct move *moves, size_t *good)
{
    CUresult r = CUDA_SUCCESS;
    size_t at = 0;
    *good = 0;
    for (size_t k = 0; k < b->count && !r; k++) {
        struct move *m = &moves[k];
        if (b->prefetch) {
            if (k && at + 1 < b->locations && b->index[at + 1] == k) at++;
            m->shown = b->location[at];
            r = um_resolve(m->shown, &m->target);
        }
        if (!r) r = find(m, b->p[k], b->size[k]);
        if (!r) (*good)++;
    }
    return r;
}

static CUresult do_batch(const struct batch *b, CUstream handle)
{
    struct stream *s;
    struct move *moves;
    size_t good;
    CUresult r = moving_stream(handle, b->flags, &s);
    if (r) return r;
    if (!handle || handle == CU_STREAM_LEGACY || !b->p || !b->size || !b->count) return CUDA_ERROR_INVALID_VALUE;
    if (b->prefetch && (!b->location || !b->index || !b->locations || b->locations > b->count))
        return CUDA_ERROR_INVALID_VALUE;
    if (b->prefetch && (r = check_locations(b))) return r;
    if (!(moves = calloc(b->count, sizeof *moves))) return CUDA_ERROR_OUT_OF_MEMORY;
    r = check_ranges(b, moves, &good);
    if (!r)
        r = move(s, moves, b->count, b->discard, b->prefetch);
    else if (b->prefetch && um_concurrent(stream_context(s)->device))
        show(moves, good); /* the last prefetch of those before the bad one is told, though none was moved (observed on H200) */
    free(moves);
    return r;
}

CUresult CUDAAPI cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
                                         size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                         CUstream hStream)
{
    return do_batch(
        &(struct batch){ dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, .prefetch = true },
        hStream);
}

CUresult CUDAAPI cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags,
                                        CUstream hStream)
{
    return do_batch(&(struct batch){ dptrs, sizes, count, .flags = flags, .discard = true }, hStream);
}

CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                                   CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                                   size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
    return do_batch(&(struct batch){ dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                                     .discard = true, .prefetch = true },
                    hStream);
}
