/* Which atomic operations a device performs on others' memory where it performs only some
 * (CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED,
 * CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED). No machine that there is a
 * profile of is such a one; where all are performed, or none, the answer is 0 (observed on H200). */
#include "context/context.h"

static CUresult check(const unsigned *capabilities, const CUatomicOperation *operations, unsigned count)
{
    CUresult r = library_ready();
    return r || (capabilities && operations && count) ? r : CUDA_ERROR_INVALID_VALUE;
}

/* What is asked about behind an operation that does not exist is answered, too. */
static CUresult answer(unsigned *capabilities, const CUatomicOperation *operations, unsigned count)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < count; k++) {
        capabilities[k] = 0;
        if ((unsigned)operations[k] >= CU_ATOMIC_OPERATION_MAX) r = CUDA_ERROR_INVALID_VALUE;
    }
    return r;
}

CUresult CUDAAPI cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities, const CUatomicOperation *operations,
                                                   unsigned int count, CUdevice dev)
{
    struct device *d;
    CUresult r = check(capabilities, operations, count);
    if (r || (r = device_get(dev, &d))) return r;
    return answer(capabilities, operations, count);
}

CUresult CUDAAPI cuDeviceGetP2PAtomicCapabilities(unsigned int *capabilities, const CUatomicOperation *operations,
                                                  unsigned int count, CUdevice srcDevice, CUdevice dstDevice)
{
    struct device *a, *b;
    CUresult r = check(capabilities, operations, count);
    if (r || (r = device_get(srcDevice, &a)) || (r = device_get(dstDevice, &b))) return r;
    return a == b ? CUDA_ERROR_INVALID_DEVICE : answer(capabilities, operations, count);
}
