/* Device and pinned memory: allocation and what can be asked of it. */
#include "base/because.h"
#include "context/context.h"
#include "graph/capture.h"
#include "mempool/mempool.h"
#include "space/space.h"
#include "stream/stream.h"
#include "uvm/uvm.h"
#include "vmm/vmm.h"

enum { PITCH = 512 };

/* What pools keep without a need goes first when memory is short. */
static CUresult alloc_device(struct context *c, size_t bytes, struct allocation **a)
{
    CUresult r = space_alloc_device(c, bytes, a);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        vmm_settle();
        r = space_alloc_device(c, bytes, a);
    }
    if (r == CUDA_ERROR_OUT_OF_MEMORY && mempool_shrink(c->device)) r = space_alloc_device(c, bytes, a);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && mempool_free_idle()) r = space_alloc_device(c, bytes, a);
    return r;
}

/* What calls here give is zero if they fail, for whatever reason (observed on H200). */

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    struct context *c;
    struct allocation *a;
    if (dptr) *dptr = 0;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!dptr || !bytesize) return CUDA_ERROR_INVALID_VALUE;
    if ((r = context_enter(c))) return r;
    if (!(r = alloc_device(c, bytesize, &a))) *dptr = a->base;
    return context_leave(c, r);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                                    unsigned int ElementSizeBytes)
{
    struct context *c;
    struct allocation *a;
    size_t pitch, bytes;
    if (dptr) *dptr = 0;
    if (pPitch) *pPitch = 0;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!dptr || !pPitch || !WidthInBytes || !Height) return CUDA_ERROR_INVALID_VALUE;
    if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) return CUDA_ERROR_INVALID_VALUE;
    if (WidthInBytes > SIZE_MAX - PITCH + 1) return CUDA_ERROR_INVALID_VALUE;
    *pPitch = pitch = (WidthInBytes + PITCH - 1) / PITCH * PITCH;
    if ((r = capture_refuse_unsafe())) return r;
    if (__builtin_mul_overflow(pitch, Height, &bytes))
        return bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    if ((r = context_enter(c))) return r;
    if (!(r = alloc_device(c, bytes, &a))) *dptr = a->base;
    return context_leave(c, r);
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
    struct context *c;
    struct allocation a;
    CUresult r = library_ready();
    if (r || (r = sticky_get()) || (r = capture_refuse_unsafe())) return r;
    if (!dptr) return CUDA_SUCCESS;
    if (!space_look(dptr, &a)) {
        if (context_current_unchecked(&c) == CUDA_ERROR_CONTEXT_IS_DESTROYED) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        return (CUresult)because(CUDA_ERROR_INVALID_VALUE, "nothing is allocated at this address, or not any more");
    }
    if (a.pool) return mempool_free_now(&a, dptr);
    if (a.base != dptr || a.module_owned || (a.kind != ALLOCATION_DEVICE && a.kind != ALLOCATION_MANAGED))
        return (CUresult)because(CUDA_ERROR_INVALID_VALUE, "this is not an address that an allocation of such memory gave");
    /* as on the GPU: nothing that was launched before may still use it */
    if (a.context && (r = context_synchronize(a.context))) return r;
    return a.kind == ALLOCATION_DEVICE ? mempool_free_device(&a) : uvm_free_same(&a);
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t *freeBytes, size_t *total)
{
    struct context *c;
    if (freeBytes) *freeBytes = 0;
    if (total) *total = 0;
    CUresult r = context_current(&c);
    if (r) return r;
    struct vram *v = &c->device->vram;
    vmm_settle();
    pthread_mutex_lock(&v->lock);
    if (freeBytes) *freeBytes = v->capacity - v->used;
    if (total) *total = v->capacity;
    pthread_mutex_unlock(&v->lock);
    return CUDA_SUCCESS;
}

/* Memory that was mapped, and may be touched. */
static bool accessible(const struct allocation *a, const struct context *c)
{
    return a->kind == ALLOCATION_MAPPED && space_access(a, c->device);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct context *c;
    struct allocation a;
    if (!pbase && !psize) return CUDA_SUCCESS; /* nothing is asked (observed on H200) */
    if (pbase) *pbase = 0;
    if (psize) *psize = 0;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!space_look(dptr, &a) || a.kind == ALLOCATION_RESERVED || a.dormant) return CUDA_ERROR_NOT_FOUND;
    /* what the device may not touch: observed on H200 */
    if (!space_access(&a, c->device) || space_is_private(&a, c)) return CUDA_ERROR_NOT_FOUND;
    /* of the host's that was mapped no base is told (observed on H200) */
    bool host = a.location && a.location != CU_MEM_LOCATION_TYPE_DEVICE;
    if (pbase) *pbase = host ? 0 : a.base;
    if (psize) *psize = a.size;
    return CUDA_SUCCESS;
}

/* ---- pinned host memory */

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    struct context *c;
    struct allocation *a;
    if (pp) *pp = NULL;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!pp || Flags & ~(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
        return CUDA_ERROR_INVALID_VALUE;
    if (!bytesize) return CUDA_SUCCESS; /* as on the GPU */
    if ((r = context_enter(c))) return r;
    if (!(r = space_alloc_host(c, bytesize, Flags, &a))) *pp = (void *)a->base;
    return context_leave(c, r);
}

CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize) { return cuMemHostAlloc(pp, bytesize, 0); }

/* Pinned or registered memory that contains p. */
static bool pinned(const void *p, struct allocation *a)
{
    return space_look((uint64_t)p, a) && ((a->kind == ALLOCATION_HOST && !a->pool) || a->kind == ALLOCATION_REGISTERED);
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
    struct allocation a;
    CUresult r = library_ready();
    if (r || (r = sticky_get()) || (r = capture_refuse_unsafe())) return r;
    if (!p) return CUDA_SUCCESS;
    if (!pinned(p, &a) || a.kind != ALLOCATION_HOST || a.base != (uint64_t)p) return CUDA_ERROR_INVALID_VALUE;
    if (a.context && (r = context_synchronize(a.context))) return r;
    return space_free_same(&a);
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct context *c;
    struct allocation a;
    if (pdptr) *pdptr = 0;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pdptr || Flags) return CUDA_ERROR_INVALID_VALUE;
    if (pinned(p, &a))
        *pdptr = (CUdeviceptr)p;
    else if (space_look((uint64_t)p, &a) && accessible(&a, c))
        *pdptr = a.base; /* observed on H200: of what was mapped the beginning, wherever in it p is */
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* That, or what else devices may touch and has an address of the host's (observed on H200). */
static bool mapped(const void *p, const struct context *c, struct allocation *a)
{
    if (pinned(p, a)) return true;
    return space_look((uint64_t)p, a) && ((a->kind == ALLOCATION_MANAGED && !a->pool) || accessible(a, c));
}

/* Portability and mapping are given anyway, and so reported (observed on H200). */
CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct context *c;
    struct allocation a;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pFlags || !mapped(p, c, &a)) return CUDA_ERROR_INVALID_VALUE;
    *pFlags = CU_MEMHOSTALLOC_DEVICEMAP;
    if (a.kind == ALLOCATION_HOST) *pFlags |= a.flags;
    if (a.kind == ALLOCATION_REGISTERED) *pFlags |= a.flags & CU_MEMHOSTREGISTER_PORTABLE;
    if (a.kind == ALLOCATION_MAPPED) *pFlags |= CU_MEMHOSTALLOC_PORTABLE;
    return CUDA_SUCCESS;
}
