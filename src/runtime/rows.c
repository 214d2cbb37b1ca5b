/* Copies of rows, also of those of arrays; there offsets and widths are in bytes. */
#include "runtime/copy.h"

PER_THREAD_FORM(cuMemcpy2DUnaligned_v2);

static cudaError_t perform(const CUDA_MEMCPY2D *c) { return runtime_error(DRIVER(cuMemcpy2DUnaligned_v2, c)); }

static cudaError_t perform_async(const CUDA_MEMCPY2D *c, cudaStream_t stream)
{
    return runtime_error(cuMemcpy2DAsync(c, stream));
}

/* ---- Between addresses */

static cudaError_t describe(CUDA_MEMCPY2D *c, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                            size_t height, enum cudaMemcpyKind kind)
{
    cudaError_t r = runtime_ready();
    *c = (CUDA_MEMCPY2D){ .srcHost = src,
                          .srcDevice = (CUdeviceptr)src,
                          .srcPitch = spitch,
                          .dstHost = dst,
                          .dstDevice = (CUdeviceptr)dst,
                          .dstPitch = dpitch,
                          .WidthInBytes = width,
                          .Height = height };
    if (!r) r = runtime_kind(kind, &c->srcMemoryType, &c->dstMemoryType);
    if (r) return r;
    return height > 1 && (width > dpitch || width > spitch) ? cudaErrorInvalidPitchValue : cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                   size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D c;
    if (!width || !height) return runtime_ready();
    cudaError_t r = describe(&c, dst, dpitch, src, spitch, width, height, kind);
    return r ? r : perform(&c);
}

cudaError_t CUDARTAPI cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                        size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D c;
    if (!width || !height) return runtime_ready();
    cudaError_t r = describe(&c, dst, dpitch, src, spitch, width, height, kind);
    return r ? r : perform_async(&c, stream);
}

/* ---- Of arrays */

static cudaError_t describe_to(CUDA_MEMCPY2D *c, cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch,
                               size_t width, size_t height, enum cudaMemcpyKind kind)
{
    cudaError_t r = describe(c, NULL, width, src, pitch, width, height, kind);
    if (r) return r;
    if (!dst) return cudaErrorInvalidResourceHandle;
    if (c->dstMemoryType == CU_MEMORYTYPE_HOST) return cudaErrorInvalidMemcpyDirection;
    c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c->dstArray = (CUarray)dst;
    c->dstXInBytes = x;
    c->dstY = y;
    c->dstPitch = 0;
    return cudaSuccess;
}

static cudaError_t describe_from(CUDA_MEMCPY2D *c, void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y,
                                 size_t width, size_t height, enum cudaMemcpyKind kind)
{
    cudaError_t r = describe(c, dst, pitch, NULL, width, width, height, kind);
    if (r) return r;
    if (!src) return cudaErrorInvalidResourceHandle;
    if (c->srcMemoryType == CU_MEMORYTYPE_HOST) return cudaErrorInvalidMemcpyDirection;
    c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c->srcArray = (CUarray)src;
    c->srcXInBytes = x;
    c->srcY = y;
    c->srcPitch = 0;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                          size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D c;
    if (!width || !height) return runtime_ready();
    cudaError_t r = describe_to(&c, dst, wOffset, hOffset, src, spitch, width, height, kind);
    return r ? r : perform(&c);
}

cudaError_t CUDARTAPI cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                               size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                                               cudaStream_t stream)
{
    CUDA_MEMCPY2D c;
    if (!width || !height) return runtime_ready();
    cudaError_t r = describe_to(&c, dst, wOffset, hOffset, src, spitch, width, height, kind);
    return r ? r : perform_async(&c, stream);
}

cudaError_t CUDARTAPI cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                                            size_t hOffset, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D c;
    if (!width || !height) return runtime_ready();
    cudaError_t r = describe_from(&c, dst, dpitch, src, wOffset, hOffset, width, height, kind);
    return r ? r : perform(&c);
}

cudaError_t CUDARTAPI cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                                                 size_t hOffset, size_t width, size_t height, enum cudaMemcpyKind kind,
                                                 cudaStream_t stream)
{
    CUDA_MEMCPY2D c;
    if (!width || !height) return runtime_ready();
    cudaError_t r = describe_from(&c, dst, dpitch, src, wOffset, hOffset, width, height, kind);
    return r ? r : perform_async(&c, stream);
}

cudaError_t CUDARTAPI cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                               cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                               size_t width, size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D c;
    if (!width || !height) return runtime_ready();
    cudaError_t r = describe_to(&c, dst, wOffsetDst, hOffsetDst, NULL, width, width, height, kind);
    if (r) return r;
    if (!src) return cudaErrorInvalidResourceHandle;
    if (c.srcMemoryType == CU_MEMORYTYPE_HOST) return cudaErrorInvalidMemcpyDirection;
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c.srcArray = (CUarray)src;
    c.srcXInBytes = wOffsetSrc;
    c.srcY = hOffsetSrc;
    c.srcPitch = 0;
    return perform(&c);
}
