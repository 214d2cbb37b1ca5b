/* What the runtime says of devices is what the driver says, in the runtime's structures and codes. */
#include "runtime_rig.h"

#include <cuda.h>

static void properties_are_the_attributes(void **state)
{
    (void)state;
    struct cudaDeviceProp p;
    int value;
    OK(cudaGetDeviceProperties(&p, 0));
    assert_true(p.name[0]);
    static const struct {
        enum cudaDeviceAttr which;
        size_t at;
    } ints[] = {
        { cudaDevAttrWarpSize, offsetof(struct cudaDeviceProp, warpSize) },
        { cudaDevAttrMultiProcessorCount, offsetof(struct cudaDeviceProp, multiProcessorCount) },
        { cudaDevAttrMaxBlockDimZ, offsetof(struct cudaDeviceProp, maxThreadsDim[2]) },
        { cudaDevAttrMaxGridDimY, offsetof(struct cudaDeviceProp, maxGridSize[1]) },
        { cudaDevAttrComputeCapabilityMajor, offsetof(struct cudaDeviceProp, major) },
        { cudaDevAttrMaxTexture2DLinearPitch, offsetof(struct cudaDeviceProp, maxTexture2DLinear[2]) },
        { cudaDevAttrConcurrentManagedAccess, offsetof(struct cudaDeviceProp, concurrentManagedAccess) },
        { cudaDevAttrHostNumaId, offsetof(struct cudaDeviceProp, hostNumaId) },
    };
    for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) {
        OK(cudaDeviceGetAttribute(&value, ints[k].which, 0));
        assert_int_equal(*(int *)((char *)&p + ints[k].at), value);
    }
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    assert_int_equal(p.sharedMemPerBlockOptin, value);
}

static void a_device_without_a_number_is_none(void **state)
{
    (void)state;
    struct cudaDeviceProp p;
    int value, count;
    OK(cudaGetDeviceCount(&count));
    FAILS(cudaGetDeviceProperties(&p, count), cudaErrorInvalidDevice);
    FAILS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1), cudaErrorInvalidDevice);
    FAILS(cudaSetDevice(count), cudaErrorInvalidDevice);
    FAILS(cudaSetValidDevices(&count, 1), cudaErrorInvalidDevice);
    FAILS(cudaInitDevice(count, 0, 0), cudaErrorInvalidDevice);
}

static void a_device_is_found_by_its_bus_and_by_its_properties(void **state)
{
    (void)state;
    char bus[32];
    int device = -1;
    struct cudaDeviceProp p;
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cudaDeviceGetByPCIBusId(&device, bus));
    assert_int_equal(device, 0);
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaChooseDevice(&device, &p));
    assert_int_equal(device, 0);
}

static void flags_say_how_the_host_waits(void **state)
{
    (void)state;
    unsigned flags;
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaGetDeviceFlags(&flags));
    assert_int_equal(flags & cudaDeviceScheduleMask, cudaDeviceScheduleBlockingSync);
    assert_true(flags & cudaDeviceMapHost);
    FAILS(cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield), cudaErrorInvalidValue);
    FAILS(cudaSetDeviceFlags(1u << 20), cudaErrorInvalidValue);
    OK(cudaInitDevice(0, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid));
    OK(cudaGetDeviceFlags(&flags));
    assert_int_equal(flags & cudaDeviceScheduleMask, cudaDeviceScheduleYield);
}

static void limits_hold_for_the_current_device(void **state)
{
    (void)state;
    size_t value;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    assert_true(value >= 32 << 20);
}

static void a_reset_ends_the_primary_context_and_the_next_call_starts_afresh(void **state)
{
    (void)state;
    void *before, *after;
    unsigned flags;
    int active;
    OK(cudaMalloc(&before, 4096));
    OK(cudaDeviceReset());
    assert_int_equal(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    assert_int_equal(active, 0);
    OK(cudaMalloc(&after, 4096));
    assert_int_equal(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    assert_int_equal(active, 1);
    OK(cudaFree(after));
}

static void versions_are_those_of_the_libraries(void **state)
{
    (void)state;
    int runtime, driver;
    OK(cudaRuntimeGetVersion(&runtime));
    OK(cudaDriverGetVersion(&driver));
    assert_int_equal(runtime, CUDART_VERSION);
    assert_true(driver >= runtime);
    ANSWERS(cudaRuntimeGetVersion(NULL), cudaErrorInvalidValue);
}

static void functions_of_the_driver_are_found_by_name_and_version(void **state)
{
    (void)state;
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult status;
    OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &found, 12000, cudaEnableDefault, &status));
    assert_int_equal(status, cudaDriverEntryPointSuccess);
    assert_ptr_equal(found, cuMemAlloc);
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &found, 12000, cudaEnableDefault, &status));
    assert_int_equal(status, cudaDriverEntryPointSymbolNotFound);
    assert_null(found);
    OK(cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &found, 10000, cudaEnableDefault, &status));
    assert_int_equal(status, cudaDriverEntryPointVersionNotSufficent);
    assert_null(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_are_the_attributes),
        cmocka_unit_test(a_device_without_a_number_is_none),
        cmocka_unit_test(a_device_is_found_by_its_bus_and_by_its_properties),
        cmocka_unit_test(flags_say_how_the_host_waits),
        cmocka_unit_test(limits_hold_for_the_current_device),
        cmocka_unit_test(a_reset_ends_the_primary_context_and_the_next_call_starts_afresh),
        cmocka_unit_test(versions_are_those_of_the_libraries),
        cmocka_unit_test(functions_of_the_driver_are_found_by_name_and_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
