/* What of its memory a pool lends first, when it gives some back and what it counts, as an H200 does. */
#include "../check.h"
#include "pool_rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static void waiting_for_an_event_is_waiting_for_the_frees_before_it(void **state)
{
    (void)state;
    CUevent event;
    ok(cuEventCreate(&event, 0));
    ok(cuMemFreeAsync(take(CHUNK, a), a));
    ok(cuEventRecord(event, b));
    ok(cuEventSynchronize(event));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    ok(cuEventRecord(event, a));
    ok(cuEventSynchronize(event));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    ok(cuEventDestroy(event));
}

/* Anything issued into a blocking stream comes after what the legacy stream was given before. */
static void waiting_for_a_stream_is_waiting_for_what_the_legacy_stream_freed_before_its_work(void **state)
{
    (void)state;
    CUstream blocking;
    ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CUdeviceptr other, lent = 0;
    ok(cuMemAlloc(&other, 4096));
    for (int lends = 0; lends < 2; lends++) {
        ok(cuMemFreeAsync(take(CHUNK, CU_STREAM_LEGACY), CU_STREAM_LEGACY));
        ok(cuStreamSynchronize(blocking));
        assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
        if (lends)
            ok(cuMemAllocAsync(&lent, 64, blocking));
        else
            ok(cuMemsetD8Async(other, 1, 64, blocking));
        ok(cuStreamSynchronize(blocking));
        assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    }
    ok(cuMemFreeAsync(lent, blocking));
    ok(cuMemFree(other));
    ok(cuStreamDestroy(blocking));
}

static void all_frees_of_a_piece_must_have_been_waited_for(void **state)
{
    (void)state;
    CUdeviceptr p = take(4096, a), q = take(4096, a);
    ok(cuMemFreeAsync(q, b));
    ok(cuMemFreeAsync(p, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    ok(cuStreamSynchronize(b));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
}

static void what_cuMemFree_takes_back_stays_counted_as_used(void **state)
{
    (void)state;
    CUdeviceptr p = take(4096, a);
    ok(cuStreamSynchronize(a));
    ok(cuMemFree(p));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 4096);
}

static void a_trim_that_keeps_all_bytes_that_can_be_named_keeps_none(void **state)
{
    (void)state;
    const cuuint64_t all = UINT64_MAX;
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (void *)&all));
    ok(cuMemFreeAsync(take(CHUNK, a), a));
    ok(cuStreamSynchronize(a));
    ok(cuMemPoolTrimTo(pool, SIZE_MAX));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
}

static void what_was_freed_and_is_lent_again_need_not_be_waited_for(void **state)
{
    (void)state;
    CUevent event;
    ok(cuMemFreeAsync(take(CHUNK, a), a));
    ok(cuEventCreate(&event, 0));
    ok(cuEventRecord(event, a));
    ok(cuStreamWaitEvent(b, event, 0));
    ok(cuMemFreeAsync(take(CHUNK, b), b));
    ok(cuStreamSynchronize(b));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    ok(cuEventDestroy(event));
}

static void memory_is_exported_only_from_a_pool_that_was(void **state)
{
    (void)state;
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                             .handleTypes = type };
    CUmemPoolPtrExportData data;
    CUmemoryPool shared;
    CUdeviceptr p;
    int fd;
    ok(cuMemPoolCreate(&shared, &props));
    ok(cuMemAllocFromPoolAsync(&p, 512, shared, a));
    assert_int_equal(cuMemPoolExportPointer(&data, p), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemPoolExportToShareableHandle(&fd, shared, type, 0));
    ok(cuMemPoolExportPointer(&data, p));
    ok(close(fd));
    ok(cuMemFreeAsync(p, a));
    ok(cuMemPoolDestroy(shared));
}

static void the_end_of_a_pool_is_lent_last(void **state)
{
    (void)state;
    CUdeviceptr large = take(16 * MiB, a), last = take(512, a);
    ok(cuMemFreeAsync(large, a));
    ok(cuStreamSynchronize(a));
    assert_true(take(4096, b) == large); /* the end is smaller, but large enough */
    ok(cuMemFreeAsync(large, b));
    ok(cuMemFreeAsync(last, b));
}

/* Not even if that fits better, and nothing is left to do. */
static void what_is_everybodys_is_lent_before_what_another_stream_freed(void **state)
{
    (void)state;
    CUdeviceptr large = take(MiB, a), between = take(512, a), small = take(4096, a), last = take(512, a);
    ok(cuMemFreeAsync(large, a));
    ok(cuStreamSynchronize(a));
    ok(cuMemFreeAsync(small, a));
    assert_true(take(4096, b) == large);
    ok(cuMemFreeAsync(large, b));
    ok(cuMemFreeAsync(between, b));
    ok(cuMemFreeAsync(last, b));
}

static _Atomic bool enough;

static void *free_and_synchronize(void *context)
{
    CUstream s;
    CUdeviceptr p;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    while (!atomic_load(&enough)) {
        CHECK(cuMemAllocAsync(&p, 512, s));
        CHECK(cuMemFreeAsync(p, s));
        CHECK(cuStreamSynchronize(s));
    }
    CHECK(cuStreamDestroy(s));
    return NULL;
}

/* The other thread has many frees to look at, and looks at this one's before this one has waited. */
static void a_synchronising_call_is_not_lost_to_one_of_another_thread(void **state)
{
    enum { BLOCKS = 2000, ROUNDS = 3000 };
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    static CUdeviceptr p[BLOCKS];
    CUmemoryPool own;
    CUcontext context;
    CUdeviceptr q;
    pthread_t other;
    cuuint64_t reserved = 0;
    (void)state;
    ok(cuCtxGetCurrent(&context));
    ok(cuMemPoolCreate(&own, &props));
    for (unsigned k = 0; k < BLOCKS; k++) p[k] = take(512, a);
    uint32_t *flag = rig_hold(a);
    for (unsigned k = 0; k < BLOCKS; k += 2) ok(cuMemFreeAsync(p[k], a));
    ok(pthread_create(&other, NULL, free_and_synchronize, context));
    for (unsigned k = 0; k < ROUNDS && !reserved; k++) {
        ok(cuMemAllocFromPoolAsync(&q, 512, own, b));
        ok(cuMemFreeAsync(q, b));
        ok(cuStreamSynchronize(b));
        ok(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    }
    atomic_store(&enough, true);
    ok(pthread_join(other, NULL));
    assert_int_equal(reserved, 0);
    rig_release(flag);
    for (unsigned k = 1; k < BLOCKS; k += 2) ok(cuMemFreeAsync(p[k], a));
    ok(cuMemPoolDestroy(own));
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(waiting_for_an_event_is_waiting_for_the_frees_before_it),
        T(waiting_for_a_stream_is_waiting_for_what_the_legacy_stream_freed_before_its_work),
        T(all_frees_of_a_piece_must_have_been_waited_for),
        T(what_cuMemFree_takes_back_stays_counted_as_used),
        T(a_trim_that_keeps_all_bytes_that_can_be_named_keeps_none),
        T(what_was_freed_and_is_lent_again_need_not_be_waited_for),
        T(the_end_of_a_pool_is_lent_last),
        T(what_is_everybodys_is_lent_before_what_another_stream_freed),
        T(memory_is_exported_only_from_a_pool_that_was),
        T(a_synchronising_call_is_not_lost_to_one_of_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
