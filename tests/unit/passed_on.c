/* Ranges that several threads leave for another: each arrives as it was left, and once. */
#include "processor/passed_on.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THREADS = 3, RANGES = 15000000, APART = 1 << 26, SIZE = 4096 };

static _Atomic unsigned left, busy;

static void *leave(void *first)
{
    for (uint64_t k = 1; k <= RANGES; k++) left += passed_on_put((uintptr_t)first + k, (uintptr_t)first + k + SIZE);
    busy--;
    return NULL;
}

static void what_is_left_arrives_whole_and_once(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    uint64_t va, end;
    unsigned taken = 0, torn = 0;
    busy = THREADS;
    for (uintptr_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, leave, (void *)(k * APART)), 0);
    for (bool more = true; more;) {
        more = busy;
        for (; passed_on_take(&va, &end); taken++) torn += end != va + SIZE;
    }
    for (unsigned k = 0; k < THREADS; k++) pthread_join(thread[k], NULL);
    assert_int_equal(torn, 0);
    assert_int_equal(taken, left);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    uint64_t va, end;
    unsigned n = 0;
    while (n < RANGES && passed_on_put(n + 1, n + 2)) n++;
    assert_in_range(n, 1, RANGES - 1);
    for (; passed_on_take(&va, &end); n--) assert_int_equal(end, va + 1);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_left_arrives_whole_and_once),
                                        cmocka_unit_test(what_does_not_fit_is_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
