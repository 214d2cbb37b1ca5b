/* Stream management. What a stream does is in src/stream; here are the checks
 * of arguments, in the driver's order. */
#include "api/green.h"
#include "graph/capture.h"
#include "mempool/mempool.h"
#include "space/space.h"
#include "stream/event.h"
#include "stream/operations.h"

#include <string.h>

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    struct context *c;
    struct stream *s;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!phStream || flags & ~CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    struct green *g = green_current();
    r = g ? stream_create_green(g, flags, stream_clamp_priority(priority), &s)
          : stream_create(c, flags, stream_clamp_priority(priority), &s);
    if (!r) *phStream = (CUstream)s;
    return r;
}

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return cuStreamCreateWithPriority(phStream, Flags, STREAM_PRIORITY_LEAST);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream)
{
    struct stream *s;
    if (!hStream) hStream = CU_STREAM_LEGACY; /* refused, whatever the default stream is */
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (stream_is_default(s)) return CUDA_ERROR_INVALID_HANDLE;
    return stream_destroy(s);
}

CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int *priority)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = stream_describe(s).priority;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r || (r = capture_refuse(s))) return r;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = stream_describe(s).flags;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r || (r = capture_refuse(s))) return r;
    if (!streamId) return CUDA_ERROR_INVALID_VALUE;
    *streamId = stream_describe(s).id;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    *pctx = (CUcontext)named_context_of(s);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!pCtx && !pGreenCtx) return CUDA_ERROR_INVALID_VALUE;
    if (pCtx) *pCtx = (CUcontext)stream_context(s);
    if (pGreenCtx) *pGreenCtx = (CUgreenCtx)stream_green(s);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!phCtx) return CUDA_ERROR_INVALID_VALUE;
    *phCtx = (CUgreenCtx)stream_green(s);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = stream_context(s)->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    return r || (r = capture_refuse(s)) || (r = capture_refuse_unsafe()) ? r : stream_query(s);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r || (r = capture_refuse(s)) || (r = capture_refuse_unsafe()) || (r = stream_synchronize(s))) return r;
    mempool_synchronized(NULL, s);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    struct stream *s;
    struct event *e;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (Flags & ~CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if ((r = event_get(hEvent, &e))) capture_spoil(s);
    if (r || capture_wait(s, e, Flags, &r)) return r;
    if (event_was_captured(e)) return CUDA_ERROR_INVALID_VALUE;
    return Flags ? CUDA_ERROR_ILLEGAL_STATE : stream_wait_event(s, e);
}

struct host_function {
    CUhostFn function;
    void *data;
};

static void call_function(void *arg, CUresult status)
{
    struct host_function *h = arg;
    if (!status) h->function(h->data);
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!fn) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_HOST, .host = { fn, userData } };
    if (capture_node(s, &node, &r)) return r;
    struct host_function h = { fn, userData };
    return stream_call(s, call_function, &h, sizeof h);
}

struct callback {
    CUstreamCallback function;
    CUstream stream;
    void *data;
};

static void call_callback(void *arg, CUresult status)
{
    struct callback *b = arg;
    b->function(b->stream, status, b->data);
}

CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    if (!callback || flags) return CUDA_ERROR_INVALID_VALUE;
    if ((r = capture_refuse(s))) return r;
    struct callback b = { callback, hStream, userData };
    return stream_call(s, call_callback, &b, sizeof b);
}

CUresult CUDAAPI cuStreamCopyAttributes(CUstream dst, CUstream src)
{
    struct stream *to, *from;
    CUresult r = stream_named(dst, &to);
    if (r || (r = stream_named(src, &from))) return r;
    if (stream_context(to) != stream_context(from)) return CUDA_ERROR_INVALID_VALUE;
    stream_copy_attributes(to, from);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value_out)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    return value_out ? stream_get_attribute(s, attr, value_out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
    struct stream *s;
    CUresult r = stream_named(hStream, &s);
    if (r) return r;
    return value ? stream_set_attribute(s, attr, value) : CUDA_ERROR_INVALID_VALUE;
}
