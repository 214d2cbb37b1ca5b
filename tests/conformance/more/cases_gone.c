/* Handles that were destroyed: what is answered when they are used once more, where the driver does not crash, as it does
 * of streams, events, links and arrays, or read what it has freed. */
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
    GROUP(module_unload), GROUP(module_function), GROUP(module_global), GROUP(kernel_launch), GROUP(kernel_function),
    GROUP(kernel_name), GROUP(kernel_attribute), GROUP(kernel_its_function), GROUP(graph_destroy), GROUP(graph_nodes),
    GROUP(graph_instantiate), GROUP(graph_launch), GROUP(graph_exec_destroy), GROUP(pool_destroy), GROUP(pool_trim),
    GROUP(pool_alloc), GROUP(pool_attribute), GROUP(memory_release), { 0 }
};
