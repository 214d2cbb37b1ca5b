/* Graphs: nodes that set memory, call the host, contain a graph, order others, and record and wait for events. */
#include "runtime/runtime.h"

/* ---- Memset ---- */

/* For the current context. */
static cudaError_t prepare_memset(const struct cudaMemsetParams *p, CUDA_MEMSET_NODE_PARAMS *q, CUcontext *context)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!p) return cudaErrorInvalidValue;
    *q = (CUDA_MEMSET_NODE_PARAMS){ .dst = (CUdeviceptr)p->dst,
                                    .pitch = p->pitch,
                                    .value = p->value,
                                    .elementSize = p->elementSize,
                                    .width = p->width,
                                    .height = p->height };
    return runtime_error(cuCtxGetCurrent(context));
}

cudaError_t CUDARTAPI cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                             const struct cudaMemsetParams *pMemsetParams)
{
    CUDA_MEMSET_NODE_PARAMS q;
    CUcontext context;
    cudaError_t r = prepare_memset(pMemsetParams, &q, &context);
    return r ? r : runtime_error(cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies, &q, context));
}

cudaError_t CUDARTAPI cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams)
{
    CUDA_MEMSET_NODE_PARAMS q;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!pNodeParams) return cudaErrorInvalidValue;
    if ((r = runtime_error(cuGraphMemsetNodeGetParams(node, &q)))) return r;
    *pNodeParams = (struct cudaMemsetParams){ .dst = (void *)q.dst,
                                              .pitch = q.pitch,
                                              .value = q.value,
                                              .elementSize = q.elementSize,
                                              .width = q.width,
                                              .height = q.height };
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams)
{
    CUDA_MEMSET_NODE_PARAMS q;
    CUcontext context;
    cudaError_t r = prepare_memset(pNodeParams, &q, &context);
    return r ? r : runtime_error(cuGraphMemsetNodeSetParams(node, &q));
}

cudaError_t CUDARTAPI cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                       const struct cudaMemsetParams *pNodeParams)
{
    CUDA_MEMSET_NODE_PARAMS q;
    CUcontext context;
    cudaError_t r = prepare_memset(pNodeParams, &q, &context);
    return r ? r : runtime_error(cuGraphExecMemsetNodeSetParams(hGraphExec, node, &q, context));
}

/* ---- Host: one layout ---- */

_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "one layout");

cudaError_t CUDARTAPI cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                           const struct cudaHostNodeParams *pNodeParams)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuGraphAddHostNode(pGraphNode, graph, pDependencies, numDependencies,
                                                (const CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t CUDARTAPI cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t CUDARTAPI cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t CUDARTAPI cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                     const struct cudaHostNodeParams *pNodeParams)
{
    const CUDA_HOST_NODE_PARAMS *params = (const CUDA_HOST_NODE_PARAMS *)pNodeParams;
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphExecHostNodeSetParams(hGraphExec, node, params));
}

/* ---- Child graphs, and nothing ---- */

cudaError_t CUDARTAPI cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                 const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                                 cudaGraph_t childGraph)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuGraphAddChildGraphNode(pGraphNode, graph, pDependencies, numDependencies, childGraph));
}

cudaError_t CUDARTAPI cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphChildGraphNodeGetGraph(node, pGraph));
}

cudaError_t CUDARTAPI cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                           cudaGraph_t childGraph)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphExecChildGraphNodeSetParams(hGraphExec, node, childGraph));
}

cudaError_t CUDARTAPI cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                            const cudaGraphNode_t *pDependencies, size_t numDependencies)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphAddEmptyNode(pGraphNode, graph, pDependencies, numDependencies));
}

/* ---- Events ---- */

cudaError_t CUDARTAPI cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                  const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                                  cudaEvent_t event)
{
    cudaError_t r = event ? runtime_ready() : cudaErrorInvalidValue;
    return r ? r : runtime_error(cuGraphAddEventRecordNode(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t CUDARTAPI cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphEventRecordNodeGetEvent(node, event_out));
}

cudaError_t CUDARTAPI cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    cudaError_t r = event ? runtime_ready() : cudaErrorInvalidValue;
    return r ? r : runtime_error(cuGraphEventRecordNodeSetEvent(node, event));
}

cudaError_t CUDARTAPI cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                           cudaEvent_t event)
{
    cudaError_t r = event ? runtime_ready() : cudaErrorInvalidValue;
    return r ? r : runtime_error(cuGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event));
}

cudaError_t CUDARTAPI cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                                cudaEvent_t event)
{
    cudaError_t r = event ? runtime_ready() : cudaErrorInvalidValue;
    return r ? r : runtime_error(cuGraphAddEventWaitNode(pGraphNode, graph, pDependencies, numDependencies, event));
}

cudaError_t CUDARTAPI cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphEventWaitNodeGetEvent(node, event_out));
}

cudaError_t CUDARTAPI cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    cudaError_t r = event ? runtime_ready() : cudaErrorInvalidValue;
    return r ? r : runtime_error(cuGraphEventWaitNodeSetEvent(node, event));
}

cudaError_t CUDARTAPI cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                         cudaEvent_t event)
{
    cudaError_t r = event ? runtime_ready() : cudaErrorInvalidValue;
    return r ? r : runtime_error(cuGraphExecEventWaitNodeSetEvent(hGraphExec, hNode, event));
}
