/* Where the rows of a copy of a tensor lie in global memory, one after the
 * other: what its map (ptx/tensor_map.h) and its coordinates say. */
#ifndef FL_DEVICE_TENSOR_BOX_H
#define FL_DEVICE_TENSOR_BOX_H

#include "ptx/tensor_map.h"

#include <stdbool.h>

enum { TENSOR_CHUNK = 16 };

/* A dimension in which rows follow each other. */
struct tensor_axis {
    int64_t at;          /* of the row that comes next */
    int64_t first, last; /* behind the last one comes the first, and the next dimension's next */
    int64_t limit;       /* the tensor's last */
    uint64_t stride;
    uint32_t step, shift;
};
struct tensor_box {
    struct fl_tensor_map map;
    struct tensor_axis axis[FL_TENSOR_RANK];
    uint32_t axes, rows;
    int64_t begin, end; /* of a row, and of the tensor's, in bytes */
    uint32_t row;       /* its bytes */
    uint32_t pitch;     /* from row to row in shared memory; what is swizzled takes as much as it could */
};

/* Whether it is a map of so many dimensions, for boxes or columns. Kernels make maps, too. */
bool tensor_is_sound(const struct fl_tensor_map *m, uint32_t dimensions, bool columns);
/* Whether a copy may begin there; of columns only at one of their pixels. */
bool tensor_may_begin(const struct fl_tensor_map *m, const int32_t *coordinates, bool stores);
/* Behind the coordinates there are offsets, if it is a load of columns. */
void tensor_box(struct tensor_box *x, const int32_t *coordinates, bool shifted);
/* What is valid of the next row, bytes *first .. *end-1, and where its byte 0 would be. */
uint64_t tensor_row(struct tensor_box *x, uint32_t *first, uint32_t *end);

#endif
