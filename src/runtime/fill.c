/* Fills with one byte: of bytes in a row, of rows, of boxes. */
#include "runtime/runtime.h"

PER_THREAD_FORM(cuMemsetD8_v2);
PER_THREAD_FORM(cuMemsetD2D8_v2);

cudaError_t CUDARTAPI cudaMemset(void *devPtr, int value, size_t count)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(DRIVER(cuMemsetD8_v2, (CUdeviceptr)devPtr, (unsigned char)value, count));
}

cudaError_t CUDARTAPI cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemsetD8Async((CUdeviceptr)devPtr, (unsigned char)value, count, stream));
}

cudaError_t CUDARTAPI cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(DRIVER(cuMemsetD2D8_v2, (CUdeviceptr)devPtr, pitch, (unsigned char)value, width, height));
}

cudaError_t CUDARTAPI cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height,
                                        cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemsetD2D8Async((CUdeviceptr)devPtr, pitch, (unsigned char)value, width, height, stream));
}

/* Slices without rows between them are filled as one. */
static size_t slices(const struct cudaPitchedPtr *p, struct cudaExtent *e)
{
    if (e->depth > 1 && e->height == p->ysize && !__builtin_mul_overflow(e->height, e->depth, &e->height)) e->depth = 1;
    return e->width && e->height ? e->depth : 0;
}

cudaError_t CUDARTAPI cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
    char *at = pitchedDevPtr.ptr;
    const size_t count = slices(&pitchedDevPtr, &extent), slice = pitchedDevPtr.pitch * pitchedDevPtr.ysize;
    cudaError_t r = runtime_ready();
    for (size_t z = 0; z < count && !r; z++)
        r = cudaMemset2D(at + z * slice, pitchedDevPtr.pitch, value, extent.width, extent.height);
    return r;
}

cudaError_t CUDARTAPI cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
                                        cudaStream_t stream)
{
    char *at = pitchedDevPtr.ptr;
    const size_t count = slices(&pitchedDevPtr, &extent), slice = pitchedDevPtr.pitch * pitchedDevPtr.ysize;
    cudaError_t r = runtime_ready();
    for (size_t z = 0; z < count && !r; z++)
        r = cudaMemset2DAsync(at + z * slice, pitchedDevPtr.pitch, value, extent.width, extent.height, stream);
    return r;
}
