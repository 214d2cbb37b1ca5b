/* Kernels in the application's ordinary memory. Each test runs in a process of its own.
 * usage: FAULTLINE_PROFILE=h200-hmm pageable */
#include "../draw.h"
#include "rig.h"

#include <faultline.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

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
    CHECK(cuLaunchKernel(f, blocks, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
}

static void add(void *at, uint32_t n)
{
    launch(add_kernel, (n + 127) / 128, &at, &n);
    CHECK(cuCtxSynchronize());
}

static CUresult poke(volatile void *at, uint32_t value)
{
    void *parameters[] = { &at, &value };
    CHECK(cuLaunchKernel(poke_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    return cuCtxSynchronize();
}

static void check_added(const uint32_t *at, uint32_t n, uint32_t base)
{
    for (uint32_t k = 0; k < n; k++)
        if (at[k] != base + k) EXPECT_EQUAL(at[k], base + k);
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
    EXPECT_EQUAL(heap[9], 5 + 9 + 3 + 9);
    EXPECT_EQUAL(heap[N - 1], 5 + N - 1 + 3);
}

static void constants_can_be_read_but_not_written(void)
{
    CUdeviceptr out;
    uint32_t word = 0;
    const uint32_t *at = &constant_words[77];
    CHECK(cuMemAlloc(&out, 4));
    launch(peek_kernel, 1, &at, &out);
    CHECK(cuMemcpyDtoH(&word, out, 4));
    EXPECT_EQUAL(word, 12);
    ANSWERS(poke((void *)(uintptr_t)at, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQUAL(*(volatile const uint32_t *)at, 12);
}

static void memory_that_is_not_there_is_an_illegal_address(void)
{
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = 1;
    CHECK(poke(p, 2));
    munmap(p, 4 * MIB);
    ANSWERS(poke(p, 3), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Of a MiB. */
static int nameless_file(void)
{
    char name[] = "/tmp/faultline-pageable-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    EXPECT_EQUAL(ftruncate(fd, MIB), 0);
    return fd;
}

static void what_a_file_has_no_more_is_an_illegal_address(void)
{
    int fd = nameless_file();
    char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(poke(p, 2));
    EXPECT_EQUAL(*(volatile uint32_t *)p, 2);
    EXPECT_EQUAL(ftruncate(fd, 4096), 0);
    CHECK(poke(p, 3));
    ANSWERS(poke(p + 8192, 3), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void memory_mapped_anew_is_seen_anew(void)
{
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t round = 1; round < 20; round++) {
        *(volatile uint32_t *)(p + 8192) = round;
        CHECK(poke(p + 4096, round));
        EXPECT_EQUAL(*(volatile uint32_t *)(p + 4096), round);
        EXPECT_EQUAL(*(volatile uint32_t *)(p + 8192), round);
        EXPECT(mmap(p, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
        EXPECT_EQUAL(*(volatile uint32_t *)(p + 4096), 0);
    }
}

static void wait_for_it(void *flag)
{
    while (!__atomic_load_n((int *)flag, __ATOMIC_SEQ_CST)) usleep(1000);
}

/* By the time of its turn a kernel finds what is mapped then. */
static void memory_mapped_anew_while_a_kernel_waits_is_seen_anew(void)
{
    static int mapped;
    uint32_t one = 1, seven = 7;
    volatile uint32_t *at = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQUAL(poke(at, one), CUDA_SUCCESS);
    EXPECT_EQUAL(at[0], one);
    CHECK(cuLaunchHostFunc(NULL, wait_for_it, &mapped));
    launch(poke_kernel, 1, &at, &seven);
    EXPECT(mmap((void *)at, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
    EXPECT_EQUAL(at[0], 0);
    __atomic_store_n(&mapped, 1, __ATOMIC_SEQ_CST);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(at[0], seven);
}

static void memory_that_moves_keeps_its_bytes(void)
{
    enum { SIZE = 64 << 10 };
    /* between pages of other access, so that it is a mapping of its own */
    char *room = mmap(NULL, 4 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
         *p = (char *)(((uintptr_t)room + SIZE) & -(uintptr_t)SIZE);
    EXPECT_EQUAL(mprotect(p, SIZE, PROT_READ | PROT_WRITE), 0);
    memset(p, 7, SIZE);
    CHECK(poke(p, 1));
    char *q = mremap(p, SIZE, 64 * SIZE, MREMAP_MAYMOVE);
    EXPECT(q != MAP_FAILED);
    EXPECT(q != p);
    p = mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(poke(p, 2));
    CHECK(poke(q + 4096, 3));
    EXPECT_EQUAL(*(volatile uint32_t *)p, 2);
    EXPECT_EQUAL(*(volatile uint32_t *)q, 1);
    EXPECT_EQUAL(*(volatile uint32_t *)(q + 4096), 3);
    EXPECT_EQUAL(q[SIZE - 1], 7);
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
    EXPECT_EQUAL(sum, (uint64_t)n);
    check_added(shared_words, 1000, 0);
}

enum { SLOTS = 64, NEIGHBOUR_PAGES = 32, PAGE = 4096, FRESH = 64 };
static _Atomic bool calm;
static _Atomic(const char *) wrong;

static void *come_and_go(void *arg)
{
    char *at[SLOTS] = { NULL };
    uint64_t state = 1, size[SLOTS];
    while (!calm) {
        size_t k = draw_from(&state, SLOTS);
        usleep(20);
        for (size_t n = 0; at[k] && n < size[k]; n += PAGE)
            if (*(volatile size_t *)(at[k] + n) != n + 1) wrong = "a store beside what kernels touch is lost";
        if (at[k]) {
            munmap(at[k], size[k]);
            at[k] = NULL;
            continue;
        }
        size[k] = PAGE * (1 + draw_from(&state, NEIGHBOUR_PAGES));
        at[k] = mmap(NULL, size[k], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t n = 0; n < size[k]; n += PAGE) *(volatile size_t *)(at[k] + n) = n + 1;
    }
    return arg;
}

/* Each thread's memory lies beside the others'. */
static void *reach_fresh_memory(void *context)
{
    CUstream s;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    while (!calm) {
        uint32_t n = FRESH * PAGE / 4,
                 *p = mmap(NULL, 4 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(cuLaunchKernel(add_kernel, n / 128, 1, 1, 128, 1, 1, 0, s, (void *[]){ &p, &n }, NULL));
        CHECK(cuStreamSynchronize(s));
        for (uint32_t k = 0; k < n; k++)
            if (p[k] != k) wrong = "what a kernel added to zeros";
        munmap(p, 4 * n);
    }
    return NULL;
}

static bool neighbours_keep_their_bytes(void)
{
    pthread_t t[4];
    CUcontext context;
    CHECK(cuCtxGetCurrent(&context));
    wrong = NULL;
    calm = false;
    for (int k = 0; k < 4; k++) pthread_create(&t[k], NULL, k < 2 ? come_and_go : reach_fresh_memory, context);
    sleep(2);
    calm = true;
    for (int k = 0; k < 4; k++) pthread_join(t[k], NULL);
    if (wrong) printf("%s\n", wrong);
    return !wrong;
}

/* Between the last look at what is replaced and its replacement lies a system call (doc/architecture.md). Only a machine
 * with other things to do makes that long enough for bytes to be lost in some of the runs. */
static void memory_beside_what_kernels_touch_may_come_and_go(void)
{
    unsigned good = 0;
    for (unsigned runs = 0; runs < 6 && good < 3; runs++) good += neighbours_keep_their_bytes();
    EXPECT_EQUAL(good, 3);
}

static void another_mapping_in_the_place_of_a_file_is_seen(void)
{
    int fd = nameless_file(), other = nameless_file();
    char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int from[] = { fd, fd, other, -1, fd }, offset[] = { 0, 4096, 0, 0, 0 };
    for (int k = 0; k < 5; k++) {
        int flags = MAP_FIXED | (from[k] < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
        EXPECT(mmap(p, MIB / 2, PROT_READ | PROT_WRITE, flags, from[k], offset[k]) == p);
        CHECK(poke(p + 4096, 10 + (uint32_t)k));
        EXPECT_EQUAL(*(volatile uint32_t *)(p + 4096), 10 + k);
    }
}

static void advice_is_taken_where_there_is_memory(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *none = mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr d;
    CHECK(cuMemAlloc(&d, MIB));
    for (int advice = 1; advice <= 6; advice++) {
        CHECK(cuMemAdvise((CUdeviceptr)p, 4 * MIB, (CUmem_advise)advice, device));
        CHECK(cuMemAdvise((CUdeviceptr)p, 4 * MIB, (CUmem_advise)advice, host));
        ANSWERS(cuMemAdvise((CUdeviceptr)none, MIB, (CUmem_advise)advice, device), CUDA_ERROR_INVALID_VALUE);
        ANSWERS(cuMemAdvise(d, MIB, (CUmem_advise)advice, device), CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, 4 * MIB, device, 0, NULL));
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, 4 * MIB, host, 0, NULL));
    ANSWERS(cuMemPrefetchAsync((CUdeviceptr)none, MIB, device, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemPrefetchAsync((CUdeviceptr)p, 1ul << 45, device, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    munmap(p, 4 * MIB);
    ANSWERS(cuMemAdvise((CUdeviceptr)p, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
}

/* Neighbours of what was freed keep its chunk mapped. */
static void freed_managed_memory_is_not_the_programs(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    CUdeviceptr kept, freed;
    size_t size = 65536, first = 0;
    int v;
    CHECK(cuMemAllocManaged(&kept, 65536, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocManaged(&freed, 65536, CU_MEM_ATTACH_GLOBAL));
    *(volatile uint32_t *)freed = 1;
    CHECK(cuMemFree(freed));
    ANSWERS(cuMemAdvise(freed, 65536, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemPrefetchAsync(freed, 65536, device, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemDiscardBatchAsync(&freed, &size, 1, 0, CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemPrefetchBatchAsync(&freed, &size, 1, &device, &first, 1, 0, CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemRangeGetAttribute(&v, sizeof v, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, freed, 65536), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuStreamAttachMemAsync(CU_STREAM_PER_THREAD, freed, 65536, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    *(volatile uint32_t *)kept = 6;
    CHECK(poke((char *)kept, 7));
    EXPECT_EQUAL(*(volatile uint32_t *)kept, 7);
    CHECK(cuMemFree(kept));
}

static void what_is_discarded_keeps_its_bytes(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr ranges[2] = { (CUdeviceptr)p, (CUdeviceptr)p + 2 * MIB };
    size_t sizes[2] = { MIB, MIB }, first = 0;
    memset(p, 1, 4 * MIB);
    CHECK(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, CU_STREAM_PER_THREAD));
    CHECK(cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 2, &device, &first, 1, 0, CU_STREAM_PER_THREAD));
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    EXPECT_EQUAL(p[100], 1);
    munmap(p + 2 * MIB, MIB);
    ANSWERS(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_VALUE);
}

static int said(CUmem_range_attribute attribute, void *p)
{
    int v = -77;
    CHECK(cuMemRangeGetAttribute(&v, sizeof v, attribute, (CUdeviceptr)p, MIB));
    return v;
}

static void what_is_said_of_memory_lasts_as_long_as_it(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    int flags = MAP_PRIVATE | MAP_ANONYMOUS, host_tables, v;
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0),
         *none = mmap(NULL, MIB, PROT_NONE, flags, -1, 0);
    CUdeviceptr d = (CUdeviceptr)p;
    CHECK(cuDeviceGetAttribute(&host_tables, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0));
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p), 0);
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p), CU_DEVICE_INVALID);
    CHECK(cuMemAdvise(d, 2 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    CHECK(cuMemAdvise(d, 2 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    CHECK(cuMemAdvise(d, 2 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
    CHECK(cuMemPrefetchAsync(d, 2 * MIB, device, 0, NULL));
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p), 1);
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p), 0);
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p), host_tables ? CU_DEVICE_INVALID : 0);
    CHECK(cuMemAdvise(d + MIB, MIB, CU_MEM_ADVISE_UNSET_ACCESSED_BY, device));
    CHECK(cuMemAdvise(d + MIB, MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p + MIB), CU_DEVICE_CPU);
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p), 0);
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + 2 * MIB), 0);
    CHECK(cuMemPrefetchAsync(d, 2 * MIB, host, 0, NULL));
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p), CU_DEVICE_CPU);
    ANSWERS(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, (CUdeviceptr)none, MIB),
            CUDA_ERROR_INVALID_VALUE);
    EXPECT(mmap(p, 4 * MIB, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == p);
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p), 0);
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p), CU_DEVICE_INVALID);
}

static void *registered;

static void *register_over_and_over(void *context)
{
    CHECK(cuCtxSetCurrent(context));
    while (!calm) {
        CHECK(cuMemHostRegister(registered, MIB, 0));
        CHECK(cuMemHostUnregister(registered));
    }
    return NULL;
}

/* While pages are replaced the system's list of mappings may lack them. */
static void what_is_said_of_memory_stays_while_its_pages_are_replaced(void)
{
    CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    uint32_t *other = malloc(400);
    CUcontext context;
    pthread_t t;
    char *p = registered = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuMemAdvise((CUdeviceptr)p, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    pthread_create(&t, NULL, register_over_and_over, context);
    for (time_t end = time(NULL) + 6; time(NULL) < end;) {
        for (int n = 0; n < 100; n++) launch(add_kernel, 1, &other, &(uint32_t){ 10 });
        CHECK(cuCtxSynchronize());
    }
    calm = true;
    pthread_join(t, NULL);
    EXPECT_EQUAL(said(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p), 0);
}

static size_t device_faults(void)
{
    struct faultline_counters c;
    EXPECT_EQUAL(faultline_get_counters(&c), 0);
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
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p[0], 8 * MIB, device, 0, NULL));
    size_t before = device_faults();
    add((void *)p[0], 8 * MIB / 4);
    EXPECT_EQUAL(device_faults(), before);
    add((void *)p[1], 8 * MIB / 4);
    EXPECT(device_faults() > before);
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
    EXPECT_EQUAL(pthread_create(&t, NULL, store_to_the_stack, NULL), 0);
    while (!stack_of_another) usleep(1000);
    /* what it would need for a signal, too */
    char *page = (char *)((uintptr_t)stack_of_another & -4096ul) - 4 * 4096;
    for (int k = 0; k < 20; k++) {
        CHECK(cuMemHostRegister(page, 10 * 4096, 0));
        CHECK(cuMemHostUnregister(page));
    }
    CHECK(poke(page, 5));
    enough = true;
    EXPECT_EQUAL(pthread_join(t, &wrong), 0);
    EXPECT_EQUAL(wrong, 0);
}

static void what_a_kernel_touched_can_be_registered(void)
{
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 4 * MIB);
    CHECK(poke(p + MIB, 5));
    CHECK(cuMemHostRegister(p + 100, 2 * MIB, 0));
    CHECK(poke(p + MIB, 6));
    CHECK(cuMemHostUnregister(p + 100));
    CHECK(poke(p + MIB, 7));
    EXPECT_EQUAL(*(volatile uint32_t *)(p + MIB), 7);
    EXPECT_EQUAL(p[4 * MIB - 1], 1);
}

static void what_is_given_back_is_zeros_again(void)
{
    uint32_t *to = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *p = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 4 * MIB);
    add((void *)p, 4 * MIB / 4);
    EXPECT_EQUAL(madvise(p + MIB, 2 * MIB, MADV_DONTNEED), 0);
    for (size_t at = MIB; at < 3 * MIB; at += 8192) EXPECT_EQUAL(*(volatile uint32_t *)(p + at), 0);
    launch(peek_kernel, 1, &(char *){ p + MIB + 4096 }, &to);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(*(volatile uint32_t *)to, 0);
    *(volatile uint32_t *)(p + 2 * MIB) = 5;
    CHECK(poke(p + 2 * MIB + 4, 6));
    EXPECT_EQUAL(*(volatile uint32_t *)(p + 2 * MIB), 5);
    EXPECT_EQUAL(*(volatile uint32_t *)(p + 2 * MIB + 4), 6);
    EXPECT_EQUAL(*(volatile uint32_t *)(p + 3 * MIB), 0x01010101 + 3 * MIB / 4);
}

/* As what a framework allocates with malloc where kernels reach that. */
static void copies_and_fills_of_a_device_take_ordinary_memory(void)
{
    enum { N = 3 * MIB / 4 };
    uint32_t *a = malloc(4 * N), *b = malloc(4 * N), *c = malloc(4 * N);
    CUstream s;
    CUdeviceptr d;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&d, 4 * N));
    memset(a, 0, 4 * N);
    add(a, N); /* now it is the device's */
    CHECK(cuMemcpyDtoHAsync(b, (CUdeviceptr)a, 4 * N, s));
    CHECK(cuStreamSynchronize(s));
    check_added(b, N, 0);
    CHECK(cuMemcpyDtoDAsync(d, (CUdeviceptr)b, 4 * N, s));
    CHECK(cuMemcpyHtoDAsync((CUdeviceptr)c, (void *)d, 4 * N, s));
    CHECK(cuStreamSynchronize(s));
    check_added(c, N, 0);
    CHECK(cuMemsetD32Async((CUdeviceptr)c, 7, N, s));
    CHECK(cuStreamSynchronize(s));
    add(c, N);
    check_added(c, N, 7);
    CHECK(cuMemFree(d));
}

static void copies_and_fills_stay_within_what_is_there(void)
{
    char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), to[8192];
    mprotect(p + 4096, 4096, PROT_READ);
    munmap(p + 2 * 4096, 4096);
    CHECK(cuMemcpyDtoH(to, (CUdeviceptr)p, 8192));
    CHECK(cuMemsetD8((CUdeviceptr)p, 1, 4096));
    EXPECT_EQUAL(cuMemsetD8((CUdeviceptr)p, 1, 8192), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQUAL(cuMemcpyDtoD((CUdeviceptr)p + 4096, (CUdeviceptr)p, 4096), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQUAL(cuMemcpyDtoH(to, (CUdeviceptr)p + 4096, 8192), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyDtoD((CUdeviceptr)p, (CUdeviceptr)p + 4096, 4096));
    EXPECT_EQUAL(*p, 0);
}

static void a_forked_child_has_its_own_copy(void)
{
    volatile uint32_t *p = malloc(4 * MIB);
    int status;
    p[0] = p[1] = 1;
    CHECK(poke(p, 2));
    pid_t child = fork();
    if (!child) {
        p[1] = 9;
        _exit(p[0] == 2 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(p[1], 1);
    CHECK(poke(p, 3));
    EXPECT_EQUAL(p[0], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, kernels_reach_malloc_the_stack_globals_and_mmap),
        ALONE(start, constants_can_be_read_but_not_written),
        ALONE(start, memory_that_is_not_there_is_an_illegal_address),
        ALONE(start, what_a_file_has_no_more_is_an_illegal_address),
        ALONE(start, memory_mapped_anew_is_seen_anew),
        ALONE(start, memory_mapped_anew_while_a_kernel_waits_is_seen_anew),
        ALONE(start, memory_that_moves_keeps_its_bytes),
        ALONE(start, no_store_of_another_thread_is_lost_when_a_kernel_comes),
        ALONE(start, memory_beside_what_kernels_touch_may_come_and_go),
        ALONE(start, another_mapping_in_the_place_of_a_file_is_seen),
        ALONE(start, advice_is_taken_where_there_is_memory),
        ALONE(start, freed_managed_memory_is_not_the_programs),
        ALONE(start, what_is_discarded_keeps_its_bytes),
        ALONE(start, what_is_said_of_memory_lasts_as_long_as_it),
        ALONE(start, what_is_said_of_memory_stays_while_its_pages_are_replaced),
        ALONE(start, prefetched_memory_is_mapped_before_kernels_come),
        ALONE(start, the_stack_of_a_thread_that_runs_can_be_registered),
        ALONE(start, what_a_kernel_touched_can_be_registered),
        ALONE(start, what_is_given_back_is_zeros_again),
        ALONE(start, copies_and_fills_of_a_device_take_ordinary_memory),
        ALONE(start, copies_and_fills_stay_within_what_is_there),
        ALONE(start, a_forked_child_has_its_own_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
