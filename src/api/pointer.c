/* Unified addressing: what a pointer is. */
#include "context/context.h"
#include "space/space.h"

#include <string.h>

/* Whether kernels of the current context's device could use it; without one, the owner's could. */
static bool reachable(const struct allocation *a)
{
    const struct context *c = context_top();
    if (a->owner && a->owner->access && c) return a->owner->access(a, c->device) != PROT_DEVICE_NONE;
    return !a->device || !c || c->device == a->device || c->device->peers >> a->device->ordinal & 1;
}

struct answer {
    size_t bytes;
    uint64_t value;
};

static CUresult ask(const struct allocation *a, CUpointer_attribute attribute, CUdeviceptr ptr, struct answer *o)
{
    bool host = a->kind == ALLOCATION_HOST || a->kind == ALLOCATION_MANAGED, device = a->kind == ALLOCATION_DEVICE && !a->pool;
    *o = (struct answer){ 4, 0 };
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *o = (struct answer){ 8, a->module_owned && a->kind == ALLOCATION_MANAGED ? 0 : (uint64_t)a->context };
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        o->value = a->kind == ALLOCATION_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        if (!context_top()) return CUDA_ERROR_INVALID_CONTEXT;
        if (!reachable(a)) return CUDA_ERROR_INVALID_VALUE;
        *o = (struct answer){ 8, ptr };
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host) return CUDA_ERROR_INVALID_VALUE;
        *o = (struct answer){ 8, ptr };
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: o->value = a->sync_memops || a->kind == ALLOCATION_MANAGED; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *o = (struct answer){ 8, a->buffer_id }; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: o->value = a->kind == ALLOCATION_MANAGED; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        o->value = a->device ? (uint64_t)a->device->ordinal : a->context ? (uint64_t)a->context->device->ordinal : 0;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: o->value = device && !a->module_owned; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *o = (struct answer){ 8, a->base }; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *o = (struct answer){ 8, a->size }; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: o->value = 1; break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: o->bytes = 8; break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: o->value = device && !a->module_owned; break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        o->value = reachable(a) ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *o = (struct answer){ 8, (uint64_t)a->pool }; break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *o = (struct answer){ 8, a->mapping_size }; break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *o = (struct answer){ 8, a->mapping_base }; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: *o = (struct answer){ 8, a->mapping_base >> 21 }; break;
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: o->value = device && !a->module_owned; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct answer o;
    CUresult r = library_ready();
    if (r) return r;
    struct allocation *a = data ? space_find(ptr) : NULL;
    if (!a) return CUDA_ERROR_INVALID_VALUE;
    if ((r = ask(a, attribute, ptr, &o))) return r;
    memcpy(data, &o.value, o.bytes);
    return CUDA_SUCCESS;
}

/* Unknown pointers are no error here: they are the host's own, and everything else is zero. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
                                        CUdeviceptr ptr)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!numAttributes || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    const struct allocation none = { 0 }, *a = space_find(ptr);
    for (unsigned k = 0; k < numAttributes; k++) {
        struct answer o;
        if ((int)attributes[k] <= 0 || attributes[k] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE ||
            attributes[k] == CU_POINTER_ATTRIBUTE_P2P_TOKENS || !data[k])
            return CUDA_ERROR_INVALID_VALUE;
        bool known = !ask(a ? a : &none, attributes[k], ptr, &o) && a;
        if (!known) o.value = attributes[k] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (uint64_t)-2 : 0;
        if (!known && (attributes[k] == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
                       attributes[k] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER))
            o.bytes = 8;
        if (!a && attributes[k] == CU_POINTER_ATTRIBUTE_HOST_POINTER) o.value = ptr;
        memcpy(data[k], &o.value, o.bytes);
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    CUresult r = library_ready();
    if (r) return r;
    struct allocation *a = space_find(ptr);
    if (!value || !a || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    a->sync_memops = *(const unsigned *)value != 0;
    return CUDA_SUCCESS;
}
