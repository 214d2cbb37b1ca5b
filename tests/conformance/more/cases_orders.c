/* Which work comes after which: a stream is held, something is issued into another one; is that done, or does a call
 * that waits come back, while the hold lasts? Streams of a primary context and of two green ones. */
#ifndef GATE_MS
#define GATE_MS 1000
#endif
#include "gate.h"

#ifndef LOOK_MS
#define LOOK_MS 90 /* what is not held up is done long before */
#endif
enum { PATIENCE = 40, SIZE = 1 << 20 };

enum { LEGACY, BLOCKING, APART, PER_THREAD, G_LEGACY, G_BLOCKING, G_APART, G_STREAM, G_PER_THREAD, H_LEGACY, H_BLOCKING, STREAMS };
static const char *const names[STREAMS] = { "legacy",   "blocking", "apart",       "perthread", "g.legacy", "g.blocking",
                                            "g.apart",  "g.stream", "g.perthread", "h.legacy",  "h.blocking" };
static CUstream stream[STREAMS], third, fourth, beat;
static CUcontext of[STREAMS];
static volatile uint32_t *word; /* 0: what holds, 4: holds the fourth stream */
static CUdeviceptr d, managed;
static void *pinned;
static CUfunction nothing;
static CUevent event, timed, done;
static CUgraphExec graph;
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";

static void host_function(void *p) { (void)p; }

static CUgreenCtx green(const CUdevResource *part)
{
    CUdevResourceDesc desc;
    CUgreenCtx g;
    MUST(cuDevResourceGenerateDesc(&desc, (CUdevResource *)part, 1));
    MUST(cuGreenCtxCreate(&g, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return g;
}

static void streams_of(int first, CUcontext c)
{
    MUST(cuCtxSetCurrent(c));
    stream[first] = CU_STREAM_LEGACY;
    MUST(cuStreamCreate(&stream[first + 1], CU_STREAM_DEFAULT));
    of[first] = of[first + 1] = c;
}

static void make_greens(void)
{
    CUdevResource all, part[2];
    CUcontext c;
    unsigned n = 2;
    MUST(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    MUST(cuDevSmResourceSplitByCount(part, &n, &all, NULL, 0, 16));
    CUgreenCtx g = green(&part[0]), h = green(&part[1]);
    MUST(cuCtxFromGreenCtx(&c, g));
    streams_of(G_LEGACY, c);
    MUST(cuStreamCreate(&stream[G_APART], CU_STREAM_NON_BLOCKING));
    MUST(cuGreenCtxStreamCreate(&stream[G_STREAM], g, CU_STREAM_NON_BLOCKING, 0));
    stream[G_PER_THREAD] = CU_STREAM_PER_THREAD;
    of[G_APART] = of[G_STREAM] = of[G_PER_THREAD] = c;
    MUST(cuCtxFromGreenCtx(&c, h));
    streams_of(H_LEGACY, c);
    MUST(cuCtxSetCurrent(ctx0));
}

static void make(void)
{
    CUgraph g;
    CUgraphNode a;
    CUmodule m;
    setup();
    MUST(cuMemAllocHost((void **)&word, 64));
    MUST(cuMemAllocHost(&pinned, SIZE));
    MUST(cuMemAlloc(&d, 2 * SIZE));
    MUST(cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL));
    MUST(cuModuleLoadData(&m, ptx));
    MUST(cuModuleGetFunction(&nothing, m, "nothing"));
    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    MUST(cuEventCreate(&timed, 0));
    MUST(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    MUST(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&fourth, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&beat, CU_STREAM_NON_BLOCKING));
    CUDA_KERNEL_NODE_PARAMS k = { .func = nothing, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                  .blockDimX = 1,  .blockDimY = 1, .blockDimZ = 1 };
    MUST(cuGraphCreate(&g, 0));
    MUST(cuGraphAddKernelNode(&a, g, NULL, 0, &k));
    MUST(cuGraphAddKernelNode(&a, g, &a, 1, &k));
    MUST(cuGraphInstantiate(&graph, g, 0));
    streams_of(LEGACY, ctx0);
    MUST(cuStreamCreate(&stream[APART], CU_STREAM_NON_BLOCKING));
    stream[PER_THREAD] = CU_STREAM_PER_THREAD;
    of[APART] = of[PER_THREAD] = ctx0;
    make_greens();
    MUST(cuEventRecord(done, third));
    MUST(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    MUST(cuCtxSynchronize());
}

static void all_done(void)
{
    const CUcontext every[] = { of[G_LEGACY], of[H_LEGACY], ctx0 };
    word[0] = word[4] = 1;
    for (int k = 0; k < 3; k++) {
        MUST(cuCtxSetCurrent(every[k]));
        MUST(cuCtxSynchronize());
    }
}

/* ---- work that is issued */

#define ISSUED(X) \
    X(kernel, cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL)) X(copy, cuMemcpyHtoDAsync(d, pinned, SIZE, s)) \
    X(hostfunction, cuLaunchHostFunc(s, host_function, NULL)) X(graph, cuGraphLaunch(graph, s)) \
    X(attach, cuStreamAttachMemAsync(s, managed, 0, CU_MEM_ATTACH_GLOBAL)) X(record, cuEventRecord(event, s)) \
    X(recordtimed, cuEventRecord(timed, s)) X(recordtwice, recorded_behind_kernel(s)) X(waitdone, cuStreamWaitEvent(s, done, 0)) \
    X(waitsoon, waits_for_fourth(s)) X(others, third_waits(s)) X(otherskernel, third_works(s)) X(query, CUDA_SUCCESS)
#define NAMED(name, call) issue_##name,
#define SAID(name, call) #name,
enum { ISSUED(NAMED) ISSUES };
static const char *const issues[] = { ISSUED(SAID) };

static CUresult recorded_behind_kernel(CUstream s)
{
    CUresult r = cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
    return r ? r : cuEventRecord(event, s);
}

/* For something that ends while the other hold lasts. */
static CUresult waits_for_fourth(CUstream s)
{
    MUST(cuStreamWaitValue32(fourth, (CUdeviceptr)(word + 4), 1, CU_STREAM_WAIT_VALUE_EQ));
    MUST(cuEventRecord(event, fourth));
    CUresult r = cuStreamWaitEvent(s, event, 0);
    word[4] = 1;
    return r;
}

static CUresult third_waits(CUstream s)
{
    CUresult r = cuEventRecord(event, s);
    return r ? r : cuStreamWaitEvent(third, event, 0);
}

static CUresult third_works(CUstream s)
{
    CUresult r = third_waits(s);
    return r ? r : cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, third, NULL, NULL);
}

static CUresult issue(int what, CUstream s)
{
    switch (what) {
#define DONE(name, call) \
    case issue_##name: return call;
        ISSUED(DONE)
    default: return CUDA_ERROR_UNKNOWN;
    }
}

static CUresult outcome(int what, CUstream s)
{
    return what == issue_record || what == issue_recordtwice   ? cuEventQuery(event)
           : what == issue_recordtimed                          ? cuEventQuery(timed)
           : what == issue_others || what == issue_otherskernel ? cuStreamQuery(third)
                                                               : cuStreamQuery(s);
}

/* Longer on a machine that has much else to do. */
static void a_while(void)
{
    usleep(1000);
    MUST(cuLaunchHostFunc(beat, host_function, NULL));
    MUST(cuStreamSynchronize(beat));
}

static void issued_while_held(int a, int b)
{
    for (int what = 0; what < ISSUES; what++) {
        word[0] = word[4] = 0;
        MUST(cuCtxSetCurrent(of[a]));
        MUST(cuStreamWaitValue32(stream[a], (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_EQ));
        MUST(cuCtxSetCurrent(of[b]));
        CUresult r = issue(what, stream[b]), q = CUDA_ERROR_NOT_READY, now;
        for (int ms = 0; ms < LOOK_MS && q == CUDA_ERROR_NOT_READY; ms++) {
            q = outcome(what, stream[b]);
            if (q) a_while();
        }
        now = cuStreamQuery(stream[b]);
        rec(keyf("%s.%s.%s", names[a], names[b], issues[what]), "%s %s stream %s", rname(r), rname(q), rname(now));
        all_done();
    }
}

/* ---- calls that may wait */

#define WAITING(X) \
    X(context, cuCtxSynchronize()) X(stream, cuStreamSynchronize(s)) X(event, (cuEventRecord(event, s), cuEventSynchronize(event))) \
    X(tohost, cuMemcpyDtoH(pinned, d, 64)) X(topageable, cuMemcpyDtoH(pageable, d, 64)) X(fillmanaged, cuMemsetD8(managed, 1, 64)) \
    X(free, (cuMemAlloc(&p, 4096), cuMemFree(p))) X(streamgone, (cuStreamCreate(&t, 0), cuStreamDestroy(t)))
#define WAITED(name, call) waits_##name,
enum { WAITING(WAITED) WAITS };
static const char *const waits[] = { WAITING(SAID) };

static CUresult wait_for(int what, CUstream s)
{
    static char pageable[64];
    CUdeviceptr p;
    CUstream t;
    switch (what) {
#define CALLED(name, call) \
    case waits_##name: return call;
        WAITING(CALLED)
    default: return CUDA_ERROR_UNKNOWN;
    }
}

static void waited_while_held(int a, int b)
{
    for (int what = 0; what < WAITS; what++) {
        if (what > waits_event && stream[b] != CU_STREAM_LEGACY) continue;
        word[0] = 0;
        MUST(cuCtxSetCurrent(of[a]));
        MUST(cuStreamWaitValue32(stream[a], (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_EQ));
        MUST(cuCtxSetCurrent(of[b]));
        gate.patience = PATIENCE;
        gate.naps = 2 * PATIENCE; /* who waits for a stream may look at it now and then */
        gate_close(word);
        CUresult r = wait_for(what, stream[b]);
        uint32_t waited = word[0];
        gate_open();
        rec(keyf("%s.%s.waits.%s", names[a], names[b], waits[what]), "%s %s", rname(r), waited ? "waits" : "at once");
        all_done();
    }
}

static void orders(int a)
{
    make();
    for (int b = 0; b < STREAMS; b++) {
        issued_while_held(a, b);
        waited_while_held(a, b);
    }
}

static void identities(void)
{
    unsigned long long id[STREAMS];
    CUcontext c[STREAMS];
    CUgreenCtx g[STREAMS];
    make();
    for (int k = 0; k < STREAMS; k++) {
        MUST(cuCtxSetCurrent(of[k]));
        c[k] = NULL, g[k] = NULL;
        recr(keyf("%s.id", names[k]), cuStreamGetId(stream[k], &id[k]));
        recr(keyf("%s.ctx", names[k]), cuStreamGetCtx_v2(stream[k], &c[k], &g[k]));
        for (int j = 0; j < k; j++)
            if (id[j] == id[k]) rec(keyf("%s.same", names[k]), "%s", names[j]);
        rec(keyf("%s.of", names[k]), "%s green %d", !c[k] ? "none" : c[k] == ctx0 ? "primary" : c[k] == of[k] ? "named" : "other", !!g[k]);
    }
}

#define HELD(X) X(0) X(1) X(2) X(3) X(4) X(5) X(7) X(9)
#define GROUP(k) static void held_##k(void) { orders(k); }
#define LISTED(k) { "orders_" #k, held_##k, 1 },
HELD(GROUP)
const struct group groups[] = { { "orders_ids", identities, 1 }, HELD(LISTED) { 0 } };
