/* Launching graphs: each node is issued as the program itself would have done
 * it, in an order that the graph allows. Branches go into lanes, streams of
 * their own beside the launch's stream, so that they run side by side; so do
 * nodes of other contexts. At the end the launch's stream comes after all. */
#include "api/graph_launch.h"
#include "api/green.h"
#include "graph/conditional.h"
#include "graph/lanes.h"
#include "graph/memory.h"
#include "graph/user.h"
#include "stream/point.h"

#include <stdlib.h>

enum { LANES = 8 }; /* beside the first; then branches share */

/* A launch: its first lane is the stream that it is for. */
struct run {
    struct executable *executable;
    struct lane first;
    unsigned count;
};

static CUresult in_context(struct context *c, CUresult (*call)(CUevent *), CUevent *e)
{
    struct context *popped;
    CUresult r = context_push(c);
    if (r) return r;
    r = call(e);
    context_pop(&popped);
    return r;
}

static CUresult make_event(CUevent *e) { return cuEventCreate(e, CU_EVENT_DISABLE_TIMING); }

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

/* ---- which lane */

static struct context *context_of(const struct node *n, const struct lane *base)
{
    CUcontext c = NULL;
    switch (n->params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: c = n->params.kernel.ctx; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        c = (CUcontext)event_context((struct event *)n->params.eventRecord.event);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: c = n->params.conditional.ctx; break;
    default: break;
    }
    return c ? (struct context *)c : base->context;
}

/* Behind one of the nodes that n depends on, if nothing else was put there. */
static struct lane *behind_another(const struct node *n, const struct context *c)
{
    for (unsigned k = 0; k < n->before.count; k++) {
        struct lane *l = n->before.node[k]->lane;
        if (l->tail == n->before.node[k] && l->context == c) return l;
    }
    return NULL;
}

/* A lane of which n comes after everything anyway. */
static struct lane *joined(struct run *run, const struct node *n, const struct context *c)
{
    for (struct lane *l = run->first.next; l; l = l->next)
        for (unsigned k = 0; l->context == c && k < n->before.count; k++)
            if (l->joined == n->before.node[k]->lane) return l;
    return NULL;
}

static CUresult another(struct run *run, struct context *c, struct lane **out)
{
    struct lane *shared = &run->first;
    while (shared && shared->context != c) shared = shared->next;
    struct context *real;
    CUresult r = context_check((CUcontext)c, &real);
    if (r) return r;
    r = shared && run->count >= LANES ? CUDA_ERROR_OUT_OF_MEMORY : lane_take(c, out);
    if (!r) {
        (*out)->next = run->first.next;
        run->first.next = *out;
        run->count++;
    } else if (shared) {
        *out = shared;
        r = CUDA_SUCCESS;
    }
    return r;
}

static CUresult choose(struct run *run, struct lane *base, const struct node *n, struct lane **out)
{
    struct context *c = context_of(n, base);
    if (!n->before.count && !base->tail && base->context == c)
        *out = base;
    else if (!(*out = behind_another(n, c)) && !(*out = joined(run, n, c)))
        return another(run, c, out);
    return CUDA_SUCCESS;
}

/* ---- order between lanes */

static CUresult mark(struct node *n)
{
    if (n->marked) return CUDA_SUCCESS;
    n->marked = true;
    return stream_mark(n->lane->stream, &n->mark);
}

static CUresult follow(struct lane *l, struct node *n)
{
    CUresult r = mark(n);
    if (!r) r = stream_follow(l->stream, n->mark);
    if (n->lane->tail == n) n->lane->joined = l;
    return r;
}

/* l comes after all that is in the other one. */
static CUresult join(struct lane *l, struct lane *other)
{
    struct mark *m;
    CUresult r = stream_mark(other->stream, &m);
    if (r) return r;
    r = stream_follow(l->stream, m);
    point_release(m);
    other->joined = l;
    return r;
}

/* Others than the next node in its lane come after n, so its own point is worth knowing. */
static bool forks(const struct node *n)
{
    return n->after.count > 1 || (n->after.count && n->after.node[0]->before.count > 1);
}

static CUresult perform_all(struct run *run, struct lane *base, const struct node_list *order);

static CUresult perform_child(struct run *run, struct lane *l, struct graph *child)
{
    struct node_list order;
    CUresult r = graph_order(child, &order);
    if (r) return r;
    r = perform_all(run, l, &order);
    free(order.node);
    return r;
}

/* ---- conditional nodes: a thread of the stream looks at the condition when their turn comes */

struct decision {
    struct executable *executable;
    struct node *node;
    struct context *context;
};

static struct graph *choice(const struct node *n)
{
    uint32_t value = atomic_load(condition_word(n->condition));
    if (n->params.conditional.type != CU_GRAPH_COND_TYPE_SWITCH) value = !value;
    return value < n->body_count ? n->bodies[value] : NULL;
}

/* Issues what the condition says, if anything. */
static CUresult issue_choice(struct run *run, const struct node *n, bool *chosen)
{
    CUresult r = CUDA_SUCCESS;
    pthread_rwlock_rdlock(&run->executable->bodies);
    struct graph *body = choice(n);
    *chosen = body;
    if (body) r = perform_child(run, &run->first, body);
    pthread_rwlock_unlock(&run->executable->bodies);
    return r;
}

static CUresult decide(const struct decision *d)
{
    struct lane *lane;
    bool again = true;
    CUresult r = lane_take(d->context, &lane);
    if (r) return r;
    while (again && !r) {
        struct run run = { .executable = d->executable, .first = { .context = d->context, .stream = lane->stream } };
        r = issue_choice(&run, d->node, &again);
        if (again && !r) r = stream_synchronize(lane->stream);
        lanes_give(run.first.next);
        if (d->node->params.conditional.type != CU_GRAPH_COND_TYPE_WHILE) break;
    }
    lanes_give(lane);
    return r;
}

static void decided(struct executable *x)
{
    pthread_mutex_lock(&graphs_lock);
    bool last = !--x->pending && x->orphan;
    if (last) executable_free(x);
    pthread_mutex_unlock(&graphs_lock);
    if (last) user_objects_bury();
}

static CUresult decide_in_context(void *arg)
{
    const struct decision *d = arg;
    struct context *popped;
    CUresult r = context_push(d->context);
    if (!r) {
        r = decide(d);
        context_pop(&popped);
    }
    decided(d->executable);
    return r;
}

static CUresult perform_conditional(struct run *run, const struct lane *l, struct node *n)
{
    const struct decision d = { run->executable, n, l->context };
    pthread_mutex_lock(&graphs_lock);
    d.executable->pending++;
    pthread_mutex_unlock(&graphs_lock);
    CUresult r = stream_enqueue(l->stream, decide_in_context, &d, sizeof d);
    if (r) decided(d.executable);
    return r;
}

/* start: the point before the graph's first node. */
static CUresult issue(struct run *run, struct lane *base, struct mark *start, struct node *n)
{
    struct lane *l;
    CUresult r = choose(run, base, n, &l);
    if (!r && !n->before.count && l != base) r = stream_follow(l->stream, start);
    for (unsigned k = 0; k < n->before.count && !r; k++)
        if (n->before.node[k]->lane != l) r = follow(l, n->before.node[k]);
    if (r) return r;
    l->joined = NULL;
    l->tail = n;
    n->lane = l;
    if (n->child)
        r = perform_child(run, l, n->child);
    else if (n->condition)
        r = perform_conditional(run, l, n);
    else if (!n->disabled)
        r = perform(n, (CUstream)l->stream);
    l->tail = n;
    return !r && forks(n) ? mark(n) : r;
}

static bool has_branches(const struct node_list *order, const struct lane *base)
{
    unsigned roots = 0;
    for (unsigned k = 0; k < order->count; k++) {
        const struct node *n = order->node[k];
        if (!n->before.count && (++roots > 1 || context_of(n, base) != base->context)) return true;
    }
    return false;
}

/* What is issued stays ordered, even if the rest cannot be. */
static CUresult perform_all(struct run *run, struct lane *base, const struct node_list *order)
{
    struct mark *start = NULL;
    CUresult r = CUDA_SUCCESS, j;
    base->tail = NULL;
    for (unsigned k = 0; k < order->count; k++) {
        order->node[k]->lane = NULL;
        order->node[k]->mark = NULL;
        order->node[k]->marked = false;
    }
    if (has_branches(order, base)) r = stream_mark(base->stream, &start);
    for (unsigned k = 0; k < order->count && !r; k++) r = issue(run, base, start, order->node[k]);
    for (struct lane *l = &run->first; l; l = l->next) {
        const struct node *n = l->tail;
        if (l == base || !n || !order->count || n->graph != order->node[0]->graph) continue;
        if ((r || !n->after.count) && (j = join(base, l)) && !r) r = j;
        l->tail = NULL;
    }
    for (unsigned k = 0; k < order->count; k++) point_release(order->node[k]->mark);
    point_release(start);
    return r;
}

/* A graph runs once at a time, whatever streams it is launched into. */
static CUresult note_done(struct executable *x, const struct lane *main)
{
    struct context *c = stream_context(main->stream);
    CUresult r = CUDA_SUCCESS;
    if (x->done && x->context != c) {
        cuEventDestroy_v2(x->done);
        x->done = NULL;
    }
    if (!x->done) {
        if ((r = in_context(c, make_event, &x->done))) return r;
        x->context = c;
        x->context_id = c->id;
    }
    return cuEventRecord(x->done, (CUstream)main->stream);
}

/* What the last launch allocated and nobody freed: an error, or freed now. */
static CUresult settle_memory(const struct executable *x, const struct graph *g, CUstream s)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        bool allocated;
        const struct node *n = g->nodes.node[k];
        if (n->child) r = settle_memory(x, n->child, s);
        if (!n->memory || !mempool_is_kept(n->memory->kept, &allocated) || !allocated) continue;
        r = x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH ? cuMemFreeAsync(n->memory->kept.address, s)
                                                                       : CUDA_ERROR_INVALID_VALUE;
    }
    return r;
}

static CUresult assign(void *arg)
{
    struct condition *c = *(struct condition **)arg;
    atomic_store(condition_word(c), c->initial);
    return CUDA_SUCCESS;
}

/* Conditions begin with their defaults. */
static CUresult assign_defaults(const struct graph *g, struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->condition && n->condition->assign)
            r = stream_enqueue_short(s, assign, &n->condition, sizeof n->condition);
        for (unsigned j = 0; j < n->body_count && !r; j++) r = assign_defaults(n->bodies[j], s);
    }
    return r;
}

/* The event goes with its context, whose memory may be gone as well. */
bool graph_done_lives(const struct executable *x)
{
    struct context *c;
    return !context_check((CUcontext)x->context, &c) && c->id == x->context_id;
}

static struct context *context_named(struct stream *s)
{
    const struct green *g = green_of(s);
    return g ? g->named : stream_context(s);
}

CUresult graph_launch(struct executable *x, struct stream *s)
{
    struct run run = { .executable = x, .first = { .context = context_named(s), .stream = s } };
    pthread_mutex_lock(&x->launch);
    if (x->done && !graph_done_lives(x)) x->done = NULL;
    CUresult r = atomic_load(&x->valid) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; /* destroyed meanwhile */
    if (!r && x->done) r = cuStreamWaitEvent((CUstream)s, x->done, 0);
    if (!r) r = settle_memory(x, x->graph, (CUstream)s);
    if (!r) r = assign_defaults(x->graph, s);
    if (!r) r = perform_all(&run, &run.first, &x->order);
    if (!r) r = note_done(x, &run.first);
    lanes_give(run.first.next);
    pthread_mutex_unlock(&x->launch);
    return r;
}
