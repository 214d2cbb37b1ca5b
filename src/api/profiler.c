/* Profiler control. There is no profiler to control; programs mark regions
 * with these whether or not one listens. */
#include "context/context.h"
#include "graph/capture.h"

/* As every driver since CUDA 11 answers. */
CUresult CUDAAPI cuProfilerInitialize(void) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult CUDAAPI cuProfilerStart(void)
{
    struct context *c;
    CUresult r = context_current(&c);
    return r ? r : capture_refuse_unsafe();
}

CUresult CUDAAPI cuProfilerStop(void)
{
    struct context *c;
    CUresult r = context_current(&c);
    return r ? r : capture_refuse_unsafe();
}
