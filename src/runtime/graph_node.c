/* Graphs: nodes of any kind, as one structure, and conditional handles. */
#include "runtime/graph.h"
#include "runtime/copy.h"

static cudaError_t kernel(const struct cudaKernelNodeParamsV2 *p, CUDA_KERNEL_NODE_PARAMS_v3 *q)
{
    const struct cudaKernelNodeParams same = { .func = p->func,
                                               .gridDim = p->gridDim,
                                               .blockDim = p->blockDim,
                                               .sharedMemBytes = p->sharedMemBytes,
                                               .kernelParams = p->kernelParams,
                                               .extra = p->extra };
    return graph_kernel(&same, (CUDA_KERNEL_NODE_PARAMS *)q);
}

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3), "one layout");

static cudaError_t copy(const struct cudaMemcpyNodeParams *p, CUDA_MEMCPY_NODE_PARAMS *q)
{
    q->flags = p->flags;
    q->reserved = p->reserved[0];
    cudaError_t r = runtime_error(cuCtxGetCurrent(&q->copyCtx));
    return r ? r : runtime_box(&p->copyParams, &q->copyParams);
}

static cudaError_t fill(const struct cudaMemsetParamsV2 *p, CUDA_MEMSET_NODE_PARAMS_v2 *q)
{
    *q = (CUDA_MEMSET_NODE_PARAMS_v2){ .dst = (CUdeviceptr)p->dst,
                                       .pitch = p->pitch,
                                       .value = p->value,
                                       .elementSize = p->elementSize,
                                       .width = p->width,
                                       .height = p->height };
    return runtime_error(cuCtxGetCurrent(&q->ctx));
}

static cudaError_t conditional(const struct cudaConditionalNodeParams *p, CUDA_CONDITIONAL_NODE_PARAMS *q)
{
    *q = (CUDA_CONDITIONAL_NODE_PARAMS){ .handle = p->handle,
                                         .type = (CUgraphConditionalNodeType)p->type,
                                         .size = p->size };
    return runtime_error(cuCtxGetCurrent(&q->ctx));
}

_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams), "one layout but for these four");

/* q: as the driver has it. */
static cudaError_t driver_params(const struct cudaGraphNodeParams *p, CUgraphNodeParams *q)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!p) return cudaErrorInvalidValue;
    *q = *(const CUgraphNodeParams *)p;
    switch (p->type) {
    case cudaGraphNodeTypeKernel: return kernel(&p->kernel, &q->kernel);
    case cudaGraphNodeTypeMemcpy: return copy(&p->memcpy, &q->memcpy);
    case cudaGraphNodeTypeMemset: return fill(&p->memset, &q->memset);
    case cudaGraphNodeTypeConditional: return conditional(&p->conditional, &q->conditional);
    default: return cudaSuccess;
    }
}

cudaError_t CUDARTAPI cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t *pDependencies, const cudaGraphEdgeData *dependencyData,
                                       size_t numDependencies, struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams q;
    cudaError_t r = driver_params(nodeParams, &q);
    if (r) return r;
    const CUgraphEdgeData *edges = (const CUgraphEdgeData *)dependencyData;
    r = runtime_error(cuGraphAddNode_v2(pGraphNode, graph, pDependencies, edges, numDependencies, &q));
    if (!r && nodeParams->type == cudaGraphNodeTypeMemAlloc) nodeParams->alloc.dptr = (void *)q.alloc.dptr;
    if (!r && nodeParams->type == cudaGraphNodeTypeConditional)
        nodeParams->conditional.phGraph_out = q.conditional.phGraph_out;
    return r;
}

cudaError_t CUDARTAPI cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams q;
    cudaError_t r = driver_params(nodeParams, &q);
    return r ? r : runtime_error(cuGraphNodeSetParams(node, &q));
}

cudaError_t CUDARTAPI cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                                 struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams q;
    cudaError_t r = driver_params(nodeParams, &q);
    return r ? r : runtime_error(cuGraphExecNodeSetParams(graphExec, node, &q));
}

cudaError_t CUDARTAPI cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph,
                                                       unsigned int defaultLaunchValue, unsigned int flags)
{
    CUcontext context;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_error(cuCtxGetCurrent(&context));
    return r ? r
             : runtime_error(cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)pHandle_out, graph, context,
                                                            defaultLaunchValue, flags));
}
