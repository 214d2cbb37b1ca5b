/* Multicast objects: the arguments' checks; src/vmm/multicast.c does the rest.
 * No recorded machine has them: the manual is what is followed. */
#include "vmm/multicast.h"

#include <stdlib.h>

static CUresult supported(void)
{
    CUresult r = library_ready();
    if (r) return r;
    return devices[0].profile->attribute[CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED] ? CUDA_SUCCESS
                                                                                  : CUDA_ERROR_NOT_SUPPORTED;
}

/* Other processes add devices that this one does not see. */
static bool good_properties(const CUmulticastObjectProp *p)
{
    return p && p->numDevices && device_physical(p->numDevices - 1l) && p->size && !p->flags;
}

CUresult CUDAAPI cuMulticastCreate(CUmemGenericAllocationHandle *mcHandle, const CUmulticastObjectProp *prop)
{
    CUresult r = supported();
    if (r) return r;
    if (!mcHandle || !good_properties(prop) || prop->size % MULTICAST_GRANULARITY) return CUDA_ERROR_INVALID_VALUE;
    if (prop->handleTypes & ~(unsigned long long)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
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

/* Memory of cuMemAllocAsync. Its pool's file stays, whatever becomes of the allocation; a pool that can be shared has
 * files that do not. */
static CUresult stream_ordered(CUdeviceptr p, size_t size, struct vmm_memory **out)
{
    struct allocation a;
    if (!space_look(p, &a) || a.kind != ALLOCATION_DEVICE || !a.owner || size > a.base + a.size - p)
        return CUDA_ERROR_INVALID_VALUE;
    if (a.backing != &a.device->vram.backing) return CUDA_ERROR_NOT_SUPPORTED;
    struct vmm_memory *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (struct vmm_memory){ .prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .location = { CU_MEM_LOCATION_TYPE_DEVICE, a.device->ordinal } },
                              .size = size,
                              .device = a.device,
                              .backing = a.backing,
                              .offset = a.offset + (p - a.base),
                              .references = 1 };
    *out = m;
    return CUDA_SUCCESS;
}

static CUresult memory_at(CUdeviceptr p, size_t size, struct vmm_memory **out, uint64_t *offset)
{
    uint64_t left;
    *offset = 0;
    if (vmm_memory_at(p, out, offset, &left)) return stream_ordered(p, size, out);
    if (size <= left) return CUDA_SUCCESS;
    vmm_memory_put(*out);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr,
                                     size_t size, unsigned long long flags)
{
    struct vmm_memory *m;
    uint64_t offset;
    CUresult r = supported();
    if (r) return r;
    if (flags || !aligned(mcOffset, memptr, size)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = memory_at(memptr, size, &m, &offset))) return r;
    return multicast_bind(mcHandle, mcOffset, m, offset, size);
}

CUresult CUDAAPI cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, size_t size)
{
    struct device *d;
    CUresult r = supported();
    if (r || (r = device_get(dev, &d))) return r;
    return aligned(mcOffset, 0, size) ? multicast_unbind(mcHandle, d, mcOffset, size) : CUDA_ERROR_INVALID_VALUE;
}
