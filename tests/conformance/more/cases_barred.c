/* Mapped memory that is not all there: reserved only, without access, for reading, with a hole, given back. What each call
 * says that is told of it, and what kernels may do. */
#include "oracle.h"

enum state {
    RESERVED, UNTOLD, REVOKED, READABLE, WRITABLE, UNMAPPED, RELEASED, HALF_READABLE, HOLE, TWO, TWICE, UNRESERVED, OF_HOST, STATES
};
static const char *const states[] = { "reserved", "untold", "revoked", "readable", "writable", "unmapped", "released",
                                      "half_readable", "hole", "two", "twice", "unreserved", "of_host" };
enum { PAGES = 3 };

static CUdeviceptr at, good;
static CUmemGenericAllocationHandle h[PAGES];
static CUstream s;
static char *host, *plain;
static char about[100]; /* what the lines of now begin with */

static CUresult give(CUdeviceptr p, size_t n, int flags)
{
    CUmemAccessDesc d = { loc(CU_MEM_LOCATION_TYPE_DEVICE, 0), (CUmemAccess_flags)flags };
    return cuMemSetAccess(p, n, &d, 1);
}

static void begin(enum state state)
{
    setup();
    CUmemAllocationProp p = prop_dev(0);
    if (state == OF_HOST) p.location = loc(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc(&good, PAGES * GRAN));
    MUST(cuMemAllocHost((void **)&host, PAGES * GRAN));
    plain = mmap(NULL, PAGES * GRAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(cuMemAddressReserve(&at, PAGES * GRAN, 0, 0, 0));
    for (int k = 0; k < PAGES; k++) MUST(cuMemCreate(&h[k], k == 0 ? 2 * GRAN : GRAN, &p, 0));
    if (state == RESERVED) return;
    if (state == HOLE || state == TWICE) {
        MUST(cuMemMap(at, GRAN, 0, h[1], 0));
        MUST(cuMemMap(at + 2 * GRAN, GRAN, 0, h[state == HOLE ? 2 : 1], 0));
        if (state == TWICE) MUST(cuMemMap(at + GRAN, GRAN, 0, h[1], 0));
        MUST(give(at, GRAN, 3));
        MUST(give(at + 2 * GRAN, GRAN, 3));
        if (state == TWICE) MUST(give(at + GRAN, GRAN, 3));
        return;
    }
    MUST(cuMemMap(at, 2 * GRAN, 0, h[0], 0));
    if (state == UNTOLD) return;
    MUST(give(at, 2 * GRAN, 3));
    if (state == REVOKED) MUST(give(at, 2 * GRAN, 0));
    if (state == READABLE) MUST(give(at, 2 * GRAN, 1));
    if (state == UNMAPPED || state == UNRESERVED) MUST(cuMemUnmap(at, 2 * GRAN));
    if (state == UNRESERVED) MUST(cuMemAddressFree(at, PAGES * GRAN));
    if (state == RELEASED) MUST(cuMemRelease(h[0]));
    if (state == HALF_READABLE || state == TWO) {
        MUST(cuMemMap(at + 2 * GRAN, GRAN, 0, h[1], 0));
        MUST(give(at + 2 * GRAN, GRAN, state == TWO ? 3 : 1));
    }
}

/* ---- calls, each told of n bytes at p */

static CUresult copy_rows(CUdeviceptr p, size_t n, int to)
{
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .WidthInBytes = 4,
                        .Height = 2, .srcPitch = n < 8 ? 8 : n - 4, .dstPitch = n < 8 ? 8 : n - 4 };
    c.srcDevice = to ? good : p;
    c.dstDevice = to ? p : good;
    return cuMemcpy2D(&c);
}
static CUresult copy_box(CUdeviceptr p, size_t n)
{
    CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .WidthInBytes = 4,
                        .Height = 1, .Depth = 2, .srcPitch = 8, .srcHeight = n / 8, .dstPitch = 8, .dstHeight = 1 };
    c.srcDevice = p;
    c.dstDevice = good;
    return cuMemcpy3DAsync(&c, s);
}
static CUresult copy_batch(CUdeviceptr p, size_t n, int to)
{
    CUdeviceptr a[] = { p }, b[] = { good };
    size_t first = 0;
    CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
    return cuMemcpyBatchAsync(to ? a : b, to ? b : a, &n, 1, &how, &first, 1, s);
}
static CUresult memory_operations(CUdeviceptr p)
{
    CUstreamBatchMemOpParams o[2] = { 0 };
    o[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    o[0].writeValue.address = good;
    o[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    o[1].writeValue.address = p;
    return cuStreamBatchMemOp(s, 2, o, 0);
}
static CUresult node(CUdeviceptr p, size_t n, int kind)
{
    CUgraph g;
    CUgraphNode made;
    CUgraphExec e;
    MUST(cuGraphCreate(&g, 0));
    CUresult r;
    if (kind == 0) {
        CUDA_MEMSET_NODE_PARAMS f = { .dst = p, .elementSize = 1, .width = n, .height = 1 };
        r = cuGraphAddMemsetNode(&made, g, NULL, 0, &f, ctx0);
    } else {
        CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .WidthInBytes = n,
                            .Height = 1, .Depth = 1 };
        c.srcDevice = kind == 1 ? p : good;
        c.dstDevice = kind == 1 ? good : p;
        r = cuGraphAddMemcpyNode(&made, g, NULL, 0, &c, ctx0);
    }
    if (r) return r;
    r = cuGraphInstantiate(&e, g, 0);
    return r ? 1000 + r : cuGraphLaunch(e, s) ? 2000 : 0;
}
static CUresult texture(CUdeviceptr p, size_t n)
{
    CUDA_RESOURCE_DESC d = { .resType = CU_RESOURCE_TYPE_LINEAR };
    CUDA_TEXTURE_DESC t = { 0 };
    CUtexObject o;
    d.res.linear.devPtr = p;
    d.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT8;
    d.res.linear.numChannels = 1;
    d.res.linear.sizeInBytes = n;
    return cuTexObjectCreate(&o, &d, &t, NULL);
}
static CUresult locate(CUdeviceptr p)
{
    CUdeviceptr base = 0;
    size_t size = 0;
    CUresult r = cuMemGetAddressRange(&base, &size, p);
    rec(keyf("%s.locate.v", about), "%ld %zu", r ? 0 : (long)(base - at), r ? 0 : size);
    return r;
}
static CUresult many(CUdeviceptr p)
{
    CUpointer_attribute a[] = { 2, 8, 9, 11, 12, 13, 14, 15, 16, 6, 10 };
    uint64_t v[11];
    void *to[11];
    memset(v, 0xee, sizeof v);
    for (int k = 0; k < 11; k++) to[k] = &v[k];
    CUresult r = cuPointerGetAttributes(11, a, to, p);
    rec(keyf("%s.many.v", about), "%x %x %x %ld %zx %x %x %x %x %x %x", (int)v[0], (int)v[1], (int)v[2],
        v[3] && v[3] != 0xeeeeeeeeeeeeeeee ? (long)(v[3] - at) : -1, (size_t)v[4], (int)v[5], (int)v[6], (int)v[7],
        (int)v[8] != 0, (int)v[9], (int)v[10]);
    return r;
}
static CUresult single(CUdeviceptr p)
{
    static const int a[] = { 1, 2, 3, 4, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21 };
    char line[200] = "";
    for (unsigned k = 0; k < sizeof a / sizeof *a; k++) {
        char v[64];
        sprintf(line + strlen(line), " %d", cuPointerGetAttribute(v, a[k], p));
    }
    rec(keyf("%s.single.v", about), "%s", line);
    return 0;
}
static CUresult accesses(CUdeviceptr p)
{
    unsigned long long f[2] = { 9, 9 };
    CUmemLocation d = loc(1, 0), o = loc(3, 0);
    CUresult r = cuMemGetAccess(&f[0], &d, p), q = cuMemGetAccess(&f[1], &o, p);
    rec(keyf("%s.accesses.v", about), "%llu %d %llu", f[0], q, f[1]);
    return r;
}
static CUresult retain(CUdeviceptr p)
{
    CUmemGenericAllocationHandle x;
    CUresult r = cuMemRetainAllocationHandle(&x, (void *)p);
    CUmemAllocationProp q;
    if (r) return r;
    r = cuMemGetAllocationPropertiesFromHandle(&q, x);
    return r ? r : cuMemRelease(x);
}
static CUresult legacy(CUdeviceptr p)
{
    CUipcMemHandle x;
    return cuIpcGetMemHandle(&x, p);
}
static CUresult range(CUdeviceptr p, size_t n, int q)
{
    int v[4] = { 0 };
    return cuMemRangeGetAttribute(v, 4, (CUmem_range_attribute)q, p, n);
}
static CUresult device_pointer(CUdeviceptr p)
{
    CUdeviceptr d;
    return cuMemHostGetDevicePointer(&d, (void *)p, 0);
}
static CUresult sync_operations(CUdeviceptr p)
{
    unsigned one = 1;
    return cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
}
static CUresult prefetch_batch(CUdeviceptr p, size_t n)
{
    CUmemLocation l = loc(1, 0);
    size_t first = 0;
    return cuMemPrefetchBatchAsync(&p, &n, 1, &l, &first, 1, 0, s);
}

#define CALLS(X) \
    X(fill8, cuMemsetD8(p, 1, n)) X(fill32, cuMemsetD32(p, 1, n / 4)) X(fillasync, cuMemsetD8Async(p, 1, n, s)) \
    X(fillrows, cuMemsetD2D8(p, n < 8 ? 8 : n - 4, 1, 4, 2)) X(fillrows1, cuMemsetD2D32Async(p, n, 1, n / 4, 1, s)) \
    X(up, cuMemcpyHtoD(p, host, n)) X(upasync, cuMemcpyHtoDAsync(p, host, n, s)) X(upplain, cuMemcpyHtoD(p, plain, n)) \
    X(upplainasync, cuMemcpyHtoDAsync(p, plain, n, s)) X(down, cuMemcpyDtoH(host, p, n)) \
    X(downasync, cuMemcpyDtoHAsync(host, p, n, s)) X(downplain, cuMemcpyDtoH(plain, p, n)) X(into, cuMemcpyDtoD(p, good, n)) \
    X(intoasync, cuMemcpyDtoDAsync(p, good, n, s)) X(from, cuMemcpyDtoD(good, p, n)) \
    X(fromasync, cuMemcpyDtoDAsync(good, p, n, s)) X(itself, cuMemcpyDtoD(p, p, n)) X(unified, cuMemcpy(good, p, n)) \
    X(unifiedto, cuMemcpyAsync(p, good, n, s)) X(peer, cuMemcpyPeer(p, ctx0, good, ctx0, n)) \
    X(peerfrom, cuMemcpyPeerAsync(good, ctx0, p, ctx0, n, s)) X(rows, copy_rows(p, n, 0)) X(rowsto, copy_rows(p, n, 1)) \
    X(box, copy_box(p, n)) X(batch, copy_batch(p, n, 0)) X(batchto, copy_batch(p, n, 1)) \
    X(write, cuStreamWriteValue32(s, p, 0, 0)) X(write64, cuStreamWriteValue64(s, p, 0, 0)) \
    X(wait, cuStreamWaitValue32(s, p, 0, CU_STREAM_WAIT_VALUE_GEQ)) X(operations, memory_operations(p)) \
    X(nodefill, node(p, n, 0)) X(nodefrom, node(p, n, 1)) X(nodeinto, node(p, n, 2)) X(texture, texture(p, n)) \
    X(locate, locate(p)) X(many, many(p)) X(single, single(p)) X(accesses, accesses(p)) X(retain, retain(p)) \
    X(legacy, legacy(p)) X(register, cuMemHostRegister((void *)p, n, 0)) X(unregister, cuMemHostUnregister((void *)p)) \
    X(advise, cuMemAdvise(p, n, CU_MEM_ADVISE_SET_READ_MOSTLY, loc(1, 0))) X(prefetch, cuMemPrefetchAsync(p, n, loc(1, 0), 0, s)) \
    X(prefetchbatch, prefetch_batch(p, n)) X(range1, range(p, n, 1)) X(range2, range(p, n, 2)) X(range3, range(p, n, 3)) \
    X(attach, cuStreamAttachMemAsync(s, p, n, CU_MEM_ATTACH_SINGLE)) X(pointer, device_pointer(p)) \
    X(syncops, sync_operations(p)) X(free, cuMemFree(p)) X(freeasync, cuMemFreeAsync(p, s)) X(freehost, cuMemFreeHost((void *)p)) \
    X(grant, give(p, (n + GRAN - 1) / GRAN * GRAN, 3))

/* The ranges that it is asked of: inside, across the two ends of the first two pages, all of them. */
static const struct {
    size_t offset, n;
} ranges[] = { { 0, 64 }, { 2 * GRAN - 32, 64 }, { GRAN - 32, 64 }, { 0, PAGES * GRAN } };

static void ask_calls(enum state state, size_t k, size_t unused)
{
    (void)unused;
    begin(state);
    const size_t offset = ranges[k].offset, n = ranges[k].n;
    CUdeviceptr p = at + offset;
    CUresult r, q;
    snprintf(about, sizeof about, "%s.%zu.%zu", states[state], offset, n);
#define X(name, call) \
    if (state != OF_HOST || strcmp(#name, "register")) { \
        r = call; \
        q = cuCtxSynchronize(); \
        rec(keyf("%s.%s", about, #name), "%s%s%s", r >= 1000 ? keyf("%d", r) : rname(r), q ? " STICKY " : "", \
            q ? rname(q) : ""); \
        if (q) return; \
    }
    CALLS(X)
#undef X
}

static const char touch_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry touch(.param .u64 at, .param .u64 out, .param .u32 mode) {\n"
    ".reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d1, [at]; ld.param.u64 %d2, [out]; ld.param.u32 %r1, [mode]; mov.u32 %r2, 3;\n"
    "setp.eq.u32 %p, %r1, 0; @%p bra READ; setp.eq.u32 %p, %r1, 1; @%p bra WRITE; setp.eq.u32 %p, %r1, 2; @%p bra ATOMIC;\n"
    "red.global.add.u32 [%d1], 1; bra END;\n"
    "READ: ld.volatile.global.u32 %r2, [%d1]; bra END;\n"
    "WRITE: st.volatile.global.u32 [%d1], %r2; bra END;\n"
    "ATOMIC: atom.global.add.u32 %r2, [%d1], 0;\n"
    "END: st.global.u32 [%d2], %r2; ret; }\n";

static void ask_kernel(enum state state, size_t offset, size_t mode)
{
    static const char *const modes[] = { "read", "write", "atomic", "reduce" };
    CUmodule m;
    CUfunction f;
    uint32_t how = (uint32_t)mode;
    begin(state);
    CUdeviceptr p = at + offset;
    MUST(cuModuleLoadData(&m, touch_ptx));
    MUST(cuModuleGetFunction(&f, m, "touch"));
    CUresult l = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &p, &good, &how }, NULL);
    CUresult r = cuStreamSynchronize(s);
    rec(keyf("kernel.%s.%zu.%s", states[state], offset, modes[mode]), "%s %s", rname(l), rname(r));
}

static void alone(void (*ask)(enum state, size_t, size_t), enum state state, size_t offset, size_t n)
{
    fflush(stdout);
    pid_t p = fork();
    if (!p) {
        alarm(8);
        ask(state, offset, n);
        fflush(stdout);
        _exit(0);
    }
    int st;
    waitpid(p, &st, 0);
    if (st)
        rec(keyf("ended.%s.%zu.%zu", states[state], offset, n), "%s %d", WIFSIGNALED(st) ? "signal" : "status",
            WIFSIGNALED(st) ? WTERMSIG(st) : WEXITSTATUS(st));
}

static void calls_of(int from, int to)
{
    for (int k = from; k < to; k++)
        for (size_t q = 0; q < sizeof ranges / sizeof *ranges; q++) alone(ask_calls, (enum state)k, q, 0);
}
static void g_calls_a(void) { calls_of(0, 4); }
static void g_calls_b(void) { calls_of(4, 7); }
static void g_calls_c(void) { calls_of(7, 10); }
static void g_calls_d(void) { calls_of(10, STATES); }
static void kernels_of(size_t offset)
{
    for (int k = offset ? HALF_READABLE : 0; k < (offset ? UNRESERVED : STATES); k++)
        for (size_t mode = 0; mode < (k == READABLE ? 4 : 2); mode++) alone(ask_kernel, (enum state)k, offset, mode);
}
static void g_kernels_first(void) { kernels_of(0); }
static void g_kernels_rest(void)
{
    for (int k = UNMAPPED; k < STATES; k++)
        for (size_t mode = 0; mode < 2; mode++) alone(ask_kernel, (enum state)k, 0, mode);
}
static void g_kernels_next(void) { kernels_of(GRAN); }
static void g_kernels_last(void) { kernels_of(PAGES * GRAN - 4); }

const struct group groups[] = { { "calls_a", g_calls_a, 1 }, { "calls_b", g_calls_b, 1 }, { "calls_c", g_calls_c, 1 },
                                { "calls_d", g_calls_d, 1 }, { "kernels_first", g_kernels_first, 1 },
                                { "kernels_rest", g_kernels_rest, 1 }, { "kernels_next", g_kernels_next, 1 },
                                { "kernels_last", g_kernels_last, 1 }, { 0 } };
