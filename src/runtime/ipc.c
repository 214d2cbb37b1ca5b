/* Handles that name memory to other processes; those of events are in event.c. */
#include "runtime/runtime.h"

#include <string.h>

SAME_LAYOUT(cudaIpcMemHandle_t, CUipcMemHandle);

cudaError_t CUDARTAPI cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuIpcGetMemHandle((CUipcMemHandle *)handle, (CUdeviceptr)devPtr));
}

cudaError_t CUDARTAPI cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
    CUipcMemHandle drivers;
    cudaError_t r = runtime_ready();
    memcpy(&drivers, &handle, sizeof drivers);
    return r ? r : runtime_error(cuIpcOpenMemHandle((CUdeviceptr *)devPtr, drivers, flags));
}

cudaError_t CUDARTAPI cudaIpcCloseMemHandle(void *devPtr)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuIpcCloseMemHandle((CUdeviceptr)devPtr));
}
