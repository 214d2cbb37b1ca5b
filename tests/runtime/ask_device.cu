/* What a device says of itself: properties, attributes, limits, configurations, peers; versions and driver entry points;
 * the profiler. */
#include "ask.h"

static __global__ void nothing() {}

static int v, w;
static size_t n;

static const char *numbers(const int *a, int count)
{
    char *s = keyf("%d", a[0]);
    for (int i = 1; i < count; i++) s = keyf("%s %d", s, a[i]);
    return s;
}

static void properties(void)
{
    struct cudaDeviceProp p;
    memset(&p, 0xa5, sizeof p);
    MUST(cudaGetDeviceProperties(&p, 0));
    say("size", "%zu", sizeof p);
    say("name", "%s", p.name);
    say("name.rest", "%s", all(p.name + strlen(p.name) + 1, 0, sizeof p.name - strlen(p.name) - 1));
    CUuuid uuid;
    say("uuid", "%d %s", DRIVER(cuDeviceGetUuid)(&uuid, 0), memcmp(&uuid, &p.uuid, 16) ? "other" : "the driver's");
    say("~luid", "%s %x", all(p.luid, 0, sizeof p.luid), p.luidDeviceNodeMask);
    int busid = -1;
    char text[40];
    snprintf(text, sizeof text, "%x:%x:0.0", p.pciDomainID, p.pciBusID);
    ASKV("bypci", cudaDeviceGetByPCIBusId(&busid, text), "%d", busid);
    size_t total = 0, available = 0;
    ASKV("total", cudaMemGetInfo(&available, &total), "%s", total == p.totalGlobalMem ? "totalGlobalMem" : "other");
    say("~totalGlobalMem", "%zu", p.totalGlobalMem);
#define SIZE(f) say(#f, "%zu", (size_t)p.f)
#define INT(f) say(#f, "%d", (int)p.f)
#define INTS(f) say(#f, "%s", numbers(p.f, COUNT(p.f)))
    SIZE(sharedMemPerBlock);
    INT(regsPerBlock);
    INT(warpSize);
    SIZE(memPitch);
    INT(maxThreadsPerBlock);
    INTS(maxThreadsDim);
    INTS(maxGridSize);
    SIZE(totalConstMem);
    INT(major);
    INT(minor);
    SIZE(textureAlignment);
    SIZE(texturePitchAlignment);
    INT(multiProcessorCount);
    INT(integrated);
    INT(canMapHostMemory);
    INT(maxTexture1D);
    INT(maxTexture1DMipmap);
    INTS(maxTexture2D);
    INTS(maxTexture2DMipmap);
    INTS(maxTexture2DLinear);
    INTS(maxTexture2DGather);
    INTS(maxTexture3D);
    INTS(maxTexture3DAlt);
    INT(maxTextureCubemap);
    INTS(maxTexture1DLayered);
    INTS(maxTexture2DLayered);
    INTS(maxTextureCubemapLayered);
    INT(maxSurface1D);
    INTS(maxSurface2D);
    INTS(maxSurface3D);
    INTS(maxSurface1DLayered);
    INTS(maxSurface2DLayered);
    INT(maxSurfaceCubemap);
    INTS(maxSurfaceCubemapLayered);
    SIZE(surfaceAlignment);
    INT(concurrentKernels);
    INT(ECCEnabled);
    INT(tccDriver);
    INT(asyncEngineCount);
    INT(unifiedAddressing);
    INT(memoryBusWidth);
    INT(l2CacheSize);
    INT(persistingL2CacheMaxSize);
    INT(maxThreadsPerMultiProcessor);
    INT(streamPrioritiesSupported);
    INT(globalL1CacheSupported);
    INT(localL1CacheSupported);
    SIZE(sharedMemPerMultiprocessor);
    INT(regsPerMultiprocessor);
    INT(managedMemory);
    INT(isMultiGpuBoard);
    INT(multiGpuBoardGroupID);
    INT(hostNativeAtomicSupported);
    INT(pageableMemoryAccess);
    INT(concurrentManagedAccess);
    INT(computePreemptionSupported);
    INT(canUseHostPointerForRegisteredMem);
    INT(cooperativeLaunch);
    SIZE(sharedMemPerBlockOptin);
    INT(pageableMemoryAccessUsesHostPageTables);
    INT(directManagedMemAccessFromHost);
    INT(maxBlocksPerMultiProcessor);
    INT(accessPolicyMaxWindowSize);
    SIZE(reservedSharedMemPerBlock);
    INT(hostRegisterSupported);
    INT(sparseCudaArraySupported);
    INT(hostRegisterReadOnlySupported);
    INT(timelineSemaphoreInteropSupported);
    INT(memoryPoolsSupported);
    INT(gpuDirectRDMASupported);
    INT(gpuDirectRDMAFlushWritesOptions);
    INT(gpuDirectRDMAWritesOrdering);
    INT(memoryPoolSupportedHandleTypes);
    INT(deferredMappingCudaArraySupported);
    INT(ipcEventSupported);
    INT(clusterLaunch);
    INT(unifiedFunctionPointers);
    INT(deviceNumaConfig);
    INT(deviceNumaId);
    INT(mpsEnabled);
    INT(hostNumaId);
    say("~gpuPciDeviceID", "%x", p.gpuPciDeviceID);
    say("~gpuPciSubsystemID", "%x", p.gpuPciSubsystemID);
    INT(hostNumaMultinodeIpcSupported);
    say("reserved", "%s", all(p.reserved, 0, sizeof p.reserved));
    RAW("last", cudaGetLastError());
}

static void attributes(void)
{
    for (int a = -1; a <= 160; a++) {
        v = -12345;
        int machine = a == cudaDevAttrPciBusId || a == cudaDevAttrPciDeviceId || a == cudaDevAttrPciDomainId ||
                      a == cudaDevAttrGpuPciDeviceId || a == cudaDevAttrGpuPciSubsystemId ||
                      a == cudaDevAttrClockRate || a == cudaDevAttrMemoryClockRate;
        ASKV(keyf(machine ? "~%d" : "%d", a), cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)a, 0), "%d", v);
    }
}

static void limits(void)
{
    static const size_t values[] = { 0,       1,       16,        100,       512,       513,
                                     1024,    4096,    65536,     128 * KiB, 256 * KiB, 512 * KiB,
                                     1 * MiB, 8 * MiB, 100 * MiB, 1ul << 33, 1ul << 50, ~0ul };
    for (int l = -1; l <= 8; l++) {
        n = 7;
        ASKV(keyf("get.%d", l), cudaDeviceGetLimit(&n, (enum cudaLimit)l), "%zu", n);
    }
    for (int l = 0; l <= 8; l++)
        for (size_t i = 0; i < COUNT(values); i++) {
            if (l == cudaLimitMallocHeapSize && values[i] > GiB) continue;
            if (l == cudaLimitPrintfFifoSize && values[i] > GiB) continue;
            if (l == cudaLimitStackSize && values[i] > 65536) continue;
            n = 7;
            ASK(keyf("set.%d.%zu", l, values[i]), cudaDeviceSetLimit((enum cudaLimit)l, values[i]));
            ASKV(keyf("then.%d.%zu", l, values[i]), cudaDeviceGetLimit(&n, (enum cudaLimit)l), "%zu", n);
        }
}

static void limits_too_large(void)
{
    ASK("stack", cudaDeviceSetLimit(cudaLimitStackSize, 1ul << 20));
    ASKV("stack.get", cudaDeviceGetLimit(&n, cudaLimitStackSize), "%zu", n);
    ASK("stack2", cudaDeviceSetLimit(cudaLimitStackSize, 1ul << 40));
    ASKV("stack2.get", cudaDeviceGetLimit(&n, cudaLimitStackSize), "%zu", n);
    ASK("heap", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1ul << 50));
    ASKV("heap.get", cudaDeviceGetLimit(&n, cudaLimitMallocHeapSize), "%zu", n);
    ASK("fifo", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1ul << 50));
    ASKV("fifo.get", cudaDeviceGetLimit(&n, cudaLimitPrintfFifoSize), "%zu", n);
}

static void limits_after_launch(void)
{
    nothing<<<1, 1>>>();
    ASK("sync", cudaDeviceSynchronize());
    ASK("heap", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 * MiB));
    ASK("fifo", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 * MiB));
    ASK("stack", cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    ASKV("heap.get", cudaDeviceGetLimit(&n, cudaLimitMallocHeapSize), "%zu", n);
    ASKV("fifo.get", cudaDeviceGetLimit(&n, cudaLimitPrintfFifoSize), "%zu", n);
    ASKV("stack.get", cudaDeviceGetLimit(&n, cudaLimitStackSize), "%zu", n);
}

static __global__ void heap_and_print()
{
    int *p = (int *)malloc(16);
    *p = 3;
    printf("printed %d\n", *p);
    free(p);
}

static void limits_after_heap(void)
{
    heap_and_print<<<1, 1>>>();
    ASK("sync", cudaDeviceSynchronize());
    ASK("heap", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 * MiB));
    ASK("fifo", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4 * MiB));
    ASK("heap same", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 8 * MiB));
    ASK("fifo same", cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 * MiB));
    ASK("stack", cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    heap_and_print<<<1, 1>>>();
    ASK("sync2", cudaDeviceSynchronize());
}

static void configurations(void)
{
    static const int caches[] = { 0, 1, 2, 3, 4, -1 };
    enum cudaFuncCache c = (enum cudaFuncCache)77;
    enum cudaSharedMemConfig s = (enum cudaSharedMemConfig)77;
    ASKV("cache", cudaDeviceGetCacheConfig(&c), "%d", c);
    ASKV("shared", cudaDeviceGetSharedMemConfig(&s), "%d", s);
    for (size_t i = 0; i < COUNT(caches); i++) {
        ASK(keyf("cache.set%d", caches[i]), cudaDeviceSetCacheConfig((enum cudaFuncCache)caches[i]));
        ASKV(keyf("cache.then%d", caches[i]), cudaDeviceGetCacheConfig(&c), "%d", c);
        ASK(keyf("shared.set%d", caches[i]), cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)caches[i]));
        ASKV(keyf("shared.then%d", caches[i]), cudaDeviceGetSharedMemConfig(&s), "%d", s);
        ASK(keyf("function.cache%d", caches[i]), cudaFuncSetCacheConfig(nothing, (enum cudaFuncCache)caches[i]));
        ASK(keyf("function.shared%d", caches[i]),
            cudaFuncSetSharedMemConfig(nothing, (enum cudaSharedMemConfig)caches[i]));
    }
    ASKV("priorities", cudaDeviceGetStreamPriorityRange(&v, &w), "%d %d", v, w);
    ASKV("priorities.least", cudaDeviceGetStreamPriorityRange(&v, NULL), "%d", v);
    ASKV("priorities.greatest", cudaDeviceGetStreamPriorityRange(NULL, &w), "%d", w);
    ASK("persisting", cudaCtxResetPersistingL2Cache());
    for (int t = -1; t <= 2; t++)
        for (int scope = 0; scope <= 300; scope += 50)
            ASK(keyf("flush.%d.%d", t, scope),
                cudaDeviceFlushGPUDirectRDMAWrites((enum cudaFlushGPUDirectRDMAWritesTarget)t,
                                                   (enum cudaFlushGPUDirectRDMAWritesScope)scope));
    static const struct cudaChannelFormatDesc formats[] = {
        { 8, 0, 0, 0, cudaChannelFormatKindUnsigned },  { 32, 0, 0, 0, cudaChannelFormatKindFloat },
        { 32, 32, 32, 32, cudaChannelFormatKindFloat }, { 16, 16, 0, 0, cudaChannelFormatKindSigned },
        { 32, 32, 32, 0, cudaChannelFormatKindFloat },  { 7, 0, 0, 0, cudaChannelFormatKindUnsigned },
        { 0, 0, 0, 0, cudaChannelFormatKindNone },
    };
    for (size_t i = 0; i < COUNT(formats); i++) {
        n = 7;
        ASKV(keyf("texture1d.%zu", i), cudaDeviceGetTexture1DLinearMaxWidth(&n, &formats[i], 0), "%zu", n);
    }
    RISK("texture1d.null", cudaDeviceGetTexture1DLinearMaxWidth(NULL, &formats[0], 0));
    RISK("texture1d.nullformat", cudaDeviceGetTexture1DLinearMaxWidth(&n, NULL, 0));
    ASK("texture1d.device", cudaDeviceGetTexture1DLinearMaxWidth(&n, &formats[0], 9));
}

static void peers(void)
{
    for (int a = -1; a <= 1; a++) {
        v = -7;
        ASKV(keyf("can.0.%d", a), cudaDeviceCanAccessPeer(&v, 0, a), "%d", v);
        if (!a) continue;
        v = -7;
        ASKV(keyf("can.%d.0", a), cudaDeviceCanAccessPeer(&v, a, 0), "%d", v);
    }
    for (int a = -1; a <= 7; a++) {
        v = -7;
        ASKV(keyf("p2p.%d", a), cudaDeviceGetP2PAttribute(&v, (enum cudaDeviceP2PAttr)a, 0, 0), "%d", v);
        v = -7;
        ASKV(keyf("p2p.other.%d", a), cudaDeviceGetP2PAttribute(&v, (enum cudaDeviceP2PAttr)a, 0, 1), "%d", v);
    }
    RISK("p2p.null", cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 0));
    ASK("enable.self", cudaDeviceEnablePeerAccess(0, 0));
    ASK("enable.flags", cudaDeviceEnablePeerAccess(0, 1));
    ASK("disable.self", cudaDeviceDisablePeerAccess(0));
    enum cudaAtomicOperation operations[16];
    unsigned capabilities[16];
    for (int i = 0; i < 16; i++) operations[i] = (enum cudaAtomicOperation)i;
    memset(capabilities, 0x77, sizeof capabilities);
    for (int i = 0; i < 14; i++) {
        unsigned c = 0x77;
        ASKV(keyf("hostatomic.%d", i), cudaDeviceGetHostAtomicCapabilities(&c, &operations[i], 1, 0), "%x", c);
        c = 0x77;
        ASKV(keyf("p2patomic.%d", i), cudaDeviceGetP2PAtomicCapabilities(&c, &operations[i], 1, 0, 0), "%x", c);
    }
    ASK("hostatomic.none", cudaDeviceGetHostAtomicCapabilities(capabilities, operations, 0, 0));
    ASK("hostatomic.device", cudaDeviceGetHostAtomicCapabilities(capabilities, operations, 1, 9));
    RISK("hostatomic.null", cudaDeviceGetHostAtomicCapabilities(NULL, operations, 1, 0));
}

static void choose(void)
{
    struct cudaDeviceProp p;
    memset(&p, 0, sizeof p);
    v = -7;
    ASKV("zero", cudaChooseDevice(&v, &p), "%d", v);
    p.major = 99;
    ASKV("major", cudaChooseDevice(&v, &p), "%d", v);
    p.major = 9;
    p.totalGlobalMem = 1ul << 60;
    ASKV("memory", cudaChooseDevice(&v, &p), "%d", v);
    char text[64];
    memset(text, 'x', sizeof text);
    for (int length = -1; length <= 16; length++) {
        memset(text, 'x', sizeof text);
        cudaError_t e = cudaDeviceGetPCIBusId(text, length, 0);
        answer(keyf("pci.%d", length), e, "%s", text[0] == 'x' ? "untouched" : keyf("%zu", strnlen(text, 60)));
    }
    MUST(cudaDeviceGetPCIBusId(text, sizeof text, 0));
    say("pci.form", "%zu %c %c %c", strlen(text), text[4], text[7], text[10]);
    ASKV("bypci", cudaDeviceGetByPCIBusId(&v, text), "%d", v);
    ASKV("bypci.short", cudaDeviceGetByPCIBusId(&v, text + 5), "%d", v);
    text[10] = 0;
    ASKV("bypci.nofunction", cudaDeviceGetByPCIBusId(&v, text), "%d", v);
    static const char *const bad[] = { "", "x", "0", "0000:00:00", "0000:00:00.0", "ffff:ff:1f.7", "zz:zz.z" };
    for (size_t i = 0; i < COUNT(bad); i++)
        ASKV(keyf("bypci.%s", bad[i]), cudaDeviceGetByPCIBusId(&v, bad[i]), "%d", v);
}

static void versions(void)
{
    ASKV("runtime", cudaRuntimeGetVersion(&v), "%d", v);
    cudaError_t e = cudaDriverGetVersion(&w);
    answer("driver", e, "%s", w >= v ? "at least the runtime's" : "older");
    const void *table = (void *)1;
    cudaUUID_t id;
    memset(&id, 0, sizeof id);
    ASKV("export", cudaGetExportTable(&table, &id), "%s",
         table ? table == (void *)1 ? "untouched" : "a table" : "null");
}

static void entry_points(void)
{
    static const char *const names[] = {
        "cuInit",
        "cuMemAlloc",
        "cuMemAlloc_v2",
        "cuCtxCreate",
        "cuCtxCreate_v2",
        "cuCtxCreate_v4",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cuMemcpyAsync",
        "cuMemcpyHtoD_v2",
        "cuStreamGetCaptureInfo",
        "cuGetProcAddress",
        "cuGraphInstantiate",
        "cuMemAdvise",
        "cuMemPrefetchAsync",
        "cuNoSuchFunction",
        "",
        "cudaMalloc",
        "cuEventElapsedTime",
        "cuTensorMapEncodeTiled",
        "cuMulticastCreate",
        "cuDeviceGetUuid",
        "cuMemBatchDecompressAsync",
        "cuProfilerStart",
    };
    static const unsigned versions[] = { 0, 1000, 4000, 10000, 11000, 12000, 12050, 13000, 13010, 99000 };
    for (size_t i = 0; i < COUNT(names); i++)
        for (size_t j = 0; j < COUNT(versions); j++) {
            void *f = (void *)1;
            cudaDriverEntryPointQueryResult q = (cudaDriverEntryPointQueryResult)77;
            ASKV(keyf("%s.%u", names[i], versions[j]),
                 cudaGetDriverEntryPointByVersion(names[i], &f, versions[j], 0, &q), "%s %d",
                 f ? f == (void *)1 ? "untouched" : "found" : "null", q);
        }
    for (unsigned flags = 0; flags <= 4; flags++) {
        void *f = (void *)1, *g = NULL;
        cudaDriverEntryPointQueryResult q = (cudaDriverEntryPointQueryResult)77;
        MUST(cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &g, 13000, 0, NULL));
        cudaError_t e = cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &f, 13000, flags, &q);
        answer(keyf("flags.%u", flags), e, "%s %d",
               f == (void *)1 ? "untouched"
               : !f           ? "null"
               : f == g       ? "same"
                              : "other",
               q);
    }
    void *f, *g;
    ASK("nostatus", cudaGetDriverEntryPointByVersion("cuNoSuch", &f, 13000, 0, NULL));
    RISK("nullname", cudaGetDriverEntryPointByVersion(NULL, &f, 13000, 0, NULL));
    RISK("nullout", cudaGetDriverEntryPointByVersion("cuInit", NULL, 13000, 0, NULL));
    MUST(cudaGetDriverEntryPointByVersion("cuMemAlloc", &f, 13000, 0, NULL));
    say("same.cuMemAlloc", "%s", f == driver_symbol("cuMemAlloc_v2") ? "cuMemAlloc_v2" : "other");
    MUST(cudaGetDriverEntryPointByVersion("cuGetProcAddress", &f, 13000, 0, NULL));
    MUST(cudaGetDriverEntryPointByVersion("cuGetProcAddress", &g, 11030, 0, NULL));
    say("same.cuGetProcAddress", "%d", f == g);
}

static void profiler(void)
{
    ASK("stop", cudaProfilerStop());
    ASK("start", cudaProfilerStart());
    ASK("start2", cudaProfilerStart());
    ASK("stop2", cudaProfilerStop());
    ASK("stop3", cudaProfilerStop());
}

static void logs(void)
{
    cudaLogIterator it = 77;
    char text[4096];
    size_t length = sizeof text;
    ASK("current", cudaLogsCurrent(&it, 0));
    ASK("current.flags", cudaLogsCurrent(&it, 1));
    RISK("current.null", cudaLogsCurrent(NULL, 0));
    cudaError_t e = cudaLogsDumpToMemory(NULL, text, &length, 0);
    answer("dump", e, "%zu", length);
    length = 10;
    e = cudaLogsDumpToMemory(NULL, text, &length, 0);
    answer("dump.small", e, "%zu", length);
    RISK("dump.null", cudaLogsDumpToMemory(NULL, NULL, &length, 0));
    RISK("file.null", cudaLogsDumpToFile(NULL, NULL, 0));
    ASK("unregister", cudaLogsUnregisterCallback(NULL));
    RISK("register.null", cudaLogsRegisterCallback(NULL, NULL, NULL));
}

static void notifications(void)
{
    cudaAsyncCallbackHandle_t handle = NULL;
    auto callback = [](cudaAsyncNotificationInfo *, void *, cudaAsyncCallbackHandle_t) {};
    ASKV("register", cudaDeviceRegisterAsyncNotification(0, callback, NULL, &handle), "%d", handle != NULL);
    ASK("unregister", cudaDeviceUnregisterAsyncNotification(0, handle));
    ASK("again", cudaDeviceUnregisterAsyncNotification(0, handle));
    ASK("nullcallback", cudaDeviceRegisterAsyncNotification(0, NULL, NULL, &handle));
    RISK("null", cudaDeviceRegisterAsyncNotification(0, callback, NULL, NULL));
    ASK("device", cudaDeviceRegisterAsyncNotification(5, callback, NULL, &handle));
}

const struct group groups[] = {
    GROUP(properties),        GROUP(attributes),     GROUP(limits), GROUP(limits_too_large), GROUP(limits_after_launch),
    GROUP(limits_after_heap), GROUP(configurations), GROUP(peers),  GROUP(choose),           GROUP(versions),
    GROUP(entry_points),      GROUP(profiler),       GROUP(logs),   GROUP(notifications),    LAST_GROUP,
};
