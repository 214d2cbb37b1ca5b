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

/* Where no rows lie between slices, all are filled as one. Otherwise the last slice comes first: where the box is too
 * large, nothing is filled. */
static cudaError_t fill_box(struct cudaPitchedPtr p, int value, struct cudaExtent e, bool async, cudaStream_t stream)
{
    size_t slice = 0, farthest, more;
    cudaError_t r = runtime_ready();
    if (r || !e.width || !e.height || !e.depth) return r;
    if (e.depth > 1 && p.ysize <= e.height) {
        if (__builtin_mul_overflow(p.ysize, e.depth - 1, &more) || __builtin_add_overflow(e.height, more, &e.height))
            return cudaErrorInvalidValue;
        e.depth = 1;
    }
    if (e.depth > 1 && (p.pitch < e.width || __builtin_mul_overflow(p.pitch, p.ysize, &slice) ||
                        __builtin_mul_overflow(slice, e.depth - 1, &farthest) ||
                        __builtin_add_overflow((size_t)p.ptr, farthest, &farthest)))
        return cudaErrorInvalidValue;
    for (size_t z = e.depth; z-- && !r;) {
        void *at = (void *)((size_t)p.ptr + z * slice);
        r = async ? cudaMemset2DAsync(at, p.pitch, value, e.width, e.height, stream)
                  : cudaMemset2D(at, p.pitch, value, e.width, e.height);
    }
    return r;
}

cudaError_t CUDARTAPI cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
    return fill_box(pitchedDevPtr, value, extent, false, NULL);
}

cudaError_t CUDARTAPI cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
                                        cudaStream_t stream)
{
    return fill_box(pitchedDevPtr, value, extent, true, stream);
}
