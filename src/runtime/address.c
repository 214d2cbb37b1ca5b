/* Unified addressing: what an address is of. */
#include "runtime/runtime.h"

enum { ATTRIBUTES = 5 };

static enum cudaMemoryType type_of(unsigned memory, unsigned managed)
{
    if (managed) return cudaMemoryTypeManaged;
    if (memory == CU_MEMORYTYPE_HOST) return cudaMemoryTypeHost;
    return memory ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
}

/* Whether kernels of the thread's device may access what malloc gives (as GH200s have answered). */
static bool reaches_pageable_memory(void)
{
    int answer = 0;
    return !cuDeviceGetAttribute(&answer, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, runtime_device()) && answer;
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
    cudaError_t r = runtime_init();
    if (r) return r;
    if (!attributes) return cudaErrorInvalidValue;
    if ((r = runtime_error(cuPointerGetAttributes(ATTRIBUTES, names, values, (CUdeviceptr)ptr)))) return r;
    if (!memory && reaches_pageable_memory()) on_device = (void *)ptr;
    *attributes = (struct cudaPointerAttributes){
        .type = type_of(memory, managed), .device = device, .devicePointer = on_device, .hostPointer = on_host
    };
    return cudaSuccess;
}
