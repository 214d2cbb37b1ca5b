/* Tensor maps: what is asked for is checked and kept in the map itself
 * (ptx/tensor_map.h), which kernels get by value or find in memory. */
#include "context/context.h"
#include "ptx/tensor_map.h"

#include <stdbool.h>
#include <string.h>

enum { ADDRESS_ALIGN = 16, MOST_STEP = 8 };
static const uint64_t MOST_DIM = 1ull << 32, MOST_STRIDE = 1ull << 40, MOST_ADDRESS = 1ull << 57;

static CUresult supported(void)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r) return r;
    return c->device->profile->attribute[CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED] ? CUDA_SUCCESS
                                                                                          : CUDA_ERROR_NOT_SUPPORTED;
}

static bool is_float(CUtensorMapDataType t)
{
    return t >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && t <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

/* Those of sm_90; the others came with later devices. */
static bool check_modes(CUtensorMapDataType type, cuuint32_t rank, CUtensorMapInterleave interleave,
                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    if ((unsigned)type >= FL_TENSOR_TYPES || (unsigned)interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        (unsigned)swizzle > CU_TENSOR_MAP_SWIZZLE_128B || (unsigned)l2 > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (unsigned)fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return false;
    if (fill && !is_float(type)) return false;
    return rank && rank <= FL_TENSOR_RANK && (!interleave || rank >= 3);
}

static bool check_tensor(const void *address, cuuint32_t rank, const cuuint64_t *dims, const cuuint64_t *strides,
                         const cuuint32_t *steps, CUtensorMapInterleave interleave)
{
    uint64_t align = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 2 * ADDRESS_ALIGN : ADDRESS_ALIGN;
    if ((uint64_t)address % align || (uint64_t)address >= MOST_ADDRESS) return false;
    for (cuuint32_t k = 0; k < rank; k++) {
        if (!dims[k] || dims[k] > MOST_DIM || !steps[k] || steps[k] > MOST_STEP) return false;
        if (k && (strides[k - 1] % align || strides[k - 1] >= MOST_STRIDE)) return false;
    }
    return true;
}

struct modes {
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
};

/* All but what a copy covers. */
static struct fl_tensor_map described(CUtensorMapDataType type, cuuint32_t rank, const void *address,
                                      const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *steps,
                                      struct modes modes)
{
    struct fl_tensor_map m = { .magic = FL_TENSOR_MAP_MAGIC,
                               .address = (uint64_t)address,
                               .rank = (uint8_t)rank,
                               .type = (uint8_t)type,
                               .interleave = (uint8_t)modes.interleave,
                               .swizzle = (uint8_t)modes.swizzle,
                               .fill = (uint8_t)modes.fill };
    for (cuuint32_t k = 0; k < rank; k++) {
        m.dims[k] = (uint32_t)(dims[k] - 1);
        m.steps[k] = (uint8_t)steps[k];
        if (k) m.strides[k] = strides[k - 1];
    }
    return m;
}

/* ---- boxes */

static bool check_box(cuuint32_t rank, const cuuint32_t *box, const cuuint32_t *steps, uint32_t bytes,
                      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle)
{
    uint64_t row = (uint64_t)box[0] * bytes, size = bytes;
    for (cuuint32_t k = 0; k < rank; k++) {
        if (!box[k] || box[k] > FL_TENSOR_BOX) return false;
        size *= fl_tensor_counted(box[k], steps[k]);
    }
    return row % ADDRESS_ALIGN == 0 && (interleave || !swizzle || row <= 16u << swizzle) && size <= FL_TENSOR_BOX_BYTES;
}

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                        cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
                                        const cuuint64_t *globalStrides, const cuuint32_t *boxDim,
                                        const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                        CUtensorMapFloatOOBfill oobFill)
{
    CUresult r = supported();
    if (r) return r;
    if (!tensorMap || !globalDim || !globalStrides || !boxDim || !elementStrides ||
        !check_modes(tensorDataType, tensorRank, interleave, swizzle, l2Promotion, oobFill) ||
        !check_tensor(globalAddress, tensorRank, globalDim, globalStrides, elementStrides, interleave) ||
        !check_box(tensorRank, boxDim, elementStrides, fl_tensor_bytes(tensorDataType), interleave, swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    struct fl_tensor_map m = described(tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
                                       elementStrides, (struct modes){ interleave, swizzle, oobFill });
    for (cuuint32_t k = 0; k < tensorRank; k++) m.box[k] = (uint16_t)boxDim[k];
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}

/* ---- columns of pixels */

/* As far as the fields of a GPU's map go; at least one pixel lies between the corners, as 32 bits count them (observed on
 * an H200). */
static bool check_corners(cuuint32_t rank, const cuuint64_t *dims, const int *lower, const int *upper,
                          CUtensorMapInterleave interleave)
{
    const int most = 1 << (rank == 3 ? 15 : rank == 4 ? 7 : 4);
    for (cuuint32_t k = 0; k + 2 < rank; k++) {
        const int32_t end = (int32_t)((uint32_t)dims[interleave ? k : k + 1] + (uint32_t)upper[k]);
        if (lower[k] < -most || lower[k] >= most || upper[k] < -most || upper[k] >= most || end <= lower[k])
            return false;
    }
    return true;
}

static bool check_column(cuuint32_t channels, cuuint32_t pixels, uint32_t bytes, CUtensorMapInterleave interleave,
                         CUtensorMapSwizzle swizzle)
{
    uint64_t row = (uint64_t)channels * bytes;
    return channels && channels <= FL_TENSOR_BOX && pixels && pixels <= FL_TENSOR_PIXELS && row % ADDRESS_ALIGN == 0 &&
           (interleave || !swizzle || row <= 16u << swizzle) && row * pixels <= FL_TENSOR_BOX_BYTES;
}

CUresult CUDAAPI cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                         cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
                                         const cuuint64_t *globalStrides, const int *pixelBoxLowerCorner,
                                         const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
                                         cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides,
                                         CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                         CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    CUresult r = supported();
    if (r) return r;
    if (!tensorMap || !globalDim || !globalStrides || !pixelBoxLowerCorner || !pixelBoxUpperCorner || !elementStrides ||
        tensorRank < 3 || !check_modes(tensorDataType, tensorRank, interleave, swizzle, l2Promotion, oobFill) ||
        !check_tensor(globalAddress, tensorRank, globalDim, globalStrides, elementStrides, interleave) ||
        !check_corners(tensorRank, globalDim, pixelBoxLowerCorner, pixelBoxUpperCorner, interleave) ||
        !check_column(channelsPerPixel, pixelsPerColumn, fl_tensor_bytes(tensorDataType), interleave, swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    struct fl_tensor_map m = described(tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
                                       elementStrides, (struct modes){ interleave, swizzle, oobFill });
    m.box[0] = (uint16_t)channelsPerPixel;
    m.pixels = (uint16_t)pixelsPerColumn;
    for (cuuint32_t k = 0; k + 2 < tensorRank; k++) {
        m.lower[k] = (int16_t)pixelBoxLowerCorner[k];
        m.upper[k] = (int16_t)pixelBoxUpperCorner[k];
    }
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}

/* Kernels of sm_100 use such maps; those for an H200, which makes them, too, have no instruction that takes one. */
CUresult CUDAAPI cuTensorMapEncodeIm2colWide(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                             cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
                                             const cuuint64_t *globalStrides, int pixelBoxLowerCornerWidth,
                                             int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
                                             cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides,
                                             CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                             CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                             CUtensorMapFloatOOBfill oobFill)
{
    const int lower[FL_TENSOR_PLACES] = { pixelBoxLowerCornerWidth }, upper[] = { pixelBoxUpperCornerWidth, 0, 0 };
    CUresult r = supported();
    if (r) return r;
    if (!tensorMap || !globalDim || !globalStrides || !elementStrides || tensorRank < 3 ||
        (unsigned)mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 ||
        !check_modes(tensorDataType, tensorRank, interleave, swizzle, l2Promotion, oobFill) ||
        !check_tensor(globalAddress, tensorRank, globalDim, globalStrides, elementStrides, interleave) ||
        !check_corners(tensorRank, globalDim, lower, upper, interleave) ||
        !check_column(channelsPerPixel, pixelsPerColumn, fl_tensor_bytes(tensorDataType), interleave, swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    struct fl_tensor_map m = described(tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
                                       elementStrides, (struct modes){ interleave, swizzle, oobFill });
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}

/* ---- all of them */

CUresult CUDAAPI cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
    struct fl_tensor_map m;
    CUresult r = supported();
    if (r) return r;
    if (!tensorMap || !globalAddress || (uint64_t)globalAddress % ADDRESS_ALIGN ||
        (uint64_t)globalAddress >= MOST_ADDRESS)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, tensorMap, sizeof m); /* which need not be one (observed on an H200) */
    m.address = (uint64_t)globalAddress;
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}
