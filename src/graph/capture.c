/* Which streams and events are captured, and behind which nodes; how captures
 * begin and end. */
#include "graph/capture.h"
#include "base/tree.h"
#include "graph/capture_internal.h"
#include "graph/user.h"

#include <stdlib.h>

_Atomic unsigned capture_count;
struct capture *captures;
static uint64_t newest;

static int by_address(struct member *x, struct member *y)
{
    return (uintptr_t)x->what < (uintptr_t)y->what ? -1 : (uintptr_t)x->what > (uintptr_t)y->what;
}
TREE_FUNCTIONS(members, member, link, by_address)

static struct member *member_of(struct members *set, const void *what)
{
    struct member key = { .what = (void *)what };
    return RB_FIND(members, set, &key);
}

struct member *member_first(struct members *set) { return RB_MIN(members, set); }

struct member *member_next(struct member *m) { return RB_NEXT(members, NULL, m); }

struct capture *capture_of(const struct stream *s, struct member **m)
{
    for (struct capture *c = captures; c; c = c->next)
        if ((*m = member_of(&c->streams, s))) return c;
    return NULL;
}

struct capture *capture_of_event(const struct event *e, struct member **m)
{
    for (struct capture *c = captures; c; c = c->next)
        if ((*m = member_of(&c->events, e))) return c;
    return NULL;
}

bool capture_is_into(const struct graph *g)
{
    for (const struct capture *c = captures; c; c = c->next)
        if (c->graph == g) return true;
    return false;
}

static CUresult copy_list(struct node_list *to, const struct node_list *from)
{
    CUresult r = CUDA_SUCCESS;
    to->count = 0;
    for (unsigned k = 0; k < from->count && !r; k++) r = list_add_edge(to, from->node[k], from->edge[k]);
    return r;
}

CUresult member_enter(struct members *set, void *what, struct context *context, const struct node_list *before)
{
    struct member *m = member_of(set, what);
    if (m) return copy_list(&m->before, before);
    if (!(m = calloc(1, sizeof *m))) return CUDA_ERROR_OUT_OF_MEMORY;
    if (copy_list(&m->before, before)) {
        free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->what = what;
    m->context = context;
    RB_INSERT(members, set, m);
    return CUDA_SUCCESS;
}

void member_leave(struct members *set, struct member *m)
{
    RB_REMOVE(members, set, m);
    list_free(&m->before);
    free(m);
}

/* What comes next comes behind this node of g as well. */
static CUresult follow(struct node_list *l, CUgraphNode handle, const CUgraphEdgeData *data, const struct graph *g)
{
    struct node *n;
    if (node_get(handle, &n) || n->graph != g || !edge_is_permitted(n, CU_GRAPH_NODE_TYPE_KERNEL, data))
        return CUDA_ERROR_INVALID_VALUE;
    return list_has(l, n) ? CUDA_SUCCESS : list_add_edge(l, n, data ? *data : (CUgraphEdgeData){ 0 });
}

/* ---- begin and end */

CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode, struct graph *graph, const CUgraphNode *before,
                       const CUgraphEdgeData *data, size_t count)
{
    struct member *m;
    struct node_list first = { 0 };
    CUresult r;
    if (stream_is_legacy(s)) return (r = capture_refuse(s)) ? r : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = calloc(1, sizeof *c);
    r = c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) r = capture_still(s);
    if (!r && (capture_of(s, &m) || (graph && capture_is_into(graph)))) r = CUDA_ERROR_ILLEGAL_STATE;
    if (!r && graph && !atomic_load(&graph->valid)) r = CUDA_ERROR_INVALID_VALUE; /* destroyed meanwhile */
    for (size_t k = 0; k < count && !r; k++) {
        r = follow(&first, before ? before[k] : NULL, data ? &data[k] : NULL, graph);
    }
    if (!r && !graph)
        r = graph_new(&graph);
    else if (!r)
        c->given = true;
    if (!r) r = member_enter(&c->streams, s, stream_context(s), &first);
    if (!r) {
        c->id = ++newest;
        c->mode = mode;
        c->thread = capture_thread();
        c->graph = graph;
        c->origin = s;
        c->next = captures;
        captures = c;
        atomic_fetch_add(&capture_count, 1);
    } else {
        free(c);
    }
    list_free(&first);
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

static void forget(struct capture *c)
{
    for (struct capture **at = &captures; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    struct member *m;
    while ((m = RB_ROOT(&c->streams))) member_leave(&c->streams, m);
    while ((m = RB_ROOT(&c->events))) {
        event_set_captured(m->what, true);
        member_leave(&c->events, m);
    }
    list_free(&c->left);
    free(c);
    atomic_fetch_sub(&capture_count, 1);
}

static bool reaches(const struct node_list *from, struct graph *g)
{
    /* marks what the nodes come behind; `missing` is free to use under the lock */
    struct node_list todo = { 0 };
    bool failed = false;
    for (unsigned k = 0; k < g->nodes.count; k++) g->nodes.node[k]->missing = 0;
    for (unsigned k = 0; k < from->count; k++) from->node[k]->missing = 1, failed |= list_add(&todo, from->node[k]);
    for (unsigned k = 0; k < todo.count; k++)
        for (unsigned j = 0; j < todo.node[k]->before.count; j++) {
            struct node *n = todo.node[k]->before.node[j];
            if (!n->missing) {
                n->missing = 1;
                failed |= list_add(&todo, n);
            }
        }
    list_free(&todo);
    return !failed;
}

/* Whether all that other streams were given is joined into the origin. */
static bool joined(struct capture *c)
{
    struct member *m, *origin = member_of(&c->streams, c->origin);
    if (!origin || !reaches(&origin->before, c->graph)) return false;
    RB_FOREACH(m, members, &c->streams)
        for (unsigned k = 0; k < m->before.count; k++)
            if (!m->before.node[k]->missing) return false;
    for (unsigned k = 0; k < c->left.count; k++)
        if (!c->left.node[k]->missing) return false;
    return true;
}

CUresult capture_end(struct stream *s, struct graph **out)
{
    struct member *m;
    *out = NULL;
    CUresult r = stream_is_legacy(s) ? capture_refuse(s) : CUDA_SUCCESS;
    if (r) return r;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    if (!c)
        r = CUDA_ERROR_ILLEGAL_STATE;
    else if (c->origin != s) {
        r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        c = NULL;
    } else if (!c->invalid && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != capture_thread())
        r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    else if (c->invalid)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!joined(c))
        r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (c && r && c->graph && !c->graph->parent)
        graph_free(c->graph); /* even the caller's: observed on H200 */
    if (c && !r) *out = c->graph;
    if (c) forget(c);
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

/* ---- what there is */

CUresult capture_describe(struct stream *s, struct capture_info *out)
{
    struct member *m;
    CUresult r = CUDA_SUCCESS;
    *out = (struct capture_info){ .status = CU_STREAM_CAPTURE_STATUS_NONE };
    if (!capture_any()) return r;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    if (c)
        *out =
            (struct capture_info){ c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE,
                                   c->id,
                                   c->graph,
                                   (const CUgraphNode *)m->before.node,
                                   m->before.edge,
                                   m->before.count };
    else if (stream_is_legacy(s)) /* asking is an error while it would order with captured streams */
        for (c = captures; c && !r; c = c->next)
            RB_FOREACH(m, members, &c->streams)
                if (stream_legacy_orders(s, m->what)) r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult capture_set_dependencies(struct stream *s, const CUgraphNode *before, const CUgraphEdgeData *data,
                                  size_t count, bool add)
{
    struct member *m;
    struct node_list list = { 0 };
    CUresult r = stream_is_legacy(s) ? capture_refuse(s) : CUDA_SUCCESS;
    if (r) return r;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    r = !c ? CUDA_ERROR_ILLEGAL_STATE : c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    if (!r && add) r = copy_list(&list, &m->before);
    for (size_t k = 0; k < count && !r; k++) {
        r = follow(&list, before ? before[k] : NULL, data ? &data[k] : NULL, c->graph);
    }
    if (!r) r = copy_list(&m->before, &list);
    list_free(&list);
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

/* ---- streams and events that end */

/* A stream that is no more need not be joined, but the last nodes that it was given must be. */
static void leave_stream(struct capture *c, struct member *m)
{
    for (unsigned k = 0; k < m->before.count; k++)
        if (list_add(&c->left, m->before.node[k])) c->invalid = true;
    member_leave(&c->streams, m);
}

/* It can be ended by nobody any more. */
static void abandon(struct capture *c)
{
    if (!c->given) graph_free(c->graph);
    forget(c);
}

static void forget_stream(struct stream *s)
{
    struct member *m;
    if (!capture_any()) return;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    const bool began = c && c->origin == s;
    if (began)
        abandon(c);
    else if (c)
        leave_stream(c, m);
    pthread_mutex_unlock(&graphs_lock);
    if (began) user_objects_bury();
}

/* Which may be a body or child, and go with what it is in. Its place is another graph's soon. */
void capture_forget_graph(const struct graph *g)
{
    for (struct capture *c = captures; c; c = c->next) {
        if (c->graph != g) continue;
        c->graph = NULL;
        c->invalid = true;
    }
}

void capture_forget_event(struct event *e)
{
    struct member *m;
    if (!capture_any()) return;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of_event(e, &m);
    if (c) member_leave(&c->events, m);
    pthread_mutex_unlock(&graphs_lock);
}

/* A dying context takes its streams and events along. */
static void leave_context(struct members *set, const struct context *context)
{
    struct member *m, *next;
    RB_FOREACH_SAFE(m, members, set, next)
        if (m->context == context) member_leave(set, m);
}

static void forget_context(struct context *context)
{
    if (!capture_any()) return;
    pthread_mutex_lock(&graphs_lock);
    for (struct capture *c = captures, *next; c; c = next) {
        next = c->next;
        struct member *m, *origin = member_of(&c->streams, c->origin);
        bool gone = !origin || origin->context == context;
        RB_FOREACH(m, members, &c->streams) c->invalid |= m->context == context;
        leave_context(&c->streams, context);
        leave_context(&c->events, context);
        if (gone) abandon(c);
    }
    pthread_mutex_unlock(&graphs_lock);
    user_objects_bury();
}

void capture_init(void) { streams_on_end(forget_stream, forget_context); }
