/* Pictures of graphs say what an H200's driver writes. */
#include "capture_rig.h"

#include <unistd.h>

/* What is written with these flags has each of the texts in it. */
static void picture_has(CUgraph g, unsigned flags, const char *const *texts)
{
    char path[] = "/tmp/graph.dot.XXXXXX", text[8192];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    ok(cuGraphDebugDotPrint(g, path, flags));
    ssize_t n = read(fd, text, sizeof text - 1);
    unlink(path);
    close(fd);
    assert_true(n > 0);
    text[n] = 0;
    for (; *texts; texts++)
        if (!strstr(text, *texts)) fail_msg("no %s in\n%s", *texts, text);
}

static CUgraph make(uint32_t *out)
{
    CUgraph g;
    CUgraphNode set, sum, copy;
    CUcontext context;
    uint32_t words = 1024, added = 7;
    CUdeviceptr at = memory;
    void *params[] = { &at, &words, &added };
    const CUDA_MEMSET_NODE_PARAMS s = { .dst = memory, .value = 100, .elementSize = 4, .width = 1024, .height = 1 };
    const CUDA_KERNEL_NODE_PARAMS k = { .func = rig_kernel("add"), .gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128,
                                        .blockDimY = 1, .blockDimZ = 1, .kernelParams = params };
    const CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = memory, .dstMemoryType = CU_MEMORYTYPE_HOST,
                              .dstHost = out, .WidthInBytes = 4, .Height = 1, .Depth = 1 };
    ok(cuCtxGetCurrent(&context));
    ok(cuGraphCreate(&g, 0));
    ok(cuGraphAddMemsetNode(&set, g, NULL, 0, &s, context));
    ok(cuGraphAddKernelNode(&sum, g, &set, 1, &k));
    ok(cuGraphAddMemcpyNode(&copy, g, &sum, 1, &c, context));
    return g;
}

static void a_picture_of_a_graph_names_its_kernels_and_says_what_was_asked_for(void **state)
{
    (void)state;
    static const char *const plain[] = { "digraph dot {\nsubgraph cluster_", "shape=\"octagon\" label=\"1\nadd\n\"];\n",
                                         "shape=\"invtrapezium\"label=\"0\nMEMSET\n(100,4096)\n\"];\n",
                                         "MEMCPY\n(DtoH,4)\n\"];\n", "_node_0\" -> \"", NULL };
    static const char *const config[] = { "add\n\\<\\<\\<8,128,0\\>\\>\\>\"];\n", NULL };
    static const char *const verbose[] = { "| {ID | 1 (topoId: ", " | add\\<\\<\\<8,128,0\\>\\>\\>}\n", "| {cooperative | 0}\n",
                                           " | 0 | 100 | 4 | 1024 | 1}}}\"];\n", " [headlabel=0];\n",
                                           "{DEVICE (DEVICE) | 0x0000000000000000",
                                           "| {Extent | {WidthInBytes | Height | Depth} | {4 | 1 | 1}}\n", NULL };
    static const char *const runtime[] = { "| {kind | DtoH (DEVICE to HOST PAGEABLE)}\n",
                                           "{Extent | {{Width | 4} | {Height | 1} | {Depth | 1}}}}\n", NULL };
    uint32_t out;
    CUgraph g = make(&out);
    picture_has(g, 0, plain);
    picture_has(g, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS, config);
    picture_has(g, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE, verbose);
    picture_has(g, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS | CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES, runtime);
    ok(cuGraphDestroy(g));
}

/* Nodes 0 to 3, of which 0 comes before the others. */
static CUgraph make_fan(CUgraphNode node[4])
{
    CUgraph g;
    ok(cuGraphCreate(&g, 0));
    for (unsigned k = 0; k < 4; k++) ok(cuGraphAddEmptyNode(&node[k], g, node, k ? 1 : 0));
    return g;
}

/* Where in the picture the edge from node 0 is told. */
static size_t place_of(CUgraph g, unsigned to)
{
    char path[] = "/tmp/graph.dot.XXXXXX", text[4096], end[16];
    int fd = mkstemp(path);
    ok(cuGraphDebugDotPrint(g, path, 0));
    ssize_t n = read(fd, text, sizeof text - 1);
    unlink(path);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    snprintf(end, sizeof end, "_node_%u\";", to);
    const char *at = strstr(text, end);
    assert_non_null(at);
    return (size_t)(at - text);
}

static void of_what_comes_behind_a_node_the_last_takes_the_place_of_what_is_gone(void **state)
{
    (void)state;
    CUgraphNode node[4];
    CUgraph g = make_fan(node), copy;
    ok(cuGraphDestroyNode(node[1]));
    assert_true(place_of(g, 3) < place_of(g, 2));
    ok(cuGraphClone(&copy, g));
    assert_true(place_of(copy, 2) < place_of(copy, 3));
    ok(cuGraphDestroy(copy));
    ok(cuGraphDestroy(g));
}

static void nodes_are_numbered_from_those_that_nothing_comes_behind(void **state)
{
    (void)state;
    CUgraphNode node[4];
    CUgraph g = make_fan(node);
    ok(cuGraphAddDependencies(g, &node[1], &node[3], NULL, 1));
    static const char *const numbers[] = { "0 (topoId: 2)", "1 (topoId: 3)", "2 (topoId: 1)", "3 (topoId: 0)", NULL };
    picture_has(g, CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO, numbers);
    ok(cuGraphDestroy(g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_picture_of_a_graph_names_its_kernels_and_says_what_was_asked_for),
        T(of_what_comes_behind_a_node_the_last_takes_the_place_of_what_is_gone),
        T(nodes_are_numbered_from_those_that_nothing_comes_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
