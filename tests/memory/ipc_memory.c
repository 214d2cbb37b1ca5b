/* Legacy IPC of memory: what both processes see, what stays when one of them
 * frees it, stops or dies, and what is counted as free. */
#include "ipc_rig.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static void share_exporter(int s)
{
    start_cuda();
    CUdeviceptr p = offer(s, SIZE);
    wait_other(s);
    EXPECT_EQUAL(load(p + SIZE - 4), 8);
    EXPECT_EQUAL(load(p), 7);
    store(p, 9);
    signal_other(s);
    wait_other(s);
    CHECK(cuMemFree(p));
}

static void share_importer(int s)
{
    start_cuda();
    CUipcMemHandle h;
    CUdeviceptr p = take(s, &h), again;
    EXPECT_EQUAL(load(p), 7);
    store(p + SIZE - 4, 8);
    signal_other(s);
    wait_other(s);
    EXPECT_EQUAL(load(p), 9);
    CHECK(cuIpcOpenMemHandle(&again, h, 1));
    EXPECT_EQUAL(again, p);
    CHECK(cuIpcCloseMemHandle(p));
    EXPECT_EQUAL(load(p), 9);
    ANSWERS(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuIpcCloseMemHandle(p + 4), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuIpcCloseMemHandle(p));
    ANSWERS(cuIpcCloseMemHandle(p), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyDtoH(&again, p, 4), CUDA_ERROR_INVALID_VALUE);
    signal_other(s);
}

static void kernels_of_both_processes_use_the_same_bytes(void **state)
{
    (void)state;
    play(share_exporter, ENDS_WELL, share_importer, ENDS_WELL);
}

/* Freed by its owner, still open elsewhere. */
static void early_exporter(int s)
{
    start_cuda();
    size_t before = free_bytes();
    CUdeviceptr p = offer(s, SIZE), small = offer(s, 1000), other[16];
    wait_other(s);
    CHECK(cuMemFree(p));
    CHECK(cuMemFree(small));
    EXPECT_EQUAL(before - free_bytes(), 6 << 20);
    for (int k = 0; k < 16; k++) {
        CHECK(cuMemAlloc(&other[k], SIZE));
        CHECK(cuMemsetD32(other[k], 1, SIZE / 4));
    }
    for (int k = 0; k < 16; k++) CHECK(cuMemFree(other[k]));
    signal_other(s);
    wait_other(s);
    wait_for_free_bytes(before);
}

static void early_importer(int s)
{
    start_cuda();
    CUipcMemHandle h;
    CUdeviceptr p = take(s, &h), small = take(s, &h), again;
    signal_other(s);
    wait_other(s);
    EXPECT_EQUAL(load(p), 7);
    EXPECT_EQUAL(load(p + SIZE - 4), 7);
    EXPECT_EQUAL(load(small), 7);
    store(p, 8);
    CHECK(cuIpcCloseMemHandle(p));
    CHECK(cuIpcCloseMemHandle(small));
    ANSWERS(cuIpcOpenMemHandle(&again, h, 1), CUDA_ERROR_INVALID_VALUE);
    signal_other(s);
}

static void memory_freed_while_open_elsewhere_is_kept_until_it_is_closed(void **state)
{
    (void)state;
    play(early_exporter, ENDS_WELL, early_importer, ENDS_WELL);
}

static void dying_exporter(int s)
{
    start_cuda();
    offer(s, SIZE);
    offer(s, SIZE);
    wait_other(s);
    kill(getpid(), SIGKILL);
}

static void surviving_importer(int s)
{
    start_cuda();
    CUipcMemHandle h;
    CUdeviceptr p = take(s, &h), never;
    hear(s, &h, sizeof h);
    signal_other(s);
    wait_end(s);
    EXPECT_EQUAL(load(p), 7);
    store(p, 8);
    EXPECT_EQUAL(load(p), 8);
    ANSWERS(cuIpcOpenMemHandle(&never, h, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuIpcCloseMemHandle(p));
}

static void an_importer_survives_its_exporter(void **state)
{
    (void)state;
    play(dying_exporter, IS_KILLED, surviving_importer, ENDS_WELL);
}

/* It answers nothing for a while, then everything at once. */
static void stopped_exporter(int s)
{
    start_cuda();
    size_t before = free_bytes();
    pid_t me = getpid();
    CUdeviceptr p = offer(s, SIZE);
    offer(s, SIZE);
    tell(s, &me, sizeof me);
    wait_other(s);
    CHECK(cuMemFree(p));
    wait_for_free_bytes(before - (4 << 20));
}

/* No thread of a process runs any more once its first one is stopped. */
static void stop(pid_t pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    EXPECT(!kill(pid, SIGSTOP));
    while (state != 'T') {
        FILE *f = fopen(path, "r");
        EXPECT(f);
        EXPECT_EQUAL(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
        fclose(f);
        usleep(1000);
    }
}

static void waiting_long_importer(int s)
{
    start_cuda();
    CUipcMemHandle first, second;
    CUdeviceptr p = take(s, &first), q;
    pid_t exporter;
    hear(s, &second, sizeof second);
    hear(s, &exporter, sizeof exporter);
    stop(exporter);
    ANSWERS(cuIpcOpenMemHandle(&q, second, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(!kill(exporter, SIGCONT));
    /* what was open stays open, and nothing is left open of what came too late */
    EXPECT_EQUAL(load(p), 7);
    CHECK(cuIpcOpenMemHandle(&q, second, 1));
    EXPECT_EQUAL(load(q), 7);
    CHECK(cuIpcCloseMemHandle(q));
    CHECK(cuIpcCloseMemHandle(p));
    signal_other(s);
}

static void an_exporter_that_does_not_answer_keeps_nobody(void **state)
{
    (void)state;
    play(stopped_exporter, ENDS_WELL, waiting_long_importer, ENDS_WELL);
}

/* The importer dies: before it opened, with the memory open, after a kernel used it. */
static int step;

static void bereft_exporter(int s)
{
    start_cuda();
    size_t before = free_bytes();
    CUdeviceptr p = offer(s, SIZE);
    wait_end(s);
    CHECK(cuMemFree(p));
    wait_for_free_bytes(before);
}

static void dying_importer(int s)
{
    start_cuda();
    CUipcMemHandle h;
    if (step == 0) hear(s, &h, sizeof h);
    CUdeviceptr p = step ? take(s, &h) : 0;
    if (step == 2) store(p, 1);
    kill(getpid(), SIGKILL);
}

static void what_a_dead_importer_had_open_is_given_back(void **state)
{
    (void)state;
    for (step = 0; step < 3; step++) play(bereft_exporter, ENDS_WELL, dying_importer, IS_KILLED);
}

/* ---- closed while another context of the importer uses it, which closing does not wait for */

struct copy {
    CUcontext context;
    CUdeviceptr from;
    unsigned *to;
};

static void *copy_out(void *arg)
{
    const struct copy *c = arg;
    CHECK(cuCtxSetCurrent(c->context));
    CHECK(cuMemcpyDtoH(c->to, c->from, SIZE));
    return NULL;
}

static void patient_memory_exporter(int s)
{
    start_cuda();
    offer(s, SIZE);
    wait_other(s);
}

static int faults_of_user_mode(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (fd >= 0 && ioctl(fd, UFFDIO_API, &(struct uffdio_api){ .api = UFFD_API })) close(fd), fd = -1;
    return fd;
}

static void copying_importer(int s)
{
    CUcontext importing;
    CUipcMemHandle h;
    struct copy c;
    struct uffd_msg fault;
    pthread_t copying;
    start_cuda();
    CHECK(cuCtxGetCurrent(&importing));
    c.from = take(s, &h);
    CHECK(cuCtxCreate(&c.context, NULL, 0, 0));
    c.to = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct uffdio_range range = { (uintptr_t)c.to, SIZE };
    int fd = faults_of_user_mode();
    EXPECT(!ioctl(fd, UFFDIO_REGISTER, &(struct uffdio_register){ .range = range, .mode = UFFDIO_REGISTER_MODE_MISSING }));
    EXPECT(!pthread_create(&copying, NULL, copy_out, &c));
    EXPECT_EQUAL(read(fd, &fault, sizeof fault), (ssize_t)sizeof fault); /* it stands at its first word */
    CHECK(cuCtxSetCurrent(importing));
    CHECK(cuIpcCloseMemHandle(c.from));
    EXPECT(!ioctl(fd, UFFDIO_UNREGISTER, &range));
    EXPECT(!pthread_join(copying, NULL));
    for (size_t k = 0; k < SIZE / 4; k++) EXPECT_EQUAL(c.to[k], 7);
    signal_other(s);
}

static void what_is_closed_while_it_is_copied_is_copied(void **state)
{
    int fd = faults_of_user_mode();
    (void)state;
    if (fd < 0) skip();
    close(fd);
    play(patient_memory_exporter, ENDS_WELL, copying_importer, ENDS_WELL);
}

static void importer_that_waits_for_a_word(int s)
{
    CUcontext importing, other;
    CUipcMemHandle h;
    CUstream stream;
    start_cuda();
    CHECK(cuCtxGetCurrent(&importing));
    CUdeviceptr p = take(s, &h);
    CHECK(cuCtxCreate(&other, NULL, 0, 0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamWaitValue32(stream, p, 8, CU_STREAM_WAIT_VALUE_EQ));
    CHECK(cuCtxSetCurrent(importing));
    CHECK(cuIpcCloseMemHandle(p));
    CHECK(cuCtxSetCurrent(other));
    ANSWERS(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    signal_other(s);
}

static void a_wait_for_a_word_of_memory_that_is_closed_fails(void **state)
{
    (void)state;
    play(patient_memory_exporter, ENDS_WELL, importer_that_waits_for_a_word, ENDS_WELL);
}

/* ---- two devices */

static void second_device_exporter(int s)
{
    start_cuda();
    CUcontext c;
    CHECK(cuDevicePrimaryCtxRetain(&c, 1));
    CHECK(cuCtxSetCurrent(c));
    CUdeviceptr p = offer(s, SIZE);
    wait_other(s);
    EXPECT_EQUAL(load(p), 8);
}

static void first_device_importer(int s)
{
    start_cuda();
    CUipcMemHandle h;
    CUdeviceptr p = take(s, &h);
    int ordinal;
    CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    EXPECT_EQUAL(ordinal, 1);
    store(p, 8);
    signal_other(s);
}

static void memory_of_another_device_is_opened_with_peer_access(void **state)
{
    (void)state;
    setenv("FAULTLINE_DEVICES", "2", 1);
    play(second_device_exporter, ENDS_WELL, first_device_importer, ENDS_WELL);
    unsetenv("FAULTLINE_DEVICES");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_both_processes_use_the_same_bytes),
        cmocka_unit_test(memory_freed_while_open_elsewhere_is_kept_until_it_is_closed),
        cmocka_unit_test(an_importer_survives_its_exporter),
        cmocka_unit_test(an_exporter_that_does_not_answer_keeps_nobody),
        cmocka_unit_test(what_a_dead_importer_had_open_is_given_back),
        cmocka_unit_test(what_is_closed_while_it_is_copied_is_copied),
        cmocka_unit_test(a_wait_for_a_word_of_memory_that_is_closed_fails),
        cmocka_unit_test(memory_of_another_device_is_opened_with_peer_access),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
