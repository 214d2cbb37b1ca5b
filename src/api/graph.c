/* Graph management: graphs, their nodes and edges, whatever the nodes do. */
#include "api/graph_api.h"
#include "graph/capture.h"
#include "graph/user.h"

#include <stdlib.h>

CUresult graph_ready(void)
{
    CUresult r = library_ready();
    return r ? r : sticky_get();
}

CUresult graph_begin(void)
{
    CUresult r = graph_ready();
    if (!r) pthread_mutex_lock(&graphs_lock);
    return r;
}

CUresult graph_end(CUresult r)
{
    pthread_mutex_unlock(&graphs_lock);
    user_objects_bury();
    return r;
}

/* ---- graphs */

CUresult CUDAAPI cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    struct graph *g;
    CUresult r = library_ready(); /* made even after a kernel's fault (observed on H200) */
    if (r) return r;
    pthread_mutex_lock(&graphs_lock);
    if (!phGraph || flags) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_new(&g))) *phGraph = (CUgraph)g;
    return graph_end(r);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph)
{
    struct graph *g;
    CUresult r = graph_begin();
    if (r) return r;
    if ((r = graph_get(hGraph, &g)) || g->parent) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (capture_is_into(g)) return graph_end(CUDA_ERROR_ILLEGAL_STATE);
    graph_free(g);
    return graph_end(r);
}

CUresult CUDAAPI cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    struct graph *g, *copy;
    CUresult r = graph_begin();
    if (r) return r;
    if (!phGraphClone) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_get(originalGraph, &g)) && graph_is_single(g)) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r && !(r = graph_clone(g, false, &copy))) *phGraphClone = (CUgraph)copy;
    return graph_end(r);
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph)
{
    struct graph *g;
    struct node *n;
    CUresult r = graph_begin();
    if (r) return r;
    if (!phNode) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if ((r = node_get(hOriginalNode, &n)) || (r = graph_get(hClonedGraph, &g))) return graph_end(r);
    struct node *copy = graph_find_copy(g, n);
    if (!copy) return graph_end(CUDA_ERROR_INVALID_VALUE);
    *phNode = (CUgraphNode)copy;
    return graph_end(r);
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
    CUresult r = graph_begin();
    if (r) return r;
    if (!numNodes) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (nodes && !*numNodes) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_get(hGraph, &g))) give(nodes, numNodes, g->nodes.node, g->nodes.count);
    return graph_end(r);
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    struct graph *g;
    CUresult r = graph_begin();
    if (r) return r;
    if (!numRootNodes || (rootNodes && !*numRootNodes)) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if ((r = graph_get(hGraph, &g))) return graph_end(r);
    struct node **roots = malloc((g->nodes.count + 1ul) * sizeof *roots);
    if (!roots) return graph_end(CUDA_ERROR_OUT_OF_MEMORY);
    give(rootNodes, numRootNodes, roots, graph_roots(g, roots));
    free(roots);
    return graph_end(r);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    struct node *n;
    CUresult r = graph_begin();
    if (r) return r;
    if (!type) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = node_get(hNode, &n))) *type = n->params.type;
    return graph_end(r);
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode hNode)
{
    struct node *n;
    CUresult r = graph_begin();
    if (r) return r;
    r = node_get(hNode, &n);
    if (!r && graph_has_memory(n->graph)) r = CUDA_ERROR_NOT_SUPPORTED;
    if (!r && capture_is_into(n->graph)) r = CUDA_ERROR_ILLEGAL_STATE;
    if (!r) node_remove(n);
    return graph_end(r);
}

/* ---- edges */

static bool is_plain(CUgraphEdgeData e) { return !e.from_port && !e.to_port && !e.type; }

/* Whether more is known of one of these edges than who does not ask for it would notice. */
static bool all_plain(const struct node_list *l)
{
    for (unsigned k = 0; k < l->count; k++)
        if (!is_plain(l->edge[k])) return false;
    return true;
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData,
                                    size_t *numEdges)
{
    struct graph *g;
    size_t n = 0;
    CUresult r = graph_begin();
    if (r) return r;
    if (!numEdges || !from != !to || (from ? !*numEdges : edgeData != NULL)) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if ((r = graph_get(hGraph, &g))) return graph_end(r);
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node_list *after = &g->nodes.node[k]->after;
        for (unsigned j = 0; j < after->count; j++, n++) {
            if (!from || n >= *numEdges) continue;
            if (!edgeData && !is_plain(after->edge[j])) return graph_end(CUDA_ERROR_LOSSY_QUERY);
            from[n] = (CUgraphNode)g->nodes.node[k];
            to[n] = (CUgraphNode)after->node[j];
            if (edgeData) edgeData[n] = after->edge[j];
        }
    }
    for (size_t k = n; from && k < *numEdges; k++) {
        from[k] = to[k] = NULL;
        if (edgeData) edgeData[k] = (CUgraphEdgeData){ 0 };
    }
    if (!from || *numEdges > n) *numEdges = n;
    return graph_end(r);
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
    return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

static CUresult neighbours(CUgraphNode hNode, bool before, CUgraphNode *out, CUgraphEdgeData *data, size_t *count)
{
    struct node *n;
    CUresult r = graph_begin();
    if (r) return r;
    if (!count || (out ? !*count : data != NULL)) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if ((r = node_get(hNode, &n))) return graph_end(r);
    const struct node_list *l = before ? &n->before : &n->after;
    if (out && !data && !all_plain(l)) return graph_end(CUDA_ERROR_LOSSY_QUERY);
    give(out, count, l->node, l->count);
    for (size_t k = 0; out && data && k < *count; k++) data[k] = l->edge[k];
    return graph_end(r);
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

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                           const CUgraphEdgeData *edgeData, size_t numDependencies)
{
    struct graph *g;
    CUresult r = graph_begin();
    if (r) return r;
    if (numDependencies && (!from || !to)) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_get(hGraph, &g))) r = edges_add(g, from, to, edgeData, numDependencies);
    return graph_end(r);
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                        size_t numDependencies)
{
    return cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

/* What is said of the edges does not matter: between two nodes there is one. Observed on H200. */
CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                              const CUgraphEdgeData *edgeData, size_t numDependencies)
{
    struct graph *g;
    CUresult r = graph_begin();
    (void)edgeData;
    if (r) return r;
    if (numDependencies && (!from || !to)) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_get(hGraph, &g)))
        r = graph_has_memory(g) ? CUDA_ERROR_NOT_SUPPORTED : edges_remove(g, from, to, numDependencies);
    return graph_end(r);
}

CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                           size_t numDependencies)
{
    return cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}
