/* Virtual memory management, its beginnings: reservations and allocation
 * handles. Mapping is a later step, so nothing is ever mapped. */
#include "context/context.h"
#include "space/space.h"

#include <stdlib.h>

enum { GRANULARITY = 2 << 20 };

struct reservation {
    uint64_t base, size;
    struct reservation *next;
};
struct handle {
    struct device *device;
    uint64_t size, offset;
    struct handle *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservation *reservations;
static struct handle *handles;

static CUresult check_properties(const CUmemAllocationProp *prop, struct device **d)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return prop->location.type == CU_MEM_LOCATION_TYPE_INVALID ? CUDA_ERROR_INVALID_VALUE
                                                                   : CUDA_ERROR_NOT_SUPPORTED;
    return device_get(prop->location.id, d);
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    struct device *d;
    CUresult r = library_ready();
    if (r) return r;
    if (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) return CUDA_ERROR_INVALID_VALUE;
    if ((r = check_properties(prop, &d))) return r;
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                     unsigned long long flags)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!ptr || !size || size % GRANULARITY || flags || alignment & (alignment - 1)) return CUDA_ERROR_INVALID_VALUE;
    (void)addr; /* a hint; the first free place is as good */
    struct reservation *v = calloc(1, sizeof *v), **at = &reservations;
    uint64_t base = space_reserve_base(), end = space_reserve_end(),
             step = alignment > GRANULARITY ? alignment : GRANULARITY;
    if (!v) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    base = (base + step - 1) & ~(step - 1);
    for (; *at; at = &(*at)->next) {
        if (size <= (*at)->base && base <= (*at)->base - size) break;
        base = ((*at)->base + (*at)->size + step - 1) & ~(step - 1);
    }
    if (base < end && size <= end - base) {
        *v = (struct reservation){ base, size, *at };
        *at = v;
        *ptr = base;
    } else {
        free(v);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult r = library_ready();
    if (r) return r;
    r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (struct reservation **at = &reservations; *at && r; at = &(*at)->next)
        if ((*at)->base == ptr && (*at)->size == size) {
            struct reservation *v = *at;
            *at = v->next;
            free(v);
            r = CUDA_SUCCESS;
            break;
        }
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                             unsigned long long flags)
{
    struct device *d;
    CUresult r = library_ready();
    if (r) return r;
    if (!handle || !size || size % GRANULARITY || flags) return CUDA_ERROR_INVALID_VALUE;
    if ((r = check_properties(prop, &d))) return r;
    if (prop->requestedHandleTypes || prop->allocFlags.usage || prop->allocFlags.compressionType)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct handle *h = calloc(1, sizeof *h);
    if (!h) return CUDA_ERROR_OUT_OF_MEMORY;
    *h = (struct handle){ .device = d, .size = size };
    if ((r = vram_alloc(&d->vram, size, &h->offset))) {
        free(h);
        return r;
    }
    pthread_mutex_lock(&lock);
    h->next = handles;
    handles = h;
    pthread_mutex_unlock(&lock);
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)h;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult r = library_ready();
    if (r) return r;
    struct handle *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct handle **at = &handles; *at && !found; at = &(*at)->next)
        if ((uintptr_t)*at == handle) {
            found = *at;
            *at = found->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    vram_free(&found->device->vram, found->offset, found->size);
    free(found);
    return CUDA_SUCCESS;
}

/* Nothing is mapped. */
CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult r = library_ready();
    (void)ptr, (void)size;
    return r ? r : CUDA_ERROR_INVALID_VALUE;
}

/* Nothing was exported, so no descriptor is one of ours (observed on H200: UNKNOWN for a bad one). */
CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                                CUmemAllocationHandleType shHandleType)
{
    CUresult r = library_ready();
    if (r) return r;
    (void)osHandle;
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    return shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_NOT_SUPPORTED;
}
