/* Graphs: nodes that copy, between arrays and addresses, and into and out of
 * variables. The driver has one kind of them. */
#include "runtime/copy.h"

/* Rows of a slice that has fewer are none, unlike in cudaMemcpy3D. */
static cudaError_t box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
    cudaError_t r = runtime_box(p, c);
    if (r) return r;
    if (!p->srcArray && p->srcPtr.ysize && p->srcPtr.ysize < p->extent.height) return cudaErrorInvalidValue;
    if (!p->dstArray && p->dstPtr.ysize && p->dstPtr.ysize < p->extent.height) return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* count bytes as a box of the driver's. */
static cudaError_t line(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *c)
{
    const struct cudaMemcpy3DParms p = {
        .dstPtr = { .ptr = dst }, .srcPtr = { .ptr = (void *)src }, .extent = { count, 1, 1 }, .kind = kind
    };
    cudaError_t r = runtime_box(&p, c);
    return r || count ? r : cudaErrorInvalidValue;
}

static cudaError_t symbol_kind(enum cudaMemcpyKind kind, enum cudaMemcpyKind with_host)
{
    bool good = kind == with_host || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
    return good ? cudaSuccess : cudaErrorInvalidMemcpyDirection;
}

static cudaError_t into_symbol(const void *symbol, const void *src, size_t count, size_t offset,
                               enum cudaMemcpyKind kind, CUDA_MEMCPY3D *c)
{
    void *at;
    cudaError_t r = symbol_kind(kind, cudaMemcpyHostToDevice);
    if (!r) r = runtime_part(symbol, offset, count, &at);
    return r ? r : line(at, src, count, kind, c);
}

static cudaError_t out_of_symbol(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                                 CUDA_MEMCPY3D *c)
{
    void *at;
    cudaError_t r = symbol_kind(kind, cudaMemcpyDeviceToHost);
    if (!r) r = runtime_part(symbol, offset, count, &at);
    return r ? r : line(dst, at, count, kind, c);
}

/* ---- Into a graph, for the current context; r: what preparing c came to ---- */

static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before, size_t count,
                       const CUDA_MEMCPY3D *c, cudaError_t r)
{
    CUcontext context;
    if (!r) r = runtime_error(cuCtxGetCurrent(&context));
    return r ? r : runtime_error(cuGraphAddMemcpyNode(node, graph, before, count, c, context));
}

cudaError_t CUDARTAPI cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                             const struct cudaMemcpy3DParms *pCopyParams)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = runtime_ready();
    if (!r) r = box(pCopyParams, &c);
    return add(pGraphNode, graph, pDependencies, numDependencies, &c, r);
}

cudaError_t CUDARTAPI cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                               const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst,
                                               const void *src, size_t count, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = runtime_ready();
    if (!r) r = line(dst, src, count, kind, &c);
    return add(pGraphNode, graph, pDependencies, numDependencies, &c, r);
}

cudaError_t CUDARTAPI cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                                     const void *symbol, const void *src, size_t count, size_t offset,
                                                     enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = into_symbol(symbol, src, count, offset, kind, &c);
    return add(pGraphNode, graph, pDependencies, numDependencies, &c, r);
}

cudaError_t CUDARTAPI cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                       const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                                       void *dst, const void *symbol, size_t count, size_t offset,
                                                       enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = out_of_symbol(dst, symbol, count, offset, kind, &c);
    return add(pGraphNode, graph, pDependencies, numDependencies, &c, r);
}

/* ---- In a graph ---- */

cudaError_t CUDARTAPI cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = runtime_ready();
    if (r) return r;
    if (!pNodeParams) return cudaErrorInvalidValue;
    r = runtime_error(cuGraphMemcpyNodeGetParams(node, &c));
    return r ? r : runtime_box_params(&c, pNodeParams);
}

static cudaError_t set(cudaGraphNode_t node, const CUDA_MEMCPY3D *c, cudaError_t r)
{
    return r ? r : runtime_error(cuGraphMemcpyNodeSetParams(node, c));
}

cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = runtime_ready();
    return set(node, &c, r ? r : box(pNodeParams, &c));
}

cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t count,
                                                     enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = runtime_ready();
    return set(node, &c, r ? r : line(dst, src, count, kind, &c));
}

cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *src,
                                                           size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    return set(node, &c, into_symbol(symbol, src, count, offset, kind, &c));
}

cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const void *symbol,
                                                             size_t count, size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    return set(node, &c, out_of_symbol(dst, symbol, count, offset, kind, &c));
}

/* ---- In an executable graph, for the current context ---- */

static cudaError_t set_exec(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D *c, cudaError_t r)
{
    CUcontext context;
    if (!r) r = runtime_error(cuCtxGetCurrent(&context));
    return r ? r : runtime_error(cuGraphExecMemcpyNodeSetParams(exec, node, c, context));
}

cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                       const struct cudaMemcpy3DParms *pNodeParams)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = runtime_ready();
    return set_exec(hGraphExec, node, &c, r ? r : box(pNodeParams, &c));
}

cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst,
                                                         const void *src, size_t count, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    cudaError_t r = runtime_ready();
    return set_exec(hGraphExec, node, &c, r ? r : line(dst, src, count, kind, &c));
}

cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                               const void *symbol, const void *src, size_t count,
                                                               size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    return set_exec(hGraphExec, node, &c, into_symbol(symbol, src, count, offset, kind, &c));
}

cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                                 void *dst, const void *symbol, size_t count,
                                                                 size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D c;
    return set_exec(hGraphExec, node, &c, out_of_symbol(dst, symbol, count, offset, kind, &c));
}
