/* Unified Memory: managed allocations, advice, who is attached to what. What advice
 * does is in src/uvm; prefetches are um_move.c's, what is answered um_attributes.c's. */
#include "api/um.h"
#include "base/log.h"
#include "base/numa.h"
#include "base/units.h"
#include "graph/capture.h"
#include "stream/stream.h"
#include "uvm/pageable.h"
#include "uvm/uvm.h"

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct context *c;
    struct allocation *a;
    if (dptr) *dptr = 0;
    if (!dptr || !bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE; /* before anything else: observed on H200 */
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!profile_attribute(c->device->profile, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)) return CUDA_ERROR_NOT_SUPPORTED;
    if ((r = context_enter(c))) return r;
    if (!(r = uvm_alloc(c, bytesize, flags, &a))) *dptr = a->base;
    return context_leave(c, r);
}

/* ---- what a call speaks of */

static bool managed_at(CUdeviceptr p, struct allocation *a)
{
    return space_look(p, a) && a->kind == ALLOCATION_MANAGED;
}

CUresult um_managed(CUdeviceptr *p, size_t *size, struct allocation *a)
{
    if (!*size || !managed_at(*p, a)) return CUDA_ERROR_INVALID_VALUE;
    uint64_t end = *p + *size;
    if (end > a->base + a->size) return CUDA_ERROR_INVALID_VALUE;
    if (end < *p) {
        fl_log_once(FL_LOG_WARN,
                    "a range of %zu bytes of managed memory at %#llx ends behind the end of all addresses: as NVIDIA's "
                    "driver does, no more of it than the page that it begins in is looked at, if anything",
                    *size, *p);
        end = page_up(end);
        *size = end > *p ? end - *p : 0;
        if (!*size) *p = page_down(*p);
    }
    return CUDA_SUCCESS;
}

bool um_concurrent(const struct device *d)
{
    return profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
}

/* A device that managed memory may be at while the host touches it. */
static CUresult check_device(int ordinal)
{
    struct device *d;
    CUresult r = device_get(ordinal, &d);
    return !r && !um_concurrent(d) ? CUDA_ERROR_INVALID_DEVICE : r;
}

CUresult um_resolve(CUmemLocation l, CUmemLocation *out)
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

CUmemLocation um_from_device(CUdevice d)
{
    return (CUmemLocation){ .type = d == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                            .id = d };
}

bool um_ordinary(CUdeviceptr p, size_t size)
{
    struct allocation a;
    return uvm_pageable && !space_look(p, &a) && uvm_reaches(p, size, false);
}

/* ---- advice */

static bool host_tables(const struct device *d)
{
    return profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
}

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
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: return um_resolve(l, out);
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: return host_node(l) ? CUDA_ERROR_INVALID_VALUE : um_resolve(l, out);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Observed on H200: where a node of the host is named, or the current one, nobody looks whether the memory is managed. */
static CUresult advise_nothing(CUdeviceptr p)
{
    fl_log_once(FL_LOG_WARN,
                "cuMemAdvise with a NUMA node of the host answers CUDA_SUCCESS for memory that is not managed (%#llx), "
                "as NVIDIA's driver does, and changes nothing",
                p);
    return CUDA_SUCCESS;
}

static CUresult advise(CUdeviceptr p, size_t count, CUmem_advise advice, CUmemLocation l, CUresult no_device)
{
    struct context *c;
    struct allocation a;
    const bool node = host_node(l);
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!node && (!p || !count)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = advised_location(advice, l, &l)))
        return r == CUDA_ERROR_INVALID_DEVICE && (l.id < 0 || l.id >= device_count) ? no_device : r;
    if (managed_at(p, &a) && a.pool) return CUDA_ERROR_NOT_SUPPORTED; /* observed on H200: a pool's location is its advice */
    if (!(r = um_managed(&p, &count, &a)) && !count) r = CUDA_ERROR_INVALID_VALUE; /* of advice alone (observed on H200) */
    if (r) {
        if (um_ordinary(p, count)) return pageable_advise(p, count, advice, l, host_tables(c->device));
        return node ? advise_nothing(p) : r;
    }
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
    return advise(devPtr, count, advice, um_from_device(device), CUDA_ERROR_INVALID_DEVICE);
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
    struct stream *s;
    struct allocation a;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
        return CUDA_ERROR_INVALID_VALUE;
    /* the same stream by its other name is one to attach to (observed on an H200) */
    if (flags == CU_MEM_ATTACH_SINGLE && !hStream) return CUDA_ERROR_INVALID_VALUE;
    if ((r = capture_refuse(s)) || (r = capture_refuse_unsafe())) return r;
    if (!managed_at(dptr, &a))
        return length && um_ordinary(dptr, length) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (a.base != dptr || a.pool || (length && length != a.size)) return CUDA_ERROR_INVALID_VALUE;
    const struct attachment t = { dptr, flags, s };
    return uvm_exclusive ? stream_enqueue_short(s, do_attach, &t, sizeof t) : CUDA_SUCCESS;
}
