/* A pool shared by two processes, either of which dies after each of its steps:
 * the other one goes on, with the contents it had, or with a clear error. */
#include "../check.h"
#include "../rig.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 1 << 20, NEVER = 99 };

#define check(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #what); \
            _exit(3); \
        } \
    } while (0)

static void die_after(int step, int last)
{
    if (step == last) kill(getpid(), SIGKILL);
}

static void send_fd(int to, int fd)
{
    char byte = 'f', room[CMSG_SPACE(sizeof fd)] = { 0 };
    struct iovec v = { &byte, 1 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd) };
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    sendmsg(to, &m, MSG_NOSIGNAL);
}

/* -1: the other one is gone. */
static int receive_fd(int from)
{
    char byte, room[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec v = { &byte, 1 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
    int fd = -1;
    if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static void tell(int to) { send(to, "k", 1, MSG_NOSIGNAL); }

static int hear(int from)
{
    char byte;
    return recv(from, &byte, 1, 0) == 1;
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

/* Its steps; it ends well whatever becomes of the importer. */
static void exporter(int other, int last)
{
    CUstream s = set_up();
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p, q;
    int fd;
    CHECK(cuMemPoolCreate(&pool, &props));
    die_after(0, last);
    CHECK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(other, fd);
    close(fd);
    die_after(1, last);
    CHECK(cuMemAllocFromPoolAsync(&q, 3 * MiB, pool, s));
    CHECK(cuMemAllocFromPoolAsync(&p, 4 * WORDS, pool, s));
    CHECK(cuMemsetD32Async(p, 0x600d, WORDS, s));
    CHECK(cuStreamSynchronize(s));
    CHECK(cuMemPoolExportPointer(&data, p));
    die_after(2, last);
    send(other, &data, sizeof data, MSG_NOSIGNAL);
    die_after(3, last);
    bool heard = hear(other);
    check(word(p) == 0x600d);
    if (heard) check(word(p + 4 * (WORDS - 1)) == 0xbeef);
    die_after(4, last);
    CHECK(cuMemFreeAsync(p, s));
    CHECK(cuStreamSynchronize(s));
    tell(other);
    hear(other); /* it has tried the stale data */
    die_after(5, last);
    CHECK(cuMemFreeAsync(q, s));
    CHECK(cuMemPoolDestroy(pool));
    CHECK(cuCtxSynchronize());
    tell(other);
    _exit(0);
}

static void importer(int other, int last)
{
    CUstream s = set_up();
    CUmemoryPool pool;
    CUmemPoolPtrExportData data, wrong;
    CUdeviceptr p, q;
    int fd = receive_fd(other);
    if (fd < 0) _exit(0);
    CHECK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    die_after(0, last);
    check(cuMemAllocFromPoolAsync(&q, 64, pool, s) == CUDA_ERROR_INVALID_VALUE);
    check(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
          CUDA_ERROR_INVALID_VALUE);
    if (recv(other, &data, sizeof data, MSG_WAITALL) != sizeof data) {
        CHECK(cuMemPoolDestroy(pool));
        _exit(0);
    }
    for (size_t k = 0; k < 32; k++) {
        wrong = data;
        wrong.reserved[k] ^= 0x5a;
        check(cuMemPoolImportPointer(&p, pool, &wrong) == CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(cuMemPoolImportPointer(&p, pool, &data));
    check(cuMemPoolImportPointer(&q, pool, &data) == CUDA_ERROR_INVALID_VALUE);
    die_after(1, last);
    size_t size;
    CHECK(cuMemGetAddressRange(&q, &size, p + 100));
    check(q == p && size == 4 * WORDS);
    check(word(p) == 0x600d && word(p + 4 * (WORDS - 1)) == 0x600d);
    CHECK(rig_launch(rig_kernel("fill"), p + 4 * (WORDS - 16), 16, 0xbeef, s));
    CHECK(cuStreamSynchronize(s));
    die_after(2, last);
    tell(other);
    CHECK(cuMemFreeAsync(p, s)); /* before the exporter does */
    CHECK(cuStreamSynchronize(s));
    check(cuMemFreeAsync(p, s) == CUDA_ERROR_INVALID_VALUE);
    die_after(3, last);
    if (hear(other)) check(cuMemPoolImportPointer(&p, pool, &data) == CUDA_ERROR_INVALID_VALUE);
    tell(other);
    hear(other);
    /* the exporter is gone or going: what was imported stays what it is */
    CHECK(cuMemPoolDestroy(pool));
    CHECK(cuCtxSynchronize());
    _exit(0);
}

typedef void role(int other, int last);

static pid_t start(role *r, int end, int close_end, int last)
{
    pid_t child = fork();
    if (child) return child;
    close(close_end);
    alarm(60);
    r(end, last);
    _exit(9);
}

static void run(int exporter_last, int importer_last)
{
    int ends[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t e = start(exporter, ends[0], ends[1], exporter_last), i = start(importer, ends[1], ends[0], importer_last);
    close(ends[0]);
    close(ends[1]);
    waitpid(e, &status, 0);
    if (exporter_last == NEVER)
        assert_int_equal(status, 0);
    else
        assert_true(WIFSIGNALED(status));
    waitpid(i, &status, 0);
    if (importer_last == NEVER)
        assert_int_equal(status, 0);
    else
        assert_true(WIFSIGNALED(status));
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

static void growing_exporter(int other, int last)
{
    CUstream s = set_up();
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p[PIECES];
    int fd;
    (void)last;
    CHECK(cuMemPoolCreate(&pool, &props));
    CHECK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_fd(other, fd);
    close(fd);
    for (uint32_t k = 0; k < PIECES; k++) {
        CHECK(cuMemAllocFromPoolAsync(&p[k], PIECE, pool, s));
        CHECK(cuMemsetD32Async(p[k] + PIECE - 64, 100 + k, 16, s));
        CHECK(cuStreamSynchronize(s));
        CHECK(cuMemPoolExportPointer(&data, p[k]));
        send(other, &data, sizeof data, MSG_NOSIGNAL);
        check(hear(other));
        for (uint32_t j = 0; j <= k; j++)
            check(word(p[j] + PIECE - 64) == 200 + j && word(p[j] + PIECE - 4) == 100 + j);
    }
    uint64_t reserved;
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    check(reserved == 3 * CHUNK && p[3] == p[0] + 3ul * PIECE);
    hear(other);
    _exit(0);
}

static void growing_importer(int other, int last)
{
    CUstream s = set_up();
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr p[PIECES];
    int fd = receive_fd(other);
    (void)last;
    CHECK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    for (uint32_t k = 0; k < PIECES; k++) {
        check(recv(other, &data, sizeof data, MSG_WAITALL) == sizeof data);
        CHECK(cuMemPoolImportPointer(&p[k], pool, &data));
        for (uint32_t j = 0; j <= k; j++) check(word(p[j] + PIECE - 4) == 100 + j);
        CHECK(rig_launch(rig_kernel("fill"), p[k] + PIECE - 64, 1, 200 + k, s));
        CHECK(cuStreamSynchronize(s));
        tell(other);
    }
    for (uint32_t k = 0; k < PIECES; k++) CHECK(cuMemFreeAsync(p[k], s));
    CHECK(cuStreamSynchronize(s));
    tell(other);
    CHECK(cuMemPoolDestroy(pool));
    _exit(0);
}

static void a_pool_grows_while_another_process_uses_it(void **state)
{
    (void)state;
    int ends[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t both[] = { start(growing_exporter, ends[0], ends[1], NEVER),
                     start(growing_importer, ends[1], ends[0], NEVER) };
    close(ends[0]);
    close(ends[1]);
    for (int k = 0; k < 2; k++) {
        waitpid(both[k], &status, 0);
        assert_int_equal(status, 0);
    }
}

/* Not a pool's file, or one that could shrink under us. */
static void refused(void)
{
    set_up();
    CUmemoryPool pool;
    int files[] = { open("/dev/null", O_RDWR | O_CLOEXEC), memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING), -1,
                    12345 };
    check(ftruncate(files[1], 64 << 20) == 0);
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned k = 0; k < sizeof files / sizeof *files; k++)
            check(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)files[k],
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                     0) == CUDA_ERROR_INVALID_VALUE);
        check(fcntl(files[1], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    }
    _exit(0);
}

static void a_file_that_is_no_pool_is_refused(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (!child) refused();
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_share_an_allocation),
        cmocka_unit_test(the_importer_goes_on_when_the_exporter_dies),
        cmocka_unit_test(the_exporter_goes_on_when_the_importer_dies),
        cmocka_unit_test(a_pool_grows_while_another_process_uses_it),
        cmocka_unit_test(a_file_that_is_no_pool_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
