/* Conditions and conditional nodes; see conditional.h. */
#include "graph/conditional.h"

#include <stdlib.h>

CUresult condition_new(struct graph *g, struct context *c, unsigned initial, unsigned flags, struct condition **out)
{
    struct allocation *word;
    struct condition *k = calloc(1, sizeof *k);
    if (!k) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = space_alloc_host(c, sizeof(uint32_t), 0, ALLOCATION_HOST, &word);
    if (r) {
        free(k);
        return r;
    }
    *k = (struct condition){ .references = 1,
                             .handle = word->base,
                             .word = *word,
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

_Atomic uint32_t *condition_word(const struct condition *c) { return space_alias(&c->word, c->word.base); }

static struct condition *condition_of(const struct graph *g, CUgraphConditionalHandle handle)
{
    struct condition *c = g->conditions;
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

CUresult conditional_make(struct node *n, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    struct condition *c = condition_of(n->graph, p->handle);
    const unsigned most = p->type == CU_GRAPH_COND_TYPE_IF ? 2 : p->type == CU_GRAPH_COND_TYPE_WHILE ? 1 : ~0u;
    if (!c || c->used || (unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH || !p->size || p->size > most)
        return CUDA_ERROR_INVALID_VALUE;
    struct context *context;
    CUresult r = p->ctx ? context_check(p->ctx, &context) : CUDA_SUCCESS;
    if (r || (r = make_graphs(n, p->size))) return r;
    c->used = true;
    n->condition = condition_share(c);
    n->params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    n->params.conditional = *p;
    n->params.conditional.phGraph_out = (CUgraph *)n->bodies;
    return r;
}

CUresult conditional_copy(struct node *n, const struct node *from)
{
    CUresult r = CUDA_SUCCESS;
    n->params = from->params;
    n->condition = condition_share(from->condition);
    if (!(n->bodies = calloc(from->body_count, sizeof(struct graph *)))) return CUDA_ERROR_OUT_OF_MEMORY;
    for (; n->body_count < from->body_count && !r; n->body_count += !r)
        if (!(r = graph_clone(from->bodies[n->body_count], &n->bodies[n->body_count])))
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

/* What a device can do alone. */
static bool may_be_conditional(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return true;
    default: return false;
    }
}

static CUgraphInstantiateResult check(const struct graph *g, bool conditional, const struct node **culprit)
{
    CUgraphInstantiateResult r = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    for (const struct condition *c = g->conditions; c; c = c->next)
        if (!c->used) return CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        const struct node *n = *culprit = g->nodes.node[k];
        if (conditional && !may_be_conditional(n->params.type))
            return CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
        if (n->child) r = check(n->child, conditional, culprit);
        for (unsigned j = 0; j < n->body_count && !r; j++) r = check(n->bodies[j], true, culprit);
    }
    return r;
}

CUgraphInstantiateResult conditionals_check(const struct graph *g, const struct node **culprit)
{
    CUgraphInstantiateResult r = check(g, false, culprit);
    if (!r || r == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED) *culprit = NULL;
    return r;
}
