/* What the files about nodes of graphs share: the runtime's parameters as the driver's. */
#ifndef FL_RUNTIME_GRAPH_H
#define FL_RUNTIME_GRAPH_H

#include "runtime/runtime.h"

/* The host function of a kernel becomes the kernel. cudaErrorInvalidDeviceFunction: it is none. */
cudaError_t graph_kernel(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *q);

#endif
