/* Issues an executable graph's nodes into a stream. */
#ifndef FL_API_GRAPH_LAUNCH_H
#define FL_API_GRAPH_LAUNCH_H

#include "graph/graph.h"

bool graph_done_lives(const struct executable *x);
CUresult graph_launch(struct executable *x, struct stream *s);

#endif
