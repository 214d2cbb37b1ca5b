/* Entry points of sparse arrays and of arrays whose memory is mapped later:
 * what they need, and mapping it. The tiles themselves are vmm/sparse.h's. */
#include "api/array.h"
#include "context/context.h"
#include "graph/capture.h"
#include "stream/operations.h"
#include "vmm/vmm.h"

#include <stdlib.h>

static void describe(const struct sparse *s, CUDA_ARRAY_SPARSE_PROPERTIES *out)
{
    const struct sparse_layout *y = sparse_layout(s);
    *out = (CUDA_ARRAY_SPARSE_PROPERTIES){ .tileExtent = { y->tile[0], y->tile[1], y->tile[2] },
                                           .miptailFirstLevel = y->tail_first,
                                           .miptailSize = y->tail_size,
                                           .flags = y->single ? CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL : 0 };
}

/* A sparse (or deferred) array that is no level of a mipmapped one; until array_end. */
static CUresult tiled_array(CUarray handle, unsigned flags, struct array **out)
{
    CUresult r = handle ? array_get(handle, out) : CUDA_ERROR_INVALID_VALUE;
    return r || ((*out)->desc.Flags & flags && !(*out)->mipmap) ? r : array_end(*out, CUDA_ERROR_INVALID_VALUE);
}

static CUresult tiled_mipmap(CUmipmappedArray handle, unsigned flags, struct mipmapped **out)
{
    CUresult r = handle ? mipmap_get(handle, out) : CUDA_ERROR_INVALID_VALUE;
    return r || (*out)->desc.Flags & flags ? r : mipmap_end(*out, CUDA_ERROR_INVALID_VALUE);
}

/* An array has one level, so its tail, if any, begins at 0 (observed on H200: 0 also without one). */
CUresult CUDAAPI cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array)
{
    struct context *c;
    struct array *a;
    CUresult r = context_current(&c);
    if (r || (r = tiled_array(array, CUDA_ARRAY3D_SPARSE, &a))) return r;
    if (!sparseProperties) return array_end(a, CUDA_ERROR_INVALID_VALUE);
    describe(a->tiles, sparseProperties);
    sparseProperties->miptailFirstLevel = 0;
    return array_end(a, CUDA_SUCCESS);
}

CUresult CUDAAPI cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                                     CUmipmappedArray mipmap)
{
    struct context *c;
    struct mipmapped *m;
    CUresult r = context_current(&c);
    if (r || (r = tiled_mipmap(mipmap, CUDA_ARRAY3D_SPARSE, &m))) return r;
    if (!sparseProperties) return mipmap_end(m, CUDA_ERROR_INVALID_VALUE);
    describe(m->tiles, sparseProperties);
    return mipmap_end(m, CUDA_SUCCESS);
}

static CUresult requirements(const struct sparse *s, CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUdevice device)
{
    struct sparse_region all;
    struct device *d;
    CUresult r = device_get(device, &d);
    if (r) return r;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    sparse_whole(s, &all);
    *out = (CUDA_ARRAY_MEMORY_REQUIREMENTS){ .size = sparse_bytes(&all), .alignment = SPARSE_TILE };
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUarray array,
                                              CUdevice device)
{
    struct context *c;
    struct array *a;
    CUresult r = context_current(&c);
    if (r || (r = tiled_array(array, CUDA_ARRAY3D_DEFERRED_MAPPING, &a))) return r;
    return array_end(a, requirements(a->tiles, memoryRequirements, device));
}

CUresult CUDAAPI cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                                       CUmipmappedArray mipmap, CUdevice device)
{
    struct context *c;
    struct mipmapped *m;
    CUresult r = context_current(&c);
    if (r || (r = tiled_mipmap(mipmap, CUDA_ARRAY3D_DEFERRED_MAPPING, &m))) return r;
    return mipmap_end(m, requirements(m->tiles, memoryRequirements, device));
}

/* ---- mapping */

struct map_operation {
    struct array *array; /* in use until the operation is done; NULL: */
    struct mipmapped *mipmap;
    struct sparse *tiles; /* its */
    struct sparse_region region;
    struct tile_pool *pool; /* NULL: unmap */
    uint64_t offset;
};
struct map_list {
    struct map_operation *operations;
    unsigned count;
};

static void let_go(struct map_list *l)
{
    for (unsigned k = 0; k < l->count; k++) {
        const struct map_operation *o = &l->operations[k];
        if (o->pool) tile_pool_put(o->pool);
        if (o->array) array_end(o->array, CUDA_SUCCESS);
        if (o->mipmap) mipmap_end(o->mipmap, CUDA_SUCCESS);
    }
    free(l->operations);
}

static void perform(void *arg, CUresult status)
{
    struct map_list *l = arg;
    for (unsigned k = 0; k < l->count && !status; k++) {
        const struct map_operation *o = &l->operations[k];
        sparse_map(o->tiles, &o->region, o->pool, o->offset);
    }
    let_go(l);
}

/* The tiles of the array that m speaks of, if it is one of device d; *whole: they are mapped all at once. */
static struct sparse *tiles_of(const CUarrayMapInfo *m, const struct device *d, struct map_operation *o, bool *whole)
{
    switch (m->resourceType) {
    case CU_RESOURCE_TYPE_ARRAY:
        if (array_get(m->resource.array, &o->array) || o->array->mipmap || o->array->context->device != d) return NULL;
        *whole = o->array->desc.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING;
        return o->array->tiles;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        if (mipmap_get(m->resource.mipmap, &o->mipmap) || o->mipmap->context->device != d) return NULL;
        *whole = o->mipmap->desc.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING;
        return o->mipmap->tiles;
    default: return NULL;
    }
}

/* Which of its tiles m means. */
static CUresult find_region(const CUarrayMapInfo *m, const struct device *d, struct map_operation *o)
{
    bool whole;
    if (!(o->tiles = tiles_of(m, d, o, &whole))) return CUDA_ERROR_INVALID_VALUE;
    if (whole) {
        sparse_whole(o->tiles, &o->region);
        return CUDA_SUCCESS;
    }
    if (m->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL) {
        const unsigned offset[3] = { m->subresource.sparseLevel.offsetX, m->subresource.sparseLevel.offsetY,
                                     m->subresource.sparseLevel.offsetZ };
        const unsigned extent[3] = { m->subresource.sparseLevel.extentWidth, m->subresource.sparseLevel.extentHeight,
                                     m->subresource.sparseLevel.extentDepth };
        return sparse_box(o->tiles, m->subresource.sparseLevel.level, m->subresource.sparseLevel.layer, offset, extent,
                          &o->region);
    }
    if (m->subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) return CUDA_ERROR_INVALID_VALUE;
    return sparse_tail(o->tiles, m->subresource.miptail.layer, m->subresource.miptail.offset,
                       m->subresource.miptail.size, &o->region);
}

/* The memory of a tile pool of device d, large enough. */
static CUresult pool(const CUarrayMapInfo *m, const struct device *d, struct map_operation *o)
{
    struct vmm_memory *memory;
    uint64_t bytes = sparse_bytes(&o->region);
    if (m->memHandleType != CU_MEM_HANDLE_TYPE_GENERIC || m->offset % SPARSE_TILE) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = vmm_memory_get(m->memHandle.memHandle, &memory);
    if (r) return r;
    if (!(memory->prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) || memory->device != d ||
        m->offset > memory->size || bytes > memory->size - m->offset) {
        vmm_memory_put(memory);
        return CUDA_ERROR_INVALID_VALUE;
    }
    o->offset = m->offset;
    return tile_pool_open(memory, &o->pool);
}

/* An unmapping's handle is not looked at (observed on H200, although it must be NULL by the manual). */
static CUresult check(const CUarrayMapInfo *m, const struct device *d, struct map_operation *o)
{
    if (m->flags || m->reserved[0] || m->reserved[1] || m->deviceBitMask != 1u << d->ordinal)
        return CUDA_ERROR_INVALID_VALUE;
    if (m->memOperationType != CU_MEM_OPERATION_TYPE_MAP && m->memOperationType != CU_MEM_OPERATION_TYPE_UNMAP)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = find_region(m, d, o);
    return r || m->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP ? r : pool(m, d, o);
}

CUresult CUDAAPI cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
    struct context *c;
    struct stream *s;
    struct map_list l = { 0 };
    CUresult r = stream_caller(hStream, &c);
    if (r || (r = stream_get(c, hStream, false, &s)) || (r = capture_refuse(s))) return r;
    if (!mapInfoList || !count) return CUDA_ERROR_INVALID_VALUE;
    if (!(l.operations = calloc(count, sizeof *l.operations))) return CUDA_ERROR_OUT_OF_MEMORY;
    while (l.count < count && !r) {
        r = check(&mapInfoList[l.count], stream_context(s)->device, &l.operations[l.count]);
        l.count++;
    }
    if (!r) r = stream_call(s, perform, &l, sizeof l);
    if (r) let_go(&l);
    return r;
}
