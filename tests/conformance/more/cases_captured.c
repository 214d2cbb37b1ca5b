/* What becomes of each call that is captured: the nodes with their parameters and attributes, their edges, and what the
 * graph does when it is launched; conditions that kernels set; what changes between adding a node and launching it. */
#include "graphs.h"

static CUgraph g;
static CUstream cs, os;
static CUdeviceptr p_, q_;
static CUmemoryPool pool;

/* ---- captured calls */

static CUresult launch_with(int id, CUlaunchAttributeValue v, CUstream s)
{
    CUlaunchAttribute a = { .id = id, .value = v };
    CUlaunchConfig c = { 2, 1, 1, 32, 1, 1, 0, s, &a, 1 };
    return cuLaunchKernelEx(&c, kernels()->fill, fill_values(dev, 60, 1, 5), NULL);
}

static CUresult launch_plain(CUstream s)
{
    return cuLaunchKernel(kernels()->fill, 1, 1, 1, 64, 1, 1, 0, s, fill_values(dev + 2048, 60, 1, 5), NULL);
}

#define V(...) ((CUlaunchAttributeValue){ __VA_ARGS__ })

#define CALLS(X) \
    X(kernel, launch_plain(cs)) \
    X(kernelshared, cuLaunchKernel(kernels()->fill, 1, 2, 1, 8, 4, 2, 1024, cs, fill_values(dev, 60, 1, 5), NULL)) \
    X(kernellib, cuLaunchKernel((CUfunction)kernel_fill, 1, 1, 1, 64, 1, 1, 0, cs, fill_values(dev, 60, 1, 5), NULL)) \
    X(coop, cuLaunchCooperativeKernel(kernels()->fill, 1, 1, 1, 64, 1, 1, 0, cs, fill_values(dev, 60, 1, 5))) \
    X(attrcoop, launch_with(2, V(.cooperative = 1), cs)) \
    X(attrcoop0, launch_with(2, V(.cooperative = 0), cs)) \
    X(attrprio, launch_with(8, V(.priority = -2), cs)) \
    X(attrprio9, launch_with(8, V(.priority = -99), cs)) \
    X(attrcluster, launch_with(4, V(.clusterDim = { 2, 1, 1 }), cs)) \
    X(attrcluster3, launch_with(4, V(.clusterDim = { 3, 1, 1 }), cs)) \
    X(attrclusterpolicy, launch_with(5, V(.clusterSchedulingPolicyPreference = 1), cs)) \
    X(attrdomain, launch_with(10, V(.memSyncDomain = 1), cs)) \
    X(attrdomain9, launch_with(10, V(.memSyncDomain = 9), cs)) \
    X(attrmap, launch_with(9, V(.memSyncDomainMap = { 1, 2 }), cs)) \
    X(attrwindow, launch_with(1, V(.accessPolicyWindow = { (void *)dev, 1024, 0.5f, 2, 0 }), cs)) \
    X(attrcarveout, launch_with(14, V(.pad = { 50 }), cs)) \
    X(attrpdl, launch_with(6, V(.programmaticStreamSerializationAllowed = 1), cs)) \
    X(attrpdl0, launch_with(6, V(.programmaticStreamSerializationAllowed = 0), cs)) \
    X(pdlafter, (launch_plain(cs), launch_with(6, V(.programmaticStreamSerializationAllowed = 1), cs))) \
    X(pdlaftermemset, \
      (cuMemsetD8Async(dev, 1, 64, cs), launch_with(6, V(.programmaticStreamSerializationAllowed = 1), cs))) \
    X(pdltwice, (launch_plain(cs), launch_with(6, V(.programmaticStreamSerializationAllowed = 1), cs), \
                 launch_with(6, V(.programmaticStreamSerializationAllowed = 1), cs))) \
    X(pdlthen, \
      (launch_plain(cs), launch_with(6, V(.programmaticStreamSerializationAllowed = 1), cs), launch_plain(cs))) \
    X(pdlfork, (launch_plain(cs), cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), \
                launch_with(6, V(.programmaticStreamSerializationAllowed = 1), os), cuEventRecord(events[2], os), \
                cuStreamWaitEvent(cs, events[2], 0))) \
    X(pdltwo, (launch_plain(cs), cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), launch_plain(os), \
               launch_plain(cs), cuEventRecord(events[2], os), cuStreamWaitEvent(cs, events[2], 0), \
               launch_with(6, V(.programmaticStreamSerializationAllowed = 1), cs))) \
    X(programmaticevent, \
      (launch_with(7, V(.programmaticEvent = { events[0], 0, 0 }), cs), cuStreamWaitEvent(os, events[0], 0), \
       launch_plain(os), cuEventRecord(events[2], os), cuStreamWaitEvent(cs, events[2], 0))) \
    X(programmaticevent1, \
      (launch_with(7, V(.programmaticEvent = { events[0], 0, 1 }), cs), cuStreamWaitEvent(os, events[0], 0), \
       launch_plain(os), cuEventRecord(events[2], os), cuStreamWaitEvent(cs, events[2], 0))) \
    X(programmaticmemset, \
      (launch_with(7, V(.programmaticEvent = { events[0], 0, 0 }), cs), cuStreamWaitEvent(os, events[0], 0), \
       cuMemsetD8Async(dev + 4096, 1, 4, os), cuEventRecord(events[2], os), cuStreamWaitEvent(cs, events[2], 0))) \
    X(programmatictimed, launch_with(7, V(.programmaticEvent = { events[1], 0, 0 }), cs)) \
    X(programmaticflags, launch_with(7, V(.programmaticEvent = { events[0], 1, 0 }), cs)) \
    X(completionevent, \
      (launch_with(12, V(.launchCompletionEvent = { events[0], 0 }), cs), cuStreamWaitEvent(os, events[0], 0), \
       launch_plain(os), cuEventRecord(events[2], os), cuStreamWaitEvent(cs, events[2], 0))) \
    X(completionmemset, \
      (launch_with(12, V(.launchCompletionEvent = { events[0], 0 }), cs), cuStreamWaitEvent(os, events[0], 0), \
       cuMemsetD8Async(dev + 4096, 1, 4, os), cuEventRecord(events[2], os), cuStreamWaitEvent(cs, events[2], 0))) \
    X(memset8, cuMemsetD8Async(dev, 0x12, 100, cs)) \
    X(memset16, cuMemsetD16Async(dev, 0x1234, 100, cs)) \
    X(memset32, cuMemsetD32Async(dev, 0x12345678, 100, cs)) \
    X(memset32odd, cuMemsetD32Async(dev + 2, 0x12345678, 100, cs)) \
    X(memset0, cuMemsetD8Async(dev, 0x12, 0, cs)) \
    X(memset2d8, cuMemsetD2D8Async(dev, 128, 0x12, 100, 5, cs)) \
    X(memset2d16, cuMemsetD2D16Async(dev, 256, 0x1234, 100, 5, cs)) \
    X(memset2d32, cuMemsetD2D32Async(dev, 512, 0x12345678, 100, 5, cs)) \
    X(memset2d1row, cuMemsetD2D32Async(dev, 512, 0x12345678, 100, 1, cs)) \
    X(memset2d1rowsmall, cuMemsetD2D32Async(dev, 4, 0x12345678, 100, 1, cs)) \
    X(memset2dfull, cuMemsetD2D8Async(dev, 100, 0x12, 100, 5, cs)) \
    X(memset2d0, cuMemsetD2D8Async(dev, 128, 0x12, 100, 0, cs)) \
    X(memset2dw0, cuMemsetD2D8Async(dev, 128, 0x12, 0, 5, cs)) \
    X(memset2dpitch, cuMemsetD2D8Async(dev, 64, 0x12, 100, 5, cs)) \
    X(memsetmanaged, cuMemsetD8Async(managed, 0x12, 100, cs)) \
    X(memsetpinned, cuMemsetD8Async((CUdeviceptr)pinned, 0x12, 100, cs)) \
    X(memsetpage, cuMemsetD8Async((CUdeviceptr)pageable, 0x12, 100, cs)) \
    X(memsetfar, cuMemsetD8Async(dev + SIZE - 4, 0x12, 100, cs)) \
    X(copy, cuMemcpyAsync(dev, dev + 1024, 100, cs)) \
    X(copypinned, cuMemcpyAsync(dev, (CUdeviceptr)pinned, 100, cs)) \
    X(copypage, cuMemcpyAsync(dev, (CUdeviceptr)pageable, 100, cs)) \
    X(copymanaged, cuMemcpyAsync(dev, managed, 100, cs)) \
    X(copyhosts, cuMemcpyAsync((CUdeviceptr)pinned, (CUdeviceptr)pageable, 100, cs)) \
    X(copyfar, cuMemcpyAsync(dev, dev + SIZE - 4, 100, cs)) \
    X(htod, cuMemcpyHtoDAsync(dev, pinned, 100, cs)) \
    X(htodpage, cuMemcpyHtoDAsync(dev, pageable, 100, cs)) \
    X(htod0, cuMemcpyHtoDAsync(dev, pinned, 0, cs)) \
    X(dtoh, cuMemcpyDtoHAsync(pinned, dev, 100, cs)) \
    X(dtod, cuMemcpyDtoDAsync(dev, dev + 1024, 100, cs)) \
    X(dtodmanaged, cuMemcpyDtoDAsync(managed, dev + 1024, 100, cs)) \
    X(dtodoverlap, cuMemcpyDtoDAsync(dev, dev + 16, 100, cs)) \
    X(htoa, cuMemcpyHtoAAsync(flat, 16, pinned, 64, cs)) \
    X(atoh, cuMemcpyAtoHAsync(pinned, flat, 16, 64, cs)) \
    X(peer, cuMemcpyPeerAsync(dev, ctx0, dev + 1024, ctx0, 64, cs)) \
    X(peer1, cuMemcpyPeerAsync(dev, ctx0, dev + 1024, ctx1, 64, cs)) \
    X(copy2d, cuMemcpy2DAsync(&(CUDA_MEMCPY2D){ .srcMemoryType = 2, \
                                                .dstMemoryType = 2, \
                                                .srcDevice = dev, \
                                                .dstDevice = dev + 4096, \
                                                .srcPitch = 64, \
                                                .dstPitch = 128, \
                                                .WidthInBytes = 16, \
                                                .Height = 3 }, \
                              cs)) \
    X(copy2dx, cuMemcpy2DAsync(&(CUDA_MEMCPY2D){ .srcMemoryType = 1, \
                                                 .dstMemoryType = 2, \
                                                 .srcHost = pinned, \
                                                 .dstDevice = dev + 4096, \
                                                 .srcPitch = 64, \
                                                 .dstPitch = 128, \
                                                 .srcXInBytes = 4, \
                                                 .srcY = 2, \
                                                 .dstXInBytes = 8, \
                                                 .dstY = 1, \
                                                 .WidthInBytes = 16, \
                                                 .Height = 3 }, \
                               cs)) \
    X(copy2darray, cuMemcpy2DAsync(&(CUDA_MEMCPY2D){ .srcMemoryType = 3, \
                                                     .dstMemoryType = 2, \
                                                     .srcArray = flat, \
                                                     .dstDevice = dev + 4096, \
                                                     .dstPitch = 128, \
                                                     .srcXInBytes = 4, \
                                                     .srcY = 2, \
                                                     .WidthInBytes = 16, \
                                                     .Height = 3 }, \
                                   cs)) \
    X(copy2d0, cuMemcpy2DAsync(&(CUDA_MEMCPY2D){ .srcMemoryType = 2, \
                                                 .dstMemoryType = 2, \
                                                 .srcDevice = dev, \
                                                 .dstDevice = dev + 4096, \
                                                 .srcPitch = 64, \
                                                 .dstPitch = 128, \
                                                 .WidthInBytes = 16 }, \
                               cs)) \
    X(copy3d, cuMemcpy3DAsync(&(CUDA_MEMCPY3D){ .srcMemoryType = 2, \
                                                .dstMemoryType = 3, \
                                                .srcDevice = dev, \
                                                .dstArray = cube, \
                                                .srcPitch = 32, \
                                                .srcHeight = 10, \
                                                .WidthInBytes = 8, \
                                                .Height = 3, \
                                                .Depth = 2 }, \
                              cs)) \
    X(copybatch, cuMemcpyBatchAsync((CUdeviceptr[]){ dev, dev + 128 }, \
                                    (CUdeviceptr[]){ dev + 256, (CUdeviceptr)pinned }, (size_t[]){ 64, 32 }, 2, \
                                    &(CUmemcpyAttributes){ .srcAccessOrder = 1 }, &(size_t){ 0 }, 1, cs)) \
    X(host, cuLaunchHostFunc(cs, on_host, &calls)) \
    X(write32, cuStreamWriteValue32(cs, dev, 7, 0)) \
    X(write32flag, cuStreamWriteValue32(cs, dev, 7, 1)) \
    X(write64, cuStreamWriteValue64(cs, dev, 7, 0)) \
    X(wait32, cuStreamWaitValue32(cs, dev, 0, 0)) \
    X(wait64, cuStreamWaitValue64(cs, dev, 0, 0)) \
    X(wait32flush, cuStreamWaitValue32(cs, dev, 0, 1 << 30)) \
    X(batch, cuStreamBatchMemOp(cs, 2, operations_node(dev, 5, 2).memOp.paramArray, 0)) \
    X(batch0, cuStreamBatchMemOp(cs, 0, operations_node(dev, 5, 2).memOp.paramArray, 0)) \
    X(record, cuEventRecordWithFlags(events[0], cs, 1)) \
    X(recordtimed, cuEventRecordWithFlags(events[1], cs, 1)) \
    X(wait, cuStreamWaitEvent(cs, events[0], 1)) \
    X(alloc, cuMemAllocAsync(&p_, 4096, cs)) \
    X(allocfree, (cuMemAllocAsync(&p_, 4096, cs), cuMemsetD8Async(p_, 1, 64, cs), cuMemFreeAsync(p_, cs))) \
    X(alloc0, cuMemAllocAsync(&p_, 0, cs)) \
    X(allocodd, cuMemAllocAsync(&p_, 1000, cs)) \
    X(allocpool, cuMemAllocFromPoolAsync(&p_, 4096, pool, cs)) \
    X(allocfork, (cuMemAllocAsync(&p_, 4096, cs), cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), \
                  cuMemFreeAsync(p_, os), cuEventRecord(events[2], os), cuStreamWaitEvent(cs, events[2], 0))) \
    X(prefetch, cuMemPrefetchAsync(managed, SIZE, loc(1, 0), 0, cs)) \
    X(attach, cuStreamAttachMemAsync(cs, managed, 0, 1)) \
    X(nothingfork, (cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), cuEventRecord(events[2], os), \
                    cuStreamWaitEvent(cs, events[2], 0))) \
    X(forkboth, (launch_plain(cs), cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), \
                 cuMemsetD8Async(dev + 4096, 1, 4, os), cuMemsetD8Async(dev, 1, 4, cs), cuEventRecord(events[2], os), \
                 cuStreamWaitEvent(cs, events[2], 0), cuMemsetD8Async(dev + 8192, 1, 4, cs))) \
    X(joinonly, (launch_plain(cs), cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), \
                 cuMemsetD8Async(dev + 4096, 1, 4, os), cuEventRecord(events[2], os), \
                 cuStreamWaitEvent(cs, events[2], 0), cuMemsetD8Async(dev + 8192, 1, 4, cs))) \
    X(waittwice, (launch_plain(cs), cuEventRecord(events[0], cs), cuStreamWaitEvent(cs, events[0], 0), \
                  cuStreamWaitEvent(cs, events[0], 0), launch_plain(cs))) \
    X(rerecord, (cuEventRecord(events[0], cs), launch_plain(cs), cuEventRecord(events[0], cs), \
                 cuStreamWaitEvent(os, events[0], 0), cuMemsetD8Async(dev + 4096, 1, 4, os), \
                 cuEventRecord(events[0], os), cuStreamWaitEvent(cs, events[0], 0))) \
    X(oldrecord, \
      (launch_plain(cs), cuEventRecord(events[0], cs), launch_plain(cs), cuStreamWaitEvent(os, events[0], 0), \
       cuMemsetD8Async(dev + 4096, 1, 4, os), cuEventRecord(events[2], os), cuStreamWaitEvent(cs, events[2], 0)))

CALLS(CALL_FUNCTION)
static const struct call all_calls[] = { CALLS(CALL_ENTRY){ 0 } };

static void describe(const char *name)
{
    CUgraphNode list[16], from[32], to[32];
    CUgraphEdgeData data[32];
    size_t n = 16, e = 32, e1 = 32;
    char t[300] = "";
    MUST(cuGraphGetNodes(g, list, &n));
    for (size_t i = 0; i < n; i++) {
        rec(keyf("%s.n%zu", name, i), "%s", node_text(list[i]));
        CUgraphNodeType type;
        MUST(cuGraphNodeGetType(list[i], &type));
        if (type) continue;
        char a[200] = "";
        static const int ids[] = { 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 14 };
        for (int k = 0; k < 11; k++) {
            CUkernelNodeAttrValue v;
            memset(&v, 0, sizeof v);
            CUresult r = cuGraphKernelNodeGetAttribute(list[i], ids[k], &v);
            unsigned w[3];
            memcpy(w, &v, sizeof w);
            if (ids[k] == 1) w[0] = v.accessPolicyWindow.base_ptr == (void *)dev, w[1] = v.accessPolicyWindow.num_bytes;
            if (ids[k] == 7 || ids[k] == 12) w[0] = w[1] = 0;
            if (ids[k] == 9) w[1] = w[2] = 0;
            if (r)
                sprintf(a + strlen(a), " %d:%s", ids[k], rname(r));
            else if (w[0] || w[1])
                sprintf(a + strlen(a), " %d:%u,%u", ids[k], w[0], w[1]);
        }
        rec(keyf("%s.a%zu", name, i), "%s", a);
    }
    CUresult (*old)(CUgraph, CUgraphNode *, CUgraphNode *, size_t *) = dlsym(RTLD_DEFAULT, "cuGraphGetEdges");
    CUresult r1 = old(g, from, to, &e1), r = cuGraphGetEdges(g, from, to, data, &e);
    for (size_t i = 0; !r && i < e; i++) {
        int a = 0, b = 0;
        while (list[a] != from[i]) a++;
        while (list[b] != to[i]) b++;
        sprintf(t + strlen(t), " %d>%d:%d%d%d", a, b, data[i].from_port, data[i].to_port, data[i].type);
    }
    rec(keyf("%s.edges", name), "%s %s%s", rname(r1), rname(r), t);
}

static const char *info_text(void)
{
    static CUresult (*second)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **,
                              size_t *);
    if (!second) second = dlsym(RTLD_DEFAULT, "cuStreamGetCaptureInfo_v2");
    CUstreamCaptureStatus status = 9;
    const CUgraphNode *deps = NULL;
    const CUgraphEdgeData *data = NULL;
    size_t n = 0;
    char t[100] = "";
    CUgraph graph = NULL;
    CUresult r2 = second(cs, &status, NULL, &graph, &deps, &n),
             r = cuStreamGetCaptureInfo(cs, &status, NULL, &graph, &deps, &data, &n);
    for (size_t i = 0; !r && data && i < n && i < 4; i++)
        sprintf(t + strlen(t), " %d%d%d", data[i].from_port, data[i].to_port, data[i].type);
    return text("%s %s %d n%zu%s", rname(r2), rname(r), status, n, t);
}

static void ask_captured(void)
{
    take_all();
    CUmemPoolProps q = { .allocType = 1, .location = { 1, 0 } };
    MUST(cuMemPoolCreate(&pool, &q));
    for (int i = 0; all_calls[i].name; i++) {
        if (!next_question()) continue;
        const char *name = all_calls[i].name;
        MUST(cuStreamCreate(&cs, 1));
        MUST(cuStreamCreate(&os, 1));
        MUST(cuStreamBeginCapture(cs, 2));
        p_ = 0;
        CUresult r = all_calls[i].make();
        const char *info = info_text();
        CUresult r2 = cuStreamEndCapture(cs, &g);
        rec(name, "%s info %s end %s", rname(r), info, rname(r2));
        if (r2 || !g) {
            if (cuCtxSynchronize()) _exit(GO_ON);
            continue;
        }
        describe(name);
        CUgraphExec x;
        r = cuGraphInstantiate(&x, g, 0);
        if (r) {
            rec(keyf("%s.inst", name), "%s", rname(r));
            continue;
        }
        reset();
        if (strstr(name, "wait")) MUST(cuMemsetD8(dev, 0, 64));
        calls = 0;
        r = cuGraphLaunch(x, os);
        r2 = cuStreamSynchronize(os);
        rec(keyf("%s.launch", name), "%s %s calls%d %s", rname(r), rname(r2), calls, contents());
        if (r2) _exit(GO_ON);
        cuGraphExecDestroy(x);
        cuGraphDestroy(g);
    }
}

static void g_captured(void) { survive(ask_captured); }

/* ---- what is looked at when */

static CUgraphExec made(CUgraphNodeParams p, CUgraphNode *n)
{
    CUgraphExec x;
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddNode(n, g, NULL, NULL, 0, &p));
    MUST(cuGraphInstantiate(&x, g, 0));
    return x;
}

static const char *launched(CUgraphExec x)
{
    CUresult r = cuGraphLaunch(x, s0), r2 = cuStreamSynchronize(s0);
    return text("%s %s calls%d %s", rname(r), rname(r2), calls, contents());
}

static void g_when(void)
{
    CUgraphNode n, m;
    take_all();
    CUgraphExec x = made(copy_node(1, (uint64_t)pageable, 2, dev, 256), &n), y;
    memset(pageable, 9, 256);
    rec("pageable", "%s", launched(x));
    memset(pageable, 8, 256);
    rec("pageable2", "%s", launched(x));
    reset();
    void **values = fill_values(dev, 8, 1, 1);
    CUgraphNodeParams k = fill_node(dev, 8, 1);
    k.kernel.kernelParams = values;
    x = made(k, &n);
    *(uint32_t *)values[3] = 77;
    rec("values", "%s", launched(x));
    k.kernel.kernelParams = fill_values(dev, 8, 1, 5);
    rec("setafter", "%s %s", rname(cuGraphNodeSetParams(n, &k)), launched(x));
    rec("setafter.params", "%s", node_text(n));
    rec("update", "%s %s", rname(cuGraphExecUpdate(x, g, &(CUgraphExecUpdateResultInfo){ 0 })), launched(x));
    rec("destroygraph", "%s %s", rname(cuGraphDestroy(g)), launched(x));
    reset();
    x = made(operations_node(dev, 5, 2), &n);
    CUgraphNodeParams o = operations_node(dev, 9, 2);
    rec("ops", "%s", launched(x));
    rec("ops.set", "%s %s", rname(cuGraphExecNodeSetParams(x, n, &o)), launched(x));
    o = operations_node(dev, 9, 3);
    rec("ops.set3", "%s %s", rname(cuGraphExecNodeSetParams(x, n, &o)), launched(x));
    reset();
    x = made(host_node(on_host), &n);
    rec("host", "%s", launched(x));
    CUgraphNodeParams h = host_node(on_host2);
    rec("host.set", "%s %s", rname(cuGraphExecNodeSetParams(x, n, &h)), launched(x));
    x = made(event_node(CU_GRAPH_NODE_TYPE_EVENT_RECORD, events[1]), &n);
    float f = -1;
    rec("event.before", "%s", rname(cuEventQuery(events[1])));
    rec("event", "%s", launched(x));
    MUST(cuEventRecord(events[3], s0));
    MUST(cuStreamSynchronize(s0));
    CUresult r = cuEventElapsedTime(&f, events[1], events[3]);
    rec("event.elapsed", "%s %d", rname(r), f >= 0);
    rec("event.query", "%s", rname(cuEventQuery(events[1])));
    CUgraphNodeParams e = event_node(CU_GRAPH_NODE_TYPE_EVENT_RECORD, events[3]);
    rec("event.set", "%s %s", rname(cuGraphExecNodeSetParams(x, n, &e)), launched(x));
    r = cuEventElapsedTime(&f, events[1], events[3]);
    rec("event.elapsed2", "%s %d", rname(r), f >= 0);
    /* twice in the same stream, in two, and both */
    MUST(cuGraphCreate(&g, 0));
    k = fill_node(dev, 60, 3);
    MUST(cuGraphAddNode(&n, g, NULL, NULL, 0, &k));
    CUgraphNodeParams c = copy_node(2, dev, 2, dev + 4096, 128);
    MUST(cuGraphAddNode(&m, g, &n, NULL, 1, &c));
    MUST(cuGraphInstantiate(&x, g, 0));
    MUST(cuGraphInstantiate(&y, g, 0));
    reset();
    for (int i = 0; i < 20; i++) {
        MUST(cuGraphLaunch(x, i & 1 ? s0 : s1));
        MUST(cuGraphLaunch(y, i & 2 ? s2 : s1));
    }
    MUST(cuCtxSynchronize());
    rec("many", "%s", contents());
    MUST(cuGraphLaunch(x, s0));
    rec("destroylaunched", "%s %s", rname(cuGraphExecDestroy(x)), rname(cuCtxSynchronize()));
}

/* ---- conditions */

static const char condition_ptx[] =
    ".version 8.4\n.target sm_90\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);\n"
    ".visible .entry count(.param .u64 h, .param .u64 p)\n{\n"
    " .reg .u64 %d<3>; .reg .u32 %r<3>; .reg .pred %q;\n"
    " ld.param.u64 %d0, [h]; ld.param.u64 %d1, [p]; ld.global.u32 %r0, [%d1]; sub.u32 %r0, %r0, 1; st.global.u32 "
    "[%d1], %r0;\n"
    " setp.gt.s32 %q, %r0, 0; selp.u32 %r1, 1, 0, %q;\n"
    " { .param .b64 p0; st.param.b64 [p0+0], %d0; .param .b32 p1; st.param.b32 [p1+0], %r1;\n"
    " call.uni cudaGraphSetConditional, (p0, p1); }\n ret;\n}\n"
    ".visible .entry set(.param .u64 h, .param .u64 p)\n{\n"
    " .reg .u64 %d<3>; .reg .u32 %r<3>;\n"
    " ld.param.u64 %d0, [h]; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];\n"
    " { .param .b64 p0; st.param.b64 [p0+0], %d0; .param .b32 p1; st.param.b32 [p1+0], %r1;\n"
    " call.uni cudaGraphSetConditional, (p0, p1); }\n ret;\n}\n"
    ".visible .entry bump(.param .u64 h, .param .u64 p)\n{\n .reg .u64 %d<3>; .reg .u32 %r<3>;\n"
    " ld.param.u64 %d1, [p]; ld.global.u32 %r0, [%d1]; add.u32 %r0, %r0, 1; st.global.u32 [%d1], %r0; ret;\n}\n";

static CUmodule condition_module;

static CUgraphNodeParams condition_kernel(const char *name, CUgraphConditionalHandle h, unsigned word)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
    static struct {
        uint64_t h, p;
        void *list[2];
    } ring[64];
    static unsigned newest;
    typeof(ring[0]) *v = &ring[newest++ % 64];
    v->h = h;
    v->p = dev + 4 * word;
    v->list[0] = &v->h;
    v->list[1] = &v->p;
    q.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){ NULL, 1, 1, 1, 1, 1, 1, 0, v->list };
    MUST(cuModuleGetFunction(&q.kernel.func, condition_module, name));
    return q;
}

/* Before it a kernel sets the condition from a word, or none does; in each body one counts in a word of its own. */
static void ask_condition(int type, unsigned size, unsigned first, unsigned flags, bool set, int word)
{
    CUgraphConditionalHandle h;
    CUgraphNode n, m;
    uint32_t words[8] = { word, 0, 0, 0, 0, 0, 0, 0 };
    const char *name = text("t%d.s%u.v%u.f%u.%s%d", type, size, first, flags, set ? "set" : "none", word);
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphConditionalHandleCreate(&h, g, ctx0, first, flags));
    if (set) {
        CUgraphNodeParams p = condition_kernel("set", h, 0);
        MUST(cuGraphAddNode(&n, g, NULL, NULL, 0, &p));
    }
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    q.conditional.handle = h;
    q.conditional.type = type;
    q.conditional.size = size;
    q.conditional.ctx = ctx0;
    CUresult r = cuGraphAddNode(&m, g, &n, NULL, set, &q);
    if (r) {
        rec(name, "add %s", rname(r));
        return;
    }
    for (unsigned i = 0; i < size; i++) {
        CUgraphNodeParams p = condition_kernel("bump", h, 1 + i), w = condition_kernel("count", h, 0);
        CUgraphNode a, b;
        MUST(cuGraphAddNode(&a, q.conditional.phGraph_out[i], NULL, NULL, 0, &p));
        if (type == 1) MUST(cuGraphAddNode(&b, q.conditional.phGraph_out[i], &a, NULL, 1, &w));
    }
    CUgraphExec x;
    r = cuGraphInstantiate(&x, g, 0);
    char t[200] = "";
    for (int i = 0; !r && i < 3; i++) {
        uint32_t out[6];
        MUST(cuMemcpyHtoD(dev, words, sizeof words));
        CUresult r1 = cuGraphLaunch(x, s0), r2 = cuStreamSynchronize(s0);
        MUST(cuMemcpyDtoH(out, dev, sizeof out));
        sprintf(t + strlen(t), " %s %s %d %u %u %u", rname(r1), rname(r2), (int)out[0], out[1], out[2], out[3]);
    }
    rec(name, "%s%s", rname(r), t);
    if (!r) cuGraphExecDestroy(x);
}

static void ask_conditions(void)
{
    take_all();
    CUresult r = cuModuleLoadData(&condition_module, condition_ptx);
    rec("load", "%s", rname(r));
    if (r) return;
    for (int type = 0; type < 3; type++)
        for (unsigned size = 1; size <= 3; size++)
            for (unsigned first = 0; first < 3; first++)
                for (int flags = 0; flags < 2; flags++)
                    for (int word = -1; word < 4; word++) {
                        const bool set = word >= 0;
                        if (!set && !flags) continue; /* what the condition is then nobody knows */
                        if (type == 1 && (!set || word == 0) && first && !set)
                            continue; /* its body ends it: word counts down */
                        if (next_question()) ask_condition(type, size, first, flags, set, set ? word : 2);
                    }
}

static void g_conditions(void) { survive(ask_conditions); }

#define G(name) \
    { \
#name, g_##name, 1 \
    }
const struct group groups[] = { G(captured), G(when), G(conditions), { 0 } };
