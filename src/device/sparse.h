/* Sparse matrices, of which half of each row is stored. */
#ifndef FL_DEVICE_SPARSE_H
#define FL_DEVICE_SPARSE_H

#include "ptx/abi.h"

enum { SPARSE_ROWS = 16, SPARSE_MOST = 64 /* elements of a row that are stored */ };

/* Where in their rows the elements are that are stored, [row * stored + k], as the metadata of a warp's lanes say. */
void sparse_depths(enum fl_matrix_type t, uint32_t stored, const uint32_t lanes[32], uint32_t selector,
                   uint8_t depths[SPARSE_ROWS * SPARSE_MOST]);

#endif
