/* Graphs: nodes that allocate and free memory, and what memory graphs of a device hold. */
#include "runtime/runtime.h"

_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "one layout");
_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "one layout");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "one layout");

cudaError_t CUDARTAPI cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                               const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                               struct cudaMemAllocNodeParams *nodeParams)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuGraphAddMemAllocNode(pGraphNode, graph, pDependencies, numDependencies,
                                                    (CUDA_MEM_ALLOC_NODE_PARAMS *)nodeParams));
}

cudaError_t CUDARTAPI cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params_out));
}

cudaError_t CUDARTAPI cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                              const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(
                   cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies, (CUdeviceptr)dptr));
}

cudaError_t CUDARTAPI cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphMemFreeNodeGetParams(node, (CUdeviceptr *)dptr_out));
}

cudaError_t CUDARTAPI cudaDeviceGraphMemTrim(int device)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceGraphMemTrim(device));
}

cudaError_t CUDARTAPI cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t CUDARTAPI cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}
