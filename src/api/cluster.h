/* Clusters of blocks: which ones a launch may have, and how many fit. */
#ifndef FL_API_CLUSTER_H
#define FL_API_CLUSTER_H

#include "module/module.h"

/* A launch of f that asks for clusters of this shape, zeros: for none. Fills in what it gets.
 * CUDA_ERROR_INVALID_CLUSTER_SIZE. */
CUresult cluster_of_launch(const struct function *f, const uint32_t asked[3], const uint32_t grid[3], uint32_t out[3]);

/* How many blocks in clusters of this shape are on a device's multiprocessors at once, of each of which `blocks` would fit
 * without clusters. */
uint64_t cluster_blocks(int multiprocessors, int blocks, const uint32_t shape[3]);

#endif
