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

static cudaError_t check(size_t count, enum cudaMemcpyKind kind, enum cudaMemcpyKind from_or_to_host)
{
    if (kind == from_or_to_host || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault || !count)
        return cudaSuccess;
    return cudaErrorInvalidMemcpyDirection;
}

cudaError_t CUDARTAPI cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
                                         enum cudaMemcpyKind kind)
{
    void *at;
    cudaError_t r = check(count, kind, cudaMemcpyHostToDevice);
    if (!r) r = runtime_part(symbol, offset, count, &at);
    return r ? r : cudaMemcpy(at, src, count, kind);
}

cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
                                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *at;
    cudaError_t r = check(count, kind, cudaMemcpyHostToDevice);
    if (!r) r = runtime_part(symbol, offset, count, &at);
    return r ? r : cudaMemcpyAsync(at, src, count, kind, stream);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                           enum cudaMemcpyKind kind)
{
    void *at;
    cudaError_t r = check(count, kind, cudaMemcpyDeviceToHost);
    if (!r) r = runtime_part(symbol, offset, count, &at);
    return r ? r : cudaMemcpy(dst, at, count, kind);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
                                                enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *at;
    cudaError_t r = check(count, kind, cudaMemcpyDeviceToHost);
    if (!r) r = runtime_part(symbol, offset, count, &at);
    return r ? r : cudaMemcpyAsync(dst, at, count, kind, stream);
}
