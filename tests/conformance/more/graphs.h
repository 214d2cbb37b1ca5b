/* What the questions about graphs share: memory of all kinds, kernels, nodes and their parameters as text, and
 * questions that survive a crash of the one before. */
#ifndef GRAPHS_H
#define GRAPHS_H
#include "oracle.h"
#include <stdbool.h>

enum { SIZE = 65536 };

static CUdeviceptr dev, managed, pitched;
static size_t pitch;
static char *pinned, *pageable;
static CUarray flat, cube; /* 64 x 32 words; 16 x 8 x 4 bytes */
static CUcontext ctx1;
static CUstream s0, s1, s2;
static CUevent events[4];
static CUlibrary library;
static CUkernel kernel_fill;
static CUfunction fill1; /* of ctx1 */
static uint64_t st;

static unsigned rnd(unsigned n)
{
    st = st * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(st >> 33) % n;
}

static const char *text(const char *format, ...)
{
    static char ring[32][400];
    static unsigned newest;
    char *t = ring[newest++ % 32];
    va_list ap;
    va_start(ap, format);
    vsnprintf(t, sizeof ring[0], format, ap);
    va_end(ap);
    return t;
}

static void seed(unsigned n)
{
    uint64_t z = n * 0x9E3779B97F4A7C15ull + 3;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    st = z ^ z >> 31;
}

enum { AREAS = 7, FLAT = 256 * 32, CUBE = 512 };

static char *backing[AREAS];
static size_t backing_size[AREAS];

static void move_flat(bool out, char *p)
{
    CUDA_MEMCPY2D c = { .srcMemoryType = out ? 3 : 1,
                        .srcArray = flat,
                        .dstMemoryType = out ? 1 : 3,
                        .dstArray = flat,
                        .srcHost = p,
                        .dstHost = p,
                        .WidthInBytes = 256,
                        .Height = 32 };
    MUST(cuMemcpy2D(&c));
}

static void move_cube(bool out, char *p)
{
    CUDA_MEMCPY3D c = { .srcMemoryType = out ? 3 : 1,
                        .srcArray = cube,
                        .dstMemoryType = out ? 1 : 3,
                        .dstArray = cube,
                        .srcHost = p,
                        .dstHost = p,
                        .WidthInBytes = 16,
                        .Height = 8,
                        .Depth = 4 };
    MUST(cuMemcpy3D(&c));
}

/* All memory that nodes may write, as it was at the beginning. */
static void reset(void)
{
    memcpy(pinned, backing[3], SIZE);
    memcpy(pageable, backing[4], SIZE);
    MUST(cuMemcpyHtoD(dev, backing[0], SIZE));
    MUST(cuMemcpyHtoD(managed, backing[1], SIZE));
    MUST(cuMemcpyHtoD(pitched, backing[2], pitch * 20));
    move_flat(false, backing[5]);
    move_cube(false, backing[6]);
}

static void take_memory(void)
{
    MUST(cuMemAlloc(&dev, SIZE));
    MUST(cuMemAllocManaged(&managed, SIZE, 1));
    MUST(cuMemAllocPitch(&pitched, &pitch, 200, 20, 4));
    MUST(cuMemAllocHost((void **)&pinned, SIZE));
    pageable = malloc(SIZE);
    CUDA_ARRAY_DESCRIPTOR f = { 64, 32, CU_AD_FORMAT_UNSIGNED_INT32, 1 };
    CUDA_ARRAY3D_DESCRIPTOR c = { 16, 8, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0 };
    MUST(cuArrayCreate(&flat, &f));
    MUST(cuArray3DCreate(&cube, &c));
    const size_t sizes[AREAS] = { SIZE, SIZE, pitch * 20, SIZE, SIZE, FLAT, CUBE };
    for (int k = 0; k < AREAS; k++) {
        backing_size[k] = sizes[k];
        backing[k] = malloc(sizes[k]);
        for (size_t i = 0; i < sizes[k]; i++) backing[k][i] = (char)(i * 7 + i / 251 + k * 29);
    }
    reset();
}

static void take_all(void)
{
    CUmodule m;
    setup();
    kernels();
    take_memory();
    MUST(cuStreamCreate(&s0, 1));
    MUST(cuStreamCreate(&s1, 1));
    MUST(cuStreamCreate(&s2, 0));
    for (int i = 0; i < 4; i++) MUST(cuEventCreate(&events[i], i & 1 ? 0 : 2));
    MUST(cuLibraryLoadData(&library, kernels_ptx, 0, 0, 0, 0, 0, 0));
    MUST(cuLibraryGetKernel(&kernel_fill, library, "fill"));
    MUST(cuCtxCreate(&ctx1, 0, 0, dev0));
    MUST(cuModuleLoadData(&m, kernels_ptx));
    MUST(cuModuleGetFunction(&fill1, m, "fill"));
    MUST(cuCtxSetCurrent(ctx0));
}

static uint32_t crc(const void *p, size_t n)
{
    uint32_t c = ~0u;
    const unsigned char *b = p;
    while (n--) {
        c ^= *b++;
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
    }
    return ~c;
}

/* What differs from the beginning. */
static const char *contents(void)
{
    static char copy[SIZE];
    char all[200] = "";
    int n = 0;
    for (int k = 0; k < AREAS; k++) {
        if (k < 3) MUST(cuMemcpyDtoH(copy, k == 0 ? dev : k == 1 ? managed : pitched, backing_size[k]));
        if (k == 3) memcpy(copy, pinned, SIZE);
        if (k == 4) memcpy(copy, pageable, SIZE);
        if (k == 5) move_flat(true, copy);
        if (k == 6) move_cube(true, copy);
        if (memcmp(copy, backing[k], backing_size[k]))
            n += sprintf(all + n, "%c%08x ", "dmphgac"[k], crc(copy, backing_size[k]));
    }
    return text("%s", all);
}

/* ---- as text */

static const char *place(uint64_t p)
{
    if (!p) return "0";
    if (p - dev < SIZE) return text("d+%d", (int)(p - dev));
    if (p - managed < SIZE) return text("m+%d", (int)(p - managed));
    if (p - pitched < pitch * 20) return text("p+%d", (int)(p - pitched));
    if (p - (uint64_t)pinned < SIZE) return text("h+%d", (int)(p - (uint64_t)pinned));
    if (p - (uint64_t)pageable < SIZE) return text("g+%d", (int)(p - (uint64_t)pageable));
    return p < 0x100000 ? text("%x", (int)p) : "?";
}

static const char *array_name(CUarray a) { return a == flat ? "flat" : a == cube ? "cube" : a ? "?" : "0"; }
static const char *context_name(CUcontext c) { return c == ctx0 ? "c0" : c == ctx1 ? "c1" : c ? "c?" : "c-"; }

static const char *event_name(CUevent e)
{
    for (int i = 0; i < 4; i++)
        if (events[i] == e) return text("e%d", i);
    return e ? "e?" : "e-";
}

static const char *copy_text(const CUDA_MEMCPY3D *c)
{
    char t[250];
    snprintf(t, sizeof t, "%d.%s.%s.%s.%zu,%zu,%zu/%zu,%zu>%d.%s.%s.%s.%zu,%zu,%zu/%zu,%zu %zux%zux%zu L%zu,%zu r%d%d",
             c->srcMemoryType, place((uint64_t)c->srcHost), place(c->srcDevice), array_name(c->srcArray),
             c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch, c->srcHeight, c->dstMemoryType, place((uint64_t)c->dstHost),
             place(c->dstDevice), array_name(c->dstArray), c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch, c->dstHeight,
             c->WidthInBytes, c->Height, c->Depth, c->srcLOD, c->dstLOD, !!c->reserved0, !!c->reserved1);
    return text("%s", t);
}

static const char *kernel_text(const CUDA_KERNEL_NODE_PARAMS *k)
{
    CUfunction f = k->func;
    const char *name = f == kernels()->fill   ? "fill"
                       : f == kernels()->poke ? "poke"
                       : f == kernels()->sum  ? "sum"
                       : f == fill1           ? "fill1"
                       : f                    ? "f?"
                                              : "f0";
    char values[60] = "none";
    if (k->kernelParams && f && f == kernels()->fill)
        sprintf(values, "%s,%u,%u,%u", place(*(uint64_t *)k->kernelParams[0]), *(uint32_t *)k->kernelParams[1],
                *(uint32_t *)k->kernelParams[2], *(uint32_t *)k->kernelParams[3]);
    else if (k->kernelParams)
        strcpy(values, "some");
    return text("%s k%s g%u,%u,%u b%u,%u,%u s%u %s x%d %s", name,
                k->kern == kernel_fill ? "fill"
                : k->kern              ? "?"
                                       : "0",
                k->gridDimX, k->gridDimY, k->gridDimZ, k->blockDimX, k->blockDimY, k->blockDimZ, k->sharedMemBytes,
                values, !!k->extra, context_name(k->ctx));
}

static const char *operations_text(const CUDA_BATCH_MEM_OP_NODE_PARAMS *b)
{
    char t[240];
    int n = sprintf(t, "%s n%u f%u", context_name(b->ctx), b->count, b->flags);
    for (unsigned i = 0; i < b->count && i < 4; i++) {
        const CUstreamBatchMemOpParams *o = &b->paramArray[i];
        n += sprintf(t + n, " %d@%s=%x/%u", o->operation,
                     o->operation == 3 || o->operation == 6 ? "-" : place(o->waitValue.address),
                     o->operation == 3 || o->operation == 6 ? 0 : o->waitValue.value,
                     o->operation == 3 || o->operation == 6 ? o->memoryBarrier.flags : o->waitValue.flags);
    }
    return text("%s", t);
}

static void on_host(void *p) { __atomic_add_fetch((int *)p, 1, 5); }
static void on_host2(void *p) { __atomic_add_fetch((int *)p, 100, 5); }
static int calls;

/* The parameters of a node, asked for by the call for its type. */
static const char *node_text(CUgraphNode n)
{
    CUgraphNodeType type = -1;
    CUresult r = cuGraphNodeGetType(n, &type);
    if (r) return rname(r);
    union {
        CUDA_KERNEL_NODE_PARAMS k;
        CUDA_MEMCPY3D c;
        CUDA_MEMSET_NODE_PARAMS m;
        CUDA_HOST_NODE_PARAMS h;
        CUDA_BATCH_MEM_OP_NODE_PARAMS b;
        CUDA_MEM_ALLOC_NODE_PARAMS a;
        CUevent e;
        CUdeviceptr p;
    } u;
    memset(&u, 0x5a, sizeof u);
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        r = cuGraphKernelNodeGetParams(n, &u.k);
        return r ? rname(r) : text("t0 %s", kernel_text(&u.k));
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        r = cuGraphMemcpyNodeGetParams(n, &u.c);
        return r ? rname(r) : text("t1 %s", copy_text(&u.c));
    case CU_GRAPH_NODE_TYPE_MEMSET:
        r = cuGraphMemsetNodeGetParams(n, &u.m);
        return r ? rname(r)
                 : text("t2 %s p%zu v%x e%u %zux%zu", place(u.m.dst), u.m.pitch, u.m.value, u.m.elementSize, u.m.width,
                        u.m.height);
    case CU_GRAPH_NODE_TYPE_HOST:
        r = cuGraphHostNodeGetParams(n, &u.h);
        return r ? rname(r)
                 : text("t3 %d %d",
                        u.h.fn == on_host    ? 1
                        : u.h.fn == on_host2 ? 2
                                             : 0,
                        u.h.userData == &calls);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        r = cuGraphEventWaitNodeGetEvent(n, &u.e);
        return r ? rname(r) : text("t6 %s", event_name(u.e));
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        r = cuGraphEventRecordNodeGetEvent(n, &u.e);
        return r ? rname(r) : text("t7 %s", event_name(u.e));
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        r = cuGraphBatchMemOpNodeGetParams(n, &u.b);
        return r ? rname(r) : text("t12 %s", operations_text(&u.b));
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        r = cuGraphMemAllocNodeGetParams(n, &u.a);
        return r ? rname(r)
                 : text("t10 %zu t%d l%d,%d h%d d%zu max%zu u%d %s", u.a.bytesize, u.a.poolProps.allocType,
                        u.a.poolProps.location.type, u.a.poolProps.location.id, u.a.poolProps.handleTypes,
                        u.a.accessDescCount, u.a.poolProps.maxSize, u.a.poolProps.usage, u.a.dptr ? "p" : "0");
    case CU_GRAPH_NODE_TYPE_MEM_FREE: r = cuGraphMemFreeNodeGetParams(n, &u.p); return r ? rname(r) : "t11";
    default: return text("t%d", type);
    }
}

/* ---- parameters that are right */

static struct values {
    CUdeviceptr p;
    uint32_t n, stride, v;
    void *list[4];
} values[64];
static unsigned newest_values;

static void **fill_values(CUdeviceptr p, uint32_t n, uint32_t stride, uint32_t v)
{
    struct values *x = &values[newest_values++ % 64];
    *x = (struct values){ p, n, stride, v, { &x->p, &x->n, &x->stride, &x->v } };
    return x->list;
}

static CUgraphNodeParams fill_node(CUdeviceptr p, uint32_t n, uint32_t v)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
    q.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){ .func = kernels()->fill, 1, 1, 1, 64, 1, 1, 0, fill_values(p, n, 1, v) };
    return q;
}

static CUgraphNodeParams copy_node(int from, uint64_t src, int to, uint64_t dst, size_t n)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
    q.memcpy.copyCtx = ctx0;
    CUDA_MEMCPY3D *c = &q.memcpy.copyParams;
    *c = (CUDA_MEMCPY3D){ .srcMemoryType = from, .dstMemoryType = to, .WidthInBytes = n, .Height = 1, .Depth = 1 };
    if (from == 1)
        c->srcHost = (void *)src;
    else if (from == 3)
        c->srcArray = (CUarray)src;
    else
        c->srcDevice = src;
    if (to == 1)
        c->dstHost = (void *)dst;
    else if (to == 3)
        c->dstArray = (CUarray)dst;
    else
        c->dstDevice = dst;
    return q;
}

static CUgraphNodeParams memset_node(CUdeviceptr p, unsigned value, unsigned element, size_t width, size_t height,
                                     size_t step)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
    q.memset = (CUDA_MEMSET_NODE_PARAMS_v2){ p, step, value, element, width, height, ctx0 };
    return q;
}

static CUgraphNodeParams host_node(CUhostFn f)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_HOST };
    q.host.fn = f;
    q.host.userData = &calls;
    return q;
}

static CUgraphNodeParams event_node(CUgraphNodeType type, CUevent e)
{
    CUgraphNodeParams q = { .type = type };
    q.eventWait.event = e;
    return q;
}

static CUgraphNodeParams operations_node(CUdeviceptr p, uint32_t v, unsigned count)
{
    static CUstreamBatchMemOpParams ring[64][4];
    static unsigned newest;
    CUstreamBatchMemOpParams *o = ring[newest++ % 64];
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
    memset(o, 0, sizeof ring[0]);
    for (unsigned i = 0; i < 4; i++) {
        o[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        o[i].writeValue.address = p + 4 * i;
        o[i].writeValue.value = v + i;
    }
    q.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){ ctx0, count, o, 0 };
    return q;
}

static CUgraphNodeParams alloc_node(size_t n)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
    q.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    q.alloc.poolProps.location = loc(CU_MEM_LOCATION_TYPE_DEVICE, 0);
    q.alloc.bytesize = n;
    return q;
}

static CUgraphNodeParams child_node(CUgraph g)
{
    CUgraphNodeParams q = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
    q.graph.graph = g;
    return q;
}

/* By the call for its type. A context that the type's call takes apart is in the parameters. */
static CUresult add_typed(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, CUgraphNodeParams *p)
{
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return cuGraphAddKernelNode(out, g, deps, n, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphAddMemcpyNode(out, g, deps, n, &p->memcpy.copyParams, p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphAddMemsetNode(out, g, deps, n, (CUDA_MEMSET_NODE_PARAMS *)&p->memset, p->memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST: return cuGraphAddHostNode(out, g, deps, n, (CUDA_HOST_NODE_PARAMS *)&p->host);
    case CU_GRAPH_NODE_TYPE_GRAPH: return cuGraphAddChildGraphNode(out, g, deps, n, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY: return cuGraphAddEmptyNode(out, g, deps, n);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return cuGraphAddEventWaitNode(out, g, deps, n, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return cuGraphAddEventRecordNode(out, g, deps, n, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return cuGraphAddMemAllocNode(out, g, deps, n, (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return cuGraphAddMemFreeNode(out, g, deps, n, p->free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return cuGraphAddBatchMemOpNode(out, g, deps, n, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
    default: return cuGraphAddNode(out, g, deps, NULL, n, p);
    }
}

static CUresult set_typed(CUgraphNode n, CUgraphNodeParams *p)
{
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return cuGraphKernelNodeSetParams(n, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return cuGraphMemcpyNodeSetParams(n, &p->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: return cuGraphMemsetNodeSetParams(n, (CUDA_MEMSET_NODE_PARAMS *)&p->memset);
    case CU_GRAPH_NODE_TYPE_HOST: return cuGraphHostNodeSetParams(n, (CUDA_HOST_NODE_PARAMS *)&p->host);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return cuGraphEventWaitNodeSetEvent(n, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return cuGraphEventRecordNodeSetEvent(n, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return cuGraphBatchMemOpNodeSetParams(n, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
    default: return cuGraphNodeSetParams(n, p);
    }
}

static CUresult set_exec_typed(CUgraphExec x, CUgraphNode n, CUgraphNodeParams *p)
{
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return cuGraphExecKernelNodeSetParams(x, n, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphExecMemcpyNodeSetParams(x, n, &p->memcpy.copyParams, p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphExecMemsetNodeSetParams(x, n, (CUDA_MEMSET_NODE_PARAMS *)&p->memset, p->memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST: return cuGraphExecHostNodeSetParams(x, n, (CUDA_HOST_NODE_PARAMS *)&p->host);
    case CU_GRAPH_NODE_TYPE_GRAPH: return cuGraphExecChildGraphNodeSetParams(x, n, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return cuGraphExecEventWaitNodeSetEvent(x, n, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return cuGraphExecEventRecordNodeSetEvent(x, n, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return cuGraphExecBatchMemOpNodeSetParams(x, n, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
    default: return cuGraphExecNodeSetParams(x, n, p);
    }
}

/* ---- questions, each of which may crash: then a new process goes on with the next */

enum { GO_ON = 9 }; /* a question's process ends; the next goes on with the next one */
static int question, answered;
static volatile int *progress;

static bool next_question(void)
{
    if (++question <= answered) return false;
    *progress = question;
    return true;
}

static void survive(void (*ask)(void))
{
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int crashes = 0, status; crashes < 100; crashes++) {
        fflush(stdout);
        pid_t pid = fork();
        if (!pid) {
            alarm(12);
            answered = *progress;
            ask();
            fflush(stdout);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == GO_ON) continue;
        if (!WIFSIGNALED(status)) {
            if (WEXITSTATUS(status)) rec("exit", "%d", WEXITSTATUS(status));
            return;
        }
        rec(text("crash%d", *progress), "signal %d", WTERMSIG(status));
    }
}
/* ---- tables of calls: X(name, the call) */

struct call {
    const char *name;
    CUresult (*make)(void);
};
#define CALL_FUNCTION(name, ...) \
    static CUresult c_##name(void) { return __VA_ARGS__; }
#define CALL_ENTRY(name, ...) { #name, c_##name },

#endif
