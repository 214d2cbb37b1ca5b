/* Texture objects: what is asked for is checked, and translated to what kernels
 * sample by (processor/texture.h). Surface objects are in surface.c. */
#include "api/texture.h"
#include "api/array.h"
#include "graph/capture.h"
#include "mempool/mempool.h"

#include <string.h>

/* ---- the resource */

static CUresult element_format(CUarray_format format, unsigned channels, struct texture *x)
{
    static const struct {
        int format;
        uint8_t number, bytes, channels; /* 0 channels: as many as are given */
        bool normalised;
    } formats[] = { { CU_AD_FORMAT_UNSIGNED_INT8, TEXTURE_UNSIGNED, 1, 0, false },
                    { CU_AD_FORMAT_UNSIGNED_INT16, TEXTURE_UNSIGNED, 2, 0, false },
                    { CU_AD_FORMAT_UNSIGNED_INT32, TEXTURE_UNSIGNED, 4, 0, false },
                    { CU_AD_FORMAT_SIGNED_INT8, TEXTURE_SIGNED, 1, 0, false },
                    { CU_AD_FORMAT_SIGNED_INT16, TEXTURE_SIGNED, 2, 0, false },
                    { CU_AD_FORMAT_SIGNED_INT32, TEXTURE_SIGNED, 4, 0, false },
                    { CU_AD_FORMAT_HALF, TEXTURE_FLOAT, 2, 0, false },
                    { CU_AD_FORMAT_FLOAT, TEXTURE_FLOAT, 4, 0, false },
                    { CU_AD_FORMAT_UNORM_INT8X1, TEXTURE_UNSIGNED, 1, 1, true },
                    { CU_AD_FORMAT_UNORM_INT8X2, TEXTURE_UNSIGNED, 1, 2, true },
                    { CU_AD_FORMAT_UNORM_INT8X4, TEXTURE_UNSIGNED, 1, 4, true },
                    { CU_AD_FORMAT_UNORM_INT16X1, TEXTURE_UNSIGNED, 2, 1, true },
                    { CU_AD_FORMAT_UNORM_INT16X2, TEXTURE_UNSIGNED, 2, 2, true },
                    { CU_AD_FORMAT_UNORM_INT16X4, TEXTURE_UNSIGNED, 2, 4, true },
                    { CU_AD_FORMAT_SNORM_INT8X1, TEXTURE_SIGNED, 1, 1, true },
                    { CU_AD_FORMAT_SNORM_INT8X2, TEXTURE_SIGNED, 1, 2, true },
                    { CU_AD_FORMAT_SNORM_INT8X4, TEXTURE_SIGNED, 1, 4, true },
                    { CU_AD_FORMAT_SNORM_INT16X1, TEXTURE_SIGNED, 2, 1, true },
                    { CU_AD_FORMAT_SNORM_INT16X2, TEXTURE_SIGNED, 2, 2, true },
                    { CU_AD_FORMAT_SNORM_INT16X4, TEXTURE_SIGNED, 2, 4, true } };
    if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        if ((int)format != formats[k].format) continue;
        if (formats[k].channels && formats[k].channels != channels) return CUDA_ERROR_INVALID_VALUE;
        x->number = formats[k].number;
        x->bytes = formats[k].bytes;
        x->channels = (uint8_t)channels;
        x->normalised = formats[k].normalised;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult texture_see_as(CUarray_format format, unsigned channels, struct texture *x)
{
    const unsigned bytes = x->bytes * x->channels;
    CUresult r = element_format(format, channels, x);
    if (r) return r;
    return bytes == (unsigned)x->bytes * x->channels ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static uint32_t at_least_one(size_t v) { return v ? (uint32_t)v : 1; }

static void array_level(const struct array *a, bool layered, struct texture_level *l)
{
    *l = (struct texture_level){ .base = a->memory->base,
                                 .pitch = a->row,
                                 .slice = a->row * a->rows,
                                 .extent = { (uint32_t)a->desc.Width, at_least_one(a->desc.Height),
                                             layered ? 1 : at_least_one(a->desc.Depth) } };
}

static CUresult array_resource(const CUDA_ARRAY3D_DESCRIPTOR *d, struct array *const *levels, unsigned count,
                               struct texture *x)
{
    /* what is mapped tile by tile is nowhere in a kernel's address space */
    if (d->Flags & ARRAY_MAPPED || count > TEXTURE_LEVELS) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult r = element_format(d->Format, d->NumChannels, x);
    if (r) return r;
    x->layered = d->Flags & CUDA_ARRAY3D_LAYERED;
    x->cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    const bool flat = x->layered || x->cube;
    x->dimensions = d->Depth && !flat ? 3 : d->Height ? 2 : 1;
    x->layers = flat ? (uint32_t)d->Depth : 1;
    x->levels = count;
    for (unsigned k = 0; k < count; k++) array_level(levels[k], flat, &x->level[k]);
    return CUDA_SUCCESS;
}

static size_t limit(const struct context *c, CUdevice_attribute attribute)
{
    return (size_t)profile_attribute(c->device->profile, attribute);
}

/* Memory that textures can be of: aligned, and, but where it is mapped by the user, all of it in one allocation. */
static bool good_memory(const struct context *c, CUdeviceptr p, size_t size)
{
    struct allocation a;
    if (p % limit(c, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) || !mempool_look_any(p, size, &a)) return false;
    return a.kind == ALLOCATION_MAPPED || size <= a.base + a.size - p;
}

static CUresult linear_resource(const struct context *c, const CUDA_RESOURCE_DESC *r, struct texture *x)
{
    CUresult e = element_format(r->res.linear.format, r->res.linear.numChannels, x);
    if (e) return e;
    size_t count = r->res.linear.sizeInBytes / ((size_t)x->bytes * x->channels);
    if (!count || count > limit(c, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH) ||
        !good_memory(c, r->res.linear.devPtr, r->res.linear.sizeInBytes))
        return CUDA_ERROR_INVALID_VALUE;
    x->linear = true;
    x->dimensions = 1;
    x->layers = x->levels = 1;
    x->level[0] = (struct texture_level){ .base = r->res.linear.devPtr, .extent = { (uint32_t)count, 1, 1 } };
    return CUDA_SUCCESS;
}

static CUresult pitched_resource(const struct context *c, const CUDA_RESOURCE_DESC *r, struct texture *x)
{
    CUresult e = element_format(r->res.pitch2D.format, r->res.pitch2D.numChannels, x);
    if (e) return e;
    size_t width = r->res.pitch2D.width, height = r->res.pitch2D.height, pitch = r->res.pitch2D.pitchInBytes;
    size_t row = width * x->bytes * x->channels;
    if (!width || !height || pitch % limit(c, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) ||
        width > limit(c, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) ||
        height > limit(c, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) ||
        pitch > limit(c, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) || pitch < row ||
        !good_memory(c, r->res.pitch2D.devPtr, (height - 1) * pitch + row))
        return CUDA_ERROR_INVALID_VALUE;
    x->dimensions = 2;
    x->layers = x->levels = 1;
    x->level[0] = (struct texture_level){ .base = r->res.pitch2D.devPtr,
                                          .pitch = pitch,
                                          .slice = pitch * height,
                                          .extent = { (uint32_t)width, (uint32_t)height, 1 } };
    return CUDA_SUCCESS;
}

CUresult texture_resource(const struct context *c, const CUDA_RESOURCE_DESC *r, struct texture *x)
{
    struct array *a;
    struct mipmapped *m;
    CUresult e;
    if (r->flags) return CUDA_ERROR_INVALID_VALUE;
    switch (r->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        if ((e = array_get(r->res.array.hArray, &a))) return e;
        /* observed on H200, for one device as well */
        if (a->context != c) return array_end(a, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        return array_end(a, array_resource(&a->desc, &a, 1, x));
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        if ((e = mipmap_get(r->res.mipmap.hMipmappedArray, &m))) return e;
        if (m->context != c) return mipmap_end(m, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        return mipmap_end(m, array_resource(&m->desc, m->levels, m->count, x));
    case CU_RESOURCE_TYPE_LINEAR: return linear_resource(c, r, x);
    case CU_RESOURCE_TYPE_PITCH2D: return pitched_resource(c, r, x);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ---- how it is sampled */

static bool memory_is_linear(const CUDA_RESOURCE_DESC *r)
{
    return r->resType == CU_RESOURCE_TYPE_LINEAR || r->resType == CU_RESOURCE_TYPE_PITCH2D;
}

/* Two bits have no meaning, and are taken (observed on H200). */
enum {
    FLAGS = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
            CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP | 0x0c
};

static bool good_mode(CUaddress_mode m) { return (unsigned)m <= CU_TR_ADDRESS_MODE_BORDER; }

/* Only of dimensions that there are modes matter. */
static bool good_modes(const CUDA_TEXTURE_DESC *d, unsigned dimensions)
{
    for (unsigned k = 0; k < dimensions; k++)
        if (!good_mode(d->addressMode[k])) return false;
    return (unsigned)d->filterMode <= CU_TR_FILTER_MODE_LINEAR &&
           (unsigned)d->mipmapFilterMode <= CU_TR_FILTER_MODE_LINEAR && !(d->flags & ~(unsigned)FLAGS);
}

/* A border is a colour as the texture's own: numbers that stand for fractions are whole, halves rounded down. */
static float as_fraction(float f, float most)
{
    const float clamped = f > 1 ? 1 : f > 0 ? f : 0, exact = clamped * most - 0.5f;
    const int32_t down = (int32_t)exact;
    return (float)((float)down < exact ? down + 1 : down) / most;
}

/* Of integers that are read as such it is 0, but of 32 bits it has the bits of the number; negative fractions are rounded as
 * positive ones are (observed on H200). */
static void set_border(struct texture *x, const float colour[4])
{
    const bool sign = x->number == TEXTURE_SIGNED;
    const float most = x->bytes == 1 ? sign ? 127 : 255 : sign ? 32767 : 65535;
    for (int k = 0; k < 4; k++) {
        const float f = colour[k];
        if (x->normalised)
            x->border[k] = sign && f < 0 ? -as_fraction(-f, most) : as_fraction(f, most);
        else
            x->border[k] = x->number == TEXTURE_FLOAT || x->bytes == 4 ? f : 0;
    }
}

CUresult texture_of_reference(const CUDA_RESOURCE_DESC *r, struct texture *x)
{
    x->named = !memory_is_linear(r);
    return x->levels > 1 && x->least > x->most ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult texture_sampling(const CUDA_TEXTURE_DESC *d, struct texture *x)
{
    if (!good_modes(d, x->dimensions) || (d->flags & CU_TRSF_SEAMLESS_CUBEMAP && !x->cube))
        return CUDA_ERROR_INVALID_VALUE; /* a seam is a cube's: observed on an H200 */
    x->unit = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
    if (x->number != TEXTURE_FLOAT && x->bytes < 4 && !(d->flags & CU_TRSF_READ_AS_INTEGER)) x->normalised = true;
    bool floating = x->number == TEXTURE_FLOAT || x->normalised;
    x->filtered = d->filterMode == CU_TR_FILTER_MODE_LINEAR && !x->linear;
    x->blended = d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR && x->levels > 1;
    if ((x->filtered || x->blended) && !floating) return CUDA_ERROR_NOT_SUPPORTED; /* an H200 blends integers */
    for (unsigned k = 0; k < 3; k++) {
        x->address[k] = (uint8_t)(good_mode(d->addressMode[k]) ? d->addressMode[k] : CU_TR_ADDRESS_MODE_CLAMP);
        if (!x->unit && x->address[k] != TEXTURE_BORDER) x->address[k] = TEXTURE_CLAMP;
    }
    for (int k = x->dimensions; k < 3 && x->layered; k++) x->address[k] = TEXTURE_CLAMP; /* observed on an H200 */
    set_border(x, d->borderColor);
    x->bias = d->mipmapLevelBias;
    x->least = d->minMipmapLevelClamp;
    x->most = d->maxMipmapLevelClamp;
    x->anisotropic = d->maxAnisotropy > 1;
    /* fractions of 8 bits as colours that are not linear */
    return d->flags & CU_TRSF_SRGB && x->normalised && x->bytes == 1 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                   const CUDA_TEXTURE_DESC *pTexDesc, const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct context *c;
    struct texture x = { 0 };
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!pTexObject || !pResDesc || !pTexDesc) return CUDA_ERROR_INVALID_VALUE;
    if ((r = texture_resource(c, pResDesc, &x))) return r;
    /* formats of fractions are for arrays, and for references (observed on an H200) */
    if (memory_is_linear(pResDesc) && x.normalised) return CUDA_ERROR_INVALID_VALUE;
    if ((pResViewDesc && (r = texture_view(pResDesc, pResViewDesc, &x))) || (r = texture_sampling(pTexDesc, &x)))
        return r;
    struct texture_object o = { .resource = *pResDesc, .texture = *pTexDesc };
    o.viewed = pResViewDesc && !memory_is_linear(pResDesc);
    if (o.viewed) o.view = *pResViewDesc;
    if ((r = texture_add(c, &x, &o))) return r;
    *pTexObject = x.self;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texObject)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    return texObject ? texture_remove(texObject, false) : CUDA_SUCCESS; /* none is fine (observed on H200) */
}

CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    struct context *c;
    struct texture_object o;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pResDesc) return CUDA_ERROR_INVALID_VALUE;
    if ((r = texture_get(texObject, false, &o))) return r;
    *pResDesc = o.resource;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    struct context *c;
    struct texture_object o;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pTexDesc) return CUDA_ERROR_INVALID_VALUE;
    if ((r = texture_get(texObject, false, &o))) return r;
    *pTexDesc = o.texture;
    /* its colour is not told, nor a mode that there is not (observed on H200) */
    memset(pTexDesc->borderColor, 0, sizeof pTexDesc->borderColor);
    for (unsigned k = 0; k < 3; k++)
        if (!good_mode(pTexDesc->addressMode[k])) pTexDesc->addressMode[k] = CU_TR_ADDRESS_MODE_CLAMP;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc, CUtexObject texObject)
{
    struct context *c;
    struct texture_object o;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pResViewDesc) return CUDA_ERROR_INVALID_VALUE;
    if ((r = texture_get(texObject, false, &o))) return r;
    if (o.viewed) *pResViewDesc = o.view; /* without one nothing is written (observed on H200: no error) */
    return CUDA_SUCCESS;
}
