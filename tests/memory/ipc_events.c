/* Legacy IPC of events: what is recorded in one process orders streams of another. */
#include "ipc_rig.h"

#include <pthread.h>

/* A host function: its stream waits until the other process says so. */
static void hold_up(void *socket) { wait_other(*(int *)socket); }

static void a_plain_event_has_no_handle(int s)
{
    start_cuda();
    CUevent plain;
    CUipcEventHandle h;
    (void)s;
    CHECK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    memset(&h, 1, sizeof h);
    ANSWERS(cuIpcGetEventHandle(&h, plain), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(!memcmp(&h, &(CUipcEventHandle){ { 0 } }, sizeof h)); /* programs look at it to find out */
}

static void only_interprocess_events_have_handles(void **state)
{
    (void)state;
    play_alone(a_plain_event_has_no_handle);
}

static void recording_exporter(int s)
{
    start_cuda();
    CUstream stream;
    CUdeviceptr p = offer(s, 4096);
    CUevent e = offer_event(s);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    wait_other(s);
    CHECK(cuLaunchHostFunc(stream, hold_up, &s));
    CHECK(cuMemsetD32Async(p, 99, 1024, stream));
    CHECK(cuEventRecord(e, stream));
    ANSWERS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    signal_other(s);
    CHECK(cuEventSynchronize(e));
    CHECK(cuEventQuery(e));
    signal_other(s);
    wait_other(s);
    /* the importer recorded it now */
    CHECK(cuEventSynchronize(e));
    EXPECT_EQUAL(load(p), 5);
}

static void waiting_importer(int s)
{
    start_cuda();
    CUipcMemHandle h;
    CUipcEventHandle event_handle, none;
    CUevent e;
    CUstream stream;
    CUdeviceptr p = take(s, &h), copy;
    hear(s, &event_handle, sizeof event_handle);
    CHECK(cuIpcOpenEventHandle(&e, event_handle));
    CHECK(cuEventQuery(e));
    ANSWERS(cuIpcGetEventHandle(&none, e), CUDA_ERROR_INVALID_HANDLE);
    signal_other(s);
    wait_other(s);
    ANSWERS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&copy, 4096));
    CHECK(cuStreamWaitEvent(stream, e, 0));
    CHECK(cuMemcpyDtoDAsync(copy, p, 4096, stream));
    ANSWERS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    signal_other(s);
    CHECK(cuStreamSynchronize(stream));
    EXPECT_EQUAL(load(copy), 99);
    CHECK(cuEventQuery(e));
    wait_other(s);
    CHECK(cuMemsetD32Async(p, 5, 1024, stream));
    CHECK(cuEventRecord(e, stream));
    signal_other(s);
    CHECK(cuEventSynchronize(e));
    CHECK(cuEventDestroy(e));
}

static void an_event_orders_streams_of_two_processes(void **state)
{
    (void)state;
    play(recording_exporter, ENDS_WELL, waiting_importer, ENDS_WELL);
}

static void stuck_exporter(int s)
{
    start_cuda();
    CUstream stream;
    pid_t me = getpid();
    CUevent e = offer_event(s);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuLaunchHostFunc(stream, hold_up, &s));
    CHECK(cuEventRecord(e, stream));
    tell(s, &me, sizeof me);
    for (;;) pause();
}

static void freed_importer(int s)
{
    start_cuda();
    CUevent e;
    CUipcEventHandle h;
    pid_t exporter;
    hear(s, &h, sizeof h);
    hear(s, &exporter, sizeof exporter);
    CHECK(cuIpcOpenEventHandle(&e, h));
    ANSWERS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    EXPECT(!kill(exporter, SIGKILL));
    CHECK(cuEventSynchronize(e));
}

static void nobody_waits_for_an_event_of_a_dead_process(void **state)
{
    (void)state;
    play(stuck_exporter, IS_KILLED, freed_importer, ENDS_WELL);
}

/* The importer may be told that its exporter is gone by asking, too. */
static void asking_importer(int s)
{
    start_cuda();
    CUevent e;
    CUipcEventHandle h;
    pid_t exporter;
    hear(s, &h, sizeof h);
    hear(s, &exporter, sizeof exporter);
    CHECK(cuIpcOpenEventHandle(&e, h));
    ANSWERS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    EXPECT(!kill(exporter, SIGKILL));
    for (int k = 0; k < 10000 && cuEventQuery(e) == CUDA_ERROR_NOT_READY; k++) usleep(1000);
    CHECK(cuEventQuery(e));
}

static void an_event_of_a_dead_process_is_not_unfinished_for_ever(void **state)
{
    (void)state;
    play(stuck_exporter, IS_KILLED, asking_importer, ENDS_WELL);
}

/* A worker that was killed stays a zombie until its parent, which waits for the event first, asks after it. */
static void parent_of_exporter(int unused)
{
    int ends[2];
    (void)unused;
    EXPECT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t exporter = begin_player(stuck_exporter, ends[0], ends[1]);
    freed_importer(ends[1]);
    EXPECT(ended(exporter, IS_KILLED));
}

static void nobody_waits_for_an_event_of_a_zombie(void **state)
{
    (void)state;
    play_alone(parent_of_exporter);
}

enum { RECORDS = 100 };
static _Atomic bool may_go;

static void hold_until_told(void *unused)
{
    (void)unused;
    while (!may_go) usleep(1000);
}

/* Records the event in a stream that is held up, very often, then in another one. */
static void busy_exporter(int s)
{
    start_cuda();
    CUstream held, free;
    CUevent e = offer_event(s);
    CHECK(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&free, CU_STREAM_NON_BLOCKING));
    CHECK(cuLaunchHostFunc(held, hold_until_told, NULL));
    CHECK(cuEventRecord(e, held));
    meet(s); /* the other one waits for this record now */
    for (int k = 0; k < RECORDS; k++) CHECK(cuEventRecord(e, held));
    for (int k = 0; k < RECORDS; k++) CHECK(cuEventRecord(e, free));
    CHECK(cuStreamSynchronize(free));
    meet(s);
    wait_other(s);
    may_go = true;
    CHECK(cuStreamSynchronize(held));
    wait_other(s);
}

static void importer_of_one_record(int s)
{
    start_cuda();
    CUevent e;
    CUstream stream;
    CUipcEventHandle h;
    hear(s, &h, sizeof h);
    CHECK(cuIpcOpenEventHandle(&e, h));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    wait_other(s);
    CHECK(cuStreamWaitEvent(stream, e, 0));
    signal_other(s);
    meet(s);
    CHECK(cuEventQuery(e));
    usleep(200000); /* a wait would have ended by now */
    ANSWERS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    signal_other(s);
    CHECK(cuStreamSynchronize(stream));
    signal_other(s);
}

static void a_wait_is_for_the_record_that_was_the_last_however_many_follow(void **state)
{
    (void)state;
    play(busy_exporter, ENDS_WELL, importer_of_one_record, ENDS_WELL);
}

static void patient_exporter(int s)
{
    start_cuda();
    CUstream stream;
    CUevent e = offer_event(s);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuLaunchHostFunc(stream, hold_up, &s));
    CHECK(cuEventRecord(e, stream));
    signal_other(s);
    CHECK(cuStreamSynchronize(stream));
    wait_other(s);
}

/* What is mapped of other processes' events. */
static unsigned mappings_of_events(void)
{
    char line[512];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    EXPECT(f);
    while (fgets(line, sizeof line, f)) n += strstr(line, "faultline-events") != NULL;
    fclose(f);
    return n;
}

static void *wait_for_event(void *e)
{
    CUresult r = cuEventSynchronize(e);
    EXPECT(!r || r == CUDA_ERROR_INVALID_HANDLE); /* the thread came too late */
    return NULL;
}

static void leaving_importer(int s)
{
    start_cuda();
    CUevent e;
    CUstream stream;
    CUipcEventHandle h;
    pthread_t waiter;
    hear(s, &h, sizeof h);
    wait_other(s);
    for (int k = 0; k < 100; k++) {
        CHECK(cuIpcOpenEventHandle(&e, h));
        CHECK(cuEventDestroy(e));
    }
    EXPECT_EQUAL(mappings_of_events(), 0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuIpcOpenEventHandle(&e, h));
    CHECK(cuStreamWaitEvent(stream, e, 0));
    EXPECT(!pthread_create(&waiter, NULL, wait_for_event, e));
    usleep(20000);
    CHECK(cuEventDestroy(e));
    EXPECT_EQUAL(mappings_of_events(), 1);
    signal_other(s);
    EXPECT(!pthread_join(waiter, NULL));
    CHECK(cuStreamSynchronize(stream));
    EXPECT_EQUAL(mappings_of_events(), 0);
    signal_other(s);
}

static void what_is_shared_of_an_event_stays_until_nobody_waits_for_it(void **state)
{
    (void)state;
    play(patient_exporter, ENDS_WELL, leaving_importer, ENDS_WELL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_interprocess_events_have_handles),
        cmocka_unit_test(an_event_orders_streams_of_two_processes),
        cmocka_unit_test(nobody_waits_for_an_event_of_a_dead_process),
        cmocka_unit_test(an_event_of_a_dead_process_is_not_unfinished_for_ever),
        cmocka_unit_test(nobody_waits_for_an_event_of_a_zombie),
        cmocka_unit_test(a_wait_is_for_the_record_that_was_the_last_however_many_follow),
        cmocka_unit_test(what_is_shared_of_an_event_stays_until_nobody_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
