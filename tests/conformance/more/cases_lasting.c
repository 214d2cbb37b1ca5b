/* What goes while somebody refers to it, or is seen from several contexts: streams and events that are gone, attributes of
 * kernels, updates of graphs that fail, sparse arrays. */
#include "held.h"

/* ---- streams and events that are gone */

enum { EVENTS = 5 };
static CUevent events[EVENTS];
static CUgraph graph;
static bool recorded[EVENTS];

static void gone_begin(void)
{
    held_begin();
    for (int k = 0; k < EVENTS; k++) MUST(cuEventCreate(&events[k], k & 1 ? 0 : CU_EVENT_DISABLE_TIMING));
}

static const char *capturing(void)
{
    static char out[32];
    for (int k = 0; k < STREAMS; k++) {
        CUstreamCaptureStatus status;
        CUresult r = cuStreamIsCapturing(streams[k], &status);
        out[k] = r ? 'x' : "-ci"[status];
    }
    out[STREAMS] = 0;
    return out;
}

/* Not ready at once may only mean: not yet. What waits for a stream that is held is never ready. */
static CUresult settled(CUevent e, int *patience_ms)
{
    CUresult r;
    while ((r = cuEventQuery(e)) == CUDA_ERROR_NOT_READY && (*patience_ms)-- > 0) usleep(1000);
    return r;
}

static void on_host(void *arg) { ++*(volatile uint32_t *)arg; }

static void gone_step(void)
{
    const int q = draw(STREAMS), e = draw(EVENTS), f = draw(EVENTS);
    float ms;
    CUresult r;
    switch (draw(15)) {
    case 0:
    case 1:
    case 2:
        r = cuEventRecord(events[e], streams[q]);
        recorded[e] = !r;
        SAY("record %d %d = %s %s", e, q, rname(r), capturing());
        break;
    case 3:
    case 4:
        r = cuStreamWaitEvent(streams[q], events[e], 0);
        SAY("wait %d %d = %s %s", q, e, rname(r), capturing());
        break;
    case 5:
        /* held work is left in it */
        if (q < HELD && held[q]) let_go(q);
        r = cuStreamDestroy(streams[q]);
        SAY("destroy %d = %s", q, rname(r));
        if (r) break;
        MUST(cuStreamCreate(&streams[q], q < 3));
        rec(keyf("%d.now", step), "%s", capturing());
        break;
    case 6:
        if (q >= HELD || !held[q]) return;
        /* while it is held: its word is set later */
        r = cuStreamDestroy(streams[q]);
        for (int k = 0, patience_ms = 2000; k < EVENTS; k++)
            rec(keyf("%d.%d", step, k), "%s", rname(settled(events[k], &patience_ms)));
        let_go(q);
        MUST(cuStreamCreate(&streams[q], q < 3));
        SAY("destroy held %d = %s %s", q, rname(r), capturing());
        usleep(20000);
        break;
    case 7:
        r = cuEventDestroy(events[e]);
        SAY("destroy event %d = %s %s", e, rname(r), capturing());
        MUST(cuEventCreate(&events[e], e & 1 ? 0 : CU_EVENT_DISABLE_TIMING));
        break;
    case 8:
        if (held[0] || held[1]) return;
        r = cuEventElapsedTime(&ms, events[e], events[f]);
        for (int ms_left = 20000; r == CUDA_ERROR_NOT_READY && ms_left--;)
            usleep(1000), r = cuEventElapsedTime(&ms, events[e], events[f]);
        SAY("elapsed %d %d = %s", e, f, rname(r));
        break;
    case 9:
        if (held[0] || held[1]) return;
        r = cuEventSynchronize(events[e]);
        SAY("wait for event %d = %s", e, rname(r));
        break;
    case 10:
        if (q >= HELD) return;
        if (strcspn(capturing(), "ci") < STREAMS) return;
        hold(q);
        SAY("hold %d", q);
        break;
    case 11:
        if (q >= HELD || !held[q]) return;
        let_go(q);
        r = cuStreamSynchronize(streams[q]);
        SAY("let go %d = %s", q, rname(r));
        break;
    case 12:
        if (held[0] || held[1]) return;
        r = cuStreamBeginCapture(streams[q], (CUstreamCaptureMode)draw(3));
        SAY("begin %d = %s %s", q, rname(r), capturing());
        break;
    case 13:
        graph = NULL;
        r = cuStreamEndCapture(streams[q], &graph);
        size_t n = 0;
        if (graph) MUST(cuGraphGetNodes(graph, NULL, &n));
        SAY("end %d = %s %zu %s", q, rname(r), n, capturing());
        break;
    default:
        r = draw(2) ? cuMemsetD8Async(everything, 1, 64, streams[q])
                    : cuLaunchHostFunc(streams[q], on_host, (void *)(words + 9));
        SAY("work %d = %s %s", q, rname(r), capturing());
    }
}
WALK(gone, 0, 300, gone_begin, gone_step)
WALK(gone, 1, 300, gone_begin, gone_step)
WALK(gone, 2, 300, gone_begin, gone_step)
WALK(gone, 3, 300, gone_begin, gone_step)
WALK(gone, 7700, 300, gone_begin, gone_step)
WALK(gone, 7701, 300, gone_begin, gone_step)
WALK(gone, 7702, 300, gone_begin, gone_step)
WALK(gone, 7703, 300, gone_begin, gone_step)

/* ---- attributes of kernels */

static const char kernels_of_library[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                                         ".visible .entry one(.param .u64 p) { ret; }\n"
                                         ".visible .entry two() { .shared .align 4 .b8 room[1024]; .reg .b32 %r; ld.shared.u32 "
                                         "%r, [room]; st.shared.u32 [room+4], %r; ret; }\n";
enum { CONTEXTS = 3, KERNELS = 2 };
static CUcontext contexts[CONTEXTS];
static CUkernel library_kernels[KERNELS];
static int current;

static void kernels_begin(void)
{
    CUlibrary l;
    setup();
    contexts[0] = ctx0;
    for (int k = 1; k < CONTEXTS; k++) MUST(cuCtxCreate(&contexts[k], NULL, 0, 0));
    MUST(cuCtxSetCurrent(ctx0));
    MUST(cuLibraryLoadData(&l, kernels_of_library, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryGetKernel(&library_kernels[0], l, "one"));
    MUST(cuLibraryGetKernel(&library_kernels[1], l, "two"));
}

static const char *values(int k, int a)
{
    static char out[200];
    size_t n = 0;
    int v = -1;
    CUresult r = cuKernelGetAttribute(&v, (CUfunction_attribute)a, library_kernels[k], 0);
    n += (size_t)sprintf(out + n, "kernel %s %d", rname(r), r ? 0 : v);
    for (int c = 0; c < CONTEXTS; c++) {
        CUfunction f;
        MUST(cuCtxSetCurrent(contexts[c]));
        if (!(r = cuKernelGetFunction(&f, library_kernels[k]))) r = cuFuncGetAttribute(&v, (CUfunction_attribute)a, f);
        n += (size_t)sprintf(out + n, ", %s %d", rname(r), r ? 0 : v);
    }
    MUST(cuCtxSetCurrent(contexts[current]));
    return out;
}

static void kernels_step(void)
{
    static const int settable[] = { 8, 8, 8, 9, 9, 11, 12, 13, 14, 15, 0, 1 };
    static const int worth[] = { 0, 1, 2, 8, 50, 100, 1024, 49152, 60000, 100000, 232448, 232449, -1 };
    const int a = settable[draw(12)], v = worth[draw(13)], k = draw(KERNELS), c = draw(CONTEXTS);
    CUfunction f;
    CUresult r;
    switch (draw(9)) {
    case 0:
    case 1:
        current = c;
        r = cuCtxSetCurrent(contexts[c]);
        SAY("current %d = %s", c, rname(r));
        break;
    case 2:
    case 3:
    case 4:
        r = cuKernelSetAttribute((CUfunction_attribute)a, v, library_kernels[k], 0);
        SAY("kernel %d %d %d = %s; %s", k, a, v, rname(r), values(k, a));
        break;
    case 5:
    case 6:
        if (!(r = cuKernelGetFunction(&f, library_kernels[k]))) r = cuFuncSetAttribute(f, (CUfunction_attribute)a, v);
        SAY("function %d %d %d = %s; %s", k, a, v, rname(r), values(k, a));
        break;
    case 7:
        r = cuFuncSetAttribute((CUfunction)library_kernels[k], (CUfunction_attribute)a, v);
        SAY("as function %d %d %d = %s; %s", k, a, v, rname(r), values(k, a));
        break;
    default:
        if (!c || c == current) return;
        MUST(cuCtxDestroy(contexts[c]));
        MUST(cuCtxCreate(&contexts[c], NULL, 0, 0));
        MUST(cuCtxSetCurrent(contexts[current]));
        SAY("another %d; %s; %s", c, values(k, 8), values(k, 9));
    }
}
WALK(kernels, 0, 120, kernels_begin, kernels_step)
WALK(kernels, 1, 120, kernels_begin, kernels_step)
WALK(kernels, 2, 120, kernels_begin, kernels_step)
WALK(kernels, 7700, 120, kernels_begin, kernels_step)

/* ---- updates that fail in the middle */

static CUdeviceptr place;
static CUfunction fill_function;

static CUgraphNodeParams fill_node(int slot, unsigned value, size_t width, size_t height)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
    p.memset.dst = place + 4096 * (CUdeviceptr)slot;
    p.memset.pitch = 64;
    p.memset.value = value;
    p.memset.elementSize = 4;
    p.memset.width = width;
    p.memset.height = height;
    p.memset.ctx = ctx0;
    return p;
}

static CUgraphNodeParams alloc_node(size_t n)
{
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
    p.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.alloc.poolProps.location = loc(CU_MEM_LOCATION_TYPE_DEVICE, 0);
    p.alloc.bytesize = n;
    return p;
}

static CUgraphNodeParams kernel_node(int slot, unsigned value)
{
    static uint32_t v[64], one = 1, n = 4;
    static CUdeviceptr at[64];
    static void *args[64][4];
    static int used_;
    const int k = used_++;
    v[k] = value, at[k] = place + 4096 * (CUdeviceptr)slot;
    args[k][0] = &at[k], args[k][1] = &n, args[k][2] = &one, args[k][3] = &v[k];
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
    p.kernel.func = fill_function;
    p.kernel.gridDimX = p.kernel.gridDimY = p.kernel.gridDimZ = 1;
    p.kernel.blockDimX = 32, p.kernel.blockDimY = p.kernel.blockDimZ = 1;
    p.kernel.kernelParams = args[k];
    return p;
}

/* Two or three nodes without dependencies, in this order. */
static CUgraph of_nodes(int n, const CUgraphNodeParams *p)
{
    CUgraph g;
    CUgraphNode node;
    MUST(cuGraphCreate(&g, 0));
    for (int k = 0; k < n; k++) MUST(cuGraphAddNode(&node, g, NULL, NULL, 0, (CUgraphNodeParams *)&p[k]));
    return g;
}

static void update(const char *key, CUgraphExec x, CUgraph g)
{
    CUgraphExecUpdateResultInfo i = { 0 };
    uint32_t v[3];
    CUresult r = cuGraphExecUpdate(x, g, &i), made;
    MUST(cuMemsetD8(place, 0, 3 * 4096));
    made = cuGraphLaunch(x, NULL);
    if (!made) made = cuCtxSynchronize();
    for (int k = 0; k < 3; k++) MUST(cuMemcpyDtoH(&v[k], place + 4096 * (CUdeviceptr)k, 4));
    rec(key, "%s %d, launch %s: %u %u %u", rname(r), (int)i.result, rname(made), v[0], v[1], v[2]);
}

static void g_update(void)
{
    CUgraphExec x, y;
    setup();
    fill_function = kernels()->fill;
    MUST(cuMemAlloc(&place, 3 * 4096));
#define MAKE(name, a, b, c) \
    CUgraph name = of_nodes(3, (CUgraphNodeParams[]){ a, b, c })
    MAKE(first, fill_node(0, 1, 8, 1), fill_node(1, 1, 8, 2), fill_node(2, 1, 8, 1));
    MAKE(wider, fill_node(0, 2, 8, 1), fill_node(1, 2, 7, 2), fill_node(2, 2, 8, 1));
    MAKE(typed, fill_node(0, 2, 8, 1), kernel_node(1, 2), fill_node(2, 2, 8, 1));
    MAKE(last, fill_node(0, 2, 8, 1), fill_node(1, 2, 8, 2), kernel_node(2, 2));
    MUST(cuGraphInstantiate(&x, first, 0));
    update("none", x, first);
    update("parameters", x, wider);
    update("after parameters", x, first);
    update("type", x, typed);
    update("last type", x, last);
    MAKE(second, kernel_node(0, 3), fill_node(1, 3, 8, 2), kernel_node(2, 3));
    MAKE(second_wider, kernel_node(0, 4), fill_node(1, 4, 7, 2), kernel_node(2, 4));
    MUST(cuGraphInstantiate(&x, second, 0));
    update("kernels", x, second);
    update("kernels parameters", x, second_wider);
    MAKE(before, fill_node(0, 5, 8, 1), alloc_node(4096), fill_node(2, 5, 8, 1));
    MAKE(taken, fill_node(0, 6, 8, 1), alloc_node(4096), fill_node(2, 6, 8, 1));
    MUST(cuGraphInstantiate(&x, before, 0));
    MUST(cuGraphInstantiate(&y, taken, 0));
    update("allocates itself", y, taken);
    CUdeviceptr p;
    (void)p;
    MUST(cuGraphExecDestroy(x));
    MUST(cuGraphInstantiateWithFlags(&x, before, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    update("taken", x, taken);
    update("after taken", x, before);
    MUST(cuGraphExecDestroy(y));
    update("not taken any more", x, taken);
    MAKE(larger, fill_node(0, 7, 8, 1), alloc_node(8 << 20), fill_node(2, 7, 8, 1));
    update("larger", x, larger);
    MAKE(wider_alloc, fill_node(0, 8, 8, 1), alloc_node(4096), fill_node(2, 8, 8, 3));
    update("last parameters", x, wider_alloc);
}

/* The children's. */
static void g_update_child(void)
{
    CUgraphExec x;
    CUgraph g;
    CUgraphNode node, child;
    setup();
    fill_function = kernels()->fill;
    MUST(cuMemAlloc(&place, 3 * 4096));
    MAKE(first, fill_node(0, 1, 8, 1), fill_node(1, 1, 8, 2), fill_node(2, 1, 8, 1));
    MAKE(wider, fill_node(0, 2, 8, 1), fill_node(1, 2, 7, 2), fill_node(2, 2, 8, 1));
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddChildGraphNode(&child, g, NULL, 0, first));
    (void)node;
    MUST(cuGraphInstantiate(&x, g, 0));
    K("child.set", cuGraphExecChildGraphNodeSetParams(x, child, wider));
    update("child", x, g);
    K("child.set again", cuGraphExecChildGraphNodeSetParams(x, child, wider));
    uint32_t v[3];
    MUST(cuMemsetD8(place, 0, 3 * 4096));
    K("child.launch", cuGraphLaunch(x, NULL));
    MUST(cuCtxSynchronize());
    for (int k = 0; k < 3; k++) MUST(cuMemcpyDtoH(&v[k], place + 4096 * (CUdeviceptr)k, 4));
    rec("child.values", "%u %u %u", v[0], v[1], v[2]);
}

/* ---- sparse arrays of other contexts */

static CUarray arrays[2]; /* of either context */
static CUcontext other_context;
static CUstream of[2];
static CUmemGenericAllocationHandle tiles;
static unsigned char *host;
static CUdeviceptr linear[2];

static void sparse_begin(void)
{
    setup();
    CUDA_ARRAY3D_DESCRIPTOR x = { 256, 256, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_SPARSE };
    CUmemAllocationProp p = prop_dev(0);
    p.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    MUST(cuMemCreate(&tiles, GRAN, &p, 0));
    MUST(cuCtxCreate(&other_context, NULL, 0, 0));
    for (int k = 0; k < 2; k++) {
        MUST(cuCtxSetCurrent(k ? other_context : ctx0));
        MUST(cuArray3DCreate(&arrays[k], &x));
        MUST(cuStreamCreate(&of[k], CU_STREAM_NON_BLOCKING));
        MUST(cuMemAlloc(&linear[k], 65536));
        MUST(cuMemsetD8(linear[k], 200 + k, 65536));
    }
    MUST(cuMemAllocHost((void **)&host, 2 * 65536));
    MUST(cuCtxSetCurrent(ctx0));
}

static unsigned seen(int k, int line)
{
    unsigned char byte = 0;
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = arrays[k], .srcY = line,
                        .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = &byte, .WidthInBytes = 1, .Height = 1 };
    MUST(cuCtxSetCurrent(k ? other_context : ctx0));
    CUresult r = cuMemcpy2D(&c);
    return r ? 1000 + r : byte;
}

static void sparse_step(void)
{
    const int a = draw(2), q = draw(4), now = draw(3);
    const CUstream s = q < 2 ? of[q] : q == 2 ? NULL : CU_STREAM_PER_THREAD;
    const char *const contexts_[] = { "first", "second", "none" };
    CUarrayMapInfo m = { .resourceType = CU_RESOURCE_TYPE_ARRAY, .resource.array = arrays[a],
                         .subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL,
                         .subresource.sparseLevel = { 0, 0, 0, 0, 0, 256, 256, 1 },
                         .memOperationType = draw(4) ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP,
                         .memHandleType = CU_MEM_HANDLE_TYPE_GENERIC, .memHandle.memHandle = tiles,
                         .offset = 65536ull * a, .deviceBitMask = 1 };
    CUDA_MEMCPY2D c = { .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = arrays[a], .srcPitch = 256, .WidthInBytes = 256, .Height = 256 };
    const int value = 1 + step % 100;
    memset(host, value, 65536);
    MUST(cuCtxSetCurrent(now == 0 ? ctx0 : now == 1 ? other_context : NULL));
    CUresult r;
    const char *what;
    switch (draw(6)) {
    case 0: r = cuMemMapArrayAsync(&m, 1, s), what = m.memOperationType == CU_MEM_OPERATION_TYPE_MAP ? "map" : "unmap"; break;
    case 1:
    case 2:
        c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = host;
        r = cuMemcpy2DAsync(&c, s), what = "up";
        break;
    case 3:
        c.srcMemoryType = CU_MEMORYTYPE_DEVICE, c.srcDevice = linear[draw(2)];
        r = cuMemcpy2DAsync(&c, s), what = "into";
        break;
    case 4:
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = arrays[a];
        c.dstMemoryType = CU_MEMORYTYPE_HOST, c.dstArray = NULL, c.dstHost = host + 65536, c.dstPitch = 256;
        r = cuMemcpy2DAsync(&c, s), what = "down";
        break;
    default:
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = arrays[1 - a];
        r = cuMemcpy2DAsync(&c, s), what = "across";
    }
    for (int k = 0; k < 2; k++) {
        MUST(cuCtxSetCurrent(k ? other_context : ctx0));
        CUresult end = cuCtxSynchronize();
        if (end) {
            SAY("%s %d s%d in %s = %s, then %s", what, a, q, contexts_[now], rname(r), rname(end));
            exit(STICKY);
        }
    }
    SAY("%s %d s%d in %s = %s; %u %u", what, a, q, contexts_[now], rname(r), seen(0, 3), seen(1, 3));
}
WALK(sparse, 0, 120, sparse_begin, sparse_step)
WALK(sparse, 1, 120, sparse_begin, sparse_step)

const struct group groups[] = { WALKED(gone, 0),    WALKED(gone, 1),    WALKED(gone, 2),    WALKED(gone, 3),
                                WALKED(gone, 7700), WALKED(gone, 7701), WALKED(gone, 7702), WALKED(gone, 7703),
                                WALKED(kernels, 7700),
                                WALKED(kernels, 0), WALKED(kernels, 1), WALKED(kernels, 2), WALKED(sparse, 0),
                                WALKED(sparse, 1),  { "update", g_update, 1 }, { "update_child", g_update_child, 1 },
                                { 0 } };
