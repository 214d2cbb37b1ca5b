/* Which signals wait while a thread holds a lock, or waits for one. */
#include "base/quiet.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

static struct quiet_mutex lock = QUIET_MUTEX_INITIALIZER;
static _Atomic int taken, about_to_wait, told[64], has_it;
static int waits, spared;

static void tell(int number) { told[number]++; }

static bool within_a_second(_Atomic int *what)
{
    for (int k = 0; k < 1000 && !atomic_load(what); k++) nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return atomic_load(what);
}

static void *wait_for_lock(void *arg)
{
    (void)arg;
    while (!taken) sched_yield();
    quiet_begin();
    about_to_wait = 1;
    quiet_lock(&lock);
    has_it = 1;
    quiet_unlock(&lock);
    quiet_end();
    return NULL;
}

static void who_waits_for_a_lock_gets_only_signals_that_are_spared(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* ThreadSanitizer keeps signals back until the lock is had */
#endif
    pthread_t thread;
    waits = SIGRTMIN + 5;
    spared = SIGRTMIN + 6;
    signal(waits, tell);
    signal(spared, tell);
    quiet_spare(spared);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, NULL), 0);
    quiet_lock(&lock);
    taken = 1;
    assert_true(within_a_second(&about_to_wait));
    pthread_kill(thread, waits);
    pthread_kill(thread, spared);
    assert_true(within_a_second(&told[spared]));
    assert_false(has_it);
    assert_int_equal(told[waits], 0);
    quiet_unlock(&lock);
    pthread_join(thread, NULL);
    assert_int_equal(told[waits], 1);
}

static void signals_come_when_the_outermost_lock_is_given_back(void **state)
{
    (void)state;
    signal(SIGUSR1, tell);
    quiet_begin();
    quiet_lock(&lock);
    raise(SIGUSR1);
    quiet_unlock(&lock);
    assert_int_equal(told[SIGUSR1], 0);
    quiet_end();
    assert_int_equal(told[SIGUSR1], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_a_lock_gets_only_signals_that_are_spared),
        cmocka_unit_test(signals_come_when_the_outermost_lock_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
