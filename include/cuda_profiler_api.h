/* cudaProfilerStart and cudaProfilerStop, which cuda_runtime_api.h declares here. Where a compiler for CUDA is at
 * work, this is its own header. */
#if defined(__CUDACC__) && defined(__GNUC__)
#include_next <cuda_profiler_api.h>
#else
#include <cuda_runtime_api.h>
#endif
