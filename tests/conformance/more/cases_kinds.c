/* All that can be asked of a pointer, of every kind of memory and of what is none. */
#include "attributes.h"

/* ---- every kind of pointer */

static void g_kinds(void)
{
    CUdeviceptr p;
    CUmemoryPool pool;
    CUarray a;
    CUmodule m;
    CUstream s;
    CUevent e;
    size_t n;
    void *h;
    setup();
    MUST(cuStreamCreate(&s, 1));
    MUST(cuEventCreate(&e, 0));
    MUST(cuMemAlloc(&p, 10001));
    place("dev", p, 10001);
    MUST(cuMemAllocPitch(&p, &n, 1001, 11, 16));
    place("pitch", p, n * 11);
    for (unsigned f = 0; f < 8; f++) {
        MUST(cuMemHostAlloc(&h, 10001, f));
        place(keyf("host%u", f), (CUdeviceptr)h, 10001);
    }
    MUST(cuMemAllocManaged(&p, 10001, 1));
    place("man1", p, 10001);
    MUST(cuMemAllocManaged(&p, 10001, 2));
    place("man2", p, 10001);
    MUST(cuMemAllocAsync(&p, 10001, s));
    place("pool", p, 10001);
    static const int types[] = { 1, 1, 2, 3, 4 };
    for (int k = 0; k < 5; k++) {
        CUmemPoolProps x = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = loc(types[k], 0) };
        if (k == 0) x.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        CUresult r = cuMemPoolCreate(&pool, &x);
        if (r || cuMemAllocFromPoolAsync(&p, 10001, pool, s)) continue;
        place(keyf("pool%d", k), p, 10001);
    }
    MUST(cuStreamSynchronize(s));
    static const struct {
        int type, id;
        unsigned char rdma, compress;
        int handles, access;
    } made[] = { { 1, 0, 0, 0, 0, 3 }, { 1, 0, 1, 0, 0, 3 }, { 1, 0, 0, 1, 0, 3 }, { 1, 0, 0, 0, 1, 1 },
                 { 1, 0, 0, 0, 0, 0 }, { 2, 0, 0, 0, 0, 3 }, { 3, 0, 0, 0, 0, 3 }, { 4, 0, 0, 0, 0, 3 } };
    for (int k = 0; k < 8; k++) {
        CUmemAllocationProp x = prop_dev(0);
        CUmemGenericAllocationHandle g;
        x.location = loc(made[k].type, made[k].id);
        x.allocFlags.gpuDirectRDMACapable = made[k].rdma;
        x.allocFlags.compressionType = made[k].compress;
        x.requestedHandleTypes = (CUmemAllocationHandleType)made[k].handles;
        MUST(cuMemAddressReserve(&p, 3 * GRAN, 0, 0, 0));
        if (cuMemCreate(&g, GRAN, &x, 0) || cuMemMap(p + GRAN, GRAN, 0, g, 0)) {
            rec(keyf("made%d", k), "no");
            continue;
        }
        CUmemAccessDesc d = { loc(1, 0), (CUmemAccess_flags)made[k].access };
        rec(keyf("access%d", k), "%s", rname(cuMemSetAccess(p + GRAN, GRAN, &d, 1)));
        place(keyf("vmm%d", k), p + GRAN, GRAN);
        place(keyf("reserved%d", k), p, GRAN);
    }
    MUST(cuModuleLoadData(&m, ".version 7.0\n.target sm_52\n.address_size 64\n"
                              ".visible .global .align 4 .b8 gvar[10001];\n.visible .const .align 4 .b8 cvar[1001];\n"
                              ".visible .global .attribute(.managed) .align 4 .b8 mvar[10001];\n"
                              ".visible .entry k() { ret; }\n"));
    static const char *const vars[] = { "gvar", "cvar", "mvar" };
    for (int k = 0; k < 3; k++) {
        MUST(cuModuleGetGlobal(&p, &n, m, vars[k]));
        place(vars[k], p, n);
    }
    CUDA_ARRAY_DESCRIPTOR ad = { 64, 64, CU_AD_FORMAT_FLOAT, 1 };
    MUST(cuArrayCreate(&a, &ad));
    place("array", (CUdeviceptr)a, 8);
    place("stream", (CUdeviceptr)s, 8);
    place("event", (CUdeviceptr)e, 8);
    place("module", (CUdeviceptr)m, 8);
    place("context", (CUdeviceptr)ctx0, 8);
    place("own", (CUdeviceptr)places, sizeof places);
    char *room = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(cuMemHostRegister(room, 10001, 0));
    place("reg", (CUdeviceptr)room, 10001);
    MUST(cuMemHostRegister(room + 20480 + 8, 5000, 1));
    place("reg2", (CUdeviceptr)room + 20488, 5000);
    for (int k = 0; k < known; k++) {
        const size_t size = places[k].size, offs[] = { 0, 1, size / 2, size - 1, size, size + 8 };
        for (int j = 0; j < 6; j++, step++) {
            if (j > 3 && (size == GRAN || size == 8)) continue;
            if (j > 3 && (!strncmp(places[k].name, "man", 3) || !strncmp(places[k].name, "own", 3))) continue;
            CUdeviceptr at = places[k].p + offs[j], b = 1;
            unsigned v;
            CUipcMemHandle h;
            CUmemGenericAllocationHandle g;
            add("%s+%zu", places[k].name, offs[j]);
            all_attributes(at);
            size_t range = 77;
            CUresult r = cuMemGetAddressRange(&b, &range, at);
            add(" range=%s %s %zu", rname(r), b == 1 ? "untouched" : where(b), range);
            r = cuMemHostGetDevicePointer(&b, (void *)at, 0);
            add(" devptr=%s", rname(r));
            if (!r) add(" %s", where(b));
            r = cuMemHostGetFlags(&v, (void *)at);
            add(" flags=%s", rname(r));
            if (!r) add(" %u", v);
            v = 1;
            add(" set=%s", rname(cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at)));
            v = 7;
            r = cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at);
            add(" %s", rname(r));
            if (!r) add(" %u", v & 255);
            add(" ipc=%s", rname(cuIpcGetMemHandle(&h, at)));
            r = cuMemRetainAllocationHandle(&g, (void *)at);
            add(" retain=%s", rname(r));
            if (!r) cuMemRelease(g);
            add(" reg=%s", rname(size == 8 || !strcmp(places[k].name, "own")
                                     ? CUDA_SUCCESS
                                     : cuMemHostRegister((void *)(at & ~4095ul), 4096, 0)));
            add(" unreg=%s",
                rname(j == 0 && !strncmp(places[k].name, "reg", 3) ? CUDA_SUCCESS : cuMemHostUnregister((void *)at)));
            add(" prefetch=%s", rname(cuMemPrefetchAsync(at, 64, loc(1, 0), 0, s)));
            add(" close=%s", rname(cuIpcCloseMemHandle(at)));
            say();
        }
    }
    for (int k = 0; k < 600; k++, step++) {
        seeded(1, k);
        int i = (int)draw((uint32_t)known);
        size_t off = draw(3) ? draw((uint32_t)places[i].size) : 0;
        add("some %s+%zu", places[i].name, off);
        some_attributes(places[i].p + off);
        say();
    }
}

const struct group groups[] = { { "kinds", g_kinds, 1 }, { 0 } };
