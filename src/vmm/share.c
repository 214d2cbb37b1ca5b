/* Sharing memory with other processes: handles out, handles in. */
#include "vmm/fabric.h"
#include "vmm/own.h"

#include <unistd.h>

CUresult vmm_export(CUmemGenericAllocationHandle name, CUmemAllocationHandleType type, void *out)
{
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && type != CU_MEM_HANDLE_TYPE_FABRIC) return r;
    pthread_rwlock_wrlock(&vmm_lock);
    const struct vmm_handle *h = handle_find(name);
    if (h && h->memory->kind && h->prop.requestedHandleTypes & type) {
        if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && h->memory->kind->export)
            r = h->memory->kind->export(h->memory, out);
    } else if (h && h->prop.requestedHandleTypes & type) {
        r = h->memory->own ? CUDA_SUCCESS : own_move(h->memory);
        if (!r)
            r = type == CU_MEM_HANDLE_TYPE_FABRIC ? fabric_export(h->memory->own, out)
                                                  : own_export(h->memory->own, out);
    }
    pthread_rwlock_unlock(&vmm_lock);
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
