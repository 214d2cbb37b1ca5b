/* Work waits in a stream of one context while another one's memory, which it names, is freed: nobody waits for it
 * (observed on H200), but for arrays. Each in a process of its own, for what goes wrong stays. */
#include "../child.h"

#include <semaphore.h>

enum { BYTES = 4 << 20 };
static CUcontext owner, user;
static CUstream stream;
static CUdeviceptr memory, other;
static sem_t freed;

static void CUDA_CB until_freed(void *arg)
{
    (void)arg;
    sem_wait(&freed);
}

static void start(void)
{
    EXPECT_EQUAL(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQUAL(cuDevicePrimaryCtxRetain(&owner, 0), CUDA_SUCCESS);
    EXPECT_EQUAL(cuCtxCreate(&user, NULL, 0, 0), CUDA_SUCCESS);
    EXPECT_EQUAL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQUAL(cuMemAlloc_v2(&other, BYTES), CUDA_SUCCESS);
    EXPECT_EQUAL(sem_init(&freed, 0, 0), 0);
    EXPECT_EQUAL(cuLaunchHostFunc(stream, until_freed, NULL), CUDA_SUCCESS);
    EXPECT_EQUAL(cuCtxSetCurrent(owner), CUDA_SUCCESS);
}

/* Frees it, and what the stream ends with. */
static CUresult end(CUresult (*let_go)(void))
{
    EXPECT_EQUAL(cuCtxSetCurrent(owner), CUDA_SUCCESS);
    EXPECT_EQUAL(let_go(), CUDA_SUCCESS);
    sem_post(&freed);
    EXPECT_EQUAL(cuCtxSetCurrent(user), CUDA_SUCCESS);
    return cuStreamSynchronize(stream);
}

static CUresult let_go(void) { return cuMemFree_v2(memory); }
static CUresult let_go_of_host(void) { return cuMemFreeHost((void *)memory); }

static void a_fill_of_device_memory_is_an_illegal_access(void)
{
    EXPECT_EQUAL(cuMemAlloc_v2(&memory, BYTES), CUDA_SUCCESS);
    EXPECT_EQUAL(cuCtxSetCurrent(user), CUDA_SUCCESS);
    EXPECT_EQUAL(cuMemsetD8Async(memory, 1, BYTES, stream), CUDA_SUCCESS);
    EXPECT_EQUAL(end(let_go), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_copy_from_pinned_memory_is_a_failed_launch(void)
{
    EXPECT_EQUAL(cuMemAllocHost_v2((void **)&memory, BYTES), CUDA_SUCCESS);
    EXPECT_EQUAL(cuCtxSetCurrent(user), CUDA_SUCCESS);
    EXPECT_EQUAL(cuMemcpyDtoDAsync_v2(other, memory, BYTES, stream), CUDA_SUCCESS);
    EXPECT_EQUAL(end(let_go_of_host), CUDA_ERROR_LAUNCH_FAILED);
}

static void a_fill_of_managed_memory_is_an_illegal_access(void)
{
    EXPECT_EQUAL(cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQUAL(cuCtxSetCurrent(user), CUDA_SUCCESS);
    EXPECT_EQUAL(cuMemsetD8Async(memory, 1, BYTES, stream), CUDA_SUCCESS);
    EXPECT_EQUAL(end(let_go), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_prefetch_of_managed_memory_does_nothing(void)
{
    const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    EXPECT_EQUAL(cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQUAL(cuCtxSetCurrent(user), CUDA_SUCCESS);
    EXPECT_EQUAL(cuMemPrefetchAsync_v2(memory, BYTES, device, 0, stream), CUDA_SUCCESS);
    EXPECT_EQUAL(end(let_go), CUDA_SUCCESS);
    EXPECT_EQUAL(cuMemAlloc_v2(&memory, 64), CUDA_SUCCESS);
}

static CUarray array;
static CUresult let_go_of_array(void) { return cuArrayDestroy(array); }

/* An H200's driver waits for the copy instead. */
static void copy_to_array(unsigned flags)
{
    const CUDA_ARRAY3D_DESCRIPTOR of = {
        .Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1, .Flags = flags
    };
    EXPECT_EQUAL(cuArray3DCreate_v2(&array, &of), CUDA_SUCCESS);
    EXPECT_EQUAL(cuCtxSetCurrent(user), CUDA_SUCCESS);
    const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = other, .srcPitch = 4096,
                                 .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .WidthInBytes = 4096,
                                 .Height = 1024 };
    EXPECT_EQUAL(cuMemcpy2DAsync_v2(&copy, stream), CUDA_SUCCESS);
    EXPECT_EQUAL(end(let_go_of_array), CUDA_ERROR_LAUNCH_FAILED);
}

static void a_copy_to_an_array_is_a_failed_launch(void) { copy_to_array(0); }
static void so_is_one_to_an_array_of_tiles(void) { copy_to_array(CUDA_ARRAY3D_SPARSE); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_fill_of_device_memory_is_an_illegal_access),
        ALONE(start, a_copy_from_pinned_memory_is_a_failed_launch),
        ALONE(start, a_fill_of_managed_memory_is_an_illegal_access),
        ALONE(start, a_prefetch_of_managed_memory_does_nothing),
        ALONE(start, a_copy_to_an_array_is_a_failed_launch),
        ALONE(start, so_is_one_to_an_array_of_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
