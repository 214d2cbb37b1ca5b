/* What tests that run in a process of their own do about something that is not so. */
#ifndef FL_TEST_DEMAND_H
#define FL_TEST_DEMAND_H

#include <stdio.h>
#include <unistd.h>

#define DEMAND(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "pid %d, line %d: %s\n", getpid(), __LINE__, #what); \
            _exit(1); \
        } \
    } while (0)

#endif
