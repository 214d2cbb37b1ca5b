/* Copies of bytes that lie in a row, within a device and between two. */
#include "runtime/copy.h"

PER_THREAD_FORM(cuMemcpy);
PER_THREAD_FORM(cuMemcpyHtoD_v2);
PER_THREAD_FORM(cuMemcpyDtoH_v2);
PER_THREAD_FORM(cuMemcpyDtoD_v2);

cudaError_t runtime_kind(enum cudaMemcpyKind kind, CUmemorytype *from, CUmemorytype *to)
{
    static const struct {
        CUmemorytype from, to;
    } sides[] = {
        [cudaMemcpyHostToHost] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST },
        [cudaMemcpyHostToDevice] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE },
        [cudaMemcpyDeviceToHost] = { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST },
        [cudaMemcpyDeviceToDevice] = { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE },
        [cudaMemcpyDefault] = { CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED },
    };
    if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    *from = sides[kind].from;
    *to = sides[kind].to;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    const CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
    cudaError_t r = runtime_ready();
    if (r || !count) return r;
    switch (kind) {
    case cudaMemcpyHostToDevice: return runtime_error(DRIVER(cuMemcpyHtoD_v2, to, src, count));
    case cudaMemcpyDeviceToHost: return runtime_error(DRIVER(cuMemcpyDtoH_v2, dst, from, count));
    case cudaMemcpyDeviceToDevice: return runtime_error(DRIVER(cuMemcpyDtoD_v2, to, from, count));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: return runtime_error(DRIVER(cuMemcpy, to, from, count));
    }
    return cudaErrorInvalidMemcpyDirection;
}

/* Managed memory is the host's then, too, which the driver's call for any two addresses would not know. */
static cudaError_t between_hosts(void *dst, const void *src, size_t count, cudaStream_t stream)
{
    const CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = src, .dstMemoryType = CU_MEMORYTYPE_HOST,
                              .dstHost = dst, .WidthInBytes = count, .Height = 1 };
    return runtime_error(cuMemcpy2DAsync(&c, stream));
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    const CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
    cudaError_t r = runtime_ready();
    if (r || !count) return r;
    switch (kind) {
    case cudaMemcpyHostToDevice: return runtime_error(cuMemcpyHtoDAsync(to, src, count, stream));
    case cudaMemcpyDeviceToHost: return runtime_error(cuMemcpyDtoHAsync(dst, from, count, stream));
    case cudaMemcpyDeviceToDevice: return runtime_error(cuMemcpyDtoDAsync(to, from, count, stream));
    case cudaMemcpyHostToHost: return between_hosts(dst, src, count, stream);
    case cudaMemcpyDefault: return runtime_error(cuMemcpyAsync(to, from, count, stream));
    }
    return cudaErrorInvalidMemcpyDirection;
}

/* ---- Between two devices */

static cudaError_t contexts(int to, int from, CUcontext *a, CUcontext *b)
{
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_primary(to, a);
    return r ? r : runtime_primary(from, b);
}

cudaError_t CUDARTAPI cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
    CUcontext to, from;
    cudaError_t r = count ? contexts(dstDevice, srcDevice, &to, &from) : runtime_ready();
    return r || !count ? r : runtime_error(cuMemcpyPeer((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count));
}

cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
                                          cudaStream_t stream)
{
    CUcontext to, from;
    cudaError_t r = count ? contexts(dstDevice, srcDevice, &to, &from) : runtime_ready();
    return r || !count ? r
                       : runtime_error(cuMemcpyPeerAsync((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count, stream));
}
