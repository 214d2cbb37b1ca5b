/* Copies. Every form is checked and turned into one description, two sides of
 * rows and slices, which the stream performs through this process's aliases. */
#include "api/api.h"
#include "api/array.h"
#include "api/copy.h"
#include "context/context.h"
#include "graph/capture.h"
#include "stream/stream.h"
#include "uvm/uvm.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 64 << 10 }; /* bytes that are copied sooner than a thread wakes up */

/* What is known of a copy while its arguments are looked at. */
struct draft {
    struct copy c;
    struct span_pieces pieces;
};

static void copy_row(const struct copy *c, size_t to, size_t from)
{
    for (size_t done = 0, run; done < c->width; done += run) {
        run = c->width - done;
        char *t = span_reach(&c->to.span, c->pieces, to + done, &run);
        const char *f = span_reach(&c->from.span, c->pieces, from + done, &run);
        if (!c->to.pageable && !c->to.span.managed) backing_enlarge_pages(t, run);
        memmove(t, f, run);
    }
}

/* The copy engine of the side's device goes over managed memory. */
static CUresult engine(const struct copy *c, const struct side *s, bool write)
{
    if (!s->span.managed) return CUDA_SUCCESS;
    size_t extent = (c->depth - 1) * s->slice + (c->height - 1) * s->pitch + c->width;
    return uvm_copy_engine(s->device->ordinal, s->span.managed, extent, write);
}

static CUresult perform(void *arg)
{
    const struct copy *c = arg;
    CUresult r = engine(c, &c->from, false);
    if (r || (r = engine(c, &c->to, true))) return r;
    if (c->to.array || c->from.array) return copy_tiles(c);
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            copy_row(c, z * c->to.slice + y * c->to.pitch, z * c->from.slice + y * c->from.pitch);
    return CUDA_SUCCESS;
}

/* Rows without a gap between them are one row. */
static void flatten(struct copy *c)
{
    if (c->to.array || c->from.array) return;
    if (c->to.pitch == c->width && c->from.pitch == c->width &&
        (c->depth == 1 || (c->to.slice == c->width * c->height && c->from.slice == c->to.slice))) {
        c->width *= c->height * c->depth;
        c->height = c->depth = 1;
    }
}

static CUresult enqueue(struct stream *s, const struct copy *c, size_t size, bool async)
{
    /* the source in pageable memory has been read when the call returns, as on the GPU */
    if (!async || c->from.pageable || c->to.pageable) return stream_run(s, perform, c, size);
    return c->width * c->height * c->depth <= SHORT ? stream_enqueue_short(s, perform, c, size)
                                                    : stream_enqueue(s, perform, c, size);
}

/* The calling thread only wants to know whether a copy is well formed. */
static _Thread_local bool only_checking;

static CUresult submit(CUstream stream, struct draft *d, bool async)
{
    struct context *k;
    struct stream *s;
    CUresult r = context_current(&k);
    if (only_checking) return r;
    if (d->c.to.span.dormant || d->c.from.span.dormant) return CUDA_ERROR_INVALID_VALUE;
    if (r || (r = stream_get(k, stream, false, &s))) return r;
    flatten(&d->c);
    if (!d->pieces.count) return enqueue(s, &d->c, sizeof d->c, async);
    size_t bytes = d->pieces.count * sizeof *d->pieces.at;
    struct copy *c = malloc(sizeof *c + bytes);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    *c = d->c;
    memcpy(c->pieces, d->pieces.at, bytes);
    r = enqueue(s, c, sizeof *c + bytes, async);
    free(c);
    return r;
}

/* ---- one side */

static CUresult device_side(struct draft *d, CUdeviceptr p, size_t extent, struct side *s)
{
    return span_find(p, extent, s->device, s == &d->c.to, &s->span, &d->pieces);
}

/* Host memory, or what a unified address means. */
static CUresult any_side(struct draft *d, uint64_t p, size_t extent, struct side *s)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    /* where nothing is allocated any more, or mapped, the host cannot look either */
    if (space_is_ours(p) || space_find(p)) return device_side(d, p, extent, s);
    s->span = (struct span){ (char *)p, 1, 0, 0, false };
    s->pageable = true;
    return CUDA_SUCCESS;
}

enum way { TO_DEVICE, TO_HOST, ON_DEVICE, UNIFIED };

static CUresult linear_member(enum way way, const struct device *to_device, uint64_t to, unsigned member,
                              const struct device *from_device, uint64_t from, size_t bytes, CUstream stream, bool async)
{
    struct draft d = { .c = { .width = bytes, .height = 1, .depth = 1 }, .pieces.member = member };
    struct copy *c = &d.c;
    c->to.device = to_device;
    c->from.device = from_device;
    c->to.pitch = c->from.pitch = bytes;
    bool to_any = way == TO_HOST || way == UNIFIED, from_any = way == TO_DEVICE || way == UNIFIED;
    CUresult r = to_any ? any_side(&d, to, bytes, &c->to) : device_side(&d, to, bytes, &c->to);
    if (!r) r = from_any ? any_side(&d, from, bytes, &c->from) : device_side(&d, from, bytes, &c->from);
    if (!r) r = submit(stream, &d, async);
    free(d.pieces.at);
    return r;
}

static CUresult linear_between(enum way way, const struct device *to_device, uint64_t to,
                               const struct device *from_device, uint64_t from, size_t bytes, CUstream stream,
                               bool async)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0, n = span_members(to); k < n && !r; k++)
        r = linear_member(way, to_device, to, k, from_device, from, bytes, stream, async);
    return r;
}

static bool captured_linear(uint64_t to, uint64_t from, size_t bytes, CUstream stream, CUresult *r);

static CUresult check_linear(enum way way, const struct device *d, uint64_t to, uint64_t from, size_t bytes)
{
    only_checking = true;
    CUresult r = linear_between(way, d, to, d, from, bytes, NULL, true);
    only_checking = false;
    return r;
}

static CUresult linear(enum way way, uint64_t to, uint64_t from, size_t bytes, CUstream stream, bool async)
{
    struct context *k;
    CUresult r = context_current(&k);
    if (!r && bytes && capture_any() &&
        ((r = check_linear(way, k->device, to, from, bytes)) || captured_linear(to, from, bytes, stream, &r)))
        return r;
    return r || !bytes ? r : linear_between(way, k->device, to, k->device, from, bytes, stream, async);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return linear(UNIFIED, dst, src, ByteCount, NULL, false);
}
CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return linear(UNIFIED, dst, src, ByteCount, hStream, true);
}
CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return linear(TO_DEVICE, dstDevice, (uint64_t)srcHost, ByteCount, NULL, false);
}
CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(TO_HOST, (uint64_t)dstHost, srcDevice, ByteCount, NULL, false);
}
CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(ON_DEVICE, dstDevice, srcDevice, ByteCount, NULL, false);
}
CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    return linear(TO_DEVICE, dstDevice, (uint64_t)srcHost, ByteCount, hStream, true);
}
CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    return linear(TO_HOST, (uint64_t)dstHost, srcDevice, ByteCount, hStream, true);
}
CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    return linear(ON_DEVICE, dstDevice, srcDevice, ByteCount, hStream, true);
}

static CUresult peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                     CUstream stream, bool async)
{
    struct context *a, *b;
    CUresult r = context_current(&a);
    if (r || (r = context_check(to_context, &a)) || (r = context_check(from_context, &b)) || !bytes) return r;
    return linear_between(UNIFIED, a->device, to, b->device, from, bytes, stream, async);
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                              size_t ByteCount)
{
    return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, false);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                                   CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
    return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, true);
}

/* ---- rows and slices */

struct box {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};

static CUresult array_side(const struct box *b, const struct copy *c, struct side *s)
{
    struct array *a;
    if (!b->array || array_get(b->array, &a)) return CUDA_ERROR_INVALID_VALUE;
    if (b->x > a->row || c->width > a->row - b->x || b->y > a->rows || c->height > a->rows - b->y || b->z > a->slices ||
        c->depth > a->slices - b->z)
        return CUDA_ERROR_INVALID_VALUE;
    s->pitch = a->row;
    s->slice = a->row * a->rows;
    if (a->tiles) {
        s->array = a;
        s->x = b->x;
        s->y = b->y;
        s->z = b->z;
        return CUDA_SUCCESS;
    }
    char *bytes = (char *)space_alias(a->memory, a->memory->base) + b->z * s->slice + b->y * s->pitch + b->x;
    s->span = (struct span){ bytes, 1, 0, 0, false };
    return CUDA_SUCCESS;
}

static CUresult box_side(struct draft *d, const struct box *b, struct side *s)
{
    const struct copy *c = &d->c;
    if (b->type == CU_MEMORYTYPE_ARRAY) return array_side(b, c, s);
    size_t start, extent, rows = b->height ? b->height : c->height, t;
    s->pitch = b->pitch ? b->pitch : b->x + c->width;
    if (b->x + c->width > s->pitch || (c->depth > 1 && b->y + c->height > rows)) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(s->pitch, rows, &s->slice) || __builtin_mul_overflow(b->z, s->slice, &start) ||
        __builtin_mul_overflow(b->y, s->pitch, &t) || __builtin_add_overflow(start, t + b->x, &start))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(c->depth - 1, s->slice, &extent) ||
        __builtin_mul_overflow(c->height - 1, s->pitch, &t) || __builtin_add_overflow(extent, t + c->width, &extent))
        return CUDA_ERROR_INVALID_VALUE;
    switch (b->type) {
    case CU_MEMORYTYPE_HOST:
        return b->host ? any_side(d, (uint64_t)b->host + start, extent, s) : CUDA_ERROR_INVALID_VALUE;
    case CU_MEMORYTYPE_DEVICE:
        return b->device ? device_side(d, b->device + start, extent, s) : CUDA_ERROR_INVALID_VALUE;
    case CU_MEMORYTYPE_UNIFIED:
        return b->device ? any_side(d, b->device + start, extent, s) : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Whether the copy becomes a node. */
static bool captured(CUstream stream, const struct box *to, const struct box *from, const struct copy *c, CUresult *r)
{
    struct context *k;
    struct stream *s;
    const CUgraphNodeParams node = {
        .type = CU_GRAPH_NODE_TYPE_MEMCPY,
        .memcpy.copyParams = { .dstMemoryType = to->type, .dstHost = (void *)to->host, .dstDevice = to->device,
                               .dstArray = to->array, .dstXInBytes = to->x, .dstY = to->y, .dstZ = to->z,
                               .dstPitch = to->pitch, .dstHeight = to->height,
                               .srcMemoryType = from->type, .srcHost = from->host, .srcDevice = from->device,
                               .srcArray = from->array, .srcXInBytes = from->x, .srcY = from->y, .srcZ = from->z,
                               .srcPitch = from->pitch, .srcHeight = from->height,
                               .WidthInBytes = c->width, .Height = c->height, .Depth = c->depth }
    };
    if ((*r = context_current(&k)) || (*r = stream_get(k, stream, false, &s))) return true;
    return capture_node(s, &node, r);
}

static bool captured_linear(uint64_t to, uint64_t from, size_t bytes, CUstream stream, CUresult *r)
{
    const struct copy c = { .width = bytes, .height = 1, .depth = 1 };
    const struct box a = { .type = CU_MEMORYTYPE_UNIFIED, .device = to }, b = { .type = CU_MEMORYTYPE_UNIFIED, .device = from };
    return captured(stream, &a, &b, &c, r);
}

static bool good_type(CUmemorytype t) { return t >= CU_MEMORYTYPE_HOST && t <= CU_MEMORYTYPE_UNIFIED; }

static CUresult boxes_member(const struct device *device, const struct box *to, unsigned member, const struct box *from,
                             const struct copy *c, CUstream stream, bool async)
{
    CUresult r;
    struct draft d = { .c = { .width = c->width, .height = c->height, .depth = c->depth }, .pieces.member = member };
    d.c.to.device = d.c.from.device = device;
    if (!(r = box_side(&d, to, &d.c.to)) && !(r = box_side(&d, from, &d.c.from)) &&
        (only_checking || !capture_any() || !captured(stream, to, from, &d.c, &r)))
        r = submit(stream, &d, async);
    free(d.pieces.at);
    return r;
}

static CUresult boxes(const struct box *to, const struct box *from, size_t width, size_t height, size_t depth,
                      CUstream stream, bool async)
{
    struct context *k;
    const struct copy c = { .width = width, .height = height, .depth = depth };
    CUresult r = context_current(&k);
    if (r) return r;
    if (!good_type(to->type) || !good_type(from->type)) return CUDA_ERROR_INVALID_VALUE;
    if (!width || !height || !depth) return CUDA_SUCCESS;
    bool address = to->type == CU_MEMORYTYPE_DEVICE || to->type == CU_MEMORYTYPE_UNIFIED;
    for (unsigned m = 0, n = address ? span_members(to->device) : 1; m < n && !r; m++)
        r = boxes_member(k->device, to, m, from, &c, stream, async);
    return r;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, bool async)
{
    struct context *k;
    CUresult r = context_current(&k);
    if (r) return r;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const struct box to = { p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, 0,
                            p->dstPitch,      0 };
    const struct box from = { p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY, 0,
                              p->srcPitch,      0 };
    return boxes(&to, &from, p->WidthInBytes, p->Height, 1, stream, async);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy) { return copy_2d(pCopy, NULL, false); }
CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy) { return copy_2d(pCopy, NULL, false); }
CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, true);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, bool async)
{
    struct context *k;
    CUresult r = context_current(&k);
    if (r) return r;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const struct box to = { p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes,
                            p->dstY,          p->dstZ,    p->dstPitch,  p->dstHeight };
    const struct box from = { p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes,
                              p->srcY,          p->srcZ,    p->srcPitch,  p->srcHeight };
    return boxes(&to, &from, p->WidthInBytes, p->Height, p->Depth, stream, async);
}

CUresult copy_check(const CUDA_MEMCPY3D *p)
{
    only_checking = true;
    CUresult r = copy_3d(p, NULL, true);
    only_checking = false;
    return r;
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy) { return copy_3d(pCopy, NULL, false); }
CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy_3d(pCopy, hStream, true);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, bool async)
{
    struct context *k;
    CUresult r = context_current(&k);
    if (r) return r;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const struct box to = { p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes,
                            p->dstY,          p->dstZ,    p->dstPitch,  p->dstHeight };
    const struct box from = { p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes,
                              p->srcY,          p->srcZ,    p->srcPitch,  p->srcHeight };
    return boxes(&to, &from, p->WidthInBytes, p->Height, p->Depth, stream, async);
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy) { return copy_3d_peer(pCopy, NULL, false); }
CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy_3d_peer(pCopy, hStream, true);
}

/* ---- linear pieces of arrays: within the first row */

static CUresult array_piece(CUarray array, size_t offset, size_t bytes, struct box *b)
{
    struct array *a;
    if (!array || array_get(array, &a)) return CUDA_ERROR_INVALID_VALUE;
    if (offset > a->row || bytes > a->row - offset) return CUDA_ERROR_INVALID_VALUE;
    *b = (struct box){ .type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset };
    return CUDA_SUCCESS;
}

static CUresult with_array(CUarray to, size_t to_offset, CUarray from, size_t from_offset, struct box other,
                           size_t bytes, CUstream stream, bool async)
{
    struct context *k;
    struct box a = other, b = other;
    CUresult r = context_current(&k);
    if (r) return r;
    if (to && (r = array_piece(to, to_offset, bytes, &a))) return r;
    if (from && (r = array_piece(from, from_offset, bytes, &b))) return r;
    if (!to && !from) return CUDA_ERROR_INVALID_VALUE;
    return boxes(&a, &b, bytes, 1, 1, stream, async);
}

static struct box host_box(const void *p) { return (struct box){ .type = CU_MEMORYTYPE_HOST, .host = p }; }
static struct box device_box(CUdeviceptr p) { return (struct box){ .type = CU_MEMORYTYPE_DEVICE, .device = p }; }

CUresult CUDAAPI cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount)
{
    return with_array(dstArray, dstOffset, NULL, 0, host_box(srcHost), ByteCount, NULL, false);
}
CUresult CUDAAPI cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return with_array(dstArray, dstOffset, NULL, 0, host_box(srcHost), ByteCount, hStream, true);
}
CUresult CUDAAPI cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return with_array(NULL, 0, srcArray, srcOffset, host_box(dstHost), ByteCount, NULL, false);
}
CUresult CUDAAPI cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                                      CUstream hStream)
{
    return with_array(NULL, 0, srcArray, srcOffset, host_box(dstHost), ByteCount, hStream, true);
}
CUresult CUDAAPI cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount)
{
    return with_array(dstArray, dstOffset, NULL, 0, device_box(srcDevice), ByteCount, NULL, false);
}
CUresult CUDAAPI cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return with_array(NULL, 0, srcArray, srcOffset, device_box(dstDevice), ByteCount, NULL, false);
}
CUresult CUDAAPI cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount)
{
    return with_array(dstArray, dstOffset, srcArray, srcOffset, host_box(NULL), ByteCount, NULL, false);
}
