/* Functions, launches, modules and libraries: random steps (walk.h). Every kernel counts its blocks, so that a launch is
 * told together with what ran. Registers and local memory, which are a compiler's own affair, are not asked. */
#include "walk.h"

/* A block's first thread adds 1 to *a. */
#define COUNT \
    " { .reg .pred %p1; .reg .b32 %r<6>; .reg .b64 %d<3>; mov.u32 %r1,%tid.x; mov.u32 %r2,%tid.y; mov.u32 " \
    "%r3,%tid.z; " \
    "or.b32 %r1,%r1,%r2; or.b32 %r1,%r1,%r3; setp.ne.u32 %p1,%r1,0; @%p1 bra E; ld.param.u64 %d1,[a]; " \
    "cvta.to.global.u64 %d1,%d1; atom.global.add.u32 %r4,[%d1],1; E: ret; }\n"
#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"

static const char *const kernels_text =
    HEAD ".visible .entry none() { ret; }\n"
         ".visible .entry plain(.param .u64 a)" COUNT ".visible .entry bounded(.param .u64 a) .maxntid 64,1,1" COUNT
         ".visible .entry bounded3(.param .u64 a) .maxntid 8,8,4" COUNT
         ".visible .entry exact(.param .u64 a) .reqntid 32,2,1" COUNT
         ".visible .entry least(.param .u64 a) .maxntid 256,1,1 .minnctapersm 4" COUNT
         ".visible .entry registers(.param .u64 a) .maxnreg 32" COUNT
         ".visible .entry shared1k(.param .u64 a) { .shared .align 4 .b8 buf[1000]; .reg .b32 %r<3>; .reg .b64 %d<2>; "
         "mov.u32 %r1,buf; st.shared.u32 [%r1],%r1; ld.param.u64 %d1,[a]; cvta.to.global.u64 %d1,%d1; "
         "red.global.add.u32 [%d1],0; ret; }\n"
         ".visible .entry shared40k(.param .u64 a) { .shared .align 16 .b8 buf[40000]; .reg .b32 %r<3>; "
         "mov.u32 %r1,buf; st.shared.u32 [%r1],%r1; ret; }\n"
         ".visible .entry pair(.param .u64 a) .reqnctapercluster 2,1,1" COUNT
         ".visible .entry square(.param .u64 a) .reqnctapercluster 2,2,1" COUNT
         ".visible .entry explicit(.param .u64 a) .explicitcluster" COUNT
         ".visible .entry ranked(.param .u64 a) .maxclusterrank 4" COUNT
         ".visible .entry many(.param .u64 a, .param .u8 b, .param .u16 c, .param .u32 d, .param .f64 e, "
         ".param .align 16 .b8 f[40], .param .align 1 .b8 g[3])" COUNT
         ".visible .entry big(.param .u64 a, .param .align 8 .b8 b[4000])" COUNT
         ".visible .entry huge(.param .u64 a, .param .align 4 .b8 b[20000])" COUNT;

static const char *const names[] = { "none",      "plain",    "bounded",   "bounded3", "exact",  "least",
                                     "registers", "shared1k", "shared40k", "pair",     "square", "explicit",
                                     "ranked",    "many",     "big",       "huge" };
enum { KERNELS = sizeof names / sizeof *names, SHARED1K = 7, SHARED40K };

static CUmodule module;
static CUfunction functions[KERNELS];
static CUlibrary library;
static CUkernel library_kernels[KERNELS];
static CUdeviceptr counter;
static CUstream streams[5]; /* three are the special handles */
static CUevent events[3];
static char room[1 << 15];

static void prepare(void)
{
    setup();
    MUST(cuModuleLoadData(&module, kernels_text));
    MUST(cuLibraryLoadData(&library, kernels_text, 0, 0, 0, 0, 0, 0));
    for (int i = 0; i < KERNELS; i++) {
        MUST(cuModuleGetFunction(&functions[i], module, names[i]));
        MUST(cuLibraryGetKernel(&library_kernels[i], library, names[i]));
    }
    MUST(cuMemAlloc(&counter, 65536));
    streams[1] = CU_STREAM_LEGACY;
    streams[2] = CU_STREAM_PER_THREAD;
    MUST(cuStreamCreate(&streams[3], 0));
    MUST(cuStreamCreate(&streams[4], CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&events[0], CU_EVENT_DISABLE_TIMING));
    MUST(cuEventCreate(&events[1], 0));
    MUST(cuEventCreate(&events[2], CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    memcpy(room, &counter, sizeof counter);
}

/* ---- attributes of functions and kernels, occupancy */

static size_t CUDA_CB shared_of(int threads) { return (size_t)threads * 40; }

static void cluster_attribute(CUlaunchAttribute *a, char *t)
{
    static const unsigned sides[] = { 1, 1, 1, 2, 2, 4, 8, 16, 3, 0, 32 };
    a->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    a->value.clusterDim.x = PICK(sides);
    a->value.clusterDim.y = sides[rnd(rnd(2) ? 3 : 10)];
    a->value.clusterDim.z = sides[rnd(rnd(3) ? 3 : 10)];
    add(t, " [4: %u,%u,%u]", a->value.clusterDim.x, a->value.clusterDim.y, a->value.clusterDim.z);
}

static int any_value(void)
{
    static const int values[] = { 0,      1,      -1,     2,      3,      4,          8,
                                  16,     17,     32,     50,     64,     99,         100,
                                  101,    128,    1000,   1024,   40000,  48152,      48153,
                                  49152,  49153,  100000, 187448, 192448, 192449,     231448,
                                  231449, 232448, 232449, 262144, -2,     0x7fffffff, (int)0x80000000 };
    return PICK(values);
}

static bool compilers_own(int a)
{
    return a == CU_FUNC_ATTRIBUTE_NUM_REGS || a == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ||
           a == CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES;
}

static void ask_function(void)
{
    static const int shared[] = { 0,     0,     1,      100,    1000,   1024,   9000,   48000, 48152,
                                  49152, 60000, 100000, 192448, 231448, 232448, 232449, -1 };
    static const int blocks[] = { 32, 64, 128, 256, 512, 1024, 1, 31, 33, 96, 100, 192, 384, 768, 1000, 1025, 0, -1 };
    int k = (int)rnd(KERNELS), a = (int)rnd(20) - 1, v = -12345, w = -12345;
    bool by_kernel = rnd(4) == 0;
    CUfunction f = by_kernel ? (CUfunction)library_kernels[k] : functions[k];
    const char *name = keyf("%s%s", names[k], by_kernel ? ".k" : "");
    size_t n = 12345, m = 12345;
    CUresult r;
    CUlaunchAttribute attribute = { 0 };
    CUlaunchConfig c = { .attrs = &attribute };
    unsigned what = rnd(17);
    char *t = text();
    switch (what) {
    case 0:
    case 1:
        r = cuFuncGetAttribute(&v, (CUfunction_attribute)a, f);
        SAY("get %s %d = %s %d", name, a, rname(r), compilers_own(a) ? 0 : v);
        break;
    case 2:
    case 3:
    case 4:
        if (rnd(2) || a < 0) a = 8 + (int)rnd(8); /* a negative one crashes the driver */
        v = any_value();
        r = cuFuncSetAttribute(f, (CUfunction_attribute)a, v);
        cuFuncGetAttribute(&w, (CUfunction_attribute)a, f);
        SAY("set %s %d %d = %s %d", name, a, v, rname(r), compilers_own(a) ? 0 : w);
        break;
    case 5:
        r = cuKernelGetAttribute(&v, (CUfunction_attribute)a, library_kernels[k], w = rnd(6) ? 0 : (int)rnd(4) - 2);
        SAY("kget %s %d d%d = %s %d", names[k], a, w, rname(r), compilers_own(a) ? 0 : v);
        break;
    case 6:
        if (rnd(2) || a < 0) a = 8 + (int)rnd(8);
        v = any_value();
        n = rnd(6) ? 0 : rnd(4);
        r = cuKernelSetAttribute((CUfunction_attribute)a, v, library_kernels[k], (CUdevice)n - (n > 1));
        cuKernelGetAttribute(&w, (CUfunction_attribute)a, library_kernels[k], 0);
        SAY("kset %s %d %d d%d = %s %d", names[k], a, v, (int)n - (n > 1), rname(r), compilers_own(a) ? 0 : w);
        break;
    case 7:
        v = (int)rnd(6) - 1;
        a = (int)rnd(5) - 1;
        if (rnd(2))
            SAY("cache %s %d = %s", name, v, rname(cuFuncSetCacheConfig(f, (CUfunc_cache)v)));
        else if (rnd(2))
            SAY("kcache %s %d d%d = %s", names[k], v, a,
                rname(cuKernelSetCacheConfig(library_kernels[k], (CUfunc_cache)v, a)));
        else
            SAY("bank %s %d = %s", name, a, rname(cuFuncSetSharedMemConfig(f, (CUsharedconfig)a)));
        break;
    case 8:
        a = rnd(4) ? (int)rnd(8) : 1000;
        r = rnd(2) ? cuFuncGetParamInfo(f, a, &n, &m) : cuKernelGetParamInfo(library_kernels[k], a, &n, &m);
        SAY("param %s %d = %s %zu %zu", name, a, rname(r), n, m);
        break;
    case 9:
    case 10:
        a = PICK(blocks);
        n = PICK(shared);
        m = rnd(4) ? 0 : rnd(4);
        r = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&v, f, a, n, m);
        SAY("occupancy %s %d %zd f%zu = %s %d", name, a, (ssize_t)n, m, rname(r), v);
        break;
    case 11:
        n = PICK(shared);
        a = rnd(2) ? 0 : PICK(blocks);
        m = rnd(4) ? 0 : rnd(4);
        v = w = -5;
        bool by_size = rnd(3) == 0;
        r = cuOccupancyMaxPotentialBlockSizeWithFlags(&v, &w, f, by_size ? shared_of : NULL, n, a, m);
        SAY("potential %s %d %zd limit%d f%zu = %s %d %d", name, by_size, (ssize_t)n, a, m, rname(r), v, w);
        break;
    case 12:
        a = PICK(blocks);
        v = rnd(3) ? 1 + (int)rnd(8) : (int)rnd(35) - 1;
        r = cuOccupancyAvailableDynamicSMemPerBlock(&n, f, v, a);
        SAY("available %s %d %d = %s %zu", name, v, a, rname(r), n);
        break;
    case 13:
    case 14:
        c.gridDimX = (unsigned[]){ 16, 1, 2, 4, 32, 3, 0, 160 }[rnd(8)];
        c.gridDimY = (unsigned[]){ 1, 16, 4 }[rnd(3)];
        c.gridDimZ = 1;
        c.blockDimX = (unsigned)PICK(blocks);
        c.blockDimY = c.blockDimZ = 1;
        c.sharedMemBytes = (unsigned)PICK(shared);
        c.numAttrs = rnd(4) > 0;
        if (c.numAttrs) cluster_attribute(&attribute, t);
        r = what == 13 ? cuOccupancyMaxActiveClusters(&v, f, &c) : cuOccupancyMaxPotentialClusterSize(&v, f, &c);
        SAY("%s %s g%u,%u b%d s%d%s = %s %d", what == 13 ? "clusters" : "clustersize", name, c.gridDimX, c.gridDimY,
            (int)c.blockDimX, (int)c.sharedMemBytes, t, rname(r), v);
        break;
    case 15: {
        CUmodule m1 = NULL;
        const char *s = NULL;
        CUfunctionLoadingState loaded = 7;
        r = cuFuncGetModule(&m1, f);
        CUresult r2 = cuFuncGetName(&s, f), r3 = cuFuncIsLoaded(&loaded, f), r4 = cuFuncLoad(f);
        SAY("of %s = %s %d, %s %s, %s %d, %s", name, rname(r), m1 == module, rname(r2), s ? s : "-", rname(r3), loaded,
            rname(r4));
        break;
    }
    default: {
        CUfunction f1 = NULL;
        CUlibrary l = NULL;
        const char *s = NULL;
        r = cuKernelGetFunction(&f1, library_kernels[k]);
        CUresult r2 = cuKernelGetName(&s, library_kernels[k]), r3 = cuKernelGetLibrary(&l, library_kernels[k]);
        SAY("kof %s = %s %d, %s %s, %s %d", names[k], rname(r), f1 == functions[k], rname(r2), s ? s : "-", rname(r3),
            l == library);
    }
    }
}

/* ---- launches */

static void window(CUaccessPolicyWindow *w, char *t)
{
    static const float ratios[] = { 0, 0.5f, 1, 1.5f, -1 };
    static const size_t sizes[] = { 0, 4096, 65536, 1 << 20, 64ul << 20, 128ul << 20, 1ul << 33 };
    unsigned q = rnd(4);
    w->base_ptr = q == 0 ? NULL : q == 1 ? (void *)0x1000 : (void *)counter;
    w->num_bytes = PICK(sizes);
    w->hitRatio = PICK(ratios);
    w->hitProp = (CUaccessProperty)rnd(4);
    w->missProp = (CUaccessProperty)rnd(4);
    add(t, " [1: p%u %zu %.1f %d %d]", q, w->num_bytes, w->hitRatio, w->hitProp, w->missProp);
}

static void attribute(CUlaunchAttribute *a, char *t)
{
    CUlaunchAttributeValue *v = &a->value;
    unsigned q;
    memset(a, 0, sizeof *a);
    a->id = (CUlaunchAttributeID)rnd(20);
    switch ((int)a->id) {
    case 1: window(&v->accessPolicyWindow, t); return;
    case 2:
        v->cooperative = (int)rnd(4) - 1;
        add(t, " [2: %d]", v->cooperative);
        return;
    case 4: cluster_attribute(a, t); return;
    case 7:
        q = rnd(5);
        v->programmaticEvent.event = q < 3 ? events[q] : NULL;
        v->programmaticEvent.flags = rnd(3) ? 0 : (int)rnd(3);
        v->programmaticEvent.triggerAtBlockStart = (int)rnd(3);
        add(t, " [7: e%u %d %d]", q < 3 ? q : 9, v->programmaticEvent.flags, v->programmaticEvent.triggerAtBlockStart);
        return;
    case 8:
        v->priority = (int)rnd(14) - 10;
        add(t, " [8: %d]", v->priority);
        return;
    case 9:
        v->memSyncDomainMap.default_ = (unsigned char)rnd(6);
        v->memSyncDomainMap.remote = (unsigned char)rnd(6);
        add(t, " [9: %d %d]", v->memSyncDomainMap.default_, v->memSyncDomainMap.remote);
        return;
    case 11:
        v->preferredClusterDim.x = (unsigned[]){ 1, 2, 4, 8, 0, 3, 16 }[rnd(7)];
        v->preferredClusterDim.y = (unsigned[]){ 1, 1, 2, 4, 0 }[rnd(5)];
        v->preferredClusterDim.z = (unsigned[]){ 1, 1, 2, 0 }[rnd(4)];
        add(t, " [11: %u,%u,%u]", v->preferredClusterDim.x, v->preferredClusterDim.y, v->preferredClusterDim.z);
        return;
    case 12:
        q = rnd(5);
        v->launchCompletionEvent.event = q < 3 ? events[q] : NULL;
        v->launchCompletionEvent.flags = rnd(3) ? 0 : (int)rnd(3);
        add(t, " [12: e%u %d]", q < 3 ? q : 9, v->launchCompletionEvent.flags);
        return;
    case 13:
        v->deviceUpdatableKernelNode.deviceUpdatable = (int)rnd(3);
        add(t, " [13: %d]", v->deviceUpdatableKernelNode.deviceUpdatable);
        return;
    case 14:
        v->sharedMemCarveout = rnd(105) - 3;
        add(t, " [14: %d]", (int)v->sharedMemCarveout);
        return;
    default: v->cooperative = (int)rnd(6) - 1; add(t, " [%d: %d]", a->id, v->cooperative);
    }
}

static unsigned long long blocks_run(void)
{
    unsigned n = 0;
    MUST(cuMemcpyDtoH(&n, counter, 4));
    MUST(cuMemsetD32(counter, 0, 1));
    MUST(cuCtxSynchronize());
    return n;
}

/* Parameters in one buffer: its size, and what else may be wrong with it. */
static void **buffer(void **extra, size_t *size, int k, char *t)
{
    static const size_t sizes[] = { 8,  8,  8,    7,    9,    12,   16,    24,    32,    72,    75,
                                    76, 80, 4007, 4008, 4009, 4096, 20007, 20008, 20012, 32764, 32768 };
    unsigned q = rnd(8), n = 0;
    *size = names[k][0] == 'm' ? 75 : names[k][0] == 'b' && names[k][1] == 'i' ? 4008 : names[k][0] == 'h' ? 20008 : 8;
    if (rnd(2)) *size = PICK(sizes);
    if (*size < 8) *size = 8;
    void *key = CU_LAUNCH_PARAM_BUFFER_POINTER, *key2 = CU_LAUNCH_PARAM_BUFFER_SIZE;
    if (q == 0) key = (void *)(uintptr_t)(3 + rnd(3));
    if (q != 1) extra[n++] = key, extra[n++] = room;
    if (q != 2) extra[n++] = key2, extra[n++] = size;
    if (q == 3) extra[n++] = key2, extra[n++] = size;
    extra[n] = CU_LAUNCH_PARAM_END;
    add(t, " extra%u %zu", q, *size);
    return extra;
}

static void launch(void)
{
    static const unsigned grids[] = { 1, 1, 2, 2, 3, 4, 8, 16, 32, 132, 0, 70000 };
    static const unsigned sides[] = { 1, 1, 1, 2, 2, 4, 0, 65535, 65536 };
    static const unsigned blocks[] = { 1, 2, 8, 31, 32, 32, 32, 33, 64, 65, 128, 256, 257, 512, 1024, 1025, 0 };
    static const unsigned shared[] = { 0,     0,     0,     0,     1,      100,    1000,   9152,   9153,
                                       48152, 48153, 49152, 49153, 100000, 192448, 232448, 232449, ~0u };
    char *t = text();
    int k = (int)rnd(KERNELS);
    bool by_kernel = rnd(4) == 0;
    CUfunction f = by_kernel ? (CUfunction)library_kernels[k] : functions[k];
    CUlaunchAttribute attributes[4];
    CUlaunchConfig c = { 0 };
    void *params[] = { &counter, room, room, room, room, room, room }, *extra[8];
    size_t size;
    CUresult r, after;
    unsigned how = rnd(8), s = rnd(5);
    c.gridDimX = PICK(grids);
    c.gridDimY = c.gridDimX > 100 ? 1 : sides[rnd(rnd(4) ? 5 : 9)];
    c.gridDimZ = c.gridDimY > 100 ? 1 : sides[rnd(rnd(8) ? 3 : 9)];
    if (c.gridDimZ > 100 && c.gridDimX > 4) c.gridDimX = 1;
    if (c.gridDimY > 100 && c.gridDimX > 4) c.gridDimX = 1;
    c.blockDimX = PICK(blocks);
    c.blockDimY = sides[rnd(rnd(4) ? 5 : 7)];
    c.blockDimZ = (unsigned[]){ 1, 1, 1, 1, 2, 64, 65, 4 }[rnd(8)];
    c.sharedMemBytes = PICK(shared);
    if ((uint64_t)c.gridDimX * c.gridDimY * c.gridDimZ > 10000 && c.blockDimX > 32) c.blockDimX = 32;
    c.hStream = streams[s];
    add(t, "%s%s g%u,%u,%u b%u,%u,%u s%u str%u", names[k], by_kernel ? ".k" : "", c.gridDimX, c.gridDimY, c.gridDimZ,
        c.blockDimX, c.blockDimY, c.blockDimZ, c.sharedMemBytes, s);
    unsigned q = rnd(6);
    void **p = params, **e = NULL;
    if (q == 0) p = NULL, e = buffer(extra, &size, k, t);
    if (q == 1 && rnd(4) == 0) e = buffer(extra, &size, k, t);
    if (how < 2)
        r = cuLaunchKernel(f, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY, c.blockDimZ,
                           c.sharedMemBytes, c.hStream, p, e);
    else if (how == 2) {
        add(t, " coop");
        r = cuLaunchCooperativeKernel(f, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY, c.blockDimZ,
                                      c.sharedMemBytes, c.hStream, params);
    } else {
        add(t, " ex");
        c.attrs = attributes;
        c.numAttrs = how < 6 ? 1 + rnd(2) : rnd(4);
        for (unsigned i = 0; i < c.numAttrs; i++) attribute(&attributes[i], t);
        r = cuLaunchKernelEx(&c, f, p, e);
    }
    after = cuCtxSynchronize();
    SAY("%s = %s %s %llu", t, rname(r), rname(after), after ? 0 : blocks_run());
}

/* Clusters of one size that would rather be larger. */
static void prefer(CUlaunchConfig *c, char *t)
{
    static const unsigned sides[] = { 1, 2, 2, 4, 8 };
    memset(c->attrs, 0, 2 * sizeof *c->attrs);
    c->numAttrs = 2;
    c->attrs[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    c->attrs[0].value.clusterDim.x = PICK(sides);
    c->attrs[1].id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
    c->attrs[1].value.preferredClusterDim.x = PICK(sides);
    c->attrs[0].value.clusterDim.y = c->attrs[0].value.clusterDim.z = 1;
    c->attrs[1].value.preferredClusterDim.y = c->attrs[1].value.preferredClusterDim.z = 1;
    add(t, " prefers %u for %u", c->attrs[1].value.preferredClusterDim.x, c->attrs[0].value.clusterDim.x);
}

/* Shapes that are right, one attribute: what each of them does by itself. */
static void launch_simply(void)
{
    char *t = text();
    int k = (int)(rnd(3) ? 1 : rnd(KERNELS));
    CUlaunchAttribute attributes[2];
    CUlaunchConfig c = {
        .gridDimX = 1u << rnd(6), .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1
    };
    void *params[] = { &counter, room, room, room, room, room, room };
    if (rnd(3) == 0) c.gridDimY = 2;
    if (k == 4) c.blockDimY = 2;
    unsigned s = rnd(5);
    c.hStream = streams[s];
    c.attrs = attributes;
    c.numAttrs = 1 + rnd(2);
    add(t, "%s g%u,%u str%u", names[k], c.gridDimX, c.gridDimY, s);
    for (unsigned i = 0; i < c.numAttrs; i++) attribute(&attributes[i], t);
    if (rnd(6) == 0) prefer(&c, t);
    CUresult r = cuLaunchKernelEx(&c, functions[k], params, NULL), after = cuCtxSynchronize();
    SAY("simple %s = %s %s %llu", t, rname(r), rname(after), after ? 0 : blocks_run());
}

/* Around the most blocks that may run together. */
static void launch_together(void)
{
    static const unsigned blocks[] = { 32, 64, 128, 256, 512, 1024, 96, 100 };
    static const unsigned shared[] = { 0, 0, 1000, 10000, 48000, 100000, 200000 };
    int k = (int)rnd(KERNELS), each = 0;
    unsigned b = k == 4 ? 32 : PICK(blocks), s = PICK(shared), z = 1 + rnd(2);
    int more = (int)rnd(3) - 1;
    void *params[] = { &counter, room, room, room, room, room, room };
    if (s > 49152) cuFuncSetAttribute(functions[k], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)s);
    CUresult r = cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, functions[k], (int)b * (k == 4 ? 2 : 1), s);
    unsigned g = (unsigned)(each * 132 / (int)z + more);
    CUresult r2 = cuLaunchCooperativeKernel(functions[k], g, z, 1, b, k == 4 ? 2 : 1, 1, s, 0, params);
    CUresult after = cuCtxSynchronize();
    SAY("together %s b%u s%u z%u %+d = %s %d, %s %s %llu", names[k], b, s, z, more, rname(r), each, rname(r2),
        rname(after), after ? 0 : blocks_run());
    cuFuncSetAttribute(functions[k], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0);
    cuFuncSetAttribute(functions[k], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                       49152 - (k == SHARED1K    ? 1000
                                : k == SHARED40K ? 40000
                                                 : 0));
}

/* As it was done before CUDA 4. */
static void launch_as_before(void)
{
    static const int odd[] = { 0, 1, 2, 8, 32, 64, 65, 1024, 1025, -1 };
    int k = (int)rnd(KERNELS), a = PICK(odd), b = (int)rnd(3), c = (int)rnd(3);
    CUfunction f = functions[k];
    CUresult r, after;
    switch (rnd(9)) {
    case 0:
    case 1: SAY("shape %s %d %d %d = %s", names[k], a, b, c, rname(cuFuncSetBlockShape(f, a, b, c))); break;
    case 2:
        a = (int[]){ 0, 100, 49152, 49153, 232448, -1 }[rnd(6)];
        SAY("shared %s %d = %s", names[k], a, rname(cuFuncSetSharedSize(f, (unsigned)a)));
        break;
    case 3:
        a = (int[]){ 0, 7, 8, 9, 16, 75, 4008, 4096, 4097, 20008, -1 }[rnd(11)];
        SAY("size %s %d = %s", names[k], a, rname(cuParamSetSize(f, (unsigned)a)));
        break;
    case 4:
        SAY("pointer %s = %s %s", names[k], rname(cuParamSetv(f, 0, &counter, 8)), rname(cuParamSetSize(f, 8)));
        break;
    case 5:
        a = (int[]){ 0, 4, 8, 9, 12, 4092, 4093, 4096, 32760, 20000 }[rnd(10)];
        if (a == 0 || a == 4) a = 8;
        SAY("int %s %d = %s", names[k], a, rname(cuParamSeti(f, a, 5)));
        break;
    case 6:
        a = (int[]){ 8, 8, 9, 12, 4092, 4093, 4096, 30000, 20000 }[rnd(9)];
        b = (int[]){ 0, 1, 4, 100, 4096 }[rnd(5)];
        SAY("bytes %s %d %d = %s", names[k], a, b, rname(cuParamSetv(f, a, room, (unsigned)b)));
        break;
    default:
        b = PICK(odd);
        if (a > 64 && b > 64) b = 2;
        unsigned how = rnd(3);
        cuParamSetv(f, 0, &counter, 8);
        cuParamSetSize(f, k ? (unsigned[]){ 8, 8, 8, 75, 4008, 16 }[rnd(6)] : 0);
        r = how == 0 ? cuLaunch(f) : how == 1 ? cuLaunchGrid(f, a, b) : cuLaunchGridAsync(f, a, b, streams[3]);
        after = cuCtxSynchronize();
        SAY("launch%u %s %d %d = %s %s %llu", how, names[k], a, b, rname(r), rname(after), after ? 0 : blocks_run());
    }
}

static void walk(uint64_t seed, int steps, void (*one)(void))
{
    prepare();
    MUST(cuMemsetD32(counter, 0, 4));
    for (int i = 0; i < steps; i++) {
        walk_to(seed, i);
        one();
        CUresult r = cuCtxSynchronize();
        if (r) {
            rec("sticky", "%s", rname(r));
            return;
        }
    }
}

static void mixed(void)
{
    switch (rnd(3)) {
    case 0: ask_function(); break;
    case 1: launch_simply(); break;
    default: launch();
    }
}

#define WALKS(i) \
    static void g_function_##i(void) { walk(0x##i, 1200, ask_function); } \
    static void g_launch_##i(void) { walk(0x##i, 900, launch); } \
    static void g_simple_##i(void) { walk(0x##i, 700, launch_simply); } \
    static void g_together_##i(void) { walk(0x##i, 150, launch_together); } \
    static void g_before_##i(void) { walk(0x##i, 300, launch_as_before); } \
    static void g_mixed_##i(void) { walk(0x##i, 700, mixed); }
#define SEEDS(X) X(01) X(02) X(1e15) X(1e16)
SEEDS(WALKS)
#define GROUPS(i) \
    { "function_" #i, g_function_##i, 1 }, { "launch_" #i, g_launch_##i, 1 }, { "simple_" #i, g_simple_##i, 1 }, \
        { "together_" #i, g_together_##i, 1 }, { "before_" #i, g_before_##i, 1 }, { "mixed_" #i, g_mixed_##i, 1 },
const struct group groups[] = { SEEDS(GROUPS){ 0 } };
