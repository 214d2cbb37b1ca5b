/* Page tables of managed memory: what faults, and what does not any more. */
#include "mmu_rig.h"
#include "processor/table.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static int with_devices(void **state)
{
    (void)state;
    rig_start(2);
    assert_int_equal(mmu_add(rig.base, 64 * RIG_BLOCK), CUDA_SUCCESS);
    return 0;
}

static int without(void **state)
{
    (void)state;
    mmu_remove(rig.base, 64 * RIG_BLOCK);
    rig_stop();
    return 0;
}

/* ---- the host */

static void first_access_of_the_host_faults_once_and_reads_zero(void **state)
{
    (void)state;
    assert_int_equal(*word(8), 0);
    assert_int_equal(*word(16), 0);
    assert_int_equal(rig.reads[MMU_HOST], 1);
    assert_int_equal(rig.writes[MMU_HOST], 0);
}

static void a_page_that_may_be_read_faults_when_written(void **state)
{
    (void)state;
    assert_int_equal(*word(0), 0);
    *word(0) = 7;
    *word(0) = 8;
    assert_int_equal(rig.reads[MMU_HOST], 1);
    assert_int_equal(rig.writes[MMU_HOST], 1);
    assert_int_equal(*(uint64_t *)rig.memory.alias, 8);
}

static void a_page_that_was_written_does_not_fault_when_read(void **state)
{
    (void)state;
    *word(0) = 7;
    assert_int_equal(*word(8), 0);
    assert_int_equal(rig_faults(MMU_HOST), 1);
}

static void taken_pages_fault_again_and_keep_their_data(void **state)
{
    (void)state;
    *word(0) = 41;
    assert_int_equal(mmu_set(MMU_HOST, rig.base, RIG_BLOCK, MMU_NONE), CUDA_SUCCESS);
    assert_int_equal(*word(0), 41);
    assert_int_equal(rig.reads[MMU_HOST], 1);
    assert_int_equal(mmu_set(MMU_HOST, rig.base, RIG_PAGE, MMU_WRITE), CUDA_SUCCESS);
    *word(0) = 42;
    assert_int_equal(mmu_set(MMU_HOST, rig.base, RIG_PAGE, MMU_READ), CUDA_SUCCESS);
    assert_int_equal(*word(0), 42);
    assert_int_equal(rig.writes[MMU_HOST], 1);
    *word(0) = 43;
    assert_int_equal(rig.writes[MMU_HOST], 2);
}

static void what_was_given_before_it_is_touched_does_not_fault(void **state)
{
    (void)state;
    assert_int_equal(mmu_set(MMU_HOST, rig.base + RIG_PAGE, 3 * RIG_BLOCK, MMU_WRITE), CUDA_SUCCESS);
    for (uint64_t at = RIG_PAGE; at < 3 * RIG_BLOCK + RIG_PAGE; at += RIG_PAGE) *word(at) = at;
    assert_int_equal(rig_faults(MMU_HOST), 0);
    *word(0) = 1;
    *word(3 * RIG_BLOCK + RIG_PAGE) = 1;
    assert_int_equal(rig_faults(MMU_HOST), 2);
}

static void discarded_pages_read_as_zeros_without_the_service_being_asked(void **state)
{
    (void)state;
    for (uint64_t at = 0; at < RIG_BLOCK; at += RIG_PAGE) *word(at) = 5;
    rig_forget_faults();
    mmu_discard(rig.base + RIG_PAGE, RIG_BLOCK - RIG_PAGE);
    assert_int_equal(*word(0), 5);
    for (uint64_t at = RIG_PAGE; at < RIG_BLOCK; at += RIG_PAGE) assert_int_equal(*word(at), 0);
    assert_int_equal(rig_faults(MMU_HOST), 0);
}

static void system_calls_of_the_host_fault_like_its_instructions_or_fail(void **state)
{
    (void)state;
    int ends[2];
    char text[] = "into managed memory";
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof text), sizeof text);
    if (mmu_rung() != MMU_USERFAULTFD) {
        assert_int_equal(read(ends[0], (void *)word(0), sizeof text), -1);
        assert_int_equal(errno, EFAULT);
        *word(0) = 1; /* after which it is the host's */
    }
    assert_int_equal(read(ends[0], (void *)word(0), sizeof text), sizeof text);
    assert_string_equal((char *)word(0), text);
    assert_int_equal(rig.writes[MMU_HOST], 1);
    close(ends[0]);
    close(ends[1]);
}

static sigjmp_buf after;
static void *volatile fault_address;
static void on_segv(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    fault_address = info->si_addr;
    siglongjmp(after, 1);
}

static void a_fatal_fault_of_the_host_is_a_segmentation_fault(void **state)
{
    (void)state;
    struct sigaction a = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO }, old;
    rig.fatal_lo = rig.base + RIG_PAGE;
    rig.fatal_hi = rig.base + 2 * RIG_PAGE;
    sigaction(SIGSEGV, &a, &old);
    if (!sigsetjmp(after, 1)) {
        *word(RIG_PAGE + 8) = 1;
        fail_msg("the write went through");
    }
    sigaction(SIGSEGV, &old, NULL);
    assert_ptr_equal(fault_address, word(RIG_PAGE + 8));
    rig.fatal_lo = rig.fatal_hi = 0;
    *word(RIG_PAGE + 8) = 1; /* it may be allowed later */
}

/* ---- devices */

static void a_device_faults_on_what_it_has_no_entry_for(void **state)
{
    (void)state;
    uint64_t sum;
    for (unsigned k = 0; k < 8; k++) *word(k * RIG_PAGE) = k + 1;
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_READ, rig.base, RIG_PAGE, 8, 0, 0 }, 1, 0, &sum), CUDA_SUCCESS);
    assert_int_equal(sum, 36);
    assert_int_equal(rig.reads[1], 8);
    assert_int_equal(rig.writes[1], 0);
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_READ, rig.base, RIG_PAGE, 8, 0, 0 }, 1, 0, &sum), CUDA_SUCCESS);
    assert_int_equal(rig.reads[1], 8);
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, 8, 100, 0 }, 1, 0, NULL),
                     CUDA_SUCCESS);
    assert_int_equal(rig.reads[1], 8);
    assert_int_equal(rig.writes[1], 8);
    assert_int_equal(*word(7 * RIG_PAGE), 107);
    assert_int_equal(rig_faults(2), 0);
}

static void what_an_idle_device_loses_it_faults_on_in_its_next_kernel(void **state)
{
    (void)state;
    struct rig_job write_all = { RIG_WRITE, rig.base, RIG_PAGE, 1024, 1, 0 };
    assert_int_equal(mmu_set(1, rig.base, 2 * RIG_BLOCK, MMU_WRITE), CUDA_SUCCESS);
    assert_int_equal(rig_run(0, write_all, 1, 0, NULL), CUDA_SUCCESS);
    assert_int_equal(rig_faults(1), 0);
    assert_int_equal(mmu_set(1, rig.base + RIG_PAGE, 2 * RIG_PAGE, MMU_NONE), CUDA_SUCCESS);
    assert_int_equal(mmu_set(1, rig.base + RIG_BLOCK, RIG_PAGE, MMU_READ), CUDA_SUCCESS);
    assert_int_equal(rig_run(0, write_all, 1, 0, NULL), CUDA_SUCCESS);
    assert_int_equal(rig.writes[1], 3);
}

static void what_an_idle_device_loses_and_gets_back_it_does_not_fault_on(void **state)
{
    (void)state;
    struct rig_job write_all = { RIG_WRITE, rig.base, RIG_PAGE, 1024, 1, 0 };
    for (unsigned round = 0; round < 20; round++) {
        assert_int_equal(mmu_set(1, rig.base, 2 * RIG_BLOCK, MMU_WRITE), CUDA_SUCCESS);
        if (round % 3 == 0) assert_int_equal(rig_run(0, write_all, 1, 0, NULL), CUDA_SUCCESS);
        assert_int_equal(mmu_set(1, rig.base, 2 * RIG_BLOCK, round % 2 ? MMU_READ : MMU_NONE), CUDA_SUCCESS);
    }
    assert_int_equal(rig_faults(1), 0);
}

static void host_and_devices_pass_pages_around_and_nothing_is_lost(void **state)
{
    (void)state;
    enum { PAGES = 64, ROUNDS = 10 };
    rig.exclusive = true;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned k = 0; k < PAGES; k++) (*word(k * RIG_PAGE))++;
        for (int d = 0; d < 2; d++)
            assert_int_equal(rig_run(d, (struct rig_job){ RIG_ADD, rig.base, RIG_PAGE, PAGES, 1, 0 }, 1, 0, NULL),
                             CUDA_SUCCESS);
    }
    assert_int_equal(rig_faults(1), PAGES * ROUNDS);
    assert_int_equal(rig_faults(2), PAGES * ROUNDS);
    assert_int_equal(rig_faults(MMU_HOST), PAGES * ROUNDS);
    for (unsigned k = 0; k < PAGES; k++) assert_int_equal(*word(k * RIG_PAGE), 3 * ROUNDS);
}

static void a_running_device_and_the_host_fight_for_a_page_and_every_addition_counts(void **state)
{
    (void)state;
    enum { COUNT = 20000, MINE = 300 };
    rig.exclusive = true;
    uint64_t a = rig_launch(0, (struct rig_job){ RIG_ADD, rig.base, 0, COUNT, 1, 0 }, 4, 8);
    uint64_t b = rig_launch(1, (struct rig_job){ RIG_ADD, rig.base, 0, COUNT, 1, 0 }, 4, 8);
    for (unsigned k = 0; k < MINE; k++) __atomic_fetch_add(word(0), 1, __ATOMIC_SEQ_CST);
    assert_int_equal(processor_wait(rig.device[0], rig.channel[0], a), CUDA_SUCCESS);
    assert_int_equal(processor_wait(rig.device[1], rig.channel[1], b), CUDA_SUCCESS);
    assert_int_equal(*word(0), 2 * COUNT + MINE);
    assert_int_equal(*word(24), 2 * COUNT);
}

static void faults_while_nobody_waits_for_the_device_are_served(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 5; round++) {
        uint64_t job =
            rig_launch(0, (struct rig_job){ RIG_WRITE, rig.base + round * RIG_BLOCK, RIG_PAGE, 20, 9, 0 }, 1, 0);
        for (unsigned ms = 0; ms < 20000 && !processor_done(rig.device[0], rig.channel[0], job); ms++) usleep(1000);
        assert_true(processor_done(rig.device[0], rig.channel[0], job));
    }
    assert_int_equal(rig.writes[1], 100);
}

static void a_fatal_fault_of_a_device_is_an_illegal_address(void **state)
{
    (void)state;
    rig.fatal_lo = rig.base + RIG_PAGE;
    rig.fatal_hi = rig.base + 2 * RIG_PAGE;
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, 4, 1, 0 }, 1, 0, NULL),
                     CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(*word(0), 1);
    assert_int_equal(*(uint64_t *)(rig.memory.alias + RIG_PAGE), 0);
    rig_device_stop(0);
    rig_device_start(0);
    rig.fatal_lo = rig.fatal_hi = 0;
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, 4, 1, 0 }, 1, 0, NULL), CUDA_SUCCESS);
}

static uint64_t bytes_in_memory(void)
{
    struct stat s;
    assert_int_equal(fstat(rig.memory.fd, &s), 0);
    return (uint64_t)s.st_blocks * 512;
}

/* Whole blocks that are given to processors have memory at once, unless that is more than the machine could have. */
static void more_than_the_machine_has_gets_memory_when_it_is_touched(void **state)
{
    enum { BLOCKS = 16 };
    uint64_t size = BLOCKS * RIG_BLOCK, sum, most = mmu.begun_most;
    (void)state;
    mmu.begun_most = mmu.begun_bytes + size;
    assert_int_equal(mmu_set(1, rig.base, 2 * size, MMU_WRITE), CUDA_SUCCESS);
    assert_int_equal(bytes_in_memory(), size);
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_BLOCK, 2 * BLOCKS, 5, 0 }, 1, 0, NULL), 0);
    assert_in_range(bytes_in_memory(), size, size + BLOCKS * RIG_BLOCK / 8);
    assert_int_equal(rig_faults(1), 0);
    /* they go to others like any */
    rig.exclusive = true;
    for (uint64_t at = 0; at < 2 * size; at += RIG_BLOCK) {
        assert_int_equal(*word(at), 5 + at / RIG_BLOCK);
        assert_int_equal(*word(at + RIG_PAGE), 0);
    }
    assert_int_equal(rig_run(1, (struct rig_job){ RIG_READ, rig.base, RIG_BLOCK, 2 * BLOCKS, 0, 0 }, 1, 0, &sum), 0);
    assert_int_equal(sum, 2 * BLOCKS * 5 + 2 * BLOCKS * (2 * BLOCKS - 1) / 2);
    mmu.begun_most = most;
}

#define WITH_DEVICES(test) cmocka_unit_test_setup_teardown(test, with_devices, without)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DEVICES(first_access_of_the_host_faults_once_and_reads_zero),
        WITH_DEVICES(a_page_that_may_be_read_faults_when_written),
        WITH_DEVICES(a_page_that_was_written_does_not_fault_when_read),
        WITH_DEVICES(taken_pages_fault_again_and_keep_their_data),
        WITH_DEVICES(what_was_given_before_it_is_touched_does_not_fault),
        WITH_DEVICES(discarded_pages_read_as_zeros_without_the_service_being_asked),
        WITH_DEVICES(system_calls_of_the_host_fault_like_its_instructions_or_fail),
        WITH_DEVICES(a_fatal_fault_of_the_host_is_a_segmentation_fault),
        WITH_DEVICES(a_device_faults_on_what_it_has_no_entry_for),
        WITH_DEVICES(what_an_idle_device_loses_it_faults_on_in_its_next_kernel),
        WITH_DEVICES(what_an_idle_device_loses_and_gets_back_it_does_not_fault_on),
        WITH_DEVICES(host_and_devices_pass_pages_around_and_nothing_is_lost),
        WITH_DEVICES(a_running_device_and_the_host_fight_for_a_page_and_every_addition_counts),
        WITH_DEVICES(faults_while_nobody_waits_for_the_device_are_served),
        WITH_DEVICES(a_fatal_fault_of_a_device_is_an_illegal_address),
        WITH_DEVICES(more_than_the_machine_has_gets_memory_when_it_is_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
