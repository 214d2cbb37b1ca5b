/* Conditions, which decide whether and how often a conditional node's graphs
 * run, and such nodes. A condition is a word that kernels write
 * (cudaGraphSetConditional); its handle is the word's address, the same for all
 * processors. Shared by a graph and the executable graph made of it.
 * Guarded by graphs_lock, but for what says otherwise. */
#ifndef FL_GRAPH_CONDITIONAL_H
#define FL_GRAPH_CONDITIONAL_H

#include "graph/graph.h"
#include "space/space.h"

struct condition {
    unsigned references; /* the graph that it was made for, and nodes; */
    unsigned orphans;    /* of those the nodes of editions that are orphans */
    CUgraphConditionalHandle handle;
    unsigned number;     /* of those that were made */
    struct allocation word; /* a copy: the allocation goes with its context */
    struct context *context;
    uint64_t context_id; /* contexts' memory is used again */
    unsigned initial;
    bool assign;            /* every launch begins with it */
    bool used;              /* by a node */
    struct condition *next; /* of the same graph */
};

/* Of graph g: a word in memory of c. flags: CU_GRAPH_COND_ASSIGN_DEFAULT. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult condition_new(struct graph *g, struct context *c, unsigned initial, unsigned flags, struct condition **out);
/* One reference more; one less, the word goes with the last. */
struct condition *condition_share(struct condition *c);
void condition_drop(struct condition *c);
/* Whether the context, and with it the word, is there: CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_CONTEXT_IS_DESTROYED. By anyone. */
CUresult condition_check(const struct condition *c);
/* The word, by anyone while the context lives. */
_Atomic uint32_t *condition_word(const struct condition *c);

/* What can be said against a conditional node's parameters, and the context. */
CUresult conditional_check(const CUDA_CONDITIONAL_NODE_PARAMS *params, struct context **c);
/* n becomes a conditional node with new, empty graphs. */
CUresult conditional_make(struct node *n, const CUDA_CONDITIONAL_NODE_PARAMS *params);
/* n becomes a copy, as graph_clone. */
CUresult conditional_copy(struct node *n, const struct node *from, bool exact);
void conditional_free(struct node *n);
/* Whether all conditions of g and what it contains are used, and its conditional graphs contain only what may be there. */
CUgraphInstantiateResult conditionals_check(const struct graph *g, const struct node **culprit);

#endif
