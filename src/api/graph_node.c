/* Graph management: nodes of each kind, in graphs and in executable graphs. All
 * forms come down to CUgraphNodeParams. */
#include "api/copy.h"
#include "api/graph_node.h"
#include "graph/memory.h"
#include "module/module.h"

#include <string.h>

CUresult graph_ready(void)
{
    CUresult r = library_ready();
    return r ? r : sticky_get();
}

CUresult graph_node_missing(void)
{
    CUresult r = graph_ready();
    return r ? r : CUDA_ERROR_INVALID_VALUE;
}

/* ---- in general */

/* What src/graph cannot know: where memory is. */
static CUresult check(const CUgraphNodeParams *p)
{
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
    if (!out || (count && !before)) return CUDA_ERROR_INVALID_VALUE;
    if ((r = check(params))) return r;
    pthread_mutex_lock(&graphs_lock);
    if (!(r = graph_get(hGraph, &g)) && !(r = node_add(g, before, count, params, &n))) *out = (CUgraphNode)n;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult graph_node_get(CUgraphNode hNode, CUgraphNodeType type, CUgraphNodeParams *out)
{
    struct node *n;
    CUresult r = graph_ready();
    if (r) return r;
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
    for (size_t k = 0; dependencyData && k < numDependencies; k++)
        if (dependencyData[k].from_port || dependencyData[k].to_port || dependencyData[k].type)
            return CUDA_ERROR_NOT_SUPPORTED;
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
    return nodeParams ? graph_node_set(hNode, nodeParams) : graph_node_missing();
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    return nodeParams ? graph_node_set_exec(hGraphExec, hNode, nodeParams) : graph_node_missing();
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

/* ---- copies */

static CUgraphNodeParams copy_params(const CUDA_MEMCPY3D *p, CUcontext c)
{
    return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = { .copyCtx = c, .copyParams = *p } };
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                      size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    if (!copyParams) return graph_node_missing();
    CUgraphNodeParams p = copy_params(copyParams, ctx);
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    CUgraphNodeParams p;
    CUresult r = nodeParams ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &p) : graph_node_missing();
    if (!r) *nodeParams = p.memcpy.copyParams;
    return r;
}

CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    CUgraphNodeParams old;
    CUresult r = nodeParams ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &old) : graph_node_missing();
    if (r) return r;
    CUgraphNodeParams p = copy_params(nodeParams, old.memcpy.copyCtx);
    return graph_node_set(hNode, &p);
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    if (!copyParams) return graph_node_missing();
    CUgraphNodeParams p = copy_params(copyParams, ctx);
    return graph_node_set_exec(hGraphExec, hNode, &p);
}

/* ---- memsets */

static CUgraphNodeParams memset_params(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
{
    return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMSET,
                                .memset = { p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, c } };
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                      size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                      CUcontext ctx)
{
    if (!memsetParams) return graph_node_missing();
    CUgraphNodeParams p = memset_params(memsetParams, ctx);
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    CUresult r = nodeParams ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEMSET, &p) : graph_node_missing();
    if (!r)
        *nodeParams = (CUDA_MEMSET_NODE_PARAMS){ p.memset.dst,         p.memset.pitch, p.memset.value,
                                                 p.memset.elementSize, p.memset.width, p.memset.height };
    return r;
}

CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams old;
    CUresult r = nodeParams ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEMSET, &old) : graph_node_missing();
    if (r) return r;
    CUgraphNodeParams p = memset_params(nodeParams, old.memset.ctx);
    return graph_node_set(hNode, &p);
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    if (!memsetParams) return graph_node_missing();
    CUgraphNodeParams p = memset_params(memsetParams, ctx);
    return graph_node_set_exec(hGraphExec, hNode, &p);
}

/* ---- host functions */

static CUgraphNodeParams host_params(const CUDA_HOST_NODE_PARAMS *p)
{
    return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST, .host = { p->fn, p->userData } };
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                    size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (!nodeParams) return graph_node_missing();
    CUgraphNodeParams p = host_params(nodeParams);
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    CUresult r = nodeParams ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_HOST, &p) : graph_node_missing();
    if (!r) *nodeParams = (CUDA_HOST_NODE_PARAMS){ p.host.fn, p.host.userData };
    return r;
}

CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (!nodeParams) return graph_node_missing();
    CUgraphNodeParams p = host_params(nodeParams);
    return graph_node_set(hNode, &p);
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (!nodeParams) return graph_node_missing();
    CUgraphNodeParams p = host_params(nodeParams);
    return graph_node_set_exec(hGraphExec, hNode, &p);
}

/* ---- graphs in graphs, and nothing */

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                          size_t numDependencies, CUgraph childGraph)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { .graph = childGraph } };
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    CUgraphNodeParams p;
    CUresult r = phGraph ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_GRAPH, &p) : graph_node_missing();
    if (!r) *phGraph = p.graph.graph;
    return r;
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                     size_t numDependencies)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_EMPTY };
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

/* ---- events */

static CUgraphNodeParams record_params(CUevent e)
{
    return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { e } };
}

static CUgraphNodeParams wait_params(CUevent e)
{
    return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { e } };
}

CUresult CUDAAPI cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                           size_t numDependencies, CUevent event)
{
    CUgraphNodeParams p = record_params(event);
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult CUDAAPI cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    CUgraphNodeParams p;
    CUresult r = event_out ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &p) : graph_node_missing();
    if (!r) *event_out = p.eventRecord.event;
    return r;
}

CUresult CUDAAPI cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams p = record_params(event);
    return graph_node_set(hNode, &p);
}

CUresult CUDAAPI cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams p = record_params(event);
    return graph_node_set_exec(hGraphExec, hNode, &p);
}

CUresult CUDAAPI cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                         size_t numDependencies, CUevent event)
{
    CUgraphNodeParams p = wait_params(event);
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult CUDAAPI cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    CUgraphNodeParams p;
    CUresult r = event_out ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &p) : graph_node_missing();
    if (!r) *event_out = p.eventWait.event;
    return r;
}

CUresult CUDAAPI cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams p = wait_params(event);
    return graph_node_set(hNode, &p);
}

CUresult CUDAAPI cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams p = wait_params(event);
    return graph_node_set_exec(hGraphExec, hNode, &p);
}

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { .graph = childGraph } };
    return graph_node_set_exec(hGraphExec, hNode, &p);
}

/* ---- waiting for values and writing them */

static CUgraphNodeParams operation_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                                .memOp = { p->ctx, p->count, p->paramArray, p->flags } };
}

CUresult CUDAAPI cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                          size_t numDependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (!nodeParams) return graph_node_missing();
    CUgraphNodeParams p = operation_params(nodeParams);
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult CUDAAPI cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
    CUgraphNodeParams p;
    CUresult r = nodeParams_out ? graph_node_get(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &p) : graph_node_missing();
    if (!r)
        *nodeParams_out =
            (CUDA_BATCH_MEM_OP_NODE_PARAMS){ p.memOp.ctx, p.memOp.count, p.memOp.paramArray, p.memOp.flags };
    return r;
}

CUresult CUDAAPI cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (!nodeParams) return graph_node_missing();
    CUgraphNodeParams p = operation_params(nodeParams);
    return graph_node_set(hNode, &p);
}

CUresult CUDAAPI cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (!nodeParams) return graph_node_missing();
    CUgraphNodeParams p = operation_params(nodeParams);
    return graph_node_set_exec(hGraphExec, hNode, &p);
}
