/* Conditions and conditional nodes; see conditional.h. */
#include "graph/conditional.h"
#include "mempool/mempool.h"

#include <stdlib.h>

/* Conditions are the outermost graph's. */
static struct graph *outermost(struct graph *g)
{
    while (g->parent) g = g->parent->graph;
    return g;
}

CUresult condition_new(struct graph *g, struct context *c, unsigned initial, unsigned flags, struct condition **out)
{
    static unsigned made;
    struct allocation *word;
    g = outermost(g);
    struct condition *k = calloc(1, sizeof *k);
    if (!k) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = space_alloc_host(c, sizeof(uint32_t), 0, &word);
    if (r) {
        free(k);
        return r;
    }
    *k = (struct condition){ .references = 1,
                             .handle = word->base,
                             .number = ++made,
                             .word = *word,
                             .context = c,
                             .context_id = c->id,
                             .initial = initial,
                             .assign = flags & CU_GRAPH_COND_ASSIGN_DEFAULT,
                             .next = g->conditions };
    atomic_store(condition_word(k), initial);
    g->conditions = k;
    *out = k;
    return r;
}

struct condition *condition_share(struct condition *c)
{
    c->references++;
    return c;
}

void condition_drop(struct condition *c)
{
    if (--c->references) return;
    space_free_same(&c->word);
    free(c);
}

CUresult condition_check(const struct condition *c)
{
    struct context *now;
    CUresult r = context_check((CUcontext)c->context, &now);
    return r || now->id == c->context_id ? r : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

_Atomic uint32_t *condition_word(const struct condition *c) { return space_alias(&c->word, c->word.base); }

static struct condition *condition_of(struct graph *g, CUgraphConditionalHandle handle)
{
    struct condition *c = outermost(g)->conditions;
    while (c && c->handle != handle) c = c->next;
    return c;
}

static CUresult make_graphs(struct node *n, unsigned count)
{
    CUresult r = CUDA_SUCCESS;
    if (!(n->bodies = calloc(count, sizeof(struct graph *)))) return CUDA_ERROR_OUT_OF_MEMORY;
    for (; n->body_count < count && !r; n->body_count += !r)
        if (!(r = graph_new(&n->bodies[n->body_count]))) n->bodies[n->body_count]->parent = n;
    return r;
}

CUresult conditional_check(const CUDA_CONDITIONAL_NODE_PARAMS *p, struct context **c)
{
    const unsigned most = p->type == CU_GRAPH_COND_TYPE_IF ? 2 : p->type == CU_GRAPH_COND_TYPE_WHILE ? 1 : ~0u;
    if ((unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH || !p->size || p->size > most) return CUDA_ERROR_INVALID_VALUE;
    return context_check(p->ctx, c);
}

CUresult conditional_make(struct node *n, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    struct condition *c = condition_of(n->graph, p->handle);
    struct context *context;
    CUresult r = conditional_check(p, &context);
    if (!r && (!c || c->used || context != c->context)) r = CUDA_ERROR_INVALID_VALUE;
    if (r || (r = make_graphs(n, p->size))) return r;
    c->used = true;
    n->condition = condition_share(c);
    n->params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    n->params.conditional = *p;
    n->params.conditional.phGraph_out = (CUgraph *)n->bodies;
    return r;
}

CUresult conditional_copy(struct node *n, const struct node *from, bool exact)
{
    CUresult r = CUDA_SUCCESS;
    n->params = from->params;
    n->condition = condition_share(from->condition);
    if (!(n->bodies = calloc(from->body_count, sizeof(struct graph *)))) return CUDA_ERROR_OUT_OF_MEMORY;
    for (; n->body_count < from->body_count && !r; n->body_count += !r)
        if (!(r = graph_clone(from->bodies[n->body_count], exact, &n->bodies[n->body_count])))
            n->bodies[n->body_count]->parent = n;
    n->params.conditional.phGraph_out = (CUgraph *)n->bodies;
    return r;
}

void conditional_free(struct node *n)
{
    while (n->body_count) graph_free(n->bodies[--n->body_count]);
    free(n->bodies);
    if (n->condition) condition_drop(n->condition);
}

/* Where a side of a copy is; 0: in an array. */
static CUdeviceptr place(CUmemorytype type, const void *host, CUdeviceptr device)
{
    return type == CU_MEMORYTYPE_ARRAY ? 0 : type == CU_MEMORYTYPE_HOST ? (CUdeviceptr)host : device;
}

static CUdeviceptr source(const CUDA_MEMCPY3D *c) { return place(c->srcMemoryType, c->srcHost, c->srcDevice); }
static CUdeviceptr target(const CUDA_MEMCPY3D *c) { return place(c->dstMemoryType, c->dstHost, c->dstDevice); }

static bool is_memory(CUdeviceptr at)
{
    struct allocation a;
    return mempool_look_any(at, 1, &a);
}

/* What a device can do alone: it reaches no array, and no pageable memory of the host. */
static bool may_be_conditional(const CUgraphNodeParams *p)
{
    struct context *own;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return !context_check(p->kernel.ctx, &own);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return is_memory(source(&p->memcpy.copyParams)) && is_memory(target(&p->memcpy.copyParams));
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return true;
    default: return false;
    }
}

static bool is_of_another(CUdeviceptr at, const struct context *context)
{
    struct allocation a;
    return mempool_look_any(at, 1, &a) && a.context && a.context != context;
}

/* Whether it is for another context than the condition, or for memory that another one has allocated (observed on H200:
 * copies of such memory are taken there, and never end). */
static bool is_in_another(const CUgraphNodeParams *p, const struct context *context)
{
    struct context *own;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return context_check(p->kernel.ctx, &own) || own != context;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return is_of_another(source(&p->memcpy.copyParams), context) ||
               is_of_another(target(&p->memcpy.copyParams), context);
    case CU_GRAPH_NODE_TYPE_MEMSET: return is_of_another(p->memset.dst, context);
    default: return false;
    }
}

/* context: that of the condition, NULL if there is none. */
static CUgraphInstantiateResult check(const struct graph *g, const struct context *context, const struct node **culprit)
{
    CUgraphInstantiateResult r = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    for (const struct condition *c = g->conditions; c; c = c->next)
        if (!c->used) return CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        const struct node *n = *culprit = g->nodes.node[k];
        if (context && !may_be_conditional(&n->params)) return CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
        if (context && is_in_another(&n->params, context)) return CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED;
        if (n->child) r = check(n->child, context, culprit);
        for (unsigned j = 0; j < n->body_count && !r; j++) r = check(n->bodies[j], n->condition->context, culprit);
    }
    return r;
}

CUgraphInstantiateResult conditionals_check(const struct graph *g, const struct node **culprit)
{
    CUgraphInstantiateResult r = check(g, NULL, culprit);
    if (!r || r == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED) *culprit = NULL;
    return r;
}
