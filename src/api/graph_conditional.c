/* Graph management: conditions, and the turn of a conditional node: a thread of
 * the stream looks at the condition and issues the graph that it selects. The
 * nodes are made by cuGraphAddNode alone. */
#include "api/graph_api.h"
#include "api/graph_run.h"
#include "base/log.h"
#include "stream/operations.h"
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
    if ((r = context_check(ctx, &c)) || (r = context_enter(c))) return r;
    pthread_mutex_lock(&graphs_lock);
    if (!(r = graph_get(hGraph, &g)) && !(r = condition_new(g, c, defaultLaunchValue, flags, &k)))
        *pHandle_out = k->handle;
    pthread_mutex_unlock(&graphs_lock);
    return context_leave(c, r);
}

/* ---- a node's turn */

struct decision {
    struct node *node;
    struct context *context;
};

static struct graph *choice(const struct node *n)
{
    uint32_t value = atomic_load(condition_word(n->condition));
    if (n->params.conditional.type != CU_GRAPH_COND_TYPE_SWITCH) value = !value;
    return value < n->body_count ? n->bodies[value] : NULL;
}

/* Issues what the condition says. */
static CUresult decide(const struct decision *d)
{
    const bool repeats = d->node->params.conditional.type == CU_GRAPH_COND_TYPE_WHILE;
    struct lane *lane;
    struct graph *body;
    CUresult r = lane_take(d->context, 0, &lane);
    if (r) return r;
    while (!r && (body = choice(d->node))) {
        struct graph_run run = { .first = { .context = d->context, .stream = lane->stream } };
        r = graph_run_whole(&run, &run.first, body);
        if (!r) r = stream_synchronize(lane->stream);
        lanes_give(run.first.next);
        if (!repeats) break;
    }
    lanes_give(lane);
    return r;
}

static CUresult assign(void *arg)
{
    const struct condition *c = *(struct condition **)arg;
    if (!condition_check(c)) atomic_store(condition_word(c), c->initial); /* or it ended behind the launch */
    return CUDA_SUCCESS;
}

/* What the program has made impossible behind the launch is no fault of a device's, so it does not stay. */
static CUresult tell(CUresult r)
{
    const char *name;
    if (!r || r == sticky_get() || r == CUDA_ERROR_OUT_OF_MEMORY || cuGetErrorName(r, &name)) return r;
    fl_log(FL_LOG_ERROR, "what a condition selects was not run, or not all of it: %s", name);
    return CUDA_SUCCESS;
}

static CUresult decide_in_context(void *arg)
{
    const struct decision *d = arg;
    struct context *popped;
    CUresult r = condition_check(d->node->condition);
    if (!r && !(r = context_push(d->context))) {
        r = decide(d);
        context_pop(&popped);
    }
    return tell(r);
}

CUresult graph_run_assignment(struct condition *c, struct stream *s)
{
    return stream_enqueue_short(s, assign, &c, sizeof c);
}

CUresult graph_run_conditional(const struct lane *l, struct node *n)
{
    const struct decision d = { n, l->context };
    return stream_enqueue_calls(l->stream, decide_in_context, &d, sizeof d);
}
