/* Kernels of many streams that wait for each other through events, the legacy
 * stream and edges of graphs, with work of the host between them: each one adds
 * what two others have left, so one that is early is seen in the sum. */
#include "../rig.h"

#include <time.h>

enum { STREAMS = 6, STEPS = 400 };

static const char sum_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry sum(.param .u64 p, .param .u32 to, .param .u32 a, .param .u32 b, .param .u32 delay)\n{\n"
    " .reg .u32 %r<8>; .reg .u64 %d<6>; .reg .pred %q;\n"
    " ld.param.u64 %d0, [p]; ld.param.u32 %r0, [to]; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; ld.param.u32 %r3, "
    "[delay];\n"
    "again: setp.eq.u32 %q, %r3, 0; @%q bra go; sub.u32 %r3, %r3, 1; ld.volatile.global.u32 %r4, [%d0]; bra again;\n"
    "go: mul.wide.u32 %d1, %r0, 4; mul.wide.u32 %d2, %r1, 4; mul.wide.u32 %d3, %r2, 4;\n"
    " add.u64 %d1, %d0, %d1; add.u64 %d2, %d0, %d2; add.u64 %d3, %d0, %d3;\n"
    " ld.global.u32 %r4, [%d2]; ld.global.u32 %r5, [%d3]; add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, 1; st.global.u32 "
    "[%d1], %r4; ret;\n}\n";

static CUfunction sum;
static CUdeviceptr words;
static uint32_t *host; /* the same words: pinned memory */
static uint32_t want[STEPS + 1];

static int begin(void **state)
{
    (void)state;
    CUmodule m;
    rig_context(0);
    ok(cuModuleLoadData(&m, sum_ptx));
    ok(cuModuleGetFunction(&sum, m, "sum"));
    ok(cuMemAllocHost((void **)&host, sizeof want));
    words = (CUdeviceptr)host;
    return 0;
}

static int end(void **state)
{
    (void)state;
    ok(cuMemFreeHost(host));
    return 0;
}

struct work {
    uint32_t to, a, b;
};

static void on_host(void *arg)
{
    struct work *w = arg;
    host[w->to] = host[w->a] + host[w->b] + 1;
}

static void launch(const struct work *w, CUstream s)
{
    uint32_t delay = rand() % 4 ? 0 : (uint32_t)rand() % 20000;
    void *params[] = { &words, (void *)&w->to, (void *)&w->a, (void *)&w->b, &delay };
    ok(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

static void streams_that_wait_for_events_come_after_them(void **state)
{
    (void)state;
    CUstream s[STREAMS];
    CUevent done[STEPS + 1];
    static struct work w[STEPS + 1];
    for (int k = 0; k < STREAMS; k++) ok(cuStreamCreate(&s[k], k % 3 ? CU_STREAM_NON_BLOCKING : 0));
    for (int k = 0; k <= STEPS; k++) ok(cuEventCreate(&done[k], k % 2 ? CU_EVENT_DISABLE_TIMING : 0));
    for (unsigned seed = 0; seed < 10; seed++) {
        srand(seed);
        memset(host, 0, sizeof want);
        want[0] = 0;
        for (uint32_t k = 1; k <= STEPS; k++) {
            CUstream in = s[rand() % STREAMS];
            w[k] = (struct work){ k, (uint32_t)rand() % k, k > 10 ? k - 1 - (uint32_t)rand() % 10 : 0 };
            if (w[k].a) ok(cuStreamWaitEvent(in, done[w[k].a], 0));
            if (w[k].b) ok(cuStreamWaitEvent(in, done[w[k].b], 0));
            if (rand() % 16)
                launch(&w[k], in);
            else
                ok(cuLaunchHostFunc(in, on_host, &w[k]));
            ok(cuEventRecord(done[k], in));
            want[k] = want[w[k].a] + want[w[k].b] + 1;
        }
        ok(cuCtxSynchronize());
        for (int k = 0; k <= STEPS; k++) assert_int_equal(host[k], want[k]);
    }
    for (int k = 0; k < STREAMS; k++) ok(cuStreamDestroy(s[k]));
    for (int k = 0; k <= STEPS; k++) ok(cuEventDestroy(done[k]));
}

/* Streams are made and destroyed while their work is still to be done. */
static void short_lived_streams_are_waited_for_too(void **state)
{
    (void)state;
    CUevent e;
    CUstream s;
    uint32_t k = 1;
    memset(host, 0, sizeof want);
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (; k <= STEPS; k++) {
        const struct work w = { k, k - 1, 0 };
        launch(&w, s);
        ok(cuEventRecord(e, s));
        ok(cuStreamDestroy(s));
        ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
        ok(cuStreamWaitEvent(s, e, 0));
    }
    ok(cuStreamSynchronize(s));
    assert_int_equal(host[STEPS], STEPS);
    ok(cuStreamDestroy(s));
    ok(cuEventDestroy(e));
}

/* Far more than a thread could go through by calling itself. */
static void a_long_row_of_waits_is_gone_through_at_once(void **state)
{
    (void)state;
    CUevent e[2];
    CUstream s[2];
    memset(host, 0, sizeof want);
    for (int k = 0; k < 2; k++) {
        ok(cuEventCreate(&e[k], CU_EVENT_DISABLE_TIMING));
        ok(cuStreamCreate(&s[k], CU_STREAM_NON_BLOCKING));
    }
    uint32_t delay = 30000000, to = 1, from = 0;
    void *params[] = { &words, &to, &from, &from, &delay };
    ok(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, s[0], params, NULL));
    for (int k = 0; k < 50000; k++) {
        ok(cuEventRecord(e[k % 2], s[k % 2]));
        ok(cuStreamWaitEvent(s[(k + 1) % 2], e[k % 2], 0));
    }
    const struct work w = { 2, 1, 1 };
    launch(&w, s[1]);
    ok(cuStreamSynchronize(s[1]));
    assert_int_equal(host[2], 3);
    for (int k = 0; k < 2; k++) {
        ok(cuStreamDestroy(s[k]));
        ok(cuEventDestroy(e[k]));
    }
}

static void the_legacy_stream_and_blocking_streams_take_turns(void **state)
{
    (void)state;
    CUstream s[3];
    uint32_t last = 0;
    memset(host, 0, sizeof want);
    srand(7);
    for (int k = 0; k < 3; k++) ok(cuStreamCreate(&s[k], 0));
    for (uint32_t k = 1; k + 3 <= STEPS; k += 4) {
        const struct work before = { k, last, 0 };
        launch(&before, NULL);
        for (uint32_t j = 0; j < 3; j++) {
            const struct work w = { k + 1 + j, k, j ? k : 0 };
            launch(&w, s[j]);
        }
        last = k + 2;
        want[k] = k > 1 ? want[k - 2] + 1 : 1;
        want[k + 1] = want[k] + 1;
        want[k + 2] = want[k + 3] = 2 * want[k] + 1;
    }
    ok(cuStreamSynchronize(NULL));
    ok(cuCtxSynchronize());
    for (uint32_t k = 1; k + 3 <= STEPS; k++) assert_int_equal(host[k], want[k]);
    for (int k = 0; k < 3; k++) ok(cuStreamDestroy(s[k]));
}

static void nodes_of_random_graphs_come_after_those_they_depend_on(void **state)
{
    (void)state;
    static struct work w[STEPS + 1];
    static CUgraphNode n[STEPS + 1];
    CUstream s;
    ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (unsigned seed = 0; seed < 10; seed++) {
        CUgraph g;
        CUgraphExec x;
        srand(seed);
        ok(cuGraphCreate(&g, 0));
        for (uint32_t k = 1; k <= STEPS; k++) {
            CUgraphNode before[2];
            size_t count = 0;
            uint32_t delay = rand() % 8 ? 0 : (uint32_t)rand() % 5000;
            w[k] = (struct work){ k, (uint32_t)rand() % k, k > 10 ? k - 1 - (uint32_t)rand() % 10 : 0 };
            if (w[k].a) before[count++] = n[w[k].a];
            if (w[k].b && w[k].b != w[k].a) before[count++] = n[w[k].b];
            void *params[] = { &words, &w[k].to, &w[k].a, &w[k].b, &delay };
            const CUDA_KERNEL_NODE_PARAMS p = rig_node(sum, params);
            const CUDA_HOST_NODE_PARAMS h = { on_host, &w[k] };
            if (rand() % 32)
                ok(cuGraphAddKernelNode(&n[k], g, before, count, &p));
            else
                ok(cuGraphAddHostNode(&n[k], g, before, count, &h));
            want[k] = want[w[k].a] + want[w[k].b] + 1;
        }
        ok(cuGraphInstantiate(&x, g, 0));
        for (int launches = 0; launches < 3; launches++) {
            memset(host, 0, sizeof want);
            ok(cuGraphLaunch(x, s));
            ok(cuStreamSynchronize(s));
            for (int k = 0; k <= STEPS; k++) assert_int_equal(host[k], want[k]);
        }
        ok(cuGraphExecDestroy(x));
        ok(cuGraphDestroy(g));
    }
    ok(cuStreamDestroy(s));
}

static void an_event_of_a_context_is_behind_all_of_its_streams(void **state)
{
    (void)state;
    CUcontext c;
    CUstream s[2];
    CUevent e;
    CUgraph g;
    ok(cuCtxGetCurrent(&c));
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    for (int k = 0; k < 2; k++) ok(cuStreamCreate(&s[k], CU_STREAM_NON_BLOCKING));
    uint32_t *first = rig_hold(s[0]), *second = rig_hold(s[1]);
    ok(cuCtxRecordEvent(c, e));
    assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    rig_release(first);
    ok(cuStreamSynchronize(s[0]));
    assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    rig_release(second);
    ok(cuEventSynchronize(e));
    assert_int_equal(cuCtxRecordEvent(NULL, e), CUDA_ERROR_INVALID_CONTEXT);
    ok(cuStreamBeginCapture(s[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuCtxRecordEvent(c, e), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamEndCapture(s[0], &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    for (int k = 0; k < 2; k++) ok(cuStreamDestroy(s[k]));
    ok(cuEventDestroy(e));
}

static void a_context_that_waits_holds_up_old_and_new_streams(void **state)
{
    (void)state;
    CUcontext c;
    CUstream s[3];
    CUevent e;
    memset(host, 0, sizeof want);
    ok(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    for (int k = 0; k < 2; k++) ok(cuStreamCreate(&s[k], CU_STREAM_NON_BLOCKING));
    uint32_t *flag = rig_hold(s[0]);
    ok(cuEventRecord(e, s[0]));
    assert_int_equal(cuCtxWaitEvent(NULL, e), CUDA_ERROR_INVALID_CONTEXT);
    ok(cuCtxGetCurrent(&c));
    ok(cuCtxWaitEvent(c, e));
    ok(cuStreamCreate(&s[2], CU_STREAM_NON_BLOCKING));
    for (uint32_t k = 1; k < 3; k++) launch(&(struct work){ k, 0, 0 }, s[k]);
    launch(&(struct work){ 3, 0, 0 }, NULL);
    nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    for (int k = 1; k < 4; k++) assert_int_equal(__atomic_load_n(&host[k], __ATOMIC_SEQ_CST), 0);
    assert_int_equal(cuStreamQuery(s[2]), CUDA_ERROR_NOT_READY);
    rig_release(flag);
    ok(cuCtxSynchronize());
    for (int k = 1; k < 4; k++) assert_int_equal(host[k], 1);
    for (int k = 0; k < 3; k++) ok(cuStreamDestroy(s[k]));
    ok(cuStreamCreate(&s[0], CU_STREAM_NON_BLOCKING));
    ok(cuStreamQuery(s[0]));
    ok(cuStreamDestroy(s[0]));
    ok(cuEventDestroy(e));
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(streams_that_wait_for_events_come_after_them),
        T(short_lived_streams_are_waited_for_too),
        T(a_long_row_of_waits_is_gone_through_at_once),
        T(the_legacy_stream_and_blocking_streams_take_turns),
        T(an_event_of_a_context_is_behind_all_of_its_streams),
        T(a_context_that_waits_holds_up_old_and_new_streams),
        T(nodes_of_random_graphs_come_after_those_they_depend_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
