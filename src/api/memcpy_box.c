/* Copies of rows and slices, and of pieces of arrays. */
#include "api/array.h"
#include "api/copy.h"
#include "api/node_check.h"
#include "context/context.h"
#include "graph/capture.h"

#include <stddef.h>

/* ---- rows and slices */

struct box {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
    unsigned lod;
    CUcontext of; /* whose devices reach it; NULL: the caller's */
};

/* Whether length from start on goes past the end. */
static bool sticks_out(size_t start, size_t length, size_t end) { return start > end || length > end - start; }

static bool mapped(CUdeviceptr p, bool or_pooled)
{
    struct allocation a;
    return space_look(p, &a) && (a.kind == ALLOCATION_MAPPED || (or_pooled && a.pool));
}

static CUresult array_side(struct draft *d, const struct box *b, struct side *s)
{
    const struct copy *c = &d->c;
    struct array *a, **mine = &d->arrays[s == &c->from];
    if (!b->array || b->lod || array_get(b->array, mine)) {
        *mine = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
    a = *mine;
    if (sticks_out(b->x, c->width, a->row) || sticks_out(b->y, c->height, a->rows) ||
        sticks_out(b->z, c->depth, a->slices))
        return CUDA_ERROR_INVALID_VALUE;
    s->of = a;
    s->life = a->life;
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
    s->span = (struct span){ .bytes = bytes, .count = 1, .on_device = true };
    return CUDA_SUCCESS;
}

static CUresult box_side(struct draft *d, const struct box *b, struct side *s)
{
    const struct copy *c = &d->c;
    if (b->type == CU_MEMORYTYPE_ARRAY) return array_side(d, b, s);
    size_t start = b->type == CU_MEMORYTYPE_HOST ? (size_t)b->host : b->device, extent, t;
    const size_t rows = b->height ? b->height : b->y + c->height; /* as a pitch, it grows with what comes before */
    if (!start) return CUDA_ERROR_INVALID_VALUE;
    s->as_host = b->type == CU_MEMORYTYPE_HOST;
    s->pitch = b->pitch ? b->pitch : b->x + c->width;
    const bool free_to_begin = mapped(start, true); /* anywhere in a row or slice: observed on an H200 */
    if (sticks_out(free_to_begin ? 0 : b->x, c->width, s->pitch) ||
        (b->height && sticks_out(free_to_begin ? 0 : b->y, c->height, rows)))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(s->pitch, rows, &s->slice) || __builtin_mul_overflow(b->z, s->slice, &t) ||
        __builtin_add_overflow(start, t, &start) || __builtin_mul_overflow(b->y, s->pitch, &t) ||
        __builtin_add_overflow(start, t, &start) || __builtin_add_overflow(start, b->x, &start))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(c->depth - 1, s->slice, &extent) ||
        __builtin_mul_overflow(c->height - 1, s->pitch, &t) || __builtin_add_overflow(extent, t + c->width, &extent))
        return CUDA_ERROR_INVALID_VALUE;
    return b->type == CU_MEMORYTYPE_DEVICE ? copy_device_side(d, start, extent, s) : copy_any_side(d, start, extent, s);
}

/* Whether the copy becomes a node. */
static bool captured(CUstream stream, const struct box *to, const struct box *from, const struct copy *c, CUresult *r)
{
    struct context *k;
    struct stream *s;
    CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_MEMCPY,
                               .memcpy.copyParams = { .dstMemoryType = to->type,
                                                      .dstHost = (void *)to->host,
                                                      .dstDevice = to->device,
                                                      .dstArray = to->array,
                                                      .dstXInBytes = to->x,
                                                      .dstY = to->y,
                                                      .dstZ = to->z,
                                                      .dstPitch = to->pitch,
                                                      .dstHeight = to->height,
                                                      .srcMemoryType = from->type,
                                                      .srcHost = from->host,
                                                      .srcDevice = from->device,
                                                      .srcArray = from->array,
                                                      .srcXInBytes = from->x,
                                                      .srcY = from->y,
                                                      .srcZ = from->z,
                                                      .srcPitch = from->pitch,
                                                      .srcHeight = from->height,
                                                      .WidthInBytes = c->width,
                                                      .Height = c->height,
                                                      .Depth = c->depth } };
    if ((*r = stream_caller(stream, &k)) || (*r = stream_get(k, stream, false, &s))) return true;
    node.memcpy.copyCtx = (CUcontext)k;
    return capture_node(s, &node, r);
}

static struct box linear_box(CUmemorytype type, uint64_t at)
{
    struct box b = { .type = type };
    if (type == CU_MEMORYTYPE_HOST)
        b.host = (const void *)at;
    else
        b.device = at;
    return b;
}

bool copy_captured_linear(CUmemorytype to_type, uint64_t to, CUmemorytype from_type, uint64_t from, size_t bytes,
                          CUstream stream, CUresult *r)
{
    const struct copy c = { .width = bytes, .height = 1, .depth = 1 };
    const struct box a = linear_box(to_type, to), b = linear_box(from_type, from);
    return captured(stream, &a, &b, &c, r);
}

/* What has no such type is looked up, and may be mapped memory: observed on an H200. */
static bool good_type(struct box *b)
{
    if (b->type >= CU_MEMORYTYPE_HOST && b->type <= CU_MEMORYTYPE_UNIFIED) return true;
    b->type = CU_MEMORYTYPE_UNIFIED;
    return mapped(b->device, false);
}

/* Layers of lines lie a pitch apart in memory that is not the host's, nor managed memory told as the host's, whatever
 * height is told (observed on an H200). */
static void lay_out_lines(const struct array *a, struct side *memory)
{
    const bool managed = memory->span.managed && !memory->as_host;
    if (a && !a->desc.Height && a->desc.Flags & CUDA_ARRAY3D_LAYERED && (memory->span.on_device || managed))
        memory->slice = memory->pitch;
}

static const struct device *device_of(const struct box *b, const struct context *caller)
{
    struct context *c;
    return b->of && !context_check(b->of, &c) ? c->device : caller->device;
}

static CUresult boxes_member(const struct context *caller, const struct box *to, unsigned member, const struct box *from,
                             const struct copy *c, CUstream stream, enum copy_when when)
{
    CUresult r;
    struct draft d = { .c = { .width = c->width, .height = c->height, .depth = c->depth }, .pieces.member = member };
    d.c.to.device = device_of(to, caller);
    d.c.from.device = device_of(from, caller);
    if (!(r = box_side(&d, to, &d.c.to))) r = box_side(&d, from, &d.c.from);
    if (!r && !d.arrays[0]) lay_out_lines(d.arrays[1], &d.c.to);
    if (!r && !d.arrays[1]) lay_out_lines(d.arrays[0], &d.c.from);
    if (!r && (copy_only_checked || !capture_any() || !captured(stream, to, from, &d.c, &r)))
        r = copy_submit(stream, &d, when);
    for (int k = 0; k < 2; k++)
        if (d.arrays[k]) array_end(d.arrays[k], r);
    free(d.pieces.at);
    return r;
}

static CUresult boxes(struct box *to, struct box *from, size_t width, size_t height, size_t depth, CUstream stream,
                      enum copy_when when)
{
    struct context *k;
    const struct copy c = { .width = width, .height = height, .depth = depth };
    CUresult r = stream_caller(stream, &k);
    if (r) return r;
    if (!width || !height || !depth) return CUDA_SUCCESS;
    if (!good_type(to) || !good_type(from)) return CUDA_ERROR_INVALID_VALUE;
    bool address = to->type == CU_MEMORYTYPE_DEVICE || to->type == CU_MEMORYTYPE_UNIFIED;
    for (unsigned m = 0, n = address ? span_members(to->device) : 1; m < n && !r; m++)
        r = boxes_member(k, to, m, from, &c, stream, when);
    return r;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, enum copy_when when)
{
    struct context *k;
    CUresult r = stream_caller(stream, &k);
    if (r) return r;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    struct box to = { p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, 0,
                      p->dstPitch,      0,          0,          NULL };
    struct box from = { p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY, 0,
                        p->srcPitch,      0,          0,          NULL };
    return boxes(&to, &from, p->WidthInBytes, p->Height, 1, stream, when);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy) { return copy_2d(pCopy, NULL, COPY_NOW); }
CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy) { return copy_2d(pCopy, NULL, COPY_NOW); }
CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, COPY_ASYNC);
}

static CUresult copy_between(const CUDA_MEMCPY3D *p, CUcontext to_of, CUcontext from_of, CUstream stream, enum copy_when when)
{
    struct context *k;
    CUresult r = stream_caller(stream, &k);
    if (r) return r;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    struct box to = { p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes,
                      p->dstY,          p->dstZ,    p->dstPitch,  p->dstHeight, p->dstLOD,   to_of };
    struct box from = { p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes,
                        p->srcY,          p->srcZ,    p->srcPitch,  p->srcHeight, p->srcLOD,   from_of };
    return boxes(&to, &from, p->WidthInBytes, p->Height, p->Depth, stream, when);
}

CUresult copy_box(const CUDA_MEMCPY3D *p, CUstream stream, enum copy_when when)
{
    return copy_between(p, NULL, NULL, stream, when);
}

CUresult copy_check(const CUDA_MEMCPY3D *p, CUcontext of)
{
    copy_only_checked = true;
    CUresult r = copy_between(p, of, of, NULL, COPY_ASYNC);
    copy_only_checked = false;
    return r;
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy) { return copy_box(pCopy, NULL, COPY_NOW); }
CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy_box(pCopy, hStream, COPY_ASYNC);
}

/* The same members: the contexts are where a copy within one has nothing. */
static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, enum copy_when when)
{
    _Static_assert(sizeof(CUDA_MEMCPY3D_PEER) == sizeof(CUDA_MEMCPY3D) &&
                       offsetof(CUDA_MEMCPY3D_PEER, srcContext) == offsetof(CUDA_MEMCPY3D, reserved0) &&
                       offsetof(CUDA_MEMCPY3D_PEER, dstContext) == offsetof(CUDA_MEMCPY3D, reserved1),
                   "the members are the same");
    return copy_between((const CUDA_MEMCPY3D *)p, p ? p->dstContext : NULL, p ? p->srcContext : NULL, stream, when);
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy) { return copy_3d_peer(pCopy, NULL, COPY_NOW); }
CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy_3d_peer(pCopy, hStream, COPY_ASYNC);
}

/* ---- linear pieces of arrays: within the first row */

static CUresult array_piece(CUarray array, size_t offset, size_t bytes, struct box *b)
{
    struct array *a;
    if (!array || array_get(array, &a)) return CUDA_ERROR_INVALID_VALUE;
    *b = (struct box){ .type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset };
    return array_end(a, offset > a->row || bytes > a->row - offset ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

static CUresult with_array(CUarray to, size_t to_offset, CUarray from, size_t from_offset, struct box other,
                           size_t bytes, CUstream stream, enum copy_when when)
{
    struct context *k;
    struct box a = other, b = other;
    CUresult r = stream_caller(stream, &k);
    if (r) return r;
    /* where nothing is copied no array is looked at (observed on an H200) */
    if (bytes && to && (r = array_piece(to, to_offset, bytes, &a))) return r;
    if (bytes && from && (r = array_piece(from, from_offset, bytes, &b))) return r;
    if (bytes && !to && !from) return CUDA_ERROR_INVALID_VALUE;
    return boxes(&a, &b, bytes, 1, 1, stream, when);
}

static struct box host_box(const void *p) { return (struct box){ .type = CU_MEMORYTYPE_HOST, .host = p }; }
static struct box device_box(CUdeviceptr p) { return (struct box){ .type = CU_MEMORYTYPE_DEVICE, .device = p }; }

CUresult CUDAAPI cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount)
{
    return with_array(dstArray, dstOffset, NULL, 0, host_box(srcHost), ByteCount, NULL, COPY_NOW);
}
CUresult CUDAAPI cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return with_array(dstArray, dstOffset, NULL, 0, host_box(srcHost), ByteCount, hStream, COPY_ASYNC);
}
CUresult CUDAAPI cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return with_array(NULL, 0, srcArray, srcOffset, host_box(dstHost), ByteCount, NULL, COPY_NOW);
}
CUresult CUDAAPI cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                                      CUstream hStream)
{
    return with_array(NULL, 0, srcArray, srcOffset, host_box(dstHost), ByteCount, hStream, COPY_ASYNC);
}
CUresult CUDAAPI cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount)
{
    return with_array(dstArray, dstOffset, NULL, 0, device_box(srcDevice), ByteCount, NULL, COPY_NOW);
}
CUresult CUDAAPI cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    return with_array(NULL, 0, srcArray, srcOffset, device_box(dstDevice), ByteCount, NULL, COPY_NOW);
}
CUresult CUDAAPI cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount)
{
    return with_array(dstArray, dstOffset, srcArray, srcOffset, host_box(NULL), ByteCount, NULL, COPY_NOW);
}
