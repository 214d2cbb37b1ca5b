/* Legacy IPC. */
#include "ipc/ipc.h"
#include "context/context.h"
#include "stream/event.h"

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    return pHandle ? ipc_export_memory(dptr, pHandle) : CUDA_ERROR_INVALID_VALUE;
}

/* Peer access is enabled as needed, and the caller must say that it may be (observed on H200). */
CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    struct context *c;
    uint64_t base;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pdptr || !(Flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) return CUDA_ERROR_INVALID_VALUE;
    if (!(r = ipc_open_memory(c, &handle, &base))) *pdptr = base;
    return r;
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    struct context *c;
    struct allocation a;
    CUresult r = context_current(&c);
    if (r) return r;
    /* nothing that was launched before may still use it */
    if (space_look(dptr, &a) && a.kind == ALLOCATION_IMPORTED && a.base == dptr && (r = context_synchronize(a.context)))
        return r;
    return ipc_close_memory(dptr);
}

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    struct context *c;
    struct event *e;
    CUresult r = context_current(&c);
    if (!r && !event) r = CUDA_ERROR_INVALID_VALUE;
    if (r || (r = event_get(event, &e))) return r;
    return pHandle ? ipc_export_event(e, pHandle) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct context *c;
    struct event *e;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!phEvent) return CUDA_ERROR_INVALID_VALUE;
    if (!(r = ipc_open_event(c, &handle, &e))) *phEvent = (CUevent)e;
    return r;
}
