/* Graphs as a whole: edges, instantiation, updates, launches, clones, user objects; and what is refused. */
#include "ask_graphs.h"

static void empty(void)
{
    begin();
    ASK("create flags", cudaGraphCreate(&g, 1));
    RISK("create null", cudaGraphCreate(NULL, 0));
    MUST(cudaGraphCreate(&g, 0));
    n = 77;
    ASKV("nodes", cudaGraphGetNodes(g, NULL, &n), "%zu", n);
    n = 77;
    ASKV("roots", cudaGraphGetRootNodes(g, NULL, &n), "%zu", n);
    n = 77;
    ASKV("edges", cudaGraphGetEdges(g, NULL, NULL, NULL, &n), "%zu", n);
    run("run");
    RISK("nodes null", cudaGraphGetNodes(g, NULL, NULL));
    RISK("nodes nullgraph", cudaGraphGetNodes(NULL, NULL, &n));
    RISK("roots null", cudaGraphGetRootNodes(g, NULL, NULL));
    RISK("edges null", cudaGraphGetEdges(g, NULL, NULL, NULL, NULL));
    RISK("instantiate null", cudaGraphInstantiate(NULL, g, 0));
    RISK("instantiate nullgraph", cudaGraphInstantiate(&x, NULL, 0));
    RISK("launch null", cudaGraphLaunch(NULL, s));
    RISK("upload null", cudaGraphUpload(NULL, s));
    RISK("destroy null", cudaGraphDestroy(NULL));
    RISK("exec destroy null", cudaGraphExecDestroy(NULL));
    RISK("clone null", cudaGraphClone(NULL, g));
    cudaGraph_t c;
    RISK("clone nullgraph", cudaGraphClone(&c, NULL));
    ASK("destroy", cudaGraphDestroy(g));
}

static void instantiate_flags(void)
{
    begin();
    cudaGraphNode_t a;
    MUST(cudaGraphAddEmptyNode(&a, g, NULL, 0));
    for (unsigned long long flags = 0; flags <= 16; flags++) {
        x = NULL;
        cudaError_t e = cudaGraphInstantiate(&x, g, flags);
        answer(keyf("flags%llu", flags), e, "%d", x != NULL);
        unsigned long long got = 77;
        if (!e) ASKV(keyf("flags%llu.get", flags), cudaGraphExecGetFlags(x, &got), "%llx", got);
        if (!e) ASK(keyf("flags%llu.destroy", flags), cudaGraphExecDestroy(x));
        e = cudaGraphInstantiateWithFlags(&x, g, flags);
        answer(keyf("with flags%llu", flags), e, " ");
        cudaGraphInstantiateParams params;
        memset(&params, 0, sizeof params);
        params.flags = flags;
        params.uploadStream = s;
        e = cudaGraphInstantiateWithParams(&x, g, &params);
        answer(keyf("with params%llu", flags), e, "%d %d", params.result_out, params.errNode_out != NULL);
    }
    RISK("params null", cudaGraphInstantiateWithParams(&x, g, NULL));
    RISK("flags null", cudaGraphExecGetFlags(x, NULL));
}

static void edges(void)
{
    begin();
    cudaGraphNode_t a, b, c, foreign, from[8], to[8];
    cudaGraph_t h;
    MUST(cudaGraphCreate(&h, 0));
    MUST(cudaGraphAddEmptyNode(&foreign, h, NULL, 0));
    MUST(cudaGraphAddEmptyNode(&a, g, NULL, 0));
    MUST(cudaGraphAddEmptyNode(&b, g, NULL, 0));
    MUST(cudaGraphAddEmptyNode(&c, g, NULL, 0));
    ASK("add", cudaGraphAddDependencies(g, &a, &b, NULL, 1));
    ASK("add twice", cudaGraphAddDependencies(g, &a, &b, NULL, 1));
    ASK("add itself", cudaGraphAddDependencies(g, &a, &a, NULL, 1));
    ASK("add cycle", cudaGraphAddDependencies(g, &b, &a, NULL, 1));
    run("cycle.run");
    ASK("remove cycle", cudaGraphRemoveDependencies(g, &b, &a, NULL, 1));
    ASK("add foreign", cudaGraphAddDependencies(g, &a, &foreign, NULL, 1));
    ASK("add2", cudaGraphAddDependencies(g, &b, &c, NULL, 1));
    ASK("add none", cudaGraphAddDependencies(g, NULL, NULL, NULL, 0));
    RISK("add null", cudaGraphAddDependencies(g, NULL, NULL, NULL, 1));
    ASK("remove missing", cudaGraphRemoveDependencies(g, &a, &c, NULL, 1));
    n = 8;
    ASKV("edges", cudaGraphGetEdges(g, from, to, NULL, &n), "%zu", n);
    cudaGraphEdgeData data[8];
    memset(data, 0x55, sizeof data);
    n = 8;
    ASKV("edges data", cudaGraphGetEdges(g, from, to, data, &n), "%zu %d %d %d", n, data[0].from_port, data[0].to_port,
         data[0].type);
    n = 1;
    ASKV("edges 1", cudaGraphGetEdges(g, from, to, NULL, &n), "%zu", n);
    n = 5;
    from[4] = (cudaGraphNode_t)1;
    ASKV("edges 5", cudaGraphGetEdges(g, from, to, NULL, &n), "%zu %d", n, from[4] == NULL);
    n = 8;
    ASKV("nodes 8", cudaGraphGetNodes(g, from, &n), "%zu %d", n, from[3] == NULL);
    say("nodes order", "%d %d %d", from[0] == a, from[1] == b, from[2] == c);
    n = 8;
    ASKV("roots", cudaGraphGetRootNodes(g, from, &n), "%zu %d", n, from[0] == a);
    n = 8;
    ASKV("dependencies", cudaGraphNodeGetDependencies(b, from, NULL, &n), "%zu %d", n, from[0] == a);
    n = 8;
    ASKV("dependents", cudaGraphNodeGetDependentNodes(b, from, NULL, &n), "%zu %d", n, from[0] == c);
    RISK("dependencies null", cudaGraphNodeGetDependencies(b, NULL, NULL, NULL));
    cudaGraphEdgeData e;
    memset(&e, 0, sizeof e);
    for (int type = 0; type <= 2; type++)
        for (int port = 0; port <= 3; port++) {
            e.type = type;
            e.from_port = port;
            ASK(keyf("data.%d.%d", type, port), cudaGraphAddDependencies(g, &a, &c, &e, 1));
            cudaGraphRemoveDependencies(g, &a, &c, &e, 1);
            cudaGetLastError();
        }
    ASK("destroy node", cudaGraphDestroyNode(b));
    n = 8;
    ASKV("destroyed.nodes", cudaGraphGetNodes(g, NULL, &n), "%zu", n);
    n = 8;
    ASKV("destroyed.edges", cudaGraphGetEdges(g, NULL, NULL, NULL, &n), "%zu", n);
    RISK("destroy null", cudaGraphDestroyNode(NULL));
    cudaGraphNode_t twice[2] = { a, a }, d;
    ASK("duplicate dependency", cudaGraphAddEmptyNode(&d, g, twice, 2));
    ASK("foreign dependency", cudaGraphAddEmptyNode(&d, g, &foreign, 1));
}

static void clones(void)
{
    begin();
    int five = 5;
    cudaGraphNode_t a, b = NULL, c;
    cudaGraph_t clone = NULL, third;
    cudaKernelNodeParams k = kernel(store, &p, &five);
    MUST(cudaGraphAddKernelNode(&a, g, NULL, 0, &k));
    ASKV("clone", cudaGraphClone(&clone, g), "%d", clone != g);
    ASKV("find", cudaGraphNodeFindInClone(&b, a, clone), "%d", b != NULL && b != a);
    n = 77;
    ASKV("nodes", cudaGraphGetNodes(clone, NULL, &n), "%zu", n);
    MUST(cudaGraphAddEmptyNode(&c, g, NULL, 0));
    ASK("find later", cudaGraphNodeFindInClone(&b, c, clone));
    MUST(cudaGraphCreate(&third, 0));
    ASK("find elsewhere", cudaGraphNodeFindInClone(&b, a, third));
    ASK("find own", cudaGraphNodeFindInClone(&b, a, g));
    RISK("find null", cudaGraphNodeFindInClone(NULL, a, clone));
    MUST(cudaGraphNodeFindInClone(&b, a, clone));
    ASK("destroy original", cudaGraphDestroy(g));
    g = clone;
    run("run clone");
    say("value", "%d", *p);
}

static void updates(void)
{
    begin();
    int five = 5, six = 6;
    static int one = 1, two = 2;
    cudaGraphNode_t a, b, c, h, y;
    cudaKernelNodeParams k = kernel(store, &p, &five);
    cudaMemsetParams m = fill(p + 4, 1, 1, 16, 1, 0);
    cudaHostNodeParams host = { count, &one };
    MUST(cudaGraphAddKernelNode(&a, g, NULL, 0, &k));
    MUST(cudaGraphAddMemsetNode(&b, g, &a, 1, &m));
    MUST(cudaGraphAddMemcpyNode1D(&c, g, &b, 1, p + 20, p + 4, 16, cudaMemcpyDefault));
    MUST(cudaGraphAddHostNode(&h, g, &c, 1, &host));
    MUST(cudaGraphInstantiate(&x, g, 0));
    ASK("launch", cudaGraphLaunch(x, s));
    ASK("sync", cudaStreamSynchronize(s));
    say("first", "%d %s calls %d", *p, all(p + 20, 1, 16), calls);
    k = kernel(store, &p, &six);
    ASK("kernel", cudaGraphExecKernelNodeSetParams(x, a, &k));
    m.value = 2;
    ASK("memset", cudaGraphExecMemsetNodeSetParams(x, b, &m));
    ASK("memcpy", cudaGraphExecMemcpyNodeSetParams1D(x, c, p + 30, p + 4, 16, cudaMemcpyDefault));
    host.userData = &two;
    ASK("host", cudaGraphExecHostNodeSetParams(x, h, &host));
    ASK("launch2", cudaGraphLaunch(x, s));
    ASK("sync2", cudaStreamSynchronize(s));
    say("second", "%d %s calls %d", *p, all(p + 30, 2, 16), calls);
    k.func = (void *)add;
    ASK("function", cudaGraphExecKernelNodeSetParams(x, a, &k));
    k.gridDim = dim3(2);
    ASK("grid", cudaGraphExecKernelNodeSetParams(x, a, &k));
    k.gridDim = dim3(0);
    ASK("grid 0", cudaGraphExecKernelNodeSetParams(x, a, &k));
    m.width = 32;
    ASK("memset width", cudaGraphExecMemsetNodeSetParams(x, b, &m));
    m.height = 2;
    m.pitch = 64;
    ASK("memset 2d", cudaGraphExecMemsetNodeSetParams(x, b, &m));
    m.elementSize = 2;
    ASK("memset element", cudaGraphExecMemsetNodeSetParams(x, b, &m));
    ASK("memcpy count", cudaGraphExecMemcpyNodeSetParams1D(x, c, p + 30, p + 4, 32, cudaMemcpyDefault));
    int local[8] = { 0 };
    ASK("memcpy to host", cudaGraphExecMemcpyNodeSetParams1D(x, c, local, p + 4, 16, cudaMemcpyDefault));
    ASK("wrong node", cudaGraphExecKernelNodeSetParams(x, b, &k));
    RISK("null params", cudaGraphExecKernelNodeSetParams(x, a, NULL));
    RISK("null node", cudaGraphExecKernelNodeSetParams(x, NULL, &k));
    for (unsigned on = 0; on <= 2; on++) {
        unsigned got = 77;
        ASK(keyf("enable%u", on), cudaGraphNodeSetEnabled(x, a, on));
        ASKV(keyf("enable%u.get", on), cudaGraphNodeGetEnabled(x, a, &got), "%u", got);
    }
    ASK("enable host", cudaGraphNodeSetEnabled(x, h, 0));
    ASK("disable", cudaGraphNodeSetEnabled(x, a, 0));
    *p = 1000;
    ASK("launch3", cudaGraphLaunch(x, s));
    ASK("sync3", cudaStreamSynchronize(s));
    say("disabled", "%d", *p);
    /* whole graphs */
    cudaGraphExecUpdateResultInfo info;
    memset(&info, 0x77, sizeof info);
    ASKV("update same", cudaGraphExecUpdate(x, g, &info), "%d %d %d", info.result, info.errorNode != NULL,
         info.errorFromNode != NULL);
    cudaGraph_t clone;
    MUST(cudaGraphClone(&clone, g));
    ASKV("update clone", cudaGraphExecUpdate(x, clone, &info), "%d", info.result);
    MUST(cudaGraphAddEmptyNode(&y, clone, NULL, 0));
    ASKV("update more", cudaGraphExecUpdate(x, clone, &info), "%d %d", info.result, info.errorNode != NULL);
    MUST(cudaGraphDestroyNode(y));
    cudaGraphNode_t last;
    MUST(cudaGraphNodeFindInClone(&last, h, clone));
    MUST(cudaGraphDestroyNode(last));
    ASKV("update less", cudaGraphExecUpdate(x, clone, &info), "%d", info.result);
    MUST(cudaGraphNodeFindInClone(&last, c, clone));
    MUST(cudaGraphAddEmptyNode(&y, clone, &last, 1));
    ASKV("update type", cudaGraphExecUpdate(x, clone, &info), "%d %d", info.result, info.errorNode != NULL);
    MUST(cudaGraphClone(&clone, g));
    MUST(cudaGraphNodeFindInClone(&last, a, clone));
    k = kernel(other, &p, &six);
    MUST(cudaGraphKernelNodeSetParams(last, &k));
    ASKV("update function", cudaGraphExecUpdate(x, clone, &info), "%d", info.result);
    RISK("update null info", cudaGraphExecUpdate(x, g, NULL));
    RISK("update null graph", cudaGraphExecUpdate(x, NULL, &info));
    ASK("upload", cudaGraphUpload(x, s));
    ASK("graph destroy", cudaGraphDestroy(g));
    ASK("launch4", cudaGraphLaunch(x, s));
    ASK("launch default", cudaGraphLaunch(x, 0));
    ASK("sync4", cudaDeviceSynchronize());
    ASK("exec destroy", cudaGraphExecDestroy(x));
}

static void objects(void)
{
    begin();
    static int one = 1;
    cudaUserObject_t o = NULL;
    ASK("create", cudaUserObjectCreate(&o, &one, count, 2, cudaUserObjectNoDestructorSync));
    ASK("create flags 0", cudaUserObjectCreate(&o, &one, count, 1, 0));
    ASK("create flags 2", cudaUserObjectCreate(&o, &one, count, 1, 2));
    ASK("create count 0", cudaUserObjectCreate(&o, &one, count, 0, cudaUserObjectNoDestructorSync));
    RISK("create null", cudaUserObjectCreate(NULL, &one, count, 1, cudaUserObjectNoDestructorSync));
    ASK("create no function", cudaUserObjectCreate(&o, &one, NULL, 1, cudaUserObjectNoDestructorSync));
    MUST(cudaUserObjectCreate(&o, &one, count, 1, cudaUserObjectNoDestructorSync));
    ASK("retain", cudaUserObjectRetain(o, 1));
    ASK("retain 0", cudaUserObjectRetain(o, 0));
    RISK("retain null", cudaUserObjectRetain(NULL, 1));
    ASK("graph", cudaGraphRetainUserObject(g, o, 1, 0));
    ASK("graph move", cudaGraphRetainUserObject(g, o, 1, cudaGraphUserObjectMove));
    ASK("graph flags", cudaGraphRetainUserObject(g, o, 1, 2));
    ASK("graph 0", cudaGraphRetainUserObject(g, o, 0, 0));
    ASK("release", cudaUserObjectRelease(o, 1));
    say("calls", "%d", calls);
    ASK("graph release", cudaGraphReleaseUserObject(g, o, 1));
    say("calls2", "%d", calls);
    ASK("graph destroy", cudaGraphDestroy(g));
    for (int i = 0; i < 200 && !calls; i++) usleep(1000);
    say("calls3", "%d", calls);
}

static void dot(void)
{
    begin();
    int five = 5;
    cudaGraphNode_t a;
    cudaKernelNodeParams k = kernel(store, &p, &five);
    MUST(cudaGraphAddKernelNode(&a, g, NULL, 0, &k));
    char path[] = "/tmp/ask-graph-XXXXXX";
    int fd = mkstemp(path);
    ASK("print", cudaGraphDebugDotPrint(g, path, 0));
    say("size", "%s", lseek(fd, 0, SEEK_END) > 0 ? "some" : "empty");
    ASK("verbose", cudaGraphDebugDotPrint(g, path, cudaGraphDebugDotFlagsVerbose));
    ASK("directory", cudaGraphDebugDotPrint(g, "/nonexistent/x", 0));
    RISK("null", cudaGraphDebugDotPrint(g, NULL, 0));
    unlink(path);
}

static void busy(void)
{
    static struct gate gate;
    begin();
    cudaGraphNode_t a;
    cudaHostNodeParams h = { wait_for_gate, &gate };
    MUST(cudaGraphAddHostNode(&a, g, NULL, 0, &h));
    MUST(cudaGraphInstantiate(&x, g, 0));
    gate.open = 0;
    ASK("launch", cudaGraphLaunch(x, s));
    ASK("query", cudaStreamQuery(s));
    ASK("launch while busy", cudaGraphLaunch(x, s));
    ASK("destroy while busy", cudaGraphExecDestroy(x));
    ASK("graph destroy", cudaGraphDestroy(g));
    gate_open(&gate);
    ASK("sync", cudaStreamSynchronize(s));
}

const struct group groups[] = {
    GROUP(empty),   GROUP(instantiate_flags), GROUP(edges), GROUP(clones),
    GROUP(updates), GROUP(objects),           GROUP(dot),   GROUP(busy),
    LAST_GROUP,
};
