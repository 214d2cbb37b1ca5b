/* Managed memory of a machine with eight small devices, each linked to each. Each test runs in a process of its own.
 * usage: FAULTLINE_DEVICES=8 FAULTLINE_VRAM=8M eight */
#include "rig.h"

#include <faultline.h>

enum { DEVICES = 8, PAGE = 4096, BIG = 65536, ON_DEVICE = FAULTLINE_ON_DEVICE };

/* add(at, n): n threads, in blocks of 64, each adds 1 to the first word of a page of its own; one: all to the same word,
 * for the whole system; peek(at, n, out): as add, the sum of these words goes to *out. */
static const char kernels[] = PTX_HEADER PTX_POKE
    ".visible .entry add(.param .u64 at, .param .u32 n) { .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r1; @%p ret; mul.wide.u32 %a2, %r5, 4096;\n"
    "add.u64 %a3, %a1, %a2; ld.global.u32 %r1, [%a3]; add.u32 %r1, %r1, 1; st.global.u32 [%a3], %r1; ret; }\n"
    ".visible .entry one(.param .u64 at, .param .u32 n) { .reg .b32 %r<2>; .reg .b64 %a; ld.param.u64 %a, [at];\n"
    "atom.global.sys.add.u32 %r1, [%a], 1; ret; }\n"
    ".visible .entry peek(.param .u64 at, .param .u32 n, .param .u64 out) { .reg .pred %p; .reg .b32 %r<6>;\n"
    ".reg .b64 %a<5>; ld.param.u64 %a1, [at]; ld.param.u32 %r1, [n]; ld.param.u64 %a4, [out]; mov.u32 %r2, %ctaid.x;\n"
    "mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r1; @%p ret;\n"
    "mul.wide.u32 %a2, %r5, 4096; add.u64 %a3, %a1, %a2; ld.global.u32 %r1, [%a3]; red.global.add.u32 [%a4], %r1;\n"
    "ret; }\n";
static const CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };

static struct {
    CUcontext context;
    CUfunction poke, add, one, peek;
    CUdeviceptr sum;
} on[DEVICES];

static CUmemLocation gpu(int d) { return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d }; }

static void start(void)
{
    alarm(60);
    CHECK(cuInit(0));
    for (int d = DEVICES - 1; d >= 0; d--) {
        CUmodule m;
        CHECK(cuDevicePrimaryCtxRetain(&on[d].context, d));
        CHECK(cuCtxSetCurrent(on[d].context));
        CHECK(cuModuleLoadData(&m, kernels));
        CHECK(cuModuleGetFunction(&on[d].poke, m, "poke"));
        CHECK(cuModuleGetFunction(&on[d].add, m, "add"));
        CHECK(cuModuleGetFunction(&on[d].one, m, "one"));
        CHECK(cuModuleGetFunction(&on[d].peek, m, "peek"));
        CHECK(cuMemAlloc(&on[d].sum, 4));
    }
}

static CUdeviceptr managed(size_t size)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL));
    return p;
}

static void launch(int d, CUfunction f, CUdeviceptr at, uint32_t n)
{
    void *parameters[] = { &at, &n, &on[d].sum };
    CHECK(cuCtxSetCurrent(on[d].context));
    CHECK(cuLaunchKernel(f, (n + 63) / 64, 1, 1, n < 64 ? n : 64, 1, 1, 0, NULL, parameters, NULL));
}

static void wait_for(int d)
{
    CHECK(cuCtxSetCurrent(on[d].context));
    CHECK(cuCtxSynchronize());
}

static void wait_for_all(void)
{
    for (int d = 0; d < DEVICES; d++) wait_for(d);
}

static void poke(int d, CUdeviceptr at, uint32_t value)
{
    launch(d, on[d].poke, at, value); /* value threads, which all write it */
    wait_for(d);
}

/* What a device reads, all pages' first words added up. */
static uint32_t sum_on(int d, CUdeviceptr at, uint32_t pages)
{
    uint32_t sum;
    CHECK(cuCtxSetCurrent(on[d].context));
    CHECK(cuMemsetD32(on[d].sum, 0, 1));
    launch(d, on[d].peek, at, pages);
    wait_for(d);
    CHECK(cuMemcpyDtoH(&sum, on[d].sum, 4));
    return sum;
}

static void prefetch(CUdeviceptr p, size_t size, CUmemLocation to)
{
    CHECK(cuMemPrefetchAsync(p, size, to, 0, NULL));
    CHECK(cuCtxSynchronize());
}

static int place_of(CUdeviceptr p)
{
    uint8_t place;
    EXPECT_EQUAL(faultline_residency((void *)p, 1, &place), 0);
    return place;
}

static struct faultline_counters counters(void)
{
    struct faultline_counters c;
    wait_for_all();
    EXPECT_EQUAL(faultline_get_counters(&c), 0);
    return c;
}

static uint32_t *words(CUdeviceptr p, size_t page) { return (uint32_t *)(p + page * PAGE); }

/* ---- */

static void pages_go_from_device_to_device(void)
{
    enum { PAGES = 1024 };
    CUdeviceptr p = managed(PAGES * PAGE);
    for (int round = 0; round < 3; round++)
        for (int d = 0; d < DEVICES; d++) {
            launch(d, on[d].add, p, PAGES);
            wait_for(d);
            EXPECT_EQUAL(place_of(p), ON_DEVICE + d);
        }
    EXPECT_EQUAL(counters().bytes_to_host, 0);
    EXPECT_EQUAL(counters().bytes_between_devices, (3 * DEVICES - 1) * (uint64_t)PAGES * PAGE);
    for (size_t k = 0; k < PAGES; k++) EXPECT_EQUAL(*words(p, k), 3 * DEVICES);
}

static void each_device_has_its_part(void)
{
    enum { PAGES = 256 };
    CUdeviceptr p = managed((size_t)DEVICES * PAGES * PAGE);
    for (int round = 0; round < 4; round++)
        for (int d = 0; d < DEVICES; d++) launch(d, on[d].add, p + (size_t)d * PAGES * PAGE, PAGES);
    wait_for_all();
    for (int d = 0; d < DEVICES; d++) EXPECT_EQUAL(place_of(p + (size_t)d * PAGES * PAGE), ON_DEVICE + d);
    for (size_t k = 0; k < DEVICES * PAGES; k++) EXPECT_EQUAL(*words(p, k), 4);
}

static void all_add_to_one_word(void)
{
    enum { THREADS = 640 };
    CUdeviceptr p = managed(PAGE);
    volatile uint32_t *word = words(p, 0);
    *word = 0;
    for (int d = 0; d < DEVICES; d++) launch(d, on[d].one, p, THREADS);
    for (int k = 0; k < 100; k++) __atomic_fetch_add((uint32_t *)word, 1, __ATOMIC_SEQ_CST);
    wait_for_all();
    EXPECT_EQUAL(*word, DEVICES * THREADS + 100);
}

static void read_mostly_memory_is_everywhere_until_somebody_writes(void)
{
    enum { PAGES = 512 };
    CUdeviceptr p = managed(PAGES * PAGE);
    for (size_t k = 0; k < PAGES; k++) *words(p, k) = 1;
    CHECK(cuMemAdvise(p, PAGES * PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu(0)));
    for (uint32_t round = 0; round < 2; round++) {
        for (int d = 0; d < DEVICES; d++) EXPECT_EQUAL(sum_on(d, p, PAGES), PAGES + 2 * round);
        EXPECT_EQUAL(place_of(p), FAULTLINE_ON_HOST | FAULTLINE_DUPLICATED);
        struct faultline_counters before = counters();
        for (int d = 0; d < DEVICES; d++) EXPECT_EQUAL(sum_on(d, p, PAGES), PAGES + 2 * round);
        EXPECT_EQUAL(counters().gpu_faults, before.gpu_faults);
        /* of the copies of the first page only the writer's is left */
        poke(3, p, 3);
        EXPECT_EQUAL(place_of(p), ON_DEVICE + 3);
        EXPECT_EQUAL(place_of(p + PAGE), FAULTLINE_ON_HOST | FAULTLINE_DUPLICATED);
        EXPECT_EQUAL(counters().events[FAULTLINE_READ_DUPLICATE_INVALIDATE],
                     before.events[FAULTLINE_READ_DUPLICATE_INVALIDATE] + 1);
        if (!round) EXPECT_EQUAL(*words(p, 0), 3);
    }
    CHECK(cuMemAdvise(p, PAGES * PAGE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, gpu(0)));
    EXPECT_EQUAL(place_of(p + PAGE), FAULTLINE_ON_HOST);
}

static void a_prefetch_of_read_mostly_memory_adds_copies(void)
{
    CUdeviceptr p = managed(2 * MIB);
    *words(p, 0) = 5;
    CHECK(cuMemAdvise(p, 2 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu(0)));
    prefetch(p, 2 * MIB, host);
    for (int d = 0; d < DEVICES; d++) prefetch(p, 2 * MIB, gpu(d));
    struct faultline_counters before = counters();
    EXPECT_EQUAL(before.bytes_duplicated, (uint64_t)DEVICES * 2 * MIB);
    for (int d = 0; d < DEVICES; d++) EXPECT_EQUAL(sum_on(d, p, 1), 5);
    EXPECT_EQUAL(counters().gpu_faults, before.gpu_faults);
    *words(p, 0) = 6;
    for (int d = 0; d < DEVICES; d++) EXPECT_EQUAL(sum_on(d, p, 1), 6);
}

static void who_may_access_keeps_access_wherever_the_page_goes(void)
{
    enum { PAGES = 16 };
    CUdevice who[DEVICES + 1];
    CUdeviceptr p = managed(PAGES * PAGE);
    for (int d = 0; d < DEVICES; d++) CHECK(cuMemAdvise(p, PAGES * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, gpu(d)));
    CHECK(cuMemRangeGetAttribute(who, sizeof who, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, PAGES * PAGE));
    for (int d = 0; d < DEVICES; d++) EXPECT_EQUAL(who[d], d);
    EXPECT_EQUAL(who[DEVICES], CU_DEVICE_INVALID);
    for (size_t k = 0; k < PAGES; k++) *words(p, k) = 0;
    uint64_t faults = counters().gpu_faults;
    for (int at = -1; at < DEVICES; at++) {
        if (at >= 0) prefetch(p, PAGES * PAGE, gpu(at));
        for (int d = 0; d < DEVICES; d++) launch(d, on[d].add, p, PAGES);
        wait_for_all(); /* each adds without the others' knowledge: sums are another test's */
        EXPECT_EQUAL(place_of(p), at < 0 ? FAULTLINE_ON_HOST : ON_DEVICE + at);
    }
    EXPECT_EQUAL(counters().gpu_faults, faults);
}

static void preferred_memory_is_reached_where_it_is(void)
{
    CUdeviceptr p = managed(2 * MIB);
    CHECK(cuMemAdvise(p, 2 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, gpu(5)));
    for (int d = 0; d < DEVICES; d++) {
        poke(d, p + (size_t)d * BIG, 1);
        EXPECT_EQUAL(place_of(p + (size_t)d * BIG), ON_DEVICE + 5);
    }
    EXPECT_EQUAL(counters().bytes_between_devices, 0);
}

static void what_leaves_a_full_device_goes_to_the_host(void)
{
    CUdeviceptr p[DEVICES], more = managed(2 * MIB);
    for (int d = 0; d < DEVICES; d++) {
        p[d] = managed(8 * MIB);
        CHECK(cuMemAdvise(p[d], 8 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, gpu((d + 1) % DEVICES)));
        size_t free, total;
        CHECK(cuCtxSetCurrent(on[d].context));
        CHECK(cuMemGetInfo(&free, &total));
        *words(p[d], 0) = (uint32_t)d;
        prefetch(p[d], free / (2 * MIB) * 2 * MIB, gpu(d));
        CHECK(cuMemFree(on[d].sum));
    }
    for (int d = 0; d < DEVICES; d++) prefetch(more, 2 * MIB, gpu(d));
    struct faultline_counters c = counters();
    EXPECT(c.bytes_evicted <= (uint64_t)DEVICES * 2 * MIB);
    prefetch(p[0], 8 * MIB, gpu(3));
    EXPECT(counters().bytes_evicted > c.bytes_evicted);
    EXPECT_EQUAL(place_of(p[0]), ON_DEVICE + 3);
    EXPECT_EQUAL(place_of(p[3]), FAULTLINE_ON_HOST); /* not the location that it prefers */
    for (int d = 0; d < DEVICES; d++) EXPECT_EQUAL(*words(p[d], 0), d);
}

static void a_working_set_of_all_devices_goes_through_one(void)
{
    enum { PAGES = DEVICES * 8 * 256 };
    CUdeviceptr p = managed((size_t)PAGES * PAGE);
    for (size_t k = 0; k < PAGES; k++) *words(p, k) = (uint32_t)k;
    for (int d = 0; d < DEVICES; d += 3) {
        launch(d, on[d].add, p, PAGES);
        wait_for(d);
    }
    EXPECT(counters().bytes_evicted > 0);
    for (size_t k = 0; k < PAGES; k++) EXPECT_EQUAL(*words(p, k), k + 3);
}

static void prefetches_go_round(void)
{
    int last;
    CUdeviceptr p = managed(4 * MIB);
    for (size_t k = 0; k < 1024; k++) *words(p, k) = (uint32_t)k;
    for (int step = 0; step < 2 * DEVICES; step++) {
        int to = step * 3 % DEVICES;
        CHECK(cuCtxSetCurrent(on[(to + 1) % DEVICES].context)); /* a stream of any device may ask */
        prefetch(p, 4 * MIB, gpu(to));
        EXPECT_EQUAL(place_of(p), ON_DEVICE + to);
        CHECK(cuMemRangeGetAttribute(&last, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 4 * MIB));
        EXPECT_EQUAL(last, to);
    }
    EXPECT_EQUAL(counters().bytes_between_devices, (2 * DEVICES - 1) * 4 * (uint64_t)MIB);
    for (size_t k = 0; k < 1024; k++) EXPECT_EQUAL(*words(p, k), k);
}

static void copies_between_peers_take_managed_memory(void)
{
    enum { PAGES = 512 };
    CUdeviceptr p = managed(PAGES * PAGE), q = managed(PAGES * PAGE), plain;
    for (size_t k = 0; k < PAGES; k++) *words(p, k) = (uint32_t)k;
    CHECK(cuCtxSetCurrent(on[7].context));
    CHECK(cuMemAlloc(&plain, PAGES * PAGE));
    for (int d = 0; d < DEVICES; d++) {
        int next = (d + 1) % DEVICES;
        CHECK(cuMemcpyPeer(plain, on[7].context, p, on[d].context, PAGES * PAGE));
        CHECK(cuMemcpyPeer(q, on[next].context, plain, on[7].context, PAGES * PAGE));
        EXPECT_EQUAL(sum_on(next, q, PAGES), PAGES * (PAGES - 1) / 2 + d);
        *words(p, 0) = (uint32_t)d + 1;
    }
}

static void a_context_that_ends_takes_nobody_elses_pages(void)
{
    CUdeviceptr p = managed(2 * MIB);
    poke(6, p, 7);
    EXPECT_EQUAL(place_of(p), ON_DEVICE + 6);
    CHECK(cuCtxSetCurrent(on[2].context));
    CHECK(cuDevicePrimaryCtxReset(6));
    EXPECT_EQUAL(sum_on(2, p, 1), 7);
    EXPECT_EQUAL(place_of(p), ON_DEVICE + 2);
    CHECK(cuDevicePrimaryCtxRetain(&on[6].context, 6));
    prefetch(p, 2 * MIB, gpu(6));
    EXPECT_EQUAL(*words(p, 0), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, pages_go_from_device_to_device),
        ALONE(start, each_device_has_its_part),
        ALONE(start, all_add_to_one_word),
        ALONE(start, read_mostly_memory_is_everywhere_until_somebody_writes),
        ALONE(start, a_prefetch_of_read_mostly_memory_adds_copies),
        ALONE(start, who_may_access_keeps_access_wherever_the_page_goes),
        ALONE(start, preferred_memory_is_reached_where_it_is),
        ALONE(start, what_leaves_a_full_device_goes_to_the_host),
        ALONE(start, a_working_set_of_all_devices_goes_through_one),
        ALONE(start, prefetches_go_round),
        ALONE(start, copies_between_peers_take_managed_memory),
        ALONE(start, a_context_that_ends_takes_nobody_elses_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
