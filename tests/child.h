/* Tests that need a process of their own: they end by a signal, or leave an error
 * that stays, or want other settings in their environment. */
#ifndef FL_TESTS_CHILD_H
#define FL_TESTS_CHILD_H

#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

enum { CHILD_PATIENCE_S = 120 };

/* How a child ends that runs body, as waitpid says; 0: all was well. In the child checks are those of check.h. */
static inline int status_of(void (*body)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
        alarm(CHILD_PATIENCE_S);
        body();
        fflush(NULL);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

#endif
