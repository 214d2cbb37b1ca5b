/* How the host waits for devices, and which of them are made ready: flags of
 * primary contexts. */
#include "runtime/runtime.h"

static bool valid(unsigned flags)
{
    const unsigned schedule = flags & cudaDeviceScheduleMask;
    return !(flags & ~(unsigned)cudaDeviceMask) && !(schedule & (schedule - 1));
}

/* Mapped host memory is there in any case: the driver knows no flag that says so. */
static CUresult set(int device, unsigned flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(device, flags & ~(unsigned)cudaDeviceMapHost);
}

cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned int flags)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    if (!valid(flags)) return cudaErrorInvalidValue;
    r = runtime_error(set(runtime_device(), flags));
    return r ? r : runtime_ready();
}

/* Primary contexts map host memory; what the driver's functions made need not, and says nothing of it. */
cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned int *flags)
{
    const unsigned shown = cudaDeviceScheduleMask | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops;
    unsigned of_context;
    int active;
    CUcontext current;
    cudaError_t r = runtime_init();
    if (r) return r;
    if (!flags) return cudaErrorInvalidValue;
    r = runtime_error(cuCtxGetCurrent(&current));
    if (r) return r;
    r = runtime_error(current ? cuCtxGetFlags(&of_context)
                              : cuDevicePrimaryCtxGetState(runtime_device(), &of_context, &active));
    if (r) return r;
    *flags = of_context & shown;
    if (!current || runtime_is_primary(current, runtime_device())) *flags |= cudaDeviceMapHost;
    return cudaSuccess;
}

/* The device's context is there then, but no thread's; after wrong flags it is this thread's (observed on H200). */
cudaError_t CUDARTAPI cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    CUcontext primary;
    unsigned now;
    int active;
    cudaError_t r = runtime_init();
    if (r || (r = runtime_error(cuDevicePrimaryCtxGetState(device, &now, &active)))) return r;
    const bool given = flags & cudaInitDeviceFlagsAreValid;
    if (given && !valid(deviceFlags)) return (r = runtime_ready()) ? r : cudaErrorInvalidValue;
    if (given) r = runtime_error(set(device, deviceFlags));
    return r ? r : runtime_primary(device, &primary);
}
