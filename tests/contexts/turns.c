/* Streams whose work one thread issues and another waits for, in whatever it is about, and events that are recorded
 * with a launch. */
#include "../child.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Waits until p[0] is not 0. */
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry hold(.param .u64 p) { .reg .b64 %a; .reg .b32 %v; .reg .pred %q;\n"
                          "ld.param.u64 %a, [p]; L: ld.volatile.global.u32 %v, [%a]; setp.eq.u32 %q, %v, 0; @%q bra L; ret; }\n"
                          ".visible .entry count(.param .u64 p) { .reg .b64 %a; .reg .b32 %v;\n"
                          "ld.param.u64 %a, [p]; atom.global.add.u32 %v, [%a], 1; ret; }\n";

enum { LAUNCHES = 300, TURNS = 300 };
static CUcontext context;
static CUfunction hold, count;
static CUstream stream, other;
static _Atomic uint32_t *word;
static atomic_bool stop;

static void start(void)
{
    CUmodule m;
    alarm(60);
    context = check_context();
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&hold, m, "hold"));
    CHECK(cuModuleGetFunction(&count, m, "count"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&word, 64));
    *word = 0;
}

/* ---- conditions */

/* A graph that counts in *word if a condition holds, as it always does. */
static CUgraphExec counts_if(void)
{
    CUgraph g;
    CUgraphExec x;
    CUgraphNode n;
    CUgraphConditionalHandle h;
    CHECK(cuGraphCreate(&g, 0));
    CHECK(cuGraphConditionalHandleCreate(&h, g, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                            .conditional = { .handle = h, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = context } };
    CHECK(cuGraphAddNode(&n, g, NULL, NULL, 0, &p));
    void *argument = (void *)&word;
    CUDA_KERNEL_NODE_PARAMS k = { .func = count,
                                  .gridDimX = 1,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .kernelParams = &argument };
    CHECK(cuGraphAddKernelNode(&n, p.conditional.phGraph_out[0], NULL, 0, &k));
    CHECK(cuGraphInstantiate(&x, g, 0));
    return x;
}

static void synchronize_other(void *unused)
{
    (void)unused;
    while (!stop) CHECK(cuStreamSynchronize(other)); /* permitted in a host function, as on an H200 */
}

static void a_host_function_may_wait_for_conditions(void)
{
    CUgraphExec x = counts_if();
    CHECK(cuLaunchHostFunc(stream, synchronize_other, NULL));
    for (int k = 0; k < LAUNCHES; k++) CHECK(cuGraphLaunch(x, other));
    stop = true;
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*word, LAUNCHES);
}

static void so_may_a_thread_that_has_no_room_for_contexts(void)
{
    CUgraphExec x = counts_if();
    CHECK(cuGraphLaunch(x, other));
    CHECK(cuStreamSynchronize(other));
    while (!cuCtxPushCurrent(context)) {}
    for (int k = 1; k < LAUNCHES; k++) {
        CHECK(cuGraphLaunch(x, other));
        CHECK(cuStreamSynchronize(other));
    }
    EXPECT_EQUAL(*word, LAUNCHES);
}

/* ---- values */

static void *change(void *unused)
{
    while (!stop) {
        *word = 1;
        *word = 0;
    }
    return unused;
}

static void *wait_and_write(void *unused)
{
    CHECK(cuCtxSetCurrent(context));
    while (!stop) {
        CHECK(cuStreamWaitValue32(stream, (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_EQ));
        while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) *word = 1;
    }
    return unused;
}

/* What it waits for is there when it is issued, and gone when its turn comes, now and then: for good in the end, but for
 * who issued it. */
static void a_wait_for_a_value_holds_nobody_up(void)
{
    for (int k = 0; k < TURNS; k++) {
        pthread_t changes, waits;
        stop = false;
        pthread_create(&changes, NULL, change, NULL);
        pthread_create(&waits, NULL, wait_and_write, NULL);
        usleep(4000);
        stop = true;
        pthread_join(changes, NULL);
        pthread_join(waits, NULL);
    }
}

/* ---- events of launches */

static CUevent event(void)
{
    CUevent e;
    CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    return e;
}

static CUresult launch(CUevent begins, CUevent ends)
{
    void *argument = (void *)&word;
    CUlaunchAttribute both[] = { { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                                   .value.programmaticEvent = { .event = ends } },
                                 { .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                   .value.launchCompletionEvent = { .event = begins } } };
    CUlaunchConfig c = { .gridDimX = 1,
                         .gridDimY = 1,
                         .gridDimZ = 1,
                         .blockDimX = 1,
                         .blockDimY = 1,
                         .blockDimZ = 1,
                         .hStream = stream,
                         .attrs = both,
                         .numAttrs = begins ? 2 : 1 };
    return cuLaunchKernelEx(&c, hold, &argument, NULL);
}

static void both_events_of_a_launch_are_recorded(void)
{
    CUevent begins = event(), ends = event();
    CHECK(launch(begins, ends));
    ANSWERS(cuEventQuery(ends), CUDA_ERROR_NOT_READY); /* the other one may be done by now, on an H200 */
    CHECK(cuStreamWaitEvent(other, begins, 0));
    *word = 1;
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuEventQuery(ends));
    CHECK(cuEventQuery(begins));
    CHECK(cuStreamSynchronize(other));
}

static void an_event_of_another_context_is_none_of_a_launch(void)
{
    CUcontext second;
    CHECK(cuCtxCreate(&second, NULL, 0, 0));
    CUevent e = event();
    CHECK(cuCtxSetCurrent(context));
    ANSWERS(launch(NULL, e), CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuStreamQuery(stream));
}

/* ---- threads and contexts that end */

/* A sanitizer ends with the child's only thread, too: it has lost its way, or takes cmocka's memory for lost. */
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
#define ENDS_IN_A_CHILD 1
#else
#define ENDS_IN_A_CHILD 0
#endif

#if ENDS_IN_A_CHILD
static void *fork_and_end(void *child)
{
    void *argument = (void *)&word;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, &argument, NULL));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    if (!(*(pid_t *)child = fork())) pthread_exit(NULL);
    return NULL;
}

static void a_forked_thread_ends_without_its_stream(void)
{
    pthread_t thread;
    pid_t child;
    int status = -1;
    pthread_create(&thread, NULL, fork_and_end, &child);
    pthread_join(thread, NULL);
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
}
#endif

/* Objects of contexts are used again, the longest gone first. */
static void a_context_knows_nothing_of_the_one_before_it(void)
{
    enum { ENOUGH = 20000 };
    CUcontext first, again, attached;
    CHECK(cuCtxCreate(&first, NULL, 0, 0));
    CHECK(cuCtxAttach(&attached, 0));
    CHECK(cuCtxDestroy(first));
    for (int k = 0; k < ENOUGH; k++) {
        unsigned version;
        CHECK(cuCtxCreate(&again, NULL, 0, 0));
        if (again != first) {
            CHECK(cuCtxDestroy(again));
            continue;
        }
        CHECK(cuCtxDetach(again));
        ANSWERS(cuCtxGetApiVersion(again, &version), CUDA_ERROR_INVALID_CONTEXT);
        return;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_host_function_may_wait_for_conditions),
        ALONE(start, so_may_a_thread_that_has_no_room_for_contexts),
        ALONE(start, a_wait_for_a_value_holds_nobody_up),
        ALONE(start, both_events_of_a_launch_are_recorded),
        ALONE(start, an_event_of_another_context_is_none_of_a_launch),
#if ENDS_IN_A_CHILD
        ALONE(start, a_forked_thread_ends_without_its_stream),
#endif
        ALONE(start, a_context_knows_nothing_of_the_one_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
