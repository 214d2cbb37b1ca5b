/* What benchmarks of the library begin with. */
#ifndef FL_BENCH_CLIENT_H
#define FL_BENCH_CLIENT_H

#include "../tests/check.h"
#include "measure.h"

#include <stdint.h>

static inline CUcontext use_device(void)
{
    CUcontext c;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    return c;
}

#endif
