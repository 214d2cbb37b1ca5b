/* Executable graphs: a copy of a graph in an order that it can be launched in. */
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
            free(order.node);
            r = check_children(below);
        }
    }
    return r;
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

CUresult executable_new(const struct graph *g, uint64_t flags, CUgraphInstantiateResult *why,
                        const struct node **culprit, struct executable **out)
{
    struct graph *copy;
    if (has_executable(g)) return CUDA_ERROR_NOT_SUPPORTED;
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
    free(x->order.node);
    x->order = (struct node_list){ 0 };
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

static CUgraphExecUpdateResult compare(const struct node *old, const struct node *new)
{
    if (old->params.type != new->params.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (old->before.count != new->before.count) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (new->params.type == CU_GRAPH_NODE_TYPE_KERNEL && old->params.kernel.ctx != new->params.kernel.ctx)
        return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    if (new->condition &&
        (old->params.conditional.type != new->params.conditional.type || old->body_count != new->body_count))
        return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
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
        for (unsigned j = 0; j < b->before.count && !u; j++)
            if (a->before.node[j]->missing != b->before.node[j]->missing)
                u = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if (!u && b->child) u = same_shape(a->child, b->child, culprit);
        for (unsigned j = 0; j < b->body_count && !u; j++) u = same_shape(a->bodies[j], b->bodies[j], culprit);
    }
    return u;
}

static CUresult take_params(struct graph *old, const struct graph *new)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < new->nodes.count && !r; k++) {
        struct node *a = old->nodes.node[k], *b = new->nodes.node[k];
        if (b->memory || b->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
            r = CUDA_ERROR_NOT_SUPPORTED;
        } else if (b->child) {
            r = take_params(a->child, b->child);
        } else if (b->condition) {
            condition_drop(a->condition);
            a->condition = condition_share(b->condition);
            a->params.conditional.handle = b->condition->handle;
            for (unsigned j = 0; j < b->body_count && !r; j++) r = take_params(a->bodies[j], b->bodies[j]);
        } else if (!(r = node_set_params(a, &b->params))) {
            memcpy(a->attribute, b->attribute, sizeof a->attribute);
            a->attributes = b->attributes;
        }
    }
    return r;
}

CUresult executable_update(struct executable *x, const struct graph *g, CUgraphExecUpdateResultInfo *info)
{
    struct node *culprit;
    *info = (CUgraphExecUpdateResultInfo){ .result = same_shape(x->graph, g, &culprit) };
    if (info->result) {
        info->errorNode = (CUgraphNode)culprit;
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    CUresult r = take_params(x->graph, g);
    if (r) info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    return r;
}
