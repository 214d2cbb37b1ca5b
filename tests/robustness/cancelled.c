/* Threads that are cancelled while they call the library: what they held is free again, and others go on. */
#include "../rig.h"

#include <pthread.h>
#include <unistd.h>

enum { SIZE = 8 << 20, PAGE = 4096, ROUNDS = 150 };

static CUcontext context;
static CUdeviceptr managed;

static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, host = { .type = CU_MEM_LOCATION_TYPE_HOST };

static void move(void)
{
    cuMemPrefetchAsync(managed, SIZE, device, 0, NULL);
    cuCtxSynchronize();
    cuMemPrefetchAsync(managed, SIZE, host, 0, NULL);
    cuCtxSynchronize();
    for (unsigned k = 0; k < SIZE; k += PAGE) ((volatile char *)managed)[k]++;
}

static void lend(void)
{
    CUstream s;
    CUdeviceptr p;
    if (cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) return;
    if (!cuMemAllocAsync(&p, MiB, s)) cuMemFreeAsync(p, s);
    cuStreamSynchronize(s);
    cuStreamDestroy(s);
}

static void pin(void)
{
    static char words[MiB];
    void *p;
    if (!cuMemAllocHost(&p, MiB)) cuMemFreeHost(p);
    if (!cuMemHostRegister(words, sizeof words, 0)) cuMemHostUnregister(words);
}

static void *repeat(void *call)
{
    cuCtxSetCurrent(context);
    for (;; pthread_testcancel()) (*(void (**)(void))call)();
    return NULL;
}

static void threads_that_are_cancelled_keep_no_lock(void **state)
{
    (void)state;
    static void (*const calls[])(void) = { move, lend, pin };
    CUdeviceptr p;
    alarm(100);
    context = rig_context(0);
    CUfunction add = rig_kernel("add");
    ok(cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL));
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, repeat, (void *)&calls[round % 3]), 0);
        usleep(round * 97 % 3000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        ok(cuMemAlloc(&p, PAGE));
        ok(cuMemsetD8(p, 0, PAGE));
        ok(rig_launch(add, p, 4, 1, NULL));
        ok(cuCtxSynchronize());
        ok(cuMemFree(p));
        ((volatile char *)managed)[0]++;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(threads_that_are_cancelled_keep_no_lock) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
