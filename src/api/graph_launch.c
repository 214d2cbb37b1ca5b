/* Launching graphs: what comes before and after the nodes, which are issued by
 * graph_branches.c. A graph runs once at a time; memory and conditions are as
 * they have to be at its beginning; the launch's stream comes after all of it. */
#include "api/graph_launch.h"
#include "api/graph_run.h"
#include "api/green.h"
#include "api/node_check.h"
#include "base/because.h"
#include "graph/conditional.h"
#include "graph/memory.h"
#include "stream/operations.h"

static CUresult make_event(struct context *c, CUevent *e)
{
    struct context *popped;
    CUresult r = context_push(c);
    if (r) return r;
    r = cuEventCreate(e, CU_EVENT_DISABLE_TIMING);
    context_pop(&popped);
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
        if ((r = make_event(c, &x->done))) return r;
        x->context = c;
        x->context_id = c->id;
    }
    return cuEventRecord(x->done, (CUstream)main->stream);
}

/* What the last launch allocated and nobody freed is freed now. */
static CUresult free_rest(const struct graph *g, struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < g->nodes.count && g->counted && !r; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->child) r = free_rest(n->child, s);
        if (n->memory && mempool_is_allocated(n->memory->kept) && !r) r = free_perform(n->memory->kept.address, s);
    }
    return r;
}

/* There is nothing of that. */
static CUresult check_rest(const struct graph *g)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < g->nodes.count && g->counted && !r; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->child) r = check_rest(n->child);
        if (n->memory && mempool_is_allocated(n->memory->kept))
            r = (CUresult)because(CUDA_ERROR_INVALID_VALUE,
                                  "what the last launch allocated is not freed yet, and the graph was not instantiated "
                                  "with CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH");
    }
    return r;
}

static bool allocates(const struct graph *g, CUdeviceptr address)
{
    for (unsigned k = 0; k < g->nodes.count && g->counted; k++) {
        const struct node *n = g->nodes.node[k];
        if ((n->memory && n->memory->kept.address == address) || (n->child && allocates(n->child, address))) return true;
    }
    return false;
}

/* What nodes of g free is allocated, or a node of the whole graph allocates it first. */
static CUresult check_frees(const struct graph *g, const struct graph *whole)
{
    CUresult r = CUDA_SUCCESS;
    struct allocation a;
    for (unsigned k = 0; k < g->nodes.count && g->counted && !r; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->child) r = check_frees(n->child, whole);
        if (n->params.type != CU_GRAPH_NODE_TYPE_MEM_FREE || n->frees_own || space_look(n->params.free.dptr, &a)) continue;
        if (!allocates(whole, n->params.free.dptr))
            r = (CUresult)because(CUDA_ERROR_INVALID_VALUE, "a node frees what is not allocated now");
    }
    return r;
}

/* There is memory for what the nodes allocate, most often in one arena. launch: x's graph, or NULL for an upload. */
static CUresult ready_memory(const struct graph *g, struct stream *s, const void *launch)
{
    CUresult r = CUDA_SUCCESS;
    const struct arena *last = NULL;
    for (unsigned k = 0; k < g->nodes.count && g->counted && !r; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->child) r = ready_memory(n->child, s, launch);
        if (!n->memory || r || n->memory->kept.arena == last) continue;
        r = mempool_ready_arena(n->memory->kept.arena, s, launch);
        last = n->memory->kept.arena;
    }
    return r;
}

CUresult graph_upload(struct executable *x, struct stream *s)
{
    pthread_mutex_lock(&x->launch);
    CUresult r = atomic_load(&x->valid) ? ready_memory(x->edition->graph, s, NULL) : CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&x->launch);
    return r;
}

/* What is issued or looked at later, when nobody is left who could be told, is there: kernels of bodies, and conditions. */
static CUresult check_later(const struct graph *g, bool is_body)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        const struct node *n = g->nodes.node[k];
        if (is_body && n->params.type == CU_GRAPH_NODE_TYPE_KERNEL && !n->disabled) r = launch_check(&n->params.kernel);
        if (n->condition) r = condition_check(n->condition);
        if (n->child) r = check_later(n->child, is_body);
        for (unsigned j = 0; j < n->body_count && !r; j++) r = check_later(n->bodies[j], true);
    }
    return r;
}

/* Conditions begin with their defaults. */
static CUresult assign_defaults(const struct graph *g, struct stream *s)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->condition && n->condition->assign) r = graph_run_assignment(n->condition, s);
        if (n->child && !r) r = assign_defaults(n->child, s);
        for (unsigned j = 0; j < n->body_count && !r; j++) r = assign_defaults(n->bodies[j], s);
    }
    return r;
}

/* What is left to be decided when all is issued, or what the graph keeps alive, has the graph stay until the launch is over. */
static bool has_to_stay(const struct graph *g)
{
    bool has = g->objects;
    for (unsigned k = 0; k < g->nodes.count && !has; k++) {
        const struct node *n = g->nodes.node[k];
        has = n->condition || (n->child && has_to_stay(n->child));
    }
    return has;
}

static void launch_ended(void *arg, CUresult status)
{
    (void)status;
    edition_end(*(struct edition **)arg);
}

/* Whatever of the nodes can be issued, later launches come after it, and it stays until it is done. */
static CUresult issue(struct executable *x, struct graph_run *run)
{
    struct edition *e = x->edition;
    struct stream *s = run->first.stream;
    const bool stays = has_to_stay(e->graph);
    if (stays) edition_begin(e);
    CUresult r = assign_defaults(e->graph, s);
    if (!r) r = graph_run_nodes(run, &run->first, &e->order);
    CUresult noted = note_done(x, &run->first);
    if (stays && stream_call(s, launch_ended, &e, sizeof e)) noted = CUDA_ERROR_OUT_OF_MEMORY; /* it stays for ever */
    return r ? r : noted;
}

/* The event goes with its context, whose memory may be gone as well. */
bool graph_done_lives(const struct executable *x)
{
    struct context *c;
    return !context_check((CUcontext)x->context, &c) && c->id == x->context_id;
}

CUresult graph_launch(struct executable *x, struct stream *s)
{
    struct graph_run run = { .first = { .context = named_context_of(s), .stream = s } };
    pthread_mutex_lock(&x->launch);
    run.of = x->number;
    if (x->done && !graph_done_lives(x)) x->done = NULL;
    const bool frees = x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    struct graph *g = atomic_load(&x->valid) ? x->edition->graph : NULL;
    CUresult r = g ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; /* destroyed meanwhile */
    if (!r && !frees) r = check_rest(g);
    if (!r) r = check_frees(g, g);
    if (!r) r = check_later(g, false);
    if (!r && x->done) r = cuStreamWaitEvent((CUstream)s, x->done, 0);
    if (!r && frees) r = free_rest(g, s);
    if (!r) r = ready_memory(g, s, g);
    if (!r) r = issue(x, &run);
    if (g && graph_has_memory(g)) mempool_launched(g, s);
    lanes_give(run.first.next);
    pthread_mutex_unlock(&x->launch);
    /* what a node did wrong while others were issued is not this call's error */
    return r && r == sticky_get() ? CUDA_SUCCESS : r;
}
