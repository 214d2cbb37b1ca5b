/* A shared object in which a runtime that cannot run here seems to be: of CUDA 12 if STAND_IN_12, else of 13. With
 * LIBRARY it is that runtime, as far as its name tells. */
#include <cuda_runtime_api.h>

#define INSIDE __attribute__((aligned(16), noipa, used))

#ifdef LIBRARY
#define VISIBILITY "default"
#else
#define VISIBILITY "hidden"

/* by which NVIDIA's is known */
INSIDE static void libcudart_static_stand_in(void) {}
#ifdef STAND_IN_12
INSIDE static cudaError_t cudaGetDeviceProperties_v2(void) { return cudaErrorStubLibrary; }
#endif
#endif

INSIDE __attribute__((visibility(VISIBILITY))) cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = -1;
    return cudaErrorStubLibrary;
}

__attribute__((visibility("default"))) int runtime_inside(void)
{
    int version;
    return cudaRuntimeGetVersion(&version) ? -1 : version;
}
