/* Streams and events: flags, priorities, legacy and per-thread streams and what waits for what, queries, waits, attributes,
 * capture and what it forbids. Compiled twice: for the legacy and for the per-thread default stream. */
#include "ask.h"
#include <pthread.h>

__global__ void store(int *p, int v) { *p = v; }
__global__ void add(int *p, int v) { *p += v; }
__device__ int variable;

static cudaStream_t s, t;
static cudaEvent_t e, f;
static int *p, v, w;
static unsigned u;
static struct gate gate;

static void create(void)
{
    static const unsigned flags[] = { 0, 1, 2, 3, 4, 0x10, 0x100, 0x80000000u };
    for (size_t i = 0; i < COUNT(flags); i++) {
        s = (cudaStream_t)1;
        u = 77;
        ASKV(keyf("flags%x", flags[i]), cudaStreamCreateWithFlags(&s, flags[i]), "%s", given(s));
        if (s == (cudaStream_t)1) continue;
        ASKV(keyf("get%x", flags[i]), cudaStreamGetFlags(s, &u), "%x", u);
        v = 77;
        ASKV(keyf("priority%x", flags[i]), cudaStreamGetPriority(s, &v), "%d", v);
        v = 77;
        ASKV(keyf("device%x", flags[i]), cudaStreamGetDevice(s, &v), "%d", v);
        ASK(keyf("query%x", flags[i]), cudaStreamQuery(s));
        ASK(keyf("destroy%x", flags[i]), cudaStreamDestroy(s));
    }
    for (int priority = -8; priority <= 3; priority++) {
        v = 77;
        MUST(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, priority));
        ASKV(keyf("priority.%d", priority), cudaStreamGetPriority(s, &v), "%d", v);
        ASK(keyf("priority.%d.destroy", priority), cudaStreamDestroy(s));
    }
    ASK("priority flags", cudaStreamCreateWithPriority(&s, 5, 0));
    RISK("null", cudaStreamCreate(NULL));
    RISK("null flags", cudaStreamCreateWithFlags(NULL, 0));
    RISK("null priority", cudaStreamCreateWithPriority(NULL, 0, 0));
    MUST(cudaStreamCreate(&s));
    RISK("get null", cudaStreamGetFlags(s, NULL));
    RISK("priority null", cudaStreamGetPriority(s, NULL));
    RISK("id null", cudaStreamGetId(s, NULL));
    RISK("device null", cudaStreamGetDevice(s, NULL));
}

static void defaults(void)
{
    static const struct {
        const char *name;
        cudaStream_t stream;
    } list[] = { { "null", 0 }, { "legacy", cudaStreamLegacy }, { "thread", cudaStreamPerThread } };
    unsigned long long id = 0, ids[3];
    for (size_t i = 0; i < COUNT(list); i++) {
        u = 77, v = 77, w = 77;
        ASKV(keyf("%s.flags", list[i].name), cudaStreamGetFlags(list[i].stream, &u), "%x", u);
        ASKV(keyf("%s.priority", list[i].name), cudaStreamGetPriority(list[i].stream, &v), "%d", v);
        ASKV(keyf("%s.device", list[i].name), cudaStreamGetDevice(list[i].stream, &w), "%d", w);
        ASK(keyf("%s.id", list[i].name), cudaStreamGetId(list[i].stream, &ids[i]));
        ASK(keyf("%s.query", list[i].name), cudaStreamQuery(list[i].stream));
        ASK(keyf("%s.sync", list[i].name), cudaStreamSynchronize(list[i].stream));
        ASK(keyf("%s.destroy", list[i].name), cudaStreamDestroy(list[i].stream));
        enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)77;
        ASKV(keyf("%s.capturing", list[i].name), cudaStreamIsCapturing(list[i].stream, &status), "%d", status);
        ASK(keyf("%s.begin", list[i].name), cudaStreamBeginCapture(list[i].stream, cudaStreamCaptureModeRelaxed));
        cudaGraph_t g = NULL;
        ASKV(keyf("%s.end", list[i].name), cudaStreamEndCapture(list[i].stream, &g), "%d", g != NULL);
    }
    say("ids", "%d %d %d", ids[0] == ids[1], ids[0] == ids[2], ids[1] == ids[2]);
    MUST(cudaStreamCreate(&s));
    MUST(cudaStreamCreate(&t));
    MUST(cudaStreamGetId(s, &id));
    MUST(cudaStreamGetId(t, &ids[0]));
    say("ids of others", "%d", id != ids[0]);
}

/* Does work given to `second` wait for work that was given to `first`? */
static void waits(const char *key, cudaStream_t first, cudaStream_t second)
{
    cudaEvent_t done;
    MUST(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    gate_close(&gate, first);
    cudaError_t r = cudaEventRecord(done, second), q = cudaSuccess;
    for (int i = 0; i < 100 && (q = cudaEventQuery(done)) == cudaErrorNotReady; i++) usleep(1000);
    say(key, "%s, %s", name_of(r), q == cudaErrorNotReady ? "waits" : name_of(q));
    gate_open(&gate);
    MUST(cudaDeviceSynchronize());
    MUST(cudaEventDestroy(done));
    cudaGetLastError();
}

static void order(void)
{
    cudaStream_t blocking, other, nonblocking;
    MUST(cudaStreamCreate(&blocking));
    MUST(cudaStreamCreate(&other));
    MUST(cudaStreamCreateWithFlags(&nonblocking, cudaStreamNonBlocking));
    const struct {
        const char *name;
        cudaStream_t stream;
    } list[] = {
        { "default", 0 },   { "legacy", cudaStreamLegacy }, { "thread", cudaStreamPerThread }, { "blocking", blocking },
        { "other", other }, { "nonblocking", nonblocking }
    };
    for (size_t i = 0; i < COUNT(list); i++)
        for (size_t j = 0; j < COUNT(list); j++)
            waits(keyf("%s then %s", list[i].name, list[j].name), list[i].stream, list[j].stream);
}

static void wait_event(void)
{
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    ASK("unrecorded", cudaStreamWaitEvent(t, e, 0));
    ASK("unrecorded.query", cudaStreamQuery(t));
    gate_close(&gate, s);
    ASK("record", cudaEventRecord(e, s));
    ASK("wait", cudaStreamWaitEvent(t, e, 0));
    ASK("query", cudaStreamQuery(t));
    ASK("event", cudaEventQuery(e));
    ASK("flags 1", cudaStreamWaitEvent(t, e, 1));
    ASK("flags 2", cudaStreamWaitEvent(t, e, 2));
    RISK("null", cudaStreamWaitEvent(t, NULL, 0));
    ASK("destroy while waited for", cudaEventDestroy(e));
    ASK("query2", cudaStreamQuery(t));
    ASK("destroy busy", cudaStreamDestroy(s));
    gate_open(&gate);
    ASK("sync", cudaStreamSynchronize(t));
    ASK("device", cudaDeviceSynchronize());
}

static void events(void)
{
    static const unsigned flags[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x100, 0x80000000u };
    float ms = -1;
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (size_t i = 0; i < COUNT(flags); i++) {
        e = (cudaEvent_t)1;
        ASKV(keyf("flags%x", flags[i]), cudaEventCreateWithFlags(&e, flags[i]), "%s", given(e));
        if (e == (cudaEvent_t)1) continue;
        ASK(keyf("query%x", flags[i]), cudaEventQuery(e));
        ASK(keyf("sync%x", flags[i]), cudaEventSynchronize(e));
        ASK(keyf("elapsed%x", flags[i]), cudaEventElapsedTime(&ms, e, e));
        ASK(keyf("record%x", flags[i]), cudaEventRecord(e, s));
        ASK(keyf("sync2%x", flags[i]), cudaEventSynchronize(e));
        ASKV(keyf("elapsed2%x", flags[i]), cudaEventElapsedTime(&ms, e, e), "%g", ms < 0 ? -1 : ms);
        ASK(keyf("destroy%x", flags[i]), cudaEventDestroy(e));
    }
    RISK("null", cudaEventCreate(NULL));
    RISK("query null", cudaEventQuery(NULL));
    RISK("sync null", cudaEventSynchronize(NULL));
    RISK("record null", cudaEventRecord(NULL, s));
    RISK("destroy null", cudaEventDestroy(NULL));
    MUST(cudaEventCreate(&e));
    MUST(cudaEventCreate(&f));
    RISK("elapsed null", cudaEventElapsedTime(&ms, NULL, e));
    RISK("elapsed null 2", cudaEventElapsedTime(&ms, e, NULL));
    RISK("elapsed null out", cudaEventElapsedTime(NULL, e, e));
    ASK("elapsed unrecorded", cudaEventElapsedTime(&ms, e, f));
    MUST(cudaEventRecord(e, s));
    MUST(cudaStreamSynchronize(s));
    ASK("elapsed half", cudaEventElapsedTime(&ms, e, f));
    gate_close(&gate, s);
    MUST(cudaEventRecord(f, s));
    ASK("elapsed pending", cudaEventElapsedTime(&ms, e, f));
    ASK("query pending", cudaEventQuery(f));
    ASK("record again elsewhere", cudaEventRecord(f, cudaStreamPerThread));
    ASK("sync elsewhere", cudaEventSynchronize(f));
    gate_open(&gate);
    MUST(cudaStreamSynchronize(s));
    ASKV("elapsed", cudaEventElapsedTime(&ms, e, f), "%s", ms >= 0 ? "not negative" : "negative");
    ASKV("elapsed back", cudaEventElapsedTime(&ms, f, e), "%s", ms <= 0 ? "not positive" : "positive");
    for (unsigned flag = 0; flag <= 3; flag++) ASK(keyf("record flags%u", flag), cudaEventRecordWithFlags(e, s, flag));
    ASK("record default", cudaEventRecord(e, 0));
    ASK("record legacy", cudaEventRecord(e, cudaStreamLegacy));
    ASK("sync", cudaDeviceSynchronize());
    ASK("destroy", cudaEventDestroy(e));
}

static void attributes(void)
{
    MUST(cudaStreamCreate(&s));
    MUST(cudaStreamCreate(&t));
    for (int id = 0; id <= 18; id++) {
        cudaStreamAttrValue a;
        memset(&a, 0, sizeof a);
        ASKV(keyf("get%d", id), cudaStreamGetAttribute(s, (cudaStreamAttrID)id, &a), "%08x", hash(&a, sizeof a));
        ASK(keyf("set%d", id), cudaStreamSetAttribute(s, (cudaStreamAttrID)id, &a));
    }
    cudaStreamAttrValue a;
    memset(&a, 0, sizeof a);
    for (int policy = 0; policy <= 5; policy++) {
        a.syncPolicy = (enum cudaSynchronizationPolicy)policy;
        ASK(keyf("policy%d", policy), cudaStreamSetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, &a));
        ASKV(keyf("policy%d.get", policy), cudaStreamGetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, &a),
             "%d", a.syncPolicy);
    }
    memset(&a, 0, sizeof a);
    MUST(cudaMalloc((void **)&p, 4096));
    a.accessPolicyWindow.base_ptr = p;
    a.accessPolicyWindow.num_bytes = 4096;
    a.accessPolicyWindow.hitRatio = 0.5;
    a.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    a.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    ASK("window", cudaStreamSetAttribute(s, cudaLaunchAttributeAccessPolicyWindow, &a));
    memset(&a, 0, sizeof a);
    ASKV("window.get", cudaStreamGetAttribute(s, cudaLaunchAttributeAccessPolicyWindow, &a), "%d %zu %g %d %d",
         a.accessPolicyWindow.base_ptr == p, a.accessPolicyWindow.num_bytes, a.accessPolicyWindow.hitRatio,
         a.accessPolicyWindow.hitProp, a.accessPolicyWindow.missProp);
    a.accessPolicyWindow.hitRatio = 2;
    ASK("window ratio", cudaStreamSetAttribute(s, cudaLaunchAttributeAccessPolicyWindow, &a));
    a.accessPolicyWindow.hitRatio = 1;
    a.accessPolicyWindow.num_bytes = 1ul << 40;
    ASK("window bytes", cudaStreamSetAttribute(s, cudaLaunchAttributeAccessPolicyWindow, &a));
    ASK("copy", cudaStreamCopyAttributes(t, s));
    memset(&a, 0, sizeof a);
    ASKV("copy.get", cudaStreamGetAttribute(t, cudaLaunchAttributeAccessPolicyWindow, &a), "%d %zu",
         a.accessPolicyWindow.base_ptr == p, a.accessPolicyWindow.num_bytes);
    a.priority = -3;
    ASK("priority", cudaStreamSetAttribute(s, cudaLaunchAttributePriority, &a));
    v = 77;
    ASKV("priority.get", cudaStreamGetPriority(s, &v), "%d", v);
    RISK("get null", cudaStreamGetAttribute(s, cudaLaunchAttributePriority, NULL));
    RISK("set null", cudaStreamSetAttribute(s, cudaLaunchAttributePriority, NULL));
}

/* ---- capture */
static const char *status_of(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)77;
    cudaError_t r = cudaStreamIsCapturing(stream, &status);
    return keyf("%s %d", name_of(r), status);
}

static void begin(enum cudaStreamCaptureMode mode)
{
    MUST(cudaMalloc((void **)&p, 4096));
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&e));
    MUST(cudaEventCreate(&f));
    MUST(cudaStreamBeginCapture(s, mode));
}

static void capture(void)
{
    cudaGraph_t g = NULL;
    cudaGraphExec_t x = NULL;
    size_t n = 77;
    begin(cudaStreamCaptureModeGlobal);
    say("status", "%s", status_of(s));
    say("status of other", "%s", status_of(t));
    ASK("begin again", cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    say("still", "%s", status_of(s));
    store<<<1, 1, 0, s>>>(p, 5);
    ASK("launch", cudaGetLastError());
    add<<<1, 1, 0, s>>>(p, 6);
    ASK("memset", cudaMemsetAsync(p + 1, 1, 4, s));
    ASK("memcpy", cudaMemcpyAsync(p + 2, p, 4, cudaMemcpyDeviceToDevice, s));
    cudaGraph_t inside = NULL;
    const cudaGraphNode_t *deps = NULL;
    enum cudaStreamCaptureStatus status;
    unsigned long long id = 0;
    ASKV("info", cudaStreamGetCaptureInfo(s, &status, &id, &inside, &deps, NULL, &n), "%d %d %d %zu", status, id != 0,
         inside != NULL, n);
    ASKV("end", cudaStreamEndCapture(s, &g), "%d", g == inside);
    say("status after", "%s", status_of(s));
    ASKV("nodes", cudaGraphGetNodes(g, NULL, &n), "%zu", n);
    ASKV("edges", cudaGraphGetEdges(g, NULL, NULL, NULL, &n), "%zu", n);
    ASK("instantiate", cudaGraphInstantiate(&x, g, 0));
    ASK("launch graph", cudaGraphLaunch(x, s));
    ASK("sync", cudaStreamSynchronize(s));
    int values[3];
    ASKV("values", cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost), "%d %x %d", values[0], values[1],
         values[2]);
    ASK("end again", cudaStreamEndCapture(s, &g));
    ASK("end without", cudaStreamEndCapture(t, &g));
    RISK("end null", cudaStreamEndCapture(t, NULL));
    for (int mode = -1; mode <= 3; mode++) {
        g = NULL;
        ASK(keyf("mode%d", mode), cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)mode));
        ASKV(keyf("mode%d.end", mode), cudaStreamEndCapture(s, &g), "%d", g != NULL);
    }
    RISK("status null", cudaStreamIsCapturing(s, NULL));
    ASKV("info idle", cudaStreamGetCaptureInfo(s, &status, &id, &inside, &deps, NULL, &n), "%d", status);
    RISK("info null", cudaStreamGetCaptureInfo(s, NULL, NULL, NULL, NULL, NULL, NULL));
}

static void fork_join(void)
{
    cudaGraph_t g = NULL;
    size_t n = 77;
    begin(cudaStreamCaptureModeGlobal);
    ASK("record", cudaEventRecord(e, s));
    ASK("event query", cudaEventQuery(e));
    say("status", "%s", status_of(s));
    ASK("end early", cudaStreamEndCapture(s, &g));
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ASK("record2", cudaEventRecord(e, s));
    ASK("wait", cudaStreamWaitEvent(t, e, 0));
    say("other", "%s", status_of(t));
    store<<<1, 1, 0, t>>>(p, 5);
    ASK("launch", cudaGetLastError());
    ASK("end of other", cudaStreamEndCapture(t, &g));
    say("other2", "%s", status_of(t));
    say("first2", "%s", status_of(s));
    ASK("end unjoined", cudaStreamEndCapture(s, &g));
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    MUST(cudaEventRecord(e, s));
    MUST(cudaStreamWaitEvent(t, e, 0));
    store<<<1, 1, 0, t>>>(p, 5);
    store<<<1, 1, 0, s>>>(p + 1, 5);
    MUST(cudaEventRecord(f, t));
    MUST(cudaStreamWaitEvent(s, f, 0));
    store<<<1, 1, 0, s>>>(p + 2, 5);
    ASKV("end", cudaStreamEndCapture(s, &g), "%d", g != NULL);
    say("other3", "%s", status_of(t));
    if (g) ASKV("nodes", cudaGraphGetNodes(g, NULL, &n), "%zu", n);
    if (g) ASKV("edges", cudaGraphGetEdges(g, NULL, NULL, NULL, &n), "%zu", n);
    ASK("captured event query", cudaEventQuery(f));
    ASK("captured event sync", cudaEventSynchronize(f));
    ASK("captured event wait", cudaStreamWaitEvent(t, f, 0));
    float ms;
    ASK("captured event elapsed", cudaEventElapsedTime(&ms, e, f));
    ASK("sync", cudaDeviceSynchronize());
}

/* A call during capture: its answer, and whether the capture survives it. */
#define DURING(name, mode, call) \
    { \
        "during_" #name "_" #mode, \
            [] { \
                begin(cudaStreamCaptureMode##mode); \
                ASK("call", call); \
                say("then", "%s", status_of(s)); \
                cudaGraph_t g = NULL; \
                ASKV("end", cudaStreamEndCapture(s, &g), "%d", g != NULL); \
                ASK("sync", cudaDeviceSynchronize()); \
            }, \
            0 \
    }
#define DURING_ALL(name, call) DURING(name, Global, call), DURING(name, ThreadLocal, call), DURING(name, Relaxed, call)

static void *q;
static char text[64];
static size_t n;
static cudaGraph_t graph;

static void nothing(void *) {}
static void legacy_callback(cudaStream_t, cudaError_t, void *) {}

static void *query_in_thread(void *)
{
    RAW("thread.malloc", cudaMalloc(&q, 16));
    RAW("thread.query", cudaStreamQuery(s));
    RAW("thread.launch", (store<<<1, 1, 0, s>>>(p, 1), cudaGetLastError()));
    RAW("thread.end", cudaStreamEndCapture(s, &graph));
    return NULL;
}

static void threads_of_mode(enum cudaStreamCaptureMode mode)
{
    pthread_t thread;
    begin(mode);
    pthread_create(&thread, NULL, query_in_thread, NULL);
    pthread_join(thread, NULL);
    say("then", "%s", status_of(s));
    ASK("end", cudaStreamEndCapture(s, &graph));
}
static void threads_global(void) { threads_of_mode(cudaStreamCaptureModeGlobal); }
static void threads_thread_local(void) { threads_of_mode(cudaStreamCaptureModeThreadLocal); }
static void threads_relaxed(void) { threads_of_mode(cudaStreamCaptureModeRelaxed); }

static void exchange(void)
{
    for (int mode = -1; mode <= 3; mode++) {
        enum cudaStreamCaptureMode m = (enum cudaStreamCaptureMode)mode;
        ASKV(keyf("mode%d", mode), cudaThreadExchangeStreamCaptureMode(&m), "%d", m);
    }
    RISK("null", cudaThreadExchangeStreamCaptureMode(NULL));
    begin(cudaStreamCaptureModeGlobal);
    enum cudaStreamCaptureMode m = cudaStreamCaptureModeRelaxed;
    ASKV("relaxed", cudaThreadExchangeStreamCaptureMode(&m), "%d", m);
    ASK("malloc", cudaMalloc(&q, 16));
    ASK("free", cudaFree(q));
    say("then", "%s", status_of(s));
    ASK("sync", cudaStreamSynchronize(s));
    say("then2", "%s", status_of(s));
    ASK("end", cudaStreamEndCapture(s, &graph));
}

static void to_graph(void)
{
    cudaGraph_t g, out = NULL;
    cudaGraphNode_t node, extra;
    MUST(cudaMalloc((void **)&p, 4096));
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaGraphCreate(&g, 0));
    MUST(cudaGraphAddEmptyNode(&node, g, NULL, 0));
    ASK("begin", cudaStreamBeginCaptureToGraph(s, g, &node, NULL, 1, cudaStreamCaptureModeGlobal));
    store<<<1, 1, 0, s>>>(p, 5);
    ASKV("end", cudaStreamEndCapture(s, &out), "%d", out == g);
    ASKV("nodes", cudaGraphGetNodes(g, NULL, &n), "%zu", n);
    ASKV("edges", cudaGraphGetEdges(g, NULL, NULL, NULL, &n), "%zu", n);
    RISK("null graph", cudaStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    say("null graph.then", "%s", status_of(s));
    ASK("null end", cudaStreamEndCapture(s, &out));
    RISK("dependencies null", cudaStreamBeginCaptureToGraph(s, g, NULL, NULL, 1, cudaStreamCaptureModeGlobal));
    ASK("end2", cudaStreamEndCapture(s, &out));
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    enum cudaStreamCaptureStatus status;
    MUST(cudaStreamGetCaptureInfo(s, &status, NULL, &g, NULL, NULL, NULL));
    MUST(cudaGraphAddEmptyNode(&extra, g, NULL, 0));
    for (unsigned flags = 0; flags <= 2; flags++)
        ASK(keyf("update%u", flags), cudaStreamUpdateCaptureDependencies(s, &extra, NULL, 1, flags));
    RISK("update null", cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 1, 0));
    ASK("update none", cudaStreamUpdateCaptureDependencies(s, NULL, NULL, 0, cudaStreamSetCaptureDependencies));
    store<<<1, 1, 0, s>>>(p, 5);
    ASKV("end3", cudaStreamEndCapture(s, &out), "%d", out == g);
    if (out) ASKV("nodes3", cudaGraphGetNodes(out, NULL, &n), "%zu", n);
    if (out) ASKV("edges3", cudaGraphGetEdges(out, NULL, NULL, NULL, &n), "%zu", n);
    ASK("update idle", cudaStreamUpdateCaptureDependencies(s, &extra, NULL, 1, 0));
}

static void destroyed_in_capture(void)
{
    begin(cudaStreamCaptureModeGlobal);
    ASK("destroy", cudaStreamDestroy(s));
    ASK("sync", cudaDeviceSynchronize());
    ASK("malloc", cudaMalloc(&q, 16));
}

/* Legacy stream while a blocking stream captures. */
static void implicit(void)
{
    MUST(cudaMalloc((void **)&p, 4096));
    MUST(cudaStreamCreate(&s));
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    store<<<1, 1>>>(p, 1);
    ASK("launch", cudaGetLastError());
    say("then", "%s", status_of(s));
    ASK("end", cudaStreamEndCapture(s, &graph));
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    ASK("memcpy", cudaMemcpy(text, p, 4, cudaMemcpyDeviceToHost));
    say("then2", "%s", status_of(s));
    ASK("end2", cudaStreamEndCapture(s, &graph));
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    ASK("query", cudaStreamQuery(0));
    say("then3", "%s", status_of(s));
    ASK("end3", cudaStreamEndCapture(s, &graph));
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    ASK("capturing legacy", ({
            enum cudaStreamCaptureStatus status;
            cudaStreamIsCapturing(cudaStreamLegacy, &status);
        }));
    ASK("info legacy", ({
            enum cudaStreamCaptureStatus status;
            cudaStreamGetCaptureInfo(cudaStreamLegacy, &status, NULL, NULL, NULL, NULL, NULL);
        }));
    say("then4", "%s", status_of(s));
    ASK("end4", cudaStreamEndCapture(s, &graph));
}

const struct group groups[] = {
    GROUP(create),
    GROUP(defaults),
    GROUP(order),
    GROUP(wait_event),
    GROUP(events),
    GROUP(attributes),
    GROUP(capture),
    GROUP(fork_join),
    DURING_ALL(malloc, cudaMalloc(&q, 16)),
    DURING_ALL(free, cudaFree(p)),
    DURING_ALL(free_null, cudaFree(NULL)),
    DURING_ALL(malloc_host, cudaMallocHost(&q, 16)),
    DURING_ALL(malloc_managed, cudaMallocManaged(&q, 16)),
    DURING_ALL(malloc_async, cudaMallocAsync(&q, 16, s)),
    DURING_ALL(malloc_async_other, cudaMallocAsync(&q, 16, t)),
    DURING_ALL(free_async, cudaFreeAsync(p, s)),
    DURING_ALL(register, cudaHostRegister(text, sizeof text, 0)),
    DURING_ALL(device_synchronize, cudaDeviceSynchronize()),
    DURING_ALL(stream_synchronize, cudaStreamSynchronize(s)),
    DURING_ALL(stream_synchronize_other, cudaStreamSynchronize(t)),
    DURING_ALL(stream_query, cudaStreamQuery(s)),
    DURING_ALL(stream_query_other, cudaStreamQuery(t)),
    DURING_ALL(event_query, cudaEventQuery(e)),
    DURING_ALL(event_synchronize, cudaEventSynchronize(e)),
    DURING_ALL(event_create, cudaEventCreate(&e)),
    DURING_ALL(stream_create, cudaStreamCreate(&t)),
    DURING_ALL(stream_destroy, cudaStreamDestroy(t)),
    DURING_ALL(memcpy, cudaMemcpy(text, p, 4, cudaMemcpyDeviceToHost)),
    DURING_ALL(memcpy_0, cudaMemcpy(text, p, 0, cudaMemcpyDeviceToHost)),
    DURING_ALL(memcpy_async, cudaMemcpyAsync(text, p, 4, cudaMemcpyDeviceToHost, s)),
    DURING_ALL(memcpy_async_other, cudaMemcpyAsync(text, p, 4, cudaMemcpyDeviceToHost, t)),
    DURING_ALL(memset, cudaMemset(p, 0, 4)),
    DURING_ALL(to_symbol, cudaMemcpyToSymbol(variable, text, 4)),
    DURING_ALL(to_symbol_async, cudaMemcpyToSymbolAsync(variable, text, 4, 0, cudaMemcpyHostToDevice, s)),
    DURING_ALL(launch_null, (store<<<1, 1>>>(p, 1), cudaGetLastError())),
    DURING_ALL(launch_bad, (store<<<0, 1, 0, s>>>(p, 1), cudaGetLastError())),
    DURING_ALL(host_function, cudaLaunchHostFunc(s, nothing, NULL)),
    DURING_ALL(callback, cudaStreamAddCallback(s, legacy_callback, NULL, 0)),
    DURING_ALL(attach, cudaStreamAttachMemAsync(s, p, 0, cudaMemAttachGlobal)),
    DURING_ALL(memory_info, cudaMemGetInfo(&n, &n)),
    DURING_ALL(symbol_address, cudaGetSymbolAddress(&q, variable)),
    DURING_ALL(set_limit, cudaDeviceSetLimit(cudaLimitStackSize, 4096)),
    DURING_ALL(function_attribute, cudaFuncSetAttribute(store, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024)),
    DURING_ALL(prefetch, cudaMemPrefetchAsync(p, 4096, ON_DEVICE, 0, s)),
    DURING_ALL(advise, cudaMemAdvise(p, 4096, cudaMemAdviseSetReadMostly, ON_DEVICE)),
    DURING_ALL(pointer_attributes, ({
                   struct cudaPointerAttributes a;
                   cudaPointerGetAttributes(&a, p);
               })),
    DURING_ALL(graph_create, cudaGraphCreate(&graph, 0)),
    DURING_ALL(wait_uncaptured, (cudaEventRecord(f, t), cudaStreamWaitEvent(s, f, 0))),
    DURING_ALL(record_external, cudaEventRecordWithFlags(f, s, cudaEventRecordExternal)),
    DURING_ALL(wait_external, cudaStreamWaitEvent(s, f, cudaEventWaitExternal)),
    DURING(reset, Relaxed, cudaDeviceReset()),
    GROUP(threads_global),
    GROUP(threads_thread_local),
    GROUP(threads_relaxed),
    GROUP(exchange),
    GROUP(to_graph),
    GROUP(destroyed_in_capture),
    GROUP(implicit),
    LAST_GROUP,
};
