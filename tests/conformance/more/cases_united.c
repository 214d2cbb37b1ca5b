/* Managed memory and what no other group has of it: streams that wait for its words, its registration, calls that are for
 * other memory, textures of it, copies of it in graphs, many attributes at once. */
#define FILLED(at, n) cuMemsetD8(at, 0x41, n)
#include "own.h"

static CUdeviceptr q;

/* ---- streams that write words and wait for them */

static void words(const char *name)
{
    begin();
    MUST(cuMemAllocManaged(&p, SIZE, strstr(name, "hosts") ? 2 : 1));
    settle(p, SIZE, place);
    ANSWERED("write", cuStreamWriteValue32(s, p, 5, 0));
    ANSWERED("wait", cuStreamWaitValue32(s, p, 5, CU_STREAM_WAIT_VALUE_GEQ));
    ANSWERED("write64", cuStreamWriteValue64(s, p + 8, 0x100000002, 0));
    ANSWERED("wait64", cuStreamWaitValue64(s, p + 8, 0x100000002, CU_STREAM_WAIT_VALUE_EQ));
    ANSWERED("sync", cuStreamSynchronize(s));
    SAID("values", "%s %s", word_at(p, 0), word_at(p + 12, 0));
    /* for the host */
    ANSWERED("waits", cuStreamWaitValue32(s, p + PAGE, 9, CU_STREAM_WAIT_VALUE_EQ));
    ANSWERED("then", cuStreamWriteValue32(s, p + PAGE + 4, 10, 0));
    usleep(1000);
    SAID("query", "%s", rname(cuStreamQuery(s)));
    *(volatile uint32_t *)(p + PAGE) = 9;
    ANSWERED("met", cuStreamSynchronize(s));
    SAID("met.value", "%s", word_at(p + PAGE + 4, 0));
    /* for a kernel of another stream */
    ANSWERED("kernels", cuStreamWaitValue32(s, p + 2 * PAGE, 3, CU_STREAM_WAIT_VALUE_EQ));
    SAID("poke", "%s", rname(k_poke(p + 2 * PAGE, 3)));
    ANSWERED("kernels.met", cuStreamSynchronize(s));
    /* for one that moves meanwhile */
    ANSWERED("moves", cuStreamWaitValue32(s, p + 3 * PAGE, 4, CU_STREAM_WAIT_VALUE_EQ));
    ANSWERED("moves.set", cuMemsetD32Async(p + 3 * PAGE, 4, 1, NULL));
    ANSWERED("moves.met", cuStreamSynchronize(s));
    CUstreamBatchMemOpParams both[2] = { { .waitValue = { CU_STREAM_MEM_OP_WAIT_VALUE_32, p, { 5 }, CU_STREAM_WAIT_VALUE_EQ, 0 } },
                                         { .writeValue = { CU_STREAM_MEM_OP_WRITE_VALUE_32, p + 16, { 6 }, 0, 0 } } };
    ANSWERED("batch", cuStreamBatchMemOp(s, 2, both, 0));
    ANSWERED("batch.sync", cuStreamSynchronize(s));
    SAID("batch.value", "%s", word_at(p + 16, 0));
    ANSWERED("behind", cuStreamWriteValue32(s, p + SIZE, 5, 0));
    ANSWERED("last", cuStreamWriteValue64(s, p + SIZE - 8, 5, 0));
    ANSWERED("end", cuStreamSynchronize(s));
}

static void g_words(void)
{
    for (place = FRESH; place <= BOTH; place++) {
        apart(places[place], words);
        apart(keyf("%s.hosts", places[place]), words);
    }
}

/* ---- registration */

static void registered(const char *name)
{
    static const struct {
        const char *name;
        long at;
        size_t n;
        unsigned flags;
    } parts[] = { { "whole", 0, SIZE, 0 },       { "page", 0, PAGE, 0 },          { "inside", MiB, MiB, 0 },
                  { "end", SIZE - PAGE, PAGE, 0 }, { "past", SIZE - PAGE, 2 * PAGE, 0 }, { "before", -PAGE, 2 * PAGE, 0 },
                  { "odd", 100, 100, 0 },        { "mapped", 0, SIZE, 2 },        { "portable", 0, SIZE, 1 },
                  { "io", 0, SIZE, 4 },          { "readonly", 0, SIZE, 8 },      { "all", 0, SIZE, 15 } };
    begin();
    MUST(cuMemAllocManaged(&p, SIZE, 1));
    for (unsigned k = 0; k < COUNT(parts); k++) {
        settle(p, SIZE, place);
        void *at = (void *)(p + (CUdeviceptr)parts[k].at);
        CUdeviceptr d = 0;
        unsigned flags = 99;
        CUresult r = cuMemHostRegister(at, parts[k].n, parts[k].flags);
        add("%s", letter(r));
        add(" %s", letter(cuMemHostGetDevicePointer(&d, (void *)p, 0)));
        add("%d", d == p);
        add(" %s", letter(cuMemHostGetFlags(&flags, (void *)p)));
        add("%d", (int)flags);
        CUdeviceptr base = 0;
        size_t n = 0;
        int managed = 99, type = 99;
        add(" %s", letter(cuMemGetAddressRange(&base, &n, p)));
        add("%zu", n);
        cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
        add(" managed %d type %d", managed, type);
        add(" %s", poked(p + MiB, 6));
        add(" %s", word_at(p + MiB, 0));
        add(" %s", letter(cuMemHostUnregister(at)));
        add(" %s", letter(cuMemHostUnregister((void *)p)));
        add(" %s", letter(cuMemFreeHost((void *)p)));
        add(" %s", letter(cuMemFreeAsync(p + MiB, s)));
        say_as(keyf("%s.%s", name, parts[k].name));
    }
    ANSWERED("free", cuMemFree(p));
}

static void g_registered(void)
{
    for (place = FRESH; place <= BOTH; place++) apart(places[place], registered);
}

/* ---- the wrong call for it */

static void wrong(const char *name)
{
    begin();
    MUST(cuMemAllocManaged(&p, SIZE, 1));
    settle(p, SIZE, place);
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc d = { loc(1, 0), CU_MEM_ACCESS_FLAGS_PROT_READ };
    CUmemAllocationProp props = prop_dev(0);
    unsigned long long flags = 7;
    CUmemLocation l = loc(1, 0);
    int fd = -1;
    CUipcMemHandle ipc;
    CUmemPoolPtrExportData data;
    CUdeviceptr at = 0;
    MUST(cuMemCreate(&h, GRAN, &props, 0));
    ANSWERED("map", cuMemMap(p, GRAN, 0, h, 0));
    ANSWERED("unmap", cuMemUnmap(p, GRAN));
    ANSWERED("unmap_all", cuMemUnmap(p, SIZE));
    ANSWERED("set_access", cuMemSetAccess(p, SIZE, &d, 1));
    ANSWERED("get_access", cuMemGetAccess(&flags, &l, p));
    SAID("flags", "%llu", flags);
    ANSWERED("address_free", cuMemAddressFree(p, SIZE));
    CUresult r = cuMemAddressReserve(&at, SIZE, 0, p, 0);
    SAID("reserve", "%s %d", rname(r), at == p);
    ANSWERED("retain", cuMemRetainAllocationHandle(&h, (void *)p));
    ANSWERED("dmabuf", cuMemGetHandleForAddressRange(&fd, p, SIZE, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    ANSWERED("ipc", cuIpcGetMemHandle(&ipc, p));
    ANSWERED("export", cuMemPoolExportPointer(&data, p));
    ANSWERED("free_async", cuMemFreeAsync(p, s));
    ANSWERED("free_async.sync", cuStreamSynchronize(s));
    ANSWERED("free_host", cuMemFreeHost((void *)p));
    ANSWERED("unregister", cuMemHostUnregister((void *)p));
    ANSWERED("ipc_close", cuIpcCloseMemHandle(p));
    ANSWERED("free_inside", cuMemFree(p + PAGE));
    ANSWERED("free_end", cuMemFree(p + SIZE));
    int on = 1, seen = 7;
    ANSWERED("sync_memops", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
    cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p + MiB);
    SAID("synced", "%d", seen);
    CUlaunchAttributeValue v = {
        .accessPolicyWindow = { (void *)p, MiB, 0.5f, CU_ACCESS_PROPERTY_PERSISTING, CU_ACCESS_PROPERTY_STREAMING }
    };
    ANSWERED("window", cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    ANSWERED("persisting", cuCtxResetPersistingL2Cache());
    SAID("still", "%s", word_at(p, 0));
    SAID("poke", "%s", poked(p, 3));
    ANSWERED("free", cuMemFree(p));
    static const size_t sizes[] = { 0, 1ul << 47, 1ul << 48, 1ul << 56, 1ul << 63, ~0ul, ~0ul - 4095, ~0ul - GRAN + 1, ~0ul - GRAN };
    for (unsigned k = 0; k < COUNT(sizes); k++)
        for (unsigned f = 0; f < 4; f++) {
            CUdeviceptr x = 0x77;
            r = cuMemAllocManaged(&x, sizes[k], f);
            add(" %s%d", letter(r), x == 0x77);
            if (!r) cuMemFree(x);
        }
    say_as(keyf("%s.huge", name));
}

static void g_wrong(void)
{
    for (place = FRESH; place <= BOTH; place++) apart(places[place], wrong);
}

/* ---- textures of it */

static const char sampling[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry line(.param .u64 t, .param .u64 o) { .reg .b32 %r<8>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d1,[t]; ld.param.u64 %d2,[o]; mov.u32 %r5,%tid.x; tex.1d.v4.u32.s32 {%r1,%r2,%r3,%r4},[%d1,{%r5}];\n"
    "st.global.u32 [%d2],%r1; ret; }\n";

static void textures(const char *name)
{
    begin();
    MUST(cuMemAllocManaged(&p, SIZE, 1));
    settle(p, SIZE, place);
    CUmodule m;
    CUfunction f;
    CUtexObject t = 0;
    MUST(cuModuleLoadData(&m, sampling));
    MUST(cuModuleGetFunction(&f, m, "line"));
    CUDA_RESOURCE_DESC what = { .resType = CU_RESOURCE_TYPE_LINEAR,
                                .res.linear = { .devPtr = p,
                                                .format = CU_AD_FORMAT_UNSIGNED_INT32,
                                                .numChannels = 1,
                                                .sizeInBytes = MiB } };
    CUDA_TEXTURE_DESC how = { .flags = CU_TRSF_READ_AS_INTEGER };
    ANSWERED("make", cuTexObjectCreate(&t, &what, &how, NULL));
    void *args[] = { &t, &out };
    for (int k = 0; k < 3; k++) {
        if (k == 1) *(volatile uint32_t *)p = 0x77;
        if (k == 2) MUST(cuMemPrefetchAsync(p, SIZE, loc(2, 0), 0, NULL));
        *(volatile uint32_t *)out = 0xdead;
        ANSWERED(keyf("launch%d", k), cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
        ANSWERED(keyf("sync%d", k), cuCtxSynchronize());
        SAID(keyf("value%d", k), "%x", *(volatile uint32_t *)out);
    }
    ANSWERED("free", cuMemFree(p));
    ANSWERED("destroy", cuTexObjectDestroy(t));
}

static void g_textures(void)
{
    for (place = FRESH; place <= BOTH; place++) apart(places[place], textures);
}

/* ---- nodes */

static void nodes(const char *name)
{
    begin();
    CUdeviceptr device, of_pool, mapped;
    CUmemGenericAllocationHandle h;
    void *plain = malloc(SIZE);
    char *reg = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(cuMemAllocManaged(&p, SIZE, 1));
    MUST(cuMemAllocManaged(&q, SIZE, 2));
    MUST(cuMemAlloc(&device, SIZE));
    MUST(cuMemAllocAsync(&of_pool, SIZE, s));
    MUST(cuStreamSynchronize(s));
    MUST(cuMemHostRegister(reg, SIZE, 0));
    memset(plain, 0x31, SIZE);
    memset(reg, 0x32, SIZE);
    mapped = vmm_alloc(SIZE, &h);
    const struct {
        const char *name;
        CUdeviceptr p;
    } all[] = { { "managed", p },         { "hosts", q },      { "device", device },            { "pinned", out },
                { "plain", (CUdeviceptr)plain }, { "reg", (CUdeviceptr)reg }, { "pool", of_pool }, { "vmm", mapped } };
    for (unsigned i = 0; i < COUNT(all); i++)
        for (unsigned j = 0; j < COUNT(all); j++) {
            if (i > 1 && j > 1) continue;
            settle(p, SIZE, place);
            CUgraph g;
            CUgraphExec e;
            CUgraphNode node[4];
            size_t n = 4;
            CUgraphNodeType type;
            MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
            CUresult r = cuMemcpyAsync(all[i].p + (i == j ? 512 : 0), all[j].p, 256, s);
            add("%s", letter(r));
            r = cuStreamEndCapture(s, &g);
            add("%s", letter(r));
            if (r || !g) {
                say_as(keyf("%s.%s.%s", name, all[i].name, all[j].name));
                continue;
            }
            MUST(cuGraphGetNodes(g, node, &n));
            add(" %zu", n);
            for (size_t k = 0; k < n; k++) {
                CUDA_MEMCPY3D x;
                MUST(cuGraphNodeGetType(node[k], &type));
                add(" type%d", type);
                if (type == CU_GRAPH_NODE_TYPE_MEMCPY && !cuGraphMemcpyNodeGetParams(node[k], &x))
                    add(" %d>%d %zux%zux%zu pitch %zu %zu", x.srcMemoryType, x.dstMemoryType, x.WidthInBytes, x.Height, x.Depth,
                        x.srcPitch, x.dstPitch);
            }
            r = cuGraphInstantiate(&e, g, 0);
            add(" %s", letter(r));
            if (!r) {
                r = cuGraphLaunch(e, s);
                add("%s", letter(r));
                r = cuStreamSynchronize(s);
                add("%s", letter(r));
                cuGraphExecDestroy(e);
            }
            cuGraphDestroy(g);
            say_as(keyf("%s.%s.%s", name, all[i].name, all[j].name));
        }
    /* what else may be captured of it */
    size_t size = SIZE, zero = 0;
    CUmemLocation l = loc(1, 0);
    for (int k = 0; k < 12; k++) {
        CUgraph g = NULL;
        CUgraphNode node[4];
        size_t n = 4;
        CUgraphNodeType type;
        MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
        CUresult r = k == 0   ? cuMemPrefetchBatchAsync(&p, &size, 1, &l, &zero, 1, 0, s)
                     : k == 1 ? cuMemDiscardBatchAsync(&p, &size, 1, 0, s)
                     : k == 2 ? cuMemDiscardAndPrefetchBatchAsync(&p, &size, 1, &l, &zero, 1, 0, s)
                     : k == 3 ? cuStreamAttachMemAsync(s, p, 0, 4)
                     : k == 4 ? cuMemAdvise(p, SIZE, 1, l)
                     : k == 5 ? cuMemsetD2D8Async(p, 4096, 7, 100, 10, s)
                     : k == 6 ? cuStreamWriteValue32(s, p, 5, 0)
                     : k == 7 ? cuMemFree(q)
                     : k == 8 ? cuMemAllocManaged(&q, SIZE, 1)
                     : k == 9 ? cuMemFreeAsync(p, s)
                     : k == 10 ? cuMemPrefetchAsync(p, SIZE, loc(2, 0), 0, s)
                               : cuMemcpyHtoDAsync(p, (void *)q, 64, s);
        add("%s", letter(r));
        r = cuStreamEndCapture(s, &g);
        add(" %s", letter(r));
        if (!r && g) {
            MUST(cuGraphGetNodes(g, node, &n));
            for (size_t j = 0; j < n; j++) {
                MUST(cuGraphNodeGetType(node[j], &type));
                add(" type%d", type);
            }
            CUgraphExec e;
            r = cuGraphInstantiate(&e, g, 0);
            add(" %s", letter(r));
            if (!r) {
                r = cuGraphLaunch(e, s);
                add("%s", letter(r));
                r = cuStreamSynchronize(s);
                add("%s", letter(r));
                cuGraphExecDestroy(e);
            }
            cuGraphDestroy(g);
        }
        say_as(keyf("%s.captured%d", name, k));
    }
}

static void g_nodes(void)
{
    for (place = FRESH; place <= BOTH; place++) apart(places[place], nodes);
}

/* ---- many attributes at once */

static void attributes(const char *name)
{
    begin();
    MUST(cuMemAllocManaged(&p, SIZE, 1));
    settle(p, SIZE, place);
    MUST(cuMemAdvise(p, MiB, CU_MEM_ADVISE_SET_ACCESSED_BY, loc(1, 0)));
    int v[12][8];
    void *to[12];
    size_t sizes[12];
    CUmem_range_attribute a[12];
    for (int count = 0; count < 12; count++)
        for (int bad = -1; bad < 8; bad++) {
            memset(v, 0x5a, sizeof v);
            for (int k = 0; k < 12; k++) {
                to[k] = v[k];
                a[k] = (CUmem_range_attribute)(1 + k % 8);
                sizes[k] = a[k] == 3 ? 16 : 4;
            }
            if (bad == 0) sizes[1] = 8;
            if (bad == 1) sizes[2] = 2;
            if (bad == 2) to[2] = NULL;
            if (bad == 3) a[3] = (CUmem_range_attribute)77;
            if (bad == 4) sizes[0] = 0;
            if (bad == 5) sizes[2] = 32;
            if (bad == 6) a[1] = a[0];
            if (bad == 7) a[2] = (CUmem_range_attribute)0;
            CUresult r = cuMemRangeGetAttributes(to, sizes, a, (size_t)count, p, bad % 2 ? MiB : SIZE);
            add("%s", letter(r));
            for (int k = 0; k < count; k++)
                add(" %d", v[k][0] == 0x5a5a5a5a ? 90 : v[k][0]);
            say_as(keyf("%s.%d.%d", name, count, bad));
        }
    ANSWERED("none", cuMemRangeGetAttributes(NULL, sizes, a, 1, p, SIZE));
    ANSWERED("nosizes", cuMemRangeGetAttributes(to, NULL, a, 1, p, SIZE));
    ANSWERED("noattributes", cuMemRangeGetAttributes(to, sizes, NULL, 1, p, SIZE));
    ANSWERED("norange", cuMemRangeGetAttributes(to, sizes, a, 1, p, 0));
    ANSWERED("past", cuMemRangeGetAttributes(to, sizes, a, 1, p, SIZE + PAGE));
    ANSWERED("inside", cuMemRangeGetAttributes(to, sizes, a, 1, p + 100, 1));
}

static void g_attributes(void)
{
    for (place = FRESH; place <= BOTH; place++) apart(places[place], attributes);
}

const struct group groups[] = { { "words", g_words, 1 },       { "registered", g_registered, 1 },
                                { "wrong", g_wrong, 1 },       { "textures", g_textures, 1 },
                                { "nodes", g_nodes, 1 },       { "attributes", g_attributes, 1 },
                                { 0 } };
