/* A pool shared by two processes, either of which dies after each of its steps:
 * the other one goes on, with the contents it had, or with a clear error. */
#include "../players.h"
#include "../rig.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { WORDS = 1 << 20, NEVER = 99 };
/* The steps after which they die. */
static int exporter_last, importer_last;

static void die_after(int step, int last)
{
    if (step == last) kill(getpid(), SIGKILL);
}

/* The other one may be gone: false then. */
static bool signal_if_there(int other) { return try_tell(other, "", 1); }
static bool wait_if_there(int other)
{
    char byte;
    return try_hear(other, &byte, 1);
}

static CUstream set_up(void)
{
    CUdevice d;
    CUcontext c;
    CUstream s;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&d, 0));
    CHECK(cuDevicePrimaryCtxRetain(&c, d));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return s;
}

static uint32_t word(CUdeviceptr p)
{
    uint32_t v;
    CHECK(cuMemcpyDtoH(&v, p, 4));
    return v;
}

static const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                      .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

/* Its steps; it ends well whatever becomes of the importer. */
static void exporter(int other)
{
    CUstream s = set_up();
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p, q;
    int fd;
    CHECK(cuMemPoolCreate(&pool, &props));
    die_after(0, exporter_last);
    CHECK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    hand_over(other, fd);
    die_after(1, exporter_last);
    CHECK(cuMemAllocFromPoolAsync(&q, 3 * MiB, pool, s));
    CHECK(cuMemAllocFromPoolAsync(&p, 4 * WORDS, pool, s));
    CHECK(cuMemsetD32Async(p, 0x600d, WORDS, s));
    CHECK(cuStreamSynchronize(s));
    CHECK(cuMemPoolExportPointer(&data, p));
    die_after(2, exporter_last);
    try_tell(other, &data, sizeof data);
    die_after(3, exporter_last);
    bool heard = wait_if_there(other);
    EXPECT(word(p) == 0x600d);
    if (heard) EXPECT(word(p + 4 * (WORDS - 1)) == 0xbeef);
    die_after(4, exporter_last);
    CHECK(cuMemFreeAsync(p, s));
    CHECK(cuStreamSynchronize(s));
    signal_if_there(other);
    wait_if_there(other); /* it has tried the stale data */
    die_after(5, exporter_last);
    CHECK(cuMemFreeAsync(q, s));
    CHECK(cuMemPoolDestroy(pool));
    CHECK(cuCtxSynchronize());
    signal_if_there(other);
}

static void importer(int other)
{
    CUstream s = set_up();
    CUmemoryPool pool;
    CUmemPoolPtrExportData data, wrong;
    CUdeviceptr p, q;
    int fd = take_over(other);
    if (fd < 0) _exit(0);
    CHECK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUmemoryPool same;
    int policy = 0;
    CHECK(cuMemPoolImportFromShareableHandle(&same, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    EXPECT(same == pool);
    CHECK(cuMemPoolDestroy(same)); /* it is still imported once */
    close(fd);
    die_after(0, importer_last);
    ANSWERS(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &policy), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &policy), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemAllocFromPoolAsync(&q, 64, pool, s), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE);
    if (!try_hear(other, &data, sizeof data)) {
        CHECK(cuMemPoolDestroy(pool));
        _exit(0);
    }
    for (size_t k = 0; k < 32; k++) {
        wrong = data;
        wrong.reserved[k] ^= 0x5a;
        ANSWERS(cuMemPoolImportPointer(&p, pool, &wrong), CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(cuMemPoolImportPointer(&p, pool, &data));
    CHECK(cuMemPoolImportPointer(&q, pool, &data));
    EXPECT(q == p);
    ANSWERS(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    die_after(1, importer_last);
    size_t size;
    CHECK(cuMemGetAddressRange(&q, &size, p + 100));
    EXPECT(q == p);
    EXPECT(size == 4 * WORDS);
    EXPECT(word(p) == 0x600d);
    EXPECT(word(p + 4 * (WORDS - 1)) == 0x600d);
    CHECK(rig_launch(rig_kernel("fill"), p + 4 * (WORDS - 16), 16, 0xbeef, s));
    CHECK(cuStreamSynchronize(s));
    die_after(2, importer_last);
    signal_if_there(other);
    CHECK(cuMemFreeAsync(p, s)); /* before the exporter does */
    CHECK(cuStreamSynchronize(s));
    ANSWERS(cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE);
    die_after(3, importer_last);
    if (wait_if_there(other)) ANSWERS(cuMemPoolImportPointer(&p, pool, &data), CUDA_ERROR_INVALID_VALUE);
    signal_if_there(other);
    wait_if_there(other);
    /* the exporter is gone or going: what was imported stays what it is */
    CHECK(cuMemPoolDestroy(pool));
    CHECK(cuCtxSynchronize());
}

static void run(int exporter_dies_after, int importer_dies_after)
{
    exporter_last = exporter_dies_after;
    importer_last = importer_dies_after;
    play(exporter, exporter_last == NEVER ? ENDS_WELL : IS_KILLED, importer,
         importer_last == NEVER ? ENDS_WELL : IS_KILLED);
}

static void two_processes_share_an_allocation(void **state)
{
    (void)state;
    run(NEVER, NEVER);
}

static void the_importer_goes_on_when_the_exporter_dies(void **state)
{
    (void)state;
    for (int step = 0; step <= 5; step++) run(step, NEVER);
}

static void the_exporter_goes_on_when_the_importer_dies(void **state)
{
    (void)state;
    for (int step = 0; step <= 3; step++) run(NEVER, step);
}

/* ---- a pool that grows while it is shared */

enum { PIECES = 4, PIECE = 20 << 20 };

static void growing_exporter(int other)
{
    CUstream s = set_up();
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p[PIECES];
    int fd;
    CHECK(cuMemPoolCreate(&pool, &props));
    CHECK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    hand_over(other, fd);
    for (uint32_t k = 0; k < PIECES; k++) {
        CHECK(cuMemAllocFromPoolAsync(&p[k], PIECE, pool, s));
        CHECK(cuMemsetD32Async(p[k] + PIECE - 64, 100 + k, 16, s));
        CHECK(cuStreamSynchronize(s));
        CHECK(cuMemPoolExportPointer(&data, p[k]));
        try_tell(other, &data, sizeof data);
        EXPECT(wait_if_there(other));
        for (uint32_t j = 0; j <= k; j++) {
            EXPECT(word(p[j] + PIECE - 64) == 200 + j);
            EXPECT(word(p[j] + PIECE - 4) == 100 + j);
        }
    }
    uint64_t reserved;
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    EXPECT(reserved == 3 * CHUNK);
    EXPECT(p[3] == p[0] + 3ul * PIECE);
    wait_if_there(other);
}

static void growing_importer(int other)
{
    CUstream s = set_up();
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p[PIECES];
    int fd = take_over(other);
    CHECK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    for (uint32_t k = 0; k < PIECES; k++) {
        hear(other, &data, sizeof data);
        CHECK(cuMemPoolImportPointer(&p[k], pool, &data));
        for (uint32_t j = 0; j <= k; j++) EXPECT(word(p[j] + PIECE - 4) == 100 + j);
        CHECK(rig_launch(rig_kernel("fill"), p[k] + PIECE - 64, 1, 200 + k, s));
        CHECK(cuStreamSynchronize(s));
        signal_if_there(other);
    }
    for (uint32_t k = 0; k < PIECES; k++) CHECK(cuMemFreeAsync(p[k], s));
    CHECK(cuStreamSynchronize(s));
    signal_if_there(other);
    CHECK(cuMemPoolDestroy(pool));
}

static void a_pool_grows_while_another_process_uses_it(void **state)
{
    (void)state;
    play(growing_exporter, ENDS_WELL, growing_importer, ENDS_WELL);
}

/* Not a pool's file, or one that could shrink under us. */
static void import_what_is_no_pool(int other)
{
    (void)other;
    set_up();
    CUmemoryPool pool;
    int files[] = { open("/dev/null", O_RDWR | O_CLOEXEC), memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING), -1,
                    12345 };
    EXPECT(ftruncate(files[1], 64 << 20) == 0);
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned k = 0; k < sizeof files / sizeof *files; k++)
            ANSWERS(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)files[k],
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                    CUDA_ERROR_UNKNOWN);
        EXPECT(pass || fcntl(files[1], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    }
}

static void a_file_that_is_no_pool_is_refused(void **state)
{
    (void)state;
    play_alone(import_what_is_no_pool);
}

/* Neither this process nor the device's may have more than a few files at once, and no pool may keep one. */
static void make_many_pools(int unused)
{
    const struct rlimit few = { 64, 64 };
    CUmemoryPool pool;
    CUdeviceptr p;
    CUmodule m;
    CUfunction fill;
    (void)unused;
    EXPECT(!setrlimit(RLIMIT_NOFILE, &few));
    CUstream s = set_up();
    CHECK(cuModuleLoadData(&m, rig_ptx));
    CHECK(cuModuleGetFunction(&fill, m, "fill"));
    for (unsigned k = 1; k <= 200; k++) {
        CHECK(cuMemPoolCreate(&pool, &props));
        CHECK(cuMemAllocFromPoolAsync(&p, MiB, pool, s));
        if (k % 50 == 0) CHECK(rig_launch(fill, p, 1, k, s)); /* only for kernels a device looks at its page table */
        CHECK(cuStreamSynchronize(s));
        if (k % 50 == 0) EXPECT_EQUAL(word(p), k);
        CHECK(cuMemFreeAsync(p, s));
        CHECK(cuMemPoolDestroy(pool));
    }
}

static void pools_that_ended_keep_no_files(void **state)
{
    (void)state;
    play_alone(make_many_pools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_share_an_allocation),
        cmocka_unit_test(the_importer_goes_on_when_the_exporter_dies),
        cmocka_unit_test(the_exporter_goes_on_when_the_importer_dies),
        cmocka_unit_test(a_pool_grows_while_another_process_uses_it),
        cmocka_unit_test(a_file_that_is_no_pool_is_refused),
        cmocka_unit_test(pools_that_ended_keep_no_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
