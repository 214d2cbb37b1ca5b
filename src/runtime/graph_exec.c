/* Executable graphs: made, launched and changed. */
#include "runtime/runtime.h"

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "one layout");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo), "one layout");

cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                    unsigned long long flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(pGraphExec, graph, flags);
}

/* Which stream the one to upload in is if it is NULL. */
__typeof__(cuGraphInstantiateWithParams) cuGraphInstantiateWithParams_ptsz;

cudaError_t CUDARTAPI cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                     cudaGraphInstantiateParams *instantiateParams)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS *params = (CUDA_GRAPH_INSTANTIATE_PARAMS *)instantiateParams;
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(runtime_per_thread ? cuGraphInstantiateWithParams_ptsz(pGraphExec, graph, params)
                                            : cuGraphInstantiateWithParams(pGraphExec, graph, params));
}

cudaError_t CUDARTAPI cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphExecGetFlags(graphExec, (cuuint64_t *)flags));
}

cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphUpload(graphExec, stream));
}

cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphLaunch(graphExec, stream));
}

cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphExecDestroy(graphExec));
}

cudaError_t CUDARTAPI cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                          cudaGraphExecUpdateResultInfo *resultInfo)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphExecUpdate_v2(hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)resultInfo));
}

cudaError_t CUDARTAPI cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphNodeSetEnabled(hGraphExec, hNode, isEnabled));
}

cudaError_t CUDARTAPI cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                              unsigned int *isEnabled)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphNodeGetEnabled(hGraphExec, hNode, isEnabled));
}
