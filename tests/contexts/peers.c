/* Two devices, through the whole library: what peer access and the end of a
 * context do to each kind of memory. A kernel's fault is the process's last deed
 * on a device, so each case is a process. */
#include "../child.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry poke(.param .u64 a, .param .u32 b){ .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
                          "ld.param.u64 %d1,[a]; ld.param.u32 %r1,[b]; cvta.to.global.u64 %d1,%d1;\n"
                          "st.global.u32 [%d1],%r1; ret; }\n";

static CUcontext on[2];

static CUfunction kernel(CUcontext c)
{
    CUmodule m;
    CUfunction f;
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "poke"));
    return f;
}

static CUresult store(CUfunction f, CUdeviceptr p, unsigned value)
{
    void *arguments[] = { &p, &value };
    CUresult r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    return r ? r : cuCtxSynchronize();
}

static CUdeviceptr memory(CUcontext c)
{
    CUdeviceptr p;
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuMemAlloc(&p, 4096));
    CHECK(cuMemsetD32(p, 1, 1024));
    return p;
}

static unsigned value_at(CUdeviceptr p)
{
    unsigned v = 0;
    CHECK(cuMemcpyDtoH(&v, p, 4));
    return v;
}

static int attribute(CUpointer_attribute a, CUdeviceptr p)
{
    int v = -1;
    return cuPointerGetAttribute(&v, a, p) ? -1 : v;
}

/* What each case begins with. */
static void start(void)
{
    setenv("FAULTLINE_DEVICES", "2", 1);
    CHECK(cuInit(0));
    for (int k = 0; k < 2; k++) CHECK(cuDevicePrimaryCtxRetain(&on[k], k));
}

/* ---- peers */

/* Whether the current context's kernels may touch it. The access flags are the owner's whoever asks. */
static bool reaches(CUdeviceptr p)
{
    CUdeviceptr same;
    EXPECT_EQUAL(attribute(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p), CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    return !cuPointerGetAttribute(&same, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p);
}

static void kernels_reach_a_peers_memory_while_access_is_enabled(void)
{
    CUdeviceptr other = memory(on[1]), before = memory(on[1]);
    CUfunction f = kernel(on[0]);
    EXPECT(!reaches(other));
    CHECK(cuCtxEnablePeerAccess(on[1], 0));
    ANSWERS(cuCtxEnablePeerAccess(on[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    EXPECT(reaches(other));
    EXPECT(!store(f, other, 5));
    EXPECT_EQUAL(value_at(other), 5);
    /* also what is allocated later */
    CUdeviceptr later = memory(on[1]);
    CHECK(cuCtxSetCurrent(on[0]));
    EXPECT(!store(f, later, 6));
    EXPECT_EQUAL(value_at(later), 6);
    /* not the other way round */
    CUdeviceptr mine = memory(on[0]);
    CHECK(cuCtxSetCurrent(on[1]));
    EXPECT(!reaches(mine));
    CHECK(cuCtxSetCurrent(on[0]));
    CHECK(cuCtxDisablePeerAccess(on[1]));
    ANSWERS(cuCtxDisablePeerAccess(on[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    EXPECT_EQUAL(store(f, before, 7), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void one_contexts_peer_access_ends_with_it_and_not_with_anothers(void)
{
    CUcontext second;
    CUdeviceptr other = memory(on[1]);
    CHECK(cuCtxCreate(&second, NULL, 0, 0));
    CUfunction f = kernel(second);
    CHECK(cuCtxEnablePeerAccess(on[1], 0));
    CHECK(cuCtxSetCurrent(on[0]));
    CHECK(cuCtxEnablePeerAccess(on[1], 0));
    CHECK(cuCtxDisablePeerAccess(on[1]));
    CHECK(cuCtxSetCurrent(second));
    EXPECT(!store(f, other, 5));
    EXPECT_EQUAL(value_at(other), 5);
    CHECK(cuCtxDestroy(second));
    f = kernel(on[0]);
    EXPECT_EQUAL(store(f, other, 6), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void copies_between_devices_need_no_peer_access(void)
{
    CUdeviceptr a = memory(on[0]), b = memory(on[1]);
    CHECK(cuMemsetD32(b, 9, 1024));
    CHECK(cuCtxSetCurrent(on[0]));
    CHECK(cuMemcpyPeer(a, on[0], b, on[1], 4096));
    EXPECT_EQUAL(value_at(a), 9);
    CHECK(cuCtxSetCurrent(on[1]));
    CHECK(cuMemsetD32(b, 8, 1024));
    CHECK(cuCtxSetCurrent(on[0]));
    CHECK(cuMemcpyDtoD(a, b, 4096));
    EXPECT_EQUAL(value_at(a), 8);
}

static atomic_bool held;

static void CUDA_CB hold(void *unused)
{
    (void)unused;
    while (atomic_load(&held)) sched_yield();
}

static void change_later(CUdeviceptr p, unsigned value, CUstream s) { CHECK(cuMemsetD32Async(p, value, 1024, s)); }

/* From a device that is busy, and to it. */
static void copies_in_default_streams_wait_for_both_devices_and_both_for_them(void)
{
    for (int from = 0; from < 2; from++) {
        CUdeviceptr mine = memory(on[1]), others = memory(on[0]);
        CUstream blocking;
        CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
        atomic_store(&held, true);
        CHECK(cuLaunchHostFunc(from ? blocking : NULL, hold, NULL));
        change_later(others, 2, from ? blocking : NULL);
        CHECK(cuCtxSetCurrent(on[1]));
        change_later(mine, 3, NULL);
        CHECK(from ? cuMemcpyDtoDAsync(mine, others, 4096, NULL)
                   : cuMemcpyPeerAsync(others, on[0], mine, on[1], 4096, NULL));
        CHECK(cuCtxSetCurrent(on[0]));
        change_later(others, from ? 5 : 4, blocking);
        if (!from) CHECK(cuMemcpyAsync(mine, others, 4096, NULL));
        atomic_store(&held, false);
        CHECK(cuCtxSynchronize());
        EXPECT_EQUAL(value_at(others), from ? 5 : 4);
        CHECK(cuCtxSetCurrent(on[1]));
        CHECK(cuCtxSynchronize());
        EXPECT_EQUAL(value_at(mine), from ? 2 : 4);
    }
}

static void every_device_reaches_pinned_and_registered_memory(void)
{
    void *pinned, *own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUfunction f[2] = { kernel(on[0]), kernel(on[1]) };
    CHECK(cuMemAllocHost(&pinned, 4096));
    CHECK(cuMemHostRegister(own, 8192, 0));
    for (int k = 0; k < 2; k++) {
        CHECK(cuCtxSetCurrent(on[k]));
        EXPECT(!store(f[k], (CUdeviceptr)pinned + 4 * (unsigned)k, 3 + (unsigned)k));
        EXPECT(!store(f[k], (CUdeviceptr)own + 4096 + 4 * (unsigned)k, 5 + (unsigned)k));
        EXPECT_EQUAL(((unsigned *)pinned)[k], 3 + (unsigned)k);
        EXPECT_EQUAL(((unsigned *)own)[1024 + k], 5 + (unsigned)k);
    }
}

/* ---- the end of a context */

static void a_destroyed_context_leaves_nothing_behind(void)
{
    CUcontext c;
    CUdeviceptr p, q;
    void *pinned, *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before, after, total;
    CHECK(cuCtxSetCurrent(on[0]));
    CHECK(cuMemGetInfo(&before, &total));
    CHECK(cuCtxCreate(&c, NULL, 0, 0));
    CHECK(cuMemAlloc(&p, 100));
    CHECK(cuMemAlloc(&q, 5 << 20));
    CHECK(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE));
    CHECK(cuMemHostRegister(own, 4096, 0));
    ((char *)own)[7] = 7;
    CHECK(cuCtxDestroy(c));
    CHECK(cuCtxSetCurrent(on[0]));
    EXPECT_EQUAL(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), -1);
    EXPECT_EQUAL(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, q), -1);
    EXPECT_EQUAL(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)pinned), -1);
    EXPECT_EQUAL(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)own), -1);
    ANSWERS(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    EXPECT_EQUAL(((char *)own)[7], 7);
    ANSWERS(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemGetInfo(&after, &total));
    EXPECT_EQUAL(after, before);
    CHECK(cuMemHostRegister(own, 4096, 0));
    CHECK(cuMemHostUnregister(own));
}

/* As an H200 answered. */
static void fills_need_peer_access_but_as_nodes_of_graphs(void)
{
    CUdeviceptr p = memory(on[1]);
    CUgraph g;
    CUgraphNode n;
    CUgraphExec x;
    CHECK(cuCtxSetCurrent(on[0]));
    ANSWERS(cuMemsetD8(p, 9, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemsetD2D32Async(p, 256, 9, 1, 4, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemsetD8(p, 9, 0));
    EXPECT_EQUAL(value_at(p), 1);
    const CUDA_MEMSET_NODE_PARAMS two = { .dst = p, .value = 2, .elementSize = 4, .width = 1, .height = 1 };
    CHECK(cuGraphCreate(&g, 0));
    CHECK(cuGraphAddMemsetNode(&n, g, NULL, 0, &two, on[0]));
    CHECK(cuGraphInstantiate(&x, g, 0));
    CHECK(cuGraphLaunch(x, NULL));
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(value_at(p), 2);
    CHECK(cuCtxEnablePeerAccess(on[1], 0));
    CHECK(cuMemsetD32(p, 3, 1));
    EXPECT_EQUAL(value_at(p), 3);
}

/* As an H200 answered. */
static void the_pool_of_another_device_has_to_be_opened_even_for_copies(void)
{
    const CUmemAccessDesc opened = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemoryPool pool;
    CUdeviceptr p, own = memory(on[0]);
    CHECK(cuCtxSetCurrent(on[1]));
    CHECK(cuDeviceGetDefaultMemPool(&pool, 1));
    CHECK(cuMemAllocAsync(&p, 4096, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxSetCurrent(on[0]));
    ANSWERS(cuMemcpyDtoD(p, own, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyDtoD(own, p, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyHtoD(p, &(int){ 5 }, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemsetD8(p, 9, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemPoolSetAccess(pool, &opened, 1));
    CHECK(cuMemcpyDtoD(p, own, 4));
    EXPECT_EQUAL(value_at(p), 1);
    CHECK(cuMemsetD32(p, 3, 1));
    EXPECT_EQUAL(value_at(p), 3);
}

static void the_reset_of_a_peer_takes_its_memory_from_everyone(void)
{
    CUdeviceptr p = memory(on[1]), kept = memory(on[0]);
    CUfunction f = kernel(on[0]);
    CHECK(cuCtxEnablePeerAccess(on[1], 0));
    EXPECT(!store(f, p, 1));
    CHECK(cuDevicePrimaryCtxReset(1));
    EXPECT_EQUAL(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), -1);
    EXPECT(!store(f, kept, 2));
    EXPECT_EQUAL(value_at(kept), 2);
    EXPECT_EQUAL(store(f, p, 3), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, kernels_reach_a_peers_memory_while_access_is_enabled),
        ALONE(start, one_contexts_peer_access_ends_with_it_and_not_with_anothers),
        ALONE(start, copies_between_devices_need_no_peer_access),
        ALONE(start, copies_in_default_streams_wait_for_both_devices_and_both_for_them),
        ALONE(start, fills_need_peer_access_but_as_nodes_of_graphs),
        ALONE(start, the_pool_of_another_device_has_to_be_opened_even_for_copies),
        ALONE(start, every_device_reaches_pinned_and_registered_memory),
        ALONE(start, a_destroyed_context_leaves_nothing_behind),
        ALONE(start, the_reset_of_a_peer_takes_its_memory_from_everyone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
