/* Streams of our own, in which branches of graphs run beside the launch's
 * stream. A launch takes some and gives them back when all is issued. They are
 * taken again once their work is done, but before that by launches of the same
 * executable graph, which come after it anyway: so launches that are waiting
 * need no more lanes than one. For others such an order could be one in which
 * nothing goes on. Which node goes where is not their affair. */
#ifndef FL_GRAPH_LANES_H
#define FL_GRAPH_LANES_H

#include "graph/graph.h"

struct lane {
    struct context *context;       /* named, if it is a green context's */
    uint64_t context_id;           /* contexts' memory is used again */
    struct stream *stream;
    uint64_t of;                   /* the executable graph that had it last; 0: none */
    const struct node *tail;       /* its newest node, during a launch */
    const struct lane *joined;     /* that comes after all that is in this one */
    struct lane *next;
};

/* One that nothing is left to do in, or what launches of this executable graph, by its number, have issued; 0: of none. */
CUresult lane_take(struct context *c, uint64_t of, struct lane **out);
void lanes_give(struct lane *list);

#endif
