/* Accesses that are atomic for all of the system, and what they take from others (observed on an H200): a
 * device's on memory of the host leave the host to read, page by page, until it writes; those that are
 * atomic for the device alone are writes. Each test runs in a process of its own.
 * usage: FAULTLINE_DEVICES=2 atomics */
#include "rig.h"

#include <faultline.h>
#include <pthread.h>

enum { PAGE = 4096, PAGES = 8, ADDS = 2000, THREADS = 64 };
static const CUmemLocation gpu[] = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                     { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 } },
                           host = { .type = CU_MEM_LOCATION_TYPE_HOST };

/* Each does something to n pages from `at` on, one thread; but for the last two: add adds 1 so often to the word at
 * `at`, answer waits until it is not 0 and then adds 1. */
#define EACH_PAGE(name, operation) \
    ".visible .entry " name "(.param .u64 at, .param .u32 n) { .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %a;\n" \
    "ld.param.u64 %a, [at]; ld.param.u32 %r1, [n]; L: " operation " add.u64 %a, %a, 4096; sub.u32 %r1, %r1, 1;\n" \
    "setp.ne.u32 %p, %r1, 0; @%p bra L; ret; }\n"
static const char kernels[] = PTX_HEADER EACH_PAGE("read", "ld.volatile.global.u32 %r2, [%a];") EACH_PAGE(
    "store", "st.relaxed.sys.global.u32 [%a], %r1;") EACH_PAGE("weak", "atom.global.gpu.add.u32 %r2, [%a], 1;")
    EACH_PAGE("system", "atom.global.sys.add.u32 %r2, [%a], 1;") EACH_PAGE("exchange",
                                                                           "atom.sys.cas.b32 %r2, [%a], 0, 1;")
        EACH_PAGE("reduce", "red.global.sys.add.u32 [%a], 1;") ".visible .entry add(.param .u64 at, .param .u32 n) { "
                                                               ".reg .pred %p; .reg .b32 %r<4>; .reg .b64 %a;\n"
                                                               "ld.param.u64 %a, [at]; ld.param.u32 %r1, [n]; L: "
                                                               "red.global.sys.add.u32 [%a], 1; sub.u32 %r1, %r1, 1;\n"
                                                               "setp.ne.u32 %p, %r1, 0; @%p bra L; ret; }\n"
                                                               ".visible .entry answer(.param .u64 at, .param .u32 n) "
                                                               "{ .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %a;\n"
                                                               "ld.param.u64 %a, [at]; L: atom.global.sys.add.u32 %r2, "
                                                               "[%a], 0; setp.eq.u32 %p, %r2, 0; @%p bra L;\n"
                                                               "red.global.sys.add.u32 [%a], 1; ret; }\n";
static const char *strong[] = { "system", "exchange", "reduce" }, *weak[] = { "read", "store", "weak" };

static CUmodule modules[2];
static CUdeviceptr memory;

static void start(void)
{
    for (int d = 1; d >= 0; d--) modules[d] = start_with(d, kernels);
    CHECK(cuMemAllocManaged(&memory, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
}

static void launch(int device, const char *name, unsigned threads, uint32_t n)
{
    void *parameters[] = { &memory, &n };
    CUcontext c;
    CHECK(cuDevicePrimaryCtxRetain(&c, device));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuLaunchKernel(function_of(modules[device], name), 1, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL));
}

static struct faultline_counters counted(void)
{
    struct faultline_counters c;
    EXPECT_EQUAL(faultline_get_counters(&c), 0);
    return c;
}

/* Pages that the device maps anew, as it has to ask. */
static uint64_t maps(const char *name)
{
    struct faultline_counters before = counted();
    launch(0, name, 1, PAGES);
    CHECK(cuCtxSynchronize());
    return (counted().bytes_mapped_remotely - before.bytes_mapped_remotely) / PAGE;
}

static uint64_t host_faults(bool write)
{
    uint64_t before = counted().cpu_faults;
    for (unsigned k = 0; k < PAGES; k++) {
        volatile uint32_t *word = (uint32_t *)(memory + (uint64_t)k * PAGE);
        if (write)
            *word = k;
        else
            (void)*word;
    }
    return counted().cpu_faults - before;
}

static void stays_on_the_host(CUmem_advise advice)
{
    host_faults(true);
    CHECK(cuMemAdvise(memory, 2 * MIB, advice, advice == CU_MEM_ADVISE_SET_ACCESSED_BY ? gpu[0] : host));
}

/* ---- what faults */

static void the_host_keeps_reading_and_asks_before_it_writes(void)
{
    stays_on_the_host(CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
    for (unsigned k = 0; k < 3; k++) {
        EXPECT_EQUAL(maps(strong[k]), PAGES);
        EXPECT_EQUAL(maps(strong[k]), 0);
        EXPECT_EQUAL(host_faults(false), 0);
        EXPECT_EQUAL(host_faults(true), PAGES);
        EXPECT_EQUAL(host_faults(true), 0);
        for (unsigned j = 0; j < 3; j++) EXPECT_EQUAL(maps(weak[j]), 0);
        EXPECT_EQUAL(host_faults(true), 0);
    }
}

static void a_device_that_is_to_access_by_advice_has_no_right_to_it(void)
{
    stays_on_the_host(CU_MEM_ADVISE_SET_ACCESSED_BY);
    for (unsigned k = 0; k < 3; k++) EXPECT_EQUAL(maps(weak[k]), 0);
    EXPECT_EQUAL(host_faults(true), 0);
    EXPECT_EQUAL(maps("system"), PAGES);
    EXPECT_EQUAL(host_faults(false), 0);
    EXPECT_EQUAL(host_faults(true), PAGES);
}

static void what_is_first_touched_so_is_the_hosts_to_read(void)
{
    CHECK(cuMemAdvise(memory, 2 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    EXPECT(maps("system") >= PAGES);
    EXPECT_EQUAL(host_faults(false), 1); /* and the prefetcher's pages */
    EXPECT_EQUAL(host_faults(true), PAGES);
}

static void on_the_devices_own_memory_nothing_is_asked(void)
{
    CHECK(cuMemPrefetchAsync(memory, 2 * MIB, gpu[0], 0, NULL));
    CHECK(cuCtxSynchronize());
    uint64_t before = counted().gpu_faults;
    for (unsigned k = 0; k < 3; k++) EXPECT_EQUAL(maps(strong[k]), 0);
    EXPECT_EQUAL(counted().gpu_faults, before);
}

static void linked_devices_do_it_on_one_anothers_memory(void)
{
    CHECK(cuMemAdvise(memory, 2 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, gpu[0]));
    CHECK(cuMemAdvise(memory, 2 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, gpu[1]));
    CHECK(cuMemPrefetchAsync(memory, 2 * MIB, gpu[0], 0, NULL));
    CHECK(cuCtxSynchronize());
    uint64_t before = counted().gpu_faults;
    for (int d = 0; d < 2; d++) {
        launch(d, "system", 1, PAGES);
        CHECK(cuCtxSynchronize());
    }
    EXPECT_EQUAL(counted().gpu_faults, before);
    EXPECT_EQUAL(*(uint32_t *)memory, 2);
}

static void a_freed_page_is_refused(void)
{
    CHECK(cuMemFree(memory));
    launch(0, "system", 1, 1);
    EXPECT_EQUAL(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- both at the same time */

static void *add_on_the_host(void *word)
{
    for (unsigned k = 0; k < ADDS; k++) __atomic_fetch_add((uint32_t *)word, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void no_addition_is_lost(void)
{
    static const CUmem_advise ways[] = { CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                         CU_MEM_ADVISE_SET_ACCESSED_BY };
    for (unsigned way = 0; way < 3; way++) {
        pthread_t thread;
        CHECK(cuMemAdvise(memory, 2 * MIB, ways[way], way == 2 ? gpu[0] : host));
        *(uint32_t *)memory = 0;
        for (int d = 0; d < 2; d++) launch(d, "add", THREADS, ADDS);
        EXPECT_EQUAL(pthread_create(&thread, NULL, add_on_the_host, (void *)memory), 0);
        add_on_the_host((void *)memory);
        EXPECT_EQUAL(pthread_join(thread, NULL), 0);
        for (int d = 0; d < 2; d++) {
            launch(d, "read", 1, 1);
            CHECK(cuCtxSynchronize());
        }
        EXPECT_EQUAL(*(uint32_t *)memory, (2 * THREADS + 2) * ADDS);
    }
}

/* The kernel polls by an atomic operation, which takes the word from the host each time. */
static void a_kernel_that_polls_hears_the_host(void)
{
    stays_on_the_host(CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
    for (uint32_t round = 0; round < 20; round++) {
        volatile uint32_t *word = (uint32_t *)memory;
        *word = 0;
        launch(0, "answer", 1, 1);
        *word = 5;
        while (*word != 6)
            ;
        CHECK(cuCtxSynchronize());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, the_host_keeps_reading_and_asks_before_it_writes),
        ALONE(start, a_device_that_is_to_access_by_advice_has_no_right_to_it),
        ALONE(start, what_is_first_touched_so_is_the_hosts_to_read),
        ALONE(start, on_the_devices_own_memory_nothing_is_asked),
        ALONE(start, linked_devices_do_it_on_one_anothers_memory),
        ALONE(start, a_freed_page_is_refused),
        ALONE(start, no_addition_is_lost),
        ALONE(start, a_kernel_that_polls_hears_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
