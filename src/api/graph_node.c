/* Graph management: nodes of any kind, in graphs and in executable graphs. What
 * is of one kind comes down to this; see graph_api.h. */
#include "api/graph_api.h"
#include "api/node_check.h"

CUresult graph_node_missing(void)
{
    CUresult r = graph_ready();
    return r ? r : CUDA_ERROR_INVALID_VALUE;
}

/* ---- in general */

/* What src/graph cannot know: where memory is. */
static CUresult check(const CUgraphNodeParams *p)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL) return launch_check(&p->kernel);
    if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY) return copy_check(&p->memcpy.copyParams);
    if (p->type != CU_GRAPH_NODE_TYPE_MEMSET || !p->memset.height || !p->memset.width) return CUDA_SUCCESS;
    return memset_check(&p->memset);
}

CUresult graph_node_add(CUgraphNode *out, CUgraph hGraph, const CUgraphNode *before, size_t count,
                        const CUgraphNodeParams *params)
{
    struct graph *g;
    struct node *n;
    CUresult r = graph_ready();
    if (r) return r;
    if (!params || !out || (count && !before)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = check(params))) return r;
    pthread_mutex_lock(&graphs_lock);
    if (!(r = graph_get(hGraph, &g)) && !(r = node_add(g, before, count, params, &n))) *out = (CUgraphNode)n;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult graph_node_get(CUgraphNode hNode, CUgraphNodeType type, const void *wanted, CUgraphNodeParams *out)
{
    struct node *n;
    CUresult r = graph_ready();
    if (r) return r;
    if (!wanted) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&graphs_lock);
    r = node_get(hNode, &n);
    if (!r && n->params.type != type) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *out = n->params;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult graph_node_set(CUgraphNode hNode, const CUgraphNodeParams *params)
{
    struct node *n;
    CUresult r = graph_ready();
    if (r || (r = check(params))) return r;
    pthread_mutex_lock(&graphs_lock);
    r = node_get(hNode, &n);
    if (!r) r = n->params.type == params->type ? node_set_params(n, params) : CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

/* The node of an executable graph that stands for hNode; launches wait meanwhile. *x stays NULL
 * if there is nothing to end. */
static CUresult begin_exec(CUgraphExec hExec, CUgraphNode hNode, struct executable **x, struct node **copy)
{
    struct node *n;
    CUresult r = graph_ready();
    if (r || (r = executable_get(hExec, x))) return r;
    executable_lock(*x);
    r = atomic_load(&(*x)->valid) ? node_get(hNode, &n) : graph_node_missing();
    if (!r && !(*copy = graph_find_copy((*x)->graph, n->id))) r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

static CUresult end_exec(struct executable *x, CUresult r)
{
    executable_unlock(x);
    return r;
}

/* The same operation with other operands: neither type nor context nor the kind of memory changes. */
static CUresult fits(const struct node *n, const CUgraphNodeParams *p)
{
    const CUDA_MEMCPY3D *old = &n->params.memcpy.copyParams, *new = &p->memcpy.copyParams;
    if (n->params.type != p->type) return CUDA_ERROR_INVALID_VALUE;
    if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY && (!old->srcArray != !new->srcArray || !old->dstArray != !new->dstArray))
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMSET_NODE_PARAMS_v2 *was = &n->params.memset, *is = &p->memset;
    if (p->type == CU_GRAPH_NODE_TYPE_MEMSET &&
        (is->height > 1 || was->height > 1 || is->elementSize != was->elementSize))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult graph_node_set_exec(CUgraphExec hExec, CUgraphNode hNode, const CUgraphNodeParams *params)
{
    struct executable *x = NULL;
    struct node *n;
    CUresult r = graph_ready();
    if (r || (r = check(params))) return r;
    r = begin_exec(hExec, hNode, &x, &n);
    if (!x) return r;
    if (!r && !(r = fits(n, params))) r = node_set_params(n, params);
    return end_exec(x, r);
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                   const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                   CUgraphNodeParams *nodeParams)
{
    if (!nodeParams) return graph_node_missing();
    if (nodeParams->reserved0[0] || nodeParams->reserved0[1] || nodeParams->reserved0[2] || nodeParams->reserved2)
        return CUDA_ERROR_INVALID_VALUE;
    /* kernels alone have other ports */
    for (size_t k = 0; dependencyData && k < numDependencies; k++)
        if (dependencyData[k].from_port || dependencyData[k].to_port || dependencyData[k].type)
            return nodeParams->type == CU_GRAPH_NODE_TYPE_KERNEL ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    CUresult r = graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
    if (!r && nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        nodeParams->conditional.phGraph_out = ((struct node *)*phGraphNode)->params.conditional.phGraph_out;
    if (!r && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        nodeParams->alloc.dptr = ((struct node *)*phGraphNode)->params.alloc.dptr;
    return r;
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    return graph_node_set(hNode, nodeParams);
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    return graph_node_set_exec(hGraphExec, hNode, nodeParams);
}

/* Kernels, copies and memsets are what can be switched off. */
static bool can_rest(const struct node *n)
{
    return n->params.type == CU_GRAPH_NODE_TYPE_KERNEL || n->params.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           n->params.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
    struct executable *x = NULL;
    struct node *n;
    CUresult r = begin_exec(hGraphExec, hNode, &x, &n);
    if (!x) return r;
    if (!r && !(r = can_rest(n) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)) n->disabled = !isEnabled;
    return end_exec(x, r);
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
    struct executable *x = NULL;
    struct node *n;
    if (!isEnabled) return graph_node_missing();
    CUresult r = begin_exec(hGraphExec, hNode, &x, &n);
    if (!x) return r;
    if (!r) *isEnabled = !n->disabled;
    return end_exec(x, r);
}
