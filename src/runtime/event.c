/* Events. */
#include "runtime/runtime.h"

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t *event)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuEventCreate(event, CU_EVENT_DEFAULT));
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuEventCreate(event, flags));
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuEventRecord(event, stream));
}

cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuEventRecordWithFlags(event, stream, flags));
}

cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event)
{
    cudaError_t r = runtime_init(); /* an event has its context, the thread needs none */
    return r ? r : runtime_error(cuEventQuery(event));
}

cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t r = event ? runtime_ready() : runtime_init();
    if (r) return r;
    return event ? runtime_error(cuEventSynchronize(event)) : cudaErrorInvalidResourceHandle;
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuEventDestroy_v2(event));
}

cudaError_t CUDARTAPI cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    return ms ? runtime_error(cuEventElapsedTime_v2(ms, start, end)) : cudaErrorInvalidValue;
}

/* ---- Between processes ---- */

_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle), "one layout");

cudaError_t CUDARTAPI cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    cudaError_t r = runtime_ready();
    if (!r && !event) r = cudaErrorInvalidValue;
    return r ? r : runtime_error(cuIpcGetEventHandle((CUipcEventHandle *)handle, event));
}

cudaError_t CUDARTAPI cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuIpcOpenEventHandle(event, *(CUipcEventHandle *)&handle));
}
