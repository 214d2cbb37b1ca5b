/* Kernels in the application's ordinary memory. Each test runs in a process of its own.
 * usage: FAULTLINE_PROFILE=h200-hmm pageable */
#include "rig.h"

#include <faultline.h>
#include <pthread.h>
#include <sys/mman.h>

/* add: thread i of n adds i to the word at + 4 * i; poke writes one word. */
static const char kernels[] = PTX_HEADER
    ".visible .entry add(.param .u64 at, .param .u32 n) { .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r1; @%p bra E; mul.wide.u32 %a2, %r5, 4; add.u64 %a1, %a1, "
    "%a2;\n"
    "ld.global.u32 %r6, [%a1]; add.u32 %r6, %r6, %r5; st.global.u32 [%a1], %r6; E: ret; }\n" PTX_POKE
    ".visible .entry peek(.param .u64 at, .param .u64 to) { .reg .b32 %r<2>; .reg .b64 %a<3>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u64 %a2, [to]; ld.global.u32 %r1, [%a1]; st.global.u32 [%a2], %r1; ret; }\n";

static CUfunction add_kernel, poke_kernel, peek_kernel;
static uint32_t global_words[2000];
static const uint32_t constant_words[2000] = { [77] = 12 };

static void start(void)
{
    CUmodule m = start_with(0, kernels);
    add_kernel = function_of(m, "add");
    poke_kernel = function_of(m, "poke");
    peek_kernel = function_of(m, "peek");
}

static void launch(CUfunction f, unsigned blocks, void *first, void *second)
{
    void *parameters[] = { first, second };
    EXPECT(cuLaunchKernel(f, blocks, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL), 0);
}

static void add(void *at, uint32_t n)
{
    launch(add_kernel, (n + 127) / 128, &at, &n);
    EXPECT(cuCtxSynchronize(), 0);
}

static CUresult poke(volatile void *at, uint32_t value)
{
    void *parameters[] = { &at, &value };
    EXPECT(cuLaunchKernel(poke_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), 0);
    return cuCtxSynchronize();
}

static void check_added(const uint32_t *at, uint32_t n, uint32_t base)
{
    for (uint32_t k = 0; k < n; k++)
        if (at[k] != base + k) EXPECT(at[k], base + k);
}

static void kernels_reach_malloc_the_stack_globals_and_mmap(void)
{
    enum { N = 3000000 };
    uint32_t stack[5000], *heap = malloc(sizeof(uint32_t) * N), *small = malloc(400);
    uint32_t *map = mmap(NULL, 4 * N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t k = 0; k < N; k++) heap[k] = 5;
    for (uint32_t k = 0; k < 5000; k++) stack[k] = 6;
    for (uint32_t k = 0; k < 100; k++) small[k] = 9;
    add(heap, N);
    add(stack, 5000);
    add(small, 100);
    add(global_words, 2000);
    add(map, N);
    check_added(heap, N, 5);
    check_added(stack, 5000, 6);
    check_added(small, 100, 9);
    check_added(global_words, 2000, 0);
    check_added(map, N, 0);
    for (uint32_t k = 0; k < N; k++) heap[k] += 3;
    add(heap, 10);
    EXPECT(heap[9], 5 + 9 + 3 + 9);
    EXPECT(heap[N - 1], 5 + N - 1 + 3);
}

static void constants_can_be_read_but_not_written(void)
{
    CUdeviceptr out;
    uint32_t word = 0;
    const uint32_t *at = &constant_words[77];
    EXPECT(cuMemAlloc(&out, 4), 0);
    launch(peek_kernel, 1, &at, &out);
    EXPECT(cuMemcpyDtoH(&word, out, 4), 0);
    EXPECT(word, 12);
    EXPECT(poke((void *)(uintptr_t)at, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(*(volatile const uint32_t *)at, 12);
}

static void memory_that_is_not_there_is_an_illegal_address(void)
{
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = 1;
    EXPECT(poke(p, 2), 0);
    munmap(p, 4 * MIB);
    EXPECT(poke(p, 3), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void what_a_file_has_no_more_is_an_illegal_address(void)
{
    char name[] = "/tmp/faultline-pageable-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    EXPECT(ftruncate(fd, MIB), 0);
    char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(poke(p, 2), 0);
    EXPECT(*(volatile uint32_t *)p, 2);
    EXPECT(ftruncate(fd, 4096), 0);
    EXPECT(poke(p, 3), 0);
    EXPECT(poke(p + 8192, 3), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void memory_mapped_anew_is_seen_anew(void)
{
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t round = 1; round < 20; round++) {
        *(volatile uint32_t *)(p + 8192) = round;
        EXPECT(poke(p + 4096, round), 0);
        EXPECT(*(volatile uint32_t *)(p + 4096), round);
        EXPECT(*(volatile uint32_t *)(p + 8192), round);
        EXPECT(mmap(p, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p, true);
        EXPECT(*(volatile uint32_t *)(p + 4096), 0);
    }
}

static void memory_that_moves_keeps_its_bytes(void)
{
    enum { SIZE = 64 << 10 };
    /* between pages of other access, so that it is a mapping of its own */
    char *room = mmap(NULL, 4 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
         *p = (char *)(((uintptr_t)room + SIZE) & -(uintptr_t)SIZE);
    EXPECT(mprotect(p, SIZE, PROT_READ | PROT_WRITE), 0);
    memset(p, 7, SIZE);
    EXPECT(poke(p, 1), 0);
    char *q = mremap(p, SIZE, 64 * SIZE, MREMAP_MAYMOVE);
    EXPECT(q != MAP_FAILED, true);
    EXPECT(q == p, false);
    p = mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT(poke(p, 2), 0);
    EXPECT(poke(q + 4096, 3), 0);
    EXPECT(*(volatile uint32_t *)p, 2);
    EXPECT(*(volatile uint32_t *)q, 1);
    EXPECT(*(volatile uint32_t *)(q + 4096), 3);
    EXPECT(q[SIZE - 1], 7);
}

static _Atomic bool stop;
static uint32_t *shared_words;

static void *count_up(void *arg)
{
    uint64_t n = 0;
    (void)arg;
    while (!stop) __atomic_fetch_add(&shared_words[1000 + n++ % 8], 1, __ATOMIC_RELAXED);
    return (void *)n;
}

static void no_store_of_another_thread_is_lost_when_a_kernel_comes(void)
{
    pthread_t t;
    void *n;
    uint64_t sum = 0;
    shared_words = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&t, NULL, count_up, NULL);
    usleep(1000);
    add(shared_words, 1000);
    usleep(1000);
    stop = true;
    pthread_join(t, &n);
    for (int k = 0; k < 8; k++) sum += shared_words[1000 + k];
    EXPECT(sum, (uint64_t)n);
    check_added(shared_words, 1000, 0);
}

static void advice_is_taken_where_there_is_memory(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *none = mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr d;
    EXPECT(cuMemAlloc(&d, MIB), 0);
    for (int advice = 1; advice <= 6; advice++) {
        EXPECT(cuMemAdvise((CUdeviceptr)p, 4 * MIB, (CUmem_advise)advice, device), 0);
        EXPECT(cuMemAdvise((CUdeviceptr)p, 4 * MIB, (CUmem_advise)advice, host), 0);
        EXPECT(cuMemAdvise((CUdeviceptr)none, MIB, (CUmem_advise)advice, device), CUDA_ERROR_INVALID_VALUE);
        EXPECT(cuMemAdvise(d, MIB, (CUmem_advise)advice, device), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT(cuMemPrefetchAsync((CUdeviceptr)p, 4 * MIB, device, 0, NULL), 0);
    EXPECT(cuMemPrefetchAsync((CUdeviceptr)p, 4 * MIB, host, 0, NULL), 0);
    EXPECT(cuMemPrefetchAsync((CUdeviceptr)none, MIB, device, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemPrefetchAsync((CUdeviceptr)p, 1ul << 45, device, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    munmap(p, 4 * MIB);
    EXPECT(cuMemAdvise((CUdeviceptr)p, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
}

static void what_is_discarded_keeps_its_bytes(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr ranges[2] = { (CUdeviceptr)p, (CUdeviceptr)p + 2 * MIB };
    size_t sizes[2] = { MIB, MIB }, first = 0;
    memset(p, 1, 4 * MIB);
    EXPECT(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, CU_STREAM_PER_THREAD), 0);
    EXPECT(cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 2, &device, &first, 1, 0, CU_STREAM_PER_THREAD), 0);
    EXPECT(cuStreamSynchronize(CU_STREAM_PER_THREAD), 0);
    EXPECT(p[100], 1);
    munmap(p + 2 * MIB, MIB);
    EXPECT(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_VALUE);
}

static int said(CUmem_range_attribute attribute, void *p)
{
    int v = -77;
    EXPECT(cuMemRangeGetAttribute(&v, sizeof v, attribute, (CUdeviceptr)p, MIB), 0);
    return v;
}

static void what_is_said_of_memory_lasts_as_long_as_it(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    int flags = MAP_PRIVATE | MAP_ANONYMOUS, host_tables, v;
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0),
         *none = mmap(NULL, MIB, PROT_NONE, flags, -1, 0);
    CUdeviceptr d = (CUdeviceptr)p;
    EXPECT(cuDeviceGetAttribute(&host_tables, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0), 0);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p), 0);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p), CU_DEVICE_INVALID);
    EXPECT(cuMemAdvise(d, 2 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, device), 0);
    EXPECT(cuMemAdvise(d, 2 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device), 0);
    EXPECT(cuMemAdvise(d, 2 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, device), 0);
    EXPECT(cuMemPrefetchAsync(d, 2 * MIB, device, 0, NULL), 0);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p), 1);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p), 0);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p), host_tables ? CU_DEVICE_INVALID : 0);
    EXPECT(cuMemAdvise(d + MIB, MIB, CU_MEM_ADVISE_UNSET_ACCESSED_BY, device), 0);
    EXPECT(cuMemAdvise(d + MIB, MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, host), 0);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p + MIB), CU_DEVICE_CPU);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p), 0);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + 2 * MIB), 0);
    EXPECT(cuMemPrefetchAsync(d, 2 * MIB, host, 0, NULL), 0);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p), CU_DEVICE_CPU);
    EXPECT(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, (CUdeviceptr)none, MIB),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(mmap(p, 4 * MIB, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == p, true);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p), 0);
    EXPECT(said(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p), CU_DEVICE_INVALID);
}

static size_t device_faults(void)
{
    struct faultline_counters c;
    EXPECT(faultline_get_counters(&c), 0);
    return c.events[FAULTLINE_GPU_FAULT];
}

static void prefetched_memory_is_mapped_before_kernels_come(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    char *p[2];
    for (int k = 0; k < 2; k++) {
        p[k] = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(p[k], 0, 8 * MIB);
    }
    EXPECT(cuMemPrefetchAsync((CUdeviceptr)p[0], 8 * MIB, device, 0, NULL), 0);
    size_t before = device_faults();
    add((void *)p[0], 8 * MIB / 4);
    EXPECT(device_faults(), before);
    add((void *)p[1], 8 * MIB / 4);
    EXPECT(device_faults() > before, true);
    check_added((void *)p[0], 8 * MIB / 4, 0);
}

static _Atomic(volatile char *) stack_of_another;
static _Atomic bool enough;

static void *store_to_the_stack(void *arg)
{
    volatile char bytes[8 * 4096];
    uint64_t n = 0;
    for (stack_of_another = bytes; !enough; n++) {
        bytes[n % sizeof bytes] = (char)n;
        if (bytes[n % sizeof bytes] != (char)n) return "store lost";
    }
    return arg;
}

/* It has launched nothing; without a userfaultfd it stands still meanwhile. */
static void the_stack_of_a_thread_that_runs_can_be_registered(void)
{
    pthread_t t;
    void *wrong;
    EXPECT(pthread_create(&t, NULL, store_to_the_stack, NULL), 0);
    while (!stack_of_another) usleep(1000);
    /* what it would need for a signal, too */
    char *page = (char *)((uintptr_t)stack_of_another & -4096ul) - 4 * 4096;
    for (int k = 0; k < 20; k++) {
        EXPECT(cuMemHostRegister(page, 10 * 4096, 0), 0);
        EXPECT(cuMemHostUnregister(page), 0);
    }
    EXPECT(poke(page, 5), 0);
    enough = true;
    EXPECT(pthread_join(t, &wrong), 0);
    EXPECT(wrong, 0);
}

static void what_a_kernel_touched_can_be_registered(void)
{
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 4 * MIB);
    EXPECT(poke(p + MIB, 5), 0);
    EXPECT(cuMemHostRegister(p + 100, 2 * MIB, 0), 0);
    EXPECT(poke(p + MIB, 6), 0);
    EXPECT(cuMemHostUnregister(p + 100), 0);
    EXPECT(poke(p + MIB, 7), 0);
    EXPECT(*(volatile uint32_t *)(p + MIB), 7);
    EXPECT(p[4 * MIB - 1], 1);
}

/* Without a userfaultfd that sees system calls nobody tells of it. */
static void what_is_given_back_is_zeros_again(void)
{
    const char *rung = getenv("FAULTLINE_UFFD");
    uint32_t *to = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (rung && strcmp(rung, "on")) return;
    memset(p, 1, 4 * MIB);
    add((void *)p, 4 * MIB / 4);
    EXPECT(madvise(p + MIB, 2 * MIB, MADV_DONTNEED), 0);
    for (size_t at = MIB; at < 3 * MIB; at += 8192) EXPECT(*(volatile uint32_t *)(p + at), 0);
    launch(peek_kernel, 1, &(char *){ p + MIB + 4096 }, &to);
    EXPECT(cuCtxSynchronize(), 0);
    EXPECT(*(volatile uint32_t *)to, 0);
    *(volatile uint32_t *)(p + 2 * MIB) = 5;
    EXPECT(poke(p + 2 * MIB + 4, 6), 0);
    EXPECT(*(volatile uint32_t *)(p + 2 * MIB), 5);
    EXPECT(*(volatile uint32_t *)(p + 2 * MIB + 4), 6);
    EXPECT(*(volatile uint32_t *)(p + 3 * MIB), 0x01010101 + 3 * MIB / 4);
}

static void a_forked_child_has_its_own_copy(void)
{
    volatile uint32_t *p = malloc(4 * MIB);
    int status;
    p[0] = p[1] = 1;
    EXPECT(poke(p, 2), 0);
    pid_t child = fork();
    if (!child) {
        p[1] = 9;
        _exit(p[0] == 2 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    EXPECT(status, 0);
    EXPECT(p[1], 1);
    EXPECT(poke(p, 3), 0);
    EXPECT(p[0], 3);
}

IN_CHILD(kernels_reach_malloc_the_stack_globals_and_mmap, 0)
IN_CHILD(constants_can_be_read_but_not_written, 0)
IN_CHILD(memory_that_is_not_there_is_an_illegal_address, 0)
IN_CHILD(what_a_file_has_no_more_is_an_illegal_address, 0)
IN_CHILD(memory_mapped_anew_is_seen_anew, 0)
IN_CHILD(memory_that_moves_keeps_its_bytes, 0)
IN_CHILD(no_store_of_another_thread_is_lost_when_a_kernel_comes, 0)
IN_CHILD(advice_is_taken_where_there_is_memory, 0)
IN_CHILD(what_is_discarded_keeps_its_bytes, 0)
IN_CHILD(what_is_said_of_memory_lasts_as_long_as_it, 0)
IN_CHILD(prefetched_memory_is_mapped_before_kernels_come, 0)
IN_CHILD(the_stack_of_a_thread_that_runs_can_be_registered, 0)
IN_CHILD(what_a_kernel_touched_can_be_registered, 0)
IN_CHILD(what_is_given_back_is_zeros_again, 0)
IN_CHILD(a_forked_child_has_its_own_copy, 0)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_reach_malloc_the_stack_globals_and_mmap),
        cmocka_unit_test(test_constants_can_be_read_but_not_written),
        cmocka_unit_test(test_memory_that_is_not_there_is_an_illegal_address),
        cmocka_unit_test(test_what_a_file_has_no_more_is_an_illegal_address),
        cmocka_unit_test(test_memory_mapped_anew_is_seen_anew),
        cmocka_unit_test(test_memory_that_moves_keeps_its_bytes),
        cmocka_unit_test(test_no_store_of_another_thread_is_lost_when_a_kernel_comes),
        cmocka_unit_test(test_advice_is_taken_where_there_is_memory),
        cmocka_unit_test(test_what_is_discarded_keeps_its_bytes),
        cmocka_unit_test(test_what_is_said_of_memory_lasts_as_long_as_it),
        cmocka_unit_test(test_prefetched_memory_is_mapped_before_kernels_come),
        cmocka_unit_test(test_the_stack_of_a_thread_that_runs_can_be_registered),
        cmocka_unit_test(test_what_a_kernel_touched_can_be_registered),
        cmocka_unit_test(test_what_is_given_back_is_zeros_again),
        cmocka_unit_test(test_a_forked_child_has_its_own_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
