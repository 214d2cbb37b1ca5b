/* Conditional nodes of graphs: kernels decide whether, how often and which. */
#include "../rig.h"
#include <unistd.h>

/* As nvcc compiles calls of cudaGraphSetConditional. count: *p -= 1, and the condition is whether it is still positive.
 * set: the condition is *p. */
static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
                          ".extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);\n"
                          ".visible .entry count(.param .u64 h, .param .u64 p)\n{\n"
                          " .reg .u64 %d<3>; .reg .u32 %r<3>; .reg .pred %q;\n"
                          " ld.param.u64 %d0, [h]; ld.param.u64 %d1, [p]; ld.global.u32 %r0, [%d1]; sub.u32 %r0, %r0, "
                          "1; st.global.u32 [%d1], %r0;\n"
                          " setp.gt.s32 %q, %r0, 0; selp.u32 %r1, 1, 0, %q;\n"
                          " { .param .b64 p0; st.param.b64 [p0+0], %d0; .param .b32 p1; st.param.b32 [p1+0], %r1;\n"
                          " call.uni cudaGraphSetConditional, (p0, p1); }\n ret;\n}\n"
                          ".visible .entry set(.param .u64 h, .param .u64 p)\n{\n"
                          " .reg .u64 %d<3>; .reg .u32 %r<3>;\n"
                          " ld.param.u64 %d0, [h]; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];\n"
                          " { .param .b64 p0; st.param.b64 [p0+0], %d0; .param .b32 p1; st.param.b32 [p1+0], %r1;\n"
                          " call.uni cudaGraphSetConditional, (p0, p1); }\n ret;\n}\n";

static CUstream a;
static CUcontext context;
static CUdeviceptr memory;
static CUfunction add, count, set;
static CUgraph g;

static int begin(void **state)
{
    (void)state;
    CUmodule m;
    context = rig_context(0);
    a = rig_stream();
    if (!add) {
        add = rig_kernel("add");
        ok(cuModuleLoadData(&m, ptx));
        ok(cuModuleGetFunction(&count, m, "count"));
        ok(cuModuleGetFunction(&set, m, "set"));
    }
    ok(cuMemAlloc(&memory, 4096));
    ok(cuMemsetD32(memory, 0, 1024));
    ok(cuGraphCreate(&g, 0));
    return 0;
}

static int end(void **state)
{
    (void)state;
    cuGraphDestroy(g);
    ok(cuStreamDestroy(a));
    ok(cuCtxSynchronize());
    ok(cuMemFree(memory));
    return 0;
}

static CUgraphNode kernel_node(CUgraph in, const CUgraphNode *before, CUfunction f, void **params)
{
    CUgraphNode n;
    const CUDA_KERNEL_NODE_PARAMS k = rig_node(f, params);
    ok(cuGraphAddKernelNode(&n, in, before, before != NULL, &k));
    return n;
}

static CUgraphNode add_node(CUgraph in, const CUgraphNode *before, unsigned word, uint32_t value)
{
    CUdeviceptr p = memory + 4ul * word;
    uint32_t one = 1;
    void *params[] = { &p, &one, &value };
    return kernel_node(in, before, add, params);
}

/* f: the same kernel, of another context. */
static CUgraphNode add_node_of(CUfunction f, CUgraph in)
{
    uint32_t one = 1;
    void *params[] = { &memory, &one, &one };
    return kernel_node(in, NULL, f, params);
}

static CUgraphNode decide_node(CUgraph in, const CUgraphNode *before, CUfunction f, CUgraphConditionalHandle h,
                               unsigned word)
{
    CUdeviceptr p = memory + 4ul * word;
    void *params[] = { &h, &p };
    return kernel_node(in, before, f, params);
}

static CUgraphConditionalHandle handle(CUgraph in, unsigned initial, unsigned flags)
{
    CUgraphConditionalHandle h;
    ok(cuGraphConditionalHandleCreate(&h, in, context, initial, flags));
    return h;
}

static CUgraph *conditional_node(CUgraph in, const CUgraphNode *before, CUgraphConditionalHandle h,
                                 CUgraphConditionalNodeType type, unsigned size, CUgraphNode *out)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                            .conditional = { .handle = h, .type = type, .size = size, .ctx = context } };
    ok(cuGraphAddNode(out, in, before, NULL, before != NULL, &p));
    assert_non_null(p.conditional.phGraph_out);
    return p.conditional.phGraph_out;
}

static CUgraphExec instantiate(void)
{
    CUgraphExec x;
    ok(cuGraphInstantiate(&x, g, 0));
    return x;
}

static void run(CUgraphExec x)
{
    ok(cuGraphLaunch(x, a));
    ok(cuStreamSynchronize(a));
}

static void a_loop_runs_until_a_kernel_in_it_says_so(void **state)
{
    (void)state;
    CUgraphNode n;
    CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph *body = conditional_node(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &n);
    CUgraphNode inside = add_node(body[0], NULL, 1, 1);
    decide_node(body[0], &inside, count, h, 0);
    add_node(g, &n, 2, 1);
    CUgraphExec x = instantiate();
    for (int k = 1; k <= 3; k++) {
        ok(cuMemsetD32(memory, 10, 1));
        run(x);
        assert_int_equal(rig_word(memory), 0);
        assert_int_equal(rig_word(memory + 4), 10 * k);
        assert_int_equal(rig_word(memory + 8), k);
    }
    ok(cuGraphExecDestroy(x));
}

static void a_loop_within_a_child_begins_anew_with_each_launch(void **state)
{
    (void)state;
    CUgraph inner;
    CUgraphNode n;
    ok(cuGraphCreate(&inner, 0));
    CUgraphConditionalHandle h = handle(inner, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph *body = conditional_node(inner, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &n);
    CUgraphNode inside = add_node(body[0], NULL, 1, 1);
    decide_node(body[0], &inside, count, h, 0);
    CUgraphNodeParams child = { .type = CU_GRAPH_NODE_TYPE_GRAPH,
                                .graph = { .graph = inner, .ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE } };
    ok(cuGraphAddNode(&n, g, NULL, NULL, 0, &child));
    CUgraphExec x = instantiate();
    for (int k = 1; k <= 3; k++) {
        ok(cuMemsetD32(memory, 10, 1));
        run(x);
        assert_int_equal(rig_word(memory + 4), 10 * k);
    }
    ok(cuGraphExecDestroy(x));
}

static void a_condition_is_looked_at_when_what_precedes_it_is_done(void **state)
{
    (void)state;
    CUgraphNode n, first;
    CUgraphConditionalHandle h = handle(g, 0, 0);
    first = decide_node(g, NULL, set, h, 0);
    CUgraph *body = conditional_node(g, &first, h, CU_GRAPH_COND_TYPE_IF, 2, &n);
    add_node(body[0], NULL, 1, 1);
    add_node(body[1], NULL, 2, 1);
    CUgraphExec x = instantiate();
    for (uint32_t k = 0; k < 6; k++) {
        uint32_t *flag = rig_hold(a);
        ok(cuMemsetD32Async(memory, k % 3, 1, a));
        ok(cuGraphLaunch(x, a));
        rig_release(flag);
        ok(cuStreamSynchronize(a));
    }
    assert_int_equal(rig_word(memory + 4), 4);
    assert_int_equal(rig_word(memory + 8), 2);
    ok(cuGraphExecDestroy(x));
}

static void a_switch_runs_one_graph_or_none(void **state)
{
    (void)state;
    CUgraphNode n, first;
    CUgraphConditionalHandle h = handle(g, 0, 0);
    first = decide_node(g, NULL, set, h, 0);
    CUgraph *body = conditional_node(g, &first, h, CU_GRAPH_COND_TYPE_SWITCH, 4, &n);
    for (uint32_t k = 0; k < 4; k++) add_node(body[k], NULL, 1, 1u << 8 * k);
    CUgraphExec x = instantiate();
    for (uint32_t k = 0; k < 7; k++) {
        ok(cuMemsetD32(memory, k, 1));
        run(x);
    }
    assert_int_equal(rig_word(memory + 4), 0x01010101);
    ok(cuGraphExecDestroy(x));
}

static void a_loop_within_a_loop_begins_anew_each_time(void **state)
{
    (void)state;
    CUgraphNode outer, inner, n;
    CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body = *conditional_node(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &outer);
    CUgraphConditionalHandle k = handle(body, 0, 0);
    const CUDA_MEMSET_NODE_PARAMS five = { .dst = memory + 4, .elementSize = 4, .value = 5, .width = 1, .height = 1 };
    ok(cuGraphAddMemsetNode(&n, body, NULL, 0, &five, context));
    n = decide_node(body, &n, set, k, 1);
    CUgraph deep = *conditional_node(body, &n, k, CU_GRAPH_COND_TYPE_WHILE, 1, &inner);
    n = add_node(deep, NULL, 2, 1);
    decide_node(deep, &n, count, k, 1);
    decide_node(body, &inner, count, h, 0);
    CUgraphExec x = instantiate();
    ok(cuMemsetD32(memory, 7, 1));
    run(x);
    assert_int_equal(rig_word(memory + 8), 35);
    ok(cuGraphExecDestroy(x));
}

static void a_body_is_captured_from_a_stream(void **state)
{
    (void)state;
    CUgraphNode n;
    CUgraph same;
    CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body = *conditional_node(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &n);
    CUdeviceptr p = memory;
    void *params[] = { &h, &p };
    ok(cuStreamBeginCaptureToGraph(a, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(rig_launch(add, memory + 4, 1, 2, a));
    ok(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, a, params, NULL));
    ok(cuStreamEndCapture(a, &same));
    assert_ptr_equal(same, body);
    CUgraphExec x = instantiate();
    ok(cuMemsetD32(memory, 4, 1));
    run(x);
    assert_int_equal(rig_word(memory + 4), 8);
    ok(cuGraphExecDestroy(x));
}

static void a_capture_into_a_body_that_goes_is_lost_and_touches_no_other_graph(void **state)
{
    (void)state;
    enum { GRAPHS = 200 }; /* more than are between a graph's end and another one in its place */
    CUgraphNode n;
    CUgraph others[GRAPHS], ended;
    size_t nodes;
    CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body = *conditional_node(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &n);
    ok(cuStreamBeginCaptureToGraph(a, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(rig_launch(add, memory, 1, 2, a));
    ok(cuGraphDestroy(g));
    for (int k = 0; k < GRAPHS; k++) {
        ok(cuGraphCreate(&others[k], 0));
        n = add_node(others[k], NULL, 0, 1);
    }
    assert_int_equal(rig_launch(add, memory, 1, 2, a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuStreamEndCapture(a, &ended), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    for (int k = 0; k < GRAPHS; k++) {
        ok(cuGraphGetNodes(others[k], NULL, &nodes));
        assert_int_equal(nodes, 1);
        ok(cuGraphDestroy(others[k]));
    }
    ok(cuGraphCreate(&g, 0));
}

static void a_launch_that_failed_leaves_conditions_that_may_go(void **state)
{
    (void)state;
    CUgraphNode n;
    CUgraphExec x;
    CUmodule m;
    CUfunction f;
    CUdeviceptr p = memory;
    CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    void *params[] = { &h, &p };
    ok(cuModuleLoadData(&m, ptx));
    ok(cuModuleGetFunction(&f, m, "set"));
    n = kernel_node(g, NULL, f, params);
    conditional_node(g, &n, h, CU_GRAPH_COND_TYPE_IF, 1, &n);
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuModuleUnload(m));
    ok(cuStreamWaitValue32(a, memory, 1, CU_STREAM_WAIT_VALUE_EQ));
    assert_int_equal(cuGraphLaunch(x, a), CUDA_ERROR_INVALID_HANDLE);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
    ok(cuStreamWriteValue32(NULL, memory, 1, 0));
    ok(cuStreamSynchronize(a));
    ok(cuGraphCreate(&g, 0));
}

/* Host memory that has the place of what was at an address. */
static void *allocate_over(CUdeviceptr address)
{
    enum { TRIES = 3000 };
    const size_t size = 64 * MiB;
    for (int k = 0; k < TRIES; k++) {
        char *p;
        ok(cuMemAllocHost((void **)&p, size));
        if (address - (CUdeviceptr)p < size) return p;
        ok(cuMemFreeHost(p));
    }
    fail_msg("nothing came to lie there");
    return NULL;
}

static void a_launch_whose_condition_went_with_its_context_writes_nothing(void **state)
{
    (void)state;
    CUcontext there;
    CUgraphNode n;
    ok(cuCtxCreate(&there, NULL, 0, 0));
    ok(cuCtxPopCurrent(NULL));
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                            .conditional = { .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = there } };
    ok(cuGraphConditionalHandleCreate(&p.conditional.handle, g, there, 7, CU_GRAPH_COND_ASSIGN_DEFAULT));
    ok(cuGraphAddNode(&n, g, NULL, NULL, 0, &p));
    CUgraphExec x = instantiate();
    ok(cuCtxDestroy(there));
    void *memory_there = allocate_over(p.conditional.handle);
    uint32_t *word = (uint32_t *)p.conditional.handle;
    *word = 0;
    assert_int_equal(cuGraphLaunch(x, a), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(cuStreamSynchronize(a));
    assert_int_equal(*word, 0);
    ok(cuMemFreeHost(memory_there));
    ok(cuGraphExecDestroy(x));
}

static void an_executable_graph_may_be_destroyed_while_it_runs(void **state)
{
    (void)state;
    CUgraphNode n;
    for (int k = 0; k < 20; k++) {
        CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
        CUgraph body = *conditional_node(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &n);
        n = add_node(body, NULL, 1, 1);
        decide_node(body, &n, count, h, 0);
        ok(cuMemsetD32(memory, 20, 1));
        CUgraphExec x = instantiate();
        ok(cuGraphLaunch(x, a));
        ok(cuGraphExecDestroy(x));
        assert_int_equal(cuGraphLaunch(x, a), CUDA_ERROR_INVALID_VALUE);
        ok(cuGraphDestroy(g));
        ok(cuGraphCreate(&g, 0));
        ok(cuStreamSynchronize(a));
        assert_int_equal(rig_word(memory + 4), 20 * (k + 1));
    }
}

static void parameters_of_a_body_can_be_changed(void **state)
{
    (void)state;
    CUgraphNode n;
    CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph body = *conditional_node(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &n);
    n = add_node(body, NULL, 1, 1);
    CUgraphExec x = instantiate();
    run(x);
    CUdeviceptr p = memory + 4;
    uint32_t one = 1, value = 10;
    void *params[] = { &p, &one, &value };
    CUDA_KERNEL_NODE_PARAMS k = rig_node(add, params);
    ok(cuGraphExecKernelNodeSetParams(x, n, &k));
    run(x);
    assert_int_equal(rig_word(memory + 4), 11);
    value = 100;
    ok(cuGraphKernelNodeSetParams(n, &k));
    CUgraphExecUpdateResultInfo info;
    ok(cuGraphExecUpdate(x, g, &info));
    run(x);
    assert_int_equal(rig_word(memory + 4), 111);
    ok(cuGraphExecDestroy(x));
}

/* Which is free again for the program by the time at which the condition is looked at. */
static void a_body_uses_memory_that_its_graph_allocates(void **state)
{
    (void)state;
    CUgraphNode alloc, fill, n;
    uint32_t *out;
    CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                    .location.type = CU_MEM_LOCATION_TYPE_DEVICE },
                                     .bytesize = 4096 };
    ok(cuMemAllocHost((void **)&out, 4));
    ok(cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
    const CUDA_MEMSET_NODE_PARAMS set = { .dst = p.dptr, .value = 3, .elementSize = 4, .width = 1024, .height = 1 };
    ok(cuGraphAddMemsetNode(&fill, g, &alloc, 1, &set, context));
    CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph *body = conditional_node(g, &fill, h, CU_GRAPH_COND_TYPE_IF, 1, &n);
    CUgraphNode inside;
    const CUDA_MEMCPY3D there = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .srcDevice = p.dptr + 8,
                                  .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .dstDevice = memory,
                                  .WidthInBytes = 4,
                                  .Height = 1,
                                  .Depth = 1 };
    ok(cuGraphAddMemcpyNode(&inside, body[0], NULL, 0, &there, context));
    const CUDA_MEMSET_NODE_PARAMS again = { .dst = p.dptr, .value = 4, .elementSize = 4, .width = 1024, .height = 1 };
    ok(cuGraphAddMemsetNode(&inside, body[0], &inside, 1, &again, context));
    const CUDA_MEMCPY3D back = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = p.dptr + 8,
                                 .dstMemoryType = CU_MEMORYTYPE_HOST,
                                 .dstHost = out,
                                 .WidthInBytes = 4,
                                 .Height = 1,
                                 .Depth = 1 };
    ok(cuGraphAddMemcpyNode(&n, g, &n, 1, &back, context));
    ok(cuGraphAddMemFreeNode(&n, g, &n, 1, p.dptr));
    CUgraphExec x = instantiate();
    run(x);
    assert_int_equal(rig_word(memory), 3);
    assert_int_equal(*out, 4);
    ok(cuGraphExecDestroy(x));
    ok(cuMemFreeHost(out));
}

/* As before, of the program's: it frees the memory in the stream, behind the graph. Other memory has some of it then. */
static void a_body_uses_memory_that_is_freed_behind_the_graph(void **state)
{
    (void)state;
    CUgraphNode inside, n;
    CUdeviceptr p, q;
    ok(cuMemAllocAsync(&p, 4096, a));
    CUgraphConditionalHandle h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraph *body = conditional_node(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &n);
    const CUDA_MEMCPY3D there = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .srcDevice = p,
                                  .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .dstDevice = memory,
                                  .WidthInBytes = 2048,
                                  .Height = 1,
                                  .Depth = 1 };
    const CUDA_MEMSET_NODE_PARAMS set = { .dst = p, .value = 4, .elementSize = 4, .width = 1024, .height = 1 };
    ok(cuGraphAddMemsetNode(&inside, body[0], NULL, 0, &set, context));
    ok(cuGraphAddMemcpyNode(&inside, body[0], &inside, 1, &there, context));
    CUgraphExec x = instantiate();
    uint32_t *held = rig_hold(a);
    ok(cuGraphLaunch(x, a));
    ok(cuMemFreeAsync(p, a));
    ok(cuMemAllocAsync(&q, 512, a));
    assert_int_equal(q, p);
    rig_release(held);
    ok(cuStreamSynchronize(a));
    assert_int_equal(rig_word(memory + 2044), 4);
    ok(cuMemFreeAsync(q, a));
    ok(cuGraphExecDestroy(x));
}

static void what_conditional_graphs_cannot_do_is_refused(void **state)
{
    (void)state;
    CUgraph other;
    CUgraphNode n, host;
    CUgraphExec x, y;
    CUDA_GRAPH_INSTANTIATE_PARAMS ip = { 0 };
    CUgraphConditionalHandle h = handle(g, 0, 0), none;
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                            .conditional = { .handle = h, .type = CU_GRAPH_COND_TYPE_WHILE, .size = 2 } };
    assert_int_equal(cuGraphConditionalHandleCreate(&none, g, NULL, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphConditionalHandleCreate(&none, g, context, 0, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphConditionalHandleCreate(NULL, g, context, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphInstantiateWithParams(&x, g, &ip), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(ip.result_out, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    p.conditional.size = 0;
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    p.conditional.size = 1;
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_CONTEXT);
    p.conditional.ctx = context;
    p.conditional.handle = 1234;
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    p.conditional.handle = h;
    ok(cuGraphAddNode(&n, g, NULL, NULL, 0, &p));
    CUgraph body = p.conditional.phGraph_out[0];
    assert_int_equal(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphDestroy(body), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphClone(&other, g), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuGraphCreate(&other, 0));
    assert_int_equal(cuGraphAddChildGraphNode(&n, other, NULL, 0, g), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuGraphDestroy(other));
    ok(cuGraphInstantiate(&x, g, 0));
    assert_int_equal(cuGraphInstantiate(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuGraphExecDestroy(x));
    const CUDA_HOST_NODE_PARAMS fn = { free, NULL };
    ok(cuGraphAddHostNode(&host, body, NULL, 0, &fn));
    assert_int_equal(cuGraphInstantiateWithParams(&x, g, &ip), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(ip.result_out, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
    assert_ptr_equal(ip.hErrNode_out, host);
}

static void refused(CUgraphNode bad)
{
    CUgraphExec x;
    CUDA_GRAPH_INSTANTIATE_PARAMS ip = { 0 };
    assert_int_equal(cuGraphInstantiateWithParams(&x, g, &ip), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(ip.result_out, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED);
    assert_ptr_equal(ip.hErrNode_out, bad);
    ok(cuGraphDestroyNode(bad));
}

static void a_body_is_for_the_context_of_its_condition_and_its_memory(void **state)
{
    (void)state;
    enum { KINDS = 3 };
    CUcontext own;
    CUdeviceptr others[KINDS];
    void *host;
    CUgraphNode n;
    CUgraph body = *conditional_node(g, NULL, handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT), CU_GRAPH_COND_TYPE_IF, 1, &n);
    CUDA_MEMSET_NODE_PARAMS fill = { .value = 7, .elementSize = 4, .width = 1, .height = 1 };
    CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = memory,
                           .WidthInBytes = 4,
                           .Height = 1,
                           .Depth = 1 };
    ok(cuCtxCreate(&own, NULL, 0, 0));
    ok(cuMemAlloc(&others[0], 4096));
    ok(cuMemAllocManaged(&others[1], 4096, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_PORTABLE));
    others[2] = (CUdeviceptr)host;
    refused(add_node_of(rig_kernel("add"), body));
    ok(cuCtxSetCurrent(context));
    for (int k = 0; k < KINDS; k++) {
        copy.dstDevice = fill.dst = others[k];
        ok(cuGraphAddMemsetNode(&n, body, NULL, 0, &fill, context));
        refused(n);
        ok(cuGraphAddMemcpyNode(&n, body, NULL, 0, &copy, context));
        refused(n);
    }
    fill.dst = memory;
    ok(cuGraphAddMemsetNode(&n, body, NULL, 0, &fill, own));
    CUgraphExec x = instantiate();
    run(x);
    assert_int_equal(rig_word(memory), 7);
    ok(cuGraphExecDestroy(x));
    ok(cuCtxDestroy(own));
}

static void rest(void *unused)
{
    (void)unused;
    usleep(20000);
}

/* Whatever is issued into the context later waits for the graph, but not what the graph issues itself. */
static void a_context_may_wait_for_what_a_condition_selects(void **state)
{
    (void)state;
    CUgraphNode n;
    CUevent e;
    CUgraph *body = conditional_node(g, NULL, handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT), CU_GRAPH_COND_TYPE_IF, 1, &n);
    add_node(body[0], NULL, 0, 5);
    CUgraphExec x = instantiate();
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    for (uint32_t k = 1; k <= 2; k++) {
        ok(cuLaunchHostFunc(a, rest, NULL));
        ok(cuGraphLaunch(x, a));
        ok(cuEventRecord(e, a));
        ok(cuCtxWaitEvent(context, e));
        ok(cuStreamSynchronize(a));
        assert_int_equal(rig_word(memory), 5 * k);
    }
    ok(cuEventDestroy(e));
    ok(cuGraphExecDestroy(x));
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_loop_runs_until_a_kernel_in_it_says_so),
        T(a_loop_within_a_child_begins_anew_with_each_launch),
        T(a_condition_is_looked_at_when_what_precedes_it_is_done),
        T(a_switch_runs_one_graph_or_none),
        T(a_loop_within_a_loop_begins_anew_each_time),
        T(a_body_is_captured_from_a_stream),
        T(a_context_may_wait_for_what_a_condition_selects),
        T(a_launch_whose_condition_went_with_its_context_writes_nothing),
        T(an_executable_graph_may_be_destroyed_while_it_runs),
        T(parameters_of_a_body_can_be_changed),
        T(a_body_uses_memory_that_its_graph_allocates),
        T(a_body_uses_memory_that_is_freed_behind_the_graph),
        T(what_conditional_graphs_cannot_do_is_refused),
        T(a_body_is_for_the_context_of_its_condition_and_its_memory),
        T(a_launch_that_failed_leaves_conditions_that_may_go),
        T(a_capture_into_a_body_that_goes_is_lost_and_touches_no_other_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
