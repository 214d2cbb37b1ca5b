/* The numbers by which records name contexts, streams and devices. No context means the current one, but not for what a
 * default stream is (observed with an H200). */
#include <cuda.h>
#include <cupti.h>

static CUptiResult of_driver(CUresult r, CUptiResult otherwise)
{
    return !r ? CUPTI_SUCCESS : r == CUDA_ERROR_NOT_INITIALIZED ? CUPTI_ERROR_NOT_INITIALIZED : otherwise;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
    unsigned long long id;
    if (!contextId) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult r = of_driver(cuCtxGetId(context, &id), CUPTI_ERROR_INVALID_CONTEXT);
    if (!r) *contextId = (uint32_t)id;
    return r;
}

/* With the context current, for handles of default streams mean one of its. */
static CUptiResult stream_id(CUcontext context, CUstream stream, uint32_t *streamId)
{
    unsigned long long id;
    if (!streamId) return CUPTI_ERROR_INVALID_PARAMETER;
    if (!context && (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)) return CUPTI_ERROR_INVALID_STREAM;
    if (context && cuCtxPushCurrent(context)) return CUPTI_ERROR_INVALID_CONTEXT;
    CUptiResult r = of_driver(cuStreamGetId(stream, &id), CUPTI_ERROR_INVALID_STREAM);
    if (context) cuCtxPopCurrent(NULL);
    if (!r) *streamId = (uint32_t)id;
    return r;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
    return stream_id(context, stream, streamId);
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream, uint32_t *streamId)
{
    return stream_id(context, stream || !perThreadStream ? stream : CU_STREAM_PER_THREAD, streamId);
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
    CUdevice device;
    if (!deviceId) return CUPTI_ERROR_INVALID_PARAMETER;
    if (context && cuCtxPushCurrent(context)) return CUPTI_ERROR_INVALID_CONTEXT;
    CUptiResult r = cuCtxGetDevice(&device) ? CUPTI_ERROR_INVALID_DEVICE : CUPTI_SUCCESS;
    if (context) cuCtxPopCurrent(NULL);
    if (!r) *deviceId = (uint32_t)device;
    return r;
}
