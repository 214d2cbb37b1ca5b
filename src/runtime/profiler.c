/* Where a profiler begins and ends to look. */
#include "runtime/runtime.h"

/* NVIDIA declares them in a header of their own, which the project has not. */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

cudaError_t CUDARTAPI cudaProfilerStart(void)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuProfilerStart());
}

cudaError_t CUDARTAPI cudaProfilerStop(void)
{
    CUcontext current = NULL;
    cudaError_t r = runtime_init();
    if (!r) r = runtime_error(cuCtxGetCurrent(&current));
    return r || !current ? r : runtime_error(cuProfilerStop()); /* nothing to stop where no context is */
}
