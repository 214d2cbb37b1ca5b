/* Memory that is unmapped, freed or barred while a kernel runs, or while work for it waits in a stream: does the call
 * wait, and what becomes of the work? Each is asked in a process of its own, for some errors stay. */
#include "gate.h"

/* Says that it is there by w[0] = 1, waits for w[1] (or 500 ms), accesses at, says by w[2] what it read, and by w[3] that
 * it ends. */
static const char late_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry late(.param .u64 w, .param .u64 at, .param .u32 mode) {\n"
    ".reg .pred %p, %q; .reg .b32 %r<6>; .reg .b64 %d<8>;\n"
    "ld.param.u64 %d1, [w]; ld.param.u64 %d2, [at]; ld.param.u32 %r1, [mode];\n"
    "mov.u64 %d3, %globaltimer; mov.u32 %r2, 1; st.volatile.global.u32 [%d1], %r2;\n"
    "L: ld.volatile.global.u32 %r3, [%d1+4]; mov.u64 %d4, %globaltimer; sub.u64 %d5, %d4, %d3;\n"
    "setp.ge.u64 %q, %d5, 500000000; @%q bra T; setp.eq.u32 %p, %r3, 0; @%p bra L;\n"
    "T: setp.eq.u32 %p, %r1, 0; @%p bra READ; setp.eq.u32 %p, %r1, 1; @%p bra WRITE;\n"
    "atom.global.add.u32 %r4, [%d2], 1; bra END;\n"
    "READ: ld.volatile.global.u32 %r4, [%d2]; bra END;\n"
    "WRITE: mov.u32 %r4, 77; st.volatile.global.u32 [%d2], %r4;\n"
    "END: st.volatile.global.u32 [%d1+8], %r4; membar.sys; st.volatile.global.u32 [%d1+12], %r2; ret; }\n"
    ".visible .entry poke(.param .u64 at, .param .u32 v) { .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
    "ld.param.u64 %d1, [at]; ld.param.u32 %r1, [v]; st.volatile.global.u32 [%d1], %r1; ret; }\n";

enum { WORDS = GRAN / 4 };
enum place { MAPPED, DEVICE, MANAGED, PINNED, REGISTERED, POOLED };
static const char *const places[] = { "mapped", "device", "managed", "pinned", "registered", "pooled" };

static CUfunction late, poke;
static CUstream s, other;
static volatile uint32_t *w;
static void *far; /* pinned */
static CUdeviceptr at, alias, apart, room, source;
static CUmemGenericAllocationHandle h, h2;
static CUmemoryPool pool;
static enum place place;
static CUmemAllocationProp prop;

static CUresult give(CUdeviceptr p, size_t n, int flags)
{
    CUmemAccessDesc d = { loc(CU_MEM_LOCATION_TYPE_DEVICE, 0), (CUmemAccess_flags)flags };
    return cuMemSetAccess(p, n, &d, 1);
}

static void take(void)
{
    switch (place) {
    case MAPPED: at = vmm_alloc(GRAN, &h); break;
    case DEVICE: MUST(cuMemAlloc(&at, 2 * GRAN)); break;
    case MANAGED: MUST(cuMemAllocManaged(&at, GRAN, CU_MEM_ATTACH_GLOBAL)); break;
    case PINNED: MUST(cuMemAllocHost((void **)&at, GRAN)); break;
    case REGISTERED:
        at = (CUdeviceptr)mmap(NULL, GRAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(cuMemHostRegister((void *)at, GRAN, 0));
        break;
    default: MUST(cuMemAllocAsync(&at, GRAN, other)); MUST(cuStreamSynchronize(other));
    }
    MUST(cuMemsetD32(at, 5, WORDS));
    if (place == MAPPED) {
        MUST(cuMemAddressReserve(&alias, GRAN, 0, 0, 0));
        MUST(cuMemMap(alias, GRAN, 0, h, 0));
        MUST(give(alias, GRAN, 3));
    }
    MUST(cuCtxSynchronize());
}

static void begin(enum place where)
{
    CUmodule m;
    setup();
    place = where;
    prop = prop_dev(0);
    MUST(cuModuleLoadData(&m, late_ptx));
    MUST(cuModuleGetFunction(&late, m, "late"));
    MUST(cuModuleGetFunction(&poke, m, "poke"));
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocHost((void **)&w, 4096));
    memset((void *)w, 0, 64);
    MUST(cuDeviceGetDefaultMemPool(&pool, 0));
    MUST(cuMemAllocHost(&far, GRAN));
    MUST(cuMemAlloc(&source, GRAN));
    MUST(cuMemsetD32(source, 9, WORDS));
    MUST(cuMemCreate(&h2, GRAN, &prop, 0));
    MUST(cuMemAddressReserve(&room, 4 * GRAN, 0, 0, 0));
    CUmemGenericAllocationHandle h3;
    apart = vmm_alloc(GRAN, &h3);
    MUST(cuMemsetD32(apart, 6, WORDS));
    /* what is loaded when it is first used is loaded now */
    uint32_t v = 6;
    CUdeviceptr flags = (CUdeviceptr)w;
    MUST(cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &apart, &v }, NULL));
    w[1] = 1;
    v = 0;
    MUST(cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &flags, &apart, &v }, NULL));
    MUST(cuCtxSynchronize());
    memset((void *)w, 0, 64);
    take();
}

/* ---- what happens meanwhile */

static CUresult c_nothing(void) { return CUDA_SUCCESS; }
static CUresult c_unmap(void) { return cuMemUnmap(at, GRAN); }
static CUresult c_none(void) { return give(at, GRAN, 0); }
static CUresult c_readonly(void) { return give(at, GRAN, 1); }
static CUresult c_same(void) { return give(at, GRAN, 3); }
static CUresult c_release(void) { return cuMemRelease(h); }
static CUresult c_releaseall(void)
{
    CUresult r = cuMemUnmap(alias, GRAN);
    if (!r) r = cuMemRelease(h);
    return r ? r : cuMemUnmap(at, GRAN);
}
static CUresult c_replace(void)
{
    CUresult r = cuMemUnmap(at, GRAN);
    if (!r) r = cuMemMap(at, GRAN, 0, h2, 0);
    return r ? r : give(at, GRAN, 3);
}
static CUresult c_again(void)
{
    CUresult r = cuMemUnmap(at, GRAN);
    if (!r) r = cuMemMap(at, GRAN, 0, h, 0);
    return r ? r : give(at, GRAN, 3);
}
static CUresult c_unmapalias(void) { return cuMemUnmap(alias, GRAN); }
static CUresult c_unmapapart(void) { return cuMemUnmap(apart, GRAN); }
static CUresult c_noneapart(void) { return give(apart, GRAN, 0); }
static CUresult c_map(void) { return cuMemMap(room, GRAN, 0, h2, 0); }
static CUresult c_mapgive(void)
{
    CUresult r = cuMemMap(room, GRAN, 0, h2, 0);
    return r ? r : give(room, GRAN, 3);
}
static CUresult c_create(void) { return cuMemCreate(&h2, GRAN, &prop, 0); }
static CUresult c_addressfree(void) { return cuMemAddressFree(at, GRAN); }
static CUresult c_unreserve(void) { return cuMemAddressFree(room, 4 * GRAN); }
static CUresult c_reserve(void)
{
    CUdeviceptr p;
    return cuMemAddressReserve(&p, GRAN, 0, 0, 0);
}
static CUresult c_alloc(void)
{
    CUdeviceptr p;
    return cuMemAlloc(&p, 2 * GRAN);
}
static CUresult c_allocmanaged(void)
{
    CUdeviceptr p;
    return cuMemAllocManaged(&p, GRAN, CU_MEM_ATTACH_GLOBAL);
}
static CUresult c_allochost(void)
{
    void *p;
    return cuMemAllocHost(&p, GRAN);
}
static CUresult c_free(void) { return cuMemFree(at); }
static CUresult c_freehost(void) { return cuMemFreeHost((void *)at); }
static CUresult c_unregister(void) { return cuMemHostUnregister((void *)at); }
static CUresult c_freeother(void) { return cuMemFree(source); }
static CUresult c_freeasync(void) { return cuMemFreeAsync(at, other); }
static CUresult c_freetrim(void)
{
    CUresult r = cuMemFreeAsync(at, other);
    if (!r) r = cuStreamSynchronize(other);
    return r ? r : cuMemPoolTrimTo(pool, 0);
}
static CUresult c_freesync(void)
{
    CUresult r = cuMemFreeAsync(at, other);
    return r ? r : cuStreamSynchronize(other);
}
static CUresult c_freewait(void)
{
    CUevent e;
    CUresult r = cuMemFreeAsync(at, other);
    if (r || (r = cuEventCreate(&e, 0)) || (r = cuEventRecord(e, other))) return r;
    return cuEventSynchronize(e);
}
static CUresult c_beside(void) /* what lies beside it keeps the piece mapped */
{
    CUdeviceptr p;
    CUresult r = cuMemAllocAsync(&p, GRAN, other);
    if (!r) r = cuMemFree(at);
    return r ? r : cuMemPoolTrimTo(pool, 0);
}
static CUresult c_trim(void) { return cuMemPoolTrimTo(pool, 0); }
static CUresult c_prefetch(void) { return cuMemPrefetchAsync(at, GRAN, loc(2, 0), 0, other); }
static CUresult c_advise(void) { return cuMemAdvise(at, GRAN, CU_MEM_ADVISE_SET_READ_MOSTLY, loc(1, 0)); }
static CUresult c_export(void)
{
    int fd;
    return cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}
static CUresult c_info(void)
{
    size_t a, b;
    return cuMemGetInfo(&a, &b);
}
static CUresult c_fill(void) { return cuMemsetD32Async(at, 8, WORDS, other); }
static CUresult c_fillnow(void) { return cuMemsetD32(at, 8, WORDS); }
static CUresult c_copynow(void)
{
    uint32_t v;
    return cuMemcpyDtoH(&v, at, 4);
}

struct change {
    const char *name;
    CUresult (*call)(void);
};
#define C(name) { #name, c_##name }
static const struct change for_mapped[] = {
    C(nothing), C(unmap), C(none), C(readonly), C(same), C(release), C(releaseall), C(replace), C(again), C(unmapalias),
    C(unmapapart), C(noneapart), C(map), C(mapgive), C(create), C(addressfree), C(unreserve), C(reserve), C(alloc),
    C(allocmanaged), C(allochost), C(freeother), C(export), C(info), C(trim), C(fill), C(fillnow), C(copynow)
};
static const struct change for_pending[] = { C(unmap), C(none), C(readonly), C(releaseall), C(replace), C(again) };

/* ---- who was first */

static void say_end(const char *name, CUresult changed, int waited)
{
    char key[100];
    snprintf(key, sizeof key, "%s", name);
    CUresult r = cuStreamSynchronize(s);
    uint32_t v = 0;
    rec(keyf("%s.change", key), "%s %s", rname(changed), waited ? "waited" : "at once");
    recr(keyf("%s.sync", key), r);
    rec(keyf("%s.read", key), "%u", r ? 0 : w[2]);
    CUresult c = cuMemcpyDtoH(&v, place == MAPPED ? alias : at, 4);
    rec(keyf("%s.value", key), "%s %u", rname(c), c ? 0 : v);
    if (place == MAPPED && !r) {
        CUresult n = cuMemcpyDtoH(&v, at, 4);
        rec(keyf("%s.now", key), "%s %u", rname(n), n ? 0 : v);
    }
    recr(keyf("%s.context", key), cuCtxSynchronize());
}

/* A kernel is there; the call is made; then the kernel may go on. */
static void running(const char *key, const struct change *c, uint32_t mode)
{
    CUdeviceptr flags = (CUdeviceptr)w;
    MUST(cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &flags, &at, &mode }, NULL));
    while (!w[0]) usleep(100);
    CUresult r = c->call();
    int waited = w[3] || cuStreamQuery(s) != CUDA_ERROR_NOT_READY;
    w[1] = 1;
    say_end(key, r, waited);
}

/* A stream is held; work waits in it; the call is made; then the stream may go on. */
static CUresult p_fill(void) { return cuMemsetD32Async(at, 7, WORDS, s); }
static CUresult p_fillfew(void) { return cuMemsetD8Async(at, 7, 3, s); }
static CUresult p_into(void) { return cuMemcpyDtoDAsync(at, source, GRAN, s); }
static CUresult p_from(void) { return cuMemcpyDtoDAsync(source, at, GRAN, s); }
static CUresult p_up(void) { return cuMemcpyHtoDAsync(at, (void *)(w + 8), 16, s); }
static CUresult p_down(void) { return cuMemcpyDtoHAsync((void *)(w + 2), at, 4, s); }
static CUresult p_kernel(void)
{
    uint32_t v = 7;
    return cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &at, &v }, NULL);
}
static CUresult p_write(void) { return cuStreamWriteValue32(s, at, 7, 0); }
static CUresult p_wait(void) { return cuStreamWaitValue32(s, at, 5, CU_STREAM_WAIT_VALUE_EQ); }
static const struct work {
    const char *name;
    CUresult (*call)(void);
} works[] = { { "fill", p_fill }, { "fillfew", p_fillfew }, { "into", p_into }, { "from", p_from }, { "up", p_up },
              { "down", p_down }, { "kernel", p_kernel }, { "write", p_write }, { "wait", p_wait } };

/* The same of other sizes and forms, told of what is unmapped only. */
static CUresult p_write64(void) { return cuStreamWriteValue64(s, at, 7, 0); }
static CUresult p_rows(void) { return cuMemsetD2D8Async(at, 512, 7, 4, 3, s); }
static CUresult p_unified(void) { return cuMemcpyAsync(at, source, GRAN, s); }
static CUresult p_pageable(void)
{
    static char bytes[4096];
    return cuMemcpyHtoDAsync(at, bytes, sizeof bytes, s);
}
static CUresult p_copyrows(void)
{
    const CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = source, .srcPitch = 512,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = at, .dstPitch = 512,
                              .WidthInBytes = 100, .Height = 3 };
    return cuMemcpy2DAsync(&c, s);
}
#define SIZED(X) X(4) X(64) X(1024) X(4096) X(16384) X(65536) X(262144) X(2097152)
#define FORMS(n) \
    static CUresult p_fill8_##n(void) { return cuMemsetD8Async(at, 7, n, s); } \
    static CUresult p_fill32_##n(void) { return cuMemsetD32Async(at, 7, n / 4, s); } \
    static CUresult p_into_##n(void) { return cuMemcpyDtoDAsync(at, source, n, s); } \
    static CUresult p_from_##n(void) { return cuMemcpyDtoDAsync(source, at, n, s); } \
    static CUresult p_up_##n(void) { return cuMemcpyHtoDAsync(at, far, n, s); } \
    static CUresult p_down_##n(void) { return cuMemcpyDtoHAsync(far, at, n, s); }
SIZED(FORMS)
#define TABLE(n) \
    { "fill8_" #n, p_fill8_##n }, { "fill32_" #n, p_fill32_##n }, { "into_" #n, p_into_##n }, { "from_" #n, p_from_##n }, \
        { "up_" #n, p_up_##n }, { "down_" #n, p_down_##n },
static const struct work sizes[] = { SIZED(TABLE) { "write64", p_write64 }, { "rows", p_rows }, { "unified", p_unified },
                                     { "pageable", p_pageable }, { "copyrows", p_copyrows } };

static void pending(const struct work *work, const struct change *c)
{
    memset((void *)(w + 8), 0, 16);
    MUST(cuStreamWaitValue32(s, (CUdeviceptr)(w + 4), 1, CU_STREAM_WAIT_VALUE_EQ));
    recr(keyf("%s.%s", work->name, c->name), work->call());
    gate_close(w + 4);
    CUresult r = c->call();
    int waited = w[4];
    gate_open();
    say_end(keyf("%s.%s", work->name, c->name), r, waited);
}

/* ---- graphs: memory that has gone, or is other memory, when they are launched */

static void graphs(int which, const struct change *c)
{
    CUgraph g;
    CUgraphExec e;
    static const char *const nodes[] = { "fill", "copy", "kernel" };
    MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUresult r = which == 0 ? p_fill() : which == 1 ? p_into() : p_kernel();
    MUST(cuStreamEndCapture(s, &g));
    char key[100];
    snprintf(key, sizeof key, "%s.graph.%s.%s", places[place], nodes[which], c->name);
    recr(keyf("%s.node", key), r);
    recr(keyf("%s.change", key), c->call());
    CUresult made = K(keyf("%s.instantiate", key), cuGraphInstantiate(&e, g, 0));
    if (!made) recr(keyf("%s.launch", key), cuGraphLaunch(e, s));
    say_end(key, CUDA_SUCCESS, 0);
}

static void graphs_made(int which, const struct change *c)
{
    CUgraph g;
    CUgraphExec e;
    static const char *const nodes[] = { "fill", "copy", "kernel" };
    MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    which == 0 ? p_fill() : which == 1 ? p_into() : p_kernel();
    MUST(cuStreamEndCapture(s, &g));
    char key[100];
    snprintf(key, sizeof key, "%s.exec.%s.%s", places[place], nodes[which], c->name);
    recr(keyf("%s.instantiate", key), cuGraphInstantiate(&e, g, 0));
    recr(keyf("%s.change", key), c->call());
    recr(keyf("%s.launch", key), cuGraphLaunch(e, s));
    say_end(key, CUDA_SUCCESS, 0);
}

/* ---- groups: each question forks */

static void alone(void (*ask)(int a, int b, int c), int a, int b, int c)
{
    fflush(stdout);
    pid_t p = fork();
    if (!p) {
        alarm(8);
        ask(a, b, c);
        fflush(stdout);
        _exit(0);
    }
    int st;
    waitpid(p, &st, 0);
    if (st)
        rec(keyf("ended.%d.%d.%d", a, b, c), "%s %d", WIFSIGNALED(st) ? "signal" : "status",
            WIFSIGNALED(st) ? WTERMSIG(st) : WEXITSTATUS(st));
}

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
static const char *const modes[] = { "read", "write", "atomic" };

static void ask_running(int mode, int change, int unused)
{
    (void)unused;
    begin(MAPPED);
    running(keyf("%s.%s", modes[mode], for_mapped[change].name), &for_mapped[change], (uint32_t)mode);
}
static void ask_pending(int work, int change, int unused)
{
    (void)unused;
    begin(MAPPED);
    pending(&works[work], &for_pending[change]);
}
static void ask_size(int work, int change, int unused)
{
    (void)unused;
    begin(MAPPED);
    pending(&sizes[work], &for_pending[change]);
}
static void ask_freed(int node, int made, int where)
{
    static const struct change gone = C(free);
    begin((enum place)where);
    (made ? graphs_made : graphs)(node, &gone);
}
static void ask_graph(int node, int change, int made)
{
    begin(MAPPED);
    (made ? graphs_made : graphs)(node, &for_pending[change]);
}
static const struct {
    enum place place;
    struct change change;
} elsewhere[] = {
    { DEVICE, C(free) }, { DEVICE, C(freeasync) }, { DEVICE, C(freeother) }, { MANAGED, C(free) }, { MANAGED, C(freeasync) },
    { MANAGED, C(prefetch) }, { MANAGED, C(advise) }, { PINNED, C(freehost) }, { REGISTERED, C(unregister) },
    { POOLED, C(free) }, { POOLED, C(freeasync) }, { POOLED, C(freetrim) }, { POOLED, C(trim) },
};
static void ask_elsewhere(int k, int work, int unused)
{
    (void)unused;
    begin(elsewhere[k].place);
    const char *key = keyf("%s.%s", places[place], elsewhere[k].change.name);
    if (work < 0) {
        running(key, &elsewhere[k].change, 1);
    } else {
        pending(&(const struct work){ keyf("%s.%s", places[place], works[work].name), works[work].call }, &elsewhere[k].change);
    }
}

/* Memory of a pool, by other work than a fill of all of it. */
static const struct change for_pooled[] = { C(free), C(freetrim), C(freesync), C(freewait), C(beside) };
static void ask_pooled(int change, int work, int unused)
{
    (void)unused;
    begin(POOLED);
    pending(&(const struct work){ keyf("pooled.%s", works[work].name), works[work].call }, &for_pooled[change]);
}
static void g_pooled(int from, int to)
{
    for (int k = from; k < to; k++)
        for (int c = 0; c < COUNT(for_pooled); c++) alone(ask_pooled, c, k, 0);
}
static void g_pooled_a(void) { g_pooled(0, 2); }
static void g_pooled_b(void) { g_pooled(2, 4); }
static void g_pooled_c(void) { g_pooled(4, 7); }

static void g_running(int mode, int from, int to)
{
    for (int c = from; c < to; c++) alone(ask_running, mode, c, 0);
}
static void g_running_read(void) { g_running(0, 1, 8); }
static void g_running_write(void) { g_running(1, 0, 14); }
static void g_running_more(void) { g_running(1, 14, COUNT(for_mapped)); }
static void g_running_atomic(void) { g_running(2, 2, 4); }
static void g_pending_some(int from, int to)
{
    for (int k = from; k < to; k++)
        for (int c = 0; c < COUNT(for_pending); c++) alone(ask_pending, k, c, 0);
}
static void g_pending_a(void) { g_pending_some(0, 3); }
static void g_pending_b(void) { g_pending_some(3, 6); }
static void g_pending_c(void) { g_pending_some(6, COUNT(works)); }
static void g_pending_graph(void)
{
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < COUNT(for_pending); c++) alone(ask_graph, k, c, 0);
}
static void g_pending_exec(void)
{
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < COUNT(for_pending); c++) alone(ask_graph, k, c, 1);
}
static void g_pending_elsewhere(void)
{
    for (int k = 0; k < COUNT(elsewhere); k++) {
        alone(ask_elsewhere, k, -1, 0);
        if (k != 2) alone(ask_elsewhere, k, 0, 0);
    }
}

static void g_sizes(int from)
{
    for (int k = from; k < COUNT(sizes); k += 4) alone(ask_size, k, 0, 0);
}
static void g_sizes_a(void) { g_sizes(0); }
static void g_sizes_b(void) { g_sizes(1); }
static void g_sizes_c(void) { g_sizes(2); }
static void g_sizes_d(void) { g_sizes(3); }
static void g_pending_down(void)
{
    for (int c = 0; c < COUNT(for_pending); c++) alone(ask_pending, 5, c, 0);
}
static void g_pending_wait(void)
{
    for (int c = 0; c < COUNT(for_pending); c++) alone(ask_pending, 8, c, 0);
}
static void g_pending_freed(void)
{
    for (int k = 0; k < 6; k++) alone(ask_freed, k % 3, k / 3, DEVICE);
    for (int k = 0; k < 3; k++) alone(ask_freed, k, 1, MANAGED);
}
static void g_pending_others(void)
{
    for (int k = 7; k < COUNT(elsewhere); k++) {
        alone(ask_elsewhere, k, -1, 0);
        alone(ask_elsewhere, k, 0, 0);
    }
}

const struct group groups[] = { { "running_read", g_running_read, 1 },
                                { "running_write", g_running_write, 1 },
                                { "running_more", g_running_more, 1 },
                                { "running_atomic", g_running_atomic, 1 },
                                { "pending_a", g_pending_a, 1 },
                                { "pending_b", g_pending_b, 1 },
                                { "pending_c", g_pending_c, 1 },
                                { "pending_graph", g_pending_graph, 1 },
                                { "pending_exec", g_pending_exec, 1 },
                                { "pending_elsewhere", g_pending_elsewhere, 1 },
                                { "sizes_a", g_sizes_a, 1 },
                                { "sizes_b", g_sizes_b, 1 },
                                { "sizes_c", g_sizes_c, 1 },
                                { "sizes_d", g_sizes_d, 1 },
                                { "pending_down", g_pending_down, 1 },
                                { "pending_wait", g_pending_wait, 1 },
                                { "pending_freed", g_pending_freed, 1 },
                                { "pending_others", g_pending_others, 1 },
                                { "pooled_a", g_pooled_a, 1 },
                                { "pooled_b", g_pooled_b, 1 },
                                { "pooled_c", g_pooled_c, 1 },
                                { 0 } };
