/* How many blocks and clusters of a kernel fit on a device at a time. */
#include "runtime/runtime.h"
#include "runtime/launch.h"

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize,
                                                                    size_t dynamicSMemSize)
{
    CUfunction f;
    cudaError_t r = runtime_function(func, &f);
    return r ? r : runtime_error(cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, f, blockSize, dynamicSMemSize));
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func,
                                                                             int blockSize, size_t dynamicSMemSize,
                                                                             unsigned int flags)
{
    CUfunction f;
    cudaError_t r = runtime_function(func, &f);
    return r ? r
             : runtime_error(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, f, blockSize,
                                                                                  dynamicSMemSize, flags));
}

cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func,
                                                                int numBlocks, int blockSize)
{
    CUfunction f;
    cudaError_t r = runtime_function(func, &f);
    return r ? r : runtime_error(cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, f, numBlocks, blockSize));
}

cudaError_t CUDARTAPI cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                           const cudaLaunchConfig_t *launchConfig)
{
    CUfunction f;
    if (!launchConfig) return cudaErrorInvalidValue;
    cudaError_t r = runtime_function(func, &f);
    CUlaunchConfig c = launch_config(launchConfig);
    return r ? r : runtime_error(cuOccupancyMaxPotentialClusterSize(clusterSize, f, &c));
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                                     const cudaLaunchConfig_t *launchConfig)
{
    CUfunction f;
    if (!launchConfig) return cudaErrorInvalidValue;
    cudaError_t r = runtime_function(func, &f);
    CUlaunchConfig c = launch_config(launchConfig);
    return r ? r : runtime_error(cuOccupancyMaxActiveClusters(numClusters, f, &c));
}
