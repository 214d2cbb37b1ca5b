/* Device and managed memory. */
#include "runtime/runtime.h"

cudaError_t CUDARTAPI cudaMalloc(void **devPtr, size_t size)
{
    CUdeviceptr p = 0;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!devPtr) return cudaErrorInvalidValue;
    if (size && (r = runtime_error(cuMemAlloc(&p, size)))) return r;
    *devPtr = (void *)p;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemAllocManaged((CUdeviceptr *)devPtr, size, flags));
}

cudaError_t CUDARTAPI cudaFree(void *devPtr)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemFree((CUdeviceptr)devPtr));
}
