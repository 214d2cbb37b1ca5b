/* Resource views: the elements of an array seen in another format of their size, or
 * some of its levels and layers only. */
#include "api/texture.h"

enum { KINDS = 3 /* of a number: with 1, 2 and 4 channels */ };

/* How many channels of 32 bits an array has that keeps blocks of a compressed format; each is 4 by 4 elements. */
static unsigned block_channels(CUresourceViewFormat f)
{
    return f == CU_RES_VIEW_FORMAT_UNSIGNED_BC1 || f == CU_RES_VIEW_FORMAT_UNSIGNED_BC4 ||
                   f == CU_RES_VIEW_FORMAT_SIGNED_BC4
               ? 2
               : 4;
}

static bool same_extent(const CUDA_RESOURCE_VIEW_DESC *v, const struct texture *x, unsigned factor)
{
    const uint32_t *extent = x->level[0].extent;
    return v->width == (size_t)extent[0] * factor &&
           v->height == (x->dimensions > 1 ? (size_t)extent[1] * factor : 0) &&
           v->depth == (x->layered || x->cube ? x->layers : x->dimensions == 3 ? extent[2] : 0);
}

static CUresult view_format(const CUDA_RESOURCE_VIEW_DESC *v, struct texture *x)
{
    static const struct {
        uint8_t number, bytes;
    } formats[] = { { TEXTURE_UNSIGNED, 1 }, { TEXTURE_SIGNED, 1 }, { TEXTURE_UNSIGNED, 2 }, { TEXTURE_SIGNED, 2 },
                    { TEXTURE_UNSIGNED, 4 }, { TEXTURE_SIGNED, 4 }, { TEXTURE_FLOAT, 2 },    { TEXTURE_FLOAT, 4 } };
    const unsigned f = (unsigned)v->format - CU_RES_VIEW_FORMAT_UINT_1X8;
    if (v->format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1 && v->format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
        return x->number == TEXTURE_UNSIGNED && x->bytes == 4 && x->channels == block_channels(v->format) &&
                       same_extent(v, x, 4)
                   ? CUDA_ERROR_NOT_SUPPORTED
                   : CUDA_ERROR_INVALID_VALUE;
    if (f >= KINDS * sizeof formats / sizeof *formats || !same_extent(v, x, 1)) return CUDA_ERROR_INVALID_VALUE;
    const uint8_t bytes = formats[f / KINDS].bytes, channels = (uint8_t)(1 << f % KINDS);
    if (bytes * channels != x->bytes * x->channels) return CUDA_ERROR_INVALID_VALUE;
    x->number = formats[f / KINDS].number;
    x->bytes = bytes;
    x->channels = channels;
    x->normalised = false;
    return CUDA_SUCCESS;
}

/* Levels that there are not are the last one (observed on H200). */
static CUresult view_levels(const CUDA_RESOURCE_VIEW_DESC *v, bool mipmapped, struct texture *x)
{
    const unsigned first = v->firstMipmapLevel, last = v->lastMipmapLevel, end = x->levels - 1;
    if (!mipmapped) return first || last ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (first > last) return CUDA_ERROR_INVALID_VALUE;
    const unsigned from = first < end ? first : end, to = last < end ? last : end;
    for (unsigned k = from; k <= to; k++) x->level[k - from] = x->level[k];
    x->levels = to - from + 1;
    return CUDA_SUCCESS;
}

static CUresult view_layers(const CUDA_RESOURCE_VIEW_DESC *v, struct texture *x)
{
    const unsigned first = v->firstLayer, last = v->lastLayer;
    /* a cube alone is no layers, and keeps all its faces (observed on an H200) */
    if (!x->layered) return first || last ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (first > last) return CUDA_ERROR_INVALID_VALUE;
    if (last >= x->layers) return CUDA_ERROR_NOT_SUPPORTED; /* those that there are not would be read as zeros */
    for (unsigned k = 0; k < x->levels; k++) x->level[k].base += first * x->level[k].slice;
    x->layers = last - first + 1;
    return CUDA_SUCCESS;
}

CUresult texture_view(const CUDA_RESOURCE_DESC *r, const CUDA_RESOURCE_VIEW_DESC *v, struct texture *x)
{
    const bool mipmapped = r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    CUresult e;
    if (!mipmapped && r->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_SUCCESS; /* whatever it says (observed on H200) */
    for (size_t k = 0; k < sizeof v->reserved / sizeof *v->reserved; k++)
        if (v->reserved[k]) return CUDA_ERROR_INVALID_VALUE;
    if ((e = view_format(v, x)) || (e = view_levels(v, mipmapped, x))) return e;
    return view_layers(v, x);
}
