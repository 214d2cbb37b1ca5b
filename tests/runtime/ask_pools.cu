/* Stream-ordered allocation: cudaMallocAsync and cudaFreeAsync, pools, their attributes and access, export. */
#include "ask.h"
#include <fcntl.h>

static __global__ void store(int *p, int v) { *p = v; }

static void *p, *q;
static cudaStream_t s;

static void show_attributes(const char *key, cudaMemPool_t pool)
{
    for (int a = 0; a <= 14; a++) {
        uint64_t v = 0x7777;
        if (a <= 3) {
            int w = 0x7777;
            ASKV(keyf("%s.%d", key, a), cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)a, &w), "%d", w);
        } else
            ASKV(keyf("%s.%d", key, a), cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)a, &v), "%lu", v);
    }
}

static cudaMemPoolProps properties()
{
    cudaMemPoolProps r;
    memset(&r, 0, sizeof r);
    r.allocType = cudaMemAllocationTypePinned;
    r.location = ON_DEVICE;
    return r;
}

static void allocate(void)
{
    MUST(cudaStreamCreate(&s));
    p = (void *)1;
    ASKV("zero", cudaMallocAsync(&p, 0, s), "%s", given(p));
    ASK("null", cudaMallocAsync((void **)NULL, 16, s));
    p = (void *)1;
    ASKV("huge", cudaMallocAsync(&p, 1ul << 50, s), "%s", given(p));
    ASK("max", cudaMallocAsync(&p, ~0ul, s));
    ASK("one", cudaMallocAsync(&p, 1, s));
    store<<<1, 1, 0, s>>>((int *)p, 0x01010101);
    ASK("sync", cudaStreamSynchronize(s));
    say("value", "%s", all_on_device(p, 1, 4));
    ASK("free", cudaFreeAsync(p, s));
    ASK("free again", cudaFreeAsync(p, s));
    ASK("free null", cudaFreeAsync(NULL, s));
    ASK("free garbage", cudaFreeAsync((void *)0x1000, s));
    ASK("free host", cudaFreeAsync(&p, s));
    MUST(cudaMallocAsync(&p, 4096, s));
    ASK("free middle", cudaFreeAsync((char *)p + 256, s));
    ASK("free stream", cudaFreeAsync(p, (cudaStream_t)NULL));
    ASK("default stream", cudaMallocAsync(&p, 4096, 0));
    ASK("legacy", cudaFreeAsync(p, cudaStreamLegacy));
    ASK("thread", cudaMallocAsync(&p, 4096, cudaStreamPerThread));
    ASK("thread free", cudaFreeAsync(p, cudaStreamPerThread));
    MUST(cudaDeviceSynchronize());
    ASK("reuse.1", cudaMallocAsync(&p, 4096, s));
    ASK("reuse.free", cudaFreeAsync(p, s));
    ASK("reuse.2", cudaMallocAsync(&q, 4096, s));
    say("reuse", "%d", p == q);
    ASK("sync free", cudaFree(q));
    MUST(cudaMalloc(&p, 4096));
    ASK("async free of malloc", cudaFreeAsync(p, s));
    ASK("end", cudaDeviceSynchronize());
}

static void sizes(void)
{
    static const size_t list[] = { 1,       512,         513,      4096,         100000,   MiB,
                                   2 * MiB, 2 * MiB + 1, 32 * MiB, 32 * MiB + 1, 100 * MiB };
    cudaMemPool_t pool;
    MUST(cudaDeviceGetDefaultMemPool(&pool, 0));
    for (size_t i = 0; i < COUNT(list); i++) {
        uint64_t reserved = 7, used = 7;
        MUST(cudaMallocAsync(&p, list[i], 0));
        MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
        MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
        CUdeviceptr base = 0;
        size_t size = 0;
        CUresult r = DRIVER(cuMemGetAddressRange)(&base, &size, (CUdeviceptr)p);
        say(keyf("size%zu", list[i]), "reserved %lu used %lu range %d %s %zu aligned to 512: %d", reserved, used, r,
            base == (CUdeviceptr)p ? "base" : "inside", size, (uintptr_t)p % 512 == 0);
        MUST(cudaFreeAsync(p, 0));
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
        MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
        say(keyf("freed%zu", list[i]), "reserved %lu used %lu", reserved, used);
    }
}

static void attributes(void)
{
    cudaMemPool_t pool, d, g;
    MUST(cudaDeviceGetDefaultMemPool(&d, 0));
    MUST(cudaDeviceGetMemPool(&g, 0));
    say("default is current", "%d", d == g);
    show_attributes("default", d);
    cudaMemPoolProps props = properties();
    ASK("create", cudaMemPoolCreate(&pool, &props));
    show_attributes("new", pool);
    MUST(cudaMallocFromPoolAsync(&p, 100000, pool, 0));
    MUST(cudaMallocFromPoolAsync(&q, 3 * MiB, pool, 0));
    show_attributes("used", pool);
    MUST(cudaFreeAsync(p, 0));
    MUST(cudaDeviceSynchronize());
    show_attributes("freed", pool);
    for (int a = 0; a <= 14; a++)
        for (uint64_t v = 0; v <= 2; v++)
            ASK(keyf("set.%d.%lu", a, v), cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)a, &v));
    show_attributes("set", pool);
    RISK("get.null", cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, NULL));
    RISK("set.null", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, NULL));
    uint64_t v = 0;
    RISK("get.nullpool", cudaMemPoolGetAttribute(NULL, cudaMemPoolAttrReleaseThreshold, &v));
    RISK("set.nullpool", cudaMemPoolSetAttribute(NULL, cudaMemPoolAttrReleaseThreshold, &v));
    v = 64 * MiB;
    ASK("threshold", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &v));
    MUST(cudaMallocFromPoolAsync(&p, 40 * MiB, pool, 0));
    MUST(cudaFreeAsync(p, 0));
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &v));
    say("threshold.reserved", "%lu", v);
    ASK("trim", cudaMemPoolTrimTo(pool, 8 * MiB));
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &v));
    say("trim.reserved", "%lu", v);
    ASK("trim 0", cudaMemPoolTrimTo(pool, 0));
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &v));
    say("trim 0.reserved", "%lu", v);
    RISK("trim null", cudaMemPoolTrimTo(NULL, 0));
    ASK("destroy in use", cudaMemPoolDestroy(pool));
    ASK("free after", cudaFreeAsync(q, 0));
    ASK("destroy default", cudaMemPoolDestroy(d));
    RISK("destroy null", cudaMemPoolDestroy(NULL));
    ASK("sync", cudaDeviceSynchronize());
}

static void create(void)
{
    cudaMemPool_t pool = NULL, old = NULL;
    cudaMemPoolProps good = properties(), x;
    for (int type = 0; type <= 4; type++) {
        x = good;
        x.allocType = (enum cudaMemAllocationType)type;
        ASK(keyf("type%d", type), cudaMemPoolCreate(&pool, &x));
    }
    for (int h = 0; h <= 16; h++) {
        if (h == 8) continue;
        x = good;
        x.handleTypes = (enum cudaMemAllocationHandleType)h;
        ASK(keyf("handle%d", h), cudaMemPoolCreate(&pool, &x));
    }
    for (int t = 0; t <= 5; t++)
        for (int id = -1; id <= 1; id++) {
            x = good;
            x.location = at((enum cudaMemLocationType)t, id);
            ASK(keyf("location%d.%d", t, id), cudaMemPoolCreate(&pool, &x));
        }
    for (int u = 0; u <= 4; u++) {
        x = good;
        x.usage = u;
        ASK(keyf("usage%d", u), cudaMemPoolCreate(&pool, &x));
    }
    x = good;
    x.reserved[3] = 1;
    ASK("reserved", cudaMemPoolCreate(&pool, &x));
    x = good;
    x.maxSize = 1;
    ASK("maxsize", cudaMemPoolCreate(&pool, &x));
    ASK("maxsize.fit", cudaMallocFromPoolAsync(&p, MiB, pool, 0));
    ASK("maxsize.over", cudaMallocFromPoolAsync(&p, 100 * MiB, pool, 0));
    RISK("null", cudaMemPoolCreate(NULL, &good));
    RISK("null properties", cudaMemPoolCreate(&pool, NULL));
    MUST(cudaMemPoolCreate(&pool, &good));
    ASK("set", cudaDeviceSetMemPool(0, pool));
    MUST(cudaDeviceGetMemPool(&old, 0));
    say("get", "%d", old == pool);
    ASK("malloc", cudaMallocAsync(&p, 100, 0));
    CUmemoryPool of = NULL;
    CUresult r = DRIVER(cuPointerGetAttribute)(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (CUdeviceptr)p);
    say("malloc.pool", "%d %d", r, of == (CUmemoryPool)pool);
    ASK("set null", cudaDeviceSetMemPool(0, NULL));
    ASK("set device", cudaDeviceSetMemPool(5, pool));
    MUST(cudaFreeAsync(p, 0));
    ASK("destroy current", cudaMemPoolDestroy(pool));
    cudaMemPool_t d;
    MUST(cudaDeviceGetMemPool(&old, 0));
    MUST(cudaDeviceGetDefaultMemPool(&d, 0));
    say("current after", "%d", old == d);
    RISK("from null", cudaMallocFromPoolAsync(&p, 16, NULL, 0));
    RISK("default null", cudaDeviceGetDefaultMemPool(NULL, 0));
    RISK("current null", cudaDeviceGetMemPool(NULL, 0));
}

static void access(void)
{
    cudaMemPool_t pool;
    cudaMemPoolProps props = properties();
    MUST(cudaMemPoolCreate(&pool, &props));
    for (int t = 0; t <= 4; t++)
        for (int id = -1; id <= 1; id++) {
            cudaMemLocation l = at((enum cudaMemLocationType)t, id);
            enum cudaMemAccessFlags flags = (enum cudaMemAccessFlags)77;
            ASKV(keyf("get.%d.%d", t, id), cudaMemPoolGetAccess(&flags, pool, &l), "%d", flags);
        }
    for (int t = 0; t <= 4; t++)
        for (int id = -1; id <= 1; id++)
            for (int f = 0; f <= 4; f++) {
                cudaMemAccessDesc d;
                d.location = at((enum cudaMemLocationType)t, id);
                d.flags = (enum cudaMemAccessFlags)f;
                ASK(keyf("set.%d.%d.%d", t, id, f), cudaMemPoolSetAccess(pool, &d, 1));
            }
    cudaMemAccessDesc d;
    d.location = ON_DEVICE;
    d.flags = cudaMemAccessFlagsProtReadWrite;
    ASK("set.none", cudaMemPoolSetAccess(pool, &d, 0));
    RISK("set.null", cudaMemPoolSetAccess(pool, NULL, 1));
    RISK("get.null", cudaMemPoolGetAccess(NULL, pool, &d.location));
    RISK("get.nulllocation", cudaMemPoolGetAccess((enum cudaMemAccessFlags *)&d, pool, NULL));
}

static void locations(void)
{
    cudaMemPool_t pool = NULL, d, g;
    MUST(cudaDeviceGetDefaultMemPool(&d, 0));
    for (int t = 0; t <= 4; t++)
        for (int id = -1; id <= 1; id++)
            for (int type = 0; type <= 3; type++) {
                cudaMemLocation l = at((enum cudaMemLocationType)t, id);
                pool = (cudaMemPool_t)1;
                ASKV(keyf("default.%d.%d.%d", t, id, type),
                     cudaMemGetDefaultMemPool(&pool, &l, (enum cudaMemAllocationType)type), "%s",
                     pool == d ? "the device's" : given(pool));
                pool = (cudaMemPool_t)1;
                ASKV(keyf("current.%d.%d.%d", t, id, type),
                     cudaMemGetMemPool(&pool, &l, (enum cudaMemAllocationType)type), "%s",
                     pool == d ? "the device's" : given(pool));
            }
    cudaMemPoolProps props = properties();
    MUST(cudaMemPoolCreate(&pool, &props));
    cudaMemLocation l = ON_DEVICE;
    ASK("set", cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, pool));
    MUST(cudaDeviceGetMemPool(&g, 0));
    say("set.then", "%d", g == pool);
    ASK("set.managed", cudaMemSetMemPool(&l, cudaMemAllocationTypeManaged, pool));
    l = ON_HOST;
    ASK("set.host", cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, pool));
    ASK("set.null", cudaMemSetMemPool(&l, cudaMemAllocationTypePinned, NULL));
    props.location = ON_HOST;
    cudaError_t e = ASK("host pool", cudaMemPoolCreate(&pool, &props));
    if (!e) {
        ASK("host.malloc", cudaMallocFromPoolAsync(&p, 4096, pool, 0));
        ASK("host.sync", cudaDeviceSynchronize());
        struct cudaPointerAttributes a;
        ASKV("host.pointer", cudaPointerGetAttributes(&a, p), "%d %d", a.type, a.device);
        ASK("host.set", cudaMemset(p, 3, 100));
        ASK("host.sync2", cudaDeviceSynchronize());
        ASK("host.free", cudaFreeAsync(p, 0));
    }
    props.allocType = cudaMemAllocationTypeManaged;
    props.location = ON_DEVICE;
    e = ASK("managed pool", cudaMemPoolCreate(&pool, &props));
    if (!e) {
        ASK("managed.malloc", cudaMallocFromPoolAsync(&p, 4096, pool, 0));
        ASK("managed.sync", cudaDeviceSynchronize());
        struct cudaPointerAttributes a;
        ASKV("managed.pointer", cudaPointerGetAttributes(&a, p), "%d %d", a.type, a.device);
        ASK("managed.free", cudaFreeAsync(p, 0));
    }
}

static void export_import(void)
{
    cudaMemPool_t plain, pool, other = NULL;
    cudaMemPoolProps props = properties();
    int fd = -1;
    cudaMemPoolPtrExportData data;
    memset(&data, 0, sizeof data);
    MUST(cudaMemPoolCreate(&plain, &props));
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    MUST(cudaMemPoolCreate(&pool, &props));
    ASK("plain", cudaMemPoolExportToShareableHandle(&fd, plain, cudaMemHandleTypePosixFileDescriptor, 0));
    ASKV("export", cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0), "%d",
         fd > 2);
    int g = -1;
    ASK("export.flags", cudaMemPoolExportToShareableHandle(&g, pool, cudaMemHandleTypePosixFileDescriptor, 1));
    ASK("export.type", cudaMemPoolExportToShareableHandle(&g, pool, cudaMemHandleTypeNone, 0));
    RISK("export.null", cudaMemPoolExportToShareableHandle(NULL, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    ASKV("import",
         cudaMemPoolImportFromShareableHandle(&other, (void *)(uintptr_t)fd, cudaMemHandleTypePosixFileDescriptor, 0),
         "%d", other != NULL && other != pool);
    MUST(cudaMallocFromPoolAsync(&p, 4096, pool, 0));
    MUST(cudaMemset(p, 0x5a, 4096));
    MUST(cudaDeviceSynchronize());
    ASK("pointer", cudaMemPoolExportPointer(&data, p));
    q = (void *)1;
    ASKV("pointer.import", cudaMemPoolImportPointer(&q, other, &data), "%s", q == p ? "same" : given(q));
    RISK("pointer.null", cudaMemPoolExportPointer(NULL, p));
    ASK("pointer.garbage", cudaMemPoolExportPointer(&data, (void *)0x1000));
    void *m;
    MUST(cudaMalloc(&m, 4096));
    ASK("pointer.malloc", cudaMemPoolExportPointer(&data, m));
    ASK("import.malloc", cudaMallocFromPoolAsync(&m, 100, other, 0));
    int null = open("/dev/null", O_RDONLY);
    ASK("import.devnull",
        cudaMemPoolImportFromShareableHandle(&other, (void *)(uintptr_t)null, cudaMemHandleTypePosixFileDescriptor, 0));
    ASK("import.closed",
        cudaMemPoolImportFromShareableHandle(&other, (void *)(uintptr_t)900, cudaMemHandleTypePosixFileDescriptor, 0));
}

/* Order between streams: what another stream frees is not there before it is waited for. */
static void order(void)
{
    cudaStream_t t;
    cudaEvent_t e;
    static struct gate gate;
    cudaMemPool_t pool;
    cudaMemPoolProps props = properties();
    MUST(cudaMemPoolCreate(&pool, &props));
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&e));
    MUST(cudaMallocFromPoolAsync(&p, MiB, pool, s));
    gate_close(&gate, s);
    MUST(cudaFreeAsync(p, s));
    MUST(cudaMallocFromPoolAsync(&q, MiB, pool, s));
    say("same stream", "%d", p == q);
    MUST(cudaFreeAsync(q, s));
    MUST(cudaMallocFromPoolAsync(&q, MiB, pool, t));
    say("other stream, not waited for", "%d", p == q);
    MUST(cudaFreeAsync(q, t));
    gate_open(&gate);
    MUST(cudaStreamSynchronize(s));
    MUST(cudaStreamSynchronize(t));
    uint64_t v = 7;
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &v));
    say("used", "%lu", v);
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &v));
    say("used high", "%lu", v);
}

const struct group groups[] = {
    GROUP(allocate),  GROUP(sizes),         GROUP(attributes), GROUP(create), GROUP(access),
    GROUP(locations), GROUP(export_import), GROUP(order),      LAST_GROUP,
};
