/* Calls about graphs, each with fresh graphs: wrong and missing arguments, handles of what was destroyed, ports of edges,
 * which executable graphs may be there at once, conditions, memory of nodes, user objects. */
#include "graphs.h"

static CUgraph g, h, copy;
static CUgraphNode a, b, c, k2, far, n_; /* kernel, memset, empty, kernel; of h; room */
static CUgraphExec x, y;
static CUuserObject object;
static int destroyed;
static CUgraphNode list[16], list2[16];
static CUgraphEdgeData data[16];
static size_t n;
static unsigned u;
static cuuint64_t w;
static CUgraphNodeType type;
static CUgraphExecUpdateResultInfo info;
static CUgraphConditionalHandle condition;
static CUdeviceptr p_, q_;
static CUstreamCaptureStatus status;
static CUkernelNodeAttrValue value;
static CUcontext context;
static char word[300];

static void on_destroy(void *p) { __atomic_add_fetch((int *)p, 1, 5); }

static void fresh(void)
{
    CUstreamCaptureMode mode = 0;
    cuThreadExchangeStreamCaptureMode(&mode);
    CUgraphNodeParams k = fill_node(dev, 8, 1), m = memset_node(dev + 512, 2, 4, 8, 1, 0),
                      l = fill_node(dev + 1024, 8, 1);
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphCreate(&h, 0));
    MUST(add_typed(&a, g, NULL, 0, &k));
    MUST(add_typed(&b, g, &a, 1, &m));
    MUST(cuGraphAddEmptyNode(&c, g, &b, 1));
    MUST(add_typed(&k2, g, NULL, 0, &l));
    MUST(cuGraphAddEmptyNode(&far, h, NULL, 0));
    MUST(cuGraphInstantiate(&x, g, 0));
    MUST(cuGraphClone(&copy, g));
    destroyed = 0;
    MUST(cuUserObjectCreate(&object, &destroyed, on_destroy, 2, 1));
    n = 16;
    u = 99;
    w = 99;
    y = NULL;
    n_ = NULL;
    type = 99;
    status = 9;
    info = (CUgraphExecUpdateResultInfo){ 99 };
    condition = 0;
    p_ = q_ = 0;
    memset(&value, 0, sizeof value);
    memset(list, 0, sizeof list);
    memset(list2, 0, sizeof list2);
    memset(data, 0x11, sizeof data);
    *word = 0;
}

static const char *named(CUgraphNode m)
{
    return m == a ? "a" : m == b ? "b" : m == c ? "c" : m == k2 ? "k" : m == far ? "f" : m ? "?" : "-";
}

static CUresult listed(CUresult r)
{
    sprintf(word, "%zu", n);
    for (int i = 0; i < 6; i++)
        sprintf(word + strlen(word), " %s>%s:%d", named(list[i]), named(list2[i]), data[i].type);
    return r;
}

#define told(call, v) \
    ({ \
        CUresult r_ = (call); \
        sprintf(word + strlen(word), "%llu", (unsigned long long)(v)); \
        r_; \
    })

static CUgraphNodeParams *at(CUgraphNodeParams p)
{
    static CUgraphNodeParams ring[8];
    static unsigned newest;
    ring[newest % 8] = p;
    return &ring[newest++ % 8];
}

static CUresult updated(CUresult r)
{
    sprintf(word, "%d %s %s", info.result, named(info.errorNode), named(info.errorFromNode));
    return r;
}

static CUresult instantiated(CUgraph of, CUDA_GRAPH_INSTANTIATE_PARAMS p)
{
    CUresult r = cuGraphInstantiateWithParams(&y, of, &p);
    sprintf(word, "%d %s", p.result_out, named(p.hErrNode_out));
    return r;
}

/* All results of several calls, and the first. */
#define ALL(...) \
    ({ \
        CUresult r_[] = { __VA_ARGS__ }; \
        for (unsigned i_ = 0; i_ < sizeof r_ / sizeof *r_; i_++) sprintf(word + strlen(word), "%s ", rname(r_[i_])); \
        r_[0]; \
    })

static CUresult run(CUgraphExec e)
{
    reset();
    CUresult r = cuGraphLaunch(e, s0), r2 = cuStreamSynchronize(s0);
    sprintf(word + strlen(word), "run %s %s %s ", rname(r), rname(r2), contents());
    return r ? r : r2;
}

static CUgraphEdgeData edge(int from, int to, int kind) { return (CUgraphEdgeData){ from, to, kind }; }

static CUresult join(CUgraphNode from, CUgraphNode to, CUgraphEdgeData d)
{
    CUresult r = cuGraphAddDependencies(g, &from, &to, &d, 1);
    n = 16;
    if (!r) sprintf(word, "%s ", rname(cuGraphGetEdges(g, list, list2, data, &n)));
    for (size_t i = 0; !r && i < n; i++)
        sprintf(word + strlen(word), " %s>%s:%d%d%d", named(list[i]), named(list2[i]), data[i].from_port,
                data[i].to_port, data[i].type);
    if (!r) {
        CUresult r2 = cuGraphInstantiate(&y, g, 0);
        sprintf(word + strlen(word), " %s", rname(r2));
        if (!r2) run(y);
    }
    return r;
}

static CUresult add_with(CUgraphNode from, CUgraphNodeParams p, CUgraphEdgeData d)
{
    return cuGraphAddNode(&n_, g, &from, &d, 1, &p);
}

static CUgraphNodeParams conditional(CUgraph in, int kind, unsigned size, unsigned value)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    MUST(cuGraphConditionalHandleCreate(&condition, in, ctx0, value, 1));
    q.conditional.handle = condition;
    q.conditional.type = kind;
    q.conditional.size = size;
    q.conditional.ctx = ctx0;
    return q;
}

/* A conditional node with one node in each body; launched. */
static CUresult decided(int kind, unsigned size, unsigned value, CUgraphNodeParams *inside, int count)
{
    CUgraphNodeParams q = conditional(h, kind, size, value);
    CUresult r = cuGraphAddNode(&n_, h, NULL, NULL, 0, &q);
    sprintf(word, "%s ", rname(r));
    for (unsigned i = 0; !r && i < size && count; i++) {
        CUgraphNodeParams p = inside[i % count];
        CUgraphNode m;
        r = cuGraphAddNode(&m, q.conditional.phGraph_out[i], NULL, NULL, 0, &p);
        sprintf(word + strlen(word), "%s ", rname(r));
    }
    if (!r) sprintf(word + strlen(word), "inst %s ", rname(r = cuGraphInstantiate(&y, h, 0)));
    if (!r) r = run(y);
    return r;
}
#define INSIDE(...) \
    (CUgraphNodeParams[]){ __VA_ARGS__ }, sizeof((CUgraphNodeParams[]){ __VA_ARGS__ }) / sizeof(CUgraphNodeParams)

static CUgraphNodeParams empty_node(void) { return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY }; }

static CUresult allocate(CUgraph in, size_t bytes, CUdeviceptr *p)
{
    CUgraphNodeParams q = alloc_node(bytes);
    CUresult r = cuGraphAddMemAllocNode(&n_, in, NULL, 0, (CUDA_MEM_ALLOC_NODE_PARAMS *)&q.alloc);
    *p = q.alloc.dptr;
    return r;
}

static CUresult release(CUgraph in, CUdeviceptr p) { return cuGraphAddMemFreeNode(&n_, in, NULL, 0, p); }

static CUresult captured(CUstream s, CUresult (*f)(void))
{
    CUgraph made = NULL;
    MUST(cuStreamBeginCapture(s, 2));
    CUresult r = f();
    CUresult r2 = cuStreamEndCapture(s, &made);
    size_t m = 0;
    if (made) cuGraphGetNodes(made, NULL, &m);
    sprintf(word + strlen(word), "end %s %zu", rname(r2), m);
    return r;
}

static CUgraphExec launching;
static CUresult launch_captured(void) { return cuGraphLaunch(launching, s0); }

static char room[512];

#define CALLS(X) \
    X(updatereplaced2, (cuGraphDestroyNode(k2), k2 = NULL, cuGraphAddEmptyNode(&n_, g, NULL, 0), \
                        updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatereplaced3, \
      (cuGraphDestroyNode(c), c = NULL, cuGraphAddEmptyNode(&n_, g, &b, 1), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatetwocycle, (join(b, a, edge(0, 0, 0)), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateroots, (cuGraphAddDependencies(g, &k2, &a, NULL, 1), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatemoreroots, (cuGraphRemoveDependencies(g, &a, &b, NULL, 1), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateswapped, (cuGraphRemoveDependencies(g, &a, &b, NULL, 1), cuGraphAddDependencies(g, &k2, &b, NULL, 1), \
                      updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateport, (cuGraphCreate(&h, 0), add_typed(&list[0], h, NULL, 0, at(fill_node(dev, 8, 1))), \
                   add_typed(&list[1], h, NULL, 0, at(fill_node(dev, 8, 1))), \
                   cuGraphAddDependencies(h, &list[0], &list[1], NULL, 1), cuGraphInstantiate(&y, h, 0), \
                   cuGraphRemoveDependencies(h, &list[0], &list[1], NULL, 1), \
                   cuGraphAddDependencies(h, &list[0], &list[1], &(CUgraphEdgeData){ 1, 0, 1 }, 1), \
                   updated(cuGraphExecUpdate(y, h, &info)))) \
    X(updatechild, (cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), cuGraphChildGraphNodeGetGraph(n_, &copy), \
                    updated(cuGraphExecUpdate(x, copy, &info)))) \
    X(updatecluster2, (value.clusterDim.x = 2, value.clusterDim.y = value.clusterDim.z = 1, \
                       cuGraphKernelNodeSetAttribute(a, 4, &value), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatewindow, (value.accessPolicyWindow = (CUaccessPolicyWindow){ (void *)dev, 1024, 1, 1, 0 }, \
                     cuGraphKernelNodeSetAttribute(a, 1, &value), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatecarveout, \
      (memset(&value, 50, 1), cuGraphKernelNodeSetAttribute(a, 14, &value), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatedomain, (value.memSyncDomain = 1, cuGraphKernelNodeSetAttribute(a, 10, &value), \
                     updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatepolicy, (value.clusterSchedulingPolicyPreference = 2, cuGraphKernelNodeSetAttribute(a, 5, &value), \
                     updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatecond, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), *word = 0, cuGraphDestroyNode(far), \
                   updated(cuGraphExecUpdate(y, h, &info)))) \
    X(updatealloc, (allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), cuGraphCreate(&g, 0), \
                    cuGraphAddEmptyNode(&n_, g, NULL, 0), allocate(g, 4096, &q_), \
                    updated(cuGraphExecUpdate(y, g, &info)), cuGraphLaunch(y, s0), cuStreamSynchronize(s0), \
                    ALL(cuMemcpyDtoH(pinned, p_, 16), cuMemcpyDtoH(pinned, q_, 16), cuMemFreeAsync(p_, s0), \
                        cuMemFreeAsync(q_, s0)))) \
    X(updateallocsize, (allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), cuGraphCreate(&g, 0), \
                        cuGraphAddEmptyNode(&n_, g, NULL, 0), allocate(g, 4 << 20, &q_), \
                        updated(cuGraphExecUpdate(y, g, &info)), cuGraphLaunch(y, s0), cuStreamSynchronize(s0), \
                        ALL(cuMemcpyDtoH(pinned, p_, 16), cuMemcpyDtoH(pinned, q_, 16), cuMemFreeAsync(p_, s0), \
                            cuMemFreeAsync(q_, s0)))) \
    X(updateallocinst, (allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), cuGraphCreate(&g, 0), \
                        cuGraphAddEmptyNode(&n_, g, NULL, 0), allocate(g, 4096, &q_), cuGraphInstantiate(&x, g, 0), \
                        updated(cuGraphExecUpdate(y, g, &info)))) \
    X(updatefree, \
      (allocate(h, 4096, &p_), a = n_, cuGraphAddMemFreeNode(&b, h, &a, 1, p_), cuGraphInstantiate(&y, h, 0), \
       cuGraphCreate(&g, 0), cuGraphAddEmptyNode(&n_, g, NULL, 0), allocate(g, 4096, &q_), a = n_, \
       cuGraphAddMemFreeNode(&b, g, &a, 1, q_), updated(cuGraphExecUpdate(y, g, &info)), \
       ALL(cuGraphLaunch(y, s0), cuGraphLaunch(y, s0), cuStreamSynchronize(s0)))) \
    X(removeportlist, (cuGraphRemoveDependencies(g, &a, &b, &(CUgraphEdgeData){ 1, 0, 1 }, 1), n = 16, \
                       listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(removedefault, (join(a, k2, edge(1, 0, 1)), *word = 0, cuGraphRemoveDependencies(g, &a, &k2, NULL, 1), n = 16, \
                      listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(edgetwice, ALL(cuGraphAddDependencies(g, &a, &k2, NULL, 1), \
                     cuGraphAddDependencies(g, &a, &k2, &(CUgraphEdgeData){ 1, 0, 1 }, 1), \
                     cuGraphAddDependencies(g, &a, &k2, &(CUgraphEdgeData){ 2, 0, 0 }, 1))) \
    X(edgetwolist, (cuGraphAddDependencies(g, &a, &k2, NULL, 1), \
                    cuGraphAddDependencies(g, &a, &k2, &(CUgraphEdgeData){ 1, 0, 1 }, 1), n = 16, \
                    listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(edgetworemove, \
      (cuGraphAddDependencies(g, &a, &k2, NULL, 1), \
       cuGraphAddDependencies(g, &a, &k2, &(CUgraphEdgeData){ 1, 0, 1 }, 1), \
       cuGraphRemoveDependencies(g, &a, &k2, NULL, 1), n = 16, listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(lossyedges, (join(a, k2, edge(1, 0, 1)), *word = 0, n = 16, listed(cuGraphGetEdges(g, list, list2, NULL, &n)))) \
    X(lossycount, (join(a, k2, edge(1, 0, 1)), *word = 0, n = 16, listed(cuGraphGetEdges(g, NULL, NULL, NULL, &n)))) \
    X(lossyone, (join(a, k2, edge(1, 0, 1)), *word = 0, n = 1, listed(cuGraphGetEdges(g, list, list2, NULL, &n)))) \
    X(lossydeps, \
      (join(a, k2, edge(1, 0, 1)), *word = 0, n = 16, listed(cuGraphNodeGetDependencies(k2, list, NULL, &n)))) \
    X(lossydepscount, \
      (join(a, k2, edge(1, 0, 1)), *word = 0, n = 16, listed(cuGraphNodeGetDependencies(k2, NULL, NULL, &n)))) \
    X(lossyafter, \
      (join(a, k2, edge(1, 0, 1)), *word = 0, n = 16, listed(cuGraphNodeGetDependentNodes(a, list, NULL, &n)))) \
    X(lossyclone, (join(a, k2, edge(1, 0, 1)), *word = 0, cuGraphClone(&copy, g), n = 16, \
                   ALL(cuGraphGetEdges(copy, list, list2, NULL, &n), cuGraphGetEdges(copy, list, list2, data, &n)))) \
    X(edgetarget, (join(a, k2, edge(1, 0, 1)), *word = 0, set_typed(k2, at(fill_node(dev, 4, 3))))) \
    X(nestbody, ({ \
          CUgraphNodeParams q = conditional(h, 0, 1, 1); \
          cuGraphAddNode(&n_, h, NULL, NULL, 0, &q); \
          CUgraph body = q.conditional.phGraph_out[0]; \
          CUgraphNodeParams i = conditional(body, 0, 1, 1); \
          ALL(cuGraphAddNode(&n_, body, NULL, NULL, 0, &i), cuGraphInstantiate(&y, h, 0)); \
      })) \
    X(nestother, ({ \
          CUgraphNodeParams q = conditional(h, 0, 1, 1); \
          cuGraphAddNode(&n_, h, NULL, NULL, 0, &q); \
          CUgraph body = q.conditional.phGraph_out[0]; \
          CUgraphNodeParams i = conditional(body, 0, 1, 1); \
          ALL(cuGraphAddNode(&n_, h, NULL, NULL, 0, &i), cuGraphInstantiate(&y, h, 0)); \
      })) \
    X(bodydestroy, ({ \
          CUgraphNodeParams q = conditional(h, 0, 1, 1); \
          cuGraphAddNode(&n_, h, NULL, NULL, 0, &q); \
          CUgraph body = q.conditional.phGraph_out[0]; \
          ALL(cuGraphDestroy(body), cuGraphInstantiate(&y, body, 0), cuGraphClone(&copy, body), \
              cuGraphExecUpdate(x, body, &info), cuGraphAddChildGraphNode(&a, g, NULL, 0, body)); \
      })) \
    X(bodycapture, ({ \
          CUgraphNodeParams q = conditional(h, 0, 1, 1); \
          cuGraphAddNode(&n_, h, NULL, NULL, 0, &q); \
          CUgraph body = q.conditional.phGraph_out[0]; \
          ALL(cuStreamBeginCaptureToGraph(s0, body, NULL, NULL, 0, 2), cuMemsetD8Async(dev, 1, 4, s0), \
              cuStreamEndCapture(s0, &copy), copy == body ? 0 : 1, cuGraphInstantiate(&y, h, 0), cuGraphLaunch(y, s0), \
              cuStreamSynchronize(s0)); \
      })) \
    X(attrprioclamp, (value.priority = -99, cuGraphKernelNodeSetAttribute(a, 8, &value), \
                      cuGraphKernelNodeGetAttribute(a, 8, &value), told(0, (unsigned)value.priority))) \
    X(attrprioplus, (value.priority = 9, ALL(cuGraphKernelNodeSetAttribute(a, 8, &value)), \
                     cuGraphKernelNodeGetAttribute(a, 8, &value), told(0, (unsigned)value.priority))) \
    X(attrcluster0, \
      (value.clusterDim.x = value.clusterDim.y = value.clusterDim.z = 0, cuGraphKernelNodeSetAttribute(a, 4, &value))) \
    X(attrcluster3, (value.clusterDim.x = 3, value.clusterDim.y = value.clusterDim.z = 1, \
                     ALL(cuGraphKernelNodeSetAttribute(a, 4, &value), cuGraphInstantiate(&y, g, 0)))) \
    X(attrcluster16, (value.clusterDim.x = 16, value.clusterDim.y = value.clusterDim.z = 1, \
                      ALL(cuGraphKernelNodeSetAttribute(a, 4, &value), cuGraphInstantiate(&y, g, 0)))) \
    X(attrdomain2, (value.memSyncDomain = 2, cuGraphKernelNodeSetAttribute(a, 10, &value))) \
    X(attrpolicy9, (value.clusterSchedulingPolicyPreference = 9, cuGraphKernelNodeSetAttribute(a, 5, &value))) \
    X(attrcoop2, (value.cooperative = 2, cuGraphKernelNodeSetAttribute(a, 2, &value))) \
    X(attrcarveout200, (memset(&value, 200, 1), cuGraphKernelNodeSetAttribute(a, 14, &value))) \
    X(attrwindowbig, (value.accessPolicyWindow = (CUaccessPolicyWindow){ (void *)dev, 1ul << 40, 1, 1, 0 }, \
                      cuGraphKernelNodeSetAttribute(a, 1, &value))) \
    X(attrwindowratio, (value.accessPolicyWindow = (CUaccessPolicyWindow){ (void *)dev, 1024, 2.5f, 1, 0 }, \
                        cuGraphKernelNodeSetAttribute(a, 1, &value))) \
    X(attrwindowprop, (value.accessPolicyWindow = (CUaccessPolicyWindow){ (void *)dev, 1024, 1, 5, 0 }, \
                       cuGraphKernelNodeSetAttribute(a, 1, &value))) \
    X(movefresh, ({ \
          CUgraphNodeParams q = child_node(h); \
          q.graph.ownership = 1; \
          cuGraphCreate(&copy, 0); \
          ALL(cuGraphAddNode(&n_, copy, NULL, NULL, 0, &q)); \
      })) \
    X(moveinstantiated, ({ \
          CUgraphNodeParams q = child_node(h); \
          q.graph.ownership = 1; \
          ALL(cuGraphAddNode(&n_, g, NULL, NULL, 0, &q)); \
      })) \
    X(movekernel, ({ \
          CUgraph m; \
          cuGraphCreate(&m, 0); \
          add_typed(&a, m, NULL, 0, at(fill_node(dev, 4, 1))); \
          CUgraphNodeParams q = child_node(m); \
          q.graph.ownership = 1; \
          ALL(cuGraphAddNode(&n_, h, NULL, NULL, 0, &q), cuGraphInstantiate(&y, h, 0)); \
      })) \
    X(setchild, (cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), cuGraphNodeSetParams(n_, at(child_node(copy))))) \
    X(setchildexec, (cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), cuGraphInstantiate(&y, h, 0), \
                     cuGraphExecNodeSetParams(y, n_, at(child_node(copy))))) \
    X(captwograph, ALL(cuStreamBeginCaptureToGraph(s0, g, &c, NULL, 1, 2), cuMemAllocAsync(&p_, 4096, s0), \
                       cuStreamEndCapture(s0, &h))) \
    X(create0, cuGraphCreate(NULL, 0)) \
    X(createflags, cuGraphCreate(&h, 2)) \
    X(create0flags, cuGraphCreate(NULL, 2)) \
    X(nodes00, cuGraphGetNodes(NULL, NULL, NULL)) \
    X(nodesg0, cuGraphGetNodes(NULL, list, &n)) \
    X(nodesn0, cuGraphGetNodes(g, list, NULL)) \
    X(nodes3, (n = 3, listed(cuGraphGetNodes(g, list, &n)))) \
    X(nodes0, (n = 0, listed(cuGraphGetNodes(g, list, &n)))) \
    X(nodes16, listed(cuGraphGetNodes(g, list, &n))) \
    X(roots16, listed(cuGraphGetRootNodes(g, list, &n))) \
    X(roots1, (n = 1, listed(cuGraphGetRootNodes(g, list, &n)))) \
    X(roots0, (n = 0, listed(cuGraphGetRootNodes(g, NULL, &n)))) \
    X(rootsg0, cuGraphGetRootNodes(NULL, list, &n)) \
    X(rootsn0, cuGraphGetRootNodes(g, list, NULL)) \
    X(edges16, listed(cuGraphGetEdges(g, list, list2, data, &n))) \
    X(edges1, (n = 1, listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(edgescount, listed(cuGraphGetEdges(g, NULL, NULL, NULL, &n))) \
    X(edgesdata, listed(cuGraphGetEdges(g, NULL, NULL, data, &n))) \
    X(edgesfrom, listed(cuGraphGetEdges(g, list, NULL, NULL, &n))) \
    X(edgesto, listed(cuGraphGetEdges(g, NULL, list2, NULL, &n))) \
    X(edgesnodata, listed(cuGraphGetEdges(g, list, list2, NULL, &n))) \
    X(edgesg0, cuGraphGetEdges(NULL, list, list2, data, &n)) \
    X(edgesn0, cuGraphGetEdges(g, list, list2, data, NULL)) \
    X(depsb, listed(cuGraphNodeGetDependencies(b, list, data, &n))) \
    X(depsa, listed(cuGraphNodeGetDependencies(a, list, data, &n))) \
    X(depsnodata, listed(cuGraphNodeGetDependencies(b, list, NULL, &n))) \
    X(depscount, listed(cuGraphNodeGetDependencies(b, NULL, NULL, &n))) \
    X(depsdata, listed(cuGraphNodeGetDependencies(b, NULL, data, &n))) \
    X(deps0, (n = 0, listed(cuGraphNodeGetDependencies(b, list, data, &n)))) \
    X(depsnull, cuGraphNodeGetDependencies(NULL, list, data, &n)) \
    X(depsn0, cuGraphNodeGetDependencies(b, list, data, NULL)) \
    X(afterb, listed(cuGraphNodeGetDependentNodes(b, list, data, &n))) \
    X(afterc, listed(cuGraphNodeGetDependentNodes(c, list, data, &n))) \
    X(afternull, cuGraphNodeGetDependentNodes(NULL, list, data, &n)) \
    X(aftern0, cuGraphNodeGetDependentNodes(a, list, data, NULL)) \
    X(type, told(cuGraphNodeGetType(b, &type), type)) \
    X(typenull, cuGraphNodeGetType(NULL, &type)) \
    X(type0, cuGraphNodeGetType(b, NULL)) \
    X(clone0, cuGraphClone(NULL, g)) \
    X(clonenull, cuGraphClone(&h, NULL)) \
    X(clone00, cuGraphClone(NULL, NULL)) \
    X(find, told(cuGraphNodeFindInClone(&n_, a, copy), n_ &&n_ != a)) \
    X(findnode0, cuGraphNodeFindInClone(&n_, NULL, copy)) \
    X(findgraph0, cuGraphNodeFindInClone(&n_, a, NULL)) \
    X(findout0, cuGraphNodeFindInClone(NULL, a, copy)) \
    X(findself, cuGraphNodeFindInClone(&n_, a, g)) \
    X(findfar, cuGraphNodeFindInClone(&n_, far, copy)) \
    X(findother, cuGraphNodeFindInClone(&n_, a, h)) \
    X(findgone, (cuGraphNodeFindInClone(&n_, a, copy), cuGraphDestroyNode(n_), cuGraphNodeFindInClone(&n_, a, copy))) \
    X(findsecond, \
      (cuGraphClone(&h, copy), ALL(cuGraphNodeFindInClone(&n_, a, h), cuGraphNodeFindInClone(&n_, a, copy), \
                                   cuGraphNodeFindInClone(&list[0], n_, h)))) \
    X(findback, (cuGraphNodeFindInClone(&n_, a, copy), cuGraphNodeFindInClone(&list[0], n_, g))) \
    X(findoriginaldestroyed, (cuGraphDestroy(g), told(cuGraphGetNodes(copy, list, &n), n))) \
    X(destroynode0, cuGraphDestroyNode(NULL)) \
    X(destroy0, cuGraphDestroy(NULL)) \
    X(execdestroy0, cuGraphExecDestroy(NULL)) \
    X(destroynode, (cuGraphDestroyNode(b), listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(inst0, cuGraphInstantiate(NULL, g, 0)) \
    X(instnull, cuGraphInstantiate(&y, NULL, 0)) \
    X(instflags, cuGraphInstantiate(&y, g, 16)) \
    X(inst0flags, cuGraphInstantiate(NULL, g, 16)) \
    X(instnullflags, cuGraphInstantiate(&y, NULL, 16)) \
    X(instupload, cuGraphInstantiate(&y, g, 2)) \
    X(instpriority, cuGraphInstantiate(&y, g, 8)) \
    X(instauto, cuGraphInstantiate(&y, g, 1)) \
    X(install, cuGraphInstantiate(&y, g, 11)) \
    X(instempty, (cuGraphCreate(&h, 0), cuGraphInstantiate(&y, h, 0) ?: run(y))) \
    X(paramsnone, cuGraphInstantiateWithParams(&y, g, NULL)) \
    X(params0, cuGraphInstantiateWithParams(NULL, g, &(CUDA_GRAPH_INSTANTIATE_PARAMS){ 0 })) \
    X(paramsnull, instantiated(NULL, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 0, 0, a, 77 })) \
    X(params, instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 0, 0, a, 77 })) \
    X(paramsflags, instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 16, 0, a, 77 })) \
    X(paramsupload, instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 2, s0, a, 77 })) \
    X(paramsuploadlegacy, instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 2, 0, a, 77 })) \
    X(paramsstream, instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 0, s0, a, 77 })) \
    X(paramsempty, (cuGraphCreate(&h, 0), instantiated(h, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 0, 0, a, 77 }))) \
    X(paramsdevice, instantiated(h, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 4, 0, a, 77 })) \
    X(paramsdevice1, instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 5, 0, a, 77 })) \
    X(paramsdevice6, instantiated(h, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 6, s0, a, 77 })) \
    X(paramscycle, (join(c, a, edge(0, 0, 0)), instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 0, 0, far, 77 }))) \
    X(paramsunused, (cuGraphConditionalHandleCreate(&condition, g, ctx0, 0, 0), \
                     instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 0, 0, far, 77 }))) \
    X(flags, told(cuGraphExecGetFlags(x, &w), w)) \
    X(flags0, cuGraphExecGetFlags(x, NULL)) \
    X(flagsnull, cuGraphExecGetFlags(NULL, &w)) \
    X(flags1, (cuGraphInstantiate(&y, g, 9), told(cuGraphExecGetFlags(y, &w), w))) \
    X(flagsparams, \
      (instantiated(g, (CUDA_GRAPH_INSTANTIATE_PARAMS){ 11, s0, a, 77 }), told(cuGraphExecGetFlags(y, &w), w))) \
    X(updatex0, updated(cuGraphExecUpdate(NULL, g, &info))) \
    X(updateg0, updated(cuGraphExecUpdate(x, NULL, &info))) \
    X(update0, cuGraphExecUpdate(x, g, NULL)) \
    X(updatex00, cuGraphExecUpdate(NULL, g, NULL)) \
    X(update, updated(cuGraphExecUpdate(x, g, &info))) \
    X(updatecopy, updated(cuGraphExecUpdate(x, copy, &info))) \
    X(updateh, updated(cuGraphExecUpdate(x, h, &info))) \
    X(updateremoved, (cuGraphDestroyNode(c), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateadded, (cuGraphAddEmptyNode(&n_, g, NULL, 0), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateedge, (cuGraphAddDependencies(g, &a, &c, NULL, 1), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateedge2, (cuGraphAddDependencies(g, &a, &k2, NULL, 1), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateunedge, (cuGraphRemoveDependencies(g, &b, &c, NULL, 1), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatemoved, (cuGraphRemoveDependencies(g, &b, &c, NULL, 1), cuGraphAddDependencies(g, &a, &c, NULL, 1), \
                    updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatesame, (cuGraphDestroyNode(k2), add_typed(&n_, g, NULL, 0, at(fill_node(dev + 2048, 8, 1))), \
                   updated(cuGraphExecUpdate(x, g, &info)), run(x))) \
    X(updatereordered, (cuGraphCreate(&h, 0), add_typed(&list[3], h, NULL, 0, at(fill_node(dev + 2048, 8, 1))), \
                        add_typed(&list[0], h, NULL, 0, at(fill_node(dev, 8, 1))), \
                        add_typed(&list[1], h, &list[0], 1, at(memset_node(dev + 512, 2, 4, 8, 1, 0))), \
                        cuGraphAddEmptyNode(&list[2], h, &list[1], 1), updated(cuGraphExecUpdate(x, h, &info)))) \
    X(updatecycle, (join(c, a, edge(0, 0, 0)), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateattr, \
      (value.cooperative = 1, cuGraphKernelNodeSetAttribute(a, 2, &value), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updateprio, \
      (value.priority = -1, cuGraphKernelNodeSetAttribute(a, 8, &value), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(updatecluster, (value.clusterDim.x = value.clusterDim.y = value.clusterDim.z = 1, \
                      cuGraphKernelNodeSetAttribute(a, 4, &value), updated(cuGraphExecUpdate(x, g, &info)))) \
    X(launch0, cuGraphLaunch(NULL, s0)) \
    X(launch, run(x)) \
    X(launchlegacy, ALL(cuGraphLaunch(x, NULL), cuCtxSynchronize())) \
    X(launchthread, ALL(cuGraphLaunch(x, CU_STREAM_PER_THREAD), cuCtxSynchronize())) \
    X(launchctx1, (cuCtxSetCurrent(ctx1), cuStreamCreate(&s1, 0), word[0] = 0, \
                   ALL(cuGraphLaunch(x, s1), cuGraphLaunch(x, NULL), cuGraphUpload(x, s1), cuCtxSynchronize(), \
                       cuCtxSetCurrent(ctx0)))) \
    X(launchnoctx, (cuCtxSetCurrent(NULL), ALL(cuGraphLaunch(x, s0), cuGraphLaunch(x, NULL), cuCtxSetCurrent(ctx0)))) \
    X(upload0, cuGraphUpload(NULL, s0)) \
    X(upload, cuGraphUpload(x, s0)) \
    X(uploadlegacy, cuGraphUpload(x, NULL)) \
    X(enable0, cuGraphNodeSetEnabled(NULL, a, 0)) \
    X(enablenode0, cuGraphNodeSetEnabled(x, NULL, 0)) \
    X(enablefar, cuGraphNodeSetEnabled(x, far, 0)) \
    X(enableempty, cuGraphNodeSetEnabled(x, c, 0)) \
    X(enableempty1, cuGraphNodeSetEnabled(x, c, 1)) \
    X(enable5, (cuGraphNodeSetEnabled(x, a, 5), told(cuGraphNodeGetEnabled(x, a, &u), u))) \
    X(enabledoff, (cuGraphNodeSetEnabled(x, a, 0), cuGraphNodeGetEnabled(x, a, &u), sprintf(word, "%u ", u), run(x))) \
    X(enabledset, (cuGraphNodeSetEnabled(x, a, 0), set_exec_typed(x, a, at(fill_node(dev, 4, 3))), \
                   cuGraphNodeGetEnabled(x, a, &u), sprintf(word, "%u ", u), run(x))) \
    X(enabledupdate, (cuGraphNodeSetEnabled(x, a, 0), updated(cuGraphExecUpdate(x, g, &info)), \
                      cuGraphNodeGetEnabled(x, a, &u), sprintf(word + strlen(word), " %u ", u), run(x))) \
    X(enabledempty, told(cuGraphNodeGetEnabled(x, c, &u), u)) \
    X(enabledfar, told(cuGraphNodeGetEnabled(x, far, &u), u)) \
    X(enabled0, cuGraphNodeGetEnabled(x, a, NULL)) \
    X(enabledx0, cuGraphNodeGetEnabled(NULL, a, &u)) \
    X(enabledcopy, (cuGraphNodeFindInClone(&n_, a, copy), told(cuGraphNodeGetEnabled(x, n_, &u), u))) \
    X(connect0, cuGraphAddDependencies(g, NULL, NULL, NULL, 0)) \
    X(connectg0, cuGraphAddDependencies(NULL, &a, &c, NULL, 1)) \
    X(connectg00, cuGraphAddDependencies(NULL, NULL, NULL, NULL, 0)) \
    X(connectfrom0, cuGraphAddDependencies(g, NULL, &c, NULL, 1)) \
    X(connectto0, cuGraphAddDependencies(g, &a, NULL, NULL, 1)) \
    X(connectnull, cuGraphAddDependencies(g, &n_, &a, NULL, 1)) \
    X(connectnull2, cuGraphAddDependencies(g, &a, &n_, NULL, 1)) \
    X(connectfar, cuGraphAddDependencies(g, &a, &far, NULL, 1)) \
    X(connecthalf, \
      (list[0] = a, list2[0] = k2, list[1] = a, list2[1] = far, cuGraphAddDependencies(g, list, list2, NULL, 2), \
       n = 16, listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(connecttwice, (list[0] = list[1] = a, list2[0] = list2[1] = k2, cuGraphAddDependencies(g, list, list2, NULL, 2), \
                     n = 16, listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(connectthere, \
      (list[0] = a, list2[0] = k2, list[1] = a, list2[1] = b, ALL(cuGraphAddDependencies(g, list, list2, NULL, 2)), \
       n = 16, listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(remove0, cuGraphRemoveDependencies(g, NULL, NULL, NULL, 0)) \
    X(removeg0, cuGraphRemoveDependencies(NULL, &a, &b, NULL, 1)) \
    X(removefrom0, cuGraphRemoveDependencies(g, NULL, &b, NULL, 1)) \
    X(removeno, cuGraphRemoveDependencies(g, &a, &c, NULL, 1)) \
    X(removeback, cuGraphRemoveDependencies(g, &b, &a, NULL, 1)) \
    X(removehalf, \
      (list[0] = a, list2[0] = b, list[1] = a, list2[1] = c, ALL(cuGraphRemoveDependencies(g, list, list2, NULL, 2)), \
       n = 16, listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(removetwice, \
      (list[0] = list[1] = a, list2[0] = list2[1] = b, ALL(cuGraphRemoveDependencies(g, list, list2, NULL, 2)), \
       n = 16, listed(cuGraphGetEdges(g, list, list2, data, &n)))) \
    X(removeport, cuGraphRemoveDependencies(g, &a, &b, &(CUgraphEdgeData){ 1 }, 1)) \
    X(removetype, cuGraphRemoveDependencies(g, &a, &b, &(CUgraphEdgeData){ 0, 0, 1 }, 1)) \
    X(edgekm000, join(a, b, edge(0, 0, 0))) \
    X(edge001, join(a, k2, edge(0, 0, 1))) \
    X(edge101, join(a, k2, edge(1, 0, 1))) \
    X(edge201, join(a, k2, edge(2, 0, 1))) \
    X(edge301, join(a, k2, edge(3, 0, 1))) \
    X(edge100, join(a, k2, edge(1, 0, 0))) \
    X(edge200, join(a, k2, edge(2, 0, 0))) \
    X(edge300, join(a, k2, edge(3, 0, 0))) \
    X(edge010, join(a, k2, edge(0, 1, 0))) \
    X(edge011, join(a, k2, edge(0, 1, 1))) \
    X(edge111, join(a, k2, edge(1, 1, 1))) \
    X(edge002, join(a, k2, edge(0, 0, 2))) \
    X(edge102, join(a, k2, edge(1, 0, 2))) \
    X(edge000, join(a, k2, edge(0, 0, 0))) \
    X(edgereserved, join(a, k2, (CUgraphEdgeData){ 0, 0, 0, { 1 } })) \
    X(edgeself1, join(a, a, edge(1, 0, 1))) \
    X(edgefar1, join(a, far, edge(1, 0, 1))) \
    X(edgethere1, join(a, b, edge(1, 0, 1))) \
    X(edgeke100, join(a, c, edge(1, 0, 0))) \
    X(edgeke101, join(a, c, edge(1, 0, 1))) \
    X(edgeke200, join(a, c, edge(2, 0, 0))) \
    X(edgekm100, join(k2, b, edge(1, 0, 0))) \
    X(edgekm101, join(k2, b, edge(1, 0, 1))) \
    X(edgekm200, join(k2, b, edge(2, 0, 0))) \
    X(edgekm001, join(k2, b, edge(0, 0, 1))) \
    X(edgemk100, join(b, k2, edge(1, 0, 0))) \
    X(edgemk001, join(b, k2, edge(0, 0, 1))) \
    X(edgemk010, join(b, k2, edge(0, 1, 0))) \
    X(edgemc010, join(k2, c, edge(0, 1, 0))) \
    X(edgemc300, join(k2, c, edge(3, 0, 0))) \
    X(addedge100, add_with(a, fill_node(dev, 4, 1), edge(1, 0, 0))) \
    X(addedge101, add_with(a, fill_node(dev, 4, 1), edge(1, 0, 1))) \
    X(addedge200, add_with(a, fill_node(dev, 4, 1), edge(2, 0, 0))) \
    X(addedge001, add_with(a, fill_node(dev, 4, 1), edge(0, 0, 1))) \
    X(addedgem100, add_with(a, empty_node(), edge(1, 0, 0))) \
    X(addedgem101, add_with(a, empty_node(), edge(1, 0, 1))) \
    X(addedgeb100, add_with(b, fill_node(dev, 4, 1), edge(1, 0, 0))) \
    X(addedgeb010, add_with(b, empty_node(), edge(0, 1, 0))) \
    X(addedgeb000, add_with(b, empty_node(), edge(0, 0, 0))) \
    X(addedgereserved, add_with(b, empty_node(), (CUgraphEdgeData){ 0, 0, 0, { 0, 1 } })) \
    X(addedgenull, add_with(NULL, empty_node(), edge(1, 0, 0))) \
    X(attrgetnull, cuGraphKernelNodeGetAttribute(NULL, 8, &value)) \
    X(attrgetm, cuGraphKernelNodeGetAttribute(b, 8, &value)) \
    X(attrsetnull, cuGraphKernelNodeSetAttribute(NULL, 8, &value)) \
    X(attrset16null, cuGraphKernelNodeSetAttribute(NULL, 16, &value)) \
    X(attrset16m, cuGraphKernelNodeSetAttribute(b, 16, &value)) \
    X(attrset99, cuGraphKernelNodeSetAttribute(a, 99, &value)) \
    X(attrget99, cuGraphKernelNodeGetAttribute(a, 99, &value)) \
    X(attrcopy, cuGraphKernelNodeCopyAttributes(k2, a)) \
    X(attrcopym, cuGraphKernelNodeCopyAttributes(k2, b)) \
    X(attrcopym2, cuGraphKernelNodeCopyAttributes(b, a)) \
    X(attrcopy0, cuGraphKernelNodeCopyAttributes(NULL, a)) \
    X(attrcopy00, cuGraphKernelNodeCopyAttributes(a, NULL)) \
    X(attrcopyself, cuGraphKernelNodeCopyAttributes(a, a)) \
    X(dot0, cuGraphDebugDotPrint(g, NULL, 0)) \
    X(dotnull, cuGraphDebugDotPrint(NULL, "/dev/null", 0)) \
    X(dotflags, cuGraphDebugDotPrint(g, "/dev/null", 1 << 20)) \
    X(dotall, cuGraphDebugDotPrint(g, "/dev/null", 0x7fff)) \
    X(dotnowhere, cuGraphDebugDotPrint(g, "/nonexistent/x", 0)) \
    X(dotfolder, cuGraphDebugDotPrint(g, "/", 0)) \
    X(dotempty, cuGraphDebugDotPrint(g, "", 0)) \
    X(obj0, cuUserObjectCreate(NULL, &destroyed, on_destroy, 1, 1)) \
    X(objptr0, cuUserObjectCreate(&object, NULL, on_destroy, 1, 1)) \
    X(objfn0, cuUserObjectCreate(&object, &destroyed, NULL, 1, 1)) \
    X(objcount0, cuUserObjectCreate(&object, &destroyed, on_destroy, 0, 1)) \
    X(objflags0, cuUserObjectCreate(&object, &destroyed, on_destroy, 1, 0)) \
    X(objflags2, cuUserObjectCreate(&object, &destroyed, on_destroy, 1, 2)) \
    X(objflags3, cuUserObjectCreate(&object, &destroyed, on_destroy, 1, 3)) \
    X(objbig, cuUserObjectCreate(&object, &destroyed, on_destroy, 0x80000000u, 1)) \
    X(objmax, cuUserObjectCreate(&object, &destroyed, on_destroy, 0x7fffffffu, 1)) \
    X(objneg, cuUserObjectCreate(&object, &destroyed, on_destroy, ~0u, 1)) \
    X(retain0, cuUserObjectRetain(NULL, 1)) \
    X(retaincount0, cuUserObjectRetain(object, 0)) \
    X(retainbig, cuUserObjectRetain(object, 0x7fffffff)) \
    X(retainneg, cuUserObjectRetain(object, ~0u)) \
    X(release0, cuUserObjectRelease(NULL, 1)) \
    X(releasecount0, cuUserObjectRelease(object, 0)) \
    X(release2, (cuUserObjectRelease(object, 1), sprintf(word, "%d ", destroyed), cuUserObjectRelease(object, 1), \
                 usleep(10000), sprintf(word + 2, "%d", destroyed), CUDA_SUCCESS)) \
    X(keepg0, cuGraphRetainUserObject(NULL, object, 1, 0)) \
    X(keepo0, cuGraphRetainUserObject(g, NULL, 1, 0)) \
    X(keepcount0, cuGraphRetainUserObject(g, object, 0, 0)) \
    X(keepflags2, cuGraphRetainUserObject(g, object, 1, 2)) \
    X(keepbig, cuGraphRetainUserObject(g, object, 0x80000000u, 0)) \
    X(dropg0, cuGraphReleaseUserObject(NULL, object, 1)) \
    X(dropo0, cuGraphReleaseUserObject(g, NULL, 1)) \
    X(dropcount0, cuGraphReleaseUserObject(g, object, 0)) \
    X(keepmove, (cuGraphRetainUserObject(g, object, 2, 1), sprintf(word, "%d ", destroyed), cuGraphDestroy(g), \
                 usleep(10000), sprintf(word + 2, "%d", destroyed), CUDA_SUCCESS)) \
    X(keepexec, (cuGraphRetainUserObject(g, object, 2, 1), cuGraphInstantiate(&y, g, 0), cuGraphDestroy(g), \
                 usleep(10000), sprintf(word, "%d ", destroyed), cuGraphLaunch(y, s0), cuGraphExecDestroy(y), \
                 cuCtxSynchronize(), usleep(30000), sprintf(word + 2, "%d", destroyed), CUDA_SUCCESS)) \
    X(keepclone, (cuGraphRetainUserObject(g, object, 2, 1), cuGraphClone(&copy, g), cuGraphDestroy(g), usleep(10000), \
                  sprintf(word, "%d ", destroyed), cuGraphDestroy(copy), usleep(10000), \
                  sprintf(word + 2, "%d", destroyed), CUDA_SUCCESS)) \
    X(keepchild, (cuGraphRetainUserObject(g, object, 2, 1), cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), \
                  cuGraphDestroy(g), usleep(10000), sprintf(word, "%d ", destroyed), cuGraphDestroyNode(n_), \
                  usleep(10000), sprintf(word + 2, "%d", destroyed), CUDA_SUCCESS)) \
    X(keepupdate, (cuGraphRetainUserObject(copy, object, 2, 1), updated(cuGraphExecUpdate(x, copy, &info)), \
                   cuGraphDestroy(copy), usleep(10000), sprintf(word, "%d ", destroyed), cuGraphExecDestroy(x), \
                   usleep(10000), sprintf(word + 2, "%d", destroyed), CUDA_SUCCESS)) \
    X(keepold, (cuGraphRetainUserObject(g, object, 2, 1), cuGraphInstantiate(&y, g, 0), cuGraphDestroy(g), \
                updated(cuGraphExecUpdate(y, copy, &info)), usleep(10000), sprintf(word, "%d ", destroyed), \
                cuGraphExecDestroy(y), usleep(10000), sprintf(word + 2, "%d", destroyed), CUDA_SUCCESS)) \
    X(cond0, cuGraphConditionalHandleCreate(NULL, g, ctx0, 0, 0)) \
    X(condg0, cuGraphConditionalHandleCreate(&condition, NULL, ctx0, 0, 0)) \
    X(condctx0, cuGraphConditionalHandleCreate(&condition, g, NULL, 0, 0)) \
    X(condflags2, cuGraphConditionalHandleCreate(&condition, g, ctx0, 0, 2)) \
    X(condflags3, cuGraphConditionalHandleCreate(&condition, g, ctx0, 0, 3)) \
    X(condvalue, cuGraphConditionalHandleCreate(&condition, g, ctx0, 7, 0)) \
    X(cond, told(cuGraphConditionalHandleCreate(&condition, g, ctx0, 7, 1), !!condition)) \
    X(conddestroy, (cuGraphConditionalHandleCreate(&condition, h, ctx0, 7, 1), \
                    ALL(cuGraphClone(&copy, h), cuGraphAddChildGraphNode(&n_, g, NULL, 0, h), cuGraphDestroyNode(far), \
                        cuGraphDestroy(h)))) \
    X(if0, decided(0, 1, 0, INSIDE(fill_node(dev, 4, 9)))) \
    X(if1, decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9)))) \
    X(ifelse0, decided(0, 2, 0, INSIDE(fill_node(dev, 4, 9), fill_node(dev + 64, 4, 9)))) \
    X(ifelse1, decided(0, 2, 1, INSIDE(fill_node(dev, 4, 9), fill_node(dev + 64, 4, 9)))) \
    X(if7, decided(0, 1, 7, INSIDE(fill_node(dev, 4, 9)))) \
    X(while0, decided(1, 1, 0, INSIDE(fill_node(dev, 4, 9)))) \
    X(switch0, decided(2, 3, 0, INSIDE(fill_node(dev, 4, 9), fill_node(dev + 64, 4, 8), fill_node(dev + 128, 4, 7)))) \
    X(switch2, decided(2, 3, 2, INSIDE(fill_node(dev, 4, 9), fill_node(dev + 64, 4, 8), fill_node(dev + 128, 4, 7)))) \
    X(switch3, decided(2, 3, 3, INSIDE(fill_node(dev, 4, 9), fill_node(dev + 64, 4, 8), fill_node(dev + 128, 4, 7)))) \
    X(ifempty, decided(0, 1, 1, NULL, 0)) \
    X(if3, decided(0, 3, 1, NULL, 0)) \
    X(while2, decided(1, 2, 0, NULL, 0)) \
    X(switch1, decided(2, 1, 0, INSIDE(fill_node(dev, 4, 9)))) \
    X(ifmemset, decided(0, 1, 1, INSIDE(memset_node(dev, 1, 4, 4, 1, 0)))) \
    X(ifcopy, decided(0, 1, 1, INSIDE(copy_node(2, dev + 64, 2, dev, 16)))) \
    X(ifcopyhost, decided(0, 1, 1, INSIDE(copy_node(1, (uint64_t)pinned, 2, dev, 16)))) \
    X(ifcopypage, decided(0, 1, 1, INSIDE(copy_node(1, (uint64_t)pageable, 2, dev, 16)))) \
    X(ifempties, decided(0, 1, 1, INSIDE(empty_node()))) \
    X(ifhost, decided(0, 1, 1, INSIDE(host_node(on_host)))) \
    X(ifchild, decided(0, 1, 1, INSIDE(child_node(g)))) \
    X(ifevent, decided(0, 1, 1, INSIDE(event_node(CU_GRAPH_NODE_TYPE_EVENT_RECORD, events[0])))) \
    X(ifwait, decided(0, 1, 1, INSIDE(event_node(CU_GRAPH_NODE_TYPE_WAIT_EVENT, events[0])))) \
    X(ifops, decided(0, 1, 1, INSIDE(operations_node(dev, 1, 1)))) \
    X(ifalloc, decided(0, 1, 1, INSIDE(alloc_node(4096)))) \
    X(ifctx1, decided(0, 1, 1, \
                      INSIDE((CUgraphNodeParams){ \
                          .type = 0, .kernel = { .func = fill1, 1, 1, 1, 1, 1, 1, 0, fill_values(dev, 1, 1, 1) } }))) \
    X(ifcopyarray, decided(0, 1, 1, INSIDE(copy_node(3, (uint64_t)flat, 2, dev, 16)))) \
    X(ifinif, ({ \
          CUgraphNodeParams q = conditional(h, 0, 1, 1); \
          decided(0, 1, 1, &q, 1); \
      })) \
    X(condtwice, ({ \
          CUgraphNodeParams q = conditional(h, 0, 1, 1); \
          ALL(cuGraphAddNode(&n_, h, NULL, NULL, 0, &q), cuGraphAddNode(&n_, h, NULL, NULL, 0, &q)); \
      })) \
    X(condother, ({ \
          CUgraphNodeParams q = conditional(h, 0, 1, 1); \
          cuGraphAddNode(&n_, g, NULL, NULL, 0, &q); \
      })) \
    X(condclone, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), cuGraphClone(&copy, h))) \
    X(conddestroynode, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), cuGraphDestroyNode(n_))) \
    X(condinst2, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), cuGraphInstantiate(&x, h, 0))) \
    X(condinst3, \
      (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), cuGraphExecDestroy(y), cuGraphInstantiate(&x, h, 0))) \
    X(condupdate, \
      (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), *word = 0, updated(cuGraphExecUpdate(y, h, &info)))) \
    X(condremove, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), cuGraphRemoveDependencies(h, &far, &n_, NULL, 1))) \
    X(condconnect, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), cuGraphAddDependencies(h, &far, &n_, NULL, 1))) \
    X(condlater, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), cuGraphAddEmptyNode(&n_, h, NULL, 0))) \
    X(condcapture, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), launching = y, captured(s0, launch_captured))) \
    X(condenable, (decided(0, 1, 1, INSIDE(fill_node(dev, 4, 9))), cuGraphNodeSetEnabled(y, n_, 0))) \
    X(alloc, ALL(allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), cuGraphLaunch(y, s0), cuGraphLaunch(y, s0), \
                 cuMemFreeAsync(p_, s0), cuGraphLaunch(y, s0), cuMemFree(p_), cuMemFree(p_), cuGraphLaunch(y, s0), \
                 cuGraphExecDestroy(y), cuMemFree(p_), cuStreamSynchronize(s0))) \
    X(allocfree, ALL(allocate(h, 4096, &p_), release(h, p_), cuGraphInstantiate(&y, h, 0))) \
    X(allocfreeafter, ALL(allocate(h, 4096, &p_), cuGraphAddMemFreeNode(&far, h, &n_, 1, p_), \
                          cuGraphAddMemFreeNode(&far, h, &n_, 1, p_), cuGraphInstantiate(&y, h, 0), \
                          cuGraphLaunch(y, s0), cuGraphLaunch(y, s0), cuMemFree(p_), cuGraphExecDestroy(y), \
                          cuGraphInstantiate(&y, h, 0), cuGraphDestroy(h))) \
    X(allocauto, ALL(allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 1), cuGraphLaunch(y, s0), cuGraphLaunch(y, s0), \
                     cuMemFreeAsync(p_, s0), cuMemFreeAsync(p_, s0), cuGraphLaunch(y, s0), cuGraphExecDestroy(y), \
                     cuMemFreeAsync(p_, s0))) \
    X(allocother, ALL(allocate(g, 4096, &p_), cuGraphInstantiate(&y, g, 0), release(h, p_), \
                      cuGraphInstantiate(&x, h, 0), cuGraphLaunch(x, s0), cuGraphLaunch(y, s0), cuGraphLaunch(x, s0), \
                      cuGraphLaunch(y, s0), cuGraphLaunch(y, s0), cuGraphLaunch(x, s0), cuGraphLaunch(x, s0))) \
    X(allocotherearly, ALL(allocate(g, 4096, &p_), release(h, p_), release(h, p_), cuGraphInstantiate(&x, h, 0))) \
    X(allocsecond, ALL(allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), cuGraphInstantiate(&x, h, 0), \
                       cuGraphExecDestroy(y), cuGraphInstantiate(&x, h, 0))) \
    X(allocchild, ALL(allocate(h, 4096, &p_), cuGraphAddChildGraphNode(&n_, g, NULL, 0, h), \
                      cuGraphAddNode(&n_, g, NULL, NULL, 0, &(CUgraphNodeParams){ .type = 4, .graph = { h, 1 } }), \
                      cuGraphClone(&copy, g), cuGraphInstantiate(&y, g, 0), cuGraphLaunch(y, s0), cuMemFree(p_))) \
    X(allocedges, \
      ALL(allocate(h, 4096, &p_), cuGraphAddDependencies(h, &far, &n_, NULL, 1), \
          cuGraphRemoveDependencies(h, &far, &n_, NULL, 1), cuGraphDestroyNode(far), cuGraphDestroyNode(n_))) \
    X(allocupdate, ALL(allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), updated(cuGraphExecUpdate(y, h, &info)))) \
    X(allocdestroy, ALL(allocate(h, 4096, &p_), cuGraphDestroy(h), cuMemFree(p_), cuPointerGetAttribute(&u, 2, p_))) \
    X(allocdestroy2, ALL(allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), cuGraphDestroy(h), \
                         cuGraphLaunch(y, s0), cuStreamSynchronize(s0), cuGraphExecDestroy(y), \
                         cuMemcpyDtoH(pinned, p_, 16), cuMemFree(p_), cuMemcpyDtoH(pinned, p_, 16))) \
    X(alloccapture, \
      ALL(allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), (launching = y, captured(s0, launch_captured)))) \
    X(allocread, ALL(allocate(h, 4096, &p_), cuMemcpyDtoH(pinned, p_, 16), cuPointerGetAttribute(&u, 2, p_), \
                     cuMemGetAddressRange(&q_, &n, p_))) \
    X(allocenable, ALL(allocate(h, 4096, &p_), cuGraphInstantiate(&y, h, 0), cuGraphNodeSetEnabled(y, n_, 0), \
                       cuGraphNodeSetEnabled(y, n_, 1), cuGraphNodeGetEnabled(y, n_, &u))) \
    X(memattr0, cuDeviceGetGraphMemAttribute(0, 0, NULL)) \
    X(memattr9, cuDeviceGetGraphMemAttribute(0, 9, &w)) \
    X(memattrdev, cuDeviceGetGraphMemAttribute(99, 0, &w)) \
    X(memattrdev9, cuDeviceGetGraphMemAttribute(99, 9, &w)) \
    X(memset0, (w = 0, ALL(cuDeviceSetGraphMemAttribute(0, 0, &w), cuDeviceSetGraphMemAttribute(0, 1, &w), \
                           cuDeviceSetGraphMemAttribute(0, 2, &w), cuDeviceSetGraphMemAttribute(0, 3, &w)))) \
    X(memset5, (w = 5, ALL(cuDeviceSetGraphMemAttribute(0, 1, &w), cuDeviceSetGraphMemAttribute(0, 3, &w), \
                           cuDeviceSetGraphMemAttribute(0, 7, &w), cuDeviceSetGraphMemAttribute(9, 7, &w)))) \
    X(trimdev, cuDeviceGraphMemTrim(99)) \
    X(capbegin0, cuStreamBeginCaptureToGraph(s0, NULL, NULL, NULL, 0, 0)) \
    X(capbeginm, cuStreamBeginCaptureToGraph(s0, g, NULL, NULL, 0, 5)) \
    X(capbegin0m, cuStreamBeginCaptureToGraph(s0, NULL, NULL, NULL, 0, 5)) \
    X(capbegindeps, cuStreamBeginCaptureToGraph(s0, g, NULL, NULL, 1, 0)) \
    X(capbeginfar, cuStreamBeginCaptureToGraph(s0, g, &far, NULL, 1, 0)) \
    X(capbeginnull, cuStreamBeginCaptureToGraph(NULL, g, NULL, NULL, 0, 0)) \
    X(capbeginnull0, cuStreamBeginCaptureToGraph(NULL, NULL, NULL, NULL, 0, 0)) \
    X(capbegindata, cuStreamBeginCaptureToGraph(s0, g, &a, &(CUgraphEdgeData){ 1, 0, 1 }, 1, 0)) \
    X(capbegindatam, cuStreamBeginCaptureToGraph(s0, g, &b, &(CUgraphEdgeData){ 1, 0, 1 }, 1, 0)) \
    X(capbegindepnull, cuStreamBeginCaptureToGraph(s0, g, &n_, NULL, 1, 0)) \
    X(capbegintwice, (list[0] = list[1] = a, \
                      ALL(cuStreamBeginCaptureToGraph(s0, g, list, NULL, 2, 0), cuMemsetD8Async(dev, 1, 4, s0), \
                          cuStreamEndCapture(s0, &h)), \
                      listed(cuGraphGetEdges(g, list, list2, NULL, &n)))) \
    X(capbeginsame, \
      ALL(cuStreamBeginCaptureToGraph(s0, g, NULL, NULL, 0, 0), cuStreamBeginCaptureToGraph(s1, g, NULL, NULL, 0, 0), \
          cuStreamEndCapture(s0, &h), cuStreamEndCapture(s1, &h))) \
    X(capend0, cuStreamEndCapture(s0, NULL)) \
    X(capend, cuStreamEndCapture(s0, &h)) \
    X(capendnull, cuStreamEndCapture(NULL, &h)) \
    X(capend00, cuStreamEndCapture(NULL, NULL)) \
    X(capbegin3, cuStreamBeginCapture(s0, 3)) \
    X(capbeginneg, cuStreamBeginCapture(s0, -1)) \
    X(capbeginlegacy, cuStreamBeginCapture(NULL, 0)) \
    X(capbeginlegacy3, cuStreamBeginCapture(NULL, 3)) \
    X(capbeginlegacy1, cuStreamBeginCapture(CU_STREAM_LEGACY, 0)) \
    X(capbeginthread, \
      ALL(cuStreamBeginCapture(CU_STREAM_PER_THREAD, 0), cuStreamEndCapture(CU_STREAM_PER_THREAD, &h))) \
    X(capis0, cuStreamIsCapturing(s0, NULL)) \
    X(capisnull, told(cuStreamIsCapturing(NULL, &status), status)) \
    X(capisnull0, cuStreamIsCapturing(NULL, NULL)) \
    X(capinfo, told(cuStreamGetCaptureInfo(s0, &status, &w, NULL, NULL, NULL, NULL), status)) \
    X(capinfo0, cuStreamGetCaptureInfo(s0, NULL, &w, NULL, NULL, NULL, NULL)) \
    X(capinfonull, cuStreamGetCaptureInfo(NULL, &status, &w, NULL, NULL, NULL, NULL)) \
    X(exchange9, cuThreadExchangeStreamCaptureMode(&(CUstreamCaptureMode){ 9 })) \
    X(exchange2, ({ \
          CUstreamCaptureMode m = 2; \
          ALL(cuThreadExchangeStreamCaptureMode(&m)); \
          sprintf(word + strlen(word), "%d ", m); \
          ALL(cuThreadExchangeStreamCaptureMode(&m)); \
          told(0, m); \
      })) \
    X(depend, cuStreamUpdateCaptureDependencies(s0, NULL, NULL, 0, 0)) \
    X(dependnull, cuStreamUpdateCaptureDependencies(NULL, NULL, NULL, 0, 0)) \
    X(dependflags, cuStreamUpdateCaptureDependencies(s0, NULL, NULL, 0, 9)) \
    X(dependdeps, cuStreamUpdateCaptureDependencies(s0, NULL, NULL, 1, 0)) \
    X(dependcap, (cuStreamBeginCaptureToGraph(s0, g, NULL, NULL, 0, 2), \
                  ALL(cuStreamUpdateCaptureDependencies(s0, NULL, NULL, 1, 0), \
                      cuStreamUpdateCaptureDependencies(s0, &a, NULL, 1, 9), \
                      cuStreamUpdateCaptureDependencies(s0, &far, NULL, 1, 0), \
                      cuStreamUpdateCaptureDependencies(s0, &n_, NULL, 1, 0), \
                      cuStreamUpdateCaptureDependencies(s0, &a, NULL, 1, 0), \
                      cuStreamUpdateCaptureDependencies(s0, &a, NULL, 1, 1), \
                      cuStreamUpdateCaptureDependencies(s0, &a, &(CUgraphEdgeData){ 1, 0, 1 }, 1, 1), \
                      cuStreamUpdateCaptureDependencies(s0, &b, &(CUgraphEdgeData){ 1, 0, 1 }, 1, 1), \
                      cuStreamEndCapture(s0, &h)))) \
    X(capdestroygraph, \
      (cuStreamBeginCaptureToGraph(s0, h, NULL, NULL, 0, 2), ALL(cuGraphDestroy(h), cuStreamEndCapture(s0, &h)))) \
    X(capdestroynode, (cuStreamBeginCaptureToGraph(s0, g, &c, NULL, 1, 2), \
                       ALL(cuGraphDestroyNode(c), cuMemsetD8Async(dev, 1, 4, s0), cuStreamEndCapture(s0, &h)))) \
    X(capinst, (cuStreamBeginCaptureToGraph(s0, g, &c, NULL, 1, 2), \
                ALL(cuGraphInstantiate(&y, g, 0), cuGraphExecUpdate(x, g, &info), cuGraphClone(&copy, g), \
                    cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), cuGraphAddEmptyNode(&n_, g, NULL, 0), \
                    cuStreamEndCapture(s0, &h)))) \
    X(childdestroy, (cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), cuGraphChildGraphNodeGetGraph(n_, &copy), \
                     ALL(cuGraphDestroy(copy), cuGraphAddEmptyNode(&far, copy, NULL, 0), \
                         cuGraphInstantiate(&y, copy, 0), cuGraphClone(&g, copy), cuGraphGetNodes(copy, list, &n), \
                         cuGraphDestroyNode(list[0]), cuGraphInstantiate(&x, h, 0)))) \
    X(childget0, (cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), \
                  ALL(cuGraphChildGraphNodeGetGraph(n_, NULL), cuGraphChildGraphNodeGetGraph(a, &copy), \
                      cuGraphChildGraphNodeGetGraph(NULL, &copy)))) \
    X(childmove, ({ \
          CUgraphNodeParams q = child_node(g); \
          q.graph.ownership = 1; \
          ALL(cuGraphAddNode(&n_, h, NULL, NULL, 0, &q), cuGraphDestroy(g), \
              cuGraphAddNode(&n_, copy, NULL, NULL, 0, &q), cuGraphAddEmptyNode(&far, g, NULL, 0), \
              cuGraphInstantiate(&y, h, 0)); \
      })) \
    X(childfind, (cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), cuGraphChildGraphNodeGetGraph(n_, &copy), \
                  told(cuGraphNodeFindInClone(&list[0], a, copy), !!list[0]))) \
    X(childexecset, \
      (cuGraphAddChildGraphNode(&n_, h, NULL, 0, g), cuGraphInstantiate(&y, h, 0), \
       ALL(cuGraphExecChildGraphNodeSetParams(y, n_, copy), cuGraphExecChildGraphNodeSetParams(y, n_, h), \
           cuGraphExecChildGraphNodeSetParams(y, n_, NULL), cuGraphExecChildGraphNodeSetParams(y, far, copy), \
           set_exec_typed(y, a, at(fill_node(dev, 4, 3))))))

CALLS(CALL_FUNCTION)
static const struct call all_calls[] = { CALLS(CALL_ENTRY){ 0 } };

static int part;
enum { PART = 50 };

static void ask(void)
{
    take_all();
    for (int i = part * PART; i < part * PART + PART && i < (int)(sizeof all_calls / sizeof *all_calls) - 1; i++) {
        if (!next_question()) continue;
        fresh();
        CUresult r = all_calls[i].make();
        rec(all_calls[i].name, "%s %s", rname(r), word);
        bool capturing = false;
        CUstream all_streams[] = { s0, s1, CU_STREAM_PER_THREAD };
        for (int j = 0; j < 3; j++) {
            CUstreamCaptureStatus now = 0;
            cuStreamIsCapturing(all_streams[j], &now);
            capturing |= now != 0;
        }
        if (capturing || cuCtxSynchronize() || strstr(all_calls[i].name, "destroy")) _exit(GO_ON);
    }
}

#define PARTS(Y) Y(0) Y(1) Y(2) Y(3) Y(4) Y(5) Y(6) Y(7) Y(8) Y(9)
#define GROUP(i) \
    static void g_##i(void) \
    { \
        part = i; \
        survive(ask); \
    }
PARTS(GROUP)
#define ENTRY(i) { "gcalls_" #i, g_##i, 1 },
const struct group groups[] = { PARTS(ENTRY){ 0 } };
