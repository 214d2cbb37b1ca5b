/* What the library keeps in a CUtensorMap and the device reads there: how a
 * tensor lies in global memory, and the box of it that one copy moves. */
#ifndef FL_PTX_TENSOR_MAP_H
#define FL_PTX_TENSOR_MAP_H

#include <stdint.h>

enum {
    FL_TENSOR_RANK = 5,
    FL_TENSOR_BOX = 256,             /* elements of a dimension, at most */
    FL_TENSOR_BOX_BYTES = 227 << 10, /* of all its elements, at most */
};

/* Numbered as CUtensorMapDataType. */
enum fl_tensor_type {
    FL_TENSOR_U8, FL_TENSOR_U16, FL_TENSOR_U32, FL_TENSOR_S32, FL_TENSOR_U64, FL_TENSOR_S64, FL_TENSOR_F16,
    FL_TENSOR_F32, FL_TENSOR_F64, FL_TENSOR_BF16, FL_TENSOR_F32_FTZ, FL_TENSOR_TF32, FL_TENSOR_TF32_FTZ,
    FL_TENSOR_TYPES,
};
static inline uint32_t fl_tensor_bytes(uint32_t type)
{
    static const uint8_t bytes[FL_TENSOR_TYPES] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4 };
    return bytes[type];
}

#define FL_TENSOR_MAP_MAGIC 0x70616d726f736e65ull
struct fl_tensor_map {
    uint64_t magic;                        /* something else: it is none */
    uint64_t address;
    uint64_t strides[FL_TENSOR_RANK];      /* bytes from one element of a dimension to the next; [0] is not used */
    uint32_t dims[FL_TENSOR_RANK];         /* elements, less one */
    uint16_t box[FL_TENSOR_RANK];          /* elements that a copy covers */
    uint8_t steps[FL_TENSOR_RANK];         /* every so many of them is copied; [0] is not used */
    uint8_t rank, type;
    uint8_t swizzle;                       /* 0: none; 1, 2, 3: rows of 32, 64, 128 bytes */
    uint8_t fill;                          /* outside of the tensor there are 0: zeros, 1: NaNs */
    uint8_t pad[29];
};
_Static_assert(sizeof(struct fl_tensor_map) == 128, "as large as a CUtensorMap");

#endif
