/* Threads do everything at once; the interesting run is that under ThreadSanitizer. */
#include "stream_fake.h"

#include <stdlib.h>

enum { THREADS = 8, ROUNDS = 400, SHARED = 6 };

static struct stream *shared[SHARED];
static struct event *events[SHARED];
static _Atomic uint64_t kernels, works, calls;

static void count_kernel(void *arg)
{
    (void)arg;
    kernels++;
}

static CUresult count_work(void *arg)
{
    works += *(int *)arg;
    return CUDA_SUCCESS;
}

static void count_call(void *arg, CUresult status)
{
    (void)arg;
    calls += !status;
}

struct tally {
    unsigned seed;
    uint64_t kernels, works, calls;
};

static void ok(CUresult r)
{
    if (r && r != CUDA_ERROR_NOT_READY) {
        print_error("result %d\n", r);
        abort();
    }
}

static void step(struct tally *t)
{
    int one = 1;
    struct event *e = events[rand_r(&t->seed) % SHARED];
    struct stream *s = shared[rand_r(&t->seed) % SHARED];
    static uint32_t word;
    CUstreamBatchMemOpParams write = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                       .address = (uintptr_t)&word } };
    float ms;
    unsigned kind = rand_r(&t->seed) % 16;
    if (kind == 14) ok(stream_get(c, NULL, true, &s));
    if (kind == 15) ok(stream_create(c, rand_r(&t->seed) % 2, 0, &s));
    switch (rand_r(&t->seed) % 12) {
    case 0:
    case 1:
    case 2: ok(fake_launch(s, count_kernel, NULL)), t->kernels++; break;
    case 3:
    case 4: ok(stream_enqueue(s, count_work, &one, sizeof one)), t->works++; break;
    case 5: ok(stream_run(s, count_work, &one)), t->works++; break;
    case 6: ok(stream_call(s, count_call, NULL, 0)), t->calls++; break;
    case 7: ok(event_record(e, s)); break;
    case 8: ok(stream_wait_event(s, e)); break;
    case 9:
        ok(event_query(e));
        ok(stream_query(s));
        if (event_elapsed(e, e, &ms) == CUDA_SUCCESS && ms != 0) abort();
        break;
    case 10: ok(rand_r(&t->seed) % 2 ? event_synchronize(e, NULL) : stream_synchronize(s)); break;
    case 11: ok(stream_memory_operations(s, &write, 1, false)); break;
    }
    if (kind == 15) ok(stream_destroy(s));
    if (rand_r(&t->seed) % 64 == 0) ok(context_synchronize(c));
}

static void *churn(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) step(arg);
    return NULL;
}

static void eight_threads_lose_and_repeat_nothing(void **state)
{
    (void)state;
    c = fake_context();
    for (int i = 0; i < SHARED; i++) {
        shared[i] = i ? new_stream(c, i % 2) : legacy(c);
        events[i] = new_event(c, 0);
    }
    pthread_t thread[THREADS];
    struct tally tally[THREADS] = { 0 };
    for (int i = 0; i < THREADS; i++) {
        tally[i].seed = i + 1;
        pthread_create(&thread[i], NULL, churn, &tally[i]);
    }
    uint64_t k = 0, w = 0, h = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        k += tally[i].kernels;
        w += tally[i].works;
        h += tally[i].calls;
    }
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_int_equal(kernels, k);
    assert_int_equal(works, w);
    assert_int_equal(calls, h);
    fake_context_destroy(c);
    assert_int_equal(fake_channels_open(), 0);
}

/* ---- events whose places are taken again */

enum { PLACES = 64, TURNS = 4000 }; /* a new event has the place of the one that has been gone longest */

static struct event *places[PLACES];
static _Atomic bool enough;

static void *ask(void *arg)
{
    const unsigned flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC;
    struct event *e;
    for (unsigned k = 0; !enough; k++) {
        if (event_get((CUevent)places[k % PLACES], &e)) continue;
        ok(event_synchronize(e, NULL));
        ok(event_query(e));
        if (event_context(e) != c || event_flags(e) & ~flags || event_adopted(e)) abort();
    }
    return arg;
}

static void events_are_asked_while_others_take_their_places(void **state)
{
    (void)state;
    pthread_t asking;
    struct event *e;
    c = fake_context();
    for (unsigned k = 0; k < PLACES; k++) places[k] = new_event(c, 0);
    for (unsigned k = 0; k < PLACES; k++) assert_int_equal(event_destroy(places[k]), CUDA_SUCCESS);
    enough = false;
    assert_int_equal(pthread_create(&asking, NULL, ask, NULL), 0);
    for (unsigned k = 0; k < TURNS; k++) {
        assert_int_equal(event_create(c, k % 2 ? CU_EVENT_DISABLE_TIMING : CU_EVENT_BLOCKING_SYNC, &e), CUDA_SUCCESS);
        assert_int_equal(event_destroy(e), CUDA_SUCCESS);
    }
    enough = true;
    pthread_join(asking, NULL);
    fake_context_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(eight_threads_lose_and_repeat_nothing),
                                        cmocka_unit_test(events_are_asked_while_others_take_their_places) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
