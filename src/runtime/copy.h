/* How the driver describes copies: what the files about copies and the nodes of
 * graphs have in common. Rows and boxes are copied by rows.c and box.c. */
#ifndef FL_RUNTIME_COPY_H
#define FL_RUNTIME_COPY_H

#include "runtime/runtime.h"

/* What memory both sides are of, by the kind of copy. cudaErrorInvalidMemcpyDirection: there is no such kind. */
cudaError_t runtime_kind(enum cudaMemcpyKind kind, CUmemorytype *from, CUmemorytype *to);

/* A copy of a box as the driver describes it, and back. */
cudaError_t runtime_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c);
cudaError_t runtime_box_params(const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *p);

/* Where [offset, offset + count) of a variable is. cudaErrorInvalidValue: it is not that large. */
cudaError_t runtime_part(const void *symbol, size_t offset, size_t count, void **at);

#endif
