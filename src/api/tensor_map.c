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

static bool check_box(cuuint32_t rank, const cuuint32_t *box, uint32_t bytes, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle)
{
    uint64_t row = (uint64_t)box[0] * bytes, size = bytes;
    for (cuuint32_t k = 0; k < rank; k++) {
        if (!box[k] || box[k] > FL_TENSOR_BOX) return false;
        size *= box[k];
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
        !check_box(tensorRank, boxDim, fl_tensor_bytes(tensorDataType), interleave, swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    if (interleave) return CUDA_ERROR_NOT_SUPPORTED;
    struct fl_tensor_map m = { .magic = FL_TENSOR_MAP_MAGIC,
                               .address = (uint64_t)globalAddress,
                               .rank = (uint8_t)tensorRank,
                               .type = (uint8_t)tensorDataType,
                               .swizzle = (uint8_t)swizzle,
                               .fill = (uint8_t)oobFill };
    for (cuuint32_t k = 0; k < tensorRank; k++) {
        m.dims[k] = (uint32_t)(globalDim[k] - 1);
        m.box[k] = (uint16_t)boxDim[k];
        m.steps[k] = k ? (uint8_t)elementStrides[k] : 1;
        if (k) m.strides[k] = globalStrides[k - 1];
    }
    memcpy(tensorMap, &m, sizeof m);
    return CUDA_SUCCESS;
}

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
