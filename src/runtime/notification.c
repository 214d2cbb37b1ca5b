/* Who wants to be told of what happens to devices. */
#include "runtime/runtime.h"

/* What the callback is told of has the driver's layout. */
cudaError_t CUDARTAPI cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callbackFunc, void *userData,
                                                          cudaAsyncCallbackHandle_t *callback)
{
    cudaError_t r = runtime_init();
    return r ? r
             : runtime_error(cuDeviceRegisterAsyncNotification(device, (CUasyncCallback)callbackFunc, userData,
                                                               (CUasyncCallbackHandle *)callback));
}

cudaError_t CUDARTAPI cudaDeviceUnregisterAsyncNotification(int device, cudaAsyncCallbackHandle_t callback)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceUnregisterAsyncNotification(device, (CUasyncCallbackHandle)callback));
}
