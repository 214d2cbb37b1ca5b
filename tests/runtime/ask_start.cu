/* Initialisation: devices and contexts of threads, the driver's contexts, flags, reset, the end of a
 * process. */
#include "ask.h"
#include <pthread.h>

__global__ void store(int *p, int v) { *p = v; }
__device__ int variable = 5;
__managed__ int managed = 6;

static void *p, *q;
static int i0, i1;
static size_t s0, s1;
static unsigned u0;
static char text[64];
static struct cudaDeviceProp properties;

/* ---- devices of threads */
static void ordinals(void)
{
    int d = -7;
    static const int bad[] = { -1, 99, 1 << 30, -2147483647 };
    for (size_t i = 0; i < COUNT(bad); i++) {
        ASK(keyf("set.%d", bad[i]), cudaSetDevice(bad[i]));
        ASKV(keyf("get.%d", bad[i]), cudaGetDevice(&d), "%d", d);
        ASKV(keyf("attribute.%d", bad[i]), cudaDeviceGetAttribute(&i0, cudaDevAttrWarpSize, bad[i]), "%d", i0);
        ASK(keyf("properties.%d", bad[i]), cudaGetDeviceProperties(&properties, bad[i]));
        ASK(keyf("init.%d", bad[i]), cudaInitDevice(bad[i], 0, 0));
        ASK(keyf("pci.%d", bad[i]), cudaDeviceGetPCIBusId(text, sizeof text, bad[i]));
        cudaMemPool_t pool;
        ASK(keyf("pool.%d", bad[i]), cudaDeviceGetDefaultMemPool(&pool, bad[i]));
        ASK(keyf("getpool.%d", bad[i]), cudaDeviceGetMemPool(&pool, bad[i]));
        ASK(keyf("peer.%d", bad[i]), cudaDeviceCanAccessPeer(&i0, 0, bad[i]));
        ASK(keyf("enable.%d", bad[i]), cudaDeviceEnablePeerAccess(bad[i], 0));
        ASK(keyf("disable.%d", bad[i]), cudaDeviceDisablePeerAccess(bad[i]));
        ASK(keyf("p2p.%d", bad[i]), cudaDeviceGetP2PAttribute(&i0, cudaDevP2PAttrPerformanceRank, 0, bad[i]));
        ASK(keyf("trim.%d", bad[i]), cudaDeviceGraphMemTrim(bad[i]));
        ASK(keyf("valid.%d", bad[i]), cudaSetValidDevices((int *)&bad[i], 1));
    }
    state("after");
    ASK("set.0", cudaSetDevice(0));
    state("set.0");
    ASK("set.0 again", cudaSetDevice(0));
    ASK("set.bad", cudaSetDevice(64));
    state("set.bad");
    RISK("get.null", cudaGetDevice(NULL));
    RISK("count.null", cudaGetDeviceCount(NULL));
    RISK("properties.null", cudaGetDeviceProperties(NULL, 0));
    RISK("attribute.null", cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0));
    RISK("pci.null", cudaDeviceGetPCIBusId(NULL, 20, 0));
    RISK("bypci.null", cudaDeviceGetByPCIBusId(NULL, "0"));
    RISK("bypci.nullname", cudaDeviceGetByPCIBusId(&i0, NULL));
    RISK("choose.null", cudaChooseDevice(NULL, &properties));
    RISK("choose.nullprop", cudaChooseDevice(&i0, NULL));
    RISK("version.null", cudaDriverGetVersion(NULL));
    RISK("runtime.null", cudaRuntimeGetVersion(NULL));
    RISK("flags.null", cudaGetDeviceFlags(NULL));
    RISK("limit.null", cudaDeviceGetLimit(NULL, cudaLimitStackSize));
    RISK("range.null", cudaDeviceGetStreamPriorityRange(NULL, NULL));
    RISK("cache.null", cudaDeviceGetCacheConfig(NULL));
    RISK("peer.null", cudaDeviceCanAccessPeer(NULL, 0, 0));
    RISK("meminfo.null", cudaMemGetInfo(NULL, NULL));
}

static void valid_devices(void)
{
    int list[4] = { 0, 0, 0, 0 }, d = -7;
    int wrong[2] = { 0, 57 };
    ASK("len0", cudaSetValidDevices(list, 0));
    ASK("null", cudaSetValidDevices(NULL, 0));
    RISK("null1", cudaSetValidDevices(NULL, 1));
    ASK("negative", cudaSetValidDevices(list, -1));
    ASK("one", cudaSetValidDevices(list, 1));
    ASK("twice", cudaSetValidDevices(list, 2));
    ASK("wrong", cudaSetValidDevices(wrong, 2));
    ASK("toomany", cudaSetValidDevices(list, 400));
    ASKV("device", cudaGetDevice(&d), "%d", d);
    state("before");
    ASK("malloc", cudaMalloc(&p, 16));
    state("after");
    ASK("active", cudaSetValidDevices(list, 1));
    ASK("choose", cudaChooseDevice(&d, &properties));
    ASK("free", cudaFree(p));
}

static void init_device(void)
{
    int d = -7;
    state("start");
    ASK("flags1", cudaInitDevice(0, 0, 1));
    ASK("flags2", cudaInitDevice(0, 0, 2));
    ASK("flags3", cudaInitDevice(0, 0, 3));
    state("after flags");
    ASK("devflags bad", cudaInitDevice(0, 0x4000, cudaInitDeviceFlagsAreValid));
    ASK("devflags bad unused", cudaInitDevice(0, 0x4000, 0));
    ASK("yield", cudaInitDevice(0, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid));
    state("yield");
    ASKV("get", cudaGetDeviceFlags(&u0), "%x", u0);
    ASKV("device", cudaGetDevice(&d), "%d", d);
    state("get");
    ASK("malloc", cudaMalloc(&p, 16));
    state("malloc");
    ASK("block", cudaInitDevice(0, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
    ASKV("get2", cudaGetDeviceFlags(&u0), "%x", u0);
    state("block");
}

static void flags_before(void)
{
    static const unsigned flags[] = { 0,    1,    2,    4,     3,    5,    6,    7,     8,      0x10,       0x18,
                                      0x20, 0x40, 0x80, 0x100, 0x87, 0x8c, 0xff, 0x200, 0x1000, 0x80000000u };
    ASKV("get.first", cudaGetDeviceFlags(&u0), "%x", u0);
    state("first");
    for (size_t i = 0; i < COUNT(flags); i++) {
        ASK(keyf("set.%x", flags[i]), cudaSetDeviceFlags(flags[i]));
        ASKV(keyf("get.%x", flags[i]), cudaGetDeviceFlags(&u0), "%x", u0);
        state(keyf("state.%x", flags[i]));
    }
}

static void flags_set_first(void)
{
    ASK("set.4", cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    state("set");
    ASK("malloc", cudaMalloc(&p, 1));
    state("malloc");
    ASKV("get", cudaGetDeviceFlags(&u0), "%x", u0);
}

static void flags_after(void)
{
    static const unsigned flags[] = { 0, 1, 2, 4, 3, 7, 8, 0x10, 0x1c, 0x80, 0x200 };
    ASK("malloc", cudaMalloc(&p, 16));
    ASKV("get.first", cudaGetDeviceFlags(&u0), "%x", u0);
    for (size_t i = 0; i < COUNT(flags); i++) {
        ASK(keyf("set.%x", flags[i]), cudaSetDeviceFlags(flags[i]));
        ASKV(keyf("get.%x", flags[i]), cudaGetDeviceFlags(&u0), "%x", u0);
        state(keyf("state.%x", flags[i]));
    }
}

/* ---- contexts of the driver API */
static void driver_context_current(void)
{
    CUcontext own = NULL, popped = NULL;
    int d = -7;
    say("init", "%d", DRIVER(cuInit)(0));
    state("init");
    say("create", "%d", DRIVER(cuCtxCreate)(&own, NULL, CU_CTX_SCHED_YIELD, 0));
    state("create");
    ASKV("get", cudaGetDevice(&d), "%d", d);
    ASKV("flags", cudaGetDeviceFlags(&u0), "%x", u0);
    ASK("malloc", cudaMalloc(&p, 100));
    state("malloc");
    CUcontext of = NULL;
    say("context", "%d %s", DRIVER(cuPointerGetAttribute)(&of, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)p),
        of == own ? "own" : "other");
    store<<<1, 1>>>((int *)p, 4);
    ASK("launch", cudaGetLastError());
    ASK("sync", cudaDeviceSynchronize());
    ASK("set.0", cudaSetDevice(0));
    state("set.0");
    store<<<1, 1>>>((int *)p, 4);
    ASK("launch2", cudaGetLastError());
    ASK("sync2", cudaDeviceSynchronize());
    ASK("free", cudaFree(p));
    say("push", "%d", DRIVER(cuCtxPushCurrent)(own));
    state("push");
    ASK("malloc2", cudaMalloc(&p, 100));
    state("malloc2");
    ASK("symbol", cudaGetSymbolAddress(&q, variable));
    ASK("managed", cudaGetSymbolAddress(&q, managed));
    ASK("streamcreate", ({
            cudaStream_t s;
            cudaStreamCreate(&s);
        }));
    say("pop", "%d", DRIVER(cuCtxPopCurrent)(&popped));
    state("pop");
    ASK("free2", cudaFree(p));
    say("destroy", "%d", DRIVER(cuCtxDestroy)(own));
    state("destroy");
    ASK("malloc3", cudaMalloc(&p, 100));
    state("malloc3");
}

static void driver_context_destroyed(void)
{
    CUcontext own = NULL;
    say("init", "%d", DRIVER(cuInit)(0));
    say("create", "%d", DRIVER(cuCtxCreate)(&own, NULL, 0, 0));
    ASK("malloc", cudaMalloc(&p, 100));
    say("destroy", "%d", DRIVER(cuCtxDestroy)(own));
    state("destroy");
    ASK("free", cudaFree(p));
    state("free");
    ASK("malloc2", cudaMalloc(&p, 100));
    state("malloc2");
}

static void driver_set_null(void)
{
    ASK("malloc", cudaMalloc(&p, 100));
    state("malloc");
    say("null", "%d", DRIVER(cuCtxSetCurrent)(NULL));
    state("null");
    int d = -7;
    ASKV("get", cudaGetDevice(&d), "%d", d);
    state("get");
    ASKV("pointer", cudaMemset(p, 1, 100), " ");
    state("memset");
    say("null2", "%d", DRIVER(cuCtxSetCurrent)(NULL));
    ASK("sync", cudaDeviceSynchronize());
    state("sync");
    say("null3", "%d", DRIVER(cuCtxSetCurrent)(NULL));
    ASK("free", cudaFree(p));
    state("free");
    say("null4", "%d", DRIVER(cuCtxSetCurrent)(NULL));
    cudaEvent_t e = NULL;
    ASK("event", cudaEventCreate(&e));
    state("event");
    say("null5", "%d", DRIVER(cuCtxSetCurrent)(NULL));
    ASK("query", cudaEventQuery(e));
    state("query");
    say("null6", "%d", DRIVER(cuCtxSetCurrent)(NULL));
    store<<<1, 1>>>((int *)NULL + 0, 0);
    state("launch");
}

static void driver_primary(void)
{
    CUcontext primary = NULL;
    say("init", "%d", DRIVER(cuInit)(0));
    say("retain", "%d", DRIVER(cuDevicePrimaryCtxRetain)(&primary, 0));
    state("retain");
    say("set", "%d", DRIVER(cuCtxSetCurrent)(primary));
    state("set");
    ASK("malloc", cudaMalloc(&p, 100));
    state("malloc");
    say("release", "%d", DRIVER(cuDevicePrimaryCtxRelease)(0));
    state("release");
    ASK("memset", cudaMemset(p, 0, 100));
    say("release2", "%d", DRIVER(cuDevicePrimaryCtxRelease)(0));
    state("release2");
    say("release3", "%d", DRIVER(cuDevicePrimaryCtxRelease)(0));
    state("release3");
}

static void driver_primary_reset(void)
{
    ASK("malloc", cudaMalloc(&p, 100));
    say("reset", "%d", DRIVER(cuDevicePrimaryCtxReset)(0));
    state("reset");
    ASK("memset", cudaMemset(p, 0, 100));
    state("memset");
    ASK("free", cudaFree(p));
    ASK("malloc2", cudaMalloc(&p, 100));
    state("malloc2");
    ASK("set", cudaSetDevice(0));
    state("set");
    ASK("malloc3", cudaMalloc(&p, 100));
    state("malloc3");
}

static void driver_handles(void)
{
    cudaStream_t s;
    CUstream t;
    cudaEvent_t e;
    MUST(cudaStreamCreate(&s));
    MUST(cudaEventCreate(&e));
    MUST(cudaMalloc(&p, 100));
    say("streamquery", "%d", DRIVER(cuStreamQuery)(s));
    say("eventquery", "%d", DRIVER(cuEventQuery)(e));
    say("memset", "%d", DRIVER(cuMemsetD8)((CUdeviceptr)p, 1, 100));
    say("free", "%d", DRIVER(cuMemFree)((CUdeviceptr)p));
    ASK("freeagain", cudaFree(p));
    say("create", "%d", DRIVER(cuStreamCreate)(&t, 0));
    ASK("sync", cudaStreamSynchronize(t));
    ASK("destroy", cudaStreamDestroy(t));
    say("destroy2", "%d", DRIVER(cuStreamDestroy)(s));
    CUdeviceptr d = 0;
    say("alloc", "%d", DRIVER(cuMemAlloc)(&d, 100));
    ASK("free2", cudaFree((void *)d));
    say("host", "%d", DRIVER(cuMemAllocHost)(&q, 100));
    ASK("freehost", cudaFreeHost(q));
}

/* ---- threads */
static void *in_thread(void *)
{
    int d = -7;
    state("thread");
    ASKV("thread.get", cudaGetDevice(&d), "%d", d);
    state("thread.get");
    RAW("thread.peek", cudaPeekAtLastError());
    ASK("thread.memset", cudaMemset(p, 2, 16));
    state("thread.memset");
    RAW("thread.bad", cudaMalloc(NULL, 1));
    ASK("thread.sync", cudaDeviceSynchronize());
    return NULL;
}

static void threads(void)
{
    pthread_t t;
    MUST(cudaMalloc(&p, 16));
    RAW("bad", cudaSetDevice(77));
    pthread_create(&t, NULL, in_thread, NULL);
    pthread_join(t, NULL);
    RAW("peek", cudaPeekAtLastError());
    RAW("last", cudaGetLastError());
    RAW("last2", cudaGetLastError());
    say("memory", "%s", all_on_device(p, 2, 16));
}

static void *flags_in_thread(void *)
{
    ASKV("thread.get", cudaGetDeviceFlags(&u0), "%x", u0);
    ASK("thread.set", cudaSetDeviceFlags(cudaDeviceScheduleYield));
    ASKV("thread.get2", cudaGetDeviceFlags(&u0), "%x", u0);
    state("thread");
    return NULL;
}

static void flags_of_threads(void)
{
    pthread_t t;
    ASK("set", cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    pthread_create(&t, NULL, flags_in_thread, NULL);
    pthread_join(t, NULL);
    ASKV("get", cudaGetDeviceFlags(&u0), "%x", u0);
    ASK("malloc", cudaMalloc(&p, 16));
    ASKV("get2", cudaGetDeviceFlags(&u0), "%x", u0);
    state("end");
}

static void *context_in_thread(void *context)
{
    DRIVER(cuCtxSetCurrent)((CUcontext)context);
    state("thread");
    ASK("thread.malloc", cudaMalloc(&q, 16));
    state("thread.malloc");
    ASK("thread.free", cudaFree(q));
    return NULL;
}

static void context_of_thread(void)
{
    pthread_t t;
    CUcontext own;
    MUST(cudaMalloc(&p, 16));
    state("main");
    say("create", "%d", DRIVER(cuCtxCreate)(&own, NULL, 0, 0));
    say("pop", "%d", DRIVER(cuCtxPopCurrent)(NULL));
    state("popped");
    pthread_create(&t, NULL, context_in_thread, own);
    pthread_join(t, NULL);
    state("end");
}

/* ---- reset */
static cudaStream_t stream;
static cudaEvent_t event;

static void reset(void)
{
    void *pinned, *managed_memory;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaArray_t array;
    struct cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    MUST(cudaMalloc(&p, 100));
    MUST(cudaMallocHost(&pinned, 100));
    MUST(cudaMallocManaged(&managed_memory, 100));
    MUST(cudaMallocArray(&array, &format, 16, 16));
    MUST(cudaGraphCreate(&graph, 0));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    int v = 99;
    MUST(cudaMemcpyToSymbol(variable, &v, sizeof v));
    state("before");
    ASK("reset", cudaDeviceReset());
    state("reset");
    int d = -7;
    ASKV("get", cudaGetDevice(&d), "%d", d);
    ASKV("flags", cudaGetDeviceFlags(&u0), "%x", u0);
    state("flags");
    ASK("memset", cudaMemset(p, 0, 100));
    state("memset");
    ASK("free", cudaFree(p));
    ASK("freehost", cudaFreeHost(pinned));
    ASK("freemanaged", cudaFree(managed_memory));
    ASKV("symbol", cudaMemcpyFromSymbol(&v, variable, sizeof v), "%d", v);
    ASK("graph", cudaGraphDestroy(graph));
    ASK("malloc", cudaMalloc(&p, 100));
    ASK("malloc.free", cudaFree(p));
    ASK("again", cudaDeviceReset());
    ASK("again2", cudaDeviceReset());
    state("again");
    ASK("sync2", cudaDeviceSynchronize());
    state("sync2");
}

static void reset_managed(void)
{
    managed = 98;
    store<<<1, 1>>>(&managed, 97);
    ASK("before", cudaDeviceSynchronize());
    ASK("reset", cudaDeviceReset());
    store<<<1, 1>>>(&managed, 96);
    ASK("launch", cudaGetLastError());
    ASK("sync", cudaDeviceSynchronize());
    say("value", "%d", managed);
}

static void reset_pointers(void)
{
    struct cudaPointerAttributes a;
    MUST(cudaMalloc(&p, 100));
    MUST(cudaMallocHost(&q, 100));
    ASK("reset", cudaDeviceReset());
    memset(&a, 0, sizeof a);
    ASKV("device", cudaPointerGetAttributes(&a, p), "%d %d", a.type, a.device);
    state("device");
    memset(&a, 0, sizeof a);
    ASKV("host", cudaPointerGetAttributes(&a, q), "%d %d", a.type, a.device);
    char bytes[100];
    ASK("memcpy", cudaMemcpy(bytes, p, 100, cudaMemcpyDeviceToHost));
    ASK("default", cudaMemcpy(bytes, p, 100, cudaMemcpyDefault));
}

static void reset_limits(void)
{
    ASK("set", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 * MiB));
    ASKV("get", cudaDeviceGetLimit(&s0, cudaLimitPrintfFifoSize), "%zu", s0);
    ASK("flags", cudaSetDeviceFlags(cudaDeviceScheduleYield));
    ASK("reset", cudaDeviceReset());
    ASKV("get2", cudaDeviceGetLimit(&s0, cudaLimitPrintfFifoSize), "%zu", s0);
    ASKV("flags2", cudaGetDeviceFlags(&u0), "%x", u0);
    state("end");
}

static void *sync_in_thread(void *)
{
    state("thread");
    ASK("thread.sync", cudaDeviceSynchronize());
    state("thread.sync");
    ASK("thread.malloc", cudaMalloc(&q, 10));
    return NULL;
}

static void reset_and_threads(void)
{
    pthread_t t;
    MUST(cudaMalloc(&p, 16));
    ASK("reset", cudaDeviceReset());
    pthread_create(&t, NULL, sync_in_thread, NULL);
    pthread_join(t, NULL);
    state("main");
    ASK("free", cudaFree(q));
    state("free");
}

static void reset_of_own_context(void)
{
    CUcontext own = NULL;
    say("init", "%d", DRIVER(cuInit)(0));
    say("create", "%d", DRIVER(cuCtxCreate)(&own, NULL, 0, 0));
    ASK("malloc", cudaMalloc(&p, 16));
    ASK("reset", cudaDeviceReset());
    state("reset");
    ASK("free", cudaFree(p));
    state("free");
}

static void reset_pending(void)
{
    MUST(cudaMalloc(&p, 64 * MiB));
    for (int i = 0; i < 20; i++) cudaMemsetAsync(p, i, 64 * MiB, 0);
    ASK("reset", cudaDeviceReset());
    ASK("malloc", cudaMalloc(&p, 16));
}

/* ---- the end of a process */
static void at_exit(void)
{
    RAW("atexit.malloc", cudaMalloc(&p, 16));
    RAW("atexit.sync", cudaDeviceSynchronize());
    RAW("atexit.query", cudaStreamQuery(stream));
    RAW("atexit.last", cudaGetLastError());
    int d = -7;
    RAW("atexit.get", cudaGetDevice(&d));
    RAW("atexit.free", cudaFree(q));
    RAW("atexit.count", cudaGetDeviceCount(&d));
}

static struct at_destruction {
    int on = 0;
    ~at_destruction()
    {
        if (!on) return;
        RAW("destructor.malloc", cudaMalloc(&p, 16));
        RAW("destructor.free", cudaFree(q));
        RAW("destructor.sync", cudaDeviceSynchronize());
        RAW("destructor.query", cudaStreamQuery(stream));
        RAW("destructor.destroy", cudaStreamDestroy(stream));
        RAW("destructor.eventdestroy", cudaEventDestroy(event));
        RAW("destructor.freehost", cudaFreeHost(NULL));
        RAW("destructor.set", cudaSetDevice(0));
        RAW("destructor.last", cudaGetLastError());
    }
} destruction;

static void exit_after_use(void)
{
    MUST(cudaMalloc(&q, 16));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaEventCreate(&event));
    atexit(at_exit);
    destruction.on = 1;
    exit(0);
}

static void exit_registered_first(void)
{
    atexit(at_exit);
    MUST(cudaMalloc(&q, 16));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaEventCreate(&event));
    exit(0);
}

static void exit_without_use(void)
{
    atexit(at_exit);
    destruction.on = 1;
    exit(0);
}

static void exit_after_reset(void)
{
    MUST(cudaMalloc(&q, 16));
    MUST(cudaDeviceReset());
    atexit(at_exit);
    exit(0);
}

static void count_down(void *n)
{
    usleep(50000);
    RAW(keyf("host function %d", *(int *)n), cudaSuccess);
}

static void exit_with_work(void)
{
    static int one = 1;
    MUST(cudaStreamCreate(&stream));
    MUST(cudaLaunchHostFunc(stream, count_down, &one));
    exit(0);
}

const struct group groups[] = {
    GROUP(ordinals),
    GROUP(valid_devices),
    GROUP(init_device),
    GROUP(flags_before),
    GROUP(flags_set_first),
    GROUP(flags_after),
    GROUP(driver_context_current),
    GROUP(driver_context_destroyed),
    GROUP(driver_set_null),
    GROUP(driver_primary),
    GROUP(driver_primary_reset),
    GROUP(driver_handles),
    GROUP(threads),
    GROUP(flags_of_threads),
    GROUP(context_of_thread),
    GROUP(reset),
    GROUP(reset_managed),
    GROUP(reset_pointers),
    GROUP(reset_limits),
    GROUP(reset_and_threads),
    GROUP(reset_of_own_context),
    GROUP(reset_pending),
    GROUP(exit_after_use),
    GROUP(exit_registered_first),
    GROUP(exit_without_use),
    GROUP(exit_after_reset),
    GROUP(exit_with_work),
    LAST_GROUP,
};
