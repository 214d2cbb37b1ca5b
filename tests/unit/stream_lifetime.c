/* Handles, destruction, threads that come and go, and no growth. */
#include "stream_fake.h"
#include "stream/internal.h"

#include <dirent.h>
#include <malloc.h>
#include <sys/resource.h>

static void counted(void *arg)
{
    (void)arg;
    count++;
}

static void called(void *arg, CUresult status)
{
    (void)status;
    assert_true(stream_in_host_function());
    gated(arg);
}

static unsigned threads(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void a_destroyed_stream_finishes_its_work(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0), *t;
    assert_int_equal(fake_launch(s, gated, NULL), CUDA_SUCCESS);
    assert_int_equal(stream_call(s, called, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(fake_launch(s, counted, NULL), CUDA_SUCCESS);
    assert_int_equal(stream_destroy(s), CUDA_SUCCESS);
    assert_int_equal(stream_get(c, (CUstream)s, false, &t), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(stream_destroy(s), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(fake_launch(s, counted, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(count, 0);
    gate = true;
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_int_equal(count, 3);
}

static void a_pending_stream_without_host_work_is_released_later(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0);
    assert_int_equal(fake_launch(s, gated, NULL), CUDA_SUCCESS);
    unsigned before = fake_channels_open();
    assert_int_equal(stream_destroy(s), CUDA_SUCCESS);
    assert_int_equal(fake_channels_open(), before);
    gate = true;
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_int_equal(fake_channels_open(), before - 1);
}

static void the_legacy_stream_waits_for_a_destroyed_blocking_stream(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0);
    assert_int_equal(fake_launch(s, gated, NULL), CUDA_SUCCESS);
    assert_int_equal(stream_destroy(s), CUDA_SUCCESS);
    assert_int_equal(stream_query(legacy(c)), CUDA_ERROR_NOT_READY);
    assert_int_equal(fake_launch(legacy(c), counted, NULL), CUDA_SUCCESS);
    nap(5);
    assert_int_equal(count, 0);
    gate = true;
    assert_int_equal(stream_synchronize(legacy(c)), CUDA_SUCCESS);
    assert_int_equal(count, 2);
}

static void default_streams_cannot_be_destroyed(void **state)
{
    (void)state;
    struct stream *s;
    assert_int_equal(stream_destroy(legacy(c)), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(stream_get(c, CU_STREAM_PER_THREAD, false, &s), CUDA_SUCCESS);
    assert_int_equal(stream_destroy(s), CUDA_ERROR_INVALID_HANDLE);
}

static void *own_stream(void *out)
{
    struct stream *s;
    assert_int_equal(stream_get(c, NULL, true, &s), CUDA_SUCCESS);
    *(struct stream **)out = s;
    assert_int_equal(fake_launch(s, gated, NULL), CUDA_SUCCESS);
    return NULL;
}

static void each_thread_has_a_default_stream_of_its_own_that_ends_with_it(void **state)
{
    (void)state;
    struct stream *mine, *again, *other;
    pthread_t thread;
    assert_int_equal(stream_get(c, CU_STREAM_PER_THREAD, false, &mine), CUDA_SUCCESS);
    assert_int_equal(stream_get(c, NULL, true, &again), CUDA_SUCCESS);
    assert_ptr_equal(mine, again);
    assert_ptr_not_equal(mine, legacy(c));
    pthread_create(&thread, NULL, own_stream, &other);
    pthread_join(thread, NULL);
    assert_ptr_not_equal(mine, other);
    assert_int_equal(stream_query(legacy(c)), CUDA_ERROR_NOT_READY);
    assert_int_equal(stream_get(c, (CUstream)other, false, &again), CUDA_ERROR_INVALID_HANDLE);
    gate = true;
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_int_equal(count, 1);
}

static void a_thread_gets_a_new_default_stream_in_a_new_context(void **state)
{
    (void)state;
    struct stream *s, *t;
    for (int i = 0; i < 50; i++) {
        struct context *d = fake_context();
        assert_int_equal(stream_get(d, CU_STREAM_PER_THREAD, false, &s), CUDA_SUCCESS);
        assert_int_equal(stream_get(c, CU_STREAM_PER_THREAD, false, &t), CUDA_SUCCESS);
        assert_ptr_equal(stream_context(s), d);
        assert_ptr_equal(stream_context(t), c);
        fake_context_destroy(d);
    }
}

static void an_idle_stream_has_no_thread(void **state)
{
    (void)state;
    unsigned before = threads();
    struct stream *s = new_stream(c, 0);
    gate = true;
    assert_int_equal(stream_call(s, called, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(s), CUDA_SUCCESS);
    assert_int_equal(threads(), before + 1);
    for (int i = 0; i < 100 && threads() > before; i++) nap(20);
    assert_int_equal(threads(), before);
}

static struct context *dying;
static _Atomic bool ending, ended, waiting, let_go;

static void tells_that_it_ends(void) { ending = true; }

static void *ends_context(void *arg)
{
    (void)arg;
    fake_before_wait = tells_that_it_ends;
    fake_context_destroy(dying);
    ended = true;
    return NULL;
}

static void is_held_up(void)
{
    waiting = true;
    while (!let_go) nap(1);
}

static void *waits_for(void *mark)
{
    fake_before_wait = is_held_up;
    fake_misses = 1;
    mark_wait(mark, false);
    return NULL;
}

static bool is_waited_for(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool so = s->sleepers;
    pthread_mutex_unlock(&s->lock);
    return so;
}

static void a_stream_stays_for_who_begins_to_wait_as_its_context_ends(void **state)
{
    (void)state;
    pthread_t thread[2];
    dying = fake_context();
    struct stream *s = new_stream(dying, 0);
    struct stream_set *set = s->set;
    struct event *e = new_event(dying, CU_EVENT_DISABLE_TIMING);
    assert_int_equal(fake_launch(s, gated, NULL), CUDA_SUCCESS);
    assert_int_equal(event_record(e, s), CUDA_SUCCESS);
    struct mark *m = event_mark(e);
    pthread_create(&thread[0], NULL, ends_context, NULL);
    while (!ending) nap(1);
    pthread_mutex_lock(&set->lock); /* holds the end up once it has found that nobody waits for s */
    gate = true;
    pthread_mutex_lock(&s->lock);
    pthread_mutex_unlock(&s->lock);
    pthread_create(&thread[1], NULL, waits_for, m);
    while (!waiting) nap(1);
    pthread_mutex_unlock(&set->lock);
    while (!ended && !is_waited_for(s)) nap(1);
    assert_false(ended);
    let_go = true;
    for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
    mark_release(m);
}

static struct stream *of_dying;
static unsigned open_before;
static bool heard;

static void hears_of_stream(struct stream *s) { (void)s; }

static void hears_of_context(struct context *of)
{
    if (of != dying) return;
    heard = true;
    assert_int_equal(fake_launch(of_dying, counted, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(fake_channels_open(), open_before);
}

static void the_end_of_a_context_is_told_before_others_can_have_its_streams(void **state)
{
    (void)state;
    streams_on_end(hears_of_stream, hears_of_context);
    dying = fake_context();
    of_dying = new_stream(dying, 0);
    assert_int_equal(fake_launch(of_dying, counted, NULL), CUDA_SUCCESS);
    open_before = fake_channels_open();
    fake_context_destroy(dying);
    assert_true(heard);
    assert_int_equal(fake_channels_open(), open_before - 1);
}

static size_t used(void) { return mallinfo2().uordblks; }

static void cycle(int i)
{
    struct stream *s = new_stream(c, i % 2);
    struct event *e = new_event(c, 0);
    if (i % 4 == 0) assert_int_equal(fake_launch(s, counted, NULL), CUDA_SUCCESS);
    if (i % 8 == 0) assert_int_equal(stream_call(s, called, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(event_record(e, s), CUDA_SUCCESS);
    assert_int_equal(stream_wait_event(legacy(c), e), CUDA_SUCCESS);
    assert_int_equal(event_destroy(e), CUDA_SUCCESS);
    assert_int_equal(stream_destroy(s), CUDA_SUCCESS);
    if (i % 32 == 0) assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
}

static void quiet(void)
{
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    for (int i = 0; i < 200 && threads() > 2; i++) nap(10);
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
}

static void ten_thousand_streams_and_events_leave_nothing_behind(void **state)
{
    (void)state;
    gate = true;
    for (int i = 0; i < 1000; i++) cycle(i);
    quiet();
    size_t before = used();
    for (int i = 0; i < 10000; i++) cycle(i);
    quiet();
    assert_in_range(used(), 0, before + 65536);
    assert_in_range(fake_channels_open(), 0, 1);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* they do not live with so little */
static CUresult work(void *arg)
{
    counted(arg);
    return CUDA_SUCCESS;
}

static void a_stream_that_gets_no_thread_refuses_the_work_and_lives_on(void **state)
{
    (void)state;
    struct stream *s = new_stream(c, 0);
    struct rlimit before, none = { 0, 0 };
    assert_int_equal(stream_run(s, work, NULL), CUDA_SUCCESS);
    getrlimit(RLIMIT_AS, &before);
    none.rlim_max = before.rlim_max;
    if (setrlimit(RLIMIT_AS, &none)) skip();
    CUresult r = stream_enqueue(s, work, NULL, 0);
    setrlimit(RLIMIT_AS, &before);
    assert_true(r == CUDA_ERROR_OUT_OF_MEMORY || r == CUDA_SUCCESS); /* a cached stack may serve the thread */
    assert_int_equal(stream_synchronize(s), CUDA_SUCCESS);
    assert_int_equal(count, r ? 1 : 2);
    assert_int_equal(stream_enqueue(s, work, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(stream_synchronize(s), CUDA_SUCCESS);
    assert_int_equal(count, r ? 2 : 3);
}
#else
static void a_stream_that_gets_no_thread_refuses_the_work_and_lives_on(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_stream_that_gets_no_thread_refuses_the_work_and_lives_on),
        T(a_destroyed_stream_finishes_its_work),
        T(a_pending_stream_without_host_work_is_released_later),
        T(the_legacy_stream_waits_for_a_destroyed_blocking_stream),
        T(default_streams_cannot_be_destroyed),
        T(each_thread_has_a_default_stream_of_its_own_that_ends_with_it),
        T(a_thread_gets_a_new_default_stream_in_a_new_context),
        T(an_idle_stream_has_no_thread),
        T(a_stream_stays_for_who_begins_to_wait_as_its_context_ends),
        T(the_end_of_a_context_is_told_before_others_can_have_its_streams),
        T(ten_thousand_streams_and_events_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
