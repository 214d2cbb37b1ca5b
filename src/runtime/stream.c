/* Streams. */
#include "runtime/runtime.h"

cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t *pStream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamCreate(pStream, CU_STREAM_DEFAULT));
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamCreate(pStream, flags));
}

cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamCreateWithPriority(pStream, flags, priority));
}

cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamDestroy_v2(stream));
}

cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamGetPriority(hStream, priority));
}

cudaError_t CUDARTAPI cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamGetFlags(hStream, flags));
}

cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamGetId(hStream, streamId));
}

cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamGetDevice(hStream, device));
}

/* ---- Attributes: the runtime's have the driver's numbers and layout ---- */

_Static_assert(sizeof(cudaStreamAttrValue) == sizeof(CUstreamAttrValue), "one layout");

cudaError_t CUDARTAPI cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamCopyAttributes(dst, src));
}

cudaError_t CUDARTAPI cudaStreamGetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
                                             cudaStreamAttrValue *value_out)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamGetAttribute(hStream, (CUstreamAttrID)attr, (CUstreamAttrValue *)value_out));
}

cudaError_t CUDARTAPI cudaStreamSetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
                                             const cudaStreamAttrValue *value)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamSetAttribute(hStream, (CUstreamAttrID)attr, (const CUstreamAttrValue *)value));
}

/* ---- Order ---- */

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamWaitEvent(stream, event, flags));
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamSynchronize(stream));
}

cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamQuery(stream));
}

/* The callback gets the driver's number of an error, which is the runtime's as well. */
cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *userData,
                                            unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamAddCallback(stream, (CUstreamCallback)callback, userData, flags));
}

cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuLaunchHostFunc(stream, fn, userData));
}

cudaError_t CUDARTAPI cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuStreamAttachMemAsync(stream, (CUdeviceptr)devPtr, length, flags));
}
