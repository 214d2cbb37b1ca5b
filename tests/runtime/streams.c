/* Streams and events of the runtime: order, questions, callbacks, and capture. */
#include "runtime_rig.h"

#include <stdatomic.h>
#include <unistd.h>

/* A host function of a stream that ends when it is told to. */
static atomic_bool open;

static void wait_until_open(void *data)
{
    (void)data;
    while (!atomic_load(&open)) usleep(100);
}

static void count(void *data) { atomic_fetch_add((atomic_int *)data, 1); }

static void a_stream_is_not_ready_while_it_has_work(void **state)
{
    (void)state;
    cudaStream_t s;
    cudaEvent_t e;
    atomic_store(&open, false);
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaEventQuery(e));
    OK(cudaLaunchHostFunc(s, wait_until_open, NULL));
    OK(cudaEventRecord(e, s));
    ANSWERS(cudaStreamQuery(s), cudaErrorNotReady);
    ANSWERS(cudaEventQuery(e), cudaErrorNotReady);
    atomic_store(&open, true);
    OK(cudaEventSynchronize(e));
    OK(cudaEventQuery(e));
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamQuery(s));
    cudaGetLastError();
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
}

static void a_stream_waits_for_another_ones_event(void **state)
{
    (void)state;
    cudaStream_t a, b;
    cudaEvent_t e;
    atomic_int done = 0;
    atomic_store(&open, false);
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreate(&e));
    OK(cudaLaunchHostFunc(a, wait_until_open, NULL));
    OK(cudaEventRecord(e, a));
    OK(cudaStreamWaitEvent(b, e, 0));
    OK(cudaLaunchHostFunc(b, count, &done));
    usleep(20000);
    assert_int_equal(atomic_load(&done), 0);
    atomic_store(&open, true);
    OK(cudaStreamSynchronize(b));
    assert_int_equal(atomic_load(&done), 1);
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

struct told {
    cudaStream_t stream;
    cudaError_t status;
};

static void tell(cudaStream_t stream, cudaError_t status, void *data)
{
    *(struct told *)data = (struct told){ stream, status };
}

static void a_callback_is_told_of_the_stream_and_how_it_went(void **state)
{
    (void)state;
    cudaStream_t s;
    struct told told = { NULL, cudaErrorUnknown };
    OK(cudaStreamCreate(&s));
    OK(cudaStreamAddCallback(s, tell, &told, 0));
    OK(cudaStreamSynchronize(s));
    assert_ptr_equal(told.stream, s);
    assert_int_equal(told.status, cudaSuccess);
    FAILS(cudaStreamAddCallback(s, tell, &told, 1), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(s));
}

static void elapsed_time_is_between_two_records(void **state)
{
    (void)state;
    cudaStream_t s;
    cudaEvent_t a, b;
    float ms = -1;
    OK(cudaStreamCreate(&s));
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    FAILS(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(a, s));
    OK(cudaEventRecord(b, s));
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    assert_true(ms >= 0);
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(s));
}

static void a_stream_is_as_it_was_made(void **state)
{
    (void)state;
    cudaStream_t s, t;
    int least, greatest, priority, device;
    unsigned flags;
    unsigned long long id, other;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest));
    OK(cudaStreamCreate(&t));
    OK(cudaStreamGetPriority(s, &priority));
    assert_int_equal(priority, greatest);
    OK(cudaStreamGetFlags(s, &flags));
    assert_int_equal(flags, cudaStreamNonBlocking);
    OK(cudaStreamGetDevice(s, &device));
    assert_int_equal(device, 0);
    OK(cudaStreamGetId(s, &id));
    OK(cudaStreamGetId(t, &other));
    assert_true(id != other);
    cudaStreamAttrValue value;
    memset(&value, 0, sizeof value);
    OK(cudaStreamGetAttribute(s, cudaStreamAttributePriority, &value));
    assert_int_equal(value.priority, greatest);
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
}

static void captured_work_is_done_by_launches_of_the_graph(void **state)
{
    (void)state;
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t x;
    enum cudaStreamCaptureStatus status;
    size_t nodes;
    atomic_int done = 0;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    OK(cudaStreamIsCapturing(s, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    OK(cudaLaunchHostFunc(s, count, &done));
    OK(cudaLaunchHostFunc(s, count, &done));
    OK(cudaStreamGetCaptureInfo(s, &status, NULL, &g, NULL, NULL, &nodes));
    assert_int_equal(nodes, 1);
    OK(cudaStreamEndCapture(s, &g));
    assert_int_equal(atomic_load(&done), 0);
    OK(cudaGraphGetNodes(g, NULL, &nodes));
    assert_int_equal(nodes, 2);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    assert_int_equal(atomic_load(&done), 4);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaStreamDestroy(s));
}

static void what_cannot_be_captured_makes_the_capture_invalid(void **state)
{
    (void)state;
    cudaStream_t s;
    cudaGraph_t g;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    FAILS(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
    FAILS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    assert_null(g);
    OK(cudaStreamDestroy(s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_not_ready_while_it_has_work),
        cmocka_unit_test(a_stream_waits_for_another_ones_event),
        cmocka_unit_test(a_callback_is_told_of_the_stream_and_how_it_went),
        cmocka_unit_test(elapsed_time_is_between_two_records),
        cmocka_unit_test(a_stream_is_as_it_was_made),
        cmocka_unit_test(captured_work_is_done_by_launches_of_the_graph),
        cmocka_unit_test(what_cannot_be_captured_makes_the_capture_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
