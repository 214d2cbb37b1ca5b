/* Versions: of the driver, and of the runtime that this library is. */
#include "runtime/runtime.h"

cudaError_t CUDARTAPI cudaDriverGetVersion(int *driverVersion)
{
    return driverVersion ? runtime_error(cuDriverGetVersion(driverVersion)) : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (!runtimeVersion) return cudaErrorInvalidValue;
    *runtimeVersion = runtime_version;
    return cudaSuccess;
}
