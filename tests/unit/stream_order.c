/* What comes after what, and what may go on side by side. */
#include "stream_fake.h"

static _Atomic int clock_;

static int begin(void **state)
{
    clock_ = 0;
    return setup(state);
}

static void stamp(void *at) /* a kernel */ { *(int *)at = ++clock_; }

static void slow_stamp(void *at)
{
    nap(20);
    stamp(at);
}

static void gated_stamp(void *at)
{
    while (!gate) nap(1);
    stamp(at);
}

static CUresult work_stamp(void *arg) /* host work; arg points to a copy of the pointer */
{
    stamp(*(int **)arg);
    return CUDA_SUCCESS;
}

static void call_stamp(void *arg, CUresult status)
{
    if (!status) stamp(*(int **)arg);
}

static void wait_for_gate(void *arg, CUresult status)
{
    (void)arg, (void)status;
    while (!gate) nap(1);
}

static CUresult work(struct stream *s, int *at) { return stream_enqueue(s, work_stamp, &at, sizeof at); }

static void operations_of_one_stream_happen_in_order(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, CU_STREAM_NON_BLOCKING);
    int t[6];
    int *at = &t[3];
    assert_int_equal(fake_launch(s, slow_stamp, &t[0]), CUDA_SUCCESS);
    assert_int_equal(work(s, &t[1]), CUDA_SUCCESS);
    assert_int_equal(fake_launch(s, slow_stamp, &t[2]), CUDA_SUCCESS);
    assert_int_equal(stream_call(s, call_stamp, &at, sizeof at), CUDA_SUCCESS);
    assert_int_equal(fake_launch(s, slow_stamp, &t[4]), CUDA_SUCCESS);
    at = &t[5];
    assert_int_equal(stream_run(s, work_stamp, &at), CUDA_SUCCESS);
    for (int i = 0; i < 6; i++) assert_int_equal(t[i], i + 1);
}

static void a_launch_returns_before_the_kernel_is_done(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0);
    int t[2] = { 0 };
    assert_int_equal(fake_launch(s, gated_stamp, &t[0]), CUDA_SUCCESS);
    assert_int_equal(work(s, &t[1]), CUDA_SUCCESS);
    assert_int_equal(stream_query(s), CUDA_ERROR_NOT_READY);
    gate = true;
    assert_int_equal(stream_synchronize(s), CUDA_SUCCESS);
    assert_int_equal(stream_query(s), CUDA_SUCCESS);
    assert_int_equal(t[1], 2);
}

static void non_blocking_streams_overlap_with_each_other_and_with_legacy(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, CU_STREAM_NON_BLOCKING), *b = new_stream(c, CU_STREAM_NON_BLOCKING);
    int t[4] = { 0 };
    assert_int_equal(fake_launch(a, gated_stamp, &t[0]), CUDA_SUCCESS);
    assert_int_equal(work(a, &t[1]), CUDA_SUCCESS);
    assert_int_equal(fake_launch(b, stamp, &t[2]), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(b), CUDA_SUCCESS);
    assert_int_equal(work(legacy(c), &t[3]), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(legacy(c)), CUDA_SUCCESS);
    assert_int_equal(t[2], 1);
    assert_int_equal(t[3], 2);
    assert_int_equal(t[0], 0);
    gate = true;
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_int_equal(t[1], 4);
}

static void the_legacy_stream_waits_for_blocking_streams(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0), *b = new_stream(c, 0);
    int t[4];
    assert_int_equal(fake_launch(a, slow_stamp, &t[0]), CUDA_SUCCESS);
    assert_int_equal(work(a, &t[1]), CUDA_SUCCESS);
    nap(30);
    assert_int_equal(fake_launch(b, slow_stamp, &t[2]), CUDA_SUCCESS);
    assert_int_equal(fake_launch(legacy(c), stamp, &t[3]), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(legacy(c)), CUDA_SUCCESS);
    assert_int_equal(t[3], 4);
}

static void blocking_streams_wait_for_the_legacy_stream(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0), *b = new_stream(c, CU_STREAM_NON_BLOCKING);
    int t[4] = { 0 };
    assert_int_equal(fake_launch(legacy(c), gated_stamp, &t[0]), CUDA_SUCCESS);
    assert_int_equal(fake_launch(a, stamp, &t[1]), CUDA_SUCCESS);
    assert_int_equal(fake_launch(a, stamp, &t[2]), CUDA_SUCCESS);
    assert_int_equal(fake_launch(b, stamp, &t[3]), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(b), CUDA_SUCCESS);
    assert_int_equal(t[3], 1);
    assert_int_equal(stream_query(a), CUDA_ERROR_NOT_READY);
    gate = true;
    assert_int_equal(stream_synchronize(a), CUDA_SUCCESS);
    assert_int_equal(t[0], 2);
    assert_int_equal(t[1], 3);
    assert_int_equal(t[2], 4);
}

static void a_synchronous_copy_in_legacy_waits_for_blocking_streams(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0);
    int t[2], *at = &t[1];
    assert_int_equal(fake_launch(a, slow_stamp, &t[0]), CUDA_SUCCESS);
    assert_int_equal(stream_run(legacy(c), work_stamp, &at), CUDA_SUCCESS);
    assert_int_equal(t[0], 1);
    assert_int_equal(t[1], 2);
}

static void alternating_legacy_and_blocking_work_stays_in_order(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0), *b = new_stream(c, 0);
    int t[300];
    for (int i = 0; i < 300; i += 3) {
        assert_int_equal(i % 2 ? work(a, &t[i]) : fake_launch(a, stamp, &t[i]), CUDA_SUCCESS);
        assert_int_equal(fake_launch(legacy(c), stamp, &t[i + 1]), CUDA_SUCCESS);
        assert_int_equal(fake_launch(b, stamp, &t[i + 2]), CUDA_SUCCESS);
    }
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    for (int i = 0; i < 300; i += 3) {
        assert_true(t[i] < t[i + 1] && t[i + 1] < t[i + 2]);
        assert_true(!i || t[i - 2] < t[i]);
    }
}

static void a_wait_that_is_not_satisfied_holds_up_its_own_stream_only(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, CU_STREAM_NON_BLOCKING), *b = new_stream(c, CU_STREAM_NON_BLOCKING);
    static uint32_t flag;
    int t[2] = { 0 };
    CUstreamBatchMemOpParams wait = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                     .address = (uintptr_t)&flag,
                                                     .value = 7,
                                                     .flags = CU_STREAM_WAIT_VALUE_EQ } };
    CUstreamBatchMemOpParams write = {
        .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = (uintptr_t)&flag, .value = 7 }
    };
    assert_int_equal(stream_memory_operations(a, &wait, 1, false), CUDA_SUCCESS);
    assert_int_equal(fake_launch(a, stamp, &t[0]), CUDA_SUCCESS);
    assert_int_equal(fake_launch(b, stamp, &t[1]), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(b), CUDA_SUCCESS);
    assert_int_equal(stream_query(a), CUDA_ERROR_NOT_READY);
    assert_int_equal(stream_memory_operations(b, &write, 1, false), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(a), CUDA_SUCCESS);
    assert_int_equal(t[0], 2);
}

static void *write_late(void *flag)
{
    nap(300);
    __atomic_store_n((uint64_t *)flag, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void the_end_of_a_context_comes_after_what_its_streams_wait_for(void **state)
{
    (void)state;
    struct context *d = fake_context();
    struct stream *a = new_stream(d, 0);
    static uint64_t flag;
    pthread_t t;
    CUstreamBatchMemOpParams wait = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_64,
                                                     .address = (uintptr_t)&flag,
                                                     .value64 = 1,
                                                     .flags = CU_STREAM_WAIT_VALUE_EQ } };
    assert_int_equal(stream_memory_operations(a, &wait, 1, false), CUDA_SUCCESS);
    assert_int_equal(pthread_create(&t, NULL, write_late, &flag), 0);
    fake_context_destroy(d);
    assert_int_equal(__atomic_load_n(&flag, __ATOMIC_SEQ_CST), 1);
    pthread_join(t, NULL);
}

static void every_comparison_of_a_wait_means_what_it_says(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0);
    static uint32_t v;
    struct {
        uint32_t is, value;
        unsigned flags;
        bool passes;
    } cases[] = {
        { 5, 5, CU_STREAM_WAIT_VALUE_EQ, true },
        { 5, 4, CU_STREAM_WAIT_VALUE_EQ, false },
        { 5, 4, CU_STREAM_WAIT_VALUE_GEQ, true },
        { 4, 5, CU_STREAM_WAIT_VALUE_GEQ, false },
        { 2, 0xfffffffe, CU_STREAM_WAIT_VALUE_GEQ, true },
        { 6, 2, CU_STREAM_WAIT_VALUE_AND, true },
        { 5, 2, CU_STREAM_WAIT_VALUE_AND, false },
        { 0xfffffff0, 7, CU_STREAM_WAIT_VALUE_NOR, true },
        { 0xfffffff0, 15, CU_STREAM_WAIT_VALUE_NOR, false },
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        v = cases[i].is;
        CUstreamBatchMemOpParams wait = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                         .address = (uintptr_t)&v,
                                                         .value = cases[i].value,
                                                         .flags = cases[i].flags } };
        assert_int_equal(stream_memory_operations(s, &wait, 1, false), CUDA_SUCCESS);
        nap(2);
        assert_int_equal(stream_query(s), cases[i].passes ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
        __atomic_store_n(&v, cases[i].flags == CU_STREAM_WAIT_VALUE_NOR ? 0 : cases[i].value, __ATOMIC_SEQ_CST);
        assert_int_equal(stream_synchronize(s), CUDA_SUCCESS);
    }
}

static void a_dead_processor_ends_all_waits_and_drops_queued_work(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0);
    struct event *e = new_event(c, 0);
    static int t[3], *at = &t[2]; /* nobody waits for the kernel: it ends when this function may have returned */
    assert_int_equal(fake_launch(a, gated_stamp, &t[0]), CUDA_SUCCESS);
    assert_int_equal(work(a, &t[1]), CUDA_SUCCESS);
    assert_int_equal(stream_call(a, call_stamp, &at, sizeof at), CUDA_SUCCESS);
    assert_int_equal(event_record(e, a), CUDA_SUCCESS);
    fake_kill(CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(stream_synchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(event_synchronize(e, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(sticky_get(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(fake_launch(a, stamp, &t[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(t[1], 0);
    assert_int_equal(t[2], 0);
    gate = true;
}

static CUresult failing(void *arg)
{
    (void)arg;
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}


static CUresult without_memory(void *arg)
{
    (void)arg;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void failing_work_is_sticky_whether_or_not_somebody_waits_for_it(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0);
    assert_int_equal(stream_enqueue(a, failing, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
    fake_revive();
    assert_int_equal(stream_run(a, failing, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(sticky_get(), CUDA_ERROR_ILLEGAL_ADDRESS);
    fake_revive();
    assert_int_equal(stream_run(a, without_memory, NULL), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(sticky_get(), CUDA_SUCCESS);
}

static void what_short_work_does_wrong_at_once_is_sticky_but_what_it_lacks_is_not(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0);
    assert_int_equal(stream_enqueue_short(a, without_memory, NULL, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(sticky_get(), CUDA_SUCCESS);
    assert_int_equal(stream_enqueue_short(a, failing, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(sticky_get(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_kernel_that_cannot_be_sent_is_an_error_of_the_launch_or_one_that_stays(void **state)
{
    (void)state;
    struct stream *a = new_stream(c, 0);
    int t[2] = { 0 };
    assert_int_equal(fake_launch(a, stamp, &t[0]), CUDA_SUCCESS);
    fake_refuse(CUDA_ERROR_OPERATING_SYSTEM);
    assert_int_equal(fake_launch(a, stamp, &t[1]), CUDA_ERROR_OPERATING_SYSTEM);
    assert_int_equal(stream_synchronize(a), CUDA_SUCCESS);
    assert_int_equal(stream_call(a, wait_for_gate, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(fake_launch(a, stamp, &t[1]), CUDA_SUCCESS);
    gate = true;
    assert_int_equal(stream_synchronize(a), CUDA_ERROR_OPERATING_SYSTEM);
    assert_int_equal(t[0], 1);
    assert_int_equal(t[1], 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, teardown)
    const struct CMUnitTest tests[] = {
        T(operations_of_one_stream_happen_in_order),
        T(a_launch_returns_before_the_kernel_is_done),
        T(non_blocking_streams_overlap_with_each_other_and_with_legacy),
        T(the_legacy_stream_waits_for_blocking_streams),
        T(blocking_streams_wait_for_the_legacy_stream),
        T(a_synchronous_copy_in_legacy_waits_for_blocking_streams),
        T(alternating_legacy_and_blocking_work_stays_in_order),
        T(a_wait_that_is_not_satisfied_holds_up_its_own_stream_only),
        T(the_end_of_a_context_comes_after_what_its_streams_wait_for),
        T(every_comparison_of_a_wait_means_what_it_says),
        T(a_dead_processor_ends_all_waits_and_drops_queued_work),
        T(failing_work_is_sticky_whether_or_not_somebody_waits_for_it),
        T(what_short_work_does_wrong_at_once_is_sticky_but_what_it_lacks_is_not),
        T(a_kernel_that_cannot_be_sent_is_an_error_of_the_launch_or_one_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
