/* Memory of cuMemAlloc that is freed in the order of a stream, and memory that goes while a call waits for it. */
#include "held.h"

static const char *known(CUdeviceptr p)
{
    int type = 0;
    CUresult r = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    return r ? rname(r) : "known";
}

/* When is it gone? After each of these: */
static CUstream of_free;
static CUevent event_of_free;
static CUdeviceptr spare;
static CUfunction nothing_kernel;

static CUresult t_nothing(void) { return CUDA_SUCCESS; }
static CUresult t_query(void) { return cuStreamQuery(of_free); }
static CUresult t_sync(void) { return cuStreamSynchronize(of_free); }
static CUresult t_syncother(void) { return cuStreamSynchronize(streams[1]); }
static CUresult t_synclegacy(void) { return cuStreamSynchronize(NULL); }
static CUresult t_context(void) { return cuCtxSynchronize(); }
static CUresult t_record(void) { return cuEventRecord(event_of_free, of_free); }
static CUresult t_event(void)
{
    CUresult r = cuEventRecord(event_of_free, of_free);
    return r ? r : cuEventSynchronize(event_of_free);
}
static CUresult t_eventquery(void)
{
    CUresult r = cuEventRecord(event_of_free, of_free);
    while (!r && (r = cuEventQuery(event_of_free)) == CUDA_ERROR_NOT_READY) r = 0;
    return r;
}
static CUresult t_read(void)
{
    char byte;
    return cuMemcpyDtoH(&byte, everything, 1);
}
static CUresult t_fill(void) { return cuMemsetD8(everything, 1, 1); }
static CUresult t_fillasync(void) { return cuMemsetD8Async(everything, 1, 1, of_free); }
static CUresult t_alloc(void)
{
    CUdeviceptr p;
    CUresult r = cuMemAlloc(&p, 2 * MiB);
    return r ? r : cuMemFree(p);
}
static CUresult t_allocasync(void)
{
    CUdeviceptr p;
    CUresult r = cuMemAllocAsync(&p, 1024, of_free);
    return r ? r : cuMemFreeAsync(p, of_free);
}
static CUresult t_kernel(void) { return cuLaunchKernel(nothing_kernel, 1, 1, 1, 1, 1, 1, 0, of_free, NULL, NULL); }
static CUresult t_host(void) { return cuLaunchHostFunc(of_free, (CUhostFn)(void *)getpid, NULL); }
static CUresult t_trim(void)
{
    CUmemoryPool pool;
    CUresult r = cuDeviceGetDefaultMemPool(&pool, 0);
    return r ? r : cuMemPoolTrimTo(pool, 0);
}
static CUresult t_managed(void)
{
    CUdeviceptr p;
    CUresult r = cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL);
    return r ? r : cuMemFree(p);
}
static CUresult t_pinned(void)
{
    void *p;
    CUresult r = cuMemAllocHost(&p, 4096);
    return r ? r : cuMemFreeHost(p);
}
static CUresult t_later(void)
{
    usleep(50000);
    return CUDA_SUCCESS;
}
static CUresult t_another(void) /* another one is freed in the stream */
{
    CUdeviceptr p;
    CUresult r = cuMemAlloc(&p, 2 * MiB);
    return r ? r : cuMemFreeAsync(p, of_free);
}
static CUresult t_fullsize(void) /* of it, when the stream comes to it */
{
    return cuMemsetD8Async(spare, 3, 2 * MiB, of_free);
}
static CUresult t_readit(void)
{
    char byte;
    return cuMemcpyDtoH(&byte, spare, 1);
}
static const struct {
    const char *name;
    CUresult (*call)(void);
} triggers[] = {
#define T(n) { #n, t_##n }
    T(nothing), T(query), T(sync), T(syncother), T(synclegacy), T(context), T(record), T(event), T(eventquery), T(read),
    T(fill), T(fillasync), T(alloc), T(allocasync), T(kernel), T(host), T(trim), T(managed), T(pinned), T(later),
    T(another), T(fullsize), T(readit),
};

static void when(int kind, int busy)
{
    static const char *const kinds[] = { "nonblocking", "blocking", "legacy", "perthread" };
    held_begin();
    MUST(cuModuleGetFunction(&nothing_kernel, kernels()->mod, "fill"));
    CUmodule m;
    MUST(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n"));
    MUST(cuModuleGetFunction(&nothing_kernel, m, "k"));
    of_free = kind == 0 ? streams[0] : kind == 1 ? streams[3] : kind == 2 ? NULL : CU_STREAM_PER_THREAD;
    MUST(cuEventCreate(&event_of_free, 0));
    for (unsigned k = 0; k < sizeof triggers / sizeof *triggers; k++) {
        t_kernel(), t_managed(), t_pinned(), t_alloc();
        MUST(cuStreamSynchronize(of_free));
        MUST(cuCtxSynchronize());
        MUST(cuMemAlloc(&spare, 16 * MiB));
        if (busy) MUST(cuMemsetD8Async(spare, 1, 16 * MiB, of_free));
        CUresult r = cuMemFreeAsync(spare, of_free), t = triggers[k].call();
        const char *now = known(spare);
        rec(keyf("%s.%s%s", kinds[kind], triggers[k].name, busy ? ".busy" : ""), "%s %s, %s", rname(r), rname(t), now);
        r = cuStreamSynchronize(of_free);
        rec(keyf("%s.%s%s.sync", kinds[kind], triggers[k].name, busy ? ".busy" : ""), "%s, %s", rname(r), known(spare));
        r = cuCtxSynchronize();
        rec(keyf("%s.%s%s.context", kinds[kind], triggers[k].name, busy ? ".busy" : ""), "%s, %s", rname(r), known(spare));
        if (r) exit(STICKY);
    }
}
static void g_when_nonblocking(void) { when(0, 0); }
static void g_when_blocking(void) { when(1, 0); }
static void g_when_legacy(void) { when(2, 0); }
static void g_when_perthread(void) { when(3, 0); }
static void g_when_busy(void) { when(0, 1); }

/* A copy that is waited for, and its memory goes meanwhile: does the error stay? */
static CUdeviceptr at;
static volatile int called;
static void *unmapper(void *unused)
{
    MUST(cuCtxSetCurrent(ctx0));
    while (!called) usleep(1000);
    usleep(100000);
    MUST(cuMemUnmap(at, GRAN));
    words[0] = turn[0];
    return NULL;
}
static void gone_meanwhile(const char *key, int up)
{
    CUmemGenericAllocationHandle h;
    pthread_t t;
    static char bytes[GRAN];
    held_begin();
    at = vmm_alloc(GRAN, &h);
    MUST(cuStreamDestroy(streams[0]));
    MUST(cuStreamCreate(&streams[0], 0)); /* legacy waits for it */
    hold(0);
    pthread_create(&t, NULL, unmapper, NULL);
    called = 1;
    CUresult r = up == 0   ? cuMemcpyDtoH(bytes, at, 64)
                 : up == 1 ? cuMemcpyHtoD(at, bytes, GRAN)
                 : up == 2 ? cuMemcpyDtoD(everything, at, 64)
                           : cuMemsetD8(at, 1, GRAN);
    pthread_join(t, NULL);
    recr(keyf("%s.call", key), r);
    recr(keyf("%s.context", key), cuCtxSynchronize());
    recr(keyf("%s.again", key), cuMemsetD8(everything, 1, 1));
}
static void g_meanwhile_down(void) { gone_meanwhile("down", 0); }
static void g_meanwhile_up(void) { gone_meanwhile("up", 1); }
static void g_meanwhile_within(void) { gone_meanwhile("within", 2); }
static void g_meanwhile_fill(void) { gone_meanwhile("fill", 3); }

#define G(name) { #name, g_##name, 1 }
const struct group groups[] = { G(when_nonblocking), G(when_blocking), G(when_legacy), G(when_perthread),
                                G(meanwhile_down), G(meanwhile_up), G(meanwhile_within), G(meanwhile_fill), { 0 } };
