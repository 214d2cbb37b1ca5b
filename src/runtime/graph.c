/* Graphs: their nodes and edges, and objects that live as long as they do. */
#include "runtime/runtime.h"

cudaError_t CUDARTAPI cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphCreate(pGraph, flags));
}

cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphDestroy(graph));
}

cudaError_t CUDARTAPI cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphClone(pGraphClone, originalGraph));
}

cudaError_t CUDARTAPI cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
                                               cudaGraph_t clonedGraph)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphNodeFindInClone(pNode, originalNode, clonedGraph));
}

cudaError_t CUDARTAPI cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphNodeGetType(node, (CUgraphNodeType *)pType));
}

cudaError_t CUDARTAPI cudaGraphDestroyNode(cudaGraphNode_t node)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphDestroyNode(node));
}

cudaError_t CUDARTAPI cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphDebugDotPrint(graph, path, flags));
}

/* ---- Lists ---- */

cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphGetNodes(graph, nodes, numNodes));
}

cudaError_t CUDARTAPI cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphGetRootNodes(graph, pRootNodes, pNumRootNodes));
}

cudaError_t CUDARTAPI cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                        cudaGraphEdgeData *edgeData, size_t *numEdges)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphGetEdges_v2(graph, from, to, (CUgraphEdgeData *)edgeData, numEdges));
}

cudaError_t CUDARTAPI cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                                   cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(
                   cuGraphNodeGetDependencies_v2(node, pDependencies, (CUgraphEdgeData *)edgeData, pNumDependencies));
}

cudaError_t CUDARTAPI cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
                                                     cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(cuGraphNodeGetDependentNodes_v2(node, pDependentNodes, (CUgraphEdgeData *)edgeData,
                                                             pNumDependentNodes));
}

cudaError_t CUDARTAPI cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                               const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
                                               size_t numDependencies)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(
                   cuGraphAddDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edgeData, numDependencies));
}

cudaError_t CUDARTAPI cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                  const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
                                                  size_t numDependencies)
{
    cudaError_t r = runtime_ready();
    return r ? r
             : runtime_error(
                   cuGraphRemoveDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edgeData, numDependencies));
}

/* ---- User objects ---- */

cudaError_t CUDARTAPI cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
                                           unsigned int initialRefcount, unsigned int flags)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuUserObjectCreate(object_out, ptr, destroy, initialRefcount, flags));
}

cudaError_t CUDARTAPI cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuUserObjectRetain(object, count));
}

cudaError_t CUDARTAPI cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuUserObjectRelease(object, count));
}

cudaError_t CUDARTAPI cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                                unsigned int flags)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t CUDARTAPI cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuGraphReleaseUserObject(graph, object, count));
}
