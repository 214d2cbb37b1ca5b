/* Per-thread default streams: what a program means by a stream of 0, and by
 * functions without one, that was compiled for them. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "runtime_rig.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 256, LATER_US = 50000 };

static void write_later(void *at)
{
    usleep(LATER_US);
    memset(at, 1, BYTES);
}

static void functions_without_a_stream_follow_the_threads_own(void **state)
{
    (void)state;
    void *p;
    unsigned char back[BYTES];
    OK(cudaHostAlloc(&p, BYTES, cudaHostAllocMapped));
    OK(cudaLaunchHostFunc(cudaStreamPerThread, write_later, p));
    OK(cudaMemcpy(back, p, BYTES, cudaMemcpyDefault));
    assert_int_equal(back[BYTES - 1], 1);
    OK(cudaLaunchHostFunc(0, write_later, p));
    OK(cudaMemset2D(p, 16, 2, 16, BYTES / 16));
    OK(cudaMemcpy2D(back, 16, p, 16, 16, BYTES / 16, cudaMemcpyDefault));
    assert_int_equal(back[BYTES - 1], 2);
    OK(cudaFreeHost(p));
}

static pthread_barrier_t under_way, done;

static void wait_until_done(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&under_way);
    pthread_barrier_wait(&done);
}

static void *other_thread(void *unused)
{
    (void)unused;
    if (cudaLaunchHostFunc(0, wait_until_done, NULL)) abort();
    if (cudaStreamSynchronize(0)) abort();
    return NULL;
}

static void they_do_not_wait_for_other_threads(void **state)
{
    (void)state;
    void *p;
    pthread_t thread;
    unsigned char back[BYTES];
    OK(cudaMalloc(&p, BYTES));
    pthread_barrier_init(&under_way, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_barrier_wait(&under_way);
    OK(cudaMemset(p, 5, BYTES));
    OK(cudaMemcpy(back, p, BYTES, cudaMemcpyDeviceToHost));
    assert_int_equal(back[BYTES - 1], 5);
    OK(cudaMemcpy(p, back, BYTES, cudaMemcpyHostToDevice));
    pthread_barrier_wait(&done);
    pthread_join(thread, NULL);
    OK(cudaFree(p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_without_a_stream_follow_the_threads_own),
        cmocka_unit_test(they_do_not_wait_for_other_threads),
    };
    return cmocka_run_group_tests_name("per-thread default streams of the runtime", tests, NULL, NULL);
}
