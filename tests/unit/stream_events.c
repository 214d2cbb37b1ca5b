/* Events: what a record captures, who waits for it, and for how long it is valid. */
#include "stream_fake.h"
#include "stream/beacon.h"

static void counted(void *at) { *(int *)at = ++count; }

static void slow(void *arg)
{
    (void)arg;
    nap(50);
}

static void held(void *go)
{
    while (!*(_Atomic bool *)go) nap(1);
}

static void hold(void *arg, CUresult status)
{
    (void)status;
    gated(arg);
}

static void an_event_never_recorded_is_done_but_has_no_time(void **state)
{
    (void)state;
    struct event *e = new_event(c, 0);
    float ms;
    assert_int_equal(event_query(e), CUDA_SUCCESS);
    assert_int_equal(event_synchronize(e, NULL), CUDA_SUCCESS);
    assert_int_equal(event_elapsed(e, e, &ms), CUDA_ERROR_INVALID_HANDLE);
}

static void an_event_captures_the_work_before_it_and_none_after(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0);
    struct event *e = new_event(c, 0);
    int t[2];
    assert_int_equal(fake_launch(s, counted, &t[0]), CUDA_SUCCESS);
    assert_int_equal(event_record(e, s), CUDA_SUCCESS);
    assert_int_equal(fake_launch(s, gated, NULL), CUDA_SUCCESS);
    assert_int_equal(event_synchronize(e, NULL), CUDA_SUCCESS);
    assert_int_equal(event_query(e), CUDA_SUCCESS);
    assert_int_equal(stream_query(s), CUDA_ERROR_NOT_READY);
}

static void recording_again_replaces_the_point_but_not_for_who_waits_already(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, CU_STREAM_NON_BLOCKING), *b = new_stream(c, CU_STREAM_NON_BLOCKING);
    struct event *e = new_event(c, CU_EVENT_DISABLE_TIMING);
    int t = 0;
    assert_int_equal(fake_launch(a, slow, NULL), CUDA_SUCCESS);
    assert_int_equal(event_record(e, a), CUDA_SUCCESS);
    assert_int_equal(stream_wait_event(b, e), CUDA_SUCCESS);
    assert_int_equal(fake_launch(a, gated, NULL), CUDA_SUCCESS);
    assert_int_equal(event_record(e, a), CUDA_SUCCESS);
    assert_int_equal(fake_launch(b, counted, &t), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(b), CUDA_SUCCESS);
    assert_int_equal(t, 1);
    assert_int_equal(event_query(e), CUDA_ERROR_NOT_READY);
    gate = true;
    assert_int_equal(event_synchronize(e, NULL), CUDA_SUCCESS);
    assert_int_equal(count, 2);
}

static void a_stream_waits_for_an_event_of_another_context(void **state)
{
    (void)state;
    struct context *d = fake_context();
    struct stream *a = new_stream(c, 0), *b = new_stream(d, 0);
    struct event *e = new_event(c, 0);
    int t = 0;
    assert_int_equal(fake_launch(a, gated, NULL), CUDA_SUCCESS);
    assert_int_equal(event_record(e, a), CUDA_SUCCESS);
    assert_int_equal(stream_wait_event(b, e), CUDA_SUCCESS);
    assert_int_equal(fake_launch(b, counted, &t), CUDA_SUCCESS);
    assert_int_equal(event_destroy(e), CUDA_SUCCESS);
    nap(5);
    assert_int_equal(stream_query(b), CUDA_ERROR_NOT_READY);
    gate = true;
    assert_int_equal(stream_synchronize(b), CUDA_SUCCESS);
    assert_int_equal(t, 2);
    fake_context_destroy(d);
}

static void an_event_behind_queued_host_work_waits_for_it(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0), *b = new_stream(c, 0);
    struct event *e = new_event(c, 0);
    int t = 0;
    assert_int_equal(stream_call(a, hold, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(event_record(e, a), CUDA_SUCCESS);
    assert_int_equal(stream_wait_event(b, e), CUDA_SUCCESS);
    assert_int_equal(fake_launch(b, counted, &t), CUDA_SUCCESS);
    assert_int_equal(event_query(e), CUDA_ERROR_NOT_READY);
    gate = true;
    assert_int_equal(stream_synchronize(b), CUDA_SUCCESS);
    assert_int_equal(t, 2);
    assert_int_equal(event_query(e), CUDA_SUCCESS);
}

static void an_event_in_the_legacy_stream_covers_the_blocking_streams(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0), *b = new_stream(c, CU_STREAM_NON_BLOCKING);
    struct event *e = new_event(c, 0);
    _Atomic bool go = false;
    assert_int_equal(fake_launch(a, held, &go), CUDA_SUCCESS);
    assert_int_equal(fake_launch(b, gated, NULL), CUDA_SUCCESS);
    assert_int_equal(event_record(e, legacy(c)), CUDA_SUCCESS);
    assert_int_equal(event_query(e), CUDA_ERROR_NOT_READY);
    go = true;
    assert_int_equal(event_synchronize(e, NULL), CUDA_SUCCESS);
    assert_int_equal(stream_query(a), CUDA_SUCCESS);
    assert_int_equal(stream_query(b), CUDA_ERROR_NOT_READY);
}

static void elapsed_time_is_that_of_the_work_between(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0);
    struct event *e = new_event(c, 0), *f = new_event(c, 0), *g = new_event(c, CU_EVENT_DISABLE_TIMING);
    _Atomic bool go = false;
    double before = now_ms();
    float ms;
    assert_int_equal(event_record(e, s), CUDA_SUCCESS);
    assert_int_equal(fake_launch(s, held, &go), CUDA_SUCCESS);
    assert_int_equal(event_record(f, s), CUDA_SUCCESS);
    assert_int_equal(event_record(g, s), CUDA_SUCCESS);
    assert_int_equal(event_elapsed(e, f, &ms), CUDA_ERROR_NOT_READY);
    nap(50);
    go = true;
    assert_int_equal(stream_synchronize(s), CUDA_SUCCESS);
    assert_int_equal(event_elapsed(e, f, &ms), CUDA_SUCCESS);
    assert_true(ms >= 50 && ms < now_ms() - before + 1);
    assert_int_equal(event_elapsed(f, e, &ms), CUDA_SUCCESS);
    assert_true(ms <= -50);
    assert_int_equal(event_elapsed(e, g, &ms), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(event_elapsed(e, e, &ms), CUDA_SUCCESS);
    assert_true(ms == 0);
}

static void a_time_survives_the_stream_and_many_later_kernels(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0);
    struct event *e = new_event(c, 0), *f = new_event(c, 0);
    float before, after;
    assert_int_equal(fake_launch(s, slow, NULL), CUDA_SUCCESS);
    assert_int_equal(event_record(e, s), CUDA_SUCCESS);
    assert_int_equal(fake_launch(s, slow, NULL), CUDA_SUCCESS);
    assert_int_equal(event_record(f, s), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(s), CUDA_SUCCESS);
    assert_int_equal(event_elapsed(e, f, &before), CUDA_SUCCESS);
    int t;
    for (int i = 0; i < 10000; i++) assert_int_equal(fake_launch(s, counted, &t), CUDA_SUCCESS);
    assert_int_equal(stream_destroy(s), CUDA_SUCCESS);
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_int_equal(event_elapsed(e, f, &after), CUDA_SUCCESS);
    assert_true(before == after);
}

static void handles_that_are_not_events_are_told_apart(void **state)
{
    (void)state;
    struct event *e = new_event(c, 0), *f;
    assert_int_equal(event_get((CUevent)e, &f), CUDA_SUCCESS);
    assert_int_equal(event_destroy(e), CUDA_SUCCESS);
    assert_int_equal(event_get((CUevent)e, &f), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(event_destroy(e), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(event_get((CUevent)&e, &f), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(event_get((CUevent)8, &f), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(event_get((CUevent)((char *)e + 4), &f), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(event_get(NULL, &f), CUDA_ERROR_INVALID_HANDLE);
}

static void events_end_with_their_context(void **state)
{
    (void)state;
    struct context *d = fake_context();
    struct event *e = new_event(d, 0), *f;
    struct stream *s = new_stream(d, 0), *t;
    assert_int_equal(fake_launch(s, slow, NULL), CUDA_SUCCESS);
    assert_int_equal(event_record(e, s), CUDA_SUCCESS);
    fake_context_destroy(d);
    assert_int_equal(event_get((CUevent)e, &f), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(stream_get(c, (CUstream)s, false, &t), CUDA_ERROR_INVALID_HANDLE);
}

static void a_wait_that_an_error_leaves_undone_keeps_nothing_of_a_shared_event(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, CU_STREAM_NON_BLOCKING), *b = new_stream(c, CU_STREAM_NON_BLOCKING);
    struct event *e = new_event(c, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    struct beacon *all[BEACONS];
    assert_int_equal(stream_call(a, hold, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(stream_call(b, hold, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(event_record(e, a), CUDA_SUCCESS);
    assert_int_equal(stream_wait_event(b, e), CUDA_SUCCESS);
    fake_kill(CUDA_ERROR_LAUNCH_FAILED);
    gate = true;
    assert_int_equal(stream_synchronize(a), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(stream_synchronize(b), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(event_destroy(e), CUDA_SUCCESS);
    for (unsigned k = 0; k < BEACONS; k++) assert_non_null(all[k] = beacon_new());
    for (unsigned k = 0; k < BEACONS; k++) beacon_release(all[k]);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(an_event_never_recorded_is_done_but_has_no_time),
        T(an_event_captures_the_work_before_it_and_none_after),
        T(recording_again_replaces_the_point_but_not_for_who_waits_already),
        T(a_stream_waits_for_an_event_of_another_context),
        T(an_event_behind_queued_host_work_waits_for_it),
        T(an_event_in_the_legacy_stream_covers_the_blocking_streams),
        T(elapsed_time_is_that_of_the_work_between),
        T(a_time_survives_the_stream_and_many_later_kernels),
        T(handles_that_are_not_events_are_told_apart),
        T(events_end_with_their_context),
        T(a_wait_that_an_error_leaves_undone_keeps_nothing_of_a_shared_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
