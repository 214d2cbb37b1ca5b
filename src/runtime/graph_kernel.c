/* Graphs: kernel nodes and their attributes. */
#include "runtime/graph.h"

cudaError_t graph_kernel(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *q)
{
    CUkernel kernel;
    if (!p) return cudaErrorInvalidValue;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_kernel(p->func, &kernel);
    if (r) return r;
    *q = (CUDA_KERNEL_NODE_PARAMS){
        .kern = kernel,
        .gridDimX = p->gridDim.x,
        .gridDimY = p->gridDim.y,
        .gridDimZ = p->gridDim.z,
        .blockDimX = p->blockDim.x,
        .blockDimY = p->blockDim.y,
        .blockDimZ = p->blockDim.z,
        .sharedMemBytes = p->sharedMemBytes,
        .kernelParams = p->kernelParams,
        .extra = p->extra,
    };
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                             const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS q;
    cudaError_t r = graph_kernel(pNodeParams, &q);
    return r ? r : runtime_error(cuGraphAddKernelNode_v2(pGraphNode, graph, pDependencies, numDependencies, &q));
}

cudaError_t CUDARTAPI cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS q;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!pNodeParams) return cudaErrorInvalidValue;
    if ((r = runtime_error(cuGraphKernelNodeGetParams_v2(node, &q)))) return r;
    *pNodeParams = (struct cudaKernelNodeParams){
        .func = (void *)runtime_symbol(q.kern, q.func),
        .gridDim = { q.gridDimX, q.gridDimY, q.gridDimZ },
        .blockDim = { q.blockDimX, q.blockDimY, q.blockDimZ },
        .sharedMemBytes = q.sharedMemBytes,
        .kernelParams = q.kernelParams,
        .extra = q.extra,
    };
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS q;
    cudaError_t r = graph_kernel(pNodeParams, &q);
    return r ? r : runtime_error(cuGraphKernelNodeSetParams_v2(node, &q));
}

cudaError_t CUDARTAPI cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                       const struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS q;
    cudaError_t r = graph_kernel(pNodeParams, &q);
    return r ? r : runtime_error(cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, &q));
}

/* ---- Attributes: the runtime's have the driver's numbers and layout ---- */

cudaError_t CUDARTAPI cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphKernelNodeCopyAttributes(hDst, hSrc));
}

cudaError_t CUDARTAPI cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
                                                      cudaKernelNodeAttrValue *value_out)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(
                   cuGraphKernelNodeGetAttribute(hNode, (CUkernelNodeAttrID)attr, (CUkernelNodeAttrValue *)value_out));
}

cudaError_t CUDARTAPI cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
                                                      const cudaKernelNodeAttrValue *value)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuGraphKernelNodeSetAttribute(hNode, (CUkernelNodeAttrID)attr,
                                                           (const CUkernelNodeAttrValue *)value));
}
