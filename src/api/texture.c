/* Texture and surface objects: what their descriptors say, kept where kernels
 * find it (struct fl_texture); an object is that address. Mipmapped arrays,
 * those of tiles and colours that are made linear are not supported. */
#include "api/array.h"
#include "context/context.h"
#include "ptx/abi.h"

#include <stdlib.h>
#include <string.h>

struct object {
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view; /* zeros: none was given */
    bool surface;
    struct context *context;
    struct allocation *memory;
    struct object *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;

/* Where the list has it; the list's end: it has not. Under the lock. */
static struct object **find(uint64_t handle, bool surface)
{
    struct object **at = &objects;
    while (*at && ((*at)->memory->base != handle || (*at)->surface != surface)) at = &(*at)->next;
    return at;
}

/* ---- what kernels read */

static CUresult set_format(struct fl_texture *t, CUarray_format format, unsigned channels)
{
    static const struct {
        int format;
        uint8_t kind, bytes, fractions;
    } formats[] = {
        { CU_AD_FORMAT_UNSIGNED_INT8, FL_TEXTURE_UNSIGNED, 1, 0 },
        { CU_AD_FORMAT_UNSIGNED_INT16, FL_TEXTURE_UNSIGNED, 2, 0 },
        { CU_AD_FORMAT_UNSIGNED_INT32, FL_TEXTURE_UNSIGNED, 4, 0 },
        { CU_AD_FORMAT_SIGNED_INT8, FL_TEXTURE_SIGNED, 1, 0 },
        { CU_AD_FORMAT_SIGNED_INT16, FL_TEXTURE_SIGNED, 2, 0 },
        { CU_AD_FORMAT_SIGNED_INT32, FL_TEXTURE_SIGNED, 4, 0 },
        { CU_AD_FORMAT_HALF, FL_TEXTURE_FLOAT, 2, 0 },
        { CU_AD_FORMAT_FLOAT, FL_TEXTURE_FLOAT, 4, 0 },
        { CU_AD_FORMAT_UNORM_INT8X1, FL_TEXTURE_UNSIGNED, 1, 1 },
        { CU_AD_FORMAT_UNORM_INT8X2, FL_TEXTURE_UNSIGNED, 1, 1 },
        { CU_AD_FORMAT_UNORM_INT8X4, FL_TEXTURE_UNSIGNED, 1, 1 },
        { CU_AD_FORMAT_UNORM_INT16X1, FL_TEXTURE_UNSIGNED, 2, 1 },
        { CU_AD_FORMAT_UNORM_INT16X2, FL_TEXTURE_UNSIGNED, 2, 1 },
        { CU_AD_FORMAT_UNORM_INT16X4, FL_TEXTURE_UNSIGNED, 2, 1 },
        { CU_AD_FORMAT_SNORM_INT8X1, FL_TEXTURE_SIGNED, 1, 1 },
        { CU_AD_FORMAT_SNORM_INT8X2, FL_TEXTURE_SIGNED, 1, 1 },
        { CU_AD_FORMAT_SNORM_INT8X4, FL_TEXTURE_SIGNED, 1, 1 },
        { CU_AD_FORMAT_SNORM_INT16X1, FL_TEXTURE_SIGNED, 2, 1 },
        { CU_AD_FORMAT_SNORM_INT16X2, FL_TEXTURE_SIGNED, 2, 1 },
        { CU_AD_FORMAT_SNORM_INT16X4, FL_TEXTURE_SIGNED, 2, 1 },
    };
    if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if ((int)format == formats[k].format) {
            t->format = formats[k].kind;
            t->bytes = formats[k].bytes;
            t->fractions = formats[k].fractions;
            t->channels = (uint8_t)channels;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_array(struct fl_texture *t, CUarray handle, bool surface)
{
    struct array *a;
    CUresult r = array_get(handle, &a);
    if (r) return r;
    const CUDA_ARRAY3D_DESCRIPTOR *d = &a->desc;
    if (surface && !(d->Flags & CUDA_ARRAY3D_SURFACE_LDST)) return CUDA_ERROR_INVALID_VALUE;
    if (a->tiles || d->Flags & CUDA_ARRAY3D_CUBEMAP) return CUDA_ERROR_NOT_SUPPORTED;
    t->base = a->memory->base;
    t->row = a->row;
    t->slice = a->row * a->rows;
    t->extent[0] = (uint32_t)d->Width;
    t->extent[1] = (uint32_t)a->rows;
    t->extent[2] = d->Flags & CUDA_ARRAY3D_LAYERED ? 1 : (uint32_t)a->slices;
    t->layers = d->Flags & CUDA_ARRAY3D_LAYERED ? (uint32_t)a->slices : 0;
    return set_format(t, d->Format, d->NumChannels);
}

static size_t limit(const struct context *c, CUdevice_attribute attribute)
{
    return (size_t)profile_attribute(c->device->profile, attribute);
}

/* Memory that textures can be of: aligned, and, but where it is mapped by the user, all of it in one allocation. */
static bool good_memory(const struct context *c, CUdeviceptr p, size_t size)
{
    struct allocation a;
    if (p % limit(c, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) || !space_look(p, &a)) return false;
    return a.kind == ALLOCATION_MAPPED || size <= a.base + a.size - p;
}

static CUresult set_linear(const struct context *c, struct fl_texture *t, const CUDA_RESOURCE_DESC *d)
{
    const size_t bytes = d->res.linear.sizeInBytes;
    CUresult r = set_format(t, d->res.linear.format, d->res.linear.numChannels);
    if (r) return r;
    const size_t elements = bytes / t->bytes / t->channels;
    if (!elements || elements > limit(c, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH) ||
        !good_memory(c, d->res.linear.devPtr, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    t->base = d->res.linear.devPtr;
    t->extent[0] = (uint32_t)elements;
    t->extent[1] = t->extent[2] = 1;
    t->flat = 1;
    return CUDA_SUCCESS;
}

static CUresult set_rows(const struct context *c, struct fl_texture *t, const CUDA_RESOURCE_DESC *d)
{
    const size_t width = d->res.pitch2D.width, height = d->res.pitch2D.height, pitch = d->res.pitch2D.pitchInBytes;
    CUresult r = set_format(t, d->res.pitch2D.format, d->res.pitch2D.numChannels);
    if (r) return r;
    const size_t row = width * t->bytes * t->channels;
    if (!width || !height || width > limit(c, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) ||
        height > limit(c, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) ||
        pitch > limit(c, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) || pitch < row ||
        pitch % limit(c, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) ||
        !good_memory(c, d->res.pitch2D.devPtr, (height - 1) * pitch + row))
        return CUDA_ERROR_INVALID_VALUE;
    t->base = d->res.pitch2D.devPtr;
    t->row = pitch;
    t->extent[0] = (uint32_t)width;
    t->extent[1] = (uint32_t)height;
    t->extent[2] = 1;
    return CUDA_SUCCESS;
}

static CUresult set_resource(const struct context *c, struct fl_texture *t, const CUDA_RESOURCE_DESC *d, bool surface)
{
    if (d->flags) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)d->resType) {
    case CU_RESOURCE_TYPE_ARRAY: return set_array(t, d->res.array.hArray, surface);
    case CU_RESOURCE_TYPE_LINEAR: return surface ? CUDA_ERROR_INVALID_VALUE : set_linear(c, t, d);
    case CU_RESOURCE_TYPE_PITCH2D: return surface ? CUDA_ERROR_INVALID_VALUE : set_rows(c, t, d);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: return surface ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* A border is a colour as the texture's own: numbers that stand for fractions are whole, halves rounded down. */
static float as_fraction(float f, float least, float most)
{
    const float clamped = f > 1 ? 1 : f < least ? least : f == f ? f : 0, exact = clamped * most - 0.5f;
    const int32_t down = (int32_t)exact;
    return (float)((float)down < exact ? down + 1 : down) / most;
}

static void set_border(struct fl_texture *t, const float colour[4])
{
    const bool sign = t->format == FL_TEXTURE_SIGNED;
    const float most = t->bytes == 1 ? sign ? 127 : 255 : sign ? 32767 : 65535;
    for (int k = 0; k < 4; k++) t->border[k] = t->fractions ? as_fraction(colour[k], sign ? -1 : 0, most) : colour[k];
}

static CUresult set_texture(struct fl_texture *t, const CUDA_TEXTURE_DESC *d)
{
    if (d->flags & CU_TRSF_SRGB) return CUDA_ERROR_NOT_SUPPORTED;
    for (int k = 0; k < 3; k++) {
        if ((unsigned)d->addressMode[k] > CU_TR_ADDRESS_MODE_BORDER) return CUDA_ERROR_INVALID_VALUE;
        t->address[k] = (uint8_t)d->addressMode[k];
    }
    if ((unsigned)d->filterMode > CU_TR_FILTER_MODE_LINEAR) return CUDA_ERROR_INVALID_VALUE;
    t->linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR && !t->flat;
    t->normalized = (d->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    if (!(d->flags & CU_TRSF_READ_AS_INTEGER) && t->format != FL_TEXTURE_FLOAT && t->bytes < 4) t->fractions = 1;
    if (!t->flat) set_border(t, d->borderColor);
    return CUDA_SUCCESS;
}

/* ---- objects */

static CUresult create(struct object *o, const struct fl_texture *t, uint64_t *handle)
{
    CUresult r = space_alloc_module(o->context, sizeof *t, _Alignof(struct fl_texture), &o->memory);
    if (r) return r;
    memcpy(space_alias(o->memory, o->memory->base), t, sizeof *t);
    pthread_mutex_lock(&lock);
    o->next = objects;
    objects = o;
    pthread_mutex_unlock(&lock);
    *handle = o->memory->base;
    return CUDA_SUCCESS;
}

static CUresult make(struct context *c, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
                     const CUDA_RESOURCE_VIEW_DESC *view, uint64_t *handle)
{
    struct fl_texture t = { 0 };
    CUresult r = set_resource(c, &t, resource, !texture);
    if (r || (texture && (r = set_texture(&t, texture)))) return r;
    struct object *o = calloc(1, sizeof *o);
    if (!o) return CUDA_ERROR_OUT_OF_MEMORY;
    o->resource = *resource;
    o->surface = !texture;
    o->context = c;
    if (texture) o->texture = *texture;
    if (view) o->view = *view;
    if ((r = create(o, &t, handle))) free(o);
    return r;
}

/* Under the lock. */
static void destroy(struct object **at)
{
    struct object *o = *at;
    *at = o->next;
    space_free(o->memory);
    free(o);
}

static CUresult end(uint64_t handle, bool surface)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || !handle) return r;
    pthread_mutex_lock(&lock);
    struct object **at = find(handle, surface);
    r = *at ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    if (*at) destroy(at);
    pthread_mutex_unlock(&lock);
    return r;
}

static CUresult look(uint64_t handle, bool surface, struct object *out)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    pthread_mutex_lock(&lock);
    const struct object *o = *find(handle, surface);
    if (o) *out = *o;
    pthread_mutex_unlock(&lock);
    return o ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static void release_context(struct context *c)
{
    pthread_mutex_lock(&lock);
    for (struct object **at = &objects; *at;)
        if ((*at)->context == c)
            destroy(at);
        else
            at = &(*at)->next;
    pthread_mutex_unlock(&lock);
}

const struct space_owner texture_owner = { .release_context = release_context };

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                   const CUDA_TEXTURE_DESC *pTexDesc, const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct context *c;
    uint64_t handle;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pTexObject || !pResDesc || !pTexDesc) return CUDA_ERROR_INVALID_VALUE;
    if (pResViewDesc && pResViewDesc->format != CU_RES_VIEW_FORMAT_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    if (!(r = make(c, pResDesc, pTexDesc, pResViewDesc, &handle))) *pTexObject = handle;
    return r;
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texObject) { return end(texObject, false); }

CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    struct object o;
    CUresult r = look(texObject, false, &o);
    if (!r && !pResDesc) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *pResDesc = o.resource;
    return r;
}

CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    struct object o;
    CUresult r = look(texObject, false, &o);
    if (!r && !pTexDesc) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *pTexDesc = o.texture;
    return r;
}

CUresult CUDAAPI cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc, CUtexObject texObject)
{
    struct object o;
    CUresult r = look(texObject, false, &o);
    if (!r && !pResViewDesc) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *pResViewDesc = o.view;
    return r;
}

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct context *c;
    uint64_t handle;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pSurfObject || !pResDesc) return CUDA_ERROR_INVALID_VALUE;
    if (!(r = make(c, pResDesc, NULL, NULL, &handle))) *pSurfObject = handle;
    return r;
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject) { return end(surfObject, true); }

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    struct object o;
    CUresult r = look(surfObject, true, &o);
    if (!r && !pResDesc) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *pResDesc = o.resource;
    return r;
}
