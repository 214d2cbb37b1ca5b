/* CUPTI's activity interface over a faked faultline.h: which records come, what
 * is in them, and what becomes of the client's buffers. */
#include <cupti.h>
#include <faultline.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- the fake: events of the test, behind a cursor */

enum { ROOM = 4096 };
static struct faultline_event event[ROOM];
static size_t events, lost;
static int subscribers, initialised = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int faultline_subscribe(struct faultline_cursor *c, int work)
{
    (void)work;
    subscribers++;
    *c = (struct faultline_cursor){ events, 0 };
    return 0;
}
void faultline_unsubscribe(int work) { subscribers -= 1 + 0 * work; }
int faultline_get_transfer(const struct faultline_event *e, struct faultline_transfer *out)
{
    *out = (struct faultline_transfer){ .bytes = e->bytes, .from = e->details & 15, .to = e->details >> 4 & 15, .source = 7 };
    return CUDA_SUCCESS;
}

void faultline_wait(unsigned milliseconds) { usleep(milliseconds * 1000); }
void faultline_flush(void) {}

size_t faultline_read(struct faultline_cursor *c, struct faultline_event *out, size_t most)
{
    size_t n = 0;
    pthread_mutex_lock(&lock);
    while (n < most && c->next < events) out[n++] = event[c->next++];
    c->lost = lost;
    pthread_mutex_unlock(&lock);
    return n;
}

int faultline_get_kernel(const struct faultline_event *e, struct faultline_kernel *out)
{
    *out = (struct faultline_kernel){
        .name = "saxpy", .grid = { 5, 1, 1 }, .block = { 128, 2, 1 }, .device = 1, .stream = 9
    };
    return e->address == 42 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = 2;
    return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static void happen(struct faultline_event e)
{
    pthread_mutex_lock(&lock);
    event[events++] = e;
    pthread_mutex_unlock(&lock);
}

/* ---- the client */

static CUpti_ActivityUnifiedMemoryCounter3 got[ROOM];
static CUpti_ActivityKernel10 kernel;
static CUpti_ActivityMemcpyPtoP4 between;
static size_t memories, kernels, copies, copies_between, fills, buffers, buffer_size = 1 << 16, most_records;
static int refuse;

static void CUPTIAPI request(uint8_t **b, size_t *size, size_t *most)
{
    *b = refuse ? NULL : aligned_alloc(8, buffer_size);
    *size = buffer_size;
    *most = most_records;
}

static void CUPTIAPI complete(CUcontext c, uint32_t stream, uint8_t *b, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    (void)c, (void)stream;
    buffers++;
    assert_true(valid <= size);
    while (!cuptiActivityGetNextRecord(b, valid, &r)) {
        if (r->kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) memcpy(&got[memories++], r, sizeof *got);
        if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
            memcpy(&kernel, r, sizeof kernel);
            kernels++;
        }
        copies += r->kind == CUPTI_ACTIVITY_KIND_MEMCPY;
        fills += r->kind == CUPTI_ACTIVITY_KIND_MEMSET;
        if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
            memcpy(&between, r, sizeof between);
            copies_between++;
        }
    }
    free(b);
}

static int setup(void **state)
{
    CUpti_ActivityUnifiedMemoryCounterConfig config[8];
    (void)state;
    for (int k = 0; k < 8; k++)
        config[k] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
            (CUpti_ActivityUnifiedMemoryCounterKind)(k + 1), 0, 1
        };
    assert_int_equal(cuptiActivityRegisterCallbacks(request, complete), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(config, 8), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), CUPTI_SUCCESS);
    memories = kernels = buffers = most_records = 0;
    buffer_size = 1 << 16;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityFlushAll(1);
    assert_int_equal(subscribers, 0);
    return 0;
}

/* What the one event makes. */
static CUpti_ActivityUnifiedMemoryCounter3 made(struct faultline_event e)
{
    size_t before = memories;
    happen(e);
    assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    assert_int_equal(memories, before + 1);
    return got[before];
}

static void each_event_makes_the_record_of_its_kind(void **state)
{
    (void)state;
    CUpti_ActivityUnifiedMemoryCounter3 r = made((struct faultline_event){ .kind = FAULTLINE_MIGRATION,
                                                                           .time = 5,
                                                                           .end = 9,
                                                                           .address = 0x10000,
                                                                           .bytes = 65536,
                                                                           .cause = FAULTLINE_CAUSE_PREFETCH,
                                                                           .source = FAULTLINE_HOST,
                                                                           .processor = 1 });
    assert_int_equal(r.counterKind, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD);
    assert_true(r.value == 65536 && r.start == 5 && r.end == 9 && r.address == 0x10000 && r.dstId == 1);
    assert_int_equal(r.flags, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH);
    assert_int_equal(r.processId, getpid());
    r = made(
        (struct faultline_event){ .kind = FAULTLINE_MIGRATION, .bytes = 1, .source = 1, .processor = FAULTLINE_HOST });
    assert_int_equal(r.counterKind, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH);
    assert_int_equal(r.srcId, 1);
    r = made((struct faultline_event){ .kind = FAULTLINE_MIGRATION, .bytes = 1, .source = 1, .processor = 0 });
    assert_int_equal(r.counterKind, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD);
    r = made((struct faultline_event){
        .kind = FAULTLINE_GPU_FAULT, .count = 32, .processor = 1, .access = FAULTLINE_ACCESS_WRITE });
    assert_int_equal(r.counterKind, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT);
    assert_true(r.value == 32 && r.srcId == 1 && r.flags == CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE);
    r = made((struct faultline_event){
        .kind = FAULTLINE_CPU_FAULT, .processor = FAULTLINE_HOST, .access = FAULTLINE_ACCESS_READ });
    assert_int_equal(r.counterKind, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT);
    r = made((struct faultline_event){ .kind = FAULTLINE_THRASHING, .bytes = 4096, .thread = 1 | 1 << 2 });
    assert_int_equal(r.counterKind, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING);
    assert_true(r.processors[0] == 2 && r.flags == CUPTI_ACTIVITY_FLAG_THRASHING_IN_CPU && r.value == 4096);
    r = made((struct faultline_event){ .kind = FAULTLINE_MAP_REMOTE,
                                       .bytes = 8192,
                                       .processor = 1,
                                       .source = FAULTLINE_HOST,
                                       .cause = FAULTLINE_CAUSE_POLICY });
    assert_int_equal(r.counterKind, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP);
    assert_true(r.value == 8192 && r.flags == CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_POLICY);
}

static void a_throttling_is_one_record_from_its_start_to_its_end(void **state)
{
    (void)state;
    happen((struct faultline_event){
        .kind = FAULTLINE_THROTTLING_START, .time = 100, .address = 0x5000, .processor = FAULTLINE_HOST });
    CUpti_ActivityUnifiedMemoryCounter3 r = made((struct faultline_event){
        .kind = FAULTLINE_THROTTLING_END, .time = 600, .end = 600, .address = 0x5000, .processor = FAULTLINE_HOST });
    assert_true(r.start == 100 && r.end == 600 && r.flags == CUPTI_ACTIVITY_FLAG_THROTTLING_IN_CPU);
}

static void only_what_is_enabled_leaves_records_and_only_while_it_is(void **state)
{
    (void)state;
    CUpti_ActivityUnifiedMemoryCounterConfig off = { CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
                                                     CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 0, 0 };
    struct faultline_event fault = { .kind = FAULTLINE_GPU_FAULT, .count = 1 };
    happen(fault); /* before the change: comes */
    assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(&off, 1), CUPTI_SUCCESS);
    happen(fault);
    cuptiActivityFlushAll(1);
    assert_int_equal(memories, 1);
    happen((struct faultline_event){ .kind = FAULTLINE_CPU_FAULT });
    assert_int_equal(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), CUPTI_SUCCESS);
    happen((struct faultline_event){ .kind = FAULTLINE_CPU_FAULT });
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), CUPTI_SUCCESS);
    cuptiActivityFlushAll(1);
    assert_int_equal(memories, 2);
    happen((struct faultline_event){ .kind = FAULTLINE_KERNEL });
    cuptiActivityFlushAll(1);
    assert_int_equal(kernels, 0);
}

static void kernels_have_names_shapes_and_times(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    happen((struct faultline_event){ .kind = FAULTLINE_KERNEL, .time = 1000, .end = 4000, .batch = 12 });
    cuptiActivityFlushAll(1);
    assert_int_equal(kernels, 1);
    assert_string_equal(kernel.name, "saxpy");
    assert_true(kernel.gridX == 5 && kernel.blockX == 128 && kernel.blockY == 2 && kernel.start == 1000 &&
                kernel.end == 4000);
    assert_true(kernel.deviceId == 1 && kernel.streamId == 9 && kernel.gridId == 12);
}

/* What they say is as on an H200: tests/trace/transfers.c. */
static void copies_between_devices_are_of_a_kind_of_their_own(void **state)
{
    enum { DEVICE = FAULTLINE_MEMORY_DEVICE, PINNED = FAULTLINE_MEMORY_PINNED, BETWEEN = DEVICE | DEVICE << 4 };
    const struct faultline_event fill = { .kind = FAULTLINE_TRANSFER, .details = DEVICE << 4 },
                                 within = { .kind = FAULTLINE_TRANSFER, .source = 1, .processor = 1, .details = BETWEEN },
                                 to_host = { .kind = FAULTLINE_TRANSFER,
                                             .source = 1,
                                             .processor = FAULTLINE_HOST,
                                             .details = DEVICE | PINNED << 4 },
                                 from_one = { .kind = FAULTLINE_TRANSFER, .source = 1, .processor = 2, .details = BETWEEN };
    const struct faultline_event all[] = { fill, within, to_host, from_one };
    static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                                CUPTI_ACTIVITY_KIND_MEMSET };
    (void)state;
    for (int on = 0; on < 3; on++) {
        copies = copies_between = fills = 0;
        assert_int_equal(cuptiActivityEnable(kinds[on]), CUPTI_SUCCESS);
        for (int k = 0; k < 4; k++) happen(all[k]);
        assert_int_equal(cuptiActivityDisable(kinds[on]), CUPTI_SUCCESS);
        cuptiActivityFlushAll(1);
        assert_int_equal(copies, on == 0 ? 2 : 0);
        assert_int_equal(copies_between, on == 1);
        assert_int_equal(fills, on == 2);
    }
    assert_true(between.srcDeviceId == 1 && between.dstDeviceId == 2 && between.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
}

static void buffers_are_filled_no_further_than_the_client_says(void **state)
{
    (void)state;
    most_records = 3;
    for (int k = 0; k < 10; k++) happen((struct faultline_event){ .kind = FAULTLINE_CPU_FAULT });
    cuptiActivityFlushAll(1);
    assert_int_equal(buffers, 4);
    most_records = 0;
    buffer_size = sizeof(CUpti_ActivityUnifiedMemoryCounter3) * 2 + 8;
    for (int k = 0; k < 5; k++) happen((struct faultline_event){ .kind = FAULTLINE_CPU_FAULT });
    cuptiActivityFlushAll(1);
    assert_int_equal(buffers, 7);
    assert_int_equal(memories, 15);
}

static void what_finds_no_buffer_is_counted_as_dropped(void **state)
{
    size_t dropped = 99;
    (void)state;
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    refuse = 1;
    for (int k = 0; k < 5; k++) happen((struct faultline_event){ .kind = FAULTLINE_CPU_FAULT });
    cuptiActivityFlushAll(0);
    refuse = 0;
    buffer_size = 16; /* too small for any record: comes back empty */
    happen((struct faultline_event){ .kind = FAULTLINE_CPU_FAULT });
    lost = 7;
    cuptiActivityFlushAll(0);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 13);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 0);
    assert_int_equal(memories, 0);
    lost = 0;
}

static void wrong_calls_get_the_codes_that_they_get_with_an_h200(void **state)
{
    (void)state;
    CUpti_Activity *r = NULL;
    CUpti_ActivityUnifiedMemoryCounterConfig config = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, (CUpti_ActivityUnifiedMemoryCounterKind)10, 0,
        1
    };
    const char *text;
    _Alignas(8) uint8_t records[64] = { 0 };
    assert_int_equal(cuptiActivityRegisterCallbacks(NULL, complete), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_NOT_COMPATIBLE);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MODULE), CUPTI_ERROR_INVALID_KIND);
    assert_int_equal(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MODULE), CUPTI_ERROR_INVALID_KIND);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_ERROR_NOT_COMPATIBLE);
    assert_int_equal(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER), CUPTI_ERROR_NOT_COMPATIBLE);
    assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(NULL, 1), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(&config, 1), CUPTI_ERROR_INVALID_PARAMETER);
    config.kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING;
    initialised = 0;
    config.kind = (CUpti_ActivityUnifiedMemoryCounterKind)10;
    assert_int_equal(cuptiActivityConfigureUnifiedMemoryCounter(&config, 1), CUPTI_SUCCESS);
    initialised = 1;
    assert_int_equal(cuptiActivityGetNextRecord(NULL, 8, &r), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiActivityGetNextRecord(records, 0, &r), CUPTI_ERROR_MAX_LIMIT_REACHED);
    assert_int_equal(cuptiActivityGetNextRecord(records, 64, &r), CUPTI_ERROR_INVALID_KIND);
    *(CUpti_ActivityKind *)records = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
    assert_int_equal(cuptiActivityGetNextRecord(records, 64, &r), CUPTI_ERROR_MAX_LIMIT_REACHED);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiGetResultString(CUPTI_ERROR_INVALID_KIND, &text), CUPTI_SUCCESS);
    assert_string_equal(text, "CUPTI_ERROR_INVALID_KIND");
    assert_int_equal(cuptiGetResultString((CUptiResult)500, &text), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiGetErrorMessage((CUptiResult)500, &text), CUPTI_SUCCESS);
}

/* Half as fast as the system's clock, and from another beginning. */
static uint64_t half_clock(void)
{
    uint64_t t;
    cuptiGetTimestamp(&t);
    return t / 2 + 1000;
}

static void a_clock_of_the_clients_gives_the_times(void **state)
{
    (void)state;
    uint64_t t;
    assert_int_equal(cuptiActivityRegisterTimestampCallback(NULL), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(cuptiActivityRegisterTimestampCallback(half_clock), CUPTI_SUCCESS);
    cuptiGetTimestamp(&t);
    usleep(20000);
    happen((struct faultline_event){ .kind = FAULTLINE_CPU_FAULT, .time = t + 1000000 });
    cuptiActivityFlushAll(1);
    assert_int_equal(memories, 1);
    uint64_t start = got[0].start, wanted = (t + 1000000) / 2 + 1000;
    uint64_t far = start > wanted ? start - wanted : wanted - start;
    assert_true(far < 1000000); /* the two clocks are not looked at in the same moment */
}

static CUptiResult answer;

static uint64_t flushing_clock(void)
{
    answer = cuptiActivityFlushAll(0);
    return half_clock();
}

static void a_clock_of_the_clients_cannot_flush(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityRegisterTimestampCallback(flushing_clock), CUPTI_SUCCESS);
    assert_int_equal(answer, CUPTI_SUCCESS); /* nothing is being delivered */
    alarm(60);
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    alarm(0);
    assert_int_equal(answer, CUPTI_ERROR_INVALID_OPERATION);
    assert_int_equal(cuptiActivityRegisterTimestampCallback(half_clock), CUPTI_SUCCESS);
}

static void counters_want_to_be_configured_and_flushing_wants_nothing(void **state)
{
    (void)state;
    assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), CUPTI_ERROR_NOT_READY);
    assert_int_equal(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), CUPTI_ERROR_NOT_READY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_want_to_be_configured_and_flushing_wants_nothing), /* first: callbacks stay registered */
        cmocka_unit_test_setup_teardown(each_event_makes_the_record_of_its_kind, setup, teardown),
        cmocka_unit_test_setup_teardown(a_throttling_is_one_record_from_its_start_to_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_is_enabled_leaves_records_and_only_while_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(kernels_have_names_shapes_and_times, setup, teardown),
        cmocka_unit_test_setup_teardown(copies_between_devices_are_of_a_kind_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(buffers_are_filled_no_further_than_the_client_says, setup, teardown),
        cmocka_unit_test_setup_teardown(what_finds_no_buffer_is_counted_as_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_calls_get_the_codes_that_they_get_with_an_h200, setup, teardown),
        cmocka_unit_test_setup_teardown(a_clock_of_the_clients_gives_the_times, setup, teardown), /* these last: it stays */
        cmocka_unit_test_setup_teardown(a_clock_of_the_clients_cannot_flush, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
