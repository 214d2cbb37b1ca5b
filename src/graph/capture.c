/* Which streams and events are captured, and behind which nodes. */
#include "graph/capture.h"
#include "space/space.h"

#include <stdlib.h>
#include <string.h>

/* A stream in a capture, or an event recorded there, and the nodes that what follows comes behind. */
struct member {
    void *what;
    struct context *context;
    struct node_list before;
    struct member *next;
};

struct capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    pthread_t thread;
    struct graph *graph;
    bool given; /* the graph is the caller's */
    bool invalid;
    struct stream *origin;
    struct member *streams, *events;
    struct capture *next;
};

_Atomic unsigned capture_count;
static struct capture *captures;
static uint64_t newest;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static struct member *member_of(struct member *list, const void *what)
{
    while (list && list->what != what) list = list->next;
    return list;
}

static struct capture *capture_of(const struct stream *s, struct member **m)
{
    for (struct capture *c = captures; c; c = c->next)
        if ((*m = member_of(c->streams, s))) return c;
    return NULL;
}

static struct capture *capture_of_event(const struct event *e, struct member **m)
{
    for (struct capture *c = captures; c; c = c->next)
        if ((*m = member_of(c->events, e))) return c;
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
    for (unsigned k = 0; k < from->count && !r; k++) r = list_add(to, from->node[k]);
    return r;
}

static CUresult add_all(struct node_list *to, const struct node_list *from)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < from->count && !r; k++)
        if (!list_has(to, from->node[k])) r = list_add(to, from->node[k]);
    return r;
}

static CUresult enter(struct member **list, void *what, struct context *context, const struct node_list *before)
{
    struct member *m = member_of(*list, what);
    if (m) return copy_list(&m->before, before);
    if (!(m = calloc(1, sizeof *m))) return CUDA_ERROR_OUT_OF_MEMORY;
    if (copy_list(&m->before, before)) {
        free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->what = what;
    m->context = context;
    m->next = *list;
    *list = m;
    return CUDA_SUCCESS;
}

static void leave(struct member **list, const void *what)
{
    for (; *list; list = &(*list)->next)
        if ((*list)->what == what) {
            struct member *gone = *list;
            *list = gone->next;
            free(gone->before.node);
            free(gone);
            return;
        }
}

static CUresult spoil(struct capture *c, CUresult r)
{
    c->invalid = true;
    return r;
}

/* ---- begin and end */

CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode, struct graph *graph, const CUgraphNode *before,
                       size_t count)
{
    struct member *m;
    struct node_list first = { 0 };
    struct node *n;
    if (stream_is_legacy(s)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = calloc(1, sizeof *c);
    CUresult r = c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && capture_of(s, &m)) r = CUDA_ERROR_ILLEGAL_STATE;
    for (size_t k = 0; k < count && !r; k++) {
        r = before && !node_get(before[k], &n) && n->graph == graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        if (!r) r = list_add(&first, n);
    }
    if (!r && !graph)
        r = graph_new(&graph);
    else if (!r)
        c->given = true;
    if (!r) r = enter(&c->streams, s, stream_context(s), &first);
    if (!r) {
        c->id = ++newest;
        c->mode = mode;
        c->thread = pthread_self();
        c->graph = graph;
        c->origin = s;
        c->next = captures;
        captures = c;
        atomic_fetch_add(&capture_count, 1);
    } else {
        free(c);
    }
    free(first.node);
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
    while (c->streams) leave(&c->streams, c->streams->what);
    while (c->events) leave(&c->events, c->events->what);
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
            if (!n->missing) n->missing = 1, failed |= list_add(&todo, n);
        }
    free(todo.node);
    return !failed;
}

/* Whether all that other streams were given is joined into the origin. */
static bool joined(const struct capture *c)
{
    struct member *origin = member_of(c->streams, c->origin);
    if (!origin || !reaches(&origin->before, c->graph)) return false;
    for (struct member *m = c->streams; m; m = m->next)
        for (unsigned k = 0; k < m->before.count; k++)
            if (!m->before.node[k]->missing) return false;
    return true;
}

CUresult capture_end(struct stream *s, struct graph **out)
{
    struct member *m;
    CUresult r = CUDA_SUCCESS;
    *out = NULL;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    if (!c)
        r = CUDA_ERROR_ILLEGAL_STATE;
    else if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, c = NULL;
    else if (c->origin != s)
        r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED), c = NULL;
    else if (c->invalid)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!joined(c))
        r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (c && r && !c->given) graph_free(c->graph);
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
                                   c->id, c->graph, (const CUgraphNode *)m->before.node, m->before.count };
    else if (stream_is_legacy(s)) /* asking is an error while it would order with captured streams */
        for (c = captures; c && !r; c = c->next)
            for (m = c->streams; m; m = m->next)
                if (stream_legacy_orders(s, m->what)) r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult capture_set_dependencies(struct stream *s, const CUgraphNode *before, size_t count, bool add)
{
    struct member *m;
    struct node *n;
    struct node_list list = { 0 };
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    CUresult r = !c ? CUDA_ERROR_ILLEGAL_STATE : c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    if (!r && add) r = copy_list(&list, &m->before);
    for (size_t k = 0; k < count && !r; k++) {
        r = before && !node_get(before[k], &n) && n->graph == c->graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        if (!r && !list_has(&list, n)) r = list_add(&list, n);
    }
    if (!r) r = copy_list(&m->before, &list);
    free(list.node);
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

/* ---- operations */

/* s is not captured, but would wait for a stream that is. */
static CUresult implicit(struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    if (!stream_is_legacy(s)) return r;
    for (struct capture *c = captures; c; c = c->next)
        for (struct member *m = c->streams; m; m = m->next)
            if (stream_legacy_orders(s, m->what)) r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return r;
}

static bool capture_into(struct stream *s, const CUgraphNodeParams *params, const CUlaunchAttribute *attributes,
                         unsigned count, CUdeviceptr *address, CUresult *r)
{
    struct member *m;
    struct node *n;
    if (!capture_any()) return false;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    if (!c) {
        *r = implicit(s);
    } else if (c->invalid || !atomic_load(&c->graph->valid)) {
        *r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    } else if (!(*r = node_add(c->graph, (CUgraphNode *)m->before.node, m->before.count, params, &n))) {
        n->attributes = count < NODE_ATTRIBUTES ? count : NODE_ATTRIBUTES;
        if (count) memcpy(n->attribute, attributes, n->attributes * sizeof *attributes);
        if (address) *address = n->params.alloc.dptr;
        m->before.count = 0;
        list_add(&m->before, n);
    } else if (params->type != CU_GRAPH_NODE_TYPE_MEM_FREE) { /* a wrong address spoils nothing: observed on H200 */
        c->invalid = true;
    }
    pthread_mutex_unlock(&graphs_lock);
    return c || *r;
}

bool capture_kernel(struct stream *s, const CUgraphNodeParams *params, const CUlaunchAttribute *attributes,
                    unsigned count, CUresult *r)
{
    return capture_into(s, params, attributes, count, NULL, r);
}

bool capture_node(struct stream *s, const CUgraphNodeParams *params, CUresult *r)
{
    return capture_into(s, params, NULL, 0, NULL, r);
}

bool capture_alloc(struct stream *s, const CUgraphNodeParams *params, CUdeviceptr *address, CUresult *r)
{
    return capture_into(s, params, NULL, 0, address, r);
}

bool capture_record(struct event *e, struct stream *s, bool external, CUresult *r)
{
    struct member *m;
    if (!capture_any()) return false;
    if (external) {
        CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { (CUevent)e } };
        return capture_node(s, &p, r);
    }
    pthread_mutex_lock(&graphs_lock);
    struct capture *old, *c = capture_of(s, &m);
    struct member *was;
    while ((old = capture_of_event(e, &was)) && old != c) leave(&old->events, e);
    if (!c)
        *r = implicit(s);
    else if (c->invalid)
        *r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else
        *r = enter(&c->events, e, event_context(e), &m->before);
    pthread_mutex_unlock(&graphs_lock);
    return c || *r;
}

/* The event's capture takes the stream in. */
static CUresult join(struct capture *of_event, struct member *record, struct capture *of_stream, struct member *m,
                     struct stream *s)
{
    if (of_event->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (of_stream && of_stream != of_event) {
        of_stream->invalid = true;
        return spoil(of_event, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (of_stream) return add_all(&m->before, &record->before);
    if (stream_is_legacy(s)) return spoil(of_event, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return enter(&of_event->streams, s, stream_context(s), &record->before);
}

bool capture_wait(struct stream *s, struct event *e, bool external, CUresult *r)
{
    struct member *m, *record;
    if (!capture_any()) return false;
    if (external) {
        CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { (CUevent)e } };
        return capture_node(s, &p, r);
    }
    pthread_mutex_lock(&graphs_lock);
    struct capture *of_stream = capture_of(s, &m), *of_event = capture_of_event(e, &record);
    bool handled = true;
    if (of_event)
        *r = join(of_event, record, of_stream, m, s);
    else if (of_stream && of_stream->invalid)
        *r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (of_stream)
        *r = spoil(of_stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    else
        handled = (*r = implicit(s)) != CUDA_SUCCESS;
    pthread_mutex_unlock(&graphs_lock);
    return handled;
}

/* ---- what must not be done meanwhile */

void capture_spoil(struct stream *s)
{
    struct member *m;
    if (!capture_any()) return;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    if (c) c->invalid = true;
    pthread_mutex_unlock(&graphs_lock);
}

CUresult capture_refuse(struct stream *s)
{
    struct member *m;
    if (!capture_any()) return CUDA_SUCCESS;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    CUresult r = c ? spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : implicit(s);
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult capture_refuse_context(struct context *context)
{
    CUresult r = CUDA_SUCCESS;
    if (!capture_any()) return r;
    pthread_mutex_lock(&graphs_lock);
    for (struct capture *c = captures; c; c = c->next)
        for (struct member *m = c->streams; m; m = m->next)
            if (m->context == context) r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult capture_refuse_event(struct event *e)
{
    struct member *m;
    if (!capture_any()) return CUDA_SUCCESS;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of_event(e, &m);
    CUresult r = c ? spoil(c, CUDA_ERROR_CAPTURED_EVENT) : CUDA_SUCCESS;
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUresult capture_refuse_unsafe(void)
{
    CUresult r = CUDA_SUCCESS;
    if (!capture_any() || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return r;
    pthread_mutex_lock(&graphs_lock);
    for (struct capture *c = captures; c; c = c->next) {
        bool mine = pthread_equal(c->thread, pthread_self()) && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        bool everyones = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (mine || everyones) r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode before = thread_mode;
    thread_mode = mode;
    return before;
}

void capture_forget_stream(struct stream *s)
{
    struct member *m;
    if (!capture_any()) return;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    if (c) {
        c->invalid = true;
        if (c->origin == s) {
            if (!c->given) graph_free(c->graph);
            forget(c);
        } else {
            leave(&c->streams, s);
        }
    }
    pthread_mutex_unlock(&graphs_lock);
}

void capture_forget_event(struct event *e)
{
    struct member *m;
    if (!capture_any()) return;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of_event(e, &m);
    if (c) leave(&c->events, e);
    pthread_mutex_unlock(&graphs_lock);
}

/* ---- a dying context takes its streams and events along */

static void leave_context(struct member **list, const struct context *context)
{
    for (struct member *m = *list, *next; m; m = next) {
        next = m->next;
        if (m->context == context) leave(list, m->what);
    }
}

static void release_context(struct context *context)
{
    if (!capture_any()) return;
    pthread_mutex_lock(&graphs_lock);
    for (struct capture *c = captures, *next; c; c = next) {
        next = c->next;
        struct member *origin = member_of(c->streams, c->origin);
        bool gone = !origin || origin->context == context;
        for (struct member *m = c->streams; m; m = m->next) c->invalid |= m->context == context;
        leave_context(&c->streams, context);
        leave_context(&c->events, context);
        if (!gone) continue;
        if (!c->given) graph_free(c->graph);
        forget(c);
    }
    pthread_mutex_unlock(&graphs_lock);
}

static const struct space_owner owner = { .release_context = release_context };

void capture_init(void) { space_add_owner(&owner); }
