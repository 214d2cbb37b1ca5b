/* Lists of nodes, in the order in which they were added: the nodes of a graph, the edges at one end of a node. */
#ifndef FL_GRAPH_LIST_H
#define FL_GRAPH_LIST_H

#include <cuda.h>
#include <stdbool.h>

struct node;

struct node_list {                 /* all zero: empty */
    struct node **node;
    CUgraphEdgeData *edge;         /* what is said of each, if the list is one of edges */
    unsigned count, capacity;
};

/* At the end; without an edge: a plain one. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult list_add(struct node_list *l, struct node *n);
CUresult list_add_edge(struct node_list *l, struct node *n, CUgraphEdgeData edge);
bool list_has(const struct node_list *l, const struct node *n);
/* n, which is there, goes. Of a node's edges the last one comes into its place (observed on an H200); a graph's nodes, which
 * lie in the order of their ids, stay in order. */
void list_remove_edge(struct node_list *l, const struct node *n);
void list_remove_node(struct node_list *l, const struct node *n);
/* Leaves it empty. */
void list_free(struct node_list *l);

#endif
