/* Far more streams than a program needs, as an H200 has them: each runs kernels and calls functions of the host. */
#include "../rig.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(twenty_thousand_streams_run_kernels_and_call_the_host) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
