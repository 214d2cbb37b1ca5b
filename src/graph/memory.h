/* Memory that graphs allocate and free; see mempool/mempool.h for what is kept.
 * Guarded by graphs_lock. */
#ifndef FL_GRAPH_MEMORY_H
#define FL_GRAPH_MEMORY_H

#include "graph/graph.h"
#include "mempool/mempool.h"

struct graph_memory {
    unsigned references;           /* nodes: the graph's, and its copies in executable graphs */
    bool settled;                  /* an executable graph was made of it: the graph itself frees it, or never will */
    struct kept kept;
    CUmemAccessDesc access[MAX_DEVICES];
    unsigned accesses;             /* that were asked for */
    uint32_t others;               /* devices beside its own, as bits */
};

/* What can be said against an allocation node's parameters. */
CUresult graph_memory_check(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p);
/* Keeps memory for an allocation node; the address is in out->kept. CUDA_ERROR_INVALID_VALUE: of no such kind. */
CUresult graph_memory_new(const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct graph_memory **out);
/* One reference more; one less, with the last the memory is not kept any more. */
struct graph_memory *graph_memory_share(struct graph_memory *m);
void graph_memory_drop(struct graph_memory *m);
/* Whether a node of g may free address: CUDA_ERROR_INVALID_VALUE if no graph allocates it or another node frees it. */
CUresult graph_check_free(const struct graph *g, CUdeviceptr address);

#endif
