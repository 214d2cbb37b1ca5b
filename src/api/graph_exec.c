/* Graph management: executable graphs. Their nodes are graph_node.c's, what a
 * launch does is graph_launch.c's. */
#include "api/graph_api.h"
#include "api/graph_launch.h"
#include "api/launch.h"
#include "api/node_check.h"
#include "graph/capture.h"
#include "graph/user.h"

/* A launch by kernels: only of what kernels can do, and nothing is freed for it. Observed on H200. */
static CUresult for_device(const struct graph *g, uint64_t flags, CUgraphInstantiateResult *why,
                           const struct node **bad)
{
    *why = CUDA_GRAPH_INSTANTIATE_ERROR;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < g->nodes.count; k++) {
        const CUgraphNodeType t = g->nodes.node[k]->params.type;
        if (t <= CU_GRAPH_NODE_TYPE_MEMSET || t == CU_GRAPH_NODE_TYPE_GRAPH) continue;
        *why = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
        *bad = g->nodes.node[k];
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* The memory that a memset fills must be there by now; a copy's need not be (observed on H200). */
static CUresult check_fills(const struct graph *g, const struct node **bad)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        const CUgraphNodeParams *p = &g->nodes.node[k]->params;
        struct context *c;
        if (p->type != CU_GRAPH_NODE_TYPE_MEMSET || !p->memset.width || !p->memset.height) continue;
        const bool other = !context_check(p->memset.ctx, &c) && !context_push(c);
        if ((r = memset_check(&p->memset))) *bad = g->nodes.node[k];
        if (other) context_pop(&c);
    }
    return r;
}

static CUresult instantiate(CUgraphExec *out, CUgraph hGraph, uint64_t flags, CUgraphInstantiateResult *why,
                            CUgraphNode *culprit)
{
    struct graph *g;
    struct executable *x;
    const struct node *bad = NULL;
    const uint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                           CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    struct context *c;
    CUresult r = context_current(&c);
    if (r == CUDA_ERROR_INVALID_CONTEXT || (r = graph_ready()) || (r = capture_refuse_unsafe()) || (r = graph_begin()))
        return r;
    if (!out || flags & ~known) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if ((r = graph_get(hGraph, &g))) return graph_end(r);
    r = check_fills(g, &bad);
    if (!r)
        r = flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH ? for_device(g, flags, why, &bad)
                                                              : executable_new(g, flags, why, &bad, &x);
    *culprit = (CUgraphNode)bad;
    if (!r) *out = (CUgraphExec)x;
    return graph_end(r);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
    CUgraphInstantiateResult why;
    CUgraphNode culprit;
    /* there is no stream to upload in */
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) phGraphExec = NULL;
    return instantiate(phGraphExec, hGraph, flags, &why, &culprit);
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    CUgraphInstantiateResult why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    CUgraphNode culprit = NULL;
    if (!instantiateParams) return instantiate(NULL, hGraph, 0, &why, &culprit);
    CUresult r = instantiate(phGraphExec, hGraph, instantiateParams->flags, &why, &culprit);
    instantiateParams->hErrNode_out = culprit;
    instantiateParams->result_out = r && !why ? CUDA_GRAPH_INSTANTIATE_ERROR : why;
    return r;
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                                       char *logBuffer, size_t bufferSize)
{
    CUgraphInstantiateResult why;
    CUgraphNode culprit = NULL;
    CUresult r = instantiate(phGraphExec, hGraph, 0, &why, &culprit);
    if (phErrorNode) *phErrorNode = culprit;
    if (logBuffer && bufferSize) *logBuffer = 0;
    return r;
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    struct executable *x;
    CUresult r = graph_begin();
    if (r) return r;
    if (!flags) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = executable_get(hGraphExec, &x)))
        *flags = x->flags &
                 CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH; /* observed on H200: of the others it does not tell */
    return graph_end(r);
}

/* Where the thread has no context, in the stream's: nodes stand for calls that want one. */
static CUresult launch(CUgraphExec hGraphExec, CUstream hStream, bool upload)
{
    struct context *c;
    struct stream *s;
    struct executable *x;
    CUresult r = stream_caller_outside(hStream, &c);
    if (r || (r = stream_get(c, hStream, false, &s)) || (r = executable_get(hGraphExec, &x))) return r;
    if ((r = capture_refuse(s))) return r; /* it becomes no node: observed on H200 */
    if (upload) return graph_upload(x, s);
    const bool lent = !context_top();
    if (lent && (r = context_push(c))) return r;
    r = graph_launch(x, s);
    if (lent) context_pop(&c);
    return r ? r : launch_wait(s);
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) { return launch(hGraphExec, hStream, false); }

CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) { return launch(hGraphExec, hStream, true); }

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    struct executable *x;
    CUresult r = library_ready();
    if (r || (r = executable_get(hGraphExec, &x)) || (r = capture_refuse_unsafe())) return r;
    pthread_mutex_lock(&x->launch);
    if (atomic_load(&x->valid)) {
        if (x->done && graph_done_lives(x)) cuEventDestroy_v2(x->done);
        pthread_mutex_lock(&graphs_lock);
        executable_free(x);
        pthread_mutex_unlock(&graphs_lock);
    } else {
        r = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&x->launch);
    user_objects_bury();
    return r;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
    struct executable *x;
    struct graph *g;
    CUgraphExecUpdateResultInfo unwanted;
    CUresult r = library_ready();
    if (r) return r;
    if (!resultInfo) resultInfo = &unwanted;
    *resultInfo = (CUgraphExecUpdateResultInfo){ 0 };
    if ((r = executable_get(hGraphExec, &x)) || (r = graph_get(hGraph, &g))) return r;
    executable_lock(x);
    r = atomic_load(&x->valid) && atomic_load(&g->valid) && !g->parent ? executable_detach(x) : CUDA_ERROR_INVALID_VALUE;
    if (!r) r = executable_update(x, g, resultInfo);
    executable_unlock(x);
    user_objects_bury();
    return r;
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                                   CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResultInfo info = { 0 };
    CUresult r = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
    if (hErrorNode_out) *hErrorNode_out = info.errorNode;
    if (updateResult_out) *updateResult_out = info.result;
    return r;
}
