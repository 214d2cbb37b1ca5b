/* When the runtime makes a context and when it makes none, what it does about contexts that the program made or took
 * away with the driver's functions, and its end. Each test is the first to use it in a process. */
#include "../child.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define IS(call, wanted) EXPECT_EQUAL(call, wanted)
#define OK(call) IS(call, cudaSuccess)

static bool active(void)
{
    unsigned flags;
    int yes;
    CHECK(cuDevicePrimaryCtxGetState(0, &flags, &yes));
    return yes;
}

static CUcontext current(void)
{
    CUcontext c;
    CHECK(cuCtxGetCurrent(&c));
    return c;
}

static void questions_make_no_context(void)
{
    int device;
    unsigned flags;
    cudaMemPool_t pool;
    struct cudaPointerAttributes of_pointer;
    OK(cudaGetLastError());
    OK(cudaGetDevice(&device));
    OK(cudaGetDeviceFlags(&flags));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaPointerGetAttributes(&of_pointer, &device));
    IS(cudaMalloc(NULL, 16), cudaErrorInvalidValue);
    IS(cudaEventQuery(NULL), cudaErrorInvalidResourceHandle);
    IS(cudaCtxResetPersistingL2Cache(), cudaErrorDeviceUninitialized);
    EXPECT(!active() && !current());
}

static void an_initialised_device_is_current_only_when_it_is_used(void)
{
    OK(cudaInitDevice(0, 0, 0));
    EXPECT(active() && !current());
    OK(cudaFree(NULL));
    EXPECT(current());
}

static void an_event_is_asked_without_a_context(void)
{
    cudaEvent_t e;
    OK(cudaEventCreate(&e));
    CHECK(cuCtxSetCurrent(NULL));
    OK(cudaEventQuery(e));
    EXPECT(!current());
}

static void a_primary_context_that_the_program_releases_stays(void)
{
    void *p;
    check_context();
    OK(cudaMalloc(&p, 100));
    CHECK(cuDevicePrimaryCtxRelease(0));
    EXPECT(active());
    OK(cudaMemset(p, 0, 100));
}

static void a_primary_context_that_the_program_resets_is_made_again(void)
{
    void *p;
    OK(cudaMalloc(&p, 100));
    CHECK(cuDevicePrimaryCtxReset(0));
    IS(cudaMemset(p, 0, 100), cudaErrorInvalidValue);
    EXPECT(active());
    OK(cudaMalloc(&p, 100));
    OK(cudaFree(p));
}

static void a_reset_gives_back_what_the_runtime_held(void)
{
    CUcontext c;
    OK(cudaFree(NULL));
    OK(cudaDeviceReset());
    OK(cudaFree(NULL));
    OK(cudaDeviceReset());
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuDevicePrimaryCtxRelease(0));
    EXPECT(!active());
}

static void a_context_of_the_programs_is_used_where_it_is_current(void)
{
    CUcontext own;
    CUdevice device;
    unsigned flags;
    void *p;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v4(&own, NULL, CU_CTX_SCHED_YIELD, 0));
    OK(cudaMalloc(&p, 100));
    OK(cudaGetDeviceFlags(&flags));
    EXPECT_EQUAL(flags, cudaDeviceScheduleYield);
    EXPECT(!active() && current() == own);
    CHECK(cuCtxGetDevice(&device));
    CHECK(cuCtxDestroy(own));
    IS(cudaFree(p), cudaErrorInvalidValue);
    EXPECT(active() && current());
}

static void wait_a_while(void *unused)
{
    (void)unused;
    usleep(200000);
}

static void that_something_is_not_ready_is_no_error(void)
{
    cudaEvent_t e;
    OK(cudaEventCreate(&e));
    OK(cudaLaunchHostFunc(NULL, wait_a_while, NULL));
    OK(cudaEventRecord(e, NULL));
    IS(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
    IS(cudaEventQuery(e), cudaErrorNotReady);
    IS(cudaStreamQuery(NULL), cudaErrorNotReady);
    IS(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
}

static void ask_for_contexts(void *answers)
{
    cudaError_t *a = answers;
    void *p;
    a[0] = cudaMalloc(&p, 16);
    a[1] = cudaSetDevice(0);
    a[2] = cudaDeviceReset();
    a[3] = cudaGetDevice(&(int){ 0 });
}

static void a_host_function_gets_no_context_and_ends_none(void)
{
    cudaError_t answers[4] = { 0 };
    OK(cudaLaunchHostFunc(NULL, ask_for_contexts, answers));
    OK(cudaDeviceSynchronize());
    for (int k = 0; k < 4; k++) IS(answers[k], cudaErrorNotPermitted);
    EXPECT(active());
}

static void a_reset_waits_for_a_host_function_that_asks(void)
{
    cudaError_t answers[4] = { 0 };
    OK(cudaLaunchHostFunc(NULL, wait_a_while, NULL));
    OK(cudaLaunchHostFunc(NULL, ask_for_contexts, answers));
    OK(cudaDeviceReset());
    EXPECT(!active());
}

static _Atomic bool told;

static void wait_until_told(void *unused)
{
    (void)unused;
    while (!told) usleep(100);
}

static void *reset(void *unused)
{
    OK(cudaDeviceReset());
    return unused;
}

/* It is the first call of this thread's that could. */
static void what_a_reset_waits_for_another_thread_may_do(void)
{
    pthread_t t;
    OK(cudaLaunchHostFunc(NULL, wait_until_told, NULL));
    EXPECT(!pthread_create(&t, NULL, reset, NULL));
    usleep(100000);
    OK(cudaSetDevice(0));
    told = true;
    EXPECT(!pthread_join(t, NULL));
    EXPECT(!active());
    OK(cudaFree(NULL));
    EXPECT(active());
}

static const char trap[] = ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry t() { trap; }\n";

static void after_a_kernels_fault_no_reset_gives_a_device(void)
{
    cudaLibrary_t library;
    cudaKernel_t kernel;
    void *p;
    const dim3 one = { 1, 1, 1 };
    OK(cudaLibraryLoadData(&library, trap, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "t"));
    OK(cudaLaunchKernel((const void *)kernel, one, one, NULL, 0, NULL));
    IS(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    OK(cudaDeviceReset());
    IS(cudaMalloc(&p, 16), cudaErrorDevicesUnavailable);
    IS(cudaDeviceSynchronize(), cudaErrorDevicesUnavailable);
}

static void *block;

static void too_late(void)
{
    int count;
    IS(cudaFree(block), cudaErrorCudartUnloading);
    IS(cudaSetDevice(0), cudaErrorCudartUnloading);
    IS(cudaGetLastError(), cudaErrorCudartUnloading);
    OK(cudaGetDeviceCount(&count));
    _exit(3);
}

static void early_enough(void) { OK(cudaFree(block)); }

static void the_runtime_ends_before_what_was_registered_first(void)
{
    atexit(too_late);
    OK(cudaMalloc(&block, 16));
    atexit(early_enough);
    exit(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(NULL, questions_make_no_context),
        ALONE(NULL, an_initialised_device_is_current_only_when_it_is_used),
        ALONE(NULL, an_event_is_asked_without_a_context),
        ALONE(NULL, a_primary_context_that_the_program_releases_stays),
        ALONE(NULL, a_primary_context_that_the_program_resets_is_made_again),
        ALONE(NULL, a_reset_gives_back_what_the_runtime_held),
        ALONE(NULL, a_context_of_the_programs_is_used_where_it_is_current),
        ALONE(NULL, that_something_is_not_ready_is_no_error),
        ALONE(NULL, a_host_function_gets_no_context_and_ends_none),
        ALONE(NULL, a_reset_waits_for_a_host_function_that_asks),
        ALONE(NULL, what_a_reset_waits_for_another_thread_may_do),
        ALONE(NULL, after_a_kernels_fault_no_reset_gives_a_device),
        ALONE_ENDS(NULL, the_runtime_ends_before_what_was_registered_first, 3 << 8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
