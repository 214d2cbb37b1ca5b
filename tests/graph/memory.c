/* Memory that graphs allocate: when it is there, and who may use it. */
#include "capture_rig.h"

#include <stdbool.h>
#include <unistd.h>

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
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), CHUNK);
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), CHUNK);
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    ok(cuGraphDestroy(g));
    ok(cuGraphExecDestroy(x));
    ok(cuDeviceGraphMemTrim(0));
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
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

static CUresult copy_to_other(CUdeviceptr to, CUdeviceptr from)
{
    CUcontext there;
    ok(cuDevicePrimaryCtxRetain(&there, 1));
    ok(cuCtxPushCurrent(there));
    CUresult r = cuMemcpyDtoD(to, from, 4096);
    ok(cuCtxPopCurrent(&there));
    ok(cuDevicePrimaryCtxRelease(1));
    return r;
}

static CUmemAccessDesc give_access(int device)
{
    return (CUmemAccessDesc){ .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
}

static void memory_of_graphs_is_opened_to_other_devices_by_its_node_or_by_its_pool(void **state)
{
    (void)state;
    CUcontext here, there;
    CUdeviceptr p, other;
    CUmemoryPool pool;
    CUmemAccessDesc own = give_access(0), peer = give_access(1);
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = own.location }, .bytesize = 4096
    };
    ok(cuCtxGetCurrent(&here));
    ok(cuDevicePrimaryCtxRetain(&there, 1));
    ok(cuCtxSetCurrent(there));
    ok(cuMemAlloc(&other, 4096));
    ok(cuCtxSetCurrent(here));
    ok(cuDeviceGetDefaultMemPool(&pool, 0));
    static const int hows[] = { 0, 1, 2, 0 };
    for (int k = 0; k < 4; k++) {
        const int how = hows[k];
        CUgraph g;
        CUgraphNode n;
        if (how == 2) ok(cuMemPoolSetAccess(pool, &peer, 1));
        if (how < 2) {
            CUmemAccessDesc both[] = { own, peer };
            params.accessDescs = both;
            params.accessDescCount = (size_t)how + 1;
            ok(cuGraphCreate(&g, 0));
            ok(cuGraphAddMemAllocNode(&n, g, NULL, 0, &params));
            p = params.dptr;
        } else {
            ok(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
            ok(cuMemAllocAsync(&p, 4096, a));
            size_t one = 1;
            ok(cuStreamEndCapture(a, &g));
            ok(cuGraphGetNodes(g, &n, &one));
        }
        CUDA_MEM_ALLOC_NODE_PARAMS told;
        ok(cuGraphMemAllocNodeGetParams(n, &told));
        /* those that were named, its own device too: observed on H200 */
        assert_int_equal(told.accessDescCount, how == 1 ? 2 : 1);
        assert_int_equal(told.accessDescs[told.accessDescCount - 1].location.id, how ? 1 : 0);
        CUgraphExec x;
        ok(cuGraphInstantiate(&x, g, 0));
        run(x);
        assert_int_equal(copy_to_other(other, p), how ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        ok(cuMemFreeAsync(p, a));
        ok(cuStreamSynchronize(a));
        ok(cuGraphExecDestroy(x));
        ok(cuGraphDestroy(g));
    }
    peer.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ok(cuMemPoolSetAccess(pool, &peer, 1));
    ok(cuMemFree(other));
    ok(cuDevicePrimaryCtxRelease(1));
}

/* Observed on two H200s. */
static void what_one_graph_allocates_lies_together_whoever_may_use_it(void **state)
{
    (void)state;
    CUcontext here, there;
    CUgraph g;
    CUgraphExec x;
    CUgraphNode n = NULL;
    CUdeviceptr p[3], other;
    CUmemAccessDesc peer = give_access(1);
    ok(cuCtxGetCurrent(&here));
    ok(cuDevicePrimaryCtxRetain(&there, 1));
    ok(cuCtxSetCurrent(there));
    ok(cuMemAlloc(&other, 4096));
    ok(cuCtxSetCurrent(here));
    ok(cuGraphCreate(&g, 0));
    for (int k = 0; k < 3; k++) {
        CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                             .location = give_access(0).location },
                                              .accessDescs = &peer,
                                              .accessDescCount = k == 1,
                                              .bytesize = 4096 };
        ok(cuGraphAddMemAllocNode(&n, g, &n, k > 0, &params));
        p[k] = params.dptr;
        assert_int_equal(p[k] - p[0], 4096 * k);
    }
    ok(cuGraphInstantiate(&x, g, 0));
    run(x);
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), CHUNK);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(copy_to_other(other, p[k]), k == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        ok(cuMemFree(p[k]));
    }
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
    ok(cuDeviceGraphMemTrim(0));
    assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
    ok(cuMemFree(other));
    ok(cuDevicePrimaryCtxRelease(1));
}

/* As before a launch: on a GPU the call that is captured says so. */
static void a_copy_is_captured_only_where_memory_of_the_graph_may_be_used(void **state)
{
    (void)state;
    CUcontext here, there;
    CUgraph g;
    CUmemoryPool pool;
    CUdeviceptr p, other;
    CUmemAccessDesc peer = give_access(1);
    ok(cuCtxGetCurrent(&here));
    ok(cuDevicePrimaryCtxRetain(&there, 1));
    ok(cuCtxSetCurrent(there));
    ok(cuMemAlloc(&other, 4096));
    ok(cuCtxSetCurrent(here));
    ok(cuDeviceGetDefaultMemPool(&pool, 0));
    for (int opened = 0; opened < 2; opened++) {
        if (opened) ok(cuMemPoolSetAccess(pool, &peer, 1));
        start(CU_STREAM_CAPTURE_MODE_RELAXED);
        ok(cuMemAllocAsync(&p, 4096, a));
        ok(cuCtxSetCurrent(there));
        assert_int_equal(cuMemcpyAsync(other, p, 4096, a), opened ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuMemcpyAsync(p, other, 4096, a), opened ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        ok(cuCtxSetCurrent(here));
        ok(cuMemFreeAsync(p, a));
        CUgraphExec x = finish(&g);
        run(x);
        ok(cuGraphExecDestroy(x));
        ok(cuGraphDestroy(g));
    }
    peer.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ok(cuMemPoolSetAccess(pool, &peer, 1));
    ok(cuMemFree(other));
    ok(cuDevicePrimaryCtxRelease(1));
}

static CUgraphExec allocate(CUdeviceptr *p, bool and_free)
{
    CUgraph g;
    CUgraphNode n;
    CUgraphExec x;
    CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                         .location = give_access(0).location },
                                          .bytesize = 4096 };
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddMemAllocNode(&n, g, NULL, 0, &params));
    if (and_free) ok(cuGraphAddMemFreeNode(&n, g, &n, 1, params.dptr));
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphDestroy(g));
    *p = params.dptr;
    return x;
}

/* A copy in b reads what x allocated, and b frees it. Meanwhile y gets its memory, which is then trimmed, or x goes, or
 * x gets other memory. */
static void what_the_program_still_reads_stays_when_another_graph_gets_its_memory(void **state)
{
    (void)state;
    CUdeviceptr p, q;
    uint32_t *out;
    ok(cuMemAllocHost((void **)&out, 4));
    for (int k = 0; k < 3; k++) {
        CUgraphExec x = allocate(&p, false), y = allocate(&q, true);
        run(x);
        ok(cuMemsetD32(p, 5, 1024));
        uint32_t *held = rig_hold(b);
        ok(cuMemcpyDtoHAsync(out, p, 4, b));
        ok(cuMemFreeAsync(p, b));
        ok(cuGraphLaunch(y, a));
        if (k == 0) ok(cuDeviceGraphMemTrim(0));
        if (k == 1) ok(cuGraphExecDestroy(x));
        if (k == 2) {
            CUstream c = rig_stream();
            ok(cuGraphLaunch(x, c));
            ok(cuMemsetD32Async(p, 6, 1024, c));
            ok(cuMemFreeAsync(p, c));
            ok(cuStreamDestroy(c));
        }
        usleep(10000);
        rig_release(held);
        ok(cuCtxSynchronize());
        assert_int_equal(*out, 5);
        if (k != 1) ok(cuGraphExecDestroy(x));
        ok(cuGraphExecDestroy(y));
        ok(cuDeviceGraphMemTrim(0));
        assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
    }
    ok(cuMemFreeHost(out));
}

static void wait_for(void *flag)
{
    while (!__atomic_load_n((int *)flag, __ATOMIC_SEQ_CST)) usleep(1000);
}

/* It writes size bytes of its own and, when the flag is set, reads the last ones. */
static CUgraphExec writer(size_t size, uint32_t value, int *flag, uint32_t *out)
{
    CUdeviceptr p;
    CUgraph g;
    start(CU_STREAM_CAPTURE_MODE_RELAXED);
    ok(cuMemAllocAsync(&p, size, a));
    ok(cuMemsetD32Async(p + size - 4096, value, 1024, a));
    ok(cuLaunchHostFunc(a, wait_for, flag));
    ok(cuMemcpyDtoHAsync(out, p + size - 4, 4, a));
    ok(cuMemFreeAsync(p, a));
    CUgraphExec x = finish(&g);
    ok(cuGraphDestroy(g));
    return x;
}

/* The device's addresses for graphs are all in use: a graph gets those of one that is gone, but runs still. */
static void addresses_that_a_graph_leaves_are_written_when_it_is_done(void **state)
{
    (void)state;
    enum { GRAPHS = 22 }; /* for 21 there are addresses: eight times the device's memory */
    const size_t size = 384 << 20;
    CUgraphExec x[GRAPHS];
    uint32_t *out;
    int flag = 0, set = 1, count = 1;
    ok(cuMemAllocHost((void **)&out, 8));
    x[0] = writer(size, 5, &flag, &out[0]);
    ok(cuGraphLaunch(x[0], a));
    ok(cuGraphExecDestroy(x[0]));
    while (count < GRAPHS) x[count++] = writer(size, 6, &set, &out[1]);
    for (int k = 1; k < count; k++) {
        ok(cuGraphLaunch(x[k], b));
        ok(cuGraphExecDestroy(x[k]));
    }
    usleep(50000);
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
    ok(cuCtxSynchronize());
    assert_int_equal(out[0], 5);
    assert_int_equal(out[1], 6);
    ok(cuMemFreeHost(out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(memory_allocated_in_a_capture_is_there_in_every_launch),
        T(what_a_graph_leaves_allocated_is_freed_before_it_runs_again),
        T(memory_of_a_graph_is_copied_by_its_nodes_only_until_a_launch_allocates_it),
        T(memory_of_graphs_is_opened_to_other_devices_by_its_node_or_by_its_pool),
        T(what_one_graph_allocates_lies_together_whoever_may_use_it),
        T(a_copy_is_captured_only_where_memory_of_the_graph_may_be_used),
        T(what_the_program_still_reads_stays_when_another_graph_gets_its_memory),
        T(addresses_that_a_graph_leaves_are_written_when_it_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
