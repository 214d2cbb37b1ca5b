/* Sharing memory with other processes: handles out, handles in. */
#include "vmm/fabric.h"
#include "vmm/own.h"

#include <unistd.h>

/* Under the lock. */
static CUresult export_memory(struct vmm_memory *m, CUmemAllocationHandleType type, void *out)
{
    if (m->kind && (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !m->kind->export)) return CUDA_ERROR_INVALID_VALUE;
    if (m->kind) return m->kind->export(m, out);
    CUresult r = m->own ? CUDA_SUCCESS : own_move(m, 0);
    if (r) return r;
    return type == CU_MEM_HANDLE_TYPE_FABRIC ? fabric_export(m->own, out) : own_export(m->own, out);
}

static CUresult export_once(CUmemGenericAllocationHandle name, CUmemAllocationHandleType type, void *out)
{
    pthread_rwlock_wrlock(&vmm_lock);
    const struct vmm_handle *h = handle_find(name);
    CUresult r = h && h->prop.requestedHandleTypes & type ? export_memory(h->memory, type, out) : CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

CUresult vmm_export(CUmemGenericAllocationHandle name, CUmemAllocationHandleType type, void *out)
{
    unsigned asked = 0;
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && type != CU_MEM_HANDLE_TYPE_FABRIC) return r;
    while ((r = export_once(name, type, out)) == CUDA_ERROR_NOT_READY)
        if (own_is_late(&asked)) return CUDA_ERROR_OPERATING_SYSTEM;
    return r;
}

CUresult vmm_import_descriptor(int fd, CUmemGenericAllocationHandle *out)
{
    struct vmm_memory *m;
    struct vmm_handle *h;
    pthread_rwlock_wrlock(&vmm_lock);
    CUresult r = own_import(fd, &m);
    if (!r) {
        CUmemAllocationProp prop = m->prop;
        /* observed on H200: it cannot be exported again, and is not said to be for other hardware either */
        prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
        prop.allocFlags.gpuDirectRDMACapable = 0;
        if (!(r = handle_new(m, &prop, &h))) *out = handle_name(h);
    }
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

CUresult vmm_import_fabric(const CUmemFabricHandle *from, CUmemGenericAllocationHandle *out)
{
    int fd;
    CUresult r = fabric_fetch(from, &fd);
    if (r) return r;
    r = vmm_import_descriptor(fd, out);
    close(fd);
    return r;
}
