/* Launches: what <<<...>>> becomes, and cudaLaunchKernel. */
#include "runtime/runtime.h"
#include "runtime/launch.h"
#include "runtime/registration.h"

#include <limits.h>

enum { MAX_CONFIGURATIONS = 64 }; /* arguments of a launch may launch, so they nest */

/* A ring: where an argument throws an exception nobody takes what was pushed, so the oldest are dropped for new ones. */
static _Thread_local struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configurations[MAX_CONFIGURATIONS];
static _Thread_local unsigned pushed, kept;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
    configurations[pushed++ % MAX_CONFIGURATIONS] = (struct configuration){ grid, block, shared, stream };
    if (kept < MAX_CONFIGURATIONS) kept++;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (!kept) return runtime_failed(cudaErrorMissingConfiguration);
    kept--;
    struct configuration c = configurations[--pushed % MAX_CONFIGURATIONS];
    *grid = c.grid;
    *block = c.block;
    *shared = c.shared;
    *(cudaStream_t *)stream = c.stream;
    return cudaSuccess;
}

/* Of the bytes of shared memory the upper half does not count (observed on an H200). */
/* Of any device. */
static bool is_possible(dim3 grid, dim3 block)
{
    enum { GRID_X = INT_MAX, GRID_YZ = 65535, BLOCK_XY = 1024, BLOCK_Z = 64, THREADS = 1024 };
    return grid.x && grid.y && grid.z && grid.x <= GRID_X && grid.y <= GRID_YZ && grid.z <= GRID_YZ && block.x &&
           block.y && block.z && block.x <= BLOCK_XY && block.y <= BLOCK_XY && block.z <= BLOCK_Z &&
           block.x * block.y * block.z <= THREADS;
}

/* 12 refuses what no device does before the driver sees it, so that a capture goes on; in 13 the driver refuses it. That
 * the device is lost comes first. */
static cudaError_t check_shape(dim3 grid, dim3 block)
{
    size_t available, total;
    if (runtime_version >= 13000 || is_possible(grid, block)) return cudaSuccess;
    cudaError_t r = runtime_error(cuMemGetInfo(&available, &total));
    return r ? r : cudaErrorInvalidConfiguration;
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
    cudaError_t r = check_shape(grid, block);
    if (r) return r;
    return runtime_error(cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                        (unsigned)shared, stream, arguments, NULL));
}

cudaError_t CUDARTAPI cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
                                       cudaStream_t stream)
{
    CUkernel kernel;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_kernel(func, &kernel);
    return r ? r : launch(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                                  size_t sharedMem, cudaStream_t stream)
{
    CUkernel kernel;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_kernel(func, &kernel);
    if (!r) r = check_shape(gridDim, blockDim);
    if (r) return r;
    return runtime_error(cuLaunchCooperativeKernel((CUfunction)kernel, gridDim.x, gridDim.y, gridDim.z, blockDim.x,
                                                   blockDim.y, blockDim.z, (unsigned)sharedMem, stream, args));
}

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "one layout");

CUlaunchConfig launch_config(const cudaLaunchConfig_t *config)
{
    return (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
}

cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    CUkernel kernel;
    if (!config) return cudaErrorInvalidValue;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_kernel(func, &kernel);
    if (r) return r;
    CUlaunchConfig c = launch_config(config);
    if (!c.hStream && runtime_per_thread) c.hStream = CU_STREAM_PER_THREAD;
    return runtime_error(cuLaunchKernelEx(&c, (CUfunction)kernel, args, NULL));
}

/* nvcc's output asks once for each kernel, and launches whatever it got: after a failure the symbol, which tells why
 * each time. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *symbol)
{
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_kernel(symbol, kernel);
    if (!r) return r;
    *kernel = (cudaKernel_t)symbol;
    return runtime_failed(r);
}

static cudaError_t launch_known(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (!r) r = launch(kernel, grid, block, arguments, shared, stream);
    if (r == cudaErrorInvalidResourceHandle && !(r = runtime_kernel(kernel, &kernel)))
        r = launch(kernel, grid, block, arguments, shared, stream);
    return r;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream)
{
    cudaError_t r = launch_known(kernel, grid, block, arguments, shared, stream);
    return r ? runtime_failed(r) : r;
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                    cudaStream_t stream)
{
    stream = stream ? stream : cudaStreamPerThread;
    cudaError_t r = launch_known(kernel, grid, block, arguments, shared, stream);
    return r ? runtime_failed(r) : r;
}
