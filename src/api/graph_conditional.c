/* Graph management: conditions, and the turn of a conditional node: a thread of
 * the stream looks at the condition and issues the graph that it selects. The
 * nodes are made by cuGraphAddNode alone. */
#include "api/graph_api.h"
#include "api/graph_run.h"
#include "stream/operations.h"
#include "graph/conditional.h"
#include "graph/user.h"

CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph, CUcontext ctx,
                                                unsigned int defaultLaunchValue, unsigned int flags)
{
    struct context *c = NULL;
    struct graph *g;
    struct condition *k;
    CUresult r = graph_ready();
    if (r) return r;
    if (!pHandle_out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    if ((r = context_check(ctx, &c))) return r;
    pthread_mutex_lock(&graphs_lock);
    if (!(r = graph_get(hGraph, &g)) && !(r = condition_new(g, c, defaultLaunchValue, flags, &k)))
        *pHandle_out = k->handle;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

/* ---- a node's turn */

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
static CUresult issue_choice(struct graph_run *run, const struct node *n, bool *chosen)
{
    CUresult r = CUDA_SUCCESS;
    pthread_rwlock_rdlock(&run->executable->bodies);
    struct graph *body = choice(n);
    *chosen = body;
    if (body) r = graph_run_whole(run, &run->first, body);
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
        struct graph_run run = { .executable = d->executable, .first = { .context = d->context, .stream = lane->stream } };
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

struct assignment {
    struct executable *executable;
    struct condition *condition;
};

static CUresult assign(void *arg)
{
    const struct assignment *a = arg;
    atomic_store(condition_word(a->condition), a->condition->initial);
    decided(a->executable);
    return CUDA_SUCCESS;
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

static void begin_pending(struct executable *x)
{
    pthread_mutex_lock(&graphs_lock);
    x->pending++;
    pthread_mutex_unlock(&graphs_lock);
}

static void launch_ended(void *arg, CUresult status)
{
    (void)status;
    decided(*(struct executable **)arg);
}

CUresult graph_run_end(struct executable *x, struct stream *s)
{
    begin_pending(x);
    CUresult r = stream_call(s, launch_ended, &x, sizeof x);
    if (r) decided(x);
    return r;
}

CUresult graph_run_assignment(struct executable *x, struct condition *c, struct stream *s)
{
    const struct assignment a = { x, c };
    begin_pending(x);
    CUresult r = stream_enqueue_short(s, assign, &a, sizeof a);
    if (r) decided(x);
    return r;
}

CUresult graph_run_conditional(struct graph_run *run, const struct lane *l, struct node *n)
{
    const struct decision d = { run->executable, n, l->context };
    begin_pending(d.executable);
    CUresult r = stream_enqueue(l->stream, decide_in_context, &d, sizeof d);
    if (r) decided(d.executable);
    return r;
}
