/* Every kind of event of managed memory, when it happens and when not, and the counters that CUPTI makes of
 * them. Each test runs in a process of its own.
 * usage: FAULTLINE_VRAM=16M FAULTLINE_DEVICES=2 events */
#include "rig.h"

#include <cupti.h>
#include <faultline.h>
#include <sched.h>

enum { PAGE = 4096, BIG = 65536, MOST = 4096, HOST = FAULTLINE_HOST };
static const CUmemLocation gpu[] = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                     { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 } },
                           host = { .type = CU_MEM_LOCATION_TYPE_HOST };
static const char kernels[] =
    PTX_HEADER PTX_POKE ".visible .entry peek(.param .u64 at) { .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [at];\n"
                        "ld.volatile.global.u32 %r, [%a]; ret; }\n";

static CUcontext contexts[2];
static CUfunction poke_kernel[2], peek_kernel[2];
static uint64_t counted[CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT];
static struct faultline_cursor cursor;
static struct faultline_event events[MOST];
static size_t event_count;

/* ---- what is told */

static void CUPTIAPI request(uint8_t **b, size_t *size, size_t *most)
{
    *size = MIB;
    *b = aligned_alloc(8, *size);
    *most = 0;
}

/* Bytes, or how many. */
static void CUPTIAPI complete(CUcontext c, uint32_t stream, uint8_t *b, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    (void)c, (void)stream, (void)size;
    while (!cuptiActivityGetNextRecord(b, valid, &r)) {
        const CUpti_ActivityUnifiedMemoryCounter3 *u = (void *)r;
        bool bytes = u->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD ||
                     u->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH ||
                     u->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD;
        counted[u->counterKind] += bytes ? u->value : 1;
    }
    free(b);
}

static void start(void)
{
    CUpti_ActivityUnifiedMemoryCounterConfig configs[8];
    alarm(240);
    CHECK(cuInit(0));
    for (int d = 1; d >= 0; d--) {
        CUmodule m;
        CHECK(cuDevicePrimaryCtxRetain(&contexts[d], d));
        CHECK(cuCtxSetCurrent(contexts[d]));
        CHECK(cuModuleLoadData(&m, kernels));
        CHECK(cuModuleGetFunction(&poke_kernel[d], m, "poke"));
        CHECK(cuModuleGetFunction(&peek_kernel[d], m, "peek"));
    }
    for (unsigned k = 0; k < 8; k++)
        configs[k] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
            .kind = (CUpti_ActivityUnifiedMemoryCounterKind)(k + 1),
            .enable = 1
        };
    EXPECT_EQUAL(cuptiActivityRegisterCallbacks(request, complete), 0);
    EXPECT_EQUAL(cuptiActivityConfigureUnifiedMemoryCounter(configs, 8), 0);
    EXPECT_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), 0);
    EXPECT_EQUAL(faultline_subscribe(&cursor, 0), 0);
}

/* Events with these fields since the last call of look; ANY: whatever it is. */
enum { ANY = 1000 };
static uint64_t sum(unsigned kind, unsigned cause, int processor, int source, bool bytes)
{
    uint64_t n = 0;
    for (size_t k = 0; k < event_count; k++) {
        const struct faultline_event *e = &events[k];
        if (e->kind == kind && (cause == ANY || e->cause == cause) && (processor == ANY || e->processor == processor) &&
            (source == ANY || e->source == source))
            n += bytes ? e->bytes : 1;
    }
    return n;
}

static uint64_t count(unsigned kind) { return sum(kind, ANY, ANY, ANY, false); }
static uint64_t moved(unsigned cause, int to, int from) { return sum(FAULTLINE_MIGRATION, cause, to, from, true); }

static uint64_t between_devices(void) { return moved(ANY, 0, 1) + moved(ANY, 1, 0); }

static void agrees(const char *what, uint64_t saw, uint64_t want)
{
    if (saw == want) return;
    fprintf(stderr, "%s: CUPTI says %lu, events %lu\n", what, saw, want);
    _exit(1);
}

/* CUPTI's counters say what the events say. */
static void look(void)
{
#define COUNTER(kind, want) agrees(#kind, counted[CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##kind], want)
    CHECK(cuCtxSynchronize());
    faultline_flush();
    event_count = faultline_read(&cursor, events, MOST);
    EXPECT(event_count < MOST);
    memset(counted, 0, sizeof counted);
    EXPECT_EQUAL(cuptiActivityFlushAll(1), 0);
    COUNTER(BYTES_TRANSFER_HTOD, moved(ANY, 0, HOST) + moved(ANY, 1, HOST));
    COUNTER(BYTES_TRANSFER_DTOH, moved(ANY, HOST, 0) + moved(ANY, HOST, 1));
    COUNTER(BYTES_TRANSFER_DTOD, between_devices());
    COUNTER(CPU_PAGE_FAULT_COUNT, count(FAULTLINE_CPU_FAULT));
    COUNTER(GPU_PAGE_FAULT, count(FAULTLINE_GPU_FAULT));
    COUNTER(THRASHING, count(FAULTLINE_THRASHING));
    COUNTER(THROTTLING, count(FAULTLINE_THROTTLING_END));
    COUNTER(REMOTE_MAP, count(FAULTLINE_MAP_REMOTE));
    EXPECT_EQUAL(count(FAULTLINE_GPU_FAULT), count(FAULTLINE_GPU_FAULT_REPLAY));
    EXPECT_EQUAL(count(FAULTLINE_THROTTLING_START), count(FAULTLINE_THROTTLING_END));
}

/* ---- what is done */

static CUdeviceptr managed(size_t size)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL));
    return p;
}

/* On the host, and nobody is told of it. */
static CUdeviceptr on_host(size_t size)
{
    CUdeviceptr p = managed(size);
    CHECK(cuMemPrefetchAsync(p, size, host, 0, NULL));
    look();
    return p;
}

static void launch(int device, CUfunction f, CUdeviceptr at)
{
    uint32_t value = 7;
    CHECK(cuCtxSetCurrent(contexts[device]));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &at, &value }, NULL));
}

static void kernel_writes(int device, CUdeviceptr at)
{
    launch(device, poke_kernel[device], at);
    look();
    CHECK(cuCtxSetCurrent(contexts[0]));
}

static void kernel_reads(int device, CUdeviceptr at)
{
    launch(device, peek_kernel[device], at);
    look();
    CHECK(cuCtxSetCurrent(contexts[0]));
}

static void prefetch(CUdeviceptr p, size_t size, CUmemLocation to)
{
    CHECK(cuMemPrefetchAsync(p, size, to, 0, NULL));
    look();
}

static void host_writes(CUdeviceptr at)
{
    *(volatile char *)at = 1;
    look();
}

/* ---- faults and migrations */

static void who_touches_new_memory_faults_and_nothing_moves(void)
{
    CUdeviceptr p = managed(4 * MIB);
    look();
    EXPECT_EQUAL(event_count, 1);
    EXPECT_EQUAL(count(FAULTLINE_ALLOC), 1);
    host_writes(p);
    EXPECT_EQUAL(event_count, 1);
    EXPECT_EQUAL(count(FAULTLINE_CPU_FAULT), 1);
    host_writes(p);
    EXPECT_EQUAL(event_count, 0);
    kernel_writes(0, p + 2 * MIB);
    EXPECT_EQUAL(event_count, 2);
    EXPECT_EQUAL(count(FAULTLINE_GPU_FAULT), 1);
    CHECK(cuMemFree(p));
    look();
    EXPECT_EQUAL(event_count, 1);
    EXPECT_EQUAL(count(FAULTLINE_FREE), 1);
}

static void what_is_fetched_is_told_apart_from_what_comes_with_it(void)
{
    CUdeviceptr p = on_host(2 * MIB);
    kernel_writes(0, p);
    EXPECT_EQUAL(event_count, 4);
    EXPECT_EQUAL(count(FAULTLINE_GPU_FAULT), 1);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_COHERENCE, 0, HOST), PAGE);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_PREFETCH, 0, HOST), BIG - PAGE);
    host_writes(p);
    EXPECT_EQUAL(event_count, 3);
    EXPECT_EQUAL(count(FAULTLINE_CPU_FAULT), 1);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_COHERENCE, HOST, 0), PAGE);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_PREFETCH, HOST, 0), BIG - PAGE);
}

static void a_prefetch_is_told_of_where_there_was_something(void)
{
    CUdeviceptr p = managed(4 * MIB);
    look();
    prefetch(p, 4 * MIB, gpu[0]);
    EXPECT_EQUAL(event_count, 0);
    prefetch(p, 4 * MIB, host);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_USER, HOST, 0), 4 * MIB);
    EXPECT_EQUAL(event_count, 2); /* one a block */
    prefetch(p, 4 * MIB, host);
    EXPECT_EQUAL(event_count, 0);
}

static void devices_are_told_apart(void)
{
    CUdeviceptr p = on_host(2 * MIB);
    prefetch(p, 2 * MIB, gpu[1]);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_USER, 1, HOST), 2 * MIB);
    EXPECT_EQUAL(event_count, 1);
    prefetch(p, 2 * MIB, gpu[0]);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_USER, 0, 1), 2 * MIB);
    EXPECT_EQUAL(event_count, 1);
}

static void eviction_is_a_migration(void)
{
    CUdeviceptr p = on_host(18 * MIB);
    prefetch(p, 16 * MIB, gpu[0]);
    EXPECT_EQUAL(moved(ANY, ANY, ANY), 16 * MIB);
    prefetch(p + 16 * MIB, 2 * MIB, gpu[0]);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_EVICTION, HOST, 0), 2 * MIB);
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_USER, 0, HOST), 2 * MIB);
    EXPECT_EQUAL(event_count, 2);
}

static void what_is_discarded_does_not_move(void)
{
    CUdeviceptr p = on_host(2 * MIB);
    CUstream s;
    CHECK(cuStreamCreate(&s, CU_STREAM_DEFAULT));
    prefetch(p, 2 * MIB, gpu[0]);
    CHECK(cuMemDiscardBatchAsync(&p, &(size_t){ 2 * MIB }, 1, 0, s));
    look();
    EXPECT_EQUAL(event_count, 0);
    host_writes(p);
    EXPECT_EQUAL(event_count, 1);
    EXPECT_EQUAL(count(FAULTLINE_CPU_FAULT), 1);
}

/* ---- programs that never synchronise */

static void copy_behind(int device)
{
    static CUdeviceptr word[2];
    uint32_t value;
    if (!word[device]) CHECK(cuMemAlloc(&word[device], sizeof value));
    CHECK(cuMemcpyDtoH(&value, word[device], sizeof value));
}

static void event_behind(int device)
{
    CUevent e;
    (void)device;
    CHECK(cuEventCreate(&e, 0));
    CHECK(cuEventRecord(e, NULL));
    CHECK(cuEventSynchronize(e));
    CHECK(cuEventDestroy(e));
}

static void event_asked(int device)
{
    CUevent e;
    (void)device;
    CHECK(cuEventCreate(&e, 0));
    CHECK(cuEventRecord(e, NULL));
    while (cuEventQuery(e)) sched_yield();
    CHECK(cuEventDestroy(e));
}

static void stream_asked(int device)
{
    (void)device;
    while (cuStreamQuery(NULL)) sched_yield();
}

static void whoever_sees_a_kernel_end_has_its_faults_told_of(void)
{
    void (*const sees[])(int) = { copy_behind, event_behind, event_asked, stream_asked };
    for (size_t k = 0; k < sizeof sees / sizeof *sees; k++) {
        CUdeviceptr p = on_host(2 * MIB);
        for (int turn = 0; turn < 4; turn++) {
            launch(turn % 2, peek_kernel[turn % 2], p);
            sees[k](turn % 2);
        }
        look();
        EXPECT_EQUAL(count(FAULTLINE_GPU_FAULT), 4);
        EXPECT_EQUAL(moved(ANY, 0, HOST), BIG);
        EXPECT_EQUAL(moved(ANY, 1, 0), 2 * BIG);
        EXPECT_EQUAL(moved(ANY, 0, 1), BIG);
        CHECK(cuCtxSetCurrent(contexts[0]));
        CHECK(cuMemFree(p));
        look();
    }
}

static void kernels_of_two_devices_that_wait_for_each_other_fault_in_turn(void)
{
    CUdeviceptr p = on_host(2 * MIB);
    CUstream s[2];
    CUevent done[4];
    for (int d = 0; d < 2; d++) {
        CHECK(cuCtxSetCurrent(contexts[d]));
        CHECK(cuStreamCreate(&s[d], CU_STREAM_NON_BLOCKING));
    }
    for (int turn = 0; turn < 4; turn++) {
        int d = turn % 2;
        CHECK(cuCtxSetCurrent(contexts[d]));
        if (turn) CHECK(cuStreamWaitEvent(s[d], done[turn - 1], 0));
        CHECK(cuLaunchKernel(peek_kernel[d], 1, 1, 1, 1, 1, 1, 0, s[d], (void *[]){ &p }, NULL));
        CHECK(cuEventCreate(&done[turn], CU_EVENT_DISABLE_TIMING));
        CHECK(cuEventRecord(done[turn], s[d]));
    }
    CHECK(cuEventSynchronize(done[3]));
    look();
    EXPECT_EQUAL(count(FAULTLINE_GPU_FAULT), 4);
    EXPECT_EQUAL(moved(ANY, 0, HOST), BIG);
    EXPECT_EQUAL(moved(ANY, 1, 0), 2 * BIG);
    EXPECT_EQUAL(moved(ANY, 0, 1), BIG);
}

static void counters_are_complete_without_a_flush(void)
{
    struct faultline_counters before, after;
    CUdeviceptr p = on_host(2 * MIB);
    EXPECT_EQUAL(faultline_get_counters(&before), 0);
    launch(0, peek_kernel[0], p);
    stream_asked(0);
    EXPECT_EQUAL(faultline_get_counters(&after), 0);
    EXPECT_EQUAL(after.gpu_faults - before.gpu_faults, 1);
    EXPECT_EQUAL(after.bytes_to_device - before.bytes_to_device, BIG);
}

/* ---- copies and remote mappings */

static void duplicates_come_by_reads_and_go_by_writes(void)
{
    CUdeviceptr p = on_host(2 * MIB);
    CHECK(cuMemAdvise(p, 2 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu[0]));
    kernel_reads(0, p);
    EXPECT_EQUAL(sum(FAULTLINE_READ_DUPLICATE, ANY, 0, HOST, true), BIG);
    EXPECT_EQUAL(moved(ANY, 0, HOST), BIG);
    EXPECT_EQUAL(count(FAULTLINE_READ_DUPLICATE_INVALIDATE), 0);
    host_writes(p);
    EXPECT_EQUAL(sum(FAULTLINE_READ_DUPLICATE_INVALIDATE, ANY, HOST, ANY, true), PAGE);
    EXPECT_EQUAL(moved(ANY, ANY, ANY), 0);
    EXPECT_EQUAL(count(FAULTLINE_READ_DUPLICATE), 0);
    kernel_writes(0, p + PAGE);
    EXPECT_EQUAL(sum(FAULTLINE_READ_DUPLICATE_INVALIDATE, ANY, 0, ANY, true), PAGE);
    /* what the host has written meanwhile comes with it */
    EXPECT_EQUAL(moved(FAULTLINE_CAUSE_PREFETCH, 0, HOST), PAGE);
    EXPECT_EQUAL(sum(FAULTLINE_READ_DUPLICATE, ANY, 0, HOST, true), PAGE);
}

static void mappings_of_what_is_elsewhere_are_told_of(void)
{
    CUdeviceptr p = managed(4 * MIB);
    CHECK(cuMemAdvise(p, 2 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, gpu[0]));
    look();
    EXPECT_EQUAL(count(FAULTLINE_MAP_REMOTE), 0);
    host_writes(p);
    EXPECT_EQUAL(sum(FAULTLINE_MAP_REMOTE, FAULTLINE_CAUSE_POLICY, 0, HOST, true), BIG);
    EXPECT_EQUAL(event_count, 2);
    kernel_writes(0, p);
    EXPECT_EQUAL(event_count, 0);
    prefetch(p, 2 * MIB, gpu[1]);
    EXPECT_EQUAL(sum(FAULTLINE_MAP_REMOTE, FAULTLINE_CAUSE_POLICY, 0, 1, true), 2 * MIB);
    prefetch(p, 2 * MIB, gpu[0]);
    EXPECT_EQUAL(count(FAULTLINE_MAP_REMOTE), 0);
    CHECK(cuMemAdvise(p + 2 * MIB, 2 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    kernel_writes(1, p + 2 * MIB);
    EXPECT_EQUAL(sum(FAULTLINE_MAP_REMOTE, FAULTLINE_CAUSE_POLICY, 1, HOST, false), 1);
    EXPECT_EQUAL(moved(ANY, ANY, ANY), 0);
}

static void who_takes_pages_from_each_other_is_slowed_down_and_then_shares(void)
{
    enum { ROUNDS = 400 };
    CUdeviceptr p = on_host(2 * MIB);
    uint64_t thrashing = 0, throttled = 0, shared = 0;
    for (int k = 0; k < ROUNDS && !shared; k++) {
        launch(0, poke_kernel[0], p);
        CHECK(cuCtxSynchronize());
        host_writes(p);
        thrashing += count(FAULTLINE_THRASHING);
        throttled += count(FAULTLINE_THROTTLING_START);
        shared += sum(FAULTLINE_MAP_REMOTE, FAULTLINE_CAUSE_THRASHING, ANY, ANY, false);
        for (size_t e = 0; e < event_count; e++)
            if (events[e].kind == FAULTLINE_THRASHING) EXPECT_EQUAL(events[e].thread, 3); /* the host and device 0 */
    }
    EXPECT(thrashing > 0);
#ifndef __SANITIZE_THREAD__ /* with it a fault takes longer than the half millisecond within which more are to come */
    EXPECT(throttled > 0);
    EXPECT(shared > 0);
#endif
}

/* ---- what ends a kernel, or a thread */

static void one_fatal_fault(int processor, unsigned access, unsigned reason, CUdeviceptr at)
{
    size_t n = 0;
    faultline_flush();
    event_count = faultline_read(&cursor, events, MOST);
    for (size_t k = 0; k < event_count; k++) {
        const struct faultline_event *e = &events[k];
        if (e->kind != FAULTLINE_FATAL_FAULT) continue;
        n++;
        EXPECT_EQUAL(e->processor, processor);
        EXPECT_EQUAL(e->access, access);
        EXPECT_EQUAL(e->count, reason);
        EXPECT_EQUAL(e->address, at / PAGE * PAGE);
    }
    EXPECT_EQUAL(n, 1);
}

static sigjmp_buf back;
static void on_segv(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void a_touch_of_freed_memory_is_one_fatal_fault_of_the_hosts(void)
{
    CUdeviceptr keep = managed(PAGE), p = managed(MIB);
    signal(SIGSEGV, on_segv);
    EXPECT(keep < p);
    CHECK(cuMemFree(p));
    if (!sigsetjmp(back, 1)) *(volatile char *)(p + 5000) = 1;
    one_fatal_fault(HOST, FAULTLINE_ACCESS_WRITE, FAULTLINE_REASON_ADDRESS, p + 5000);
}

static void a_kernel_that_does_what_it_may_not_leaves_a_fatal_fault(void)
{
    CUdeviceptr keep = managed(PAGE), p = managed(MIB);
    EXPECT(keep < p);
    CHECK(cuMemFree(p));
    launch(0, poke_kernel[0], p + 5000);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    one_fatal_fault(0, FAULTLINE_ACCESS_WRITE, FAULTLINE_REASON_ADDRESS, p + 5000);
}

static void so_does_one_that_errs_elsewhere(void)
{
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, 2 * MIB));
    CHECK(cuMemFree(p));
    launch(0, peek_kernel[0], p + 5000);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    one_fatal_fault(0, FAULTLINE_ACCESS_READ, FAULTLINE_REASON_ADDRESS, p + 5000);
}

static void fill_the_device(void)
{
    CUdeviceptr all;
    size_t free, total;
    CHECK(cuMemGetInfo(&free, &total));
    CHECK(cuMemAlloc(&all, free));
}

static void a_kernel_whose_pages_find_no_memory_leaves_a_fatal_fault(void)
{
    CUdeviceptr p = on_host(2 * MIB);
    fill_the_device();
    launch(0, poke_kernel[0], p + 5000);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    one_fatal_fault(0, FAULTLINE_ACCESS_WRITE, FAULTLINE_REASON_MEMORY, p + 5000);
}

static void so_does_a_memset(void)
{
    CUdeviceptr p = on_host(2 * MIB);
    fill_the_device();
    cuMemsetD8(p, 1, PAGE);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    one_fatal_fault(0, FAULTLINE_ACCESS_WRITE, FAULTLINE_REASON_MEMORY, p);
}

static void a_prefetch_to_a_full_device_is_no_fault(void)
{
    CUdeviceptr p = on_host(2 * MIB);
    fill_the_device();
    prefetch(p, 2 * MIB, gpu[0]);
    EXPECT_EQUAL(event_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, who_touches_new_memory_faults_and_nothing_moves),
        ALONE(start, what_is_fetched_is_told_apart_from_what_comes_with_it),
        ALONE(start, a_prefetch_is_told_of_where_there_was_something),
        ALONE(start, devices_are_told_apart),
        ALONE(start, eviction_is_a_migration),
        ALONE(start, what_is_discarded_does_not_move),
        ALONE(start, whoever_sees_a_kernel_end_has_its_faults_told_of),
        ALONE(start, kernels_of_two_devices_that_wait_for_each_other_fault_in_turn),
        ALONE(start, counters_are_complete_without_a_flush),
        ALONE(start, duplicates_come_by_reads_and_go_by_writes),
        ALONE(start, mappings_of_what_is_elsewhere_are_told_of),
        ALONE(start, who_takes_pages_from_each_other_is_slowed_down_and_then_shares),
        ALONE(start, a_touch_of_freed_memory_is_one_fatal_fault_of_the_hosts),
        ALONE(start, a_kernel_that_does_what_it_may_not_leaves_a_fatal_fault),
        ALONE(start, so_does_one_that_errs_elsewhere),
        ALONE(start, a_kernel_whose_pages_find_no_memory_leaves_a_fatal_fault),
        ALONE(start, so_does_a_memset),
        ALONE(start, a_prefetch_to_a_full_device_is_no_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
