/* Memory for which there was no descriptor when it was made moves to a file of its own when other processes are to have
 * it: that is possible whenever there are descriptors again, and nothing that is written meanwhile is lost.
 * usage: FAULTLINE_PROFILE=h200-nvswitch FAULTLINE_DEVICES=3 moved */
#include "multicast_rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum { LIMIT = 200 };

static void start(void)
{
    CHECK(cuInit(0));
    for (int k = 0; k < TEAM; k++) CHECK(cuDevicePrimaryCtxRetain(&contexts[k], k));
    on(0);
}

/* Of device 0, and exportable; while it is made few descriptors are left. */
static CUmemGenericAllocationHandle make_without_file(size_t size)
{
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemGenericAllocationHandle h;
    int taken[LIMIT], count = 0;
    EXPECT(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){ LIMIT, LIMIT }));
    while ((taken[count] = dup(0)) >= 0) count++;
    close(taken[--count]);
    CHECK(cuMemCreate(&h, size, &p, 0));
    while (count) close(taken[--count]);
    return h;
}

static CUdeviceptr map_for_device_0(CUmemGenericAllocationHandle h, size_t size)
{
    CUdeviceptr at = map(h, size);
    access_by(at, size, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return at;
}

static void export_and_close(CUmemGenericAllocationHandle h)
{
    int fd;
    CHECK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
}

static uint32_t word(CUdeviceptr at)
{
    uint32_t w;
    CHECK(cuMemcpyDtoH(&w, at, 4));
    return w;
}

static void it_can_be_bound_to_an_object_that_is_shared(void)
{
    const CUmulticastObjectProp prop = { .numDevices = 2,
                                         .size = SIZE,
                                         .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    CUmemGenericAllocationHandle h = make_without_file(SIZE);
    CUdeviceptr at = map_for_device_0(h, SIZE);
    CHECK(cuMemsetD32(at, 5, SIZE / 4));
    CHECK(cuMulticastCreate(&object, &prop));
    for (int k = 0; k < 2; k++) CHECK(cuMulticastAddDevice(object, k));
    CHECK(cuMulticastBindMem(object, 0, h, 0, SIZE, 0));
    EXPECT_EQUAL(word(at + SIZE - 4), 5);
    export_and_close(h);
    EXPECT_EQUAL(word(at + SIZE - 4), 5);
}

static void a_fill_that_waits_is_seen_after_it_was_exported(void)
{
    CUmemGenericAllocationHandle h = make_without_file(SIZE);
    CUdeviceptr at = map_for_device_0(h, SIZE);
    CUstream s;
    uint32_t *flag;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&flag, 4));
    *flag = 0;
    CHECK(cuMemsetD32(at, 1, SIZE / 4));
    CHECK(cuStreamWaitValue32(s, (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    CHECK(cuMemsetD32Async(at, 2, SIZE / 8, s));
    export_and_close(h);
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    CHECK(cuStreamSynchronize(s));
    EXPECT_EQUAL(word(at), 2);
    EXPECT_EQUAL(word(at + SIZE / 2 - 4), 2);
    EXPECT_EQUAL(word(at + SIZE / 2), 1);
}

/* ---- kernels of another thread */

static const char increment_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry increment(.param .u64 p)\n{\n"
    ".reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [p];\n"
    "ld.global.u32 %r, [%a]; add.u32 %r, %r, 1; st.global.u32 [%a], %r; ret;\n}\n";

static CUdeviceptr counter;
static _Atomic unsigned increments;
static _Atomic bool enough;

static void *increment(void *unused)
{
    CUmodule m;
    CUfunction f;
    CUstream s;
    on(0);
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&m, increment_ptx));
    CHECK(cuModuleGetFunction(&f, m, "increment"));
    while (!atomic_load(&enough)) {
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ &counter }, NULL));
        CHECK(cuStreamSynchronize(s));
        atomic_fetch_add(&increments, 1);
    }
    return unused;
}

static void wait_for_increments(void)
{
    const unsigned before = atomic_load(&increments);
    while (atomic_load(&increments) - before < 20) usleep(100);
}

static void kernels_of_another_thread_lose_nothing_while_it_is_exported(void)
{
    enum { LARGE = 64 << 20 }; /* its bytes take a while */
    CUmemGenericAllocationHandle h = make_without_file(LARGE);
    pthread_t other;
    counter = map_for_device_0(h, LARGE);
    CHECK(cuMemsetD32(counter, 0, 1));
    CHECK(cuMemsetD32(counter + 4096, 1, LARGE / 4 - 1024));
    EXPECT(!pthread_create(&other, NULL, increment, NULL));
    wait_for_increments();
    export_and_close(h);
    wait_for_increments();
    atomic_store(&enough, true);
    EXPECT(!pthread_join(other, NULL));
    EXPECT_EQUAL(word(counter), atomic_load(&increments));
    EXPECT_EQUAL(word(counter + LARGE - 4), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, it_can_be_bound_to_an_object_that_is_shared),
        ALONE(start, a_fill_that_waits_is_seen_after_it_was_exported),
        ALONE(start, kernels_of_another_thread_lose_nothing_while_it_is_exported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
