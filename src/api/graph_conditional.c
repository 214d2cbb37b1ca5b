/* Graph management: conditions of conditional nodes. The nodes are made by
 * cuGraphAddNode alone. */
#include "api/graph_api.h"
#include "graph/conditional.h"

CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph, CUcontext ctx,
                                                unsigned int defaultLaunchValue, unsigned int flags)
{
    struct context *c = NULL;
    struct graph *g;
    struct condition *k;
    CUresult r = graph_ready();
    if (r) return r;
    if (!pHandle_out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    if ((r = ctx ? context_check(ctx, &c) : context_current(&c))) return r;
    pthread_mutex_lock(&graphs_lock);
    if (!(r = graph_get(hGraph, &g)) && !(r = condition_new(g, c, defaultLaunchValue, flags, &k)))
        *pHandle_out = k->handle;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}
