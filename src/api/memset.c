/* Memsets: checked, then done by the stream through this process's alias. */
#include "context/context.h"
#include "space/space.h"
#include "stream/stream.h"

#include <string.h>

enum { SHORT = 64 << 10 };
struct fill {
    char *bytes;
    size_t pitch, width, height;
    unsigned unit;
    uint32_t value;
};

static void fill_row(char *row, const struct fill *f)
{
    if (f->unit == 1) {
        memset(row, (int)f->value, f->width);
    } else if (f->unit == 2) {
        uint16_t *p = (uint16_t *)row;
        for (size_t k = 0; k < f->width; k++) p[k] = (uint16_t)f->value;
    } else {
        uint32_t *p = (uint32_t *)row;
        for (size_t k = 0; k < f->width; k++) p[k] = f->value;
    }
}

static CUresult perform(void *arg)
{
    const struct fill *f = arg;
    for (size_t y = 0; y < f->height; y++) fill_row(f->bytes + y * f->pitch, f);
    return CUDA_SUCCESS;
}

/* pitch 0: one row. */
static CUresult fill(CUdeviceptr dst, size_t pitch, unsigned unit, uint32_t value, size_t width, size_t height,
                     bool rows, CUstream stream, bool async)
{
    struct context *c;
    struct stream *s;
    struct fill f = { .pitch = pitch, .width = width, .height = height, .unit = unit, .value = value };
    size_t bytes, extent;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!width || !height) return CUDA_SUCCESS;
    if (dst % unit || __builtin_mul_overflow(width, (size_t)unit, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (rows && height > 1 && (pitch % unit || pitch < bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (height == 1) f.pitch = bytes;
    if (__builtin_mul_overflow(f.pitch, height - 1, &extent) || __builtin_add_overflow(extent, bytes, &extent))
        return CUDA_ERROR_INVALID_VALUE;
    struct allocation *a = space_find(dst);
    if (!a || extent > a->base + a->size - dst || !(f.bytes = space_alias(a, dst))) return CUDA_ERROR_INVALID_VALUE;
    if ((r = stream_get(c, stream, false, &s))) return r;
    if (!async) return stream_run(s, perform, &f, sizeof f);
    return bytes * height <= SHORT ? stream_enqueue_short(s, perform, &f, sizeof f)
                                   : stream_enqueue(s, perform, &f, sizeof f);
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return fill(dstDevice, 0, 1, uc, N, 1, false, NULL, false);
}
CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    return fill(dstDevice, 0, 2, us, N, 1, false, NULL, false);
}
CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return fill(dstDevice, 0, 4, ui, N, 1, false, NULL, false);
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, 1, uc, N, 1, false, hStream, true);
}
CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, 2, us, N, 1, false, hStream, true);
}
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    return fill(dstDevice, 0, 4, ui, N, 1, false, hStream, true);
}
CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, 1, uc, Width, Height, true, NULL, false);
}
CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                                  size_t Height)
{
    return fill(dstDevice, dstPitch, 2, us, Width, Height, true, NULL, false);
}
CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, 4, ui, Width, Height, true, NULL, false);
}
CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                                   size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, 1, uc, Width, Height, true, hStream, true);
}
CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                                    size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, 2, us, Width, Height, true, hStream, true);
}
CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                                    size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, 4, ui, Width, Height, true, hStream, true);
}
