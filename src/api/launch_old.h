/* Launches as they were before CUDA 4.0. */
#ifndef FL_API_LAUNCH_OLD_H
#define FL_API_LAUNCH_OLD_H

#include <cuda.h>

/* launch.c: as cuLaunchKernel, without clusters. */
CUresult launch_as_before(CUfunction f, const unsigned grid[2], const unsigned block[3], unsigned shared, CUstream stream,
                          void **extra);

#endif
