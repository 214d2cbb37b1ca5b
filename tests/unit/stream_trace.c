/* Kernels in the trace: each leaves one record, whatever becomes of its stream,
 * and none while nobody wants them. */
#include "stream_fake.h"
#include "trace/region.h"

static struct trace_cursor cursor;

static int listen(void **state)
{
    setup(state);
    trace_listen(TRACE_LISTEN_RECORDS | TRACE_LISTEN_KERNELS, true);
    cursor = (struct trace_cursor){ .next = atomic_load(&trace_region()->head) };
    return 0;
}

static int stop_listening(void **state)
{
    teardown(state);
    trace_listen(TRACE_LISTEN_RECORDS | TRACE_LISTEN_KERNELS, false);
    return 0;
}

static void sleeps(void *arg) { nap((unsigned)(uintptr_t)arg); }

static size_t records(struct trace_record *out, size_t most)
{
    streams_trace_flush();
    return trace_read(trace_region(), &cursor, out, most);
}

static void a_record_spans_its_kernel_and_no_more(void **state)
{
    (void)state;
    struct trace_record r[4];
    struct stream *s = new_stream(c, 0);
    uint64_t before = trace_now();
    assert_int_equal(fake_launch(s, sleeps, (void *)30), 0);
    assert_int_equal(fake_launch(s, sleeps, (void *)5), 0);
    assert_int_equal(stream_synchronize(s), 0);
    assert_int_equal(records(r, 4), 2);
    assert_int_equal(r[0].kind, TRACE_KERNEL);
    assert_true(r[0].time + 1000000 >= before && r[0].end <= trace_now() + 1000000);
    assert_true(r[0].end - r[0].time >= 29000000 && r[1].end - r[1].time >= 4000000);
    assert_true(r[1].time >= r[0].end);
    assert_int_equal(r[1].address, r[0].address + 1);
}

static void a_kernel_that_runs_has_no_record_yet(void **state)
{
    (void)state;
    struct trace_record r[4];
    struct stream *s = new_stream(c, 0);
    assert_int_equal(fake_launch(s, gated, NULL), 0);
    nap(5);
    assert_int_equal(records(r, 4), 0);
    gate = true;
    assert_int_equal(stream_synchronize(s), 0);
    assert_int_equal(records(r, 4), 1);
}

static void records_come_without_anybody_waiting(void **state)
{
    (void)state;
    struct trace_record r[4];
    size_t n = 0;
    struct stream *s = new_stream(c, 0);
    assert_int_equal(fake_launch(s, sleeps, (void *)1), 0);
    for (int k = 0; k < 1000 && !n; k++) {
        nap(1);
        n = trace_read(trace_region(), &cursor, r, 4);
    }
    assert_int_equal(n, 1);
}

static void a_destroyed_streams_kernels_leave_records(void **state)
{
    (void)state;
    struct trace_record r[40];
    for (int k = 0; k < 10; k++) {
        struct stream *s = new_stream(c, CU_STREAM_NON_BLOCKING);
        for (int i = 0; i < 3; i++) assert_int_equal(fake_launch(s, sleeps, (void *)1), 0);
        assert_int_equal(stream_destroy(s), 0);
    }
    fake_context_destroy(c);
    c = NULL;
    assert_int_equal(records(r, 40), 30);
}

static void kernels_of_a_dead_device_leave_records_too(void **state)
{
    (void)state;
    struct trace_record r[4];
    struct stream *s = new_stream(c, 0);
    assert_int_equal(fake_launch(s, gated, NULL), 0);
    fake_kill(CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(records(r, 4), 1);
    assert_true(r[0].end >= r[0].time);
    gate = true;
    fake_context_destroy(c);
    c = NULL;
    fake_revive();
    assert_int_equal(records(r, 4), 0);
}

static void nobody_listens_nothing_is_recorded(void **state)
{
    (void)state;
    struct trace_record r[4];
    struct stream *s = new_stream(c, 0);
    uint64_t tickets = atomic_load(&trace_region()->kernel_tickets);
    trace_listen(TRACE_LISTEN_KERNELS, false);
    assert_int_equal(fake_launch(s, sleeps, NULL), 0);
    assert_int_equal(stream_synchronize(s), 0);
    trace_listen(TRACE_LISTEN_KERNELS, true);
    assert_int_equal(records(r, 4), 0);
    assert_int_equal(atomic_load(&trace_region()->kernel_tickets), tickets);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, listen, stop_listening)
    const struct CMUnitTest tests[] = {
        T(a_record_spans_its_kernel_and_no_more),      T(a_kernel_that_runs_has_no_record_yet),
        T(records_come_without_anybody_waiting),       T(a_destroyed_streams_kernels_leave_records),
        T(kernels_of_a_dead_device_leave_records_too), T(nobody_listens_nothing_is_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
