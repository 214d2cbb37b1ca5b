/* Whether there is work still: a stream has it from before its kernel begins until that has ended, and an event that is
 * done leaves nothing before it. */
#include "../child.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* Tells that it has begun at p[0], and waits until it is told to end at p[16]. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry work(.param .u64 p, .param .u32 round) { .reg .pred %q; .reg .b32 %r, %t; .reg .b64 %a;\n"
    "ld.param.u64 %a, [p]; ld.param.u32 %r, [round]; st.volatile.global.u32 [%a], %r;\n"
    "L: ld.volatile.global.u32 %t, [%a+64]; setp.ne.u32 %q, %t, %r; @%q bra L; ret; }\n";

enum { ROUNDS = 10000 };
static CUcontext context;
static CUfunction work;
static CUstream stream;
static volatile uint32_t *told;
static atomic_uint looked_at;

static void start(void)
{
    CUmodule m;
    alarm(100);
    context = check_context();
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&work, m, "work"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CHECK(cuMemAllocHost((void **)&told, 128));
    told[0] = told[16] = 0;
}

static void *launch(void *unused)
{
    CHECK(cuCtxSetCurrent(context));
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        void *parameters[] = { (void *)&told, &round };
        CHECK(cuLaunchKernel(work, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
        while (looked_at < round) sched_yield();
    }
    return unused;
}

/* The kernel is seen to run, perhaps before the thread that launches it knows. */
static void a_stream_is_not_idle_while_its_kernel_runs(void)
{
    pthread_t launcher;
    pthread_create(&launcher, NULL, launch, NULL);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        while (told[0] != round) sched_yield();
        ANSWERS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        ANSWERS(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
        told[16] = round;
        CHECK(round % 2 ? cuStreamSynchronize(stream) : cuCtxSynchronize());
        looked_at = round;
    }
    pthread_join(launcher, NULL);
}

static void nothing(void *unused) { (void)unused; }

static void an_event_that_is_done_leaves_nothing_before_it(void)
{
    CUevent e;
    CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    for (int k = 0; k < ROUNDS; k++) {
        CHECK(cuLaunchHostFunc(stream, nothing, NULL));
        CHECK(cuEventRecord(e, stream));
        if (k % 2) {
            while (cuEventQuery(e) == CUDA_ERROR_NOT_READY) sched_yield();
            CHECK(cuStreamQuery(stream));
        } else {
            while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) sched_yield();
            CHECK(cuEventQuery(e));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_stream_is_not_idle_while_its_kernel_runs),
        ALONE(start, an_event_that_is_done_leaves_nothing_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
