/* What programs say that nvcc compiled if something is not as it should be; they end with it. */
#ifndef FL_TESTS_NVCC_CHECK_H
#define FL_TESTS_NVCC_CHECK_H

#include <cstdio>
#include <cstdlib>

static void check(bool good, const char *what, int line)
{
    if (good) return;
    printf("line %d: %s\n", line, what);
    exit(1);
}

#define EXPECT(condition) check(condition, #condition, __LINE__)
/* The call answers so, and so does cudaGetLastError. */
#define ANSWERS(call, wanted) \
    do { \
        cudaError_t saw = (call); \
        check(saw == (wanted), cudaGetErrorName(saw), __LINE__); \
        EXPECT(cudaGetLastError() == saw); \
    } while (0)
#define OK(call) ANSWERS(call, cudaSuccess)

#endif
