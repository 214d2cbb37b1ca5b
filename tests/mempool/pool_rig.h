/* Tests of a pool: two streams, and what they take from it. */
#ifndef FL_TESTS_MEMPOOL_POOL_RIG_H
#define FL_TESTS_MEMPOOL_POOL_RIG_H

#include "../rig.h"

static CUstream a, b;
static CUmemoryPool pool;

static inline uint64_t figure(CUmemPool_attribute which)
{
    cuuint64_t v = 0;
    ok(cuMemPoolGetAttribute(pool, which, &v));
    return v;
}

static inline CUdeviceptr take(size_t size, CUstream s)
{
    CUdeviceptr p = 1;
    ok(cuMemAllocFromPoolAsync(&p, size, pool, s));
    return p;
}

/* A pool that keeps nothing. */
static inline int begin(void **state)
{
    (void)state;
    rig_context(0);
    a = rig_stream();
    b = rig_stream();
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    ok(cuMemPoolCreate(&pool, &props));
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    if (rig_held) rig_release(rig_held);
    if (pool) ok(cuMemPoolDestroy(pool));
    ok(cuCtxSynchronize());
    ok(cuStreamDestroy(a));
    ok(cuStreamDestroy(b));
    return 0;
}

#endif
