/* Random calls about ranges of managed and of other memory: advice and prefetches of both versions, batches, discards,
 * attachments, attributes, wrong locations, sizes, flags and streams. cases_distant.c has the same with two devices,
 * cases_kin.c with more kinds of memory.
 * Advice that names a node of the host is left out where it is none to an H200 (deviations.txt); so are attachments
 * without a flag, which crash its driver. */
#include "say.h"

#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef FIRST_SIZE
#define FIRST_SIZE (6 * MiB + 4096)
#endif
enum { SHARED, HOSTS, DEVICE, PINNED, MAPPED, PLAIN, VARIABLE, POOLED, OBJECTS, MOST = 4 };
#ifdef KIN
enum { KINDS = OBJECTS };
#else
enum { KINDS = VARIABLE };
#endif
static const char *const names[OBJECTS] = { "man", "manhost", "dev", "host", "vmm", "plain", "variable", "pooled" };
static CUdeviceptr at[OBJECTS];
static size_t size[OBJECTS];
static CUstream streams[DEVICES];
static CUcontext contexts[DEVICES];
static int current;

static CUresult (*advise_v1)(CUdeviceptr, size_t, CUmem_advise, CUdevice);
static CUresult (*prefetch_v1)(CUdeviceptr, size_t, CUdevice, CUstream);

#ifdef KIN
static void kin(void)
{
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .global .attribute(.managed) .align 8 .b8 variable[300000];\n.visible .entry n() { ret; }\n";
    CUmodule m;
    CUmemoryPool pool;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_MANAGED, .location = loc(0, 0) };
    MUST(cuModuleLoadData(&m, ptx));
    MUST(cuModuleGetGlobal(&at[VARIABLE], &size[VARIABLE], m, "variable"));
    size[POOLED] = MiB;
    MUST(cuMemPoolCreate(&pool, &props));
    MUST(cuMemAllocFromPoolAsync(&at[POOLED], size[POOLED], pool, streams[0]));
    MUST(cuStreamSynchronize(streams[0]));
}
#endif

static void begin(void)
{
    setup();
    contexts[0] = ctx0;
    for (int k = 0; k < DEVICES; k++) {
        if (k) MUST(cuDevicePrimaryCtxRetain(&contexts[k], k));
        MUST(cuCtxSetCurrent(contexts[k]));
        MUST(cuStreamCreate(&streams[k], CU_STREAM_NON_BLOCKING));
    }
    MUST(cuCtxSetCurrent(ctx0));
    current = 0;
    size[SHARED] = FIRST_SIZE, size[HOSTS] = 200000, size[DEVICE] = 3 * MiB, size[PINNED] = MiB;
    size[MAPPED] = 2 * GRAN, size[PLAIN] = 4 * MiB;
    MUST(cuMemAllocManaged(&at[SHARED], size[SHARED], CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocManaged(&at[HOSTS], size[HOSTS], CU_MEM_ATTACH_HOST));
    MUST(cuMemAlloc(&at[DEVICE], size[DEVICE]));
    MUST(cuMemHostAlloc((void **)&at[PINNED], size[PINNED], 0));
    CUmemGenericAllocationHandle h;
    at[MAPPED] = vmm_alloc(size[MAPPED], &h);
    at[PLAIN] = (CUdeviceptr)mmap(NULL, size[PLAIN], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    advise_v1 = (CUresult(*)(CUdeviceptr, size_t, CUmem_advise, CUdevice))dlsym(RTLD_DEFAULT, "cuMemAdvise");
    prefetch_v1 = (CUresult(*)(CUdeviceptr, size_t, CUdevice, CUstream))dlsym(RTLD_DEFAULT, "cuMemPrefetchAsync");
    kernels();
#ifdef KIN
    kin();
#endif
}

/* ---- arguments; each is told when it is drawn */

/* Its end is somewhere else: behind the end of all addresses, or far off. */
static size_t huge(CUdeviceptr p)
{
    switch (draw(8)) {
    case 0: return add(" page before"), 0ul - 4096;
    case 1: return add(" block before"), 0ul - 2 * MiB;
    case 2: return add(" end of all"), 0ul - p;
    case 3: return add(" first page of all"), 4096 - p;
    case 4: return add(" half of all"), 1ul << 63;
    default: return add(" byte before"), 0ul - 1;
    }
}

static CUdeviceptr any_range(size_t *n)
{
    int k = draw(10) < (KINDS > VARIABLE ? 4 : 7) ? SHARED : draw(3) ? HOSTS : (int)draw(KINDS);
    if (KINDS > VARIABLE && !draw(3)) k = VARIABLE + (int)draw(2);
    size_t off = draw(3) ? draw((uint32_t)(size[k] / 4096)) * 4096ul : draw((uint32_t)size[k]);
    if (!draw(4)) off = 0;
    bool far = false;
    switch (draw(24)) {
    case 0: *n = 0, far = draw(3); break;
    case 1: *n = size[k] - off + 1; break;
    case 2: *n = size[k] + 256 * MiB; break;
    case 3:
    case 4: *n = (size[k] - off + 4095) / 4096 * 4096; break;
    case 5:
    case 6: *n = 1; break;
    case 7:
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
    case 13: *n = size[k] - off; break;
    default: *n = 1 + draw((uint32_t)(size[k] - off));
    }
    if (!draw(40)) {
        add(" nowhere %zx", *n);
        return draw(2) ? 0 : 0x1234000;
    }
    add(" %s+%zx", names[k], off);
    if (far) *n = huge(at[k] + off);
    else add(" %zx", *n);
    return at[k] + off;
}

static CUmemLocation any_location(void)
{
    static const int ids[] = { -2, -1, 1, 2, 99, 0x7fffffff };
    CUmemLocation l = loc(draw(12) ? (int[]){ 1, 1, 1, 2, 2, 3, 4 }[draw(7)] : (int[]){ 0, 5, -1 }[draw(3)], 0);
    if (!draw(7)) l.id = ids[draw(6)];
    if (DEVICES > 1 && l.type == CU_MEM_LOCATION_TYPE_DEVICE && draw(2)) l.id = 1;
    if (l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && (l.id == 1 || l.id == 2)) l.id = 99; /* some machines have these */
    add(" l%d/%d", l.type, l.id);
    return l;
}

static CUdevice any_device(void)
{
    CUdevice d = (CUdevice[]){ 0, 0, 0, -1, -1, -1, -2, 1, 99 }[draw(9)];
    add(" d%d", d);
    return d;
}

static CUstream any_stream(void)
{
    int k = (int)draw(5 + DEVICES);
    add(" s%d", k);
    return k == 0 ? NULL : k == 1 ? CU_STREAM_LEGACY : k == 2 ? CU_STREAM_PER_THREAD : streams[k > 4 ? k - 5 : 0];
}

static unsigned any_flags(void)
{
    unsigned f = draw(12) ? 0 : 1 + draw(3);
    if (f) add(" f%u", f);
    return f;
}

/* ---- calls */

static CUresult batch(void)
{
    CUdeviceptr p[MOST];
    CUmemLocation l[MOST];
    size_t n[MOST], index[MOST], count = draw(15) ? 1 + draw(MOST) : 0, locations = 1 + draw(count ? (uint32_t)count : 1) + !draw(12);
    unsigned what = draw(3);
    add("%s %zu/%zu", (const char *[]){ "prefetchbatch", "discardbatch", "discardprefetchbatch" }[what], count, locations);
    for (size_t k = 0; k < MOST; k++) {
        p[k] = at[SHARED], n[k] = size[SHARED];
        if (k < count) p[k] = any_range(&n[k]);
        l[k] = loc(1, 0);
        index[k] = k;
        if (k >= locations) continue;
        if (what != 1) l[k] = any_location();
        if (!draw(12)) index[k] = draw(5);
        add("@%zu", index[k]);
    }
    unsigned f = any_flags();
    CUstream s = any_stream();
    switch (what) {
    case 0: return cuMemPrefetchBatchAsync(p, n, count, l, index, locations, f, s);
    case 1: return cuMemDiscardBatchAsync(p, n, count, f, s);
    default: return cuMemDiscardAndPrefetchBatchAsync(p, n, count, l, index, locations, f, s);
    }
}

static CUresult advise(void)
{
    size_t n;
    int a = draw(20) ? 1 + (int)draw(6) : (int[]){ 0, 7, -1 }[draw(3)], first = !draw(4);
    add(first ? "advise1 a%d" : "advise a%d", a);
    CUdeviceptr p = any_range(&n);
    if (first) return advise_v1(p, n, (CUmem_advise)a, any_device());
    CUmemLocation l = any_location();
    if (l.type >= CU_MEM_LOCATION_TYPE_HOST_NUMA && l.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT && a > 0 && a < 5)
        l = loc(2, 0), add(" l2/0");
    return cuMemAdvise(p, n, (CUmem_advise)a, l);
}

static CUresult prefetch(void)
{
    size_t n;
    int first = !draw(4);
    add(first ? "prefetch1" : "prefetch");
    CUdeviceptr p = any_range(&n);
    CUstream s = any_stream();
    if (first) return prefetch_v1(p, n, any_device(), s);
    CUmemLocation l = any_location();
    return cuMemPrefetchAsync(p, n, l, any_flags(), s);
}

static CUresult attach(void)
{
    static const size_t lengths[] = { 0, 0, 0, 1, 4096 };
    int k = draw(3) ? (int)draw(2) : (int)draw(KINDS);
    unsigned f = (unsigned[]){ 1, 2, 4, 4, 3, 8 }[draw(6)];
    size_t off = draw(4) ? 0 : 4096, n = draw(3) ? size[k] : lengths[draw(5)];
    add("attach %s+%zx %zx f%u", names[k], off, n, f);
    return cuStreamAttachMemAsync(any_stream(), at[k] + off, n, f);
}

static void told(const int *v, size_t count)
{
    for (size_t k = 0; k < count; k++) add(" %d", v[k]);
}

static CUresult attributes(void)
{
    int v[MOST][6];
    void *data[MOST];
    size_t sizes[MOST], n, count = draw(20) ? 1 + draw(MOST) : 0;
    CUmem_range_attribute a[MOST];
    memset(v, 0x5a, sizeof v);
    add("attributes");
    for (size_t k = 0; k < count; k++) {
        int q = draw(20) ? 1 + (int)draw(8) : (int[]){ 0, 9, -1 }[draw(3)];
        a[k] = (CUmem_range_attribute)q;
        data[k] = draw(40) ? v[k] : NULL;
        sizes[k] = q == 3 ? 4 * (1 + draw(6)) : 4;
        if (!draw(15)) sizes[k] = (size_t[]){ 0, 1, 3, 8, 16, 5 }[draw(6)];
        add(" %d:%zu%s", q, sizes[k], data[k] ? "" : "null");
    }
    CUdeviceptr p = any_range(&n);
    CUresult r = count == 1 && draw(2) ? cuMemRangeGetAttribute(data[0], sizes[0], a[0], p, n)
                                       : cuMemRangeGetAttributes(data, sizes, a, count, p, n);
    add(" =");
    for (size_t k = 0; k < count; k++) told(v[k], a[k] == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? 6 : 2);
    return r;
}

static CUresult renew(void)
{
    int k = (int)draw(2);
    CUresult r = cuMemFree(at[k]);
    MUST(cuMemAllocManaged(&at[k], size[k], k ? CU_MEM_ATTACH_HOST : CU_MEM_ATTACH_GLOBAL));
    add("renew %s", names[k]);
    return r;
}

static CUresult touch(void)
{
    CUdeviceptr p = at[SHARED] + draw((uint32_t)size[SHARED] / 4) * 4ul;
    if (draw(2)) {
        MUST(cuCtxSynchronize());
        *(volatile int *)p = 5;
        add("write");
        return 0;
    }
    add("poke");
    MUST(cuCtxSetCurrent(ctx0));
    CUresult r = k_poke(p, 3);
    if (!r) r = cuCtxSynchronize();
    MUST(cuCtxSetCurrent(contexts[current]));
    return r;
}

static CUresult pointer(void)
{
    static const int asked[] = { 2, 8, 9, 12, 13, 15, 16 };
    int k = (int)draw(KINDS), a = asked[draw(7)];
    uint64_t v = 0;
    CUresult r = cuPointerGetAttribute(&v, (CUpointer_attribute)a, at[k] + draw((uint32_t)size[k]));
    add("pointer %s a%d %" PRIx64, names[k], a, v);
    return r;
}

static void call(void)
{
    unsigned o = draw(100);
    if (DEVICES > 1 && !draw(4)) {
        current = !current;
        MUST(cuCtxSetCurrent(contexts[current]));
    }
    if (DEVICES > 1) add("c%d ", current);
    CUresult r = o < 24   ? advise()
                 : o < 38 ? prefetch()
                 : o < 58 ? batch()
                 : o < 86 ? attributes()
                 : o < 91 ? attach()
                 : o < 94 ? touch()
                 : o < 97 ? pointer()
                          : renew();
    for (int k = 0; k < DEVICES; k++) cuStreamSynchronize(streams[k]);
    add(" %s", rname(r));
    say();
}

#define RANGES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define WALKS(i) WALK(ranges, i, 500, begin, call)
#define LISTED(i) WALKED(ranges, i),
RANGES(WALKS)
const struct group groups[] = { RANGES(LISTED) { 0 } };
