/* Graphs and their nodes: handles, edges, copies, order. */
#include "graph/capture.h"
#include "graph/conditional.h"
#include "graph/memory.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t graphs_lock = PTHREAD_MUTEX_INITIALIZER;

static void construct(void *object) { (void)object; }

static struct objects graphs = OBJECTS_INIT(struct graph, construct), nodes = OBJECTS_INIT(struct node, construct);
static uint64_t newest;

CUresult graph_get(CUgraph handle, struct graph **out)
{
    struct graph *g = (struct graph *)handle;
    if (!objects_hold(&graphs, g) || !atomic_load(&g->valid)) return CUDA_ERROR_INVALID_VALUE;
    *out = g;
    return CUDA_SUCCESS;
}

CUresult node_get(CUgraphNode handle, struct node **out)
{
    struct node *n = (struct node *)handle;
    if (!objects_hold(&nodes, n) || !atomic_load(&n->valid)) return CUDA_ERROR_INVALID_VALUE;
    *out = n;
    return CUDA_SUCCESS;
}

/* ---- nodes and edges */

static CUresult connect(struct node *from, struct node *to, const CUgraphEdgeData *data)
{
    const CUgraphEdgeData edge = data ? *data : (CUgraphEdgeData){ 0 };
    CUresult r = list_add_edge(&from->after, to, edge);
    if (!r && (r = list_add_edge(&to->before, from, edge))) from->after.count--;
    return r;
}

static void disconnect(struct node *from, struct node *to)
{
    list_remove_edge(&from->after, to);
    list_remove_edge(&to->before, from);
    if (!from->after.count) from->sunk = ++newest;
    if (!to->before.count) to->rooted = ++newest;
}

static struct node *node_new(struct graph *g)
{
    struct node *n = object_take(&nodes);
    if (!n) return NULL;
    *n = (struct node){ .graph = g, .id = ++newest, .number = g->numbers };
    n->rooted = n->sunk = n->id;
    if (list_add(&g->nodes, n)) {
        object_give(&nodes, n);
        return NULL;
    }
    g->numbers++;
    atomic_store(&n->valid, true);
    return n;
}

/* Nobody has an edge to it, or all who have go with it. */
static void node_free(struct node *n)
{
    atomic_store(&n->valid, false);
    list_free(&n->before);
    list_free(&n->after);
    if (n->child) graph_free(n->child);
    conditional_free(n);
    graph_memory_drop(n->memory);
    params_free(n->owned);
    object_give(&nodes, n);
}

void node_remove(struct node *n)
{
    while (n->before.count) disconnect(n->before.node[0], n);
    while (n->after.count) disconnect(n, n->after.node[0]);
    n->graph->counted -= n->counted;
    if (n->graph->marked_for == n) n->graph->marked_for = NULL;
    list_remove_node(&n->graph->nodes, n);
    node_free(n);
}

CUresult node_set_params(struct node *n, const CUgraphNodeParams *params)
{
    CUgraphNodeParams copy;
    struct owned *owned;
    struct graph *child = NULL, *given;
    CUresult r = params_copy(params, &copy, &owned);
    if (r) return r;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        if (!(r = graph_get(params->graph.graph, &given)))
            r = graph_is_single(given) ? CUDA_ERROR_NOT_SUPPORTED : graph_clone(given, false, &child);
        if (r) {
            params_free(owned);
            return r;
        }
        child->parent = n;
        copy.graph.graph = (CUgraph)child;
    }
    if (n->child) graph_free(n->child);
    n->child = child;
    n->owned = params_settle(&copy, owned, n->owned);
    n->params = copy;
    return r;
}

/* The node takes the graph itself: such a child may have what can be there only once. */
static CUresult move_child(struct node *n, const CUgraphNodeParams *params)
{
    struct graph *given;
    CUresult r = graph_get(params->graph.graph, &given);
    if (r || capture_is_into(given)) return CUDA_ERROR_INVALID_VALUE;
    for (const struct graph *g = n->graph; g; g = g->parent ? g->parent->graph : NULL)
        if (g == given) return CUDA_ERROR_INVALID_VALUE;
    n->params = *params;
    n->child = given;
    given->parent = n;
    return CUDA_SUCCESS;
}

static CUresult copy_child(struct node *n, const struct node *from, bool exact)
{
    CUresult r = graph_clone(from->child, exact, &n->child);
    if (r) return r;
    n->params = from->params;
    n->params.graph.graph = (CUgraph)n->child;
    n->child->parent = n;
    return r;
}

/* What only new nodes have: memory, given or to be freed. */
static CUresult add_memory(struct node *n, const CUgraphNodeParams *params)
{
    CUresult r = CUDA_SUCCESS;
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        r = graph_memory_free(n, params->free.dptr);
    else
        r = graph_memory_new(n, &params->alloc, &n->memory);
    if (r) return r;
    n->params = *params;
    if (n->memory) {
        n->params.alloc.dptr = n->memory->kept.address;
        n->params.alloc.accessDescs = n->memory->accesses ? n->memory->access : NULL;
        n->params.alloc.accessDescCount = n->memory->accesses;
    }
    return r;
}

static bool about_memory(const CUgraphNodeParams *p)
{
    return p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || p->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

/* Of a node that is complete. */
static void count_memory(struct node *n)
{
    n->counted = about_memory(&n->params) || n->child;
    n->graph->counted += n->counted;
}

/* A graph that is inside another one already, which is told before anything else (observed on an H200). */
static bool is_inside(const CUgraphNodeParams *p)
{
    struct graph *given;
    return p->type == CU_GRAPH_NODE_TYPE_GRAPH && !graph_get(p->graph.graph, &given) && given->parent;
}

static bool is_copied_child(const struct graph *g)
{
    return g->parent && g->parent->params.type == CU_GRAPH_NODE_TYPE_GRAPH &&
           g->parent->params.graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
}

CUresult node_add(struct graph *g, const CUgraphNode *before, const CUgraphEdgeData *data, size_t count,
                  const CUgraphNodeParams *params, struct node **out)
{
    struct node *other;
    CUresult r = CUDA_SUCCESS;
    if (is_inside(params) || (about_memory(params) && is_copied_child(g))) return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t k = 0; k < count; k++)
        if (!before || node_get(before[k], &other) || other->graph != g) return CUDA_ERROR_INVALID_VALUE;
    struct node *n = node_new(g);
    if (!n) return CUDA_ERROR_OUT_OF_MEMORY;
    const bool move =
        params->type == CU_GRAPH_NODE_TYPE_GRAPH && params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    for (size_t k = 0; k < count && !r; k++) {
        other = (struct node *)before[k];
        r = list_has(&n->before, other) ? CUDA_ERROR_INVALID_VALUE : connect(other, n, data ? &data[k] : NULL);
    }
    n->born_behind = n->before.count;
    if (!r && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        r = conditional_make(n, &params->conditional);
    else if (!r && move)
        r = move_child(n, params);
    else if (!r)
        r = about_memory(params) ? add_memory(n, params) : node_set_params(n, params);
    if (r) {
        node_remove(n);
        return r;
    }
    count_memory(n);
    *out = n;
    return r;
}

/* Kernels have ports, and only between kernels is there more than order. Observed on H200. */
bool edge_is_permitted(const struct node *from, CUgraphNodeType to, const CUgraphEdgeData *e)
{
    static const CUgraphEdgeData none;
    const bool kernel = from->params.type == CU_GRAPH_NODE_TYPE_KERNEL;
    if (!e) return true;
    if (e->to_port || memcmp(e->reserved, none.reserved, sizeof none.reserved)) return false;
    switch (e->type) {
    case CU_GRAPH_DEPENDENCY_TYPE_DEFAULT:
        return e->from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT ||
               (kernel && e->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
    case CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC:
        return kernel && to == CU_GRAPH_NODE_TYPE_KERNEL &&
               (e->from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
                e->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
    default: return false;
    }
}

static CUresult edge(const struct graph *g, CUgraphNode from, CUgraphNode to, struct node **a, struct node **b)
{
    bool good = !node_get(from, a) && !node_get(to, b) && (*a)->graph == g && (*b)->graph == g && *a != *b;
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult edges_add(struct graph *g, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
                   size_t count)
{
    struct node *a, *b;
    CUresult r = CUDA_SUCCESS;
    for (size_t k = 0; k < count; k++)
        if (edge(g, from[k], to[k], &a, &b) || !edge_is_permitted(a, b->params.type, data ? &data[k] : NULL))
            return CUDA_ERROR_INVALID_VALUE;
    /* those before one that is there already stay: observed on H200 */
    for (size_t k = 0; k < count && !r; k++) {
        a = (struct node *)from[k];
        b = (struct node *)to[k];
        r = list_has(&b->before, a) ? CUDA_ERROR_INVALID_VALUE : connect(a, b, data ? &data[k] : NULL);
    }
    return r;
}

CUresult edges_remove(struct graph *g, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    struct node *a, *b;
    for (size_t k = 0; k < count; k++)
        if (edge(g, from[k], to[k], &a, &b)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < count; k++) {
        a = (struct node *)from[k];
        b = (struct node *)to[k];
        if (!list_has(&b->before, a)) return CUDA_ERROR_INVALID_VALUE;
        disconnect(a, b);
    }
    return CUDA_SUCCESS;
}

static int by_rooted(const void *a, const void *b)
{
    const struct node *m = *(struct node *const *)a, *n = *(struct node *const *)b;
    return m->rooted < n->rooted ? 1 : -1;
}

size_t graph_roots(const struct graph *g, struct node **out)
{
    size_t n = 0;
    for (unsigned k = 0; k < g->nodes.count; k++)
        if (!g->nodes.node[k]->before.count) out[n++] = g->nodes.node[k];
    qsort(out, n, sizeof *out, by_rooted);
    return n;
}

static int by_sunk(const void *a, const void *b)
{
    const struct node *m = *(struct node *const *)a, *n = *(struct node *const *)b;
    return m->sunk < n->sunk ? 1 : -1;
}

size_t graph_sinks(const struct graph *g, struct node **out)
{
    size_t n = 0;
    for (unsigned k = 0; k < g->nodes.count; k++)
        if (!g->nodes.node[k]->after.count) out[n++] = g->nodes.node[k];
    qsort(out, n, sizeof *out, by_sunk);
    return n;
}

/* ---- graphs */

CUresult graph_new(struct graph **out)
{
    struct graph *g = object_take(&graphs);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    static uint64_t made;
    *g = (struct graph){ .number = ++made };
    atomic_store(&g->valid, true);
    *out = g;
    return CUDA_SUCCESS;
}

void graph_free(struct graph *g)
{
    atomic_store(&g->valid, false);
    capture_forget_graph(g);
    for (unsigned k = g->nodes.count; k--;) node_free(g->nodes.node[k]);
    list_free(&g->nodes);
    while (g->conditions) {
        struct condition *c = g->conditions;
        g->conditions = c->next;
        condition_drop(c);
    }
    graph_arenas_drop(g);
    user_references_drop(&g->objects);
    object_give(&graphs, g);
}

static CUresult copy_params(struct node *n, const struct node *from, bool exact)
{
    if (!exact) return node_set_params(n, &from->params);
    n->params = from->params;
    return params_duplicate(&n->params, from->owned, &n->owned);
}

static CUresult copy_node(const struct node *from, bool exact, struct graph *g)
{
    struct node *n = node_new(g);
    if (!n) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = CUDA_SUCCESS;
    if (about_memory(&from->params)) {
        n->params = from->params;
        n->memory = graph_memory_share(from->memory);
        n->frees_own = from->frees_own;
    } else {
        r = from->condition ? conditional_copy(n, from, exact)
            : from->child   ? copy_child(n, from, exact)
                            : copy_params(n, from, exact);
    }
    if (r) return r;
    n->origin = exact ? from->origin : from->id;
    n->number = from->number;
    n->sunk = from->sunk;
    n->disabled = from->disabled;
    memcpy(n->attribute, from->attribute, sizeof n->attribute);
    n->attributes = from->attributes;
    count_memory(n);
    return r;
}

bool graph_has_memory(const struct graph *g)
{
    for (unsigned k = 0; k < g->nodes.count && g->counted; k++)
        if (about_memory(&g->nodes.node[k]->params) ||
            (g->nodes.node[k]->child && graph_has_memory(g->nodes.node[k]->child)))
            return true;
    return false;
}

bool graph_is_single(const struct graph *g)
{
    if (g->parent && g->parent->condition) return true;
    for (unsigned k = 0; k < g->nodes.count; k++)
        if (about_memory(&g->nodes.node[k]->params) || g->nodes.node[k]->condition ||
            (g->nodes.node[k]->child && graph_is_single(g->nodes.node[k]->child)))
            return true;
    return g->conditions != NULL;
}

/* That has the number of one that was copied; numbers grow. Of a graph that launches run nothing is written. */
static struct node *numbered(const struct graph *copy, unsigned number)
{
    unsigned low = 0, high = copy->nodes.count;
    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;
        if (copy->nodes.node[middle]->number <= number)
            low = middle;
        else
            high = middle;
    }
    return copy->nodes.node[low];
}

/* What stands before it, in the same order: what comes behind a copy is in the order of the nodes (observed on an H200). */
static CUresult copy_edges(const struct node_list *from, const struct graph *copy, struct node *to)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < from->count && !r; k++) r = connect(numbered(copy, from->node[k]->number), to, &from->edge[k]);
    return r;
}

CUresult graph_clone(const struct graph *g, bool exact, struct graph **out)
{
    struct graph *copy;
    CUresult r = graph_new(&copy);
    if (r) return r;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) r = copy_node(g->nodes.node[k], exact, copy);
    for (unsigned k = 0; k < g->nodes.count && !r; k++)
        r = copy_edges(&g->nodes.node[k]->before, copy, copy->nodes.node[k]);
    if (!r) r = user_references_copy(g->objects, &copy->objects);
    copy->numbers = g->numbers;
    if (r)
        graph_free(copy);
    else
        *out = copy;
    return r;
}

static struct node *numbered_copy(const struct graph *g, const struct node *of)
{
    struct node *n = g && g->nodes.count ? numbered(g, of->number) : NULL;
    return n && n->origin == of->id ? n : NULL;
}

/* What stands in a copy of n where g stands in n. */
static const struct graph *counterpart(const struct node *copy, const struct node *n, const struct graph *g)
{
    if (n->child == g) return copy->child;
    for (unsigned k = 0; k < n->body_count && k < copy->body_count; k++)
        if (n->bodies[k] == g) return copy->bodies[k];
    return NULL;
}

/* On the way that leads to the original; NULL: it does not lead there. */
static struct node *find_by_number(const struct graph *g, const struct node *of)
{
    const struct node *parent = of->graph->parent, *copy;
    struct node *n = numbered_copy(g, of);
    if (n || !parent || !(copy = find_by_number(g, parent))) return n;
    return numbered_copy(counterpart(copy, parent, of->graph), of);
}

static struct node *find_anywhere(const struct graph *g, uint64_t origin)
{
    struct node *found = NULL;
    for (unsigned k = 0; k < g->nodes.count && !found; k++) {
        struct node *n = g->nodes.node[k];
        if (n->origin == origin) return n;
        if (!n->origin) continue; /* what it holds was copied with it, not with g */
        if (n->child) found = find_anywhere(n->child, origin);
        for (unsigned j = 0; j < n->body_count && !found; j++) found = find_anywhere(n->bodies[j], origin);
    }
    return found;
}

struct node *graph_find_copy(const struct graph *g, const struct node *of)
{
    struct node *n = find_by_number(g, of);
    return n ? n : find_anywhere(g, of->id);
}

CUresult graph_order(struct graph *g, struct node_list *out)
{
    CUresult r = CUDA_SUCCESS;
    *out = (struct node_list){ 0 };
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        struct node *n = g->nodes.node[k];
        if (!(n->missing = n->before.count)) r = list_add(out, n);
    }
    for (unsigned k = 0; k < out->count && !r; k++)
        for (unsigned j = 0; j < out->node[k]->after.count && !r; j++) {
            struct node *n = out->node[k]->after.node[j];
            if (!--n->missing) r = list_add(out, n);
        }
    if (!r && out->count != g->nodes.count) r = CUDA_ERROR_INVALID_VALUE;
    if (r) list_free(out);
    return r;
}
