/* Arrays: memory with a format and an extent. Their handles are the driver's own. */
#include "runtime/array.h"

/* ---- Formats: a channel's kind and bits, and the driver's name for both */

/* With one to four channels of 8, 16 or 32 bits. */
static const struct plain {
    enum cudaChannelFormatKind kind;
    int bits;
    CUarray_format format;
} plain[] = {
    { cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8 },
    { cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16 },
    { cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32 },
    { cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8 },
    { cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16 },
    { cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32 },
    { cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF },
    { cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT },
};

/* Whose name says everything. */
static const struct named {
    struct cudaChannelFormatDesc desc;
    CUarray_format format;
    unsigned channels;
} named[] = {
    { { 8, 8, 8, 0, cudaChannelFormatKindNV12 }, CU_AD_FORMAT_NV12, 3 },
    { { 8, 0, 0, 0, cudaChannelFormatKindUnsignedNormalized8X1 }, CU_AD_FORMAT_UNORM_INT8X1, 1 },
    { { 8, 8, 0, 0, cudaChannelFormatKindUnsignedNormalized8X2 }, CU_AD_FORMAT_UNORM_INT8X2, 2 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedNormalized8X4 }, CU_AD_FORMAT_UNORM_INT8X4, 4 },
    { { 16, 0, 0, 0, cudaChannelFormatKindUnsignedNormalized16X1 }, CU_AD_FORMAT_UNORM_INT16X1, 1 },
    { { 16, 16, 0, 0, cudaChannelFormatKindUnsignedNormalized16X2 }, CU_AD_FORMAT_UNORM_INT16X2, 2 },
    { { 16, 16, 16, 16, cudaChannelFormatKindUnsignedNormalized16X4 }, CU_AD_FORMAT_UNORM_INT16X4, 4 },
    { { 8, 0, 0, 0, cudaChannelFormatKindSignedNormalized8X1 }, CU_AD_FORMAT_SNORM_INT8X1, 1 },
    { { 8, 8, 0, 0, cudaChannelFormatKindSignedNormalized8X2 }, CU_AD_FORMAT_SNORM_INT8X2, 2 },
    { { 8, 8, 8, 8, cudaChannelFormatKindSignedNormalized8X4 }, CU_AD_FORMAT_SNORM_INT8X4, 4 },
    { { 16, 0, 0, 0, cudaChannelFormatKindSignedNormalized16X1 }, CU_AD_FORMAT_SNORM_INT16X1, 1 },
    { { 16, 16, 0, 0, cudaChannelFormatKindSignedNormalized16X2 }, CU_AD_FORMAT_SNORM_INT16X2, 2 },
    { { 16, 16, 16, 16, cudaChannelFormatKindSignedNormalized16X4 }, CU_AD_FORMAT_SNORM_INT16X4, 4 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed1 }, CU_AD_FORMAT_BC1_UNORM, 4 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed1SRGB }, CU_AD_FORMAT_BC1_UNORM_SRGB, 4 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed2 }, CU_AD_FORMAT_BC2_UNORM, 4 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed2SRGB }, CU_AD_FORMAT_BC2_UNORM_SRGB, 4 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed3 }, CU_AD_FORMAT_BC3_UNORM, 4 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed3SRGB }, CU_AD_FORMAT_BC3_UNORM_SRGB, 4 },
    { { 8, 0, 0, 0, cudaChannelFormatKindUnsignedBlockCompressed4 }, CU_AD_FORMAT_BC4_UNORM, 1 },
    { { 8, 0, 0, 0, cudaChannelFormatKindSignedBlockCompressed4 }, CU_AD_FORMAT_BC4_SNORM, 1 },
    { { 8, 8, 0, 0, cudaChannelFormatKindUnsignedBlockCompressed5 }, CU_AD_FORMAT_BC5_UNORM, 2 },
    { { 8, 8, 0, 0, cudaChannelFormatKindSignedBlockCompressed5 }, CU_AD_FORMAT_BC5_SNORM, 2 },
    { { 16, 16, 16, 0, cudaChannelFormatKindUnsignedBlockCompressed6H }, CU_AD_FORMAT_BC6H_UF16, 3 },
    { { 16, 16, 16, 0, cudaChannelFormatKindSignedBlockCompressed6H }, CU_AD_FORMAT_BC6H_SF16, 3 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed7 }, CU_AD_FORMAT_BC7_UNORM, 4 },
    { { 8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed7SRGB }, CU_AD_FORMAT_BC7_UNORM_SRGB, 4 },
    { { 10, 10, 10, 2, cudaChannelFormatKindUnsignedNormalized1010102 }, CU_AD_FORMAT_UNORM_INT_101010_2, 4 },
};

enum { PLAIN = sizeof plain / sizeof *plain, NAMED = sizeof named / sizeof *named };

/* How many there are, all of the same bits. 0: they are not. */
static unsigned channels_of(const struct cudaChannelFormatDesc *d)
{
    const int bits[] = { d->x, d->y, d->z, d->w };
    unsigned n = 0;
    while (n < 4 && bits[n] && bits[n] == d->x) n++;
    for (unsigned k = n; k < 4; k++)
        if (bits[k]) return 0;
    return n == 3 ? 0 : n;
}

static bool same(const struct cudaChannelFormatDesc *a, const struct cudaChannelFormatDesc *b)
{
    return a->x == b->x && a->y == b->y && a->z == b->z && a->w == b->w && a->f == b->f;
}

cudaError_t runtime_format(const struct cudaChannelFormatDesc *desc, CUarray_format *format, unsigned *channels)
{
    for (int k = 0; k < NAMED; k++)
        if (same(&named[k].desc, desc)) {
            *format = named[k].format;
            *channels = named[k].channels;
            return cudaSuccess;
        }
    *channels = channels_of(desc);
    for (int k = 0; k < PLAIN && *channels; k++)
        if (plain[k].kind == desc->f && plain[k].bits == desc->x) {
            *format = plain[k].format;
            return cudaSuccess;
        }
    return cudaErrorInvalidChannelDescriptor;
}

cudaError_t runtime_format_desc(CUarray_format format, unsigned n, struct cudaChannelFormatDesc *desc)
{
    for (int k = 0; k < NAMED; k++)
        if (named[k].format == format) {
            *desc = named[k].desc;
            return cudaSuccess;
        }
    for (int k = 0; k < PLAIN; k++)
        if (plain[k].format == format) {
            const int bits = plain[k].bits;
            *desc = (struct cudaChannelFormatDesc){ n > 0 ? bits : 0, n > 1 ? bits : 0, n > 2 ? bits : 0,
                                                    n > 3 ? bits : 0, plain[k].kind };
            return cudaSuccess;
        }
    return cudaErrorInvalidChannelDescriptor;
}

static cudaError_t desc_of(const CUDA_ARRAY3D_DESCRIPTOR *d, struct cudaChannelFormatDesc *desc)
{
    return runtime_format_desc(d->Format, d->NumChannels, desc);
}

struct cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){ x, y, z, w, f };
}

/* ---- Allocation */

static cudaError_t describe(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned flags,
                            CUDA_ARRAY3D_DESCRIPTOR *d)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!desc) return cudaErrorInvalidValue;
    *d = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags
    };
    return runtime_format(desc, &d->Format, &d->NumChannels);
}

cudaError_t CUDARTAPI cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                        struct cudaExtent extent, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    cudaError_t r = describe(desc, extent, flags, &d);
    if (r) return r;
    return array ? runtime_error(cuArray3DCreate((CUarray *)array, &d)) : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width,
                                      size_t height, unsigned int flags)
{
    const unsigned of_volumes = cudaArrayLayered | cudaArrayCubemap;
    if (flags & of_volumes || !array) return cudaErrorInvalidValue;
    return cudaMalloc3DArray(array, desc, (struct cudaExtent){ width, height, 0 }, flags);
}

cudaError_t CUDARTAPI cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                               const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                               unsigned int numLevels, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    cudaError_t r = describe(desc, extent, flags, &d);
    if (r) return r;
    if (!mipmappedArray) return cudaErrorInvalidValue;
    return runtime_error(cuMipmappedArrayCreate((CUmipmappedArray *)mipmappedArray, &d, numLevels));
}

cudaError_t CUDARTAPI cudaFreeArray(cudaArray_t array)
{
    cudaError_t r = runtime_ready();
    return r || !array ? r : runtime_error(cuArrayDestroy((CUarray)array));
}

cudaError_t CUDARTAPI cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    cudaError_t r = runtime_ready();
    return r || !mipmappedArray ? r : runtime_error(cuMipmappedArrayDestroy((CUmipmappedArray)mipmappedArray));
}

/* ---- Questions */

static cudaError_t descriptor(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *d)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuArray3DGetDescriptor(d, (CUarray)array));
}

static size_t element(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct cudaChannelFormatDesc desc;
    return desc_of(d, &desc) ? 0 : (size_t)(desc.x + desc.y + desc.z + desc.w) / 8;
}

cudaError_t runtime_element(cudaArray_const_t array, size_t *bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    cudaError_t r = descriptor(array, &d);
    if (r) return r;
    return (*bytes = element(&d)) ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

cudaError_t runtime_rows(cudaArray_const_t array, size_t *bytes, size_t *rows)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    cudaError_t r = descriptor(array, &d);
    if (r) return r;
    *bytes = d.Width * element(&d);
    *rows = d.Height ? d.Height : 1;
    return r;
}

cudaError_t CUDARTAPI cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    if (!desc || !array) return cudaErrorInvalidValue;
    cudaError_t r = descriptor(array, &d);
    return r ? r : desc_of(&d, desc);
}

/* What is not asked for is NULL. */
cudaError_t CUDARTAPI cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                       unsigned int *flags, cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    cudaError_t r = descriptor(array, &d);
    if (!r && desc) r = desc_of(&d, desc);
    if (r) return r;
    if (extent) *extent = (struct cudaExtent){ d.Width, d.Height, d.Depth };
    if (flags) *flags = d.Flags;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetMipmappedArrayLevel(cudaArray_t *levelArray, cudaMipmappedArray_const_t mipmappedArray,
                                                 unsigned int level)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMipmappedArrayGetLevel((CUarray *)levelArray, (CUmipmappedArray)mipmappedArray, level));
}

cudaError_t CUDARTAPI cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray, unsigned int planeIdx)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuArrayGetPlane((CUarray *)pPlaneArray, (CUarray)hArray, planeIdx));
}

SAME_LAYOUT(struct cudaArrayMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS);
SAME_LAYOUT(struct cudaArraySparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES);

cudaError_t CUDARTAPI cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements,
                                                     cudaArray_t array, int device)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(
        cuArrayGetMemoryRequirements((CUDA_ARRAY_MEMORY_REQUIREMENTS *)memoryRequirements, (CUarray)array, device));
}

cudaError_t CUDARTAPI cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements,
                                                              cudaMipmappedArray_t mipmap, int device)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMipmappedArrayGetMemoryRequirements((CUDA_ARRAY_MEMORY_REQUIREMENTS *)memoryRequirements,
                                                               (CUmipmappedArray)mipmap, device));
}

cudaError_t CUDARTAPI cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
                                                   cudaArray_t array)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)sparseProperties, (CUarray)array));
}

cudaError_t CUDARTAPI cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
                                                            cudaMipmappedArray_t mipmap)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMipmappedArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)sparseProperties,
                                                             (CUmipmappedArray)mipmap));
}
