/* The trace: nothing that happened goes uncounted, and a reader gets whole
 * records in order or is told how many it missed. */
#include "trace/region.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void fault(uint64_t address)
{
    trace_write(&(struct trace_record){ .kind = TRACE_CPU_FAULT, .address = address, .access = TRACE_ACCESS_READ });
}

static void move(uint64_t address, uint64_t bytes, unsigned from, unsigned to, enum trace_cause cause)
{
    trace_write(&(struct trace_record){ .kind = TRACE_MIGRATION,
                                        .address = address,
                                        .bytes = bytes,
                                        .source = (uint8_t)from,
                                        .processor = (uint8_t)to,
                                        .cause = (uint8_t)cause });
}

static void alloc(uint64_t address, uint64_t bytes)
{
    trace_write(&(struct trace_record){ .kind = TRACE_ALLOC, .address = address, .bytes = bytes });
}
static void release(uint64_t address) { trace_write(&(struct trace_record){ .kind = TRACE_FREE, .address = address }); }

static struct trace_cursor from_now(void)
{
    return (struct trace_cursor){ .next = atomic_load(&trace_region()->head) };
}

static void counters_count_while_nobody_listens(void **state)
{
    (void)state;
    struct trace_region *r = trace_region();
    uint64_t faults = r->total.events[TRACE_CPU_FAULT], bytes = trace_moved(&r->total, TRACE_TO_DEVICE),
             head = atomic_load(&r->head);
    fault(0x1000);
    move(0x1000, 4096, 0, 1, TRACE_CAUSE_COHERENCE);
    assert_int_equal(r->total.events[TRACE_CPU_FAULT], faults + 1);
    assert_int_equal(trace_moved(&r->total, TRACE_TO_DEVICE), bytes + 4096);
    assert_int_equal(atomic_load(&r->head), head);
}

static void records_come_back_as_written_with_a_time(void **state)
{
    (void)state;
    struct trace_record out[4];
    trace_listen(TRACE_LISTEN_RECORDS, true);
    struct trace_cursor c = from_now();
    uint64_t before = trace_now();
    trace_write(&(struct trace_record){ .kind = TRACE_GPU_FAULT,
                                        .address = 0x123000,
                                        .processor = 3,
                                        .access = TRACE_ACCESS_ATOMIC,
                                        .count = 9,
                                        .batch = 77 });
    assert_int_equal(trace_read(trace_region(), &c, out, 4), 1);
    assert_true(out[0].time >= before && out[0].time <= trace_now() && out[0].end == out[0].time);
    assert_int_equal(out[0].address, 0x123000);
    assert_int_equal(out[0].count, 9);
    assert_int_equal(out[0].batch, 77);
    assert_int_equal(out[0].processor, 3);
    assert_int_equal(trace_read(trace_region(), &c, out, 4), 0);
    trace_listen(TRACE_LISTEN_RECORDS, false);
}

static void listening_nests(void **state)
{
    (void)state;
    trace_listen(TRACE_LISTEN_RECORDS, true);
    trace_listen(TRACE_LISTEN_RECORDS | TRACE_LISTEN_KERNELS, true);
    trace_listen(TRACE_LISTEN_RECORDS, false);
    assert_true(trace_wanted(TRACE_LISTEN_RECORDS));
    assert_true(trace_wanted(TRACE_LISTEN_KERNELS));
    trace_listen(TRACE_LISTEN_RECORDS | TRACE_LISTEN_KERNELS, false);
    assert_false(trace_wanted(TRACE_LISTEN_RECORDS | TRACE_LISTEN_KERNELS));
}

static void a_slow_reader_learns_how_many_records_it_missed(void **state)
{
    (void)state;
    static struct trace_record out[1024];
    trace_listen(TRACE_LISTEN_RECORDS, true);
    struct trace_cursor c = from_now();
    for (uint64_t k = 0; k < TRACE_SLOTS + 1000; k++) fault(k);
    assert_int_equal(trace_read(trace_region(), &c, out, 1), 1);
    assert_int_equal(c.lost, 1000);
    assert_int_equal(out[0].address, 1000);
    uint64_t next = 1001;
    for (size_t n; (n = trace_read(trace_region(), &c, out, 1024));)
        for (size_t k = 0; k < n; k++) assert_int_equal(out[k].address, next++);
    assert_int_equal(next, TRACE_SLOTS + 1000);
    assert_int_equal(c.lost, 1000);
    trace_listen(TRACE_LISTEN_RECORDS, false);
}

enum { WRITERS = 4, EACH = 60000 };

static void *write_many(void *arg)
{
    for (uint64_t k = 0; k < EACH; k++)
        trace_write(&(struct trace_record){
            .kind = TRACE_GPU_FAULT, .time = k + 1, .end = k + 1, .address = k, .bytes = k, .batch = (uint64_t)arg });
    return NULL;
}

static void writers_and_a_reader_at_once_lose_nothing_unnoticed(void **state)
{
    (void)state;
    static struct trace_record out[512];
    pthread_t thread[WRITERS];
    uint64_t last[WRITERS] = { 0 }, seen = 0;
    trace_listen(TRACE_LISTEN_RECORDS, true);
    struct trace_cursor c = from_now();
    for (uint64_t k = 0; k < WRITERS; k++) assert_int_equal(pthread_create(&thread[k], NULL, write_many, (void *)k), 0);
    while (seen + c.lost < WRITERS * EACH) {
        size_t n = trace_read(trace_region(), &c, out, 512);
        for (size_t k = 0; k < n; k++) {
            assert_true(out[k].batch < WRITERS);
            assert_true(out[k].time > last[out[k].batch]);     /* each writer's in order */
            assert_int_equal(out[k].time, out[k].address + 1); /* and whole */
            assert_int_equal(out[k].bytes, out[k].address);
            last[out[k].batch] = out[k].time;
        }
        seen += n;
        if (!n) trace_sleep(trace_region(), 1);
    }
    for (int k = 0; k < WRITERS; k++) pthread_join(thread[k], NULL);
    assert_int_equal(seen + c.lost, WRITERS * EACH);
    trace_listen(TRACE_LISTEN_RECORDS, false);
}

/* The entry of the live allocation at the address. */
static const struct trace_allocation *entry(uint64_t address)
{
    struct trace_region *r = trace_region();
    for (uint64_t k = 1; k < r->allocation_count; k++)
        if (r->allocations[k].address == address && !r->allocations[k].freed) return &r->allocations[k];
    return NULL;
}

static const struct trace_statistics *counts(uint64_t address)
{
    return &trace_region()->statistics[entry(address) - trace_region()->allocations];
}

static void events_count_for_the_allocation_that_they_are_in(void **state)
{
    (void)state;
    trace_listen(TRACE_LISTEN_ALLOCATIONS, true);
    alloc(0x500000, 0x10000);
    alloc(0x300000, 0x10000);
    alloc(0x400000, 0x10000);
    uint64_t elsewhere = trace_region()->statistics[0].events[TRACE_CPU_FAULT];
    fault(0x400000);
    fault(0x40ffff);
    fault(0x410000); /* in the same 2 MiB, behind it */
    fault(0x200000); /* in none */
    move(0x301000, 8192, 1, 0, TRACE_CAUSE_EVICTION);
    assert_int_equal(counts(0x400000)->events[TRACE_CPU_FAULT], 3);
    assert_int_equal(counts(0x300000)->moved[TRACE_TO_HOST][TRACE_CAUSE_EVICTION], 8192);
    assert_int_equal(counts(0x500000)->events[TRACE_CPU_FAULT], 0);
    assert_int_equal(trace_region()->statistics[0].events[TRACE_CPU_FAULT], elsewhere + 1);
    release(0x400000);
    assert_null(entry(0x400000));
    alloc(0x400000, 0x1000);
    fault(0x400000);
    assert_int_equal(counts(0x400000)->events[TRACE_CPU_FAULT], 1);
    release(0x400000);
    release(0x300000);
    release(0x500000);
    trace_listen(TRACE_LISTEN_ALLOCATIONS, false);
}

static void a_million_allocations_keep_their_sum(void **state)
{
    (void)state;
    struct trace_region *r = trace_region();
    uint64_t before = r->total.events[TRACE_CPU_FAULT], sum = 0, others = 0;
    trace_listen(TRACE_LISTEN_ALLOCATIONS, true);
    for (uint64_t k = 0; k < r->allocation_count; k++) others += r->statistics[k].events[TRACE_CPU_FAULT];
    alloc(0x900000, 4096); /* lives through it */
    for (uint64_t k = 0; k < 1000000; k++) {
        alloc(0x1000000, 4096);
        fault(0x1000000);
        release(0x1000000);
    }
    fault(0x900000);
    assert_int_equal(counts(0x900000)->events[TRACE_CPU_FAULT], 1);
    assert_true(r->allocation_count <= TRACE_ALLOCATIONS);
    for (uint64_t k = 0; k < r->allocation_count; k++) sum += r->statistics[k].events[TRACE_CPU_FAULT];
    assert_int_equal(sum - others, 1000001);
    assert_int_equal(r->total.events[TRACE_CPU_FAULT] - before, 1000001);
    /* those that were freed last are still there */
    unsigned kept = 0;
    for (uint64_t k = 1; k < r->allocation_count; k++)
        kept += r->allocations[k].ordinal > 1000000 - 1000 && r->statistics[k].events[TRACE_CPU_FAULT] == 1;
    assert_true(kept >= 1000);
    release(0x900000);
    trace_listen(TRACE_LISTEN_ALLOCATIONS, false);
}

static void only_pages_that_came_back_before_count_as_returning(void **state)
{
    (void)state;
    trace_listen(TRACE_LISTEN_ALLOCATIONS, true);
    alloc(0x2000000, 0x100000);
    for (uint64_t k = 0; k < 16; k++) move(0x2000000 + k * 0x10000, 0x10000, 0, 1, TRACE_CAUSE_COHERENCE);
    for (uint64_t k = 0; k < 16; k++) move(0x2000000 + k * 0x10000, 0x10000, 1, 0, TRACE_CAUSE_COHERENCE);
    assert_int_equal(counts(0x2000000)->returns, 0);
    for (int k = 0; k < 5; k++) move(0x2000000, 0x10000, 0, 1, TRACE_CAUSE_USER); /* prefetches are on purpose */
    assert_int_equal(counts(0x2000000)->returns, 0);
    move(0x2000000, 0x10000, 0, 1, TRACE_CAUSE_COHERENCE);
    assert_int_equal(counts(0x2000000)->returns, 1);
    release(0x2000000);
    trace_listen(TRACE_LISTEN_ALLOCATIONS, false);
}

static void thousands_of_names_keep_their_places(void **state)
{
    enum { NAMES = 6000 };
    static uint32_t at[NAMES];
    char name[16];
    (void)state;
    for (int again = 0; again < 2; again++)
        for (int k = 0; k < NAMES; k++) {
            snprintf(name, sizeof name, "k%d", k);
            uint32_t found = trace_intern(name);
            assert_string_equal(trace_name(trace_region(), found), name);
            if (again) assert_int_equal(found, at[k]);
            at[k] = found;
        }
}

static void kernel_details_last_until_overwritten(void **state)
{
    (void)state;
    uint64_t first, ticket;
    struct trace_kernel k;
    struct trace_kernel *details = trace_kernel_begin(&first);
    details->name = trace_intern("reduce");
    details->grid[0] = 17;
    trace_kernel_publish(details, first);
    assert_true(trace_kernel_details(trace_region(), first, &k));
    assert_string_equal(trace_name(trace_region(), k.name), "reduce");
    assert_int_equal(k.grid[0], 17);
    assert_int_equal(trace_intern("reduce"), k.name);
    for (int i = 0; i < TRACE_KERNELS; i++) {
        details = trace_kernel_begin(&ticket);
        trace_kernel_publish(details, ticket);
    }
    assert_false(trace_kernel_details(trace_region(), first, &k));
    assert_string_equal(trace_name(trace_region(), UINT32_MAX), "");
}

static void a_forked_child_has_a_trace_of_its_own(void **state)
{
    (void)state;
    struct trace_region *r = trace_region();
    uint64_t before = r->total.events[TRACE_CPU_FAULT];
    int status;
    pid_t pid = fork();
    if (!pid) {
        fault(0x1000);
        struct trace_region *mine = trace_region();
        _exit(!mine || mine->total.events[TRACE_CPU_FAULT] != 1 || mine->pid != (uint32_t)getpid());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(r->total.events[TRACE_CPU_FAULT], before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_count_while_nobody_listens),
        cmocka_unit_test(records_come_back_as_written_with_a_time),
        cmocka_unit_test(listening_nests),
        cmocka_unit_test(a_slow_reader_learns_how_many_records_it_missed),
        cmocka_unit_test(writers_and_a_reader_at_once_lose_nothing_unnoticed),
        cmocka_unit_test(events_count_for_the_allocation_that_they_are_in),
        cmocka_unit_test(a_million_allocations_keep_their_sum),
        cmocka_unit_test(only_pages_that_came_back_before_count_as_returning),
        cmocka_unit_test(kernel_details_last_until_overwritten),
        cmocka_unit_test(thousands_of_names_keep_their_places),
        cmocka_unit_test(a_forked_child_has_a_trace_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
