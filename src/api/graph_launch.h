/* Issues an executable graph's nodes into a stream. */
#ifndef FL_API_GRAPH_LAUNCH_H
#define FL_API_GRAPH_LAUNCH_H

#include "graph/graph.h"

/* Issues all of x into s and lanes beside it; s comes after all. What a call of a node answers that fails. */
CUresult graph_launch(struct executable *x, struct stream *s);
/* What a launch in s needs beforehand is there: memory of graphs. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult graph_upload(struct executable *x, struct stream *s);
/* Whether x->done, the event behind the last launch, is there still: it goes with its context. With x->launch. */
bool graph_done_lives(const struct executable *x);

#endif
