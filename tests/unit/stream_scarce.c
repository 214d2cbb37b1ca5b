/* Streams of a process that may have few threads. This program's own pthread_create refuses more. */
#include "stream_fake.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

enum { STREAMS = 12, FEW = 4 };

static _Atomic unsigned most = UINT_MAX, calls;
static _Atomic bool held;

static unsigned threads(void)
{
    char line[256];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Threads: %u", &n) == 1) break;
    if (f) fclose(f);
    return n;
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return threads() >= most ? EAGAIN : real(t, a, run, arg);
}

static void call(void *arg, CUresult status)
{
    (void)arg, (void)status;
    while (held) usleep(100);
    calls++;
}

/* Linux counts a thread for a moment longer than those who wait for its end. */
static unsigned threads_at_rest(void)
{
    static unsigned at_rest;
    if (!at_rest) at_rest = threads();
    while (threads() > at_rest) usleep(100);
    return at_rest;
}

static struct context *streams_of(struct stream **s)
{
    struct context *c = fake_context();
    for (unsigned k = 0; k < STREAMS; k++)
        assert_int_equal(stream_create(c, CU_STREAM_NON_BLOCKING, 0, &s[k]), CUDA_SUCCESS);
    most = threads_at_rest() + FEW;
    return c;
}

static void threads_without_work_make_room(void **state)
{
    struct stream *s[STREAMS];
    struct context *c = streams_of(s);
    (void)state;
    calls = 0;
    for (unsigned k = 0; k < STREAMS; k++) {
        assert_int_equal(stream_call(s[k], call, NULL, 0), CUDA_SUCCESS);
        assert_int_equal(stream_synchronize(s[k]), CUDA_SUCCESS);
    }
    assert_int_equal(calls, STREAMS);
    most = UINT_MAX;
    fake_context_destroy(c);
}

static void what_finds_no_thread_is_refused_and_the_others_are_done(void **state)
{
    struct stream *s[STREAMS];
    struct context *c = streams_of(s);
    unsigned begun = 0;
    (void)state;
    calls = 0;
    held = true;
    while (begun < STREAMS && !stream_call(s[begun], call, NULL, 0)) begun++;
    assert_in_range(begun, 1, FEW);
    assert_int_equal(stream_call(s[begun], call, NULL, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(stream_query(s[begun]), CUDA_SUCCESS);
    held = false;
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_int_equal(calls, begun);
    most = UINT_MAX;
    fake_context_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_without_work_make_room),
        cmocka_unit_test(what_finds_no_thread_is_refused_and_the_others_are_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
