/* In which context a call is made that names a stream. */
#include "context/context.h"
#include "stream/stream.h"

CUresult stream_caller(CUstream handle, struct context **c)
{
    struct stream *s;
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) return context_current(c);
    const bool inside = stream_in_host_function(); /* which may name streams (observed on H200) */
    CUresult r = inside ? sticky_get() : context_optional(c);
    if (r || (!inside && *c)) return r;
    if (stream_get(NULL, handle, false, &s)) return CUDA_ERROR_INVALID_CONTEXT;
    *c = stream_context(s);
    return CUDA_SUCCESS;
}

CUresult stream_caller_outside(CUstream handle, struct context **c)
{
    return stream_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : stream_caller(handle, c);
}

CUresult stream_named(CUstream handle, struct stream **out)
{
    struct context *c;
    CUresult r = stream_caller(handle, &c);
    return r ? r : stream_get(c, handle, false, out);
}
