/* How a launch issues an executable graph's nodes; what its files share. With
 * x->launch. */
#ifndef FL_API_GRAPH_RUN_H
#define FL_API_GRAPH_RUN_H

#include "graph/lanes.h"

/* A launch, or the body of a conditional node that a thread issues later. */
struct graph_run {
    struct lane first;             /* the stream that it is for; others, taken on the way, are linked behind it */
    unsigned count;                /* of those others */
    uint64_t of;                   /* the executable graph that is launched, by its number; 0: it is a body */
};

/* graph_branches.c: issues nodes, in this order, into base and lanes beside it; base comes after all of them. What was
 * issued stays ordered, even if the rest cannot be. The error of the first call that fails. */
CUresult graph_run_nodes(struct graph_run *run, struct lane *base, const struct node_list *order);
/* The same for all nodes of a graph. */
CUresult graph_run_whole(struct graph_run *run, struct lane *base, struct graph *g);
/* graph_perform.c: issues one node that contains no graph. */
CUresult graph_perform(const struct node *n, CUstream s);
/* graph_conditional.c: in s the condition gets its default. */
CUresult graph_run_assignment(struct condition *c, struct stream *s);
/* The same file: issues a conditional node into l: what its condition says when its turn comes. */
CUresult graph_run_conditional(const struct lane *l, struct node *n);

#endif
