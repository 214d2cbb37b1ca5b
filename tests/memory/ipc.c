/* Legacy IPC between processes that use the whole library: what is shared, what
 * is refused, and what stays when one of them dies, at every step. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>

#include "../check.h"
#include "ipc/wire.h"

enum { NOBODY = 65534, PATIENCE_S = 60, SIZE = 3 << 20 };

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry poke(.param .u64 a, .param .u32 b){ .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
                          "ld.param.u64 %d1,[a]; ld.param.u32 %r1,[b]; cvta.to.global.u64 %d1,%d1;\n"
                          "st.global.u32 [%d1],%r1; ret; }\n";

/* ---- one process: what it says, it says by its exit status or over its end of a socket */

static CUfunction poke;

static void start(void)
{
    CUcontext c;
    CUmodule m;
    alarm(PATIENCE_S);
    EXPECT(!cuInit(0) && !cuDevicePrimaryCtxRetain(&c, 0) && !cuCtxSetCurrent(c));
    EXPECT(!cuModuleLoadData(&m, ptx) && !cuModuleGetFunction(&poke, m, "poke"));
}

static void store(CUdeviceptr p, unsigned value)
{
    void *arguments[] = { &p, &value };
    EXPECT(!cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) && !cuCtxSynchronize());
}

static unsigned load(CUdeviceptr p)
{
    unsigned value = 0;
    EXPECT(!cuMemcpyDtoH(&value, p, sizeof value));
    return value;
}

static size_t free_bytes(void)
{
    size_t free, total;
    EXPECT(!cuMemGetInfo(&free, &total));
    return free;
}

static void say(int s, const void *what, size_t size) { EXPECT(write(s, what, size) == (ssize_t)size); }
static void hear(int s, void *what, size_t size) { EXPECT(read(s, what, size) == (ssize_t)size); }
static void tick(int s) { say(s, "x", 1); }
static void wait_tick(int s)
{
    char c;
    hear(s, &c, 1);
}

/* ---- two processes */

typedef void role(int s);
struct pair {
    pid_t exporter, importer;
};

static pid_t begin(role *r, int mine, int other)
{
    pid_t pid = fork();
    if (pid) return pid;
    close(other);
    start();
    r(mine);
    _exit(0);
}

static int end_of(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Both must end as they should: 0, or by the signal that one sent the other. */
static void play(role *exporter, int exporter_ends, role *importer, int importer_ends)
{
    int ends[2];
    assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), errno);
    pid_t e = begin(exporter, ends[0], ends[1]), i = begin(importer, ends[1], ends[0]);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(end_of(e), exporter_ends);
    assert_int_equal(end_of(i), importer_ends);
}

/* ---- memory */

static CUdeviceptr offer(int s, size_t size)
{
    CUdeviceptr p;
    CUipcMemHandle h;
    EXPECT(!cuMemAlloc(&p, size) && !cuMemsetD32(p, 7, size / 4) && !cuIpcGetMemHandle(&h, p));
    say(s, &h, sizeof h);
    return p;
}

static CUdeviceptr take(int s, CUipcMemHandle *h)
{
    CUdeviceptr p;
    hear(s, h, sizeof *h);
    EXPECT(!cuIpcOpenMemHandle(&p, *h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    return p;
}

static void share_exporter(int s)
{
    CUdeviceptr p = offer(s, SIZE);
    wait_tick(s);
    EXPECT(load(p + SIZE - 4) == 8 && load(p) == 7);
    store(p, 9);
    tick(s);
    wait_tick(s);
    EXPECT(!cuMemFree(p));
}

static void share_importer(int s)
{
    CUipcMemHandle h;
    CUdeviceptr p = take(s, &h), again;
    EXPECT(load(p) == 7);
    store(p + SIZE - 4, 8);
    tick(s);
    wait_tick(s);
    EXPECT(load(p) == 9);
    EXPECT(!cuIpcOpenMemHandle(&again, h, 1) && again == p);
    EXPECT(!cuIpcCloseMemHandle(p) && load(p) == 9);
    EXPECT(cuMemFree(p) == CUDA_ERROR_INVALID_VALUE && cuIpcCloseMemHandle(p + 4) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(!cuIpcCloseMemHandle(p) && cuIpcCloseMemHandle(p) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyDtoH(&again, p, 4) == CUDA_ERROR_INVALID_VALUE);
    tick(s);
}

static void kernels_of_both_processes_use_the_same_bytes(void **state)
{
    (void)state;
    play(share_exporter, 0, share_importer, 0);
}

/* Freed by its owner, still open elsewhere. */
static void early_exporter(int s)
{
    size_t before = free_bytes();
    CUdeviceptr p = offer(s, SIZE), small = offer(s, 1000), other[16];
    wait_tick(s);
    EXPECT(!cuMemFree(p) && !cuMemFree(small));
    EXPECT(before - free_bytes() == (6 << 20));
    for (int k = 0; k < 16; k++) EXPECT(!cuMemAlloc(&other[k], SIZE) && !cuMemsetD32(other[k], 1, SIZE / 4));
    for (int k = 0; k < 16; k++) EXPECT(!cuMemFree(other[k]));
    tick(s);
    wait_tick(s);
    for (int k = 0; k < 20000 && free_bytes() != before; k++) usleep(1000); /* its thread hears of it in a moment */
    EXPECT(free_bytes() == before);
}

static void early_importer(int s)
{
    CUipcMemHandle h;
    CUdeviceptr p = take(s, &h), small = take(s, &h), again;
    tick(s);
    wait_tick(s);
    EXPECT(load(p) == 7 && load(p + SIZE - 4) == 7 && load(small) == 7);
    store(p, 8);
    EXPECT(!cuIpcCloseMemHandle(p) && !cuIpcCloseMemHandle(small));
    EXPECT(cuIpcOpenMemHandle(&again, h, 1) == CUDA_ERROR_INVALID_VALUE);
    tick(s);
}

static void memory_freed_while_open_elsewhere_is_kept_until_it_is_closed(void **state)
{
    (void)state;
    play(early_exporter, 0, early_importer, 0);
}

static void dying_exporter(int s)
{
    offer(s, SIZE);
    offer(s, SIZE);
    wait_tick(s);
    kill(getpid(), SIGKILL);
}

static void surviving_importer(int s)
{
    CUipcMemHandle h;
    CUdeviceptr p = take(s, &h), never;
    char none;
    hear(s, &h, sizeof h);
    tick(s);
    EXPECT(read(s, &none, 1) == 0);
    EXPECT(load(p) == 7);
    store(p, 8);
    EXPECT(load(p) == 8);
    EXPECT(cuIpcOpenMemHandle(&never, h, 1) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(!cuIpcCloseMemHandle(p));
}

static void an_importer_survives_its_exporter(void **state)
{
    (void)state;
    play(dying_exporter, SIGKILL, surviving_importer, 0);
}

/* It answers nothing for a while, then everything at once. */
static void stopped_exporter(int s)
{
    size_t before = free_bytes();
    pid_t me = getpid();
    CUdeviceptr p = offer(s, SIZE);
    offer(s, SIZE);
    say(s, &me, sizeof me);
    wait_tick(s);
    EXPECT(!cuMemFree(p));
    for (int k = 0; k < 20000 && before - free_bytes() != (4 << 20); k++) usleep(1000);
    EXPECT(before - free_bytes() == (4 << 20));
}

/* No thread of a process runs any more once its first one is stopped. */
static void stop(pid_t pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    EXPECT(!kill(pid, SIGSTOP));
    while (state != 'T') {
        FILE *f = fopen(path, "r");
        EXPECT(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
        fclose(f);
        usleep(1000);
    }
}

static void waiting_long_importer(int s)
{
    CUipcMemHandle first, second;
    CUdeviceptr p = take(s, &first), q;
    pid_t exporter;
    hear(s, &second, sizeof second);
    hear(s, &exporter, sizeof exporter);
    stop(exporter);
    EXPECT(cuIpcOpenMemHandle(&q, second, 1) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(!kill(exporter, SIGCONT));
    /* what was open stays open, and nothing is left open of what came too late */
    EXPECT(load(p) == 7 && !cuIpcOpenMemHandle(&q, second, 1) && load(q) == 7);
    EXPECT(!cuIpcCloseMemHandle(q) && !cuIpcCloseMemHandle(p));
    tick(s);
}

static void an_exporter_that_does_not_answer_keeps_nobody(void **state)
{
    (void)state;
    play(stopped_exporter, 0, waiting_long_importer, 0);
}

/* The importer dies: before it opened, with the memory open, after a kernel used it. */
static int step;

static void bereft_exporter(int s)
{
    size_t before = free_bytes();
    char none;
    CUdeviceptr p = offer(s, SIZE);
    EXPECT(read(s, &none, 1) == 0);
    EXPECT(!cuMemFree(p));
    for (int k = 0; k < 20000 && free_bytes() != before; k++) usleep(1000);
    EXPECT(free_bytes() == before);
}

static void dying_importer(int s)
{
    CUipcMemHandle h;
    if (step == 0) hear(s, &h, sizeof h);
    CUdeviceptr p = step ? take(s, &h) : 0;
    if (step == 2) store(p, 1);
    kill(getpid(), SIGKILL);
}

static void what_a_dead_importer_had_open_is_given_back(void **state)
{
    (void)state;
    for (step = 0; step < 3; step++) play(bereft_exporter, 0, dying_importer, SIGKILL);
}

/* ---- two devices */

static void second_device_exporter(int s)
{
    CUcontext c;
    EXPECT(!cuDevicePrimaryCtxRetain(&c, 1) && !cuCtxSetCurrent(c));
    CUdeviceptr p = offer(s, SIZE);
    wait_tick(s);
    EXPECT(load(p) == 8);
}

static void first_device_importer(int s)
{
    CUipcMemHandle h;
    CUdeviceptr p = take(s, &h);
    int ordinal;
    EXPECT(!cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) && ordinal == 1);
    store(p, 8);
    tick(s);
}

static void memory_of_another_device_is_opened_with_peer_access(void **state)
{
    (void)state;
    setenv("FAULTLINE_DEVICES", "2", 1);
    play(second_device_exporter, 0, first_device_importer, 0);
    unsetenv("FAULTLINE_DEVICES");
}

/* ---- handles */

static void patient_exporter(int s)
{
    CUdeviceptr p = offer(s, SIZE);
    CUipcMemHandle h, same;
    CUdeviceptr own;
    EXPECT(!cuIpcGetMemHandle(&h, p) && !cuIpcGetMemHandle(&same, p + 100) && !memcmp(&h, &same, sizeof h));
    EXPECT(cuIpcOpenMemHandle(&own, h, 1) == CUDA_ERROR_INVALID_CONTEXT);
    wait_tick(s);
    EXPECT(load(p) == 7);
}

static void guessing_importer(int s)
{
    CUipcMemHandle h;
    CUdeviceptr p;
    hear(s, &h, sizeof h);
    for (size_t k = 0; k < sizeof h; k++)
        for (int bit = 0; bit < 8; bit += 3) {
            CUipcMemHandle guess = h;
            guess.reserved[k] ^= (char)(1 << bit);
            EXPECT(cuIpcOpenMemHandle(&p, guess, 1) == CUDA_ERROR_INVALID_VALUE);
        }
    EXPECT(cuIpcOpenMemHandle(&p, h, 0) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuIpcOpenMemHandle(&p, h, 3) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(!cuIpcOpenMemHandle(&p, h, 1));
    tick(s);
}

static void a_handle_with_any_bit_changed_opens_nothing(void **state)
{
    (void)state;
    play(patient_exporter, 0, guessing_importer, 0);
}

static void event_exporter(int s);

static void another_user(int s)
{
    CUipcMemHandle h;
    CUipcEventHandle eh;
    CUdeviceptr p;
    CUevent e;
    hear(s, &h, sizeof h);
    hear(s, &eh, sizeof eh);
    EXPECT(!setgid(NOBODY) && !setuid(NOBODY));
    EXPECT(cuIpcOpenMemHandle(&p, h, 1) == CUDA_ERROR_NOT_PERMITTED);
    EXPECT(cuIpcOpenEventHandle(&e, eh) == CUDA_ERROR_NOT_PERMITTED);
    tick(s);
}

/* Asks the exporter's socket itself, without the library's own check. */
static void another_user_by_hand(int s)
{
    struct ticket t;
    struct sockaddr_un a;
    struct ipc_request q = { .verb = IPC_OPEN, .kind = IPC_MEMORY };
    struct ipc_reply reply = { 0 };
    int fd = -1, c = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    hear(s, &t, sizeof t);
    hear(s, &(CUipcEventHandle){ 0 }, sizeof(CUipcEventHandle));
    EXPECT(!setgid(NOBODY) && !setuid(NOBODY));
    memcpy(q.secret, t.secret, sizeof q.secret);
    socklen_t length = message_address(ipc_prefix, t.socket, &a);
    EXPECT(!connect(c, (struct sockaddr *)&a, length));
    message_send(c, &q, sizeof q, -1); /* may find the connection closed already */
    EXPECT(!message_receive(c, &reply, sizeof reply, &fd) || reply.result == CUDA_ERROR_NOT_PERMITTED);
    EXPECT(fd < 0);
    tick(s);
}

static void both_exporter(int s)
{
    CUdeviceptr p = offer(s, SIZE);
    event_exporter(s);
    EXPECT(load(p) == 7);
}

static void another_users_process_opens_nothing(void **state)
{
    (void)state;
    if (geteuid()) skip();
    play(both_exporter, 0, another_user, 0);
    play(both_exporter, 0, another_user_by_hand, 0);
}

/* ---- events */

static void event_exporter(int s)
{
    CUevent plain, e;
    CUipcEventHandle h;
    EXPECT(!cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    EXPECT(!cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    EXPECT(cuIpcGetEventHandle(&h, plain) == CUDA_ERROR_INVALID_HANDLE);
    EXPECT(!cuIpcGetEventHandle(&h, e));
    say(s, &h, sizeof h);
    wait_tick(s);
}

static void hold_up(void *arg)
{
    int s = *(int *)arg;
    wait_tick(s);
}

static void recording_exporter(int s)
{
    CUevent e;
    CUipcEventHandle h;
    CUstream stream;
    CUdeviceptr p = offer(s, 4096);
    static int held;
    held = s;
    EXPECT(!cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT(!cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) && !cuIpcGetEventHandle(&h, e));
    say(s, &h, sizeof h);
    wait_tick(s);
    EXPECT(!cuLaunchHostFunc(stream, hold_up, &held));
    EXPECT(!cuMemsetD32Async(p, 99, 1024, stream) && !cuEventRecord(e, stream));
    EXPECT(cuEventQuery(e) == CUDA_ERROR_NOT_READY);
    tick(s);
    EXPECT(!cuEventSynchronize(e) && !cuEventQuery(e));
    tick(s);
    wait_tick(s);
    /* the importer recorded it now */
    EXPECT(!cuEventSynchronize(e) && load(p) == 5);
}

static void waiting_importer(int s)
{
    CUipcMemHandle h;
    CUipcEventHandle eh, no;
    CUevent e;
    CUstream stream;
    CUdeviceptr p = take(s, &h), copy;
    hear(s, &eh, sizeof eh);
    EXPECT(!cuIpcOpenEventHandle(&e, eh) && !cuEventQuery(e));
    EXPECT(cuIpcGetEventHandle(&no, e) == CUDA_ERROR_INVALID_HANDLE);
    tick(s);
    wait_tick(s);
    EXPECT(cuEventQuery(e) == CUDA_ERROR_NOT_READY);
    EXPECT(!cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) && !cuMemAlloc(&copy, 4096));
    EXPECT(!cuStreamWaitEvent(stream, e, 0) && !cuMemcpyDtoDAsync(copy, p, 4096, stream));
    EXPECT(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    tick(s);
    EXPECT(!cuStreamSynchronize(stream) && load(copy) == 99 && !cuEventQuery(e));
    wait_tick(s);
    EXPECT(!cuMemsetD32Async(p, 5, 1024, stream) && !cuEventRecord(e, stream));
    tick(s);
    EXPECT(!cuEventSynchronize(e) && !cuEventDestroy(e));
}

static void an_event_orders_streams_of_two_processes(void **state)
{
    (void)state;
    play(recording_exporter, 0, waiting_importer, 0);
}

static void stuck_exporter(int s)
{
    CUevent e;
    CUipcEventHandle h;
    CUstream stream;
    static int held;
    held = s;
    EXPECT(!cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT(!cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) && !cuIpcGetEventHandle(&h, e));
    EXPECT(!cuLaunchHostFunc(stream, hold_up, &held) && !cuEventRecord(e, stream));
    say(s, &h, sizeof h);
    for (;;) pause();
}

static pid_t stuck;

static void freed_importer(int s)
{
    CUevent e;
    CUipcEventHandle h;
    hear(s, &h, sizeof h);
    EXPECT(!cuIpcOpenEventHandle(&e, h) && cuEventQuery(e) == CUDA_ERROR_NOT_READY);
    EXPECT(!kill(stuck, SIGKILL));
    EXPECT(!cuEventSynchronize(e));
}

static void nobody_waits_for_an_event_of_a_dead_process(void **state)
{
    int ends[2];
    (void)state;
    assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), errno);
    stuck = begin(stuck_exporter, ends[0], ends[1]);
    pid_t importer = begin(freed_importer, ends[1], ends[0]);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(end_of(stuck), SIGKILL);
    assert_int_equal(end_of(importer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_both_processes_use_the_same_bytes),
        cmocka_unit_test(memory_freed_while_open_elsewhere_is_kept_until_it_is_closed),
        cmocka_unit_test(an_importer_survives_its_exporter),
        cmocka_unit_test(an_exporter_that_does_not_answer_keeps_nobody),
        cmocka_unit_test(what_a_dead_importer_had_open_is_given_back),
        cmocka_unit_test(memory_of_another_device_is_opened_with_peer_access),
        cmocka_unit_test(a_handle_with_any_bit_changed_opens_nothing),
        cmocka_unit_test(another_users_process_opens_nothing),
        cmocka_unit_test(an_event_orders_streams_of_two_processes),
        cmocka_unit_test(nobody_waits_for_an_event_of_a_dead_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
