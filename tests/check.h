/* What test programs without cmocka do about a call that fails, and about
 * something that is not so: they say which and where, and end. In any thread,
 * and in a forked child, too. */
#ifndef FL_TESTS_CHECK_H
#define FL_TESTS_CHECK_H

#include <cuda.h>
#include <stdio.h>
#include <unistd.h>

static inline void check_failed(const char *what, const char *why, const char *file, int line)
{
    printf("%s:%d: %s: %s\n", file, line, what, why);
    fflush(stdout);
    _exit(1);
}

static inline void check_call(CUresult r, const char *what, const char *file, int line)
{
    const char *name = "no CUresult";
    if (!r) return;
    cuGetErrorName(r, &name);
    check_failed(what, name, file, line);
}

#define CHECK(call) check_call((call), #call, __FILE__, __LINE__)
#define EXPECT(condition) ((condition) ? (void)0 : check_failed(#condition, "is not so", __FILE__, __LINE__))

#endif
