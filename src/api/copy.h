/* What every form of copy becomes: two sides of rows and slices. */
#ifndef FL_API_COPY_H
#define FL_API_COPY_H

#include "api/span.h"

struct array;

struct side {
    struct span span;
    size_t pitch, slice;
    bool pageable;
    const struct device *device;   /* on whose behalf it is touched */
    struct array *array;           /* has tiles: they are found when the copy is performed, and there is no span */
    size_t x, y, z;                /* of an array: where in it, x in bytes */
};
struct copy {
    struct side to, from;
    size_t width, height, depth;
    struct vmm_piece pieces[];     /* of both sides' spans */
};

/* A copy of which at least one side is an array of tiles. */
CUresult copy_tiles(const struct copy *c);

/* Whether the operation would be refused, for a node of a graph. */
CUresult copy_check(const CUDA_MEMCPY3D *p);
CUresult launch_check(const CUDA_KERNEL_NODE_PARAMS_v3 *p);
CUresult memset_check(const CUDA_MEMSET_NODE_PARAMS_v2 *p);

#endif
