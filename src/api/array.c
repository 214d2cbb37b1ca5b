/* Arrays and mipmapped arrays: descriptors checked as the H200's driver does. */
#include "api/array.h"
#include "context/context.h"
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

struct mipmapped {
    struct array *levels[32];
    unsigned count;
    struct mipmapped *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct array *arrays;
static struct mipmapped *mipmaps;

CUresult array_get(CUarray handle, struct array **out)
{
    CUresult r = CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    for (struct array *a = arrays; a && r; a = a->next)
        if (a == (struct array *)handle) *out = a, r = CUDA_SUCCESS;
    pthread_mutex_unlock(&lock);
    return r;
}

/* Bytes of an element; 0 if format and channels do not go together. */
static size_t element_size(CUarray_format format, unsigned channels)
{
    static const struct {
        int format;
        unsigned bytes, channels;
    } formats[] = { { CU_AD_FORMAT_UNSIGNED_INT8, 1, 0 },  { CU_AD_FORMAT_UNSIGNED_INT16, 2, 0 },
                    { CU_AD_FORMAT_UNSIGNED_INT32, 4, 0 }, { CU_AD_FORMAT_SIGNED_INT8, 1, 0 },
                    { CU_AD_FORMAT_SIGNED_INT16, 2, 0 },   { CU_AD_FORMAT_SIGNED_INT32, 4, 0 },
                    { CU_AD_FORMAT_HALF, 2, 0 },           { CU_AD_FORMAT_FLOAT, 4, 0 },
                    { CU_AD_FORMAT_UNORM_INT8X1, 1, 1 },   { CU_AD_FORMAT_UNORM_INT8X2, 1, 2 },
                    { CU_AD_FORMAT_UNORM_INT8X4, 1, 4 },   { CU_AD_FORMAT_UNORM_INT16X1, 2, 1 },
                    { CU_AD_FORMAT_UNORM_INT16X2, 2, 2 },  { CU_AD_FORMAT_UNORM_INT16X4, 2, 4 },
                    { CU_AD_FORMAT_SNORM_INT8X1, 1, 1 },   { CU_AD_FORMAT_SNORM_INT8X2, 1, 2 },
                    { CU_AD_FORMAT_SNORM_INT8X4, 1, 4 },   { CU_AD_FORMAT_SNORM_INT16X1, 2, 1 },
                    { CU_AD_FORMAT_SNORM_INT16X2, 2, 2 },  { CU_AD_FORMAT_SNORM_INT16X4, 2, 4 } };
    if (channels != 1 && channels != 2 && channels != 4) return 0;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if ((int)format == formats[k].format && (!formats[k].channels || formats[k].channels == channels))
            return formats[k].bytes * channels;
    return 0;
}

static bool within(const struct profile *p, const CUDA_ARRAY3D_DESCRIPTOR *d, CUdevice_attribute width,
                   CUdevice_attribute height, CUdevice_attribute depth)
{
    return d->Width <= (size_t)p->attribute[width] && (!height || d->Height <= (size_t)p->attribute[height]) &&
           (!depth || d->Depth <= (size_t)p->attribute[depth]);
}

static bool good_shape(const struct profile *p, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    unsigned f = d->Flags;
    bool layered = f & CUDA_ARRAY3D_LAYERED, surface = f & CUDA_ARRAY3D_SURFACE_LDST;
    if (!d->Width ||
        f & ~(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
              CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE))
        return false;
    if (f & CUDA_ARRAY3D_CUBEMAP) {
        if (d->Width != d->Height || !d->Depth || d->Depth % 6 || (!layered && d->Depth != 6)) return false;
        return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, 0,
                      layered ? CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS : 0);
    }
    if (layered && !d->Depth) return false;
    if (layered && !d->Height)
        return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 0,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS);
    if (layered)
        return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS);
    if (d->Depth) {
        if (!d->Height || f & CUDA_ARRAY3D_TEXTURE_GATHER) return false;
        return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH) ||
               within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE);
    }
    if (!d->Height)
        return within(
            p, d, surface ? CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH : CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH,
            0, 0);
    if (f & CUDA_ARRAY3D_TEXTURE_GATHER)
        return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 0);
    return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 0);
}

static CUresult create(struct context *c, const CUDA_ARRAY3D_DESCRIPTOR *d, struct array **out)
{
    size_t element = element_size(d->Format, d->NumChannels), bytes;
    if (!element || !good_shape(c->device->profile, d)) return CUDA_ERROR_INVALID_VALUE;
    if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) return CUDA_ERROR_NOT_SUPPORTED;
    struct array *a = calloc(1, sizeof *a);
    if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
    a->desc = *d;
    a->element = element;
    a->row = d->Width * element;
    a->rows = d->Height ? d->Height : 1;
    a->slices = d->Depth ? d->Depth : 1;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    if (__builtin_mul_overflow(a->row, a->rows, &bytes) || __builtin_mul_overflow(bytes, a->slices, &bytes)) goto out;
    if ((r = space_alloc_device(c, bytes, 512, &a->memory))) goto out;
    a->memory->module_owned = true;
    space_update(a->memory);
    memset(space_alias(a->memory, a->memory->base), 0, bytes);
    pthread_mutex_lock(&lock);
    a->next = arrays;
    arrays = a;
    pthread_mutex_unlock(&lock);
    *out = a;
out:
    if (r) free(a);
    return r;
}

static void destroy(struct array *a)
{
    pthread_mutex_lock(&lock);
    for (struct array **at = &arrays; *at; at = &(*at)->next)
        if (*at == a) {
            *at = a->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    space_free(a->memory);
    free(a);
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    struct context *c;
    struct array *a;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pHandle || !pAllocateArray) return CUDA_ERROR_INVALID_VALUE;
    if ((r = create(c, pAllocateArray, &a))) return r;
    *pHandle = (CUarray)a;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pHandle || !pAllocateArray) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR d = { .Width = pAllocateArray->Width,
                                        .Height = pAllocateArray->Height,
                                        .Format = pAllocateArray->Format,
                                        .NumChannels = pAllocateArray->NumChannels };
    return cuArray3DCreate_v2(pHandle, &d);
}

CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    struct context *c;
    struct array *a;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!hArray) return CUDA_ERROR_INVALID_HANDLE;
    if (!pArrayDescriptor) return CUDA_ERROR_INVALID_VALUE;
    if ((r = array_get(hArray, &a))) return r;
    *pArrayDescriptor = a->desc;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult r = cuArray3DGetDescriptor_v2(pArrayDescriptor ? &d : NULL, hArray);
    if (r) return r;
    *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){
        .Width = d.Width, .Height = d.Height, .Format = d.Format, .NumChannels = d.NumChannels
    };
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
    struct context *c;
    struct array *a;
    CUresult r = context_current(&c);
    if (r || (r = array_get(hArray, &a)) || (r = context_synchronize(c))) return r;
    destroy(a);
    return CUDA_SUCCESS;
}

/* No array is sparse yet. */
CUresult CUDAAPI cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array)
{
    struct context *c;
    struct array *a;
    CUresult r = context_current(&c);
    if (r || (r = array_get(array, &a))) return r;
    (void)sparseProperties;
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- mipmapped arrays */

static size_t halved(size_t v, unsigned times) { return !v ? 0 : v >> times ? v >> times : 1; }

static unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    size_t longest = d->Width > d->Height ? d->Width : d->Height;
    if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) && d->Depth > longest) longest = d->Depth;
    unsigned n = 1;
    while (longest >>= 1) n++;
    return n > 32 ? 32 : n;
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                        unsigned int numMipmapLevels)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!pHandle || !pMipmappedArrayDesc) return CUDA_ERROR_INVALID_VALUE;
    struct mipmapped *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned n = numMipmapLevels ? numMipmapLevels : 1, most = most_levels(pMipmappedArrayDesc);
    for (unsigned k = 0; k < (n < most ? n : most) && !r; k++) {
        CUDA_ARRAY3D_DESCRIPTOR d = *pMipmappedArrayDesc;
        d.Width = halved(d.Width, k);
        d.Height = halved(d.Height, k);
        if (!(d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))) d.Depth = halved(d.Depth, k);
        if (!(r = create(c, &d, &m->levels[k]))) m->count++;
    }
    if (r) {
        while (m->count) destroy(m->levels[--m->count]);
        free(m);
        return r;
    }
    pthread_mutex_lock(&lock);
    m->next = mipmaps;
    mipmaps = m;
    pthread_mutex_unlock(&lock);
    *pHandle = (CUmipmappedArray)m;
    return CUDA_SUCCESS;
}

static struct mipmapped *mipmap_get(CUmipmappedArray handle)
{
    pthread_mutex_lock(&lock);
    struct mipmapped *m = mipmaps;
    while (m && m != (struct mipmapped *)handle) m = m->next;
    pthread_mutex_unlock(&lock);
    return m;
}

CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    struct mipmapped *m = mipmap_get(hMipmappedArray);
    if (!m) return CUDA_ERROR_INVALID_HANDLE;
    if (!pLevelArray || level >= m->count) return CUDA_ERROR_INVALID_VALUE;
    *pLevelArray = (CUarray)m->levels[level];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    struct mipmapped *m = mipmap_get(hMipmappedArray);
    if (!m) return CUDA_ERROR_INVALID_HANDLE;
    if ((r = context_synchronize(c))) return r;
    pthread_mutex_lock(&lock);
    for (struct mipmapped **at = &mipmaps; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    while (m->count) destroy(m->levels[--m->count]);
    free(m);
    return CUDA_SUCCESS;
}
