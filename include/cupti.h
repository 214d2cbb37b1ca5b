/* The part of CUPTI (CUDA 13) that Faultline offers in libcupti.so.13: activity
 * records of Unified Memory, of kernels, copies and memsets. Names, values and layouts are
 * those of NVIDIA's interface; programs that include its header run unchanged. */
#ifndef FAULTLINE_CUPTI_H
#define FAULTLINE_CUPTI_H

#include <cuda.h>
#include "cupti_activity.h"
#include "cupti_result.h"
#include "cupti_version.h"

#endif
