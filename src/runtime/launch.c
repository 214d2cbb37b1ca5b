/* Launches: what <<<...>>> becomes, and cudaLaunchKernel. */
#include "runtime/runtime.h"
#include "runtime/registration.h"

enum { MAX_CONFIGURATIONS = 64 }; /* arguments of a launch may launch, so they nest */

static _Thread_local struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configurations[MAX_CONFIGURATIONS];
static _Thread_local unsigned pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
    if (pushed == MAX_CONFIGURATIONS) return (unsigned)runtime_failed(cudaErrorLaunchFailure);
    configurations[pushed++] = (struct configuration){ grid, block, shared, stream };
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (!pushed) return runtime_failed(cudaErrorMissingConfiguration);
    struct configuration c = configurations[--pushed];
    *grid = c.grid;
    *block = c.block;
    *shared = c.shared;
    *(cudaStream_t *)stream = c.stream;
    return cudaSuccess;
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
    CUresult r = cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                                stream, arguments, NULL);
    return r == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration : runtime_error(r);
}

cudaError_t CUDARTAPI cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                                       cudaStream_t stream)
{
    CUkernel kernel;
    cudaError_t r = runtime_kernel(func, &kernel);
    return r ? r : launch(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *symbol)
{
    cudaError_t r = runtime_kernel(symbol, (CUkernel *)kernel);
    return r ? runtime_failed(r) : r;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (!r) r = launch(kernel, grid, block, arguments, shared, stream);
    return r ? runtime_failed(r) : r;
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                    cudaStream_t stream)
{
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream ? stream : cudaStreamPerThread);
}
