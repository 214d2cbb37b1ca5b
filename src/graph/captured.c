/* What the program issues while streams are captured: operations become nodes,
 * events carry a capture from stream to stream, and what cannot be done
 * meanwhile is refused. */
#include "graph/capture.h"
#include "graph/capture_internal.h"

#include <string.h>

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

uint64_t capture_thread(void)
{
    static _Atomic uint64_t newest;
    static _Thread_local uint64_t number;
    if (!number) number = atomic_fetch_add(&newest, 1) + 1;
    return number;
}

static CUresult add_all(struct node_list *to, const struct node_list *from)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < from->count && !r; k++)
        if (!list_has(to, from->node[k])) r = list_add_edge(to, from->node[k], from->edge[k]);
    return r;
}

/* ---- operations */

/* s is not captured, but would wait for a stream that is. */
static CUresult implicit(struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    if (!stream_is_legacy(s)) return r;
    for (struct capture *c = captures; c; c = c->next)
        for (struct member *m = member_first(&c->streams); m; m = member_next(m))
            if (stream_legacy_orders(s, m->what)) r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return r;
}

/* What the kernels among these nodes let begin before they end. */
static void loosen(struct node_list *l)
{
    for (unsigned k = 0; k < l->count; k++)
        if (l->node[k]->params.type == CU_GRAPH_NODE_TYPE_KERNEL && !l->edge[k].type)
            l->edge[k] = (CUgraphEdgeData){ .from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                            .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC };
}

struct kernel_extras {
    const CUlaunchAttribute *attributes;
    unsigned count;
    bool programmatic;
};

static bool capture_into(struct stream *s, const CUgraphNodeParams *params, struct kernel_extras kernel,
                         CUdeviceptr *address, CUresult *r)
{
    struct member *m;
    struct node *n;
    if (!capture_any()) return false;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of(s, &m);
    if (c && kernel.programmatic) loosen(&m->before);
    if (!c) {
        *r = implicit(s);
    } else if (c->invalid) {
        *r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    } else if (!(*r = node_add(c->graph, (CUgraphNode *)m->before.node, m->before.edge, m->before.count, params, &n))) {
        n->attributes = kernel.count < NODE_ATTRIBUTES ? kernel.count : NODE_ATTRIBUTES;
        if (n->attributes) memcpy(n->attribute, kernel.attributes, n->attributes * sizeof *n->attribute);
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
                    unsigned count, bool programmatic, CUresult *r)
{
    return capture_into(s, params, (struct kernel_extras){ attributes, count, programmatic }, NULL, r);
}

bool capture_node(struct stream *s, const CUgraphNodeParams *params, CUresult *r)
{
    return capture_into(s, params, (struct kernel_extras){ 0 }, NULL, r);
}

bool capture_alloc(struct stream *s, const CUgraphNodeParams *params, CUdeviceptr *address, CUresult *r)
{
    return capture_into(s, params, (struct kernel_extras){ 0 }, address, r);
}

static bool record(struct event *e, struct stream *s, const CUgraphEdgeData *edge, CUresult *r)
{
    struct member *m;
    pthread_mutex_lock(&graphs_lock);
    struct capture *old, *c = capture_of(s, &m);
    struct member *was;
    *r = c && c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    while (!*r && (old = capture_of_event(e, &was)) && old != c) member_leave(&old->events, was);
    if (!c)
        *r = implicit(s);
    else if (!*r)
        *r = member_enter(&c->events, e, event_context(e), &m->before);
    if (c && !*r && edge && capture_of_event(e, &was))
        for (unsigned k = 0; k < was->before.count; k++) was->before.edge[k] = *edge;
    if (c && !*r) event_set_captured(e, false); /* that one is not over */
    pthread_mutex_unlock(&graphs_lock);
    return c || *r;
}

bool capture_record(struct event *e, struct stream *s, bool external, CUresult *r)
{
    if (!capture_any()) return false;
    if (!external) return record(e, s, NULL, r);
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { (CUevent)e } };
    return capture_node(s, &p, r);
}

bool capture_record_launch(struct event *e, struct stream *s, CUgraphEdgeData edge, CUresult *r)
{
    return capture_any() && record(e, s, &edge, r);
}

/* The event's capture takes the stream in. */
static CUresult join(struct capture *of_event, struct member *record, struct capture *of_stream, struct member *m,
                     struct stream *s)
{
    if (of_stream && of_stream != of_event) {
        of_stream->invalid = true;
        return spoil(of_event, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (of_stream) return add_all(&m->before, &record->before);
    if (stream_is_legacy(s)) return spoil(of_event, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CUresult r = capture_still(s);
    return r ? r : member_enter(&of_event->streams, s, stream_context(s), &record->before);
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
    const bool over = event_was_captured(e) || (of_event && of_event->invalid); /* the same: observed on H200 */
    if (of_stream && of_stream->invalid)
        *r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (of_stream && over)
        *r = spoil(of_stream, CUDA_ERROR_INVALID_VALUE);
    else if (of_event && over)
        *r = (*r = implicit(s)) ? *r : CUDA_ERROR_INVALID_VALUE;
    else if (of_event)
        *r = join(of_event, record, of_stream, m, s);
    else if (of_stream) /* before its first record an event is nothing to wait for */
        *r = event_was_recorded(e) ? spoil(of_stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION) : CUDA_SUCCESS;
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

bool capture_has(const struct stream *s)
{
    struct member *m;
    if (!capture_any()) return false;
    pthread_mutex_lock(&graphs_lock);
    const bool has = capture_of(s, &m) != NULL;
    pthread_mutex_unlock(&graphs_lock);
    return has;
}

CUresult capture_order(struct stream *s)
{
    if (!capture_any() || !stream_is_legacy(s)) return CUDA_SUCCESS;
    pthread_mutex_lock(&graphs_lock);
    CUresult r = implicit(s);
    pthread_mutex_unlock(&graphs_lock);
    return r;
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
        for (struct member *m = member_first(&c->streams); m; m = member_next(m))
            if (m->context == context) r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    pthread_mutex_unlock(&graphs_lock);
    return r;
}

static CUresult refuse_event(struct event *e, bool spoils)
{
    struct member *m;
    const CUresult over = event_was_captured(e) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!capture_any()) return over;
    pthread_mutex_lock(&graphs_lock);
    struct capture *c = capture_of_event(e, &m);
    const bool invalid = c && c->invalid; /* as one that is over: observed on H200 */
    if (c && spoils) c->invalid = true;
    pthread_mutex_unlock(&graphs_lock);
    return invalid ? CUDA_ERROR_INVALID_VALUE : c ? CUDA_ERROR_CAPTURED_EVENT : over;
}

CUresult capture_refuse_event(struct event *e) { return refuse_event(e, true); }

CUresult capture_check_event(struct event *e) { return refuse_event(e, false); }

CUresult capture_refuse_unsafe(void)
{
    CUresult r = CUDA_SUCCESS;
    if (!capture_any() || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return r;
    pthread_mutex_lock(&graphs_lock);
    for (struct capture *c = captures; c; c = c->next) {
        bool mine = c->thread == capture_thread() && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
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
