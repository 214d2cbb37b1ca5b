/* Copies whose source is read before the stream comes to them: of which memory, how much, in which calls? And what such
 * calls answer if the work before them fails. */
#include "waiting.h"

/* ---- what pageable memory has is kept elsewhere until it is copied: how much of it? */

static void g_staged(void)
{
    static const size_t many[] = { (1 << 20) + 4, 2 << 20, 4 << 20, 8 << 20, 32 << 20, 64 << 20 };
    CUdeviceptr d, m;
    char *h = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(h, 1, 64 << 20);
    make_places();
    MUST(cuMemAlloc(&d, 64 << 20));
    MUST(cuMemAllocManaged(&m, 64 << 20, 1));
    for (int k = 0; k < COUNT(many); k++) {
        ASK(keyf("one.%zu", many[k]), cuMemcpyHtoDAsync(d, h, many[k], NULL));
        ASK(keyf("any.%zu", many[k]), cuMemcpyAsync(d, (CUdeviceptr)h, many[k], NULL));
        ASK(keyf("managed.%zu", many[k]), cuMemcpyAsync(m, (CUdeviceptr)h, many[k], NULL));
    }
    for (int k = 0; k < COUNT(sizes); k++)
        for (int times = 2; times <= 128; times *= 4)
            ASK(keyf("%d.of.%zu", times, sizes[k]), ({
                    CUresult r = CUDA_SUCCESS;
                    for (int j = 0; j < times && !r; j++) r = cuMemcpyHtoDAsync(d, h, sizes[k], NULL);
                    r;
                }));
    for (size_t rows = 64; rows <= 32768; rows *= 2) {
        CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = h, .srcPitch = PITCH, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = d, .dstPitch = PITCH, .WidthInBytes = 512, .Height = rows };
        ASK(keyf("rows.%zu", rows), cuMemcpy2DAsync(&c, NULL));
        c.WidthInBytes = PITCH;
        ASK(keyf("full.%zu", rows), cuMemcpy2DAsync(&c, NULL));
    }
    /* read when the call returns? */
    for (int k = 0; k < COUNT(sizes); k++) {
        unsigned char seen = 0;
        memset(h, 1, 1 << 20);
        hold();
        CUresult r = cuMemcpyHtoDAsync(d, h, sizes[k], NULL);
        memset(h, 2, 1 << 20);
        say(keyf("read.%zu", sizes[k]), r);
        MUST(cuMemcpyDtoH(&seen, d + sizes[k] - 1, 1));
        rec(keyf("read.%zu.byte", sizes[k]), "%d", seen);
    }
    ASK("DtoH.before", cuMemcpyDtoHAsync(h, d, 1 << 20, NULL));
}

/* ---- what the host's side is said to be */

static void g_typed(void)
{
    static const enum place host[] = { TOUCHED, MANAGED, AWAY, PINNED, PAGEABLE }, device[] = { DEVICE, AWAY, PINNED, POOLED, TOUCHED };
    make_places();
    for (int i = 0; i < COUNT(host); i++)
        for (int j = 0; j < COUNT(device); j++) {
            CUdeviceptr h = at[host[i]], d = also[device[j]];
            char key[64];
            snprintf(key, sizeof key, "%s.%s", names[host[i]], names[device[j]]);
            CUDA_MEMCPY2D up = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = (void *)h, .srcPitch = PITCH,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = d, .dstPitch = PITCH,
                                 .WidthInBytes = 512, .Height = 100 };
            CUDA_MEMCPY2D down = { .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = (void *)h, .dstPitch = PITCH,
                                   .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = d, .srcPitch = PITCH,
                                   .WidthInBytes = 512, .Height = 100 };
            CUDA_MEMCPY3D up3 = deep(up), down3 = deep(down);
            ASK(keyf("HtoDAsync.%s", key), cuMemcpyHtoDAsync(d, (void *)h, 5000, NULL));
            ASK(keyf("DtoHAsync.%s", key), cuMemcpyDtoHAsync((void *)h, d, 5000, NULL));
            ASK(keyf("up.%s", key), cuMemcpy2DAsync(&up, NULL));
            ASK(keyf("down.%s", key), cuMemcpy2DAsync(&down, NULL));
            ASK(keyf("up3.%s", key), cuMemcpy3DAsync(&up3, NULL));
            ASK(keyf("down3.%s", key), cuMemcpy3DAsync(&down3, NULL));
            ASK(keyf("DtoDAsync.%s", key), host[i] == PAGEABLE ? CUDA_SUCCESS : cuMemcpyDtoDAsync(d, h, 5000, NULL));
        }
    ASK("HtoAAsync.managed", cuMemcpyHtoAAsync(array, 0, (void *)at[TOUCHED], 512, NULL));
    ASK("AtoHAsync.managed", cuMemcpyAtoHAsync((void *)at[TOUCHED], array, 0, 512, NULL));
    ASK("HtoAAsync.pinned", cuMemcpyHtoAAsync(array, 0, (void *)at[PINNED], 512, NULL));
    ASK("AtoHAsync.pinned", cuMemcpyAtoHAsync((void *)at[PINNED], array, 0, 512, NULL));
}

/* ---- memory of the host that is mapped, or a pool's; several copies in one call */

static void g_hosts(void)
{
    CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = loc(3, 0) };
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = loc(3, 0) };
    CUmemAccessDesc d[2] = { { loc(1, 0), (CUmemAccess_flags)3 }, { loc(3, 0), (CUmemAccess_flags)3 } };
    CUmemGenericAllocationHandle h;
    CUmemoryPool pool;
    CUdeviceptr va = 0, lent = 0;
    make_places();
    MUST(cuMemAddressReserve(&va, ROOM, 0, 0, 0));
    MUST(cuMemCreate(&h, ROOM, &p, 0));
    MUST(cuMemMap(va, ROOM, 0, h, 0));
    MUST(cuMemSetAccess(va, ROOM, d, 2));
    if (!cuMemPoolCreate(&pool, &props) && !cuMemPoolSetAccess(pool, d, 1)) cuMemAllocFromPoolAsync(&lent, ROOM, pool, apart);
    MUST(cuStreamSynchronize(apart));
    rec("lent", "%s", lent ? "yes" : "no");
    CUdeviceptr some[] = { va, lent };
    for (int k = 0; k < 2; k++) {
        if (!some[k]) continue;
        const char *n = k ? "lent" : "mapped";
        ASK(keyf("%s.fill", n), cuMemsetD8(some[k], 1, 1 << 20));
        ASK(keyf("%s.fillAsync", n), cuMemsetD8Async(some[k], 1, 1 << 20, NULL));
        ASK(keyf("%s.DtoD", n), cuMemcpyDtoD(some[k], at[DEVICE], 1 << 20));
        ASK(keyf("%s.any", n), cuMemcpy(some[k], at[DEVICE], 1 << 20));
        ASK(keyf("%s.from", n), cuMemcpy(at[DEVICE], some[k], 1 << 20));
        ASK(keyf("%s.anyAsync", n), cuMemcpyAsync(some[k], at[DEVICE], 1 << 20, NULL));
        ASK(keyf("%s.host", n), cuMemcpyAsync(some[k], at[PINNED], 1 << 20, NULL));
        ASK(keyf("%s.pageable", n), cuMemcpyAsync(some[k], at[PAGEABLE], 1 << 20, NULL));
        ASK(keyf("%s.topageable", n), cuMemcpyAsync(at[PAGEABLE], some[k], 1 << 20, NULL));
        ASK(keyf("%s.HtoDAsync", n), cuMemcpyHtoDAsync(some[k], (void *)at[PAGEABLE], 1 << 20, NULL));
        ASK(keyf("%s.itself", n), cuMemcpyAsync(some[k], some[k] + (2 << 20), 1 << 20, NULL));
    }
}
static void g_batches(void)
{
    static const enum place some[] = { DEVICE, TOUCHED, PINNED, PAGEABLE };
    CUstream q;
    make_places();
    MUST(cuStreamCreate(&q, 0));
    for (int i = 0; i < COUNT(some); i++)
        for (int j = 0; j < COUNT(some); j++)
            for (int order = 1; order <= 3; order++) {
                CUdeviceptr to = at[some[i]], from = also[some[j]];
                size_t n = 5000, first = 0;
                CUmemcpyAttributes a = { .srcAccessOrder = (CUmemcpySrcAccessOrder)order };
                ASK(keyf("batch.%s.%s.%d", names[some[i]], names[some[j]], order), cuMemcpyBatchAsync(&to, &from, &n, 1, &a, &first, 1, q));
            }
}

/* ---- copies of graphs, and of batches: when is their source read? */

static CUDA_MEMCPY3D row_of(int a, int b, size_t n)
{
    CUDA_MEMCPY2D f = flat(a, b, n, 1);
    f.srcPitch = f.dstPitch = n;
    return deep(f);
}
static int byte_at(CUdeviceptr p, size_t n)
{
    unsigned char v = 0;
    MUST(cuMemcpy((CUdeviceptr)&v, p + n - 1, 1));
    return v;
}
static void g_graphs(void)
{
    static const int some[] = { DEVICE, TOUCHED, PINNED, PAGEABLE };
    make_places();
    for (int i = 0; i < COUNT(some); i++)
        for (int j = 0; j < COUNT(some); j++)
            for (int k = 1; k < COUNT(sizes); k += 3) {
                CUdeviceptr to = at[some[i]], from = also[some[j]];
                CUDA_MEMCPY3D c = row_of(some[i], some[j], sizes[k]);
                CUgraph g;
                CUgraphExec x;
                CUgraphNode node;
                char key[64];
                MUST(cuMemcpy(from, at[REGISTERED], sizes[k]));
                memset((void *)at[REGISTERED], 7, ROOM);
                MUST(cuMemcpy(to, at[REGISTERED], sizes[k]));
                memset((void *)at[REGISTERED], 1, ROOM);
                MUST(cuGraphCreate(&g, 0));
                MUST(cuGraphAddMemcpyNode(&node, g, NULL, 0, &c, ctx0));
                MUST(cuGraphInstantiate(&x, g, 0));
                snprintf(key, sizeof key, "%zu.%s.%s", sizes[k], names[some[i]], names[some[j]]);
                hold();
                CUresult r = cuGraphLaunch(x, NULL);
                if (some[j] != DEVICE) memset((void *)from, 2, sizes[k]);
                say(keyf("launch.%s", key), r);
                rec(keyf("read.%s", key), "%d", byte_at(to, sizes[k]));
                MUST(cuGraphExecDestroy(x));
                MUST(cuGraphDestroy(g));
            }
}
static void g_batches_read(void)
{
    static const enum place some[] = { DEVICE, TOUCHED, PINNED, PAGEABLE };
    CUstream q;
    make_places();
    MUST(cuStreamCreate(&q, 0));
    for (int i = 0; i < COUNT(some); i++)
        for (int j = 1; j < COUNT(some); j++)
            for (int order = 1; order <= 3; order++)
                for (int k = 1; k < COUNT(sizes); k += 3) {
                    CUdeviceptr to = at[some[i]], from = also[some[j]];
                    size_t n = sizes[k], first = 0;
                    char key[64];
                    CUmemcpyAttributes a = { .srcAccessOrder = (CUmemcpySrcAccessOrder)order };
                    memset((void *)from, 1, n);
                    memset((void *)at[REGISTERED], 7, ROOM);
                    MUST(cuMemcpy(to, at[REGISTERED], n));
                    MUST(cuCtxSynchronize());
                    snprintf(key, sizeof key, "%zu.%s.%s.%d", n, names[some[i]], names[some[j]], order);
                    hold();
                    CUresult r = cuMemcpyBatchAsync(&to, &from, &n, 1, &a, &first, 1, q);
                    memset((void *)from, 2, n);
                    say(keyf("batch.%s", key), r);
                    rec(keyf("read.%s", key), "%d", byte_at(to, n));
                }
}
static void g_async_read(void)
{
    static const enum place some[] = { DEVICE, TOUCHED, PINNED, PAGEABLE };
    make_places();
    for (int i = 0; i < COUNT(some); i++)
        for (int j = 1; j < COUNT(some); j++)
            for (int k = 0; k < COUNT(sizes); k++) {
                CUdeviceptr to = at[some[i]], from = also[some[j]];
                size_t n = sizes[k];
                char key[64];
                memset((void *)from, 1, n);
                memset((void *)at[REGISTERED], 7, ROOM);
                MUST(cuMemcpy(to, at[REGISTERED], n));
                MUST(cuCtxSynchronize());
                snprintf(key, sizeof key, "%zu.%s.%s", n, names[some[i]], names[some[j]]);
                hold();
                CUresult r = cuMemcpyAsync(to, from, n, NULL);
                memset((void *)from, 2, n);
                say(keyf("async.%s", key), r);
                rec(keyf("read.%s", key), "%d", byte_at(to, n));
            }
}

/* ---- an error that was there, or comes while the call is on its way */

static const char fault_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry fault(.param .u64 w) {\n"
                                ".reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
                                "ld.param.u64 %d1, [w];\n"
                                "L: ld.volatile.global.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 0; @%p bra L;\n"
                                "mov.u64 %d2, 16; st.global.u32 [%d2], %r1; ret; }\n";
static CUresult e_fill(void) { return cuMemsetD8(at[DEVICE], 1, 1 << 20); }
static CUresult e_copy(void) { return cuMemcpyDtoD(at[DEVICE], also[DEVICE], 1 << 20); }
static CUresult e_any(void) { return cuMemcpy(at[DEVICE], also[POOLED], 64); }
static CUresult e_managed(void) { return cuMemcpy(at[DEVICE], at[TOUCHED], 64); }
static CUresult e_up(void) { return cuMemcpyHtoD(at[DEVICE], (void *)at[PAGEABLE], 64); }
static CUresult e_upasync(void) { return cuMemcpyHtoDAsync(at[DEVICE], (void *)at[PAGEABLE], 64, NULL); }
static CUresult e_hosts(void) { return cuMemcpyAsync(at[PINNED], also[PINNED], 64, NULL); }
static const struct {
    const char *name;
    CUresult (*call)(void);
} late_errors[] = { { "fill", e_fill }, { "copy", e_copy },       { "any", e_any },    { "managed", e_managed },
                    { "up", e_up },     { "upasync", e_upasync }, { "hosts", e_hosts } };
static void g_errors(void)
{
    for (int k = 0; k < COUNT(late_errors); k++) {
        pid_t child = fork();
        if (!child) {
            CUmodule m;
            CUfunction f;
            make_places();
            MUST(cuModuleLoadData(&m, fault_ptx));
            MUST(cuModuleGetFunction(&f, m, "fault"));
            CUdeviceptr flag = (CUdeviceptr)word;
            *word = 0;
            MUST(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &flag }, NULL));
            gate_close(word);
            CUresult r = late_errors[k].call();
            int waited = *word;
            gate_open();
            rec(late_errors[k].name, "%s %s", rname(r), waited ? "waited" : "at once");
            recr(keyf("%s.synchronize", late_errors[k].name), cuCtxSynchronize());
            recr(keyf("%s.again", late_errors[k].name), late_errors[k].call());
            _exit(0);
        }
        int st;
        waitpid(child, &st, 0);
    }
}

const struct group groups[] = {
    { "staged", g_staged, 1 },
    { "typed", g_typed, 1 },
    { "hosts", g_hosts, 1 },
    { "batches", g_batches, 1 },
    { "graphs", g_graphs, 1 },
    { "batches_read", g_batches_read, 1 },
    { "async_read", g_async_read, 1 },
    { "errors", g_errors, 1 },
    { 0 },
};
