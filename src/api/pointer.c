/* Unified addressing: what a pointer is. Answers come from a copy of the
 * allocation, so they need no lock and are right whatever is freed meanwhile. */
#include "context/context.h"
#include "graph/capture.h"
#include "mempool/mempool.h"
#include "space/space.h"
#include "vmm/vmm.h"

#include <string.h>

struct answer {
    size_t bytes;
    uint64_t value;
};

static bool on_host(const struct allocation *a)
{
    if (a->location)
        return a->location == CU_MEM_LOCATION_TYPE_HOST || a->location == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
               a->location == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    return a->kind == ALLOCATION_HOST || a->kind == ALLOCATION_REGISTERED;
}

static bool host_may_touch(const struct allocation *a)
{
    return a->host_access || a->kind == ALLOCATION_HOST || a->kind == ALLOCATION_REGISTERED ||
           a->kind == ALLOCATION_MANAGED;
}

/* What the device's kernels may do with it; NULL: those of the owner's. */
static unsigned access_of(const struct allocation *a, const struct device *d)
{
    unsigned may = space_access(a, d);
    if (may & PROT_DEVICE_WRITE) return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
    return may & PROT_DEVICE_READ ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
}

/* Of the current context; without one, the owner's. */
static unsigned access_flags(const struct allocation *a)
{
    const struct context *c = context_top();
    return access_of(a, c ? c->device : NULL);
}

/* What CU_POINTER_ATTRIBUTE_ACCESS_FLAGS tells. Observed on H200: of memory that was mapped the current context's, of
 * other memory the owner's; the host's pools say so whoever was given access. */
static unsigned told_access(const struct allocation *a)
{
    if (a->kind == ALLOCATION_MAPPED) return access_flags(a);
    return a->pool && on_host(a) ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE : access_of(a, NULL);
}

static int ordinal(const struct allocation *a)
{
    if (a->device) return device_name(a->device);
    if (a->pool) return mempool_ordinal(a->pool);
    return a->context ? a->context->device->ordinal : 0;
}

/* Pools are made of mappings of one size. */
static uint64_t mapping_base(const struct allocation *a, CUdeviceptr ptr)
{
    return a->pool ? a->mapping_base + (ptr - a->mapping_base) / MEMPOOL_MAPPING * MEMPOOL_MAPPING : a->mapping_base;
}

static void give(void *data, const struct answer *o)
{
    if (o->bytes == 8)
        memcpy(data, &o->value, 8);
    else
        memcpy(data, &o->value, 4);
}

static struct answer wide(uint64_t value) { return (struct answer){ 8, value }; }
static struct answer narrow(uint64_t value) { return (struct answer){ 4, value }; }

static CUresult ask(const struct allocation *a, CUpointer_attribute attribute, CUdeviceptr ptr, struct answer *o)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *o = wide(a->module_owned && a->kind == ALLOCATION_MANAGED ? 0 : (uint64_t)a->context);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *o = narrow(on_host(a) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *o = wide(ptr);
        if (!context_top()) return CUDA_ERROR_INVALID_CONTEXT;
        return access_flags(a) && !space_is_private(a, context_top()) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *o = wide(ptr);
        return host_may_touch(a) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *o = narrow(a->sync_memops); break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *o = wide(a->buffer_id); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *o = narrow(a->kind == ALLOCATION_MANAGED); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *o = narrow((uint64_t)ordinal(a)); break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *o = narrow(a->ipc_capable); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        /* the host's pools tell of none (observed on H200) */
        *o = wide(a->pool && on_host(a) ? 0 : a->range_size ? a->range_base : a->base);
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *o = wide(a->range_size ? a->range_size : a->size); break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *o = narrow(1); break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: *o = wide(a->handle_types); break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *o = narrow(a->rdma_capable); break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: *o = narrow(told_access(a)); break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *o = wide(a->pool && mempool_of_graphs(a->pool) ? 0 : (uint64_t)a->pool);
        break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *o = wide(a->pool ? MEMPOOL_MAPPING : a->mapping_size); break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *o = wide(mapping_base(a, ptr)); break;
    /* one number for what lies in one mapping */
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: *o = wide(mapping_base(a, ptr) >> 12); break;
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: *o = narrow(a->decompress_capable); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* GPUDirect's tokens (deprecated): none for the peer, one for all of the process's addresses. Who has them may rely on
 * synchronous operations. */
static CUresult tokens(const struct allocation *a, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS *out, CUdeviceptr ptr)
{
    memset(out, 0, sizeof *out);
    if (on_host(a)) return CUDA_ERROR_INVALID_VALUE;
    out->vaSpaceToken = 1;
    return space_set_sync_memops(ptr, true);
}

/* What an answer needs of an allocation: what space_glance gives, all of it, or all if somebody
 * else has to say which device may touch it. */
enum need { NEED_LITTLE, NEED_ACCESS, NEED_ALL };

static enum need need_of(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return NEED_LITTLE;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return NEED_ACCESS;
    default: return NEED_ALL;
    }
}

/* Memory of a graph is known while it is allocated (observed on H200). */
static bool known(CUdeviceptr ptr, enum need need, struct allocation *a)
{
    bool there = need == NEED_ALL ? space_look(ptr, a) != NULL : space_glance(ptr, a);
    if (there && need == NEED_ACCESS && a->foreign)
        there = space_look(ptr, a) != NULL;
    else if (need == NEED_ACCESS)
        a->owner = NULL; /* which a glance leaves out */
    return there && a->kind != ALLOCATION_RESERVED && !a->dormant;
}

/* An address that there is not is 0, and an error besides (observed on H200). */
static bool told_as_none(CUpointer_attribute a)
{
    return a == CU_POINTER_ATTRIBUTE_DEVICE_POINTER || a == CU_POINTER_ATTRIBUTE_HOST_POINTER;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct allocation a;
    struct answer o;
    CUresult r = library_ready();
    if (r) return r;
    if (!data || !known(ptr, need_of(attribute), &a)) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) return tokens(&a, data, ptr);
    r = ask(&a, attribute, ptr, &o);
    if (r == CUDA_ERROR_INVALID_VALUE && told_as_none(attribute)) give(data, &(struct answer){ 8, 0 });
    if (!r) give(data, &o);
    return r;
}

/* What does not apply is zero; an unknown pointer is the host's own. */
static struct answer absent(CUpointer_attribute attribute, CUdeviceptr ptr, bool known)
{
    const struct allocation nothing = { 0 };
    struct answer o = { 0 };
    ask(&nothing, attribute, ptr, &o);
    o.value = 0;
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) o.value = (uint64_t)CU_DEVICE_INVALID;
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && !known) o.value = ptr;
    return o;
}

/* What is written for reserved addresses as well; nothing, if there is no range at all (observed on H200). */
static bool told_of_reservation(CUpointer_attribute a)
{
    return a == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || a == CU_POINTER_ATTRIBUTE_RANGE_SIZE;
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
                                        CUdeviceptr ptr)
{
    struct allocation a;
    CUresult r = library_ready();
    if (r) return r;
    if (!numAttributes || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < numAttributes; k++)
        if (!data[k]) return CUDA_ERROR_INVALID_VALUE; /* before any is answered: observed on H200 */
    enum need need = NEED_LITTLE;
    for (unsigned k = 0; k < numAttributes; k++)
        if (need_of(attributes[k]) > need) need = need_of(attributes[k]);
    bool there = known(ptr, need, &a);
    for (unsigned k = 0; k < numAttributes; k++) {
        struct answer o;
        if ((int)attributes[k] <= 0 || attributes[k] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE ||
            attributes[k] == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
            return CUDA_ERROR_INVALID_VALUE;
        if (!there && told_of_reservation(attributes[k])) {
            uint64_t base, size;
            if (!vmm_reserved(ptr, &base, &size)) continue;
            o = wide(attributes[k] == CU_POINTER_ATTRIBUTE_RANGE_SIZE ? size : base);
        } else if (!there || ask(&a, attributes[k], ptr, &o)) {
            o = absent(attributes[k], ptr, there);
        }
        give(data[k], &o);
    }
    return CUDA_SUCCESS;
}

/* Reserved addresses have no attribute to set, and mappings do not support this one (observed on H200). */
CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct allocation a;
    CUresult r = library_ready();
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !space_look(ptr, &a) ||
        a.kind == ALLOCATION_RESERVED)
        return CUDA_ERROR_INVALID_VALUE;
    if (a.kind == ALLOCATION_MAPPED) return CUDA_ERROR_NOT_SUPPORTED;
    return space_set_sync_memops(ptr, *(const unsigned *)value != 0);
}
