/* Work that waits in a stream while its memory goes back to a pool, and from the
 * pool to the device. */
#include "../child.h"

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum { WORDS = 1 << 20, SIZE = 4 * WORDS, MAPPING = 32 << 20 };

static CUstream waiting, other;
static uint32_t *gate, *result;

static void start(void)
{
    check_context();
    CHECK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&gate, 4));
    CHECK(cuMemAllocHost((void **)&result, SIZE));
    *gate = 0;
    CHECK(cuStreamWaitValue32(waiting, (CUdeviceptr)gate, 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void open_gate(void) { __atomic_store_n(gate, 1, __ATOMIC_SEQ_CST); }

static CUmemoryPool make_pool(CUmemLocationType where, CUmemAllocationHandleType handles)
{
    CUmemoryPool p;
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = handles,
                                   .location = { .type = where } };
    CHECK(cuMemPoolCreate(&p, &props));
    const CUmemAccessDesc all = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CHECK(cuMemPoolSetAccess(p, &all, 1));
    return p;
}

static CUdeviceptr lent(CUmemoryPool pool, size_t size)
{
    CUdeviceptr p;
    CHECK(cuMemAllocFromPoolAsync(&p, size, pool, other));
    CHECK(cuStreamSynchronize(other));
    return p;
}

static void give_back(CUmemoryPool pool, CUdeviceptr p)
{
    CHECK(cuMemFreeAsync(p, other));
    CHECK(cuStreamSynchronize(other));
    CHECK(cuMemPoolTrimTo(pool, 0));
}

static void fill_and_give_back(CUmemoryPool pool)
{
    CUdeviceptr p = lent(pool, SIZE);
    CHECK(cuMemsetD32Async(p, 7, WORDS, waiting));
    give_back(pool, p);
    open_gate();
    ANSWERS(cuStreamSynchronize(waiting), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_fill_that_waits_does_not_reach_what_its_pool_has_given_back(void)
{
    fill_and_give_back(make_pool(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE));
}

static void nor_does_it_what_a_shared_pool_has_given_back(void)
{
    fill_and_give_back(make_pool(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

static void nor_does_it_what_a_pool_of_the_host_has_given_back(void)
{
    fill_and_give_back(make_pool(CU_MEM_LOCATION_TYPE_HOST, CU_MEM_HANDLE_TYPE_NONE));
}

static void a_copy_that_waits_does_not_read_what_its_pool_has_given_back(void)
{
    CUmemoryPool pool = make_pool(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
    CUdeviceptr p = lent(pool, SIZE);
    CHECK(cuMemcpyDtoHAsync(result, p, SIZE, waiting));
    give_back(pool, p);
    open_gate();
    ANSWERS(cuStreamSynchronize(waiting), CUDA_ERROR_LAUNCH_FAILED);
}

/* All is right: the pool gives back other memory only, for this free has not happened yet. */
static void work_before_a_free_in_its_stream_finds_the_memory(void)
{
    CUmemoryPool pool = make_pool(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
    CUdeviceptr p = lent(pool, SIZE), q = lent(pool, MAPPING);
    CHECK(cuMemsetD32Async(p, 7, WORDS, waiting));
    CHECK(cuMemcpyDtoHAsync(result, p, SIZE, waiting));
    CHECK(cuMemFreeAsync(p, waiting));
    give_back(pool, q);
    open_gate();
    CHECK(cuStreamSynchronize(waiting));
    EXPECT_EQUAL(result[0], 7);
    EXPECT_EQUAL(result[WORDS - 1], 7);
}

/* Memory beside it stays, and is the pool's as before, in a chunk of another size. */
static void work_finds_memory_beside_what_its_pool_has_given_back(void)
{
    CUmemoryPool pool = make_pool(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
    CUdeviceptr below = lent(pool, MAPPING), p = lent(pool, MAPPING), above = lent(pool, SIZE);
    CHECK(cuMemsetD32Async(below, 5, WORDS, waiting));
    CHECK(cuMemsetD32Async(above, 6, WORDS, waiting));
    give_back(pool, p);
    open_gate();
    CHECK(cuStreamSynchronize(waiting));
    CHECK(cuMemcpyDtoH(result, below, 4));
    EXPECT_EQUAL(*result, 5);
    CHECK(cuMemcpyDtoH(result, above + SIZE - 4, 4));
    EXPECT_EQUAL(*result, 6);
}

/* What is allocated there by then is written, as any memory at that address. */
static void work_reaches_what_is_at_its_address_by_then(void)
{
    CUmemoryPool pool = make_pool(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
    CUdeviceptr p = lent(pool, SIZE), q;
    CHECK(cuMemsetD32Async(p, 7, WORDS, waiting));
    give_back(pool, p);
    while ((q = lent(pool, SIZE)) != p) give_back(pool, q); /* addresses take turns */
    open_gate();
    CHECK(cuStreamSynchronize(waiting));
    CHECK(cuMemcpyDtoH(result, q, 4));
    EXPECT_EQUAL(*result, 7);
}

/* As an H200 does, nothing waits. */
static void memory_of_cuMemAlloc_stays_until_the_stream_that_it_was_freed_in_was_waited_for(void)
{
    CUdeviceptr p;
    size_t size;
    CHECK(cuMemAlloc(&p, SIZE));
    CHECK(cuMemsetD32Async(p, 7, WORDS, waiting));
    CHECK(cuMemFreeAsync(p, waiting));
    ANSWERS(cuMemFreeAsync(p, waiting), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemFreeAsync(p + 512, waiting), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
    CHECK(cuMemcpyDtoHAsync(result, p, SIZE, waiting));
    CHECK(cuMemGetAddressRange(NULL, &size, p));
    CHECK(cuStreamSynchronize(other));
    CHECK(cuMemGetAddressRange(NULL, &size, p));
    open_gate();
    CHECK(cuStreamSynchronize(waiting));
    EXPECT_EQUAL(result[WORDS - 1], 7);
    ANSWERS(cuMemGetAddressRange(NULL, &size, p), CUDA_ERROR_NOT_FOUND);
}

/* Whoever frees memory answers for other streams that use it, but it is not given to anybody meanwhile. */
static void memory_that_is_freed_in_a_stream_is_not_lent_while_another_uses_it(void)
{
    CUdeviceptr p, q;
    CHECK(cuMemAlloc(&p, SIZE));
    CHECK(cuMemsetD32Async(p, 7, WORDS, waiting));
    CHECK(cuMemFreeAsync(p, other));
    CHECK(cuStreamSynchronize(other));
    for (int k = 0; k < 200; k++) {
        CHECK(cuMemAlloc(&q, SIZE));
        EXPECT(p != q);
    }
    open_gate();
    CHECK(cuCtxSynchronize());
    CHECK(cuMemAlloc(&q, SIZE));
    CHECK(cuMemFree(q));
}

/* Nobody ever waits; what was freed is found where memory is short. */
static void memory_that_was_freed_in_a_stream_serves_where_there_is_no_other(void)
{
    CUdeviceptr p;
    open_gate();
    CHECK(cuCtxSynchronize());
    for (int k = 0; k < 40; k++) {
        CHECK(cuMemAlloc(&p, 64 << 20));
        CHECK(cuMemFreeAsync(p, other));
    }
}

/* ---- while another thread copies */

enum { ROUNDS = 60 };
static _Atomic CUdeviceptr shown;
static _Atomic bool ended;
static CUcontext context;

static void *copier(void *arg)
{
    char *host = arg;
    CHECK(cuCtxSetCurrent(context));
    while (!ended) {
        CUdeviceptr p = shown;
        CUresult r = p ? cuMemcpyDtoH(host, p, SIZE) : CUDA_SUCCESS;
        EXPECT(r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_LAUNCH_FAILED);
    }
    return NULL;
}

/* A copy that finds the memory gone leaves an error that stays: then nothing more can be seen. */
static bool went_well(CUresult r)
{
    if (r != CUDA_ERROR_LAUNCH_FAILED) CHECK(r);
    return !r;
}

static void copy_meanwhile(void (*give_back_often)(void))
{
    pthread_t thread;
    CHECK(cuCtxGetCurrent(&context));
    open_gate();
    EXPECT(!pthread_create(&thread, NULL, copier, result));
    give_back_often();
    ended = true;
    EXPECT(!pthread_join(thread, NULL));
}

static bool free_under_copies(CUdeviceptr p, int k)
{
    shown = p;
    usleep((useconds_t)(k % 10 * 200));
    return went_well(cuMemFreeAsync(p, other)) && went_well(cuStreamSynchronize(other));
}

static CUmemoryPool shared_pool(void)
{
    return make_pool(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static void give_back_to_a_shared_pool(void)
{
    CUmemoryPool pool = shared_pool();
    CUdeviceptr p;
    for (int k = 0; k < ROUNDS; k++) {
        if (!went_well(cuMemAllocFromPoolAsync(&p, SIZE, pool, other))) return;
        if (!free_under_copies(p, k) || !went_well(cuMemPoolTrimTo(pool, 0))) return;
    }
}

static void a_copy_may_be_under_way_while_a_shared_pool_gives_its_memory_back(void)
{
    copy_meanwhile(give_back_to_a_shared_pool);
}

static void end_shared_pools(void)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemoryPool pool;
    CUdeviceptr p;
    for (int k = 0; k < ROUNDS; k++)
        if (!went_well(cuMemPoolCreate(&pool, &props)) || !went_well(cuMemAllocFromPoolAsync(&p, SIZE, pool, other)) ||
            !went_well(cuMemPoolDestroy(pool)) || !free_under_copies(p, k)) /* it ends with its last memory */
            return;
}

static void a_copy_may_be_under_way_while_a_shared_pool_ends(void) { copy_meanwhile(end_shared_pools); }

static void import_and_free(void)
{
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemoryPool pool = shared_pool(), imported;
    CUmemPoolPtrExportData data;
    CUdeviceptr p = lent(pool, SIZE);
    int fd;
    CHECK(cuMemPoolExportToShareableHandle(&fd, pool, type, 0));
    CHECK(cuMemPoolExportPointer(&data, p));
    for (int k = 0; k < ROUNDS; k++) {
        if (!went_well(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd, type, 0))) return;
        for (int last = 0; last < 2; last++) {
            if (!went_well(cuMemPoolImportPointer(&p, imported, &data))) return;
            if (!free_under_copies(p, k)) return;
            if (last && !went_well(cuMemPoolDestroy(imported))) return;
        }
    }
}

static void a_copy_may_be_under_way_while_imported_memory_or_its_pool_goes(void) { copy_meanwhile(import_and_free); }

static _Atomic bool enough;
static void *make_pools_current(void *c)
{
    CUmemoryPool p;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CHECK(cuCtxSetCurrent(c));
    while (!enough) {
        CHECK(cuMemPoolCreate(&p, &props));
        CHECK(cuDeviceSetMemPool(0, p));
        CHECK(cuMemPoolDestroy(p));
    }
    return NULL;
}

static void who_names_no_pool_does_not_notice_that_the_current_one_goes(void)
{
    CUcontext c;
    CUdeviceptr d;
    pthread_t other_thread;
    CHECK(cuCtxGetCurrent(&c));
    pthread_create(&other_thread, NULL, make_pools_current, c);
    for (int k = 0; k < 30000; k++) {
        CHECK(cuMemAllocAsync(&d, 4096, other));
        CHECK(cuMemFreeAsync(d, other));
        if (k % 64 == 0) CHECK(cuStreamSynchronize(other));
    }
    enough = true;
    pthread_join(other_thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_fill_that_waits_does_not_reach_what_its_pool_has_given_back),
        ALONE(start, nor_does_it_what_a_shared_pool_has_given_back),
        ALONE(start, nor_does_it_what_a_pool_of_the_host_has_given_back),
        ALONE(start, a_copy_that_waits_does_not_read_what_its_pool_has_given_back),
        ALONE(start, work_before_a_free_in_its_stream_finds_the_memory),
        ALONE(start, work_finds_memory_beside_what_its_pool_has_given_back),
        ALONE(start, work_reaches_what_is_at_its_address_by_then),
        ALONE(start, memory_of_cuMemAlloc_stays_until_the_stream_that_it_was_freed_in_was_waited_for),
        ALONE(start, memory_that_is_freed_in_a_stream_is_not_lent_while_another_uses_it),
        ALONE(start, memory_that_was_freed_in_a_stream_serves_where_there_is_no_other),
        ALONE(start, a_copy_may_be_under_way_while_a_shared_pool_gives_its_memory_back),
        ALONE(start, a_copy_may_be_under_way_while_imported_memory_or_its_pool_goes),
        ALONE(start, a_copy_may_be_under_way_while_a_shared_pool_ends),
        ALONE(start, who_names_no_pool_does_not_notice_that_the_current_one_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
