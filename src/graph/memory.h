/* Memory that graphs allocate and free; see mempool/mempool.h for what is kept.
 * Guarded by graphs_lock. */
#ifndef FL_GRAPH_MEMORY_H
#define FL_GRAPH_MEMORY_H

#include "graph/graph.h"
#include "mempool/mempool.h"

/* A graph's, on one device. */
struct graph_arena {
    struct device *device;
    struct arena *arena;
    struct graph_arena *next;
};

struct graph_memory {
    unsigned references; /* nodes: the graph's, and its copies in executable graphs; */
    unsigned orphans;    /* of those in editions that are orphans */
    bool freed;          /* by a node of its graph */
    bool settled;        /* an executable graph was made of it: the graph itself frees it, or never will */
    struct kept kept;
    CUmemAccessDesc access[MAX_DEVICES];
    unsigned accesses; /* that were asked for */
    uint32_t others;   /* devices beside its own, as bits */
};

/* What can be said against an allocation node's parameters. */
CUresult graph_memory_check(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p);
/* Keeps memory for an allocation node, whose edges are there; the address is in out->kept. CUDA_ERROR_INVALID_VALUE: of no
 * such kind. */
CUresult graph_memory_new(const struct node *n, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct graph_memory **out);
/* One reference more; one less, with the last the memory is not kept any more. */
struct graph_memory *graph_memory_share(struct graph_memory *m);
void graph_memory_drop(struct graph_memory *m);
/* The graph, and executable graphs that are not destroyed. */
static inline unsigned graph_memory_owners(const struct graph_memory *m) { return m->references - m->orphans; }
/* n, whose edges are there, is to free what is at an address. CUDA_ERROR_INVALID_VALUE: no graph allocates it, or another
 * node of this graph frees it. */
CUresult graph_memory_free(struct node *n, CUdeviceptr address);
/* The graph is gone. */
void graph_arenas_drop(struct graph *g);

#endif
