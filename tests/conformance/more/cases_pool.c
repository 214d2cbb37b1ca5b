/* Questions about stream-ordered memory and graphs that have
 * been asked of the golden machine beside golden/h200.txt; its answers are golden/h200-pool.txt. */
#include "oracle.h"

static CUstream s, t;
static unsigned *flag;
static void hold(CUstream on)
{
    if (!flag) MUST(cuMemAllocHost((void **)&flag, 4));
    *flag = 0;
    MUST(cuStreamWaitValue32(on, (CUdeviceptr)flag, 1, 1));
}

static void let_go(void)
{
    if (flag) *(volatile unsigned *)flag = 1;
}

static void begin(void)
{
    setup();
    MUST(cuStreamCreate(&s, 1));
    MUST(cuStreamCreate(&t, 1));
}

static CUmemoryPool make(int type, int where, int handles, size_t max)
{
    CUmemPoolProps p;
    memset(&p, 0, sizeof p);
    p.allocType = type;
    p.location = loc(where, 0);
    p.handleTypes = handles;
    p.maxSize = max;
    CUmemoryPool q;
    MUST(cuMemPoolCreate(&q, &p));
    return q;
}

static unsigned long long fig(CUmemoryPool p, int a)
{
    unsigned long long v = 0;
    MUST(cuMemPoolGetAttribute(p, a, &v));
    return v;
}

static void figs(const char *k, CUmemoryPool p)
{
    rec(k, "reserved=%llu high=%llu used=%llu usedhigh=%llu", fig(p, 5), fig(p, 6), fig(p, 7), fig(p, 8));
}

static void keep(CUmemoryPool p, unsigned long long n) { MUST(cuMemPoolSetAttribute(p, 4, &n)); }
static void policy(CUmemoryPool p, int f, int o, int i)
{
    MUST(cuMemPoolSetAttribute(p, 1, &f));
    MUST(cuMemPoolSetAttribute(p, 2, &o));
    MUST(cuMemPoolSetAttribute(p, 3, &i));
}

static CUdeviceptr take(CUmemoryPool p, size_t n, CUstream on)
{
    CUdeviceptr a;
    MUST(cuMemAllocFromPoolAsync(&a, n, p, on));
    return a;
}

/* how much is reserved for what size, and where it lies */
void g_p_size(void)
{
    begin();
    size_t sizes[] = { 1,        511,         512,       513,        4096,         65536,    MiB,
                       2 * MiB,  2 * MiB + 1, 31 * MiB,  32 * MiB,   32 * MiB + 1, 33 * MiB, 40 * MiB,
                       64 * MiB, 65 * MiB,    100 * MiB, 1024 * MiB, 1025 * MiB };
    for (int where = 1; where <= 2; where++)
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            CUmemoryPool p = make(1, where, 0, 0);
            CUdeviceptr a = take(p, sizes[i], s), b = 0;
            size_t ms = 0;
            cuPointerGetAttribute(&ms, 18, a);
            cuPointerGetAttribute(&b, 19, a);
            rec(keyf("loc%d.%zx", where, sizes[i]), "reserved=%llu used=%llu map=%zu off=%ld align=%d", fig(p, 5),
                fig(p, 7), ms, (long)(a - b), __builtin_ctzl(a) > 25 ? 25 : __builtin_ctzl(a));
            MUST(cuMemFreeAsync(a, s));
            MUST(cuStreamSynchronize(s));
            MUST(cuMemPoolDestroy(p));
        }
    for (unsigned i = 0; i < 8; i++) {
        CUmemoryPool p = make(2, 1, 0, 0);
        CUdeviceptr a = take(p, sizes[2 * i], s);
        size_t ms = 0;
        cuPointerGetAttribute(&ms, 18, a);
        rec(keyf("managed.%zx", sizes[2 * i]), "reserved=%llu used=%llu map=%zu", fig(p, 5), fig(p, 7), ms);
        MUST(cuMemFreeAsync(a, s));
        MUST(cuStreamSynchronize(s));
        MUST(cuMemPoolDestroy(p));
    }
    CUmemoryPool p = make(1, 1, 0, 0);
    CUdeviceptr a[8];
    for (int i = 0; i < 8; i++) {
        a[i] = take(p, 1000 + i, s);
        rec(keyf("row%d", i), "%ld", (long)(a[i] - a[0]));
    }
    for (int i = 0; i < 8; i++) {
        size_t n = 20 * MiB;
        take(p, n, s);
        rec(keyf("grow%d", i), "%llu", fig(p, 5));
    }
    p = make(1, 1, 0, 0);
    for (int i = 0; i < 6; i++) {
        take(p, 40 * MiB, s);
        rec(keyf("big%d", i), "%llu", fig(p, 5));
    }
    size_t f0, f1, tot;
    p = make(1, 1, 0, 0);
    MUST(cuMemGetInfo(&f0, &tot));
    take(p, 1, s);
    MUST(cuMemGetInfo(&f1, &tot));
    rec("drop", "%ld", (long)(f0 - f1));
}

/* what is lent again, to whom */
void g_p_reuse(void)
{
    begin();
    CUevent e;
    MUST(cuEventCreate(&e, 2));
    CUmemoryPool p;
    CUdeviceptr a, b, c;
    size_t n = 32 * MiB;
#define FRESH \
    p = make(1, 1, 0, 0); \
    keep(p, -1); \
    a = take(p, n, s);
#define SAME(k, on) \
    b = take(p, n, on); \
    rec(k, "%d reserved=%llu", b == a, fig(p, 5)); \
    let_go(); \
    MUST(cuCtxSynchronize());
    FRESH MUST(cuMemFreeAsync(a, s));
    SAME("same.idle", s)
    FRESH hold(s);
    MUST(cuMemFreeAsync(a, s));
    SAME("same.busy", s)
    FRESH MUST(cuMemFreeAsync(a, s));
    SAME("other.idle", t)
    FRESH MUST(cuMemFreeAsync(a, s));
    MUST(cuStreamSynchronize(s));
    SAME("other.synced", t)
    FRESH hold(s);
    MUST(cuMemFreeAsync(a, s));
    SAME("other.busy", t)
    FRESH hold(s);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    SAME("event.busy", t)
    FRESH hold(s);
    MUST(cuEventRecord(e, s));
    MUST(cuMemFreeAsync(a, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    SAME("eventbefore.busy", t)
    FRESH hold(s);
    MUST(cuMemFreeAsync(a, s));
    SAME("legacy.busy", 0)
    FRESH policy(p, 0, 0, 0);
    MUST(cuMemFreeAsync(a, s));
    SAME("none.idle", t)
    FRESH policy(p, 0, 0, 0);
    MUST(cuMemFreeAsync(a, s));
    SAME("none.same", s)
    FRESH policy(p, 0, 0, 0);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuStreamSynchronize(s));
    SAME("none.synced", t)
    FRESH policy(p, 0, 0, 0);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuStreamSynchronize(t));
    SAME("none.othersynced", t)
    FRESH policy(p, 0, 0, 0);
    MUST(cuMemFreeAsync(a, s));
    cuStreamQuery(s);
    SAME("none.queried", t)
    FRESH policy(p, 0, 0, 0);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuEventRecord(e, s));
    MUST(cuEventSynchronize(e));
    SAME("none.eventsynced", t)
    FRESH policy(p, 0, 0, 0);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuCtxSynchronize());
    SAME("none.ctxsynced", t)
    FRESH policy(p, 1, 0, 0);
    hold(s);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuEventRecord(e, s));
    MUST(cuStreamWaitEvent(t, e, 0));
    SAME("follow.busy", t)
    FRESH policy(p, 0, 1, 0);
    MUST(cuMemFreeAsync(a, s));
    while (cuStreamQuery(s))
        ;
    SAME("opp.idle", t)
    FRESH policy(p, 0, 0, 1);
    hold(s);
    MUST(cuMemFreeAsync(a, s));
    SAME("internal.busy", t)
    FRESH hold(s);
    MUST(cuMemFreeAsync(a, t));
    SAME("freedelsewhere", s)
    FRESH MUST(cuMemFree(a));
    SAME("memfree", t)
    FRESH hold(s);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuStreamSynchronize(t));
    rec("busy.synct", "%llu", fig(p, 5));
    cuMemPoolTrimTo(p, 0);
    rec("busy.trim", "%llu", fig(p, 5));
    let_go();
    MUST(cuCtxSynchronize());
    cuMemPoolTrimTo(p, 0);
    rec("done.trim", "%llu", fig(p, 5));
    p = make(1, 1, 0, 0);
    keep(p, -1);
    n = 8 * MiB;
    a = take(p, n, s);
    b = take(p, n, s);
    c = take(p, n, s);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuMemFreeAsync(b, t));
    b = take(p, 2 * n, s);
    rec("join", "%d reserved=%llu", b == a, fig(p, 5));
    a = take(p, 4096, s);
    rec("bestfit", "%ld", (long)(a - c));
}

/* what synchronising gives back */
void g_p_release(void)
{
    begin();
    unsigned long long th[] = { 0, 1, 32 * MiB - 1, 32 * MiB, 33 * MiB, 64 * MiB, 1ul << 40 };
    CUevent e;
    MUST(cuEventCreate(&e, 2));
    CUmemoryPool p;
    CUdeviceptr a, b, c;
    for (int i = 0; i < 7; i++) {
        p = make(1, 1, 0, 0);
        keep(p, th[i]);
        a = take(p, 32 * MiB, s);
        b = take(p, 32 * MiB, s);
        c = take(p, 32 * MiB, s);
        MUST(cuMemFreeAsync(a, s));
        MUST(cuMemFreeAsync(b, s));
        MUST(cuMemFreeAsync(c, s));
        rec(keyf("th%llx.freed", th[i]), "%llu", fig(p, 5));
        MUST(cuStreamSynchronize(s));
        rec(keyf("th%llx.synced", th[i]), "%llu", fig(p, 5));
        K(keyf("th%llx.trim", th[i]), cuMemPoolTrimTo(p, 32 * MiB + 1));
        rec(keyf("th%llx.trimmed", th[i]), "%llu", fig(p, 5));
        MUST(cuMemPoolDestroy(p));
    }
#define ONE \
    p = make(1, 1, 0, 0); \
    a = take(p, MiB, s); \
    MUST(cuStreamSynchronize(s)); \
    MUST(cuMemFreeAsync(a, s));
    ONE MUST(cuStreamSynchronize(t));
    rec("by.other", "%llu", fig(p, 5));
    ONE MUST(cuCtxSynchronize());
    rec("by.ctx", "%llu", fig(p, 5));
    ONE while (cuStreamQuery(s));
    rec("by.query", "%llu", fig(p, 5));
    ONE MUST(cuEventRecord(e, s));
    MUST(cuEventSynchronize(e));
    rec("by.event", "%llu", fig(p, 5));
    ONE while (cuStreamQuery(s));
    char h;
    CUdeviceptr q;
    MUST(cuMemAlloc(&q, 16));
    MUST(cuMemcpyDtoH(&h, q, 1));
    rec("by.copy", "%llu", fig(p, 5));
    MUST(cuMemFree(q));
    rec("by.free", "%llu", fig(p, 5));
    p = make(1, 1, 0, 0);
    a = take(p, MiB, s);
    b = take(p, MiB, s);
    MUST(cuMemFreeAsync(a, s));
    MUST(cuStreamSynchronize(s));
    figs("half", p);
    unsigned long long z = 0;
    K("reset.r", cuMemPoolSetAttribute(p, 6, &z));
    K("reset.u", cuMemPoolSetAttribute(p, 8, &z));
    figs("reset", p);
    MUST(cuMemFree(b));
    figs("memfree", p);
    MUST(cuStreamSynchronize(s));
    figs("memfree.synced", p);
    for (int v = -1; v <= 3; v++) {
        int w = v;
        K(keyf("policy%d", v), cuMemPoolSetAttribute(p, 2, &w));
        int g = 9;
        cuMemPoolGetAttribute(p, 2, &g);
        rec(keyf("policy%d.v", v), "%d", g);
    }
    K("attr.null", cuMemPoolGetAttribute(p, 1, 0));
    K("set.null", cuMemPoolSetAttribute(p, 1, 0));
    K("set.used", cuMemPoolSetAttribute(p, 7, &z));
    K("set0", cuMemPoolSetAttribute(p, 0, &z));
    K("set9", cuMemPoolSetAttribute(p, 9, &z));
    K("pool0", cuMemPoolTrimTo(0, 0));
    K("pool0.get", cuMemPoolGetAttribute(0, 1, &z));
    K("pool0.destroy", cuMemPoolDestroy(0));
    MUST(cuMemPoolDestroy(p));
    p = make(1, 1, 0, 0);
    a = take(p, MiB, s);
    K("alloc.nullptr", cuMemAllocFromPoolAsync(0, 16, p, s));
    a = 5;
    K("alloc.zero", cuMemAllocFromPoolAsync(&a, 0, p, s));
    rec("alloc.zero.v", "%d", a == 0 ? 0 : a == 5 ? 5 : 1);
    K("free.mid", cuMemFreeAsync(take(p, 4096, s) + 512, s));
    K("free.stack", cuMemFreeAsync((CUdeviceptr)&a, s));
    K("memfree.mid", cuMemFree(take(p, 4096, s) + 512));
    void *hp;
    MUST(cuMemAllocHost(&hp, 64));
    K("freeasync.host", cuMemFreeAsync((CUdeviceptr)hp, s));
    K("freehost.pool", cuMemFreeHost((void *)take(p, 64, s)));
    MUST(cuMemAllocManaged(&q, 64, 1));
    K("freeasync.managed", cuMemFreeAsync(q, s));
}

void g_p_create(void)
{
    begin();
    CUmemPoolProps pp;
    CUmemoryPool p;
    CUdeviceptr a;
    CUmemAccess_flags f;
    int i, j;
    for (int ty = 1; ty <= 2; ty++)
        for (i = 0; i <= 17; i++) {
            memset(&pp, 0, sizeof pp);
            pp.allocType = ty;
            pp.location = loc(1, 0);
            pp.handleTypes = i;
            K(keyf("t%d.handles%d", ty, i), cuMemPoolCreate(&p, &pp));
        }
    for (i = 0; i <= 5; i++)
        for (j = -1; j <= 2; j++) {
            memset(&pp, 0, sizeof pp);
            pp.allocType = 1;
            pp.location = loc(i, j);
            K(keyf("loc%d.id%d", i, j), cuMemPoolCreate(&p, &pp));
            pp.allocType = 2;
            K(keyf("managed.loc%d.id%d", i, j), cuMemPoolCreate(&p, &pp));
        }
    for (i = 0; i < 8; i++) {
        memset(&pp, 0, sizeof pp);
        pp.allocType = 1;
        pp.location = loc(1, 0);
        pp.usage = 1 << i;
        K(keyf("usage%x", 1 << i), cuMemPoolCreate(&p, &pp));
    }
    pp.usage = 0;
    pp.reserved[53] = 1;
    K("reserved", cuMemPoolCreate(&p, &pp));
    K("null", cuMemPoolCreate(0, &pp));
    K("nullprops", cuMemPoolCreate(&p, 0));
    size_t mx[] = { 1, 2 * MiB, 16 * MiB, 32 * MiB, 33 * MiB, 64 * MiB, 65 * MiB };
    for (i = 0; i < 7; i++) {
        p = make(1, 1, 0, mx[i]);
        size_t total = 0;
        CUresult r;
        while (!(r = cuMemAllocFromPoolAsync(&a, MiB, p, s)) && total < 200) total++;
        rec(keyf("max%zx", mx[i]), "%s %zu MiB reserved=%llu", rname(r), total, fig(p, 5));
        r = cuMemAllocFromPoolAsync(&a, mx[i] + 1, p, s);
        recr(keyf("max%zx.more", mx[i]), r);
    }
    memset(&pp, 0, sizeof pp);
    pp.allocType = 2;
    pp.location = loc(1, 0);
    pp.maxSize = 64 * MiB;
    K("managed.max", cuMemPoolCreate(&p, &pp));
    for (int w = 1; w <= 3; w++) {
        p = make(1, w, 0, 0);
        a = take(p, 4096, s);
        for (i = 0; i <= 4; i++) {
            CUmemLocation l = loc(i, 0);
            f = 9;
            CUresult r = cuMemPoolGetAccess(&f, p, &l);
            rec(keyf("p%d.get%d", w, i), "%s %d", rname(r), f);
            for (j = 0; j <= 3; j++) {
                CUmemAccessDesc d = { loc(i, 0), j };
                r = cuMemPoolSetAccess(p, &d, 1);
                f = 9;
                cuMemPoolGetAccess(&f, p, &l);
                unsigned af = 9;
                CUresult q = cuPointerGetAttribute(&af, 16, a);
                rec(keyf("p%d.set%d.%d", w, i, j), "%s %d ptr=%s %d", rname(r), f, rname(q), af);
            }
        }
        CUmemAccessDesc d = { loc(1, 9), 3 };
        K(keyf("p%d.dev9", w), cuMemPoolSetAccess(p, &d, 1));
        K(keyf("p%d.n0", w), cuMemPoolSetAccess(p, &d, 0));
        K(keyf("p%d.nulldesc", w), cuMemPoolSetAccess(p, 0, 1));
    }
    p = make(2, 1, 0, 0);
    CUmemLocation l = loc(1, 0);
    f = 9;
    K("managed.get", cuMemPoolGetAccess(&f, p, &l));
    CUmemAccessDesc d = { l, 3 };
    K("managed.set", cuMemPoolSetAccess(p, &d, 1));
    K("managed.trim", cuMemPoolTrimTo(p, 0));
    K("managed.current", cuDeviceSetMemPool(0, p));
    p = make(1, 2, 0, 0);
    K("host.current", cuDeviceSetMemPool(0, p));
    K("current.null", cuDeviceSetMemPool(0, 0));
    l = loc(2, 0);
    K("set.host", cuMemSetMemPool(&l, 1, p));
    CUmemoryPool g = 0;
    K("get.host", cuMemGetMemPool(&g, &l, 1));
    rec("get.host.v", "%d", g == p);
    K("destroy.current", cuMemPoolDestroy(p));
    K("get.host2", cuMemGetMemPool(&g, &l, 1));
    CUmemoryPool df;
    cuMemGetDefaultMemPool(&df, &l, 1);
    rec("get.host2.v", "%d", g == df);
    K("set.mismatch", cuMemSetMemPool(&l, 1, make(1, 1, 0, 0)));
    l = loc(3, 0);
    CUmemoryPool n;
    cuMemGetDefaultMemPool(&n, &l, 1);
    rec("numa.same", "%d", n == df);
}

void g_p_ptr(void)
{
    begin();
    int kinds[][3] = { { 1, 1, 0 }, { 1, 1, 1 }, { 1, 2, 0 }, { 1, 3, 0 },
                       { 1, 3, 1 }, { 2, 0, 0 }, { 2, 1, 0 }, { 2, 2, 0 } };
    for (unsigned k = 0; k < 8; k++) {
        CUmemoryPool p = make(kinds[k][0], kinds[k][1], kinds[k][2], 0);
        CUdeviceptr a = take(p, 10000, s);
        for (int at = 1; at <= 21; at++) {
            if (at == 5) continue;
            unsigned long long x[2] = { 0x5a5a5a5a5a5a5a5aull };
            CUresult r = cuPointerGetAttribute(x, at, a + 5);
            if (at == 3 || at == 4 || at == 11 || at == 19) x[0] -= a;
            if (at == 1 || at == 7 || at == 17 || at == 20) x[0] = x[0] != 0;
            rec(keyf("k%u.a%d", k, at), "%s %lld", rname(r),
                r ? 0ll
                : (at == 3 || at == 4 || at == 11 || at == 19 || at == 12 || at == 18 || at == 14)
                    ? (long long)x[0]
                    : (long long)(x[0] & 0xffffffff));
        }
        CUdeviceptr b;
        size_t n;
        K(keyf("k%u.range", k), cuMemGetAddressRange(&b, &n, a + 9999));
        K(keyf("k%u.end", k), cuMemGetAddressRange(&b, &n, a + 10000));
        CUipcMemHandle h;
        K(keyf("k%u.ipc", k), cuIpcGetMemHandle(&h, a));
        unsigned one = 1;
        K(keyf("k%u.syncmemops", k), cuPointerSetAttribute(&one, 6, a));
        K(keyf("k%u.hostptr", k), ({
              CUdeviceptr d;
              cuMemHostGetDevicePointer(&d, (void *)a, 0);
          }));
        unsigned fl;
        K(keyf("k%u.hostflags", k), cuMemHostGetFlags(&fl, (void *)a));
        K(keyf("k%u.over", k), cuMemsetD8(a, 0, 10001));
        if (kinds[k][0] == 1 && kinds[k][1] > 1) {
            CUmemAccessDesc d = { loc(1, 0), 3 };
            MUST(cuMemPoolSetAccess(p, &d, 1));
        }
        K(keyf("k%u.poke", k), k_poke(a, 3));
        K(keyf("k%u.sync", k), cuCtxSynchronize());
        hold(s);
        K(keyf("k%u.free", k), cuMemFreeAsync(a, s));
        unsigned mt;
        K(keyf("k%u.freed", k), cuPointerGetAttribute(&mt, 2, a));
        K(keyf("k%u.freed.copy", k), cuMemcpyDtoHAsync(&mt, a, 4, s));
        let_go();
        K(keyf("k%u.end2", k), cuCtxSynchronize());
    }
}

void g_p_ipc(void)
{
    int sv[2], back[2];
    (void)!pipe(back);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
    pid_t c = fork();
    struct {
        CUmemPoolPtrExportData d, e;
    } m;
    if (!c) {
        begin();
        char room[64], byte;
        struct iovec v = { &byte, 1 };
        struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
        (void)!recvmsg(sv[1], &h, 0);
        int fd;
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&h)), 4);
        (void)!read(sv[1], &m, sizeof m);
        CUmemoryPool p, q;
        K("child.import.type0", cuMemPoolImportFromShareableHandle(&p, (void *)(long)fd, 0, 0));
        K("child.import.flags", cuMemPoolImportFromShareableHandle(&p, (void *)(long)fd, 1, 1));
        K("child.import.bad", cuMemPoolImportFromShareableHandle(&p, (void *)0l, 1, 0));
        MUST(cuMemPoolImportFromShareableHandle(&p, (void *)(long)fd, 1, 0));
        K("child.import2", cuMemPoolImportFromShareableHandle(&q, (void *)(long)fd, 1, 0));
        CUdeviceptr a, x, y;
        K("child.alloc", cuMemAllocFromPoolAsync(&a, 64, p, s));
        figs("child.fresh", p);
        unsigned long long th = 5;
        K("child.threshold", cuMemPoolSetAttribute(p, 4, &th));
        K("child.trim", cuMemPoolTrimTo(p, 0));
        int g;
        K("child.export", cuMemPoolExportToShareableHandle(&g, p, 1, 0));
        K("child.current", cuDeviceSetMemPool(0, p));
        CUmemLocation l = loc(1, 0);
        CUmemAccess_flags f = 9;
        K("child.access", cuMemPoolGetAccess(&f, p, &l));
        rec("child.access.v", "%d", f);
        K("child.ptr", cuMemPoolImportPointer(&a, p, &m.d));
        figs("child.imported", p);
        K("child.ptr.again", cuMemPoolImportPointer(&x, p, &m.d));
        K("child.ptr2", cuMemPoolImportPointer(&y, p, &m.e));
        rec("child.dist", "%ld", (long)(y - a));
        unsigned u = 0;
        K("child.copy", cuMemcpyDtoH(&u, a, 4));
        rec("child.v", "%x", u);
        size_t n;
        CUdeviceptr b;
        K("child.range", cuMemGetAddressRange(&b, &n, a));
        rec("child.range.v", "%zu", n);
        CUmemPoolPtrExportData ed;
        K("child.reexport", cuMemPoolExportPointer(&ed, a));
        m.d.reserved[3] ^= 0x55;
        K("child.corrupt", cuMemPoolImportPointer(&x, p, &m.d));
        K("child.free", cuMemFreeAsync(a, s));
        K("child.free.twice", cuMemFreeAsync(a, s));
        K("child.memfree", cuMemFree(y));
        MUST(cuStreamSynchronize(s));
        figs("child.end", p);
        K("child.destroy", cuMemPoolDestroy(p));
        (void)!write(back[1], "k", 1);
        _exit(0);
    }
    begin();
    CUmemoryPool p = make(1, 1, 1, 0);
    CUdeviceptr a = take(p, 10000, s), b = take(p, 20000, s);
    MUST(cuMemsetD32Async(a, 0xabc, 2500, s));
    MUST(cuStreamSynchronize(s));
    int fd;
    K("flags", cuMemPoolExportToShareableHandle(&fd, p, 1, 1));
    K("type0", cuMemPoolExportToShareableHandle(&fd, p, 0, 0));
    K("type8", cuMemPoolExportToShareableHandle(&fd, p, 8, 0));
    MUST(cuMemPoolExportToShareableHandle(&fd, p, 1, 0));
    K("ptr.mid", cuMemPoolExportPointer(&m.d, a + 512));
    K("ptr.default", ({
          CUdeviceptr z;
          cuMemAllocAsync(&z, 64, s);
          cuMemPoolExportPointer(&m.d, z);
      }));
    MUST(cuMemPoolExportPointer(&m.d, a));
    MUST(cuMemPoolExportPointer(&m.e, b));
    char room[CMSG_SPACE(4)] = { 0 }, x = 0;
    struct iovec v = { &x, 1 };
    struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
    struct cmsghdr *cm = CMSG_FIRSTHDR(&h);
    cm->cmsg_level = SOL_SOCKET;
    cm->cmsg_type = SCM_RIGHTS;
    cm->cmsg_len = CMSG_LEN(4);
    memcpy(CMSG_DATA(cm), &fd, 4);
    (void)!sendmsg(sv[0], &h, 0);
    (void)!write(sv[0], &m, sizeof m);
    close(back[1]);
    (void)!read(back[0], &x, 1);
    int st;
    waitpid(c, &st, 0);
    K("free", cuMemFreeAsync(a, s));
    MUST(cuMemFreeAsync(b, s));
    MUST(cuStreamSynchronize(s));
    figs("end", p);
    K("trim", cuMemPoolTrimTo(p, 0));
    figs("trimmed", p);
    CUmemoryPool self;
    K("self", cuMemPoolImportFromShareableHandle(&self, (void *)(long)fd, 1, 0));
}

void g_p_ctx(void)
{
    begin();
    CUcontext c;
    CUdeviceptr a, b;
    CUmemoryPool d;
    MUST(cuDeviceGetDefaultMemPool(&d, 0));
    MUST(cuCtxCreate(&c, 0, 0, 0));
    CUstream u;
    MUST(cuStreamCreate(&u, 1));
    MUST(cuMemAllocAsync(&a, 4096, u));
    MUST(cuStreamSynchronize(u));
    MUST(cuCtxSetCurrent(ctx0));
    K("destroy", cuCtxDestroy(c));
    figs("destroyed", d);
    unsigned mt;
    K("ptr", cuPointerGetAttribute(&mt, 2, a));
    K("copy", cuMemcpyDtoH(&mt, a, 4));
    K("free", cuMemFreeAsync(a, s));
    MUST(cuStreamSynchronize(s));
    figs("freed", d);
    MUST(cuMemAllocAsync(&b, 4096, s));
    MUST(cuStreamSynchronize(s));
    K("streamdestroy", cuStreamDestroy(s));
    K("free.t", cuMemFreeAsync(b, t));
    CUmemoryPool q = make(1, 1, 0, 0);
    b = take(q, 4096, t);
    MUST(cuMemAllocAsync(&a, 4096, t));
    MUST(cuCtxSynchronize());
    K("reset", cuDevicePrimaryCtxReset(0));
    K("retain", cuDevicePrimaryCtxRetain(&c, 0));
    K("set", cuCtxSetCurrent(c));
    K("ptr.reset", cuPointerGetAttribute(&mt, 2, a));
    K("ptr.reset.q", cuPointerGetAttribute(&mt, 2, b));
    CUmemoryPool e;
    K("default", cuDeviceGetDefaultMemPool(&e, 0));
    rec("default.same", "%d", e == d);
    unsigned long long v = 7;
    CUresult r = cuMemPoolGetAttribute(e, 5, &v);
    rec("reserved", "%s %llu", rname(r), v);
    K("alloc", cuMemAllocAsync(&a, 64, 0));
    K("sync", cuCtxSynchronize());
}

/* which calls spoil which capture */
void g_p_capture(void)
{
    begin();
    kernels();
    CUgraph g;
    CUdeviceptr p, q = 0;
    MUST(cuMemAlloc(&p, 4096));
    CUevent e, f;
    MUST(cuEventCreate(&e, 2));
    MUST(cuEventCreate(&f, 2));
    MUST(cuEventRecord(f, t));
    CUstream bl;
    MUST(cuStreamCreate(&bl, 0));
    static char host[64];
    void *hp;
    MUST(cuMemAllocHost(&hp, 64));
    CUstreamCaptureStatus st;
    size_t n0, n1;
    CUmodule mod;
    CUfunction fn;
    CUcontext cc;
    CUmemoryPool pool;
    CUarray ar;
    CUDA_ARRAY_DESCRIPTOR ad = { 16, 16, 32, 1 };
#define C(k, call) \
    for (int m = 0; m < 3; m++) { \
        MUST(cuStreamBeginCapture(s, m)); \
        CUresult r = (call); \
        st = 9; \
        cuStreamIsCapturing(s, &st); \
        CUresult x = cuStreamEndCapture(s, &g); \
        size_t n = 0; \
        if (!x) cuGraphGetNodes(g, 0, &n); \
        rec(keyf("%s.m%d", k, m), "%s status=%d end=%s nodes=%zu", rname(r), st, rname(x), n); \
        if (!x) cuGraphDestroy(g); \
    }
    C("nothing", 0)
    C("memset", cuMemsetD8Async(p, 1, 64, s)) C("memset0", cuMemsetD8Async(p, 1, 0, s)) C(
        "copy", cuMemcpyAsync(p, p + 64, 16, s)) C("copy.pageable", cuMemcpyHtoDAsync(p, host, 16, s))
        C("copy0", cuMemcpyHtoDAsync(p, host, 0, s)) C("copy.bad", cuMemcpyDtoDAsync(p, 0x1234, 16, s)) C(
            "memset.bad", cuMemsetD8Async(0x1234, 1, 64, s)) C("launch.bad", cuLaunchKernel(kernels()->fill, 0, 1, 1, 1,
                                                                                            1, 1, 0, s, 0, 0))
            C("host",
              cuLaunchHostFunc(s, (CUhostFn)abs, 0)) C("callback", cuStreamAddCallback(s, (CUstreamCallback)abs, 0, 0))
                C("sync", cuStreamSynchronize(s)) C("query", cuStreamQuery(s)) C("sync.t", cuStreamSynchronize(t)) C(
                    "query.t", cuStreamQuery(t)) C("ctxsync", cuCtxSynchronize())
                    C("alloc", cuMemAlloc(&q, 64)) C("free", cuMemFree(q)) C(
                        "allochost", cuMemAllocHost(&hp, 64)) C("allocmanaged", cuMemAllocManaged(&q, 64, 1))
                        C("register", cuMemHostRegister(host, 64, 0)) C("copysync", cuMemcpyHtoD(p, host, 16)) C(
                            "memsetsync",
                            cuMemsetD8(p, 0, 16)) C("legacy", cuMemsetD8Async(p, 0, 16, 0))
                            C("other", cuMemsetD8Async(p, 0, 16, t)) C("eventquery", cuEventQuery(f)) C(
                                "eventsync", cuEventSynchronize(f)) C("wait.uncaptured", cuStreamWaitEvent(s, f, 0))
                                C("wait.external", cuStreamWaitEvent(s, f, 1)) C("record", cuEventRecord(e, s)) C(
                                    "record.query",
                                    (cuEventRecord(e, s), cuEventQuery(e)))
                                    C("record.sync", (cuEventRecord(e, s), cuEventSynchronize(e))) C(
                                        "record.external",
                                        cuEventRecordWithFlags(e, s, 1)) C("begin.again", cuStreamBeginCapture(s, 0))
                                        C("streamcreate", ({
                                              CUstream w;
                                              cuStreamCreate(&w, 1);
                                          })) C("eventcreate",
                                                cuEventCreate(&e, 2)) C("meminfo", cuMemGetInfo(&n0, &n1))
                                            C("module", cuModuleLoadData(&mod, kernels_ptx)) C(
                                                "getfn", cuModuleGetFunction(&fn, kernels()->mod, "fill"))
                                                C("ctxcreate", ({
                                                      CUresult w = cuCtxCreate(&cc, 0, 0, 0);
                                                      cuCtxSetCurrent(ctx0);
                                                      w;
                                                  })) C("prefetch.bad", cuMemPrefetchAsync(0x1234, 16, loc(1, 0), 0, s))
                                                    C("attach", cuStreamAttachMemAsync(s, p, 0, 1))
                                                        C("allocasync", cuMemAllocAsync(&q, 64, s)) C(
                                                            "freeasync.bad", cuMemFreeAsync(p, s))
                                                            C("poolcreate", ({
                                                                  pool = make(1, 1, 0, 0);
                                                                  0;
                                                              })) C("array", cuArrayCreate(&ar, &ad))
                                                                C("reserve", cuMemAddressReserve(&q, GRAN, 0, 0, 0)) C(
                                                                    "waitvalue", cuStreamWaitValue32(s, p, 0, 0))
                                                                    C("writevalue", cuStreamWriteValue32(s, p, 0, 0))
                                                                        C("getattr", ({
                                                                              unsigned mt;
                                                                              cuPointerGetAttribute(&mt, 2, p);
                                                                          })) C("priority", ({
                                                                                    int pr;
                                                                                    cuStreamGetPriority(s, &pr);
                                                                                })) C("destroy", cuEventDestroy(e))
                                                                            MUST(cuStreamBeginCapture(s, 2));
    K("begin.legacy", cuStreamBeginCapture(0, 2));
    K("end.other", cuStreamEndCapture(t, &g));
    K("end.null", cuStreamEndCapture(s, 0));
    K("end", cuStreamEndCapture(s, &g));
    K("end.again", cuStreamEndCapture(s, &g));
    K("begin.mode3", cuStreamBeginCapture(s, 3));
    cuCtxSetCurrent(ctx0);
    MUST(cuStreamBeginCapture(bl, 2));
    K("bl.legacy", cuMemsetD8Async(p, 0, 16, 0));
    K("bl.end", cuStreamEndCapture(bl, &g));
    MUST(cuStreamBeginCapture(bl, 2));
    K("bl.sync", cuMemcpyHtoD(p, host, 16));
    K("bl.end2", cuStreamEndCapture(bl, &g));
    MUST(cuStreamBeginCapture(bl, 2));
    K("bl.iscap", cuStreamIsCapturing(0, &st));
    K("bl.end3", cuStreamEndCapture(bl, &g));
}

void g_p_graph(void)
{
    begin();
    kernels();
    CUgraph g, h;
    CUgraphExec x, y;
    CUgraphNode n[6], z;
    CUdeviceptr p, q;
    MUST(cuMemAlloc(&p, 4096));
    uint32_t c = 16, st = 1, v = 7;
    void *a[] = { &p, &c, &st, &v };
    CUDA_KERNEL_NODE_PARAMS k;
    memset(&k, 0, sizeof k);
    k.func = kernels()->fill;
    k.gridDimX = k.gridDimY = k.gridDimZ = k.blockDimY = k.blockDimZ = 1;
    k.blockDimX = 32;
    k.kernelParams = a;
    size_t cnt;
    K("create.flags", cuGraphCreate(&g, 1));
    MUST(cuGraphCreate(&g, 0));
    K("kernel", cuGraphAddKernelNode(&n[0], g, 0, 0, &k));
    K("empty", cuGraphAddEmptyNode(&n[1], g, n, 1));
    K("dup", cuGraphAddDependencies(g, &n[0], &n[1], 0, 1));
    K("self", cuGraphAddDependencies(g, &n[0], &n[0], 0, 1));
    K("back", cuGraphAddDependencies(g, &n[1], &n[0], 0, 1));
    K("cycle.inst", cuGraphInstantiate(&x, g, 0));
    K("remove", cuGraphRemoveDependencies(g, &n[1], &n[0], 0, 1));
    K("remove.again", cuGraphRemoveDependencies(g, &n[1], &n[0], 0, 1));
    CUgraphNode two[2] = { n[0], n[0] };
    K("dupdep", cuGraphAddEmptyNode(&z, g, two, 2));
    K("inst", cuGraphInstantiate(&x, g, 0));
    K("launch", cuGraphLaunch(x, s));
    K("sync", cuStreamSynchronize(s));
    unsigned o;
    MUST(cuMemcpyDtoH(&o, p, 4));
    rec("v", "%u", o);
    k.gridDimX = 0;
    K("kernel.grid0", cuGraphAddKernelNode(&z, g, 0, 0, &k));
    k.gridDimX = 1;
    k.func = 0;
    K("kernel.nofn", cuGraphAddKernelNode(&z, g, 0, 0, &k));
    k.func = kernels()->fill;
    k.kernelParams = 0;
    K("kernel.noparams", cuGraphAddKernelNode(&z, g, 0, 0, &k));
    k.kernelParams = a;
    CUDA_MEMSET_NODE_PARAMS m = { p, 0, 1, 4, 16, 1 };
    K("memset", cuGraphAddMemsetNode(&n[2], g, 0, 0, &m, ctx0));
    m.elementSize = 3;
    K("memset.es3", cuGraphAddMemsetNode(&z, g, 0, 0, &m, ctx0));
    m.elementSize = 4;
    m.dst = 0x1234;
    K("memset.bad", cuGraphAddMemsetNode(&z, g, 0, 0, &m, ctx0));
    m.dst = p;
    m.width = 0;
    K("memset.w0", cuGraphAddMemsetNode(&z, g, 0, 0, &m, ctx0));
    m.width = 16;
    K("memset.noctx", cuGraphAddMemsetNode(&z, g, 0, 0, &m, 0));
    K("getnodes", cuGraphGetNodes(g, 0, &cnt));
    rec("getnodes.v", "%zu", cnt);
    CUgraphNode buf[32];
    cnt = 32;
    K("getnodes.more", cuGraphGetNodes(g, buf, &cnt));
    rec("getnodes.more.v", "%zu", cnt);
    cnt = 1;
    K("getnodes.less", cuGraphGetNodes(g, buf, &cnt));
    rec("getnodes.less.v", "%zu", cnt);
    cnt = 0;
    K("edges", cuGraphGetEdges(g, 0, 0, 0, &cnt));
    rec("edges.v", "%zu", cnt);
    v = 9;
    K("exec.set", cuGraphExecKernelNodeSetParams(x, n[0], &k));
    K("exec.set.other", cuGraphExecKernelNodeSetParams(x, n[2], &k));
    K("clone", cuGraphClone(&h, g));
    K("find", cuGraphNodeFindInClone(&z, n[0], h));
    K("find.wrong", cuGraphNodeFindInClone(&z, n[0], g));
    CUgraphExecUpdateResultInfo info;
    memset(&info, 9, sizeof info);
    K("update.topology", cuGraphExecUpdate(x, g, &info));
    rec("update.topology.v", "%d", info.result);
    K("destroynode", cuGraphDestroyNode(n[1]));
    K("enabled", cuGraphNodeSetEnabled(x, n[0], 0));
    unsigned en = 9;
    K("enabled.get", cuGraphNodeGetEnabled(x, n[0], &en));
    rec("enabled.v", "%u", en);
    K("inst.flags99", cuGraphInstantiate(&y, g, 64));
    K("exec.destroy", cuGraphExecDestroy(x));
    K("graph.destroy", cuGraphDestroy(g));
    MUST(cuGraphCreate(&g, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS al;
    memset(&al, 0, sizeof al);
    al.poolProps.allocType = 1;
    al.poolProps.location = loc(1, 0);
    al.bytesize = 10000;
    K("mem", cuGraphAddMemAllocNode(&n[0], g, 0, 0, &al));
    q = al.dptr;
    unsigned mt = 9;
    CUresult r = cuPointerGetAttribute(&mt, 2, q);
    rec("mem.ptr", "%s %u", rname(r), mt);
    CUmemoryPool mp = (CUmemoryPool)5;
    r = cuPointerGetAttribute(&mp, 17, q);
    rec("mem.pool", "%s %d", rname(r), mp == 0);
    K("mem.copy", cuMemcpyDtoH(&mt, q, 4));
    K("mem.clone", cuGraphClone(&h, g));
    K("mem.destroynode", cuGraphDestroyNode(n[0]));
    K("mem.free0", cuMemFreeAsync(q, s));
    K("mem.inst", cuGraphInstantiate(&x, g, 0));
    K("mem.inst2", cuGraphInstantiate(&y, g, 0));
    for (int i = 0; i < 4; i++) {
        cuuint64_t w = 9;
        r = cuDeviceGetGraphMemAttribute(0, i, &w);
        rec(keyf("mem.attr%d", i), "%s %llu", rname(r), (unsigned long long)w);
    }
    K("mem.launch", cuGraphLaunch(x, s));
    K("mem.sync", cuStreamSynchronize(s));
    for (int i = 0; i < 4; i++) {
        cuuint64_t w = 9;
        r = cuDeviceGetGraphMemAttribute(0, i, &w);
        rec(keyf("mem.attr%d.l", i), "%s %llu", rname(r), (unsigned long long)w);
    }
    r = cuPointerGetAttribute(&mp, 17, q);
    rec("mem.pool.l", "%s %d", rname(r), mp == 0);
    K("mem.launch2", cuGraphLaunch(x, s));
    K("mem.free", cuMemFreeAsync(q, s));
    K("mem.free2", cuMemFreeAsync(q, s));
    K("mem.launch3", cuGraphLaunch(x, s));
    K("mem.memfree", cuMemFree(q));
    K("mem.xdestroy", cuGraphExecDestroy(x));
    K("mem.trim", cuDeviceGraphMemTrim(0));
    for (int i = 0; i < 4; i++) {
        cuuint64_t w = 9;
        r = cuDeviceGetGraphMemAttribute(0, i, &w);
        rec(keyf("mem.attr%d.e", i), "%s %llu", rname(r), (unsigned long long)w);
    }
    K("mem.freenode.bad", cuGraphAddMemFreeNode(&z, g, 0, 0, p));
    K("mem.freenode", cuGraphAddMemFreeNode(&z, g, n, 1, q));
    K("mem.freenode.twice", cuGraphAddMemFreeNode(&z, g, n, 1, q));
    al.bytesize = 0;
    K("mem.zero", cuGraphAddMemAllocNode(&z, g, 0, 0, &al));
    al.bytesize = 64;
    al.poolProps.location = loc(2, 0);
    K("mem.host", cuGraphAddMemAllocNode(&z, g, 0, 0, &al));
    al.poolProps.location = loc(1, 7);
    K("mem.dev7", cuGraphAddMemAllocNode(&z, g, 0, 0, &al));
    al.poolProps.location = loc(1, 0);
    al.poolProps.handleTypes = 1;
    K("mem.handles", cuGraphAddMemAllocNode(&z, g, 0, 0, &al));
}

const struct group groups[] = { { "p_size", g_p_size, 1 },       { "p_reuse", g_p_reuse, 1 },
                                { "p_release", g_p_release, 1 }, { "p_create", g_p_create, 1 },
                                { "p_ptr", g_p_ptr, 1 },         { "p_ipc", g_p_ipc, 1 },
                                { "p_ctx", g_p_ctx, 1 },         { "p_capture", g_p_capture, 1 },
                                { "p_graph", g_p_graph, 1 },     { 0 } };
