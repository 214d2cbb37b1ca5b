/* Variables of the program that live on the device: where they are, and copies to and from them. */
#include "runtime/copy.h"

cudaError_t CUDARTAPI cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    return devPtr ? runtime_variable(symbol, (CUdeviceptr *)devPtr, NULL) : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr address;
    return size ? runtime_variable(symbol, &address, size) : cudaErrorInvalidValue;
}

cudaError_t runtime_part(const void *symbol, size_t offset, size_t count, void **at)
{
    CUdeviceptr address;
    size_t size;
    cudaError_t r = runtime_variable(symbol, &address, &size);
    if (r) return r;
    if (offset > size || count > size - offset) return cudaErrorInvalidValue;
    *at = (void *)(address + offset);
    return cudaSuccess;
}

/* Where the part is that may be copied so. */
static cudaError_t find(const void *symbol, size_t offset, size_t count, enum cudaMemcpyKind kind,
                        enum cudaMemcpyKind from_or_to_host, void **at)
{
    if (kind != from_or_to_host && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    return runtime_part(symbol, offset, count, at);
}

cudaError_t CUDARTAPI cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
                                         enum cudaMemcpyKind kind)
{
    void *at;
    cudaError_t r = count ? find(symbol, offset, count, kind, cudaMemcpyHostToDevice, &at) : runtime_ready();
    return r || !count ? r : cudaMemcpy(at, src, count, kind);
}

cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
                                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *at;
    cudaError_t r = count ? find(symbol, offset, count, kind, cudaMemcpyHostToDevice, &at) : runtime_ready();
    return r || !count ? r : cudaMemcpyAsync(at, src, count, kind, stream);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                           enum cudaMemcpyKind kind)
{
    void *at;
    cudaError_t r = count ? find(symbol, offset, count, kind, cudaMemcpyDeviceToHost, &at) : runtime_ready();
    return r || !count ? r : cudaMemcpy(dst, at, count, kind);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
                                                enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *at;
    cudaError_t r = count ? find(symbol, offset, count, kind, cudaMemcpyDeviceToHost, &at) : runtime_ready();
    return r || !count ? r : cudaMemcpyAsync(dst, at, count, kind, stream);
}
