/* What a pair of stream-ordered allocation and free costs, warm, beside the
 * same pair of malloc: the pool keeps its memory, so no system call is made. */
#include "client.h"

enum { ROUNDS = 9, PAIRS = 20000 };

static double pairs(size_t bytes, CUstream s)
{
    double us[ROUNDS];
    for (int r = -1; r < ROUNDS; r++) {
        double t = now_us();
        for (int k = 0; k < PAIRS; k++) {
            CUdeviceptr p;
            CHECK(cuMemAllocAsync(&p, bytes, s));
            CHECK(cuMemFreeAsync(p, s));
        }
        if (r >= 0) us[r] = (now_us() - t) / PAIRS;
    }
    return median(us, ROUNDS);
}

static double raw(size_t bytes)
{
    double us[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        double t = now_us();
        for (int k = 0; k < PAIRS; k++) {
            void *volatile p = malloc(bytes);
            free(p);
        }
        us[r] = (now_us() - t) / PAIRS;
    }
    return median(us, ROUNDS);
}

int main(void)
{
    CUdevice d;
    CUstream s;
    CUmemoryPool pool;
    cuuint64_t all = UINT64_MAX;
    use_device();
    CHECK(cuCtxGetDevice(&d));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuDeviceGetDefaultMemPool(&pool, d));
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    report("pool.small", pairs(4096, s));
    report("pool.2M", pairs(2 << 20, s));
    report("pool.legacy", pairs(4096, NULL));
    CUdeviceptr held[4000];
    for (int k = 0; k < 4000; k++) CHECK(cuMemAllocAsync(&held[k], 4096, s));
    for (int k = 0; k < 4000; k += 2) CHECK(cuMemFreeAsync(held[k], s));
    report("pool.fragmented", pairs(10000, s));
    report("pool.malloc", raw(4096));
    return 0;
}
