/* Properties of devices in the structures of CUDA 12, and of 11, from which 12's differs by what came behind. */
#include "runtime/properties.h"
#include "runtime/twelve.h"

#define OWN(member, name) PROPERTY(struct cudaDeviceProp_12, member, name)

static const struct property members[] = {
    PROPERTIES(PROPERTY, struct cudaDeviceProp_12)
    OWN(clockRate, CLOCK_RATE),
    OWN(deviceOverlap, GPU_OVERLAP),
    OWN(kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT),
    OWN(computeMode, COMPUTE_MODE),
    OWN(maxTexture1DLinear, MAXIMUM_TEXTURE1D_LINEAR_WIDTH),
    OWN(memoryClockRate, MEMORY_CLOCK_RATE),
    OWN(singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
    OWN(cooperativeMultiDeviceLaunch, COOPERATIVE_MULTI_DEVICE_LAUNCH),
};
enum { COUNT = sizeof members / sizeof *members };

static const struct properties twelve = { offsetof(struct cudaDeviceProp_12, reserved), members, COUNT };
static const struct properties eleven = { offsetof(struct cudaDeviceProp_12, hostRegisterSupported), members, COUNT };

_Static_assert(offsetof(struct cudaDeviceProp_12, totalGlobalMem) == offsetof(struct cudaDeviceProp, totalGlobalMem),
               "what is no attribute is at the same place");

cudaError_t CUDARTAPI cudaGetDeviceProperties_v2_12(struct cudaDeviceProp_12 *prop, int device)
{
    return runtime_properties(&twelve, prop, device);
}

cudaError_t CUDARTAPI cudaGetDeviceProperties_12(struct cudaDeviceProp_12 *prop, int device)
{
    return runtime_properties(&eleven, prop, device);
}

cudaError_t CUDARTAPI cudaChooseDevice_12(int *device, const struct cudaDeviceProp_12 *prop)
{
    return runtime_choose_device(&eleven, device, prop);
}
