/* Batches of copies: each is a copy of its own in the stream, in the order
 * given, which the batch allows. All are checked before the first is issued. */
#include "api/array.h"
#include "api/copy.h"
#include "context/context.h"
#include "graph/capture.h"
#include "stream/stream.h"

#include <stdint.h>

/* Where copies may go: not into the legacy stream, nor into a capture. */
static CUresult batch_stream(CUstream handle)
{
    struct context *c;
    struct stream *s;
    CUresult r = context_current(&c);
    if (r || (r = stream_get(c, handle, false, &s))) return r;
    if (stream_is_legacy(s)) return CUDA_ERROR_INVALID_VALUE;
    return capture_has(s) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS; /* which goes on: observed on H200 */
}

static CUresult check_access(CUmemcpySrcAccessOrder order, unsigned flags)
{
    bool good = order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
                !(flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Where a side is said to be: nowhere, on a device that there is, or with the host. */
static bool good_hint(const CUmemLocation *l)
{
    struct device *d;
    if (l->type == CU_MEM_LOCATION_TYPE_DEVICE) return !device_get(l->id, &d);
    return (unsigned)l->type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

/* Whether an address can be a side of a copy: in memory of ours, all of it must be. Something has to be copied
 * (observed on an H200). */
static bool fits(CUdeviceptr p, size_t size)
{
    struct allocation a;
    if (!p || !size) return false;
    if (!space_look(p, &a) || a.kind == ALLOCATION_MAPPED) return true;
    return size <= a.base + a.size - p;
}

static enum copy_when when_of(CUmemcpySrcAccessOrder order)
{
    return order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM            ? COPY_IN_ORDER
           : order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? COPY_READ_NOW
                                                                 : COPY_ANY_TIME;
}

/* ---- linear copies */

struct batch {
    CUdeviceptr *to, *from;
    size_t *size, count;
    CUmemcpyAttributes *attribute;
    size_t *index, attributes;
};

static CUresult check_batch(const struct batch *b, size_t *failed)
{
    CUresult r = CUDA_SUCCESS;
    if (!b->count || !b->to || !b->from || !b->size || !b->attributes || b->attributes > b->count || !b->attribute ||
        !b->index)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < b->attributes; k++) {
        if (b->index[k] >= b->count || (k ? b->index[k] <= b->index[k - 1] : b->index[k] != 0))
            return CUDA_ERROR_INVALID_VALUE;
        if (!good_hint(&b->attribute[k].srcLocHint) || !good_hint(&b->attribute[k].dstLocHint))
            return CUDA_ERROR_INVALID_VALUE;
        if ((r = check_access(b->attribute[k].srcAccessOrder, b->attribute[k].flags))) return r;
    }
    for (size_t k = 0; k < b->count; k++)
        if (!fits(b->to[k], b->size[k]) || !fits(b->from[k], b->size[k])) {
            *failed = k;
            return CUDA_ERROR_INVALID_VALUE;
        }
    return r;
}

static CUresult copy_batch(const struct batch *b, CUstream stream, size_t *failed)
{
    CUresult r = batch_stream(stream);
    if (r) return r;
    *failed = SIZE_MAX;
    if ((r = check_batch(b, failed))) return r;
    for (size_t k = 0, a = 0; k < b->count && !r; k++) {
        if (a + 1 < b->attributes && b->index[a + 1] == k) a++;
        r = copy_linear(b->to[k], b->from[k], b->size[k], stream, when_of(b->attribute[a].srcAccessOrder));
        if (r) *failed = k;
    }
    return r;
}

CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                       CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream)
{
    size_t failed;
    return copy_batch(&(struct batch){ dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs }, hStream, &failed);
}

/* The first ABI version says which copy was at fault; SIZE_MAX: none alone, or all is well. Not if the stream is wrong. */
CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                    CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
                                    CUstream hStream)
{
    size_t failed;
    return copy_batch(&(struct batch){ dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs }, hStream,
                      failIdx ? failIdx : &failed);
}

/* ---- boxes */

/* Bytes of an element: extents and offsets count elements of the array that takes part, or else bytes. */
static CUresult element_of(const CUDA_MEMCPY3D_BATCH_OP *op, size_t *bytes)
{
    const CUmemcpy3DOperand *sides[] = { &op->src, &op->dst };
    *bytes = 0;
    for (int k = 0; k < 2; k++) {
        struct array *a;
        if (sides[k]->type == CU_MEMCPY_OPERAND_TYPE_POINTER) continue;
        if (sides[k]->type != CU_MEMCPY_OPERAND_TYPE_ARRAY || !sides[k]->op.array.array ||
            array_get(sides[k]->op.array.array, &a))
            return CUDA_ERROR_INVALID_VALUE;
        const size_t element = a->element;
        array_end(a, CUDA_SUCCESS);
        if (*bytes && *bytes != element) return CUDA_ERROR_INVALID_VALUE;
        *bytes = element;
    }
    if (!*bytes) *bytes = 1;
    return CUDA_SUCCESS;
}

/* Where a box is on one side. */
struct corner {
    CUmemorytype type;
    CUdeviceptr address;
    CUarray array;
    size_t pitch, height, x, y, z;
};

static struct corner corner_of(const CUmemcpy3DOperand *o, size_t bytes)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
        return (struct corner){ .type = CU_MEMORYTYPE_UNIFIED,
                                .address = o->op.ptr.ptr,
                                .pitch = o->op.ptr.rowLength * bytes,
                                .height = o->op.ptr.layerHeight };
    return (struct corner){ .type = CU_MEMORYTYPE_ARRAY,
                            .array = o->op.array.array,
                            .x = o->op.array.offset.x * bytes,
                            .y = o->op.array.offset.y,
                            .z = o->op.array.offset.z };
}

static CUresult convert(const CUDA_MEMCPY3D_BATCH_OP *op, CUDA_MEMCPY3D *c)
{
    size_t bytes;
    CUresult r = check_access(op->srcAccessOrder, op->flags);
    if (r || (r = element_of(op, &bytes))) return r;
    if (!op->extent.width || !op->extent.height || !op->extent.depth || op->extent.width > SIZE_MAX / bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *c = (CUDA_MEMCPY3D){ .WidthInBytes = op->extent.width * bytes,
                          .Height = op->extent.height,
                          .Depth = op->extent.depth };
    const struct corner src = corner_of(&op->src, bytes), dst = corner_of(&op->dst, bytes);
    c->srcMemoryType = src.type;
    c->srcDevice = src.address;
    c->srcArray = src.array;
    c->srcPitch = src.pitch;
    c->srcHeight = src.height;
    c->srcXInBytes = src.x;
    c->srcY = src.y;
    c->srcZ = src.z;
    c->dstMemoryType = dst.type;
    c->dstDevice = dst.address;
    c->dstArray = dst.array;
    c->dstPitch = dst.pitch;
    c->dstHeight = dst.height;
    c->dstXInBytes = dst.x;
    c->dstY = dst.y;
    c->dstZ = dst.z;
    return r;
}

static CUresult copy_boxes(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream stream,
                           size_t *failed)
{
    CUDA_MEMCPY3D c;
    CUresult r = batch_stream(stream);
    if (r) return r;
    *failed = SIZE_MAX;
    if (!count || !ops || flags) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < count; k++)
        if ((r = convert(&ops[k], &c))) {
            *failed = k;
            return r;
        }
    for (size_t k = 0; k < count && !r; k++)
        if (!(r = convert(&ops[k], &c))) r = copy_box(&c, stream, when_of(ops[k].srcAccessOrder));
    return r;
}

CUresult CUDAAPI cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
                                         CUstream hStream)
{
    size_t failed;
    return copy_boxes(numOps, opList, flags, hStream, &failed);
}

CUresult CUDAAPI cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                                      unsigned long long flags, CUstream hStream)
{
    size_t failed;
    return copy_boxes(numOps, opList, flags, hStream, failIdx ? failIdx : &failed);
}
