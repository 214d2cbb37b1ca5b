/* Threads that allocate, launch, copy and free at the same time, through the
 * whole library: each kernel finds the memory that its thread allocated just
 * before it, and the count of free memory ends where it began. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>

enum { THREADS = 4, ROUNDS = 300, LIVE = 6 };
/* a device process under ThreadSanitizer has its mappings where the host's are, so it cannot show registered memory */
#ifdef __SANITIZE_THREAD__
enum { KINDS = 3 };
#else
enum { KINDS = 4 };
#endif

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry poke(.param .u64 a, .param .u32 b){ .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
                          "ld.param.u64 %d1,[a]; ld.param.u32 %r1,[b]; cvta.to.global.u64 %d1,%d1;\n"
                          "st.global.u32 [%d1],%r1; ret; }\n";
static CUcontext context;
static CUfunction poke;

struct piece {
    CUdeviceptr at;
    size_t size;
    unsigned kind, value;
};

static bool get(struct piece *p, unsigned *state)
{
    static const size_t sizes[] = { 4, 1000, 70000, 1 << 20, 3 << 20 };
    void *host = NULL;
    p->kind = rand_r(state) % KINDS;
    p->size = sizes[rand_r(state) % 5];
    switch (p->kind) {
    case 0:
    case 1: return !cuMemAlloc(&p->at, p->size);
    case 2:
        if (cuMemAllocHost(&host, p->size)) return false;
        break;
    default:
        host = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (host == MAP_FAILED || cuMemHostRegister(host, p->size, 0)) return false;
    }
    p->at = (CUdeviceptr)host;
    return true;
}

static bool put(struct piece *p)
{
    if (p->kind < 2) return !cuMemFree(p->at);
    if (p->kind == 2) return !cuMemFreeHost((void *)p->at);
    return !cuMemHostUnregister((void *)p->at) && !munmap((void *)p->at, p->size);
}

static bool use(struct piece *p, CUstream s, unsigned value)
{
    CUdeviceptr last = (p->at + p->size - 4) & ~3ull;
    void *arguments[] = { &last, &value };
    p->value = value;
    return !cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL);
}

static bool holds(const struct piece *p)
{
    unsigned value = 0;
    CUdeviceptr base;
    size_t size;
    return !cuMemcpyDtoH(&value, (p->at + p->size - 4) & ~3ull, 4) && value == p->value &&
           !cuMemGetAddressRange(&base, &size, p->at + p->size - 1) && base == p->at && size == p->size;
}

static void *work(void *arg)
{
    unsigned state = (unsigned)(uintptr_t)arg;
    struct piece live[LIVE] = { { 0 } };
    CUstream s;
    bool good = !cuCtxSetCurrent(context) && !cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    for (unsigned n = 0; n < ROUNDS && good; n++) {
        struct piece *p = &live[rand_r(&state) % LIVE];
        if (p->at) good = holds(p) && put(p);
        good = good && get(p, &state) && use(p, s, n) && !cuStreamSynchronize(s) && holds(p);
    }
    for (unsigned k = 0; k < LIVE && good; k++)
        if (live[k].at) good = holds(&live[k]) && put(&live[k]);
    return (void *)(uintptr_t)good;
}

static void kernels_find_what_was_allocated_just_before_them(void **state)
{
    pthread_t threads[THREADS];
    size_t before, after, total;
    (void)state;
    assert_int_equal(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
    for (uintptr_t k = 0; k < THREADS; k++) pthread_create(&threads[k], NULL, work, (void *)(k + 1));
    for (unsigned k = 0; k < THREADS; k++) {
        void *good;
        pthread_join(threads[k], &good);
        assert_non_null(good);
    }
    assert_int_equal(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
    assert_int_equal(after, before);
}

static void no_buffer_id_is_given_twice(void **state)
{
    unsigned long long id, last = 0;
    (void)state;
    for (unsigned n = 0, seed = 1; n < 1000; n++) {
        struct piece p;
        assert_true(get(&p, &seed));
        assert_int_equal(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p.at + p.size / 2), CUDA_SUCCESS);
        assert_true(id > last);
        last = id;
        assert_true(put(&p));
        assert_int_equal(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p.at), CUDA_ERROR_INVALID_VALUE);
    }
}

/* Frees of one address at the same time: one of them succeeds. */
static CUdeviceptr contested;
static _Atomic unsigned freed, ready;

static void *free_it(void *arg)
{
    (void)arg;
    cuCtxSetCurrent(context);
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < 2)
        ;
    if (!cuMemFree(contested)) atomic_fetch_add(&freed, 1);
    return NULL;
}

static void of_two_frees_one_succeeds(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 300; n++) {
        pthread_t threads[2];
        size_t size = n % 2 ? 100 : 2 << 20;
        assert_int_equal(n % 3 ? cuMemAlloc(&contested, size)
                               : cuMemAllocManaged(&contested, size, CU_MEM_ATTACH_GLOBAL),
                         CUDA_SUCCESS);
        atomic_store(&freed, 0);
        atomic_store(&ready, 0);
        for (int k = 0; k < 2; k++) pthread_create(&threads[k], NULL, free_it, NULL);
        for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
        assert_int_equal(atomic_load(&freed), 1);
    }
}

/* A call that meets its context's end is the program's mistake: it may read what is just given back, which
 * sanitizers tell, and be answered anything; but it returns. */
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
static _Atomic bool over;

/* Whatever it is answered. */
static void *call(void *number)
{
    unsigned state = 1 + (unsigned)(size_t)number;
    cuCtxSetCurrent(context);
    while (!atomic_load(&over)) {
        CUdeviceptr p;
        CUstream s;
        CUevent e;
        void *host;
        switch (rand_r(&state) % 6) {
        case 0:
            if (!cuMemAlloc(&p, 5000) && !cuMemsetD8(p, 1, 5000)) cuMemFree(p);
            break;
        case 1:
            if (!cuMemAllocManaged(&p, 5000, CU_MEM_ATTACH_GLOBAL)) cuMemFree(p);
            break;
        case 2:
            if (!cuMemAllocHost(&host, 5000)) cuMemFreeHost(host);
            break;
        case 3:
            if (!cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) && !cuStreamSynchronize(s)) cuStreamDestroy(s);
            break;
        case 4:
            if (!cuEventCreate(&e, CU_EVENT_DEFAULT) && !cuEventRecord(e, NULL)) cuEventDestroy(e);
            break;
        default: cuCtxSynchronize();
        }
    }
    return NULL;
}

static void calls_meet_a_context_that_ends(void **state)
{
    pthread_t threads[THREADS];
    size_t before, after, total;
    (void)state;
    assert_int_equal(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
    for (size_t k = 0; k < THREADS; k++) pthread_create(&threads[k], NULL, call, (void *)k);
    for (int n = 0; n < 30; n++) {
        usleep(2000);
        assert_int_equal(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
        assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    }
    atomic_store(&over, true);
    for (size_t k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
    assert_int_equal(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
    assert_int_equal(after, before);
}
#endif

static int begin(void **state)
{
    CUmodule module;
    (void)state;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
           cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&poke, module, "poke");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_find_what_was_allocated_just_before_them),
        cmocka_unit_test(no_buffer_id_is_given_twice),
        cmocka_unit_test(of_two_frees_one_succeeds),
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
        cmocka_unit_test(calls_meet_a_context_that_ends),
#endif
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
