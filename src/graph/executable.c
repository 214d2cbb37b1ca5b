/* Executable graphs: a copy of a graph in an order that it can be launched in. */
#include "base/because.h"
#include "graph/conditional.h"
#include "graph/memory.h"
#include "graph/user.h"

#include <stdlib.h>
#include <string.h>

static void construct(void *object)
{
    struct executable *x = object;
    pthread_mutex_init(&x->launch, NULL);
}

static struct objects executables = OBJECTS_INIT(struct executable, construct);

CUresult executable_get(CUgraphExec handle, struct executable **out)
{
    struct executable *x = (struct executable *)handle;
    if (!objects_hold(&executables, x) || !atomic_load(&x->valid)) return CUDA_ERROR_INVALID_VALUE;
    *out = x;
    return CUDA_SUCCESS;
}

static bool is_acyclic(struct graph *g)
{
    struct node_list order;
    if (graph_order(g, &order)) return false;
    list_free(&order);
    return true;
}

/* That was made when what is there only once was there already. One that was destroyed does not count while launches of it
 * are pending. */
static bool has_executable(const struct graph *g)
{
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        if ((n->memory && graph_memory_owners(n->memory) > 1) ||
            (n->condition && n->condition->references - n->condition->orphans > 2) || (n->child && has_executable(n->child)))
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

/* A node that would never have its turn, of g or what is below it, or NULL. */
static const struct node *first_of_cycle(struct graph *g)
{
    const struct node *found = NULL;
    const bool acyclic = is_acyclic(g);
    for (unsigned k = 0; k < g->nodes.count && !found; k++) {
        const struct node *n = g->nodes.node[k];
        if (!acyclic && n->missing) found = n;
        if (acyclic && n->child) found = first_of_cycle(n->child);
        for (unsigned j = 0; acyclic && j < n->body_count && !found; j++) found = first_of_cycle(n->bodies[j]);
    }
    return found;
}

/* ---- what launches run */

/* by: 1, or -1: what the nodes share is an orphan's no more. */
static void count_orphans(const struct graph *g, int by)
{
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->memory) n->memory->orphans += (unsigned)by;
        if (n->condition) n->condition->orphans += (unsigned)by;
        if (n->child) count_orphans(n->child, by);
        for (unsigned j = 0; j < n->body_count; j++) count_orphans(n->bodies[j], by);
    }
}

static void edition_free(struct edition *e)
{
    if (e->orphan) count_orphans(e->graph, -1);
    graph_free(e->graph);
    list_free(&e->order);
    free(e);
}

static CUresult edition_new(const struct graph *g, bool exact, struct edition **out)
{
    struct edition *e = calloc(1, sizeof *e);
    CUresult r = e ? graph_clone(g, exact, &e->graph) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        free(e);
        return r;
    }
    if ((r = graph_order(e->graph, &e->order)))
        edition_free(e);
    else
        *out = e;
    return r;
}

static void leave(struct edition *e)
{
    if ((e->orphan = e->pending))
        count_orphans(e->graph, 1);
    else
        edition_free(e);
}

void edition_begin(struct edition *e)
{
    pthread_mutex_lock(&graphs_lock);
    e->pending++;
    pthread_mutex_unlock(&graphs_lock);
}

void edition_end(struct edition *e)
{
    pthread_mutex_lock(&graphs_lock);
    if (!--e->pending && e->orphan) {
        struct grave *others = graves_set_aside();
        edition_free(e);
        user_objects_bury_apart(others);
    }
    pthread_mutex_unlock(&graphs_lock);
}

/* ---- executable graphs */

CUresult executable_new(struct graph *g, uint64_t flags, CUgraphInstantiateResult *why, const struct node **culprit,
                        struct executable **out)
{
    struct edition *e;
    if (g->parent) return (CUresult)because(CUDA_ERROR_NOT_SUPPORTED, "a child graph has no executable graph");
    if ((*culprit = first_of_cycle(g))) {
        *why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        return CUDA_ERROR_INVALID_VALUE;
    }
    if ((*why = conditionals_check(g, culprit))) return CUDA_ERROR_INVALID_VALUE;
    /* of conditions any counts, of memory only those that have it (observed on an H200) */
    if (has_executable(g) || (g->executables && graph_is_single(g) && !graph_has_memory(g)))
        return (CUresult)because(CUDA_ERROR_NOT_SUPPORTED,
                                 "a graph with memory or conditional nodes has one executable graph at a time");
    CUresult r = edition_new(g, false, &e);
    if (r) return r;
    struct executable *x = object_take(&executables);
    if (!x) {
        edition_free(e);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    static uint64_t made;
    settle_memory(g);
    x->edition = e;
    x->number = ++made;
    x->of = (CUgraph)g;
    x->of_number = g->number;
    g->executables++;
    x->flags = flags;
    x->done = NULL;
    x->context = NULL;
    atomic_store(&x->valid, true);
    *out = x;
    return r;
}

static struct graph *made_of(const struct executable *x)
{
    struct graph *g;
    return !graph_get(x->of, &g) && g->number == x->of_number ? g : NULL;
}

void executable_free(struct executable *x)
{
    struct graph *of = made_of(x);
    if (of && atomic_load(&x->valid)) of->executables--;
    atomic_store(&x->valid, false);
    leave(x->edition);
    x->edition = NULL;
    object_give(&executables, x);
}

void executable_lock(struct executable *x)
{
    pthread_mutex_lock(&x->launch);
    pthread_mutex_lock(&graphs_lock);
}

void executable_unlock(struct executable *x)
{
    pthread_mutex_unlock(&graphs_lock);
    pthread_mutex_unlock(&x->launch);
}

CUresult executable_detach(struct executable *x)
{
    struct edition *new;
    if (!x->edition->pending) return CUDA_SUCCESS;
    CUresult r = edition_new(x->edition->graph, true, &new);
    if (r) return r;
    leave(x->edition);
    x->edition = new;
    return r;
}
