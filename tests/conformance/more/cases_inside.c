/* What functions of the host that streams call may ask the driver; calls while a stream waits; what belongs to one context
 * while another is current. */
#include "gate.h"
#include "walk.h"

static CUdeviceptr memory;
static CUevent event;
static CUstream other;
static CUmodule module;
static CUfunction function;
static void *pinned;
static const char *prefix;
static volatile int done;

/* What is not ready at once may be so in a moment. */
#define soon(query) \
    ({ \
        CUresult q_ = (query); \
        for (int i_ = 0; i_ < 20000 && q_ == CUDA_ERROR_NOT_READY; i_++) usleep(1000), q_ = (query); \
        q_; \
    })
#define ASK(key, call) rec(keyf("%s.%s", prefix, key), "%s", rname(call))

static void ask_all(void)
{
    CUdeviceptr p = 0;
    CUcontext c = (CUcontext)1;
    CUdevice d = -7;
    CUevent e = NULL;
    CUstream s = NULL;
    CUmodule m = NULL;
    CUfunction f = NULL;
    size_t a, b;
    int n;
    unsigned u;
    unsigned long long id;
    void *h;
    float ms;
    const char *t;
    ASK("current", cuCtxGetCurrent(&c));
    rec(keyf("%s.current.v", prefix), "%d %d", c == NULL, c == ctx0);
    ASK("device", cuCtxGetDevice(&d));
    ASK("set", cuCtxSetCurrent(ctx0));
    ASK("push", cuCtxPushCurrent(ctx0));
    ASK("pop", cuCtxPopCurrent(&c));
    ASK("flags", cuCtxGetFlags(&u));
    ASK("limit", cuCtxGetLimit(&a, 0));
    ASK("id", cuCtxGetId(ctx0, &id));
    ASK("version", cuCtxGetApiVersion(ctx0, &u));
    ASK("driver", cuDriverGetVersion(&n));
    ASK("error", cuGetErrorName(1, &t));
    ASK("count", cuDeviceGetCount(&n));
    ASK("attribute", cuDeviceGetAttribute(&n, 1, 0));
    ASK("get", cuDeviceGet(&d, 0));
    ASK("retain", cuDevicePrimaryCtxRetain(&c, 0));
    ASK("state", cuDevicePrimaryCtxGetState(0, &u, &n));
    ASK("init", cuInit(0));
    ASK("info", cuMemGetInfo(&a, &b));
    ASK("alloc", cuMemAlloc(&p, 64));
    ASK("free", cuMemFree(p));
    ASK("host", cuMemAllocHost(&h, 64));
    ASK("managed", cuMemAllocManaged(&p, 64, 1));
    ASK("pointer", cuPointerGetAttribute(&n, 2, memory));
    ASK("range", cuMemGetAddressRange(&p, &a, memory));
    ASK("fill", cuMemsetD8Async(memory, 1, 16, other));
    ASK("copy", cuMemcpyDtoDAsync(memory, memory + 64, 16, other));
    ASK("copysync", cuMemcpyDtoH(&n, memory, 4));
    ASK("launch", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, other, 0, 0));
    ASK("query", soon(cuStreamQuery(other)));
    ASK("synchronize", cuStreamSynchronize(other));
    ASK("ctxsynchronize", cuCtxSynchronize());
    ASK("streamflags", cuStreamGetFlags(other, &u));
    ASK("streamcreate", cuStreamCreate(&s, 1));
    ASK("record", cuEventRecord(event, other));
    ASK("evquery", soon(cuEventQuery(event)));
    ASK("evsynchronize", cuEventSynchronize(event));
    ASK("evcreate", cuEventCreate(&e, 0));
    ASK("elapsed", cuEventElapsedTime(&ms, event, event));
    ASK("wait", cuStreamWaitEvent(other, event, 0));
    ASK("module",
        cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n"));
    ASK("function", cuModuleGetFunction(&f, module, "k"));
    ASK("funcattr", cuFuncGetAttribute(&n, 0, function));
    ASK("takeasync", cuMemAllocAsync(&p, 64, other));
    ASK("hostfunc", cuLaunchHostFunc(other, (CUhostFn)(void *)getpid, 0));
    ASK("capture", cuStreamIsCapturing(other, (CUstreamCaptureStatus *)&n));
}

static void CUDA_CB in_host(void *unused) { ask_all(), done = 1; }
static void CUDA_CB in_callback(CUstream s, CUresult r, void *unused)
{
    rec(keyf("%s.status", prefix), "%s", rname(r));
    ask_all();
    done = 1;
}

static void prepare(void)
{
    setup();
    MUST(cuMemAlloc(&memory, 4096));
    MUST(cuMemsetD8(memory, 1, 4096)); /* a wait for its value may come after copies in other streams */
    MUST(cuEventCreate(&event, 0));
    MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    MUST(cuEventRecord(event, other));
    MUST(cuModuleLoadData(
        &module,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n.visible .global .u32 v;\n"));
    MUST(cuModuleGetFunction(&function, module, "k"));
    MUST(cuMemAllocHost(&pinned, 4096));
    MUST(cuCtxSynchronize());
}

static void g_host(void)
{
    CUstream s;
    prepare();
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    prefix = "host";
    K("call", cuLaunchHostFunc(s, in_host, 0));
    while (!done) usleep(1000);
    K("after", cuStreamSynchronize(s));
}
static void g_callback(void)
{
    CUstream s;
    prepare();
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    prefix = "callback";
    K("call", cuStreamAddCallback(s, in_callback, 0, 0));
    while (!done) usleep(1000);
    K("after", cuStreamSynchronize(s));
}

/* A thread of its own, which has no context. */
static void *in_thread(void *unused)
{
    ask_all(), done = 1;
    return NULL;
}
static void g_thread(void)
{
    pthread_t t;
    prepare();
    prefix = "thread";
    pthread_create(&t, NULL, in_thread, NULL);
    pthread_join(t, NULL);
    K("after", cuCtxSynchronize());
}

/* After the process's primary context was released for good. */
static void g_released(void)
{
    prepare();
    prefix = "released";
    K("release", cuDevicePrimaryCtxRelease(0));
    ASK("current", cuCtxGetCurrent(&ctx0));
    ASK("alloc", cuMemAlloc(&memory, 64));
    ASK("query", cuStreamQuery(NULL));
    ASK("synchronize", cuCtxSynchronize());
}

/* What is destroyed while its work waits. */
static volatile unsigned *word; /* 1: it may go on */
static void held(void (*end)(CUstream, CUevent))
{
    CUstream s;
    CUevent e;
    prepare();
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&e, 0));
    word = pinned;
    *word = 0;
    MUST(cuStreamWaitValue32(s, (CUdeviceptr)pinned, 1, CU_STREAM_WAIT_VALUE_EQ));
    MUST(cuMemsetD32Async(memory, 77, 1, s));
    MUST(cuEventRecord(e, s));
    gate_close(word);
    end(s, e);
    rec("open", "%u", *word);
    gate_open();
    unsigned v = 0;
    K("synchronize", cuCtxSynchronize());
    K("copy", cuMemcpyDtoH(&v, memory, 4));
    rec("copy.v", "%u", v);
}
static void destroy_stream(CUstream s, CUevent e)
{
    K("destroy", cuStreamDestroy(s));
    K("event", cuEventQuery(e));
}
static void destroy_event(CUstream s, CUevent e)
{
    K("destroy", cuEventDestroy(e));
    K("stream", cuStreamQuery(s));
}
static void unload_module(CUstream s, CUevent e) { K("unload", cuModuleUnload(module)); }
static void free_memory(CUstream s, CUevent e)
{
    CUdeviceptr p;
    K("alloc", cuMemAlloc(&p, 4096));
    rec("open1", "%u", *word);
    K("free", cuMemFree(p));
}
static void free_pinned(CUstream s, CUevent e)
{
    void *p;
    K("alloc", cuMemAllocHost(&p, 4096));
    rec("open1", "%u", *word);
    K("free", cuMemFreeHost(p));
}
static void free_managed(CUstream s, CUevent e)
{
    CUdeviceptr p;
    K("alloc", cuMemAllocManaged(&p, 4096, 1));
    rec("open1", "%u", *word);
    K("free", cuMemFree(p));
}
static void copy_sync(CUstream s, CUevent e)
{
    unsigned v;
    K("copy", cuMemcpyDtoH(&v, memory + 64, 4));
    rec("open1", "%u", *word);
    K("fill", cuMemsetD8(memory + 64, 1, 4));
    rec("open2", "%u", *word);
    K("dtod", cuMemcpyDtoD(memory + 64, memory + 128, 4));
    rec("open3", "%u", *word);
    K("htod", cuMemcpyHtoD(memory + 64, &v, 4));
    rec("open4", "%u", *word);
}
static void make_things(CUstream s, CUevent e)
{
    CUstream t;
    CUevent f;
    CUcontext c;
    K("stream", cuStreamCreate(&t, 0));
    K("event", cuEventCreate(&f, 0));
    rec("open1", "%u", *word);
    K("eventdestroy", cuEventDestroy(f));
    K("streamdestroy", cuStreamDestroy(t));
    rec("open2", "%u", *word);
    K("limit", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    rec("open3", "%u", *word);
}
static void synchronize_context(CUstream s, CUevent e) { K("context", cuCtxSynchronize()); }
static void synchronize_event(CUstream s, CUevent e)
{
    K("synchronize", cuEventSynchronize(e));
    K("query", cuStreamQuery(s));
}
static void register_memory(CUstream s, CUevent e)
{
    void *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    K("register", cuMemHostRegister(p, 65536, 0));
    rec("open1", "%u", *word);
    K("unregister", cuMemHostUnregister(p));
}
static void map_memory(CUstream s, CUevent e)
{
    CUmemGenericAllocationHandle h;
    CUdeviceptr p = vmm_alloc(2 * MiB, &h);
    rec("open1", "%u", *word);
    vmm_free(p, 2 * MiB, h);
}

/* ---- what belongs to one context, while another is current, or none */

static void across(const char *p, CUcontext now, CUstream s2, CUevent e2)
{
    CUmodule m = NULL;
    CUfunction f = NULL, all[4];
    CUdeviceptr d = 0;
    CUtexref t;
    CUlinkState l = NULL;
    CUmodule gone;
    CUstream s;
    CUevent e;
    void *image;
    size_t n, z;
    int v;
    unsigned u;
    unsigned long long id;
    float ms;
    const char *name;
    CUstreamAttrValue value = { 0 };
    prefix = p;
    MUST(cuCtxSetCurrent(ctx0));
    MUST(cuModuleLoadData(&gone, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n"));
    MUST(cuLinkCreate(0, 0, 0, &l));
    MUST(cuStreamCreate(&s, 0));
    MUST(cuEventCreate(&e, 0));
    MUST(cuCtxSetCurrent(now));
    ASK("function", cuModuleGetFunction(&f, module, "k"));
    ASK("functionmissing", cuModuleGetFunction(&f, module, "missing"));
    ASK("global", cuModuleGetGlobal(&d, &n, module, "v"));
    ASK("functions", cuModuleGetFunctionCount(&u, module));
    ASK("enumerate", cuModuleEnumerateFunctions(all, 4, module));
    ASK("texref", cuModuleGetTexRef(&t, module, "v"));
    ASK("attribute", cuFuncGetAttribute(&v, 0, function));
    ASK("setattribute", cuFuncSetAttribute(function, 8, 100));
    ASK("cache", cuFuncSetCacheConfig(function, 1));
    ASK("banks", cuFuncSetSharedMemConfig(function, 1));
    ASK("of", cuFuncGetModule(&m, function));
    ASK("name", cuFuncGetName(&name, function));
    ASK("param", cuFuncGetParamInfo(function, 0, &n, &z));
    ASK("loaded", cuFuncIsLoaded((CUfunctionLoadingState *)&v, function));
    ASK("load", cuFuncLoad(function));
    ASK("occupancy", cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, function, 32, 0));
    ASK("potential", cuOccupancyMaxPotentialBlockSize(&v, &v, function, 0, 0, 0));
    ASK("available", cuOccupancyAvailableDynamicSMemPerBlock(&n, function, 1, 32));
    ASK("shape", cuFuncSetBlockShape(function, 1, 1, 1));
    ASK("size", cuParamSetSize(function, 0));
    ASK("launchold", cuLaunch(function));
    ASK("launch0", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    ASK("launchother", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, other, 0, 0));
    ASK("launchs2", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s2, 0, 0));
    ASK("launchperthread", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, 0, 0));
    CUlaunchConfig c = { 1, 1, 1, 1, 1, 1, 0, other, 0, 0 };
    ASK("launchex", cuLaunchKernelEx(&c, function, 0, 0));
    ASK("cooperative", cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, other, 0));
    ASK("linkadd",
        cuLinkAddData(l, CU_JIT_INPUT_PTX,
                      (void *)".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n", 72, 0, 0,
                      0, 0));
    ASK("linkcomplete", cuLinkComplete(l, &image, &n));
    ASK("linkdestroy", cuLinkDestroy(l));
    ASK("unload", cuModuleUnload(gone));
    ASK("flags", cuStreamGetFlags(other, &u));
    ASK("streamid", cuStreamGetId(other, &id));
    ASK("getattr", cuStreamGetAttribute(other, 8, &value));
    ASK("setattr", cuStreamSetAttribute(other, 8, &value));
    ASK("copyattr", cuStreamCopyAttributes(s2, other));
    ASK("host", cuLaunchHostFunc(other, (CUhostFn)(void *)getpid, 0));
    ASK("callback", cuStreamAddCallback(other, (CUstreamCallback)(void *)getpid, 0, 0));
    ASK("write", cuStreamWriteValue32(other, memory, 1, 0));
    ASK("waitvalue", cuStreamWaitValue32(other, memory, 1, 0));
    ASK("fill", cuMemsetD8Async(memory, 1, 16, other));
    ASK("fill0", cuMemsetD8Async(memory, 1, 16, 0));
    ASK("fills2", cuMemsetD8Async(memory, 1, 16, s2));
    ASK("copy", cuMemcpyDtoDAsync(memory, memory + 64, 16, other));
    ASK("copys2", cuMemcpyDtoDAsync(memory, memory + 64, 16, s2));
    ASK("record", cuEventRecord(event, other));
    ASK("records2", cuEventRecord(event, s2));
    ASK("record0", cuEventRecord(event, 0));
    ASK("recorde2", cuEventRecord(e2, other));
    ASK("recorde2s2", cuEventRecord(e2, s2));
    ASK("wait", cuStreamWaitEvent(s2, event, 0));
    ASK("wait2", cuStreamWaitEvent(other, e2, 0));
    ASK("wait0", cuStreamWaitEvent(0, event, 0));
    ASK("synchronize", cuStreamSynchronize(other));
    ASK("evsync", cuEventSynchronize(event));
    ASK("evquery", soon(cuEventQuery(event)));
    ASK("elapsed", cuEventElapsedTime(&ms, event, e2));
    ASK("elapsedsame", cuEventElapsedTime(&ms, event, event));
    ASK("take", cuMemAllocAsync(&d, 4096, other));
    ASK("give", cuMemFreeAsync(d, other));
    ASK("destroyevent", cuEventDestroy(e));
    ASK("destroystream", cuStreamDestroy(s));
    ASK("end", cuCtxSynchronize());
    MUST(cuCtxSetCurrent(ctx0));
    ASK("end0", cuCtxSynchronize());
}
static void g_across(void)
{
    CUcontext c;
    CUstream s2;
    CUevent e2;
    prepare();
    MUST(cuCtxCreate(&c, 0, 0, 0));
    MUST(cuStreamCreate(&s2, 0));
    MUST(cuEventCreate(&e2, 0));
    MUST(cuEventRecord(e2, s2));
    across("other", c, s2, e2);
    across("own", ctx0, s2, e2);
    for (int i = 0; i < 5; i++) cuCtxPopCurrent(&c);
    across("none", NULL, s2, e2);
}

#define HELD(X) \
    X(destroy_stream) \
    X(destroy_event) \
    X(unload_module) X(free_memory) X(free_pinned) X(free_managed) X(copy_sync) X(make_things) X(synchronize_context) \
        X(synchronize_event) X(register_memory) X(map_memory)
#define HELD_GROUP(name) \
    static void g_held_##name(void) { held(name); }
HELD(HELD_GROUP)
#define GROUP(name) { "held_" #name, g_held_##name, 1 },
const struct group groups[] = { { "host", g_host, 1 },         { "callback", g_callback, 1 }, { "thread", g_thread, 1 },
                                { "released", g_released, 1 }, { "across", g_across, 1 },     HELD(GROUP){ 0 } };
