/* CUDA arrays: linear storage of rows in device memory. */
#ifndef FL_API_ARRAY_H
#define FL_API_ARRAY_H

#include "space/space.h"

struct array {                     /* CUarray_st */
    CUDA_ARRAY3D_DESCRIPTOR desc;
    struct allocation *memory;
    size_t element, row;           /* bytes of an element, of a row */
    size_t rows, slices;           /* at least 1 */
    struct array *next;
};

/* CUDA_ERROR_INVALID_HANDLE unless it is a living array. */
CUresult array_get(CUarray handle, struct array **out);

#endif
