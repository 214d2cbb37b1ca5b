/* Sixteen threads that do everything at once, in an order of their own: under
 * ThreadSanitizer (./dev tsan) this finds races, otherwise wrong results.
 * usage: everything [ROUNDS [SEED]] */
#include "../check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 16, SHARED_BYTES = 4 << 20 };

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 count = 7;\n"
                          ".visible .entry add(.param .u64 p, .param .u32 n) { .reg .b64 %a; .reg .b32 %v, %w; "
                          "ld.param.u64 %a,[p]; ld.param.u32 %w,[n]; atom.global.add.u32 %v,[%a],%w; ret; }\n"
                          ".visible .entry fill(.param .u64 p, .param .u32 n) { .reg .b64 %a, %o; .reg .b32 %t, %c, "
                          "%d, %w; ld.param.u64 %a,[p]; ld.param.u32 %w,[n];"
                          " mov.u32 %t,%tid.x; mov.u32 %c,%ctaid.x; mov.u32 %d,%ntid.x; mad.lo.u32 %t,%c,%d,%t; "
                          "mul.wide.u32 %o,%t,4; add.s64 %a,%a,%o; st.global.u32 [%a],%w; ret; }\n";

static CUcontext primary;
static CUmodule common;
static CUdeviceptr counter, common_managed;
static CUmemoryPool common_pool;
static CUgraphExec common_graph;
static CUlibrary common_library;
static _Atomic unsigned counted, host_calls;

struct self {
    unsigned random;
    int number;
};

static unsigned any(struct self *s, unsigned below)
{
    s->random = s->random * 1664525u + 1013904223u;
    return (s->random >> 10) % below;
}

static CUfunction function(CUmodule m, const char *name)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, m, name));
    return f;
}

static void on_host(void *arg)
{
    (void)arg;
    host_calls++;
}

static void on_stream(CUstream s, CUresult r, void *arg)
{
    (void)s;
    EXPECT(!r);
    on_host(arg);
}

static void streams_and_events(struct self *s)
{
    CUstream a, b;
    CUevent e, f;
    CUdeviceptr p;
    unsigned value = any(s, 1000000), got[64], n = 64;
    float ms;
    CHECK(cuStreamCreate(&a, any(s, 2)));
    CHECK(cuStreamCreateWithPriority(&b, CU_STREAM_NON_BLOCKING, -(int)any(s, 3)));
    CHECK(cuEventCreate(&e, 0));
    CHECK(cuEventCreate(&f, any(s, 2) ? CU_EVENT_BLOCKING_SYNC : 0));
    CHECK(cuMemAlloc(&p, 256 + any(s, 100000)));
    CHECK(cuEventRecord(e, a));
    CHECK(cuLaunchKernel(function(common, "fill"), 2, 1, 1, 32, 1, 1, 0, a, (void *[]){ &p, &value }, NULL));
    CHECK(cuEventRecord(f, a));
    CHECK(cuStreamWaitEvent(b, f, 0));
    CHECK(cuLaunchHostFunc(b, on_host, NULL));
    CHECK(cuMemcpyDtoHAsync(got, p, n * 4, b));
    if (any(s, 2)) {
        cuEventQuery(f);
        cuStreamQuery(b);
    }
    CHECK(cuStreamAddCallback(b, on_stream, NULL, 0));
    CHECK(cuStreamSynchronize(b));
    CHECK(cuEventSynchronize(f));
    CHECK(cuEventElapsedTime(&ms, e, f));
    EXPECT(got[0] == value);
    EXPECT(got[63] == value);
    EXPECT(ms >= 0);
    CHECK(cuEventDestroy(e));
    CHECK(cuEventDestroy(f));
    CHECK(cuMemFree(p));
    CHECK(cuStreamDestroy(a));
    CHECK(cuStreamDestroy(b));
}

static void counting(struct self *s)
{
    unsigned by = any(s, 9) + 1;
    CHECK(cuLaunchKernel(function(common, "add"), 3, 1, 1, 32, 1, 1, 0, any(s, 2) ? CU_STREAM_PER_THREAD : 0,
                         (void *[]){ &counter, &by }, NULL));
    counted += 96 * by;
    if (any(s, 3) == 0) CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    if (any(s, 5) == 0) CHECK(cuCtxSynchronize());
}

static void modules(struct self *s)
{
    CUmodule m;
    CUdeviceptr p;
    size_t size;
    unsigned value = 0;
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetGlobal(&p, &size, m, "count"));
    CHECK(cuMemcpyDtoH(&value, p, 4));
    EXPECT(value == 7);
    EXPECT(size == 4);
    unsigned by = any(s, 100);
    CHECK(cuLaunchKernel(function(m, "add"), 1, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, (void *[]){ &p, &by }, NULL));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CHECK(cuMemcpyDtoH(&value, p, 4));
    EXPECT(value == 7 + 32 * by);
    CHECK(cuModuleUnload(m));
}

static void memory(struct self *s)
{
    CUdeviceptr p, q, base;
    size_t bytes = 4096 + any(s, 3000000), size, pitch;
    void *h;
    unsigned char *c;
    CUmemorytype type;
    CHECK(cuMemAlloc(&p, bytes));
    CHECK(cuMemAllocPitch(&q, &pitch, 100, 20, 4));
    CHECK(cuMemHostAlloc(&h, 4096, CU_MEMHOSTALLOC_PORTABLE));
    c = h;
    CHECK(cuMemGetAddressRange(&base, &size, p + bytes / 2));
    EXPECT(base == p);
    EXPECT(size == bytes);
    CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    EXPECT(type == CU_MEMORYTYPE_DEVICE);
    CHECK(cuMemsetD8(p, (unsigned char)s->number, bytes));
    CHECK(cuMemcpyDtoD(q, p, 100));
    CHECK(cuMemcpyDtoH(c, p + bytes - 4096, 4096));
    EXPECT(c[0] == s->number);
    EXPECT(c[4095] == s->number);
    CHECK(cuMemGetInfo(&size, &pitch));
    CHECK(cuMemFreeHost(h));
    CHECK(cuMemFree(q));
    CHECK(cuMemFree(p));
}

static void contexts(struct self *s)
{
    CUcontext c, was;
    CUdeviceptr p;
    unsigned value = any(s, 1000), got;
    CHECK(cuCtxCreate(&c, NULL, 0, 0));
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuMemsetD32(p, value, 1));
    CHECK(cuMemcpyDtoH(&got, p, 4));
    EXPECT(got == value);
    if (any(s, 2)) CHECK(cuMemFree(p));
    CHECK(cuCtxDestroy(c));
    cuCtxPopCurrent(&was);
    CHECK(cuCtxSetCurrent(primary));
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuDevicePrimaryCtxRelease(0));
}

static void waiting_for_values(struct self *s)
{
    CUstream a;
    CUdeviceptr p;
    CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuMemsetD32Async(p, 0, 1, a));
    CHECK(cuStreamSynchronize(a)); /* or the value that is written comes first, and is overwritten */
    CHECK(cuStreamWaitValue32(a, p, (unsigned)s->number + 1, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(cuLaunchHostFunc(a, on_host, NULL));
    CHECK(cuStreamWriteValue32(CU_STREAM_PER_THREAD, p, (unsigned)s->number + 1, 0));
    CHECK(cuStreamSynchronize(a));
    CHECK(cuMemFree(p));
    CHECK(cuStreamDestroy(a));
}

static void stream_ordered(struct self *s)
{
    CUdeviceptr p;
    unsigned value = any(s, 99999), got;
    CUresult r = cuMemAllocAsync(&p, 1024 + any(s, 500000), CU_STREAM_PER_THREAD);
    if (r == CUDA_ERROR_NOT_SUPPORTED) return;
    CHECK(r);
    CHECK(cuMemsetD32Async(p, value, 256, CU_STREAM_PER_THREAD));
    CHECK(cuMemcpyDtoHAsync(&got, p + 1020, 4, CU_STREAM_PER_THREAD));
    CHECK(cuMemFreeAsync(p, CU_STREAM_PER_THREAD));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT(got == value);
}

/* The memory at va through a descriptor, at other addresses, without the right to write. */
static void share(CUmemGenericAllocationHandle h, CUdeviceptr va, size_t bytes, unsigned value)
{
    int fd;
    unsigned got;
    unsigned long long flags, size;
    CUdeviceptr alias;
    CUmemGenericAllocationHandle again;
    CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READ };
    CHECK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CHECK(cuMemAddressReserve(&alias, bytes, 0, va + bytes, 0));
    CHECK(cuMemMap(alias, bytes, 0, again, 0));
    CHECK(cuMemRelease(again));
    CHECK(cuMemSetAccess(alias, bytes, &access, 1));
    CHECK(cuMemGetAccess(&flags, &access.location, alias + 5));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READ);
    CHECK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, alias));
    EXPECT(size == bytes);
    CHECK(cuMemcpyDtoH(&got, alias + 8, 4));
    EXPECT(got == value);
    ANSWERS(cuMemsetD8(alias, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemUnmap(alias, bytes));
    CHECK(cuMemAddressFree(alias, bytes));
}

static void reservations(struct self *s)
{
    size_t bytes = (any(s, 3) + 1ul) << 21;
    CUdeviceptr va;
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
    CUmemAccessDesc access = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    unsigned value = any(s, 1000), got;
    bool shared = any(s, 2);
    if (shared) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CHECK(cuMemAddressReserve(&va, bytes, 0, 0, 0));
    CHECK(cuMemCreate(&h, bytes, &prop, 0));
    CHECK(cuMemMap(va, bytes, 0, h, 0));
    CHECK(cuMemSetAccess(va, bytes, &access, 1));
    CHECK(cuLaunchKernel(function(common, "fill"), 2, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD,
                         (void *[]){ &va, &value }, NULL));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    CHECK(cuMemcpyDtoH(&got, va + 252, 4));
    EXPECT(got == value);
    if (shared) share(h, va, bytes, value);
    CHECK(cuMemUnmap(va, bytes));
    CHECK(cuMemRelease(h));
    CHECK(cuMemAddressFree(va, bytes));
}

static void managed(struct self *s)
{
    CUdeviceptr p;
    unsigned value = any(s, 1000);
    CUresult r = cuMemAllocManaged(&p, 100000, CU_MEM_ATTACH_GLOBAL);
    if (r == CUDA_ERROR_NOT_SUPPORTED) return;
    CHECK(r);
    volatile unsigned *h = (volatile unsigned *)p;
    h[100] = 5;
    CHECK(cuLaunchKernel(function(common, "fill"), 2, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, (void *[]){ &p, &value },
                         NULL));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT(h[0] == value);
    EXPECT(h[63] == value);
    EXPECT(h[100] == 5);
    CHECK(cuMemFree(p));
}

static void questions(struct self *s)
{
    const char *name;
    int v;
    void *f;
    CUdriverProcAddressQueryResult found;
    CHECK(cuGetErrorString((CUresult)any(s, 4), &name));
    CHECK(cuDeviceGetAttribute(&v, (CUdevice_attribute)(1 + any(s, 60)), 0));
    CHECK(cuGetProcAddress("cuMemAlloc", &f, 12000, 0, &found));
    CHECK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function(common, "add")));
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, function(common, "add"), 128, 0));
}

/* A graph of the thread's own, by hand or captured, changed and launched twice; and one that all launch. */
static void graphs(struct self *s)
{
    CUgraph g, copy;
    CUgraphNode n[3], found[8];
    CUgraphExec x;
    CUstream a;
    CUdeviceptr p;
    unsigned value = any(s, 1000), again = any(s, 1000), got;
    size_t count = 8;
    CUgraphExecUpdateResultInfo info;
    CUDA_KERNEL_NODE_PARAMS k = { .func = function(common, "fill"), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                  .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1 };
    CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&p, 4096));
    k.kernelParams = (void *[]){ &p, &value };
    if (any(s, 2)) {
        CHECK(cuGraphCreate(&g, 0));
        CHECK(cuGraphAddKernelNode(&n[0], g, NULL, 0, &k));
        CHECK(cuGraphAddHostNode(&n[1], g, n, 1, &(CUDA_HOST_NODE_PARAMS){ .fn = on_host }));
        CHECK(cuGraphAddEmptyNode(&n[2], g, n, 2));
    } else {
        CHECK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        CHECK(cuLaunchKernel(k.func, 1, 1, 1, 32, 1, 1, 0, a, k.kernelParams, NULL));
        CHECK(cuLaunchHostFunc(a, on_host, NULL));
        CHECK(cuStreamEndCapture(a, &g));
        CHECK(cuGraphGetNodes(g, found, &count));
        n[0] = found[0];
    }
    CHECK(cuGraphInstantiate(&x, g, 0));
    CHECK(cuGraphLaunch(x, a));
    CHECK(cuMemcpyDtoHAsync(&got, p + 124, 4, a));
    CHECK(cuStreamSynchronize(a));
    EXPECT(got == value);
    CHECK(cuGraphClone(&copy, g));
    k.kernelParams = (void *[]){ &p, &again };
    CHECK(cuGraphKernelNodeSetParams(n[0], &k));
    CHECK(cuGraphExecUpdate(x, g, &info));
    CHECK(cuGraphLaunch(x, a));
    CHECK(cuGraphDestroy(copy));
    CHECK(cuGraphDestroy(g));
    CHECK(cuGraphLaunch(common_graph, a));
    counted += 32;
    CHECK(cuMemcpyDtoHAsync(&got, p, 4, a));
    CHECK(cuStreamSynchronize(a));
    EXPECT(got == again);
    CHECK(cuGraphExecDestroy(x));
    CHECK(cuStreamDestroy(a));
    CHECK(cuMemFree(p));
}

/* From a pool of the thread's own, and from one that all use, set, ask and trim. */
static void pools(struct self *s)
{
    CUmemoryPool mine, pool = common_pool;
    CUdeviceptr p;
    cuuint64_t v = any(s, 2) * 64ull << 20;
    unsigned value = any(s, 1000), got;
    int fd;
    CUmemAccess_flags flags;
    CUmemPoolPtrExportData data;
    CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    CUmemAccessDesc access = { here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemPoolProps how = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here,
                           .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    CHECK(cuMemPoolCreate(&mine, &how));
    if (any(s, 2)) pool = mine;
    CHECK(cuMemAllocFromPoolAsync(&p, 1 << (10 + any(s, 12)), pool, CU_STREAM_PER_THREAD));
    CHECK(cuMemsetD32Async(p, value, 8, CU_STREAM_PER_THREAD));
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &v));
    CHECK(cuMemPoolSetAccess(pool, &access, 1));
    CHECK(cuMemPoolGetAccess(&flags, pool, &here));
    if (pool == mine) {
        CHECK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        CHECK(cuMemPoolExportPointer(&data, p));
        close(fd);
    }
    CHECK(cuMemcpyDtoHAsync(&got, p + 28, 4, CU_STREAM_PER_THREAD));
    CHECK(cuMemFreeAsync(p, CU_STREAM_PER_THREAD));
    CHECK(cuMemPoolTrimTo(pool, 0));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT(got == value);
    CHECK(cuMemPoolDestroy(mine));
}

/* Words that are the thread's own in pages that are everybody's, which are advised, moved and asked about meanwhile. */
static void shared_pages(struct self *s)
{
    CUmemLocation to[] = { { .type = CU_MEM_LOCATION_TYPE_DEVICE }, { .type = CU_MEM_LOCATION_TYPE_HOST } };
    const CUmem_advise advice[] = { CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_UNSET_READ_MOSTLY,
                                    CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
                                    CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_UNSET_ACCESSED_BY };
    size_t at = any(s, SHARED_BYTES / 4096) * 4096ul, size = (1 + any(s, 64)) * 4096ul;
    CUdeviceptr word = common_managed + any(s, SHARED_BYTES / 4096) * 4096ul + (unsigned)s->number * 128u;
    if (at + size > SHARED_BYTES) size = SHARED_BYTES - at;
    volatile unsigned *h = (volatile unsigned *)word;
    unsigned before = *h, by = any(s, 9), answer;
    CHECK(cuMemAdvise(common_managed + at, size, advice[any(s, 6)], to[any(s, 2)]));
    CHECK(cuMemPrefetchAsync(common_managed + at, size, to[any(s, 2)], 0, CU_STREAM_PER_THREAD));
    *h = before + 1;
    CHECK(cuLaunchKernel(function(common, "add"), 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, (void *[]){ &word, &by }, NULL));
    CHECK(cuMemRangeGetAttribute(&answer, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, common_managed + at, size));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT(*h == before + 1 + by);
}

static void registered(struct self *s)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) /* the device's own heap lies where malloc's does then */
    return;
#endif
    size_t bytes = (1 + any(s, 20)) * 4096ul;
    unsigned *h = aligned_alloc(4096, bytes), value = any(s, 1000);
    CUdeviceptr p;
    h[0] = 1;
    CHECK(cuMemHostRegister(h, bytes, 0));
    CHECK(cuMemHostGetDevicePointer(&p, h, 0));
    CHECK(cuLaunchKernel(function(common, "fill"), 1, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, (void *[]){ &p, &value }, NULL));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT(h[31] == value);
    CHECK(cuMemHostUnregister(h));
    EXPECT(h[0] == value);
    free(h);
}

static void arrays(struct self *s)
{
    CUarray a;
    CUtexObject t;
    char in[64], out[64];
    CUDA_ARRAY_DESCRIPTOR d = { .Width = 64, .Height = 1 + any(s, 9), .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                .NumChannels = 1 };
    CUDA_RESOURCE_DESC of = { .resType = CU_RESOURCE_TYPE_ARRAY };
    memset(in, s->number + 1, sizeof in);
    CHECK(cuArrayCreate(&a, &d));
    of.res.array.hArray = a;
    CHECK(cuTexObjectCreate(&t, &of, &(CUDA_TEXTURE_DESC){ .flags = CU_TRSF_READ_AS_INTEGER }, NULL));
    CHECK(cuMemcpyHtoA(a, 0, in, sizeof in));
    CHECK(cuTexObjectGetResourceDesc(&of, t));
    CHECK(cuMemcpyAtoH(out, a, 0, sizeof out));
    EXPECT(!memcmp(in, out, sizeof in));
    CHECK(cuTexObjectDestroy(t));
    CHECK(cuArrayDestroy(a));
}

/* A library of the thread's own, and one of everybody's; what of both can be set. */
static void libraries(struct self *s)
{
    CUlibrary l;
    CUkernel k[2];
    CUfunction f;
    CUdeviceptr p;
    size_t size;
    int v;
    unsigned by = 1;
    CHECK(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&k[0], l, "add"));
    CHECK(cuLibraryGetKernel(&k[1], common_library, "add"));
    CHECK(cuLibraryGetGlobal(&p, &size, l, "count"));
    for (int j = 0; j < 2; j++) {
        CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024 << any(s, 4), k[j], 0));
        CHECK(cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k[j], 0));
        CHECK(cuKernelGetFunction(&f, k[j]));
        CHECK(cuLaunchKernel(any(s, 2) ? f : (CUfunction)k[j], 1, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD,
                             (void *[]){ &counter, &by }, NULL));
        counted += 32;
    }
    CHECK(cuLibraryUnload(l));
}

/* What other processes could open. */
static void handles(struct self *s)
{
    CUipcMemHandle h;
    CUipcEventHandle g;
    CUdeviceptr p;
    CUevent e;
    CHECK(cuMemAlloc(&p, 4096 + any(s, 1000000)));
    CHECK(cuIpcGetMemHandle(&h, p));
    CHECK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    CHECK(cuIpcGetEventHandle(&g, e));
    CHECK(cuEventRecord(e, CU_STREAM_PER_THREAD));
    CHECK(cuEventSynchronize(e));
    CHECK(cuEventDestroy(e));
    CHECK(cuMemFree(p));
}

/* Settings of what all threads share. */
static void settings(struct self *s)
{
    size_t size;
    unsigned flags;
    int active;
    CUfunc_cache cache;
    CUstreamAttrValue v = { .syncPolicy = CU_SYNC_POLICY_AUTO };
    CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024u << any(s, 3)));
    CHECK(cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE));
    CHECK(cuCtxSetCacheConfig((CUfunc_cache)any(s, 3)));
    CHECK(cuCtxGetCacheConfig(&cache));
    CHECK(cuDevicePrimaryCtxSetFlags(0, any(s, 2) ? CU_CTX_SCHED_SPIN : CU_CTX_SCHED_BLOCKING_SYNC));
    CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(cuCtxGetFlags(&flags));
    CHECK(cuStreamSetAttribute(CU_STREAM_PER_THREAD, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    CHECK(cuFuncSetCacheConfig(function(common, "fill"), (CUfunc_cache)any(s, 3)));
    CHECK(cuFuncSetAttribute(function(common, "fill"), CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, (int)any(s, 100)));
    CHECK(cuMemGetInfo(&size, &size));
}

static void *worker(void *arg)
{
    static void (*const deeds[])(
        struct self *) = { streams_and_events, counting,       modules,      memory,  contexts,
                           waiting_for_values, stream_ordered, reservations, managed, questions,
                           graphs,             pools,          shared_pages, registered, arrays,
                           libraries,          handles,        settings };
    struct self *s = arg;
    int rounds = s->number;
    s->number = (int)(s->random % THREADS);
    CHECK(cuCtxSetCurrent(primary));
    for (int k = 0; k < rounds; k++) deeds[any(s, sizeof deeds / sizeof *deeds)](s);
    return NULL; /* others may still capture, so that the context cannot be waited for */
}

static void make_common(void)
{
    CUgraph g;
    CUgraphNode n;
    unsigned by = 1;
    CUmemPoolProps how = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                           .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUDA_KERNEL_NODE_PARAMS k = { .func = function(common, "add"), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                  .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1 };
    k.kernelParams = (void *[]){ &counter, &by };
    CHECK(cuMemPoolCreate(&common_pool, &how));
    CHECK(cuMemAllocManaged(&common_managed, SHARED_BYTES, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuLibraryLoadData(&common_library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuGraphCreate(&g, 0));
    CHECK(cuGraphAddKernelNode(&n, g, NULL, 0, &k));
    CHECK(cuGraphInstantiate(&common_graph, g, 0));
    CHECK(cuGraphDestroy(g));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 40;
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1, total;
    pthread_t t[THREADS];
    struct self self[THREADS];
    alarm(200);
    primary = check_context();
    CHECK(cuModuleLoadData(&common, ptx));
    CHECK(cuMemAlloc(&counter, 4));
    CHECK(cuMemsetD32(counter, 0, 1));
    make_common();
    for (int k = 0; k < THREADS; k++) {
        self[k] = (struct self){ seed * THREADS + (unsigned)k, rounds };
        EXPECT(!pthread_create(&t[k], NULL, worker, &self[k]));
    }
    for (int k = 0; k < THREADS; k++) pthread_join(t[k], NULL);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(&total, counter, 4));
    EXPECT(total == counted);
    CHECK(cuModuleUnload(common));
    CHECK(cuDevicePrimaryCtxRelease(0));
    return 0;
}
