/* Executable graphs: a copy of a graph in an order that it can be launched in. */
#include "base/because.h"
#include "graph/conditional.h"
#include "graph/memory.h"

#include <stdlib.h>
#include <string.h>

static void construct(void *object)
{
    struct executable *x = object;
    pthread_mutex_init(&x->launch, NULL);
    pthread_rwlock_init(&x->bodies, NULL);
}

static struct objects executables = OBJECTS_INIT(struct executable, construct);

CUresult executable_get(CUgraphExec handle, struct executable **out)
{
    struct executable *x = (struct executable *)handle;
    if (!objects_hold(&executables, x) || !atomic_load(&x->valid)) return CUDA_ERROR_INVALID_VALUE;
    *out = x;
    return CUDA_SUCCESS;
}

/* Children must have an order too. */
static CUresult check_children(const struct graph *g)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        struct node_list order;
        const struct node *n = g->nodes.node[k];
        for (unsigned j = 0; j < n->body_count + (n->child != NULL) && !r; j++) {
            struct graph *below = n->child ? n->child : n->bodies[j];
            if ((r = graph_order(below, &order))) break;
            list_free(&order);
            r = check_children(below);
        }
    }
    return r;
}

static bool is_acyclic(struct graph *g)
{
    struct node_list order;
    if (graph_order(g, &order)) return false;
    list_free(&order);
    return true;
}

static bool has_executable(const struct graph *g)
{
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        if ((n->memory && n->memory->references > 1) || (n->condition && n->condition->references > 2) ||
            (n->child && has_executable(n->child)))
            return true;
    }
    return false;
}

static void settle_memory(const struct graph *g)
{
    for (unsigned k = 0; k < g->nodes.count; k++) {
        if (g->nodes.node[k]->memory) g->nodes.node[k]->memory->settled = true;
        if (g->nodes.node[k]->child) settle_memory(g->nodes.node[k]->child);
    }
}

/* A node that would never have its turn, or NULL. */
static const struct node *first_of_cycle(struct graph *g)
{
    if (is_acyclic(g)) return NULL;
    for (unsigned k = 0; k < g->nodes.count; k++)
        if (g->nodes.node[k]->missing) return g->nodes.node[k];
    return NULL;
}

CUresult executable_new(struct graph *g, uint64_t flags, CUgraphInstantiateResult *why, const struct node **culprit,
                        struct executable **out)
{
    struct graph *copy;
    if (g->parent || has_executable(g))
        return (CUresult)because(CUDA_ERROR_NOT_SUPPORTED,
                                 "a graph with memory or conditional nodes has one executable graph at a time, and a "
                                 "child graph none");
    if ((*culprit = first_of_cycle(g))) {
        *why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        return CUDA_ERROR_INVALID_VALUE;
    }
    if ((*why = conditionals_check(g, culprit))) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = graph_clone(g, &copy);
    if (r) return r;
    struct executable *x = object_take(&executables);
    if (!x)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    else if (!(r = check_children(copy)) && !(r = graph_order(copy, &x->order))) {
        settle_memory(g);
        x->graph = copy;
        x->flags = flags;
        x->pending = 0;
        x->orphan = false;
        x->done = NULL;
        x->context = NULL;
        atomic_store(&x->valid, true);
        *out = x;
        return r;
    }
    if (x) object_give(&executables, x);
    graph_free(copy);
    return r;
}

void executable_free(struct executable *x)
{
    atomic_store(&x->valid, false);
    if ((x->orphan = x->pending)) return;
    graph_free(x->graph);
    list_free(&x->order);
    object_give(&executables, x);
}

void executable_lock(struct executable *x)
{
    pthread_mutex_lock(&x->launch);
    pthread_rwlock_wrlock(&x->bodies);
    pthread_mutex_lock(&graphs_lock);
}

void executable_unlock(struct executable *x)
{
    pthread_mutex_unlock(&graphs_lock);
    pthread_rwlock_unlock(&x->bodies);
    pthread_mutex_unlock(&x->launch);
}

/* ---- updates */

/* One row. */
static bool is_linear(const CUDA_MEMCPY3D *c) { return c->Height <= 1 && c->Depth <= 1; }

static bool is_same_copy(const CUDA_MEMCPY3D *a, const CUDA_MEMCPY3D *b)
{
    if (a->srcMemoryType != b->srcMemoryType || a->dstMemoryType != b->dstMemoryType) return false;
    return (is_linear(a) && is_linear(b)) || !memcmp(a, b, sizeof *a);
}

static bool is_same_memset(const CUDA_MEMSET_NODE_PARAMS_v2 *a, const CUDA_MEMSET_NODE_PARAMS_v2 *b)
{
    if (a->height <= 1 && b->height <= 1) return true;
    return a->dst == b->dst && a->pitch == b->pitch && a->elementSize == b->elementSize && a->width == b->width &&
           a->height == b->height;
}

static bool are_same_operations(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *a, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *b)
{
    if (a->ctx != b->ctx || a->count != b->count) return false;
    for (unsigned k = 0; k < a->count; k++)
        if (a->paramArray[k].operation != b->paramArray[k].operation) return false;
    return true;
}

/* Whether the parameters are other operands of the same operation. Observed on H200. */
static CUgraphExecUpdateResult change(const CUgraphNodeParams *old, const CUgraphNodeParams *new)
{
    bool same = true;
    switch (new->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        if (old->kernel.ctx != new->kernel.ctx) return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: same = is_same_copy(&old->memcpy.copyParams, &new->memcpy.copyParams); break;
    case CU_GRAPH_NODE_TYPE_MEMSET: same = is_same_memset(&old->memset, &new->memset); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: same = are_same_operations(&old->memOp, &new->memOp); break;
    default: break;
    }
    return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

static int cooperative(const struct node *n)
{
    for (unsigned k = 0; k < n->attributes; k++)
        if (n->attribute[k].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) return n->attribute[k].value.cooperative;
    return 0;
}

/* What stands before both, by the places that `missing` tells. */
static bool is_same_place(const struct node *old, const struct node *new)
{
    if (old->before.count != new->before.count) return false;
    for (unsigned k = 0; k < new->before.count; k++)
        if (old->before.node[k]->missing != new->before.node[k]->missing ||
            memcmp(&old->before.edge[k], &new->before.edge[k], sizeof *new->before.edge))
            return false;
    return true;
}

static CUgraphExecUpdateResult compare(const struct node *old, const struct node *new)
{
    if (!is_same_place(old, new)) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (old->params.type != new->params.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (new->condition &&
        (old->params.conditional.type != new->params.conditional.type || old->body_count != new->body_count))
        return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    CUgraphExecUpdateResult u = change(&old->params, &new->params);
    return u || cooperative(old) == cooperative(new) ? u : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
}

/* Nodes correspond by the order of their creation. */
static CUgraphExecUpdateResult same_shape(const struct graph *old, const struct graph *new, struct node **culprit)
{
    CUgraphExecUpdateResult u = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    *culprit = NULL;
    if (old->nodes.count != new->nodes.count) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (unsigned k = 0; k < new->nodes.count; k++) old->nodes.node[k]->missing = new->nodes.node[k]->missing = k;
    for (unsigned k = 0; k < new->nodes.count && !u; k++) {
        struct node *a = old->nodes.node[k], *b = new->nodes.node[k];
        *culprit = b;
        if ((u = compare(a, b))) break;
        if (b->child) u = same_shape(a->child, b->child, culprit);
        for (unsigned j = 0; j < b->body_count && !u; j++) u = same_shape(a->bodies[j], b->bodies[j], culprit);
    }
    return u;
}

/* From now on the node allocates the other one's memory. */
static void take_memory(struct node *n, const struct node *from)
{
    if (n->memory == from->memory) return;
    graph_memory_drop(n->memory);
    n->memory = graph_memory_share(from->memory);
    n->memory->settled = true;
    n->params = from->params;
}

static void take_condition(struct node *n, const struct node *from)
{
    condition_drop(n->condition);
    n->condition = condition_share(from->condition);
    n->params.conditional.handle = from->condition->handle;
}

/* Copies of parameters, in the order in which nodes take them. */
struct copies {
    struct copy {
        CUgraphNodeParams params;
        struct owned *owned;
    } *at;
    size_t count;
};

static bool has_own_params(const struct node *n)
{
    return !n->memory && !n->child && !n->condition && n->params.type != CU_GRAPH_NODE_TYPE_MEM_FREE;
}

static size_t nodes_of(const struct graph *g)
{
    size_t count = g->nodes.count;
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->child) count += nodes_of(n->child);
        for (unsigned j = 0; j < n->body_count; j++) count += nodes_of(n->bodies[j]);
    }
    return count;
}

/* All that can fail. CUDA_ERROR_NOT_SUPPORTED: of memory that another executable graph may allocate. */
static CUresult prepare(const struct graph *old, const struct graph *new, struct copies *c)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < new->nodes.count && !r; k++) {
        const struct node *a = old->nodes.node[k], *b = new->nodes.node[k];
        if (b->memory && a->memory != b->memory && b->memory->references > 1) r = CUDA_ERROR_NOT_SUPPORTED;
        if (b->child) r = prepare(a->child, b->child, c);
        for (unsigned j = 0; j < b->body_count && !r; j++) r = prepare(a->bodies[j], b->bodies[j], c);
        if (!has_own_params(b)) continue;
        r = params_copy(&b->params, &c->at[c->count].params, &c->at[c->count].owned);
        if (!r) c->count++;
    }
    return r;
}

static void take_copy(struct node *n, const struct node *from, const struct copy *c)
{
    params_free(n->owned);
    n->params = c->params;
    n->owned = c->owned;
    memcpy(n->attribute, from->attribute, sizeof n->attribute);
    n->attributes = from->attributes;
}

/* *next: the first copy that was not taken yet. */
static void take(struct graph *old, const struct graph *new, const struct copy **next)
{
    for (unsigned k = 0; k < new->nodes.count; k++) {
        struct node *a = old->nodes.node[k], *b = new->nodes.node[k];
        if (b->memory) take_memory(a, b);
        if (b->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE) a->params = b->params;
        if (b->condition) take_condition(a, b);
        if (b->child) take(a->child, b->child, next);
        for (unsigned j = 0; j < b->body_count; j++) take(a->bodies[j], b->bodies[j], next);
        if (has_own_params(b)) take_copy(a, b, (*next)++);
    }
}

/* All or nothing (observed on H200). */
static CUresult take_params(struct graph *old, const struct graph *new)
{
    struct copies c = { .at = malloc((nodes_of(new) + 1) * sizeof *c.at) };
    CUresult r = c.at ? prepare(old, new, &c) : CUDA_ERROR_OUT_OF_MEMORY;
    const struct copy *next = c.at;
    if (!r)
        take(old, new, &next);
    else
        while (c.count) params_free(c.at[--c.count].owned);
    free(c.at);
    return r;
}

/* A child graph takes the parameters of another one of the same shape. */
static CUresult set_child(struct node *n, CUgraph handle)
{
    struct node *culprit;
    struct graph *g;
    CUresult r = graph_get(handle, &g);
    if (r) return r;
    if (same_shape(n->child, g, &culprit)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    return take_params(n->child, g);
}

CUresult executable_set_node(struct node *n, const CUgraphNodeParams *params)
{
    CUgraphNodeParams copy;
    struct owned *owned;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) return set_child(n, params->graph.graph);
    CUresult r = params_copy(params, &copy, &owned);
    if (r) return r;
    if (change(&n->params, &copy)) r = CUDA_ERROR_INVALID_VALUE;
    params_free(owned);
    return r ? r : node_set_params(n, params);
}

CUresult executable_update(struct executable *x, struct graph *g, CUgraphExecUpdateResultInfo *info)
{
    struct node *culprit = NULL;
    info->result = is_acyclic(g) ? same_shape(x->graph, g, &culprit) : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (info->result) {
        info->errorNode = (CUgraphNode)culprit;
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    CUresult r = take_params(x->graph, g);
    if (!r) {
        user_references_drop(x->graph);
        r = user_references_copy(g, x->graph);
    }
    if (r && r != CUDA_ERROR_NOT_SUPPORTED) info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    return r;
}
