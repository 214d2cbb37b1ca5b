/* Devices: what they are and can do. */
#include "runtime/runtime.h"

cudaError_t CUDARTAPI cudaDeviceSynchronize(void)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuCtxSynchronize());
}
