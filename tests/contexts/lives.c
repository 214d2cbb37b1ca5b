/* What one life of a context leaves to the next, and to others: nothing. */
#include "../rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static const char prints[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
                             ".extern .func (.param .b64 r) malloc (.param .b64 size);\n"
                             ".global .align 1 .b8 text[2] = {46, 0};\n"
                             ".visible .entry k() { .reg .b64 %d; .reg .b32 %r;\n"
                             "{ .param .b64 size; .param .b64 r; mov.u64 %d, 16; st.param.b64 [size], %d;\n"
                             "call.uni (r), malloc, (size); }\n"
                             "{ .param .b64 f; .param .b64 a; .param .b32 r; mov.u64 %d, text; cvta.global.u64 %d, %d;\n"
                             "st.param.b64 [f], %d; mov.u64 %d, 0; st.param.b64 [a], %d;\n"
                             "call.uni (r), vprintf, (f, a); }\n ret; }\n";

/* Limits of what kernels have used hold, until the context ends (observed on H200). */
static void limits_can_be_set_in_each_life(void **state)
{
    (void)state;
    for (int life = 0; life < 3; life++) {
        CUmodule m;
        CUfunction f;
        rig_context(0);
        ok(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 * MiB));
        ok(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 * MiB));
        ok(cuModuleLoadData(&m, prints));
        ok(cuModuleGetFunction(&f, m, "k"));
        ok(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        ok(cuCtxSynchronize());
        assert_int_equal(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 * MiB), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 4 * MiB), CUDA_ERROR_INVALID_VALUE);
        ok(cuDevicePrimaryCtxReset(0));
    }
}

/* What is set is rounded, unless the stacks that there are have room for it (observed on H200). */
static void a_limit_of_the_stack_is_what_was_said_if_there_is_room(void **state)
{
    static const size_t asked[] = { 15, 2, 16, 17, 1000, 1001, 1008, 99999, 100000 };
    static const size_t kept[] = { 16, 2, 16, 32, 1008, 1001, 1008, 100000, 100000 };
    (void)state;
    rig_context(0);
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        size_t now;
        ok(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, asked[k]));
        ok(cuCtxGetLimit(&now, CU_LIMIT_STACK_SIZE));
        assert_int_equal(now, kept[k]);
    }
    ok(cuDevicePrimaryCtxReset(0));
}

static void *destroy(void *context)
{
    ok(cuCtxDestroy(context));
    return NULL;
}

/* Observed on H200. */
static void little_is_known_of_a_current_context_that_another_thread_destroyed(void **state)
{
    CUcontext c;
    CUdevice device = 9;
    unsigned flags = 9;
    pthread_t thread;
    (void)state;
    ok(cuInit(0));
    ok(cuCtxCreate(&c, NULL, CU_CTX_SCHED_SPIN, 0));
    pthread_create(&thread, NULL, destroy, c);
    pthread_join(thread, NULL);
    ok(cuCtxGetFlags(&flags));
    assert_int_equal(flags, 0);
    ok(cuCtxGetDevice_v2(&device, NULL));
    assert_int_equal(device, 0);
    assert_int_equal(cuCtxGetDevice_v2(&device, c), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cuCtxGetCacheConfig(NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ok(cuCtxPopCurrent(&c));
}

static CUcontext dying;
static atomic_bool begun;

/* Arrays, or what else there is. */
static void *allocate(void *arrays)
{
    const CUDA_ARRAY_DESCRIPTOR of = { .Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    CUdeviceptr p;
    CUarray a;
    CUresult r = CUDA_SUCCESS;
    cuCtxSetCurrent(dying);
    begun = true;
    while (!r || r == CUDA_ERROR_OUT_OF_MEMORY) r = arrays ? cuArrayCreate(&a, &of) : cuMemAlloc(&p, 4 * MiB);
    return NULL;
}

static void no_memory_is_lost_in_a_context_that_ends(void **state)
{
    (void)state;
    CUcontext stays = rig_context(0);
    size_t before, after, all;
    ok(cuMemGetInfo(&before, &all));
    for (int round = 0; round < 100; round++) {
        pthread_t threads[2];
        ok(cuCtxCreate(&dying, NULL, 0, 0));
        begun = false;
        for (int k = 0; k < 2; k++) assert_int_equal(pthread_create(&threads[k], NULL, allocate, k ? &dying : NULL), 0);
        while (!begun) usleep(10);
        usleep((useconds_t)(round * 37 % 1000));
        ok(cuCtxDestroy(dying));
        for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
        ok(cuCtxSetCurrent(stays));
    }
    ok(cuMemGetInfo(&after, &all));
    assert_int_equal(after, before);
}

/* Nobody has seen it: there is nothing to wait for. */
static void a_mipmapped_array_that_finds_no_memory_waits_for_nobody(void **state)
{
    (void)state;
    CUmipmappedArray m;
    CUdeviceptr p;
    size_t room, all;
    const CUDA_ARRAY3D_DESCRIPTOR of = { .Width = 4096, .Height = 4096, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
    rig_context(0);
    alarm(60);
    ok(cuMemGetInfo(&room, &all));
    ok(cuMemAlloc(&p, room - 70 * MiB)); /* the first level takes 64 */
    CUstream s = rig_stream();
    uint32_t *flag = rig_hold(s);
    assert_int_equal(cuMipmappedArrayCreate(&m, &of, 5), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    rig_release(flag);
    ok(cuStreamSynchronize(s));
    ok(cuMemFree(p));
    ok(cuStreamDestroy(s));
}

/* Observed on H200. */
static void nothing_is_written_to_what_was_registered_to_be_read(void **state)
{
    (void)state;
    CUdeviceptr p;
    rig_context(0);
    char *m = mmap(NULL, MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(m, 1, MiB);
    ok(cuMemHostRegister(m, MiB, CU_MEMHOSTREGISTER_READ_ONLY));
    mprotect(m, MiB, PROT_READ);
    ok(cuMemAlloc(&p, MiB));
    ok(cuMemsetD8(p, 7, MiB));
    assert_int_equal(cuMemcpyDtoD((CUdeviceptr)m, p, MiB), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyDtoH(m, p, MiB), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD8((CUdeviceptr)m, 9, MiB), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(m[0], 1);
    ok(cuMemcpyHtoD(p, m, MiB));
    assert_int_equal(rig_word(p), 0x01010101);
    ok(cuMemFree(p));
    ok(cuMemHostUnregister(m));
    munmap(m, MiB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_can_be_set_in_each_life),
        cmocka_unit_test(a_limit_of_the_stack_is_what_was_said_if_there_is_room),
        cmocka_unit_test(little_is_known_of_a_current_context_that_another_thread_destroyed),
        cmocka_unit_test(no_memory_is_lost_in_a_context_that_ends),
        cmocka_unit_test(a_mipmapped_array_that_finds_no_memory_waits_for_nobody),
        cmocka_unit_test(nothing_is_written_to_what_was_registered_to_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
