/* Ordinary memory that migrates: where its pages are, and what is counted. Each test runs in a process of its own.
 * usage: FAULTLINE_PROFILE=h200-hmm FAULTLINE_DEVICES=2 FAULTLINE_VRAM=64M migrating */
#include "migrating.h"

/* ---- migration */

static void a_kernels_fault_brings_the_page_and_what_the_prefetcher_adds(void)
{
    char *p = memory(2 * WINDOW, true);
    struct faultline_counters before = counted(), after;
    EXPECT_EQUAL(place(p), HOST);
    CHECK(write_word(p + 5 * PAGE, 7));
    after = counted();
    EXPECT_EQUAL(place(p + 5 * PAGE), DEVICE);
    EXPECT_EQUAL(pages_at(p, 2 * WINDOW, DEVICE), 16);
    EXPECT_EQUAL(after.bytes_to_device - before.bytes_to_device, 16 * PAGE);
    EXPECT_EQUAL(after.gpu_faults - before.gpu_faults, 1);
    EXPECT_EQUAL(after.cpu_faults, before.cpu_faults);
    EXPECT_EQUAL(look(p + 5 * PAGE), 7);
}

static void the_hosts_touch_pulls_the_page_back(void)
{
    char *p = memory(WINDOW, true);
    CHECK(write_word(p, 7));
    struct faultline_counters before = counted(), after;
    EXPECT_EQUAL(look(p + PAGE), 0x01010101);
    after = counted();
    EXPECT_EQUAL(after.cpu_faults - before.cpu_faults, 1);
    EXPECT_EQUAL(after.bytes_to_host - before.bytes_to_host, 16 * PAGE);
    EXPECT_EQUAL(pages_at(p, WINDOW, HOST), WINDOW / PAGE);
    EXPECT_EQUAL(look(p), 7);
    EXPECT_EQUAL(counted().cpu_faults - before.cpu_faults, 1);
    EXPECT_EQUAL(read_word(p), 7);
    EXPECT_EQUAL(place(p), DEVICE);
}

static void what_nobody_touched_is_made_on_the_device_and_is_no_migration(void)
{
    char *p = memory(WINDOW, false);
    struct faultline_counters before = counted();
    EXPECT_EQUAL(place(p), NOWHERE);
    CHECK(write_word(p, 7));
    EXPECT_EQUAL(place(p), DEVICE);
    EXPECT_EQUAL(counted().bytes_to_device, before.bytes_to_device);
    EXPECT_EQUAL(look(p + 4), 0);
    EXPECT_EQUAL(counted().cpu_faults - before.cpu_faults, 1);
}

static void the_hosts_first_touch_beside_it_is_no_fault_and_counts_later(void)
{
    char *p = memory(WINDOW, false);
    CHECK(write_word(p, 7));
    struct faultline_counters before = counted();
    memset(p + WINDOW / 2, 3, WINDOW / 2);
    EXPECT_EQUAL(counted().cpu_faults, before.cpu_faults);
    EXPECT_EQUAL(place(p + WINDOW / 2), HOST);
    CHECK(write_word(p + WINDOW / 2, 7));
    EXPECT_EQUAL(counted().bytes_to_device - before.bytes_to_device, 16 * PAGE);
    EXPECT_EQUAL(look(p + WINDOW / 2 + 4), 0x03030303);
}

static void a_whole_kernel_fills_memory_that_the_host_then_reads(void)
{
    enum { SIZE = 16 * WINDOW };
    char *p = memory(SIZE, true), *q = malloc(SIZE);
    fill(p, SIZE);
    EXPECT_EQUAL(pages_at(p, SIZE, DEVICE), SIZE / PAGE);
    fill(q, SIZE);
    check_filled((void *)p, SIZE);
    check_filled((void *)q, SIZE);
    EXPECT_EQUAL(pages_at(p, SIZE, HOST), SIZE / PAGE);
    EXPECT(counted().bytes_to_host >= SIZE);
}

static void another_device_takes_the_page(void)
{
    char *p = memory(WINDOW, true);
    CHECK(write_word(p, 7));
    on(1);
    EXPECT_EQUAL(read_word(p), 7);
    EXPECT_EQUAL(place(p), DEVICE + 1);
}

static void a_device_that_is_full_evicts(void)
{
    enum { SIZE = 100 << 20 };
    char *p = memory(SIZE, true);
    fill(p, SIZE);
    struct faultline_counters c = counted();
    EXPECT(c.bytes_evicted > 0);
    EXPECT(pages_at(p, SIZE, DEVICE) < (64 << 20) / PAGE);
    EXPECT(pages_at(p, SIZE, DEVICE) > 0);
    EXPECT_EQUAL(pages_at(p, SIZE, DEVICE) + pages_at(p, SIZE, HOST), SIZE / PAGE);
    check_filled((void *)p, SIZE);
}

static void what_is_freed_is_given_back_to_the_device(void)
{
    size_t before, free, total;
    CHECK(cuMemGetInfo(&before, &total));
    char *p = memory(8 * WINDOW, true);
    fill(p, 8 * WINDOW);
    CHECK(cuMemGetInfo(&free, &total));
    EXPECT_EQUAL(before - free, 8 * WINDOW);
    munmap(p, 8 * WINDOW);
    char *q = memory(PAGE, true);
    CHECK(write_word(q, 1));
    CHECK(cuMemGetInfo(&free, &total));
    EXPECT_EQUAL(before - free, PAGE);
}

static void a_device_has_room_for_as_many_pages_as_its_memory_is(void)
{
    enum { WINDOWS = 60 };
    char *p[WINDOWS];
    size_t before, free, total;
    CHECK(cuMemGetInfo(&before, &total));
    for (int k = 0; k < WINDOWS; k++) {
        p[k] = memory(WINDOW, true);
        CHECK(write_word(p[k], 7));
    }
    CHECK(cuMemGetInfo(&free, &total));
    EXPECT_EQUAL(before - free, WINDOWS * 16 * PAGE);
    EXPECT_EQUAL(counted().bytes_evicted, 0);
    for (int k = 0; k < WINDOWS; k++) EXPECT_EQUAL(look(p[k] + PAGE), 0x01010101);
    CHECK(cuMemGetInfo(&free, &total));
    EXPECT_EQUAL(free, before);
}

static void a_mapping_that_devices_use_is_told_of_as_an_allocation(void)
{
    struct faultline_allocation a[4];
    char *p = memory(3 * WINDOW, true);
    EXPECT_EQUAL(faultline_count_allocations(), 0);
    EXPECT_EQUAL(faultline_get_allocations(a, 4), 0);
    CHECK(write_word(p + WINDOW, 7));
    CHECK(write_word(p, 7));
    EXPECT_EQUAL(faultline_get_allocations(a, 4), 1);
    EXPECT_EQUAL(a[0].address, p);
    EXPECT_EQUAL(a[0].bytes, 3 * WINDOW);
    EXPECT_EQUAL(a[0].freed, 0);
    EXPECT_EQUAL(a[0].counters.bytes_to_device, 32 * PAGE);
    munmap(p, 3 * WINDOW);
    CHECK(write_word(memory(PAGE, true), 7));
    EXPECT_EQUAL(faultline_get_allocations(a, 4), 2);
    EXPECT(a[0].freed > 0);
}

static void what_is_left_of_a_mapping_stays_where_it_is(void)
{
    enum { PART = WINDOW / 4 };
    struct faultline_allocation a[4];
    size_t empty, free, total;
    CHECK(cuMemGetInfo(&empty, &total));
    char *p = memory(2 * WINDOW, true);
    fill(p, 2 * WINDOW);
    advise(p, 2 * WINDOW, CU_MEM_ADVISE_SET_ACCESSED_BY, 1);
    struct faultline_counters before = counted(), after;
    munmap(p + PART, PART);
    EXPECT_EQUAL(mprotect(p + 3 * PART, PAGE, PROT_READ), 0);
    CHECK(write_word(p, 0));
    after = counted();
    EXPECT_EQUAL(after.gpu_faults, before.gpu_faults);
    EXPECT_EQUAL(after.bytes_to_host, before.bytes_to_host);
    EXPECT_EQUAL(pages_at(p, PART, DEVICE), PART / PAGE);
    EXPECT_EQUAL(pages_at(p + 2 * PART, PART, DEVICE), PART / PAGE);
    EXPECT_EQUAL(place(p + 3 * PART), HOST);
    EXPECT_EQUAL(pages_at(p + 3 * PART + PAGE, 5 * PART - PAGE, DEVICE), 5 * PART / PAGE - 1);
    CHECK(cuMemGetInfo(&free, &total));
    EXPECT_EQUAL(empty - free, 7 * PART - PAGE);
    EXPECT_EQUAL(faultline_get_allocations(a, 4), 3);
    EXPECT(a[0].freed > 0);
    EXPECT_EQUAL(a[1].bytes + a[2].bytes, 7 * PART);
    check_filled((void *)p, PART);
    for (uint32_t at = 2 * PART; at < 2 * WINDOW; at += PAGE) EXPECT_EQUAL(look(p + at), at / 4);
    char *anew = mmap(p + PART, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    EXPECT_EQUAL(look(anew), 0);
    CHECK(write_word(anew, 5));
    EXPECT_EQUAL(look(anew), 5);
    EXPECT_EQUAL(look(anew + PAGE), 0);
    ANSWERS(write_word(p + 3 * PART, 5), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- policy */

static void preferred_on_the_host_it_is_mapped_remotely(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1);
    struct faultline_counters before = counted();
    CHECK(write_word(p, 7));
    EXPECT_EQUAL(pages_at(p, WINDOW, HOST), WINDOW / PAGE);
    EXPECT_EQUAL(look(p), 7);
    struct faultline_counters after = counted();
    EXPECT_EQUAL(after.cpu_faults, before.cpu_faults);
    EXPECT_EQUAL(after.bytes_to_device, before.bytes_to_device);
    EXPECT(after.events[FAULTLINE_MAP_REMOTE] > before.events[FAULTLINE_MAP_REMOTE]);
}

static void preferred_on_a_device_the_hosts_touch_pulls_it_all_the_same(void)
{
    char *p = memory(WINDOW, false);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0);
    CHECK(write_word(p, 7));
    EXPECT_EQUAL(pages_at(p, WINDOW, DEVICE), WINDOW / PAGE);
    EXPECT_EQUAL(look(p), 7);
    EXPECT_EQUAL(place(p), HOST);
    EXPECT(pages_at(p, WINDOW, HOST) < WINDOW / PAGE);
}

static void who_is_said_to_access_it_maps_it_where_it_is(void)
{
    char *p = memory(WINDOW, true);
    advise(p, WINDOW, CU_MEM_ADVISE_SET_ACCESSED_BY, 0);
    CHECK(write_word(p, 7));
    EXPECT_EQUAL(place(p), HOST);
    prefetch(p, WINDOW, 1);
    EXPECT_EQUAL(place(p), DEVICE + 1);
    EXPECT_EQUAL(look(p), 7);
    struct faultline_counters before = counted();
    CHECK(write_word(p, 8));
    EXPECT_EQUAL(counted().gpu_faults, before.gpu_faults);
    EXPECT_EQUAL(place(p), HOST);
}

static void nothing_is_duplicated(void)
{
    char *p = memory(WINDOW, true);
    int said = 0;
    advise(p, WINDOW, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
    CHECK(cuMemRangeGetAttribute(&said, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, (CUdeviceptr)p, WINDOW));
    EXPECT_EQUAL(said, 1);
    EXPECT_EQUAL(read_word(p), 0x01010101);
    EXPECT_EQUAL(place(p), DEVICE);
    EXPECT_EQUAL(counted().events[FAULTLINE_READ_DUPLICATE], 0);
}

static void the_prefetcher_stays_within_a_policy_and_a_mapping(void)
{
    char *p = memory(WINDOW, true);
    advise(p + 4 * PAGE, 4 * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, 1);
    CHECK(write_word(p + 5 * PAGE, 7));
    EXPECT_EQUAL(pages_at(p, WINDOW, DEVICE), 4);
    EXPECT_EQUAL(munmap(p + 40 * PAGE, PAGE), 0);
    CHECK(write_word(p + 41 * PAGE, 7));
    EXPECT_EQUAL(place(p + 41 * PAGE), DEVICE);
    EXPECT_EQUAL(place(p + 39 * PAGE), HOST);
}

static void prefetches_move_what_they_can(void)
{
    char *p = memory(4 * WINDOW, true), name[] = "/tmp/faultline-migrating-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    EXPECT_EQUAL(ftruncate(fd, WINDOW), 0);
    char *file = mmap(p + WINDOW, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
    EXPECT(file == p + WINDOW);
    file[0] = 9;
    struct faultline_counters before = counted(), after;
    prefetch(p, 4 * WINDOW, 0);
    EXPECT_EQUAL(pages_at(p, 4 * WINDOW, DEVICE), 3 * WINDOW / PAGE);
    EXPECT_EQUAL(place(file), HOST);
    after = counted();
    EXPECT_EQUAL(after.bytes_to_device - before.bytes_to_device, 3 * WINDOW);
    EXPECT_EQUAL(read_word(file) & 0xff, 9);
    EXPECT_EQUAL(counted().gpu_faults, after.gpu_faults);
    prefetch(p, 4 * WINDOW, -1);
    EXPECT_EQUAL(pages_at(p, 4 * WINDOW, DEVICE), 0);
    EXPECT_EQUAL(look(p + 3 * WINDOW), 0x01010101);
    EXPECT_EQUAL(counted().cpu_faults, before.cpu_faults);
}

static void shared_memory_stays_where_it_is(void)
{
    uint32_t *p = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p[0] = 5;
    struct faultline_counters before = counted();
    CHECK(write_word(p + 1, 6));
    EXPECT_EQUAL(place(p), HOST);
    EXPECT_EQUAL(p[1], 6);
    EXPECT_EQUAL(counted().bytes_to_device, before.bytes_to_device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_kernels_fault_brings_the_page_and_what_the_prefetcher_adds),
        ALONE(start, the_hosts_touch_pulls_the_page_back),
        ALONE(start, what_nobody_touched_is_made_on_the_device_and_is_no_migration),
        ALONE(start, the_hosts_first_touch_beside_it_is_no_fault_and_counts_later),
        ALONE(start, a_whole_kernel_fills_memory_that_the_host_then_reads),
        ALONE(start, another_device_takes_the_page),
        ALONE(start, a_device_that_is_full_evicts),
        ALONE(start, what_is_freed_is_given_back_to_the_device),
        ALONE(start, a_device_has_room_for_as_many_pages_as_its_memory_is),
        ALONE(start, a_mapping_that_devices_use_is_told_of_as_an_allocation),
        ALONE(start, what_is_left_of_a_mapping_stays_where_it_is),
        ALONE(start, preferred_on_the_host_it_is_mapped_remotely),
        ALONE(start, preferred_on_a_device_the_hosts_touch_pulls_it_all_the_same),
        ALONE(start, who_is_said_to_access_it_maps_it_where_it_is),
        ALONE(start, nothing_is_duplicated),
        ALONE(start, the_prefetcher_stays_within_a_policy_and_a_mapping),
        ALONE(start, prefetches_move_what_they_can),
        ALONE(start, shared_memory_stays_where_it_is),
    };
    if (!migrates_here()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
