/* Ends of kernels, contexts and device processes while others look on, through
 * the whole library: what a thread is told that was a moment late. What a kernel
 * does wrong is a process's last deed, so each case is a process. */
#include "../child.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2 };

static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 text[6] = {72, 101, 108, 108, 111, 0};\n"
    /* waits, then stores */
    ".visible .entry poke(.param .u64 a, .param .u32 us){ .reg .b32 %r<3>; .reg .b64 %d<6>; .reg .pred %p<2>;\n"
    "ld.param.u64 %d1,[a]; ld.param.u32 %r1,[us]; mul.wide.u32 %d2,%r1,1000;\n"
    "mov.u64 %d3,%globaltimer; add.u64 %d3,%d3,%d2;\n"
    "again: mov.u64 %d4,%globaltimer; setp.lt.u64 %p1,%d4,%d3; @%p1 bra again;\n"
    "st.global.u32 [%d1],%r1; ret; }\n"
    /* says Hello, then stores */
    ".visible .entry say(.param .u64 a, .param .u32 us){ .reg .b32 %r<3>; .reg .b64 %d<6>;\n"
    "ld.param.u64 %d1,[a]; mov.u64 %d2,text; cvta.global.u64 %d2,%d2; mov.u64 %d3,0;\n"
    "{ .param .b64 f; st.param.b64 [f],%d2; .param .b64 v; st.param.b64 [v],%d3; .param .b32 r;\n"
    "call.uni (r), vprintf, (f, v); ld.param.b32 %r1,[r]; }\n"
    "st.global.u32 [%d1],%r1; ret; }\n";

static CUfunction kernel(const char *name)
{
    CUmodule m;
    CUfunction f;
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, name));
    return f;
}

static CUresult launch(CUfunction f, CUstream s, CUdeviceptr p, unsigned us)
{
    void *arguments[] = { &p, &us };
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL);
}

static void nap(unsigned us) { nanosleep(&(struct timespec){ .tv_nsec = us * 1000l }, NULL); }

/* ---- kernels that fail */

static void an_event_behind_a_kernel_that_failed_is_never_complete(void)
{
    CUstream s;
    CUevent e;
    CUfunction f = kernel("poke");
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&e, 0));
    CUresult r = launch(f, s, 16, 3000);
    if (!r) r = cuEventRecord(e, s);
    if (!r) r = cuEventSynchronize(e);
    EXPECT_EQUAL(r, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Behind a kernel that fails 3 ms after it began. */
static void record_behind_failure(CUevent *before, CUevent *behind)
{
    CUstream s;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(before, 0));
    CHECK(cuEventCreate(behind, 0));
    CHECK(cuEventRecord(*before, s));
    CHECK(launch(kernel("poke"), s, 16, 3000));
    CHECK(cuEventRecord(*behind, s));
}

static void who_polls_an_event_behind_a_kernel_that_failed_learns_of_it(void)
{
    CUevent before, behind;
    CUresult r;
    record_behind_failure(&before, &behind);
    while ((r = cuEventQuery(behind)) == CUDA_ERROR_NOT_READY)
        ;
    EXPECT_EQUAL(r, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void events_tell_of_failures_where_no_context_is_current(void)
{
    CUevent before, behind;
    CUcontext c;
    CUresult r;
    float ms;
    record_behind_failure(&before, &behind);
    CHECK(cuCtxPopCurrent(&c));
    while ((r = cuEventElapsedTime(&ms, before, behind)) == CUDA_ERROR_NOT_READY)
        ;
    EXPECT_EQUAL(r, CUDA_ERROR_ILLEGAL_ADDRESS);
    ANSWERS(cuEventQuery(behind), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void who_waits_for_an_event_behind_a_fill_that_failed_learns_of_it(void)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    const CUmemAccessDesc access = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    const size_t size = 2 << 20;
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    CUstream s;
    CUevent e;
    uint32_t *word;
    CHECK(cuMemCreate(&h, size, &prop, 0));
    CHECK(cuMemAddressReserve(&p, size, 0, 0, 0));
    CHECK(cuMemMap(p, size, 0, h, 0));
    CHECK(cuMemSetAccess(p, size, &access, 1));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&e, 0));
    CHECK(cuMemAllocHost((void **)&word, 4));
    *word = 0;
    CHECK(cuStreamWaitValue32(s, (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_EQ));
    CHECK(cuMemsetD8Async(p, 1, size, s));
    CHECK(cuEventRecord(e, s));
    CHECK(cuMemUnmap(p, size));
    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    ANSWERS(cuEventSynchronize(e), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void what_a_kernel_printed_before_it_failed_is_shown_with_the_error(void)
{
    int ends[2];
    char text[64] = "";
    CUfunction f = kernel("say");
    EXPECT(!pipe(ends));
    EXPECT_EQUAL(dup2(ends[1], 1), 1);
    EXPECT(!launch(f, NULL, 16, 0));
    nap(300000); /* the error is known before anybody synchronises */
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    close(ends[1]);
    close(1);
    EXPECT_EQUAL(read(ends[0], text, sizeof text - 1), 5);
    EXPECT(!strcmp(text, "Hello"));
}

/* ---- contexts that end */

static _Atomic bool over;

static void *come_and_go(void *arg)
{
    CUcontext c;
    (void)arg;
    while (!atomic_load(&over)) {
        CUdeviceptr p;
        unsigned v = 0;
        CHECK(cuDevicePrimaryCtxRetain(&c, 0));
        CHECK(cuCtxSetCurrent(c));
        CHECK(cuMemAlloc(&p, 4096));
        CHECK(cuMemsetD32(p, 7, 1024));
        CHECK(cuMemcpyDtoH(&v, p, 4));
        EXPECT_EQUAL(v, 7);
        /* the end of the context has something to wait for */
        EXPECT(!launch(kernel("poke"), NULL, p, 500));
        CHECK(cuDevicePrimaryCtxRelease(0));
    }
    return NULL;
}

static void threads_retain_and_release_the_primary_context_as_they_like(void)
{
    pthread_t thread[THREADS];
    CHECK(cuDevicePrimaryCtxRelease(0));
    for (int k = 0; k < THREADS; k++) EXPECT(!pthread_create(&thread[k], NULL, come_and_go, NULL));
    nap(900000);
    atomic_store(&over, true);
    for (int k = 0; k < THREADS; k++) pthread_join(thread[k], NULL);
}

static void a_context_destroyed_long_ago_is_still_that_to_who_has_it_current(void)
{
    CUcontext c, bottom;
    CUdeviceptr p;
    CHECK(cuCtxCreate(&bottom, NULL, 0, 0));
    CHECK(cuCtxPushCurrent(bottom));
    CHECK(cuCtxDestroy(bottom));
    /* some live on at the end */
    for (int k = 0; k < 4108; k++) {
        CHECK(cuCtxCreate(&c, NULL, 0, 0));
        CHECK(cuCtxPopCurrent(NULL));
        if (k < 4096) CHECK(cuCtxDestroy(c));
    }
    CHECK(cuCtxGetCurrent(&c));
    EXPECT_EQUAL(c, bottom);
    ANSWERS(cuMemAlloc(&p, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

static void who_destroys_the_current_context_is_back_in_the_one_before(void)
{
    CUcontext before, outer, inner, now;
    CUdeviceptr p;
    CHECK(cuCtxGetCurrent(&before));
    CHECK(cuCtxCreate(&outer, NULL, 0, 0));
    CHECK(cuCtxCreate(&inner, NULL, 0, 0));
    CHECK(cuCtxDestroy(inner));
    CHECK(cuCtxGetCurrent(&now));
    EXPECT_EQUAL(now, outer);
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuCtxDestroy(outer));
    CHECK(cuCtxGetCurrent(&now));
    EXPECT_EQUAL(now, before);
}

static CUcontext top(void)
{
    CUcontext c;
    CHECK(cuCtxGetCurrent(&c));
    return c;
}

static CUcontext popped(void)
{
    CUcontext c;
    CHECK(cuCtxPopCurrent(&c));
    return c;
}

/* As an H200 answers. */
static void a_destroyed_context_stays_where_it_is_not_on_top(void)
{
    CUcontext a, b, none;
    while (top()) popped();
    CHECK(cuCtxCreate(&b, NULL, 0, 0));
    CHECK(cuCtxCreate(&a, NULL, 0, 0));
    CHECK(cuCtxDestroy(b));
    EXPECT_EQUAL(top(), a);
    EXPECT_EQUAL(popped(), a);
    EXPECT_EQUAL(popped(), b);
    EXPECT(!top());
    ANSWERS(cuCtxPopCurrent(&none), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxPushCurrent(a));
    CHECK(cuCtxPushCurrent(a));
    CHECK(cuCtxDestroy(a));
    EXPECT_EQUAL(top(), a);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQUAL(popped(), a);
    EXPECT(!top());
    ANSWERS(cuCtxPopCurrent(&none), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxCreate(&a, NULL, 0, 0));
    EXPECT_EQUAL(popped(), a);
    CHECK(cuCtxCreate(&b, NULL, 0, 0));
    CHECK(cuCtxSetCurrent(a));
    EXPECT_EQUAL(top(), a);
    CHECK(cuCtxDestroy(a)); /* in the place of b */
    EXPECT(!top());
    ANSWERS(cuCtxPopCurrent(&none), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxDestroy(b));
}

/* ---- contexts with work to do */

static void *destroy(void *context)
{
    CHECK(cuCtxDestroy(context));
    over = true;
    return NULL;
}

static void note(void *arg) { *(_Atomic bool *)arg = true; }

static void a_context_ends_when_its_streams_are_done(void)
{
    CUcontext c;
    CUstream s;
    CUdeviceptr flag, word;
    pthread_t t;
    uint32_t saw;
    _Atomic bool called = false;
    CHECK(cuMemAlloc(&flag, 4));
    CHECK(cuMemAlloc(&word, 4));
    CHECK(cuMemsetD32(flag, 0, 1));
    CHECK(cuMemsetD32(word, 0, 1));
    CHECK(cuCtxCreate(&c, NULL, 0, 0));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamWaitValue32(s, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    CHECK(cuLaunchHostFunc(s, note, &called));
    CHECK(cuMemsetD32Async(word, 7, 1, s));
    CHECK(cuCtxPopCurrent(&c));
    EXPECT(!pthread_create(&t, NULL, destroy, c));
    nap(500 * 1000);
    CHECK(cuMemcpyDtoH(&saw, word, 4));
    EXPECT(!over && !called && !saw);
    CHECK(cuStreamWriteValue32(NULL, flag, 1, 0));
    EXPECT(!pthread_join(t, NULL));
    CHECK(cuMemcpyDtoH(&saw, word, 4));
    EXPECT(called && saw == 7);
}

static void detach(void *answer)
{
    CUcontext c = *(CUcontext *)answer;
    *(CUresult *)answer = cuCtxDetach(c);
}

static void a_host_function_detaches_no_context(void)
{
    union {
        CUcontext context;
        CUresult answer;
    } u;
    CHECK(cuCtxGetCurrent(&u.context));
    CHECK(cuLaunchHostFunc(NULL, detach, &u));
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(u.answer, CUDA_ERROR_NOT_PERMITTED);
}

/* With a kernel that is launched if a condition is so, and it is. */
static CUgraphExec conditional(CUcontext c, CUfunction f, CUdeviceptr p)
{
    CUgraph g;
    CUgraphExec x;
    CUgraphNode n;
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                 .conditional = { .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = c } };
    unsigned us = 1;
    void *arguments[] = { &p, &us };
    const CUDA_KERNEL_NODE_PARAMS k = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
                                        .blockDimY = 1, .blockDimZ = 1, .kernelParams = arguments };
    CHECK(cuGraphCreate(&g, 0));
    CHECK(cuGraphConditionalHandleCreate(&params.conditional.handle, g, c, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CHECK(cuGraphAddNode(&n, g, NULL, NULL, 0, &params));
    CHECK(cuGraphAddKernelNode(&n, params.conditional.phGraph_out[0], NULL, 0, &k));
    CHECK(cuGraphInstantiate(&x, g, 0));
    return x;
}

static void take_a_while(void *unused)
{
    (void)unused;
    nap(100 * 1000);
}

static void what_conditions_select_is_done_before_a_context_ends(void)
{
    CUcontext c;
    CUstream s;
    CUdeviceptr p;
    uint32_t *word;
    CHECK(cuMemHostAlloc((void **)&word, 4, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&p, word, 0));
    *word = 0;
    CHECK(cuCtxCreate(&c, NULL, 0, 0));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUgraphExec x = conditional(c, kernel("poke"), p);
    CHECK(cuLaunchHostFunc(s, take_a_while, NULL));
    CHECK(cuGraphLaunch(x, s));
    CHECK(cuCtxDestroy(c));
    EXPECT_EQUAL(*word, 1);
    CHECK(cuCtxSynchronize());
}

struct launches {
    CUcontext context;
    CUgraphExec x;
};

static void *launch_until_refused(void *arg)
{
    const struct launches *l = arg;
    CHECK(cuCtxSetCurrent(l->context));
    while (!cuGraphLaunch(l->x, NULL)) continue;
    return NULL;
}

static void a_reset_that_comes_between_a_condition_and_its_graph_leaves_no_error(void)
{
    struct launches l;
    pthread_t t[THREADS];
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuCtxGetCurrent(&l.context));
    l.x = conditional(l.context, kernel("poke"), p);
    for (int k = 0; k < THREADS; k++) EXPECT(!pthread_create(&t[k], NULL, launch_until_refused, &l));
    nap(5000);
    CHECK(cuDevicePrimaryCtxReset(0));
    for (int k = 0; k < THREADS; k++) EXPECT(!pthread_join(t[k], NULL));
    CHECK(cuDevicePrimaryCtxRetain(&l.context, 0));
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuCtxSynchronize());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE_TIMES(with_context, an_event_behind_a_kernel_that_failed_is_never_complete, 20),
        ALONE_TIMES(with_context, who_polls_an_event_behind_a_kernel_that_failed_learns_of_it, 20),
        ALONE(with_context, events_tell_of_failures_where_no_context_is_current),
        ALONE(with_context, who_waits_for_an_event_behind_a_fill_that_failed_learns_of_it),
        ALONE(with_context, what_a_kernel_printed_before_it_failed_is_shown_with_the_error),
        ALONE_TIMES(with_context, threads_retain_and_release_the_primary_context_as_they_like, 2),
        ALONE(with_context, who_destroys_the_current_context_is_back_in_the_one_before),
        ALONE(with_context, a_destroyed_context_stays_where_it_is_not_on_top),
        ALONE(with_context, a_context_destroyed_long_ago_is_still_that_to_who_has_it_current),
        ALONE(with_context, a_context_ends_when_its_streams_are_done),
        ALONE(with_context, a_host_function_detaches_no_context),
        ALONE(with_context, what_conditions_select_is_done_before_a_context_ends),
        ALONE_TIMES(with_context, a_reset_that_comes_between_a_condition_and_its_graph_leaves_no_error, 20),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
