/* What the entry points for graphs share. */
#ifndef FL_API_GRAPH_API_H
#define FL_API_GRAPH_API_H

#include "graph/graph.h"

/* The library works, or the error that says why not. */
CUresult graph_ready(void);
/* The same, and graphs_lock is held if there is no error: then what the call returns goes through graph_end. */
CUresult graph_begin(void);
CUresult graph_end(CUresult r);

/* An argument that must not be NULL is: CUDA_ERROR_INVALID_VALUE, or what graph_ready says. */
CUresult graph_node_missing(void);

/* graph_node.c: nodes of any kind, which the entry points for one kind come down to. */

/* params NULL: CUDA_ERROR_INVALID_VALUE, as for what is wrong with them. */
CUresult graph_node_add(CUgraphNode *out, CUgraph hGraph, const CUgraphNode *before, size_t count, const CUgraphNodeParams *params);
/* Copies the parameters of a node of this type. CUDA_ERROR_INVALID_VALUE also if wanted, the entry point's place for its
 * answer, is NULL. */
CUresult graph_node_get(CUgraphNode hNode, CUgraphNodeType type, const void *wanted, CUgraphNodeParams *out);
CUresult graph_node_set(CUgraphNode hNode, const CUgraphNodeParams *params);
/* The node of the executable graph that stands for hNode. */
CUresult graph_node_set_exec(CUgraphExec hExec, CUgraphNode hNode, const CUgraphNodeParams *params);

#endif
