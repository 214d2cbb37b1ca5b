/* How many of a kernel's accesses fault together: what is counted is the
 * records of batches that src/uvm makes (lone.c, crowd.c, batch.c, entries.c), on the stand-ins of uvm_fake.c. */
#include "context/context.h"
#include "uvm_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { GPU0 = 1, PAGES = 1024 };
static struct context context;
static struct allocation *a;

/* 4 MiB that the host has written. */
static int fresh(void **s)
{
    (void)s;
    uvm_launching(0, 1, 1);
    entries_forget(GPU0);
    entries_init();
    if (uvm_alloc(&context, PAGES * PAGE_BYTES, 1, &a)) return 1;
    for (unsigned k = 0; k < PAGES; k++) fake_touch(CPU, a->base + k * PAGE_BYTES, true);
    return 0;
}

static int done(void **s)
{
    (void)s;
    uvm_free(a);
    return 0;
}

/* A kernel; returns its batches. */
static unsigned long kernel(unsigned at, unsigned n, unsigned stride, bool write)
{
    unsigned long before = fake_counted.gpu_faults;
    fake_now += 5000000;
    fake_kernel(GPU0);
    for (unsigned k = 0; k < n; k++) fake_touch(GPU0, a->base + (at + k * stride) * PAGE_BYTES, write);
    uvm_settle();
    return fake_counted.gpu_faults - before;
}

static void stores_to_where_nothing_was_walked_fault_together(void **s)
{
    (void)s;
    assert_int_equal(kernel(0, 32, 1, true), 1);
}

static void by_ten_where_only_the_directory_was_walked(void **s)
{
    (void)s;
    kernel(0, 1, 1, true);
    assert_int_equal(kernel(512, 12, 32, true), 2); /* each in a piece of 64 KiB of its own */
}

static void by_31_where_two_tables_entries_are_far(void **s)
{
    (void)s;
    kernel(511, 1, 1, true);
    assert_int_equal(kernel(0, 30, 1, true), 1);
    kernel(1023, 1, 1, true);
    assert_int_equal(kernel(512, 34, 1, true), 2);
}

static void by_48_where_the_directory_has_changed(void **s)
{
    (void)s;
    const CUmemLocation gpu0 = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    uvm_prefetch(a->base, 512 * PAGE_BYTES, gpu0);
    uvm_prefetch(a->base + 128 * PAGE_BYTES, 128 * PAGE_BYTES, host);
    kernel(0, 1, 1, true); /* elsewhere in the window, which a table maps now */
    uvm_prefetch(a->base + 512 * PAGE_BYTES, 512 * PAGE_BYTES, gpu0);
    assert_int_equal(kernel(128, 48, 1, true), 1);
}

static void stores_near_the_last_kernels_fault_one_by_one_at_first(void **s)
{
    (void)s;
    kernel(0, 1, 1, true);                       /* the first 64 KiB come */
    assert_int_equal(kernel(47, 2, 1, true), 2); /* the same 512 KiB: the second one comes later */
}

static void stores_in_the_other_half_of_a_line_fault_by_three(void **s)
{
    (void)s;
    kernel(256, 1, 1, true);
    assert_int_equal(kernel(384, 4, 32, true), 2);
}

static void what_was_walked_is_forgotten_when_pages_leave(void **s)
{
    (void)s;
    kernel(0, 1, 1, true);
    fake_touch(CPU, a->base, false);
    assert_int_equal(kernel(47, 2, 1, true), 1);
}

static void loads_of_a_loops_body_fault_as_the_first_ones_entry_is_far(void **s)
{
    (void)s;
    CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    uvm_advise(a->base, PAGES * PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
    /* mapped singly: 64 KiB are a line, 32 KiB a sector, a body every two pages is 32 KiB */
    assert_int_equal(kernel(0, 4, 2, false), 1);
    uvm_prefetch(a->base, PAGES * PAGE_BYTES, host);
    assert_int_equal(kernel(64, 8, 2, false), 1 + 2);
}

static const CUmemLocation gpu0 = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
static void come(unsigned at, unsigned n) { uvm_prefetch(a->base + at * PAGE_BYTES, n * PAGE_BYTES, gpu0); }

static void loads_that_do_not_fault_bring_entries_to_hand(void **s)
{
    (void)s;
    CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    uvm_advise(a->base, PAGES * PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host); /* mapped singly */
    kernel(0, 4, 1, false);
    entries_forget(GPU0);
    assert_int_equal(kernel(0, 8, 1, false), 2); /* the fifth alone, then the three others */
}

static void what_a_body_begins_to_read_is_at_hand_for_none_of_its_loads(void **s)
{
    (void)s;
    come(0, 64);
    entries_forget(GPU0);
    assert_int_equal(kernel(32, 4, 16, false), 1); /* two that do not fault, two that do */
}

static enum distance distance_for(unsigned page, bool store)
{
    uint64_t va = a->base + page * PAGE_BYTES;
    return sector_distance(GPU0, sector_at(GPU0, va), store);
}
static enum distance distance_of(unsigned page) { return distance_for(page, false); }

static void entries_are_dropped_one_by_one_up_to_four(void **s)
{
    (void)s;
    kernel(0, 1, 1, true);
    assert_int_equal(distance_of(16), AT_HAND);
    come(512, 16);     /* the window's table */
    come(528, 4 * 16); /* four entries of 64 KiB */
    assert_int_equal(distance_of(16), AT_HAND);
    kernel(512, 2, 1, false);
    come(592, 5 * 16);
    assert_int_equal(distance_of(16), FAR);
}

static void a_page_that_is_not_mapped_yet_uses_its_windows_tables(void **s)
{
    (void)s;
    CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    uvm_advise(a->base + 192 * PAGE_BYTES, 320 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, host); /* another block */
    assert_int_equal(distance_of(192), NO_TABLE_LOST);
    kernel(191, 1, 1, true);
    assert_int_equal(distance_of(192), AT_HAND);
}

static void a_whole_windows_entry_brings_its_neighbours_to_hand(void **s)
{
    (void)s;
    come(0, 1024);
    assert_int_equal(distance_of(512), FAR_LOST);
    kernel(0, 1, 1, false);
    assert_int_equal(distance_of(512), AT_HAND);
}

static void an_entry_of_a_whole_window_that_is_not_mapped_is_read_each_time(void **s)
{
    (void)s;
    assert_int_equal(distance_of(512), NO_TABLE_LOST);
    kernel(0, 1, 1, false);
    assert_int_equal(distance_of(512), NO_TABLE);
}

static void the_newest_sectors_stay_at_hand_and_others_close(void **s)
{
    (void)s;
    CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    uvm_advise(a->base, PAGES * PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host); /* mapped singly */
    kernel(0, 14, 8, false);
    assert_int_equal(distance_of(0), AT_HAND);
    kernel(14 * 8, 14, 8, false);
    assert_int_equal(distance_of(0), CLOSE);
    assert_int_equal(distance_of(14 * 8), AT_HAND);
}

static void where_a_copy_was_stored_to_half_as_much_comes(void **s)
{
    (void)s;
    CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    uvm_advise(a->base, 12 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, host); /* no piece of 64 KiB: mapped singly */
    kernel(0, 1, 1, false);
    assert_int_equal(distance_for(4, true), AT_HAND);
    assert_int_equal(distance_for(8, true), CLOSE);
    kernel(0, 1, 1, true);
    assert_int_equal(distance_for(3, true), AT_HAND);
    assert_int_equal(distance_for(4, true), CLOSE);
    assert_int_equal(distance_for(8, true), NEAR);
    assert_true(distance_for(8, false) > NEAR);
}

/* Nothing is prefetched, each page is mapped by an entry of its own. */
static void prefer_host(void)
{
    CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    uvm_advise(a->base, PAGES * PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
}

static void the_second_table_by_page_is_nearer_than_the_first(void **s)
{
    (void)s;
    prefer_host();
    kernel(0, 1, 1, false);
    kernel(512, 1, 1, false);
    assert_int_equal(distance_of(300), FAR_NEW);
    assert_int_equal(distance_of(512 + 300), FAR_NEW_NEAR);
    assert_int_equal(kernel(512 + 300, 44, 1, true), 2);
}

static void a_table_answers_later_where_nobody_has_read(void **s)
{
    (void)s;
    come(0, 8); /* a table by page */
    come(32, 16);
    entries_forget(GPU0);
    assert_int_equal(distance_of(32), FAR_NEW_LOST);
    kernel(32, 1, 1, false);
    entries_forget(GPU0);
    assert_int_equal(distance_of(32), FAR_TWO_LOST);
}

static void the_last_of_three_stores_after_a_loops_bodies_sets_out_late(void **s)
{
    (void)s;
    prefer_host();
    kernel(0, 1, 1, false);
    assert_int_equal(kernel(300, 43, 1, true), 2); /* as if it were the 47th */
}

static void the_pair_before_it_sets_out_sooner(void **s)
{
    (void)s;
    prefer_host();
    kernel(0, 1, 1, false);
    assert_int_equal(kernel(300, 42, 1, true), 1);
}

static void what_is_left_of_a_loop_is_a_pair_and_a_single_load(void **s)
{
    (void)s;
    assert_int_equal(kernel(13, 3, 16, false), 2);
}

static void a_crowds_faults_are_taken_by_256(void **s)
{
    (void)s;
    uvm_launching(0, 1 << 22, 1ull << 30);
    assert_int_equal(kernel(0, 512, 1, true), 2);
}

/* What so many blocks fault on, each on so many pages. */
static unsigned long faults_of(unsigned count, unsigned pages, unsigned stride)
{
    unsigned long before = fake_counted.gpu_faults;
    uvm_launching(0, count, (uint64_t)count * pages);
    for (fake_block = 0; fake_block < count; fake_block++)
        for (unsigned k = 0; k < pages; k++)
            fake_touch(GPU0, a->base + (fake_block * pages + k) * stride * PAGE_BYTES, false);
    fake_block = 0;
    uvm_settle();
    return fake_counted.gpu_faults - before;
}

/* The same where nothing is prefetched. */
static unsigned long blocks(unsigned count, unsigned pages, unsigned stride)
{
    uvm_advise(a->base, PAGES * PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
               (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST });
    return faults_of(count, pages, stride);
}

/* Observed on an H200, as the next two. */
static void a_block_walks_for_14_groups_of_pages_at_a_time(void **s)
{
    (void)s;
    assert_int_equal(blocks(1, 64, 16), 5);
}

static void a_block_starts_with_28_accesses_by_two_and_goes_on_by_eight(void **s)
{
    (void)s;
    assert_int_equal(blocks(1, 256, 4), 30);
}

static void a_block_starts_with_56_accesses_to_neighbouring_pages(void **s)
{
    (void)s;
    assert_int_equal(blocks(1, 64, 1), 2);
}

static void the_faults_of_a_few_blocks_come_together(void **s)
{
    (void)s;
    assert_int_equal(blocks(2, 32, 16), 3);
}

static void but_no_more_than_256(void **s)
{
    (void)s;
    assert_int_equal(blocks(16, 32, 1), 2);
}

static void what_a_batch_brings_beside_its_faults_is_none_of_the_next(void **s)
{
    (void)s;
    uvm_launching(0, 1, 64);
    assert_int_equal(kernel(0, 64, 16, false), 4); /* five if nothing is prefetched */
}

static void those_of_a_kernel_that_runs_at_once_are_spread(void **s)
{
    (void)s;
    assert_int_equal(faults_of(32, 32, 1), 3); /* 16 pieces of 64 KiB each, of both halves */
}

int main(void)
{
    fake_begin(1, 1ull << 34);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stores_to_where_nothing_was_walked_fault_together, fresh, done),
        cmocka_unit_test_setup_teardown(by_ten_where_only_the_directory_was_walked, fresh, done),
        cmocka_unit_test_setup_teardown(by_31_where_two_tables_entries_are_far, fresh, done),
        cmocka_unit_test_setup_teardown(by_48_where_the_directory_has_changed, fresh, done),
        cmocka_unit_test_setup_teardown(stores_near_the_last_kernels_fault_one_by_one_at_first, fresh, done),
        cmocka_unit_test_setup_teardown(stores_in_the_other_half_of_a_line_fault_by_three, fresh, done),
        cmocka_unit_test_setup_teardown(what_was_walked_is_forgotten_when_pages_leave, fresh, done),
        cmocka_unit_test_setup_teardown(loads_of_a_loops_body_fault_as_the_first_ones_entry_is_far, fresh, done),
        cmocka_unit_test_setup_teardown(loads_that_do_not_fault_bring_entries_to_hand, fresh, done),
        cmocka_unit_test_setup_teardown(what_a_body_begins_to_read_is_at_hand_for_none_of_its_loads, fresh, done),
        cmocka_unit_test_setup_teardown(entries_are_dropped_one_by_one_up_to_four, fresh, done),
        cmocka_unit_test_setup_teardown(a_page_that_is_not_mapped_yet_uses_its_windows_tables, fresh, done),
        cmocka_unit_test_setup_teardown(a_whole_windows_entry_brings_its_neighbours_to_hand, fresh, done),
        cmocka_unit_test_setup_teardown(an_entry_of_a_whole_window_that_is_not_mapped_is_read_each_time, fresh, done),
        cmocka_unit_test_setup_teardown(the_newest_sectors_stay_at_hand_and_others_close, fresh, done),
        cmocka_unit_test_setup_teardown(where_a_copy_was_stored_to_half_as_much_comes, fresh, done),
        cmocka_unit_test_setup_teardown(the_second_table_by_page_is_nearer_than_the_first, fresh, done),
        cmocka_unit_test_setup_teardown(a_table_answers_later_where_nobody_has_read, fresh, done),
        cmocka_unit_test_setup_teardown(the_last_of_three_stores_after_a_loops_bodies_sets_out_late, fresh, done),
        cmocka_unit_test_setup_teardown(the_pair_before_it_sets_out_sooner, fresh, done),
        cmocka_unit_test_setup_teardown(what_is_left_of_a_loop_is_a_pair_and_a_single_load, fresh, done),
        cmocka_unit_test_setup_teardown(a_block_walks_for_14_groups_of_pages_at_a_time, fresh, done),
        cmocka_unit_test_setup_teardown(a_block_starts_with_28_accesses_by_two_and_goes_on_by_eight, fresh, done),
        cmocka_unit_test_setup_teardown(a_block_starts_with_56_accesses_to_neighbouring_pages, fresh, done),
        cmocka_unit_test_setup_teardown(the_faults_of_a_few_blocks_come_together, fresh, done),
        cmocka_unit_test_setup_teardown(but_no_more_than_256, fresh, done),
        cmocka_unit_test_setup_teardown(what_a_batch_brings_beside_its_faults_is_none_of_the_next, fresh, done),
        cmocka_unit_test_setup_teardown(a_crowds_faults_are_taken_by_256, fresh, done),
        cmocka_unit_test_setup_teardown(those_of_a_kernel_that_runs_at_once_are_spread, fresh, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
