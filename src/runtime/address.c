/* Unified addressing: what an address is of. */
#include "runtime/runtime.h"

enum { ATTRIBUTES = 5 };

static enum cudaMemoryType type_of(unsigned memory, unsigned managed)
{
    if (managed) return cudaMemoryTypeManaged;
    if (memory == CU_MEMORYTYPE_HOST) return cudaMemoryTypeHost;
    return memory ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
}

cudaError_t CUDARTAPI cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    unsigned memory, managed;
    int device;
    void *on_device, *on_host;
    CUpointer_attribute names[ATTRIBUTES] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                              CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                              CU_POINTER_ATTRIBUTE_HOST_POINTER };
    void *values[ATTRIBUTES] = { &memory, &managed, &device, &on_device, &on_host };
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!attributes) return cudaErrorInvalidValue;
    if ((r = runtime_error(cuPointerGetAttributes(ATTRIBUTES, names, values, (CUdeviceptr)ptr)))) return r;
    *attributes = (struct cudaPointerAttributes){
        .type = type_of(memory, managed), .device = device, .devicePointer = on_device, .hostPointer = on_host
    };
    return cudaSuccess;
}
