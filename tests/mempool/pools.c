/* Stream-ordered memory, as a program sees it. */
#include "pool_rig.h"

#include <sched.h>
#include <stdbool.h>

static void policy(int follow, int opportunistic, int internal)
{
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &follow));
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &opportunistic));
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &internal));
}

/* One that keeps all. */
static int begin_keeping(void **state)
{
    begin(state);
    cuuint64_t keep = UINT64_MAX;
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    return 0;
}

static void what_a_stream_freed_it_gets_again_without_waiting(void **state)
{
    (void)state;
    CUdeviceptr p = take(CHUNK, a);
    uint32_t *flag = rig_hold(a);
    ok(cuMemFreeAsync(p, a));
    assert_true(take(CHUNK, a) == p);
    assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    rig_release(flag);
}

static void what_a_stream_freed_it_gets_before_what_everybody_may_use(void **state)
{
    (void)state;
    CUdeviceptr everybodys = take(MiB, a), between = take(MiB, a), own = take(2 * MiB, a), end = take(MiB, a);
    ok(cuMemFreeAsync(everybodys, a));
    ok(cuStreamSynchronize(a));
    ok(cuMemFreeAsync(own, a));
    assert_true(take(MiB, a) == own);
    assert_true(take(MiB, b) == everybodys);
    ok(cuMemFreeAsync(between, a));
    ok(cuMemFreeAsync(end, a));
}

static void another_stream_gets_memory_only_after_its_free_was_reached(void **state)
{
    (void)state;
    policy(1, 1, 0);
    CUdeviceptr p = take(CHUNK, a);
    uint32_t *flag = rig_hold(a);
    ok(cuMemFreeAsync(p, a));
    CUdeviceptr q = take(CHUNK, b);
    assert_true(q != p);
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * CHUNK);
    rig_release(flag);
    while (cuStreamQuery(a)) {}
    assert_true(take(CHUNK, b) == p);
}

static void without_opportunism_only_a_synchronization_makes_it_everybodys(void **state)
{
    (void)state;
    policy(1, 0, 0);
    CUdeviceptr p = take(CHUNK, a);
    ok(cuMemFreeAsync(p, a));
    CUdeviceptr q = take(CHUNK, b);
    assert_true(q != p);
    ok(cuStreamSynchronize(b));
    assert_true(take(CHUNK, b) != p);
    ok(cuStreamSynchronize(a));
    assert_true(take(CHUNK, b) == p);
}

static void a_stream_that_waits_for_an_event_follows_the_frees_before_it(void **state)
{
    (void)state;
    CUevent e;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    policy(1, 0, 0);
    CUdeviceptr p = take(CHUNK, a), q = take(CHUNK, a);
    uint32_t *flag = rig_hold(a);
    ok(cuMemFreeAsync(p, a));
    ok(cuEventRecord(e, a));
    ok(cuMemFreeAsync(q, a));
    ok(cuStreamWaitEvent(b, e, 0));
    assert_true(take(CHUNK, b) == p);
    assert_true(take(CHUNK, b) != q);
    rig_release(flag);
    policy(0, 0, 0);
    ok(cuCtxSynchronize());
    p = take(CHUNK, a);
    ok(cuMemFreeAsync(p, a));
    ok(cuEventRecord(e, a));
    ok(cuStreamWaitEvent(b, e, 0));
    assert_true(take(CHUNK, b) != p);
    ok(cuEventDestroy(e));
}

static void when_memory_is_short_a_stream_waits_for_what_others_freed(void **state)
{
    (void)state;
    size_t free_bytes, total;
    policy(1, 1, 1);
    ok(cuMemGetInfo(&free_bytes, &total));
    CUdeviceptr p = take(free_bytes / CHUNK * CHUNK, a), q;
    ok(cuMemsetD32Async(p, 1, 1024, a));
    uint32_t *flag = rig_hold(a);
    ok(cuMemsetD32Async(p, 2, 1024, a));
    ok(cuMemFreeAsync(p, a));
    policy(1, 1, 0);
    assert_int_equal(cuMemAllocFromPoolAsync(&q, CHUNK, pool, b), CUDA_ERROR_OUT_OF_MEMORY);
    policy(1, 1, 1);
    q = take(CHUNK, b);
    assert_true(q == p);
    ok(cuMemsetD32Async(q, 3, 1024, b));
    assert_int_equal(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    rig_release(flag);
    ok(cuStreamSynchronize(b));
    assert_int_equal(rig_word(q), 3);
    ok(cuMemFreeAsync(q, b));
    ok(cuStreamSynchronize(a));
}

static void pieces_that_lie_side_by_side_are_one_again(void **state)
{
    (void)state;
    CUdeviceptr p[4];
    for (int k = 0; k < 4; k++) p[k] = take(8 * MiB, a);
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    for (int k = 0; k < 4; k += 2) ok(cuMemFreeAsync(p[k], a));
    for (int k = 1; k < 4; k += 2) ok(cuMemFreeAsync(p[k], b));
    take(CHUNK, b);
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
}

static void pieces_freed_by_different_streams_join_for_one_that_follows_both(void **state)
{
    (void)state;
    CUevent e;
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    policy(1, 0, 0);
    CUdeviceptr p = take(CHUNK / 2, a), q = take(CHUNK / 2, a);
    ok(cuEventRecord(e, a));
    ok(cuStreamWaitEvent(b, e, 0));
    uint32_t *flag = rig_hold(a);
    ok(cuMemFreeAsync(p, a));
    ok(cuMemFreeAsync(q, b));
    ok(cuEventRecord(e, a));
    ok(cuStreamWaitEvent(b, e, 0));
    CUdeviceptr both = take(CHUNK, b);
    assert_true(both == (p < q ? p : q));
    rig_release(flag);
    ok(cuEventDestroy(e));
}

/* All of it is this value. */
static bool filled(CUdeviceptr p, size_t size, unsigned char value)
{
    static unsigned char bytes[4096];
    for (size_t at = 0; at < size; at += 1 << 20) {
        ok(cuMemcpyDtoH(bytes, p + at, sizeof bytes));
        for (size_t k = 0; k < sizeof bytes; k++)
            if (bytes[k] != value) return false;
    }
    return true;
}

static void grow_and_shrink(void)
{
    cuuint64_t none = 0;
    CUdeviceptr p[4];
    for (int k = 0; k < 4; k++) { /* 40 MiB each: four share five mappings */
        p[k] = take(CHUNK / 4 * 5, a);
        ok(cuMemsetD8Async(p[k], (unsigned char)(k + 1), CHUNK / 4 * 5, a));
    }
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 5 * CHUNK);
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
    ok(cuMemFreeAsync(p[1], a));
    ok(cuMemFreeAsync(p[2], a));
    ok(cuStreamSynchronize(a)); /* from 40 to 120 MiB: the mapping at 64 MiB */
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * CHUNK);
    assert_true(filled(p[0], CHUNK / 4 * 5, 1) && filled(p[3], CHUNK / 4 * 5, 4));
    CUdeviceptr q = take(CHUNK / 4 * 3, a); /* in what is left of the first piece */
    assert_true(q == p[1]);
    ok(cuMemFreeAsync(p[0], a));
    ok(cuMemFreeAsync(q, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * CHUNK);
    assert_true(filled(p[3], CHUNK / 4 * 5, 4));
    ok(cuMemFreeAsync(p[3], a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
}

static void a_pool_grows_behind_what_it_holds_and_gives_back_mappings_in_between(void **state)
{
    (void)state;
    grow_and_shrink();
}

static void a_pool_grows_also_while_others_take_memory_and_its_end_is_lent(void **state)
{
    (void)state;
    CUdeviceptr p = take(CHUNK, a), q;
    CUmemoryPool first;
    ok(cuDeviceGetDefaultMemPool(&first, 0));
    ok(cuMemAllocFromPoolAsync(&q, CHUNK, first, a));
    assert_true(take(CHUNK, a) == p + CHUNK);
    assert_true(take(CHUNK, b) == p + 2 * CHUNK);
    ok(cuMemFreeAsync(q, a));
}

static void so_does_a_pool_that_can_be_exported(void **state)
{
    (void)state;
    CUmemoryPool other = pool;
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    cuuint64_t all = UINT64_MAX;
    ok(cuMemPoolCreate(&pool, &props));
    for (int k = 0; k < 3; k++) {
        ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
        grow_and_shrink();
    }
    ok(cuMemPoolDestroy(pool));
    pool = other;
}

static void memory_beyond_the_threshold_goes_with_the_next_synchronization(void **state)
{
    (void)state;
    cuuint64_t keep = 2 * CHUNK;
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    CUdeviceptr p[4];
    for (int k = 0; k < 4; k++) p[k] = take(CHUNK, a);
    for (int k = 0; k < 4; k++) ok(cuMemFreeAsync(p[k], a));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * CHUNK);
    ok(cuStreamSynchronize(a));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * CHUNK);
    ok(cuMemPoolTrimTo(pool, CHUNK + 1));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * CHUNK);
    ok(cuMemPoolTrimTo(pool, CHUNK));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 4 * CHUNK);
    cuuint64_t zero = 0;
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), CHUNK);
}

static void sizes_that_wrap_around_are_more_than_there_is(void **state)
{
    (void)state;
    static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 511, SIZE_MAX - (2 << 20) + 1, SIZE_MAX - (32 << 20) + 1,
                                    SIZE_MAX / 2 + 1, 1ul << 60 };
    CUdeviceptr q, p = take(4096, a); /* whose chunk could grow */
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        assert_int_equal(cuMemAllocFromPoolAsync(&q, sizes[k], pool, a), CUDA_ERROR_OUT_OF_MEMORY);
    ok(rig_launch(rig_kernel("fill"), p, 16, 7, a));
    ok(cuStreamSynchronize(a));
    ok(cuMemFreeAsync(p, a));
}

static void a_large_piece_is_given_back_in_part(void **state)
{
    (void)state;
    size_t before, after, total;
    CUdeviceptr p = take(4 * CHUNK - 5, a);
    ok(cuMemFreeAsync(p, a));
    ok(cuStreamSynchronize(a));
    ok(cuMemGetInfo(&before, &total));
    ok(cuMemPoolTrimTo(pool, 2 * CHUNK - 1));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * CHUNK);
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before + 2 * CHUNK);
    p = take(2 * CHUNK, a);
    ok(cuMemsetD32Async(p, 8, CHUNK / 2, a));
    ok(rig_launch(rig_kernel("add"), p + 2 * CHUNK - 4096, 1024, 1, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(rig_word(p + 2 * CHUNK - 4), 9);
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 * CHUNK);
}

static void memory_in_use_is_not_trimmed(void **state)
{
    (void)state;
    CUdeviceptr p = take(CHUNK, a);
    uint32_t *flag = rig_hold(a);
    ok(cuMemsetD32Async(p, 7, CHUNK / 4, a));
    ok(cuMemFreeAsync(p, a));
    ok(cuMemPoolTrimTo(pool, 0));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), CHUNK);
    rig_release(flag);
    ok(cuStreamSynchronize(a));
    ok(cuMemPoolTrimTo(pool, 0));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
}

static void other_allocations_get_what_pools_keep_without_a_need(void **state)
{
    (void)state;
    size_t free_bytes, total;
    CUdeviceptr p = take(4 * CHUNK, a);
    ok(cuMemFreeAsync(p, a));
    ok(cuStreamSynchronize(a));
    ok(cuMemGetInfo(&free_bytes, &total));
    ok(cuMemAlloc(&p, free_bytes + CHUNK));
    ok(cuMemFree(p));
}

/* Found in what an H200 answered. */
static void memory_whose_free_nobody_waited_for_is_not_given_back(void **state)
{
    (void)state;
    size_t free_bytes, total;
    _Atomic uint32_t *done;
    CUdeviceptr q, p = take(4 * CHUNK, a);
    ok(cuMemGetInfo(&free_bytes, &total));
    ok(cuMemAllocHost((void **)&done, 4));
    *done = 0;
    ok(cuMemFreeAsync(p, a));
    ok(cuStreamWriteValue32(a, (CUdeviceptr)done, 1, 0));
    while (!*done) sched_yield();
    assert_int_equal(cuMemAlloc(&q, free_bytes + CHUNK), CUDA_ERROR_OUT_OF_MEMORY);
    ok(cuMemPoolTrimTo(pool, 0));
    assert_int_equal(figure(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * CHUNK);
    assert_int_equal(cuMemAlloc(&q, free_bytes + CHUNK), CUDA_ERROR_OUT_OF_MEMORY);
    ok(cuStreamSynchronize(a));
    ok(cuMemAlloc(&q, free_bytes + CHUNK));
    ok(cuMemFree(q));
    ok(cuMemFreeHost((void *)done));
}

static void a_pool_holds_no_more_than_its_maximum(void **state)
{
    (void)state;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                             .maxSize = CHUNK };
    CUmemoryPool small;
    CUdeviceptr p, q;
    ok(cuMemPoolCreate(&small, &props));
    ok(cuMemAllocFromPoolAsync(&p, CHUNK, small, a));
    assert_int_equal(cuMemAllocFromPoolAsync(&q, 1, small, a), CUDA_ERROR_OUT_OF_MEMORY);
    ok(cuMemFreeAsync(p, a));
    ok(cuMemAllocFromPoolAsync(&q, 1, small, a));
    ok(cuMemFreeAsync(q, a));
    ok(cuMemPoolDestroy(small));
}

static void a_destroyed_pool_stays_until_the_last_allocation_is_freed(void **state)
{
    (void)state;
    size_t before, during, after, total;
    CUdeviceptr p = take(CHUNK, a);
    ok(cuMemsetD32Async(p, 9, 16, a));
    ok(cuMemGetInfo(&during, &total));
    CUmemoryPool gone = pool;
    ok(cuMemPoolDestroy(pool));
    pool = NULL;
    assert_int_equal(cuMemPoolTrimTo(gone, 0), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr q;
    assert_int_equal(cuMemAllocFromPoolAsync(&q, 16, gone, a), CUDA_ERROR_INVALID_VALUE);
    ok(cuStreamSynchronize(a));
    assert_int_equal(rig_word(p), 9);
    ok(cuMemFreeAsync(p, a));
    ok(cuStreamSynchronize(a));
    ok(cuMemGetInfo(&after, &total));
    before = during + CHUNK;
    assert_int_equal(after, before);
}

static void nothing_is_freed_twice_or_from_its_middle(void **state)
{
    (void)state;
    CUdeviceptr p = take(4096, a);
    assert_int_equal(cuMemFreeAsync(p + 512, a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFree(p + 512), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemFreeAsync(p, a));
    assert_int_equal(cuMemFreeAsync(p, a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    p = take(4096, a);
    ok(cuMemFree(p));
    assert_int_equal(cuMemFreeAsync(p, b), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFreeHost((void *)take(64, a)), CUDA_ERROR_INVALID_VALUE);
}

static void what_cuMemFree_takes_back_still_waits_for_frees_before_it(void **state)
{
    (void)state;
    policy(1, 1, 0);
    CUdeviceptr p = take(CHUNK, a);
    uint32_t *flag = rig_hold(a);
    ok(cuMemFreeAsync(p, a));
    assert_true(take(CHUNK, a) == p);
    ok(cuMemFree(p));
    assert_true(take(CHUNK, b) != p);
    rig_release(flag);
}

static void the_host_reads_what_kernels_write_to_host_pools(void **state)
{
    (void)state;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_HOST, 0 } };
    CUmemoryPool host;
    CUdeviceptr p;
    CUmemAccess_flags flags;
    CUmemLocation device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
    ok(cuMemPoolCreate(&host, &props));
    ok(cuMemPoolGetAccess(&flags, host, &device));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CUmemAccessDesc all = { device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    ok(cuMemPoolSetAccess(host, &all, 1));
    ok(cuMemAllocFromPoolAsync(&p, 4096, host, a));
    ok(rig_launch(rig_kernel("fill"), p, 1024, 77, a));
    ok(cuStreamSynchronize(a));
    assert_int_equal(((uint32_t *)p)[1023], 77);
    ok(cuMemFreeAsync(p, a));
    ok(cuMemPoolDestroy(host));
}

/* In all of them, before what is wrong in another way. */
static void which_wrong_access_is_told_does_not_depend_on_what_comes_first(void **state)
{
    (void)state;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_HOST, 0 } };
    const CUmemAccessDesc odd = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, 2 },
                          host = { { CU_MEM_LOCATION_TYPE_HOST, 0 }, CU_MEM_ACCESS_FLAGS_PROT_NONE },
                          nowhere = { { 6, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE },
                          missing = { { CU_MEM_LOCATION_TYPE_DEVICE, 99 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemoryPool of_host;
    ok(cuMemPoolCreate(&of_host, &props));
    assert_int_equal(cuMemPoolSetAccess(pool, (CUmemAccessDesc[]){ odd, host }, 2), CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(cuMemPoolSetAccess(of_host, (CUmemAccessDesc[]){ nowhere, missing }, 2), CUDA_ERROR_INVALID_DEVICE);
    assert_int_equal(cuMemPoolSetAccess(of_host, (CUmemAccessDesc[]){ host, nowhere }, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemPoolSetAccess(of_host, &host, 1), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuMemPoolDestroy(of_host));
}

static void the_current_pool_of_a_device_can_be_changed_and_falls_back(void **state)
{
    (void)state;
    CUmemoryPool now, first;
    CUdeviceptr p;
    ok(cuDeviceGetDefaultMemPool(&first, 0));
    ok(cuDeviceSetMemPool(0, pool));
    ok(cuDeviceGetMemPool(&now, 0));
    assert_ptr_equal(now, pool);
    ok(cuMemAllocAsync(&p, 64, a));
    ok(cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    assert_ptr_equal(now, pool);
    ok(cuMemFreeAsync(p, a));
    ok(cuMemPoolDestroy(pool));
    pool = NULL;
    ok(cuDeviceGetMemPool(&now, 0));
    assert_ptr_equal(now, first);
}

static void a_peer_touches_a_pool_only_with_access(void **state)
{
    (void)state;
    int count;
    ok(cuDeviceGetCount(&count));
    if (count < 2) skip();
    CUcontext first, second;
    ok(cuCtxGetCurrent(&first));
    CUdeviceptr p = take(4096, a), later;
    ok(cuStreamSynchronize(a));
    CUmemAccessDesc peer = { { CU_MEM_LOCATION_TYPE_DEVICE, 1 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemAccess_flags flags;
    unsigned may;
    ok(cuMemPoolGetAccess(&flags, pool, &peer.location));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    ok(cuMemPoolSetAccess(pool, &peer, 1));
    later = take(CHUNK, a);
    ok(cuStreamSynchronize(a));
    second = rig_context(1);
    CUfunction fill = rig_kernel("fill");
    ok(cuPointerGetAttribute(&may, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p));
    assert_int_equal(may, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    ok(rig_launch(fill, p, 64, 5, NULL));
    ok(rig_launch(fill, later, 64, 6, NULL));
    ok(cuCtxSynchronize());
    assert_int_equal(rig_word(p + 4 * 63), 5);
    assert_int_equal(rig_word(later), 6);
    peer.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ok(cuMemPoolSetAccess(pool, &peer, 1));
    CUdeviceptr same;
    assert_int_equal(cuPointerGetAttribute(&same, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p), CUDA_ERROR_INVALID_VALUE);
    ok(cuCtxSetCurrent(first));
    peer.location.id = 7;
    assert_int_equal(cuMemPoolSetAccess(pool, &peer, 1), CUDA_ERROR_INVALID_DEVICE);
    (void)second;
}

/* Last: it takes the context away. */
static void what_a_pool_lent_outlives_the_last_context(void **state)
{
    (void)state;
    size_t before, after, total;
    ok(cuCtxSynchronize());
    CUcontext own;
    CUdeviceptr p;
    int count;
    ok(cuDeviceGetCount(&count));
    if (count < 2) skip();
    ok(cuCtxCreate(&own, NULL, 0, 1));
    ok(cuMemGetInfo(&before, &total));
    ok(cuMemAllocAsync(&p, CHUNK, NULL));
    ok(cuMemsetD8(p, 7, CHUNK));
    ok(cuDevicePrimaryCtxReset(1));
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before - CHUNK);
    ok(cuCtxDestroy(own));
    ok(cuCtxCreate(&own, NULL, 0, 1));
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before - CHUNK);
    assert_true(filled(p, CHUNK, 7));
    ok(cuMemFree(p));
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before);
    ok(cuMemAllocAsync(&p, 64, NULL));
    ok(cuMemFreeAsync(p, NULL));
    ok(cuCtxDestroy(own));
    rig_context(0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin_keeping, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_a_stream_freed_it_gets_again_without_waiting),
        T(what_a_stream_freed_it_gets_before_what_everybody_may_use),
        T(another_stream_gets_memory_only_after_its_free_was_reached),
        T(without_opportunism_only_a_synchronization_makes_it_everybodys),
        T(a_stream_that_waits_for_an_event_follows_the_frees_before_it),
        T(when_memory_is_short_a_stream_waits_for_what_others_freed),
        T(pieces_that_lie_side_by_side_are_one_again),
        T(pieces_freed_by_different_streams_join_for_one_that_follows_both),
        T(memory_beyond_the_threshold_goes_with_the_next_synchronization),
        T(a_pool_grows_behind_what_it_holds_and_gives_back_mappings_in_between),
        T(a_pool_grows_also_while_others_take_memory_and_its_end_is_lent),
        T(so_does_a_pool_that_can_be_exported),
        T(sizes_that_wrap_around_are_more_than_there_is),
        T(a_large_piece_is_given_back_in_part),
        T(memory_in_use_is_not_trimmed),
        T(other_allocations_get_what_pools_keep_without_a_need),
        T(memory_whose_free_nobody_waited_for_is_not_given_back),
        T(a_pool_holds_no_more_than_its_maximum),
        T(a_destroyed_pool_stays_until_the_last_allocation_is_freed),
        T(nothing_is_freed_twice_or_from_its_middle),
        T(what_cuMemFree_takes_back_still_waits_for_frees_before_it),
        T(the_host_reads_what_kernels_write_to_host_pools),
        T(which_wrong_access_is_told_does_not_depend_on_what_comes_first),
        T(the_current_pool_of_a_device_can_be_changed_and_falls_back),
        T(a_peer_touches_a_pool_only_with_access),
        T(what_a_pool_lent_outlives_the_last_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
