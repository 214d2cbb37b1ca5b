/* Graph management: kernel nodes and their attributes. */
#include "api/graph_api.h"
#include "api/node_check.h"
#include "stream/operations.h"

#include <string.h>

static const CUgraphNodeParams *kernel_params(CUgraphNodeParams *q, const CUDA_KERNEL_NODE_PARAMS *p)
{
    if (!p) return NULL;
    *q = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL };
    memcpy(&q->kernel, p, sizeof q->kernel); /* the same members */
    return q;
}

static const CUgraphNodeParams *kernel_params_v1(CUgraphNodeParams *q, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    if (!p) return NULL;
    *q = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL };
    memcpy(&q->kernel, p, sizeof *p); /* the first members */
    return q;
}

CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                         size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, kernel_params(&p, nodeParams));
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                      size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_add(phGraphNode, hGraph, dependencies, numDependencies, kernel_params_v1(&p, nodeParams));
}

CUresult CUDAAPI cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &p);
    if (!r) memcpy(nodeParams, &p.kernel, sizeof *nodeParams);
    return r;
}

CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUgraphNodeParams p;
    CUresult r = graph_node_get(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &p);
    if (!r) memcpy(nodeParams, &p.kernel, sizeof *nodeParams);
    return r;
}

CUresult CUDAAPI cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_set(hNode, kernel_params(&p, nodeParams));
}

CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_set(hNode, kernel_params_v1(&p, nodeParams));
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                   const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_set_exec(hGraphExec, hNode, kernel_params(&p, nodeParams));
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUgraphNodeParams p;
    return graph_node_set_exec(hGraphExec, hNode, kernel_params_v1(&p, nodeParams));
}

static CUlaunchAttribute *attribute_of(struct node *n, CUlaunchAttributeID id)
{
    for (unsigned k = 0; k < n->attributes; k++)
        if (n->attribute[k].id == id) return &n->attribute[k];
    return NULL;
}

static bool is_kernel_attribute(CUlaunchAttributeID id)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return true;
    default: return false;
    }
}

static bool is_in_range(CUlaunchAttributeID id, const CUlaunchAttributeValue *v)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return stream_attribute_valid(&devices[0], id, v); /* all are alike */
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return v->sharedMemCarveout <= 100;
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return v->nvlinkUtilCentricScheduling <= 1;
    default: return true;
    }
}

static CUresult kernel_node(CUgraphNode handle, struct node **n)
{
    CUresult r = node_get(handle, n);
    return r || (*n)->params.type == CU_GRAPH_NODE_TYPE_KERNEL ? r : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               const CUkernelNodeAttrValue *value)
{
    struct node *n;
    CUresult r = graph_ready();
    if (r) return r;
    const bool hint = attr == CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING; /* that is not told again */
    if (!value || (!hint && !is_kernel_attribute(attr))) return CUDA_ERROR_INVALID_VALUE;
    if (!is_in_range(attr, value)) return CUDA_ERROR_INVALID_VALUE;
    if (attr == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE && value->deviceUpdatableKernelNode.deviceUpdatable)
        return CUDA_ERROR_NOT_SUPPORTED;
    const bool kept = !hint && attr != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE; /* no node is */
    pthread_mutex_lock(&graphs_lock);
    r = kernel_node(hNode, &n);
    if (!r && attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) r = launch_check_cluster(&n->params.kernel, value);
    if (!r && kept) {
        CUlaunchAttribute *a = attribute_of(n, attr);
        if (!a && n->attributes < NODE_ATTRIBUTES) a = &n->attribute[n->attributes++];
        if (a)
            *a = (CUlaunchAttribute){ .id = attr, .value = *value };
        else
            r = CUDA_ERROR_OUT_OF_MEMORY;
        if (a && attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) a->value.priority = stream_clamp_priority(value->priority);
    }
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               CUkernelNodeAttrValue *value_out)
{
    struct node *n;
    CUresult r = graph_ready();
    if (r) return r;
    if (!value_out || !is_kernel_attribute(attr)) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&graphs_lock);
    if (!(r = kernel_node(hNode, &n))) {
        const CUlaunchAttribute *a = attribute_of(n, attr);
        *value_out = a ? a->value : (CUkernelNodeAttrValue){ 0 };
        if (!a && attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value_out->memSyncDomainMap.remote = 1;
    }
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult CUDAAPI cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    struct node *to, *from;
    CUresult r = graph_ready();
    if (r) return r;
    pthread_mutex_lock(&graphs_lock);
    if (!(r = kernel_node(dst, &to)) && !(r = kernel_node(src, &from))) {
        memcpy(to->attribute, from->attribute, sizeof to->attribute);
        to->attributes = from->attributes;
    }
    pthread_mutex_unlock(&graphs_lock);
    return r;
}
