/* Calls of a thread that has no context: a stream, an event or a function has one of its own. */
#include "oracle.h"

static void g_alone(void)
{
    CUevent e[3], v;
    CUstream s[2], t;
    CUdeviceptr p[2], managed, pooled;
    CUmodule m;
    CUfunction f;
    CUmemoryPool pool;
    CUcontext c = NULL;
    CUdevice d;
    CUgraph g;
    void *h;
    float ms;
    int n;
    unsigned flags;
    setup();
    for (int i = 0; i < 3; i++) MUST(cuEventCreate(&e[i], 0));
    for (int i = 0; i < 2; i++) MUST(cuMemAlloc(&p[i], 4096));
    for (int i = 0; i < 2; i++) MUST(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocHost(&h, 4096));
    MUST(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocAsync(&pooled, 4096, s[0]));
    MUST(cuDeviceGetDefaultMemPool(&pool, 0));
    MUST(cuModuleLoadData(&m, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry a() { ret; }\n"));
    MUST(cuModuleGetFunction(&f, m, "a"));
    MUST(cuCtxSetCurrent(NULL));
    K("event.query", cuEventQuery(e[0]));
    K("event.record", cuEventRecord(e[0], s[0]));
    K("event.synchronize", cuEventSynchronize(e[0]));
    K("event.destroy", cuEventDestroy(e[0]));
    K("event.elapsed", cuEventElapsedTime(&ms, e[1], e[2]));
    K("event.create", cuEventCreate(&v, 0));
    K("stream.query", cuStreamQuery(s[0]));
    K("stream.synchronize", cuStreamSynchronize(s[0]));
    K("stream.wait", cuStreamWaitEvent(s[0], e[1], 0));
    K("stream.flags", cuStreamGetFlags(s[1], &flags));
    K("stream.context", cuStreamGetCtx(s[1], &c));
    rec("stream.its", "%d", c == ctx0);
    K("stream.create", cuStreamCreate(&t, 0));
    K("copy", cuMemcpy(p[0], p[1], 16));
    K("copy.async", cuMemcpyAsync(p[0], p[1], 16, s[0]));
    K("copy.host.async", cuMemcpyHtoDAsync(p[0], h, 16, s[0]));
    K("fill", cuMemsetD8(p[0], 1, 16));
    K("fill.async", cuMemsetD8Async(p[0], 1, 16, s[0]));
    K("launch.stream", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s[0], NULL, NULL));
    K("launch.default", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    K("function.cache", cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_SHARED));
    K("function.attribute", cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    K("pool.free", cuMemFreeAsync(pooled, s[0]));
    K("pool.take", cuMemAllocFromPoolAsync(&pooled, 4096, pool, s[0]));
    K("free", cuMemFree(p[0]));
    K("free.managed", cuMemFree(managed));
    K("free.host", cuMemFreeHost(h));
    K("context.synchronize", cuCtxSynchronize());
    K("context.device", cuCtxGetDevice(&d));
    K("pointer", cuPointerGetAttribute(&n, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p[1]));
    K("range", cuMemGetAddressRange(NULL, NULL, p[1]));
    K("capture.begin", cuStreamBeginCapture(s[1], CU_STREAM_CAPTURE_MODE_RELAXED));
    K("capture.end", cuStreamEndCapture(s[1], &g));
    K("stream.destroy", cuStreamDestroy(s[0]));
}

/* ---- what lies in graphs, modules and libraries, and what has a context of its own. (Calls that give a kernel's node
 * parameters crash the driver.) */

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .b32 word;\n"
                          ".visible .entry a() { ret; }\n";
static CUstream stream;
static CUmodule module[2];
static CUfunction function;
static CUgraph graph;
static CUgraphNode node;
static CUgraphExec executable;
static CUDA_KERNEL_NODE_PARAMS kernel_params;

static void prepare(void)
{
    setup();
    MUST(cuStreamCreate(&stream, 0));
    for (int i = 0; i < 2; i++) MUST(cuModuleLoadData(&module[i], ptx));
    MUST(cuModuleGetFunction(&function, module[0], "a"));
    kernel_params = (CUDA_KERNEL_NODE_PARAMS){ .func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                               .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddKernelNode(&node, graph, NULL, 0, &kernel_params));
    MUST(cuGraphInstantiate(&executable, graph, 0));
}

static void g_graph_default(void)
{
    prepare();
    MUST(cuCtxSetCurrent(NULL));
    K("r", cuGraphLaunch(executable, NULL));
}

static void g_graph_thread(void)
{
    prepare();
    MUST(cuCtxSetCurrent(NULL));
    K("r", cuGraphLaunch(executable, CU_STREAM_PER_THREAD));
}

static void g_graph_clone(void)
{
    CUgraph other;
    prepare();
    MUST(cuCtxSetCurrent(NULL));
    K("r", cuGraphClone(&other, graph));
}

static void g_graph_update(void)
{
    CUgraphExecUpdateResultInfo info;
    prepare();
    MUST(cuCtxSetCurrent(NULL));
    K("r", cuGraphExecUpdate(executable, graph, &info));
}

static void g_graph_others(void)
{
    CUgraph empty, other;
    CUgraphNode n;
    CUgraphExec x;
    CUDA_MEMSET_NODE_PARAMS fill = { .elementSize = 1, .width = 16, .height = 1 };
    prepare();
    MUST(cuMemAlloc(&fill.dst, 4096));
    MUST(cuGraphCreate(&empty, 0));
    MUST(cuCtxSetCurrent(NULL));
    K("create", cuGraphCreate(&other, 0));
    K("empty.node", cuGraphAddEmptyNode(&n, other, NULL, 0));
    K("fill.node", cuGraphAddMemsetNode(&n, other, NULL, 0, &fill, ctx0));
    K("kernel.get", cuGraphKernelNodeGetParams(node, &kernel_params));
    K("empty.instantiate", cuGraphInstantiate(&x, empty, 0));
    K("instantiate", cuGraphInstantiate(&x, graph, 0));
    K("upload", cuGraphUpload(executable, stream));
    K("launch", cuGraphLaunch(executable, stream));
    K("synchronize", cuStreamSynchronize(stream));
}

static void g_graph_ends(void)
{
    size_t n;
    cuuint64_t flags;
    prepare();
    MUST(cuCtxSetCurrent(NULL));
    K("nodes", cuGraphGetNodes(graph, NULL, &n));
    K("flags", cuGraphExecGetFlags(executable, &flags));
    K("exec.destroy", cuGraphExecDestroy(executable));
    K("destroy", cuGraphDestroy(graph));
    K("trim", cuDeviceGraphMemTrim(0));
}

static void g_module(void)
{
    CUmodule its;
    CUfunction f = function;
    CUdeviceptr p;
    size_t size;
    unsigned count;
    int v;
    const char *name;
    prepare();
    MUST(cuModuleGetFunction(&f, module[1], "a"));
    MUST(cuCtxSetCurrent(NULL));
    K("load", cuModuleLoadData(&its, ptx));
    K("function", cuModuleGetFunction(&f, module[1], "a"));
    K("global", cuModuleGetGlobal(&p, &size, module[1], "word"));
    K("count", cuModuleGetFunctionCount(&count, module[1]));
    K("its", cuFuncGetModule(&its, f));
    K("name", cuFuncGetName(&name, f));
    K("loaded", cuFuncLoad(f));
    K("occupancy", cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 32, 0));
    K("unload", cuModuleUnload(module[1]));
    K("unload.again", cuModuleUnload(module[1]));
    K("unload.null", cuModuleUnload(NULL));
}

static void g_library(void)
{
    CUlibrary l, other;
    CUkernel k;
    CUmodule its;
    CUfunction f;
    CUdeviceptr p;
    size_t size;
    int v;
    const char *name;
    prepare();
    MUST(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryGetKernel(&k, l, "a"));
    MUST(cuCtxSetCurrent(NULL));
    K("load", cuLibraryLoadData(&other, ptx, NULL, NULL, 0, NULL, NULL, 0));
    K("kernel", cuLibraryGetKernel(&k, l, "a"));
    K("module", cuLibraryGetModule(&its, l));
    K("global", cuLibraryGetGlobal(&p, &size, l, "word"));
    K("function", cuKernelGetFunction(&f, k));
    K("name", cuKernelGetName(&name, k));
    K("attribute", cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 0));
    K("launch", cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    K("unload", cuLibraryUnload(l));
}

static void g_others(void)
{
    CUarray array;
    CUtexObject texture;
    CUmemoryPool pool;
    CUevent e;
    CUlinkState link;
    CUdeviceptr p, q;
    CUipcEventHandle handle;
    CUDA_ARRAY_DESCRIPTOR shape = { .Width = 64, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    CUDA_TEXTURE_DESC how = { .addressMode = { 0 } };
    CUDA_RESOURCE_DESC of = { .resType = CU_RESOURCE_TYPE_ARRAY };
    prepare();
    MUST(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    MUST(cuArrayCreate(&array, &shape));
    of.res.array.hArray = array;
    MUST(cuTexObjectCreate(&texture, &of, &how, NULL));
    MUST(cuDeviceGetDefaultMemPool(&pool, 0));
    MUST(cuMemAlloc(&q, 4096));
    MUST(cuCtxSetCurrent(NULL));
    K("texture.describe", cuTexObjectGetResourceDesc(&of, texture));
    K("texture.destroy", cuTexObjectDestroy(texture));
    K("array.describe", cuArrayGetDescriptor(&shape, array));
    K("array.destroy", cuArrayDestroy(array));
    K("pool.trim", cuMemPoolTrimTo(pool, 0));
    K("link.create", cuLinkCreate(0, NULL, NULL, &link));
    K("write", cuStreamWriteValue32(stream, q, 7, 0));
    K("event.handle", cuIpcGetEventHandle(&handle, e));
    K("alloc", cuMemAlloc(&p, 4096));
    K("alloc.managed", cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
    K("alloc.async", cuMemAllocAsync(&p, 4096, stream));
    K("stream.synchronize", cuStreamSynchronize(stream));
}

#define GROUP(name) { "without_" #name, g_##name, 1 }
const struct group groups[] = {
    { "alone", g_alone, 1 }, GROUP(graph_default), GROUP(graph_thread), GROUP(graph_clone), GROUP(graph_update),
    GROUP(graph_others), GROUP(graph_ends), GROUP(module), GROUP(library), GROUP(others), { 0 }
};
