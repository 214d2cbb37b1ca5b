/* Graphs, as a program sees them: made by hand or captured, launched, changed. */
#include "capture_rig.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

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

/* A graph made by hand: sets a word to 100, adds added to it, copies it to out, counts a call. Its nodes are made in
 * another order than that in which they run. */
struct chain {
    CUgraph graph;
    CUgraphNode set, add, copy, host;
    uint32_t words, added, out;
    int calls;
    CUdeviceptr at;
    void *params[3];
    CUDA_KERNEL_NODE_PARAMS add_params;
};

static void chain_nodes(struct chain *c)
{
    const CUDA_MEMSET_NODE_PARAMS set = { .dst = memory, .value = 100, .elementSize = 4, .width = 1024, .height = 1 };
    const CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = memory + 400,
                                 .dstMemoryType = CU_MEMORYTYPE_HOST,
                                 .dstHost = &c->out,
                                 .WidthInBytes = 4,
                                 .Height = 1,
                                 .Depth = 1 };
    const CUDA_HOST_NODE_PARAMS host = { count, &c->calls };
    CUcontext context;
    ok(cuCtxGetCurrent(&context));
    ok(cuGraphAddHostNode(&c->host, c->graph, NULL, 0, &host));
    ok(cuGraphAddMemcpyNode(&c->copy, c->graph, NULL, 0, &copy, context));
    ok(cuGraphAddKernelNode(&c->add, c->graph, NULL, 0, &c->add_params));
    ok(cuGraphAddMemsetNode(&c->set, c->graph, NULL, 0, &set, context));
}

/* c stays where it is: the graph refers to it. */
static void chain_make(struct chain *c)
{
    *c = (struct chain){ .words = 1024, .added = 7, .at = memory };
    c->params[0] = &c->at;
    c->params[1] = &c->words;
    c->params[2] = &c->added;
    c->add_params = kernel(add, c->params);
    ok(cuGraphCreate(&c->graph, 0));
    chain_nodes(c);
    const CUgraphNode from[] = { c->set, c->add, c->copy }, to[] = { c->add, c->copy, c->host };
    ok(cuGraphAddDependencies(c->graph, from, to, NULL, 3));
}

static void a_graph_made_by_hand_runs_in_the_order_of_its_edges(void **state)
{
    (void)state;
    struct chain c;
    CUgraphExec x;
    chain_make(&c);
    assert_int_equal(cuGraphAddDependencies(c.graph, &c.set, &c.add, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphInstantiate(&x, c.graph, 0));
    run(x);
    assert_int_equal(c.out, 107);
    assert_int_equal(c.calls, 1);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(c.graph));
}

static void edges_that_form_a_circle_cannot_be_instantiated(void **state)
{
    (void)state;
    struct chain c;
    CUgraphExec x;
    chain_make(&c);
    ok(cuGraphAddDependencies(c.graph, &c.host, &c.set, NULL, 1));
    assert_int_equal(cuGraphInstantiate(&x, c.graph, 0), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphRemoveDependencies(c.graph, &c.host, &c.set, NULL, 1));
    ok(cuGraphInstantiate(&x, c.graph, 0));
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(c.graph));
}

static void parameters_of_an_executable_graph_are_its_own(void **state)
{
    (void)state;
    struct chain c;
    CUgraphExec x, later;
    CUDA_KERNEL_NODE_PARAMS seen;
    chain_make(&c);
    ok(cuGraphInstantiate(&x, c.graph, 0));
    c.added = 50;
    ok(cuGraphExecKernelNodeSetParams(x, c.add, &c.add_params));
    run(x);
    assert_int_equal(c.out, 150);
    ok(cuGraphKernelNodeGetParams(c.add, &seen));
    assert_int_equal(*(uint32_t *)seen.kernelParams[2], 7);
    ok(cuGraphInstantiate(&later, c.graph, 0));
    run(later);
    assert_int_equal(c.out, 107);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphExecDestroy(later));
    ok(cuGraphDestroy(c.graph));
    assert_int_equal(cuGraphKernelNodeGetParams(c.add, &seen), CUDA_ERROR_INVALID_VALUE);
}

static void a_node_is_found_in_clones_of_the_graph_that_it_stands_in(void **state)
{
    (void)state;
    struct chain c;
    CUgraph parent, child, clone;
    CUgraphNode holder, inner[8], found;
    size_t count = 8;
    chain_make(&c);
    ok(cuGraphCreate(&parent, 0));
    ok(cuGraphAddChildGraphNode(&holder, parent, NULL, 0, c.graph));
    assert_int_equal(cuGraphNodeFindInClone(&found, c.add, parent), CUDA_ERROR_INVALID_VALUE);
    ok(cuGraphChildGraphNodeGetGraph(holder, &child));
    ok(cuGraphGetNodes(child, inner, &count));
    ok(cuGraphClone(&clone, parent));
    ok(cuGraphNodeFindInClone(&found, inner[0], clone));
    assert_ptr_not_equal(found, inner[0]);
    ok(cuGraphDestroy(clone));
    ok(cuGraphDestroy(parent));
    ok(cuGraphDestroy(c.graph));
}

static CUgraphNode empty_node(CUgraph g)
{
    CUgraphNode n;
    ok(cuGraphAddEmptyNode(&n, g, NULL, 0));
    return n;
}

enum { NODES = 8, DEPTH = 3, PAIRS = 100 };

static CUgraph nested_graph(int depth)
{
    CUgraph g;
    CUgraphNode n;
    ok(cuGraphCreate(&g, 0));
    for (int k = 0; k < NODES; k++) {
        n = empty_node(g);
        if (k % 3 == 0) ok(cuGraphDestroyNode(n));
        if (k % 4 || !depth) continue;
        CUgraph child = nested_graph(depth - 1);
        ok(cuGraphAddChildGraphNode(&n, g, NULL, 0, child));
        ok(cuGraphDestroy(child));
    }
    return g;
}

struct pair {
    CUgraphNode node, copy;
};

/* Each node and its copy, which lie in the same order. Behind them others are added. */
static unsigned pair(CUgraph g, CUgraph clone, struct pair *pairs)
{
    CUgraphNode n[2 * NODES], m[2 * NODES];
    size_t count = 2 * NODES, same = 2 * NODES;
    unsigned found = 0;
    ok(cuGraphGetNodes(g, n, &count));
    ok(cuGraphGetNodes(clone, m, &same));
    assert_int_equal(count, same);
    for (size_t k = 0; k < count; k++) {
        CUgraph inside, copy;
        const bool holds = cuGraphChildGraphNodeGetGraph(n[k], &inside) == CUDA_SUCCESS;
        pairs[found++] = (struct pair){ n[k], m[k] };
        if (!holds) continue;
        ok(cuGraphChildGraphNodeGetGraph(m[k], &copy));
        found += pair(inside, copy, pairs + found);
    }
    empty_node(clone);
    empty_node(g);
    return found;
}

static void nodes_are_found_in_a_clone_whatever_comes_and_goes_beside_them(void **state)
{
    (void)state;
    struct pair pairs[PAIRS];
    CUgraph g = nested_graph(DEPTH), clone;
    CUgraphNode found;
    ok(cuGraphClone(&clone, g));
    const unsigned count = pair(g, clone, pairs);
    assert_in_range(count, 2 * NODES, PAIRS);
    for (unsigned k = 0; k < count; k++) {
        ok(cuGraphNodeFindInClone(&found, pairs[k].node, clone));
        assert_ptr_equal(found, pairs[k].copy);
    }
    assert_int_equal(cuGraphNodeFindInClone(&found, empty_node(g), clone), CUDA_ERROR_INVALID_VALUE);
    for (unsigned k = count; k--;) { /* from behind: what holds others goes after them */
        if (k % 3 == 0) ok(cuGraphDestroyNode(pairs[k].copy));
        if (k % 3 == 1) ok(cuGraphDestroyNode(pairs[k].node));
        for (unsigned j = 0; j < k; j++) {
            ok(cuGraphNodeFindInClone(&found, pairs[j].node, clone));
            assert_ptr_equal(found, pairs[j].copy);
        }
        if (k % 3 == 0) assert_int_equal(cuGraphNodeFindInClone(&found, pairs[k].node, clone), CUDA_ERROR_INVALID_VALUE);
    }
    ok(cuGraphDestroy(clone));
    ok(cuGraphDestroy(g));
}

static void a_clone_does_not_need_its_original(void **state)
{
    (void)state;
    struct chain c;
    CUgraph clone;
    CUgraphNode found;
    CUgraphExec x;
    chain_make(&c);
    ok(cuGraphClone(&clone, c.graph));
    ok(cuGraphNodeFindInClone(&found, c.add, clone));
    assert_ptr_not_equal(found, c.add);
    ok(cuGraphDestroyNode(c.host));
    ok(cuGraphInstantiate(&x, clone, 0));
    run(x);
    assert_int_equal(c.out, 107);
    assert_int_equal(c.calls, 1);
    ok(cuGraphNodeSetEnabled(x, found, 0));
    run(x);
    assert_int_equal(c.out, 100);
    ok(cuGraphDestroy(clone));
    ok(cuGraphDestroy(c.graph));
    run(x);
    assert_int_equal(c.calls, 3);
    ok(cuGraphExecDestroy(x));
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

static atomic_bool begun, may_end;
static void wait_to_end(void *unused)
{
    (void)unused;
    begun = true;
    while (!may_end) usleep(1000);
}

static void count_atomically(void *n) { ++*(atomic_int *)n; }

static void a_launch_keeps_objects_of_the_user_though_its_graph_is_destroyed(void **state)
{
    (void)state;
    static atomic_int gone;
    const CUDA_HOST_NODE_PARAMS wait = { .fn = wait_to_end };
    CUuserObject o;
    CUgraphNode n;
    CUgraph g;
    CUgraphExec x;
    ok(cuUserObjectCreate(&o, &gone, count_atomically, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddHostNode(&n, g, NULL, 0, &wait));
    ok(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphDestroy(g));
    ok(cuGraphLaunch(x, a));
    ok(cuGraphExecDestroy(x));
    while (!begun) usleep(1000);
    usleep(20000);
    assert_int_equal(gone, 0);
    may_end = true;
    ok(cuStreamSynchronize(a));
    for (int k = 0; !gone && k < 10000; k++) usleep(1000);
    assert_int_equal(gone, 1);
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

static void a_kernel_without_parameters_takes_none_from_a_buffer(void **state)
{
    (void)state;
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry idle() { ret; }\n";
    static char buffer[1 << 20];
    size_t size = sizeof buffer;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    CUDA_KERNEL_NODE_PARAMS p = kernel(NULL, NULL);
    CUmodule m;
    CUgraph g;
    CUgraphNode n;
    ok(cuModuleLoadData(&m, ptx));
    ok(cuModuleGetFunction(&p.func, m, "idle"));
    p.extra = extra;
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddKernelNode(&n, g, NULL, 0, &p));
    ok(cuGraphDestroy(g));
    ok(cuModuleUnload(m));
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

/* Two devices. What a node does it does on behalf of the context that it was made in. */
static void a_copy_of_pool_memory_may_be_launched_from_a_context_of_another_device(void **state)
{
    (void)state;
    CUdeviceptr from, to;
    CUcontext here, there;
    CUgraph g;
    ok(cuCtxGetCurrent(&here));
    ok(cuMemAllocAsync(&from, 4096, a));
    ok(cuMemAllocAsync(&to, 4096, a));
    ok(cuMemsetD32Async(from, 9, 1024, a));
    ok(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuMemcpyAsync(to, from, 4096, a));
    CUgraphExec x = finish(&g);
    ok(cuDevicePrimaryCtxRetain(&there, 1));
    ok(cuCtxPushCurrent(there));
    run(x);
    ok(cuCtxPopCurrent(&there));
    assert_int_equal(rig_word(to + 4092), 9);
    ok(cuMemFreeAsync(from, a));
    ok(cuMemFreeAsync(to, a));
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
    ok(cuDevicePrimaryCtxRelease(1));
    ok(cuCtxSetCurrent(here));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_graph_made_by_hand_runs_in_the_order_of_its_edges),
        T(edges_that_form_a_circle_cannot_be_instantiated),
        T(parameters_of_an_executable_graph_are_its_own),
        T(a_node_is_found_in_clones_of_the_graph_that_it_stands_in),
        T(nodes_are_found_in_a_clone_whatever_comes_and_goes_beside_them),
        T(a_clone_does_not_need_its_original),
        T(an_executable_graph_takes_the_parameters_of_one_of_its_shape),
        T(launches_of_one_graph_do_not_overlap),
        T(nodes_of_two_devices_run_in_order),
        T(objects_of_the_user_live_as_long_as_graphs_need_them),
        T(a_launch_keeps_objects_of_the_user_though_its_graph_is_destroyed),
        T(what_is_not_implemented_says_so),
        T(kernels_that_were_unloaded_are_refused),
        T(a_kernel_without_parameters_takes_none_from_a_buffer),
        T(a_batch_of_copies_is_all_of_them_in_the_stream),
        T(a_copy_of_pool_memory_may_be_launched_from_a_context_of_another_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
