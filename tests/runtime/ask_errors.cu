/* Errors: names and strings, which calls set, keep and clear the last error, what remains after a kernel's fault. */
#include "ask.h"
#include <assert.h>
#include <pthread.h>

static __global__ void store(int *p, int v) { *p = v; }

static __global__ void fault(int kind, int *p)
{
    switch (kind) {
    case 0: *(volatile int *)16 = 1; break;
    case 1: *(volatile int *)((char *)p + 1) = 1; break;
    case 2: __trap(); break;
    case 3: assert(p == NULL); break;
    case 4: *(volatile int *)((char *)p + (1ul << 45)) = 1; break;
    case 5: *p = *(volatile int *)16; break;
    case 6: atomicAdd((int *)16, 1); break;
    case 7: {
        extern __shared__ int shared[];
        *(volatile int *)&shared[1 << 20] = 1;
        break;
    }
    }
}

static void *p, *q;

static void names(void)
{
    for (int i = -1; i <= 1000; i++) {
        const char *name = cudaGetErrorName((cudaError_t)i), *string = cudaGetErrorString((cudaError_t)i);
        if (i < 12 || !name || strcmp(name, "unrecognized error code") || i % 100 == 0) {
            say(keyf("name.%d", i), "%s", name ? name : "(null)");
            say(keyf("string.%d", i), "%s", string ? string : "(null)");
        }
    }
    say("name.10000", "%s", cudaGetErrorName((cudaError_t)10000));
    say("name.10001", "%s", cudaGetErrorName((cudaError_t)10001));
    RAW("last", cudaGetLastError());
}

/* ---- what sets, keeps, clears */
static void last(void)
{
    RAW("start", cudaGetLastError());
    RAW("bad", cudaMalloc(NULL, 1));
    RAW("peek", cudaPeekAtLastError());
    RAW("peek2", cudaPeekAtLastError());
    RAW("get", cudaGetLastError());
    RAW("get2", cudaGetLastError());
    RAW("bad2", cudaMalloc(NULL, 1));
    RAW("good", cudaMalloc(&p, 16));
    RAW("after good", cudaPeekAtLastError());
    RAW("worse", cudaSetDevice(99));
    RAW("after worse", cudaPeekAtLastError());
    RAW("sync", cudaDeviceSynchronize());
    RAW("after sync", cudaPeekAtLastError());
    store<<<1, 1>>>((int *)p, 1);
    RAW("after launch", cudaPeekAtLastError());
    store<<<0, 1>>>((int *)p, 1);
    RAW("after bad launch", cudaPeekAtLastError());
    store<<<1, 1>>>((int *)p, 1);
    RAW("after good launch", cudaPeekAtLastError());
    RAW("clear", cudaGetLastError());
    store<<<1, 2000>>>((int *)p, 1);
    RAW("bad launch", cudaGetLastError());
    RAW("sync2", cudaDeviceSynchronize());
    RAW("last2", cudaGetLastError());
    store<<<1, 2000>>>((int *)p, 1);
    RAW("sync3", cudaDeviceSynchronize());
    RAW("last3", cudaGetLastError());
    store<<<1, 2000>>>((int *)p, 1);
    RAW("free", cudaFree(p));
    RAW("last4", cudaGetLastError());
    RAW("name", (cudaGetErrorName((cudaError_t)123456), cudaPeekAtLastError()));
}

static void not_ready(void)
{
    cudaStream_t s;
    cudaEvent_t e, f;
    static struct gate gate;
    float ms = -1;
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&e));
    MUST(cudaEventCreate(&f));
    RAW("fresh", cudaEventQuery(e));
    MUST(cudaEventRecord(f, s));
    MUST(cudaStreamSynchronize(s));
    gate_close(&gate, s);
    MUST(cudaEventRecord(e, s));
    RAW("stream", cudaStreamQuery(s));
    RAW("peek", cudaPeekAtLastError());
    RAW("event", cudaEventQuery(e));
    RAW("peek2", cudaPeekAtLastError());
    RAW("elapsed", cudaEventElapsedTime(&ms, f, e));
    RAW("peek3", cudaPeekAtLastError());
    RAW("get3", cudaGetLastError());
    RAW("bad", cudaMalloc(NULL, 1));
    RAW("stream2", cudaStreamQuery(s));
    RAW("peek4", cudaPeekAtLastError());
    gate_open(&gate);
    RAW("sync", cudaStreamSynchronize(s));
    RAW("stream3", cudaStreamQuery(s));
    RAW("event3", cudaEventQuery(e));
    RAW("peek5", cudaPeekAtLastError());
    RAW("get5", cudaGetLastError());
}

/* Calls that answer an error: is it the last error then? ASK shows where it is not. */
static void which_set(void)
{
    int v = 0;
    size_t n = 0;
    void *x = NULL;
    cudaStream_t s = NULL;
    cudaEvent_t e = NULL;
    cudaGraph_t g = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node = NULL;
    cudaFuncAttributes fa;
    cudaPointerAttributes pa;
    char text[64];
    ASK("malloc", cudaMalloc(NULL, 1));
    ASK("malloc huge", cudaMalloc(&x, 1ul << 50));
    ASK("malloc max", cudaMalloc(&x, ~0ul));
    ASK("free", cudaFree((void *)0x1234));
    ASK("freehost", cudaFreeHost((void *)0x1234));
    ASK("freearray", cudaFreeArray((cudaArray_t)NULL));
    ASK("hostalloc", cudaHostAlloc(&x, 1, 0xffff));
    ASK("register", cudaHostRegister(NULL, 1, 0));
    ASK("unregister", cudaHostUnregister(text));
    ASK("hostflags", cudaHostGetFlags((unsigned *)&v, text));
    ASK("hostpointer", cudaHostGetDevicePointer(&x, text, 0));
    ASK("managed", cudaMallocManaged(&x, 0));
    ASK("managed flags", cudaMallocManaged(&x, 16, 77));
    ASK("pitch", cudaMallocPitch(&x, NULL, 16, 16));
    ASK("memcpy kind", cudaMemcpy(text, text, 1, (enum cudaMemcpyKind)17));
    ASK("memcpy null", cudaMemcpy(NULL, text, 1, cudaMemcpyHostToDevice));
    ASK("memset", cudaMemset(NULL, 1, 16));
    ASK("attributes", cudaPointerGetAttributes(NULL, text));
    ASK("attributes host", cudaPointerGetAttributes(&pa, text));
    ASK("function", cudaFuncGetAttributes(&fa, (void *)text));
    ASK("function null", cudaFuncGetAttributes(&fa, (void *)NULL));
    ASK("launch", cudaLaunchKernel((void *)text, dim3(1), dim3(1), NULL, 0, 0));
    ASK("symbol", cudaGetSymbolAddress(&x, (void *)text));
    ASK("symbolsize", cudaGetSymbolSize(&n, (void *)text));
    ASK("tosymbol", cudaMemcpyToSymbol((void *)text, text, 1));
    ASK("streamflags", cudaStreamCreateWithFlags(&s, 99));
    ASK("eventflags", cudaEventCreateWithFlags(&e, 99));
    ASK("eventrecord", cudaEventRecord(NULL, 0));
    ASK("eventdestroy", cudaEventDestroy(NULL));
    ASK("streamdestroy", cudaStreamDestroy(NULL));
    ASK("graph", cudaGraphCreate(&g, 1));
    ASK("instantiate", cudaGraphInstantiate(&exec, NULL, 0));
    ASK("addnode", cudaGraphAddEmptyNode(&node, NULL, NULL, 0));
    ASK("limit", cudaDeviceGetLimit(&n, (enum cudaLimit)99));
    ASK("attribute", cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)9999, 0));
    ASK("setdevice", cudaSetDevice(99));
    ASK("peer", cudaDeviceEnablePeerAccess(0, 0));
    ASK("peer off", cudaDeviceDisablePeerAccess(0));
    ASK("flags", cudaSetDeviceFlags(0x7777));
    ASK("busid", cudaDeviceGetByPCIBusId(&v, "nonsense"));
    ASK("profiler", cudaProfilerStop());
    ASK("endcapture", cudaStreamEndCapture(0, &g));
    ASK("begincapture", cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    ASK("freeasync", cudaFreeAsync((void *)0x1234, 0));
    ASK("hostfunc", cudaLaunchHostFunc(0, NULL, NULL));
    ASK("occupancy", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, (void *)text, 128, 0));
    ASK("entry", cudaGetDriverEntryPointByVersion(NULL, &x, 13000, 0, NULL));
    ASK("ipc", cudaIpcGetMemHandle((cudaIpcMemHandle_t *)text, text));
    ASK("advise", cudaMemAdvise(text, 1, (enum cudaMemoryAdvise)99, ON_DEVICE));
}

/* ---- per thread */
static void *in_thread(void *)
{
    RAW("thread.start", cudaPeekAtLastError());
    RAW("thread.bad", cudaMalloc(NULL, 1));
    RAW("thread.peek", cudaPeekAtLastError());
    return NULL;
}

static void threads(void)
{
    pthread_t t;
    RAW("bad", cudaSetDevice(99));
    pthread_create(&t, NULL, in_thread, NULL);
    pthread_join(t, NULL);
    RAW("peek", cudaPeekAtLastError());
    RAW("get", cudaGetLastError());
    RAW("get2", cudaGetLastError());
}

/* ---- after a fault */
static void *look(void *)
{
    RAW("thread.peek", cudaPeekAtLastError());
    RAW("thread.malloc", cudaMalloc(&q, 16));
    RAW("thread.last", cudaGetLastError());
    return NULL;
}

static void after_fault(int kind)
{
    cudaStream_t s;
    cudaEvent_t e;
    void *pinned;
    pthread_t t;
    char text[64] = "";
    int v = -7;
    size_t n = 0;
    cudaPointerAttributes pa;
    cudaFuncAttributes fa;
    memset(&pa, 0, sizeof pa);
    MUST(cudaStreamCreate(&s));
    MUST(cudaEventCreate(&e));
    MUST(cudaMalloc(&p, 64));
    MUST(cudaMallocHost(&pinned, 64));
    fault<<<1, 1, 0, s>>>(kind, (int *)p);
    RAW("launch", cudaGetLastError());
    RAW("sync", cudaStreamSynchronize(s));
    RAW("peek", cudaPeekAtLastError());
    RAW("get", cudaGetLastError());
    RAW("get2", cudaGetLastError());
    RAW("peek2", cudaPeekAtLastError());
    ASK("sync2", cudaDeviceSynchronize());
    ASK("streamquery", cudaStreamQuery(s));
    ASK("query0", cudaStreamQuery(0));
    ASK("eventquery", cudaEventQuery(e));
    ASK("eventrecord", cudaEventRecord(e, s));
    ASK("eventsync", cudaEventSynchronize(e));
    ASK("malloc", cudaMalloc(&q, 16));
    ASK("malloc null", cudaMalloc(NULL, 16));
    ASK("mallochost", cudaMallocHost(&q, 16));
    ASK("managed", cudaMallocManaged(&q, 16));
    ASK("memcpy", cudaMemcpy(text, p, 16, cudaMemcpyDeviceToHost));
    ASK("memcpy0", cudaMemcpy(text, p, 0, cudaMemcpyDeviceToHost));
    ASK("memcpyhost", cudaMemcpy(text, text + 32, 16, cudaMemcpyHostToHost));
    ASK("memset", cudaMemset(p, 0, 16));
    ASK("meminfo", cudaMemGetInfo(&n, &n));
    ASKV("pointer", cudaPointerGetAttributes(&pa, p), "%d", pa.type);
    ASK("function", cudaFuncGetAttributes(&fa, store));
    ASK("symbol", cudaGetKernel((cudaKernel_t *)&q, (void *)store));
    store<<<1, 1>>>((int *)p, 1);
    ASK("launch2", cudaPeekAtLastError());
    store<<<0, 1>>>((int *)p, 1);
    ASK("badlaunch", cudaPeekAtLastError());
    ASKV("getdevice", cudaGetDevice(&v), "%d", v);
    ASK("setdevice", cudaSetDevice(0));
    ASK("setdevice bad", cudaSetDevice(99));
    ASKV("count", cudaGetDeviceCount(&v), " ");
    ASKV("attribute", cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0), "%d", v);
    ASKV("limit", cudaDeviceGetLimit(&n, cudaLimitStackSize), "%zu", n);
    ASKV("version", cudaRuntimeGetVersion(&v), " ");
    ASKV("driver", cudaDriverGetVersion(&v), " ");
    ASK("streamcreate", cudaStreamCreate((cudaStream_t *)&q));
    ASK("eventcreate", cudaEventCreate((cudaEvent_t *)&q));
    ASK("graph", cudaGraphCreate((cudaGraph_t *)&q, 0));
    ASK("hostfunc", cudaLaunchHostFunc(
                        s, [](void *) {}, NULL));
    ASK("streamflags", cudaStreamGetFlags(s, (unsigned *)&v));
    ASK("register", cudaHostRegister(text, sizeof text, 0));
    ASK("flags", cudaGetDeviceFlags((unsigned *)&v));
    pthread_create(&t, NULL, look, NULL);
    pthread_join(t, NULL);
    ASK("free", cudaFree(p));
    ASK("freehost", cudaFreeHost(pinned));
    ASK("streamdestroy", cudaStreamDestroy(s));
    ASK("eventdestroy", cudaEventDestroy(e));
    RAW("reset", cudaDeviceReset());
    RAW("reset.peek", cudaPeekAtLastError());
    RAW("reset.get", cudaGetLastError());
    RAW("reset.get2", cudaGetLastError());
    ASK("reset.malloc", cudaMalloc(&p, 64));
    store<<<1, 1>>>((int *)p, 0x01010101);
    ASK("reset.launch", cudaPeekAtLastError());
    ASK("reset.sync", cudaDeviceSynchronize());
    if (!cudaPeekAtLastError()) say("reset.data", "%s", all_on_device(p, 1, 4));
}

static void fault_null(void) { after_fault(0); }
static void fault_misaligned(void) { after_fault(1); }
static void fault_trap(void) { after_fault(2); }
static void fault_assert(void) { after_fault(3); }
static void fault_far(void) { after_fault(4); }
static void fault_read(void) { after_fault(5); }
static void fault_atomic(void) { after_fault(6); }
static void fault_shared(void) { after_fault(7); }

/* The first call that notices is another than a synchronisation. */
static void noticed_by(const char *what)
{
    char text[64];
    MUST(cudaMalloc(&p, 64));
    fault<<<1, 1>>>(0, (int *)p);
    RAW("launch", cudaPeekAtLastError());
    if (!strcmp(what, "memcpy")) RAW("memcpy", cudaMemcpy(text, p, 16, cudaMemcpyDeviceToHost));
    if (!strcmp(what, "memset")) RAW("memset", cudaMemset(p, 0, 16)), RAW("sync", cudaDeviceSynchronize());
    if (!strcmp(what, "free")) RAW("free", cudaFree(p));
    if (!strcmp(what, "reset")) RAW("reset", cudaDeviceReset());
    if (!strcmp(what, "last")) usleep(300000), RAW("peek at once", cudaPeekAtLastError());
    RAW("peek", cudaPeekAtLastError());
    RAW("get", cudaGetLastError());
    RAW("malloc", cudaMalloc(&p, 64));
    RAW("last", cudaGetLastError());
}
static void noticed_by_memcpy(void) { noticed_by("memcpy"); }
static void noticed_by_memset(void) { noticed_by("memset"); }
static void noticed_by_free(void) { noticed_by("free"); }
static void noticed_by_reset(void) { noticed_by("reset"); }
static void noticed_by_none(void) { noticed_by("last"); }

/* A fault in one context, another context of the process. */
static void fault_of_driver_context(void)
{
    CUcontext own;
    MUST(cudaMalloc(&p, 64));
    say("create", "%d", DRIVER(cuCtxCreate)(&own, NULL, 0, 0));
    MUST(cudaMalloc(&q, 64));
    fault<<<1, 1>>>(0, (int *)q);
    RAW("launch", cudaGetLastError());
    RAW("sync", cudaDeviceSynchronize());
    RAW("last", cudaGetLastError());
    say("pop", "%d", DRIVER(cuCtxPopCurrent)(NULL));
    RAW("malloc", cudaMalloc(&q, 64));
    RAW("primary", cudaDeviceSynchronize());
    RAW("last2", cudaGetLastError());
}

const struct group groups[] = {
    GROUP(names),
    GROUP(last),
    GROUP(not_ready),
    GROUP(which_set),
    GROUP(threads),
    GROUP(fault_null),
    GROUP(fault_misaligned),
    GROUP(fault_trap),
    GROUP(fault_assert),
    GROUP(fault_far),
    GROUP(fault_read),
    GROUP(fault_atomic),
    GROUP(fault_shared),
    GROUP(noticed_by_memcpy),
    GROUP(noticed_by_memset),
    GROUP(noticed_by_free),
    GROUP(noticed_by_reset),
    GROUP(noticed_by_none),
    GROUP(fault_of_driver_context),
    LAST_GROUP,
};
