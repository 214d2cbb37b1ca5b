/* What the entry points for nodes of each kind share. */
#ifndef FL_API_GRAPH_NODE_H
#define FL_API_GRAPH_NODE_H

#include "graph/graph.h"

/* The library works, or the error that says why not. */
CUresult graph_ready(void);
/* An argument that must not be NULL is. */
CUresult graph_node_missing(void);
CUresult graph_node_add(CUgraphNode *out, CUgraph hGraph, const CUgraphNode *before, size_t count, const CUgraphNodeParams *params);
/* Copies the parameters of a node of this type. */
CUresult graph_node_get(CUgraphNode hNode, CUgraphNodeType type, CUgraphNodeParams *out);
CUresult graph_node_set(CUgraphNode hNode, const CUgraphNodeParams *params);
CUresult graph_node_set_exec(CUgraphExec hExec, CUgraphNode hNode, const CUgraphNodeParams *params);

#endif
