/* Registration of the application's own memory. */
#include "context/context.h"
#include "graph/capture.h"
#include "ordinary/registered.h"
#include "stream/stream.h"

enum {
    KNOWN = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |
            CU_MEMHOSTREGISTER_READ_ONLY
};

CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (Flags & ~(unsigned)KNOWN) return CUDA_ERROR_INVALID_VALUE;
    return registered_add(c, (uint64_t)p, bytesize, Flags);
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
    struct allocation a;
    CUresult r = library_ready();
    if (r || (r = sticky_get()) || (r = capture_refuse_unsafe())) return r;
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    /* as on the GPU: nothing that was launched before may still use it */
    if (space_look((uint64_t)p, &a) && a.kind == ALLOCATION_REGISTERED && a.base == (uint64_t)p && a.context &&
        (r = context_synchronize(a.context)))
        return r;
    return registered_remove((uint64_t)p);
}
