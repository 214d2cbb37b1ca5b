/* Texture and surface objects. Their handles are the driver's own. */
#include "runtime/array.h"

/* ---- Descriptors, there and back */

static cudaError_t to_driver(const struct cudaResourceDesc *p, CUDA_RESOURCE_DESC *d)
{
    *d = (CUDA_RESOURCE_DESC){ .resType = (CUresourcetype)p->resType, .flags = p->flags };
    switch (p->resType) {
    case cudaResourceTypeArray:
        d->res.array.hArray = (CUarray)p->res.array.array;
        return p->res.array.array ? cudaSuccess : cudaErrorInvalidResourceHandle;
    case cudaResourceTypeMipmappedArray:
        d->res.mipmap.hMipmappedArray = (CUmipmappedArray)p->res.mipmap.mipmap;
        return p->res.mipmap.mipmap ? cudaSuccess : cudaErrorInvalidResourceHandle;
    case cudaResourceTypeLinear:
        d->res.linear.devPtr = (CUdeviceptr)p->res.linear.devPtr;
        d->res.linear.sizeInBytes = p->res.linear.sizeInBytes;
        return runtime_format(&p->res.linear.desc, &d->res.linear.format, &d->res.linear.numChannels);
    case cudaResourceTypePitch2D:
        d->res.pitch2D.devPtr = (CUdeviceptr)p->res.pitch2D.devPtr;
        d->res.pitch2D.width = p->res.pitch2D.width;
        d->res.pitch2D.height = p->res.pitch2D.height;
        d->res.pitch2D.pitchInBytes = p->res.pitch2D.pitchInBytes;
        return runtime_format(&p->res.pitch2D.desc, &d->res.pitch2D.format, &d->res.pitch2D.numChannels);
    }
    return cudaErrorInvalidValue;
}

static cudaError_t from_driver(const CUDA_RESOURCE_DESC *d, struct cudaResourceDesc *p)
{
    *p = (struct cudaResourceDesc){ .resType = (enum cudaResourceType)d->resType, .flags = d->flags };
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY: p->res.array.array = (cudaArray_t)d->res.array.hArray; return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        p->res.mipmap.mipmap = (cudaMipmappedArray_t)d->res.mipmap.hMipmappedArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
        p->res.linear.devPtr = (void *)d->res.linear.devPtr;
        p->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
        return runtime_format_desc(d->res.linear.format, d->res.linear.numChannels, &p->res.linear.desc);
    case CU_RESOURCE_TYPE_PITCH2D:
        p->res.pitch2D.devPtr = (void *)d->res.pitch2D.devPtr;
        p->res.pitch2D.width = d->res.pitch2D.width;
        p->res.pitch2D.height = d->res.pitch2D.height;
        p->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
        return runtime_format_desc(d->res.pitch2D.format, d->res.pitch2D.numChannels, &p->res.pitch2D.desc);
    }
    return cudaErrorInvalidValue;
}

/* What a flag of the driver's says is an integer of the runtime's. */
static const struct {
    size_t member;
    unsigned flag;
} flags[] = {
    { offsetof(struct cudaTextureDesc, normalizedCoords), CU_TRSF_NORMALIZED_COORDINATES },
    { offsetof(struct cudaTextureDesc, sRGB), CU_TRSF_SRGB },
    { offsetof(struct cudaTextureDesc, disableTrilinearOptimization), CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION },
    { offsetof(struct cudaTextureDesc, seamlessCubemap), CU_TRSF_SEAMLESS_CUBEMAP },
};
enum { FLAGS = sizeof flags / sizeof *flags };

static CUDA_TEXTURE_DESC texture_to_driver(const struct cudaTextureDesc *p)
{
    CUDA_TEXTURE_DESC d = { .filterMode = (CUfilter_mode)p->filterMode,
                            .maxAnisotropy = p->maxAnisotropy,
                            .mipmapFilterMode = (CUfilter_mode)p->mipmapFilterMode,
                            .mipmapLevelBias = p->mipmapLevelBias,
                            .minMipmapLevelClamp = p->minMipmapLevelClamp,
                            .maxMipmapLevelClamp = p->maxMipmapLevelClamp };
    for (int k = 0; k < 3; k++) d.addressMode[k] = (CUaddress_mode)p->addressMode[k];
    for (int k = 0; k < 4; k++) d.borderColor[k] = p->borderColor[k];
    for (int k = 0; k < FLAGS; k++)
        if (*(const int *)((const char *)p + flags[k].member)) d.flags |= flags[k].flag;
    if (p->readMode == cudaReadModeElementType) d.flags |= CU_TRSF_READ_AS_INTEGER;
    return d;
}

static void texture_from_driver(const CUDA_TEXTURE_DESC *d, struct cudaTextureDesc *p)
{
    *p = (struct cudaTextureDesc){ .filterMode = (enum cudaTextureFilterMode)d->filterMode,
                                   .readMode = d->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
                                                                                  : cudaReadModeNormalizedFloat,
                                   .maxAnisotropy = d->maxAnisotropy,
                                   .mipmapFilterMode = (enum cudaTextureFilterMode)d->mipmapFilterMode,
                                   .mipmapLevelBias = d->mipmapLevelBias,
                                   .minMipmapLevelClamp = d->minMipmapLevelClamp,
                                   .maxMipmapLevelClamp = d->maxMipmapLevelClamp };
    for (int k = 0; k < 3; k++) p->addressMode[k] = (enum cudaTextureAddressMode)d->addressMode[k];
    for (int k = 0; k < 4; k++) p->borderColor[k] = d->borderColor[k];
    for (int k = 0; k < FLAGS; k++) *(int *)((char *)p + flags[k].member) = (d->flags & flags[k].flag) != 0;
}

/* ---- Textures */

/* Fractions are of integers of 8 or 16 bits, and only floats and these are filtered. */
static cudaError_t check(const CUDA_RESOURCE_DESC *d, const struct cudaTextureDesc *texture)
{
    struct cudaChannelFormatDesc desc = { 0 };
    cudaError_t r = cudaSuccess;
    if (d->resType == CU_RESOURCE_TYPE_ARRAY) r = cudaGetChannelDesc(&desc, (cudaArray_t)d->res.array.hArray);
    if (d->resType == CU_RESOURCE_TYPE_LINEAR)
        r = runtime_format_desc(d->res.linear.format, d->res.linear.numChannels, &desc);
    if (d->resType == CU_RESOURCE_TYPE_PITCH2D)
        r = runtime_format_desc(d->res.pitch2D.format, d->res.pitch2D.numChannels, &desc);
    if (r || d->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) return r;
    const bool integer = desc.f == cudaChannelFormatKindSigned || desc.f == cudaChannelFormatKindUnsigned;
    if (texture->readMode == cudaReadModeNormalizedFloat && desc.x == 32) return cudaErrorInvalidNormSetting;
    if (texture->filterMode == cudaFilterModeLinear && texture->readMode == cudaReadModeElementType && integer)
        return cudaErrorInvalidFilterSetting;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaCreateTextureObject(cudaTextureObject_t *pTexObject, const struct cudaResourceDesc *pResDesc,
                                              const struct cudaTextureDesc *pTexDesc,
                                              const struct cudaResourceViewDesc *pResViewDesc)
{
    CUDA_RESOURCE_DESC resource;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!pResDesc) return cudaErrorInvalidValue;
    if (!pTexDesc) return cudaErrorInvalidResourceHandle; /* observed on an H200 */
    if ((r = to_driver(pResDesc, &resource)) || (r = check(&resource, pTexDesc))) return r;
    const CUDA_TEXTURE_DESC texture = texture_to_driver(pTexDesc);
    return runtime_error(
        cuTexObjectCreate(pTexObject, &resource, &texture, (const CUDA_RESOURCE_VIEW_DESC *)pResViewDesc));
}
SAME_LAYOUT(struct cudaResourceViewDesc, CUDA_RESOURCE_VIEW_DESC);

cudaError_t CUDARTAPI cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuTexObjectDestroy(texObject));
}

cudaError_t CUDARTAPI cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc, cudaTextureObject_t texObject)
{
    CUDA_RESOURCE_DESC d;
    cudaError_t r = runtime_ready();
    if (!r) r = pResDesc ? runtime_error(cuTexObjectGetResourceDesc(&d, texObject)) : cudaErrorInvalidValue;
    return r ? r : from_driver(&d, pResDesc);
}

cudaError_t CUDARTAPI cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc, cudaTextureObject_t texObject)
{
    CUDA_TEXTURE_DESC d;
    cudaError_t r = runtime_ready();
    if (!r) r = pTexDesc ? runtime_error(cuTexObjectGetTextureDesc(&d, texObject)) : cudaErrorInvalidValue;
    if (!r) texture_from_driver(&d, pTexDesc);
    return r;
}

cudaError_t CUDARTAPI cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
                                                           cudaTextureObject_t texObject)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuTexObjectGetResourceViewDesc((CUDA_RESOURCE_VIEW_DESC *)pResViewDesc, texObject));
}

/* ---- Surfaces */

cudaError_t CUDARTAPI cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject, const struct cudaResourceDesc *pResDesc)
{
    CUDA_RESOURCE_DESC resource;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!pResDesc) return cudaErrorInvalidValue;
    r = to_driver(pResDesc, &resource);
    return r ? r : runtime_error(cuSurfObjectCreate(pSurfObject, &resource));
}

cudaError_t CUDARTAPI cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuSurfObjectDestroy(surfObject));
}

cudaError_t CUDARTAPI cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                       cudaSurfaceObject_t surfObject)
{
    CUDA_RESOURCE_DESC d;
    cudaError_t r = runtime_ready();
    if (!r) r = pResDesc ? runtime_error(cuSurfObjectGetResourceDesc(&d, surfObject)) : cudaErrorInvalidValue;
    return r ? r : from_driver(&d, pResDesc);
}
