/* In which context a call is made that names a stream. */
#include "context/context.h"
#include "stream/stream.h"

CUresult stream_caller(CUstream handle, struct context **c)
{
    struct stream *s;
    CUresult r = context_current(c);
    bool is_default = !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
    if (r != CUDA_ERROR_INVALID_CONTEXT || is_default || stream_in_host_function()) return r;
    if ((r = sticky_get())) return r;
    if (stream_get(NULL, handle, false, &s)) return CUDA_ERROR_INVALID_CONTEXT;
    *c = stream_context(s);
    return CUDA_SUCCESS;
}

CUresult stream_named(CUstream handle, struct stream **out)
{
    struct context *c;
    CUresult r = stream_caller(handle, &c);
    return r ? r : stream_get(c, handle, false, out);
}
