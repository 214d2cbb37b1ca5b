/* Managed memory that the program unmaps, moves or maps something over by itself, beside managed memory that goes on
 * moving. Each test runs in a process of its own. What an H200's driver answers is asked in tests/conformance/more.
 * usage: FAULTLINE_DEVICES=2 remapped */
#include "../usage.h"
#include "rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, WINDOW = 2 << 20, SIZE = 3 * WINDOW, AT = WINDOW + 100 * PAGE, PART = 64 * PAGE };

/* add(at, pages, value): adds to the first word of each page. */
static const char kernels[] = PTX_HEADER PTX_POKE
    ".visible .entry add(.param .u64 at, .param .u32 pages, .param .u32 value) {\n"
    ".reg .pred %p; .reg .b32 %n, %v, %w; .reg .b64 %a;\n"
    "ld.param.u64 %a, [at]; ld.param.u32 %n, [pages]; ld.param.u32 %v, [value];\n"
    "L: setp.eq.u32 %p, %n, 0; @%p bra E; ld.global.u32 %w, [%a]; add.u32 %w, %w, %v; st.global.u32 [%a], %w;\n"
    "add.u64 %a, %a, 4096; sub.u32 %n, %n, 1; bra L; E: ret; }\n"
    ".visible .entry spin(.param .u64 at, .param .u64 until) { .reg .pred %p; .reg .b32 %r, %q; .reg .b64 %a, %b;\n"
    "ld.param.u64 %a, [at]; ld.param.u64 %b, [until];\n"
    "L: ld.volatile.global.u32 %r, [%a]; st.volatile.global.u32 [%a], %r; ld.volatile.global.u32 %q, [%b];\n"
    "setp.eq.u32 %p, %q, 0; @%p bra L; ret; }\n";

static const CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
static CUfunction add_kernel, spin_kernel;
static char *volatile p;

static void start(void)
{
    CUmodule m = start_with(0, kernels);
    CUdeviceptr at;
    add_kernel = function_of(m, "add");
    spin_kernel = function_of(m, "spin");
    CHECK(cuMemAllocManaged(&at, SIZE, CU_MEM_ATTACH_GLOBAL));
    p = (char *)at;
}

static CUresult add(char *at, unsigned pages, unsigned value)
{
    void *parameters[] = { &at, &pages, &value };
    CUresult r = cuLaunchKernel(add_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
    return r ? r : cuCtxSynchronize();
}

static volatile uint32_t *word(char *at) { return (volatile uint32_t *)at; }

static void fill(char *at, size_t size, uint32_t value)
{
    for (size_t k = 0; k < size; k += PAGE) *word(at + k) = value;
}

static void expect_filled(char *at, size_t size, uint32_t value)
{
    for (size_t k = 0; k < size; k += PAGE) EXPECT_EQUAL(*word(at + k), value);
}

/* All but the hole goes to the device, is changed there, and comes back. */
static void go_round(uint32_t *value)
{
    CHECK(add(p, AT / PAGE, 1));
    CHECK(add(p + AT + PART, (SIZE - AT - PART) / PAGE, 1));
    ++*value;
    expect_filled(p, AT, *value);
    expect_filled(p + AT + PART, SIZE - AT - PART, *value);
}

static void what_is_mapped_over_it_is_nobodys_but_the_programs(void)
{
    uint32_t value = 5;
    fill(p, SIZE, value);
    go_round(&value);
    char *own = mmap(p + AT, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    EXPECT(own == p + AT);
    expect_filled(own, PART, 0);
    fill(own, PART, 77);
    for (int k = 0; k < 10; k++) {
        go_round(&value);
        CHECK(cuMemPrefetchAsync((CUdeviceptr)p, WINDOW, (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, k % 2 }, 0, NULL));
        CHECK(cuMemAdvise((CUdeviceptr)p, WINDOW, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
        CHECK(cuMemAdvise((CUdeviceptr)p, WINDOW, CU_MEM_ADVISE_UNSET_READ_MOSTLY, host));
        expect_filled(own, PART, 77);
    }
    ANSWERS(add(own, 1, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_filled(own, PART, 77);
    expect_filled(p, AT, value);
}

static void a_hole_of_a_page_in_each_block_leaves_the_others(void)
{
    uint32_t value = 1;
    fill(p, SIZE, 1);
    CHECK(add(p, SIZE / PAGE, 1));
    value++;
    for (size_t at = 5 * PAGE; at < SIZE; at += 37 * PAGE) EXPECT_EQUAL(munmap(p + at, PAGE), 0);
    for (int k = 0; k < 3; k++, value++) {
        CHECK(add(p, 5, 1));
        for (size_t at = 6 * PAGE; at < SIZE; at += 37 * PAGE) CHECK(add(p + at, SIZE - at < 36 * PAGE ? (SIZE - at) / PAGE : 36, 1));
        expect_filled(p, 5 * PAGE, value + 1);
        for (size_t at = 6 * PAGE; at < SIZE; at += 37 * PAGE)
            expect_filled(p + at, SIZE - at < 36 * PAGE ? SIZE - at : 36 * PAGE, value + 1);
    }
}

/* Many addresses at once; a sanitizer leaves fewer. */
static size_t many(void)
{
    size_t size = (size_t)1 << 40;
    CUdeviceptr q;
    while (cuMemAllocManaged(&q, size, CU_MEM_ATTACH_GLOBAL)) size /= 2;
    CHECK(cuMemFree(q));
    return size;
}

static void what_comes_to_its_addresses_after_it_was_freed_is_whole(void)
{
    const size_t size = many();
    CUdeviceptr other;
    fill(p, SIZE, 3);
    EXPECT_EQUAL(munmap(p + AT, PART), 0);
    EXPECT_EQUAL(munmap(p, WINDOW), 0);
    CHECK(cuMemFree((CUdeviceptr)p));
    /* addresses come again when all have been used */
    for (int k = 0; k < 2000; k++) {
        CHECK(cuMemAllocManaged(&other, size, CU_MEM_ATTACH_GLOBAL));
        bool covers = (CUdeviceptr)p >= other && (CUdeviceptr)p < other + size;
        if (covers) {
            fill(p, SIZE, 4);
            CHECK(add(p, SIZE / PAGE, 1));
            expect_filled(p, SIZE, 5);
        }
        CHECK(cuMemFree(other));
        if (covers) return;
    }
    EXPECT(!"the addresses came again");
}

static void a_kernel_that_runs_there_ends_with_an_illegal_address(void)
{
    volatile uint32_t *until;
    char *at = p + AT;
    void *parameters[] = { &at, &until };
    CHECK(cuMemAllocHost((void **)&until, 4));
    *until = 0;
    fill(p, SIZE, 0);
    CHECK(cuLaunchKernel(spin_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    usleep(50000);
    EXPECT_EQUAL(munmap(p + AT, PART), 0);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_filled(p, AT, 0);
}

static void moved_pages_are_a_bus_error(void)
{
    char *room = mmap(NULL, PART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(mremap(p + AT, PART, 2 * PART, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    EXPECT(mremap(p + AT, PART, PART, MREMAP_FIXED, room) == MAP_FAILED && errno == EINVAL);
    EXPECT(mremap(p + AT, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, p + AT + PAGE) == MAP_FAILED && errno == EINVAL);
    EXPECT(mremap(p + AT, PART, PART, MREMAP_MAYMOVE) == p + AT);
    *word(p + AT) = 1;
    EXPECT(mremap(p + AT, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, room) == room);
    *word(room) = 1;
}

static void parts_that_were_protected_and_are_not_any_more_are_whole(void)
{
    uint32_t value = 1;
    fill(p, SIZE, value);
    for (int k = 0; k < 6; k++) {
        EXPECT_EQUAL(mprotect(p + AT, PART, k % 2 ? PROT_NONE : PROT_READ), 0);
        go_round(&value);
        EXPECT_EQUAL(mprotect(p + AT, PART, PROT_READ | PROT_WRITE), 0);
        EXPECT_EQUAL(*word(p + AT), 1);
        fill(p + AT, PART, 1);
    }
}

/* Nobody sees that; it is no error of the library's. */
static void a_system_call_that_is_not_seen_does_no_harm(void)
{
    uint32_t value = 1;
    fill(p, SIZE, value);
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, SIZE, (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 0 }, 0, NULL));
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(syscall(SYS_munmap, p + AT, PART), 0);
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, SIZE, host, 0, NULL));
    CHECK(cuCtxSynchronize());
    for (int k = 0; k < 3; k++) go_round(&value);
    CHECK(cuMemFree((CUdeviceptr)p));
}

static void a_child_unmaps_nothing_of_its_parents(void)
{
    int status;
    fill(p, SIZE, 9);
    pid_t child = fork();
    if (!child) _exit(munmap(p, SIZE) || madvise(p, PAGE, MADV_REMOVE) != -1);
    waitpid(child, &status, 0);
    EXPECT_EQUAL(status, 0);
    CHECK(add(p, SIZE / PAGE, 1));
    expect_filled(p, SIZE, 10);
}

static void sizes_are_those_of_pages(void)
{
    fill(p, SIZE, 3);
    EXPECT(mremap(p, 2 * PAGE, 2 * PAGE - 1, 0) == p);
    EXPECT(mremap(p, PAGE + 1, 2 * PAGE, 0) == p);
    expect_filled(p, SIZE, 3);
    EXPECT(mremap(p, 3 * PAGE, PAGE + 1, 0) == p);
    expect_filled(p, 2 * PAGE, 3);
    expect_filled(p + 3 * PAGE, SIZE - 3 * PAGE, 3);
    CHECK(add(p, 2, 1));
    ANSWERS(add(p + 2 * PAGE, 1, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void calls_that_fail_leave_it_where_it_is(void)
{
    const int fixed = MAP_PRIVATE | MAP_FIXED, both = PROT_READ | PROT_WRITE;
    fill(p, SIZE, 3);
    CHECK(add(p, SIZE / PAGE, 1));
    EXPECT(mmap(p + AT, PART, both, fixed, 1000, 0) == MAP_FAILED && errno == EBADF);
    EXPECT(mmap(p + AT, PART, both, MAP_FIXED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
#ifndef __SANITIZE_THREAD__ /* which forgets so much itself, before it asks the system */
    EXPECT(munmap(p + AT, (size_t)1 << 62) && errno == EINVAL);
#endif
    EXPECT(munmap(p + AT + 1, PART) && errno == EINVAL);
    char *own = mmap(NULL, PART, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(mremap(own, PART, PART, MREMAP_FIXED, p + AT) == MAP_FAILED && errno == EINVAL);
    EXPECT(mremap(own + 1, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, p + AT) == MAP_FAILED && errno == EINVAL);
    EXPECT(mremap(p + AT, 0, PART, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    expect_filled(p, SIZE, 4);
    CHECK(add(p, SIZE / PAGE, 1));
    expect_filled(p, SIZE, 5);
    EXPECT(mremap(own, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, p + AT) == p + AT);
    expect_filled(p + AT, PART, 0);
    ANSWERS(add(p + AT, 1, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_child_has_what_its_parent_has_mapped_over_it(void)
{
    int status;
    EXPECT(mmap(p + AT, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + AT);
    fill(p + AT, PART, 77);
    pid_t child = fork();
    if (!child) {
        expect_filled(p + AT, PART, 77);
        _exit(munmap(p, SIZE));
    }
    waitpid(child, &status, 0);
    EXPECT_EQUAL(status, 0);
    expect_filled(p + AT, PART, 77);
}

/* A program may go on for ever with allocations of which it unmaps parts. */
static void books_of_what_is_gone_go_with_the_allocation(void)
{
    long before = 0;
    CHECK(cuMemFree((CUdeviceptr)p));
    for (int k = 0; k < 3000; k++) {
        CUdeviceptr at;
        CHECK(cuMemAllocManaged(&at, 2 * WINDOW, CU_MEM_ATTACH_GLOBAL));
        *word((char *)at) = 1;
        EXPECT_EQUAL(munmap((char *)at + 3 * PAGE, PAGE), 0);
        EXPECT_EQUAL(munmap((char *)at + WINDOW - PAGE, 2 * PAGE), 0);
        CHECK(cuMemFree(at));
        if (k == 300) before = resident_kib();
    }
    EXPECT(resident_kib() < before + 1024);
}

/* ---- while others work */

enum { THREADS = 4, ROUNDS = 150 };
static atomic_bool enough;

static void *work_beside(void *arg)
{
    CUcontext c;
    CUdeviceptr mine;
    uint32_t value = 0;
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuMemAllocManaged(&mine, WINDOW, CU_MEM_ATTACH_GLOBAL));
    for (; !enough; value++) {
        expect_filled((char *)mine, WINDOW, value);
        CHECK(add((char *)mine, WINDOW / PAGE, 1));
    }
    return arg;
}

static void *unmap_and_free(void *seed)
{
    CUcontext c;
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    unsigned state = *(unsigned *)seed;
    for (int k = 0; k < ROUNDS; k++) {
        CUdeviceptr at;
        CHECK(cuMemAllocManaged(&at, SIZE, CU_MEM_ATTACH_GLOBAL));
        char *a = (char *)at, *hole = a + (size_t)(1 + rand_r(&state) % (SIZE / PAGE - PART / PAGE - 1)) * PAGE;
        *word(a) = 1;
        fill(hole, PART, 2);
        CHECK(add(hole, PART / PAGE, 1));
        if (rand_r(&state) % 2) {
            EXPECT(mmap(hole, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == hole);
            fill(hole, PART, 7);
        } else {
            EXPECT_EQUAL(munmap(hole, PART), 0);
            hole = NULL;
        }
        CHECK(add(a, 1, 1));
        EXPECT_EQUAL(*word(a), 2);
        if (hole) expect_filled(hole, PART, 7);
        CHECK(cuMemFree(at));
    }
    return NULL;
}

static void threads_unmap_and_free_beside_others_that_work(void)
{
    pthread_t worker, threads[THREADS];
    unsigned seeds[THREADS];
    pthread_create(&worker, NULL, work_beside, NULL);
    for (unsigned k = 0; k < THREADS; k++) {
        seeds[k] = k;
        pthread_create(&threads[k], NULL, unmap_and_free, &seeds[k]);
    }
    for (unsigned k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
    enough = true;
    pthread_join(worker, NULL);
}

static atomic_ulong reads;

/* What the other thread maps there is not to be told to a sanitizer as if it wrote. */
__attribute__((no_sanitize("thread"))) static void *read_all_the_time(void *arg)
{
    for (; !enough; reads++) EXPECT(__atomic_load_n(word(__atomic_load_n(&p, __ATOMIC_SEQ_CST) + AT), __ATOMIC_SEQ_CST) % 2 == 0);
    return arg;
}

static void who_reads_meanwhile_sees_the_old_or_the_new(void)
{
    pthread_t reader;
    unsigned long before;
    *word(p + AT) = 2;
    pthread_create(&reader, NULL, read_all_the_time, NULL);
    for (int k = 0; k < 300; k++) {
        CUdeviceptr other;
        char *at = p + AT;
        for (before = reads; reads == before;) sched_yield();
        EXPECT(mmap(at, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
        for (before = reads; reads == before;) sched_yield();
        CHECK(cuMemAllocManaged(&other, SIZE, CU_MEM_ATTACH_GLOBAL));
        *word((char *)other + AT) = 4;
        char *old = p;
        __atomic_store_n(&p, (char *)other, __ATOMIC_SEQ_CST);
        for (before = reads; reads < before + 2;) sched_yield();
        CHECK(cuMemFree((CUdeviceptr)old));
    }
    enough = true;
    pthread_join(reader, NULL);
}

/* ---- libraries that are loaded later */

#ifdef __SANITIZE_THREAD__ /* each takes a hundred times as long */
enum { LOADS = 1000 };
#else
enum { LOADS = 20000 };
#endif
static int (*unmap_in_plugin)(void *p, size_t size);

static void *load(void *until)
{
    void *library = NULL;
    do {
        if (library) dlclose(library);
        library = dlopen(getenv("PLUGIN"), RTLD_NOW);
        EXPECT(library);
    } while (until && !enough);
    return library;
}

static void libraries_are_loaded_while_memory_is_allocated(void)
{
    pthread_t loader;
    CUdeviceptr at;
    pthread_create(&loader, NULL, load, "until told");
    for (int k = 0; k < LOADS; k++) {
        CHECK(cuMemAllocManaged(&at, WINDOW, CU_MEM_ATTACH_GLOBAL));
        CHECK(cuMemFree(at));
    }
    enough = true;
    pthread_join(loader, NULL);
}

static void what_a_library_unmaps_that_was_loaded_since_is_seen(void)
{
    CUdeviceptr other;
    *(void **)&unmap_in_plugin = dlsym(load(NULL), "unmap_in_plugin");
    CHECK(cuMemAllocManaged(&other, PAGE, CU_MEM_ATTACH_GLOBAL));
    EXPECT_EQUAL(unmap_in_plugin(p + AT, PART), 0);
    ANSWERS(add(p + AT, 1, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, what_is_mapped_over_it_is_nobodys_but_the_programs),
        ALONE(start, a_hole_of_a_page_in_each_block_leaves_the_others),
        ALONE(start, what_comes_to_its_addresses_after_it_was_freed_is_whole),
        ALONE(start, a_kernel_that_runs_there_ends_with_an_illegal_address),
        ALONE_ENDS(start, moved_pages_are_a_bus_error, SIGBUS),
        ALONE(start, parts_that_were_protected_and_are_not_any_more_are_whole),
        ALONE(start, a_system_call_that_is_not_seen_does_no_harm),
        ALONE(start, a_child_unmaps_nothing_of_its_parents),
        ALONE(start, sizes_are_those_of_pages),
        ALONE(start, calls_that_fail_leave_it_where_it_is),
        ALONE(start, a_child_has_what_its_parent_has_mapped_over_it),
        ALONE(start, books_of_what_is_gone_go_with_the_allocation),
        ALONE(start, threads_unmap_and_free_beside_others_that_work),
        ALONE(start, who_reads_meanwhile_sees_the_old_or_the_new),
        ALONE(start, libraries_are_loaded_while_memory_is_allocated),
        ALONE(start, what_a_library_unmaps_that_was_loaded_since_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
