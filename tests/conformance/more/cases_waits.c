/* Which calls wait for work that was issued before them? */
#include "waiting.h"

/* ---- bytes in a row */

static void g_any(void)
{
    make_places();
    for (int a = 0; a < PLACES; a++)
        for (int b = 0; b < PLACES; b++) ASK(keyf("any.%s.%s", names[a], names[b]), cuMemcpy(at[a], also[b], 1 << 20));
}
static void g_dtod(void)
{
    static const enum place some[] = { DEVICE, AWAY, PINNED, POOLED, SYNC };
    make_places();
    for (int i = 0; i < COUNT(some); i++)
        for (int j = 0; j < COUNT(some); j++)
            ASK(keyf("DtoD.%s.%s", names[some[i]], names[some[j]]), cuMemcpyDtoD(at[some[i]], also[some[j]], 1 << 20));
}
static const enum place of_host[] = { PAGEABLE, PINNED, MAPPED_HOST, REGISTERED, TOUCHED }, of_device[] = { DEVICE, AWAY, POOLED, SYNC };
static void g_up_down(void)
{
    make_places();
    for (int k = 0; k < COUNT(sizes); k += COUNT(sizes) - 1)
        for (int a = 0; a < COUNT(of_host); a++)
            for (int b = 0; b < 2; b++) {
                CUdeviceptr h = at[of_host[a]], d = at[of_device[b]];
                char key[64];
                snprintf(key, sizeof key, "%zu.%s.%s", sizes[k], names[of_host[a]], names[of_device[b]]);
                ASK(keyf("HtoD.%s", key), cuMemcpyHtoD(d, (void *)h, sizes[k]));
                ASK(keyf("DtoH.%s", key), cuMemcpyDtoH((void *)h, d, sizes[k]));
            }
}
static void g_up_down_async(void)
{
    make_places();
    for (int k = 0; k < COUNT(sizes); k++)
        for (int a = 0; a < COUNT(of_host); a++)
            for (int b = 0; b < COUNT(of_device); b++) {
                CUdeviceptr h = at[of_host[a]], d = at[of_device[b]];
                char key[64];
                snprintf(key, sizeof key, "%zu.%s.%s", sizes[k], names[of_host[a]], names[of_device[b]]);
                ASK(keyf("HtoDAsync.%s", key), cuMemcpyHtoDAsync(d, (void *)h, sizes[k], NULL));
                ASK(keyf("DtoHAsync.%s", key), cuMemcpyDtoHAsync((void *)h, d, sizes[k], NULL));
            }
}
static void async_of(size_t n)
{
    for (int a = 0; a < PLACES; a++)
        for (int b = 0; b < PLACES; b++)
            ASK(keyf("anyAsync.%zu.%s.%s", n, names[a], names[b]), cuMemcpyAsync(at[a], also[b], n, NULL));
}
static void g_async(void)
{
    make_places();
    async_of(1 << 20);
}
static void g_async_few(void)
{
    make_places();
    async_of(64);
}

/* ---- fills */

static void g_fills(void)
{
    make_places();
    for (int a = 0; a < PAGEABLE; a++)
        for (int k = 0; k < COUNT(sizes); k += COUNT(sizes) - 1) {
            char key[64];
            snprintf(key, sizeof key, "%zu.%s", sizes[k], names[a]);
            ASK(keyf("D8.%s", key), cuMemsetD8(at[a], 1, sizes[k]));
            ASK(keyf("D32.%s", key), cuMemsetD32(at[a], 1, sizes[k] / 4));
        }
    for (int a = 0; a < PAGEABLE; a++) {
        ASK(keyf("D16.%s", names[a]), cuMemsetD16(at[a], 1, 5000));
        ASK(keyf("D2D8.%s", names[a]), cuMemsetD2D8(at[a], PITCH, 1, 512, 100));
        ASK(keyf("D2D16.%s", names[a]), cuMemsetD2D16(at[a], PITCH, 1, 256, 10));
        ASK(keyf("D2D32.%s", names[a]), cuMemsetD2D32(at[a], PITCH, 1, 128, 1));
        ASK(keyf("D8Async.%s", names[a]), cuMemsetD8Async(at[a], 1, 1 << 20, NULL));
        ASK(keyf("D32Async.few.%s", names[a]), cuMemsetD32Async(at[a], 1, 4, NULL));
        ASK(keyf("D2D8Async.%s", names[a]), cuMemsetD2D8Async(at[a], PITCH, 1, 512, 100, NULL));
    }
}

/* ---- rows and arrays */

static const char *side(int k) { return k == PLACES ? "array" : names[k]; }
static void g_rows(void)
{
    static const int some[] = { DEVICE, TOUCHED, PINNED, MAPPED, SYNC, PAGEABLE, PLACES };
    make_places();
    for (int i = 0; i < COUNT(some); i++)
        for (int j = 0; j < COUNT(some); j++) {
            CUDA_MEMCPY2D c = flat(some[i], some[j], 512, 100);
            ASK(keyf("2D.%s.%s", side(some[i]), side(some[j])), cuMemcpy2D(&c));
        }
}
static void g_rows_async(void)
{
    make_places();
    for (int a = 0; a <= PLACES; a++)
        for (int b = 0; b <= PLACES; b++) {
            CUDA_MEMCPY2D c = flat(a, b, 512, 100);
            ASK(keyf("2DAsync.%s.%s", side(a), side(b)), cuMemcpy2DAsync(&c, NULL));
        }
}
static void g_boxes(void)
{
    static const int some[] = { DEVICE, TOUCHED, PINNED, SYNC, PAGEABLE, PLACES };
    make_places();
    for (int i = 0; i < COUNT(some); i++)
        for (int j = 0; j < COUNT(some); j++) {
            CUDA_MEMCPY2D c = flat(some[i], some[j], 512, 100), row = flat(some[i], some[j], 64, 1);
            CUDA_MEMCPY3D d = deep(c);
            char key[64];
            snprintf(key, sizeof key, "%s.%s", side(some[i]), side(some[j]));
            ASK(keyf("2DUnaligned.%s", key), cuMemcpy2DUnaligned(&c));
            ASK(keyf("row.%s", key), cuMemcpy2D(&row));
            ASK(keyf("rowAsync.%s", key), cuMemcpy2DAsync(&row, NULL));
            ASK(keyf("3D.%s", key), cuMemcpy3D(&d));
            ASK(keyf("3DAsync.%s", key), cuMemcpy3DAsync(&d, NULL));
        }
    ASK("DtoA", cuMemcpyDtoA(array, 0, at[DEVICE], 512));
    ASK("AtoD", cuMemcpyAtoD(at[DEVICE], array, 0, 512));
    ASK("AtoA", cuMemcpyAtoA(array, 0, other_array, 0, 512));
    ASK("HtoA", cuMemcpyHtoA(array, 0, (void *)at[PAGEABLE], 512));
    ASK("AtoH", cuMemcpyAtoH((void *)at[PAGEABLE], array, 0, 512));
    ASK("HtoA.pinned", cuMemcpyHtoA(array, 0, (void *)at[PINNED], 512));
    ASK("AtoH.pinned", cuMemcpyAtoH((void *)at[PINNED], array, 0, 512));
    ASK("HtoAAsync", cuMemcpyHtoAAsync(array, 0, (void *)at[PAGEABLE], 512, NULL));
    ASK("AtoHAsync", cuMemcpyAtoHAsync((void *)at[PAGEABLE], array, 0, 512, NULL));
}

/* ---- held elsewhere, or by a context's flag */

static void some_calls(const char *which)
{
    static const int some[] = { DEVICE, TOUCHED, PINNED, POOLED };
    for (int i = 0; i < COUNT(some); i++) {
        int k = some[i];
        ASK(keyf("%s.D8.%s", which, names[k]), cuMemsetD8(at[k], 1, 1 << 20));
        ASK(keyf("%s.D8Async.%s", which, names[k]), cuMemsetD8Async(at[k], 1, 1 << 20, NULL));
        for (int j = 0; j < COUNT(some); j++) {
            ASK(keyf("%s.any.%s.%s", which, names[k], names[some[j]]), cuMemcpy(at[k], also[some[j]], 1 << 20));
            ASK(keyf("%s.DtoDAsync.%s.%s", which, names[k], names[some[j]]),
                cuMemcpyDtoDAsync(at[k], also[some[j]], 1 << 20, NULL));
        }
        ASK(keyf("%s.HtoD.%s", which, names[k]), cuMemcpyHtoD(at[k], (void *)at[PAGEABLE], 1 << 20));
        ASK(keyf("%s.HtoD.few.%s", which, names[k]), cuMemcpyHtoD(at[k], (void *)at[PAGEABLE], 64));
    }
}
static void g_blocking(void)
{
    make_places();
    hold_in = blocking;
    some_calls("blocking");
}
static void g_apart(void)
{
    make_places();
    hold_in = apart;
    some_calls("apart");
}
static void g_flag(void)
{
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SYNC_MEMOPS));
    make_places();
    some_calls("flag");
}

/* ---- all kinds of calls, some of which take their time on a busy machine */

static void g_memory(void)
{
    CUdeviceptr p, q, m;
    void *h;
    CUarray a;
    CUmipmappedArray mip;
    CUDA_ARRAY_DESCRIPTOR d = { 64, 64, CU_AD_FORMAT_FLOAT, 1 };
    CUDA_ARRAY3D_DESCRIPTOR d3 = { 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
    size_t n, total;
    CUmemoryPool pool;
    make_places();
    gate.patience = LONG_PATIENCE;
    ASK("alloc", cuMemAlloc(&p, ROOM));
    ASK("alloc.few", cuMemAlloc(&q, 512));
    ASK("free", cuMemFree(p));
    ASK("free.few", cuMemFree(q));
    ASK("allocpitch", cuMemAllocPitch(&p, &n, 100, 100, 4));
    ASK("free.pitch", cuMemFree(p));
    ASK("allocmanaged", cuMemAllocManaged(&m, ROOM, 1));
    ASK("free.managed", cuMemFree(m));
    ASK("allocmanaged.host", cuMemAllocManaged(&m, ROOM, 2));
    ASK("attach.single", cuStreamAttachMemAsync(apart, m, 0, CU_MEM_ATTACH_SINGLE));
    ASK("attach.global", cuStreamAttachMemAsync(NULL, m, 0, CU_MEM_ATTACH_GLOBAL));
    ASK("advise.readmostly", cuMemAdvise(m, ROOM, CU_MEM_ADVISE_SET_READ_MOSTLY, loc(1, 0)));
    ASK("advise.preferred", cuMemAdvise(m, ROOM, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, loc(1, 0)));
    ASK("advise.accessed", cuMemAdvise(m, ROOM, CU_MEM_ADVISE_SET_ACCESSED_BY, loc(1, 0)));
    ASK("advise.unset", cuMemAdvise(m, ROOM, CU_MEM_ADVISE_UNSET_READ_MOSTLY, loc(1, 0)));
    ASK("prefetch", cuMemPrefetchAsync(m, ROOM, loc(1, 0), 0, NULL));
    ASK("prefetch.host", cuMemPrefetchAsync(m, ROOM, loc(2, 0), 0, NULL));
    ASK("prefetch.apart", cuMemPrefetchAsync(m, ROOM, loc(1, 0), 0, apart));
    ASK("free.managed.again", cuMemFree(m));
    ASK("allochost", cuMemAllocHost(&h, ROOM));
    ASK("freehost", cuMemFreeHost(h));
    ASK("hostalloc.wc", cuMemHostAlloc(&h, ROOM, CU_MEMHOSTALLOC_WRITECOMBINED));
    ASK("freehost.wc", cuMemFreeHost(h));
    h = (void *)plain();
    ASK("register", cuMemHostRegister(h, ROOM, 0));
    ASK("unregister", cuMemHostUnregister(h));
    ASK("array", cuArrayCreate(&a, &d));
    ASK("array.destroy", cuArrayDestroy(a));
    ASK("mipmap", cuMipmappedArrayCreate(&mip, &d3, 3));
    ASK("mipmap.destroy", cuMipmappedArrayDestroy(mip));
    ASK("info", cuMemGetInfo(&n, &total));
    ASK("allocasync", cuMemAllocAsync(&p, ROOM, NULL));
    ASK("freeasync", cuMemFreeAsync(p, NULL));
    ASK("allocasync.apart", cuMemAllocAsync(&p, ROOM, apart));
    ASK("freeasync.apart", cuMemFreeAsync(p, apart));
    MUST(cuMemAllocAsync(&p, ROOM, apart));
    MUST(cuStreamSynchronize(apart));
    ASK("free.pooled", cuMemFree(p));
    MUST(cuDeviceGetDefaultMemPool(&pool, 0));
    ASK("trim", cuMemPoolTrimTo(pool, 0));
}
static void g_mapped(void)
{
    CUmemAllocationProp p = prop_dev(0);
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc d = { loc(1, 0), (CUmemAccess_flags)3 };
    CUdeviceptr va;
    unsigned on = 1;
    int fd;
    CUmemoryPool pool;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = loc(1, 0) };
    make_places();
    gate.patience = LONG_PATIENCE;
    ASK("reserve", cuMemAddressReserve(&va, ROOM, 0, 0, 0));
    ASK("create", cuMemCreate(&h, ROOM, &p, 0));
    ASK("map", cuMemMap(va, ROOM, 0, h, 0));
    ASK("access", cuMemSetAccess(va, ROOM, &d, 1));
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    ASK("access.read", cuMemSetAccess(va, ROOM, &d, 1));
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ASK("access.none", cuMemSetAccess(va, ROOM, &d, 1));
    ASK("unmap", cuMemUnmap(va, ROOM));
    ASK("release", cuMemRelease(h));
    ASK("addressfree", cuMemAddressFree(va, ROOM));
    ASK("syncmemops", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at[DEVICE]));
    on = 0;
    ASK("syncmemops.off", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at[DEVICE]));
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    MUST(cuMemCreate(&h, ROOM, &p, 0));
    ASK("export", cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ASK("import", cuMemImportFromShareableHandle(&h, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    ASK("pool", cuMemPoolCreate(&pool, &props));
    ASK("pool.alloc", cuMemAllocFromPoolAsync(&va, ROOM, pool, apart));
    ASK("pool.free", cuMemFreeAsync(va, apart));
    ASK("pool.destroy", cuMemPoolDestroy(pool));
}
static void host_function(void *unused) { (void)unused; }
static void on_callback(CUstream s, CUresult r, void *unused) { (void)s, (void)r, (void)unused; }
static void g_work(void)
{
    CUstream q;
    CUevent e, timed;
    CUgraph g;
    CUgraphExec x;
    CUgraphNode node;
    CUcontext c, current;
    CUmodule m;
    CUlibrary l;
    float ms;
    make_places();
    gate.patience = LONG_PATIENCE;
    ASK("stream", cuStreamCreate(&q, 0));
    ASK("stream.query", (cuStreamQuery(q), CUDA_SUCCESS));
    ASK("stream.destroy", cuStreamDestroy(q));
    ASK("event", cuEventCreate(&e, 0));
    MUST(cuEventCreate(&timed, 0));
    ASK("event.record", cuEventRecord(e, NULL));
    ASK("event.record.apart", cuEventRecord(timed, apart));
    ASK("event.query", (cuEventQuery(e), CUDA_SUCCESS));
    ASK("event.elapsed", (cuEventElapsedTime(&ms, timed, e), CUDA_SUCCESS));
    ASK("event.wait", cuStreamWaitEvent(apart, e, 0));
    ASK("event.destroy", cuEventDestroy(e));
    ASK("launch", cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    ASK("launch.apart", cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, apart, NULL, NULL));
    ASK("hostfunc", cuLaunchHostFunc(NULL, host_function, NULL));
    ASK("callback", cuStreamAddCallback(NULL, on_callback, NULL, 0));
    ASK("write", cuStreamWriteValue32(NULL, at[DEVICE], 1, 0));
    MUST(cuGraphCreate(&g, 0));
    CUDA_KERNEL_NODE_PARAMS kernel = { .func = nothing, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                       .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
    MUST(cuGraphAddKernelNode(&node, g, NULL, 0, &kernel));
    ASK("graph.instantiate", cuGraphInstantiate(&x, g, 0));
    ASK("graph.upload", cuGraphUpload(x, NULL));
    ASK("graph.launch", cuGraphLaunch(x, NULL));
    ASK("graph.launch.apart", cuGraphLaunch(x, apart));
    ASK("graph.update", cuGraphExecKernelNodeSetParams(x, node, &kernel));
    ASK("graph.destroyexec", cuGraphExecDestroy(x));
    ASK("graph.destroy", cuGraphDestroy(g));
    ASK("module", cuModuleLoadData(&m, ptx));
    ASK("module.unload", cuModuleUnload(m));
    ASK("library", cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
    ASK("library.unload", cuLibraryUnload(l));
    ASK("limit.printf", cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20));
    ASK("limit.heap", cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20));
    ASK("limit.stack", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    ASK("limit.stack.same", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    MUST(cuCtxGetCurrent(&current));
    ASK("context", cuCtxCreate(&c, NULL, 0, 0));
    MUST(cuCtxSetCurrent(current));
    ASK("context.destroy", cuCtxDestroy(c));
    ASK("attribute", cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    ASK("cacheconfig", cuFuncSetCacheConfig(nothing, CU_FUNC_CACHE_PREFER_L1));
    ASK("reset.l2", cuCtxResetPersistingL2Cache());
    ASK("profiler.start", cuProfilerStart());
    ASK("profiler.stop", cuProfilerStop());
}

/* ---- two devices */

static CUcontext c1;
static CUdeviceptr there, man1;
static void make_two(void)
{
    make_places();
    MUST(cuDevicePrimaryCtxRetain(&c1, 1));
    MUST(cuCtxSetCurrent(c1));
    MUST(cuMemAlloc(&there, ROOM));
    MUST(cuMemAllocManaged(&man1, ROOM, 1));
    MUST(cuMemsetD8(man1, 1, ROOM));
    MUST(cuCtxSynchronize());
    MUST(cuCtxSetCurrent(ctx0));
}
static void between(const char *which)
{
    CUDA_MEMCPY3D_PEER c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = there, .srcContext = c1, .srcPitch = PITCH,
                             .srcHeight = 100, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = at[DEVICE],
                             .dstContext = ctx0, .dstPitch = PITCH, .dstHeight = 100, .WidthInBytes = 512, .Height = 100,
                             .Depth = 1 };
    ASK(keyf("%s.peer", which), cuMemcpyPeer(at[DEVICE], ctx0, there, c1, 1 << 20));
    ASK(keyf("%s.peer.back", which), cuMemcpyPeer(there, c1, at[DEVICE], ctx0, 1 << 20));
    ASK(keyf("%s.peer.few", which), cuMemcpyPeer(at[DEVICE], ctx0, there, c1, 4));
    ASK(keyf("%s.peer.same", which), cuMemcpyPeer(at[DEVICE], ctx0, also[DEVICE], ctx0, 1 << 20));
    ASK(keyf("%s.peer.there", which), cuMemcpyPeer(there, c1, there + (2 << 20), c1, 1 << 20));
    ASK(keyf("%s.peer.async", which), cuMemcpyPeerAsync(at[DEVICE], ctx0, there, c1, 1 << 20, NULL));
    ASK(keyf("%s.peer.apart", which), cuMemcpyPeerAsync(at[DEVICE], ctx0, there, c1, 1 << 20, apart));
    ASK(keyf("%s.3Dpeer", which), cuMemcpy3DPeer(&c));
    ASK(keyf("%s.3Dpeer.async", which), cuMemcpy3DPeerAsync(&c, NULL));
    ASK(keyf("%s.any", which), cuMemcpy(at[DEVICE], there, 1 << 20));
    ASK(keyf("%s.any.back", which), cuMemcpy(there, at[DEVICE], 1 << 20));
    ASK(keyf("%s.DtoD", which), cuMemcpyDtoD(at[DEVICE], there, 1 << 20));
    ASK(keyf("%s.DtoD.managed", which), cuMemcpyDtoD(at[DEVICE], man1, 1 << 20));
    ASK(keyf("%s.any.managed", which), cuMemcpy(man1, at[DEVICE], 1 << 20));
    ASK(keyf("%s.any.host", which), cuMemcpy(at[PINNED], there, 1 << 20));
    ASK(keyf("%s.HtoD", which), cuMemcpyHtoD(there, (void *)at[PAGEABLE], 1 << 20));
    ASK(keyf("%s.HtoD.few", which), cuMemcpyHtoD(there, (void *)at[PAGEABLE], 64));
    ASK(keyf("%s.DtoH", which), cuMemcpyDtoH((void *)at[PAGEABLE], there, 64));
    ASK(keyf("%s.D8", which), cuMemsetD8(at[DEVICE], 1, 1 << 20));
}
static void g_two(void)
{
    make_two();
    between("here");
    cuCtxEnablePeerAccess(c1, 0);
    between("peers");
    ASK("peers.D8.there", cuMemsetD8(there, 1, 1 << 20));
}
static void say_two(void)
{
    CUstream q;
    MUST(cuCtxSetCurrent(c1));
    MUST(cuStreamCreate(&q, 0));
    hold_in = q;
    MUST(cuCtxSetCurrent(ctx0));
}
static void g_two_there(void)
{
    make_two();
    say_two();
    between("there");
}

static void g_two_memory(void)
{
    CUdeviceptr pinned, fresh, back;
    make_two();
    MUST(cuCtxSetCurrent(c1));
    MUST(cuMemAllocHost((void **)&pinned, ROOM));
    MUST(cuMemAllocManaged(&fresh, ROOM, 1));
    MUST(cuMemAllocManaged(&back, ROOM, 1));
    memset((void *)back, 1, ROOM);
    MUST(cuCtxSetCurrent(ctx0));
    MUST(cuMemPrefetchAsync(at[AWAY], ROOM, loc(1, 1), 0, apart));
    MUST(cuCtxSynchronize());
    say_two();
    const struct {
        const char *name;
        CUdeviceptr p;
    } some[] = { { "pinned1", pinned }, { "fresh1", fresh },   { "back1", back },
                 { "there1", man1 },    { "away0", at[AWAY] }, { "touched0", at[TOUCHED] } };
    for (int k = 0; k < COUNT(some); k++) {
        CUdeviceptr p = some[k].p;
        ASK(keyf("%s.fill", some[k].name), cuMemsetD8(p, 1, 1 << 20));
        ASK(keyf("%s.to", some[k].name), cuMemcpy(p, at[DEVICE], 1 << 20));
        ASK(keyf("%s.from", some[k].name), cuMemcpy(at[DEVICE], p, 1 << 20));
        ASK(keyf("%s.HtoD", some[k].name), cuMemcpyHtoD(p, (void *)at[PAGEABLE], 1 << 20));
        ASK(keyf("%s.HtoD.few", some[k].name), cuMemcpyHtoD(p, (void *)at[PAGEABLE], 64));
        ASK(keyf("%s.DtoH", some[k].name), cuMemcpyDtoH((void *)at[PAGEABLE], p, 1 << 20));
        ASK(keyf("%s.pinned", some[k].name), cuMemcpy(at[PINNED], p, 1 << 20));
        ASK(keyf("%s.there", some[k].name), cuMemcpy(there, p, 1 << 20));
    }
}

const struct group groups[] = {
    { "any", g_any, 1 },
    { "dtod", g_dtod, 1 },
    { "up_down", g_up_down, 1 },
    { "up_down_async", g_up_down_async, 1 },
    { "async", g_async, 1 },
    { "async_few", g_async_few, 1 },
    { "fills", g_fills, 1 },
    { "rows", g_rows, 1 },
    { "rows_async", g_rows_async, 1 },
    { "boxes", g_boxes, 1 },
    { "blocking", g_blocking, 1 },
    { "apart", g_apart, 1 },
    { "flag", g_flag, 1 },
    { "memory", g_memory, 1 },
    { "mapped", g_mapped, 1 },
    { "work", g_work, 1 },
    { "two", g_two, 2 },
    { "two_there", g_two_there, 2 },
    { "two_memory", g_two_memory, 2 },
    { 0 },
};
