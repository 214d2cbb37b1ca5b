/* CUDA 12: functions that have other forms there than in 13, structures that are shorter, versions, and
 * functions that 13 has not. Linked to libcudart.so.12, though compiled with 13's header. */
#include "ask.h"
#include "twelve_forms.h"
#include <dlfcn.h>

static __global__ void nothing() {}
static size_t n;

/* How much of what was filled with 0xa5 is something else now: the last such byte. */
static size_t written(const void *memory, size_t size)
{
    while (size && ((const unsigned char *)memory)[size - 1] == 0xa5) size--;
    return size;
}

static void versions(void)
{
    int v = 0;
    ASKV("runtime", cudaRuntimeGetVersion(&v), "%d", v);
    RISK("runtime.null", cudaRuntimeGetVersion(NULL));
    ASKV("driver", cudaDriverGetVersion(&v), "%d", v >= 12090);
}

static const char *numbers(const int *a, int count)
{
    char *s = keyf("%d", a[0]);
    for (int i = 1; i < count; i++) s = keyf("%s %d", s, a[i]);
    return s;
}

static void properties(void)
{
    static union {
        struct cudaDeviceProp_12 p;
        char bytes[4096];
    } u, old;
    memset(&u, 0xa5, sizeof u);
    MUST(cudaGetDeviceProperties_v2_12(&u.p, 0));
    struct cudaDeviceProp_12 &p = u.p;
    say("written", "%zu", written(&u, sizeof u));
    say("name.rest", "%s", all(p.name + strlen(p.name) + 1, 0, sizeof p.name - strlen(p.name) - 1));
    say("~luid", "%s %x", all(p.luid, 0, sizeof p.luid), p.luidDeviceNodeMask);
    say("reserved", "%s", all(p.reserved, 0, sizeof p.reserved));
#define INT(f) say(#f, "%lld", (long long)p.f)
#define INTS(f) say(#f, "%s", numbers(p.f, COUNT(p.f)))
    INT(sharedMemPerBlock), INT(regsPerBlock), INT(warpSize), INT(memPitch), INT(maxThreadsPerBlock);
    INTS(maxThreadsDim), INTS(maxGridSize), INT(clockRate), INT(totalConstMem), INT(major), INT(minor);
    INT(textureAlignment), INT(texturePitchAlignment), INT(deviceOverlap), INT(multiProcessorCount);
    INT(kernelExecTimeoutEnabled), INT(integrated), INT(canMapHostMemory), INT(computeMode), INT(maxTexture1D);
    INT(maxTexture1DMipmap), INT(maxTexture1DLinear), INTS(maxTexture2D), INTS(maxTexture2DMipmap);
    INTS(maxTexture2DLinear), INTS(maxTexture2DGather), INTS(maxTexture3D), INTS(maxTexture3DAlt);
    INT(maxTextureCubemap), INTS(maxTexture1DLayered), INTS(maxTexture2DLayered), INTS(maxTextureCubemapLayered);
    INT(maxSurface1D), INTS(maxSurface2D), INTS(maxSurface3D), INTS(maxSurface1DLayered), INTS(maxSurface2DLayered);
    INT(maxSurfaceCubemap), INTS(maxSurfaceCubemapLayered), INT(surfaceAlignment), INT(concurrentKernels);
    INT(ECCEnabled), INT(tccDriver), INT(asyncEngineCount), INT(unifiedAddressing), INT(memoryClockRate);
    INT(memoryBusWidth), INT(l2CacheSize), INT(persistingL2CacheMaxSize), INT(maxThreadsPerMultiProcessor);
    INT(streamPrioritiesSupported), INT(globalL1CacheSupported), INT(localL1CacheSupported);
    INT(sharedMemPerMultiprocessor), INT(regsPerMultiprocessor), INT(managedMemory), INT(isMultiGpuBoard);
    INT(multiGpuBoardGroupID), INT(hostNativeAtomicSupported), INT(singleToDoublePrecisionPerfRatio);
    INT(pageableMemoryAccess), INT(concurrentManagedAccess), INT(computePreemptionSupported);
    INT(canUseHostPointerForRegisteredMem), INT(cooperativeLaunch), INT(cooperativeMultiDeviceLaunch);
    INT(sharedMemPerBlockOptin), INT(pageableMemoryAccessUsesHostPageTables), INT(directManagedMemAccessFromHost);
    INT(maxBlocksPerMultiProcessor), INT(accessPolicyMaxWindowSize), INT(reservedSharedMemPerBlock);
    INT(hostRegisterSupported), INT(sparseCudaArraySupported), INT(hostRegisterReadOnlySupported);
    INT(timelineSemaphoreInteropSupported), INT(memoryPoolsSupported), INT(gpuDirectRDMASupported);
    INT(gpuDirectRDMAFlushWritesOptions), INT(gpuDirectRDMAWritesOrdering), INT(memoryPoolSupportedHandleTypes);
    INT(deferredMappingCudaArraySupported), INT(ipcEventSupported), INT(clusterLaunch), INT(unifiedFunctionPointers);
    memset(&old, 0xa5, sizeof old);
    ASKV("old", cudaGetDeviceProperties_12(&old.p, 0), "%zu %s", written(&old, sizeof old),
         memcmp(&old, &u, offsetof(struct cudaDeviceProp_12, hostRegisterSupported)) ? "other" : "the same");
    for (size_t i = 0; i < sizeof(struct cudaDeviceProp_12); i++)
        if (old.bytes[i] != u.bytes[i]) {
            say("old.differs", "%zu", i);
            break;
        }
    ASK("bad device", cudaGetDeviceProperties_v2_12(&u.p, 99));
    ASK("old.bad device", cudaGetDeviceProperties_12(&old.p, 99));
    RISK("null", cudaGetDeviceProperties_v2_12(NULL, 0));
    RISK("old.null", cudaGetDeviceProperties_12(NULL, 0));
}

static void choose(void)
{
    static char memory[4096];
    struct cudaDeviceProp_12 *p = (struct cudaDeviceProp_12 *)memory;
    int d = -1;
    ASKV("zero", cudaChooseDevice_12(&d, p), "%d", d);
    p->major = 9;
    ASKV("major", cudaChooseDevice_12(&d, p), "%d", d);
    p->major = 99;
    ASKV("major 99", cudaChooseDevice_12(&d, p), "%d", d);
    RISK("null", cudaChooseDevice_12(NULL, p));
    RISK("null prop", cudaChooseDevice_12(&d, NULL));
}

static void attributes(void)
{
    static const int ids[] = { 13, 15, 17, 20, 36, 69, 87, 95, 96, 114, 120, 121, 122, 123, 130, 132, 134, 141, 142,
                               143, 144, 145, 146, 147, 148, 149, 150 };
    for (int id : ids) {
        int v = -77;
        ASKV(keyf("%d", id), cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)id, 0), "%d", v);
    }
    for (int id = 0; id < 8; id++) {
        int v = -77;
        ASKV(keyf("p2p.%d", id), cudaDeviceGetP2PAttribute(&v, (enum cudaDeviceP2PAttr)id, 0, 0), "%d", v);
    }
}

static void pointers(void)
{
    static char memory[256], other[64];
    void *device, *managed, *host;
    MUST(cudaMalloc(&device, 4096));
    MUST(cudaMallocManaged(&managed, 4096));
    MUST(cudaMallocHost(&host, 4096));
    const struct {
        const char *name;
        void *p;
    } all[] = { { "device", device }, { "managed", managed }, { "host", host }, { "other", other }, { "null", NULL } };
    for (auto &a : all) {
        memset(memory, 0xa5, sizeof memory);
        struct cudaPointerAttributes *p = (struct cudaPointerAttributes *)memory;
        ASKV(a.name, cudaPointerGetAttributes_12(p, a.p), "%zu %d %d %d %d", written(memory, sizeof memory), p->type,
             p->device, p->devicePointer == a.p, p->hostPointer == a.p);
    }
    RISK("nowhere", cudaPointerGetAttributes_12(NULL, device));
}

static void shorter_textures(void)
{
    static char memory[512], again[512];
    struct cudaResourceDesc *r = (struct cudaResourceDesc *)memory;
    struct cudaTextureDesc t;
    cudaArray_t array;
    struct cudaChannelFormatDesc desc = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
    MUST(cudaMallocArray(&array, &desc, 64, 64, cudaArraySurfaceLoadStore));
    memset(memory, 0xa5, sizeof memory);
    memset(r, 0, 64);
    r->resType = cudaResourceTypeArray;
    r->res.array.array = array;
    memset(&t, 0, sizeof t);
    cudaTextureObject_t texture = 0;
    cudaSurfaceObject_t surface = 0;
    ASKV("create", cudaCreateTextureObject_12(&texture, r, &t, NULL), "%d", texture != 0);
    memset(again, 0xa5, sizeof again);
    ASKV("resource", cudaGetTextureObjectResourceDesc_12((struct cudaResourceDesc *)again, texture), "%zu %d",
         written(again, sizeof again), ((struct cudaResourceDesc *)again)->res.array.array == array);
    memset(again, 0xa5, sizeof again);
    ASKV("view none", cudaGetTextureObjectResourceViewDesc_12((struct cudaResourceViewDesc *)again, texture), "%d",
         (int)written(again, sizeof again));
    memset(again, 0xa5, sizeof again);
    ASKV("texture", cudaGetTextureObjectTextureDesc((struct cudaTextureDesc *)again, texture), "%zu",
         written(again, sizeof again));
    ASKV("surface", cudaCreateSurfaceObject_12(&surface, r), "%d", surface != 0);
    memset(again, 0xa5, sizeof again);
    ASKV("surface.resource", cudaGetSurfaceObjectResourceDesc_12((struct cudaResourceDesc *)again, surface), "%zu %d",
         written(again, sizeof again), ((struct cudaResourceDesc *)again)->res.array.array == array);
    static char view[512];
    memset(view, 0xa5, sizeof view);
    struct cudaResourceViewDesc *v = (struct cudaResourceViewDesc *)view;
    memset(v, 0, 48);
    v->format = cudaResViewFormatFloat1;
    v->width = v->height = 64;
    texture = 0;
    ASKV("with view", cudaCreateTextureObject_12(&texture, r, &t, v), "%d", texture != 0);
    memset(again, 0xa5, sizeof again);
    ASKV("view", cudaGetTextureObjectResourceViewDesc_12((struct cudaResourceViewDesc *)again, texture), "%zu %d %zu",
         written(again, sizeof again), ((struct cudaResourceViewDesc *)again)->format,
         ((struct cudaResourceViewDesc *)again)->width);
    RISK("view null", cudaGetTextureObjectResourceViewDesc_12(NULL, texture));
    RISK("resource null", cudaGetTextureObjectResourceDesc_12(NULL, texture));
    RISK("surface null", cudaCreateSurfaceObject_12(&surface, NULL));
}

static void advice(void)
{
    static char other[8192];
    static const int devices[] = { 0, -1, -2, 1, 99, -99 };
    char *managed;
    void *device;
    MUST(cudaMallocManaged((void **)&managed, 4 * MiB));
    MUST(cudaMalloc(&device, 4096));
    for (int advice = 0; advice <= 7; advice++)
        for (int d : devices) {
            ASK(keyf("%d.%d", advice, d), cudaMemAdvise_12(managed, 4 * MiB, (enum cudaMemoryAdvise)advice, d));
            int read = -77, preferred = -77;
            cudaMemRangeGetAttribute(&read, 4, cudaMemRangeAttributeReadMostly, managed, 4 * MiB);
            cudaMemRangeGetAttribute(&preferred, 4, cudaMemRangeAttributePreferredLocation, managed, 4 * MiB);
            say(keyf("then.%d.%d", advice, d), "%d %d", read, preferred);
        }
    ASK("device", cudaMemAdvise_12(device, 4096, cudaMemAdviseSetReadMostly, 0));
    ASK("other", cudaMemAdvise_12(other, 4096, cudaMemAdviseSetReadMostly, 0));
    ASK("null", cudaMemAdvise_12(NULL, 4096, cudaMemAdviseSetReadMostly, 0));
    ASK("empty", cudaMemAdvise_12(managed, 0, cudaMemAdviseSetReadMostly, 0));
    ASK("too long", cudaMemAdvise_12(managed, 8 * MiB, cudaMemAdviseSetReadMostly, 0));
    ASK("v2", cudaMemAdvise_v2_13(managed, 4 * MiB, cudaMemAdviseSetPreferredLocation, ON_DEVICE));
    ASK("v2.type 0", cudaMemAdvise_v2_13(managed, 4 * MiB, cudaMemAdviseSetPreferredLocation,
                                         at((enum cudaMemLocationType)0, 0)));
    ASK("v2.unset.type 0", cudaMemAdvise_v2_13(managed, 4 * MiB, cudaMemAdviseUnsetPreferredLocation,
                                               at((enum cudaMemLocationType)0, 0)));
}

static void prefetches(void)
{
    static char other[8192];
    static const int devices[] = { 0, -1, -2, 1, 99, -99 };
    char *managed;
    void *device;
    MUST(cudaMallocManaged((void **)&managed, 4 * MiB));
    MUST(cudaMalloc(&device, 4096));
    for (int d : devices) {
        ASK(keyf("%d", d), cudaMemPrefetchAsync_12(managed, 4 * MiB, d, NULL));
        MUST(cudaDeviceSynchronize());
        int last = -77;
        cudaMemRangeGetAttribute(&last, 4, cudaMemRangeAttributeLastPrefetchLocation, managed, 4 * MiB);
        say(keyf("then.%d", d), "%d", last);
    }
    ASK("device", cudaMemPrefetchAsync_12(device, 4096, 0, NULL));
    ASK("other", cudaMemPrefetchAsync_12(other, 4096, 0, NULL));
    ASK("null", cudaMemPrefetchAsync_12(NULL, 4096, 0, NULL));
    ASK("empty", cudaMemPrefetchAsync_12(managed, 0, 0, NULL));
    ASK("too long", cudaMemPrefetchAsync_12(managed, 8 * MiB, 0, NULL));
    RISK("bad stream", cudaMemPrefetchAsync_12(managed, 4096, 0, (cudaStream_t)0x77));
    ASK("v2", cudaMemPrefetchAsync_v2_13(managed, 4 * MiB, ON_HOST, 0, NULL));
    ASK("v2.flags", cudaMemPrefetchAsync_v2_13(managed, 4 * MiB, ON_HOST, 1, NULL));
    ASK("v2.type 0", cudaMemPrefetchAsync_v2_13(managed, 4 * MiB, at((enum cudaMemLocationType)0, 0), 0, NULL));
}

static void batches(void)
{
    char *a, *b, *c;
    cudaStream_t s;
    MUST(cudaStreamCreate(&s));
    MUST(cudaMalloc((void **)&a, 65536));
    MUST(cudaMalloc((void **)&b, 65536));
    MUST(cudaMallocHost((void **)&c, 65536));
    struct cudaMemcpyAttributes attr;
    memset(&attr, 0, sizeof attr);
    attr.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t zero = 0, f;
    void *to[3] = { b, b + 4096, b + 8192 }, *from[3] = { a, a + 4096, c };
    size_t sizes[3] = { 1024, 1024, 1024 };
#define BATCH(key, ...) f = 77, ASKV(key, cudaMemcpyBatchAsync_12(__VA_ARGS__), "%zd", (ssize_t)f)
    BATCH("three", to, from, sizes, 3, &attr, &zero, 1, &f, s);
    BATCH("no attributes", to, from, sizes, 3, NULL, NULL, 0, &f, s);
    BATCH("none", to, from, sizes, 0, &attr, &zero, 1, &f, s);
    BATCH("null stream", to, from, sizes, 3, &attr, &zero, 1, &f, NULL);
    BATCH("no failIdx", to, from, sizes, 3, &attr, &zero, 1, NULL, s);
    BATCH("no dsts", NULL, from, sizes, 3, &attr, &zero, 1, &f, s);
    BATCH("no indices", to, from, sizes, 3, &attr, NULL, 1, &f, s);
    for (int k = 0; k < 3; k++) {
        size_t was = sizes[k];
        sizes[k] = 1 * MiB;
        BATCH(keyf("too long.%d", k), to, from, sizes, 3, &attr, &zero, 1, &f, s);
        sizes[k] = 0;
        BATCH(keyf("empty.%d", k), to, from, sizes, 3, &attr, &zero, 1, &f, s);
        sizes[k] = was;
        void *p = to[k];
        to[k] = NULL;
        BATCH(keyf("null.%d", k), to, from, sizes, 3, &attr, &zero, 1, &f, s);
        BATCH(keyf("null.%d no failIdx", k), to, from, sizes, 3, &attr, &zero, 1, NULL, s);
        to[k] = p;
    }
    size_t bad[2] = { 1, 2 }, order[2] = { 0, 0 }, far[2] = { 0, 7 };
    struct cudaMemcpyAttributes two[2] = { attr, attr };
    BATCH("indices.first", to, from, sizes, 3, two, bad, 2, &f, s);
    BATCH("indices.same", to, from, sizes, 3, two, order, 2, &f, s);
    BATCH("indices.far", to, from, sizes, 3, two, far, 2, &f, s);
    attr.srcAccessOrder = (enum cudaMemcpySrcAccessOrder)0;
    BATCH("order.0", to, from, sizes, 3, &attr, &zero, 1, &f, s);
    attr.srcAccessOrder = (enum cudaMemcpySrcAccessOrder)9;
    BATCH("order.9", to, from, sizes, 3, &attr, &zero, 1, &f, s);
    ASK("sync", cudaStreamSynchronize(s));

    struct cudaMemcpy3DBatchOp op[2];
    memset(op, 0, sizeof op);
    for (int k = 0; k < 2; k++) {
        op[k].src.type = op[k].dst.type = cudaMemcpyOperandTypePointer;
        op[k].src.op.ptr.ptr = a + 4096 * k;
        op[k].dst.op.ptr.ptr = b + 4096 * k;
        op[k].src.op.ptr.locHint = op[k].dst.op.ptr.locHint = ON_DEVICE;
        op[k].extent.width = op[k].extent.height = 32;
        op[k].extent.depth = 1;
        op[k].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    }
#define BATCH3(key, ...) f = 77, ASKV(key, cudaMemcpy3DBatchAsync_12(__VA_ARGS__), "%zd", (ssize_t)f)
    BATCH3("3d.two", 2, op, &f, 0, s);
    BATCH3("3d.none", 0, op, &f, 0, s);
    BATCH3("3d.flags", 2, op, &f, 1, s);
    BATCH3("3d.no list", 2, NULL, &f, 0, s);
    BATCH3("3d.no failIdx", 2, op, NULL, 0, s);
    BATCH3("3d.null stream", 2, op, &f, 0, NULL);
    op[1].dst.op.ptr.ptr = NULL;
    BATCH3("3d.null", 2, op, &f, 0, s);
    BATCH3("3d.null no failIdx", 2, op, NULL, 0, s);
    ASK("3d.sync", cudaStreamSynchronize(s));
}

static void captures(void)
{
    cudaStream_t s;
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)77;
    unsigned long long id = 77, id2 = 78;
    cudaGraph_t g = (cudaGraph_t)1;
    const cudaGraphNode_t *deps = NULL;
    void *p;
    MUST(cudaMalloc(&p, 4096));
    MUST(cudaStreamCreate(&s));
    ASKV("none", cudaStreamGetCaptureInfo_12(s, &status, &id), "%d %s", status, id == 77 ? "77" : id ? "id" : "0");
    ASKV("legacy", cudaStreamGetCaptureInfo_12(NULL, &status, &id), "%d", status);
    RISK("none.null", cudaStreamGetCaptureInfo_12(s, NULL, &id));
    ASKV("none.no id", cudaStreamGetCaptureInfo_12(s, &status, NULL), "%d", status);
    n = 77;
    ASKV("none.v2", cudaStreamGetCaptureInfo_v2_12(s, &status, &id, &g, &deps, &n), "%d %s %zu", status, given(g), n);
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    ASKV("active", cudaStreamGetCaptureInfo_12(s, &status, &id), "%d %d", status, id != 0 && id != 77);
    RISK("active.null", cudaStreamGetCaptureInfo_12(s, NULL, &id));
    ASKV("active.no id", cudaStreamGetCaptureInfo_12(s, &status, NULL), "%d", status);
    ASK("fill", cudaMemsetAsync(p, 1, 4096, s));
    ASKV("v2", cudaStreamGetCaptureInfo_v2_12(s, &status, &id2, &g, &deps, &n), "%d %d %s %zu", status, id == id2,
         given(g), n);
    ASKV("v2.only status", cudaStreamGetCaptureInfo_v2_12(s, &status, NULL, NULL, NULL, NULL), "%d", status);
    ASKV("v3", cudaStreamGetCaptureInfo_v3_13(s, &status, &id2, &g, &deps, NULL, &n), "%d %d %zu", status, id == id2, n);
    cudaGraphNode_t node = n ? deps[0] : NULL, empty = NULL;
    ASK("empty", cudaGraphAddEmptyNode(&empty, g, NULL, 0));
    ASK("update", cudaStreamUpdateCaptureDependencies_12(s, &empty, 1, cudaStreamAddCaptureDependencies));
    ASKV("update.then", cudaStreamGetCaptureInfo_v2_12(s, &status, NULL, NULL, &deps, &n), "%zu", n);
    ASK("update.set", cudaStreamUpdateCaptureDependencies_12(s, &node, 1, cudaStreamSetCaptureDependencies));
    ASKV("update.set.then", cudaStreamGetCaptureInfo_v2_12(s, &status, NULL, NULL, &deps, &n), "%zu", n);
    ASK("update.flags", cudaStreamUpdateCaptureDependencies_12(s, &node, 1, 7));
    ASK("update.none", cudaStreamUpdateCaptureDependencies_12(s, NULL, 0, cudaStreamSetCaptureDependencies));
    RISK("update.null", cudaStreamUpdateCaptureDependencies_12(s, NULL, 1, cudaStreamSetCaptureDependencies));
    ASKV("end", cudaStreamEndCapture(s, &g), "%s", given(g));
    ASK("update.idle", cudaStreamUpdateCaptureDependencies_12(s, &node, 1, 0));
}

static void graphs(void)
{
    cudaGraph_t g;
    cudaGraphNode_t node[4], from[8], to[8];
    MUST(cudaGraphCreate(&g, 0));
    for (int k = 0; k < 4; k++) MUST(cudaGraphAddEmptyNode(&node[k], g, NULL, 0));
    ASK("add", cudaGraphAddDependencies_12(g, &node[0], &node[1], 1));
    ASK("add.again", cudaGraphAddDependencies_12(g, &node[0], &node[1], 1));
    ASK("add.more", cudaGraphAddDependencies_12(g, node, node + 1, 3));
    ASK("add.others", cudaGraphAddDependencies_12(g, node + 1, node + 2, 2));
    ASK("add.self", cudaGraphAddDependencies_12(g, node, node, 1));
    ASK("add.circle", cudaGraphAddDependencies_12(g, node + 3, node, 1));
    ASK("add.none", cudaGraphAddDependencies_12(g, NULL, NULL, 0));
    RISK("add.null", cudaGraphAddDependencies_12(g, NULL, NULL, 1));
    ASKV("count", cudaGraphGetEdges_12(g, NULL, NULL, &n), "%zu", n);
    n = 8;
    memset(from, 0, sizeof from), memset(to, 0, sizeof to);
    ASKV("edges", cudaGraphGetEdges_12(g, from, to, &n), "%zu", n);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                if (from[k] == node[i] && to[k] == node[j]) say(keyf("edge.%d", k), "%d to %d", i, j);
    n = 1;
    ASKV("edges.one", cudaGraphGetEdges_12(g, from, to, &n), "%zu", n);
    n = 8;
    ASKV("edges.no to", cudaGraphGetEdges_12(g, from, NULL, &n), "%zu", n);
    RISK("edges.null", cudaGraphGetEdges_12(g, NULL, NULL, NULL));
    RISK("edges.no graph", cudaGraphGetEdges_12(NULL, NULL, NULL, &n));
    ASKV("v2.edges", cudaGraphGetEdges_v2_13(g, NULL, NULL, NULL, &n), "%zu", n);
    ASKV("dependencies", cudaGraphNodeGetDependencies_12(node[1], NULL, &n), "%zu", n);
    n = 8;
    ASKV("dependencies.list", cudaGraphNodeGetDependencies_12(node[1], from, &n), "%zu %d", n, from[0] == node[0]);
    RISK("dependencies.null", cudaGraphNodeGetDependencies_12(node[1], NULL, NULL));
    RISK("dependencies.no node", cudaGraphNodeGetDependencies_12(NULL, NULL, &n));
    ASKV("dependents", cudaGraphNodeGetDependentNodes_12(node[0], NULL, &n), "%zu", n);
    n = 8;
    ASKV("dependents.list", cudaGraphNodeGetDependentNodes_12(node[0], to, &n), "%zu %d", n, to[0] == node[1]);
    RISK("dependents.null", cudaGraphNodeGetDependentNodes_12(node[0], NULL, NULL));
    ASK("remove", cudaGraphRemoveDependencies_12(g, &node[0], &node[1], 1));
    ASK("remove.again", cudaGraphRemoveDependencies_12(g, &node[0], &node[1], 1));
    ASK("remove.none", cudaGraphRemoveDependencies_12(g, NULL, NULL, 0));
    ASKV("count.after", cudaGraphGetEdges_12(g, NULL, NULL, &n), "%zu", n);
    struct cudaGraphNodeParams p = { cudaGraphNodeTypeEmpty };
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeEmpty;
    cudaGraphNode_t more = NULL;
    ASKV("node.empty", cudaGraphAddNode_12(&more, g, node, 2, &p), "%d", more != NULL);
    ASKV("node.dependencies", cudaGraphNodeGetDependencies_12(more, NULL, &n), "%zu", n);
    RISK("node.null", cudaGraphAddNode_12(&more, g, NULL, 0, NULL));
    RISK("node.nowhere", cudaGraphAddNode_12(NULL, g, NULL, 0, &p));
    RISK("node.no list", cudaGraphAddNode_12(&more, g, NULL, 1, &p));
    p.type = (enum cudaGraphNodeType)99;
    ASK("node.type 99", cudaGraphAddNode_12(&more, g, NULL, 0, &p));
    memset(&p, 0, sizeof p);
    p.type = cudaGraphNodeTypeMemset;
    void *d;
    MUST(cudaMalloc(&d, 4096));
    p.memset.dst = d;
    p.memset.elementSize = 1;
    p.memset.width = 16;
    p.memset.height = 1;
    ASK("node.memset", cudaGraphAddNode_12(&more, g, node, 1, &p));
    p.reserved0[1] = 1;
    ASK("node.reserved", cudaGraphAddNode_12(&more, g, node, 1, &p));
    /* an edge that carries something: what asks without room for it */
    cudaGraph_t q;
    MUST(cudaGraphCreate(&q, 0));
    struct cudaKernelNodeParams k;
    memset(&k, 0, sizeof k);
    k.func = (void *)nothing;
    k.gridDim = k.blockDim = dim3(1);
    cudaGraphNode_t k1, k2;
    MUST(cudaGraphAddKernelNode(&k1, q, NULL, 0, &k));
    MUST(cudaGraphAddKernelNode(&k2, q, NULL, 0, &k));
    cudaGraphEdgeData e;
    memset(&e, 0, sizeof e);
    e.from_port = cudaGraphKernelNodePortProgrammatic;
    e.type = cudaGraphDependencyTypeProgrammatic;
    ASK("programmatic", cudaGraphAddDependencies_v2_13(q, &k1, &k2, &e, 1));
    ASKV("programmatic.count", cudaGraphGetEdges_12(q, NULL, NULL, &n), "%zu", n);
    n = 8;
    ASKV("programmatic.edges", cudaGraphGetEdges_12(q, from, to, &n), "%zu", n);
    n = 8;
    ASKV("programmatic.v2", cudaGraphGetEdges_v2_13(q, from, to, NULL, &n), "%zu", n);
    n = 8;
    ASKV("programmatic.dependencies", cudaGraphNodeGetDependencies_12(k2, from, &n), "%zu", n);
    n = 8;
    ASKV("programmatic.dependents", cudaGraphNodeGetDependentNodes_12(k1, from, &n), "%zu", n);
    ASK("programmatic.remove", cudaGraphRemoveDependencies_12(q, &k1, &k2, 1));
}

static void events(void)
{
    cudaEvent_t a, b, plain;
    float ms = -1;
    MUST(cudaEventCreate(&a));
    MUST(cudaEventCreate(&b));
    MUST(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    ASKV("unrecorded", cudaEventElapsedTime_12(&ms, a, b), "%g", ms);
    ASKV("v2.unrecorded", cudaEventElapsedTime_v2_13(&ms, a, b), "%g", ms);
    MUST(cudaEventRecord(a, 0));
    ASK("half", cudaEventElapsedTime_12(&ms, a, b));
    MUST(cudaEventRecord(b, 0));
    MUST(cudaEventRecord(plain, 0));
    MUST(cudaDeviceSynchronize());
    ms = -1;
    ASKV("both", cudaEventElapsedTime_12(&ms, a, b), "%d", ms >= 0);
    ASKV("same", cudaEventElapsedTime_12(&ms, a, a), "%g", ms);
    ASKV("v2.same", cudaEventElapsedTime_v2_13(&ms, a, a), "%g", ms);
    ASK("plain", cudaEventElapsedTime_12(&ms, a, plain));
    ASK("v2.plain", cudaEventElapsedTime_v2_13(&ms, a, plain));
    RISK("nowhere", cudaEventElapsedTime_12(NULL, a, b));
    RISK("v2.nowhere", cudaEventElapsedTime_v2_13(NULL, a, b));
    RISK("null", cudaEventElapsedTime_12(&ms, NULL, b));
    cudaStream_t s;
    MUST(cudaStreamCreate(&s));
    struct gate gate;
    gate_close(&gate, s);
    MUST(cudaEventRecord(b, s));
    ASK("busy", cudaEventElapsedTime_12(&ms, a, b));
    ASK("v2.busy", cudaEventElapsedTime_v2_13(&ms, a, b));
    gate_open(&gate);
    MUST(cudaDeviceSynchronize());
}

static void threads(void)
{
    enum cudaFuncCache config = (enum cudaFuncCache)77;
    ASKV("stack", cudaThreadGetLimit(&n, cudaLimitStackSize), "%zu", n);
    ASK("stack.set", cudaThreadSetLimit(cudaLimitStackSize, 4096));
    ASKV("stack.then", cudaThreadGetLimit(&n, cudaLimitStackSize), "%zu", n);
    ASK("bad limit", cudaThreadSetLimit((enum cudaLimit)99, 4096));
    RISK("limit.null", cudaThreadGetLimit(NULL, cudaLimitStackSize));
    ASKV("cache", cudaThreadGetCacheConfig(&config), "%d", config);
    ASK("cache.set", cudaThreadSetCacheConfig(cudaFuncCachePreferL1));
    ASKV("cache.then", cudaThreadGetCacheConfig(&config), "%d", config);
    ASK("cache.bad", cudaThreadSetCacheConfig((enum cudaFuncCache)9));
    RISK("cache.null", cudaThreadGetCacheConfig(NULL));
    ASK("synchronize", cudaThreadSynchronize());
    state("before");
    void *p;
    MUST(cudaMalloc(&p, 4096));
    ASK("exit", cudaThreadExit_12());
    state("after");
    ASK("free", cudaFree(p));
    ASKV("limit.after", cudaThreadGetLimit(&n, cudaLimitStackSize), "%zu", n);
}

static void doubles(void)
{
    double d = 1.1;
    ASKV("device", cudaSetDoubleForDevice_12(&d), "%.17g", d);
    state("device");
    ASKV("host", cudaSetDoubleForHost_12(&d), "%.17g", d);
    RISK("device.null", cudaSetDoubleForDevice_12(NULL));
    RISK("host.null", cudaSetDoubleForHost_12(NULL));
}

static void several(void)
{
    struct cudaLaunchParams_12 l;
    cudaStream_t s;
    memset(&l, 0, sizeof l);
    MUST(cudaStreamCreate(&s));
    l.func = (void *)nothing;
    l.gridDim = l.blockDim = dim3(1);
    l.stream = s;
    struct cudaLaunchParams_12 *p = &l;
    ASK("one", cudaLaunchCooperativeKernelMultiDevice_12(p, 1, 0));
    ASK("sync", cudaDeviceSynchronize());
    ASK("none", cudaLaunchCooperativeKernelMultiDevice_12(p, 0, 0));
    RISK("null", cudaLaunchCooperativeKernelMultiDevice_12(NULL, 1, 0));
    ASK("flags", cudaLaunchCooperativeKernelMultiDevice_12(p, 1, 99));
    ASK("too many", cudaLaunchCooperativeKernelMultiDevice_12(p, 99, 0));
    l.stream = NULL;
    ASK("null stream", cudaLaunchCooperativeKernelMultiDevice_12(p, 1, 0));
    l.func = &l;
    l.stream = s;
    ASK("no kernel", cudaLaunchCooperativeKernelMultiDevice_12(p, 1, 0));
}

static void semaphores(void)
{
    RISK("signal.none", cudaSignalExternalSemaphoresAsync(NULL, NULL, 0, NULL));
    RISK("signal.null", cudaSignalExternalSemaphoresAsync(NULL, NULL, 1, NULL));
    RISK("wait.none", cudaWaitExternalSemaphoresAsync(NULL, NULL, 0, NULL));
    RISK("wait.null", cudaWaitExternalSemaphoresAsync(NULL, NULL, 1, NULL));
}

/* Which of a name's versions an address is. */
static const char *version_of(const char *name, void *address)
{
    static const char *const ends[] = { "", "_v2", "_v3", "_v4", "_ptsz", "_v2_ptsz", "_v3_ptsz", "_ptds", "_v2_ptds" };
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!address) return "null";
    for (const char *end : ends)
        if (dlsym(driver, keyf("%s%s", name, end)) == address) return keyf("%s%s", name, end);
    return "other";
}

static void entry_points(void)
{
    static const char *const names[] = {
        "cuMemAdvise", "cuMemPrefetchAsync", "cuMemcpyBatchAsync", "cuMemcpy3DBatchAsync", "cuEventElapsedTime",
        "cuGraphGetEdges", "cuGraphAddNode", "cuGraphAddDependencies", "cuStreamGetCaptureInfo",
        "cuStreamUpdateCaptureDependencies", "cuCtxCreate", "cuDeviceGetUuid", "cuMemAlloc", "cuMemcpyHtoD",
        "cuMemcpyHtoDAsync", "cuGraphExecUpdate", "cuGraphInstantiate", "cuGraphKernelNodeSetParams", "cuStreamWaitValue32",
        "cuLaunchKernel", "cuCtxSynchronize", "cuCtxDestroy", "cuDevicePrimaryCtxReset", "cuGetProcAddress", "cuIpcOpenMemHandle",
        "cuMemHostRegister", "cuStreamBeginCapture", "cuMemGetDefaultMemPool", "cuMemPrefetchBatchAsync", "cuLogsCurrent",
        "cuMulticastCreate", "cuTensorMapEncodeTiled", "cuGreenCtxCreate", "cuStreamGetCtx", "cuCtxGetDevice",
        "cuDeviceGetHostAtomicCapabilities", "cuCheckpointProcessLock", "cuNothing", "" };
    for (const char *name : names) {
        void *f = (void *)1;
        enum cudaDriverEntryPointQueryResult found = (enum cudaDriverEntryPointQueryResult)77;
        cudaError_t e = cudaGetDriverEntryPoint(name, &f, 0, &found);
        answer(keyf("now.%s", name), e, "%d %s", found, f == (void *)1 ? "untouched" : version_of(name, f));
        static const unsigned versions[] = { 11000, 12000, 12020, 12030, 12080, 12090, 13000 };
        for (unsigned v : versions) {
            f = (void *)1;
            e = cudaGetDriverEntryPointByVersion(name, &f, v, 0, &found);
            answer(keyf("%u.%s", v, name), e, "%d %s", found, f == (void *)1 ? "untouched" : version_of(name, f));
        }
    }
    void *f = (void *)1;
    enum cudaDriverEntryPointQueryResult found;
    for (unsigned flags = 0; flags < 4; flags++)
        ASKV(keyf("flags.%u", flags), cudaGetDriverEntryPoint("cuMemcpyHtoDAsync", &f, flags, &found), "%s",
             version_of("cuMemcpyHtoDAsync", f));
    ASK("future", cudaGetDriverEntryPointByVersion("cuMemAlloc", &f, 99000, 0, &found));
    ASK("past", cudaGetDriverEntryPointByVersion("cuMemAlloc", &f, 1000, 0, &found));
    ASK("no status", cudaGetDriverEntryPoint("cuMemAlloc", &f, 0, NULL));
}

/* Kinds of pool and location that came with 13. */
static void pools(void)
{
    struct cudaMemPoolProps p;
    cudaMemPool_t pool = NULL;
    for (int type = 0; type < 4; type++)
        for (int location = 0; location < 5; location++) {
            memset(&p, 0, sizeof p);
            p.allocType = (enum cudaMemAllocationType)type;
            p.location = at((enum cudaMemLocationType)location, 0);
            cudaError_t e = cudaMemPoolCreate(&pool, &p);
            answer(keyf("%d.%d", type, location), e, " ");
            if (!e) cudaMemPoolDestroy(pool);
        }
}

static void functions(void)
{
    static char memory[1024];
    memset(memory, 0xa5, sizeof memory);
    ASKV("attributes", cudaFuncGetAttributes((struct cudaFuncAttributes *)memory, (const void *)nothing), "%zu",
         written(memory, sizeof memory));
    const char *name = NULL;
    ASKV("name", cudaFuncGetName(&name, (const void *)nothing), "%s", name ? "given" : "none");
    nothing<<<1, 1>>>();
    ASK("launch", cudaGetLastError());
    ASK("sync", cudaDeviceSynchronize());
    RISK("attributes.null", cudaFuncGetAttributes((struct cudaFuncAttributes *)memory, NULL));
    RISK("attributes.nowhere", cudaFuncGetAttributes(NULL, (const void *)nothing));
}

const struct group groups[] = { GROUP(versions), GROUP(properties), GROUP(choose),     GROUP(attributes),
                                GROUP(pointers), GROUP(shorter_textures),   GROUP(advice),     GROUP(prefetches),
                                GROUP(batches),  GROUP(captures),   GROUP(graphs),     GROUP(events),
                                GROUP(threads),  GROUP(doubles),    GROUP(several),    GROUP(semaphores),
                                GROUP(pools),    GROUP(functions),  GROUP(entry_points), LAST_GROUP };
