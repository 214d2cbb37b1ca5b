/* Streams of our own, in which branches of graphs run beside the launch's
 * stream. A launch takes some and gives them back when all is issued; they are
 * taken again once their work is done. Which node goes where is not their affair. */
#ifndef FL_GRAPH_LANES_H
#define FL_GRAPH_LANES_H

#include "graph/graph.h"

struct lane {
    struct context *context;       /* named, if it is a green context's */
    uint64_t context_id;           /* contexts' memory is used again */
    struct stream *stream;
    const struct node *tail;       /* its newest node, during a launch */
    const struct lane *joined;     /* that comes after all that is in this one */
    struct lane *next;
};

/* One that nothing is left to do in. */
CUresult lane_take(struct context *c, struct lane **out);
void lanes_give(struct lane *list);

#endif
