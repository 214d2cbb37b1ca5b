/* Surface objects: arrays that kernels read and write as bytes. */
#include "api/texture.h"
#include "graph/capture.h"

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct context *c;
    struct texture x = { .surface = true };
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!pSurfObject || !pResDesc || pResDesc->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    if ((r = texture_resource(c, pResDesc, &x))) return r;
    x.layered |= x.cube; /* faces are written as layers */
    const struct texture_object o = { .resource = *pResDesc };
    if ((r = texture_add(c, &x, &o))) return r;
    *pSurfObject = x.self;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    return surfObject ? texture_remove(surfObject, true) : CUDA_SUCCESS; /* none is fine (observed on H200) */
}

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    struct context *c;
    struct texture_object o;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pResDesc) return CUDA_ERROR_INVALID_VALUE;
    if ((r = texture_get(surfObject, true, &o))) return r;
    *pResDesc = o.resource;
    return CUDA_SUCCESS;
}
