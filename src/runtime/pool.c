/* The stream-ordered allocator. A pool's handle is the driver's own. */
#include "runtime/runtime.h"

SAME_LAYOUT(struct cudaMemPoolProps, CUmemPoolProps);
SAME_LAYOUT(struct cudaMemAccessDesc, CUmemAccessDesc);
SAME_LAYOUT(struct cudaMemLocation, CUmemLocation);
SAME_LAYOUT(struct cudaMemPoolPtrExportData, CUmemPoolPtrExportData);

/* ---- Memory */

cudaError_t CUDARTAPI cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    cudaError_t r = devPtr ? runtime_ready() : runtime_init();
    if (r) return r;
    if (!devPtr) return cudaErrorInvalidValue;
    *devPtr = NULL;
    return runtime_error(cuMemAllocAsync((CUdeviceptr *)devPtr, size, hStream));
}

cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (ptr) *ptr = NULL;
    return runtime_error(cuMemAllocFromPoolAsync((CUdeviceptr *)ptr, size, memPool, stream));
}

cudaError_t CUDARTAPI cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemFreeAsync((CUdeviceptr)devPtr, hStream));
}

/* ---- Pools */

cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuMemPoolCreate(memPool, (const CUmemPoolProps *)poolProps));
}

cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t memPool)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuMemPoolDestroy(memPool));
}

cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuMemPoolTrimTo(memPool, minBytesToKeep));
}

cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemPoolSetAttribute(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t CUDARTAPI cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemPoolGetAttribute(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t CUDARTAPI cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
                                           size_t count)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemPoolSetAccess(memPool, (const CUmemAccessDesc *)descList, count));
}

cudaError_t CUDARTAPI cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                           struct cudaMemLocation *location)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemPoolGetAccess((CUmemAccess_flags *)flags, memPool, (CUmemLocation *)location));
}

/* ---- The pools of a place: its own one, and the one that serves it now */

cudaError_t CUDARTAPI cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                               enum cudaMemAllocationType type)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemGetDefaultMemPool(memPool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t CUDARTAPI cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                        enum cudaMemAllocationType type)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemGetMemPool(memPool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t CUDARTAPI cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
                                        cudaMemPool_t memPool)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemSetMemPool((CUmemLocation *)location, (CUmemAllocationType)type, memPool));
}

/* ---- Other processes */

cudaError_t CUDARTAPI cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
                                                         enum cudaMemAllocationHandleType handleType,
                                                         unsigned int flags)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(
        cuMemPoolExportToShareableHandle(shareableHandle, memPool, (CUmemAllocationHandleType)handleType, flags));
}

cudaError_t CUDARTAPI cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
                                                           enum cudaMemAllocationHandleType handleType,
                                                           unsigned int flags)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(
        cuMemPoolImportFromShareableHandle(memPool, shareableHandle, (CUmemAllocationHandleType)handleType, flags));
}

cudaError_t CUDARTAPI cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData, void *ptr)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemPoolExportPointer((CUmemPoolPtrExportData *)exportData, (CUdeviceptr)ptr));
}

cudaError_t CUDARTAPI cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
                                               struct cudaMemPoolPtrExportData *exportData)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemPoolImportPointer((CUdeviceptr *)ptr, memPool, (CUmemPoolPtrExportData *)exportData));
}
