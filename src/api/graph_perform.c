/* What a node of a graph does when its turn comes: the call that it stands for,
 * with everything that this call checks. */
#include "api/copy.h"
#include "api/graph_run.h"
#include "api/node_check.h"
#include "base/log.h"
#include "graph/memory.h"
#include "vmm/vmm.h"

static CUresult launch_kernel(const struct node *n, CUstream s)
{
    const CUDA_KERNEL_NODE_PARAMS_v3 *p = &n->params.kernel;
    CUlaunchConfig config = { .gridDimX = p->gridDimX,
                              .gridDimY = p->gridDimY,
                              .gridDimZ = p->gridDimZ,
                              .blockDimX = p->blockDimX,
                              .blockDimY = p->blockDimY,
                              .blockDimZ = p->blockDimZ,
                              .sharedMemBytes = p->sharedMemBytes,
                              .hStream = s,
                              .attrs = (CUlaunchAttribute *)n->attribute,
                              .numAttrs = n->attributes };
    return cuLaunchKernelEx(&config, p->func, p->kernelParams, p->extra);
}

/* Whether a device finds nothing there, or nothing that it may touch: of mapped memory a node's checks say that. */
static bool is_gone(CUdeviceptr at)
{
    struct allocation a;
    return (at >= space_reserve_base() && at < space_reserve_end()) ||
           (space_is_ours(at) && !space_glance(at, &a) && !mempool_look_kept(at, 1, &a));
}

/* An address of the node's in memory that is gone; 0: there is none. */
static CUdeviceptr gone_address(const CUgraphNodeParams *p)
{
    const CUDA_MEMCPY3D *c = &p->memcpy.copyParams;
    const bool copies = p->type == CU_GRAPH_NODE_TYPE_MEMCPY;
    const CUdeviceptr at[] = { copies ? c->dstDevice : p->memset.dst, copies ? c->srcDevice : 0 };
    const CUmemorytype type[] = { copies ? c->dstMemoryType : CU_MEMORYTYPE_DEVICE, c->srcMemoryType };
    for (int k = 0; k < 1 + copies; k++)
        if ((type[k] == CU_MEMORYTYPE_DEVICE || type[k] == CU_MEMORYTYPE_UNIFIED) && is_gone(at[k])) return at[k];
    return 0;
}

struct illegal_access {
    CUdeviceptr at;
    int ordinal;
};

static CUresult fail(void *arg)
{
    const struct illegal_access *a = arg;
    char what[256];
    vmm_describe_any(a->at, a->ordinal, what, sizeof what);
    fl_log(FL_LOG_ERROR, "device %d, a copy or memset of a graph: an illegal access at 0x%llx: %s", a->ordinal, a->at,
           what);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* What was good when the node was made and is not any more: the device notices (observed on H200). */
static CUresult without_memory(const CUgraphNodeParams *p, CUstream handle)
{
    struct stream *s;
    const CUdeviceptr at = gone_address(p);
    if (!at) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = stream_named(handle, &s);
    if (r) return r;
    const struct illegal_access a = { at, stream_context(s)->device->ordinal };
    return stream_enqueue(s, fail, &a, sizeof a);
}

/* What a condition selects is issued when all behind it is, frees of memory too. */
static bool is_in_body(const struct node *n)
{
    const struct node *parent = n->graph->parent;
    return parent && (parent->condition || is_in_body(parent));
}

/* On behalf of the context that the node was made in, whichever is current where the graph is launched. */
static CUresult move(const struct node *n, CUstream s)
{
    const CUgraphNodeParams *p = &n->params;
    bool copies = p->type == CU_GRAPH_NODE_TYPE_MEMCPY;
    struct context *c;
    bool other = !context_check(copies ? p->memcpy.copyCtx : p->memset.ctx, &c);
    CUresult r = other ? context_push(c) : CUDA_SUCCESS;
    if (r) return r;
    span_permit_freed(is_in_body(n));
    /* as the call, which may read pageable memory at once: before other nodes write there (observed on H200) */
    r = copies ? copy_box(&p->memcpy.copyParams, s, COPY_ASYNC) : memset_perform(&p->memset, s);
    span_permit_freed(false);
    if (r == CUDA_ERROR_INVALID_VALUE) r = without_memory(p, s);
    if (other) context_pop(&c);
    return r;
}

/* Its own graph's memory, or another one's. */
static CUresult free_memory(const struct node *n, struct stream *s)
{
    struct allocation a;
    const struct graph *g = n->graph;
    const CUdeviceptr at = n->params.free.dptr;
    while (g->parent) g = g->parent->graph;
    if (!space_look(at, &a) || !a.pool || !mempool_of_graphs(a.pool)) return CUDA_ERROR_INVALID_VALUE;
    return mempool_free_kept(&a, at, s, g);
}

/* That it was recorded in a capture since then does not matter. */
static CUresult wait_for(CUevent event, struct stream *s)
{
    struct event *e;
    CUresult r = event_get(event, &e);
    return r ? r : stream_wait_event(s, e);
}

CUresult graph_perform(const struct node *n, CUstream s)
{
    const CUgraphNodeParams *p = &n->params;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return launch_kernel(n, s);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET: return move(n, s);
    case CU_GRAPH_NODE_TYPE_HOST: return cuLaunchHostFunc(s, p->host.fn, p->host.userData);
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return wait_for(p->eventWait.event, (struct stream *)s);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return cuEventRecord(p->eventRecord.event, s);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return mempool_allocate_kept(n->memory->kept);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return free_memory(n, (struct stream *)s);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return cuStreamBatchMemOp_v2(s, p->memOp.count, p->memOp.paramArray, p->memOp.flags);
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}
