/* Nodes of graphs with parameters that are wrong in one or two ways, added, set and set in executable graphs, by the
 * calls for their type and by those for all types; and what may change between graphs that update one another. */
#include "graphs.h"

struct request {
    CUgraphNode out, *at;
    CUgraph g;
    CUgraphNode dep[2];
    const CUgraphNode *deps;
    size_t count;
    CUgraphNodeParams p;
    bool no_params;
    CUgraphNode target;
    CUgraphExec x;
};

static CUgraph g, other_graph;
static CUgraphNode target, root, stranger, late;
static CUgraphExec exec;

#define MISTAKE(name, ...) \
    static void m_##name(struct request *q) { __VA_ARGS__; }
/* of all calls */
MISTAKE(ok, (void)q)
MISTAKE(none, q->no_params = true)
MISTAKE(out0, q->at = NULL)
MISTAKE(g0, q->g = NULL)
MISTAKE(depnull, q->deps = NULL; q->count = 1)
MISTAKE(dep0, q->dep[0] = NULL; q->count = 1)
MISTAKE(depother, q->dep[0] = stranger; q->count = 1)
MISTAKE(deptwice, q->dep[0] = q->dep[1] = root; q->count = 2)
MISTAKE(node0, q->target = NULL)
MISTAKE(nodetype, q->target = root)
MISTAKE(nodelate, q->target = late)
MISTAKE(nodeother, q->target = stranger)
MISTAKE(x0, q->x = NULL)
MISTAKE(reserved, q->p.reserved0[1] = 1)
MISTAKE(reserved2, q->p.reserved2 = 1)
MISTAKE(type99, q->p.type = 99)
/* of kernels */
#define K_ q->p.kernel
MISTAKE(func0, K_.func = NULL)
MISTAKE(kern, K_.kern = kernel_fill)
MISTAKE(kernonly, K_.kern = kernel_fill; K_.func = NULL)
MISTAKE(grid0, K_.gridDimX = 0)
MISTAKE(gridz, K_.gridDimZ = 70000)
MISTAKE(gridy, K_.gridDimY = 65536)
MISTAKE(block0, K_.blockDimY = 0)
MISTAKE(block2048, K_.blockDimX = 2048)
MISTAKE(blockz, K_.blockDimX = 1; K_.blockDimZ = 65)
MISTAKE(sh49, K_.sharedMemBytes = 49153)
MISTAKE(sh300, K_.sharedMemBytes = 300000)
MISTAKE(params0, K_.kernelParams = NULL)
MISTAKE(extraonly, static void *e[] = { CU_LAUNCH_PARAM_END }; K_.kernelParams = NULL; K_.extra = e)
MISTAKE(extrasmall, static size_t n = 8; static char b[8];
        static void *e[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, b, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END };
        K_.kernelParams = NULL; K_.extra = e)
MISTAKE(extrabig, static size_t n = 32; static char b[32];
        static void *e[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, b, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END };
        K_.kernelParams = NULL; K_.extra = e)
MISTAKE(extraright, static size_t n = 20; static char b[20];
        static void *e[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, b, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END };
        K_.kernelParams = NULL; K_.extra = e)
MISTAKE(extraboth, static void *e[] = { CU_LAUNCH_PARAM_END }; K_.extra = e)
MISTAKE(kctx0, K_.ctx = ctx0)
MISTAKE(kctx1, K_.ctx = ctx1)
MISTAKE(func1, K_.func = fill1)
/* of copies */
#define C_ q->p.memcpy.copyParams
MISTAKE(src0, C_.srcMemoryType = 0)
MISTAKE(src5, C_.srcMemoryType = 5)
MISTAKE(dst0, C_.dstMemoryType = 0)
MISTAKE(dst5, C_.dstMemoryType = 5)
MISTAKE(w0, C_.WidthInBytes = 0)
MISTAKE(h0, C_.Height = 0)
MISTAKE(d0, C_.Depth = 0)
MISTAKE(h2, C_.Height = 2)
MISTAKE(d2, C_.Depth = 2)
MISTAKE(srcpitch, C_.srcPitch = 8)
MISTAKE(dstpitch, C_.dstPitch = 8; C_.Height = 2)
MISTAKE(pitches, C_.srcPitch = C_.dstPitch = 64; C_.srcHeight = C_.dstHeight = 2; C_.Height = 3; C_.Depth = 2)
MISTAKE(far, C_.WidthInBytes = SIZE + 1)
MISTAKE(farx, C_.dstXInBytes = SIZE)
MISTAKE(wild, C_.srcDevice = 0x1234)
MISTAKE(wilddst, C_.dstDevice = 0x1234)
MISTAKE(null, C_.srcDevice = 0)
MISTAKE(array0, C_.srcMemoryType = CU_MEMORYTYPE_ARRAY)
MISTAKE(array, C_.srcMemoryType = CU_MEMORYTYPE_ARRAY; C_.srcArray = flat)
MISTAKE(arrayfar, C_.dstMemoryType = CU_MEMORYTYPE_ARRAY; C_.dstArray = flat; C_.dstXInBytes = 256)
MISTAKE(arrayodd, C_.dstMemoryType = CU_MEMORYTYPE_ARRAY; C_.dstArray = flat; C_.WidthInBytes = 6)
MISTAKE(lod, C_.srcLOD = 1)
MISTAKE(res0, C_.reserved0 = &calls)
MISTAKE(host, C_.srcMemoryType = CU_MEMORYTYPE_HOST; C_.srcHost = pageable)
MISTAKE(host0, C_.srcMemoryType = CU_MEMORYTYPE_HOST; C_.srcHost = NULL)
MISTAKE(hostdev, C_.srcMemoryType = CU_MEMORYTYPE_DEVICE; C_.srcDevice = (CUdeviceptr)pageable)
MISTAKE(unipage, C_.srcMemoryType = CU_MEMORYTYPE_UNIFIED; C_.srcDevice = (CUdeviceptr)pageable)
MISTAKE(devhost, C_.srcMemoryType = CU_MEMORYTYPE_HOST; C_.srcHost = (void *)dev)
MISTAKE(cctx0, q->p.memcpy.copyCtx = NULL)
MISTAKE(cctx1, q->p.memcpy.copyCtx = ctx1)
MISTAKE(cflags, q->p.memcpy.flags = 1)
MISTAKE(cres, q->p.memcpy.reserved = 1)
/* of memsets */
#define M_ q->p.memset
MISTAKE(e0, M_.elementSize = 0)
MISTAKE(e1, M_.elementSize = 1)
MISTAKE(e2, M_.elementSize = 2)
MISTAKE(e3, M_.elementSize = 3)
MISTAKE(e8, M_.elementSize = 8)
MISTAKE(mw0, M_.width = 0)
MISTAKE(mh0, M_.height = 0)
MISTAKE(mh2, M_.height = 2)
MISTAKE(mh2p, M_.height = 2; M_.pitch = 256)
MISTAKE(mh2odd, M_.height = 2; M_.pitch = 257)
MISTAKE(mp7, M_.pitch = 7)
MISTAKE(mfar, M_.width = SIZE / 4 + 1)
MISTAKE(mfar2, M_.height = 300; M_.pitch = 256)
MISTAKE(modd, M_.dst += 1)
MISTAKE(modd2, M_.dst += 2)
MISTAKE(mwild, M_.dst = 0x1234)
MISTAKE(mnull, M_.dst = 0)
MISTAKE(mpage, M_.dst = (CUdeviceptr)pageable)
MISTAKE(mpin, M_.dst = (CUdeviceptr)pinned)
MISTAKE(mman, M_.dst = managed)
MISTAKE(mv, M_.value = 0x12345)
MISTAKE(mctx0, M_.ctx = NULL)
MISTAKE(mctx1, M_.ctx = ctx1)
/* of the others */
MISTAKE(fn0, q->p.host.fn = NULL)
MISTAKE(user0, q->p.host.userData = NULL)
MISTAKE(event0, q->p.eventWait.event = NULL)
MISTAKE(graph0, q->p.graph.graph = NULL)
MISTAKE(own1, q->p.graph.ownership = 1)
MISTAKE(own2, q->p.graph.ownership = 2)
#define O_ q->p.memOp
static CUstreamBatchMemOpParams spare;
#define o_ (*(q->p.memOp.paramArray ? q->p.memOp.paramArray : &spare))
MISTAKE(octx0, O_.ctx = NULL)
MISTAKE(octx1, O_.ctx = ctx1)
MISTAKE(oarray0, O_.paramArray = NULL)
MISTAKE(ocount0, O_.count = 0)
MISTAKE(ocount256, static CUstreamBatchMemOpParams many[300]; for (int i = 0; i < 300; i++) many[i] = o_;
        O_.paramArray = many; O_.count = 256)
MISTAKE(ocount257, static CUstreamBatchMemOpParams many[300]; for (int i = 0; i < 300; i++) many[i] = o_;
        O_.paramArray = many; O_.count = 257)
MISTAKE(oflags, O_.flags = 1)
MISTAKE(oop0, o_.operation = 0)
MISTAKE(oop3, o_.operation = 3)
MISTAKE(oop6, o_.operation = 6)
MISTAKE(oop6f2, o_.operation = 6; o_.memoryBarrier.flags = 2)
MISTAKE(oodd, o_.writeValue.address += 2)
MISTAKE(owild, o_.writeValue.address = 0x1230)
MISTAKE(onull, o_.writeValue.address = 0)
MISTAKE(owflags, o_.writeValue.flags = 8)
MISTAKE(o64odd, o_.operation = 5; o_.writeValue.address += 4)
MISTAKE(owait, o_.operation = 1; o_.waitValue.flags = 4)
MISTAKE(opage, o_.writeValue.address = (CUdeviceptr)pageable)
MISTAKE(oman, o_.writeValue.address = managed)
#define A_ q->p.alloc
MISTAKE(a0, A_.bytesize = 0)
MISTAKE(ahuge, A_.bytesize = 1ul << 45)
MISTAKE(atype0, A_.poolProps.allocType = 0)
MISTAKE(atype2, A_.poolProps.allocType = 2)
MISTAKE(aloc0, A_.poolProps.location.type = 0)
MISTAKE(aloc2, A_.poolProps.location.type = 2)
MISTAKE(aloc3, A_.poolProps.location.type = 3)
MISTAKE(adev9, A_.poolProps.location.id = 99)
MISTAKE(adevm, A_.poolProps.location.id = -1)
MISTAKE(ahandle1, A_.poolProps.handleTypes = 1)
MISTAKE(ahandle99, A_.poolProps.handleTypes = 64)
MISTAKE(amax, A_.poolProps.maxSize = 4096)
MISTAKE(ausage, A_.poolProps.usage = 2)
MISTAKE(areserved, A_.poolProps.reserved[3] = 1)
MISTAKE(awin, A_.poolProps.win32SecurityAttributes = &calls)
MISTAKE(adesc, static CUmemAccessDesc d = { { 1, 0 }, 3 }; A_.accessDescs = &d; A_.accessDescCount = 1)
MISTAKE(adesc1, static CUmemAccessDesc d = { { 1, 0 }, 1 }; A_.accessDescs = &d; A_.accessDescCount = 1)
MISTAKE(adesc0, static CUmemAccessDesc d = { { 1, 0 }, 0 }; A_.accessDescs = &d; A_.accessDescCount = 1)
MISTAKE(adesc9, static CUmemAccessDesc d = { { 1, 99 }, 3 }; A_.accessDescs = &d; A_.accessDescCount = 1)
MISTAKE(adeschost, static CUmemAccessDesc d = { { 2, 0 }, 3 }; A_.accessDescs = &d; A_.accessDescCount = 1)
MISTAKE(adesctwice, static CUmemAccessDesc d[] = { { { 1, 0 }, 3 }, { { 1, 0 }, 3 } }; A_.accessDescs = d;
        A_.accessDescCount = 2)
MISTAKE(freewild, q->p.free.dptr = 0x1234)
MISTAKE(freedev, q->p.free.dptr = dev)
MISTAKE(freenull, q->p.free.dptr = 0)
MISTAKE(freemid, q->p.free.dptr += 256)
#define D_ q->p.conditional
MISTAKE(dh0, D_.handle = 0)
MISTAKE(dtype3, D_.type = 3)
MISTAKE(dtype2, D_.type = 2)
MISTAKE(dtype1, D_.type = 1)
MISTAKE(dsize0, D_.size = 0)
MISTAKE(dsize2, D_.size = 2)
MISTAKE(dsize3, D_.size = 3)
MISTAKE(dctx0, D_.ctx = NULL)
MISTAKE(dctx1, D_.ctx = ctx1)

struct mistake {
    const char *name;
    void (*make)(struct request *);
};
#define X(name) \
    { \
#name, m_##name \
    }
static const struct mistake
    adding[] = { X(none), X(out0), X(g0), X(depnull), X(dep0), X(depother), X(deptwice), { 0 } },
    setting[] = { X(none), X(node0), X(nodetype), { 0 } },
    setting_exec[] = { X(none), X(node0), X(x0), X(nodetype), X(nodelate), X(nodeother), { 0 } },
    general[] = { X(reserved), X(reserved2), X(type99), { 0 } }, empties[] = { X(ok), { 0 } },
    kernel_mistakes[] = { X(ok),      X(func0),     X(kern),       X(kernonly), X(grid0),      X(gridz),
                          X(gridy),   X(block0),    X(block2048),  X(blockz),   X(sh49),       X(sh300),
                          X(params0), X(extraonly), X(extrasmall), X(extrabig), X(extraright), X(extraboth),
                          X(kctx0),   X(kctx1),     X(func1),      { 0 } },
    copy_mistakes[] = { X(ok),       X(src0),  X(src5),    X(dst0),     X(dst5),     X(w0),      X(h0),
                        X(d0),       X(h2),    X(d2),      X(srcpitch), X(dstpitch), X(pitches), X(far),
                        X(farx),     X(wild),  X(wilddst), X(null),     X(array0),   X(array),   X(arrayfar),
                        X(arrayodd), X(lod),   X(res0),    X(host),     X(host0),    X(hostdev), X(unipage),
                        X(devhost),  X(cctx0), X(cctx1),   X(cflags),   X(cres),     { 0 } },
    memset_mistakes[] = { X(ok),    X(e0),     X(e1),   X(e2),   X(e3),    X(e8),    X(mw0),   X(mh0),   X(mh2),
                          X(mh2p),  X(mh2odd), X(mp7),  X(mfar), X(mfar2), X(modd),  X(modd2), X(mwild), X(mnull),
                          X(mpage), X(mpin),   X(mman), X(mv),   X(mctx0), X(mctx1), { 0 } },
    host_mistakes[] = { X(ok), X(fn0), X(user0), { 0 } },
    child_mistakes[] = { X(ok), X(graph0), X(own1), X(own2), { 0 } }, event_mistakes[] = { X(ok), X(event0), { 0 } },
    operation_mistakes[] = { X(ok),     X(octx0),   X(octx1),  X(oarray0), X(ocount0), X(ocount256), X(ocount257),
                             X(oflags), X(oop0),    X(oop3),   X(oop6),    X(oop6f2),  X(oodd),      X(owild),
                             X(onull),  X(owflags), X(o64odd), X(owait),   X(opage),   X(oman),      { 0 } },
    alloc_mistakes[] = { X(ok),     X(a0),     X(ahuge),     X(atype0),     X(atype2),   X(aloc0),
                         X(aloc2),  X(aloc3),  X(adev9),     X(adevm),      X(ahandle1), X(ahandle99),
                         X(amax),   X(ausage), X(areserved), X(awin),       X(adesc),    X(adesc1),
                         X(adesc0), X(adesc9), X(adeschost), X(adesctwice), { 0 } },
    free_mistakes[] = { X(ok), X(freewild), X(freedev), X(freenull), X(freemid), { 0 } },
    conditional_mistakes[] = { X(ok),     X(dh0),    X(dtype3), X(dtype2), X(dtype1), X(dsize0),
                               X(dsize2), X(dsize3), X(dctx0),  X(dctx1),  { 0 } };

static CUgraphConditionalHandle condition(CUgraph in)
{
    CUgraphConditionalHandle h = 0;
    MUST(cuGraphConditionalHandleCreate(&h, in, ctx0, 1, 1));
    return h;
}

static CUgraphNodeParams conditional_node(CUgraph in, CUgraphConditionalNodeType type, unsigned size)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    q.conditional.handle = condition(in);
    q.conditional.type = type;
    q.conditional.size = size;
    q.conditional.ctx = ctx0;
    return q;
}

static CUdeviceptr allocated; /* by a node of g */

static CUgraph child(void)
{
    CUgraph h;
    CUgraphNode n;
    CUgraphNodeParams p = fill_node(dev + 8192, 16, 3);
    MUST(cuGraphCreate(&h, 0));
    MUST(add_typed(&n, h, NULL, 0, &p));
    return h;
}

static CUgraphNodeParams right(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return fill_node(dev, 64, 5);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return copy_node(CU_MEMORYTYPE_DEVICE, dev + 1024, CU_MEMORYTYPE_DEVICE, dev + 4096, 64);
    case CU_GRAPH_NODE_TYPE_MEMSET: return memset_node(dev + 512, 0x77, 4, 16, 1, 0);
    case CU_GRAPH_NODE_TYPE_HOST: return host_node(on_host);
    case CU_GRAPH_NODE_TYPE_GRAPH: return child_node(child());
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return event_node(type, events[0]);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return operations_node(dev + 2048, 17, 2);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return alloc_node(10000);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return (CUgraphNodeParams){ .type = type, .free = { allocated } };
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return conditional_node(g, CU_GRAPH_COND_TYPE_IF, 1);
    default: return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY };
    }
}

enum how { ADD_TYPED, ADD, SET_TYPED, SET, SET_EXEC_TYPED, SET_EXEC, HOWS };
static const char *const how_name[] = { "addt", "add", "sett", "set", "setxt", "setx" };
static const struct mistake *const around[] = { adding, adding, setting, setting, setting_exec, setting_exec };

/* The typed call given NULL where its parameters belong. */
static CUresult without_params(struct request *q, enum how how)
{
    const CUgraphNodeType t = q->p.type;
    if (how == ADD) return cuGraphAddNode(q->at, q->g, q->deps, NULL, q->count, NULL);
    if (how == SET) return cuGraphNodeSetParams(q->target, NULL);
    if (how == SET_EXEC) return cuGraphExecNodeSetParams(q->x, q->target, NULL);
    if (how == ADD_TYPED && t == CU_GRAPH_NODE_TYPE_KERNEL)
        return cuGraphAddKernelNode(q->at, q->g, q->deps, q->count, NULL);
    if (how == ADD_TYPED && t == CU_GRAPH_NODE_TYPE_MEMCPY)
        return cuGraphAddMemcpyNode(q->at, q->g, q->deps, q->count, NULL, ctx0);
    if (how == ADD_TYPED && t == CU_GRAPH_NODE_TYPE_MEMSET)
        return cuGraphAddMemsetNode(q->at, q->g, q->deps, q->count, NULL, ctx0);
    if (how == ADD_TYPED && t == CU_GRAPH_NODE_TYPE_HOST)
        return cuGraphAddHostNode(q->at, q->g, q->deps, q->count, NULL);
    if (how == ADD_TYPED && t == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        return cuGraphAddBatchMemOpNode(q->at, q->g, q->deps, q->count, NULL);
    if (how == ADD_TYPED && t == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return cuGraphAddMemAllocNode(q->at, q->g, q->deps, q->count, NULL);
    if (how == SET_TYPED && t == CU_GRAPH_NODE_TYPE_KERNEL) return cuGraphKernelNodeSetParams(q->target, NULL);
    if (how == SET_TYPED && t == CU_GRAPH_NODE_TYPE_MEMCPY) return cuGraphMemcpyNodeSetParams(q->target, NULL);
    if (how == SET_TYPED && t == CU_GRAPH_NODE_TYPE_MEMSET) return cuGraphMemsetNodeSetParams(q->target, NULL);
    if (how == SET_TYPED && t == CU_GRAPH_NODE_TYPE_HOST) return cuGraphHostNodeSetParams(q->target, NULL);
    if (how == SET_TYPED && t == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        return cuGraphBatchMemOpNodeSetParams(q->target, NULL);
    if (how == SET_EXEC_TYPED && t == CU_GRAPH_NODE_TYPE_KERNEL)
        return cuGraphExecKernelNodeSetParams(q->x, q->target, NULL);
    if (how == SET_EXEC_TYPED && t == CU_GRAPH_NODE_TYPE_MEMCPY)
        return cuGraphExecMemcpyNodeSetParams(q->x, q->target, NULL, ctx0);
    if (how == SET_EXEC_TYPED && t == CU_GRAPH_NODE_TYPE_MEMSET)
        return cuGraphExecMemsetNodeSetParams(q->x, q->target, NULL, ctx0);
    if (how == SET_EXEC_TYPED && t == CU_GRAPH_NODE_TYPE_HOST)
        return cuGraphExecHostNodeSetParams(q->x, q->target, NULL);
    if (how == SET_EXEC_TYPED && t == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        return cuGraphExecBatchMemOpNodeSetParams(q->x, q->target, NULL);
    return CUDA_SUCCESS;
}

static void ask(CUgraphNodeType type, enum how how, const struct mistake *a, const struct mistake *b)
{
    struct request q = { .g = g, .target = target, .x = exec, .p = right(type) };
    q.at = &q.out;
    q.deps = q.dep;
    a->make(&q);
    if (b) b->make(&q);
    CUresult r;
    if (q.no_params)
        r = without_params(&q, how);
    else if (how == ADD_TYPED)
        r = add_typed(q.at, q.g, q.deps, q.count, &q.p);
    else if (how == ADD)
        r = cuGraphAddNode(q.at, q.g, q.deps, NULL, q.count, &q.p);
    else if (how == SET_TYPED)
        r = set_typed(q.target, &q.p);
    else if (how == SET)
        r = cuGraphNodeSetParams(q.target, &q.p);
    else if (how == SET_EXEC_TYPED)
        r = set_exec_typed(q.x, q.target, &q.p);
    else
        r = cuGraphExecNodeSetParams(q.x, q.target, &q.p);
    CUgraphNode made = how <= ADD && !r ? q.out : NULL;
    const char *now = how <= ADD ? made ? node_text(made) : "" : how <= SET && q.target ? node_text(target) : "";
    rec(keyf("%s.%s%s%s", how_name[how], a->name, b ? "+" : "", b ? b->name : ""), "%s %s", rname(r), now);
    if (made && type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        CUresult d = cuGraphDestroyNode(made);
        if (d) rec(keyf("%s.%s.destroy", how_name[how], a->name), "%s", rname(d));
    }
    if (how > ADD && type != CU_GRAPH_NODE_TYPE_MEM_FREE && type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
        type != CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        struct request back = { .p = right(type) };
        if (how <= SET)
            set_typed(target, &back.p);
        else
            set_exec_typed(exec, target, &back.p);
    }
}

static void take_graph(CUgraphNodeType type)
{
    take_all();
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphCreate(&other_graph, 0));
    CUgraphNodeParams p;
    MUST(cuGraphAddEmptyNode(&root, g, NULL, 0));
    MUST(cuGraphAddEmptyNode(&stranger, other_graph, NULL, 0));
    if (type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
        p = alloc_node(4096);
        MUST(cuGraphAddNode(&target, g, NULL, NULL, 0, &p));
        allocated = p.alloc.dptr;
        return;
    }
    p = right(type);
    MUST(cuGraphAddNode(&target, g, NULL, NULL, 0, &p));
    MUST(cuGraphInstantiate(&exec, g, 0));
    p = right(type);
    MUST(cuGraphAddNode(&late, g, NULL, NULL, 0, &p));
}

static CUgraphNodeType asked_type;
static const struct mistake *asked_mistakes;

static void ask_pairs(void)
{
    take_graph(asked_type);
    for (enum how how = 0; how < HOWS; how++) {
        const struct mistake *all[64];
        int n = 0;
        if (asked_type == CU_GRAPH_NODE_TYPE_MEM_FREE && how > ADD) break;
        for (const struct mistake *m = asked_mistakes; m->name; m++) all[n++] = m;
        for (const struct mistake *m = around[how]; m->name; m++) {
            if (asked_type == CU_GRAPH_NODE_TYPE_EMPTY && m->make == m_nodetype) continue;
            all[n++] = m;
        }
        for (const struct mistake *m = how & 1 ? general : empties + 1; m->name; m++) all[n++] = m;
        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++) {
                if (j > i && i == 0) continue; /* the first makes none */
                if (n > 30 && j > i && i && (i * 31 + j * 17 + how) % 3) continue;
                if (next_question()) ask(asked_type, how, all[i], j > i ? all[j] : NULL);
            }
    }
}

#define PAIRS(name, type, mistakes) \
    static void g_wrong_##name(void) \
    { \
        asked_type = type; \
        asked_mistakes = mistakes; \
        survive(ask_pairs); \
    }
PAIRS(kernel, CU_GRAPH_NODE_TYPE_KERNEL, kernel_mistakes)
PAIRS(copy, CU_GRAPH_NODE_TYPE_MEMCPY, copy_mistakes)
PAIRS(memset, CU_GRAPH_NODE_TYPE_MEMSET, memset_mistakes)
PAIRS(host, CU_GRAPH_NODE_TYPE_HOST, host_mistakes)
PAIRS(child, CU_GRAPH_NODE_TYPE_GRAPH, child_mistakes)
PAIRS(empty, CU_GRAPH_NODE_TYPE_EMPTY, empties)
PAIRS(wait, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_mistakes)
PAIRS(record, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_mistakes)
PAIRS(operations, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, operation_mistakes)
PAIRS(alloc, CU_GRAPH_NODE_TYPE_MEM_ALLOC, alloc_mistakes)
PAIRS(free, CU_GRAPH_NODE_TYPE_MEM_FREE, free_mistakes)
PAIRS(conditional, CU_GRAPH_NODE_TYPE_CONDITIONAL, conditional_mistakes)

/* ---- what may change: from each way to be a node of a type to each other */

static CUgraphNodeParams variant_kernel(int i)
{
    CUgraphNodeParams p = fill_node(dev + 256 * i, 64, i);
    CUDA_KERNEL_NODE_PARAMS_v3 *k = &p.kernel;
    static CUdeviceptr where;
    static uint32_t what = 9;
    static void *poke[] = { &where, &what };
    where = dev + 512;
    switch (i) {
    case 1:
        k->gridDimX = 2;
        k->blockDimX = 32;
        break;
    case 2:
        k->func = kernels()->poke;
        k->kernelParams = poke;
        break;
    case 3: k->ctx = ctx0; break;
    case 4:
        k->func = fill1;
        k->ctx = ctx1;
        break;
    case 5:
        k->func = NULL;
        k->kern = kernel_fill;
        break;
    case 6: k->sharedMemBytes = 1024; break;
    case 7: k->blockDimX = 1024; break;
    case 8:
        k->func = NULL;
        k->kern = kernel_fill;
        k->ctx = ctx1;
        break;
    default: break;
    }
    return p;
}

static CUgraphNodeParams variant_copy(int i)
{
    const int H = 1, D = 2, A = 3, U = 4;
    CUgraphNodeParams p;
    CUDA_MEMCPY3D *c = &p.memcpy.copyParams;
    const CUdeviceptr d = dev + 2048 * i;
    switch (i) {
    case 0: return copy_node(D, dev + 64, D, d + 1024, 128);
    case 1: return copy_node(D, dev + 64, D, d + 1024, 256);
    case 2: return copy_node(H, (uint64_t)pinned, D, d, 128);
    case 3: return copy_node(D, dev, H, (uint64_t)pinned + 2048, 128);
    case 4: return copy_node(H, (uint64_t)pageable, D, d, 128);
    case 5: return copy_node(D, dev, H, (uint64_t)pageable + 2048, 128);
    case 6: return copy_node(U, dev, U, d, 128);
    case 7: return copy_node(U, (uint64_t)pinned, U, d, 128);
    case 8: return copy_node(U, managed, U, d, 128);
    case 9: return copy_node(D, managed, D, d, 128);
    case 10: return copy_node(A, (uint64_t)flat, D, d, 128);
    case 11: return copy_node(D, dev, A, (uint64_t)flat, 128);
    case 12: return copy_node(A, (uint64_t)cube, D, d, 16);
    case 13:
        p = copy_node(D, dev, D, d, 64);
        c->Height = 4;
        c->srcPitch = c->dstPitch = 128;
        return p;
    case 14:
        p = copy_node(D, dev, D, d, 64);
        c->Height = 2;
        c->Depth = 2;
        c->srcPitch = c->dstPitch = 128;
        c->srcHeight = c->dstHeight = 3;
        return p;
    case 15: return copy_node(H, (uint64_t)pageable, H, (uint64_t)pageable + 4096, 64);
    case 16: return copy_node(H, (uint64_t)pinned, H, (uint64_t)pinned + 4096, 64);
    case 17: return copy_node(D, pitched, D, d, 128);
    case 18:
        p = copy_node(D, dev + 64, D, d + 1024, 128);
        p.memcpy.copyCtx = ctx1;
        return p;
    case 19: return copy_node(D, dev + 64, D, managed + 1024, 128);
    case 20:
        p = copy_node(H, (uint64_t)pinned, D, d, 64);
        c->Height = 4;
        c->srcPitch = c->dstPitch = 128;
        return p;
    case 21: return copy_node(A, (uint64_t)flat, A, (uint64_t)flat, 64);
    default: return copy_node(D, dev + 64, D, d + 1024, 0);
    }
}

static CUgraphNodeParams variant_memset(int i)
{
    const CUdeviceptr d = dev + 2048 * i;
    CUgraphNodeParams p;
    switch (i) {
    case 0: return memset_node(d, 1, 4, 16, 1, 0);
    case 1: return memset_node(d, 2, 4, 32, 1, 0);
    case 2: return memset_node(d, 3, 1, 16, 1, 0);
    case 3: return memset_node(d, 4, 2, 16, 1, 0);
    case 4: return memset_node(d, 5, 4, 16, 2, 128);
    case 5: return memset_node(d, 6, 4, 16, 3, 256);
    case 6: return memset_node(d, 7, 1, 64, 2, 128);
    case 7: return memset_node((CUdeviceptr)pinned + 1024, 8, 4, 16, 1, 0);
    case 8: return memset_node(managed + 1024, 9, 4, 16, 1, 0);
    case 9:
        p = memset_node(d, 10, 4, 16, 1, 0);
        p.memset.ctx = ctx1;
        return p;
    case 10: return memset_node(pitched, 11, 1, 200, 20, pitch);
    case 11: return memset_node(d, 1, 1, 1, 1, 0);
    case 12: return memset_node(d, 1, 4, 16, 2, 64);
    default: return memset_node(d, 1, 4, 16, 1, 4096);
    }
}

static CUgraph shapes[6];

static void take_shapes(void)
{
    for (int i = 0; i < 6; i++) {
        CUgraphNode n, m;
        MUST(cuGraphCreate(&shapes[i], 0));
        CUgraphNodeParams p = fill_node(dev + 512 * i, 8, i), q = memset_node(dev + 512 * i + 256, i, 4, 4, 1, 0);
        if (i != 1) MUST(add_typed(&n, shapes[i], NULL, 0, &p));
        if (i == 1) MUST(add_typed(&n, shapes[i], NULL, 0, &q));
        if (i == 2) MUST(add_typed(&m, shapes[i], &n, 1, &q));
        if (i == 3) MUST(add_typed(&m, shapes[i], NULL, 0, &q));
        if (i == 4) MUST(add_typed(&m, shapes[i], &n, 1, &p));
    }
}

static CUgraphNodeParams variant_other(int i)
{
    switch (i) {
    case 0: return host_node(on_host);
    case 1: return host_node(on_host2);
    case 2: return event_node(CU_GRAPH_NODE_TYPE_WAIT_EVENT, events[0]);
    case 3: return event_node(CU_GRAPH_NODE_TYPE_WAIT_EVENT, events[1]);
    case 4: return event_node(CU_GRAPH_NODE_TYPE_EVENT_RECORD, events[0]);
    case 5: return event_node(CU_GRAPH_NODE_TYPE_EVENT_RECORD, events[1]);
    case 6: return operations_node(dev + 1024, 5, 1);
    case 7: return operations_node(dev + 2048, 6, 2);
    case 8: return operations_node(managed, 7, 1);
    case 9: {
        CUgraphNodeParams p = operations_node(dev + 1024, 5, 1);
        p.memOp.paramArray[0].operation = 5;
        return p;
    }
    case 10: {
        CUgraphNodeParams p = operations_node(dev + 1024, 5, 1);
        p.memOp.paramArray[0].operation = 6;
        p.memOp.paramArray[0].memoryBarrier.flags = 0;
        return p;
    }
    case 11: return (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY };
    case 12: return child_node(shapes[0]);
    case 13: return child_node(shapes[1]);
    case 14: return child_node(shapes[2]);
    case 15: return child_node(shapes[3]);
    case 16: return child_node(shapes[4]);
    case 17: return child_node(shapes[5]);
    case 18: return alloc_node(4096);
    case 19: return alloc_node(8192);
    case 20: return alloc_node(4 * MiB);
    case 21: return fill_node(dev + 128, 8, 1);
    case 22: return memset_node(dev, 1, 4, 16, 1, 0);
    case 23: {
        CUgraphNodeParams p = operations_node(dev + 1024, 5, 1);
        p.memOp.ctx = ctx1;
        return p;
    }
    default: return copy_node(2, dev, 2, dev + 512, 16);
    }
}

static CUgraphNodeParams (*variant)(int);
static int variants;

static CUgraph graph_of(CUgraphNodeParams *p, CUgraphNode *n, CUresult *r)
{
    CUgraph h;
    CUgraphNode first;
    MUST(cuGraphCreate(&h, 0));
    MUST(cuGraphAddEmptyNode(&first, h, NULL, 0));
    *r = p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
             ? cuGraphAddMemAllocNode(n, h, &first, 1, (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc)
             : cuGraphAddNode(n, h, &first, NULL, 1, p);
    return h;
}

static void ask_change(int i, int j)
{
    CUgraphNodeParams p = variant(i), q = variant(j);
    CUgraphNode n, m, nodes[2];
    CUgraphExec x;
    CUresult r, r2;
    CUgraph a = graph_of(&p, &n, &r), b = graph_of(&q, &m, &r2);
    if (i == j) rec(keyf("%d", i), "%s %s", rname(r), r ? "" : node_text(n));
    if (r || r2) return;
    r = cuGraphInstantiate(&x, a, 0);
    if (i == j || r) rec(keyf("%d.inst", i), "%s", rname(r));
    if (r) return;
    q = variant(j);
    r = cuGraphExecNodeSetParams(x, n, &q);
    reset();
    r2 = cuGraphLaunch(x, s0);
    CUresult r3 = cuStreamSynchronize(s0);
    rec(keyf("%d.%d.set", i, j), "%s launch %s %s %s", rname(r), rname(r2), rname(r3), contents());
    MUST(cuGraphExecDestroy(x));
    r = cuGraphInstantiate(&x, a, 0);
    if (r) {
        rec(keyf("%d.%d.again", i, j), "%s", rname(r));
        return;
    }
    CUgraphExecUpdateResultInfo info = { 99, 0, 0 };
    r = cuGraphExecUpdate(x, b, &info);
    reset();
    r2 = cuGraphLaunch(x, s0);
    r3 = cuStreamSynchronize(s0);
    const char *where = info.errorNode == m ? "there" : info.errorNode == n ? "here" : info.errorNode ? "?" : "-";
    rec(keyf("%d.%d.update", i, j), "%s %d %s %d launch %s %s %s calls%d", rname(r), info.result, where,
        !!info.errorFromNode, rname(r2), rname(r3), contents(), calls);
    MUST(cuGraphExecDestroy(x));
    if (p.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) cuMemFree(p.alloc.dptr);
    rec(keyf("%d.%d.end", i, j), "%s %s", rname(cuGraphDestroy(a)), rname(cuGraphDestroy(b)));
}

static void ask_changes(void)
{
    take_all();
    take_shapes();
    for (int i = 0; i < variants; i++)
        for (int j = 0; j < variants; j++) {
            if (next_question()) ask_change(i, j);
        }
}

#define CHANGES(name, count) \
    static void g_change_##name(void) \
    { \
        variant = variant_##name; \
        variants = count; \
        survive(ask_changes); \
    }
CHANGES(kernel, 9)
CHANGES(copy, 23)
CHANGES(memset, 14)
CHANGES(other, 25)

#define G(name) \
    { \
#name, g_##name, 1 \
    }
const struct group groups[] = {
    G(wrong_kernel),  G(wrong_copy),   G(wrong_memset),     G(wrong_host),   G(wrong_child), G(wrong_empty),
    G(wrong_wait),    G(wrong_record), G(wrong_operations), G(wrong_alloc),  G(wrong_free),  G(wrong_conditional),
    G(change_kernel), G(change_copy),  G(change_memset),    G(change_other), { 0 }
};
