/* Descriptors of ranges with holes and of all kinds of memory; calls for other memory that are told of mapped memory;
 * handles that are released, but mapped. */
#include "short.h"

static CUmemGenericAllocationHandle make(int type, size_t pages, int handles)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp p = prop_dev(0);
    p.location = loc(type, 0);
    p.requestedHandleTypes = (CUmemAllocationHandleType)handles;
    MUST(cuMemCreate(&h, pages * GRAN, &p, 0));
    return h;
}

/* ---- descriptors; o: there is one, or there would be if the machine had a device node to take it from */

static void range_handle(CUdeviceptr p, size_t n, unsigned long long flags)
{
    int fd = -1;
    CUresult r = cuMemGetHandleForAddressRange(&fd, p, n, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, flags);
    if (fd >= 0) close(fd);
    add("%s", !flags && (!r || r == CUDA_ERROR_NOT_SUPPORTED) ? "o" : letter(r));
}

static void g_holes(void)
{
    enum { PAGES = 20 };
    static const struct {
        int at, pages, type;
    } parts[] = { { 4, 4, 1 }, { 10, 1, 1 }, { 12, 2, 1 }, { 15, 2, 2 }, { 17, 1, 1 } };
    CUdeviceptr at;
    setup();
    MUST(cuMemAddressReserve(&at, PAGES * GRAN, 0, 0, 0));
    for (unsigned k = 0; k < COUNT(parts); k++)
        MUST(cuMemMap(at + (size_t)parts[k].at * GRAN, (size_t)parts[k].pages * GRAN, 0,
                      make(parts[k].type, (size_t)parts[k].pages, 0), 0));
    for (int from = 0; from < PAGES; from++)
        for (int half = 0; half < 2; half++) {
            for (int size = 1; from + size <= PAGES; size++) {
                CUdeviceptr p = at + (size_t)from * GRAN + (half ? MiB : 0);
                add(" ");
                for (unsigned long long f = 0; f < 3; f++) range_handle(p, (size_t)size * GRAN - (half ? MiB : 0), f);
                range_handle(p, (size_t)size * GRAN - (half ? MiB : 0) - 4096, 1);
            }
            say_as(keyf("%d.%d", from, half));
        }
}

static void sized(const char *name, CUdeviceptr p)
{
    static const size_t sizes[] = { 1,   2,   4,   8,   15,  16,   17,   18,   19,   20,   32,  33,
                                    64,  255, 256, 257, 258, 272,  273,  288,  496,  511,  512, 513,
                                    514, 767, 768, 769, 784, 1023, 1024, 1025, 1040, 2048, 2049 };
    for (unsigned k = 0; k < COUNT(sizes); k++) range_handle(p, sizes[k] * 4096, 0);
    add(" ");
    for (unsigned k = 0; k < COUNT(sizes); k++) range_handle(p, sizes[k] * 4096, 1);
    say_as(name);
}

static void g_sizes(void)
{
    static const size_t sizes[] = {
        1, 4096, 4097, 65536, 70000, MiB, MiB + 4096, 2 * MiB, 2 * MiB + 1, 3 * MiB, 8 * MiB
    };
    static const char *const globals[] = { "small", "some", "room" };
    CUdeviceptr p;
    CUmemoryPool pool;
    CUmodule m;
    CUstream s;
    size_t n;
    CUmemPoolProps x = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = loc(1, 0) };
    setup();
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    MUST(cuMemPoolCreate(&pool, &x));
    for (unsigned k = 0; k < COUNT(sizes); k++) {
        MUST(cuMemAlloc(&p, sizes[k]));
        if (p % 65536 == 0) sized(keyf("alloc.%zx", sizes[k]), p);
        MUST(cuMemAllocPitch(&p, &n, sizes[k], 1, 4));
        if (p % 65536 == 0) sized(keyf("pitch.%zx", sizes[k]), p);
        MUST(cuMemAllocFromPoolAsync(&p, sizes[k], pool, s));
        MUST(cuStreamSynchronize(s));
        if (p % 65536 == 0) sized(keyf("pool.%zx", sizes[k]), p);
        MUST(cuMemFreeAsync(p, s));
        MUST(cuStreamSynchronize(s));
    }
    MUST(cuModuleLoadData(
        &m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4096 .b8 small[4096];\n"
            ".visible .global .align 4096 .b8 some[65536];\n.visible .global .align 4096 .b8 room[8388608];\n"));
    for (unsigned k = 0; k < COUNT(globals); k++) {
        MUST(cuModuleGetGlobal(&p, &n, m, globals[k]));
        add("%s", p % 4096 ? "odd" : ""), range_handle(p, 4096, 0), range_handle(p, 4096, 1);
        if (n > 4096) range_handle(p, n, 0), range_handle(p, 65536, 0), range_handle(p, 65536, 1);
        say_as(keyf("global.%s", globals[k]));
    }
}

/* ---- calls for other memory */

static void told(CUdeviceptr p)
{
    CUdeviceptr b;
    size_t n = 77;
    unsigned v = 1;
    CUipcMemHandle ipc;
    add("size %s", letter(cuMemGetAddressRange(NULL, &n, p)));
    add("%zx", n);
    add(" base %s", letter(cuMemGetAddressRange(&b, NULL, p)));
    add(" neither %s", letter(cuMemGetAddressRange(NULL, NULL, p)));
    add(" free %s", letter(cuMemFree(p)));
    add(" async %s", letter(cuMemFreeAsync(p, NULL)));
    add(" host %s", letter(cuMemFreeHost((void *)p)));
    add(" unregister %s", letter(cuMemHostUnregister((void *)p)));
    CUresult r = cuMemHostGetDevicePointer(&b, (void *)p, 0);
    add(" device %s%s", letter(r), r ? "" : b == p ? "=" : "/");
    r = cuMemHostGetFlags(&v, (void *)p);
    add(" flags %s", letter(r));
    if (!r) add("%x", v);
    v = 1;
    add(" sync %s", letter(cuPointerSetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p)));
    v = 7;
    r = cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
    add(" %s", letter(r));
    if (!r) add("%d", v & 1);
    add(" ipc %s", letter(cuIpcGetMemHandle(&ipc, p)));
    add(" close %s", letter(cuIpcCloseMemHandle(p)));
    add(" reserve %s", letter(cuMemAddressFree(p, GRAN)));
    add(" release %s", letter(cuMemUnmap(p, 0)));
}

static void g_others(void)
{
    static const struct {
        const char *name;
        int count;
        CUmemAccessDesc of[2];
    } given[] = { { "none", 0, { { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_NONE } } },
                  { "device", 1, { { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE } } },
                  { "reads", 1, { { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READ } } },
                  { "host", 1, { { { CU_MEM_LOCATION_TYPE_HOST, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE } } },
                  { "both",
                    2,
                    { { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
                      { { CU_MEM_LOCATION_TYPE_HOST, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE } } } };
    CUdeviceptr at;
    setup();
    MUST(cuMemAddressReserve(&at, 8 * GRAN, 0, 0, 0));
    CUmemGenericAllocationHandle h[] = { make(1, 1, 0), make(1, 1, 1), make(2, 1, 0), make(3, 1, 0), make(3, 1, 1) };
    for (unsigned g = 0; g < COUNT(given); g++) {
        for (unsigned k = 0; k < COUNT(h); k++) {
            MUST(cuMemMap(at + k * GRAN, GRAN, 0, h[k], 0));
            if (given[g].count) cuMemSetAccess(at + k * GRAN, GRAN, given[g].of, (size_t)given[g].count);
        }
        for (unsigned k = 0; k < 6; k++)
            for (int odd = 0; odd < 2; odd++) {
                told(at + k * GRAN + (odd ? 4097 : 0));
                say_as(keyf("%s.%u.%d", given[g].name, k, odd));
            }
        MUST(cuMemUnmap(at, 8 * GRAN));
    }
}

/* ---- released, but mapped */

static void g_released(void)
{
    CUdeviceptr at;
    CUmemGenericAllocationHandle h = 0, g;
    CUmemAllocationProp p;
    setup();
    MUST(cuMemAddressReserve(&at, 8 * GRAN, 0, 0, 0));
    h = make(1, 1, 0);
    MUST(cuMemMap(at, GRAN, 0, h, 0));
    K("release", cuMemRelease(h));
    K("release again", cuMemRelease(h));
    K("properties", cuMemGetAllocationPropertiesFromHandle(&p, h));
    K("map", cuMemMap(at + GRAN, GRAN, 0, h, 0));
    K("map wrong", cuMemMap(at + GRAN, 2 * GRAN, 0, h, 0));
    K("unmap", cuMemUnmap(at, GRAN));
    K("map once more", cuMemMap(at + 2 * GRAN, GRAN, 0, h, 0));
    K("retain", cuMemRetainAllocationHandle(&g, (void *)(at + GRAN)));
    rec("same", "%d", g == h);
    K("unmap all", cuMemUnmap(at, 8 * GRAN));
    K("still there", cuMemMap(at + 2 * GRAN, GRAN, 0, g, 0));
    K("release retained", cuMemRelease(g));
    K("release more", cuMemRelease(g));
    K("unmap again", cuMemUnmap(at, 8 * GRAN));
}

const struct group groups[] = {
    { "holes", g_holes, 1 }, { "sizes", g_sizes, 1 }, { "others", g_others, 1 }, { "released", g_released, 1 }, { 0 }
};
