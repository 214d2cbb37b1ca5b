/* Allocation and registration: device, pitched, host, registered, managed, arrays; what pointers are; IPC's errors. */
#include "ask.h"
#include <sys/mman.h>

static __global__ void store(int *p, int v) { *p = v; }
__device__ int variable[100];
__constant__ int constant[10];
__managed__ int managed_variable[10];

static void *p, *q;
static size_t n;
static unsigned u;

static void device(void)
{
    p = (void *)1;
    ASKV("zero", cudaMalloc(&p, 0), "%s", given(p));
    ASK("null", cudaMalloc((void **)NULL, 16));
    ASK("null zero", cudaMalloc((void **)NULL, 0));
    static const size_t huge[] = { 1ul << 40, 1ul << 47, 1ul << 50, 1ul << 63, ~0ul, ~0ul - 4095 };
    for (size_t i = 0; i < COUNT(huge); i++) {
        p = (void *)1;
        ASKV(keyf("huge%zu", i), cudaMalloc(&p, huge[i]), "%s", given(p));
    }
    static const size_t sizes[] = { 1,   2,    255,   256, 257,     511,         512,
                                    513, 4096, 65536, MiB, 2 * MiB, 2 * MiB + 1, 100 * MiB };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        CUdeviceptr base = 0;
        size_t size = 0;
        MUST(cudaMalloc(&p, sizes[i]));
        CUresult r = DRIVER(cuMemGetAddressRange)(&base, &size, (CUdeviceptr)p);
        say(keyf("size%zu", sizes[i]), "%d %s %zu, aligned to 256: %d 512: %d", r,
            base == (CUdeviceptr)p ? "base" : "inside", size, (uintptr_t)p % 256 == 0, (uintptr_t)p % 512 == 0);
        ASK(keyf("free%zu", sizes[i]), cudaFree(p));
    }
    void *many[8];
    for (int i = 0; i < 8; i++) MUST(cudaMalloc(&many[i], 100));
    say("small ones apart", "%zd", (char *)many[1] - (char *)many[0]);
    for (int i = 0; i < 8; i++) ASK(keyf("free.many%d", i), cudaFree(many[i]));
}

static void frees(void)
{
    char local[64];
    void *host = malloc(64);
    ASK("null", cudaFree(NULL));
    ASK("host null", cudaFreeHost(NULL));
    ASK("garbage", cudaFree((void *)0x1000));
    ASK("garbage odd", cudaFree((void *)0x1001));
    ASK("garbage far", cudaFree((void *)0x7f0000000000));
    ASK("minus one", cudaFree((void *)~0ul));
    ASK("host garbage", cudaFreeHost((void *)0x1000));
    ASK("stack", cudaFree(local));
    ASK("host stack", cudaFreeHost(local));
    ASK("heap", cudaFree(host));
    ASK("host heap", cudaFreeHost(host));
    MUST(cudaMalloc(&p, 4096));
    ASK("middle", cudaFree((char *)p + 256));
    ASK("middle odd", cudaFree((char *)p + 1));
    ASK("end", cudaFree((char *)p + 4096));
    ASK("host of device", cudaFreeHost(p));
    ASK("async of device", cudaFreeAsync(p, 0));
    ASK("sync", cudaDeviceSynchronize());
    ASK("twice", cudaFree(p));
    MUST(cudaMalloc(&p, 4096));
    ASK("once", cudaFree(p));
    ASK("twice2", cudaFree(p));
    ASK("host twice", cudaFreeHost(p));
    MUST(cudaMallocHost(&p, 4096));
    ASK("device of host", cudaFree(p));
    ASK("host middle", cudaFreeHost((char *)p + 64));
    ASK("async of host", cudaFreeAsync(p, 0));
    ASK("host", cudaFreeHost(p));
    ASK("host again", cudaFreeHost(p));
    ASK("device of freed host", cudaFree(p));
    MUST(cudaMallocManaged(&p, 4096));
    ASK("host of managed", cudaFreeHost(p));
    ASK("managed middle", cudaFree((char *)p + 64));
    ASK("async of managed", cudaFreeAsync(p, 0));
    ASK("managed", cudaFree(p));
    ASK("managed again", cudaFree(p));
    MUST(cudaMallocAsync(&p, 4096, 0));
    ASK("device of async", cudaFree(p));
    ASK("again of async", cudaFree(p));
    MUST(cudaMallocAsync(&p, 4096, 0));
    ASK("async", cudaFreeAsync(p, 0));
    ASK("async again", cudaFreeAsync(p, 0));
    ASK("sync2", cudaDeviceSynchronize());
    ASK("device of freed async", cudaFree(p));
    MUST(cudaGetSymbolAddress(&p, variable));
    ASK("variable", cudaFree(p));
    MUST(cudaGetSymbolAddress(&p, managed_variable));
    ASK("managed variable", cudaFree(p));
    static char page[8192] __attribute__((aligned(4096)));
    MUST(cudaHostRegister(page, sizeof page, 0));
    ASK("registered", cudaFree(page));
    ASK("host of registered", cudaFreeHost(page));
    ASK("unregister", cudaHostUnregister(page));
    ASK("array", cudaFreeArray(NULL));
    ASK("mipmapped", cudaFreeMipmappedArray(NULL));
}

static void pitch(void)
{
    static const size_t widths[] = { 0,     1,     2,      3,      4,      15,     16,     17,     31,      32,
                                     33,    63,    64,     65,     100,    127,    128,    129,    200,     255,
                                     256,   257,   500,    511,    512,    513,    640,    1000,   1023,    1024,
                                     1025,  1500,  2000,   2047,   2048,   2049,   3000,   4095,   4096,    4097,
                                     5000,  8191,  8192,   8193,   10000,  16384,  16385,  32768,  40000,   65535,
                                     65536, 65537, 100000, 131072, 131073, 200000, 262144, 262145, 1000000, 1048577 };
    static const size_t heights[] = { 1, 2, 3, 7, 16, 100 };
    for (size_t i = 0; i < COUNT(widths); i++)
        for (size_t j = 0; j < COUNT(heights); j++) {
            if (j && i % 6) continue;
            p = NULL;
            n = 7;
            cudaError_t e = cudaMallocPitch(&p, &n, widths[i], heights[j]);
            CUdeviceptr base = 0;
            size_t size = 0;
            if (p) DRIVER(cuMemGetAddressRange)(&base, &size, (CUdeviceptr)p);
            answer(keyf("%zux%zu", widths[i], heights[j]), e, "%s pitch %zu, range %zu", p ? "pointer" : "null", n,
                   size);
            cudaFree(p);
        }
    ASK("zero height", cudaMallocPitch(&p, &n, 16, 0));
    ASK("null", cudaMallocPitch(NULL, &n, 16, 16));
    RISK("null pitch", cudaMallocPitch(&p, NULL, 16, 16));
    ASKV("huge", cudaMallocPitch(&p, &n, 1ul << 40, 1ul << 20), "%zu", n);
    ASKV("overflow", cudaMallocPitch(&p, &n, 1ul << 40, 1ul << 40), "%zu", n);
    ASKV("too wide", cudaMallocPitch(&p, &n, 1ul << 32, 1), "%zu", n);
    ASKV("widest", cudaMallocPitch(&p, &n, 2147483647, 1), "%zu", n);
}

static void extent3d(void)
{
    static const size_t extents[][3] = { { 1, 1, 1 },
                                         { 100, 1, 1 },
                                         { 100, 10, 1 },
                                         { 512, 10, 10 },
                                         { 513, 3, 4 },
                                         { 0, 1, 1 },
                                         { 16, 0, 1 },
                                         { 16, 1, 0 },
                                         { 0, 0, 0 },
                                         { 4000, 30, 20 },
                                         { 1ul << 40, 1ul << 20, 2 } };
    for (size_t i = 0; i < COUNT(extents); i++) {
        struct cudaPitchedPtr pp;
        memset(&pp, 0, sizeof pp);
        const size_t *e = extents[i];
        ASKV(keyf("%zux%zux%zu", e[0], e[1], e[2]), cudaMalloc3D(&pp, make_cudaExtent(e[0], e[1], e[2])),
             "%s pitch %zu xsize %zu ysize %zu", pp.ptr ? "pointer" : "null", pp.pitch, pp.xsize, pp.ysize);
        CUdeviceptr base = 0;
        size_t size = 0;
        if (pp.ptr) DRIVER(cuMemGetAddressRange)(&base, &size, (CUdeviceptr)pp.ptr);
        say(keyf("range%zu", i), "%zu", size);
        cudaFree(pp.ptr);
    }
    RISK("null", cudaMalloc3D(NULL, make_cudaExtent(1, 1, 1)));
}

static void show_pointer(const char *key, const void *pointer)
{
    struct cudaPointerAttributes a;
    memset(&a, 0x55, sizeof a);
    cudaError_t e = cudaPointerGetAttributes(&a, pointer);
    if (e) {
        answer(key, e, "%s", all(&a, 0x55, sizeof a));
        return;
    }
#define RELATION(x) (!a.x ? "null" : a.x == pointer ? "same" : "other")
    answer(key, e, "type %d device %d device pointer %s host pointer %s", a.type, a.device, RELATION(devicePointer),
           RELATION(hostPointer));
}

static void host(void)
{
    static const unsigned flags[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x18, 0x20, 0x40, 0x100, 0x107, 0x80000000u };
    for (size_t i = 0; i < COUNT(flags); i++) {
        p = NULL;
        u = 77;
        ASKV(keyf("alloc.%x", flags[i]), cudaHostAlloc(&p, 4096, flags[i]), "%s", p ? "pointer" : "null");
        if (!p) continue;
        ASKV(keyf("flags.%x", flags[i]), cudaHostGetFlags(&u, p), "%x", u);
        ASKV(keyf("flags.inside.%x", flags[i]), cudaHostGetFlags(&u, (char *)p + 100), "%x", u);
        q = NULL;
        ASKV(keyf("device.%x", flags[i]), cudaHostGetDevicePointer(&q, p, 0), "%s",
             q == p ? "same"
             : q    ? "other"
                    : "null");
        ASKV(keyf("inside.%x", flags[i]), cudaHostGetDevicePointer(&q, (char *)p + 100, 0), "%zd",
             (char *)q - (char *)p);
        show_pointer(keyf("pointer.%x", flags[i]), p);
        ASK(keyf("free.%x", flags[i]), cudaFreeHost(p));
    }
    ASKV("malloc", cudaMallocHost(&p, 100), "%d %s", (uintptr_t)p % 4096 == 0, all(p, 0, 100));
    ASKV("flags", cudaHostGetFlags(&u, p), "%x", u);
    ASKV("flags.end", cudaHostGetFlags(&u, (char *)p + 100), "%x", u);
    ASK("device.flags", cudaHostGetDevicePointer(&q, p, 1));
    RISK("device.null", cudaHostGetDevicePointer(NULL, p, 0));
    q = (void *)1;
    ASKV("device.nullhost", cudaHostGetDevicePointer(&q, NULL, 0), "%s", given(q));
    ASKV("device.local", cudaHostGetDevicePointer(&q, &u, 0), "%s", given(q));
    RISK("flags.null", cudaHostGetFlags(NULL, p));
    ASK("flags.nullhost", cudaHostGetFlags(&u, NULL));
    ASK("flags.local", cudaHostGetFlags(&u, &u));
    ASK("free", cudaFreeHost(p));
    ASK("flags.freed", cudaHostGetFlags(&u, p));
    p = (void *)1;
    ASKV("zero", cudaMallocHost(&p, 0), "%s", given(p));
    p = (void *)1;
    ASKV("zero alloc", cudaHostAlloc(&p, 0, 0), "%s", given(p));
    ASK("null", cudaMallocHost((void **)NULL, 16));
    ASK("null alloc", cudaHostAlloc((void **)NULL, 16, 0));
    p = (void *)1;
    ASKV("huge", cudaMallocHost(&p, 1ul << 50), "%s", given(p));
    ASK("max", cudaMallocHost(&p, ~0ul));
    MUST(cudaMalloc(&p, 100));
    ASK("flags.device", cudaHostGetFlags(&u, p));
    ASK("device.device", cudaHostGetDevicePointer(&q, p, 0));
    ASK("free.device", cudaFree(p));
    MUST(cudaMallocManaged(&p, 100));
    ASKV("flags.managed", cudaHostGetFlags(&u, p), "%x", u);
    ASK("device.managed", cudaHostGetDevicePointer(&q, p, 0));
}

static void registered(void)
{
    static const unsigned flags[] = { 0, 1, 2, 3, 4, 5, 8, 9, 0xa, 0xb, 0x10, 0x20, 0x80000000u };
    char *m = (char *)mmap(NULL, 64 * KiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < COUNT(flags); i++) {
        u = 77;
        q = NULL;
        cudaError_t e = ASK(keyf("register.%x", flags[i]), cudaHostRegister(m, 8192, flags[i]));
        if (e) continue;
        ASKV(keyf("flags.%x", flags[i]), cudaHostGetFlags(&u, m), "%x", u);
        ASKV(keyf("device.%x", flags[i]), cudaHostGetDevicePointer(&q, m, 0), "%s",
             q == m ? "same"
             : q    ? "other"
                    : "null");
        show_pointer(keyf("pointer.%x", flags[i]), m);
        ASK(keyf("unregister.%x", flags[i]), cudaHostUnregister(m));
    }
    ASK("odd", cudaHostRegister(m + 100, 50, 0));
    show_pointer("odd.inside", m + 120);
    show_pointer("odd.before", m);
    show_pointer("odd.after", m + 151);
    ASK("odd.same page", cudaHostRegister(m + 1000, 50, 0));
    ASK("odd.unregister middle", cudaHostUnregister(m + 120));
    ASK("odd.unregister page", cudaHostUnregister(m));
    ASK("odd.unregister", cudaHostUnregister(m + 100));
    ASK("odd.unregister2", cudaHostUnregister(m + 1000));
    ASK("twice", cudaHostRegister(m, 8192, 0));
    ASK("twice same", cudaHostRegister(m, 8192, 0));
    ASK("twice inside", cudaHostRegister(m + 4096, 4096, 0));
    ASK("twice overlap", cudaHostRegister(m + 4096, 8192, 0));
    ASK("twice apart", cudaHostRegister(m + 8192, 4096, 0));
    ASK("unregister apart", cudaHostUnregister(m + 8192));
    ASK("unregister inside", cudaHostUnregister(m + 4096));
    show_pointer("registered inside", m + 5000);
    ASK("unregister", cudaHostUnregister(m));
    ASK("unregister again", cudaHostUnregister(m));
    ASK("unregister null", cudaHostUnregister(NULL));
    ASK("unregister local", cudaHostUnregister(&u));
    ASK("null", cudaHostRegister(NULL, 4096, 0));
    ASK("zero", cudaHostRegister(m, 0, 0));
    ASK("huge", cudaHostRegister(m, 1ul << 50, 0));
    ASK("unmapped", cudaHostRegister((void *)0x10000, 4096, 0));
    munmap(m + 32 * KiB, 4096);
    ASK("hole", cudaHostRegister(m + 28 * KiB, 12 * KiB, 0));
    mprotect(m + 40 * KiB, 8192, PROT_READ);
    ASK("read-only memory", cudaHostRegister(m + 40 * KiB, 4096, 0));
    ASK("read-only memory, flag", cudaHostRegister(m + 40 * KiB, 4096, cudaHostRegisterReadOnly));
    MUST(cudaMallocHost(&p, 8192));
    ASK("pinned", cudaHostRegister(p, 4096, 0));
    ASK("pinned unregister", cudaHostUnregister(p));
    MUST(cudaMalloc(&p, 8192));
    ASK("device", cudaHostRegister(p, 4096, 0));
    MUST(cudaMallocManaged(&p, 8192));
    ASK("managed", cudaHostRegister(p, 4096, 0));
    ASK("managed unregister", cudaHostUnregister(p));
    char *r = (char *)malloc(100000);
    ASK("heap", cudaHostRegister(r, 100000, cudaHostRegisterMapped));
    ASKV("heap.device", cudaHostGetDevicePointer(&q, r + 50, 0), "%zd", (char *)q - r);
    store<<<1, 1>>>((int *)(((uintptr_t)r + 67) & ~63ul), 0x03030303);
    ASK("heap.kernel", cudaDeviceSynchronize());
    say("heap.value", "%s", all((void *)(((uintptr_t)r + 67) & ~63ul), 3, 4));
    ASK("heap.unregister", cudaHostUnregister(r));
}

static void managed(void)
{
    static const unsigned flags[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x101, 0x80000000u };
    for (size_t i = 0; i < COUNT(flags); i++) {
        p = (void *)1;
        ASKV(keyf("flags.%x", flags[i]), cudaMallocManaged(&p, 4096, flags[i]), "%s", given(p));
        if (p > (void *)1) {
            show_pointer(keyf("pointer.%x", flags[i]), p);
            say(keyf("bytes.%x", flags[i]), "%s", all(p, 0, 4096));
            ASK(keyf("free.%x", flags[i]), cudaFree(p));
        }
    }
    p = (void *)1;
    ASKV("zero", cudaMallocManaged(&p, 0), "%s", given(p));
    ASK("null", cudaMallocManaged((void **)NULL, 16));
    p = (void *)1;
    ASKV("huge", cudaMallocManaged(&p, 1ul << 50), "%s", given(p));
    ASK("max", cudaMallocManaged(&p, ~0ul));
    MUST(cudaMallocManaged(&p, 5000));
    CUdeviceptr base = 0;
    size_t size = 0;
    CUresult r = DRIVER(cuMemGetAddressRange)(&base, &size, (CUdeviceptr)p);
    say("range", "%d %d %zu", r, base == (CUdeviceptr)p, size);
    memset(p, 0, 5000);
    store<<<1, 1>>>((int *)p + 500, 0x01010101);
    ASK("kernel", cudaDeviceSynchronize());
    say("value", "%s", all((int *)p + 500, 1, 4));
    managed_variable[3] = 0x02020202;
    store<<<1, 1>>>(&managed_variable[4], 0x03030303);
    ASK("kernel2", cudaDeviceSynchronize());
    say("variable", "%x %x", managed_variable[3], managed_variable[4]);
}

static void pointers(void)
{
    static int static_data[4096];
    int local;
    void *heap = malloc(100);
    cudaStream_t s;
    struct cudaPointerAttributes a;
    show_pointer("null", NULL);
    show_pointer("stack", &local);
    show_pointer("heap", heap);
    show_pointer("static", static_data);
    show_pointer("code", (void *)pointers);
    show_pointer("low", (void *)0x1000);
    show_pointer("high", (void *)~0ul);
    show_pointer("far", (void *)0x7fff00000000);
    MUST(cudaMalloc(&p, 4096));
    show_pointer("device", p);
    show_pointer("device.inside", (char *)p + 4095);
    RISK("attributes null", cudaPointerGetAttributes(NULL, p));
    ASK("free", cudaFree(p));
    show_pointer("device.freed", p);
    MUST(cudaMalloc(&p, 100 * MiB));
    show_pointer("large", p);
    show_pointer("large.end", (char *)p + 100 * MiB - 1);
    ASK("large.free", cudaFree(p));
    show_pointer("large.freed", p);
    MUST(cudaMallocHost(&p, 4096));
    show_pointer("pinned", p);
    show_pointer("pinned.inside", (char *)p + 100);
    ASK("pinned.free", cudaFreeHost(p));
    show_pointer("pinned.freed", p);
    MUST(cudaHostRegister(static_data, sizeof static_data, 0));
    show_pointer("registered", static_data);
    show_pointer("registered.inside", (char *)static_data + 1000);
    ASK("unregister", cudaHostUnregister(static_data));
    show_pointer("registered.gone", static_data);
    MUST(cudaMallocManaged(&p, 4096));
    show_pointer("managed", p);
    show_pointer("managed.inside", (char *)p + 4000);
    ASK("managed.free", cudaFree(p));
    show_pointer("managed.freed", p);
    MUST(cudaStreamCreate(&s));
    MUST(cudaMallocAsync(&p, 4096, s));
    show_pointer("async", p);
    MUST(cudaFreeAsync(p, s));
    MUST(cudaStreamSynchronize(s));
    show_pointer("async.freed", p);
    MUST(cudaGetSymbolAddress(&p, variable));
    show_pointer("variable", p);
    MUST(cudaGetSymbolAddress(&p, constant));
    show_pointer("constant", p);
    MUST(cudaGetSymbolAddress(&p, managed_variable));
    show_pointer("managed variable", p);
    show_pointer("managed variable by name", managed_variable);
    size_t width = 0;
    MUST(cudaMallocPitch(&p, &width, 100, 10));
    show_pointer("pitched", p);
    show_pointer("pitched.inside", (char *)p + width);
    memset(&a, 0, sizeof a);
    CUdeviceptr reserved = 0;
    say("reserve", "%d", DRIVER(cuMemAddressReserve)(&reserved, 2 * MiB, 0, 0, 0));
    show_pointer("reserved", (void *)reserved);
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle;
    say("create", "%d", DRIVER(cuMemCreate)(&handle, 2 * MiB, &prop, 0));
    say("map", "%d", DRIVER(cuMemMap)(reserved, 2 * MiB, 0, handle, 0));
    show_pointer("mapped", (void *)reserved);
    CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    say("access", "%d", DRIVER(cuMemSetAccess)(reserved, 2 * MiB, &access, 1));
    show_pointer("accessible", (void *)reserved);
    ASK("mapped.free", cudaFree((void *)reserved));
}

static void info(void)
{
    size_t available = 0, total = 0, then = 0;
    ASK("get", cudaMemGetInfo(&available, &total));
    say("sense", "%d", available && available <= total);
    MUST(cudaMalloc(&p, 64 * MiB));
    ASK("get2", cudaMemGetInfo(&then, &total));
    say("64 MiB", "%zd", (ssize_t)(available - then));
    MUST(cudaFree(p));
    ASK("get3", cudaMemGetInfo(&then, &total));
    say("freed", "%zd", (ssize_t)(available - then));
    RISK("null free", cudaMemGetInfo(NULL, &total));
    RISK("null total", cudaMemGetInfo(&then, NULL));
}

static void ipc(void)
{
    cudaIpcMemHandle_t h;
    cudaIpcEventHandle_t eh;
    cudaEvent_t e;
    memset(&h, 0, sizeof h);
    memset(&eh, 0, sizeof eh);
    MUST(cudaMalloc(&p, 4096));
    ASK("handle", cudaIpcGetMemHandle(&h, p));
    ASK("handle.inside", cudaIpcGetMemHandle(&h, (char *)p + 512));
    RISK("handle.null", cudaIpcGetMemHandle(NULL, p));
    ASK("handle.nullpointer", cudaIpcGetMemHandle(&h, NULL));
    ASK("handle.host", cudaIpcGetMemHandle(&h, &h));
    MUST(cudaIpcGetMemHandle(&h, p));
    q = (void *)1;
    ASKV("open.own", cudaIpcOpenMemHandle(&q, h, cudaIpcMemLazyEnablePeerAccess), "%s", given(q));
    ASK("open.flags0", cudaIpcOpenMemHandle(&q, h, 0));
    ASK("open.flags2", cudaIpcOpenMemHandle(&q, h, 2));
    RISK("open.null", cudaIpcOpenMemHandle(NULL, h, 1));
    memset(&h, 0, sizeof h);
    ASK("open.zeros", cudaIpcOpenMemHandle(&q, h, 1));
    memset(&h, 0xff, sizeof h);
    ASK("open.ones", cudaIpcOpenMemHandle(&q, h, 1));
    ASK("close.own", cudaIpcCloseMemHandle(p));
    ASK("close.null", cudaIpcCloseMemHandle(NULL));
    ASK("close.garbage", cudaIpcCloseMemHandle((void *)0x1000));
    MUST(cudaMallocManaged(&q, 4096));
    ASK("handle.managed", cudaIpcGetMemHandle(&h, q));
    MUST(cudaMallocHost(&q, 4096));
    ASK("handle.pinned", cudaIpcGetMemHandle(&h, q));
    MUST(cudaMallocAsync(&q, 4096, 0));
    ASK("handle.async", cudaIpcGetMemHandle(&h, q));
    MUST(cudaEventCreate(&e));
    ASK("event.timing", cudaIpcGetEventHandle(&eh, e));
    RISK("event.null", cudaIpcGetEventHandle(&eh, NULL));
    ASK("event.flag", cudaEventCreateWithFlags(&e, cudaEventInterprocess));
    ASK("event.create", cudaEventCreateWithFlags(&e, cudaEventInterprocess | cudaEventDisableTiming));
    ASK("event.handle", cudaIpcGetEventHandle(&eh, e));
    cudaEvent_t f;
    ASK("event.open", cudaIpcOpenEventHandle(&f, eh));
    memset(&eh, 0, sizeof eh);
    ASK("event.zeros", cudaIpcOpenEventHandle(&f, eh));
    RISK("event.opennull", cudaIpcOpenEventHandle(NULL, eh));
}

const struct group groups[] = {
    GROUP(device),  GROUP(frees),    GROUP(pitch), GROUP(extent3d), GROUP(host), GROUP(registered),
    GROUP(managed), GROUP(pointers), GROUP(info),  GROUP(ipc),      LAST_GROUP,
};
