/* Stream capture, as a program sees it. */
#include "capture_rig.h"

#include <pthread.h>

static void what_is_captured_happens_at_every_launch_and_not_before(void **state)
{
    (void)state;
    static int calls;
    uint32_t host[4] = { 0 };
    calls = 0;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(cuMemsetD32Async(memory, 5, 1024, a));
    ok(rig_launch(add, memory, 1024, 3, a));
    ok(cuMemcpyDtoHAsync(host, memory + 4092, 4, a));
    ok(cuMemcpyAsync(memory + 8, memory, 8, a));
    ok(cuLaunchHostFunc(a, count, &calls));
    CUgraphExec x = finish(NULL);
    assert_int_equal(rig_word(memory), 0);
    run(x);
    assert_int_equal(host[0], 8);
    run(x);
    run(x);
    assert_int_equal(calls, 3);
    assert_int_equal(rig_word(memory), 8);
    ok(cuGraphExecDestroy(x));
    assert_int_equal(cuGraphLaunch(x, a), CUDA_ERROR_INVALID_VALUE);
}

static void parameters_are_those_of_the_time_of_capture(void **state)
{
    (void)state;
    CUdeviceptr p = memory;
    uint32_t n = 16, v = 11;
    void *params[] = { &p, &n, &v };
    start(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    ok(cuLaunchKernel(fill, 1, 1, 1, 128, 1, 1, 0, a, params, NULL));
    p = 0;
    n = 0;
    v = 0;
    CUgraphExec x = finish(NULL);
    run(x);
    assert_int_equal(rig_word(memory + 60), 11);
    ok(cuGraphExecDestroy(x));
}

static void events_carry_a_capture_to_other_streams_and_back(void **state)
{
    (void)state;
    CUevent fork, join;
    CUstreamCaptureStatus status;
    CUgraph g;
    size_t nodes = 0, edges = 0;
    ok(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    ok(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(rig_launch(fill, memory, 512, 1, a));
    ok(cuEventRecord(fork, a));
    ok(cuStreamWaitEvent(b, fork, 0));
    ok(cuStreamIsCapturing(b, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(rig_launch(fill, memory + 2048, 512, 2, b));
    ok(rig_launch(add, memory, 512, 10, a));
    ok(cuEventRecord(join, b));
    ok(cuStreamWaitEvent(a, join, 0));
    ok(rig_launch(add, memory, 1024, 100, a));
    CUgraphExec x = finish(&g);
    ok(cuStreamIsCapturing(b, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ok(cuGraphGetNodes(g, NULL, &nodes));
    ok(cuGraphGetEdges(g, NULL, NULL, NULL, &edges));
    assert_int_equal(nodes, 4);
    assert_int_equal(edges, 4);
    run(x);
    assert_int_equal(rig_word(memory), 111);
    assert_int_equal(rig_word(memory + 4092), 102);
    ok(cuGraphDestroy(g));
    ok(cuGraphExecDestroy(x));
    ok(cuEventDestroy(fork));
    ok(cuEventDestroy(join));
}

static void what_waits_for_an_event_outside_runs_though_the_event_was_captured_since(void **state)
{
    (void)state;
    CUevent e;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(cuStreamWaitEvent(a, e, CU_EVENT_WAIT_EXTERNAL));
    ok(cuEventRecord(e, a));
    ok(rig_launch(fill, memory, 16, 1, a));
    CUgraphExec x = finish(NULL);
    assert_int_equal(cuStreamWaitEvent(b, e, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
    run(x);
    assert_int_equal(rig_word(memory), 1);
    ok(cuGraphExecDestroy(x));
    /* captured once more, by a capture that is not over */
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(cuEventRecord(e, a));
    assert_int_equal(cuStreamWaitEvent(b, e, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE);
    ok(cuGraphExecDestroy(finish(NULL)));
    ok(cuEventDestroy(e));
}

static void a_capture_ends_with_an_error_while_a_stream_is_not_joined(void **state)
{
    (void)state;
    CUevent e;
    CUgraph g;
    CUstreamCaptureStatus status;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(rig_launch(fill, memory, 16, 1, a));
    ok(cuEventRecord(e, a));
    ok(cuStreamWaitEvent(b, e, 0));
    ok(rig_launch(fill, memory, 16, 2, b));
    assert_int_equal(cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_null(g);
    ok(cuStreamIsCapturing(b, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ok(cuEventDestroy(e));
}

/* Some are recorded again, and some destroyed, in another order. */
static void each_of_many_events_leads_to_where_it_was_recorded_last(void **state)
{
    (void)state;
    enum { EVENTS = 300 };
    CUevent e[EVENTS];
    CUgraphNode last[EVENTS];
    CUgraph g;
    CUstreamCaptureStatus status;
    const CUgraphNode *before;
    size_t n;
    for (int k = 0; k < EVENTS; k++) ok(cuEventCreate(&e[k], CU_EVENT_DISABLE_TIMING));
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    for (int k = 0; k < 2 * EVENTS; k++) {
        const int which = k < EVENTS ? k : k * 7 % EVENTS;
        if (k >= EVENTS && which % 2) continue;
        ok(rig_launch(add, memory, 1, 1, a));
        ok(cuStreamGetCaptureInfo(a, &status, NULL, NULL, &before, NULL, &n));
        last[which] = before[0];
        ok(cuEventRecord(e[which], a));
    }
    for (int k = 0; k < EVENTS; k += 3) ok(cuEventDestroy(e[k]));
    for (int k = 0; k < EVENTS; k++) {
        if (k % 3 == 0) continue;
        CUstream branch = rig_stream();
        ok(cuStreamWaitEvent(branch, e[k], 0));
        ok(cuStreamGetCaptureInfo(branch, &status, NULL, NULL, &before, NULL, &n));
        assert_int_equal(n, 1);
        assert_ptr_equal(before[0], last[k]);
        ok(cuEventDestroy(e[k]));
        ok(cuStreamDestroy(branch));
    }
    ok(cuStreamEndCapture(a, &g));
    ok(cuGraphDestroy(g));
}

/* As programs do that make a stream for each branch. The branch may even be joined later. */
static void a_forked_stream_may_be_destroyed_but_its_work_must_be_joined(void **state)
{
    (void)state;
    enum { JOINED, LATER, NEVER };
    CUevent e;
    CUgraph g;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    for (int when = JOINED; when <= NEVER; when++) {
        CUstream branch = rig_stream();
        start(CU_STREAM_CAPTURE_MODE_RELAXED);
        ok(rig_launch(fill, memory, 1024, 1, a));
        ok(cuEventRecord(e, a));
        ok(cuStreamWaitEvent(branch, e, 0));
        ok(rig_launch(add, memory, 512, 2, branch));
        ok(rig_launch(add, memory + 2048, 512, 4, a));
        ok(cuEventRecord(e, branch));
        if (when == JOINED) ok(cuStreamWaitEvent(a, e, 0));
        ok(cuStreamDestroy(branch));
        if (when == LATER) ok(cuStreamWaitEvent(a, e, 0));
        ok(rig_launch(add, memory, 1024, 8, a));
        if (when == NEVER) {
            assert_int_equal(cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
            break;
        }
        CUgraphExec x = finish(NULL);
        run(x);
        assert_int_equal(rig_word(memory), 11);
        assert_int_equal(rig_word(memory + 4092), 13);
        ok(cuGraphExecDestroy(x));
    }
    ok(cuEventDestroy(e));
}

static void a_capture_may_end_without_giving_the_graph_again(void **state)
{
    (void)state;
    CUstreamCaptureStatus status;
    CUgraph g;
    CUgraphExec x;
    const CUgraphNode *before;
    const CUgraphEdgeData *edges = NULL, zeros = { 0 };
    size_t n;
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(rig_launch(fill, memory, 16, 7, a));
    ok(cuStreamGetCaptureInfo(a, &status, NULL, &g, &before, &edges, &n));
    assert_int_equal(n, 1);
    assert_non_null(edges);
    assert_memory_equal(edges, &zeros, sizeof zeros);
    ok(cuStreamEndCapture(a, NULL));
    ok(cuStreamIsCapturing(a, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphDestroy(g));
    run(x);
    assert_int_equal(rig_word(memory), 7);
    ok(cuGraphExecDestroy(x));
    assert_int_equal(cuStreamEndCapture(a, NULL), CUDA_ERROR_ILLEGAL_STATE);
}

static void a_capture_is_ended_where_it_began(void **state)
{
    (void)state;
    CUevent e;
    CUgraph g;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    assert_int_equal(cuStreamEndCapture(a, &g), CUDA_ERROR_ILLEGAL_STATE);
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    ok(cuEventRecord(e, a));
    ok(cuStreamWaitEvent(b, e, 0));
    assert_int_equal(cuStreamEndCapture(b, &g), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    assert_int_equal(cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamBeginCapture(a, 3), CUDA_ERROR_INVALID_VALUE);
    ok(cuEventDestroy(e));
}

static void *end_elsewhere(void *arg)
{
    CUgraph g;
    rig_context(0);
    *(CUresult *)arg = cuStreamEndCapture(a, &g);
    return NULL;
}

static void a_capture_is_lost_when_another_thread_ends_it_unless_relaxed(void **state)
{
    (void)state;
    CUgraph g;
    CUresult r;
    pthread_t t;
    start(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    pthread_create(&t, NULL, end_elsewhere, &r);
    pthread_join(t, NULL);
    assert_int_equal(r, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    assert_int_equal(cuStreamEndCapture(a, &g), CUDA_ERROR_ILLEGAL_STATE);
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    pthread_create(&t, NULL, end_elsewhere, &r);
    pthread_join(t, NULL);
    ok(r);
}

static void *begin_here(void *arg)
{
    rig_context(0);
    ok(cuStreamBeginCapture(arg, CU_STREAM_CAPTURE_MODE_GLOBAL));
    return NULL;
}

static void a_thread_takes_the_capture_of_its_own_stream_along(void **state)
{
    (void)state;
    CUstreamCaptureStatus captured;
    CUdeviceptr p;
    pthread_t t;
    pthread_create(&t, NULL, begin_here, CU_STREAM_PER_THREAD);
    pthread_join(t, NULL);
    ok(cuMemAlloc(&p, 4)); /* which a capture would forbid */
    ok(cuMemFree(p));
    for (int k = 0; k < 200; k++) {
        CUstream s = rig_stream();
        ok(cuStreamIsCapturing(s, &captured));
        assert_int_equal(captured, CU_STREAM_CAPTURE_STATUS_NONE);
        ok(cuStreamDestroy(s));
    }
}

static void a_later_thread_is_another_even_if_the_system_calls_it_the_same(void **state)
{
    (void)state;
    CUresult r;
    pthread_t t;
    pthread_create(&t, NULL, begin_here, a);
    pthread_join(t, NULL);
    pthread_create(&t, NULL, end_elsewhere, &r);
    pthread_join(t, NULL);
    assert_int_equal(r, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

/* The call fails with `error` while a is captured, and spoils the capture. */
#define spoils(mode, call, error) \
    do { \
        CUgraph g_; \
        CUstreamCaptureStatus s_; \
        start(mode); \
        assert_int_equal(call, error); \
        ok(cuStreamIsCapturing(a, &s_)); \
        assert_int_equal(s_, CU_STREAM_CAPTURE_STATUS_INVALIDATED); \
        assert_int_equal(rig_launch(fill, memory, 1, 1, a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED); \
        assert_int_equal(cuStreamEndCapture(a, &g_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED); \
        assert_null(g_); \
    } while (0)

static void calls_that_need_the_captured_work_spoil_the_capture(void **state)
{
    (void)state;
    CUdeviceptr p;
    CUevent e;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    ok(cuEventRecord(e, b));
    spoils(CU_STREAM_CAPTURE_MODE_RELAXED, cuStreamSynchronize(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    spoils(CU_STREAM_CAPTURE_MODE_RELAXED, cuStreamQuery(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    spoils(CU_STREAM_CAPTURE_MODE_RELAXED, cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    spoils(CU_STREAM_CAPTURE_MODE_RELAXED, cuStreamWaitEvent(a, e, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    spoils(CU_STREAM_CAPTURE_MODE_RELAXED, (cuEventRecord(e, a), cuEventQuery(e)), CUDA_ERROR_CAPTURED_EVENT);
    spoils(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, cuMemAlloc(&p, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    spoils(CU_STREAM_CAPTURE_MODE_GLOBAL, cuMemFree(memory), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ok(cuEventDestroy(e));
}

static void a_relaxed_thread_may_allocate_meanwhile(void **state)
{
    (void)state;
    CUdeviceptr p;
    CUgraph g;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(cuMemAlloc(&p, 64));
    ok(cuMemFree(p));
    ok(cuStreamEndCapture(a, &g));
    ok(cuGraphDestroy(g));
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(cuMemAlloc(&p, 64));
    ok(cuMemFree(p));
    ok(cuStreamEndCapture(a, &g));
    ok(cuGraphDestroy(g));
    ok(cuThreadExchangeStreamCaptureMode(&mode));
}

static void the_legacy_stream_cannot_wait_for_a_captured_one(void **state)
{
    (void)state;
    CUstream blocking;
    CUgraph g;
    ok(cuStreamCreate(&blocking, 0));
    ok(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuMemsetD32Async(memory, 1, 1, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(cuStreamEndCapture(blocking, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    ok(cuStreamDestroy(blocking));
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(cuMemsetD32Async(memory, 1, 1, NULL));
    ok(cuStreamEndCapture(a, &g));
    ok(cuGraphDestroy(g));
}

static void two_captures_do_not_mix(void **state)
{
    (void)state;
    CUevent e;
    CUgraph g;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(cuStreamBeginCapture(b, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuEventRecord(e, b));
    assert_int_equal(cuStreamWaitEvent(a, e, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    assert_int_equal(cuStreamEndCapture(b, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    ok(cuEventDestroy(e));
}

static void a_graph_cannot_be_launched_into_a_capture(void **state)
{
    (void)state;
    CUgraph g;
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(rig_launch(add, memory, 16, 1, a));
    CUgraphExec inner = finish(NULL);
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_int_equal(cuGraphLaunch(inner, a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    run(inner);
    assert_int_equal(rig_word(memory), 1);
    ok(cuGraphExecDestroy(inner));
}

static CUgraphEdgeData edge_between(CUgraphNode from, CUgraphNode to)
{
    CUgraphNode after;
    CUgraphEdgeData edge;
    size_t one = 1;
    ok(cuGraphNodeGetDependentNodes_v2(from, &after, &edge, &one));
    assert_int_equal(one, 1);
    assert_ptr_equal(after, to);
    return edge;
}

static void objects_of_the_user_go_with_a_graph_whose_capture_failed(void **state)
{
    (void)state;
    static int gone;
    CUuserObject o;
    CUgraph g;
    CUevent e;
    gone = 0;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    ok(cuUserObjectCreate(&o, &gone, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    ok(cuStreamBeginCaptureToGraph(a, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(rig_launch(fill, memory, 16, 1, a));
    ok(cuEventRecord(e, a));
    ok(cuStreamWaitEvent(b, e, 0));
    ok(rig_launch(fill, memory, 16, 2, b));
    assert_int_equal(cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_int_equal(gone, 1);
    ok(cuEventDestroy(e));
}

/* The capture's graph has the only reference. */
static void capture_with_object(CUstream s, void *gone)
{
    CUuserObject o;
    CUgraph g;
    CUstreamCaptureStatus status;
    ok(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuStreamGetCaptureInfo(s, &status, NULL, &g, NULL, NULL, NULL));
    ok(cuUserObjectCreate(&o, gone, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
}

static void objects_of_the_user_go_with_the_stream_or_context_of_a_capture(void **state)
{
    (void)state;
    static int gone;
    CUcontext first, own;
    gone = 0;
    CUstream s = rig_stream();
    capture_with_object(s, &gone);
    ok(cuStreamDestroy(s));
    assert_int_equal(gone, 1);
    ok(cuCtxGetCurrent(&first));
    ok(cuCtxCreate(&own, NULL, 0, 0));
    capture_with_object(rig_stream(), &gone);
    ok(cuCtxDestroy(own));
    assert_int_equal(gone, 2);
    ok(cuCtxSetCurrent(first));
}

struct launch_inside {
    CUgraphExec graph;
    CUresult answer;
};

static void launch_inside(void *arg)
{
    struct launch_inside *l = arg;
    l->answer = cuGraphLaunch(l->graph, b);
}

static void a_host_function_cannot_launch_a_graph(void **state)
{
    (void)state;
    struct launch_inside l = { .answer = CUDA_SUCCESS };
    CUgraph g;
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphInstantiate(&l.graph, g, 0));
    ok(cuGraphLaunch(l.graph, b));
    ok(cuLaunchHostFunc(a, launch_inside, &l));
    ok(cuStreamSynchronize(a));
    assert_int_equal(l.answer, CUDA_ERROR_NOT_PERMITTED);
    ok(cuGraphExecDestroy(l.graph));
    ok(cuGraphDestroy(g));
}

static void a_kernel_that_may_begin_early_is_behind_a_programmatic_edge(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphNode n[2], from[1], to[1];
    size_t two = 2, one = 1;
    CUlaunchAttribute early = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                .value.programmaticStreamSerializationAllowed = 1 };
    CUdeviceptr p = memory;
    uint32_t count = 16, value = 1;
    void *params[] = { &p, &count, &value };
    const CUlaunchConfig config = { 1, 1, 1, 32, 1, 1, 0, a, &early, 1 };
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(rig_launch(add, memory, 16, 1, a));
    ok(cuLaunchKernelEx(&config, add, params, NULL));
    CUgraphExec x = finish(&g);
    ok(cuGraphGetNodes(g, n, &two));
    CUgraphEdgeData edge = edge_between(n[0], n[1]);
    assert_int_equal(edge.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
    assert_int_equal(edge.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    assert_int_equal(cuGraphGetEdges_v2(g, from, to, NULL, &one), CUDA_ERROR_LOSSY_QUERY);
    run(x);
    assert_int_equal(rig_word(memory), 2);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static void a_context_takes_its_captures_along_and_leaves_graphs(void **state)
{
    (void)state;
    CUcontext first, own;
    CUstream s;
    CUgraph g;
    CUgraphExec x, y;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ok(cuCtxGetCurrent(&first));
    ok(cuCtxCreate(&own, NULL, 0, 0));
    CUfunction f = rig_kernel("add");
    ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture(s, mode));
    ok(rig_launch(f, memory, 16, 1, s));
    ok(cuStreamEndCapture(s, &g));
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphLaunch(x, s));
    ok(cuGraphDestroy(g));
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphInstantiate(&y, g, 0));
    ok(cuGraphLaunch(y, s));
    ok(cuStreamSynchronize(s));
    ok(cuStreamBeginCapture(s, mode));
    ok(cuCtxDestroy(own));
    ok(cuCtxSetCurrent(first));
    assert_int_equal(cuGraphLaunch(x, a), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(cuGraphLaunch(y, a));
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(rig_launch(fill, memory, 16, 1, a));
    CUgraphExec dead = x;
    x = finish(NULL);
    ok(cuGraphExecDestroy(dead));
    run(x);
    assert_int_equal(rig_word(memory), 1);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphExecDestroy(y));
    ok(cuGraphDestroy(g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_captured_happens_at_every_launch_and_not_before),
        T(parameters_are_those_of_the_time_of_capture),
        T(events_carry_a_capture_to_other_streams_and_back),
        T(what_waits_for_an_event_outside_runs_though_the_event_was_captured_since),
        T(each_of_many_events_leads_to_where_it_was_recorded_last),
        T(a_capture_ends_with_an_error_while_a_stream_is_not_joined),
        T(a_forked_stream_may_be_destroyed_but_its_work_must_be_joined),
        T(a_capture_may_end_without_giving_the_graph_again),
        T(a_capture_is_ended_where_it_began),
        T(a_capture_is_lost_when_another_thread_ends_it_unless_relaxed),
        T(a_thread_takes_the_capture_of_its_own_stream_along),
        T(a_later_thread_is_another_even_if_the_system_calls_it_the_same),
        T(calls_that_need_the_captured_work_spoil_the_capture),
        T(a_relaxed_thread_may_allocate_meanwhile),
        T(the_legacy_stream_cannot_wait_for_a_captured_one),
        T(two_captures_do_not_mix),
        T(a_graph_cannot_be_launched_into_a_capture),
        T(objects_of_the_user_go_with_a_graph_whose_capture_failed),
        T(objects_of_the_user_go_with_the_stream_or_context_of_a_capture),
        T(a_host_function_cannot_launch_a_graph),
        T(a_kernel_that_may_begin_early_is_behind_a_programmatic_edge),
        T(a_context_takes_its_captures_along_and_leaves_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
