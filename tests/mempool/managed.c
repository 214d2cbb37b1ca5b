/* Pools of managed memory. */
#include "../rig.h"

static CUstream a;

static int begin(void **state)
{
    (void)state;
    rig_context(0);
    a = rig_stream();
    return 0;
}

static int end(void **state)
{
    (void)state;
    ok(cuStreamDestroy(a));
    return 0;
}

static void memory_of_a_managed_pool_is_managed(void **state)
{
    (void)state;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_MANAGED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemLocation device = props.location;
    CUmemoryPool managed;
    CUdeviceptr p, q;
    ok(cuMemPoolCreate(&managed, &props));
    for (int round = 0; round < 2; round++) {
        ok(cuMemAllocFromPoolAsync(&p, 5 * MiB, managed, a));
        ok(cuMemAllocFromPoolAsync(&q, 4096, managed, a));
        ok(cuStreamSynchronize(a));
        uint32_t *words = (uint32_t *)p;
        for (unsigned k = 0; k < 5 * MiB / 4; k++) words[k] = k;
        ok(rig_launch(rig_kernel("add"), p, 5 * MiB / 4, 10, a));
        ok(cuMemsetD32Async(q, 3, 1024, a));
        ok(cuStreamSynchronize(a));
        for (unsigned k = 0; k < 5 * MiB / 4; k++)
            if (words[k] != k + 10) fail_msg("word %u is %u", k, words[k]);
        ok(cuMemPrefetchAsync(p, 5 * MiB, device, 0, a));
        ok(cuMemFreeAsync(q, a));
        ok(cuMemFreeAsync(p, a));
        ok(cuStreamSynchronize(a));
        assert_int_equal(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    }
    ok(cuMemPoolDestroy(managed));
}

static void a_managed_pool_tells_the_access_that_was_set_and_is_current_for_managed_memory(void **state)
{
    (void)state;
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_MANAGED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemLocation places[] = { props.location, { CU_MEM_LOCATION_TYPE_HOST, 0 } };
    CUmemoryPool managed, now, first;
    CUmemAccess_flags flags;
    ok(cuMemPoolCreate(&managed, &props));
    for (int k = 0; k < 2; k++) {
        const CUmemAccessDesc all = { places[k], CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        ok(cuMemPoolGetAccess(&flags, managed, &places[k]));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        ok(cuMemPoolSetAccess(managed, &all, 1));
        ok(cuMemPoolGetAccess(&flags, managed, &places[k]));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    ok(cuDeviceGetMemPool(&first, 0));
    ok(cuDeviceSetMemPool(0, managed));
    ok(cuDeviceGetMemPool(&now, 0));
    assert_ptr_equal(now, first);
    ok(cuMemGetMemPool(&now, &props.location, CU_MEM_ALLOCATION_TYPE_MANAGED));
    assert_ptr_equal(now, managed);
    ok(cuMemPoolDestroy(managed));
    props.usage = 1;
    assert_int_equal(cuMemPoolCreate(&managed, &props), CUDA_ERROR_INVALID_VALUE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(memory_of_a_managed_pool_is_managed),
        T(a_managed_pool_tells_the_access_that_was_set_and_is_current_for_managed_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
