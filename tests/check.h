/* What test programs without cmocka do about a call that fails, and about
 * something that is not so: they say which and where, and end with status 1.
 * In any thread, and in a forked child, too. */
#ifndef FL_TESTS_CHECK_H
#define FL_TESTS_CHECK_H

#include <cuda.h>
#include <stdio.h>
#include <unistd.h>

static inline void check_failed(const char *what, const char *saw, const char *file, int line)
{
    printf("%s:%d (process %d): %s: %s\n", file, line, getpid(), what, saw);
    fflush(stdout);
    _exit(1);
}

static inline void check_answer(CUresult saw, CUresult wanted, const char *what, const char *file, int line)
{
    const char *name = "no CUresult";
    if (saw == wanted) return;
    cuGetErrorName(saw, &name);
    check_failed(what, name, file, line);
}

static inline void check_equal(long saw, long wanted, const char *what, const char *file, int line)
{
    char difference[64];
    if (saw == wanted) return;
    snprintf(difference, sizeof difference, "%ld, not %ld", saw, wanted);
    check_failed(what, difference, file, line);
}

#define ANSWERS(call, wanted) check_answer((call), (wanted), #call, __FILE__, __LINE__)
#define CHECK(call) ANSWERS(call, CUDA_SUCCESS)
#define EXPECT(condition) ((condition) ? (void)0 : check_failed(#condition, "is not so", __FILE__, __LINE__))
/* Whole numbers and addresses. */
#define EXPECT_EQUAL(saw, wanted) check_equal((long)(saw), (long)(wanted), #saw, __FILE__, __LINE__)

/* The first device's primary context is current from now on. */
static inline CUcontext check_context(void)
{
    CUcontext c;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    return c;
}

#endif
