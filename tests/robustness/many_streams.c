/* Far more streams than a program needs, as an H200 has them: each runs kernels and calls functions of the host,
 * and costs nothing when it is idle. */
#include "../rig.h"

#include <time.h>

enum { STREAMS = 20000 };

static CUstream stream[STREAMS];
static _Atomic unsigned called;
static void call(void *arg)
{
    (void)arg;
    called++;
}

static unsigned threads(void)
{
    char line[256];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/status", "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "Threads: %u", &n) == 1) break;
    fclose(f);
    return n;
}

static void twenty_thousand_streams_run_kernels_and_call_the_host(void **state)
{
    (void)state;
    static uint32_t words[STREAMS];
    CUdeviceptr p;
    rig_context(0);
    CUfunction add = rig_kernel("add");
    ok(cuMemAlloc(&p, sizeof words));
    ok(cuMemsetD32(p, 0, STREAMS));
    for (unsigned k = 0; k < STREAMS; k++) ok(cuStreamCreate(&stream[k], CU_STREAM_NON_BLOCKING));
    for (unsigned round = 1; round <= 2; round++)
        for (unsigned k = 0; k < STREAMS; k++) ok(rig_launch(add, p + 4ul * k, 1, k * round, stream[k]));
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH(words, p, sizeof words));
    for (unsigned k = 0; k < STREAMS; k++) assert_int_equal(words[k], 3 * k);
    for (unsigned k = 0; k < STREAMS; k++) ok(cuLaunchHostFunc(stream[k], call, NULL));
    ok(cuCtxSynchronize());
    assert_int_equal(called, STREAMS);
    assert_true(threads() < 1000);
    for (unsigned k = 0; k < STREAMS; k++) ok(cuStreamDestroy(stream[k]));
}

static double us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void synchronize(CUdeviceptr p)
{
    (void)p;
    ok(cuCtxSynchronize());
}

static void query(CUdeviceptr p)
{
    (void)p;
    ok(cuStreamQuery(NULL));
}

static void copy(CUdeviceptr p)
{
    uint32_t word;
    ok(cuMemcpyDtoH(&word, p, sizeof word));
}

static void free_memory(CUdeviceptr p)
{
    ok(cuMemAlloc(&p, 4096));
    ok(cuMemFree(p));
}

typedef void call_made(CUdeviceptr p);

/* A call at its best. */
static double cost(call_made *call, CUdeviceptr p)
{
    double best = 1e9;
    for (unsigned k = 0; k < 1000; k++) {
        double began = us();
        call(p);
        double took = us() - began;
        if (took < best) best = took;
    }
    return best;
}

static void idle_streams_do_not_make_calls_slower(void **state)
{
    (void)state;
    enum { CALLS = 4, SLOWER = 20, JITTER_US = 1 };
    call_made *const call[CALLS] = { synchronize, query, copy, free_memory };
    double alone[CALLS];
    CUdeviceptr p;
    rig_context(0);
    ok(cuMemAlloc(&p, 4));
    for (unsigned k = 0; k < CALLS; k++) alone[k] = cost(call[k], p);
    for (unsigned k = 0; k < STREAMS; k++) ok(cuStreamCreate(&stream[k], CU_STREAM_DEFAULT));
    for (unsigned k = 0; k < STREAMS; k++) ok(cuMemsetD32Async(p, k, 1, stream[k]));
    for (unsigned k = 0; k < CALLS; k++) assert_true(cost(call[k], p) < SLOWER * alone[k] + JITTER_US);
    for (unsigned k = 0; k < STREAMS; k++) ok(cuStreamDestroy(stream[k]));
    ok(cuMemFree(p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_streams_do_not_make_calls_slower),
        cmocka_unit_test(twenty_thousand_streams_run_kernels_and_call_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
