/* NVML beside CUDA, as frameworks use it: three devices, of which CUDA sees the last
 * and the first. The order of the tests matters: what needs no cuInit comes first. */
#include "nvml/nvml.h"
#include "../rig.h"


#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEVICES = 3 };
static const int seen[] = { 2, 0 }; /* by CUDA */

#define good(call) assert_int_equal(call, NVML_SUCCESS)

static void asked_before_its_beginning_it_says_so(void **state)
{
    (void)state;
    unsigned int n;
    nvmlDevice_t d;
    assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &d), NVML_ERROR_UNINITIALIZED);
    assert_int_equal(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
    assert_string_equal(nvmlErrorString(NVML_ERROR_UNINITIALIZED), "Uninitialized");
    good(nvmlInit_v2());
    good(nvmlInit_v2());
    good(nvmlShutdown());
    good(nvmlDeviceGetCount_v2(&n)); /* whoever began first has not ended yet */
}

static void all_devices_are_there_whatever_cuda_sees(void **state)
{
    (void)state;
    unsigned int n, index;
    nvmlDevice_t d, same;
    nvmlPciInfo_t pci;
    char uuid[96], name[96], tiny[3];
    good(nvmlDeviceGetCount_v2(&n));
    assert_int_equal(n, DEVICES);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(DEVICES, &d), NVML_ERROR_INVALID_ARGUMENT);
    for (unsigned int k = 0; k < n; k++) {
        good(nvmlDeviceGetHandleByIndex_v2(k, &d));
        good(nvmlDeviceGetIndex(d, &index));
        assert_int_equal(index, k);
        good(nvmlDeviceGetUUID(d, uuid, sizeof uuid));
        good(nvmlDeviceGetHandleByUUID(uuid, &same));
        assert_ptr_equal(same, d);
        good(nvmlDeviceGetPciInfo_v3(d, &pci));
        good(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &same));
        assert_ptr_equal(same, d);
        good(nvmlDeviceGetHandleByPciBusId_v2(pci.busIdLegacy, &same));
        assert_ptr_equal(same, d);
        good(nvmlDeviceGetName(d, name, sizeof name));
        assert_int_equal(nvmlDeviceGetName(d, tiny, sizeof tiny), NVML_ERROR_INSUFFICIENT_SIZE);
    }
    assert_int_equal(nvmlDeviceGetHandleByUUID("GPU-0", &d), NVML_ERROR_NOT_FOUND);
    assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("0000:00:00.0", &d), NVML_ERROR_NOT_FOUND);
    assert_int_equal(nvmlDeviceGetName((nvmlDevice_t)&n, name, sizeof name), NVML_ERROR_INVALID_ARGUMENT);
}

static nvmlDevice_t device(unsigned int index)
{
    nvmlDevice_t d;
    good(nvmlDeviceGetHandleByIndex_v2(index, &d));
    return d;
}

static void memory_is_free_before_cuda_begins_and_a_fork_may_begin_it(void **state)
{
    (void)state;
    nvmlMemory_t memory;
    unsigned int count = 0;
    good(nvmlDeviceGetMemoryInfo(device(0), &memory));
    assert_true(memory.total > 0 && memory.free == memory.total && !memory.used);
    good(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, NULL));
    assert_int_equal(count, 0);
    pid_t child = fork();
    if (!child) _exit(cuInit(0) != CUDA_SUCCESS);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void cuda_names_its_devices_alike(void **state)
{
    (void)state;
    ok(cuInit(0));
    for (int k = 0; k < 2; k++) {
        nvmlDevice_t d = device((unsigned int)seen[k]), same;
        char name[96], other[96], bus[32], uuid[96], expected[96] = "GPU";
        CUuuid u;
        int major, minor, value;
        ok(cuDeviceGetName(other, sizeof other, k));
        good(nvmlDeviceGetName(d, name, sizeof name));
        assert_string_equal(name, other);
        ok(cuDeviceGetPCIBusId(bus, sizeof bus, k));
        good(nvmlDeviceGetHandleByPciBusId_v2(bus, &same));
        assert_ptr_equal(same, d);
        ok(cuDeviceGetUuid_v2(&u, k));
        for (int b = 0, n = 3; b < 16; b++)
            n += sprintf(expected + n, "%s%02x", b == 0 || b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "",
                         (unsigned char)u.bytes[b]);
        good(nvmlDeviceGetUUID(d, uuid, sizeof uuid));
        assert_string_equal(uuid, expected);
        good(nvmlDeviceGetCudaComputeCapability(d, &major, &minor));
        ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, k));
        assert_int_equal(major, value);
    }
}

static uint64_t used(int index)
{
    nvmlMemory_t m;
    nvmlMemory_v2_t v2 = { .version = NVML_STRUCT_VERSION(nvmlMemory_v2_t, 2) };
    good(nvmlDeviceGetMemoryInfo(device((unsigned int)index), &m));
    good(nvmlDeviceGetMemoryInfo_v2(device((unsigned int)index), &v2));
    assert_true(m.free + m.used == m.total && v2.total == m.total && v2.used == m.used);
    return m.used;
}

static void what_cuda_allocates_is_used(void **state)
{
    (void)state;
    CUdeviceptr p;
    CUcontext c = rig_context(0);
    size_t unused, total;
    uint64_t before = used(2), others = used(0);
    ok(cuMemAlloc_v2(&p, CHUNK));
    assert_int_equal(used(2), before + CHUNK);
    assert_int_equal(used(0), others);
    ok(cuMemGetInfo_v2(&unused, &total));
    assert_int_equal(total - unused, used(2));

    nvmlProcessInfo_v1_t one;
    nvmlProcessInfo_t list[4];
    unsigned int count = 0;
    assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device(2), &count, NULL), NVML_ERROR_INSUFFICIENT_SIZE);
    assert_int_equal(count, 1);
    good(nvmlDeviceGetComputeRunningProcesses(device(2), &count, &one));
    assert_true(count == 1 && one.pid == (unsigned int)getpid() && one.usedGpuMemory == used(2));
    count = 4;
    good(nvmlDeviceGetComputeRunningProcesses_v3(device(2), &count, list));
    assert_true(count == 1 && list->pid == one.pid && list->usedGpuMemory == one.usedGpuMemory);
    count = 4;
    good(nvmlDeviceGetComputeRunningProcesses_v3(device(1), &count, list)); /* CUDA does not see it */
    assert_int_equal(count, 0);
    ok(cuMemFree_v2(p));
    ok(cuCtxSetCurrent(c));
    ok(cuDevicePrimaryCtxRelease_v2(0));
}

static void a_call_that_fails_changes_nothing(void **state)
{
    (void)state;
    int untouched = -7;
    assert_int_equal(nvmlDeviceGetCudaComputeCapability(device(0), &untouched, NULL), NVML_ERROR_INVALID_ARGUMENT);
    assert_int_equal(nvmlDeviceGetCudaComputeCapability(device(0), NULL, &untouched), NVML_ERROR_INVALID_ARGUMENT);
    assert_int_equal(nvmlDeviceGetEccMode(device(0), &untouched, NULL), NVML_ERROR_INVALID_ARGUMENT);
    assert_int_equal(untouched, -7);
}

static void the_driver_is_of_the_version_that_cuda_says(void **state)
{
    (void)state;
    int nvml, cuda;
    good(nvmlSystemGetCudaDriverVersion_v2(&nvml));
    assert_int_equal(cuDriverGetVersion(&cuda), CUDA_SUCCESS);
    assert_int_equal(nvml, cuda);
}

static void structures_of_another_version_are_refused(void **state)
{
    (void)state;
    nvmlMemory_v2_t memory = { .version = 1 };
    nvmlGpuFabricInfoV_t fabric = { .version = NVML_GPU_FABRIC_INFO_V2 };
    assert_int_equal(nvmlDeviceGetMemoryInfo_v2(device(0), &memory), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    good(nvmlDeviceGetGpuFabricInfoV(device(0), &fabric));
    assert_int_equal(fabric.status, NVML_SUCCESS);
    fabric.version = 7;
    assert_int_equal(nvmlDeviceGetGpuFabricInfoV(device(0), &fabric), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

static void the_host_is_reached_by_pci_express(void **state)
{
    unsigned int generation, lanes, megabits;
    (void)state;
    good(nvmlDeviceGetCurrPcieLinkGeneration(device(0), &generation));
    good(nvmlDeviceGetCurrPcieLinkWidth(device(0), &lanes));
    good(nvmlDeviceGetPcieSpeed(device(0), &megabits));
    assert_int_equal(generation, 5);
    assert_int_equal(lanes, 16);
    assert_int_equal(megabits, 32000);
    assert_int_equal(nvmlDeviceGetPcieSpeed(device(0), NULL), NVML_ERROR_INVALID_ARGUMENT);
}

static void peers_reach_each_other_as_cuda_says(void **state)
{
    (void)state;
    int can, active;
    nvmlGpuP2PStatus_t status;
    ok(cuDeviceCanAccessPeer(&can, 0, 1));
    good(nvmlDeviceGetP2PStatus(device(2), device(0), NVML_P2P_CAPS_INDEX_READ, &status));
    assert_int_equal(status == NVML_P2P_STATUS_OK, can);
    assert_int_equal(nvmlDeviceGetNvLinkState(device(0), 0, &active), NVML_ERROR_NOT_SUPPORTED); /* it has no switch */
    assert_int_equal(nvmlDeviceGetNvLinkState(device(0), NVML_LINKS, &active), NVML_ERROR_INVALID_ARGUMENT);
}

static void sensors_are_not_there(void **state)
{
    (void)state;
    nvmlFieldValue_t value = { .fieldId = 1 };
    assert_int_equal(nvmlDeviceGetTemperature(device(0)), NVML_ERROR_NOT_SUPPORTED);
    assert_int_equal(nvmlDeviceGetUtilizationRates(device(0)), NVML_ERROR_NOT_SUPPORTED);
    good(nvmlDeviceGetFieldValues(device(0), 1, &value));
    assert_int_equal(value.nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
    good(nvmlShutdown());
    assert_int_equal(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_before_its_beginning_it_says_so),
        cmocka_unit_test(all_devices_are_there_whatever_cuda_sees),
        cmocka_unit_test(memory_is_free_before_cuda_begins_and_a_fork_may_begin_it),
        cmocka_unit_test(cuda_names_its_devices_alike),
        cmocka_unit_test(what_cuda_allocates_is_used),
        cmocka_unit_test(a_call_that_fails_changes_nothing),
        cmocka_unit_test(the_driver_is_of_the_version_that_cuda_says),
        cmocka_unit_test(structures_of_another_version_are_refused),
        cmocka_unit_test(the_host_is_reached_by_pci_express),
        cmocka_unit_test(peers_reach_each_other_as_cuda_says),
        cmocka_unit_test(sensors_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
