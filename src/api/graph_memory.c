/* Graph management: nodes that allocate and free memory, and what graphs hold. */
#include "api/graph_api.h"
#include "mempool/mempool.h"

#include <string.h>

CUresult CUDAAPI cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                        size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
    if (!nodeParams) return graph_node_missing();
    memcpy(&p.alloc, nodeParams, sizeof p.alloc); /* the same members */
    CUresult r = graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
    if (!r) nodeParams->dptr = ((struct node *)*phGraphNode)->params.alloc.dptr;
    return r;
}

CUresult CUDAAPI cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    CUgraphNodeParams p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out, &p);
    if (!r) memcpy(params_out, &p.alloc, sizeof *params_out);
    return r;
}

CUresult CUDAAPI cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                       size_t numDependencies, CUdeviceptr dptr)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = { dptr } };
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult CUDAAPI cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    CUgraphNodeParams p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out, &p);
    if (!r) *dptr_out = p.free.dptr;
    return r;
}

static CUresult memory_attribute(CUdevice device, CUgraphMem_attribute attr, void *value, bool set_it)
{
    struct device *d;
    CUresult r = device_get(device, &d);
    if (r || (r = sticky_get())) return r;
    return value ? mempool_kept_attribute(d, attr, value, set_it) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    return memory_attribute(device, attr, value, false);
}

CUresult CUDAAPI cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    return memory_attribute(device, attr, value, true);
}

CUresult CUDAAPI cuDeviceGraphMemTrim(CUdevice device)
{
    struct device *d;
    CUresult r = device_get(device, &d);
    if (r || (r = sticky_get())) return r;
    mempool_trim_kept(d);
    return r;
}
