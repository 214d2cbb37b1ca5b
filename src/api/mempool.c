/* Stream-ordered memory: the checks of arguments, in the driver's order. Pools
 * and what they lend are src/mempool's affair. */
#include "api/node_check.h"
#include "graph/capture.h"
#include "mempool/mempool.h"
#include "vmm/vmm.h"

#include <stdint.h>

static CUresult ready(void)
{
    CUresult r = library_ready();
    return r ? r : sticky_get();
}

static CUresult named(CUmemoryPool handle, struct mempool **out)
{
    CUresult r = ready();
    return r ? r : mempool_get(handle, out);
}

static CUmemLocation on_device(int ordinal)
{
    return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal };
}

/* ---- lending */

/* In a capture an allocation is of the graph, whatever the pool, but for the pool's location and who has access now. */
static bool captured(struct stream *s, struct mempool *p, size_t size, CUdeviceptr *dptr, CUresult *r)
{
    CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .alloc = { .bytesize = size } };
    CUmemAccessDesc access[MAX_DEVICES];
    CUmemAccess_flags flags;
    mempool_describe(p, &node.alloc.poolProps);
    node.alloc.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    node.alloc.accessDescs = access;
    const CUmemLocation *own = &node.alloc.poolProps.location;
    for (int k = 0; k < device_count; k++)
        if ((own->type != CU_MEM_LOCATION_TYPE_DEVICE || own->id != k) &&
            !mempool_get_access(p, on_device(k), &flags) && flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            access[node.alloc.accessDescCount++] = (CUmemAccessDesc){ on_device(k), flags };
    return capture_alloc(s, &node, dptr, r);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    struct stream *s;
    struct mempool *p;
    if (dptr) *dptr = 0; /* whatever fails: observed on an H200 */
    CUresult r = stream_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : stream_named(hStream, &s);
    if (r) return r;
    if (!dptr) return CUDA_ERROR_INVALID_VALUE;
    const CUmemLocation where = on_device(stream_context(s)->device->ordinal);
    r = mempool_current(where, CU_MEM_ALLOCATION_TYPE_PINNED, &p);
    if (!r && bytesize && capture_any() && captured(s, p, bytesize, dptr, &r)) return r;
    if (!r) r = bytesize ? capture_refuse_unsafe() : capture_order(s);
    return r ? r : mempool_alloc_current(where, CU_MEM_ALLOCATION_TYPE_PINNED, bytesize, s, dptr);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    struct stream *s;
    struct mempool *p;
    if (dptr) *dptr = 0;
    CUresult r = stream_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : stream_named(hStream, &s);
    if (r) return r;
    if (!dptr) return CUDA_ERROR_INVALID_VALUE;
    if ((r = mempool_get(pool, &p))) return capture_order(s) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : r;
    if (capture_any() && captured(s, p, bytesize, dptr, &r)) return r;
    if ((r = capture_refuse_unsafe())) return r;
    return mempool_alloc(p, bytesize, s, dptr);
}

CUresult free_perform(CUdeviceptr dptr, struct stream *s)
{
    struct allocation a;
    if (!space_look(dptr, &a)) return CUDA_ERROR_INVALID_VALUE;
    if (a.pool) return mempool_free(&a, dptr, s);
    if (a.kind == ALLOCATION_MANAGED) /* observed on an H200 */
        return dptr == a.base ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    if (a.kind != ALLOCATION_DEVICE || a.base != dptr || a.module_owned) return CUDA_ERROR_INVALID_VALUE;
    return mempool_free_later(&a, s);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct stream *s;
    CUresult r = stream_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : stream_named(hStream, &s);
    if (r) return r;
    if (!dptr) return CUDA_SUCCESS;
    const CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = { dptr } };
    if (capture_node(s, &node, &r) || (r = capture_refuse_unsafe())) return r;
    return free_perform(dptr, s);
}

/* ---- pools */

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    struct mempool *p;
    CUresult r = ready();
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!pool || !poolProps) return CUDA_ERROR_INVALID_VALUE;
    if (!(r = mempool_create(poolProps, &p))) *pool = (CUmemoryPool)p;
    return r;
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    struct mempool *p;
    CUresult r = named(pool, &p);
    return r || (r = capture_refuse_unsafe()) ? r : mempool_destroy(p);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    struct mempool *p;
    CUresult r = named(pool, &p);
    if (!r) r = capture_refuse_unsafe();
    return r ? r : mempool_trim(p, minBytesToKeep);
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct mempool *p;
    CUresult r = named(pool, &p);
    if (r || (r = capture_refuse_unsafe())) return r;
    return value ? mempool_set_attribute(p, attr, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct mempool *p;
    CUresult r = named(pool, &p);
    if (r || (r = capture_refuse_unsafe())) return r;
    return value ? mempool_get_attribute(p, attr, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    struct mempool *p;
    CUresult r = named(pool, &p);
    if (r || (r = capture_refuse_unsafe())) return r;
    return map ? mempool_set_access(p, map, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
    struct mempool *p;
    CUresult r = named(memPool, &p);
    if (r) return r;
    return flags && location ? mempool_get_access(p, *location, flags) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- the pools of locations */

typedef CUresult choice(CUmemLocation l, CUmemAllocationType type, struct mempool **out);

static CUresult of_location(CUmemoryPool *pool, const CUmemLocation *l, CUmemAllocationType type, choice *which)
{
    struct mempool *p;
    CUresult r = ready();
    if (r) return r;
    if (!pool || !l) return CUDA_ERROR_INVALID_VALUE;
    if (!(r = which(*l, type, &p))) *pool = (CUmemoryPool)p;
    return r;
}

static CUresult of_device(CUmemoryPool *pool, CUdevice dev, choice *which)
{
    struct device *d;
    CUresult r = device_get(dev, &d);
    if (r) return r;
    CUmemLocation l = on_device(d->ordinal);
    return of_location(pool, &l, CU_MEM_ALLOCATION_TYPE_PINNED, which);
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    return of_device(pool_out, dev, mempool_default);
}

/* What is no device is one only for the call that asks for its first pool (observed on an H200). */
static CUresult no_device_is_no_value(CUresult r)
{
    return r == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    return no_device_is_no_value(of_device(pool, dev, mempool_current));
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct device *d;
    struct mempool *p;
    CUresult r = no_device_is_no_value(device_get(dev, &d));
    if (r || (r = named(pool, &p)) || (r = capture_refuse_unsafe())) return r;
    return mempool_set_device(d->ordinal, p);
}

CUresult CUDAAPI cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type)
{
    return of_location(pool_out, location, type, mempool_default);
}

CUresult CUDAAPI cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    return of_location(pool, location, type, mempool_current);
}

CUresult CUDAAPI cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    struct mempool *p;
    CUresult r = named(pool, &p);
    if (r) return r;
    return location ? mempool_set_current(*location, type, p) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- other processes */

CUresult CUDAAPI cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                                  CUmemAllocationHandleType handleType, unsigned long long flags)
{
    struct mempool *p;
    CUresult r = named(pool, &p);
    if (r) return r;
    return handle_out && !flags ? mempool_export(p, handleType, handle_out) : CUDA_ERROR_INVALID_VALUE;
}

/* What is no pool is refused with another error if it is memory (observed on an H200). */
static bool is_allocation(int fd)
{
    CUmemGenericAllocationHandle h;
    return !vmm_import_descriptor(fd, &h) && !vmm_release(h);
}

CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                    CUmemAllocationHandleType handleType, unsigned long long flags)
{
    struct mempool *p;
    CUresult r = ready();
    if (r) return r;
    if (!pool_out || flags) return CUDA_ERROR_INVALID_VALUE;
    if (!(r = mempool_import((int)(intptr_t)handle, handleType, &p))) *pool_out = (CUmemoryPool)p;
    return r == CUDA_ERROR_UNKNOWN && is_allocation((int)(intptr_t)handle) ? CUDA_ERROR_NOT_SUPPORTED : r;
}

CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    CUresult r = ready();
    if (r) return r;
    return shareData_out ? mempool_export_pointer(ptr, shareData_out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *shareData)
{
    struct mempool *p;
    CUresult r = named(pool, &p);
    if (r) return r;
    return ptr_out && shareData ? mempool_import_pointer(p, shareData, ptr_out) : CUDA_ERROR_INVALID_VALUE;
}
