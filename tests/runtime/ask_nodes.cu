/* Nodes of graphs: every kind with its parameters, memory nodes, conditional nodes; and what is refused. */
#include "ask_graphs.h"

static void kernels(void)
{
    begin();
    int five = 5, six = 6;
    cudaGraphNode_t a, b, c;
    cudaKernelNodeParams k = kernel(store, &p, &five), got;
    ASK("add", cudaGraphAddKernelNode(&a, g, NULL, 0, &k));
    k = kernel(add, &p, &six);
    ASK("add2", cudaGraphAddKernelNode(&b, g, &a, 1, &k));
    five = 100;
    run("run");
    say("value", "%d", *p);
    memset(&got, 0, sizeof got);
    ASKV("get", cudaGraphKernelNodeGetParams(a, &got), "%d %u %u %u, %d", got.func == (void *)store, got.gridDim.x,
         got.blockDim.x, got.sharedMemBytes, got.kernelParams ? *(int *)got.kernelParams[1] : -1);
    k = kernel(store, &p, &five);
    ASK("set", cudaGraphKernelNodeSetParams(a, &k));
    run("run2");
    say("value2", "%d", *p);
    k.func = (void *)other;
    ASK("set function", cudaGraphKernelNodeSetParams(a, &k));
    run("run3");
    say("value3", "%d", *p);
    k.func = (void *)not_a_kernel;
    ASK("host function", cudaGraphAddKernelNode(&c, g, NULL, 0, &k));
    k.func = NULL;
    ASK("null function", cudaGraphAddKernelNode(&c, g, NULL, 0, &k));
    k = kernel(store, &p, &five);
    k.gridDim = dim3(0);
    ASK("grid 0", cudaGraphAddKernelNode(&c, g, NULL, 0, &k));
    k.gridDim = dim3(1);
    k.blockDim = dim3(1025);
    ASK("block 1025", cudaGraphAddKernelNode(&c, g, NULL, 0, &k));
    k.blockDim = dim3(1);
    k.sharedMemBytes = 1 << 20;
    ASK("shared", cudaGraphAddKernelNode(&c, g, NULL, 0, &k));
    n = 77;
    ASKV("nodes", cudaGraphGetNodes(g, NULL, &n), "%zu", n);
    RISK("params null", cudaGraphAddKernelNode(&c, g, NULL, 0, NULL));
    RISK("out null", cudaGraphAddKernelNode(NULL, g, NULL, 0, &k));
    RISK("graph null", cudaGraphAddKernelNode(&c, NULL, NULL, 0, &k));
    RISK("get null", cudaGraphKernelNodeGetParams(a, NULL));
    RISK("set null", cudaGraphKernelNodeSetParams(a, NULL));
    cudaLaunchAttributeValue v;
    for (int id = 0; id <= 17; id++) {
        memset(&v, 0, sizeof v);
        ASKV(keyf("attribute%d", id), cudaGraphKernelNodeGetAttribute(a, (cudaLaunchAttributeID)id, &v), "%08x",
             hash(&v, sizeof v));
        ASK(keyf("attribute%d.set", id), cudaGraphKernelNodeSetAttribute(a, (cudaLaunchAttributeID)id, &v));
    }
    v.priority = -2;
    ASK("priority", cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributePriority, &v));
    ASK("copy", cudaGraphKernelNodeCopyAttributes(b, a));
    memset(&v, 0, sizeof v);
    ASKV("copy.get", cudaGraphKernelNodeGetAttribute(b, cudaLaunchAttributePriority, &v), "%d", v.priority);
}

static void kinds(void)
{
    begin();
    static int one = 1;
    cudaGraphNode_t node[12];
    cudaEvent_t e;
    cudaGraph_t child;
    cudaHostNodeParams h = { count, &one }, hgot = { NULL, NULL };
    cudaMemsetParams m = fill(p, 0x12, 1, 16, 1, 0), mgot;
    MUST(cudaEventCreate(&e));
    MUST(cudaGraphCreate(&child, 0));
    MUST(cudaGraphAddEmptyNode(&node[0], child, NULL, 0));
    ASK("empty", cudaGraphAddEmptyNode(&node[0], g, NULL, 0));
    ASK("host", cudaGraphAddHostNode(&node[1], g, node, 1, &h));
    ASK("memset", cudaGraphAddMemsetNode(&node[2], g, &node[1], 1, &m));
    ASK("memcpy1d", cudaGraphAddMemcpyNode1D(&node[3], g, &node[2], 1, p + 8, p, 16, cudaMemcpyDefault));
    ASK("child", cudaGraphAddChildGraphNode(&node[4], g, &node[3], 1, child));
    ASK("record", cudaGraphAddEventRecordNode(&node[5], g, &node[4], 1, e));
    ASK("wait", cudaGraphAddEventWaitNode(&node[6], g, &node[5], 1, e));
    int three[3] = { 1, 2, 3 };
    ASK("tosymbol", cudaGraphAddMemcpyNodeToSymbol(&node[7], g, &node[6], 1, variable, p, 8, 4, cudaMemcpyDefault));
    ASK("fromsymbol",
        cudaGraphAddMemcpyNodeFromSymbol(&node[8], g, &node[7], 1, p + 20, variable, 8, 4, cudaMemcpyDefault));
    struct cudaMemcpy3DParms c;
    memset(&c, 0, sizeof c);
    c.srcPtr = make_cudaPitchedPtr(p, 64, 64, 1);
    c.dstPtr = make_cudaPitchedPtr(p + 100, 64, 64, 1);
    c.extent = make_cudaExtent(16, 2, 1);
    c.kind = cudaMemcpyDefault;
    ASK("memcpy", cudaGraphAddMemcpyNode(&node[9], g, &node[8], 1, &c));
    for (int i = 0; i < 10; i++) {
        enum cudaGraphNodeType type = (enum cudaGraphNodeType)77;
        ASKV(keyf("type%d", i), cudaGraphNodeGetType(node[i], &type), "%d", type);
    }
    run("run");
    say("data", "%s %s %x %x calls %d", all(p, 0x12, 16), all(p + 8, 0x12, 16), p[20], p[100], calls);
    ASKV("host.get", cudaGraphHostNodeGetParams(node[1], &hgot), "%d %d", hgot.fn == count, hgot.userData == &one);
    h.userData = &three[2];
    ASK("host.set", cudaGraphHostNodeSetParams(node[1], &h));
    h.fn = NULL;
    ASK("host.set null", cudaGraphHostNodeSetParams(node[1], &h));
    ASK("host.add null", cudaGraphAddHostNode(&node[11], g, NULL, 0, &h));
    memset(&mgot, 0, sizeof mgot);
    ASKV("memset.get", cudaGraphMemsetNodeGetParams(node[2], &mgot), "%d %x %u %zu %zu %zu", mgot.dst == p, mgot.value,
         mgot.elementSize, mgot.width, mgot.height, mgot.pitch);
    m.value = 0x34;
    ASK("memset.set", cudaGraphMemsetNodeSetParams(node[2], &m));
    struct cudaMemcpy3DParms cgot;
    memset(&cgot, 0, sizeof cgot);
    ASKV("memcpy.get", cudaGraphMemcpyNodeGetParams(node[9], &cgot), "%zu %zu %zu, pitch %zu, kind %d",
         cgot.extent.width, cgot.extent.height, cgot.extent.depth, cgot.srcPtr.pitch, cgot.kind);
    memset(&cgot, 0, sizeof cgot);
    ASKV("memcpy1d.get", cudaGraphMemcpyNodeGetParams(node[3], &cgot),
         "%zu %zu %zu, pitch %zu %zu ysize %zu, kind %d, %d", cgot.extent.width, cgot.extent.height, cgot.extent.depth,
         cgot.srcPtr.pitch, cgot.srcPtr.xsize, cgot.srcPtr.ysize, cgot.kind, cgot.dstPtr.ptr == p + 8);
    ASK("memcpy.set", cudaGraphMemcpyNodeSetParams(node[9], &c));
    ASK("memcpy1d.set", cudaGraphMemcpyNodeSetParams1D(node[3], p + 8, p, 8, cudaMemcpyDefault));
    ASK("tosymbol.set", cudaGraphMemcpyNodeSetParamsToSymbol(node[7], variable, p, 4, 0, cudaMemcpyDefault));
    ASK("fromsymbol.set", cudaGraphMemcpyNodeSetParamsFromSymbol(node[8], p + 20, variable, 4, 0, cudaMemcpyDefault));
    cudaGraph_t of = NULL;
    ASKV("child.get", cudaGraphChildGraphNodeGetGraph(node[4], &of), "%d", of != NULL && of != child);
    cudaEvent_t egot = NULL;
    ASKV("record.get", cudaGraphEventRecordNodeGetEvent(node[5], &egot), "%d", egot == e);
    ASKV("wait.get", cudaGraphEventWaitNodeGetEvent(node[6], &egot), "%d", egot == e);
    ASK("record.set", cudaGraphEventRecordNodeSetEvent(node[5], e));
    ASK("wait.set", cudaGraphEventWaitNodeSetEvent(node[6], e));
    cudaKernelNodeParams k;
    ASK("wrong kernel.get", cudaGraphKernelNodeGetParams(node[1], &k));
    ASK("wrong memset.get", cudaGraphMemsetNodeGetParams(node[1], &mgot));
    ASK("wrong memcpy.get", cudaGraphMemcpyNodeGetParams(node[1], &cgot));
    ASK("wrong host.get", cudaGraphHostNodeGetParams(node[2], &hgot));
    ASK("wrong child.get", cudaGraphChildGraphNodeGetGraph(node[1], &of));
    ASK("wrong record.get", cudaGraphEventRecordNodeGetEvent(node[6], &egot));
    ASK("wrong memcpy1d.set", cudaGraphMemcpyNodeSetParams1D(node[2], p, p + 1, 4, cudaMemcpyDefault));
    run("run2");
    say("data2", "%s calls %d", all(p, 0x34, 16), calls);
    ASK("symbol unknown",
        cudaGraphAddMemcpyNodeToSymbol(&node[11], g, NULL, 0, (void *)three, p, 4, 0, cudaMemcpyDefault));
    ASK("symbol over", cudaGraphAddMemcpyNodeToSymbol(&node[11], g, NULL, 0, variable, p, 17, 0, cudaMemcpyDefault));
    ASK("symbol kind",
        cudaGraphAddMemcpyNodeToSymbol(&node[11], g, NULL, 0, variable, p, 4, 0, cudaMemcpyDeviceToHost));
    ASK("memcpy1d kind", cudaGraphAddMemcpyNode1D(&node[11], g, NULL, 0, p, p + 1, 4, (enum cudaMemcpyKind)9));
    ASK("memcpy1d zero", cudaGraphAddMemcpyNode1D(&node[11], g, NULL, 0, p, p + 1, 0, cudaMemcpyDefault));
    ASK("memcpy1d null", cudaGraphAddMemcpyNode1D(&node[11], g, NULL, 0, NULL, p + 1, 4, cudaMemcpyDefault));
    ASK("record null", cudaGraphAddEventRecordNode(&node[11], g, NULL, 0, NULL));
    ASK("child null", cudaGraphAddChildGraphNode(&node[11], g, NULL, 0, NULL));
    ASK("child itself", cudaGraphAddChildGraphNode(&node[11], g, NULL, 0, g));
    RISK("type null", cudaGraphNodeGetType(node[0], NULL));
    RISK("type nullnode", cudaGraphNodeGetType(NULL, (enum cudaGraphNodeType *)&n));
    RISK("empty null", cudaGraphAddEmptyNode(NULL, g, NULL, 0));
    RISK("dependencies null", cudaGraphAddEmptyNode(&node[11], g, NULL, 1));
}

static void fills(void)
{
    begin();
    static const struct {
        unsigned element, value;
        size_t width, height, pitch;
    } list[] = { { 1, 0x12, 16, 1, 0 }, { 2, 0x1234, 16, 1, 0 }, { 4, 0x12345678, 16, 1, 0 }, { 3, 1, 16, 1, 0 },
                 { 0, 1, 16, 1, 0 },    { 8, 1, 16, 1, 0 },      { 1, 0x1234, 16, 1, 0 },     { 1, 1, 0, 1, 0 },
                 { 1, 1, 16, 0, 0 },    { 1, 1, 16, 2, 8 },      { 1, 1, 16, 2, 16 },         { 4, 7, 4, 4, 64 },
                 { 4, 7, 4, 4, 62 },    { 2, 0x12345, 4, 1, 0 }, { 1, 1, 1ul << 40, 1, 0 } };
    for (size_t i = 0; i < COUNT(list); i++) {
        cudaGraphNode_t a = NULL;
        memset(p, 0, 4096);
        cudaMemsetParams m = fill(p, list[i].value, list[i].element, list[i].width, list[i].height, list[i].pitch);
        MUST(cudaGraphCreate(&g, 0));
        ASK(keyf("add%zu", i), cudaGraphAddMemsetNode(&a, g, NULL, 0, &m));
        run(keyf("run%zu", i));
        say(keyf("data%zu", i), "%08x", hash(p, 4096));
    }
    cudaGraphNode_t a;
    char local[64];
    cudaMemsetParams m = fill(NULL, 1, 1, 16, 1, 0);
    ASK("null", cudaGraphAddMemsetNode(&a, g, NULL, 0, &m));
    m.dst = local;
    ASK("pageable", cudaGraphAddMemsetNode(&a, g, NULL, 0, &m));
    RISK("params", cudaGraphAddMemsetNode(&a, g, NULL, 0, NULL));
}

static void node_params(void)
{
    begin();
    int five = 5, seven = 7;
    static int one = 1;
    cudaGraphNode_t a = NULL, b = NULL;
    cudaGraphNodeParams np = {};
    void *args[] = { &p, &five }, *args7[] = { &p, &seven };
    memset(&np, 0, sizeof np);
    np.type = cudaGraphNodeTypeKernel;
    np.kernel.func = (void *)store;
    np.kernel.gridDim = make_uint3(1, 1, 1);
    np.kernel.blockDim = make_uint3(1, 1, 1);
    np.kernel.kernelParams = args;
    ASK("kernel", cudaGraphAddNode(&a, g, NULL, NULL, 0, &np));
    np.reserved0[1] = 1;
    ASK("reserved", cudaGraphAddNode(&b, g, NULL, NULL, 0, &np));
    np.reserved0[1] = 0;
    np.reserved2 = 1;
    ASK("reserved2", cudaGraphAddNode(&b, g, NULL, NULL, 0, &np));
    np.reserved2 = 0;
    np.type = (enum cudaGraphNodeType)99;
    ASK("type", cudaGraphAddNode(&b, g, NULL, NULL, 0, &np));
    memset(&np, 0, sizeof np);
    np.type = cudaGraphNodeTypeEmpty;
    ASK("empty", cudaGraphAddNode(&b, g, &a, NULL, 1, &np));
    memset(&np, 0, sizeof np);
    np.type = cudaGraphNodeTypeHost;
    np.host.fn = count;
    np.host.userData = &one;
    ASK("host", cudaGraphAddNode(&b, g, &a, NULL, 1, &np));
    memset(&np, 0, sizeof np);
    np.type = cudaGraphNodeTypeMemset;
    np.memset.dst = p + 10;
    np.memset.value = 3;
    np.memset.elementSize = 4;
    np.memset.width = 4;
    np.memset.height = 1;
    ASK("memset", cudaGraphAddNode(&b, g, &a, NULL, 1, &np));
    cudaGraphEdgeData e;
    memset(&e, 0, sizeof e);
    e.type = cudaGraphDependencyTypeProgrammatic;
    e.from_port = cudaGraphKernelNodePortProgrammatic;
    ASK("programmatic to memset", cudaGraphAddNode(&b, g, &a, &e, 1, &np));
    run("run");
    say("value", "%d %d calls %d", p[0], p[12], calls);
    memset(&np, 0, sizeof np);
    np.type = cudaGraphNodeTypeKernel;
    np.kernel.func = (void *)store;
    np.kernel.gridDim = make_uint3(1, 1, 1);
    np.kernel.blockDim = make_uint3(1, 1, 1);
    np.kernel.kernelParams = args7;
    MUST(cudaGraphInstantiate(&x, g, 0));
    ASK("exec set", cudaGraphExecNodeSetParams(x, a, &np));
    ASK("launch", cudaGraphLaunch(x, s));
    ASK("sync", cudaStreamSynchronize(s));
    say("exec value", "%d", p[0]);
    ASK("set", cudaGraphNodeSetParams(a, &np));
    np.type = cudaGraphNodeTypeMemset;
    ASK("set other type", cudaGraphNodeSetParams(a, &np));
    RISK("null", cudaGraphAddNode(&b, g, NULL, NULL, 0, NULL));
    RISK("set null", cudaGraphNodeSetParams(a, NULL));
}

static void conditional(void)
{
    begin();
    static int one = 1;
    cudaGraphConditionalHandle h = 0;
    for (int type = 0; type <= 3; type++)
        for (unsigned size = 0; size <= 3; size++)
            for (unsigned value = 0; value <= 2; value++) {
                if (type == cudaGraphCondTypeWhile && value) continue;
                MUST(cudaGraphCreate(&g, 0));
                cudaGraphNode_t a, inside;
                cudaGraphNodeParams np = {};
                MUST(cudaGraphConditionalHandleCreate(&h, g, value, cudaGraphCondAssignDefault));
                memset(&np, 0, sizeof np);
                np.type = cudaGraphNodeTypeConditional;
                np.conditional.handle = h;
                np.conditional.type = (enum cudaGraphConditionalNodeType)type;
                np.conditional.size = size;
                cudaError_t e = cudaGraphAddNode(&a, g, NULL, NULL, 0, &np);
                answer(keyf("add.%d.%u.%u", type, size, value), e, "%d", np.conditional.phGraph_out != NULL);
                if (e) continue;
                enum cudaGraphNodeType t = (enum cudaGraphNodeType)77;
                cudaGraphNodeGetType(a, &t);
                int ten[3] = { 1, 10, 100 };
                for (unsigned i = 0; i < size; i++) {
                    int *to = p + i, *value_of = &ten[i];
                    cudaKernelNodeParams k = kernel(add, &to, value_of);
                    MUST(cudaGraphAddKernelNode(&inside, np.conditional.phGraph_out[i], NULL, 0, &k));
                }
                memset(p, 0, 64);
                run(keyf("run.%d.%u.%u", type, size, value));
                say(keyf("value.%d.%u.%u", type, size, value), "%d %d %d, type %d", p[0], p[1], p[2], t);
            }
    for (unsigned flags = 0; flags <= 3; flags++)
        ASK(keyf("handle flags%u", flags), cudaGraphConditionalHandleCreate(&h, g, 1, flags));
    RISK("handle null", cudaGraphConditionalHandleCreate(NULL, g, 1, 0));
    cudaGraph_t unused;
    MUST(cudaGraphCreate(&unused, 0));
    MUST(cudaGraphConditionalHandleCreate(&h, unused, 1, 0));
    cudaGraphInstantiateParams params;
    memset(&params, 0, sizeof params);
    ASKV("handle unused", cudaGraphInstantiateWithParams(&x, unused, &params), "%d", params.result_out);
    cudaGraphNode_t a, inside;
    cudaGraphNodeParams np = {};
    MUST(cudaGraphCreate(&g, 0));
    MUST(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    memset(&np, 0, sizeof np);
    np.type = cudaGraphNodeTypeConditional;
    np.conditional.handle = h;
    np.conditional.size = 1;
    MUST(cudaGraphAddNode(&a, g, NULL, NULL, 0, &np));
    cudaHostNodeParams host = { count, &one };
    ASK("host inside", cudaGraphAddHostNode(&inside, np.conditional.phGraph_out[0], NULL, 0, &host));
    run("host inside.run");
    say("calls", "%d", calls);
    np.conditional.handle = 0x1234;
    ASK("handle garbage", cudaGraphAddNode(&a, g, NULL, NULL, 0, &np));
    cudaGraph_t clone;
    ASK("clone", cudaGraphClone(&clone, g));
    np.conditional.handle = h;
    ASK("handle twice", cudaGraphAddNode(&a, g, NULL, NULL, 0, &np));
}

static void memory_nodes(void)
{
    begin();
    cudaGraphNode_t a, f, k1;
    cudaMemAllocNodeParams m, got;
    uint64_t value = 77;
    memset(&m, 0, sizeof m);
    m.poolProps.allocType = cudaMemAllocationTypePinned;
    m.poolProps.location = ON_DEVICE;
    m.bytesize = 100000;
    for (int attribute = 0; attribute <= 4; attribute++) {
        value = 77;
        ASKV(keyf("attribute%d", attribute),
             cudaDeviceGetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)attribute, &value), "%lu", value);
    }
    ASKV("alloc", cudaGraphAddMemAllocNode(&a, g, NULL, 0, &m), "%d", m.dptr != NULL);
    int *inside = (int *)m.dptr, five = 0x01010101;
    cudaKernelNodeParams k = kernel(store, &inside, &five);
    ASK("kernel", cudaGraphAddKernelNode(&k1, g, &a, 1, &k));
    cudaGraphNode_t copy;
    ASK("copy", cudaGraphAddMemcpyNode1D(&copy, g, &k1, 1, p, inside, 4, cudaMemcpyDefault));
    ASK("free", cudaGraphAddMemFreeNode(&f, g, &copy, 1, inside));
    memset(&got, 0, sizeof got);
    ASKV("alloc.get", cudaGraphMemAllocNodeGetParams(a, &got), "%zu %d", got.bytesize, got.dptr == (void *)inside);
    void *freed = NULL;
    ASKV("free.get", cudaGraphMemFreeNodeGetParams(f, &freed), "%d", freed == inside);
    struct cudaPointerAttributes known;
    memset(&known, 0, sizeof known);
    ASKV("pointer", cudaPointerGetAttributes(&known, inside), "%d %d", known.type, known.device);
    run("run");
    say("value", "%x", *p);
    run("run again");
    for (int attribute = 0; attribute <= 3; attribute++) {
        value = 77;
        ASKV(keyf("attribute%d after", attribute),
             cudaDeviceGetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)attribute, &value), "%lu", value);
    }
    value = 0;
    for (int attribute = 0; attribute <= 4; attribute++)
        ASK(keyf("attribute%d set", attribute),
            cudaDeviceSetGraphMemAttribute(0, (enum cudaGraphMemAttributeType)attribute, &value));
    ASK("trim", cudaDeviceGraphMemTrim(0));
    value = 77;
    ASKV("reserved after", cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &value), "%lu", value);
    ASK("free twice", cudaGraphAddMemFreeNode(&f, g, NULL, 0, inside));
    ASK("free garbage", cudaGraphAddMemFreeNode(&f, g, NULL, 0, p));
    ASK("free null", cudaGraphAddMemFreeNode(&f, g, NULL, 0, NULL));
    cudaGraph_t clone;
    ASK("clone", cudaGraphClone(&clone, g));
    ASK("node destroy", cudaGraphDestroyNode(a));
    ASK("edge removal", cudaGraphRemoveDependencies(g, &a, &k1, NULL, 1));
    MUST(cudaGraphInstantiate(&x, g, 0));
    cudaGraphExec_t y;
    ASK("instantiate twice", cudaGraphInstantiate(&y, g, 0));
    ASK("exec destroy", cudaGraphExecDestroy(x));
    /* left allocated by the graph */
    MUST(cudaGraphCreate(&g, 0));
    m.bytesize = 4096;
    MUST(cudaGraphAddMemAllocNode(&a, g, NULL, 0, &m));
    MUST(cudaGraphInstantiate(&x, g, 0));
    ASK("keep.launch", cudaGraphLaunch(x, s));
    ASK("keep.sync", cudaStreamSynchronize(s));
    ASK("keep.memset", cudaMemset(m.dptr, 4, 4096));
    ASK("keep.launch again", cudaGraphLaunch(x, s));
    ASK("keep.free", cudaFree(m.dptr));
    ASK("keep.launch freed", cudaGraphLaunch(x, s));
    ASK("keep.free async", cudaFreeAsync(m.dptr, s));
    ASK("keep.sync2", cudaStreamSynchronize(s));
    MUST(cudaGraphExecDestroy(x));
    ASK("auto", cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    ASK("auto.launch", cudaGraphLaunch(x, s));
    ASK("auto.launch again", cudaGraphLaunch(x, s));
    ASK("auto.sync", cudaStreamSynchronize(s));
    ASK("auto.destroy", cudaGraphExecDestroy(x));
    MUST(cudaGraphCreate(&g, 0));
    m.bytesize = 0;
    ASK("size 0", cudaGraphAddMemAllocNode(&a, g, NULL, 0, &m));
    m.bytesize = 1ul << 50;
    ASK("size huge", cudaGraphAddMemAllocNode(&a, g, NULL, 0, &m));
    m.bytesize = 4096;
    m.poolProps.location.id = 9;
    ASK("location", cudaGraphAddMemAllocNode(&a, g, NULL, 0, &m));
    m.poolProps.location = ON_HOST;
    ASK("location host", cudaGraphAddMemAllocNode(&a, g, NULL, 0, &m));
    m.poolProps.location = ON_DEVICE;
    m.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    ASK("handle type", cudaGraphAddMemAllocNode(&a, g, NULL, 0, &m));
    m.poolProps.handleTypes = cudaMemHandleTypeNone;
    m.poolProps.allocType = cudaMemAllocationTypeInvalid;
    ASK("allocation type", cudaGraphAddMemAllocNode(&a, g, NULL, 0, &m));
    RISK("null", cudaGraphAddMemAllocNode(&a, g, NULL, 0, NULL));
}

static void captured_memory(void)
{
    begin();
    void *m = NULL;
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ASK("malloc", cudaMallocAsync(&m, 4096, s));
    ASK("memset", cudaMemsetAsync(m, 6, 4096, s));
    ASK("memcpy", cudaMemcpyAsync(p, m, 16, cudaMemcpyDefault, s));
    ASK("free", cudaFreeAsync(m, s));
    ASK("end", cudaStreamEndCapture(s, &g));
    cudaGraphNode_t nodes[8];
    n = 8;
    MUST(cudaGraphGetNodes(g, nodes, &n));
    for (size_t i = 0; i < n; i++) {
        enum cudaGraphNodeType t;
        MUST(cudaGraphNodeGetType(nodes[i], &t));
        say(keyf("type%zu", i), "%d", t);
    }
    run("run");
    say("data", "%s", all(p, 6, 16));
}

const struct group groups[] = {
    GROUP(kernels),     GROUP(kinds),        GROUP(fills),           GROUP(node_params),
    GROUP(conditional), GROUP(memory_nodes), GROUP(captured_memory), LAST_GROUP,
};
