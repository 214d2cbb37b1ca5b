/* What is otherwise in libcudart.so.12 than in libcudart.so.13, for whose header this is compiled; and that both can be in
 * one process. usage: test-runtime-twelve LIBCUDART.SO.13 */
#include "runtime_rig.h"
#include "twelve_forms.h"

#include <dlfcn.h>

enum { UNTOUCHED = 0xa5, KiB = 1024, MiB = 1024 * KiB };

static const char *thirteen; /* the file */

/* Room for the structures of both, and what is behind them. */
static union {
    unsigned char bytes[4096];
    struct cudaDeviceProp_12 properties;
    struct cudaPointerAttributes pointer;
    struct cudaResourceDesc resource;
} room;

static void *empty_room(void) { return memset(&room, UNTOUCHED, sizeof room); }

static size_t written(void)
{
    size_t n = sizeof room;
    while (n && room.bytes[n - 1] == UNTOUCHED) n--;
    return n;
}

static void the_version_is_12_9(void **state)
{
    int version = 0;
    (void)state;
    OK(cudaRuntimeGetVersion(&version));
    assert_int_equal(version, 12090);
}

static void properties_have_the_members_of_12(void **state)
{
    struct cudaDeviceProp_12 *p = empty_room();
    int clock, memory_clock;
    (void)state;
    OK(cudaGetDeviceProperties_v2_12(p, 0));
    assert_int_equal(written(), offsetof(struct cudaDeviceProp_12, reserved));
    OK(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
    OK(cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0));
    assert_int_equal(p->clockRate, clock);
    assert_int_equal(p->memoryClockRate, memory_clock);
    assert_int_equal(p->major, 9);
    assert_int_equal(p->unifiedFunctionPointers, 1);
}

static void properties_end_earlier_for_programs_of_11(void **state)
{
    struct cudaDeviceProp_12 *p = empty_room();
    (void)state;
    OK(cudaGetDeviceProperties_12(p, 0));
    assert_int_equal(written(), offsetof(struct cudaDeviceProp_12, hostRegisterSupported));
    assert_int_equal(p->warpSize, 32);
}

static void structures_are_written_as_far_as_12_knows_them(void **state)
{
    const struct cudaChannelFormatDesc format = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
    const struct cudaTextureDesc sampling = { .readMode = cudaReadModeElementType };
    cudaArray_t array;
    cudaTextureObject_t texture;
    void *device;
    (void)state;
    OK(cudaMalloc(&device, 4 * KiB));
    OK(cudaPointerGetAttributes_12(empty_room(), device));
    assert_int_equal(written(), 24);
    assert_int_equal(room.pointer.type, cudaMemoryTypeDevice);
    OK(cudaFree(device));

    OK(cudaMallocArray(&array, &format, 16, 16, 0));
    struct cudaResourceDesc *resource = empty_room(); /* also what is behind it is not read */
    memset(resource, 0, RESOURCE_DESC_SIZE_12);
    resource->resType = cudaResourceTypeArray;
    resource->res.array.array = array;
    OK(cudaCreateTextureObject_12(&texture, resource, &sampling, NULL));
    OK(cudaGetTextureObjectResourceDesc_12(empty_room(), texture));
    assert_int_equal(written(), RESOURCE_DESC_SIZE_12);
    assert_ptr_equal(room.resource.res.array.array, array);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
}

static int preferred(const void *memory, size_t size)
{
    int device = -77;
    OK(cudaMemRangeGetAttribute(&device, sizeof device, cudaMemRangeAttributePreferredLocation, memory, size));
    return device;
}

static void places_of_managed_memory_are_device_numbers(void **state)
{
    void *m;
    int last = -77;
    (void)state;
    OK(cudaMallocManaged(&m, 4 * MiB, cudaMemAttachGlobal));
    OK(cudaMemAdvise_12(m, 4 * MiB, cudaMemAdviseSetPreferredLocation, 0));
    assert_int_equal(preferred(m, 4 * MiB), 0);
    OK(cudaMemAdvise_12(m, 4 * MiB, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId));
    assert_int_equal(preferred(m, 4 * MiB), cudaCpuDeviceId);
    const struct cudaMemLocation device = { cudaMemLocationTypeDevice, 0 };
    OK(cudaMemAdvise_v2_13(m, 4 * MiB, cudaMemAdviseSetPreferredLocation, device));
    assert_int_equal(preferred(m, 4 * MiB), 0);
    OK(cudaMemPrefetchAsync_12(m, 4 * MiB, 0, NULL));
    OK(cudaMemPrefetchAsync_v2_13(m, 4 * MiB, device, 0, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaMemRangeGetAttribute(&last, sizeof last, cudaMemRangeAttributeLastPrefetchLocation, m, 4 * MiB));
    assert_int_equal(last, 0);
    FAILS(cudaMemAdvise_12(m, 4 * MiB, cudaMemAdviseSetPreferredLocation, 99), cudaErrorInvalidDevice);
    FAILS(cudaMemPrefetchAsync_12(m, 4 * MiB, 99, NULL), cudaErrorInvalidDevice);
    OK(cudaFree(m));
}

static void a_batch_tells_which_copy_is_wrong(void **state)
{
    char *device, *host;
    cudaStream_t stream;
    struct cudaMemcpyAttributes how = { .srcAccessOrder = cudaMemcpySrcAccessOrderStream };
    size_t first = 0, wrong = 77, sizes[2] = { 100, 100 };
    (void)state;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&device, 4 * KiB));
    OK(cudaMallocHost((void **)&host, 4 * KiB));
    memset(host, 7, 4 * KiB);
    void *to[2] = { device, device + 100 }, *from[2] = { host, host + 100 };
    OK(cudaMemcpyBatchAsync_12(to, from, sizes, 2, &how, &first, 1, &wrong, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(host + 1000, device, 200, cudaMemcpyDeviceToHost));
    assert_memory_equal(host, host + 1000, 200);
    to[1] = NULL;
    FAILS(cudaMemcpyBatchAsync_12(to, from, sizes, 2, &how, &first, 1, &wrong, stream), cudaErrorInvalidValue);
    assert_int_equal(wrong, 1);
    OK(cudaFree(device));
    OK(cudaFreeHost(host));
    OK(cudaStreamDestroy(stream));
}

static void graphs_have_edges_without_data(void **state)
{
    cudaGraph_t graph;
    cudaGraphNode_t node[3], from[4], to[4];
    struct cudaGraphNodeParams params = { .type = cudaGraphNodeTypeEmpty };
    size_t n = 4;
    (void)state;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddNode_12(&node[0], graph, NULL, 0, &params));
    OK(cudaGraphAddNode_12(&node[1], graph, node, 1, &params));
    OK(cudaGraphAddNode_12(&node[2], graph, NULL, 0, &params));
    OK(cudaGraphAddDependencies_12(graph, &node[1], &node[2], 1));
    OK(cudaGraphGetEdges_12(graph, from, to, &n));
    assert_int_equal(n, 2);
    OK(cudaGraphGetEdges_v2_13(graph, NULL, NULL, NULL, &n));
    assert_int_equal(n, 2);
    n = 4;
    OK(cudaGraphNodeGetDependencies_12(node[2], from, &n));
    assert_true(n == 1 && from[0] == node[1]);
    n = 4;
    OK(cudaGraphNodeGetDependentNodes_12(node[0], to, &n));
    assert_true(n == 1 && to[0] == node[1]);
    OK(cudaGraphRemoveDependencies_12(graph, &node[1], &node[2], 1));
    OK(cudaGraphGetEdges_12(graph, NULL, NULL, &n));
    assert_int_equal(n, 1);
    OK(cudaGraphDestroy(graph));
}

static void three_forms_tell_of_a_capture(void **state)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t empty;
    enum cudaStreamCaptureStatus status;
    unsigned long long id[3];
    const cudaGraphNode_t *behind;
    size_t n = 77;
    (void)state;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaStreamGetCaptureInfo_12(stream, &status, &id[0]));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    OK(cudaStreamGetCaptureInfo_v2_12(stream, &status, &id[1], &graph, &behind, &n));
    OK(cudaStreamGetCaptureInfo_v3_13(stream, &status, &id[2], &graph, &behind, NULL, &n));
    assert_true(id[0] == id[1] && id[1] == id[2] && n == 0);
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    OK(cudaStreamUpdateCaptureDependencies_12(stream, &empty, 1, cudaStreamSetCaptureDependencies));
    OK(cudaStreamGetCaptureInfo_v2_12(stream, &status, NULL, NULL, &behind, &n));
    assert_true(n == 1 && behind[0] == empty);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

static void a_shape_that_no_device_has_leaves_a_capture_alone(void **state)
{
    static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }\n";
    const dim3 one = { 1, 1, 1 }, none = { 0, 1, 1 }, many = { 1025, 1, 1 };
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaStream_t stream;
    cudaGraph_t graph;
    (void)state;
    OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "nothing"));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    FAILS(cudaLaunchKernel(kernel, none, one, NULL, 0, stream), cudaErrorInvalidConfiguration);
    FAILS(cudaLaunchKernel(kernel, one, many, NULL, 0, stream), cudaErrorInvalidConfiguration);
    OK(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaLibraryUnload(library));
}

static void names_of_threads_mean_the_device(void **state)
{
    size_t stack = 0, same = 1;
    (void)state;
    OK(cudaThreadSetLimit(cudaLimitStackSize, 4 * KiB));
    OK(cudaThreadGetLimit(&stack, cudaLimitStackSize));
    OK(cudaDeviceGetLimit(&same, cudaLimitStackSize));
    assert_int_equal(stack, same);
    OK(cudaThreadSynchronize());
}

static void drivers_functions_are_those_of_12_9(void **state)
{
    enum cudaDriverEntryPointQueryResult found;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *f, *g;
    (void)state;
    assert_non_null(driver);
    OK(cudaGetDriverEntryPoint("cuMemcpyBatchAsync", &f, 0, &found));
    assert_ptr_equal(f, dlsym(driver, "cuMemcpyBatchAsync")); /* 13's is cuMemcpyBatchAsync_v2 */
    OK(cudaGetDriverEntryPointByVersion("cuMemcpyBatchAsync", &g, 13000, 0, &found));
    assert_ptr_equal(g, dlsym(driver, "cuMemcpyBatchAsync_v2"));
}

static void what_13_brought_is_not_in_it(void **state)
{
    void *twelve = dlopen("libcudart.so.12", RTLD_NOW | RTLD_NOLOAD);
    (void)state;
    assert_non_null(twelve);
    assert_null(dlvsym(twelve, "cudaMemSetMemPool", "libcudart.so.12"));
    assert_non_null(dlvsym(twelve, "cudaMemAdvise_v2", "libcudart.so.12"));
    dlclose(twelve);
}

static void both_are_in_one_process(void **state)
{
    void *library = dlopen(thirteen, RTLD_NOW), *memory;
    cudaError_t (*version)(int *) = library ? (cudaError_t(*)(int *))dlsym(library, "cudaRuntimeGetVersion") : NULL;
    cudaError_t (*release)(void *) = library ? (cudaError_t(*)(void *))dlsym(library, "cudaFree") : NULL;
    cudaError_t (*last)(void) = library ? (cudaError_t(*)(void))dlsym(library, "cudaGetLastError") : NULL;
    int answer = 0;
    (void)state;
    if (!version || !release || !last) fail_msg("%s", dlerror());
    ANSWERS(version(&answer), cudaSuccess);
    assert_int_equal(answer, CUDART_VERSION);
    OK(cudaMalloc(&memory, 4 * KiB));
    ANSWERS(release(memory), cudaSuccess);
    ANSWERS(release(memory), cudaErrorInvalidValue);
    OK(cudaGetLastError()); /* it is the other one's */
    ANSWERS(last(), cudaErrorInvalidValue);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_12_9),
        cmocka_unit_test(properties_have_the_members_of_12),
        cmocka_unit_test(properties_end_earlier_for_programs_of_11),
        cmocka_unit_test(structures_are_written_as_far_as_12_knows_them),
        cmocka_unit_test(places_of_managed_memory_are_device_numbers),
        cmocka_unit_test(a_batch_tells_which_copy_is_wrong),
        cmocka_unit_test(graphs_have_edges_without_data),
        cmocka_unit_test(three_forms_tell_of_a_capture),
        cmocka_unit_test(a_shape_that_no_device_has_leaves_a_capture_alone),
        cmocka_unit_test(names_of_threads_mean_the_device),
        cmocka_unit_test(drivers_functions_are_those_of_12_9),
        cmocka_unit_test(what_13_brought_is_not_in_it),
        cmocka_unit_test(both_are_in_one_process),
    };
    if (argc != 2) return 2;
    thirteen = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
