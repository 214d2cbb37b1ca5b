/* All kinds of memory side by side, and random calls that are told of them: attributes, copies, fills, advice, frees of
 * the wrong kind. Addresses are told as the number of the memory and an offset in it. Where memory ends and other memory
 * happens to begin is not asked: golden/h200-mixed.txt.xz lacks these lines. cases_peers.c has the same with two
 * devices, in whose contexts calls are made in turn. */
#include "oracle.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { OBJECTS = 10, ROOM = 40, STEPS = 400 };
#ifndef DEVICES
#define DEVICES 1
#endif
enum kind { DEVICE, PINNED, REGISTERED, MANAGED, POOLED, MAPPED, PLAIN, PITCHED, KINDS };
static const char *const names[] = { "dev", "host", "reg", "man", "pool", "vmm", "plain", "pitch" };

static struct object {
    enum kind kind;
    CUdeviceptr p;
    size_t size;
    CUmemGenericAllocationHandle h;
    char *raw;
    int device;
} o[OBJECTS];
static uint64_t st;
static CUcontext contexts[DEVICES];
static CUstream streams[DEVICES], s;
static int now; /* whose context is current */
static char *host;
static int step;

static unsigned rnd(unsigned n)
{
    st = st * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(st >> 33) % n;
}

static int any_device(void) { return DEVICES > 1 ? (int)rnd(DEVICES) : 0; }

#define SAY(...) rec(keyf("%d", step), __VA_ARGS__)

static CUresult map(struct object *x, unsigned *flags)
{
    static const unsigned access[] = { 0, 1, 3, 3, 3 };
    CUmemAllocationProp p = prop_dev(x->device);
    x->size = (x->size + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
    CUresult r = cuMemCreate(&x->h, x->size, &p, 0);
    if (!r) r = cuMemAddressReserve(&x->p, x->size, 0, 0, 0);
    if (!r) r = cuMemMap(x->p, x->size, 0, x->h, 0);
    *flags = access[rnd(5)];
    CUmemAccessDesc d = { loc(1, any_device()), (CUmemAccess_flags)*flags };
    if (DEVICES > 1) {
        CUmemAccessDesc more = { loc(1, any_device()), (CUmemAccess_flags)access[rnd(5)] };
        if (rnd(2)) cuMemSetAccess(x->p, x->size, &more, 1);
    }
    return *flags ? cuMemSetAccess(x->p, x->size, &d, 1) : r;
}

static void take_plain(struct object *x)
{
    x->raw = mmap(NULL, ROOM * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    x->p = (CUdeviceptr)x->raw + 4 * MiB;
}

static const char *device_name(int d) { return DEVICES > 1 ? keyf(" d%d", d) : ""; }

static void make(int i)
{
    static const size_t sizes[] = { 4096, 65536, MiB, 2 * MiB, 3 * MiB + 4096, 512, 8 * MiB };
    struct object *x = &o[i];
    CUresult r = CUDA_SUCCESS;
    size_t pitch;
    *x = (struct object){ .kind = rnd(KINDS) };
    x->size = sizes[rnd(7)];
    x->device = now;
    unsigned f = rnd(8);
    switch (x->kind) {
    case DEVICE: r = cuMemAlloc(&x->p, x->size); break;
    case PINNED: r = cuMemHostAlloc((void **)&x->p, x->size, f); break;
    case REGISTERED:
        take_plain(x);
        r = cuMemHostRegister((void *)x->p, x->size, f = rnd(4));
        break;
    case PLAIN: take_plain(x); break;
    case MANAGED: r = cuMemAllocManaged(&x->p, x->size, f = 1 + rnd(2)); break;
    case POOLED:
        r = cuMemAllocAsync(&x->p, x->size, s);
        cuStreamSynchronize(s);
        break;
    case MAPPED: r = map(x, &f); break;
    default:
        r = cuMemAllocPitch(&x->p, &pitch, 1000, x->size / 1024 + 1, 16);
        x->size = pitch * (x->size / 1024 + 1);
    }
    SAY("make %d%s %s %zu f%u = %d", i, device_name(x->device), names[x->kind], x->size, f, r);
    if (r) x->p = 0;
}

static void unmake(int i)
{
    struct object *x = &o[i];
    CUresult r = CUDA_SUCCESS;
    switch (x->kind) {
    case DEVICE:
    case MANAGED:
    case PITCHED: r = cuMemFree(x->p); break;
    case PINNED: r = cuMemFreeHost((void *)x->p); break;
    case REGISTERED: r = cuMemHostUnregister((void *)x->p); break;
    case POOLED:
        r = cuMemFreeAsync(x->p, s);
        cuStreamSynchronize(s);
        break;
    case MAPPED:
        r = cuMemUnmap(x->p, x->size);
        cuMemAddressFree(x->p, x->size);
        cuMemRelease(x->h);
        break;
    default: break;
    }
    if (x->raw) munmap(x->raw, ROOM * MiB);
    SAY("free %d %s = %d", i, names[x->kind], r);
    x->p = 0;
}

/* By the wrong function, or from the midst of it. */
static void unmake_wrongly(int i)
{
    enum { FREE, FREE_HOST, UNREGISTER, FREE_ASYNC, UNMAP, ADDRESS_FREE };
    struct object *x = &o[i];
    CUresult r = CUDA_SUCCESS;
    size_t off = rnd(3) ? 0 : rnd(2) ? 256 : 4096;
    if (off >= x->size) off = 0;
    unsigned w = rnd(6);
    if (w == ADDRESS_FREE && x->kind == POOLED) w = FREE;
    bool device = x->kind == DEVICE || x->kind == MANAGED || x->kind == PITCHED || x->kind == POOLED;
    bool right = w == FREE || w == FREE_ASYNC ? device
                 : w == FREE_HOST             ? x->kind == PINNED
                                              : w == UNREGISTER && x->kind == REGISTERED;
    if (right && !off) off = 64;
    switch (w) {
    case FREE: r = cuMemFree(x->p + off); break;
    case FREE_HOST: r = cuMemFreeHost((void *)(x->p + off)); break;
    case UNREGISTER: r = cuMemHostUnregister((void *)(x->p + off)); break;
    case FREE_ASYNC: r = cuMemFreeAsync(x->p + off, s); break;
    case UNMAP: r = cuMemUnmap(x->p + off, x->size - off); break;
    default: r = cuMemAddressFree(x->p + off, x->size);
    }
    SAY("wrongfree %d %s w%u +%zu = %d", i, names[x->kind], w, off, r);
    if (!r && x->kind == MAPPED && w == UNMAP) {
        cuMemAddressFree(x->p, x->size);
        cuMemRelease(x->h);
    }
    if (!r) x->p = 0;
}

/* Its beginning, its last byte, its end, or anywhere. */
static size_t somewhere(int i)
{
    unsigned q = rnd(8);
    return q < 3 ? 0 : q == 3 ? o[i].size - 1 : q == 4 ? o[i].size : rnd((unsigned)o[i].size);
}

static const char *place(int i, size_t off)
{
    const char *where = keyf("%d%s %s+%zu", i, device_name(o[i].device), names[o[i].kind], off);
    return DEVICES > 1 ? keyf("%s c%d", where, now) : where;
}

static long relative(uint64_t v)
{
    for (int i = 0; i < OBJECTS; i++)
        if (o[i].p && v >= o[i].p && v < o[i].p + o[i].size) return i * 100000000l + (long)(v - o[i].p);
    return v ? -7 : 0;
}

static int context_number(CUcontext c)
{
    int d = 0;
    while (d < DEVICES && contexts[d] != c) d++;
    return c ? d + 1 : 0;
}

static void ask_attribute(int i)
{
    enum { ASKED = 19 };
    static const int attributes[ASKED] = { 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 21 };
    unsigned char v[64];
    uint64_t u;
    CUcontext c;
    size_t off = somewhere(i);
    int a = attributes[rnd(ASKED)];
    memset(v, 0x5a, sizeof v);
    CUresult r = cuPointerGetAttribute(v, a, o[i].p + off);
    memcpy(&u, v, sizeof u);
    memcpy(&c, v, sizeof c);
    const char *head = keyf("attr %s a%d = %d", place(i, off), a, r);
    switch (a) {
    case 1: SAY("%s ctx%d", head, context_number(c)); break;
    case 3:
    case 4:
    case 11:
    case 19: SAY("%s %ld", head, r ? 0 : relative(u)); break;
    case 7:
    case 17:
    case 20:
        SAY("%s %s", head,
            u == 0x5a5a5a5a5a5a5a5aull             ? "untouched"
            : (a == 7 ? u : u & 0xffffffff) ? "some"
                                                   : "0");
        break;
    default: SAY("%s %lx", head, a == 12 || a == 18 ? u : u & 0xffffffff);
    }
}

static CUresult copy_rows(CUdeviceptr to, CUdeviceptr from, unsigned *f, size_t *n)
{
    CUDA_MEMCPY2D c = { 0 };
    c.srcMemoryType = (CUmemorytype[]){ 1, 2, 4 }[rnd(3)];
    c.dstMemoryType = (CUmemorytype[]){ 2, 4 }[rnd(2)];
    if (c.srcMemoryType == CU_MEMORYTYPE_HOST)
        c.srcHost = host;
    else
        c.srcDevice = from;
    c.dstDevice = to;
    c.WidthInBytes = 1 + rnd(300);
    c.Height = 1 + rnd(20);
    c.srcPitch = rnd(3) ? 512 : rnd(400);
    c.dstPitch = rnd(3) ? 512 : rnd(400);
    c.srcXInBytes = rnd(3) ? 0 : rnd(50);
    c.dstY = rnd(3) ? 0 : rnd(4);
    *f = 70 + c.srcMemoryType * 3 + c.dstMemoryType;
    *n = c.WidthInBytes * 1000 + c.Height;
    return cuMemcpy2D(&c);
}

static CUresult copy_batch(CUdeviceptr x, CUdeviceptr y, size_t n)
{
    CUdeviceptr to[] = { x, y }, from[] = { y, x };
    size_t sizes[] = { n, n / 2 }, first = 0;
    CUmemcpyAttributes a = { .srcAccessOrder = 1 + rnd(3) };
    return cuMemcpyBatchAsync(to, from, sizes, 1 + rnd(2), &a, &first, 1, s);
}

static const char *sticky(void) { return cuCtxSynchronize() ? " STICKY" : ""; }

static void copy(int i, int j)
{
    enum { ROWS = 7, BATCH };
    size_t a = somewhere(i), b = somewhere(j);
    size_t n = (size_t[]){ 0, 1, 64, 4096, 100000, 2 * MiB, o[i].size, o[j].size, o[i].size - a }[rnd(9)];
    CUresult r = CUDA_SUCCESS;
    if (n > 8 * MiB) n = 8 * MiB;
    unsigned f = rnd(9);
    if (f == ROWS && (o[i].size < 65536 || o[j].size < 65536)) f = 3;
    if (f == 3 || f >= 6) { /* what is no memory of the driver's may be the host's, and is touched then */
        a = f == ROWS ? 0 : a % o[i].size;
        b = f == ROWS ? 0 : b % o[j].size;
        if (n > o[i].size - a) n = o[i].size - a;
        if (n > o[j].size - b) n = o[j].size - b;
    }
    CUdeviceptr x = o[i].p + a, y = o[j].p + b;
    switch (f) {
    case 0: r = cuMemcpyHtoD(x, host, n); break;
    case 1: r = cuMemcpyDtoH(host, x, n); break;
    case 2: r = cuMemcpyDtoD(x, y, n); break;
    case 3: r = cuMemcpy(x, y, n); break;
    case 4: r = cuMemcpyHtoDAsync(x, host, n, s); break;
    case 5: r = cuMemcpyDtoDAsync(x, y, n, s); break;
    case 6: r = cuMemcpyAsync(x, y, n, s); break;
    case ROWS: r = copy_rows(x, y, &f, &n); break;
    default: r = copy_batch(x, y, n);
    }
    SAY("copy f%u %s, %s, %zu = %d%s", f, place(i, a), place(j, b), n, r, sticky());
}

static void fill(int i)
{
    size_t off = somewhere(i);
    size_t n = (size_t[]){ 0, 1, 64, 4096, 100000, MiB, o[i].size, o[i].size - off }[rnd(8)];
    CUdeviceptr x = o[i].p + off;
    CUresult r;
    if (n > 8 * MiB) n = 8 * MiB;
    unsigned f = rnd(6);
    switch (f) {
    case 0: r = cuMemsetD8(x, 1, n); break;
    case 1: r = cuMemsetD16(x, 1, n / 2); break;
    case 2: r = cuMemsetD32(x, 1, n / 4); break;
    case 3: r = cuMemsetD8Async(x, 1, n, s); break;
    case 4: r = cuMemsetD2D8(x, 512, 1, 1 + n % 500, 1 + n % 7); break;
    default: r = cuMemsetD2D32(x, 512, 1, 1 + n % 100, 1 + n % 7);
    }
    SAY("fill f%u %s %zu = %d%s", f, place(i, off), n, r, sticky());
}

static CUresult advise(int i, CUdeviceptr x, char *more)
{
    int type = (int)(rnd(3) ? 3 + rnd(2) : rnd(5)), id = (int[]){ 0, DEVICES - 1, 0, 5, -1 }[rnd(5)];
    unsigned advice = rnd(8), where = rnd(6);
    CUdeviceptr p = where == 0 ? 0x12345000ul : where == 1 ? o[i].p + o[i].size - 4096 : x;
    size_t n = where == 1 ? 8192 : where == 2 ? 0 : 1 + rnd(2) * rnd(100000);
    sprintf(more, "a%u l%d/%d z%u n%zu", advice, type, id, where, n);
    return cuMemAdvise(p, n, (CUmem_advise)advice, loc(type, id));
}

static const char *location(int type, unsigned id)
{
    return DEVICES > 1 ? keyf("l%d/%u", type, id) : keyf("l%d", type);
}

/* The rest, each with what it told besides. */
static CUresult ask(unsigned w, int i, CUdeviceptr x, char *more)
{
    CUresult r;
    CUdeviceptr p = 0;
    CUmemGenericAllocationHandle h;
    CUipcMemHandle shared;
    unsigned long long access = 9;
    size_t n = 0;
    unsigned u = 99;
    int v[] = { 7, 7, 7, 7 }, q;
    switch (w) {
    case 0:
        r = cuMemGetAddressRange(&p, &n, x);
        if (!r) sprintf(more, "%ld %zu", relative(p), n);
        return r;
    case 1:
        r = cuMemHostGetDevicePointer(&p, (void *)x, u = rnd(3) == 0);
        sprintf(more, "f%u %d %ld", u, r ? 0 : p == x, r ? 0 : relative(p));
        return r;
    case 2:
        r = cuMemHostGetFlags(&u, (void *)x);
        sprintf(more, "%u", u);
        return r;
    case 3: return u = rnd(2), cuPointerSetAttribute(&u, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, x);
    case 4:
        r = cuMemRetainAllocationHandle(&h, (void *)x);
        if (!r) cuMemRelease(h);
        return r;
    case 5:
        q = 1 + (int)rnd(3);
        u = (unsigned)any_device();
        r = cuMemGetAccess(&access, &(CUmemLocation){ .type = q, .id = (int)u }, x);
        sprintf(more, "%s %llu", location(q, u), access);
        return r;
    case 6: return advise(i, x, more);
    case 7:
        q = 1 + (int)rnd(3);
        n = 1 + rnd(2) * rnd(100000);
        u = (unsigned)any_device();
        r = cuMemPrefetchAsync(x, n, loc(q, (int)u), 0, s);
        sprintf(more, "n%zu %s", n, location(q, u));
        return r;
    case 8:
        q = 1 + (int)rnd(8);
        r = cuMemRangeGetAttribute(v, q == 3 ? 16 : 4, (CUmem_range_attribute)q, x, 1 + rnd(2) * rnd(9000));
        sprintf(more, "q%d %d", q, v[0]);
        return r;
    case 9: return cuIpcGetMemHandle(&shared, x);
    default:
        u = (unsigned[]){ 1, 2, 4, 3 }[rnd(4)];
        return cuStreamAttachMemAsync(s, x, rnd(2) ? 0 : o[i].size, u);
    }
}

/* What is about another device. */
static CUresult ask_peer(unsigned w, int i, char *more)
{
    static const CUmemAccess_flags pool_flags[] = { 0, 3, 3 }, flags[] = { 0, 1, 3 };
    CUmemoryPool pool;
    CUmemAccessDesc d;
    CUmemAccess_flags f = 9;
    CUresult r;
    int q, j;
    cuDeviceGetDefaultMemPool(&pool, o[i].device);
    switch (w) {
    case 11: return cuCtxEnablePeerAccess(contexts[!now], 0);
    case 12: return cuCtxDisablePeerAccess(contexts[!now]);
    case 13:
        d.location = loc(1, any_device());
        d.flags = pool_flags[rnd(3)];
        r = cuMemPoolSetAccess(pool, &d, 1);
        sprintf(more, "d%d f%d", d.location.id, d.flags);
        return r;
    case 14:
        d.location = loc(1, any_device());
        r = cuMemPoolGetAccess(&f, pool, &d.location);
        sprintf(more, "d%d %d", d.location.id, f);
        return r;
    case 15:
        d.location = loc(1, any_device());
        d.flags = flags[rnd(3)];
        r = cuMemSetAccess(o[i].p, o[i].size, &d, 1);
        sprintf(more, "d%d f%d", d.location.id, d.flags);
        return r;
    case 16:
        j = (int)rnd(OBJECTS);
        size_t n = 1 + rnd(4096);
        if (!o[j].p || o[j].size < n || o[i].size < n) return CUDA_SUCCESS;
        int to = any_device(), from = any_device();
        r = cuMemcpyPeer(o[i].p, contexts[to], o[j].p, contexts[from], n);
        sprintf(more, "%d d%d %s c%d c%d %zu%s", j, o[j].device, names[o[j].kind], to, from, n, sticky());
        return r;
    default:
        r = cuDeviceCanAccessPeer(&q, now, !now);
        sprintf(more, "%d", q);
        return r;
    }
}

static void other(int i)
{
    char more[100] = "";
    size_t off = somewhere(i);
    unsigned w = rnd(DEVICES > 1 ? 18 : 11);
    CUresult r = w < 11 ? ask(w, i, o[i].p + off, more) : ask_peer(w, i, more);
    cuStreamSynchronize(s);
    SAY("other w%u %s = %d%s%s", w, place(i, off), r, *more ? " " : "", more);
}

static void walk(uint64_t seed)
{
    setup();
    for (int d = 0; d < DEVICES; d++) {
        MUST(cuDevicePrimaryCtxRetain(&contexts[d], d));
        MUST(cuCtxSetCurrent(contexts[d]));
        MUST(cuStreamCreate(&streams[d], CU_STREAM_NON_BLOCKING));
    }
    host = mmap(NULL, 64 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    st = seed * 0x9E3779B97F4A7C15ull + 3;
    for (step = 0; step < STEPS; step++) {
        now = any_device();
        s = streams[now];
        cuCtxSetCurrent(contexts[now]);
        int i = (int)rnd(OBJECTS), j = (int)rnd(OBJECTS);
        if (!o[i].p) {
            make(i);
            continue;
        }
        while (!o[j].p) j = (j + 1) % OBJECTS;
        unsigned q = rnd(100);
        if (q < 5)
            unmake(i);
        else if (q < 11)
            unmake_wrongly(i);
        else if (q < 40)
            ask_attribute(i);
        else if (q < 65)
            copy(i, j);
        else if (q < 75)
            fill(i);
        else
            other(i);
    }
}

#define SEEDS(X) \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) \
    X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) \
    X(40)
#define WALK(i) \
    static void g_mixed_##i(void) { walk(i); }
SEEDS(WALK)
#define GROUPS(i) { DEVICES > 1 ? "peers_" #i : "mixed_" #i, g_mixed_##i, DEVICES },
const struct group groups[] = { SEEDS(GROUPS) { 0 } };
