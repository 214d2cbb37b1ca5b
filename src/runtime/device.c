/* Devices: how many there are, what one attribute of them is, and the settings
 * of the current one. */
#include "runtime/runtime.h"
#include "runtime/array.h"

#include <stdio.h>

cudaError_t CUDARTAPI cudaGetDeviceCount(int *count)
{
    cudaError_t r = runtime_init();
    if (!count) return cudaErrorInvalidValue;
    if (r == cudaErrorCudartUnloading) r = cudaSuccess; /* asked of the driver alone, to the end */
    *count = 0;
    return r ? r : runtime_error(cuDeviceGetCount(count));
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device));
}

cudaError_t CUDARTAPI cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceGetByPCIBusId(device, pciBusId));
}

cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    enum { LENGTH = 13 };
    char all[LENGTH];
    cudaError_t r = runtime_init();
    if (r || (r = runtime_error(cuDeviceGetPCIBusId(all, sizeof all, device)))) return r;
    if (!pciBusId) return cudaErrorInvalidValue;
    /* what is too short for it gets its beginning */
    snprintf(pciBusId, (unsigned)len < LENGTH ? (unsigned)len : len < 0 ? LENGTH - 1 : LENGTH, "%s", all);
    return len < LENGTH ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice, int dstDevice)
{
    int count = 0;
    cudaError_t r = cudaGetDeviceCount(&count);
    if (r) return r;
    if (!value) return cudaErrorInvalidValue;
    if (srcDevice < 0 || dstDevice < 0 || srcDevice >= count || dstDevice >= count || srcDevice == dstDevice)
        return cudaErrorInvalidDevice;
    return runtime_error(cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attr, srcDevice, dstDevice));
}

cudaError_t CUDARTAPI cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                                          const enum cudaAtomicOperation *operations,
                                                          unsigned int count, int device)
{
    cudaError_t r = runtime_init();
    return r ? r
             : runtime_error(cuDeviceGetHostAtomicCapabilities(capabilities, (const CUatomicOperation *)operations,
                                                               count, device));
}

cudaError_t CUDARTAPI cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                                         const enum cudaAtomicOperation *operations, unsigned int count,
                                                         int srcDevice, int dstDevice)
{
    cudaError_t r = runtime_init();
    return r ? r
             : runtime_error(cuDeviceGetP2PAtomicCapabilities(capabilities, (const CUatomicOperation *)operations,
                                                              count, srcDevice, dstDevice));
}

/* Observed on H200: as many as 2^30, in 4 GiB. */
cudaError_t CUDARTAPI cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                           const struct cudaChannelFormatDesc *fmtDesc, int device)
{
    const size_t most = 1ul << 30, bytes = 1ul << 32;
    CUarray_format format;
    unsigned channels;
    int known;
    cudaError_t r = cudaDeviceGetAttribute(&known, cudaDevAttrWarpSize, device);
    if (r) return r;
    if (!maxWidthInElements || !fmtDesc) return cudaErrorInvalidValue;
    if ((r = runtime_format(fmtDesc, &format, &channels))) return r;
    size_t fit = bytes / ((size_t)(fmtDesc->x + fmtDesc->y + fmtDesc->z + fmtDesc->w) / 8);
    *maxWidthInElements = fit < most ? fit : most;
    return cudaSuccess;
}

/* ---- The current device ---- */

cudaError_t CUDARTAPI cudaDeviceSynchronize(void)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxSynchronize());
}

cudaError_t CUDARTAPI cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxSetLimit((CUlimit)limit, value));
}

cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxGetLimit(pValue, (CUlimit)limit));
}

cudaError_t CUDARTAPI cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxGetCacheConfig((CUfunc_cache *)pCacheConfig));
}

cudaError_t CUDARTAPI cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxSetCacheConfig((CUfunc_cache)cacheConfig));
}

cudaError_t CUDARTAPI cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxGetSharedMemConfig((CUsharedconfig *)pConfig));
}

cudaError_t CUDARTAPI cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxSetSharedMemConfig((CUsharedconfig)config));
}

cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxGetStreamPriorityRange(leastPriority, greatestPriority));
}

cudaError_t CUDARTAPI cudaCtxResetPersistingL2Cache(void)
{
    cudaError_t r = runtime_init(); /* makes no context */
    return r ? r : runtime_error(cuCtxResetPersistingL2Cache());
}

cudaError_t CUDARTAPI cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                                         enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)target,
                                                        (CUflushGPUDirectRDMAWritesScope)scope));
}

/* ---- Pools ---- */

cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceGetDefaultMemPool(memPool, device));
}

cudaError_t CUDARTAPI cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceSetMemPool(device, memPool));
}

cudaError_t CUDARTAPI cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    cudaError_t r = runtime_init();
    if (!r) r = runtime_error(cuDeviceGetMemPool(memPool, device));
    return r == cudaErrorInvalidDevice ? cudaErrorInvalidValue : r;
}
