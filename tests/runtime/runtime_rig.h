/* What tests of the runtime without a toolkit share. */
#ifndef FL_TESTS_RUNTIME_RIG_H
#define FL_TESTS_RUNTIME_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

/* Names say more than numbers in a failed assertion. */
#define ANSWERS(call, wanted) assert_string_equal(cudaGetErrorName(call), cudaGetErrorName(wanted))
#define OK(call) ANSWERS(call, cudaSuccess)

/* The call fails so, and that is the thread's last error. */
#define FAILS(call, wanted) \
    do { \
        ANSWERS(call, wanted); \
        ANSWERS(cudaGetLastError(), wanted); \
    } while (0)

#endif
