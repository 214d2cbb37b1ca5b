/* Launching graphs: each node is issued as the program itself would have done
 * it, one after the other in the launch's stream, an order that the graph
 * allows. A node of another context goes through a stream of that context. */
#include "api/graph_launch.h"
#include "graph/memory.h"

#include <stdlib.h>

/* Where nodes go: the launch's stream, and one of each other context that is needed. */
struct lane {
    struct context *context;
    CUstream stream;
    CUevent event;
    struct lane *next;
};

static CUresult in_context(struct context *c, CUresult (*call)(struct lane *), struct lane *l)
{
    struct context *popped;
    CUresult r = context_push(c);
    if (r) return r;
    r = call(l);
    context_pop(&popped);
    return r;
}

static CUresult open_lane(struct lane *l)
{
    CUresult r = cuStreamCreate(&l->stream, CU_STREAM_NON_BLOCKING);
    if (!r && (r = cuEventCreate(&l->event, CU_EVENT_DISABLE_TIMING))) cuStreamDestroy_v2(l->stream);
    return r;
}

static CUresult make_event(struct lane *l) { return cuEventCreate(&l->event, CU_EVENT_DISABLE_TIMING); }

static CUresult close_lane(struct lane *l)
{
    cuEventDestroy_v2(l->event);
    return cuStreamDestroy_v2(l->stream);
}

static CUresult lane_for(struct lane *first, struct context *c, struct lane **out)
{
    for (struct lane *l = first; l; l = l->next)
        if (l->context == c) {
            *out = l;
            return CUDA_SUCCESS;
        }
    struct lane *l = calloc(1, sizeof *l);
    if (!l) return CUDA_ERROR_OUT_OF_MEMORY;
    l->context = c;
    CUresult r = in_context(c, open_lane, l);
    if (r) {
        free(l);
        return r;
    }
    l->next = first->next;
    first->next = l;
    *out = l;
    return r;
}

static CUresult follow(struct lane *behind, struct lane *ahead)
{
    CUresult r = CUDA_SUCCESS;
    if (!ahead->event && (r = in_context(ahead->context, make_event, ahead))) return r;
    if (!(r = cuEventRecord(ahead->event, ahead->stream))) r = cuStreamWaitEvent(behind->stream, ahead->event, 0);
    return r;
}

static struct context *context_of(const struct node *n, struct lane *main)
{
    CUcontext c = NULL;
    switch (n->params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: c = n->params.kernel.ctx; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        c = (CUcontext)event_context((struct event *)n->params.eventRecord.event);
        break;
    default: break;
    }
    return c ? (struct context *)c : main->context;
}

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
    return cuLaunchKernelEx(&config, p->func, p->kernelParams, NULL);
}

static CUresult set_memory(const CUDA_MEMSET_NODE_PARAMS_v2 *p, CUstream s)
{
    switch (p->elementSize) {
    case 1:
        return p->height == 1 ? cuMemsetD8Async(p->dst, (unsigned char)p->value, p->width, s)
                              : cuMemsetD2D8Async(p->dst, p->pitch, (unsigned char)p->value, p->width, p->height, s);
    case 2:
        return p->height == 1 ? cuMemsetD16Async(p->dst, (unsigned short)p->value, p->width, s)
                              : cuMemsetD2D16Async(p->dst, p->pitch, (unsigned short)p->value, p->width, p->height, s);
    default:
        return p->height == 1 ? cuMemsetD32Async(p->dst, p->value, p->width, s)
                              : cuMemsetD2D32Async(p->dst, p->pitch, p->value, p->width, p->height, s);
    }
}

static CUresult perform_all(const struct node_list *order, struct lane *main);

static CUresult perform_child(struct graph *child, struct lane *main)
{
    struct node_list order;
    CUresult r = graph_order(child, &order);
    if (r) return r;
    r = perform_all(&order, main);
    free(order.node);
    return r;
}

static CUresult perform(const struct node *n, CUstream s)
{
    const CUgraphNodeParams *p = &n->params;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return launch_kernel(n, s);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return cuMemcpy3DAsync_v2(&p->memcpy.copyParams, s);
    case CU_GRAPH_NODE_TYPE_MEMSET: return set_memory(&p->memset, s);
    case CU_GRAPH_NODE_TYPE_HOST: return cuLaunchHostFunc(s, p->host.fn, p->host.userData);
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return cuStreamWaitEvent(s, p->eventWait.event, 0);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return cuEventRecord(p->eventRecord.event, s);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return mempool_allocate_kept(n->memory->kept, (struct stream *)s);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return cuMemFreeAsync(p->free.dptr, s);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return cuStreamBatchMemOp_v2(s, p->memOp.count, p->memOp.paramArray, p->memOp.flags);
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static CUresult perform_all(const struct node_list *order, struct lane *main)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < order->count && !r; k++) {
        const struct node *n = order->node[k];
        struct lane *l = main;
        if (n->disabled) continue;
        if (n->child) {
            r = perform_child(n->child, main);
            continue;
        }
        if ((r = lane_for(main, context_of(n, main), &l))) break;
        if (l != main) r = follow(l, main);
        if (!r) r = perform(n, l->stream);
        if (!r && l != main) r = follow(main, l);
    }
    return r;
}

/* A graph runs once at a time, whatever streams it is launched into. */
static CUresult note_done(struct executable *x, struct lane *main)
{
    CUresult r = CUDA_SUCCESS;
    if (x->done && x->context != main->context) {
        cuEventDestroy_v2(x->done);
        x->done = NULL;
    }
    if (!x->done) {
        struct lane l = { .context = main->context };
        if ((r = in_context(l.context, make_event, &l))) return r;
        x->done = l.event;
        x->context = l.context;
        x->context_id = l.context->id;
    }
    return cuEventRecord(x->done, main->stream);
}

/* What the last launch allocated and nobody freed: an error, or freed now. */
static CUresult settle_memory(const struct executable *x, CUstream s)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < x->order.count && !r; k++) {
        bool allocated;
        const struct node *n = x->order.node[k];
        if (!n->memory || !mempool_is_kept(n->memory->kept, &allocated) || !allocated) continue;
        r = x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH ? cuMemFreeAsync(n->memory->kept.address, s)
                                                                       : CUDA_ERROR_INVALID_VALUE;
    }
    return r;
}

/* The event goes with its context. */
bool graph_done_lives(const struct executable *x)
{
    return !atomic_load(&x->context->destroyed) && x->context->id == x->context_id;
}

CUresult graph_launch(struct executable *x, struct stream *s)
{
    struct lane main = { .context = stream_context(s), .stream = (CUstream)s };
    pthread_mutex_lock(&x->launch);
    if (x->done && !graph_done_lives(x)) x->done = NULL;
    CUresult r = atomic_load(&x->valid) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; /* destroyed meanwhile */
    if (!r && x->done) r = cuStreamWaitEvent(main.stream, x->done, 0);
    if (!r) r = settle_memory(x, main.stream);
    if (!r) r = perform_all(&x->order, &main);
    if (!r) r = note_done(x, &main);
    while (main.next) {
        struct lane *l = main.next;
        main.next = l->next;
        in_context(l->context, close_lane, l);
        free(l);
    }
    if (main.event) cuEventDestroy_v2(main.event);
    pthread_mutex_unlock(&x->launch);
    return r;
}
