/* What the library keeps in a CUtensorMap and the device reads there: how a
 * tensor lies in global memory, and the box of it that one copy moves. */
#ifndef FL_PTX_TENSOR_MAP_H
#define FL_PTX_TENSOR_MAP_H

#include <stdint.h>

enum {
    FL_TENSOR_RANK = 5,
    FL_TENSOR_BOX = 256,             /* elements of a dimension, at most */
    FL_TENSOR_BOX_BYTES = 228 << 10, /* of all its elements, at most */
    FL_TENSOR_PLACES = FL_TENSOR_RANK - 2, /* dimensions of a pixel's place: all but its channels and its image */
    FL_TENSOR_PIXELS = 1024,         /* of a column, at most */
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

/* Elements of a dimension of a box that count for its size. Observed on an H200: as many as whole steps fit. */
static inline uint32_t fl_tensor_counted(uint32_t box, uint32_t step) { return box / step; }

#define FL_TENSOR_MAP_MAGIC 0x70616d726f736e65ull
struct fl_tensor_map {
    uint64_t magic;                        /* something else: it is none */
    uint64_t address;
    uint64_t strides[FL_TENSOR_RANK];      /* bytes from one element of a dimension to the next; [0] is not used */
    uint32_t dims[FL_TENSOR_RANK];         /* elements, less one */
    uint16_t box[FL_TENSOR_RANK];          /* elements that a copy covers; of columns [0] alone, channels */
    int16_t lower[FL_TENSOR_PLACES];       /* of columns: how far from the tensor's first and last place in each */
    int16_t upper[FL_TENSOR_PLACES];       /* dimension pixels begin and end */
    uint16_t pixels;                       /* of a column; 0: a map of boxes */
    uint8_t steps[FL_TENSOR_RANK];         /* every so many of them is copied */
    uint8_t rank, type;
    uint8_t interleave;                    /* 0: none; 1, 2: channels lie in slices of 16, 32 bytes */
    uint8_t swizzle;                       /* 0: none; 1, 2, 3: rows of 32, 64, 128 bytes */
    uint8_t fill;                          /* outside of the tensor there are 0: zeros, 1: NaNs */
    uint8_t pad[18];
};
_Static_assert(sizeof(struct fl_tensor_map) == 128, "as large as a CUtensorMap");

/* What is interleaved has a row of slices as its dimension 0, and counts slices of channels in its last but one: of
 * these a copy moves one. Else dimension 0 counts channels (both observed on an H200). Of a pixel's place is the rest,
 * but for the last dimension, the image. */
static inline uint32_t fl_tensor_slice(const struct fl_tensor_map *m) { return m->interleave ? 8u << m->interleave : 0; }
static inline uint32_t fl_tensor_place(const struct fl_tensor_map *m) { return m->interleave ? 0 : 1; }

#endif
