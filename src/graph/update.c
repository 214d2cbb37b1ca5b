/* Executable graphs that take the parameters of another graph of the same shape. Which nodes correspond is found from
 * the ends of both graphs backwards (observed on an H200, and as cuGraphExecUpdate's page says): sinks correspond in the
 * order in which they became sinks, and what nodes come after in the order of its edges. So the order in which nodes were
 * created does not matter, that of edges does. */
#include "graph/conditional.h"
#include "graph/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- which nodes correspond */

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

/* What has nothing to do with other nodes. */
static CUgraphExecUpdateResult compare(const struct node *old, const struct node *new)
{
    if (old->params.type != new->params.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (new->condition &&
        (old->params.conditional.type != new->params.conditional.type || old->body_count != new->body_count))
        return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    CUgraphExecUpdateResult u = change(&old->params, &new->params);
    return u || cooperative(old) == cooperative(new) ? u : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
}

/* Pairs that were found, in that order: of new nodes, whose partners are known. */
struct pairs {
    struct node **at;
    unsigned count;
};

/* What is wrong, and where; from: with which of the nodes that it comes after. */
struct culprit {
    struct node *node, *from;
};

static void pair(struct pairs *p, struct node *old, struct node *new)
{
    old->partner = new;
    new->partner = old;
    p->at[p->count++] = new;
}

static CUgraphExecUpdateResult pair_sinks(struct pairs *p, const struct graph *old, const struct graph *new,
                                          struct culprit *c)
{
    struct node **mine = p->at + new->nodes.count, **theirs = mine + new->nodes.count;
    const size_t n = graph_sinks(old, mine), m = graph_sinks(new, theirs);
    if (n < m) c->node = theirs[n];
    if (n != m) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t k = 0; k < n; k++) pair(p, mine[k], theirs[k]);
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult pair_before(struct pairs *p, const struct node *new, struct culprit *c)
{
    const struct node_list *theirs = &new->before, *mine = &new->partner->before;
    for (unsigned k = 0; k < theirs->count; k++) {
        struct node *a = mine->node[k], *b = theirs->node[k];
        const bool free = !a->partner && !b->partner, same_edge = !memcmp(&mine->edge[k], &theirs->edge[k], sizeof *mine->edge);
        if (free && same_edge)
            pair(p, a, b);
        else if (b->partner != a || !same_edge) {
            c->from = b;
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        }
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult same_shape(const struct graph *old, const struct graph *new, struct culprit *c);

static CUgraphExecUpdateResult visit(struct pairs *p, struct node *new, struct culprit *c)
{
    const struct node *old = new->partner;
    *c = (struct culprit){ .node = new };
    if (old->before.count != new->before.count) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    CUgraphExecUpdateResult u = compare(old, new);
    if (!u) u = pair_before(p, new, c);
    if (!u && new->child) u = same_shape(old->child, new->child, c);
    for (unsigned k = 0; k < new->body_count && !u; k++) u = same_shape(old->bodies[k], new->bodies[k], c);
    return u;
}

/* All nodes of `new` have partners then: those of `old`, which has no cycle, all lead to a sink. */
static CUgraphExecUpdateResult same_shape(const struct graph *old, const struct graph *new, struct culprit *c)
{
    *c = (struct culprit){ 0 };
    if (old->nodes.count != new->nodes.count) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    struct pairs p = { .at = malloc((3ul * new->nodes.count + 1) * sizeof *p.at) };
    if (!p.at) return CU_GRAPH_EXEC_UPDATE_ERROR;
    for (unsigned k = 0; k < new->nodes.count; k++) old->nodes.node[k]->partner = new->nodes.node[k]->partner = NULL;
    CUgraphExecUpdateResult u = pair_sinks(&p, old, new, c);
    for (unsigned k = 0; k < p.count && !u; k++) u = visit(&p, p.at[k], c);
    free(p.at);
    return u;
}

/* ---- what an executable graph takes */

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

/* Copies of what graphs keep alive and of parameters, in the order in which graphs and nodes take them. */
struct copies {
    struct copy {
        struct user_reference *objects;
        CUgraphNodeParams params;
        struct owned *owned;
    } *at;
    size_t count;
};

static bool has_own_params(const struct node *n)
{
    return !n->memory && !n->child && !n->condition && n->params.type != CU_GRAPH_NODE_TYPE_MEM_FREE;
}

/* Graphs and nodes. */
static size_t size_of(const struct graph *g)
{
    size_t count = 1ul + g->nodes.count;
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->child) count += size_of(n->child);
        for (unsigned j = 0; j < n->body_count; j++) count += size_of(n->bodies[j]);
    }
    return count;
}

static struct copy *one_more(struct copies *c)
{
    struct copy *copy = &c->at[c->count++];
    copy->objects = NULL;
    copy->owned = NULL;
    return copy;
}

/* All that can fail. */
static CUresult prepare(const struct graph *new, struct copies *c)
{
    CUresult r = user_references_copy(new->objects, &one_more(c)->objects);
    for (unsigned k = 0; k < new->nodes.count && !r; k++) {
        const struct node *b = new->nodes.node[k];
        if (b->child) r = prepare(b->child, c);
        for (unsigned j = 0; j < b->body_count && !r; j++) r = prepare(b->bodies[j], c);
        if (r || !has_own_params(b)) continue;
        struct copy *copy = one_more(c);
        r = params_copy(&b->params, &copy->params, &copy->owned);
        if (r) c->count--;
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

static void take_objects(struct graph *old, struct copy *c)
{
    user_references_drop(&old->objects);
    old->objects = c->objects;
}

/* *next: the first copy that was not taken yet. */
static void take(struct graph *old, const struct graph *new, struct copy **next)
{
    take_objects(old, (*next)++);
    for (unsigned k = 0; k < new->nodes.count; k++) {
        struct node *b = new->nodes.node[k], *a = b->partner;
        if (b->memory) take_memory(a, b);
        if (b->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE) a->params = b->params, a->frees_own = b->frees_own;
        if (b->condition) take_condition(a, b);
        if (b->child) take(a->child, b->child, next);
        for (unsigned j = 0; j < b->body_count; j++) take(a->bodies[j], b->bodies[j], next);
        if (has_own_params(b)) take_copy(a, b, (*next)++);
    }
}

/* By the nodes that correspond to those of `new`. All or nothing (observed on H200). */
static CUresult take_params(struct graph *old, const struct graph *new)
{
    struct copies c = { .at = malloc(size_of(new) * sizeof *c.at) };
    CUresult r = c.at ? prepare(new, &c) : CUDA_ERROR_OUT_OF_MEMORY;
    struct copy *next = c.at;
    if (!r) take(old, new, &next);
    while (r && c.count) {
        params_free(c.at[--c.count].owned);
        user_references_drop(&c.at[c.count].objects);
    }
    free(c.at);
    return r;
}

/* A child graph takes the parameters of another one of the same shape. */
static CUresult set_child(struct node *n, CUgraph handle)
{
    struct culprit c;
    struct graph *g;
    CUresult r = graph_get(handle, &g);
    if (r) return r;
    if (same_shape(n->child, g, &c)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
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

static bool has_memory(const struct graph *g, const struct graph_memory *m)
{
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->memory == m || (n->child && has_memory(n->child, m))) return true;
    }
    return false;
}

/* Whether another executable graph than x may allocate what nodes of g do. */
static bool is_allocated_elsewhere(const struct graph *g, const struct executable *x)
{
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        if ((n->memory && graph_memory_owners(n->memory) > 1 && !has_memory(x->edition->graph, n->memory)) ||
            (n->child && is_allocated_elsewhere(n->child, x)))
            return true;
    }
    return false;
}

CUresult executable_update(struct executable *x, struct graph *g, CUgraphExecUpdateResultInfo *info)
{
    struct culprit c;
    if (is_allocated_elsewhere(g, x)) return CUDA_ERROR_NOT_SUPPORTED;
    info->result = same_shape(x->edition->graph, g, &c);
    if (info->result) {
        info->errorNode = (CUgraphNode)c.node;
        info->errorFromNode = (CUgraphNode)c.from;
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    CUresult r = take_params(x->edition->graph, g);
    if (r) info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    return r;
}
