/* Processes that see different devices of one machine of four (CUDA_VISIBLE_DEVICES): who a device is, and whose
 * memory it is that they share. Each player chooses before it calls cuInit. */
#include "../memory/ipc_rig.h"

#include <faultline.h>
#include <fcntl.h>

enum { MIB = 1 << 20 };

static CUcontext context_of[4];

/* Leaves the first one's context current. */
static void see(const char *list)
{
    int count;
    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    for (int k = count; k--;) {
        CHECK(cuDevicePrimaryCtxRetain(&context_of[k], k));
        CHECK(cuCtxSetCurrent(context_of[k]));
    }
}

/* Whose memory the process takes it to be. */
static int owner_of(CUdeviceptr p)
{
    int ordinal = -9;
    CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    return ordinal;
}

/* ---- who they are */

struct identity {
    char bus[16];
    CUuuid uuid;
    int number;
};

static struct identity identity_of(CUdevice d)
{
    struct identity i = { 0 };
    int bus;
    unsigned seen;
    CHECK(cuDeviceGetPCIBusId(i.bus, sizeof i.bus, d));
    CHECK(cuDeviceGetUuid(&i.uuid, d));
    CHECK(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, d));
    EXPECT_EQUAL(sscanf(i.bus, "%*x:%x:", &seen), 1);
    EXPECT_EQUAL(seen, bus);
    return i;
}

static void expect_same(const struct identity *a, const struct identity *b, int same)
{
    EXPECT_EQUAL(!memcmp(a, b, sizeof *a), same);
    EXPECT_EQUAL(!memcmp(&a->uuid, &b->uuid, sizeof a->uuid), same);
    EXPECT_EQUAL(!strcmp(a->bus, b->bus), same);
}

static void sees_all(int s)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    CHECK(cuInit(0));
    int count;
    CHECK(cuDeviceGetCount(&count));
    EXPECT_EQUAL(count, 4);
    for (int k = 0; k < 4; k++) {
        struct identity i = identity_of(k);
        tell(s, &i, sizeof i);
    }
}

static void sees_two_the_other_way_round(int s)
{
    static const int physical[] = { 3, 1 };
    struct identity all[4], mine[2];
    char name[64];
    CUdevice found;
    int count;
    see("3,1");
    CHECK(cuDeviceGetCount(&count));
    EXPECT_EQUAL(count, 2);
    for (int k = 0; k < 4; k++) hear(s, &all[k], sizeof all[k]);
    for (int k = 0; k < 2; k++) {
        mine[k] = identity_of(k);
        for (int p = 0; p < 4; p++) expect_same(&mine[k], &all[p], p == physical[k]);
        CHECK(cuDeviceGetByPCIBusId(&found, all[physical[k]].bus));
        EXPECT_EQUAL(found, k);
    }
    ANSWERS(cuDeviceGetByPCIBusId(&found, all[0].bus), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuDeviceGet(&found, 2), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuDeviceGetName(name, sizeof name, 2), CUDA_ERROR_INVALID_DEVICE);
}

static void a_device_is_the_same_whatever_its_number(void **state)
{
    (void)state;
    play(sees_all, ENDS_WELL, sees_two_the_other_way_round, ENDS_WELL);
}

static void nothing_is_visible(int s)
{
    int count = 7;
    (void)s;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    ANSWERS(cuInit(0), CUDA_ERROR_NO_DEVICE);
    ANSWERS(cuInit(0), CUDA_ERROR_NO_DEVICE);
    ANSWERS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
}

static void without_a_visible_device_there_is_no_cuda(void **state)
{
    (void)state;
    play_alone(nothing_is_visible);
}

static void peers_by_other_numbers(int s)
{
    int can;
    CUdeviceptr p;
    (void)s;
    see("GPU-2,GPU-0");
    CHECK(cuDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(can);
    CHECK(cuCtxSetCurrent(context_of[1]));
    CHECK(cuMemAlloc(&p, 4096));
    EXPECT_EQUAL(owner_of(p), 1);
    CHECK(cuCtxSetCurrent(context_of[0]));
    CHECK(cuCtxEnablePeerAccess(context_of[1], 0));
    store(p, 5);
    EXPECT_EQUAL(load(p), 5);
}

static void peers_have_the_numbers_of_the_list(void **state)
{
    (void)state;
    play_alone(peers_by_other_numbers);
}

static void moves_a_page_to_its_second(int s)
{
    struct faultline_cursor cursor;
    struct faultline_event e;
    uint8_t where;
    int moved = 0, ran = 0;
    CUdeviceptr p;
    (void)s;
    see("3,0");
    CHECK(cuMemAllocManaged(&p, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
    *(volatile int *)p = 1;
    EXPECT(!faultline_subscribe(&cursor, 1));
    CHECK(cuCtxSetCurrent(context_of[1]));
    store(p, 5);
    faultline_flush();
    while (faultline_read(&cursor, &e, 1)) {
        struct faultline_kernel k;
        if (e.kind == FAULTLINE_MIGRATION) moved += e.processor == 1 ? 1 : 100;
        if (e.kind != FAULTLINE_KERNEL) continue;
        EXPECT(!faultline_get_kernel(&e, &k));
        ran += k.device == 1 ? 1 : 100;
    }
    EXPECT_EQUAL(ran, 1);
    EXPECT(moved > 0 && moved < 100);
    EXPECT(!faultline_residency((void *)p, 1, &where));
    EXPECT_EQUAL(where, FAULTLINE_ON_DEVICE + 1);
}

static void events_have_the_numbers_of_the_list(void **state)
{
    (void)state;
    play_alone(moves_a_page_to_its_second);
}

/* ---- memory that they share */

/* Of the machine's device 1, by a process that calls it so, and what others have done to it. */
static void offers_legacy(int s)
{
    see("0,1");
    CHECK(cuCtxSetCurrent(context_of[1]));
    CUdeviceptr p = offer(s, SIZE);
    EXPECT_EQUAL(owner_of(p), 1);
    wait_other(s);
    EXPECT_EQUAL(load(p), 8);
}

static void takes_legacy_as(int s, const char *list, int ordinal)
{
    CUipcMemHandle h;
    CUdeviceptr copy;
    see(list);
    CUdeviceptr p = take(s, &h);
    EXPECT_EQUAL(owner_of(p), ordinal);
    EXPECT_EQUAL(load(p), 7);
    store(p, 8);
    CHECK(cuMemAlloc(&copy, SIZE));
    CHECK(cuMemcpyDtoD(copy, p, SIZE));
    EXPECT_EQUAL(load(copy), 8);
    EXPECT_EQUAL(load(copy + SIZE - 4), 7);
    CHECK(cuIpcCloseMemHandle(p));
    signal_other(s);
}

static void takes_legacy_as_0(int s) { takes_legacy_as(s, "1,0", 0); }
static void takes_legacy_of_a_hidden_device(int s) { takes_legacy_as(s, "2", CU_DEVICE_INVALID); }

static void legacy_handles_name_the_device_of_the_machine(void **state)
{
    (void)state;
    play(offers_legacy, ENDS_WELL, takes_legacy_as_0, ENDS_WELL);
}

static void legacy_handles_of_hidden_devices_open(void **state)
{
    (void)state;
    play(offers_legacy, ENDS_WELL, takes_legacy_of_a_hidden_device, ENDS_WELL);
}

static CUdeviceptr map(CUmemGenericAllocationHandle h)
{
    const CUmemAccessDesc by_first = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUdeviceptr at;
    CHECK(cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0));
    CHECK(cuMemMap(at, 2 * MIB, 0, h, 0));
    CHECK(cuMemSetAccess(at, 2 * MIB, &by_first, 1));
    return at;
}

static void offers_mapped(int s)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
    CUmemGenericAllocationHandle h;
    int descriptor;
    see("0,1");
    CHECK(cuMemCreate(&h, 2 * MIB, &prop, 0));
    CUdeviceptr p = map(h);
    CHECK(cuMemsetD32(p, 7, 1024));
    CHECK(cuMemExportToShareableHandle(&descriptor, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    hand_over(s, descriptor);
    wait_other(s);
    EXPECT_EQUAL(load(p), 8);
}

static void takes_mapped_as(int s, const char *list, int ordinal)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop;
    see(list);
    int descriptor = take_over(s);
    CHECK(cuMemImportFromShareableHandle(&h, (void *)(long)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    CHECK(cuMemGetAllocationPropertiesFromHandle(&prop, h));
    EXPECT_EQUAL(prop.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    EXPECT_EQUAL(prop.location.id, ordinal);
    CUdeviceptr p = map(h);
    EXPECT_EQUAL(owner_of(p), ordinal);
    EXPECT_EQUAL(load(p), 7);
    store(p, 8);
    CHECK(cuMemUnmap(p, 2 * MIB));
    CHECK(cuMemRelease(h));
    signal_other(s);
}

static void takes_mapped_as_0(int s) { takes_mapped_as(s, "1,0", 0); }
static void takes_mapped_of_a_hidden_device(int s) { takes_mapped_as(s, "3", CU_DEVICE_INVALID); }

static void shared_allocations_name_the_device_of_the_machine(void **state)
{
    (void)state;
    play(offers_mapped, ENDS_WELL, takes_mapped_as_0, ENDS_WELL);
}

static void shared_allocations_of_hidden_devices_can_be_mapped(void **state)
{
    (void)state;
    play(offers_mapped, ENDS_WELL, takes_mapped_of_a_hidden_device, ENDS_WELL);
}

static void offers_pool(int s)
{
    const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p;
    int descriptor;
    see("0,1");
    CHECK(cuCtxSetCurrent(context_of[1]));
    CHECK(cuMemPoolCreate(&pool, &props));
    CHECK(cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
    CHECK(cuMemsetD32(p, 7, 1024));
    CHECK(cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(cuMemPoolExportPointer(&data, p));
    hand_over(s, descriptor);
    tell(s, &data, sizeof data);
    wait_other(s);
}

static CUresult import_pool(int s, CUmemoryPool *pool)
{
    int descriptor = take_over(s);
    CUresult r =
        cuMemPoolImportFromShareableHandle(pool, (void *)(long)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    close(descriptor);
    return r;
}

static void takes_pool_as_0(int s)
{
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p;
    see("1,0");
    CHECK(import_pool(s, &pool));
    hear(s, &data, sizeof data);
    CHECK(cuMemPoolImportPointer(&p, pool, &data));
    EXPECT_EQUAL(owner_of(p), 0);
    EXPECT_EQUAL(load(p), 7);
    store(p, 8);
    signal_other(s);
}

static void takes_pool_of_a_hidden_device(int s)
{
    const CUmemAccessDesc by_first = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p;
    see("3,2");
    CHECK(import_pool(s, &pool));
    hear(s, &data, sizeof data);
    CHECK(cuMemPoolImportPointer(&p, pool, &data));
    EXPECT_EQUAL(owner_of(p), CU_DEVICE_INVALID);
    CHECK(cuMemPoolSetAccess(pool, &by_first, 1));
    EXPECT_EQUAL(load(p), 7);
    store(p, 8);
    EXPECT_EQUAL(load(p), 8);
    CHECK(cuMemFreeAsync(p, NULL));
    CHECK(cuMemPoolDestroy(pool));
    CHECK(cuCtxSynchronize());
    signal_other(s);
}

static void shared_pools_name_the_device_of_the_machine(void **state)
{
    (void)state;
    play(offers_pool, ENDS_WELL, takes_pool_as_0, ENDS_WELL);
    play(offers_pool, ENDS_WELL, takes_pool_of_a_hidden_device, ENDS_WELL);
}

/* As ranks of a job do, of which each sees its own device alone. */
static void joins_a_team(int s, const char *list, int first)
{
    const CUmulticastObjectProp prop = { .numDevices = 2,
                                         .size = 2 * MIB,
                                         .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    const CUmemAllocationProp own = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                      .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemGenericAllocationHandle object, memory;
    int descriptor;
    setenv("FAULTLINE_PROFILE", "h200-nvswitch", 1);
    see(list);
    if (first) {
        CHECK(cuMulticastCreate(&object, &prop));
        CHECK(cuMemExportToShareableHandle(&descriptor, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        hand_over(s, descriptor);
    } else {
        descriptor = take_over(s);
        CHECK(cuMemImportFromShareableHandle(&object, (void *)(long)descriptor,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        close(descriptor);
    }
    CHECK(cuMulticastAddDevice(object, 0));
    CHECK(cuMemCreate(&memory, 2 * MIB, &own, 0));
    CHECK(cuMulticastBindMem(object, 0, memory, 0, 2 * MIB, 0));
    CUdeviceptr at = map(memory), all = map(object);
    meet(s);
    if (first) CHECK(cuMemsetD32(all, 9, 1024));
    meet(s);
    EXPECT_EQUAL(load(at), 9);
    meet(s);
}

static void joins_with_2(int s) { joins_a_team(s, "2", true); }
static void joins_with_3(int s) { joins_a_team(s, "3", false); }

static void devices_of_a_team_are_those_of_the_machine(void **state)
{
    (void)state;
    play(joins_with_2, ENDS_WELL, joins_with_3, ENDS_WELL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_is_the_same_whatever_its_number),
        cmocka_unit_test(without_a_visible_device_there_is_no_cuda),
        cmocka_unit_test(peers_have_the_numbers_of_the_list),
        cmocka_unit_test(events_have_the_numbers_of_the_list),
        cmocka_unit_test(legacy_handles_name_the_device_of_the_machine),
        cmocka_unit_test(legacy_handles_of_hidden_devices_open),
        cmocka_unit_test(shared_allocations_name_the_device_of_the_machine),
        cmocka_unit_test(shared_allocations_of_hidden_devices_can_be_mapped),
        cmocka_unit_test(shared_pools_name_the_device_of_the_machine),
        cmocka_unit_test(devices_of_a_team_are_those_of_the_machine),
    };
    setenv("FAULTLINE_DEVICES", "4", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
