/* Graph management: nodes that copy, set memory, call host functions, record
 * and await events, wait for values and write them, and graphs in graphs. */
#include "api/graph_api.h"

/* ---- copies */

static const CUgraphNodeParams *copy_params(CUgraphNodeParams *q, const CUDA_MEMCPY3D *p, CUcontext c)
{
    if (!p) return NULL;
    *q = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = { .copyCtx = c, .copyParams = *p } };
    return q;
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                      size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    CUgraphNodeParams p;
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, copy_params(&p, copyParams, ctx));
}

CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    CUgraphNodeParams p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &p);
    if (!r) *nodeParams = p.memcpy.copyParams;
    return r;
}

CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    CUgraphNodeParams old, p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &old);
    if (r) return r;
    return graph_node_set(hNode, copy_params(&p, nodeParams, old.memcpy.copyCtx));
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    CUgraphNodeParams p;
    return graph_node_set_exec(hGraphExec, hNode, copy_params(&p, copyParams, ctx));
}

/* ---- memsets */

static const CUgraphNodeParams *memset_params(CUgraphNodeParams *q, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
{
    if (!p) return NULL;
    *q = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMSET,
                              .memset = { p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, c } };
    return q;
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                      size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                      CUcontext ctx)
{
    CUgraphNodeParams p;
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, memset_params(&p, memsetParams, ctx));
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &p);
    if (!r)
        *nodeParams = (CUDA_MEMSET_NODE_PARAMS){ p.memset.dst,         p.memset.pitch, p.memset.value,
                                                 p.memset.elementSize, p.memset.width, p.memset.height };
    return r;
}

CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams old, p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &old);
    if (r) return r;
    return graph_node_set(hNode, memset_params(&p, nodeParams, old.memset.ctx));
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    CUgraphNodeParams p;
    return graph_node_set_exec(hGraphExec, hNode, memset_params(&p, memsetParams, ctx));
}

/* ---- host functions */

static const CUgraphNodeParams *host_params(CUgraphNodeParams *q, const CUDA_HOST_NODE_PARAMS *p)
{
    if (!p) return NULL;
    *q = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST, .host = { p->fn, p->userData } };
    return q;
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                    size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, host_params(&p, nodeParams));
}

CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &p);
    if (!r) *nodeParams = (CUDA_HOST_NODE_PARAMS){ p.host.fn, p.host.userData };
    return r;
}

CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_set(hNode, host_params(&p, nodeParams));
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_set_exec(hGraphExec, hNode, host_params(&p, nodeParams));
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
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_GRAPH, phGraph, &p);
    if (!r) *phGraph = p.graph.graph;
    return r;
}

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { .graph = childGraph } };
    return graph_node_set_exec(hGraphExec, hNode, &p);
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
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out, &p);
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
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out, &p);
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

/* ---- waiting for values and writing them */

static const CUgraphNodeParams *operation_params(CUgraphNodeParams *q, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    if (!p) return NULL;
    *q = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                              .memOp = { p->ctx, p->count, p->paramArray, p->flags } };
    return q;
}

CUresult CUDAAPI cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                          size_t numDependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, operation_params(&p, nodeParams));
}

CUresult CUDAAPI cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
    CUgraphNodeParams p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out, &p);
    if (!r)
        *nodeParams_out =
            (CUDA_BATCH_MEM_OP_NODE_PARAMS){ p.memOp.ctx, p.memOp.count, p.memOp.paramArray, p.memOp.flags };
    return r;
}

CUresult CUDAAPI cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_set(hNode, operation_params(&p, nodeParams));
}

CUresult CUDAAPI cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_set_exec(hGraphExec, hNode, operation_params(&p, nodeParams));
}
