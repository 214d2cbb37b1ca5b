/* Physical memory: a piece of its device's memory (or the host's), whose
 * capacity it counts against. One that may be exported has a memfd of its own,
 * so that its descriptor can be handed out without anything else. */
#include "vmm/fabric.h"
#include "base/numa.h"
#include "vmm/own.h"

#include <stdlib.h>
#include <string.h>

/* Bits of requestedHandleTypes that Linux knows; those of other systems are refused, others ignored (observed on H200). */
enum {
    EXPORTABLE = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC,
    FOREIGN = CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT
};

static bool all_zero(const void *p, size_t n)
{
    const unsigned char *b = p;
    while (n && !b[n - 1]) n--;
    return !n;
}

/* To the simulated devices. */
static int nearest_node(void)
{
    int node = profile_attribute(devices[0].profile, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
    return numa_exists(node) ? node : 0;
}

/* reserved[3] is not looked at (observed on H200, as all of these rules). */
static CUresult check_form(const CUmemAllocationProp *prop)
{
    return prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->win32HandleMetaData ||
                   prop->requestedHandleTypes & FOREIGN ||
                   prop->allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC ||
                   !all_zero(prop->allocFlags.reserved, sizeof prop->allocFlags.reserved - 1)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

/* A host's memory has nothing of a device's; asked of the host and not of a node of it, it is not exported either. */
static CUresult check_host(const CUmemAllocationProp *prop)
{
    const CUmemLocation *l = &prop->location;
    bool there = l->type == CU_MEM_LOCATION_TYPE_HOST
                     ? !prop->requestedHandleTypes
                     : l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA && numa_exists(l->id);
    return there && !prop->allocFlags.compressionType && !prop->allocFlags.gpuDirectRDMACapable
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

/* Tiles are for arrays only, and what is compressed is not for the decompression engine. */
static CUresult check_usage(const CUmemAllocationProp *prop)
{
    const unsigned usage = prop->allocFlags.usage;
    bool wrong = usage & CU_MEM_CREATE_USAGE_TILE_POOL &&
                 (prop->requestedHandleTypes || prop->allocFlags.gpuDirectRDMACapable);
    wrong |= usage & (CU_MEM_CREATE_USAGE_TILE_POOL | CU_MEM_CREATE_USAGE_HW_DECOMPRESS) &&
             prop->allocFlags.compressionType;
    return wrong ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Which device there is is asked before anything else. Leaves in prop what is read back. */
static CUresult check(CUmemAllocationProp *prop, struct device **d)
{
    CUmemLocation *l = &prop->location;
    CUresult r = CUDA_SUCCESS;
    *d = NULL;
    if (l->type == CU_MEM_LOCATION_TYPE_DEVICE) r = device_get(l->id, d);
    if (!r) r = check_form(prop);
    if (!r && !*d) r = check_host(prop);
    if (!r) r = check_usage(prop);
    if (r) return r;
    if (prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC && !fabric_permitted()) return CUDA_ERROR_NOT_PERMITTED;
    prop->requestedHandleTypes &= EXPORTABLE;
    if (prop->allocFlags.gpuDirectRDMACapable) {
        prop->allocFlags.gpuDirectRDMACapable = 1;
        prop->allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
    }
    memset(prop->allocFlags.reserved, 0, sizeof prop->allocFlags.reserved);
    /* the host's id is ignored, and it is reported as a node */
    if (l->type == CU_MEM_LOCATION_TYPE_HOST)
        *l = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = nearest_node() };
    return CUDA_SUCCESS;
}

static void destroy(struct vmm_memory *m)
{
    if (m->kind && m->kind->destroy) m->kind->destroy(m);
    if (m->own) own_destroy(m->own);
    if (m->chunk.size) {
        if (!m->device && !m->own) numa_unbind(m->backing->alias + m->offset, m->size);
        space_give(m->device, &m->chunk);
    }
    free(m);
}

static void settle(void)
{
    for (struct vmm_own *o; (o = own_next_forgotten());) destroy(o->memory);
}

/* Whether descriptors were closed is looked at only when it matters. */
static CUresult take(struct device *d, uint64_t size, struct space_chunk *out)
{
    CUresult r = space_take(d, size, out);
    if (r != CUDA_ERROR_OUT_OF_MEMORY || !own_orphans()) return r;
    settle();
    return space_take(d, size, out);
}

CUresult memory_create(uint64_t size, const CUmemAllocationProp *prop, struct vmm_memory **out)
{
    struct device *d;
    CUmemAllocationProp p = *prop;
    CUresult r = check(&p, &d);
    if (r) return r;
    struct vmm_memory *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (struct vmm_memory){ .prop = p, .size = size, .device = d, .references = 1 };
    if ((r = take(d, size, &m->chunk))) {
        m->chunk.size = 0;
        goto out;
    }
    m->backing = m->chunk.backing;
    m->offset = m->chunk.offset;
    /* without a descriptor it waits in its device's file until it is exported */
    if (p.requestedHandleTypes && (r = own_create(m, !d)) && !d) goto out;
    r = CUDA_SUCCESS;
    if (!d && prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
        numa_bind(m->backing->alias + m->offset, size, p.location.id);
out:
    if (r)
        destroy(m);
    else
        *out = m;
    return r;
}

void vmm_settle(void)
{
    if (!own_orphans()) return;
    pthread_rwlock_wrlock(&vmm_lock);
    settle();
    pthread_rwlock_unlock(&vmm_lock);
}

void memory_put(struct vmm_memory *m)
{
    if (!--m->references && !(m->own && own_keep(m->own))) destroy(m);
}

bool memory_view(const struct vmm_memory *m, const struct device *d, uint64_t at, const struct backing **b,
                 uint64_t *offset, uint64_t *length)
{
    if (m->kind && m->kind->view) return m->kind->view(m, d, at, b, offset, length);
    *b = m->backing;
    *offset = m->offset + at;
    *length = m->size - at;
    return true;
}
