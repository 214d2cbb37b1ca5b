/* Stream capture and graphs, as a program sees them. */
#include "rig.h"

#include <pthread.h>

static CUstream a, b;
static CUdeviceptr memory;
static CUfunction fill, add;

static int begin(void **state)
{
    (void)state;
    rig_context(0);
    a = rig_stream();
    b = rig_stream();
    if (!fill) fill = rig_kernel("fill"), add = rig_kernel("add");
    ok(cuMemAlloc(&memory, 4096));
    ok(cuMemsetD32(memory, 0, 1024));
    return 0;
}

static int end(void **state)
{
    (void)state;
    CUgraph g;
    cuStreamEndCapture(a, &g);
    ok(cuStreamDestroy(a));
    ok(cuStreamDestroy(b));
    ok(cuCtxSynchronize());
    ok(cuMemFree(memory));
    return 0;
}

static void start(CUstreamCaptureMode mode) { ok(cuStreamBeginCapture(a, mode)); }

static CUgraphExec finish(CUgraph *graph)
{
    CUgraph g;
    CUgraphExec x;
    ok(cuStreamEndCapture(a, &g));
    ok(cuGraphInstantiate(&x, g, 0));
    if (graph)
        *graph = g;
    else
        ok(cuGraphDestroy(g));
    return x;
}

static void run(CUgraphExec x)
{
    ok(cuGraphLaunch(x, a));
    ok(cuStreamSynchronize(a));
}

static void count(void *p) { __atomic_fetch_add((int *)p, 1, __ATOMIC_SEQ_CST); }

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
    p = 0, n = 0, v = 0;
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

static void a_capture_is_ended_by_its_thread_unless_relaxed(void **state)
{
    (void)state;
    CUgraph g;
    CUresult r;
    pthread_t t;
    start(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    pthread_create(&t, NULL, end_elsewhere, &r);
    pthread_join(t, NULL);
    assert_int_equal(r, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    ok(cuStreamEndCapture(a, &g));
    ok(cuGraphDestroy(g));
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    pthread_create(&t, NULL, end_elsewhere, &r);
    pthread_join(t, NULL);
    ok(r);
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

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction f, void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = f,
                                      .gridDimX = 8,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 128,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = params };
}

static void a_graph_made_by_hand_runs_in_the_order_of_its_edges(void **state)
{
    (void)state;
    CUgraph g, clone;
    CUgraphNode set, kern, copy, host, found;
    CUgraphExec x, y;
    CUcontext c;
    static int calls;
    uint32_t out = 0, n = 1024, v = 7;
    void *params[] = { &memory, &n, &v };
    calls = 0;
    ok(cuCtxGetCurrent(&c));
    ok(cuGraphCreate(&g, 0));
    CUDA_KERNEL_NODE_PARAMS k = kernel(add, params);
    CUDA_MEMSET_NODE_PARAMS m = { .dst = memory, .value = 100, .elementSize = 4, .width = 1024, .height = 1 };
    CUDA_MEMCPY3D d = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = memory + 400,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = &out,
                        .WidthInBytes = 4,
                        .Height = 1,
                        .Depth = 1 };
    CUDA_HOST_NODE_PARAMS h = { count, &calls };
    ok(cuGraphAddHostNode(&host, g, NULL, 0, &h));
    ok(cuGraphAddMemcpyNode(&copy, g, NULL, 0, &d, c));
    ok(cuGraphAddKernelNode(&kern, g, NULL, 0, &k));
    ok(cuGraphAddMemsetNode(&set, g, NULL, 0, &m, c));
    CUgraphNode from[] = { set, kern, copy }, to[] = { kern, copy, host };
    ok(cuGraphAddDependencies(g, from, to, NULL, 3));
    assert_int_equal(cuGraphAddDependencies(g, from, to, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphInstantiate(&x, g, 0));
    run(x);
    assert_int_equal(out, 107);
    assert_int_equal(calls, 1);
    CUgraphNode back_from = host, back_to = set;
    ok(cuGraphAddDependencies(g, &back_from, &back_to, NULL, 1));
    assert_int_equal(cuGraphInstantiate(&y, g, 0), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphRemoveDependencies(g, &back_from, &back_to, NULL, 1));
    v = 50;
    ok(cuGraphExecKernelNodeSetParams(x, kern, &k));
    run(x);
    assert_int_equal(out, 150);
    CUDA_KERNEL_NODE_PARAMS seen;
    ok(cuGraphKernelNodeGetParams(kern, &seen));
    assert_int_equal(*(uint32_t *)seen.kernelParams[2], 7);
    ok(cuGraphClone(&clone, g));
    ok(cuGraphNodeFindInClone(&found, kern, clone));
    assert_ptr_not_equal(found, kern);
    ok(cuGraphDestroyNode(host));
    ok(cuGraphInstantiate(&y, clone, 0));
    run(y);
    assert_int_equal(out, 107);
    assert_int_equal(calls, 3);
    ok(cuGraphNodeSetEnabled(y, found, 0));
    run(y);
    assert_int_equal(out, 100);
    ok(cuGraphDestroy(clone));
    ok(cuGraphDestroy(g));
    run(y);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphExecDestroy(y));
    assert_int_equal(cuGraphKernelNodeGetParams(kern, &seen), CUDA_ERROR_INVALID_VALUE);
}

static void an_executable_graph_takes_the_parameters_of_one_of_its_shape(void **state)
{
    (void)state;
    CUgraph g, other;
    CUgraphExecUpdateResultInfo info;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(rig_launch(fill, memory, 16, 1, a));
    ok(rig_launch(add, memory, 16, 1, a));
    CUgraphExec x = finish(&g);
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(rig_launch(fill, memory, 16, 20, a));
    ok(rig_launch(add, memory, 16, 3, a));
    ok(cuStreamEndCapture(a, &other));
    ok(cuGraphExecUpdate(x, other, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    run(x);
    assert_int_equal(rig_word(memory), 23);
    CUgraphNode more;
    ok(cuGraphAddEmptyNode(&more, other, NULL, 0));
    assert_int_equal(cuGraphExecUpdate(x, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    ok(cuGraphDestroy(g));
    ok(cuGraphDestroy(other));
    ok(cuGraphExecDestroy(x));
}

static void a_graph_launched_into_a_capture_becomes_its_child(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphNode node;
    CUgraphNodeType type;
    size_t one = 1;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(rig_launch(add, memory, 16, 1, a));
    CUgraphExec inner = finish(NULL);
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(cuGraphLaunch(inner, a));
    ok(cuGraphLaunch(inner, a));
    CUgraphExec outer = finish(&g);
    ok(cuGraphGetRootNodes(g, &node, &one));
    ok(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
    ok(cuGraphExecDestroy(inner));
    run(outer);
    assert_int_equal(rig_word(memory), 2);
    ok(cuGraphDestroy(g));
    ok(cuGraphExecDestroy(outer));
}

static void launches_of_one_graph_do_not_overlap(void **state)
{
    (void)state;
    static int calls;
    calls = 0;
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(cuLaunchHostFunc(a, count, &calls));
    CUgraphExec x = finish(NULL);
    uint32_t *flag = rig_hold(a);
    ok(cuGraphLaunch(x, a));
    ok(cuGraphLaunch(x, b));
    assert_int_equal(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    assert_int_equal(__atomic_load_n(&calls, __ATOMIC_SEQ_CST), 0);
    rig_release(flag);
    ok(cuStreamSynchronize(b));
    assert_int_equal(calls, 2);
    ok(cuGraphExecDestroy(x));
}

static void nodes_of_two_devices_run_in_order(void **state)
{
    (void)state;
    int devices;
    CUcontext first, second;
    CUgraph g;
    CUgraphNode n[3];
    CUgraphExec x;
    CUdeviceptr there;
    uint32_t count_ = 1024, one = 1, ten = 10;
    ok(cuDeviceGetCount(&devices));
    if (devices < 2) skip();
    ok(cuCtxGetCurrent(&first));
    second = rig_context(1);
    CUfunction other = rig_kernel("add");
    ok(cuMemAlloc(&there, 4096));
    ok(cuMemsetD32(there, 0, 1024));
    ok(cuCtxSetCurrent(first));
    void *here_params[] = { &memory, &count_, &one }, *there_params[] = { &there, &count_, &ten };
    CUDA_KERNEL_NODE_PARAMS k = kernel(add, here_params);
    CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = memory,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = there,
                           .WidthInBytes = 4096,
                           .Height = 1,
                           .Depth = 1 };
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddKernelNode(&n[0], g, NULL, 0, &k));
    ok(cuGraphAddMemcpyNode(&n[1], g, &n[0], 1, &copy, first));
    k = kernel(other, there_params);
    k.ctx = second;
    ok(cuGraphAddKernelNode(&n[2], g, &n[1], 1, &k));
    ok(cuGraphInstantiate(&x, g, 0));
    run(x);
    run(x);
    assert_int_equal(rig_word(memory), 2);
    assert_int_equal(rig_word(there + 4092), 12);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
    ok(cuMemFree(there));
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
    ok(cuGraphExecDestroy(x));
    x = finish(NULL);
    run(x);
    assert_int_equal(rig_word(memory), 1);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphExecDestroy(y));
    ok(cuGraphDestroy(g));
}

static void objects_of_the_user_live_as_long_as_graphs_need_them(void **state)
{
    (void)state;
    static int gone;
    CUuserObject o;
    CUgraph g;
    CUgraphExec x;
    gone = 0;
    ok(cuUserObjectCreate(&o, &gone, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphDestroy(g));
    assert_int_equal(gone, 0);
    ok(cuGraphExecDestroy(x));
    assert_int_equal(gone, 1);
}

static uint64_t graph_memory(CUgraphMem_attribute which)
{
    cuuint64_t v;
    ok(cuDeviceGetGraphMemAttribute(0, which, &v));
    return v;
}

static void memory_allocated_in_a_capture_is_there_in_every_launch(void **state)
{
    (void)state;
    CUdeviceptr p, q;
    CUgraph g, copy;
    CUgraphExec x, y;
    uint32_t *out;
    ok(cuMemAllocHost((void **)&out, 4));
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(cuMemAllocAsync(&p, 4096, a));
    ok(rig_launch(fill, p, 1024, 6, a));
    ok(rig_launch(add, p, 1024, 1, a));
    ok(cuMemcpyDtoHAsync(out, p + 4092, 4, a));
    ok(cuMemFreeAsync(p, a));
    ok(cuStreamEndCapture(a, &g));
    assert_int_equal(cuMemFreeAsync(p, a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphClone(&copy, g), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuGraphInstantiate(&x, g, 0));
    assert_int_equal(cuGraphInstantiate(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    for (int k = 0; k < 3; k++) {
        *out = 0;
        run(x);
        assert_int_equal(*out, 7);
    }
    ok(cuMemAllocAsync(&q, 4096, a));
    assert_true(q != p);
    ok(cuMemFreeAsync(q, a));
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), CHUNK);
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    ok(cuGraphDestroy(g));
    ok(cuGraphExecDestroy(x));
    ok(cuDeviceGraphMemTrim(0));
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
    ok(cuMemFreeHost(out));
}

static void what_a_graph_leaves_allocated_is_freed_before_it_runs_again(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphNode node;
    CUgraphExec x;
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                     .bytesize = 8192 };
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddMemAllocNode(&node, g, NULL, 0, &p));
    assert_int_equal(cuGraphDestroyNode(node), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuGraphInstantiate(&x, g, 0));
    run(x);
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), CHUNK);
    ok(rig_launch(fill, p.dptr, 2048, 4, b));
    assert_int_equal(cuGraphLaunch(x, a), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemFreeAsync(p.dptr, b));
    run(x);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphInstantiate(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    run(x);
    run(x);
    ok(cuMemsetD32(p.dptr, 5, 2048));
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
    assert_int_equal(rig_word(p.dptr), 5);
    ok(cuMemFreeAsync(p.dptr, a));
    assert_int_equal(cuMemFreeAsync(p.dptr, a), CUDA_ERROR_INVALID_VALUE);
    ok(cuStreamSynchronize(a));
    ok(cuDeviceGraphMemTrim(0));
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
}

static void memory_of_a_graph_is_copied_by_its_nodes_only_until_a_launch_allocates_it(void **state)
{
    (void)state;
    CUdeviceptr p;
    CUgraph g;
    uint32_t word = 7;
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(cuMemAllocAsync(&p, 4096, a));
    ok(cuMemsetD32Async(p, 3, 1024, a));
    const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = p,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = memory,
                                 .WidthInBytes = 64,
                                 .Height = 2 };
    ok(cuMemcpy2DAsync(&rows, a));
    CUgraphExec x = finish(&g);
    assert_int_equal(cuMemcpyDtoH(&word, p, 4), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD32(p, 1, 1), CUDA_ERROR_INVALID_VALUE);
    run(x);
    assert_int_equal(rig_word(memory + 64), 3);
    assert_int_equal(rig_word(p + 4092), 3);
    ok(cuMemFreeAsync(p, a));
    assert_int_equal(cuMemcpyDtoHAsync(&word, p, 4, a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(word, 7);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static void what_is_not_implemented_says_so(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphNode n;
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL };
    ok(cuGraphCreate(&g, 0));
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_NOT_SUPPORTED);
    p.type = 99;
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphDestroy(g));
}

static void kernels_that_were_unloaded_are_refused(void **state)
{
    (void)state;
    CUlibrary library;
    CUkernel k;
    CUmodule m;
    CUfunction f, g;
    CUgraph graph;
    CUgraphExec x;
    const char *name;
    ok(cuLibraryLoadData(&library, rig_ptx, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&k, library, "fill"));
    ok(rig_launch((CUfunction)k, memory, 16, 1, a));
    ok(cuModuleLoadData(&m, rig_ptx));
    ok(cuModuleGetFunction(&f, m, "add"));
    start(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(rig_launch(f, memory, 16, 1, a));
    x = finish(&graph);
    run(x);
    ok(cuModuleUnload(m));
    ok(cuLibraryUnload(library));
    assert_int_equal(rig_launch((CUfunction)k, memory, 16, 1, a), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuKernelGetFunction(&g, k), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuKernelGetName(&name, k), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(rig_launch(f, memory, 16, 1, a), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuGraphLaunch(x, a), CUDA_ERROR_INVALID_HANDLE);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(graph));
}

static void a_batch_of_copies_is_all_of_them_in_the_stream(void **state)
{
    (void)state;
    uint32_t in[3] = { 1, 2, 3 }, out[3] = { 0 };
    CUdeviceptr to[] = { memory, memory + 100, memory + 200 },
                from[] = { (CUdeviceptr)&in[0], (CUdeviceptr)&in[1], (CUdeviceptr)&in[2] };
    CUdeviceptr back[] = { (CUdeviceptr)&out[0], (CUdeviceptr)&out[1], (CUdeviceptr)&out[2] };
    size_t sizes[] = { 4, 4, 4 }, index[] = { 0, 2 };
    CUmemcpyAttributes how[] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
                                 { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY } };
    ok(cuMemcpyBatchAsync(to, from, sizes, 3, how, index, 2, a));
    ok(cuMemcpyBatchAsync(back, to, sizes, 3, how, index, 1, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(out[0] + 10 * out[1] + 100 * out[2], 321);
    assert_int_equal(cuMemcpyBatchAsync(to, from, sizes, 3, how, index, 2, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyBatchAsync(to, from, sizes, 3, how, index + 1, 1, a), CUDA_ERROR_INVALID_VALUE);
    in[0] = 9;
    to[2] = memory + 4094;
    assert_int_equal(cuMemcpyBatchAsync(to, from, sizes, 3, how, index, 2, a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(rig_word(memory), 1);
    CUDA_MEMCPY3D_BATCH_OP op = { .src = { CU_MEMCPY_OPERAND_TYPE_POINTER,
                                           { { .ptr = memory, .rowLength = 100, .layerHeight = 2 } } },
                                  .dst = { CU_MEMCPY_OPERAND_TYPE_POINTER, { { .ptr = memory + 1024 } } },
                                  .extent = { 4, 2, 1 },
                                  .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
    ok(cuMemcpy3DBatchAsync(1, &op, 0, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(rig_word(memory + 1028), 2);
    op.srcAccessOrder = 0;
    assert_int_equal(cuMemcpy3DBatchAsync(1, &op, 0, a), CUDA_ERROR_INVALID_VALUE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_captured_happens_at_every_launch_and_not_before),
        T(parameters_are_those_of_the_time_of_capture),
        T(events_carry_a_capture_to_other_streams_and_back),
        T(a_capture_ends_with_an_error_while_a_stream_is_not_joined),
        T(a_capture_is_ended_where_it_began),
        T(a_capture_is_ended_by_its_thread_unless_relaxed),
        T(calls_that_need_the_captured_work_spoil_the_capture),
        T(a_relaxed_thread_may_allocate_meanwhile),
        T(the_legacy_stream_cannot_wait_for_a_captured_one),
        T(two_captures_do_not_mix),
        T(a_graph_made_by_hand_runs_in_the_order_of_its_edges),
        T(an_executable_graph_takes_the_parameters_of_one_of_its_shape),
        T(a_graph_launched_into_a_capture_becomes_its_child),
        T(launches_of_one_graph_do_not_overlap),
        T(nodes_of_two_devices_run_in_order),
        T(a_context_takes_its_captures_along_and_leaves_graphs),
        T(objects_of_the_user_live_as_long_as_graphs_need_them),
        T(memory_allocated_in_a_capture_is_there_in_every_launch),
        T(what_a_graph_leaves_allocated_is_freed_before_it_runs_again),
        T(memory_of_a_graph_is_copied_by_its_nodes_only_until_a_launch_allocates_it),
        T(what_is_not_implemented_says_so),
        T(kernels_that_were_unloaded_are_refused),
        T(a_batch_of_copies_is_all_of_them_in_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
