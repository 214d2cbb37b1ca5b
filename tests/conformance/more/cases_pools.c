/* Pools of all kinds: random steps (dice.h) of properties, attributes, who may touch what a pool lends, and which pool
 * a location's allocations come from, on a machine with two devices of which the first is used. */
#include "say.h"

enum { POOLS = 6, SLOTS = 8, DEVICES = 1 };

static struct pool {
    CUmemoryPool handle;
} pools[POOLS];
static struct {
    CUdeviceptr p;
    CUmemoryPool pool;
    bool orphan;
    int device;
} slots[SLOTS];
static CUmemoryPool standard[16]; /* handles that were answered and are no pool's of ours */
static int standards;
static CUstream streams[DEVICES];
static CUcontext contexts[DEVICES];

/* ---- names */

static const char *pool_name(CUmemoryPool p)
{
    if (!p) return "none";
    for (int k = 0; k < POOLS; k++)
        if (pools[k].handle == p) return keyf("p%d", k);
    for (int k = 0; k < standards; k++)
        if (standard[k] == p) return keyf("std%d", k);
    if (standards == 16) return "many";
    standard[standards++] = p;
    return keyf("new%d", standards - 1);
}

/* The driver may crash on what was destroyed, and may give a new pool its handle. */
static const char *owner_name(int slot, CUmemoryPool p)
{
    if (slots[slot].pool == p) return "same";
    const char *name = slots[slot].orphan ? "gone" : pool_name(p);
    slots[slot].pool = p;
    return name;
}

static CUresult destroy_pool(CUmemoryPool p)
{
    CUresult r = cuMemPoolDestroy(p);
    for (int i = 0; i < SLOTS; i++)
        if (!r && p && slots[i].pool == p) slots[i].orphan = true;
    return r;
}

static int any_device(void) { return draw(6) ? (int)draw(DEVICES) : draw(2) ? -1 : DEVICES; }

static CUmemLocation any_location(void)
{
    static const int some[] = { 1, 1, 1, 1, 2, 2, 3, 3, 4, 0, 5, 6, -1 };
    int type = some[draw(draw(2) ? 4 : 13)];
    CUmemLocation l = loc(type, type == 1 ? any_device() : draw(3) ? 0 : draw(2) ? -1 : 1);
    add(" l%d.%d", l.type, l.id);
    return l;
}

static CUmemAllocationType any_type(void)
{
    int type = draw(6) ? 1 + (int)draw(2) : (int)draw(2) * 3;
    add(" t%d", type);
    return (CUmemAllocationType)type;
}

static CUmemoryPool any_pool(void)
{
    if (standards && draw(4) == 0) {
        int k = (int)draw((uint32_t)standards);
        add(" std%d", k);
        return standard[k];
    }
    int k = (int)draw(POOLS);
    add(" p%d", k);
    return pools[k].handle;
}

/* ---- steps */

static void create(void)
{
    static const size_t most[] = { 1,          32 * MiB,   33 * MiB,   1ull << 49, 1ull << 48,  1ull << 47,
                                   1ull << 46, 1ull << 44, 1ull << 50, -1ull,      200ull << 30 };
    static const int handles[] = { 0, 1, 2, 4, 8, 9, 3, 16 };
    int k = (int)draw(POOLS);
    CUmemPoolProps x;
    CUmemoryPool p = NULL;
    memset(&x, 0, sizeof x);
    add("create p%d", k);
    x.allocType = any_type();
    x.location = any_location();
    if (draw(4) == 0) x.handleTypes = (CUmemAllocationHandleType)handles[draw(8)];
    if (draw(3) == 0) x.maxSize = most[draw(11)];
    if (draw(5) == 0) x.usage = (unsigned short)(1u << draw(16));
    if (draw(25) == 0) x.reserved[draw(sizeof x.reserved)] = 1;
    if (draw(25) == 0) x.win32SecurityAttributes = &x;
    add(" h%d m%zx u%x%s%s", x.handleTypes, x.maxSize, x.usage, x.win32SecurityAttributes ? " w" : "",
        memchr(x.reserved, 1, sizeof x.reserved) ? " r" : "");
    CUresult r = cuMemPoolCreate(&p, &x);
    add(" %s", rname(r));
    if (r) return;
    if (pools[k].handle) add(" old %s", rname(destroy_pool(pools[k].handle)));
    pools[k].handle = p;
}

static void get_attributes(CUmemoryPool p)
{
    for (int a = 1; a <= 8; a++) {
        unsigned long long v = 0;
        CUresult r = cuMemPoolGetAttribute(p, (CUmemPool_attribute)a, &v);
        if (r)
            add(" %s", rname(r));
        else
            add(" %lld", (long long)v);
    }
}

static void attribute(void)
{
    static const unsigned long long values[] = { 0, 1, 2, -1ull, 1ull << 32, 1ull << 20, 5, 0 };
    add("set");
    CUmemoryPool p = any_pool();
    int a = draw(8) ? 1 + (int)draw(8) : (int)draw(24) - 3;
    unsigned long long v = values[draw(8)], w = 77;
    CUresult r = cuMemPoolSetAttribute(p, (CUmemPool_attribute)a, &v);
    add(" %d %lld %s", a, (long long)v, rname(r));
    r = cuMemPoolGetAttribute(p, (CUmemPool_attribute)a, &w);
    add(" %s", rname(r));
    if (!r) add(" %lld", (long long)w);
}

static void tell_access(CUmemoryPool p)
{
    static const int where[][2] = { { 1, 0 }, { 1, 1 }, { 2, 0 }, { 3, 0 } };
    for (int k = 0; k < 4; k++) {
        CUmemLocation l = loc(where[k][0], where[k][1]);
        CUmemAccess_flags f = 9;
        CUresult r = cuMemPoolGetAccess(&f, p, &l);
        if (r)
            add(" %s", rname(r));
        else
            add(" %d", f);
    }
}

static void access_of(void)
{
    add("access");
    CUmemoryPool p = any_pool();
    if (draw(4) == 0) {
        CUmemAccess_flags f = 9;
        CUmemLocation l = any_location();
        CUresult r = cuMemPoolGetAccess(&f, p, &l);
        add(" get %s %d", rname(r), f);
        return;
    }
    CUmemAccessDesc d[3];
    unsigned n = draw(4) ? 1 : draw(4);
    for (unsigned k = 0; k < n; k++) {
        d[k].location = any_location();
        d[k].flags = (CUmemAccess_flags)(draw(6) ? draw(2) * 3 : draw(5));
        add("=%d", d[k].flags);
    }
    add(" %s:", rname(cuMemPoolSetAccess(p, d, n)));
    tell_access(p);
}

static void current(void)
{
    CUmemoryPool p = (CUmemoryPool)5;
    CUresult r;
    switch (draw(6)) {
    case 0: {
        add("default");
        CUmemLocation l = any_location();
        r = cuMemGetDefaultMemPool(&p, &l, any_type());
        break;
    }
    case 1: {
        add("get");
        CUmemLocation l = any_location();
        r = cuMemGetMemPool(&p, &l, any_type());
        break;
    }
    case 2:
    case 3: {
        add("choose");
        CUmemLocation l = any_location();
        CUmemAllocationType t = any_type();
        r = cuMemSetMemPool(&l, t, any_pool());
        add(" %s", rname(r));
        r = cuMemGetMemPool(&p, &l, t);
        break;
    }
    case 4: {
        int d = any_device();
        add("device %d", d);
        r = cuDeviceSetMemPool(d, any_pool());
        add(" %s", rname(r));
        r = cuDeviceGetMemPool(&p, d);
        break;
    }
    default: {
        int d = any_device();
        add("devdefault %d", d);
        r = cuDeviceGetDefaultMemPool(&p, d);
    }
    }
    add(" %s", rname(r));
    if (!r) add(" %s", pool_name(p));
}

static void tell(int i)
{
    CUdeviceptr at = slots[i].p;
    unsigned v[4] = { 0 };
    CUresult r[4];
    CUmemoryPool p = NULL;
    CUdeviceptr host;
    r[0] = cuPointerGetAttribute(&v[0], CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
    r[1] = cuPointerGetAttribute(&v[1], CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at);
    r[2] = cuPointerGetAttribute(&v[2], CU_POINTER_ATTRIBUTE_IS_MANAGED, at);
    r[3] = cuPointerGetAttribute(&v[3], CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at);
    for (int k = 0; k < 4; k++)
        if (r[k])
            add(" %s", rname(r[k]));
        else
            add(" %d", k == 2 ? (int)(v[k] & 255) : (int)v[k]);
    CUresult q = cuPointerGetAttribute(&p, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at);
    add(" %s", q ? rname(q) : owner_name(i, p));
    q = cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at);
    add(" %s", rname(q));
    q = cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at);
    add(" %s", rname(q));
}

static void lend(int i)
{
    static const size_t sizes[] = { 0, 1, 600, 4096, 2 * MiB };
    int d = (int)draw(DEVICES);
    size_t n = sizes[draw(5)];
    CUdeviceptr p = 5;
    CUresult r;
    MUST(cuCtxSetCurrent(contexts[d]));
    add("take d%d %zu", d, n);
    if (draw(3) == 0)
        r = cuMemAllocAsync(&p, n, streams[d]);
    else
        r = cuMemAllocFromPoolAsync(&p, n, any_pool(), streams[d]);
    add(" %s", rname(r));
    if (r || !p) {
        add(" %s", p ? "kept" : "0");
        return;
    }
    MUST(cuStreamSynchronize(streams[d]));
    slots[i].p = p;
    slots[i].device = d;
    slots[i].pool = NULL;
    slots[i].orphan = false;
    tell(i);
}

static void touch(int i)
{
    int d = (int)draw(DEVICES);
    MUST(cuCtxSetCurrent(contexts[d]));
    add("touch d%d %d", d, i);
    tell(i);
}

static void give(int i)
{
    int d = (int)draw(DEVICES);
    MUST(cuCtxSetCurrent(contexts[d]));
    add("give d%d %d", d, i);
    CUresult r = cuMemFreeAsync(slots[i].p, streams[d]);
    add(" %s", rname(r));
    MUST(cuStreamSynchronize(streams[d]));
    if (!r) slots[i].p = 0;
}

static void destroy(void)
{
    if (draw(4) == 0 && standards) {
        int k = (int)draw((uint32_t)standards);
        add("destroy std%d %s", k, rname(cuMemPoolDestroy(standard[k])));
        return;
    }
    int k = (int)draw(POOLS);
    add("destroy p%d %s", k, rname(destroy_pool(pools[k].handle)));
    pools[k].handle = NULL;
    for (int d = 0; d < DEVICES; d++) {
        CUmemoryPool p = NULL;
        CUresult r = cuDeviceGetMemPool(&p, d);
        add(" %s %s", rname(r), pool_name(p));
    }
}

static void begin(void)
{
    MUST(cuInit(0));
    for (int d = 0; d < DEVICES; d++) {
        MUST(cuDevicePrimaryCtxRetain(&contexts[d], d));
        MUST(cuCtxSetCurrent(contexts[d]));
        MUST(cuStreamCreate(&streams[d], CU_STREAM_NON_BLOCKING));
    }
    for (int k = 0; k < POOLS; k++) {
        CUmemPoolProps x = { .allocType = k == 5 ? CU_MEM_ALLOCATION_TYPE_MANAGED : CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = loc(k < 3 || k == 5 ? 1 : k - 1, 0),
                             .handleTypes = k == 2 };
        MUST(cuMemPoolCreate(&pools[k].handle, &x));
    }
}

static void call(void)
{
    int i = (int)draw(SLOTS);
    switch (draw(16)) {
    case 0:
    case 1: create(); break;
    case 2: destroy(); break;
    case 3:
    case 4: attribute(); break;
    case 5:
    case 6:
    case 7: access_of(); break;
    case 8:
    case 9: current(); break;
    case 10:
        add("all");
        get_attributes(any_pool());
        break;
    case 11:
        if (slots[i].p) touch(i);
        break;
    default:
        if (!slots[i].p)
            lend(i);
        else if (draw(3))
            touch(i);
        else
            give(i);
    }
    say();
}

#define ONE(seed) WALK(pools, seed, 400, begin, call)
ONE(1)
ONE(2) ONE(3) ONE(4) ONE(5)

    const struct group groups[] = { WALKED(pools, 1), WALKED(pools, 2), WALKED(pools, 3),
                                    WALKED(pools, 4), WALKED(pools, 5), { 0 } };
