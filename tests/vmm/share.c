/* Memory shared between processes by descriptors and by fabric handles: who sees
 * what, what is refused, and what stays when one of them dies. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "../players.h"

enum { SIZE = 4 << 20 };
static const CUmemAllocationHandleType POSIX = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       FABRIC = CU_MEM_HANDLE_TYPE_FABRIC;

/* ---- players */

static CUdevice device;

static void start_cuda(void)
{
    CUcontext c;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&c, device));
    CHECK(cuCtxSetCurrent(c));
}

static size_t free_memory(void)
{
    size_t free, total;
    CHECK(cuMemGetInfo(&free, &total));
    return free;
}

static CUmemGenericAllocationHandle create(CUmemAllocationHandleType type)
{
    CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .requestedHandleTypes = type,
                              .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUmemGenericAllocationHandle h;
    CHECK(cuMemCreate(&h, SIZE, &p, 0));
    return h;
}

static CUdeviceptr map(CUmemGenericAllocationHandle h)
{
    CUdeviceptr at;
    CUmemAccessDesc d = { { .type = CU_MEM_LOCATION_TYPE_DEVICE }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CHECK(cuMemAddressReserve(&at, SIZE, 0, 0, 0));
    CHECK(cuMemMap(at, SIZE, 0, h, 0));
    CHECK(cuMemSetAccess(at, SIZE, &d, 1));
    return at;
}

static void unmap(CUdeviceptr at)
{
    CHECK(cuMemUnmap(at, SIZE));
    CHECK(cuMemAddressFree(at, SIZE));
}

static int export_fd(CUmemGenericAllocationHandle h)
{
    int fd = -1;
    CHECK(cuMemExportToShareableHandle(&fd, h, POSIX, 0));
    return fd;
}

static CUmemGenericAllocationHandle import_fd(int fd)
{
    CUmemGenericAllocationHandle h;
    CHECK(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, POSIX));
    return h;
}

static unsigned word(CUdeviceptr at)
{
    unsigned w = 0;
    CHECK(cuMemcpyDtoH(&w, at, sizeof w));
    return w;
}

/* ---- descriptors */

static void export_and_look(int s)
{
    start_cuda();
    CUmemGenericAllocationHandle h = create(POSIX);
    CUdeviceptr at = map(h);
    CHECK(cuMemsetD32(at, 0x1234, SIZE / 4));
    hand_over(s, export_fd(h));
    wait_other(s);
    EXPECT_EQUAL(word(at + SIZE - 4), 0x5678);
    wait_end(s);
}

static void import_and_write(int s)
{
    start_cuda();
    size_t before = free_memory();
    int fd = take_over(s);
    CUmemGenericAllocationHandle h = import_fd(fd), again = import_fd(fd);
    close(fd);
    EXPECT(h != again);
    EXPECT_EQUAL(before - free_memory(), 0);
    CUdeviceptr at = map(h), alias = map(again);
    EXPECT_EQUAL(word(at + 64), 0x1234);
    CHECK(cuMemsetD32(at + SIZE - 4, 0x5678, 1));
    EXPECT_EQUAL(word(alias + SIZE - 4), 0x5678);
    signal_other(s);
}

static void both_processes_see_one_memory(void **state)
{
    (void)state;
    play(export_and_look, ENDS_WELL, import_and_write, ENDS_WELL);
}

static void export_and_die(int s)
{
    start_cuda();
    CUmemGenericAllocationHandle h = create(POSIX);
    CHECK(cuMemsetD32(map(h), 0x1234, SIZE / 4));
    hand_over(s, export_fd(h));
    kill(getpid(), SIGKILL);
}

static void import_from_the_dead(int s)
{
    int fd = take_over(s);
    wait_end(s);
    start_cuda();
    CUdeviceptr at = map(import_fd(fd));
    close(fd);
    EXPECT_EQUAL(word(at + SIZE - 4), 0x1234);
    CHECK(cuMemsetD32(at, 1, SIZE / 4));
    EXPECT_EQUAL(word(at), 1);
}

static void memory_outlives_its_exporter(void **state)
{
    (void)state;
    play(export_and_die, IS_KILLED, import_from_the_dead, ENDS_WELL);
}

static void count_while_shared(int s)
{
    start_cuda();
    size_t before = free_memory();
    CUmemGenericAllocationHandle h = create(POSIX);
    CUdeviceptr at = map(h);
    hand_over(s, export_fd(h));
    wait_other(s);
    unmap(at);
    CHECK(cuMemRelease(h));
    EXPECT_EQUAL(before - free_memory(), SIZE);
    signal_other(s);
    wait_end(s);
    for (int k = 0; k < 20000 && free_memory() != before; k++)
        usleep(1000); /* the other's device ends a little later */
    EXPECT_EQUAL(before - free_memory(), 0);
}

static void hold_and_die(int s)
{
    start_cuda();
    int fd = take_over(s);
    map(import_fd(fd));
    close(fd);
    signal_other(s);
    wait_other(s);
    kill(getpid(), SIGKILL);
}

static void memory_counts_until_the_last_importer_is_dead(void **state)
{
    (void)state;
    play(count_while_shared, ENDS_WELL, hold_and_die, IS_KILLED);
}

static void refuse(int fd)
{
    CUmemGenericAllocationHandle h;
    ANSWERS(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, POSIX), CUDA_ERROR_UNKNOWN);
    close(fd);
}

static void try_foreign_descriptors(int s)
{
    enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
    char path[64], page[4096];
    (void)s;
    start_cuda();
    refuse(open("/dev/null", O_RDWR));
    refuse(socket(AF_UNIX, SOCK_STREAM, 0));
    int fd = memfd_create("faultline-memory", MFD_ALLOW_SEALING);
    EXPECT_EQUAL(ftruncate(fd, SIZE + 4096), 0);
    EXPECT_EQUAL(fcntl(fd, F_ADD_SEALS, SEALS), 0);
    refuse(fd);
    int real = export_fd(create(POSIX));
    EXPECT_EQUAL(ftruncate(real, 0), -1);
    /* the label alone, without the seals, is not enough */
    EXPECT_EQUAL(pread(real, page, sizeof page, SIZE), sizeof page);
    fd = memfd_create("faultline-memory", MFD_ALLOW_SEALING);
    EXPECT_EQUAL(ftruncate(fd, SIZE + 4096), 0);
    EXPECT_EQUAL(pwrite(fd, page, sizeof page, SIZE), sizeof page);
    refuse(fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", real);
    refuse(open(path, O_RDONLY));
    import_fd(real);
}

static void foreign_descriptors_are_refused(void **state)
{
    (void)state;
    play_alone(try_foreign_descriptors);
}

static void make_thousands(int s)
{
    enum { COUNT = 3000, PAGE = 2 << 20 };
    static CUmemGenericAllocationHandle h[COUNT];
    CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .requestedHandleTypes = POSIX,
                              .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUmemAccessDesc d = { { .type = CU_MEM_LOCATION_TYPE_DEVICE }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    struct rlimit limit, after;
    CUdeviceptr at;
    (void)s;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 1024;
    setrlimit(RLIMIT_NOFILE, &limit);
    start_cuda();
    CHECK(cuMemAddressReserve(&at, (size_t)COUNT * PAGE, 0, 0, 0));
    for (int k = 0; k < COUNT; k++) {
        CHECK(cuMemCreate(&h[k], PAGE, &p, 0));
        CHECK(cuMemMap(at + (size_t)k * PAGE, PAGE, 0, h[k], 0));
    }
    CHECK(cuMemSetAccess(at, (size_t)COUNT * PAGE, &d, 1));
    for (int k = 0; k < COUNT; k++) CHECK(cuMemsetD32(at + (size_t)k * PAGE, (unsigned)k, 1));
    for (int k = 0; k < COUNT; k++) EXPECT_EQUAL(word(at + (size_t)k * PAGE), k);
    getrlimit(RLIMIT_NOFILE, &after);
    EXPECT_EQUAL(after.rlim_cur, 1024);
    int fd = open("/dev/null", O_RDONLY);
    EXPECT(fd >= 0 && fd < 1024);
    int shared = export_fd(h[COUNT - 1]);
    import_fd(shared);
    CHECK(cuMemUnmap(at, (size_t)COUNT * PAGE));
    for (int k = 0; k < COUNT; k++) CHECK(cuMemRelease(h[k]));
}

static void thousands_of_exportable_pages_leave_the_application_its_descriptors(void **state)
{
    struct rlimit limit;
    (void)state;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 8192) skip();
    play_alone(make_thousands);
}

/* So few descriptors that most memory gets its own only when it is exported. */
static void export_late(int s)
{
    enum { COUNT = 200 };
    static CUmemGenericAllocationHandle h[COUNT];
    static CUdeviceptr at[COUNT];
    struct rlimit few = { 100, 100 };
    start_cuda();
    size_t before = free_memory();
    EXPECT_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int k = 0; k < COUNT; k++) {
        h[k] = create(POSIX);
        at[k] = map(h[k]);
        CHECK(cuMemsetD32(at[k], (unsigned)k, 1));
    }
    for (int k = 0; k < COUNT / 2; k++) {
        unmap(at[k]);
        CHECK(cuMemRelease(h[k]));
    }
    hand_over(s, export_fd(h[COUNT - 1]));
    wait_other(s);
    EXPECT_EQUAL(word(at[COUNT - 1]), COUNT - 1);
    EXPECT_EQUAL(word(at[COUNT - 1] + SIZE - 4), 0x5678);
    EXPECT_EQUAL(before - free_memory(), (long)COUNT / 2 * SIZE);
}

static void import_late(int s)
{
    start_cuda();
    CUdeviceptr at = map(import_fd(take_over(s)));
    EXPECT_EQUAL(word(at), 199);
    CHECK(cuMemsetD32(at + SIZE - 4, 0x5678, 1));
    signal_other(s);
}

static void without_descriptors_memory_gets_its_own_when_it_is_exported(void **state)
{
    (void)state;
    play(export_late, ENDS_WELL, import_late, ENDS_WELL);
}

/* ---- fabric */

static char channels[] = "/tmp/faultline-channels-XXXXXX";

static void put_channel(const char *name, bool there)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", channels, name);
    unlink(path);
    if (there) close(open(path, O_CREAT | O_RDONLY, 0400));
}

static void export_fabric(int s)
{
    CUmemFabricHandle f;
    setenv("FAULTLINE_IMEX_CHANNELS", channels, 1);
    start_cuda();
    CUmemGenericAllocationHandle h = create(FABRIC);
    CHECK(cuMemsetD32(map(h), 0x1234, SIZE / 4));
    CHECK(cuMemExportToShareableHandle(&f, h, FABRIC, 0));
    tell(s, &f, sizeof f);
    wait_end(s);
}

static void import_fabric(int s)
{
    CUmemFabricHandle f, wrong;
    CUmemGenericAllocationHandle h;
    setenv("FAULTLINE_IMEX_CHANNELS", channels, 1);
    hear(s, &f, sizeof f);
    start_cuda();
    CHECK(cuMemImportFromShareableHandle(&h, &f, FABRIC));
    EXPECT_EQUAL(word(map(h) + SIZE - 4), 0x1234);
    for (size_t k = 0; k < 56; k++) { /* what is left is zero */
        wrong = f;
        wrong.data[k] ^= 0x10;
        EXPECT(cuMemImportFromShareableHandle(&h, &wrong, FABRIC) != CUDA_SUCCESS);
    }
}

static void a_fabric_handle_works_between_processes_of_a_channel(void **state)
{
    (void)state;
    put_channel("channel0", true);
    play(export_fabric, ENDS_WELL, import_fabric, ENDS_WELL);
}

static void import_without_channel(int s)
{
    CUmemFabricHandle f;
    CUmemGenericAllocationHandle h;
    hear(s, &f, sizeof f);
    start_cuda();
    ANSWERS(cuMemImportFromShareableHandle(&h, &f, FABRIC), CUDA_ERROR_NOT_PERMITTED);
    CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .requestedHandleTypes = FABRIC,
                              .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    ANSWERS(cuMemCreate(&h, SIZE, &p, 0), CUDA_ERROR_NOT_PERMITTED);
}

static void without_the_channel_a_fabric_handle_is_not_permitted(void **state)
{
    (void)state;
    put_channel("channel0", true);
    play(export_fabric, ENDS_WELL, import_without_channel, ENDS_WELL);
}

static void export_fabric_and_die(int s)
{
    CUmemFabricHandle f;
    setenv("FAULTLINE_IMEX_CHANNELS", channels, 1);
    start_cuda();
    CHECK(cuMemExportToShareableHandle(&f, create(FABRIC), FABRIC, 0));
    tell(s, &f, sizeof f);
    kill(getpid(), SIGKILL);
}

static void import_fabric_from_the_dead(int s)
{
    CUmemFabricHandle f;
    CUmemGenericAllocationHandle h;
    setenv("FAULTLINE_IMEX_CHANNELS", channels, 1);
    hear(s, &f, sizeof f);
    wait_end(s);
    start_cuda();
    ANSWERS(cuMemImportFromShareableHandle(&h, &f, FABRIC), CUDA_ERROR_INVALID_VALUE);
}

static void a_fabric_handle_of_a_dead_process_is_invalid(void **state)
{
    (void)state;
    put_channel("channel0", true);
    play(export_fabric_and_die, IS_KILLED, import_fabric_from_the_dead, ENDS_WELL);
}

static int make_channels(void **state)
{
    (void)state;
    return mkdtemp(channels) ? 0 : -1;
}

static int remove_channels(void **state)
{
    (void)state;
    put_channel("channel0", false);
    return rmdir(channels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_processes_see_one_memory),
        cmocka_unit_test(memory_outlives_its_exporter),
        cmocka_unit_test(memory_counts_until_the_last_importer_is_dead),
        cmocka_unit_test(foreign_descriptors_are_refused),
        cmocka_unit_test(thousands_of_exportable_pages_leave_the_application_its_descriptors),
        cmocka_unit_test(without_descriptors_memory_gets_its_own_when_it_is_exported),
        cmocka_unit_test(a_fabric_handle_works_between_processes_of_a_channel),
        cmocka_unit_test(without_the_channel_a_fabric_handle_is_not_permitted),
        cmocka_unit_test(a_fabric_handle_of_a_dead_process_is_invalid),
    };
    return cmocka_run_group_tests(tests, make_channels, remove_channels);
}
