/* Calls of a thread that has no context: a stream, an event or a function has one of its own. */
#include "oracle.h"

static void g_alone(void)
{
    CUevent e[3], v;
    CUstream s[2], t;
    CUdeviceptr p[2], managed, pooled;
    CUmodule m;
    CUfunction f;
    CUmemoryPool pool;
    CUcontext c = NULL;
    CUdevice d;
    CUgraph g;
    void *h;
    float ms;
    int n;
    unsigned flags;
    setup();
    for (int i = 0; i < 3; i++) MUST(cuEventCreate(&e[i], 0));
    for (int i = 0; i < 2; i++) MUST(cuMemAlloc(&p[i], 4096));
    for (int i = 0; i < 2; i++) MUST(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocHost(&h, 4096));
    MUST(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocAsync(&pooled, 4096, s[0]));
    MUST(cuDeviceGetDefaultMemPool(&pool, 0));
    MUST(cuModuleLoadData(&m, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry a() { ret; }\n"));
    MUST(cuModuleGetFunction(&f, m, "a"));
    MUST(cuCtxSetCurrent(NULL));
    K("event.query", cuEventQuery(e[0]));
    K("event.record", cuEventRecord(e[0], s[0]));
    K("event.synchronize", cuEventSynchronize(e[0]));
    K("event.destroy", cuEventDestroy(e[0]));
    K("event.elapsed", cuEventElapsedTime(&ms, e[1], e[2]));
    K("event.create", cuEventCreate(&v, 0));
    K("stream.query", cuStreamQuery(s[0]));
    K("stream.synchronize", cuStreamSynchronize(s[0]));
    K("stream.wait", cuStreamWaitEvent(s[0], e[1], 0));
    K("stream.flags", cuStreamGetFlags(s[1], &flags));
    K("stream.context", cuStreamGetCtx(s[1], &c));
    rec("stream.its", "%d", c == ctx0);
    K("stream.create", cuStreamCreate(&t, 0));
    K("copy", cuMemcpy(p[0], p[1], 16));
    K("copy.async", cuMemcpyAsync(p[0], p[1], 16, s[0]));
    K("copy.host.async", cuMemcpyHtoDAsync(p[0], h, 16, s[0]));
    K("fill", cuMemsetD8(p[0], 1, 16));
    K("fill.async", cuMemsetD8Async(p[0], 1, 16, s[0]));
    K("launch.stream", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s[0], NULL, NULL));
    K("launch.default", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    K("function.cache", cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_SHARED));
    K("function.attribute", cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    K("pool.free", cuMemFreeAsync(pooled, s[0]));
    K("pool.take", cuMemAllocFromPoolAsync(&pooled, 4096, pool, s[0]));
    K("free", cuMemFree(p[0]));
    K("free.managed", cuMemFree(managed));
    K("free.host", cuMemFreeHost(h));
    K("context.synchronize", cuCtxSynchronize());
    K("context.device", cuCtxGetDevice(&d));
    K("pointer", cuPointerGetAttribute(&n, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p[1]));
    K("range", cuMemGetAddressRange(NULL, NULL, p[1]));
    K("capture.begin", cuStreamBeginCapture(s[1], CU_STREAM_CAPTURE_MODE_RELAXED));
    K("capture.end", cuStreamEndCapture(s[1], &g));
    K("stream.destroy", cuStreamDestroy(s[0]));
}

const struct group groups[] = { { "alone", g_alone, 1 }, { 0 } };
