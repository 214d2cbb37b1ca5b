/* Memory of devices and of the host: allocated and freed. What a size of 0 allocates is NULL, and so is what could
 * not be allocated (observed on an H200). */
#include "runtime/runtime.h"

enum { ELEMENT = 4 }; /* bytes that rows are aligned for at least */

cudaError_t CUDARTAPI cudaMalloc(void **devPtr, size_t size)
{
    cudaError_t r = devPtr ? runtime_ready() : runtime_init();
    if (r) return r;
    if (!devPtr) return cudaErrorInvalidValue;
    *devPtr = NULL;
    return size ? runtime_error(cuMemAlloc((CUdeviceptr *)devPtr, size)) : cudaSuccess;
}

cudaError_t CUDARTAPI cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    cudaError_t r = devPtr ? runtime_ready() : runtime_init();
    if (r) return r;
    if (!devPtr) return cudaErrorInvalidValue;
    *devPtr = NULL;
    return size ? runtime_error(cuMemAllocManaged((CUdeviceptr *)devPtr, size, flags)) : cudaSuccess;
}

static cudaError_t allocate_rows(void **at, size_t *pitch, size_t width, size_t height, size_t depth)
{
    size_t rows;
    *at = NULL;
    *pitch = 0;
    if (__builtin_mul_overflow(height, depth, &rows)) return cudaErrorInvalidValue;
    return width && rows ? runtime_error(cuMemAllocPitch((CUdeviceptr *)at, pitch, width, rows, ELEMENT)) : cudaSuccess;
}

cudaError_t CUDARTAPI cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    cudaError_t r = devPtr && pitch ? runtime_ready() : runtime_init();
    if (r) return r;
    return devPtr && pitch ? allocate_rows(devPtr, pitch, width, height, 1) : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!pitchedDevPtr) return cudaErrorInvalidValue;
    r = allocate_rows(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width, extent.height, extent.depth);
    if (r) return r;
    pitchedDevPtr->xsize = extent.width;
    pitchedDevPtr->ysize = extent.height;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFree(void *devPtr)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemFree((CUdeviceptr)devPtr));
}

cudaError_t CUDARTAPI cudaMemGetInfo(size_t *free, size_t *total)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemGetInfo(free, total));
}

/* ---- Pinned memory of the host */

cudaError_t CUDARTAPI cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!pHost) return cudaErrorInvalidValue;
    *pHost = NULL;
    return size ? runtime_error(cuMemHostAlloc(pHost, size, flags)) : cudaSuccess;
}

cudaError_t CUDARTAPI cudaMallocHost(void **ptr, size_t size) { return cudaHostAlloc(ptr, size, cudaHostAllocDefault); }

cudaError_t CUDARTAPI cudaFreeHost(void *ptr)
{
    cudaError_t r = runtime_ready();
    return r || !ptr ? r : runtime_error(cuMemFreeHost(ptr));
}

cudaError_t CUDARTAPI cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemHostRegister(ptr, size, flags));
}

cudaError_t CUDARTAPI cudaHostUnregister(void *ptr)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemHostUnregister(ptr));
}

cudaError_t CUDARTAPI cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    CUdeviceptr p = 0;
    CUresult answer = cuMemHostGetDevicePointer(pDevice ? &p : NULL, pHost, flags);
    if (pDevice && pHost) *pDevice = (void *)p; /* NULL if it failed (observed on H200) */
    return runtime_error(answer);
}

cudaError_t CUDARTAPI cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemHostGetFlags(pFlags, pHost));
}
