/* Tests that need a process of their own: they end by a signal, or leave an error
 * that stays, or want other settings in their environment. In the child checks
 * are those of check.h. A file of such tests ends with
 *
 *     const struct CMUnitTest tests[] = {
 *         ALONE(start, a_kernel_may_touch_managed_memory),
 *         ALONE_ENDS(start, the_host_may_not_touch_what_was_freed, SIGSEGV),
 *     };
 *     return cmocka_run_group_tests(tests, NULL, NULL);
 */
#ifndef FL_TESTS_CHILD_H
#define FL_TESTS_CHILD_H

#include "check.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
/* after the others */
#include <cmocka.h>

enum { CHILD_PATIENCE_S = 120 };

struct child_test {
    void (*start)(void); /* what comes first, NULL: nothing */
    void (*body)(void);
    int status; /* as waitpid says; 0: all was well */
    int times;  /* each in a process of its own */
};

/* What comes first, if it is no more than that. */
static inline void with_context(void) { check_context(); }

static inline int status_of(const struct child_test *t)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL); /* cmocka has handlers */
        signal(SIGBUS, SIG_DFL);
        alarm(CHILD_PATIENCE_S);
        if (t->start) t->start();
        t->body();
        fflush(NULL);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static inline void test_in_child(void **state)
{
    const struct child_test *t = *state;
    for (int k = 0; k < t->times; k++) assert_int_equal(status_of(t), t->status);
}

/* clang-format off */
#define IN_CHILD(body, ...) { #body, test_in_child, NULL, NULL, &(struct child_test){ __VA_ARGS__ } }
/* clang-format on */
#define ALONE(start, body) IN_CHILD(body, start, body, 0, 1)
#define ALONE_ENDS(start, body, status) IN_CHILD(body, start, body, status, 1)
#define ALONE_TIMES(start, body, times) IN_CHILD(body, start, body, 0, times)

#endif
