/* Executable graphs that take the parameters of other graphs, or none of them. */
#include "capture_rig.h"

/* A word is set, then memory allocated and freed. */
static CUgraph setting_graph(unsigned value)
{
    CUgraph g;
    CUgraphNode set, alloc, give;
    CUcontext context;
    const CUDA_MEMSET_NODE_PARAMS fill = { .dst = memory, .value = value, .elementSize = 4, .width = 1, .height = 1 };
    CUDA_MEM_ALLOC_NODE_PARAMS block = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                        .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
                                         .bytesize = 4096 };
    ok(cuCtxGetCurrent(&context));
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddMemsetNode(&set, g, NULL, 0, &fill, context));
    ok(cuGraphAddMemAllocNode(&alloc, g, &set, 1, &block));
    ok(cuGraphAddMemFreeNode(&give, g, &alloc, 1, block.dptr));
    return g;
}

static void an_update_that_fails_changes_nothing(void **state)
{
    (void)state;
    CUgraph g = setting_graph(1), other = setting_graph(2);
    CUgraphExec x, of_other;
    CUgraphExecUpdateResultInfo info;
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphInstantiate(&of_other, other, 0));
    assert_int_equal(cuGraphExecUpdate(x, other, &info), CUDA_ERROR_NOT_SUPPORTED); /* two may not allocate the same */
    run(x);
    assert_int_equal(rig_word(memory), 1);
    ok(cuGraphExecDestroy(of_other));
    ok(cuGraphExecUpdate(x, other, &info));
    run(x);
    assert_int_equal(rig_word(memory), 2);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
    ok(cuGraphDestroy(other));
}

static void what_a_node_told_of_its_parameters_may_be_set_again(void **state)
{
    (void)state;
    enum { TIMES = 3 };
    CUgraph g;
    CUgraphNode n;
    CUgraphExec x;
    CUdeviceptr p = memory;
    uint32_t one = 1, value = 5;
    void *params[] = { &p, &one, &value };
    CUDA_KERNEL_NODE_PARAMS k = rig_node(rig_kernel("add"), params), again;
    ok(cuMemsetD32(memory, 0, 1));
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddKernelNode(&n, g, NULL, 0, &k));
    ok(cuGraphInstantiate(&x, g, 0));
    ok(cuGraphKernelNodeGetParams(n, &k));
    for (uint32_t by = 1; by <= TIMES; by++) {
        *(uint32_t *)k.kernelParams[2] = by;
        ok(cuGraphKernelNodeSetParams(n, &k));
        ok(cuGraphExecKernelNodeSetParams(x, n, &k));
        ok(cuGraphKernelNodeGetParams(n, &again));
        assert_ptr_equal(again.kernelParams, k.kernelParams);
        run(x);
    }
    assert_int_equal(rig_word(memory), 1 + 2 + 3);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

static const char wide[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry wide(.param .align 8 .b8 much[512], .param .u64 p, .param .u32 v)\n{\n"
    ".reg .b64 %p;\n.reg .b32 %v;\nld.param.u64 %p, [p];\nld.param.u32 %v, [v];\nst.global.u32 [%p], %v;\nret;\n}\n";

/* Whoever has what was freed writes there. */
static void use_what_was_freed(void)
{
    enum { SIZES = 16, EACH = 8, STEP = 16 };
    void *p[SIZES][EACH];
    for (size_t k = 0; k < SIZES; k++)
        for (size_t i = 0; i < EACH; i++) {
            assert_non_null(p[k][i] = malloc((k + 1) * STEP));
            memset(p[k][i], 0x5a, (k + 1) * STEP);
        }
    for (size_t k = 0; k < SIZES; k++)
        for (size_t i = 0; i < EACH; i++) free(p[k][i]);
}

/* Values of a kernel with few parameters, while the node has those of one with more. */
static void what_a_node_told_may_be_read_while_it_lives(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphNode n;
    CUgraphExec x;
    CUmodule m;
    CUdeviceptr p = memory;
    uint32_t one = 1, value = 5;
    char much[512] = { 0 };
    void *few[] = { &p, &one, &value }, *many[] = { much, &p, &value };
    CUDA_KERNEL_NODE_PARAMS k = rig_node(rig_kernel("add"), few), first;
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddKernelNode(&n, g, NULL, 0, &k));
    ok(cuGraphKernelNodeGetParams(n, &first));
    void *const values = first.kernelParams[0];
    ok(cuModuleLoadData(&m, wide));
    k.kernelParams = many;
    ok(cuModuleGetFunction(&k.func, m, "wide"));
    ok(cuGraphKernelNodeSetParams(n, &k));
    use_what_was_freed();
    assert_ptr_equal(first.kernelParams[0], values);
    assert_int_equal(*(CUdeviceptr *)values, memory);
    assert_int_equal(*(uint32_t *)first.kernelParams[2], 5);
    ok(cuGraphInstantiate(&x, g, 0));
    run(x);
    assert_int_equal(rig_word(memory), 5);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_update_that_fails_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(what_a_node_told_of_its_parameters_may_be_set_again, begin, end),
        cmocka_unit_test_setup_teardown(what_a_node_told_may_be_read_while_it_lives, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
