/* Managed memory: advice, prefetches, discards, and what can be asked of a range. */
#include "runtime/runtime.h"

SAME_LAYOUT(struct cudaMemLocation, CUmemLocation);

static CUmemLocation location_of(struct cudaMemLocation l)
{
    return (CUmemLocation){ (CUmemLocationType)l.type, l.id };
}

cudaError_t CUDARTAPI cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                    struct cudaMemLocation location)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemAdvise((CUdeviceptr)devPtr, count, (CUmem_advise)advice, location_of(location)));
}

cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation location,
                                           unsigned int flags, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemPrefetchAsync((CUdeviceptr)devPtr, count, location_of(location), flags, stream));
}

cudaError_t CUDARTAPI cudaMemRangeGetAttribute(void *data, size_t dataSize, enum cudaMemRangeAttribute attribute,
                                               const void *devPtr, size_t count)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    return runtime_error(
        cuMemRangeGetAttribute(data, dataSize, (CUmem_range_attribute)attribute, (CUdeviceptr)devPtr, count));
}

cudaError_t CUDARTAPI cudaMemRangeGetAttributes(void **data, size_t *dataSizes, enum cudaMemRangeAttribute *attributes,
                                                size_t numAttributes, const void *devPtr, size_t count)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemRangeGetAttributes(data, dataSizes, (CUmem_range_attribute *)attributes, numAttributes,
                                                 (CUdeviceptr)devPtr, count));
}

/* ---- Batches */

cudaError_t CUDARTAPI cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                struct cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                                size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemPrefetchBatchAsync((CUdeviceptr *)dptrs, sizes, count, (CUmemLocation *)prefetchLocs,
                                                 prefetchLocIdxs, numPrefetchLocs, flags, stream));
}

cudaError_t CUDARTAPI cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count, unsigned long long flags,
                                               cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemDiscardBatchAsync((CUdeviceptr *)dptrs, sizes, count, flags, stream));
}

cudaError_t CUDARTAPI cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                          struct cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                                          size_t numPrefetchLocs, unsigned long long flags,
                                                          cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemDiscardAndPrefetchBatchAsync((CUdeviceptr *)dptrs, sizes, count,
                                                           (CUmemLocation *)prefetchLocs, prefetchLocIdxs,
                                                           numPrefetchLocs, flags, stream));
}
