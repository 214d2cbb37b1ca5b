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

static const char held[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry held(.param .u64 flag)\n{\n.reg .b64 %d; .reg .b32 %v; .reg .pred %p;\n"
                           "ld.param.u64 %d, [flag];\nL: ld.volatile.global.u32 %v, [%d];\n"
                           "setp.eq.u32 %p, %v, 0;\n@%p bra L;\nret;\n}\n";

/* A kernel that runs until the host stores something, and an event behind it. */
static CUevent hold(volatile uint32_t **flag)
{
    CUmodule m;
    CUfunction f;
    CUstream s;
    CUevent e;
    ok(cuModuleLoadData(&m, held));
    ok(cuModuleGetFunction(&f, m, "held"));
    ok(cuMemHostAlloc((void **)flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    **flag = 0;
    ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    ok(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){ flag }, NULL));
    ok(cuEventRecord(e, s));
    return e;
}

static void a_context_that_waits_for_a_kernel_needs_no_threads(void **state)
{
    (void)state;
    volatile uint32_t *flag;
    CUcontext c;
    CUdeviceptr p;
    rig_context(0);
    CUfunction add = rig_kernel("add");
    ok(cuCtxGetCurrent(&c));
    ok(cuMemAlloc(&p, 4));
    ok(cuMemsetD32(p, 0, 1));
    for (unsigned k = 0; k < STREAMS; k++) ok(cuStreamCreate(&stream[k], CU_STREAM_NON_BLOCKING));
    CUevent e = hold(&flag);
    const unsigned before = threads();
    ok(cuCtxWaitEvent(c, e));
    assert_true(threads() <= before);
    ok(rig_launch(add, p, 1, 7, stream[STREAMS / 2]));
    assert_int_equal(cuStreamQuery(stream[0]), CUDA_ERROR_NOT_READY);
    assert_int_equal(cuStreamQuery(stream[STREAMS / 2]), CUDA_ERROR_NOT_READY);
    *flag = 1;
    ok(cuCtxSynchronize());
    assert_int_equal(rig_word(p), 7);
    for (unsigned k = 0; k < STREAMS; k++) ok(cuStreamDestroy(stream[k]));
    ok(cuMemFree(p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_streams_do_not_make_calls_slower),
        cmocka_unit_test(a_context_that_waits_for_a_kernel_needs_no_threads),
        cmocka_unit_test(twenty_thousand_streams_run_kernels_and_call_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
