/* A shared object in which a runtime that cannot run here seems to be: of CUDA 12 if STAND_IN_12, else of 13. */
#include <cuda_runtime_api.h>

#define INSIDE __attribute__((aligned(16), noipa, used))

/* by which NVIDIA's is known */
INSIDE static void libcudart_static_stand_in(void) {}
#ifdef STAND_IN_12
INSIDE static cudaError_t cudaGetDeviceProperties_v2(void) { return cudaErrorStubLibrary; }
#endif

INSIDE __attribute__((visibility("hidden"))) cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = -1;
    return cudaErrorStubLibrary;
}

__attribute__((visibility("default"))) int runtime_inside(void)
{
    int version;
    return cudaRuntimeGetVersion(&version) ? -1 : version;
}
