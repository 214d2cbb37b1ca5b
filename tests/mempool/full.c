/* Pools of a device whose memory is all in use: what still works, and whose memory goes first. */
#include "../check.h"
#include "pool_rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { PIECE = 32 << 20, PIECES = 20 };
static const size_t LARGE = 600 * MiB; /* more than is left beside PIECES */

static size_t free_memory(void)
{
    size_t bytes, total;
    ok(cuMemGetInfo(&bytes, &total));
    return bytes;
}

/* ---- a pool that is destroyed while an allocation from it looks for memory */

static CUcontext context;
static CUmemoryPool doomed;
static _Atomic unsigned asked, destroyed; /* rounds */
static _Atomic unsigned late;             /* how much later than asked */

static void *destroy_when_asked(void *rounds)
{
    const unsigned last = *(unsigned *)rounds;
    CHECK(cuCtxSetCurrent(context));
    for (unsigned round = 1; round <= last; round++) {
        while (atomic_load(&asked) < round) {}
        for (unsigned k = atomic_load(&late); k; k--) atomic_load(&late);
        CHECK(cuMemPoolDestroy(doomed));
        atomic_store(&destroyed, round);
    }
    return NULL;
}

/* pool holds what it does not need, so that an allocation from another one takes that away: many pages, which takes a while. */
static void fill_with_what_can_go(void)
{
    CUdeviceptr p[PIECES];
    for (unsigned k = 0; k < PIECES; k++) p[k] = take(PIECE, a);
    for (unsigned k = 0; k < PIECES; k++) ok(cuMemsetD2D8Async(p[k], 256 << 10, 1, 1, PIECE >> 18, a));
    for (unsigned k = 0; k < PIECES; k++) ok(cuMemFreeAsync(p[k], a));
    ok(cuStreamSynchronize(a));
}

static void one_round(unsigned round)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUdeviceptr p;
    fill_with_what_can_go();
    ok(cuMemPoolCreate(&doomed, &props));
    ok(cuDeviceSetMemPool(0, doomed));
    atomic_store(&late, round * 2503 % 20011);
    atomic_store(&asked, round);
    CUresult r = cuMemAllocAsync(&p, LARGE, a);
    while (atomic_load(&destroyed) < round) sched_yield();
    if (!r) ok(cuMemFreeAsync(p, a));
    ok(cuCtxSynchronize());
    ok(cuMemPoolTrimTo(pool, 0));
}

static void a_pool_destroyed_while_memory_is_short_keeps_none(void **state)
{
    static unsigned rounds = 10;
    const cuuint64_t all = UINT64_MAX;
    CUmemoryPool first;
    pthread_t other;
    (void)state;
    ok(cuCtxGetCurrent(&context));
    ok(cuDeviceGetDefaultMemPool(&first, 0));
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (void *)&all));
    const size_t before = free_memory();
    ok(pthread_create(&other, NULL, destroy_when_asked, &rounds));
    for (unsigned round = 1; round <= rounds; round++) {
        one_round(round);
        ok(cuMemPoolTrimTo(first, 0)); /* which was current when the other one was gone */
    }
    ok(pthread_join(other, NULL));
    assert_int_equal(free_memory(), before);
}

/* ---- what else has memory */

static void memory_whose_descriptors_were_closed_is_there_for_pools(void **state)
{
    const CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                        .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    int fd;
    (void)state;
    ok(cuMemCreate(&h, LARGE, &props, 0));
    ok(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ok(cuMemRelease(h));
    assert_int_equal(cuMemAllocAsync(&p, LARGE, a), CUDA_ERROR_OUT_OF_MEMORY); /* there is still the descriptor */
    ok(close(fd));
    ok(cuMemAllocAsync(&p, LARGE, a));
    ok(cuMemFreeAsync(p, a));
    ok(cuStreamSynchronize(a));
}

static void a_pool_that_is_empty_needs_no_memory(void **state)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemoryPool shared;
    CUdeviceptr all, p;
    (void)state;
    ok(cuMemAlloc(&all, free_memory()));
    assert_int_equal(free_memory(), 0);
    ok(cuMemPoolCreate(&shared, &props));
    assert_int_equal(cuMemAllocFromPoolAsync(&p, 512, shared, a), CUDA_ERROR_OUT_OF_MEMORY);
    ok(cuMemFree(all));
    ok(cuMemAllocFromPoolAsync(&p, 512, shared, a));
    ok(cuMemFreeAsync(p, a));
    ok(cuMemPoolDestroy(shared));
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_pool_destroyed_while_memory_is_short_keeps_none),
        T(memory_whose_descriptors_were_closed_is_there_for_pools),
        T(a_pool_that_is_empty_needs_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
