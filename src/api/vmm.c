/* Virtual memory management: the arguments' checks, in the driver's order;
 * src/vmm does the rest. None of it needs a context, and none looks at the
 * sticky error (observed on H200). */
#include "base/because.h"
#include "base/units.h"
#include "vmm/multicast.h"
#include "mempool/mempool.h"
#include "vmm/vmm.h"

/* The properties do not matter, not even a device that does not exist (observed on H200). */
CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!granularity || !prop || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = VMM_GRANULARITY;
    return CUDA_SUCCESS;
}

static CUresult wrong_size(void)
{
    return (CUresult)because(CUDA_ERROR_INVALID_VALUE,
                             "sizes are multiples of cuMemGetAllocationGranularity's, 2 MiB");
}

/* A power of two, or 0, that an address which was wished for has, too (observed on H200). */
static bool is_alignment(size_t alignment, CUdeviceptr wished)
{
    const size_t most = 1ull << 57;
    return !alignment || (alignment <= most && !(alignment & (alignment - 1)) && !(wished & (alignment - 1)));
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                     unsigned long long flags)
{
    CUresult r = library_ready();
    if (r) return r;
    if (size % VMM_GRANULARITY) return wrong_size();
    if (!ptr || !size || !is_alignment(alignment, addr) || addr % VMM_GRANULARITY || flags)
        return CUDA_ERROR_INVALID_VALUE;
    const uint64_t top = 1ull << 47; /* of the addresses that a host has, whose last page is nobody's */
    if (size >= top || addr > top - size || round_up(addr + size, VMM_CHUNK) == top) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t base;
    if (!(r = vmm_reserve(size, alignment, addr, &base))) *ptr = base;
    return r;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult r = library_ready();
    return r ? r : vmm_reservation_free(ptr, size);
}

/* What pools keep without a need goes first when memory is short. */
static bool pools_shrink(const CUmemLocation *l)
{
    return mempool_shrink(l->type == CU_MEM_LOCATION_TYPE_DEVICE ? &devices[l->id] : NULL);
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                             unsigned long long flags)
{
    CUresult r = library_ready();
    if (r) return r;
    if (size % VMM_GRANULARITY) return wrong_size();
    if (!handle || !size || !prop || flags) return CUDA_ERROR_INVALID_VALUE;
    r = vmm_create(size, prop, handle);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && pools_shrink(&prop->location)) r = vmm_create(size, prop, handle);
    return r;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult r = library_ready();
    return r ? r : vmm_release(handle);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    CUresult r = library_ready();
    if (r) return r;
    return handle ? vmm_retain((CUdeviceptr)addr, handle) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    CUresult r = library_ready();
    if (r) return r;
    return prop ? vmm_properties(handle, prop) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                          unsigned long long flags)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!ptr || !size || flags) return CUDA_ERROR_INVALID_VALUE;
    multicast_wait(handle);
    return vmm_map(ptr, size, offset, handle);
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult r = library_ready();
    return r ? r : vmm_unmap(ptr, size);
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!ptr || !size || !desc || !count) return CUDA_ERROR_INVALID_VALUE;
    multicast_refresh();
    return vmm_set_access(ptr, size, desc, count);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    CUresult r = library_ready();
    if (r) return r;
    return flags && location && ptr ? vmm_get_access(ptr, location, flags) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType handleType, unsigned long long flags)
{
    CUresult r = library_ready();
    if (r) return r;
    return shareableHandle && !flags ? vmm_export(handle, handleType, shareableHandle) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult import_descriptor(int fd, CUmemGenericAllocationHandle *out)
{
    CUresult r = vmm_import_descriptor(fd, out);
    return r == CUDA_ERROR_UNKNOWN ? multicast_import(fd, out) : r;
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                                CUmemAllocationHandleType shHandleType)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    if (shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return import_descriptor((int)(intptr_t)osHandle, handle);
    if (shHandleType == CU_MEM_HANDLE_TYPE_WIN32 || shHandleType == CU_MEM_HANDLE_TYPE_WIN32_KMT)
        return CUDA_ERROR_NOT_SUPPORTED;
    return shHandleType == CU_MEM_HANDLE_TYPE_FABRIC && osHandle ? vmm_import_fabric(osHandle, handle)
                                                                 : CUDA_ERROR_INVALID_VALUE;
}

/* Mapped memory, or what an allocation of a device's lies in, but a module's (observed on H200). */
static bool is_range(CUdeviceptr at, size_t size)
{
    struct allocation a;
    uint64_t base, length;
    if (at + size < at) return false;
    if (vmm_reserved(at, &base, &length)) return vmm_spans(at, size);
    return space_look(at, &a) && a.kind == ALLOCATION_DEVICE && !a.module_owned &&
           size <= a.mapping_base + a.mapping_size - at;
}

/* What a DMA buffer of it would be answered: one device has all of it. */
static CUresult dma_buffer(CUdeviceptr at, size_t size)
{
    struct allocation a;
    const struct device *d = NULL;
    bool compressed = false;
    for (CUdeviceptr end = at + size; at < end; at = a.mapping_base + a.mapping_size) {
        if (!space_look(at, &a) || !a.device || (d && a.device != d)) return CUDA_ERROR_INVALID_VALUE;
        d = a.device;
        compressed |= a.compressed;
    }
    return compressed ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_NOT_SUPPORTED;
}

/* There is no device node that a DMA buffer could come from; what is wrong with a call is said all the same, in the
 * driver's order. A H200 does not support the only flag there is. */
CUresult CUDAAPI cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
                                               CUmemRangeHandleType handleType, unsigned long long flags)
{
    const size_t page = 4096;
    CUresult r = library_ready();
    if (r) return r;
    if (!handle || handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || !size || size % page || dptr % page ||
        !is_range(dptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE) return CUDA_ERROR_NOT_SUPPORTED;
    return flags ? CUDA_ERROR_INVALID_VALUE : dma_buffer(dptr, size);
}
