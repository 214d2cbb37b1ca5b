/* Texture and surface references (deprecated): what calls set is kept
 * (reference.h), and becomes an object when a kernel is launched. */
#include "api/array.h"
#include "api/reference.h"

#include <string.h>

static const size_t MOST_ELEMENTS = 1ul << 30; /* of linear memory (observed on an H200); fewer can be read */

/* ---- modules', and one's own */

static CUresult named(void **out, CUmodule module, const char *name, bool surface)
{
    struct context *c;
    struct module *m;
    struct reference *one;
    CUresult r = context_optional(&c); /* the module has one of its own */
    if (r || (r = module_get(module, &m))) return r;
    if (!out || !name || !*name) return module_end(m, CUDA_ERROR_INVALID_VALUE);
    r = reference_of_module(m, name, surface, &one);
    if (!r) *out = one;
    return module_end(m, r);
}

CUresult CUDAAPI cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name)
{
    return named((void **)pTexRef, hmod, name, false);
}

CUresult CUDAAPI cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name)
{
    return named((void **)pSurfRef, hmod, name, true);
}

CUresult CUDAAPI cuTexRefCreate(CUtexref *pTexRef)
{
    struct context *c;
    struct reference *one;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pTexRef) return CUDA_ERROR_INVALID_VALUE;
    if ((r = reference_new(&one))) return r;
    *pTexRef = (CUtexref)one;
    return CUDA_SUCCESS;
}

/* Until reference_unlock. */
static CUresult locked(void *handle, bool surface, struct reference **out)
{
    struct context *c;
    CUresult r = context_current(&c);
    return r ? r : reference_lock(handle, surface, out);
}

static CUresult texture(CUtexref handle, struct reference **out) { return locked(handle, false, out); }

CUresult CUDAAPI cuTexRefDestroy(CUtexref hTexRef)
{
    struct reference *t;
    CUresult r = texture(hTexRef, &t);
    if (r) return r;
    t->alive = false;
    if (!t->of_module) reference_free(t);
    return reference_unlock(CUDA_SUCCESS);
}

/* ---- what a reference is of */

static CUresult become(struct reference *t, enum reference_kind kind)
{
    t->kind = kind;
    t->changed = true;
    return reference_unlock(CUDA_SUCCESS);
}

/* Its format, if the caller says so. */
static void adopt(struct reference *t, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned flags)
{
    if (!(flags & CU_TRSA_OVERRIDE_FORMAT)) return;
    t->format = d->Format;
    t->channels = (int)d->NumChannels;
}

CUresult CUDAAPI cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags)
{
    struct reference *t;
    struct array *a;
    CUresult r = texture(hTexRef, &t);
    if (r) return r;
    if ((r = array_get(hArray, &a))) return reference_unlock(r);
    if (Flags & ~(unsigned)CU_TRSA_OVERRIDE_FORMAT) return reference_unlock(array_end(a, CUDA_ERROR_INVALID_VALUE));
    adopt(t, &a->desc, Flags);
    array_end(a, CUDA_SUCCESS);
    t->array = hArray;
    return become(t, REFERENCE_ARRAY);
}

CUresult CUDAAPI cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray, unsigned int Flags)
{
    struct reference *t;
    struct mipmapped *m;
    CUresult r = texture(hTexRef, &t);
    if (r) return r;
    if ((r = mipmap_get(hMipmappedArray, &m))) return reference_unlock(r);
    if (Flags & ~(unsigned)CU_TRSA_OVERRIDE_FORMAT) return reference_unlock(mipmap_end(m, CUDA_ERROR_INVALID_VALUE));
    adopt(t, &m->desc, Flags);
    mipmap_end(m, CUDA_SUCCESS);
    t->mipmapped = hMipmappedArray;
    return become(t, REFERENCE_MIPMAPPED);
}

static size_t channel_bytes(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 1;
    }
}

static size_t limit(CUdevice_attribute attribute)
{
    struct context *c;
    return context_current(&c) ? 0 : (size_t)profile_attribute(c->device->profile, attribute);
}

/* Kernels read from an aligned address on, and the caller has to add what is told. */
CUresult CUDAAPI cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes)
{
    struct reference *t;
    if (ByteOffset) *ByteOffset = 0; /* whatever follows (observed on an H200) */
    CUresult r = texture(hTexRef, &t);
    if (r) return r;
    const size_t offset = dptr % limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    if (ByteOffset) *ByteOffset = offset;
    const size_t element = channel_bytes(t->format) * (size_t)(t->channels ? t->channels : 1);
    /* what is larger than 4 bytes counts as several (observed on an H200) */
    if ((offset && !ByteOffset) || (bytes + offset) / (element < 4 ? element : 4) > MOST_ELEMENTS)
        return reference_unlock(CUDA_ERROR_INVALID_VALUE);
    t->address = dptr - offset;
    t->bytes = bytes + offset;
    return become(t, REFERENCE_LINEAR);
}

static bool good_plane(const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr p, size_t pitch)
{
    return p % limit(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) == 0 &&
           (d->Height < 2 || pitch % limit(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) == 0) &&
           d->Width <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) &&
           d->Height <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) &&
           pitch <= limit(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) &&
           d->Width * d->NumChannels * channel_bytes(d->Format) <= pitch;
}

CUresult CUDAAPI cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr,
                                         size_t Pitch)
{
    struct reference *t;
    CUresult r = texture(hTexRef, &t);
    if (r) return r;
    if (!desc || !good_plane(desc, dptr, Pitch)) return reference_unlock(CUDA_ERROR_INVALID_VALUE);
    t->address = dptr;
    t->width = desc->Width;
    t->height = desc->Height;
    t->pitch = Pitch;
    t->format = desc->Format;
    t->channels = (int)desc->NumChannels;
    return become(t, REFERENCE_PITCH2D);
}

CUresult CUDAAPI cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef)
{
    struct reference *t;
    CUresult r = texture(hTexRef, &t);
    if (r) return r;
    reference_check(t);
    if (!phArray || t->kind != REFERENCE_ARRAY) return reference_unlock(CUDA_ERROR_INVALID_VALUE);
    *phArray = t->array;
    return reference_unlock(CUDA_SUCCESS);
}

CUresult CUDAAPI cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef)
{
    struct reference *t;
    CUresult r = texture(hTexRef, &t);
    if (r) return r;
    reference_check(t);
    if (!phMipmappedArray || t->kind != REFERENCE_MIPMAPPED) return reference_unlock(CUDA_ERROR_INVALID_VALUE);
    *phMipmappedArray = t->mipmapped;
    return reference_unlock(CUDA_SUCCESS);
}

CUresult CUDAAPI cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef)
{
    struct reference *t;
    if (pdptr) *pdptr = 0;
    CUresult r = texture(hTexRef, &t);
    if (r) return r;
    if (!pdptr || t->kind < REFERENCE_LINEAR) return reference_unlock(CUDA_ERROR_INVALID_VALUE);
    *pdptr = t->address;
    return reference_unlock(CUDA_SUCCESS);
}

/* ---- how it is read */

/* A call that sets what follows: if the values are good. */
#define SET(handle, good, ...) \
    do { \
        struct reference *t; \
        CUresult r = texture(handle, &t); \
        if (r) return r; \
        if (!(good)) return reference_unlock(CUDA_ERROR_INVALID_VALUE); \
        __VA_ARGS__; \
        t->changed = true; \
        return reference_unlock(CUDA_SUCCESS); \
    } while (0)

/* A call that tells it. */
#define GET(handle, good, ...) \
    do { \
        struct reference *t; \
        CUresult r = texture(handle, &t); \
        if (r) return r; \
        if (!(good)) return reference_unlock(CUDA_ERROR_INVALID_VALUE); \
        __VA_ARGS__; \
        return reference_unlock(CUDA_SUCCESS); \
    } while (0)

CUresult CUDAAPI cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents)
{
    SET(hTexRef, NumPackedComponents >= 0 && NumPackedComponents <= 4 && NumPackedComponents != 3,
        (t->format = fmt, t->channels = NumPackedComponents));
}

CUresult CUDAAPI cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef)
{
    GET(hTexRef, pFormat && pNumChannels, (*pFormat = t->format, *pNumChannels = t->channels));
}

static bool is_dimension(int dim) { return dim >= 0 && dim < 3; }

CUresult CUDAAPI cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am)
{
    const bool known = (unsigned)am <= CU_TR_ADDRESS_MODE_BORDER;
    SET(hTexRef, is_dimension(dim), t->texture.addressMode[dim] = known ? am : CU_TR_ADDRESS_MODE_CLAMP);
}

CUresult CUDAAPI cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim)
{
    GET(hTexRef, pam && is_dimension(dim), *pam = t->texture.addressMode[dim]);
}

CUresult CUDAAPI cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
    SET(hTexRef, true, t->texture.filterMode = fm);
}

CUresult CUDAAPI cuTexRefGetFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
    GET(hTexRef, pfm, *pfm = t->texture.filterMode);
}

CUresult CUDAAPI cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
    SET(hTexRef, (unsigned)fm <= CU_TR_FILTER_MODE_LINEAR, t->texture.mipmapFilterMode = fm);
}

CUresult CUDAAPI cuTexRefGetMipmapFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
    GET(hTexRef, pfm, *pfm = t->texture.mipmapFilterMode);
}

CUresult CUDAAPI cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias)
{
    SET(hTexRef, true, t->texture.mipmapLevelBias = bias);
}

CUresult CUDAAPI cuTexRefGetMipmapLevelBias(float *pbias, CUtexref hTexRef)
{
    GET(hTexRef, pbias, *pbias = t->texture.mipmapLevelBias);
}

CUresult CUDAAPI cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp, float maxMipmapLevelClamp)
{
    SET(hTexRef, true,
        (t->texture.minMipmapLevelClamp = minMipmapLevelClamp, t->texture.maxMipmapLevelClamp = maxMipmapLevelClamp));
}

CUresult CUDAAPI cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp, CUtexref hTexRef)
{
    GET(hTexRef, pminMipmapLevelClamp && pmaxMipmapLevelClamp,
        (*pminMipmapLevelClamp = t->texture.minMipmapLevelClamp,
         *pmaxMipmapLevelClamp = t->texture.maxMipmapLevelClamp));
}

CUresult CUDAAPI cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso)
{
    SET(hTexRef, true, t->texture.maxAnisotropy = maxAniso);
}

CUresult CUDAAPI cuTexRefGetMaxAnisotropy(int *pmaxAniso, CUtexref hTexRef)
{
    GET(hTexRef, pmaxAniso, *pmaxAniso = (int)t->texture.maxAnisotropy);
}

CUresult CUDAAPI cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor)
{
    SET(hTexRef, pBorderColor, memcpy(t->texture.borderColor, pBorderColor, sizeof t->texture.borderColor));
}

CUresult CUDAAPI cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef)
{
    GET(hTexRef, pBorderColor, memcpy(pBorderColor, t->texture.borderColor, sizeof t->texture.borderColor));
}

CUresult CUDAAPI cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags)
{
    SET(hTexRef, Flags < CU_TRSF_SEAMLESS_CUBEMAP, t->texture.flags = Flags);
}

CUresult CUDAAPI cuTexRefGetFlags(unsigned int *pFlags, CUtexref hTexRef)
{
    GET(hTexRef, pFlags, *pFlags = t->texture.flags);
}

/* ---- surfaces */

CUresult CUDAAPI cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags)
{
    struct reference *s;
    struct array *a;
    CUresult r = locked(hSurfRef, true, &s);
    if (r) return r;
    if ((r = array_get(hArray, &a))) return reference_unlock(r);
    if (!(a->desc.Flags & CUDA_ARRAY3D_SURFACE_LDST) || Flags) r = CUDA_ERROR_INVALID_VALUE;
    if (array_end(a, r)) return reference_unlock(r);
    s->array = hArray;
    return become(s, REFERENCE_ARRAY);
}

CUresult CUDAAPI cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef)
{
    struct reference *s;
    CUresult r = locked(hSurfRef, true, &s);
    if (r) return r;
    reference_check(s);
    if (!phArray || !s->kind) return reference_unlock(CUDA_ERROR_INVALID_VALUE);
    *phArray = s->array;
    return reference_unlock(CUDA_SUCCESS);
}

/* ---- launches of old */

/* A reference is not told to a function any more (observed on an H200). */
CUresult CUDAAPI cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef)
{
    struct context *c;
    struct function *f;
    struct reference *t;
    CUresult r = context_current(&c);
    (void)texunit;
    if (r || (r = function_get(c, hfunc, &f))) return r;
    r = reference_lock(hTexRef, false, &t);
    return function_end(f, r ? r : reference_unlock(CUDA_ERROR_INVALID_VALUE));
}
