/* When pages are given to those who have waited for them in vain. The thread that serves is one of the test's. */
#include "processor/rescue.h"
#include "base/thread.h"
#include "processor/table.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct mmu mmu;
static _Atomic bool runs;

CUresult thread_start(void *(*run)(void *), void *argument, size_t stack)
{
    pthread_t t;
    (void)stack;
    return pthread_create(&t, NULL, run, argument) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static void *serve(void *arg)
{
    atomic_store(&serving.stat, open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC));
    while (atomic_load(&runs))
        ;
    for (;;) pause();
    return arg;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Whether somebody takes the fault that is there within so many milliseconds. */
static bool is_taken(uint64_t ms)
{
    struct pollfd fd = { .fd = mmu.ordinary_fd, .events = POLLIN };
    const struct timespec moment = { .tv_nsec = 1000000 };
    uint64_t end = now_ms() + ms;
    bool there = true;
    while (now_ms() < end && (there = poll(&fd, 1, 0))) nanosleep(&moment, NULL);
    return !there;
}

static void who_waits_is_rescued_from_a_thread_that_stands_still_not_from_one_that_runs(void **state)
{
    struct uffd_msg fault = { .event = UFFD_EVENT_PAGEFAULT };
    pthread_t server;
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    mmu.ordinary_fd = ends[0];
    atomic_store(&runs, true);
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
    while (atomic_load(&serving.stat) < 0) usleep(1000);
    assert_int_equal(rescue_start(), CUDA_SUCCESS);
    assert_int_equal(write(ends[1], &fault, sizeof fault), sizeof fault);
    assert_false(is_taken(200));
    atomic_store(&runs, false);
    assert_true(is_taken(10000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_is_rescued_from_a_thread_that_stands_still_not_from_one_that_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
