/* More of what groups context, devmem, stream, module, launch and array ask. */
#include "oracle.h"

static const char *head = ".version 7.5\n.target sm_75\n.address_size 64\n";
static const char *more_ptx =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry bounded(.param .u64 a) .maxntid 64,1,1 { ret; }\n"
    ".visible .entry exact(.param .u64 a) .reqntid 32,2,1 { ret; }\n"
    ".visible .entry shared1(.param .u64 a, .param .align 16 .b8 s[40], .param .u8 c, .param .f64 d) { .shared .align "
    "4 .b8 buf[1000]; .reg .b32 %r<3>; mov.u32 %r1, buf; st.shared.u32 [%r1], %r1; ret; }\n"
    ".extern .shared .align 16 .b8 dyn[];\n"
    ".visible .entry dynk(.param .u64 a) { .reg .b32 %r<3>; mov.u32 %r1, dyn; st.shared.u32 [%r1], %r1; ret; }\n"
    ".visible .entry localk(.param .u64 a) { .local .align 8 .b8 l[64]; .reg .b32 %r<3>; .reg .b64 %d<3>; ld.param.u64 "
    "%d1,[a]; cvt.u32.u64 %r1, %d1; mov.u64 %d2, l; mov.u32 %r2,%tid.x; cvt.u64.u32 %d1,%r2; add.u64 %d2,%d2,%d1; "
    "st.local.u8 [%d2], %r1; ld.local.u32 %r2,[l]; ld.param.u64 %d1,[a]; st.global.u32 [%d1],%r2; ret; }\n"
    ".visible .entry nop0() { ret; }\n"
    ".visible .entry spin(.param .u64 a) { .reg .b64 %d<2>; .reg .b32 %r<2>; .reg .pred %p1; ld.param.u64 %d1,[a]; L: "
    "ld.volatile.global.u32 %r1,[%d1]; setp.eq.u32 %p1,%r1,0; @%p1 bra L; ret; }\n"
    ".visible .entry exitk(.param .u64 a) { exit; }\n"
    ".visible .entry st8(.param .u64 a) { .reg .b64 %d<2>; ld.param.u64 %d1,[a]; st.global.u64 [%d1],%d1; ret; }\n"
    ".visible .entry stsh(.param .u32 a) { .reg .b32 %r<2>; .shared .align 4 .b8 sb[256]; ld.param.u32 %r1,[a]; "
    "st.shared.u32 [%r1],%r1; ret; }\n"
    ".visible .entry brk() { brkpt; ret; }\n"
    ".visible .const .align 4 .u32 cvar[3] = {1,2,3};\n"
    ".visible .global .align 4 .u32 gv2[5];\n"
    ".visible .global .align 4 .u32 gzero[1000000];\n"
    ".global .align 4 .u32 hidden[2] = {5,6};\n"
    ".visible .func (.param .u32 r) devfn(.param .u32 x) { .reg .b32 %r1; ld.param.u32 %r1,[x]; st.param.u32 [r],%r1; "
    "ret; }\n";
static CUmodule M;
static CUfunction fn(const char *n)
{
    CUfunction f = 0;
    if (!M) MUST(cuModuleLoadData(&M, more_ptx));
    CUresult r = cuModuleGetFunction(&f, M, n);
    if (r) rec(keyf("fn.%s", n), "%s", rname(r));
    return f;
}

void g_x_context(void)
{
    setup();
    CUdevice d = 0;
    CUcontext c, x, e;
    size_t v;
    unsigned f;
    int i;
    for (int l = 0; l <= 9; l++) {
        size_t vals[] = { 0, 1, 1000, 4096, 1 << 20, 512 << 20, 1ul << 40 };
        for (int k = 0; k < 7; k++) {
            CUresult r = cuCtxSetLimit((CUlimit)l, vals[k]);
            v = 0;
            CUresult q = cuCtxGetLimit(&v, (CUlimit)l);
            rec(keyf("limit%d.%lx", l, vals[k]), "%s %s %zu", rname(r), rname(q), v);
        }
    }
    K("limit.null", cuCtxGetLimit(0, CU_LIMIT_STACK_SIZE));
    K("limit.neg", cuCtxSetLimit((CUlimit)-1, 1));
    K("limit99", cuCtxSetLimit((CUlimit)99, 1));
    CUfunc_cache cc = 9;
    K("cache", cuCtxGetCacheConfig(&cc));
    rec("cache.v", "%d", cc);
    for (i = 0; i < 5; i++) {
        K(keyf("setcache%d", i), cuCtxSetCacheConfig((CUfunc_cache)i));
        cuCtxGetCacheConfig(&cc);
        rec(keyf("setcache%d.v", i), "%d", cc);
    }
    K("device.null", cuCtxGetDevice(0));
    K("current.null", cuCtxGetCurrent(0));
    K("retain.null", cuDevicePrimaryCtxRetain(0, 0));
    K("retain.dev", cuDevicePrimaryCtxRetain(&c, 7));
    K("state.null", cuDevicePrimaryCtxGetState(0, 0, 0));
    K("setflags.bad", cuDevicePrimaryCtxSetFlags(0, 0xff00));
    for (unsigned fl = 0; fl < 0x100; fl = fl ? fl * 2 : 1) {
        CUresult r = cuDevicePrimaryCtxSetFlags(0, fl);
        int a;
        unsigned g = 0;
        cuDevicePrimaryCtxGetState(0, &g, &a);
        rec(keyf("pflags%x", fl), "%s %x %d", rname(r), g, a);
    }
    for (unsigned fl = 0; fl < 0x200; fl = fl ? fl * 2 : 1) {
        CUresult r = cuCtxCreate(&c, 0, fl, 0);
        recr(keyf("create.f%x", fl), r);
        if (!r) {
            cuCtxGetFlags(&f);
            rec(keyf("create.f%x.v", fl), "%x", f);
            K(keyf("setfl%x", fl), cuCtxSetFlags(0));
            cuCtxGetFlags(&f);
            rec(keyf("setfl%x.v", fl), "%x", f);
            cuCtxDestroy(c);
        }
    }
    K("create.f3", cuCtxCreate(&c, 0, 3, 0));
    K("create.null", cuCtxCreate(0, 0, 0, 0));
    K("create.neg", cuCtxCreate(&c, 0, 0, -1));
    cuCtxSetCurrent(ctx0);
    MUST(cuCtxCreate(&c, 0, 0, 0));
    MUST(cuCtxPushCurrent(c));
    MUST(cuCtxPushCurrent(ctx0));
    K("destroy.lower", cuCtxDestroy(c));
    K("pop1", cuCtxPopCurrent(&x));
    rec("pop1.v", "%d", x == ctx0);
    cuCtxGetCurrent(&x);
    rec("cur", "%d %d %d", x == 0, x == ctx0, x == c);
    K("sync.dead", cuCtxSynchronize());
    K("getdev.dead", cuCtxGetDevice(&d));
    K("getflags.dead", cuCtxGetFlags(&f));
    K("getlimit.dead", cuCtxGetLimit(&v, 0));
    K("setcur.dead", cuCtxSetCurrent(c));
    K("push.dead", cuCtxPushCurrent(c));
    K("apiver.dead", ({
          unsigned vv;
          cuCtxGetApiVersion(c, &vv);
      }));
    K("pop2", cuCtxPopCurrent(&x));
    rec("pop2.v", "%d", x == c);
    K("pop3", cuCtxPopCurrent(&x));
    K("pop4", cuCtxPopCurrent(&x));
    K("setcur0", cuCtxSetCurrent(0));
    K("sync.none", cuCtxSynchronize());
    K("limit.none", cuCtxGetLimit(&v, 0));
    K("flags.none", cuCtxGetFlags(&f));
    K("id.none", ({
          unsigned long long q;
          cuCtxGetId(0, &q);
      }));
    K("cache.none", cuCtxGetCacheConfig(&cc));
    K("prio.none", ({
          int a, b;
          cuCtxGetStreamPriorityRange(&a, &b);
      }));
    K("pop.null", cuCtxPopCurrent(0));
    cuCtxSetCurrent(ctx0);
    K("ver.null", cuCtxGetApiVersion(ctx0, 0));
    K("id.null", cuCtxGetId(ctx0, 0));
    K("flags.null", cuCtxGetFlags(0));
    CUcontext g1, g2;
    unsigned long long i1, i2;
    cuCtxCreate(&g1, 0, 0, 0);
    cuCtxGetId(g1, &i1);
    cuCtxCreate(&g2, 0, 0, 0);
    cuCtxGetId(g2, &i2);
    rec("ids", "%d", i2 > i1);
    cuCtxGetId(0, &i1);
    rec("id0", "%d", i1 == i2);
    CUdeviceptr p;
    MUST(cuMemAlloc(&p, 64));
    K("destroy.g1", cuCtxDestroy(g1));
    K("destroy.g1again", cuCtxDestroy(g1));
    K("alloc.ok", cuMemFree(p));
    cuCtxDestroy(g2);
    cuCtxGetCurrent(&e);
    rec("cur.after", "%d", e == ctx0);
    K("reset.inuse", cuDevicePrimaryCtxReset(0));
    K("sync.reset", cuCtxSynchronize());
    K("alloc.reset", cuMemAlloc(&p, 64));
    K("retain.reset", cuDevicePrimaryCtxRetain(&x, 0));
    rec("same", "%d", x == ctx0);
    K("set.reset", cuCtxSetCurrent(x));
    K("alloc.reset2", cuMemAlloc(&p, 64));
    int act;
    K("state", cuDevicePrimaryCtxGetState(0, &f, &act));
    rec("state.v", "%x %d", f, act);
}

void g_x_mem(void)
{
    setup();
    CUdeviceptr p, q, b;
    size_t n, f0, f1, t;
    MUST(cuModuleLoadData(&M, more_ptx));
    MUST(cuMemGetInfo(&f0, &t));
    size_t sz[] = { 1, 512, 4096, 65536, MiB, 2 * MiB, 2 * MiB + 1, 3 * MiB, 5 * MiB };
    for (int i = 0; i < 9; i++) {
        MUST(cuMemAlloc(&p, sz[i]));
        cuMemGetInfo(&f1, &t);
        rec(keyf("drop%zx", sz[i]), "%ld", (long)(f0 - f1));
        unsigned long long mb = 0, ms = 0;
        cuPointerGetAttribute(&ms, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, p);
        cuPointerGetAttribute(&mb, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, p);
        rec(keyf("map%zx", sz[i]), "%llu %d al2m=%d", ms, mb <= p, p % (2 * MiB) == 0);
        MUST(cuMemFree(p));
        cuMemGetInfo(&f1, &t);
        rec(keyf("back%zx", sz[i]), "%ld", (long)(f0 - f1));
    }
    CUdeviceptr a[64];
    for (int i = 0; i < 64; i++) MUST(cuMemAlloc(&a[i], 100));
    long st = 0;
    for (int i = 1; i < 64; i++) st |= (long)(a[i] - a[i - 1]) ^ (long)(a[1] - a[0]);
    rec("stride", "%ld const=%d", (long)(a[1] - a[0]), st == 0);
    for (int i = 0; i < 64; i++) cuMemFree(a[i]);
    MUST(cuMemAlloc(&p, 300));
    MUST(cuMemAlloc(&q, 300));
    rec("stride300", "%ld", (long)(q - p));
    cuMemFree(p);
    MUST(cuMemAlloc(&b, 300));
    rec("reuse", "%d", b == p);
    cuMemFree(b);
    cuMemFree(q);
    size_t pw[] = { 1, 4, 63, 512, 513, 1000, 4096, 100000, 1ul << 31, 1ul << 40 };
    for (int i = 0; i < 10; i++) {
        size_t pt = 0;
        CUresult r = cuMemAllocPitch(&p, &pt, pw[i], 3, 4);
        rec(keyf("pitch%zx", pw[i]), "%s %zu", rname(r), pt);
        if (!r) {
            cuMemGetAddressRange(&b, &n, p);
            rec(keyf("pitch%zx.n", pw[i]), "%zu", n);
            cuMemFree(p);
        }
    }
    K("pitch.null", cuMemAllocPitch(0, &n, 4, 4, 4));
    K("pitch.null2", cuMemAllocPitch(&p, 0, 4, 4, 4));
    K("info.null", cuMemGetInfo(0, 0));
    K("info.null1", cuMemGetInfo(&n, 0));
    int av;
    size_t bytes;
    MUST(cuModuleGetGlobal(&p, &bytes, M, "gv2"));
    K("glob.range", cuMemGetAddressRange(&b, &n, p));
    rec("glob.range.v", "%d %zu %zu", (int)(p - b), n, bytes);
    K("glob.free", cuMemFree(p));
    unsigned x[4];
    for (int at = 1; at <= 21; at++) {
        if (at == 5) continue;
        x[0] = x[1] = 0x55555555;
        CUresult r = cuPointerGetAttribute(x, at, p);
        rec(keyf("glob.a%d", at), "%s %s", rname(r),
            (at == 2 || at == 6 || at == 8 || at == 9 || at == 10 || at == 12 || at == 13 || at == 15 || at == 16)
                ? keyf("%u", x[0] & 0xff)
                : "-");
    }
    MUST(cuModuleGetGlobal(&p, &bytes, M, "cvar"));
    K("const.range", cuMemGetAddressRange(&b, &n, p));
    rec("const.v", "%zu %zu", n, bytes);
    K("const.write", cuMemcpyHtoD(p, x, 12));
    K("const.over", cuMemcpyHtoD(p, x, 16));
    K("hidden", cuModuleGetGlobal(&p, &bytes, M, "hidden"));
    K("gzero", cuModuleGetGlobal(&p, &bytes, M, "gzero"));
    rec("gzero.n", "%zu", bytes);
    K("globnull", cuModuleGetGlobal(&p, &bytes, M, 0));
    K("glob.missing", cuModuleGetGlobal(&p, &bytes, M, "none"));
    K("glob.fn", cuModuleGetGlobal(&p, &bytes, M, "devfn"));
    K("glob.bothnull", cuModuleGetGlobal(0, 0, M, "gv2"));
    K("glob.ptronly", cuModuleGetGlobal(&p, 0, M, "gv2"));
    MUST(cuMemAlloc(&p, 1000));
    MUST(cuMemAlloc(&q, 1000));
    char h[4096];
    memset(h, 7, 4096);
    long ovr[] = { 1000, 1001, 1024, 1536, 2048, 4096, 65536, 2 * MiB, 2 * MiB + 1 };
    static char big[4 << 20];
    for (int i = 0; i < 9; i++) K(keyf("over%ld", ovr[i]), cuMemcpyHtoD(p, big, ovr[i]));
    for (int i = 0; i < 9; i++) K(keyf("setover%ld", ovr[i]), cuMemsetD8(p, 1, ovr[i]));
    for (int i = 0; i < 9; i++) K(keyf("dtodover%ld", ovr[i]), cuMemcpyDtoD(p, q, ovr[i]));
    for (int i = 0; i < 9; i++) K(keyf("uvaover%ld", ovr[i]), cuMemcpy((CUdeviceptr)big, p, ovr[i]));
    K("mid.over", cuMemcpyHtoD(p + 996, h, 5));
    K("mid.ok", cuMemcpyHtoD(p + 996, h, 4));
    K("end0", cuMemcpyHtoD(p + 1000, h, 0));
    K("end1", cuMemcpyHtoD(p + 1000, h, 1));
    K("bad0", cuMemcpyHtoD(0x1234, h, 0));
    K("async.over", cuMemcpyHtoDAsync(p, h, 4 << 20, 0));
    K("async.sync", cuCtxSynchronize());
    K("setasync.over", cuMemsetD8Async(p, 0, 4 << 20, 0));
    cuMemFree(q);
    K("freed.dst", cuMemcpyHtoD(q, h, 16));
    K("freed.src", cuMemcpyDtoH(h, q, 16));
    K("freed.set", cuMemsetD8(q, 0, 16));
    K("hh", cuMemcpy((CUdeviceptr)h, (CUdeviceptr)(h + 100), 50));
    K("null.uva", cuMemcpy(0, p, 4));
    K("null.uva0", cuMemcpy(0, 0, 0));
    K("set32.n0", cuMemsetD32(p + 1, 0, 0));
    K("set2d.h0", cuMemsetD2D8(p, 10, 0, 5, 0));
    K("set2d.w0", cuMemsetD2D8(p, 10, 0, 0, 5));
    K("set2d.over", cuMemsetD2D8(p, 100, 0, 50, 11));
    K("set2d.fits", cuMemsetD2D8(p, 100, 0, 50, 10));
    K("set2d.last", cuMemsetD2D8(p, 105, 0, 50, 10));
    K("set2d.pitch0", cuMemsetD2D8(p, 0, 0, 50, 1));
    K("set2d.pitch0h2", cuMemsetD2D8(p, 0, 0, 50, 2));
    K("set2d16.odd", cuMemsetD2D16(p, 101, 0, 5, 2));
    K("set2d32.oddp", cuMemsetD2D32(p + 2, 100, 0, 5, 2));
    K("set2d32.h1", cuMemsetD2D32(p, 3, 0, 5, 1));
    (void)av;
}

void g_x_copy(void)
{
    setup();
    CUdeviceptr p;
    MUST(cuMemAlloc(&p, 1 << 16));
    static char h[1 << 16];
    CUDA_MEMCPY3D m;
    CUDA_MEMCPY2D d;
    CUarray a;
    CUDA_ARRAY3D_DESCRIPTOR ad = { 16, 8, 4, CU_AD_FORMAT_FLOAT, 1, 0 };
    MUST(cuArray3DCreate(&a, &ad));
#define M3(k, ...) \
    do { \
        memset(&m, 0, sizeof m); \
        m.srcMemoryType = CU_MEMORYTYPE_HOST; \
        m.srcHost = h; \
        m.srcPitch = 64; \
        m.srcHeight = 8; \
        m.dstMemoryType = CU_MEMORYTYPE_DEVICE; \
        m.dstDevice = p; \
        m.dstPitch = 128; \
        m.dstHeight = 8; \
        m.WidthInBytes = 64; \
        m.Height = 8; \
        m.Depth = 4; \
        __VA_ARGS__; \
        K(k, cuMemcpy3D(&m)); \
    } while (0)
    M3("3d", );
    M3("3d.h0", m.Height = 0);
    M3("3d.d0", m.Depth = 0);
    M3("3d.w0", m.WidthInBytes = 0);
    M3("3d.srch", m.srcHeight = 7);
    M3("3d.srch0", m.srcHeight = 0);
    M3("3d.dsth", m.dstHeight = 4);
    M3("3d.sp", m.srcPitch = 63);
    M3("3d.sp0", m.srcPitch = 0);
    M3("3d.dp", m.dstPitch = 32);
    M3("3d.over", m.dstZ = 100);
    M3("3d.exact", m.dstZ = 60);
    M3("3d.exact1", m.dstZ = 61);
    M3("3d.x", m.dstXInBytes = 64);
    M3("3d.x1", m.dstXInBytes = 65);
    M3("3d.srcnull", m.srcHost = 0);
    M3("3d.dstnull", m.dstDevice = 0);
    M3("3d.lod", m.srcLOD = 1);
    M3("3d.dlod", m.dstLOD = 1);
    M3("3d.type0", m.srcMemoryType = 0);
    M3("3d.type5", m.srcMemoryType = 5);
    M3("3d.res", m.reserved0 = (void *)1);
    K("3d.null", cuMemcpy3D(0));
    M3("3d.arr", (m.dstMemoryType = CU_MEMORYTYPE_ARRAY, m.dstArray = a));
    M3("3d.arr.over", (m.dstMemoryType = CU_MEMORYTYPE_ARRAY, m.dstArray = a, m.dstZ = 1));
    M3("3d.arr.x", (m.dstMemoryType = CU_MEMORYTYPE_ARRAY, m.dstArray = a, m.dstXInBytes = 2, m.WidthInBytes = 8));
    M3("3d.arr.w3", (m.dstMemoryType = CU_MEMORYTYPE_ARRAY, m.dstArray = a, m.WidthInBytes = 6));
    M3("3d.arr.null", (m.dstMemoryType = CU_MEMORYTYPE_ARRAY, m.dstArray = 0));
    M3("3d.arr.y", (m.dstMemoryType = CU_MEMORYTYPE_ARRAY, m.dstArray = a, m.dstY = 1));
    M3("3d.toohost", (m.dstMemoryType = CU_MEMORYTYPE_HOST, m.dstHost = h));
    M3("3d.dev.host", m.srcMemoryType = CU_MEMORYTYPE_DEVICE);
    M3("3d.uni", (m.srcMemoryType = CU_MEMORYTYPE_UNIFIED, m.srcDevice = (CUdeviceptr)h));
#define M2(k, ...) \
    do { \
        memset(&d, 0, sizeof d); \
        d.srcMemoryType = CU_MEMORYTYPE_HOST; \
        d.srcHost = h; \
        d.srcPitch = 64; \
        d.dstMemoryType = CU_MEMORYTYPE_DEVICE; \
        d.dstDevice = p; \
        d.dstPitch = 128; \
        d.WidthInBytes = 64; \
        d.Height = 8; \
        __VA_ARGS__; \
        K(k, cuMemcpy2D(&d)); \
        K(keyf("%s.un", k), cuMemcpy2DUnaligned(&d)); \
    } while (0)
    M2("2d", );
    M2("2d.h0", d.Height = 0);
    M2("2d.h1p0", (d.Height = 1, d.srcPitch = 0, d.dstPitch = 0));
    M2("2d.p0", (d.srcPitch = 0, d.dstPitch = 0));
    M2("2d.dp63", d.dstPitch = 63);
    M2("2d.bigpitch", d.dstPitch = 1ul << 32);
    M2("2d.pitchmax", (d.dstPitch = 2147483647, d.Height = 1));
    M2("2d.pitchmax1", (d.dstPitch = 2147483648ul, d.Height = 1));
    M2("2d.hostpitchmax1", (d.srcPitch = 2147483648ul, d.Height = 1));
    M2("2d.over", d.dstY = 505);
    M2("2d.fit", d.dstY = 504);
    M2("2d.fitx", (d.dstY = 504, d.dstXInBytes = 64));
    M2("2d.x", d.dstXInBytes = 65);
    M2("2d.srcx", d.srcXInBytes = 1);
    M2("2d.dh", (d.dstMemoryType = CU_MEMORYTYPE_HOST, d.dstHost = h + 32768));
    M2("2d.null", d.srcHost = 0);
    M2("2d.dnull", d.dstDevice = 0);
    M2("2d.t0", d.dstMemoryType = 0);
    CUarray b;
    CUDA_ARRAY_DESCRIPTOR bd = { 64, 8, CU_AD_FORMAT_UNSIGNED_INT8, 4 };
    MUST(cuArrayCreate(&b, &bd));
    K("htoa", cuMemcpyHtoA(b, 0, h, 256));
    K("htoa.over", cuMemcpyHtoA(b, 0, h, 257));
    K("htoa.2rows", cuMemcpyHtoA(b, 0, h, 512));
    K("htoa.off", cuMemcpyHtoA(b, 4, h, 252));
    K("htoa.off1", cuMemcpyHtoA(b, 1, h, 4));
    K("htoa.part", cuMemcpyHtoA(b, 0, h, 3));
    K("atoh", cuMemcpyAtoH(h, b, 0, 256));
    K("atod", cuMemcpyAtoD(p, b, 0, 256));
    K("dtoa", cuMemcpyDtoA(b, 0, p, 256));
    K("atoa", cuMemcpyAtoA(b, 0, b, 128, 128));
    K("atoh.null", cuMemcpyAtoH(0, b, 0, 4));
    K("htoa.null", cuMemcpyHtoA(0, 0, h, 4));
    K("htoa.0", cuMemcpyHtoA(b, 0, h, 0));
    struct {
        size_t w, h, d;
        int f;
        unsigned c, fl;
    } A[] = { { 16, 16, 16, 32, 1, 0 },      { 16, 0, 16, 32, 1, 0 },     { 16, 16, 4, 32, 1, 1 },
              { 16, 0, 4, 32, 1, 1 },        { 16, 16, 6, 32, 1, 4 },     { 16, 16, 5, 32, 1, 4 },
              { 16, 8, 6, 32, 1, 4 },        { 16, 16, 12, 32, 1, 5 },    { 16, 16, 7, 32, 1, 5 },
              { 16, 16, 0, 32, 1, 2 },       { 16, 16, 0, 32, 1, 8 },     { 16, 16, 4, 32, 1, 8 },
              { 16, 16, 0, 32, 1, 16 },      { 131072, 0, 0, 32, 1, 0 },  { 131073, 0, 0, 32, 1, 0 },
              { 131072, 65536, 0, 1, 1, 0 }, { 131073, 4, 0, 1, 1, 0 },   { 4, 65537, 0, 1, 1, 0 },
              { 16384, 4, 4, 1, 1, 0 },      { 16385, 4, 4, 1, 1, 0 },    { 4, 4, 16385, 1, 1, 0 },
              { 32768, 0, 2, 1, 1, 1 },      { 32769, 0, 2, 1, 1, 1 },    { 16, 0, 2049, 1, 1, 1 },
              { 16, 4, 2048, 1, 1, 1 },      { 32768, 0, 0, 32, 1, 2 },   { 32769, 0, 0, 32, 1, 2 },
              { 16, 16, 0, 32, 1, 0x20 },    { 16, 16, 0, 32, 1, 0x40 },  { 16, 16, 0, 32, 1, 0x80 },
              { 16, 16, 0, 32, 1, 0x100 },   { 16, 16, 0, 32, 1, 0x200 }, { 0, 16, 0, 32, 1, 0 },
              { 0, 0, 4, 32, 1, 0 },         { 16, 16, 0, 0xb0, 1, 0 },   { 16, 16, 0, 0xc0, 1, 0 },
              { 16, 16, 0, 0xc0, 4, 0 },     { 64, 64, 0, 0x91, 1, 0 } };
    for (unsigned i = 0; i < sizeof A / sizeof *A; i++) {
        CUDA_ARRAY3D_DESCRIPTOR z = { A[i].w, A[i].h, A[i].d, A[i].f, A[i].c, A[i].fl };
        CUarray y;
        CUresult r = cuArray3DCreate(&y, &z);
        recr(keyf("arr%u", i), r);
        if (!r) {
            memset(&z, 0, sizeof z);
            cuArray3DGetDescriptor(&z, y);
            rec(keyf("arr%u.v", i), "%zu %zu %zu %d %u %x", z.Width, z.Height, z.Depth, z.Format, z.NumChannels,
                z.Flags);
            cuArrayDestroy(y);
        }
    }
    CUDA_ARRAY_DESCRIPTOR z2;
    K("desc3as2", cuArrayGetDescriptor(&z2, a));
    rec("desc3as2.v", "%zu %zu", z2.Width, z2.Height);
    K("desc.null", cuArrayGetDescriptor(0, a));
    K("desc.null2", cuArrayGetDescriptor(&z2, 0));
    K("destroy.null", cuArrayDestroy(0));
    K("create.null", cuArrayCreate(&b, 0));
    K("create.null2", cuArrayCreate(0, &bd));
    size_t f0, f1, t;
    cuMemGetInfo(&f0, &t);
    CUDA_ARRAY_DESCRIPTOR bb = { 4096, 1024, CU_AD_FORMAT_FLOAT, 1 };
    MUST(cuArrayCreate(&b, &bb));
    cuMemGetInfo(&f1, &t);
    rec("arr.mem", "%ld", (long)(f0 - f1));
    K("destroy", cuArrayDestroy(b));
    CUmipmappedArray mm;
    for (unsigned lv = 0; lv < 8; lv++) {
        CUDA_ARRAY3D_DESCRIPTOR z = { 16, 8, 0, 32, 1, 0 };
        CUresult r = cuMipmappedArrayCreate(&mm, &z, lv);
        recr(keyf("mip%u", lv), r);
        if (!r) {
            CUarray y;
            for (unsigned k = 0; k < 7; k++) {
                CUresult q = cuMipmappedArrayGetLevel(&y, mm, k);
                if (q) {
                    recr(keyf("mip%u.l%u", lv, k), q);
                    continue;
                }
                memset(&z, 0, sizeof z);
                cuArray3DGetDescriptor(&z, y);
                rec(keyf("mip%u.l%u", lv, k), "%zu %zu %zu", z.Width, z.Height, z.Depth);
            }
            K(keyf("mip%u.d", lv), cuMipmappedArrayDestroy(mm));
        }
    }
}

static void CUDA_CB cb(CUstream s, CUresult r, void *u)
{
    (void)s;
    *(int *)u = 100 + r;
}

void g_x_stream(void)
{
    setup();
    CUstream s, t, u;
    CUevent e, f;
    CUdeviceptr p, q;
    int v;
    unsigned fl;
    MUST(cuMemAlloc(&p, 4096));
    MUST(cuMemsetD8(p, 0, 4096));
    MUST(cuStreamCreate(&s, 0));
    MUST(cuStreamCreate(&t, 1));
    CUcontext c2, c;
    MUST(cuCtxCreate(&c2, 0, 0, 0));
    K("other.query", cuStreamQuery(s));
    K("other.sync", cuStreamSynchronize(s));
    K("other.memset", cuMemsetD8Async(p, 1, 16, s));
    K("other.launch", ({ cuStreamWriteValue32(s, p, 1, 0); }));
    K("other.flags", cuStreamGetFlags(s, &fl));
    K("other.event", ({
          cuEventCreate(&e, 0);
          cuEventRecord(e, s);
      }));
    K("other.wait", cuStreamWaitEvent(s, e, 0));
    K("other.destroy", ({
          CUstream z;
          cuCtxSetCurrent(ctx0);
          cuStreamCreate(&z, 0);
          cuCtxSetCurrent(c2);
          cuStreamDestroy(z);
      }));
    cuEventDestroy(e);
    cuCtxDestroy(c2);
    cuCtxSetCurrent(ctx0);
    int pr[] = { -100, -6, -5, -3, -1, 0, 1, 5 };
    for (int i = 0; i < 8; i++) {
        CUresult r = cuStreamCreateWithPriority(&u, 1, pr[i]);
        v = 99;
        cuStreamGetPriority(u, &v);
        rec(keyf("prio%d", pr[i]), "%s %d", rname(r), v);
        cuStreamDestroy(u);
    }
    K("prio.flag2", cuStreamCreateWithPriority(&u, 2, 0));
    K("flags0", cuStreamGetFlags(0, &fl));
    rec("flags0.v", "%x", fl);
    K("prio0", cuStreamGetPriority(0, &v));
    rec("prio0.v", "%d", v);
    K("flags.leg", cuStreamGetFlags(CU_STREAM_LEGACY, &fl));
    rec("flags.leg.v", "%x", fl);
    K("flags.pt", cuStreamGetFlags(CU_STREAM_PER_THREAD, &fl));
    rec("flags.pt.v", "%x", fl);
    K("flags.null", cuStreamGetFlags(s, 0));
    K("prio.null", cuStreamGetPriority(s, 0));
    K("ctx.null", cuStreamGetCtx(s, 0));
    K("ctx0", cuStreamGetCtx(0, &c));
    rec("ctx0.v", "%d", c == ctx0);
    CUdevice d = 9;
    K("dev", cuStreamGetDevice(s, &d));
    rec("dev.v", "%d", d);
    K("destroy.legacy", cuStreamDestroy(CU_STREAM_LEGACY));
    K("destroy.pt", cuStreamDestroy(CU_STREAM_PER_THREAD));
    unsigned long long id0 = 0, id1 = 0, id2 = 0;
    cuStreamGetId(0, &id0);
    cuStreamGetId(CU_STREAM_LEGACY, &id1);
    cuStreamGetId(CU_STREAM_PER_THREAD, &id2);
    rec("ids", "%d %d", id0 == id1, id0 == id2);
    K("query.leg", cuStreamQuery(CU_STREAM_LEGACY));
    K("query.pt", cuStreamQuery(CU_STREAM_PER_THREAD));
    int got = 0;
    K("cb", cuStreamAddCallback(s, cb, &got, 0));
    K("cb.sync", cuStreamSynchronize(s));
    rec("cb.v", "%d", got);
    K("cb.flags", cuStreamAddCallback(s, cb, &got, 1));
    K("cb.null", cuStreamAddCallback(s, 0, &got, 0));
    K("host.null", cuLaunchHostFunc(s, 0, 0));
    K("host.0", cuLaunchHostFunc(0, (CUhostFn)(void *)getpid, 0));
    for (unsigned x = 0; x < 0x40; x++) {
        CUresult r = cuEventCreate(&e, x);
        recr(keyf("ev%x", x), r);
        if (!r) {
            cuEventDestroy(e);
        }
    }
    K("ev.null", cuEventCreate(0, 0));
    MUST(cuEventCreate(&e, 0));
    MUST(cuEventCreate(&f, 0));
    K("rec0", cuEventRecord(e, 0));
    K("rec.null", cuEventRecord(0, s));
    K("rec.flags0", cuEventRecordWithFlags(e, s, 0));
    K("rec.flags1", cuEventRecordWithFlags(e, s, 1));
    K("rec.flags9", cuEventRecordWithFlags(e, s, 9));
    float ms = -5;
    K("el.one", cuEventElapsedTime(&ms, e, f));
    K("rec.f", cuEventRecord(f, s));
    MUST(cuEventSynchronize(f));
    K("el", cuEventElapsedTime(&ms, e, f));
    rec("el.pos", "%d", ms >= 0);
    K("el.rev", cuEventElapsedTime(&ms, f, e));
    rec("el.rev.neg", "%d", ms <= 0);
    K("el.null", cuEventElapsedTime(0, e, f));
    K("el.nulle", cuEventElapsedTime(&ms, 0, f));
    K("q.null", cuEventQuery(0));
    K("s.null", cuEventSynchronize(0));
    K("d.null", cuEventDestroy(0));
    K("w.null", cuStreamWaitEvent(s, 0, 0));
    K("w.flag1", cuStreamWaitEvent(s, e, 1));
    K("w.self", cuStreamWaitEvent(s, e, 0));
    K("w.leg", cuStreamWaitEvent(0, e, 0));
    MUST(cuMemsetD8(p, 0, 64));
    K("pend.wait", cuStreamWaitValue32(t, p, 1, CU_STREAM_WAIT_VALUE_EQ));
    MUST(cuEventRecord(e, t));
    K("pend.q", cuEventQuery(e));
    K("pend.el", cuEventElapsedTime(&ms, f, e));
    K("pend.sq", cuStreamQuery(t));
    K("pend.q0", cuStreamQuery(0));
    K("pend.ws", cuStreamWaitEvent(s, e, 0));
    K("pend.sqs", cuStreamQuery(s));
    K("pend.evdestroy", cuEventDestroy(e));
    MUST(cuMemcpyHtoDAsync(p, (unsigned[]){ 1 }, 4, CU_STREAM_PER_THREAD));
    K("pend.sync", cuStreamSynchronize(t));
    K("pend.syncs", cuStreamSynchronize(s));
    unsigned wf[] = { 0, 1, 2, 3, 4, 7, 1u << 30, 1u << 31 };
    for (int i = 0; i < 8; i++) {
        MUST(cuMemsetD32(p, wf[i] == 3 ? 0 : 1, 2));
        MUST(cuCtxSynchronize());
        K(keyf("wv%x", wf[i]), cuStreamWaitValue32(t, p, 1, wf[i]));
        K(keyf("wv%x.s", wf[i]), cuStreamSynchronize(t));
    }
    MUST(cuMemsetD32(p, 5, 2));
    K("w64", cuStreamWriteValue64(s, p + 8, 77, 0));
    K("w64.un", cuStreamWriteValue64(s, p + 4, 77, 0));
    K("wv64.un", cuStreamWaitValue64(s, p + 4, 77, 0));
    K("wfl1", cuStreamWriteValue32(s, p, 1, 1));
    K("wfl2", cuStreamWriteValue32(s, p, 1, 2));
    K("w.past", cuStreamWriteValue32(s, p + 4096, 1, 0));
    K("w.end", cuStreamWriteValue32(s, p + 4092, 1, 0));
    static unsigned hv;
    K("w.host", cuStreamWriteValue32(s, (CUdeviceptr)&hv, 1, 0));
    void *ph;
    MUST(cuMemAllocHost(&ph, 4096));
    K("w.pinned", cuStreamWriteValue32(s, (CUdeviceptr)ph, 9, 0));
    MUST(cuStreamSynchronize(s));
    rec("w.pinned.v", "%u", *(unsigned *)ph);
    K("w.leg", cuStreamWriteValue32(0, p, 3, 0));
    K("w.leg.s", cuCtxSynchronize());
    CUstreamBatchMemOpParams b[3];
    memset(b, 0, sizeof b);
    b[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    b[0].writeValue.address = p;
    b[0].writeValue.value = 42;
    b[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    b[1].waitValue.address = p;
    b[1].waitValue.value = 42;
    b[1].waitValue.flags = 1;
    b[2].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    b[2].writeValue.address = p + 16;
    b[2].writeValue.value64 = 1;
    K("batch", cuStreamBatchMemOp(s, 3, b, 0));
    K("batch.s", cuStreamSynchronize(s));
    K("batch0", cuStreamBatchMemOp(s, 0, b, 0));
    K("batch.fl", cuStreamBatchMemOp(s, 1, b, 1));
    b[0].operation = 99;
    K("batch.op", cuStreamBatchMemOp(s, 1, b, 0));
    b[0].operation = CU_STREAM_MEM_OP_BARRIER;
    K("batch.bar", cuStreamBatchMemOp(s, 1, b, 0));
    K("batch257", ({
          static CUstreamBatchMemOpParams z[257];
          for (int i = 0; i < 257; i++) z[i] = b[2];
          cuStreamBatchMemOp(s, 257, z, 0);
      }));
    K("batch256", ({
          static CUstreamBatchMemOpParams z[256];
          for (int i = 0; i < 256; i++) z[i] = b[2];
          cuStreamBatchMemOp(s, 256, z, 0);
      }));
    CUstreamCaptureStatus cs;
    K("cap", cuStreamIsCapturing(s, &cs));
    rec("cap.v", "%d", cs);
    K("cap0", cuStreamIsCapturing(0, &cs));
    CUstreamAttrValue av;
    memset(&av, 0x55, sizeof av);
    for (int i = 0; i < 18; i++) {
        memset(&av, 0, sizeof av);
        CUresult r = cuStreamGetAttribute(s, i, &av);
        rec(keyf("attr%d", i), "%s %d", rname(r), r ? 0 : *(int *)&av);
    }
    MUST(cuMemFree(p));
    K("att.freed", cuStreamWriteValue32(s, p, 1, 0));
    MUST(cuMemAllocManaged(&q, 4096, 2));
    K("attach", cuStreamAttachMemAsync(s, q, 0, 4));
    K("attach.bad", cuStreamAttachMemAsync(s, q, 100, 4));
    K("copyattr", cuStreamCopyAttributes(s, t));
}

void g_x_module(void)
{
    setup();
    CUmodule m;
    char buf[512];
    const char *bad[] = {
        "",
        ".version 7.5\n",
        ".version 7.5\n.target sm_75\n",
        ".target sm_75\n.version 7.5\n",
        ".version 7.5\n.target sm_75\n.address_size 32\n.visible .entry k(){ ret; }\n",
        "// only a comment\n",
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 9.0\n.target sm_100\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 9.1\n.target sm_90\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 6.0\n.target sm_90\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 7.5\n.target sm_20\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 1.0\n.target sm_10\n.visible .entry k(){ ret; }\n",
        ".version 7.5\n.target sm_30\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 7.5 .target sm_75 .address_size 64 .visible .entry k(){ ret; }",
        "\n\n  .version 7.5\n.target sm_75\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 7.5\n.target sm_75, debug\n.address_size 64\n.visible .entry k(){ ret; }\n",
        ".version 7.5\n.target sm_75, texmode_independent\n.address_size 64\n.visible .entry k(){ ret; }\n"
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        CUresult r = cuModuleLoadData(&m, bad[i]);
        recr(keyf("text%u", i), r);
        if (!r) cuModuleUnload(m);
    }
    const char *body[] = { "mov.u32 %r1, %r2; ret;",
                           "ret",
                           "bra L; ret;",
                           "add.u32 %r1, %r2; ret;",
                           "add.u32 %r1, %r2, %f1; ret;",
                           "add.f32 %f1, %f2, %r1; ret;",
                           "add.u64 %d1, %d2, %r1; ret;",
                           "mov.u32 %r1, nosuch; ret;",
                           "ld.global.u32 %r1, [%r2]; ret;",
                           "ld.global.u32 %r1, [%d1]; ret;",
                           "st.global.u32 [%d1+3], %r1; ret;",
                           "ld.param.u32 %r1, [zz]; ret;",
                           "ld.param.u32 %r1, [a]; ret;",
                           "@%r1 ret;",
                           "@%p1 ret; ret;",
                           "shl.b32 %r1, %r2, 40; ret;",
                           "mov.u32 %r1, 0x1ffffffff; ret;",
                           "add.u32 %r1, %r2, 1 ret;",
                           "add.u32 %r1, %r2, 1; } ret;",
                           "setp.eq.u32 %r1, %r2, 1; ret;",
                           "selp.u32 %r1, 1, 2, %r2; ret;",
                           "bar.sync 16; ret;",
                           "bar.sync 0, 33; ret;",
                           "call nofn; ret;",
                           "wmma.load.a.sync.aligned.m16n16k16.global.row.f16 {%r1}, [%d1]; ret;",
                           "tex.2d.v4.f32.f32 {%f1,%f2,%f1,%f2}, [t, {%f1,%f2}]; ret;",
                           "add.f16 %h1, %h1, %h1; ret;",
                           "cvt.u32.f32 %r1, %f1; ret;",
                           "cvt.f32.u32 %f1, %r1; ret;",
                           "cvt.rzi.u32.f32 %r1, %f1; ret;",
                           "mul.u32 %r1, %r1, %r1; ret;",
                           "mul.lo.f32 %f1, %f1, %f1; ret;",
                           "div.f32 %f1, %f1, %f1; ret;",
                           "sqrt.f32 %f1, %f1; ret;",
                           "mad.f32 %f1, %f1, %f1, %f1; ret;",
                           "shfl.up.b32 %r1, %r1, 1, 0; ret;",
                           "shfl.sync.up.b32 %r1, %r1, 1, 0, -1; ret;",
                           "vote.ballot.b32 %r1, %p1; ret;",
                           "L: L: ret;",
                           ".reg .b32 %r1; ret;",
                           "mov.b64 %d1, {%r1,%r2}; ret;",
                           "mov.b64 {%r1,%r2}, %r1; ret;",
                           "redux.sync.add.u32 %r1,%r1,-1; ret;",
                           "ld.global.v3.u32 {%r1,%r2,%r3},[%d1]; ret;",
                           "min.s16 %h1,%h1,%h1; ret;",
                           "atom.global.add.f32 %f1,[%d1],%f1; ret;",
                           "atom.global.add.s64 %d1,[%d1],%d1; ret;",
                           "and.u32 %r1,%r1,%r1; ret;",
                           "not.b32 %r1, %r1; ret;",
                           "abs.u32 %r1,%r1; ret;",
                           "neg.f32 %f1, 0f3F800000; ret;",
                           "mov.f32 %f1, 1.0; ret;",
                           "mov.f32 %f1, 1; ret;",
                           "mov.u32 %r1, 1.0; ret;",
                           "add.f32 %f1, %f1, 1; ret;",
                           "nosuch.sync; ret;",
                           ".nosuch 5; ret;" };
    for (unsigned i = 0; i < sizeof body / sizeof *body; i++) {
        snprintf(buf, sizeof buf,
                 "%s.visible .entry k(.param .u64 a){ .reg .b32 %%r<4>; .reg .f32 %%f<4>; .reg .b64 %%d<4>; .reg .b16 "
                 "%%h<4>; .reg .pred %%p<4>;\n%s }\n",
                 head, body[i]);
        CUresult r = cuModuleLoadData(&m, buf);
        recr(keyf("body%u", i), r);
        if (!r) cuModuleUnload(m);
    }
    const char *top[] = {
        ".visible .entry k(){ ret; } .visible .entry k(){ ret; }",
        ".visible .func k(){ ret; }",
        ".global .u32 x = {1,2};",
        ".global .u32 x[2] = {1,2,3};",
        ".global .u32 x[] = {1,2,3};",
        ".global .u32 x[];",
        ".extern .global .u32 x[4];",
        ".extern .func f(); .visible .entry k(){ ret; }",
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b); .visible .entry k(){ ret; }",
        ".global .b8 x[4] = {1,2,3,300};",
        ".const .align 4 .b8 big[70000];",
        ".visible .entry k(){ .shared .align 4 .b8 b[49153]; .reg .b32 %r<2>; mov.u32 %r1,b; st.shared.u32 [%r1],%r1; "
        "ret; }",
        ".visible .entry k(){ .shared .align 4 .b8 b[49152]; .reg .b32 %r<2>; mov.u32 %r1,b; st.shared.u32 [%r1],%r1; "
        "ret; }",
        ".visible .entry k(.param .b8 a[4096]){ ret; }",
        ".visible .entry k(.param .b8 a[4353]){ ret; }",
        ".global .u64 p = x; .global .u32 x = 3;",
        ".global .u32 x = 3; .global .u64 p = x;",
        ".global .u32 x = 3; .global .u64 p = generic(x)+4;",
        ".global .f32 x = 1.5;",
        ".global .u32 x = 1.5;",
        ".visible .entry k() .maxntid 1025 { ret; }",
        ".visible .entry k() .minnctapersm 2 { ret; }",
        "frob",
        ".visible .entry k(){ ret; } junk"
    };
    for (unsigned i = 0; i < sizeof top / sizeof *top; i++) {
        snprintf(buf, sizeof buf, "%s%s\n", head, top[i]);
        CUresult r = cuModuleLoadData(&m, buf);
        recr(keyf("top%u", i), r);
        if (!r) cuModuleUnload(m);
    }
    K("nullmod", cuModuleLoadData(0, more_ptx));
    K("unload.null", cuModuleUnload(0));
    char il[4096] = "zz", el[64];
    float wt = -1;
    void *ov[8];
    CUjit_option o[] = { CU_JIT_INFO_LOG_BUFFER,    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                         CU_JIT_ERROR_LOG_BUFFER,   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                         CU_JIT_LOG_VERBOSE,        CU_JIT_WALL_TIME,
                         CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_MAX_REGISTERS };
    ov[0] = il;
    ov[1] = (void *)4096ul;
    ov[2] = el;
    ov[3] = (void *)64ul;
    ov[4] = (void *)1;
    ov[5] = 0;
    ov[6] = (void *)3ul;
    ov[7] = (void *)32ul;
    K("opts", cuModuleLoadDataEx(&m, more_ptx, 8, o, ov));
    memcpy(&wt, &ov[5], 4);
    rec("opts.v", "info=%d isz=%d err=%d esz=%lu wt=%d mr=%lu", il[0] != 'z',
        (unsigned long)ov[1]<4096, el[0] != 0, (unsigned long)ov[3], wt> 0, (unsigned long)ov[7]);
    ov[6] = (void *)9ul;
    K("opts.opt9", cuModuleLoadDataEx(&m, more_ptx, 8, o, ov));
    CUjit_option ob[] = { (CUjit_option)77 };
    K("opts.bad", cuModuleLoadDataEx(&m, more_ptx, 1, ob, ov));
    K("opts.null", cuModuleLoadDataEx(&m, more_ptx, 1, 0, 0));
    el[0] = 0;
    ov[0] = el;
    ov[1] = (void *)10ul;
    CUjit_option oe[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    K("log.short", cuModuleLoadDataEx(
                       &m, ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry k(){ frob; }\n", 2, oe, ov));
    rec("log.short.v", "len=%zu sz=%lu", strnlen(el, 64), (unsigned long)ov[1]);
    CUfunction f;
    int v;
    const char *kn[] = { "bounded", "exact", "shared1", "dynk", "localk", "nop0", "spin" };
    for (int i = 0; i < 7; i++) {
        f = fn(kn[i]);
        for (int a = 0; a <= 15; a++) {
            if (a >= 4 && a <= 6) continue;
            v = -7;
            CUresult r = cuFuncGetAttribute(&v, a, f);
            rec(keyf("%s.a%d", kn[i], a), "%s %d", rname(r), v);
        }
        size_t of, sz;
        for (int k = 0; k < 6; k++) {
            CUresult r = cuFuncGetParamInfo(f, k, &of, &sz);
            if (r) {
                recr(keyf("%s.p%d", kn[i], k), r);
                break;
            }
            rec(keyf("%s.p%d", kn[i], k), "%zu %zu", of, sz);
        }
    }
    f = fn("dynk");
    int sets[][2] = { { 8, 49152 }, { 8, 49153 }, { 8, 232448 }, { 8, 232449 }, { 8, -1 }, { 8, 0 },  { 9, 0 },
                      { 9, 100 },   { 9, 101 },   { 9, -1 },     { 9, -2 },     { 0, 5 },  { 1, 5 },  { 4, 5 },
                      { 10, 1 },    { 11, 1 },    { 12, 2 },     { 14, 1 },     { 15, 1 }, { 16, 1 }, { 99, 1 } };
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
        CUresult r = cuFuncSetAttribute(f, sets[i][0], sets[i][1]);
        v = -9;
        cuFuncGetAttribute(&v, sets[i][0], f);
        rec(keyf("set%d.%d", sets[i][0], sets[i][1]), "%s %d", rname(r), v);
    }
    f = fn("shared1");
    K("set.sh1", cuFuncSetAttribute(f, 8, 232448 - 1000));
    K("set.sh1b", cuFuncSetAttribute(f, 8, 232448 - 999));
    K("attr.null", cuFuncGetAttribute(0, 0, f));
    K("attr.nullf", cuFuncGetAttribute(&v, 0, 0));
    K("name.null", cuFuncGetName(0, f));
    K("cache", cuFuncSetCacheConfig(f, 1));
    K("cache9", cuFuncSetCacheConfig(f, 9));
    CUmodule mm = 0;
    K("getmod", cuFuncGetModule(&mm, f));
    rec("getmod.v", "%d", mm == M);
    K("fn.devfn", cuModuleGetFunction(&f, M, "devfn"));
    unsigned n;
    K("count", cuModuleGetFunctionCount(&n, M));
    rec("count.v", "%u", n);
    CUfunction fs[20];
    K("enum", cuModuleEnumerateFunctions(fs, 20, M));
    const char *nm;
    for (unsigned i = 0; i < n && i < 20; i++) {
        cuFuncGetName(&nm, fs[i]);
        rec(keyf("enum%u", i), "%s", nm);
    }
    CUfunctionLoadingState ls;
    K("loaded", cuFuncIsLoaded(&ls, fs[0]));
    rec("loaded.v", "%d", ls);
    K("load", cuFuncLoad(fs[0]));
    CUmoduleLoadingMode lm;
    K("mode", cuModuleGetLoadingMode(&lm));
    rec("mode.v", "%d", lm);
    CUlibrary l;
    CUkernel k;
    MUST(cuLibraryLoadData(&l, more_ptx, 0, 0, 0, 0, 0, 0));
    K("lib.null", cuLibraryLoadData(0, more_ptx, 0, 0, 0, 0, 0, 0));
    K("lib.nullcode", cuLibraryLoadData(&l, 0, 0, 0, 0, 0, 0, 0));
    K("lib.bad", ({
          CUlibrary z;
          cuLibraryLoadData(&z, "junk", 0, 0, 0, 0, 0, 0);
      }));
    K("lib.nofile", ({
          CUlibrary z;
          cuLibraryLoadFromFile(&z, "/nonexistent", 0, 0, 0, 0, 0, 0);
      }));
    K("lk", cuLibraryGetKernel(&k, l, "shared1"));
    K("lk.fn", cuKernelGetFunction(&f, k));
    K("lk.fn.null", cuKernelGetFunction(0, k));
    K("lk.name", cuKernelGetName(&nm, k));
    rec("lk.name.v", "%s", nm);
    K("lk.attr", cuKernelGetAttribute(&v, 1, k, 0));
    rec("lk.attr.v", "%d", v);
    K("lk.attr.dev", cuKernelGetAttribute(&v, 1, k, 9));
    K("lk.set", cuKernelSetAttribute(8, 60000, k, 0));
    cuKernelGetAttribute(&v, 8, k, 0);
    rec("lk.set.v", "%d", v);
    size_t of, sz;
    K("lk.p1", cuKernelGetParamInfo(k, 1, &of, &sz));
    rec("lk.p1.v", "%zu %zu", of, sz);
    K("lk.p9", cuKernelGetParamInfo(k, 9, &of, &sz));
    K("lmod", cuLibraryGetModule(&mm, l));
    K("lmod.fn", cuModuleGetFunction(&f, mm, "nop0"));
    K("lk.launch",
      cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &(CUdeviceptr){ 0 }, buf, buf, buf }, 0));
    K("lk.sync", cuCtxSynchronize());
    CUlibrary lo;
    K("lk.lib", cuKernelGetLibrary(&lo, k));
    rec("lk.lib.v", "%d", lo == l);
    CUkernel ks[16];
    K("lk.enum", cuLibraryEnumerateKernels(ks, 16, l));
    K("lib.glob.missing", cuLibraryGetGlobal((CUdeviceptr *)&of, &sz, l, "nope"));
    K("lib.unified", cuLibraryGetUnifiedFunction((void **)&of, l, "devfn"));
    K("lib.unload", cuLibraryUnload(l));
    K("lib.unload.null", cuLibraryUnload(0));
    K("modunload.lib", 0);
    CUlinkState ls2;
    void *cubin;
    size_t cs;
    K("link", cuLinkCreate(0, 0, 0, &ls2));
    K("link.add", cuLinkAddData(ls2, CU_JIT_INPUT_PTX, (void *)more_ptx, strlen(more_ptx) + 1, "a", 0, 0, 0));
    K("link.bad", cuLinkAddData(ls2, CU_JIT_INPUT_PTX, "junk", 5, "a", 0, 0, 0));
    K("link.done", cuLinkComplete(ls2, &cubin, &cs));
    K("link.load", cuModuleLoadData(&m, cubin));
    K("link.destroy", cuLinkDestroy(ls2));
    K("link.fn", cuModuleGetFunction(&f, m, "nop0"));
}

void g_x_launch(void)
{
    setup();
    CUdeviceptr p;
    MUST(cuMemAlloc(&p, 1 << 16));
    void *a[] = { &p, &p, &p, &p };
    CUfunction b = fn("bounded"), e = fn("exact"), s1 = fn("shared1"), d = fn("dynk"), n0 = fn("nop0");
#define L(k, f, g, bx, by, sh, arg) \
    do { \
        K(k, cuLaunchKernel(f, g, 1, 1, bx, by, 1, sh, 0, arg, 0)); \
        K(keyf("%s.s", k), cuCtxSynchronize()); \
    } while (0)
    L("b64", b, 1, 64, 1, 0, a);
    L("b65", b, 1, 65, 1, 0, a);
    L("b32x2", b, 1, 32, 2, 0, a);
    L("b1x64", b, 1, 1, 64, 0, a);
    L("e", e, 1, 32, 2, 0, a);
    L("e64", e, 1, 64, 1, 0, a);
    L("e32", e, 1, 32, 1, 0, a);
    L("s48k", s1, 1, 32, 1, 49152 - 1000, a);
    L("s48k1", s1, 1, 32, 1, 49152 - 999, a);
    L("s48k.small", s1, 1, 32, 1, 100, a);
    L("d48", d, 1, 32, 1, 49152, a);
    L("d48+1", d, 1, 32, 1, 49153, a);
    K("raise", cuFuncSetAttribute(d, 8, 100000));
    L("d100000", d, 1, 32, 1, 100000, a);
    L("d100001", d, 1, 32, 1, 100001, a);
    L("noparams.null", n0, 1, 1, 1, 0, 0);
    L("noparams.ex", n0, 1, 1, 1, 0, a);
    void *ex0[] = { CU_LAUNCH_PARAM_END };
    K("extra.empty", cuLaunchKernel(b, 1, 1, 1, 1, 1, 1, 0, 0, 0, ex0));
    size_t sz = 100;
    void *ex1[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &sz, CU_LAUNCH_PARAM_END };
    K("extra.long", cuLaunchKernel(b, 1, 1, 1, 1, 1, 1, 0, 0, 0, ex1));
    sz = 8;
    void *ex2[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_END };
    K("extra.nosize", cuLaunchKernel(b, 1, 1, 1, 1, 1, 1, 0, 0, 0, ex2));
    void *ex3[] = { (void *)7, &p, CU_LAUNCH_PARAM_END };
    K("extra.badkey", cuLaunchKernel(b, 1, 1, 1, 1, 1, 1, 0, 0, 0, ex3));
    K("end", cuCtxSynchronize());
    K("coop", cuLaunchCooperativeKernel(b, 132, 1, 1, 64, 1, 1, 0, 0, a));
    K("coop.big", cuLaunchCooperativeKernel(b, 132 * 32 + 1, 1, 1, 64, 1, 1, 0, 0, a));
    K("coop.max", cuLaunchCooperativeKernel(b, 132 * 32, 1, 1, 64, 1, 1, 0, 0, a));
    K("coop.null", cuLaunchCooperativeKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, a));
    K("coop.s", cuCtxSynchronize());
    CUlaunchConfig c;
    memset(&c, 0, sizeof c);
    c.gridDimX = c.gridDimY = c.gridDimZ = c.blockDimX = c.blockDimY = c.blockDimZ = 1;
    CUlaunchAttribute at[2];
    memset(at, 0, sizeof at);
    c.attrs = at;
    c.numAttrs = 1;
    for (int i = 0; i < 18; i++) {
        memset(at, 0, sizeof at);
        at[0].id = i;
        if (i == 4) at[0].value.clusterDim.x = at[0].value.clusterDim.y = at[0].value.clusterDim.z = 1;
        if (i == 2) at[0].value.cooperative = 1;
        if (i == 8) at[0].value.priority = -2;
        CUresult r = cuLaunchKernelEx(&c, b, a, 0);
        recr(keyf("attr%d", i), r);
    }
    at[0].id = 4;
    at[0].value.clusterDim.x = 2;
    at[0].value.clusterDim.y = at[0].value.clusterDim.z = 1;
    K("cluster2.g1", cuLaunchKernelEx(&c, b, a, 0));
    c.gridDimX = 2;
    K("cluster2.g2", cuLaunchKernelEx(&c, b, a, 0));
    at[0].value.clusterDim.x = 16;
    c.gridDimX = 16;
    K("cluster16", cuLaunchKernelEx(&c, b, a, 0));
    K("ex.s", cuCtxSynchronize());
    K("ex.null", cuLaunchKernelEx(0, b, a, 0));
    c.numAttrs = 1;
    c.attrs = 0;
    K("ex.nullattrs", cuLaunchKernelEx(&c, b, a, 0));
    K("ex.s2", cuCtxSynchronize());
    CUfunction fs[] = { b, e, s1, d, n0 };
    int bs[] = { 0, 1, 32, 33, 64, 96, 128, 256, 512, 1024, 1025 };
    size_t dy[] = { 0, 1, 1024, 10000, 49152, 100000, 232448 };
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 11; j++)
            for (int k = 0; k < 7; k++) {
                int nb = -1;
                CUresult r = cuOccupancyMaxActiveBlocksPerMultiprocessor(&nb, fs[i], bs[j], dy[k]);
                rec(keyf("occ.%d.%d.%zu", i, bs[j], dy[k]), "%s %d", rname(r), nb);
            }
    int mg, bsz;
    for (int i = 0; i < 5; i++) {
        CUresult r = cuOccupancyMaxPotentialBlockSize(&mg, &bsz, fs[i], 0, 0, 0);
        rec(keyf("pot%d", i), "%s %d %d", rname(r), mg, bsz);
        r = cuOccupancyMaxPotentialBlockSize(&mg, &bsz, fs[i], 0, 5000, 200);
        rec(keyf("potl%d", i), "%s %d %d", rname(r), mg, bsz);
        size_t av;
        r = cuOccupancyAvailableDynamicSMemPerBlock(&av, fs[i], 2, 128);
        rec(keyf("avail%d", i), "%s %zu", rname(r), av);
    }
    K("occ.null", cuOccupancyMaxActiveBlocksPerMultiprocessor(0, b, 32, 0));
    int nb;
    K("occ.nullf", cuOccupancyMaxActiveBlocksPerMultiprocessor(&nb, 0, 32, 0));
    for (int i = 0; i < 3; i++)
        K(keyf("occ.fl%d", i), cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&nb, b, 32, 0, i));
    CUdeviceptr q;
    MUST(cuMemAlloc(&q, 64));
    CUcontext c2;
    MUST(cuCtxCreate(&c2, 0, 0, 0));
    K("otherctx", cuLaunchKernel(b, 1, 1, 1, 1, 1, 1, 0, 0, a, 0));
    K("otherctx.s", cuCtxSynchronize());
    CUmodule m2;
    K("load2", cuModuleLoadData(&m2, more_ptx));
    K("otherctx.unload", cuModuleUnload(M));
}

static void after(CUdeviceptr o)
{
    K("sync", cuCtxSynchronize());
    K("sync2", cuCtxSynchronize());
    CUdeviceptr q;
    size_t a, b;
    CUmodule m;
    CUevent e;
    CUstream s;
    unsigned u;
    int i;
    K("alloc", cuMemAlloc(&q, 4));
    K("info", cuMemGetInfo(&a, &b));
    K("range", cuMemGetAddressRange(&q, &a, o));
    K("ptr", cuPointerGetAttribute(&u, 2, o));
    K("hostalloc", cuMemAllocHost((void **)&q, 4));
    K("load", cuModuleLoadData(&m, more_ptx));
    K("evc", cuEventCreate(&e, 0));
    K("stc", cuStreamCreate(&s, 0));
    K("limit", cuCtxGetLimit(&a, 0));
    K("flags", cuCtxGetFlags(&u));
    K("dev", cuCtxGetDevice(&i));
    K("cur", cuCtxGetCurrent((CUcontext *)&q));
    K("setcur", cuCtxSetCurrent(ctx0));
    K("push", cuCtxPushCurrent(ctx0));
    K("pop", cuCtxPopCurrent((CUcontext *)&q));
    K("id", cuCtxGetId(ctx0, (void *)&q));
    K("ver", cuCtxGetApiVersion(ctx0, &u));
    K("prio", cuCtxGetStreamPriorityRange(&i, &i));
    K("cache", cuCtxGetCacheConfig((void *)&u));
    K("total", cuDeviceTotalMem(&a, 0));
    K("name", cuDeviceGetName((char *)&q, 8, 0));
    K("count", cuDeviceGetCount(&i));
    K("state", cuDevicePrimaryCtxGetState(0, &u, &i));
    K("errname", cuGetErrorName(1, (const char **)&q));
    K("drv", cuDriverGetVersion(&i));
    K("reserve", cuMemAddressReserve(&q, 2 * MiB, 0, 0, 0));
    CUmemAllocationProp pr = prop_dev(0);
    CUmemGenericAllocationHandle h;
    K("create", cuMemCreate(&h, 2 * MiB, &pr, 0));
    K("gran", cuMemGetAllocationGranularity(&a, &pr, 0));
    K("fn", cuModuleGetFunction((CUfunction *)&q, M, "nop0"));
    K("glob", cuModuleGetGlobal(&q, &a, M, "gv2"));
    K("unload", cuModuleUnload(M));
    K("free", cuMemFree(o));
    K("retain", cuDevicePrimaryCtxRetain((CUcontext *)&q, 0));
    K("canpeer", cuDeviceCanAccessPeer(&i, 0, 0));
    K("reset", cuDevicePrimaryCtxReset(0));
    K("sync.r", cuCtxSynchronize());
    CUcontext c = 0;
    K("retain.r", cuDevicePrimaryCtxRetain(&c, 0));
    K("set.r", cuCtxSetCurrent(c));
    K("alloc.r", cuMemAlloc(&q, 4));
    K("release1", cuDevicePrimaryCtxRelease(0));
    K("release2", cuDevicePrimaryCtxRelease(0));
    K("retain.r2", cuDevicePrimaryCtxRetain(&c, 0));
    K("set.r2", cuCtxSetCurrent(c));
    K("alloc.r2", cuMemAlloc(&q, 4));
    K("ctxc", cuCtxCreate(&c, 0, 0, 0));
    K("init", cuInit(0));
}

static void fault(const char *k, void *arg)
{
    setup();
    CUdeviceptr o;
    MUST(cuMemAlloc(&o, 64));
    CUfunction f = fn(k);
    void *a[] = { arg };
    K("launch", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, a, 0));
    after(o);
}

void g_x_fault_null(void)
{
    CUdeviceptr z = 0;
    fault("st8", &z);
}

void g_x_fault_mis(void)
{
    setup();
    CUdeviceptr z;
    MUST(cuMemAlloc(&z, 64));
    z += 4;
    fault("st8", &z);
}

void g_x_fault_shared(void)
{
    unsigned z = 0x100000;
    fault("stsh", &z);
}

void g_x_fault_sharedmis(void)
{
    unsigned z = 2;
    fault("stsh", &z);
}

void g_x_fault_brk(void)
{
    unsigned z = 2;
    fault("brk", &z);
}

void g_x_fault_exit(void)
{
    CUdeviceptr z = 2;
    fault("exitk", &z);
}

void g_x_proc(void)
{
    setup();
    const char *nm[] = { "cuMemAdvise",        "cuMemAdvise_v2",
                         "cuCtxCreate",        "cuMemAlloc",
                         "cuMemAlloc_v2",      "cuMemcpyHtoDAsync",
                         "cuLaunchKernel",     "cuInit",
                         "cuNoSuch",           "",
                         "cuEventElapsedTime", "cuGetProcAddress",
                         "cuGetExportTable",   "cuMemPrefetchAsync",
                         "cuDeviceGetUuid",    "cuStreamBeginCapture",
                         "cuMemcpyBatchAsync", "cuGraphInstantiate" };
    int ver[] = { 0,     1000,  2000,  3020,  4000,  5050,  6000,  7000,  7050,  8000, 9000,
                  10000, 11000, 11040, 11030, 12000, 12020, 12080, 13000, 13010, 99000 };
    for (int i = 0; i < 18; i++)
        for (int v = 0; v < 21; v++) {
            void *p = (void *)1;
            CUdriverProcAddressQueryResult st = 77;
            CUresult r = cuGetProcAddress(nm[i], &p, ver[v], 0, &st);
            rec(keyf("%s.%d", nm[i], ver[v]), "%s %s %d", rname(r),
                p == (void *)1 ? "untouched"
                : p            ? "yes"
                               : "null",
                st);
        }
    void *p, *q;
    CUdriverProcAddressQueryResult st;
    for (unsigned long f = 0; f < 5; f++) {
        p = 0;
        st = 77;
        CUresult r = cuGetProcAddress("cuMemcpyHtoDAsync", &p, 13000, f, &st);
        rec(keyf("flag%lu", f), "%s %d %d", rname(r), p != 0, st);
    }
    cuGetProcAddress("cuLaunchKernel", &p, 13000, 1, &st);
    cuGetProcAddress("cuLaunchKernel", &q, 13000, 2, &st);
    rec("ptsz.differs", "%d", p != q);
    K("nullst", cuGetProcAddress("cuInit", &p, 13000, 0, 0));
    const void *et;
    CUuuid id;
    memset(&id, 0x42, sizeof id);
    K("export", cuGetExportTable(&et, &id));
}

const struct group groups[] = { { "x_context", g_x_context, 1 },
                                { "x_mem", g_x_mem, 1 },
                                { "x_copy", g_x_copy, 1 },
                                { "x_stream", g_x_stream, 1 },
                                { "x_module", g_x_module, 1 },
                                { "x_launch", g_x_launch, 1 },
                                { "x_fault_null", g_x_fault_null, 1 },
                                { "x_fault_mis", g_x_fault_mis, 1 },
                                { "x_fault_shared", g_x_fault_shared, 1 },
                                { "x_fault_sharedmis", g_x_fault_sharedmis, 1 },
                                { "x_fault_brk", g_x_fault_brk, 1 },
                                { "x_fault_exit", g_x_fault_exit, 1 },
                                { "x_proc", g_x_proc, 1 },
                                { 0 } };
