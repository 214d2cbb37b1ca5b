/* In which streams the nodes of a graph run, and what comes after what. Nodes
 * are issued in an order that the graph allows; a node goes behind one that it
 * depends on, if nothing else was put there, or else into a lane of its own. So
 * branches run side by side, and so do nodes of other contexts. */
#include "api/graph_run.h"
#include "stream/point.h"

#include <stdlib.h>

enum { LANES = 8 }; /* beside the first; then branches share */

/* ---- which lane */

/* NULL: it is gone; then the context of the launch does. */
static CUcontext living(CUcontext c)
{
    struct context *real;
    return c && !context_check(c, &real) ? c : NULL;
}

static struct context *context_of(const struct node *n, const struct lane *base)
{
    CUcontext c = NULL;
    switch (n->params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: c = n->params.kernel.ctx; break;
    case CU_GRAPH_NODE_TYPE_MEMSET: c = living(n->params.memset.ctx); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: c = living(n->params.memOp.ctx); break;
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
static struct lane *joined(struct graph_run *run, const struct node *n, const struct context *c)
{
    for (struct lane *l = run->first.next; l; l = l->next)
        for (unsigned k = 0; l->context == c && k < n->before.count; k++)
            if (l->joined == n->before.node[k]->lane) return l;
    return NULL;
}

static CUresult another(struct graph_run *run, struct context *c, struct lane **out)
{
    struct lane *shared = &run->first;
    while (shared && shared->context != c) shared = shared->next;
    struct context *real;
    CUresult r = context_check((CUcontext)c, &real);
    if (r) return r;
    r = shared && run->count >= LANES ? CUDA_ERROR_OUT_OF_MEMORY : lane_take(c, run->of, out);
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

static CUresult choose(struct graph_run *run, struct lane *base, const struct node *n, struct lane **out)
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

/* start: the point before the graph's first node. */
static CUresult issue(struct graph_run *run, struct lane *base, struct mark *start, struct node *n)
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
        r = graph_run_whole(run, l, n->child);
    else if (n->condition)
        r = graph_run_conditional(l, n);
    else if (!n->disabled)
        r = graph_perform(n, (CUstream)l->stream);
    l->tail = n;
    return !r && forks(n) ? mark(n) : r;
}

/* Whether a node that depends on none goes into another lane, which has to come after what base had before. */
static bool has_branches(const struct node_list *order, const struct lane *base)
{
    unsigned roots = 0;
    for (unsigned k = 0; k < order->count; k++) {
        const struct node *n = order->node[k];
        if (!n->before.count && (++roots > 1 || context_of(n, base) != base->context)) return true;
    }
    return false;
}

CUresult graph_run_nodes(struct graph_run *run, struct lane *base, const struct node_list *order)
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

CUresult graph_run_whole(struct graph_run *run, struct lane *l, struct graph *child)
{
    struct node_list order;
    CUresult r = graph_order(child, &order);
    if (r) return r;
    r = graph_run_nodes(run, l, &order);
    list_free(&order);
    return r;
}
