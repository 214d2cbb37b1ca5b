/* Graph management: graphs, their edges, executable graphs. Nodes of each kind
 * are in graph_node.c. */
#include "api/graph_launch.h"
#include "graph/capture.h"
#include "graph/memory.h"
#include "graph/user.h"

#include <stdio.h>

/* Begins a call: graphs_lock is held if there is no error. */
static CUresult enter(void)
{
    CUresult r = library_ready();
    if (r || (r = sticky_get())) return r;
    pthread_mutex_lock(&graphs_lock);
    return r;
}

static CUresult leave(CUresult r)
{
    pthread_mutex_unlock(&graphs_lock);
    user_objects_bury();
    return r;
}

/* ---- graphs */

CUresult CUDAAPI cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    struct graph *g;
    CUresult r = enter();
    if (r) return r;
    if (!phGraph || flags) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_new(&g))) *phGraph = (CUgraph)g;
    return leave(r);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph)
{
    struct graph *g;
    CUresult r = enter();
    if (r) return r;
    if ((r = graph_get(hGraph, &g)) || g->parent) return leave(CUDA_ERROR_INVALID_VALUE);
    graph_free(g);
    return leave(r);
}

CUresult CUDAAPI cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    struct graph *g, *copy;
    CUresult r = enter();
    if (r) return r;
    if (!phGraphClone) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_get(originalGraph, &g)) && graph_is_single(g)) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r && !(r = graph_clone(g, &copy))) *phGraphClone = (CUgraph)copy;
    return leave(r);
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph)
{
    struct graph *g;
    struct node *n;
    CUresult r = enter();
    if (r) return r;
    if (!phNode) return leave(CUDA_ERROR_INVALID_VALUE);
    if ((r = node_get(hOriginalNode, &n)) || (r = graph_get(hClonedGraph, &g))) return leave(r);
    struct node *copy = graph_find_copy(g, n->id);
    if (!copy) return leave(CUDA_ERROR_INVALID_VALUE);
    *phNode = (CUgraphNode)copy;
    return leave(r);
}

/* Fills an array of the caller's, or tells how long it must be. What is left over is NULL. */
static void give(CUgraphNode *out, size_t *count, struct node *const *from, size_t n)
{
    for (size_t k = 0; out && k < *count; k++) out[k] = k < n ? (CUgraphNode)from[k] : NULL;
    if (!out || *count > n) *count = n;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    struct graph *g;
    CUresult r = enter();
    if (r) return r;
    if (!numNodes) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_get(hGraph, &g))) give(nodes, numNodes, g->nodes.node, g->nodes.count);
    return leave(r);
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    struct graph *g;
    size_t n = 0;
    CUresult r = enter();
    if (r) return r;
    if (!numRootNodes) return leave(CUDA_ERROR_INVALID_VALUE);
    if ((r = graph_get(hGraph, &g))) return leave(r);
    for (unsigned k = 0; k < g->nodes.count; k++) {
        if (g->nodes.node[k]->before.count) continue;
        if (rootNodes && n < *numRootNodes) rootNodes[n] = (CUgraphNode)g->nodes.node[k];
        n++;
    }
    for (size_t k = n; rootNodes && k < *numRootNodes; k++) rootNodes[k] = NULL;
    if (!rootNodes || *numRootNodes > n) *numRootNodes = n;
    return leave(r);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    struct node *n;
    CUresult r = enter();
    if (r) return r;
    if (!type) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = node_get(hNode, &n))) *type = n->params.type;
    return leave(r);
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode hNode)
{
    struct node *n;
    CUresult r = enter();
    if (r) return r;
    r = node_get(hNode, &n);
    if (!r && graph_is_single(n->graph)) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r) node_remove(n);
    return leave(r);
}

/* ---- edges: all of them plain */

static void plain(CUgraphEdgeData *data, size_t n)
{
    for (size_t k = 0; data && k < n; k++) data[k] = (CUgraphEdgeData){ 0 };
}

static bool all_plain(const CUgraphEdgeData *data, size_t n)
{
    for (size_t k = 0; data && k < n; k++)
        if (data[k].from_port || data[k].to_port || data[k].type) return false;
    return true;
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData,
                                    size_t *numEdges)
{
    struct graph *g;
    size_t n = 0;
    CUresult r = enter();
    if (r) return r;
    if (!numEdges || !from != !to) return leave(CUDA_ERROR_INVALID_VALUE);
    if ((r = graph_get(hGraph, &g))) return leave(r);
    for (unsigned k = 0; k < g->nodes.count; k++)
        for (unsigned j = 0; j < g->nodes.node[k]->after.count; j++, n++)
            if (from && n < *numEdges) {
                from[n] = (CUgraphNode)g->nodes.node[k];
                to[n] = (CUgraphNode)g->nodes.node[k]->after.node[j];
            }
    for (size_t k = n; from && k < *numEdges; k++) from[k] = to[k] = NULL;
    if (!from || *numEdges > n) *numEdges = n;
    if (from) plain(edgeData, *numEdges);
    return leave(r);
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
    return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

static CUresult neighbours(CUgraphNode hNode, bool before, CUgraphNode *out, CUgraphEdgeData *data, size_t *count)
{
    struct node *n;
    CUresult r = enter();
    if (r) return r;
    if (!count) return leave(CUDA_ERROR_INVALID_VALUE);
    if ((r = node_get(hNode, &n))) return leave(r);
    const struct node_list *l = before ? &n->before : &n->after;
    give(out, count, l->node, l->count);
    if (out) plain(data, *count);
    return leave(r);
}

CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData,
                                               size_t *numDependencies)
{
    return neighbours(hNode, true, dependencies, edgeData, numDependencies);
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies)
{
    return neighbours(hNode, true, dependencies, NULL, numDependencies);
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                                 CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
    return neighbours(hNode, false, dependentNodes, edgeData, numDependentNodes);
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes)
{
    return neighbours(hNode, false, dependentNodes, NULL, numDependentNodes);
}

typedef CUresult change(struct graph *g, const CUgraphNode *from, const CUgraphNode *to, size_t count);

static CUresult change_edges(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                             const CUgraphEdgeData *data, size_t count, change *how)
{
    struct graph *g;
    CUresult r = enter();
    if (r) return r;
    if (count && (!from || !to)) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!all_plain(data, count)) return leave(CUDA_ERROR_NOT_SUPPORTED);
    if (!(r = graph_get(hGraph, &g))) r = how(g, from, to, count);
    return leave(r);
}

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                           const CUgraphEdgeData *edgeData, size_t numDependencies)
{
    return change_edges(hGraph, from, to, edgeData, numDependencies, edges_add);
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                        size_t numDependencies)
{
    return change_edges(hGraph, from, to, NULL, numDependencies, edges_add);
}

CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                              const CUgraphEdgeData *edgeData, size_t numDependencies)
{
    return change_edges(hGraph, from, to, edgeData, numDependencies, edges_remove);
}

CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                           size_t numDependencies)
{
    return change_edges(hGraph, from, to, NULL, numDependencies, edges_remove);
}

/* ---- executable graphs */

static CUresult instantiate(CUgraphExec *out, CUgraph hGraph, uint64_t flags, CUgraphInstantiateResult *why,
                            CUgraphNode *culprit)
{
    struct graph *g;
    struct executable *x;
    const struct node *bad = NULL;
    const uint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                           CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    CUresult r = enter();
    if (r) return r;
    if (!out || flags & ~known) return leave(CUDA_ERROR_INVALID_VALUE);
    if ((r = graph_get(hGraph, &g))) return leave(r);
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) return leave(CUDA_ERROR_NOT_SUPPORTED);
    r = executable_new(g, flags, why, &bad, &x);
    *culprit = (CUgraphNode)bad;
    if (!r) *out = (CUgraphExec)x;
    return leave(r);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
    CUgraphInstantiateResult why;
    CUgraphNode culprit;
    return instantiate(phGraphExec, hGraph, flags, &why, &culprit);
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    CUgraphInstantiateResult why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    CUgraphNode culprit = NULL;
    if (!instantiateParams) return instantiate(NULL, hGraph, 0, &why, &culprit);
    CUresult r = instantiate(phGraphExec, hGraph, instantiateParams->flags, &why, &culprit);
    instantiateParams->hErrNode_out = culprit;
    instantiateParams->result_out = r && !why ? CUDA_GRAPH_INSTANTIATE_ERROR : why;
    return r;
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                                       char *logBuffer, size_t bufferSize)
{
    CUgraphInstantiateResult why;
    CUgraphNode culprit = NULL;
    CUresult r = instantiate(phGraphExec, hGraph, 0, &why, &culprit);
    if (phErrorNode) *phErrorNode = culprit;
    if (logBuffer && bufferSize) *logBuffer = 0;
    return r;
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    struct executable *x;
    CUresult r = enter();
    if (r) return r;
    if (!flags) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = executable_get(hGraphExec, &x))) *flags = x->flags;
    return leave(r);
}

static CUresult launch(CUgraphExec hGraphExec, CUstream hStream, bool upload)
{
    struct context *c;
    struct stream *s;
    struct executable *x;
    CUresult r = context_current(&c);
    if (r || (r = stream_get(c, hStream, false, &s)) || (r = executable_get(hGraphExec, &x))) return r;
    if (upload) return capture_refuse(s);
    CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { .graph = (CUgraph)x->graph } };
    return capture_node(s, &node, &r) ? r : graph_launch(x, s);
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) { return launch(hGraphExec, hStream, false); }

CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) { return launch(hGraphExec, hStream, true); }

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    struct executable *x;
    CUresult r = library_ready();
    if (r || (r = executable_get(hGraphExec, &x))) return r;
    pthread_mutex_lock(&x->launch);
    if (atomic_load(&x->valid)) {
        if (x->done && graph_done_lives(x)) cuEventDestroy_v2(x->done);
        pthread_mutex_lock(&graphs_lock);
        executable_free(x);
        pthread_mutex_unlock(&graphs_lock);
    } else {
        r = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&x->launch);
    user_objects_bury();
    return r;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
    struct executable *x;
    struct graph *g;
    CUresult r = library_ready();
    if (r || (r = executable_get(hGraphExec, &x)) || (r = graph_get(hGraph, &g))) return r;
    if (!resultInfo) return CUDA_ERROR_INVALID_VALUE;
    executable_lock(x);
    r = atomic_load(&x->valid) && atomic_load(&g->valid) ? executable_update(x, g, resultInfo) : CUDA_ERROR_INVALID_VALUE;
    executable_unlock(x);
    return r;
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                                   CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResultInfo info = { 0 };
    CUresult r = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
    if (hErrorNode_out) *hErrorNode_out = info.errorNode;
    if (updateResult_out) *updateResult_out = info.result;
    return r;
}

/* ---- a picture */

static const char *type_name(CUgraphNodeType t)
{
    static const char *const names[] = {
        "KERNEL",       "MEMCPY",           "MEMSET",         "HOST",      "GRAPH",    "EMPTY",        "EVENT_WAIT",
        "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE", "BATCH_MEM_OP", "CONDITIONAL"
    };
    return (unsigned)t < sizeof names / sizeof *names ? names[t] : "?";
}

CUresult CUDAAPI cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    struct graph *g;
    CUresult r = enter();
    (void)flags;
    if (r) return r;
    if (!path) return leave(CUDA_ERROR_INVALID_VALUE);
    if ((r = graph_get(hGraph, &g))) return leave(r);
    FILE *f = fopen(path, "we");
    if (!f) return leave(CUDA_ERROR_OPERATING_SYSTEM);
    fprintf(f, "digraph dot {\n");
    for (unsigned k = 0; k < g->nodes.count; k++) g->nodes.node[k]->missing = k;
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        fprintf(f, "  node%u [label=\"%u\\n%s\"];\n", k, k, type_name(n->params.type));
        for (unsigned j = 0; j < n->after.count; j++) fprintf(f, "  node%u -> node%u;\n", k, n->after.node[j]->missing);
    }
    fprintf(f, "}\n");
    if (fclose(f)) r = CUDA_ERROR_OPERATING_SYSTEM;
    return leave(r);
}

/* ---- user objects */

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount,
                                    unsigned int flags)
{
    struct user_object *o;
    CUresult r = enter();
    if (r) return r;
    if (!object_out || !destroy || !initialRefcount || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = user_object_new(ptr, destroy, initialRefcount, &o))) *object_out = (CUuserObject)o;
    return leave(r);
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    struct user_object *o;
    CUresult r = enter();
    if (r) return r;
    if (!count) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = user_object_get(object, &o))) o->references += count;
    return leave(r);
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    struct user_object *o;
    CUresult r = enter();
    if (r) return r;
    if (!count) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = user_object_get(object, &o))) r = user_object_release(o, count);
    return leave(r);
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
    struct graph *g;
    struct user_object *o;
    CUresult r = enter();
    if (r) return r;
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) return leave(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_get(graph, &g)) && !(r = user_object_get(object, &o))) r = graph_retain(g, o, count, flags);
    return leave(r);
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    struct graph *g;
    struct user_object *o;
    CUresult r = enter();
    if (r) return r;
    if (!(r = graph_get(graph, &g)) && !(r = user_object_get(object, &o))) r = graph_release(g, o, count);
    return leave(r);
}
