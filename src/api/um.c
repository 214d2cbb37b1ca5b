/* Unified Memory: what the entry points check and what they note. What advice and
 * prefetches do is in src/uvm; what is answered about them in uvm/attributes.h. */
#include "context/context.h"
#include "base/units.h"
#include "graph/capture.h"
#include "space/space.h"
#include "stream/stream.h"
#include "uvm/pageable.h"
#include "uvm/uvm.h"
#include "base/numa.h"

#include <stdlib.h>
#include <string.h>

/* Moves of no more than this are done at once where the stream is idle: waking a thread costs as much. */
static const uint64_t SHORT_MOVE = 2ul << 20;

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct context *c;
    struct allocation *a;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!profile_attribute(c->device->profile, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)) return CUDA_ERROR_NOT_SUPPORTED;
    if (!dptr || !bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    if ((r = uvm_alloc(c, bytesize, flags, &a))) return r;
    *dptr = a->base;
    return CUDA_SUCCESS;
}

/* ---- what a call speaks of */

/* The managed allocation that holds all of a range. */
static CUresult managed(CUdeviceptr p, size_t size, struct allocation *a)
{
    bool found = size && space_look(p, a) && a->kind == ALLOCATION_MANAGED && size <= a->base + a->size - p;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool concurrent(const struct device *d)
{
    return profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
}

static bool host_tables(const struct device *d)
{
    return profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
}

/* A device that managed memory may be at while the host touches it. */
static CUresult check_device(int ordinal)
{
    struct device *d;
    CUresult r = device_get(ordinal, &d);
    return !r && !concurrent(d) ? CUDA_ERROR_INVALID_DEVICE : r;
}

/* What l means to src/uvm. */
static CUresult resolve(CUmemLocation l, CUmemLocation *out)
{
    *out = l;
    switch ((int)l.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return check_device(l.id);
    case CU_MEM_LOCATION_TYPE_HOST: out->id = CU_DEVICE_CPU; return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return numa_exists(l.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *out = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = numa_nearest() };
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* The first ABI's way to say where. */
static CUmemLocation from_device(CUdevice d)
{
    return (CUmemLocation){ .type = d == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                            .id = d };
}

/* Ordinary memory of the host's that kernels reach. */
static bool ordinary(CUdeviceptr p, size_t size)
{
    struct allocation a;
    return uvm_pageable && !space_look(p, &a) && uvm_reaches(p, size);
}

/* ---- advice */

static bool host_node(CUmemLocation l)
{
    return l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA || l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

/* Where no location matters its id may be anything, its type may not (observed on H200). */
static CUresult advised_location(CUmem_advise advice, CUmemLocation l, CUmemLocation *out)
{
    if ((int)l.type < CU_MEM_LOCATION_TYPE_DEVICE || l.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST, .id = CU_DEVICE_CPU };
    switch ((int)advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: return resolve(l, out);
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: return host_node(l) ? CUDA_ERROR_INVALID_VALUE : resolve(l, out);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult advise(CUdeviceptr p, size_t count, CUmem_advise advice, CUmemLocation l, CUresult no_device)
{
    struct context *c;
    struct allocation a;
    CUresult r = context_current(&c);
    if (r) return r;
    if ((r = advised_location(advice, l, &l)))
        return r == CUDA_ERROR_INVALID_DEVICE && (l.id < 0 || l.id >= device_count) ? no_device : r;
    if ((r = managed(p, count, &a)))
        return ordinary(p, count) ? pageable_advise(p, count, advice, l, host_tables(c->device)) : r;
    if (a.pool) return CUDA_ERROR_NOT_SUPPORTED; /* observed on H200: a pool's location is its advice */
    if ((r = attributes_advise(&a, p, count, advice, l))) return r;
    /* no copies are made while a device takes turns with the host */
    if (uvm_exclusive && advice == CU_MEM_ADVISE_SET_READ_MOSTLY) return CUDA_SUCCESS;
    return uvm_advise(p, count, advice, l);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
    return advise(devPtr, count, advice, location, CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    return advise(devPtr, count, advice, from_device(device), CUDA_ERROR_INVALID_DEVICE);
}

/* ---- prefetches and discards */

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
static CUresult discard_whole_pages(uint64_t va, uint64_t size)
{
    uint64_t start = page_up(va), end = page_down(va + size);
    return start < end ? uvm_discard(start, end - start) : CUDA_SUCCESS;
}

static CUresult do_steps(void *arg)
{
    const struct steps *s = arg;
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < s->count && !r; k++) {
        const struct step *t = &s->step[k];
        if (t->discard) r = discard_whole_pages(t->va, t->size);
        if (t->prefetch && !r) r = (t->ordinary ? pageable_prefetch : uvm_prefetch)(t->va, t->size, t->target);
    }
    /* to a full device nothing comes, and nobody is told (observed on H200): nothing depends on where memory is */
    return r == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : r;
}

/* The stream that the caller means. What is refused for its flags ends no capture (observed on H200). */
static CUresult moving_stream(CUstream handle, unsigned long long flags, struct stream **out)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || (r = stream_get(c, handle, false, out))) return r;
    return flags ? CUDA_ERROR_INVALID_VALUE : capture_refuse(*out);
}

static CUresult move(struct stream *s, const struct move *moves, size_t count, bool discard, bool prefetch)
{
    if (!concurrent(stream_context(s)->device)) return CUDA_ERROR_INVALID_DEVICE;
    size_t bytes = sizeof(struct steps) + count * sizeof(struct step);
    _Alignas(struct steps) char few[sizeof(struct steps) + 4 * sizeof(struct step)];
    struct steps *steps = bytes <= sizeof few ? (void *)few : malloc(bytes);
    uint64_t total = 0;
    if (!steps) return CUDA_ERROR_OUT_OF_MEMORY;
    steps->count = 0;
    for (size_t k = 0; k < count; k++) {
        /* discarding ordinary memory does nothing */
        if (moves[k].ordinary && !prefetch) continue;
        steps->step[steps->count++] =
            (struct step){ moves[k].p, moves[k].size,    moves[k].target, discard && !moves[k].ordinary,
                           prefetch,   moves[k].ordinary };
        total += moves[k].size;
    }
    CUresult r = (total <= SHORT_MOVE ? stream_enqueue_short : stream_enqueue)(s, do_steps, steps, bytes);
    if ((char *)steps != few) free(steps);
    for (size_t k = 0; k < count && prefetch && !r; k++)
        r = moves[k].ordinary ? pageable_prefetched(moves[k].p, moves[k].size, moves[k].shown)
                              : attributes_prefetched(&moves[k].a, moves[k].p, moves[k].size, moves[k].shown);
    return r;
}

static CUresult prefetch(CUdeviceptr p, size_t count, CUmemLocation l, unsigned flags, CUstream handle)
{
    struct stream *s;
    struct move m = { .p = p, .size = count, .shown = l };
    CUresult r = moving_stream(handle, flags, &s);
    if (r) return r;
    if (!p || !count) return CUDA_ERROR_INVALID_VALUE;
    if ((r = resolve(l, &m.target))) return r;
    if ((r = managed(p, count, &m.a)) && !(m.ordinary = ordinary(p, count))) return r;
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
    return prefetch(devPtr, count, from_device(dstDevice), 0, hStream);
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

/* Unlike a single prefetch's, the host's location is shown with the id it was given (observed on H200). */
static CUresult check_batch(const struct batch *b, struct move *moves)
{
    CUresult r = CUDA_SUCCESS;
    size_t at = 0;
    for (size_t k = 0; k < b->locations; k++)
        if (b->index[k] >= b->count || (k ? b->index[k] < b->index[k - 1] : b->index[k]))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < b->count && !r; k++) {
        struct move *m = &moves[k];
        m->p = b->p[k];
        m->size = b->size[k];
        if (b->prefetch) {
            while (at + 1 < b->locations && b->index[at + 1] <= k) at++;
            m->shown = b->location[at];
            if (resolve(m->shown, &m->target)) r = CUDA_ERROR_INVALID_VALUE; /* also for no device (observed on H200) */
        }
        if (!r && (r = managed(m->p, m->size, &m->a)) && (m->ordinary = ordinary(m->p, m->size))) r = CUDA_SUCCESS;
    }
    return r;
}

static CUresult do_batch(const struct batch *b, CUstream handle)
{
    struct stream *s;
    struct move *moves;
    CUresult r = moving_stream(handle, b->flags, &s);
    if (r) return r;
    if (!handle || handle == CU_STREAM_LEGACY || !b->p || !b->size || !b->count) return CUDA_ERROR_INVALID_VALUE;
    if (b->prefetch && (!b->location || !b->index || !b->locations || b->locations > b->count))
        return CUDA_ERROR_INVALID_VALUE;
    if (!(moves = calloc(b->count, sizeof *moves))) return CUDA_ERROR_OUT_OF_MEMORY;
    r = check_batch(b, moves);
    if (!r) r = move(s, moves, b->count, b->discard, b->prefetch);
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

/* ---- attributes */

/* The first interface knows devices and the host only, whatever its node. */
static int as_device(CUmemLocation l)
{
    return l.type == CU_MEM_LOCATION_TYPE_DEVICE    ? l.id
           : l.type == CU_MEM_LOCATION_TYPE_INVALID ? ATTRIBUTES_NOBODY
                                                    : CU_DEVICE_CPU;
}

/* Devices in their order, then the host; the rest says nobody. */
static void answer_accessed_by(uint32_t who, int *out, size_t count)
{
    size_t n = 0;
    for (int k = 0; k < device_count && n < count; k++)
        if (who >> k & 1) out[n++] = k;
    if (who & ATTRIBUTES_HOST && n < count) out[n++] = CU_DEVICE_CPU;
    while (n < count) out[n++] = ATTRIBUTES_NOBODY;
}

static bool answerable(const void *data, size_t size, CUmem_range_attribute attribute)
{
    if ((int)attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
        attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
        return false;
    bool list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    return data && size && (list ? !(size % sizeof(int)) : size == sizeof(int));
}

static void answer(void *data, size_t size, CUmem_range_attribute attribute, const struct attributes *v)
{
    int *out = data;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *out = v->read_mostly; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *out = as_device(v->preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: answer_accessed_by(v->accessed_by, out, size / sizeof *out); break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *out = as_device(v->prefetched); break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *out = v->preferred.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *out = v->preferred.id; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *out = v->prefetched.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *out = v->prefetched.id; break;
    default: break;
    }
}

CUresult CUDAAPI cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
                                         size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
    struct context *c;
    struct allocation a;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!data || !dataSizes || !attributes || !numAttributes) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < numAttributes; k++)
        if (!answerable(data[k], dataSizes[k], attributes[k])) return CUDA_ERROR_INVALID_VALUE;
    if ((r = managed(devPtr, count, &a)) && !ordinary(devPtr, count)) return r;
    struct attributes v = r ? pageable_attributes(devPtr, count) : attributes_get(&a, devPtr, count);
    for (size_t k = 0; k < numAttributes; k++) answer(data[k], dataSizes[k], attributes[k], &v);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                        CUdeviceptr devPtr, size_t count)
{
    return cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}

/* ---- streams */

struct attachment {
    uint64_t va;
    unsigned flags;
    const void *stream;
};

static CUresult do_attach(void *arg)
{
    const struct attachment *t = arg;
    return uvm_attach(t->va, t->flags, t->stream);
}

/* Where the host may touch managed memory at any time, who is attached to what changes nothing. */
CUresult CUDAAPI cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
    struct context *c;
    struct stream *s;
    struct allocation a;
    CUresult r = context_current(&c);
    if (r || (r = stream_get(c, hStream, false, &s))) return r;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags == CU_MEM_ATTACH_SINGLE && (!hStream || hStream == CU_STREAM_LEGACY)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = capture_refuse(s))) return r;
    if ((r = managed(dptr, 1, &a))) return length && ordinary(dptr, length) ? CUDA_SUCCESS : r;
    if (a.base != dptr || (length && length != a.size)) return CUDA_ERROR_INVALID_VALUE;
    const struct attachment t = { dptr, flags, s };
    return uvm_exclusive ? stream_enqueue_short(s, do_attach, &t, sizeof t) : CUDA_SUCCESS;
}
