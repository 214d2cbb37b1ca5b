/* The application's ordinary memory, reachable by kernels (profiles with pageable memory access). */
#ifndef FL_SPACE_ADOPTED_H
#define FL_SPACE_ADOPTED_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* A kernel touches va: devices see the memory around it from now on. CUDA_ERROR_INVALID_VALUE: it may not,
 * there is none, or it is not the application's own. */
CUresult adopted_add(uint64_t va, bool write);
/* The same for all of a range that kernels may read: none of them faults there any more. */
CUresult adopted_cover(uint64_t va, uint64_t size);
/* Is told of what is forgotten; at most one. It takes no lock of src/space. */
void adopted_on_loss(void (*lost)(uint64_t va, uint64_t size));
/* Before each kernel: what the application has unmapped, moved or protected is forgotten. */
void adopted_review(void);
/* All of [va, va+size) is memory that kernels may read. */
bool adopted_touchable(uint64_t va, uint64_t size);

#endif
