/* Handles that were destroyed: what is answered when they are used once more. Each question has a process of its own,
 * since the driver may crash. */
#include "oracle.h"

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .b32 word;\n"
                          ".visible .entry a() { ret; }\n";

static CUmodule module;
static CUfunction function;
static CUlibrary library;
static CUkernel kernel;

static void loaded(void)
{
    setup();
    MUST(cuModuleLoadData(&module, ptx));
    MUST(cuModuleGetFunction(&function, module, "a"));
    MUST(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryGetKernel(&kernel, library, "a"));
}

static void unloaded(void)
{
    loaded();
    MUST(cuModuleUnload(module));
    MUST(cuLibraryUnload(library));
}

static CUresult run(void *f, CUstream s) { return cuLaunchKernel((CUfunction)f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL); }

static void g_module_unload(void)
{
    unloaded();
    K("r", cuModuleUnload(module));
}
static void g_module_function(void)
{
    unloaded();
    CUfunction f;
    K("r", cuModuleGetFunction(&f, module, "a"));
}
static void g_module_global(void)
{
    unloaded();
    CUdeviceptr p;
    size_t n;
    K("r", cuModuleGetGlobal(&p, &n, module, "word"));
}
static void g_function_launch(void)
{
    unloaded();
    K("r", run(function, NULL));
}
static void g_function_attribute(void)
{
    unloaded();
    int n;
    K("r", cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
}
static void g_function_module(void)
{
    unloaded();
    CUmodule m;
    K("r", cuFuncGetModule(&m, function));
}
static void g_library_unload(void)
{
    unloaded();
    K("r", cuLibraryUnload(library));
}
static void g_library_kernel(void)
{
    unloaded();
    CUkernel k;
    K("r", cuLibraryGetKernel(&k, library, "a"));
}
static void g_kernel_launch(void)
{
    unloaded();
    K("r", run(kernel, NULL));
}
static void g_kernel_function(void)
{
    unloaded();
    CUfunction f;
    K("r", cuKernelGetFunction(&f, kernel));
}
static void g_kernel_name(void)
{
    unloaded();
    const char *name;
    K("r", cuKernelGetName(&name, kernel));
}
static void g_kernel_attribute(void)
{
    unloaded();
    int n;
    K("r", cuKernelGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
}
/* A library's function, found before its library goes. */
static void g_kernel_its_function(void)
{
    loaded();
    CUfunction f;
    MUST(cuKernelGetFunction(&f, kernel));
    MUST(cuLibraryUnload(library));
    K("r", run(f, NULL));
}

static CUstream gone_stream(void)
{
    CUstream s;
    loaded();
    MUST(cuStreamCreate(&s, 0));
    MUST(cuStreamDestroy(s));
    return s;
}
static void g_stream_destroy(void) { K("r", cuStreamDestroy(gone_stream())); }
static void g_stream_query(void) { K("r", cuStreamQuery(gone_stream())); }
static void g_stream_synchronize(void) { K("r", cuStreamSynchronize(gone_stream())); }
static void g_stream_launch(void)
{
    CUstream s = gone_stream();
    K("r", run(function, s));
}
static void g_stream_fill(void)
{
    CUstream s = gone_stream();
    CUdeviceptr p;
    MUST(cuMemAlloc(&p, 4096));
    K("r", cuMemsetD8Async(p, 0, 16, s));
}
static void g_stream_record(void)
{
    CUstream s = gone_stream();
    CUevent e;
    MUST(cuEventCreate(&e, 0));
    K("r", cuEventRecord(e, s));
}
static void g_stream_alloc(void)
{
    CUstream s = gone_stream();
    CUdeviceptr p;
    K("r", cuMemAllocAsync(&p, 4096, s));
}

static CUevent gone_event(void)
{
    CUevent e;
    setup();
    MUST(cuEventCreate(&e, 0));
    MUST(cuEventDestroy(e));
    return e;
}
static void g_event_destroy(void) { K("r", cuEventDestroy(gone_event())); }
static void g_event_query(void) { K("r", cuEventQuery(gone_event())); }
static void g_event_record(void) { K("r", cuEventRecord(gone_event(), NULL)); }
static void g_event_synchronize(void) { K("r", cuEventSynchronize(gone_event())); }
static void g_event_wait(void) { K("r", cuStreamWaitEvent(NULL, gone_event(), 0)); }

static CUgraphExec executable;
static CUgraph gone_graph(void)
{
    CUgraph g;
    CUgraphNode n;
    setup();
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddEmptyNode(&n, g, NULL, 0));
    MUST(cuGraphInstantiate(&executable, g, 0));
    MUST(cuGraphDestroy(g));
    MUST(cuGraphExecDestroy(executable));
    return g;
}
static void g_graph_destroy(void) { K("r", cuGraphDestroy(gone_graph())); }
static void g_graph_nodes(void)
{
    size_t n;
    K("r", cuGraphGetNodes(gone_graph(), NULL, &n));
}
static void g_graph_instantiate(void)
{
    CUgraphExec x;
    K("r", cuGraphInstantiate(&x, gone_graph(), 0));
}
static void g_graph_launch(void)
{
    gone_graph();
    K("r", cuGraphLaunch(executable, NULL));
}
static void g_graph_exec_destroy(void)
{
    gone_graph();
    K("r", cuGraphExecDestroy(executable));
}
/* A graph's kernel whose module is gone. */
static void g_graph_function(void)
{
    CUgraph g;
    CUgraphNode n;
    CUgraphExec x;
    loaded();
    CUDA_KERNEL_NODE_PARAMS p = { .func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                  .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddKernelNode(&n, g, NULL, 0, &p));
    MUST(cuModuleUnload(module));
    K("instantiate", cuGraphInstantiate(&x, g, 0));
}
static void g_graph_function_later(void)
{
    CUgraph g;
    CUgraphNode n;
    CUgraphExec x;
    loaded();
    CUDA_KERNEL_NODE_PARAMS p = { .func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                  .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddKernelNode(&n, g, NULL, 0, &p));
    MUST(cuGraphInstantiate(&x, g, 0));
    MUST(cuModuleUnload(module));
    K("launch", cuGraphLaunch(x, NULL));
}

static CUarray gone_array(void)
{
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR d = { .Width = 64, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    setup();
    MUST(cuArrayCreate(&a, &d));
    MUST(cuArrayDestroy(a));
    return a;
}
static void g_array_destroy(void) { K("r", cuArrayDestroy(gone_array())); }
static void g_array_describe(void)
{
    CUDA_ARRAY_DESCRIPTOR d;
    K("r", cuArrayGetDescriptor(&d, gone_array()));
}
static void g_array_copy(void)
{
    char host[64];
    K("r", cuMemcpyAtoH(host, gone_array(), 0, 64));
}
static void g_array_texture(void)
{
    CUtexObject t;
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
    CUDA_TEXTURE_DESC d = { .addressMode = { 0 } };
    r.res.array.hArray = gone_array();
    K("r", cuTexObjectCreate(&t, &r, &d, NULL));
}

static CUmemoryPool gone_pool(void)
{
    CUmemoryPool p;
    CUmemPoolProps d = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = loc(CU_MEM_LOCATION_TYPE_DEVICE, 0) };
    setup();
    MUST(cuMemPoolCreate(&p, &d));
    MUST(cuMemPoolDestroy(p));
    return p;
}
static void g_pool_destroy(void) { K("r", cuMemPoolDestroy(gone_pool())); }
static void g_pool_trim(void) { K("r", cuMemPoolTrimTo(gone_pool(), 0)); }
static void g_pool_alloc(void)
{
    CUdeviceptr p;
    CUmemoryPool pool = gone_pool();
    K("r", cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
}
static void g_pool_attribute(void)
{
    cuuint64_t v;
    K("r", cuMemPoolGetAttribute(gone_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &v));
}

static void g_link_destroy(void)
{
    CUlinkState l;
    setup();
    MUST(cuLinkCreate(0, NULL, NULL, &l));
    MUST(cuLinkDestroy(l));
    K("r", cuLinkDestroy(l));
}
static void g_memory_release(void)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp p = prop_dev(0);
    setup();
    MUST(cuMemCreate(&h, GRAN, &p, 0));
    MUST(cuMemRelease(h));
    K("r", cuMemRelease(h));
}

#define GROUP(name) { "gone_" #name, g_##name, 1 }
const struct group groups[] = {
    GROUP(module_unload),     GROUP(module_function),  GROUP(module_global),       GROUP(function_launch),
    GROUP(function_attribute), GROUP(function_module), GROUP(library_unload),      GROUP(library_kernel),
    GROUP(kernel_launch),     GROUP(kernel_function),  GROUP(kernel_name),         GROUP(kernel_attribute),
    GROUP(kernel_its_function), GROUP(stream_destroy), GROUP(stream_query),        GROUP(stream_synchronize),
    GROUP(stream_launch),     GROUP(stream_fill),      GROUP(stream_record),       GROUP(stream_alloc),
    GROUP(event_destroy),     GROUP(event_query),      GROUP(event_record),        GROUP(event_synchronize),
    GROUP(event_wait),        GROUP(graph_destroy),    GROUP(graph_nodes),         GROUP(graph_instantiate),
    GROUP(graph_launch),      GROUP(graph_exec_destroy), GROUP(graph_function),    GROUP(graph_function_later),
    GROUP(array_destroy),     GROUP(array_describe),   GROUP(array_copy),          GROUP(array_texture),
    GROUP(pool_destroy),      GROUP(pool_trim),        GROUP(pool_alloc),          GROUP(pool_attribute),
    GROUP(link_destroy),      GROUP(memory_release),   { 0 }
};
