/* Graph management: nodes of any kind, in graphs and in executable graphs. What
 * is of one kind comes down to this; see graph_api.h. */
#include "api/graph_api.h"
#include "api/node_check.h"
#include "graph/conditional.h"
#include "graph/memory.h"
#include "graph/user.h"
#include "space/space.h"

CUresult graph_node_missing(void)
{
    CUresult r = graph_ready();
    return r ? r : CUDA_ERROR_INVALID_VALUE;
}

/* ---- in general */

/* Whether the offsets lead out of the memory that the address is in. */
static bool leads_out(CUmemorytype type, CUdeviceptr address, size_t x, size_t y, size_t pitch)
{
    struct allocation a;
    if (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return false;
    if (!mempool_look_any(address, y * pitch + x + 1, &a)) return false;
    return a.kind == ALLOCATION_DEVICE && y * pitch + x >= a.size - (address - a.base);
}

/* A node copies something, unlike the call, and there are no levels of detail. */
static CUresult check_copy(const CUDA_MEMCPY_NODE_PARAMS *p)
{
    const CUDA_MEMCPY3D *c = &p->copyParams;
    if (p->flags || p->reserved || !c->WidthInBytes || !c->Height || !c->Depth ||
        (c->srcMemoryType == CU_MEMORYTYPE_ARRAY && c->srcLOD) ||
        (c->dstMemoryType == CU_MEMORYTYPE_ARRAY && c->dstLOD) ||
        leads_out(c->srcMemoryType, c->srcDevice, c->srcXInBytes, c->srcY, c->srcPitch) ||
        leads_out(c->dstMemoryType, c->dstDevice, c->dstXInBytes, c->dstY, c->dstPitch))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_check(c, p->copyCtx); /* observed on H200 */
}

/* What src/graph cannot know: where memory is. */
static CUresult check(const CUgraphNodeParams *p)
{
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL) return launch_check(&p->kernel);
    if (p->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) return operations_check(&p->memOp);
    if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY) return check_copy(&p->memcpy);
    if (p->type != CU_GRAPH_NODE_TYPE_MEMSET || !p->memset.height || !p->memset.width) return CUDA_SUCCESS;
    return memset_check(&p->memset);
}

/* Whether a node can be added there, whatever it does. */
static CUresult check_place(CUgraph hGraph, const CUgraphNode *before, const CUgraphEdgeData *data, size_t count,
                            CUgraphNodeType type)
{
    struct graph *g;
    struct node *n;
    pthread_mutex_lock(&graphs_lock);
    CUresult r = graph_get(hGraph, &g);
    for (size_t k = 0; k < count && !r; k++)
        if (node_get(before[k], &n) || n->graph != g || !edge_is_permitted(n, type, data ? &data[k] : NULL))
            r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

static CUresult add(CUgraphNode *out, CUgraph hGraph, const CUgraphNode *before, const CUgraphEdgeData *data, size_t count,
                    const CUgraphNodeParams *params)
{
    struct context *c;
    struct graph *g;
    struct node *n;
    CUresult r = graph_ready();
    if (r) return r;
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    /* before anything else: observed on H200 */
    if (params->type == CU_GRAPH_NODE_TYPE_KERNEL) r = check(params);
    if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        r = out ? conditional_check(&params->conditional, &c) : CUDA_ERROR_INVALID_VALUE;
    if (r) return r;
    if (!out || (count && !before)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = check_place(hGraph, before, data, count, params->type)) || (r = check(params))) return r;
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && (r = graph_memory_check(&params->alloc))) return r;
    pthread_mutex_lock(&graphs_lock);
    if (!(r = graph_get(hGraph, &g)) && !(r = node_add(g, before, data, count, params, &n))) *out = (CUgraphNode)n;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult graph_node_add(CUgraphNode *out, CUgraph hGraph, const CUgraphNode *before, size_t count,
                        const CUgraphNodeParams *params)
{
    return add(out, hGraph, before, NULL, count, params);
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

/* A node of this type; CUDA_ERROR_INVALID_VALUE. */
static CUresult check_type(CUgraphNode hNode, CUgraphNodeType type)
{
    struct node *n;
    pthread_mutex_lock(&graphs_lock);
    CUresult r = node_get(hNode, &n);
    if (!r && n->params.type != type) r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult graph_node_set(CUgraphNode hNode, const CUgraphNodeParams *params)
{
    struct node *n;
    CUresult r = graph_ready();
    if (r) return r;
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    if ((r = check_type(hNode, params->type)) || (r = check(params))) return r;
    pthread_mutex_lock(&graphs_lock);
    r = node_get(hNode, &n);
    if (!r) r = n->params.type == params->type ? node_set_params(n, params) : CUDA_ERROR_INVALID_VALUE;
    return graph_end(r);
}

/* The node of an executable graph that stands for hNode; launches wait meanwhile. *x stays NULL
 * if there is nothing to end. changes: it will be changed. */
static CUresult begin_exec(CUgraphExec hExec, CUgraphNode hNode, bool changes, struct executable **x, struct node **copy)
{
    struct node *n;
    CUresult r = graph_ready();
    if (r || (r = executable_get(hExec, x))) return r;
    executable_lock(*x);
    r = atomic_load(&(*x)->valid) ? node_get(hNode, &n) : graph_node_missing();
    if (!r && changes) r = executable_detach(*x);
    if (!r && !(*copy = graph_find_copy((*x)->edition->graph, n))) r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

static CUresult end_exec(struct executable *x, CUresult r)
{
    executable_unlock(x);
    user_objects_bury();
    return r;
}

CUresult graph_node_set_exec(CUgraphExec hExec, CUgraphNode hNode, const CUgraphNodeParams *params)
{
    struct executable *x = NULL;
    struct node *n;
    CUresult r = graph_ready();
    if (r) return r;
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    if ((r = executable_get(hExec, &x)) || (r = check_type(hNode, params->type))) return r;
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY: return r; /* in whichever graph: observed on H200 */
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return CUDA_ERROR_NOT_SUPPORTED;
    default: break;
    }
    x = NULL;
    r = begin_exec(hExec, hNode, true, &x, &n);
    if (!x) return r;
    if (!r && !(r = check(params))) r = executable_set_node(n, params);
    return end_exec(x, r);
}

static bool has_reserved(const CUgraphNodeParams *p)
{
    return p->reserved0[0] || p->reserved0[1] || p->reserved0[2] || p->reserved2;
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                   const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                   CUgraphNodeParams *nodeParams)
{
    if (!nodeParams) return graph_node_missing();
    if (has_reserved(nodeParams)) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
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
    if (nodeParams && has_reserved(nodeParams)) return graph_node_missing();
    return graph_node_set(hNode, nodeParams);
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    if (nodeParams && has_reserved(nodeParams)) return graph_node_missing();
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
    CUresult r = begin_exec(hGraphExec, hNode, true, &x, &n);
    if (!x) return r;
    if (!r && !(r = can_rest(n) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)) n->disabled = !isEnabled;
    return end_exec(x, r);
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
    struct executable *x = NULL;
    struct node *n;
    if (!isEnabled) return graph_node_missing();
    CUresult r = begin_exec(hGraphExec, hNode, false, &x, &n);
    if (!x) return r;
    if (!r && !can_rest(n)) r = CUDA_ERROR_INVALID_VALUE;
    if (!r) *isEnabled = !n->disabled;
    return end_exec(x, r);
}
