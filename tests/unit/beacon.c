/* Whose record is waited for, and whose will never be complete. Recorders are children, which open the file as other
 * processes do. */
#include "stream/beacon.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A process that records an event, and lives until told. */
struct recorder {
    pid_t child;
    int told, tells; /* its ends of the pipes closed */
};

static void record(unsigned index, const int *pipes)
{
    char byte;
    struct beacon *all = beacons_open(beacons_descriptor());
    close(pipes[3]);
    if (!all) _exit(EXIT_FAILURE);
    beacon_record(&all[index]);
    if (write(pipes[1], "", 1) == 1 && !read(pipes[2], &byte, 1)) _exit(EXIT_SUCCESS);
    _exit(EXIT_FAILURE);
}

/* namespaces: of unshare, 0: none. False: this machine has none for us. */
static bool begin(struct recorder *r, const struct beacon *b, int namespaces)
{
    const unsigned index = beacon_index(b);
    int pipes[4], status;
    char byte;
    assert_int_equal(pipe(pipes) | pipe(pipes + 2), 0);
    r->child = fork();
    if (!r->child) {
        if (!namespaces) record(index, pipes);
        if (unshare(namespaces)) _exit(EXIT_FAILURE);
        pid_t inner = fork();
        if (!inner) record(index, pipes);
        close(pipes[1]);
        close(pipes[3]);
        _exit(waitpid(inner, &status, 0) == inner ? status : EXIT_FAILURE);
    }
    close(pipes[1]);
    close(pipes[2]);
    r->told = pipes[0];
    r->tells = pipes[3];
    return read(r->told, &byte, 1) == 1;
}

/* A child of this process stays a zombie. */
static void end(struct recorder *r)
{
    siginfo_t how;
    char byte;
    close(r->tells);
    assert_int_equal(read(r->told, &byte, 1), 0);
    close(r->told);
    assert_int_equal(waitid(P_PID, (id_t)r->child, &how, WEXITED | WNOWAIT), 0);
    assert_int_equal(how.si_status, EXIT_SUCCESS);
}

static void bury(const struct recorder *r) { waitpid(r->child, NULL, 0); }

static void whose_recorder_lives_is_waited_for_until_it_has_ended(void **state)
{
    struct beacon *b = beacon_new();
    struct recorder r;
    (void)state;
    assert_true(begin(&r, b, 0));
    assert_false(beacon_over(b, beacon_newest(b)));
    end(&r);
    assert_true(beacon_over(b, beacon_newest(b)));
    bury(&r);
    beacon_release(b);
}

static void a_recorder_in_another_pid_namespace_is_known_to_have_ended(void **state)
{
    struct beacon *b = beacon_new();
    struct recorder r;
    (void)state;
    if (!begin(&r, b, CLONE_NEWUSER | CLONE_NEWPID)) skip();
    assert_false(beacon_over(b, beacon_newest(b)));
    end(&r);
    assert_true(beacon_over(b, beacon_newest(b)));
    bury(&r);
    beacon_release(b);
}

/* It had taken its number, and had come to no other store. */
static void a_recorder_may_end_in_the_middle_of_a_record(void **state)
{
    struct beacon *b = beacon_new();
    struct recorder r;
    (void)state;
    assert_true(begin(&r, b, 0));
    end(&r);
    for (unsigned k = 0; k < BEACON_RECORDS; k++) {
        b->last[k] = 0;
        b->recorder[k] = 0;
    }
    assert_true(beacon_over(b, beacon_newest(b)));
    bury(&r);
    beacon_release(b);
}

static void own_records_are_waited_for(void **state)
{
    struct beacon *b = beacon_new();
    (void)state;
    uint64_t first = beacon_record(b), second = beacon_record(b);
    assert_true(first < second && beacon_newest(b) == second);
    assert_false(beacon_over(b, first));
    beacon_complete(b, second);
    assert_true(beacon_over(b, second));
    assert_false(beacon_over(b, first));
    beacon_complete(b, first);
    beacon_wait(b, first);
    beacon_release(b);
}

static _Atomic uint64_t one_more;

static void *record_here(void *b)
{
    one_more = beacon_record(b);
    return NULL;
}

static void a_record_takes_no_place_that_is_in_use(void **state)
{
    struct beacon *b = beacon_new();
    uint64_t record[BEACON_RECORDS];
    pthread_t recorder;
    (void)state;
    for (unsigned k = 0; k < BEACON_RECORDS; k++) record[k] = beacon_record(b);
    assert_int_equal(pthread_create(&recorder, NULL, record_here, b), 0);
    while (!b->waiters && !one_more) sched_yield();
    beacon_complete(b, record[5]);
    assert_int_equal(pthread_join(recorder, NULL), 0);
    beacon_complete(b, one_more);
    for (unsigned k = 0; k < BEACON_RECORDS; k++) assert_int_equal(beacon_over(b, record[k]), k == 5);
    for (unsigned k = 0; k < BEACON_RECORDS; k++) beacon_complete(b, record[k]);
    beacon_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whose_recorder_lives_is_waited_for_until_it_has_ended),
        cmocka_unit_test(a_recorder_in_another_pid_namespace_is_known_to_have_ended),
        cmocka_unit_test(a_recorder_may_end_in_the_middle_of_a_record),
        cmocka_unit_test(own_records_are_waited_for),
        cmocka_unit_test(a_record_takes_no_place_that_is_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
