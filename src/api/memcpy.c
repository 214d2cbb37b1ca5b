/* Copies of bytes that lie in a row, within a device and between two. */
#include "api/copy.h"
#include "context/context.h"
#include "graph/capture.h"

#include <stdlib.h>

enum way { TO_DEVICE, TO_HOST, ON_DEVICE, UNIFIED };

static CUresult linear_member(enum way way, const struct device *to_device, uint64_t to, unsigned member,
                              const struct device *from_device, uint64_t from, size_t bytes, CUstream stream,
                              enum copy_when when)
{
    struct draft d = { .c = { .width = bytes, .height = 1, .depth = 1 }, .pieces.member = member };
    struct copy *c = &d.c;
    c->to.device = to_device;
    c->from.device = from_device;
    c->to.pitch = c->from.pitch = bytes;
    c->to.as_host = way == TO_HOST;
    c->from.as_host = way == TO_DEVICE;
    bool to_any = way == TO_HOST || way == UNIFIED, from_any = way == TO_DEVICE || way == UNIFIED;
    CUresult r = to_any ? copy_any_side(&d, to, bytes, &c->to) : copy_device_side(&d, to, bytes, &c->to);
    if (!r) r = from_any ? copy_any_side(&d, from, bytes, &c->from) : copy_device_side(&d, from, bytes, &c->from);
    if (!r) r = copy_submit(stream, &d, when);
    free(d.pieces.at);
    return r;
}

static CUresult linear_between(enum way way, const struct device *to_device, uint64_t to,
                               const struct device *from_device, uint64_t from, size_t bytes, CUstream stream,
                               enum copy_when when)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0, n = span_members(to); k < n && !r; k++)
        r = linear_member(way, to_device, to, k, from_device, from, bytes, stream, when);
    return r;
}

static CUresult check_linear(enum way way, const struct device *d, uint64_t to, uint64_t from, size_t bytes)
{
    copy_only_checked = true;
    CUresult r = linear_between(way, d, to, d, from, bytes, NULL, COPY_ASYNC);
    copy_only_checked = false;
    return r;
}

static CUresult linear(enum way way, uint64_t to, uint64_t from, size_t bytes, CUstream stream, enum copy_when when)
{
    static const CUmemorytype target[] = { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
                                           CU_MEMORYTYPE_UNIFIED },
                              source[] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE,
                                           CU_MEMORYTYPE_UNIFIED };
    struct context *k;
    CUresult r = stream_caller_outside(stream, &k);
    if (!r && bytes && capture_any() &&
        ((r = check_linear(way, k->device, to, from, bytes)) ||
         copy_captured_linear(target[way], to, source[way], from, bytes, stream, &r)))
        return r;
    struct stream *s;
    if (!r && !bytes && capture_any() && !(r = stream_get(k, stream, false, &s))) r = capture_order(s);
    return r || !bytes ? r : linear_between(way, k->device, to, k->device, from, bytes, stream, when);
}

CUresult copy_linear(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream, enum copy_when when)
{
    return linear(UNIFIED, to, from, bytes, stream, when);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return linear(UNIFIED, dst, src, ByteCount, NULL, COPY_NOW);
}
CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return linear(UNIFIED, dst, src, ByteCount, hStream, COPY_ASYNC);
}
CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return linear(TO_DEVICE, dstDevice, (uint64_t)srcHost, ByteCount, NULL, COPY_NOW);
}
CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(TO_HOST, (uint64_t)dstHost, srcDevice, ByteCount, NULL, COPY_NOW);
}
CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(ON_DEVICE, dstDevice, srcDevice, ByteCount, NULL, COPY_NOW);
}
CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    return linear(TO_DEVICE, dstDevice, (uint64_t)srcHost, ByteCount, hStream, COPY_ASYNC);
}
CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    return linear(TO_HOST, (uint64_t)dstHost, srcDevice, ByteCount, hStream, COPY_ASYNC);
}
CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
    return linear(ON_DEVICE, dstDevice, srcDevice, ByteCount, hStream, COPY_ASYNC);
}

/* None is the current one (observed on H200). */
static CUresult side_context(CUcontext handle, struct context *current, struct context **out)
{
    *out = current;
    return handle ? context_check(handle, out) : CUDA_SUCCESS;
}

static CUresult peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                     CUstream stream, enum copy_when when)
{
    struct context *c, *a, *b;
    struct stream *s;
    CUresult r = context_current(&c);
    if (r || (capture_any() && ((r = stream_get(c, stream, false, &s)) || (r = capture_refuse(s))))) return r;
    if ((r = side_context(to_context, c, &a)) || (r = side_context(from_context, c, &b)) || !bytes) return r;
    return linear_between(ON_DEVICE, a->device, to, b->device, from, bytes, stream, when);
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
                              size_t ByteCount)
{
    return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, COPY_NOW);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                                   CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
    return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, COPY_ASYNC);
}
