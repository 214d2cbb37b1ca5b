/* A client of faultline.h and of CUPTI in the whole library: each kernel leaves
 * one event and one record, with plausible times, and nothing else does. */
#include "../check.h"

#include <cupti.h>
#include <faultline.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STREAMS = 4, LAUNCHES = 3000 };

static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry spin(.param .u64 to, .param .u32 n)\n{\n.reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d;\n"
    "ld.param.u64 %d, [to]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;\n"
    "L: setp.ge.u32 %p, %r2, %r1; @%p bra E; st.volatile.global.u32 [%d], %r2; add.u32 %r2, %r2, 1; bra L;\nE: "
    "ret;\n}\n"
    /* says that it has begun, and ends when it may */
    ".visible .entry hold(.param .u64 words)\n{\n.reg .pred %p; .reg .b32 %r; .reg .b64 %d;\n"
    "ld.param.u64 %d, [words]; st.volatile.global.u32 [%d], 1;\n"
    "L: ld.volatile.global.u32 %r, [%d+4]; setp.eq.u32 %p, %r, 0; @%p bra L; ret;\n}\n";

static size_t records, wrong;
static uint64_t begin, end_of[STREAMS + 16];

static void CUPTIAPI request(uint8_t **b, size_t *size, size_t *most)
{
    *size = 8192;
    *b = aligned_alloc(8, *size);
    *most = 0;
}

/* Kernels of one stream follow each other. */
static void CUPTIAPI complete(CUcontext c, uint32_t stream, uint8_t *b, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    (void)c, (void)stream, (void)size;
    while (!cuptiActivityGetNextRecord(b, valid, &r)) {
        CUpti_ActivityKernel10 *k = (CUpti_ActivityKernel10 *)r;
        records++;
        wrong += r->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || strcmp(k->name, "spin") || k->gridX != 2 ||
                 k->blockX != 4 || k->dynamicSharedMemory != 128 || k->streamId >= STREAMS + 16 || k->start < begin ||
                 !k->queued || k->start < k->queued || k->end < k->start ||
                 k->start < end_of[k->streamId % (STREAMS + 16)];
        end_of[k->streamId % (STREAMS + 16)] = k->end;
    }
    free(b);
}

static CUdeviceptr memory;
static CUfunction spin, hold;

static void launch(CUstream s, unsigned n)
{
    CHECK(cuLaunchKernel(spin, 2, 1, 1, 4, 1, 1, 128, s, (void *[]){ &memory, &n }, NULL));
}

static void kernels_leave_cupti_records(void)
{
    CUstream s[STREAMS];
    size_t dropped;
    EXPECT(!cuptiActivityRegisterCallbacks(request, complete));
    launch(NULL, 1); /* before: leaves none */
    CHECK(cuCtxSynchronize());
    EXPECT(!cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    EXPECT(!cuptiActivityEnableLatencyTimestamps(1));
    EXPECT(!cuptiGetTimestamp(&begin));
    for (int k = 0; k < STREAMS; k++) CHECK(cuStreamCreate(&s[k], CU_STREAM_NON_BLOCKING));
    for (int k = 0; k < LAUNCHES; k++) launch(s[k % STREAMS], 50);
    for (int k = 0; k < STREAMS; k++) CHECK(cuStreamDestroy(s[k])); /* with work left to do */
    CHECK(cuCtxSynchronize());
    EXPECT(!cuptiActivityFlushAll(1));
    if (records != LAUNCHES || wrong) fprintf(stderr, "%zu records, %zu wrong\n", records, wrong);
    EXPECT(records == LAUNCHES);
    EXPECT(!wrong);
    EXPECT(!cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    launch(NULL, 1);
    CHECK(cuCtxSynchronize());
    EXPECT(!cuptiActivityFlushAll(1));
    EXPECT(records == LAUNCHES);
    EXPECT(!cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    EXPECT(!dropped);
}

static uint32_t wanted[3], named;

static void CUPTIAPI compare_names(CUcontext c, uint32_t stream, uint8_t *b, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    (void)c, (void)stream, (void)size;
    while (!cuptiActivityGetNextRecord(b, valid, &r)) {
        CUpti_ActivityKernel10 *k = (CUpti_ActivityKernel10 *)r;
        named += k->contextId == wanted[0] && k->streamId == wanted[1] && k->deviceId == wanted[2];
    }
    free(b);
}

static size_t faults[2]; /* the host's, devices', with all that they tell of */

static void CUPTIAPI complete_faults(CUcontext c, uint32_t stream, uint8_t *b, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    (void)c, (void)stream, (void)size;
    while (!cuptiActivityGetNextRecord(b, valid, &r)) {
        const CUpti_ActivityUnifiedMemoryCounter3 *m = (const CUpti_ActivityUnifiedMemoryCounter3 *)r;
        bool host = m->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT;
        faults[host ? 0 : 1] += host ? m->value != 0 : m->end > m->start;
    }
    free(b);
}

static void faults_tell_where_the_host_was_and_how_long_devices_waited(void)
{
    CUpti_ActivityUnifiedMemoryCounterConfig wanted[2];
    CUdeviceptr p;
    for (int k = 0; k < 2; k++)
        wanted[k] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
            .kind = k ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT
                      : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
            .enable = 1
        };
    EXPECT(!cuptiActivityRegisterCallbacks(request, complete_faults));
    EXPECT(!cuptiActivityConfigureUnifiedMemoryCounter(wanted, 2));
    EXPECT(!cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
    CHECK(cuMemAllocManaged(&p, 4 << 20, CU_MEM_ATTACH_GLOBAL));
    *(volatile int *)p = 1;
    CUdeviceptr before = memory;
    memory = p;
    launch(NULL, 1);
    CHECK(cuCtxSynchronize());
    memory = before;
    EXPECT(!cuptiActivityFlushAll(1));
    EXPECT(faults[0] == 1 && faults[1] == 1);
    EXPECT(!cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
    EXPECT(!cuptiActivityRegisterCallbacks(request, complete));
    CHECK(cuMemFree(p));
}

static void records_name_streams_as_cupti_does(CUcontext c)
{
    CUstream s, all[] = { NULL, CU_STREAM_PER_THREAD, NULL };
    EXPECT(!cuptiActivityRegisterCallbacks(request, compare_names));
    EXPECT(!cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL));
    CHECK(cuStreamCreate(&s, 0));
    all[2] = s;
    EXPECT(!cuptiGetContextId(c, &wanted[0]));
    EXPECT(!cuptiGetDeviceId(c, &wanted[2]));
    for (int k = 0; k < 3; k++) {
        EXPECT(!cuptiGetStreamId(c, all[k], &wanted[1]));
        launch(all[k], 1);
        CHECK(cuCtxSynchronize());
        EXPECT(!cuptiActivityFlushAll(0));
    }
    EXPECT(named == 3);
    CHECK(cuStreamDestroy(s));
    EXPECT(cuptiGetStreamId(c, s, &wanted[1]) == CUPTI_ERROR_INVALID_STREAM);
    EXPECT(cuptiGetStreamId(NULL, NULL, &wanted[1]) == CUPTI_ERROR_INVALID_STREAM);
    EXPECT(!cuptiGetContextId(NULL, &named) && named == wanted[0]);
    EXPECT(!cuptiActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL));
}

static void a_kernel_that_still_runs_has_no_event(void)
{
    struct faultline_cursor cursor;
    struct faultline_event e[8];
    struct faultline_kernel k;
    uint64_t before, begun, released, after;
    volatile uint32_t *words;
    CHECK(cuMemHostAlloc((void **)&words, 8, 0));
    words[0] = words[1] = 0;
    EXPECT(!faultline_subscribe(&cursor, 1));
    EXPECT(!cuptiGetTimestamp(&before));
    CHECK(cuLaunchKernel(hold, 1, 1, 1, 4, 1, 1, 128, NULL, (void *[]){ &words }, NULL));
    while (!words[0]) usleep(100);
    EXPECT(!cuptiGetTimestamp(&begun));
    faultline_flush();
    size_t early = faultline_read(&cursor, e, 8);
    EXPECT(!cuptiGetTimestamp(&released));
    words[1] = 1;
    CHECK(cuCtxSynchronize());
    faultline_flush();
    size_t late = faultline_read(&cursor, e, 8);
    EXPECT(!cuptiGetTimestamp(&after));
    EXPECT(early == 0);
    EXPECT(late == 1);
    EXPECT(e[0].kind == FAULTLINE_KERNEL);
    EXPECT(e[0].processor == 0);
    EXPECT(e[0].time >= before);
    EXPECT(e[0].time <= begun);
    EXPECT(e[0].end >= released);
    EXPECT(e[0].end <= after);
    EXPECT(!faultline_get_kernel(&e[0], &k));
    EXPECT(!strcmp(k.name, "hold"));
    EXPECT(k.block[0] == 4);
    EXPECT(k.dynamic_shared == 128);
    faultline_unsubscribe(1);
    CHECK(cuMemFreeHost((void *)words));
}

/* Also when the device lags behind by more commands than it keeps times of. */
static void events_far_behind_have_their_own_times(void)
{
    enum { EVENTS = 10000 };
    static CUevent e[EVENTS];
    float ms, last = 0;
    launch(NULL, 50000000);
    for (int k = 0; k < EVENTS; k++) {
        CHECK(cuEventCreate(&e[k], CU_EVENT_DEFAULT));
        CHECK(cuEventRecord(e[k], NULL));
    }
    CHECK(cuCtxSynchronize());
    for (int k = 1; k < EVENTS; k++, last = ms) {
        CHECK(cuEventElapsedTime(&ms, e[0], e[k]));
        EXPECT(ms >= last);
    }
    for (int k = 0; k < EVENTS; k++) CHECK(cuEventDestroy(e[k]));
}

static void a_dying_context_has_the_events_of_all_its_kernels(CUcontext c)
{
    struct faultline_cursor cursor;
    static struct faultline_event e[256];
    EXPECT(!faultline_subscribe(&cursor, 1));
    for (int k = 0; k < 100; k++) launch(NULL, 1000);
    CHECK(cuCtxDestroy(c));
    EXPECT(faultline_read(&cursor, e, 256) == 100);
    faultline_unsubscribe(1);
}

int main(void)
{
    CUcontext c;
    CUmodule m;
    struct faultline_counters counters;
    uint8_t where;
    EXPECT(faultline_residency(&c, 1, &where) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&c, NULL, 0, 0));
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&spin, m, "spin"));
    CHECK(cuModuleGetFunction(&hold, m, "hold"));
    CHECK(cuMemAlloc(&memory, 4096));
    EXPECT(faultline_residency(&c, 1, &where) != CUDA_SUCCESS);
    kernels_leave_cupti_records();
    faults_tell_where_the_host_was_and_how_long_devices_waited();
    records_name_streams_as_cupti_does(c);
    a_kernel_that_still_runs_has_no_event();
    events_far_behind_have_their_own_times();
    EXPECT(!faultline_get_counters(&counters));
    EXPECT(counters.events[FAULTLINE_KERNEL] == LAUNCHES + 4); /* while somebody wanted them */
    a_dying_context_has_the_events_of_all_its_kernels(c);
    puts("all as it should be");
    return 0;
}
