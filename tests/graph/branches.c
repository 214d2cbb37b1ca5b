/* Branches of graphs: they run side by side, and everything that depends on
 * something comes after it. */
#include "../rig.h"

#include <dirent.h>
#include <stdbool.h>
#include <time.h>

static CUstream a;
static CUdeviceptr memory;
static CUfunction add;

static int begin(void **state)
{
    (void)state;
    rig_context(0);
    a = rig_stream();
    if (!add) add = rig_kernel("add");
    ok(cuMemAlloc(&memory, 4096));
    ok(cuMemsetD32(memory, 0, 1024));
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (rig_held) rig_release(rig_held);
    ok(cuStreamDestroy(a));
    ok(cuCtxSynchronize());
    ok(cuMemFree(memory));
    return 0;
}

static CUgraphNode host_node(CUgraph g, const CUgraphNode *before, size_t count, CUhostFn fn, void *arg)
{
    CUgraphNode n;
    const CUDA_HOST_NODE_PARAMS p = { fn, arg };
    ok(cuGraphAddHostNode(&n, g, before, count, &p));
    return n;
}

static CUgraphNode kernel_node(CUgraph g, const CUgraphNode *before, size_t count, CUdeviceptr p, uint32_t value)
{
    CUgraphNode n;
    uint32_t words = 1;
    void *params[] = { &p, &words, &value };
    const CUDA_KERNEL_NODE_PARAMS k = rig_node(add, params);
    ok(cuGraphAddKernelNode(&n, g, before, count, &k));
    return n;
}

static bool soon(uint32_t *word, uint32_t value)
{
    struct timespec pause = { 0, 1000000 };
    for (int k = 0; k < 10000 && __atomic_load_n(word, __ATOMIC_SEQ_CST) != value; k++) nanosleep(&pause, NULL);
    return __atomic_load_n(word, __ATOMIC_SEQ_CST) == value;
}

struct meeting {
    uint32_t here, met;
};

/* Both of two that come at once see each other. */
static void meet(void *arg)
{
    struct meeting *m = arg;
    __atomic_fetch_add(&m->here, 1, __ATOMIC_SEQ_CST);
    if (soon(&m->here, 2)) __atomic_fetch_add(&m->met, 1, __ATOMIC_SEQ_CST);
}

static void count(void *word) { __atomic_fetch_add((uint32_t *)word, 1, __ATOMIC_SEQ_CST); }

static void branches_run_at_the_same_time(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphExec x;
    struct meeting m = { 0 };
    ok(cuGraphCreate(&g, 0));
    CUgraphNode root = kernel_node(g, NULL, 0, memory, 1);
    CUgraphNode both[] = { host_node(g, &root, 1, meet, &m), host_node(g, &root, 1, meet, &m) };
    kernel_node(g, both, 2, memory, 1);
    ok(cuGraphInstantiate(&x, g, 0));
    for (int k = 1; k <= 3; k++) {
        m = (struct meeting){ 0 };
        ok(cuGraphLaunch(x, a));
        ok(cuStreamSynchronize(a));
        assert_int_equal(m.met, 2);
        assert_int_equal(rig_word(memory), 2 * k);
    }
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static void roots_run_at_the_same_time_but_not_before_what_precedes_the_launch(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphExec x;
    struct meeting m = { 0 };
    ok(cuGraphCreate(&g, 0));
    host_node(g, NULL, 0, meet, &m);
    host_node(g, NULL, 0, meet, &m);
    ok(cuGraphInstantiate(&x, g, 0));
    uint32_t *flag = rig_hold(a);
    ok(cuGraphLaunch(x, a));
    struct timespec pause = { 0, 20000000 };
    nanosleep(&pause, NULL);
    assert_int_equal(__atomic_load_n(&m.here, __ATOMIC_SEQ_CST), 0);
    assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    rig_release(flag);
    ok(cuStreamSynchronize(a));
    assert_int_equal(m.met, 2);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static void a_branch_waits_for_a_word_that_another_writes(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphExec x;
    CUgraphNode n;
    CUcontext c;
    ok(cuCtxGetCurrent(&c));
    CUstreamBatchMemOpParams wait = {
        .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = memory, .value = 1 }
    };
    CUstreamBatchMemOpParams write = {
        .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = memory, .value = 1 }
    };
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = { .ctx = c, .count = 1, .paramArray = &wait };
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
    kernel_node(g, &n, 1, memory, 10);
    p.paramArray = &write;
    ok(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphLaunch(x, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(rig_word(memory), 11);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static unsigned threads(void)
{
    unsigned count = 0;
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    while (readdir(d)) count++;
    closedir(d);
    return count;
}

static void launches_that_wait_take_no_more_threads_than_one(void **state)
{
    (void)state;
    enum { LAUNCHES = 30, BRANCHES = 5 };
    CUgraph g;
    CUgraphExec x;
    uint32_t done = 0;
    ok(cuGraphCreate(&g, 0));
    for (int k = 0; k < BRANCHES; k++) host_node(g, NULL, 0, count, &done);
    ok(cuGraphInstantiate(&x, g, 0));
    uint32_t *flag = rig_hold(a);
    ok(cuGraphLaunch(x, a));
    const unsigned one = threads();
    for (int k = 1; k < LAUNCHES; k++) ok(cuGraphLaunch(x, a));
    assert_in_range(threads(), 0, one);
    rig_release(flag);
    ok(cuStreamSynchronize(a));
    assert_int_equal(done, LAUNCHES * BRANCHES);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static void a_graph_does_not_wait_for_another_one_that_was_launched_before(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphExec x, y;
    CUstream b = rig_stream();
    uint32_t done = 0;
    ok(cuGraphCreate(&g, 0));
    host_node(g, NULL, 0, count, &done);
    host_node(g, NULL, 0, count, &done);
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphInstantiate(&y, g, 0));
    uint32_t *flag = rig_hold(a);
    for (int k = 0; k < 2; k++) ok(cuGraphLaunch(x, a));
    ok(cuGraphExecDestroy(x));
    for (int k = 0; k < 2; k++) ok(cuGraphLaunch(y, b));
    ok(cuStreamSynchronize(b));
    assert_int_equal(done, 4);
    rig_release(flag);
    ok(cuStreamSynchronize(a));
    assert_int_equal(done, 8);
    ok(cuGraphExecDestroy(y));
    ok(cuGraphDestroy(g));
    ok(cuStreamDestroy(b));
}

/* ---- any graph keeps its order */

enum { NODES = 60 };
struct step {
    unsigned *clock, at, before[4], count;
    struct step *steps;
    bool early;
};

static void step(void *arg)
{
    struct step *s = arg;
    for (unsigned k = 0; k < s->count; k++)
        if (!__atomic_load_n(&s->steps[s->before[k]].at, __ATOMIC_SEQ_CST))
            __atomic_store_n(&s->early, true, __ATOMIC_SEQ_CST);
    if (rand() % 8 == 0) nanosleep(&(struct timespec){ 0, 100000 }, NULL);
    __atomic_store_n(&s->at, __atomic_add_fetch(s->clock, 1, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
}

/* Some nodes are graphs of two steps; those do not look at others. */
static CUgraphNode add_step(CUgraph g, struct step *s, const CUgraphNode *before)
{
    CUgraphNode n;
    CUgraph child;
    if (rand() % 6) return host_node(g, before, s->count, step, s);
    ok(cuGraphCreate(&child, 0));
    host_node(child, NULL, 0, step, s);
    host_node(child, NULL, 0, step, s);
    ok(cuGraphAddChildGraphNode(&n, g, before, s->count, child));
    ok(cuGraphDestroy(child));
    return n;
}

static void no_node_of_a_random_graph_is_early(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++) {
        static struct step s[NODES];
        CUgraphNode n[NODES];
        CUgraph g;
        CUgraphExec x;
        unsigned clock = 0;
        srand(seed);
        ok(cuGraphCreate(&g, 0));
        for (unsigned k = 0; k < NODES; k++) {
            CUgraphNode before[4];
            s[k] = (struct step){ .clock = &clock, .steps = s };
            for (unsigned j = 0; k && j < (unsigned)rand() % 4; j++) {
                unsigned b = k - 1 - (unsigned)rand() % (k < 8 ? k : 8), known = 0;
                for (unsigned i = 0; i < s[k].count; i++) known |= s[k].before[i] == b;
                if (known) continue;
                before[s[k].count] = n[b];
                s[k].before[s[k].count++] = b;
            }
            n[k] = add_step(g, &s[k], before);
        }
        ok(cuGraphInstantiate(&x, g, 0));
        for (int launch = 0; launch < 3; launch++) {
            for (unsigned k = 0; k < NODES; k++) s[k].at = 0;
            ok(cuGraphLaunch(x, a));
            ok(cuStreamSynchronize(a));
            for (unsigned k = 0; k < NODES; k++) {
                assert_int_not_equal(s[k].at, 0);
                assert_false(s[k].early);
            }
        }
        ok(cuGraphExecDestroy(x));
        ok(cuGraphDestroy(g));
    }
}

static void memory_is_allocated_in_one_branch_and_freed_behind_both(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphExec x;
    CUgraphNode alloc, both[2], n;
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                     .bytesize = 4096 };
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
    const CUDA_MEMSET_NODE_PARAMS zero = { .dst = p.dptr, .elementSize = 4, .width = 1024, .height = 1 };
    CUcontext c;
    ok(cuCtxGetCurrent(&c));
    ok(cuGraphAddMemsetNode(&alloc, g, &alloc, 1, &zero, c));
    both[0] = kernel_node(g, &alloc, 1, p.dptr, 3);
    both[1] = kernel_node(g, &alloc, 1, p.dptr + 4, 4);
    const CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = p.dptr,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = memory,
                                 .WidthInBytes = 8,
                                 .Height = 1,
                                 .Depth = 1 };
    ok(cuGraphAddMemcpyNode(&n, g, both, 2, &copy, c));
    ok(cuGraphAddMemFreeNode(&n, g, &n, 1, p.dptr));
    ok(cuGraphInstantiate(&x, g, 0));
    for (int k = 0; k < 50; k++) ok(cuGraphLaunch(x, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(rig_word(memory), 3);
    assert_int_equal(rig_word(memory + 4), 4);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static void a_child_graph_that_is_moved_may_allocate_memory(void **state)
{
    (void)state;
    CUgraph g, child, clone;
    CUgraphExec x, y;
    CUgraphNode n, before[2];
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                     .bytesize = 4096 };
    CUcontext c;
    ok(cuCtxGetCurrent(&c));
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphCreate(&child, 0));
    ok(cuGraphAddMemAllocNode(&n, child, NULL, 0, &p));
    const CUDA_MEMSET_NODE_PARAMS five = { .dst = p.dptr, .value = 5, .elementSize = 4, .width = 1024, .height = 1 };
    ok(cuGraphAddMemsetNode(&n, child, &n, 1, &five, c));
    CUgraphNodeParams moved = { .type = CU_GRAPH_NODE_TYPE_GRAPH,
                                .graph = { child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE } };
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &moved), CUDA_ERROR_NOT_SUPPORTED);
    moved.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    assert_int_equal(cuGraphAddNode(&n, child, NULL, NULL, 0, &moved), CUDA_ERROR_INVALID_VALUE);
    before[0] = before[1] = kernel_node(g, NULL, 0, memory, 1);
    assert_int_equal(cuGraphAddNode(&n, g, before, NULL, 2, &moved), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphAddNode(&n, g, before, NULL, 1, &moved)); /* the failed call has not taken it */
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &moved), CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphClone(&clone, g), CUDA_ERROR_NOT_SUPPORTED);
    n = kernel_node(g, &n, 1, p.dptr, 2);
    const CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = p.dptr,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = memory,
                                 .WidthInBytes = 4,
                                 .Height = 1,
                                 .Depth = 1 };
    ok(cuGraphAddMemcpyNode(&n, g, &n, 1, &copy, c));
    ok(cuGraphAddMemFreeNode(&n, g, &n, 1, p.dptr));
    ok(cuGraphInstantiate(&x, g, 0));
    assert_int_equal(cuGraphInstantiate(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    for (int k = 0; k < 3; k++) ok(cuGraphLaunch(x, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(rig_word(memory), 7);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

/* Memory that only the second device may touch. */
static CUdeviceptr map_there(size_t size)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
    const CUmemAccessDesc access = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    ok(cuMemCreate(&h, size, &prop, 0));
    ok(cuMemAddressReserve(&p, size, 0, 0, 0));
    ok(cuMemMap(p, size, 0, h, 0));
    ok(cuMemSetAccess(p, size, &access, 1));
    ok(cuMemRelease(h));
    return p;
}

static void nodes_work_on_the_device_of_the_context_that_they_name(void **state)
{
    (void)state;
    CUcontext there = rig_context(1), here = rig_context(0);
    CUdeviceptr p = map_there(2 * MiB);
    CUstreamBatchMemOpParams op = { .writeValue = { CU_STREAM_MEM_OP_WRITE_VALUE_32, p + 4, { 8 }, 0, 0 } };
    const CUDA_MEMSET_NODE_PARAMS m = { .dst = p, .value = 7, .elementSize = 4, .width = 1, .height = 1 };
    const CUDA_BATCH_MEM_OP_NODE_PARAMS b = { .ctx = there, .count = 1, .paramArray = &op };
    CUgraph g;
    CUgraphNode fill, write;
    CUgraphExec x;
    ok(cuGraphCreate(&g, 0));
    kernel_node(g, NULL, 0, memory, 1);
    ok(cuGraphAddMemsetNode(&fill, g, NULL, 0, &m, there));
    ok(cuGraphAddBatchMemOpNode(&write, g, &fill, 1, &b));
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphLaunch(x, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(rig_word(memory), 1);
    ok(cuCtxSetCurrent(there));
    assert_int_equal(rig_word(p), 7);
    assert_int_equal(rig_word(p + 4), 8);
    ok(cuCtxSetCurrent(here));
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
    ok(cuMemUnmap(p, 2 * MiB));
    ok(cuMemAddressFree(p, 2 * MiB));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(branches_run_at_the_same_time),
        T(roots_run_at_the_same_time_but_not_before_what_precedes_the_launch),
        T(a_branch_waits_for_a_word_that_another_writes),
        T(launches_that_wait_take_no_more_threads_than_one),
        T(a_graph_does_not_wait_for_another_one_that_was_launched_before),
        T(no_node_of_a_random_graph_is_early),
        T(nodes_work_on_the_device_of_the_context_that_they_name),
        T(a_child_graph_that_is_moved_may_allocate_memory),
        T(memory_is_allocated_in_one_branch_and_freed_behind_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
