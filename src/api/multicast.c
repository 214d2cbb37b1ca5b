/* Multicast objects: the arguments' checks; src/vmm/multicast.c does the rest.
 * No recorded machine has them: the manual is what is followed. */
#include "vmm/multicast.h"

static CUresult supported(void)
{
    CUresult r = library_ready();
    if (r) return r;
    return devices[0].profile->attribute[CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED] ? CUDA_SUCCESS
                                                                                  : CUDA_ERROR_NOT_SUPPORTED;
}

static bool good_properties(const CUmulticastObjectProp *p)
{
    return p && p->numDevices && p->numDevices <= (unsigned)device_count && p->size && !p->flags;
}

CUresult CUDAAPI cuMulticastCreate(CUmemGenericAllocationHandle *mcHandle, const CUmulticastObjectProp *prop)
{
    CUresult r = supported();
    if (r) return r;
    if (!mcHandle || !good_properties(prop) || prop->size % MULTICAST_GRANULARITY) return CUDA_ERROR_INVALID_VALUE;
    if (prop->handleTypes & ~(unsigned long long)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    return multicast_create(prop, mcHandle);
}

CUresult CUDAAPI cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
                                           CUmulticastGranularity_flags option)
{
    CUresult r = supported();
    if (r) return r;
    if (!granularity || !good_properties(prop) || (unsigned)option > CU_MULTICAST_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = option == CU_MULTICAST_GRANULARITY_MINIMUM ? MULTICAST_GRANULARITY : MULTICAST_RECOMMENDED;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev)
{
    struct device *d;
    CUresult r = supported();
    return r || (r = device_get(dev, &d)) ? r : multicast_add(mcHandle, d);
}

static bool aligned(uint64_t a, uint64_t b, uint64_t size) { return size && !((a | b | size) % MULTICAST_GRANULARITY); }

CUresult CUDAAPI cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                    CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                                    unsigned long long flags)
{
    struct vmm_memory *m;
    CUresult r = supported();
    if (r) return r;
    if (flags || !aligned(mcOffset, memOffset, size)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = vmm_memory_get(memHandle, &m))) return r;
    return multicast_bind(mcHandle, mcOffset, m, memOffset, size);
}

/* Memory of cuMemAllocAsync: it could be bound on a GPU. */
static bool stream_ordered(CUdeviceptr p)
{
    struct allocation a;
    return space_look(p, &a) && a.kind == ALLOCATION_DEVICE && a.owner;
}

CUresult CUDAAPI cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr,
                                     size_t size, unsigned long long flags)
{
    struct vmm_memory *m;
    uint64_t offset, left;
    CUresult r = supported();
    if (r) return r;
    if (flags || !aligned(mcOffset, memptr, size)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = vmm_memory_at(memptr, &m, &offset, &left))) return stream_ordered(memptr) ? CUDA_ERROR_NOT_SUPPORTED : r;
    if (size > left) {
        vmm_memory_put(m);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return multicast_bind(mcHandle, mcOffset, m, offset, size);
}

CUresult CUDAAPI cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, size_t size)
{
    struct device *d;
    CUresult r = supported();
    if (r || (r = device_get(dev, &d))) return r;
    return aligned(mcOffset, 0, size) ? multicast_unbind(mcHandle, d, mcOffset, size) : CUDA_ERROR_INVALID_VALUE;
}
