/* Arrays: descriptors checked as the H200's driver does. Mipmapped ones are in
 * mipmap.c, the tiles of sparse ones in sparse.c. */
#include "api/array.h"
#include "context/context.h"
#include "graph/capture.h"
#include "stream/stream.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct array *arrays;

static void construct(void *object) { (void)object; }

static struct objects all = OBJECTS_INIT(struct array, construct);

/* Where the list has it; the list's end: it has not. Under the lock. */
static struct array **find(const void *handle)
{
    struct array **at = &arrays;
    while (*at && *at != handle) at = &(*at)->next;
    return at;
}

CUresult array_get(CUarray handle, struct array **out)
{
    pthread_mutex_lock(&lock);
    struct array *a = *out = *find(handle);
    if (a) uses_begin(&a->uses);
    pthread_mutex_unlock(&lock);
    return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult array_get_again(struct array *a, uint64_t life)
{
    uses_begin(&a->uses);
    return atomic_load(&a->life) == life ? CUDA_SUCCESS : array_end(a, CUDA_ERROR_INVALID_HANDLE);
}

CUresult array_end(struct array *a, CUresult r)
{
    uses_end(&a->uses);
    return r;
}

/* What is stored as one piece: an element, or of compressed formats a block of BLOCK times BLOCK. */
struct piece {
    unsigned bytes, block;
};
enum { BLOCK = 4, AS_ASKED = 0 };

/* No bytes: format and channels do not go together. */
static struct piece piece_of(CUarray_format format, unsigned channels)
{
    static const struct {
        int format;
        unsigned bytes, channels; /* of a channel, or a block; how many channels the format has */
    } formats[] = { { CU_AD_FORMAT_UNSIGNED_INT8, 1, AS_ASKED },
                    { CU_AD_FORMAT_UNSIGNED_INT16, 2, AS_ASKED },
                    { CU_AD_FORMAT_UNSIGNED_INT32, 4, AS_ASKED },
                    { CU_AD_FORMAT_SIGNED_INT8, 1, AS_ASKED },
                    { CU_AD_FORMAT_SIGNED_INT16, 2, AS_ASKED },
                    { CU_AD_FORMAT_SIGNED_INT32, 4, AS_ASKED },
                    { CU_AD_FORMAT_HALF, 2, AS_ASKED },
                    { CU_AD_FORMAT_FLOAT, 4, AS_ASKED },
                    { CU_AD_FORMAT_UNORM_INT_101010_2, 1, 4 },
                    { CU_AD_FORMAT_UNORM_INT8X1, 1, 1 },
                    { CU_AD_FORMAT_UNORM_INT8X2, 1, 2 },
                    { CU_AD_FORMAT_UNORM_INT8X4, 1, 4 },
                    { CU_AD_FORMAT_UNORM_INT16X1, 2, 1 },
                    { CU_AD_FORMAT_UNORM_INT16X2, 2, 2 },
                    { CU_AD_FORMAT_UNORM_INT16X4, 2, 4 },
                    { CU_AD_FORMAT_SNORM_INT8X1, 1, 1 },
                    { CU_AD_FORMAT_SNORM_INT8X2, 1, 2 },
                    { CU_AD_FORMAT_SNORM_INT8X4, 1, 4 },
                    { CU_AD_FORMAT_SNORM_INT16X1, 2, 1 },
                    { CU_AD_FORMAT_SNORM_INT16X2, 2, 2 },
                    { CU_AD_FORMAT_SNORM_INT16X4, 2, 4 },
                    { CU_AD_FORMAT_BC1_UNORM, 8, 4 },
                    { CU_AD_FORMAT_BC1_UNORM_SRGB, 8, 4 },
                    { CU_AD_FORMAT_BC2_UNORM, 16, 4 },
                    { CU_AD_FORMAT_BC2_UNORM_SRGB, 16, 4 },
                    { CU_AD_FORMAT_BC3_UNORM, 16, 4 },
                    { CU_AD_FORMAT_BC3_UNORM_SRGB, 16, 4 },
                    { CU_AD_FORMAT_BC4_UNORM, 8, 1 },
                    { CU_AD_FORMAT_BC4_SNORM, 8, 1 },
                    { CU_AD_FORMAT_BC5_UNORM, 16, 2 },
                    { CU_AD_FORMAT_BC5_SNORM, 16, 2 },
                    { CU_AD_FORMAT_BC6H_UF16, 16, 3 },
                    { CU_AD_FORMAT_BC6H_SF16, 16, 3 },
                    { CU_AD_FORMAT_BC7_UNORM, 16, 4 },
                    { CU_AD_FORMAT_BC7_UNORM_SRGB, 16, 4 } };
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const unsigned has = formats[k].channels;
        if ((int)format != formats[k].format) continue;
        if (has ? channels != has : channels != 1 && channels != 2 && channels != 4) break;
        if (format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB)
            return (struct piece){ formats[k].bytes, BLOCK };
        return (struct piece){ formats[k].bytes * channels, 1 };
    }
    return (struct piece){ 0 };
}

size_t array_piece_bytes(CUarray_format format, unsigned channels) { return piece_of(format, channels).bytes; }

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
    if (f & CUDA_ARRAY3D_TEXTURE_GATHER) {
        if (layered || f & CUDA_ARRAY3D_CUBEMAP || !d->Height || d->Depth) return false;
        return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
                      CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 0);
    }
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
        if (!d->Height) return false;
        if (surface)
            return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH,
                          CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH);
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
    return within(p, d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 0);
}

/* Memory that is mapped tile by tile: flat or deep, never a line or a cube (observed on H200). As a whole: any shape. */
static bool good_sparse(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    if (!(d->Flags & CUDA_ARRAY3D_SPARSE)) return true;
    return d->Height &&
           !(d->Flags & (CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_SURFACE_LDST));
}

static bool supported(const struct profile *p, unsigned flags, struct piece element)
{
    if (element.block > 1 && flags & CUDA_ARRAY3D_SPARSE) return false; /* tiles of blocks */
    return !(flags & CUDA_ARRAY3D_SPARSE && !p->attribute[CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED]) &&
           !(flags & CUDA_ARRAY3D_DEFERRED_MAPPING &&
             !p->attribute[CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED]);
}

CUresult array_check(const struct context *c, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    const struct profile *p = c->device->profile;
    const struct piece element = piece_of(d->Format, d->NumChannels);
    if (!element.bytes) return CUDA_ERROR_INVALID_VALUE;
    if (element.block > 1 && d->Flags & CUDA_ARRAY3D_SURFACE_LDST) return CUDA_ERROR_NOT_SUPPORTED;
    if (!good_shape(p, d) || !good_sparse(d) || (element.block > 1 && !d->Height)) return CUDA_ERROR_INVALID_VALUE;
    return supported(p, d->Flags, element) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static struct sparse_shape shape_of(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
    bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP), volume = d->Depth && !layered;
    const struct piece element = piece_of(d->Format, d->NumChannels);
    return (struct sparse_shape){ .width = d->Width,
                                  .height = d->Height,
                                  .depth = volume ? d->Depth : 1,
                                  .layers = layered ? d->Depth : 1,
                                  .element = element.bytes,
                                  .block = element.block,
                                  .levels = levels,
                                  .volume = volume,
                                  .deferred = d->Flags & CUDA_ARRAY3D_DEFERRED_MAPPING };
}

CUresult array_tiles(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels, struct sparse **out)
{
    const struct sparse_shape shape = shape_of(d, levels);
    return sparse_create(&shape, out);
}

/* As much as on a GPU, though rows lie one behind the other here. */
static CUresult own_memory(struct context *c, struct array *a)
{
    const struct sparse_shape shape = shape_of(&a->desc, 1);
    size_t bytes;
    if (__builtin_mul_overflow(a->row, a->rows, &bytes) || __builtin_mul_overflow(bytes, a->slices, &bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = space_alloc_module(c, sparse_gpu_bytes(&shape), 512, &a->memory);
    if (!r) space_clear(a->memory);
    return r;
}

static _Atomic uint64_t lives;

CUresult array_create(struct context *c, const CUDA_ARRAY3D_DESCRIPTOR *d, struct sparse *tiles, struct array **out)
{
    struct array *a = object_take(&all);
    if (!a) return CUDA_ERROR_OUT_OF_MEMORY;
    a->life = atomic_fetch_add(&lives, 1) + 1;
    a->memory = NULL;
    a->mipmap = NULL;
    a->level = 0;
    a->desc = *d;
    a->context = c;
    const struct piece element = piece_of(d->Format, d->NumChannels);
    a->element = element.bytes;
    a->row = (d->Width + element.block - 1) / element.block * a->element;
    a->rows = d->Height ? (d->Height + element.block - 1) / element.block : 1;
    a->slices = d->Depth ? d->Depth : 1;
    a->tiles = tiles;
    CUresult r = tiles ? CUDA_SUCCESS : own_memory(c, a);
    if (r) {
        object_give(&all, a);
        return r;
    }
    pthread_mutex_lock(&lock);
    a->next = arrays;
    arrays = a;
    pthread_mutex_unlock(&lock);
    *out = a;
    return CUDA_SUCCESS;
}

/* Whoever takes it out is the one who destroys it. Under the lock. */
static struct array *take_out(struct array **at)
{
    struct array *a = *at;
    if (a) *at = a->next;
    return a;
}

void array_free(struct array *a)
{
    /* other contexts' streams may still come to copies of it */
    atomic_store(&a->life, 0);
    uses_wait(&a->uses);
    if (a->memory) space_free(a->memory);
    if (a->tiles && !a->mipmap) sparse_destroy(a->tiles);
    object_give(&all, a);
}

/* The last of the calls that have it may have issued something. */
static void destroy(struct array *a)
{
    uses_wait(&a->uses);
    context_synchronize(a->context);
    array_free(a);
}

void array_withdraw(struct array *a)
{
    pthread_mutex_lock(&lock);
    take_out(find(a));
    pthread_mutex_unlock(&lock);
    uses_wait(&a->uses);
}

static struct array *take_out_any(const struct context *c)
{
    pthread_mutex_lock(&lock);
    struct array **at = &arrays;
    while (*at && ((*at)->context != c || (*at)->mipmap)) at = &(*at)->next;
    struct array *a = take_out(at);
    pthread_mutex_unlock(&lock);
    return a;
}

static void release_context(struct context *c)
{
    mipmap_release_context(c);
    for (struct array *a; (a = take_out_any(c));) destroy(a);
}

const struct space_owner array_owner = { .release_context = release_context };

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    struct context *c;
    struct array *a;
    struct sparse *tiles = NULL;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!pHandle || !pAllocateArray) return CUDA_ERROR_INVALID_VALUE;
    if ((r = array_check(c, pAllocateArray))) return r;
    if (pAllocateArray->Flags & ARRAY_MAPPED && (r = array_tiles(pAllocateArray, 1, &tiles))) return r;
    if (!(r = context_enter(c)))
        r = context_leave(c, array_create(c, pAllocateArray, tiles, &a));
    if (!r)
        *pHandle = (CUarray)a;
    else if (tiles)
        sparse_destroy(tiles);
    return r;
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
    CUresult r = context_optional(&c); /* the array has its own */
    if (r) return r;
    if (!hArray) return CUDA_ERROR_INVALID_HANDLE;
    if (!pArrayDescriptor) return CUDA_ERROR_INVALID_VALUE;
    if ((r = array_get(hArray, &a))) return r;
    *pArrayDescriptor = a->desc;
    return array_end(a, CUDA_SUCCESS);
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
    CUresult r = context_optional(&c);
    if (r || (r = array_get(hArray, &a))) return r;
    if ((r = capture_refuse_unsafe())) return array_end(a, r);
    if ((r = array_end(a, context_synchronize(c ? c : a->context)))) return r;
    pthread_mutex_lock(&lock);
    struct array **at = find(hArray);
    if (!*at) r = CUDA_ERROR_INVALID_HANDLE;
    /* a level goes with its mipmapped array (observed on H200: no error) */
    a = *at && !(*at)->mipmap ? take_out(at) : NULL;
    pthread_mutex_unlock(&lock);
    if (a) destroy(a);
    return r;
}

/* No format that is supported has planes. */
CUresult CUDAAPI cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
    struct context *c;
    struct array *a;
    CUresult r = context_current(&c);
    (void)pPlaneArray, (void)planeIdx;
    return r || (r = array_get(hArray, &a)) ? r : array_end(a, CUDA_ERROR_INVALID_VALUE);
}
