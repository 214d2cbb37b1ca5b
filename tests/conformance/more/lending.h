/* Pools of DEVICES devices and of the host, and what they lend: random steps (dice.h) in the streams of all devices,
 * each of which is done before the next. For cases_loans.c (one device) and cases_abroad.c (two). */
#ifndef LENDING_H
#define LENDING_H
#include "say.h"

enum { POOLS = 8, SLOTS = 10, STREAMS = 3 * DEVICES, COPIES = 2, DONE_US = 3000 };

static const struct {
    int location, id, handles, type;
    size_t most;
} kinds[POOLS] = { { 1, 0, 0, 1, 0 },           { 1, 0, 1, 1, 0 },           { 2, 0, 0, 1, 0 },
                   { 3, 0, 1, 1, 0 },           { 1, DEVICES - 1, 0, 2, 0 }, { 1, DEVICES - 1, 0, 1, 0 },
                   { 1, DEVICES - 1, 1, 1, 0 }, { 1, 0, 0, 1, 64 * MiB } };

static CUmemoryPool pools[POOLS], copies[COPIES], standard[24];
static int standards;
static struct {
    CUdeviceptr p;
    size_t size;
    CUmemoryPool pool;
    bool orphan;
} slots[SLOTS];
static CUstream streams[STREAMS];
static CUcontext contexts[DEVICES];

/* ---- names */

static const char *pool_name(CUmemoryPool p)
{
    if (!p) return "none";
    for (int k = 0; k < POOLS; k++)
        if (pools[k] == p) return keyf("p%d", k);
    for (int k = 0; k < COPIES; k++)
        if (copies[k] == p) return keyf("c%d", k);
    for (int k = 0; k < standards; k++)
        if (standard[k] == p) return keyf("std%d", k);
    if (standards == 24) return "many";
    standard[standards++] = p;
    return keyf("new%d", standards - 1);
}

static CUmemoryPool any_pool(void)
{
    unsigned which = draw(12);
    int k = (int)draw(POOLS);
    if (which == 0) {
        add(" c%d", k % COPIES);
        return copies[k % COPIES];
    }
    if (which < 4 && standards) {
        k = (int)draw((uint32_t)standards);
        add(" std%d", k);
        return standard[k];
    }
    for (int n = 0; n < POOLS && !pools[k] && which < 11; n++) k = (k + 1) % POOLS;
    add(" p%d", k);
    return pools[k];
}

static int any_device(void) { return draw(10) ? (int)draw(DEVICES) : draw(2) ? -1 : DEVICES; }

static CUmemLocation any_location(void)
{
    static const int some[] = { 1, 1, 1, 1, 2, 3, 4, 0, 5, 6, -1 };
    int type = some[draw(draw(3) ? 6 : 11)];
    CUmemLocation l = loc(type, type == 1 ? any_device() : draw(4) ? 0 : draw(2) ? -1 : 99);
    add(" l%d.%d", l.type, l.id);
    return l;
}

/* The stream's context need not be the current one. */
static CUstream any_stream(void)
{
    static const CUstream special[] = { NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD };
    if (draw(8) == 0) {
        int k = (int)draw(3);
        add(" S%d", k);
        return special[k];
    }
    int k = (int)draw(STREAMS);
    add(" s%d", k);
    return streams[k];
}

static CUdeviceptr any_address(void)
{
    int i = (int)draw(SLOTS);
    for (int k = 0; k < SLOTS && !slots[i].p; k++) i = (i + 1) % SLOTS;
    size_t off = draw(8) ? 0 : draw(2) ? 1 : 512;
    add(" %d+%zu", i, off);
    return slots[i].p ? slots[i].p + off : 0;
}

/* ---- figures */

/* Those that are others than before. */
static void figure(const char *name, CUmemoryPool p, unsigned long long before[4])
{
    unsigned long long v[4] = { 0 };
    for (int a = 0; a < 4; a++)
        if (cuMemPoolGetAttribute(p, (CUmemPool_attribute)(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT + a), &v[a])) return;
    if (!memcmp(v, before, sizeof v)) return;
    memcpy(before, v, sizeof v);
    add(" %s %llu/%llu %llu/%llu", name, v[0] >> 20, v[1] >> 20, v[2], v[3]);
}

static void figures(void)
{
    static unsigned long long before[POOLS + 24][4];
    add(" |");
    for (int k = 0; k < POOLS; k++)
        if (pools[k]) figure(keyf("p%d", k), pools[k], before[k]);
    for (int k = 0; k < standards; k++) figure(keyf("std%d", k), standard[k], before[POOLS + k]);
}

static void tell_access(CUmemoryPool p)
{
    for (int k = 0; k < DEVICES + 2; k++) {
        CUmemLocation l = loc(k < DEVICES ? 1 : 2 + k - DEVICES, k < DEVICES ? k : 0);
        CUmemAccess_flags f = 9;
        CUresult r = cuMemPoolGetAccess(&f, p, &l);
        add(" %s", r ? rname(r) : keyf("%d", f));
    }
}

static void tell_pointer(CUdeviceptr at, int slot)
{
    static const int some[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                CU_POINTER_ATTRIBUTE_IS_MANAGED,  CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
                                CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                CU_POINTER_ATTRIBUTE_MAPPED,      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE };
    for (int k = 0; k < 8; k++) {
        unsigned char v[16] = { 0 };
        CUresult r = cuPointerGetAttribute(v, (CUpointer_attribute)some[k], at);
        add(" %s", r ? rname(r) : keyf("%d", *(int *)v));
    }
    size_t n = 0;
    CUdeviceptr b = 0, other = 0;
    CUmemoryPool p = NULL;
    CUcontext c = NULL;
    CUresult r = cuMemGetAddressRange(&b, &n, at);
    add(" range %s", r ? rname(r) : keyf("-%lu %zu", (unsigned long)(at - b), n));
    r = cuPointerGetAttribute(&p, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at);
    add(" pool %s", r                                 ? rname(r)
                    : slot >= 0 && slots[slot].orphan ? "gone"
                    : p && p == slots[slot].pool      ? "its"
                                                      : pool_name(p));
    r = cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, at);
    add(" context %s", r ? rname(r) : c == contexts[0] ? "0" : c == contexts[DEVICES - 1] ? "1" : c ? "?" : "none");
    r = cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at);
    add(" %s", r ? rname(r) : other == at ? "here" : "there");
    r = cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_HOST_POINTER, at);
    add(" %s", r ? rname(r) : other == at ? "here" : "there");
}

/* ---- steps: memory */

static void take(int i)
{
    static const size_t sizes[] = { 0, 1, 600, 4096, 100000, MiB, 2 * MiB, 5 * MiB, 20 * MiB };
    size_t n = sizes[draw(draw(4) ? 8 : 9)];
    CUdeviceptr p = 5;
    CUresult r;
    CUmemoryPool from = NULL;
    add("take %zu", n);
    if (draw(6) == 0)
        r = cuMemAllocAsync(&p, n, any_stream());
    else {
        from = any_pool();
        r = cuMemAllocFromPoolAsync(&p, n, from, any_stream());
    }
    add(" %s", rname(r));
    if (r || !p) {
        add(" %s", p == 5 ? "kept" : p ? "some" : "0");
        return;
    }
    usleep(DONE_US);
    slots[i].p = p;
    slots[i].size = n;
    if (!from) cuPointerGetAttribute(&from, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
    slots[i].pool = from;
    slots[i].orphan = false;
    tell_pointer(p, i);
}

static void wait_for_some(void)
{
    int d = (int)draw(DEVICES);
    CUevent e;
    switch (draw(5)) {
    case 0:
        add(" then");
        add(" %s", rname(cuStreamSynchronize(any_stream())));
        break;
    case 1:
        MUST(cuCtxSetCurrent(contexts[d]));
        add(" then d%d %s", d, rname(cuCtxSynchronize()));
        break;
    case 2: {
        int k = (int)draw(STREAMS);
        MUST(cuCtxSetCurrent(contexts[k / 3]));
        MUST(cuEventCreate(&e, 0));
        MUST(cuEventRecord(e, streams[k]));
        add(" then e%d %s", k, rname(cuEventSynchronize(e)));
        MUST(cuEventDestroy(e));
        break;
    }
    default:;
    }
}

static void give(int i)
{
    size_t off = draw(12) ? 0 : draw(2) ? 1 : 512;
    CUresult r;
    add("give %d+%zu", i, off);
    if (draw(5) == 0) {
        add(" now");
        r = cuMemFree(slots[i].p + off);
    } else
        r = cuMemFreeAsync(slots[i].p + off, any_stream());
    add(" %s", rname(r));
    usleep(DONE_US);
    if (!r) slots[i].p = 0;
    wait_for_some();
}

static void touch(int i)
{
    add("touch %d", i);
    tell_pointer(slots[i].p + (draw(3) ? 0 : 511), i);
}

/* Who may use it: in the end an error may stay. */
static void use(int i)
{
    unsigned char byte = 7;
    int d = (int)draw(DEVICES), what = (int)draw(4);
    CUresult r, end;
    MUST(cuCtxSetCurrent(contexts[d]));
    add("use %d d%d %d", i, d, what);
    switch (what) {
    case 0: r = cuMemcpyHtoD(slots[i].p, &byte, 1); break;
    case 1: r = cuMemcpyDtoH(&byte, slots[i].p, 1); break;
    case 2: r = cuMemsetD8(slots[i].p, 1, 1); break;
    default: r = cuMemcpyPeer(slots[i].p, contexts[draw(DEVICES)], slots[i].p, contexts[d], 1);
    }
    add(" %s", rname(r));
    end = cuCtxSynchronize();
    if (!end) return;
    add(" then %s", rname(end));
    say();
    exit(STICKY);
}

/* ---- steps: pools */

static CUresult destroy_pool(CUmemoryPool p)
{
    CUresult r = cuMemPoolDestroy(p);
    for (int i = 0; i < SLOTS; i++)
        if (!r && p && slots[i].pool == p) slots[i].orphan = true;
    return r;
}

static void create(void)
{
    /* the driver hangs over far more than there are addresses for */
    static const size_t most[] = { 1, 32 * MiB, 33 * MiB, 64 * MiB, 65 * MiB, 1ull << 40, 1 * MiB };
    static const int handles[] = { 0, 1, 2, 4, 8, 9, 3, 16 };
    int k = (int)draw(POOLS);
    CUmemPoolProps x;
    CUmemoryPool p = (CUmemoryPool)5;
    memset(&x, 0, sizeof x);
    add("create p%d", k);
    x.allocType = (CUmemAllocationType)(draw(8) ? 1 + (draw(4) == 0) : draw(2) * 3);
    x.location = any_location();
    if (draw(3) == 0) x.handleTypes = (CUmemAllocationHandleType)(draw(2) ? 1 : handles[draw(8)]);
    if (draw(3) == 0) x.maxSize = most[draw(7)];
    if (draw(12) == 0) x.usage = (unsigned short)(1u << draw(16));
    if (draw(25) == 0) x.reserved[draw(sizeof x.reserved)] = 1;
    if (draw(25) == 0) x.win32SecurityAttributes = &x;
    add(" t%d h%d m%zx u%x%s%s", x.allocType, x.handleTypes, x.maxSize, x.usage, x.win32SecurityAttributes ? " w" : "",
        memchr(x.reserved, 1, sizeof x.reserved) ? " r" : "");
    CUresult r = cuMemPoolCreate(&p, &x);
    add(" %s", rname(r));
    if (r && p != (CUmemoryPool)5) add(" written");
    if (r) return;
    if (pools[k]) add(" old %s", rname(destroy_pool(pools[k])));
    pools[k] = p;
    tell_access(p);
}

static void destroy(void)
{
    if (standards && draw(5) == 0) {
        int k = (int)draw((uint32_t)standards);
        add("destroy std%d %s", k, rname(cuMemPoolDestroy(standard[k])));
        return;
    }
    int k = (int)draw(POOLS);
    add("destroy p%d %s", k, rname(destroy_pool(pools[k])));
    pools[k] = NULL;
    for (int d = 0; d < DEVICES; d++) {
        CUmemoryPool p = NULL;
        CUresult r = cuDeviceGetMemPool(&p, d);
        add(" %s", r ? rname(r) : pool_name(p));
    }
}

static void trim(void)
{
    static const size_t some[] = { 0, 1, MiB, 32 * MiB, 33 * MiB, 64 * MiB, -1ull };
    size_t keep = some[draw(7)];
    add("trim %zu", keep);
    add(" %s", rname(cuMemPoolTrimTo(any_pool(), keep)));
}

static void attribute(void)
{
    static const unsigned long long values[] = { 0, 1, 2, -1ull, 1ull << 32, 1ull << 25, 5, 0 };
    add("set");
    CUmemoryPool p = any_pool();
    int a = draw(8) ? 1 + (int)draw(8) : (int)draw(24) - 3;
    if (draw(4) == 0) a = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    unsigned long long v = values[draw(8)], w = 77;
    CUresult r = cuMemPoolSetAttribute(p, (CUmemPool_attribute)a, &v);
    add(" %d %lld %s", a, (long long)v, rname(r));
    r = cuMemPoolGetAttribute(p, (CUmemPool_attribute)a, &w);
    add(" %s", r ? rname(r) : keyf("%lld", (long long)w));
}

static void access_of(void)
{
    CUmemAccessDesc d[3];
    unsigned n = draw(4) ? 1 : draw(4);
    add("access");
    CUmemoryPool p = any_pool();
    for (unsigned k = 0; k < n; k++) {
        d[k].location = any_location();
        d[k].flags = (CUmemAccess_flags)(draw(6) ? draw(3) ? 3 : 0 : draw(5));
        add("=%d", d[k].flags);
    }
    add(" %s:", rname(cuMemPoolSetAccess(p, d, n)));
    tell_access(p);
    for (int i = 0; i < SLOTS; i++) {
        unsigned flags = 0;
        if (!slots[i].p || slots[i].pool != p || slots[i].orphan) continue;
        CUresult r = cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, slots[i].p);
        add(" %d: %s", i, r ? rname(r) : keyf("%d", flags));
    }
}

static void current(void)
{
    CUmemoryPool p = (CUmemoryPool)5;
    CUresult r;
    CUmemLocation l = loc(1, 0);
    CUmemAllocationType t = (CUmemAllocationType)(draw(8) ? 1 + (draw(4) == 0) : draw(2) * 3);
    int d = any_device();
    switch (draw(7)) {
    case 0:
        add("default t%d", t);
        l = any_location();
        r = cuMemGetDefaultMemPool(&p, &l, t);
        break;
    case 1:
        add("get t%d", t);
        l = any_location();
        r = cuMemGetMemPool(&p, &l, t);
        break;
    case 2:
    case 3:
        add("choose t%d", t);
        l = any_location();
        r = cuMemSetMemPool(&l, t, any_pool());
        add(" %s", rname(r));
        r = cuMemGetMemPool(&p, &l, t);
        break;
    case 4:
    case 5:
        add("device %d", d);
        r = cuDeviceSetMemPool(d, any_pool());
        add(" %s", rname(r));
        r = cuDeviceGetMemPool(&p, d);
        break;
    default: add("devdefault %d", d); r = cuDeviceGetDefaultMemPool(&p, d);
    }
    add(" %s", rname(r));
    if (r && p != (CUmemoryPool)5) add(" written");
    if (!r) add(" %s", pool_name(p));
}

/* ---- steps: export and import, by the same process */

static void share_pool(void)
{
    static const int odd[] = { 0, 2, 4, 8, 3, 1 };
    int fd = -1, type = draw(6) ? 1 : odd[draw(6)], k = (int)draw(COPIES);
    unsigned long long flags = draw(12) ? 0 : 1;
    CUmemoryPool p = NULL;
    add("share t%d f%llu", type, flags);
    CUresult r = cuMemPoolExportToShareableHandle(&fd, any_pool(), (CUmemAllocationHandleType)type, flags);
    add(" %s", rname(r));
    if (r || fd < 0) return;
    type = draw(8) ? 1 : odd[draw(6)];
    r = cuMemPoolImportFromShareableHandle(&p, (void *)(long)fd, (CUmemAllocationHandleType)type, 0);
    add(" t%d %s", type, rname(r));
    close(fd);
    if (r) return;
    if (copies[k] && copies[k] != p) add(" old %s", rname(cuMemPoolDestroy(copies[k])));
    copies[k] = NULL;
    add(" as %s", pool_name(p));
    copies[k] = p;
    tell_access(p);
}

static void share_pointer(void)
{
    CUmemPoolPtrExportData d;
    add("export");
    CUresult r = cuMemPoolExportPointer(&d, any_address());
    add(" %s", rname(r));
    if (r) return;
    int k = (int)draw(COPIES);
    CUdeviceptr p = 5;
    r = cuMemPoolImportPointer(&p, copies[k], &d);
    add(" c%d %s", k, rname(r));
}

/* ---- steps: mistakes, and which of two is told */

static void mistake(void)
{
    unsigned long long room[8] = { 0 };
    CUdeviceptr q = 5;
    CUmemoryPool p = (CUmemoryPool)5, *out = draw(2) ? &p : NULL;
    CUmemLocation l, *where = draw(2) ? &l : NULL;
    CUmemAccess_flags f = 9;
    CUresult r;
    int what = (int)draw(14);
    bool real = draw(2);
    add("wrong %d %s%s", what, out ? "o" : "-", where ? "l" : "-");
    CUmemoryPool of = real ? any_pool() : NULL;
    l = any_location();
    void *value = draw(2) ? room : NULL;
    int a = (int)draw(10), n = (int)draw(3);
    CUmemAccessDesc d[2] = { { l, (CUmemAccess_flags)draw(5) }, { loc(1, any_device()), (CUmemAccess_flags)draw(4) } };
    add(" a%d n%d %s d%d.%d.%d", a, n, value ? "v" : "-", d[0].flags, d[1].location.id, d[1].flags);
    switch (what) {
    case 0: r = cuMemPoolGetAttribute(of, (CUmemPool_attribute)a, value); break;
    case 1: r = cuMemPoolSetAttribute(of, (CUmemPool_attribute)(a + 7), room); break; /* NULL crashes the driver */
    case 2: r = cuMemPoolSetAccess(of, draw(3) ? d : NULL, (size_t)n); break;
    case 3: r = cuMemPoolGetAccess(value ? &f : NULL, of, where); break;
    case 4: r = cuMemGetDefaultMemPool(out, where, (CUmemAllocationType)n); break;
    case 5: r = cuMemGetMemPool(out, where, (CUmemAllocationType)n); break;
    case 6: r = cuMemSetMemPool(where, (CUmemAllocationType)n, of); break;
    case 7: r = cuDeviceGetDefaultMemPool(out, a - 1); break;
    case 8: r = cuDeviceGetMemPool(out, a - 1); break;
    case 9: r = cuDeviceSetMemPool(a - 1, of); break;
    case 10: r = cuMemAllocFromPoolAsync(out ? &q : NULL, value ? 512 : 0, of, any_stream()); break;
    case 11: r = cuMemAllocFromPoolAsync(out ? &q : NULL, -1ull >> a, of, any_stream()); break;
    case 12: r = cuMemPoolExportToShareableHandle(value, of, (CUmemAllocationHandleType)a, (unsigned)n); break;
    default: r = cuMemPoolExportPointer(where ? (CUmemPoolPtrExportData *)room : NULL, draw(2) ? any_address() : 0);
    }
    add(" %s", rname(r));
    if (p != (CUmemoryPool)5) add(" p %s", p ? "some" : "0");
    if (q != 5) add(" q %s", q ? "some" : "0");
    if (!r && q != 5 && q) add(" %s", rname(cuMemFree(q)));
    if (what == 12 && !r && value) close(*(int *)room);
}

/* ---- the walk */

static void begin(void)
{
    MUST(cuInit(0));
    for (int d = 0; d < DEVICES; d++) {
        MUST(cuDevicePrimaryCtxRetain(&contexts[d], d));
        MUST(cuCtxSetCurrent(contexts[d]));
        for (int k = 0; k < 3; k++) MUST(cuStreamCreate(&streams[3 * d + k], k < 2));
    }
    for (int k = 0; k < POOLS; k++) {
        CUmemPoolProps x = { .allocType = (CUmemAllocationType)kinds[k].type,
                             .location = loc(kinds[k].location, kinds[k].id),
                             .handleTypes = (CUmemAllocationHandleType)kinds[k].handles,
                             .maxSize = kinds[k].most };
        MUST(cuMemPoolCreate(&pools[k], &x));
    }
    for (int d = 0; d < DEVICES; d++) {
        CUmemoryPool p;
        MUST(cuDeviceGetDefaultMemPool(&p, d));
        pool_name(p);
    }
}

static void memory_step(int i)
{
    if (!slots[i].p)
        take(i);
    else if (draw(50) == 0)
        use(i);
    else if (draw(4) == 0)
        touch(i);
    else
        give(i);
}

static void call(void)
{
    int i = (int)draw(SLOTS), d = draw(12) ? (int)draw(DEVICES) : -1;
    MUST(cuCtxSetCurrent(d < 0 ? NULL : contexts[d]));
    add("d%d ", d);
    switch (draw(24)) {
    case 0: create(); break;
    case 1: destroy(); break;
    case 2:
    case 3: attribute(); break;
    case 4:
    case 5:
    case 6: access_of(); break;
    case 7:
    case 8: current(); break;
    case 9:
    case 10: trim(); break;
    case 11: share_pool(); break;
    case 12: share_pointer(); break;
    case 13:
    case 14: mistake(); break;
    default: memory_step(i);
    }
    figures();
    say();
}

#define LENT(name, seed) WALK(name, seed, 400, begin, call)
#define LISTED(name, seed) WALKED(name, seed),
#define EIGHT(X, name) X(name, 1) X(name, 2) X(name, 3) X(name, 4) X(name, 5) X(name, 6) X(name, 7) X(name, 8)

#endif
