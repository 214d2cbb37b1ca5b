/* Kernels of a library that is loaded while the program runs: launches of all
 * forms, what is known of them, and nodes of graphs. */
#include "runtime_rig.h"
#include "runtime/registration.h"

static const char code[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .global .align 4 .u32 variable = 41;\n"
                           ".visible .entry add(.param .u64 to, .param .u32 value)\n"
                           "{\n"
                           "    .reg .b32 %r<6>;\n    .reg .b64 %d<4>;\n"
                           "    ld.param.u64 %d1, [to];\n    ld.param.u32 %r1, [value];\n"
                           "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
                           "    mad.lo.u32 %r2, %r2, %r3, %r4;\n    mul.wide.u32 %d2, %r2, 4;\n"
                           "    add.u64 %d1, %d1, %d2;\n    ld.global.u32 %r5, [%d1];\n"
                           "    add.u32 %r5, %r5, %r1;\n    st.global.u32 [%d1], %r5;\n    ret;\n}\n"
                           ".visible .entry other()\n{\n    ret;\n}\n";

enum { THREADS = 64, BYTES = THREADS * 4 };

struct rig {
    cudaLibrary_t library;
    cudaKernel_t add;
    unsigned *memory;
    cudaStream_t stream;
};

static int set_up(void **state)
{
    static struct rig rig;
    *state = &rig;
    return cudaLibraryLoadData(&rig.library, code, NULL, NULL, 0, NULL, NULL, 0) ||
           cudaLibraryGetKernel(&rig.add, rig.library, "add") || cudaMalloc((void **)&rig.memory, BYTES) ||
           cudaStreamCreate(&rig.stream);
}

static int take_down(void **state)
{
    struct rig *rig = *state;
    return cudaStreamDestroy(rig->stream) || cudaFree(rig->memory) || cudaLibraryUnload(rig->library);
}

/* What every element is, after the stream is done. */
static unsigned value_of(const struct rig *rig)
{
    unsigned all[THREADS];
    OK(cudaStreamSynchronize(rig->stream));
    OK(cudaMemcpy(all, rig->memory, BYTES, cudaMemcpyDeviceToHost));
    for (int k = 1; k < THREADS; k++) assert_int_equal(all[k], all[0]);
    return all[0];
}

static void a_kernel_of_a_library_is_launched_by_its_handle(void **state)
{
    struct rig *rig = *state;
    unsigned value = 3;
    void *args[] = { &rig->memory, &value };
    const dim3 grid = { 2, 1, 1 }, block = { THREADS / 2, 1, 1 };
    OK(cudaMemset(rig->memory, 0, BYTES));
    OK(cudaLaunchKernel(rig->add, grid, block, args, 0, rig->stream));
    OK(cudaLaunchCooperativeKernel(rig->add, grid, block, args, 0, rig->stream));
    cudaLaunchAttribute attribute = { .id = cudaLaunchAttributeCooperative, .val = { .cooperative = 1 } };
    const cudaLaunchConfig_t config = { grid, block, 0, rig->stream, &attribute, 1 };
    OK(cudaLaunchKernelExC(&config, rig->add, args));
    assert_int_equal(value_of(rig), 9);
}

static void a_launch_says_what_is_wrong_with_it(void **state)
{
    struct rig *rig = *state;
    unsigned value = 3;
    void *args[] = { &rig->memory, &value };
    const dim3 one = { 1, 1, 1 }, none = { 1, 0, 1 }, many = { 1024, 2, 1 }, deep = { 1, 1, 65 };
    FAILS(cudaLaunchKernel(rig->add, none, one, args, 0, rig->stream), cudaErrorInvalidValue);
    FAILS(cudaLaunchKernel(rig->add, one, many, args, 0, rig->stream), cudaErrorInvalidValue);
    FAILS(cudaLaunchKernel(rig->add, one, deep, args, 0, rig->stream), cudaErrorInvalidValue);
    FAILS(cudaLaunchKernel(rig->add, one, one, args, 100000, rig->stream), cudaErrorInvalidValue);
    FAILS(cudaLaunchKernel(NULL, one, one, args, 0, rig->stream), cudaErrorInvalidDeviceFunction);
    FAILS(cudaLaunchKernel((void *)(uintptr_t)set_up, one, one, args, 0, rig->stream), cudaErrorInvalidResourceHandle);
}

/* As after 100 launches of which an argument threw an exception. */
static void configurations_that_no_launch_takes_leave_room_for_others(void **state)
{
    (void)state;
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    for (unsigned k = 1; k <= 100; k++)
        assert_int_equal(__cudaPushCallConfiguration((dim3){ k, 1, 1 }, (dim3){ 1, k, 1 }, k, NULL), 0);
    for (unsigned k = 100; k > 90; k--) {
        OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
        assert_int_equal(grid.x, k);
        assert_int_equal(block.y, k);
        assert_int_equal(shared, k);
    }
    while (!__cudaPopCallConfiguration(&grid, &block, &shared, &stream)) assert_true(grid.x < 91);
    ANSWERS(cudaGetLastError(), cudaErrorMissingConfiguration);
}

static void more_shared_memory_is_asked_for_by_an_attribute(void **state)
{
    struct rig *rig = *state;
    unsigned value = 1;
    void *args[] = { &rig->memory, &value };
    const dim3 one = { 1, 1, 1 };
    struct cudaFuncAttributes known;
    OK(cudaFuncSetAttribute(rig->add, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    OK(cudaFuncGetAttributes(&known, rig->add));
    assert_int_equal(known.maxDynamicSharedSizeBytes, 100000);
    assert_int_equal(known.maxThreadsPerBlock, 1024);
    OK(cudaLaunchKernel(rig->add, one, one, args, 100000, rig->stream));
    OK(cudaStreamSynchronize(rig->stream));
}

static void a_kernel_has_a_name_and_parameters(void **state)
{
    struct rig *rig = *state;
    const char *name;
    size_t offset, size;
    int blocks;
    OK(cudaFuncGetName(&name, rig->add));
    assert_string_equal(name, "add");
    OK(cudaFuncGetParamInfo(rig->add, 1, &offset, &size));
    assert_int_equal(offset, 8);
    assert_int_equal(size, 4);
    FAILS(cudaFuncGetParamInfo(rig->add, 2, &offset, &size), cudaErrorInvalidValue);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rig->add, 1024, 0));
    assert_int_equal(blocks, 2);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&size, rig->add, 2, 128));
    assert_true(size > 0);
}

static void a_library_has_kernels_and_variables(void **state)
{
    struct rig *rig = *state;
    unsigned kernels;
    cudaKernel_t both[2], missing;
    void *address;
    size_t size;
    OK(cudaLibraryGetKernelCount(&kernels, rig->library));
    assert_int_equal(kernels, 2);
    OK(cudaLibraryEnumerateKernels(both, 2, rig->library));
    assert_true(both[0] == rig->add || both[1] == rig->add);
    FAILS(cudaLibraryGetKernel(&missing, rig->library, "missing"), cudaErrorSymbolNotFound);
    OK(cudaLibraryGetGlobal(&address, &size, rig->library, "variable"));
    assert_int_equal(size, 4);
    unsigned value;
    OK(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDeviceToHost));
    assert_int_equal(value, 41);
}

static void nodes_of_a_graph_set_add_and_copy(void **state)
{
    struct rig *rig = *state;
    unsigned value = 3, out[THREADS];
    void *args[] = { &rig->memory, &value };
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t set, add, copy;
    const struct cudaMemsetParams all = {
        .dst = rig->memory, .value = 5, .elementSize = 4, .width = THREADS, .height = 1
    };
    const struct cudaKernelNodeParams kernel = { rig->add, { 1, 1, 1 }, { THREADS, 1, 1 }, 0, args, NULL };
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddMemsetNode(&set, g, NULL, 0, &all));
    OK(cudaGraphAddKernelNode(&add, g, &set, 1, &kernel));
    OK(cudaGraphAddMemcpyNode1D(&copy, g, &add, 1, out, rig->memory, BYTES, cudaMemcpyDeviceToHost));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, rig->stream));
    OK(cudaStreamSynchronize(rig->stream));
    assert_int_equal(out[THREADS - 1], 8);
    value = 10;
    OK(cudaGraphExecKernelNodeSetParams(x, add, &kernel));
    OK(cudaGraphLaunch(x, rig->stream));
    OK(cudaStreamSynchronize(rig->stream));
    assert_int_equal(out[THREADS - 1], 15);
    struct cudaKernelNodeParams seen;
    OK(cudaGraphKernelNodeGetParams(add, &seen));
    assert_int_equal(*(unsigned *)seen.kernelParams[1], 3);
    struct cudaMemcpy3DParms copied;
    OK(cudaGraphMemcpyNodeGetParams(copy, &copied));
    assert_ptr_equal(copied.dstPtr.ptr, out);
    assert_int_equal(copied.extent.width, BYTES);
    assert_int_equal(copied.kind, cudaMemcpyDeviceToHost);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

static void a_node_of_any_kind_is_one_structure(void **state)
{
    struct rig *rig = *state;
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t alloc, set, kernel, release;
    struct cudaGraphNodeParams p = { .type = cudaGraphNodeTypeMemAlloc };
    p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    p.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    p.alloc.bytesize = BYTES;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddNode(&alloc, g, NULL, NULL, 0, &p));
    void *memory = p.alloc.dptr;
    assert_non_null(memory);
    p = (struct cudaGraphNodeParams){ .type = cudaGraphNodeTypeMemset };
    p.memset =
        (struct cudaMemsetParamsV2){ .dst = memory, .value = 1, .elementSize = 4, .width = THREADS, .height = 1 };
    OK(cudaGraphAddNode(&set, g, &alloc, NULL, 1, &p));
    unsigned value = 3;
    void *args[] = { &memory, &value };
    p = (struct cudaGraphNodeParams){ .type = cudaGraphNodeTypeKernel };
    p.kernel = (struct cudaKernelNodeParamsV2){ rig->add, { 1, 1, 1 }, { THREADS, 1, 1 }, 0, args, NULL };
    OK(cudaGraphAddNode(&kernel, g, &set, NULL, 1, &p));
    OK(cudaGraphAddMemFreeNode(&release, g, &kernel, 1, memory));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, rig->stream));
    OK(cudaStreamSynchronize(rig->stream));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_of_a_library_is_launched_by_its_handle),
        cmocka_unit_test(a_launch_says_what_is_wrong_with_it),
        cmocka_unit_test(configurations_that_no_launch_takes_leave_room_for_others),
        cmocka_unit_test(more_shared_memory_is_asked_for_by_an_attribute),
        cmocka_unit_test(a_kernel_has_a_name_and_parameters),
        cmocka_unit_test(a_library_has_kernels_and_variables),
        cmocka_unit_test(nodes_of_a_graph_set_add_and_copy),
        cmocka_unit_test(a_node_of_any_kind_is_one_structure),
    };
    return cmocka_run_group_tests(tests, set_up, take_down);
}
