/* Green contexts: multiprocessors are divided as the manual says, and kernels
 * find themselves on those they were given. Linked with libcuda.so.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <cuda.h>

#define ok(call) assert_int_equal(call, CUDA_SUCCESS)
enum { BLOCKS = 300, ALL = 132 };

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry where(.param .u64 p)\n{\n .reg .u64 %d<3>; .reg .u32 %r<4>; .shared .b32 s;\n"
    " ld.param.u64 %d0, [p]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %smid; st.shared.u32 [s], %r1;\n"
    " bar.sync 0; ld.shared.u32 %r2, [s];\n"
    " mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r2; ret;\n}\n";

static CUcontext primary;
static CUfunction where;
static CUdeviceptr memory;

static int begin(void **state)
{
    (void)state;
    CUmodule m;
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&primary, 0));
    ok(cuCtxSetCurrent(primary));
    ok(cuModuleLoadData(&m, ptx));
    ok(cuModuleGetFunction(&where, m, "where"));
    ok(cuMemAlloc(&memory, 4 * BLOCKS));
    return 0;
}

static CUdevResource all_of_it(void)
{
    CUdevResource all;
    ok(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    assert_int_equal(all.sm.smCount, ALL);
    return all;
}

static CUgreenCtx create(CUdevResource *r, unsigned count)
{
    CUdevResourceDesc desc;
    CUgreenCtx g;
    ok(cuDevResourceGenerateDesc(&desc, r, count));
    ok(cuGreenCtxCreate(&g, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return g;
}

/* The multiprocessors that a kernel in the stream sees. */
static unsigned used(CUstream s, bool *on)
{
    void *params[] = { &memory };
    uint32_t sm[BLOCKS];
    unsigned n = 0;
    memset(on, 0, ALL * sizeof *on);
    ok(cuLaunchKernel(where, BLOCKS, 1, 1, 32, 1, 1, 0, s, params, NULL));
    ok(cuStreamSynchronize(s));
    ok(cuMemcpyDtoH(sm, memory, sizeof sm));
    for (int k = 0; k < BLOCKS; k++) {
        assert_in_range(sm[k], 0, ALL - 1);
        n += !on[sm[k]];
        on[sm[k]] = true;
    }
    return n;
}

static void multiprocessors_are_divided_in_equal_groups_and_a_rest(void **state)
{
    (void)state;
    CUdevResource all = all_of_it(), part[20], rest;
    static const struct {
        unsigned groups, least, flags, got, size, left;
    } cases[] = {
        { 2, 16, 0, 2, 16, 100 }, { 2, 10, 0, 2, 16, 100 }, { 20, 16, 0, 8, 16, 4 },  { 1, 0, 0, 1, 8, 124 },
        { 20, 66, 0, 1, 72, 60 }, { 3, 1, 1, 3, 2, 126 },   { 1, 128, 0, 1, 128, 4 },
    };
    assert_int_equal(all.sm.minSmPartitionSize, 8);
    assert_int_equal(all.sm.smCoscheduledAlignment, 8);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        unsigned n = cases[k].groups, would;
        ok(cuDevSmResourceSplitByCount(part, &n, &all, &rest, cases[k].flags, cases[k].least));
        assert_int_equal(n, cases[k].got);
        for (unsigned j = 0; j < n; j++) assert_int_equal(part[j].sm.smCount, cases[k].size);
        assert_int_equal(rest.sm.smCount, cases[k].left);
        ok(cuDevSmResourceSplitByCount(NULL, &would, &all, NULL, cases[k].flags, cases[k].least));
        assert_int_equal(would, cases[k].size == 8 ? 15 : ALL / cases[k].size);
    }
    unsigned n = 1;
    assert_int_equal(cuDevSmResourceSplitByCount(part, &n, &all, NULL, 0, ALL + 1),
                     CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    ok(cuDevSmResourceSplitByCount(part, &n, &all, NULL, 0, ALL)); /* no whole number of eights, but all there are */
    assert_int_equal(part[0].sm.smCount, ALL);
    assert_int_equal(part[0].sm.minSmPartitionSize, 0);
    assert_int_equal(cuDevSmResourceSplitByCount(part, &n, &all, NULL, 3, 8), CUDA_ERROR_INVALID_VALUE);
    ok(cuDevSmResourceSplitByCount(part, &n, &all, NULL, 4, 8));
    assert_int_equal(cuDevSmResourceSplitByCount(&rest, &n, &part[0], NULL, 0, 8),
                     CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    all.type = CU_DEV_RESOURCE_TYPE_INVALID;
    assert_int_equal(cuDevSmResourceSplitByCount(part, &n, &all, NULL, 0, 8), CUDA_ERROR_INVALID_RESOURCE_TYPE);
    assert_int_equal(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_INVALID), CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

static void kernels_of_two_green_contexts_are_on_different_multiprocessors(void **state)
{
    (void)state;
    CUdevResource all = all_of_it(), part[2], rest, got;
    unsigned n = 2;
    bool on[3][ALL];
    CUstream s[3];
    ok(cuDevSmResourceSplitByCount(part, &n, &all, &rest, 0, 16));
    CUgreenCtx g[2] = { create(&part[0], 1), create(&part[1], 1) };
    ok(cuGreenCtxGetDevResource(g[1], &got, CU_DEV_RESOURCE_TYPE_SM));
    assert_int_equal(got.sm.smCount, 16);
    for (int k = 0; k < 2; k++) ok(cuGreenCtxStreamCreate(&s[k], g[k], CU_STREAM_NON_BLOCKING, 0));
    ok(cuStreamCreate(&s[2], CU_STREAM_NON_BLOCKING));
    assert_int_equal(used(s[0], on[0]), 16);
    assert_int_equal(used(s[1], on[1]), 16);
    assert_int_equal(used(s[2], on[2]), ALL);
    for (int k = 0; k < ALL; k++) assert_false(on[0][k] && on[1][k]);
    void *params[] = { &memory };
    assert_int_equal(cuLaunchCooperativeKernel(where, 32 * ALL, 1, 1, 1024, 1, 1, 0, s[0], params),
                     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    assert_int_equal(cuLaunchCooperativeKernel(where, ALL, 1, 1, 1024, 1, 1, 0, s[0], params),
                     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    ok(cuLaunchCooperativeKernel(where, 16, 1, 1, 1024, 1, 1, 0, s[0], params));
    ok(cuStreamSynchronize(s[0]));
    for (int k = 0; k < 3; k++) ok(cuStreamDestroy(s[k]));
    for (int k = 0; k < 2; k++) ok(cuGreenCtxDestroy(g[k]));
}

static void resources_of_divisions_can_be_joined(void **state)
{
    (void)state;
    CUdevResource all = all_of_it(), part[3], other[3];
    CUdevResourceDesc desc;
    unsigned n = 3;
    bool on[ALL];
    CUstream s;
    ok(cuDevSmResourceSplitByCount(part, &n, &all, NULL, 0, 8));
    ok(cuDevSmResourceSplitByCount(other, &n, &all, NULL, 0, 8));
    CUdevResource two[] = { part[0], part[2] };
    CUgreenCtx g = create(two, 2);
    ok(cuGreenCtxStreamCreate(&s, g, CU_STREAM_NON_BLOCKING, 0));
    assert_int_equal(used(s, on), 16);
    ok(cuStreamDestroy(s));
    ok(cuGreenCtxDestroy(g));
    two[1] = other[1];
    ok(cuDevResourceGenerateDesc(&desc, two, 2));
    ok(cuGreenCtxCreate(&g, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    ok(cuGreenCtxDestroy(g));
}

/* However many there are with others (observed on H200). */
static void what_a_division_leaves_over_can_be_divided_in_twos(void **state)
{
    (void)state;
    CUdevResource all = all_of_it(), part[1], rest, got;
    CUgreenCtx none = NULL;
    unsigned n = 1;
    ok(cuDevSmResourceSplitByCount(part, &n, &all, &rest, 0, 48));
    assert_int_equal(rest.sm.smCount, ALL - 48);
    CUdevResource two[] = { rest, all };
    for (int k = 0; k < 3; k++) {
        CUgreenCtx g = k == 0 ? create(&part[0], 1) : k == 1 ? create(&rest, 1) : create(two, 2);
        ok(cuGreenCtxGetDevResource(g, &got, CU_DEV_RESOURCE_TYPE_SM));
        assert_int_equal(got.sm.smCount, k == 0 ? 48 : k == 1 ? ALL - 48 : ALL);
        assert_int_equal(got.sm.minSmPartitionSize, k ? 2 : 8);
        assert_int_equal(got.sm.smCoscheduledAlignment, k ? 2 : 8);
        ok(cuGreenCtxDestroy(g));
    }
    assert_int_equal(cuGreenCtxCreate(NULL, NULL, -1, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGreenCtxCreate(&none, NULL, -1, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_DEVICE);
}

static void a_green_context_is_current_as_the_primary_one_with_another_name(void **state)
{
    (void)state;
    CUdevResource all = all_of_it(), part, got;
    CUcontext c, current;
    CUgreenCtx g, of;
    CUstream s, plain;
    unsigned n = 1;
    unsigned long long id, same;
    bool on[ALL];
    ok(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 24));
    g = create(&part, 1);
    ok(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
    ok(cuCtxFromGreenCtx(&c, g));
    assert_ptr_not_equal(c, primary);
    ok(cuCtxPushCurrent(c));
    ok(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, c);
    ok(cuCtxGetDevResource(c, &got, CU_DEV_RESOURCE_TYPE_SM));
    assert_int_equal(got.sm.smCount, 24);
    ok(cuGreenCtxGetId(NULL, &id));
    ok(cuGreenCtxGetId(g, &same));
    assert_int_equal(id, same);
    ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    assert_int_equal(used(s, on), 24);
    assert_int_equal(used(NULL, on), 24);
    assert_int_equal(used(plain, on), ALL);
    ok(cuStreamGetGreenCtx(s, &of));
    assert_ptr_equal(of, g);
    ok(cuStreamGetCtx(s, &current));
    assert_ptr_equal(current, c);
    ok(cuStreamGetCtx_v2(s, &current, &of));
    assert_ptr_equal(current, primary);
    ok(cuStreamGetGreenCtx(plain, &of));
    assert_null(of);
    ok(cuCtxPopCurrent(&current));
    assert_ptr_equal(current, c);
    assert_int_equal(used(NULL, on), ALL);
    assert_int_equal(cuGreenCtxGetId(NULL, &id), CUDA_ERROR_INVALID_CONTEXT);
    ok(cuGreenCtxDestroy(g));
    assert_int_equal(cuStreamSynchronize(s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cuGreenCtxDestroy(g), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(cuCtxSetCurrent(c));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(cuCtxSetCurrent(primary));
    ok(cuCtxSynchronize());
    ok(cuStreamDestroy(plain));
}

static void a_graph_keeps_what_was_captured_in_a_green_context_there(void **state)
{
    (void)state;
    CUdevResource all = all_of_it(), part;
    unsigned n = 1, used_sms = 0;
    CUstream s, plain;
    CUgraph graph;
    CUgraphExec x;
    uint32_t sm[BLOCKS];
    bool on[ALL] = { false };
    void *params[] = { &memory };
    ok(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 32));
    CUgreenCtx g = create(&part, 1);
    ok(cuGreenCtxStreamCreate(&s, g, CU_STREAM_NON_BLOCKING, 0));
    ok(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuMemsetD32Async(memory, 99999, BLOCKS, s));
    ok(cuLaunchKernel(where, BLOCKS, 1, 1, 32, 1, 1, 0, s, params, NULL));
    ok(cuStreamEndCapture(s, &graph));
    ok(cuGraphInstantiate(&x, graph, 0));
    for (int k = 0; k < 4; k++) {
        ok(cuGraphLaunch(x, k % 2 ? s : plain));
        ok(cuStreamSynchronize(k % 2 ? s : plain));
        ok(cuMemcpyDtoH(sm, memory, sizeof sm));
        memset(on, 0, sizeof on);
        used_sms = 0;
        for (int j = 0; j < BLOCKS; j++) {
            assert_in_range(sm[j], 0, ALL - 1);
            used_sms += !on[sm[j]];
            on[sm[j]] = true;
        }
        assert_int_equal(used_sms, 32);
    }
    ok(cuStreamDestroy(s));
    ok(cuGreenCtxDestroy(g));
    assert_int_equal(cuGraphLaunch(x, plain), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(cuGraphExecDestroy(x));
    ok(cuGraphDestroy(graph));
    ok(cuStreamDestroy(plain));
}

static void events_are_of_a_green_contexts_streams(void **state)
{
    (void)state;
    CUdevResource all = all_of_it(), part[2];
    unsigned n = 2;
    CUstream s[2];
    CUevent e;
    uint32_t *flag;
    ok(cuDevSmResourceSplitByCount(part, &n, &all, NULL, 0, 8));
    CUgreenCtx g[2] = { create(&part[0], 1), create(&part[1], 1) };
    for (int k = 0; k < 2; k++) ok(cuGreenCtxStreamCreate(&s[k], g[k], CU_STREAM_NON_BLOCKING, 0));
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    ok(cuMemAllocHost((void **)&flag, 4));
    *flag = 0;
    ok(cuStreamWaitValue32(s[0], (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    ok(cuGreenCtxRecordEvent(g[1], e));
    ok(cuEventSynchronize(e));
    ok(cuGreenCtxRecordEvent(g[0], e));
    assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    ok(cuGreenCtxWaitEvent(g[1], e));
    assert_int_equal(cuStreamQuery(s[1]), CUDA_ERROR_NOT_READY);
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    ok(cuStreamSynchronize(s[1]));
    ok(cuEventQuery(e));
    for (int k = 0; k < 2; k++) {
        ok(cuStreamDestroy(s[k]));
        ok(cuGreenCtxDestroy(g[k]));
    }
    ok(cuEventDestroy(e));
}

static void streams_of_a_green_context_end_with_it_and_their_room_is_used_again(void **state)
{
    (void)state;
    enum { ROUNDS = 2000 };
    CUgreenCtx g;
    CUstream first = NULL, s = NULL;
    void *params[] = { &memory };
    for (int k = 0; k < ROUNDS && (!first || s != first); k++) {
        ok(cuGreenCtxCreate(&g, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM));
        ok(cuGreenCtxStreamCreate(&s, g, CU_STREAM_NON_BLOCKING, 0));
        if (!first) ok(cuLaunchKernel(where, BLOCKS, 1, 1, 32, 1, 1, 0, s, params, NULL));
        ok(cuGreenCtxDestroy(g));
        assert_int_equal(cuStreamQuery(s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_int_equal(cuStreamDestroy(s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        if (!first) first = s, s = NULL;
        ok(cuCtxSynchronize());
    }
    assert_ptr_equal(s, first);
}

static void a_stream_that_was_destroyed_before_its_green_context_is_no_stream_of_that(void **state)
{
    (void)state;
    CUgreenCtx g;
    CUstream s;
    ok(cuGreenCtxCreate(&g, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    ok(cuGreenCtxStreamCreate(&s, g, CU_STREAM_NON_BLOCKING, 0));
    ok(cuStreamDestroy(s));
    ok(cuGreenCtxDestroy(g));
    assert_int_equal(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
}

static void a_green_context_takes_its_captures_along(void **state)
{
    (void)state;
    CUgreenCtx g;
    CUstream s, plain;
    CUgraph graph;
    CUdeviceptr p;
    ok(cuGreenCtxCreate(&g, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    ok(cuGreenCtxStreamCreate(&s, g, CU_STREAM_NON_BLOCKING, 0));
    ok(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuGreenCtxDestroy(g));
    assert_int_equal(cuStreamEndCapture(s, &graph), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(cuStreamEndCapture(plain, &graph));
    ok(cuMemAlloc(&p, 64));
    ok(cuMemFree(p));
    ok(cuGraphDestroy(graph));
    ok(cuStreamDestroy(plain));
}

static void clusters_fill_the_device(void **state)
{
    (void)state;
    int clusters = 0, blocks = 0, size = 0;
    CUlaunchAttribute two = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { 2, 1, 1 } };
    CUlaunchConfig config = {
        .gridDimX = 64, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 256, .blockDimY = 1, .blockDimZ = 1
    };
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, where, 256, 0));
    ok(cuOccupancyMaxActiveClusters(&clusters, where, &config));
    assert_int_equal(clusters, 0);
    ok(cuOccupancyMaxPotentialClusterSize(&size, where, &config));
    assert_int_equal(size, 8);
    config.attrs = &two;
    config.numAttrs = 1;
    ok(cuOccupancyMaxActiveClusters(&clusters, where, &config));
    assert_int_equal(clusters, (blocks < 8 ? blocks : 8) * ALL / 2);
    assert_int_equal(cuOccupancyMaxActiveClusters(NULL, where, &config), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiprocessors_are_divided_in_equal_groups_and_a_rest),
        cmocka_unit_test(kernels_of_two_green_contexts_are_on_different_multiprocessors),
        cmocka_unit_test(resources_of_divisions_can_be_joined),
        cmocka_unit_test(what_a_division_leaves_over_can_be_divided_in_twos),
        cmocka_unit_test(a_green_context_is_current_as_the_primary_one_with_another_name),
        cmocka_unit_test(a_graph_keeps_what_was_captured_in_a_green_context_there),
        cmocka_unit_test(clusters_fill_the_device),
        cmocka_unit_test(streams_of_a_green_context_end_with_it_and_their_room_is_used_again),
        cmocka_unit_test(a_stream_that_was_destroyed_before_its_green_context_is_no_stream_of_that),
        cmocka_unit_test(a_green_context_takes_its_captures_along),
        cmocka_unit_test(events_are_of_a_green_contexts_streams),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
