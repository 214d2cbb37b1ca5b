/* Page tables of managed memory when things go wrong, or happen at the same time. */
#include "mmu_rig.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { BLOCKS = 64 };

static int begin(void **state) { return (void)state, rig_begin(BLOCKS); }
static int end(void **state) { return (void)state, rig_end(BLOCKS); }

/* ---- processes */

static void a_forked_child_has_no_managed_memory(void **state)
{
    (void)state;
    *word(0) = 1;
    pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL);
        _exit((int)*word(0));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    *word(RIG_PAGE) = 1; /* here it goes on */
}

static void a_device_killed_while_it_waits_for_a_verdict_hangs_nobody(void **state)
{
    (void)state;
    rig.delay_us = 200000;
    uint64_t job = rig_launch(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, 4, 1, 0 }, 1, 0);
    while (!rig_faults(1)) usleep(100);
    kill(processor_pid(rig.device[0]), SIGKILL);
    assert_int_equal(processor_wait(rig.device[0], rig.channel[0], job), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(mmu_set(1, rig.base, RIG_BLOCK, MMU_NONE), CUDA_SUCCESS);
    assert_int_equal(mmu_set(1, rig.base, RIG_BLOCK, MMU_WRITE), CUDA_SUCCESS);
    rig.delay_us = 0;
    rig_device_stop(0);
    rig_device_start(0);
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, 4, 1, 0 }, 1, 0, NULL), CUDA_SUCCESS);
}

static void a_device_whose_host_is_killed_during_a_fault_ends(void **state)
{
    (void)state;
    int ends[2], pid = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t host = fork();
    if (!host) {
        /* a process of its own, with a device of its own */
        int self = (int)getpid();
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/exe", self);
        execl(path, path, "host", (char[]){ (char)('0' + ends[1]), 0 }, (char *)NULL);
        _exit(1);
    }
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    assert_int_equal(kill(pid, 0), 0);
    kill(host, SIGKILL);
    waitpid(host, NULL, 0);
    for (unsigned ms = 0; ms < 20000 && !kill(pid, 0); ms++) usleep(1000);
    assert_int_equal(kill(pid, 0), -1);
    close(ends[0]);
    close(ends[1]);
}

/* The host of the test above: its device faults and is never answered. */
static int be_host(int out)
{
    rig_start(1);
    if (mmu_add(rig.base, RIG_BLOCK)) return 1;
    rig.delay_us = 100000000;
    rig_launch(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, 4, 1, 0 }, 1, 0);
    while (!rig_faults(1)) usleep(100);
    int pid = processor_pid(rig.device[0]);
    if (write(out, &pid, sizeof pid) != sizeof pid) return 1;
    for (;;) pause();
}

/* ---- threads */

enum { THREADS = 16 };
static pthread_barrier_t barrier;
static _Atomic bool over;

static void *touch_each_page(void *arg)
{
    (void)arg;
    for (unsigned k = 0; k < 64; k++) {
        pthread_barrier_wait(&barrier);
        __atomic_fetch_add(word(k * RIG_PAGE), 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void many_threads_fault_on_the_same_page_and_all_go_on(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (unsigned k = 0; k < THREADS; k++) pthread_create(&thread[k], NULL, touch_each_page, NULL);
    for (unsigned k = 0; k < THREADS; k++) pthread_join(thread[k], NULL);
    for (unsigned k = 0; k < 64; k++) assert_int_equal(*word(k * RIG_PAGE), THREADS);
    assert_true(rig.writes[MMU_HOST] >= 64);
}

static void *take_away(void *arg)
{
    (void)arg;
    while (!over)
        for (unsigned k = 0; k < 8; k++)
            mmu_set(MMU_HOST, rig.base + k * RIG_PAGE, RIG_PAGE, k % 2 ? MMU_NONE : MMU_READ);
    return NULL;
}

static void pages_taken_away_all_the_time_lose_nothing(void **state)
{
    (void)state;
    pthread_t thief;
    over = false;
    pthread_create(&thief, NULL, take_away, NULL);
    for (unsigned round = 0; round < 500; round++)
        for (unsigned k = 0; k < 8; k++) (*word(k * RIG_PAGE))++;
    over = true;
    pthread_join(thief, NULL);
    for (unsigned k = 0; k < 8; k++) assert_int_equal(*word(k * RIG_PAGE), 500);
}

static _Atomic unsigned ticks;
static void on_tick(int number)
{
    (void)number;
    ticks++;
}

static void signals_that_arrive_during_faults_disturb_nobody(void **state)
{
    (void)state;
    struct sigaction a = { .sa_handler = on_tick }, old;
    struct itimerval fast = { { 0, 200 }, { 0, 200 } }, none = { { 0, 0 }, { 0, 0 } };
    sigaction(SIGALRM, &a, &old);
    setitimer(ITIMER_REAL, &fast, NULL);
    rig.delay_us = 300;
    for (unsigned k = 0; k < 200; k++) *word(k * RIG_PAGE) = k;
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &old, NULL);
    rig.delay_us = 0;
#ifndef __SANITIZE_THREAD__ /* it holds signals back */
    assert_true(ticks > 20);
#endif
    for (unsigned k = 0; k < 200; k++) assert_int_equal(*word(k * RIG_PAGE), k);
}

static void several_workers_of_a_device_wait_at_the_same_time_and_are_counted(void **state)
{
    (void)state;
    rig.delay_us = 2000;
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, 2, 1, 0 }, 32, RIG_BLOCK, NULL),
                     CUDA_SUCCESS);
    assert_int_equal(rig.writes[1], 64);
    assert_true(rig.most_pending >= 2);
}

/* ---- the address space */

static __thread sigjmp_buf after;
static __thread bool past_it; /* no access of the thread's is refused any more */
static void on_segv(int number)
{
    (void)number;
    if (past_it) abort();
    siglongjmp(after, 1);
}

static void *touch_until_gone(void *arg)
{
    volatile uint64_t *at = (volatile uint64_t *)((uint64_t)arg + rig.base);
    if (!sigsetjmp(after, 1))
        for (;;)
            for (unsigned k = 0; k < 512; k++) __atomic_fetch_add(&at[k * 512], 1, __ATOMIC_RELAXED);
    past_it = true;
    usleep(1000);
    return NULL;
}

static void memory_removed_while_threads_fault_there_is_fatal_for_them_alone_and_once(void **state)
{
    (void)state;
    struct sigaction a = { .sa_handler = on_segv, .sa_flags = SA_NODEFER }, old;
    pthread_t thread[4];
    sigaction(SIGSEGV, &a, &old);
    for (unsigned round = 0; round < 50; round++) {
        uint64_t at = (uint64_t)BLOCKS * RIG_BLOCK;
        assert_int_equal(mmu_add(rig.base + at, RIG_BLOCK), CUDA_SUCCESS);
        for (unsigned k = 0; k < 4; k++) pthread_create(&thread[k], NULL, touch_until_gone, (void *)at);
        usleep(500 * (round % 10));
        rig.fatal_lo = rig.base + at;
        rig.fatal_hi = rig.base + at + RIG_BLOCK;
        usleep(50 * round); /* some threads have been refused, or are about to be */
        mmu_remove(rig.base + at, RIG_BLOCK);
        for (unsigned k = 0; k < 4; k++) pthread_join(thread[k], NULL);
        rig.fatal_lo = rig.fatal_hi = 0;
    }
    sigaction(SIGSEGV, &old, NULL);
    *word(0) = 1;
}

static void memory_removed_while_a_kernel_runs_there_is_an_illegal_address(void **state)
{
    (void)state;
    uint64_t at = (uint64_t)BLOCKS * RIG_BLOCK;
    assert_int_equal(mmu_add(rig.base + at, RIG_BLOCK), CUDA_SUCCESS);
    rig.exclusive = true;
    assert_int_equal(mmu_set(1, rig.base + at, RIG_BLOCK, MMU_WRITE), CUDA_SUCCESS);
    uint64_t job = rig_launch(0, (struct rig_job){ RIG_ADD, rig.base + at, 0, 1ull << 40, 1, 0 }, 1, 0);
    while (!*(volatile uint64_t *)(rig.memory.alias + at)) usleep(100);
    rig.fatal_lo = rig.base + at;
    rig.fatal_hi = rig.base + at + RIG_BLOCK;
    mmu_remove(rig.base + at, RIG_BLOCK);
    assert_int_equal(processor_wait(rig.device[0], rig.channel[0], job), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static uint64_t resident_pages(void)
{
    unsigned long size, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &size, &resident), 2);
    fclose(f);
    return resident;
}

static void a_tebibyte_costs_nothing_until_it_is_touched(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* there is no room for it */
#endif
    uint64_t at = rig.base + (1ull << 40), size = 1ull << 40, before = resident_pages();
    assert_int_equal(mmu_add(at, size), CUDA_SUCCESS);
    *(volatile uint64_t *)(at + size / 2) = 1;
    uint64_t more = resident_pages() - before;
    mmu_remove(at, size);
    assert_true(more < 64);
}

static unsigned mappings(void)
{
    unsigned n = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    assert_non_null(f);
    for (int c; (c = getc(f)) != EOF;) n += c == '\n';
    fclose(f);
    return n;
}

static void every_other_page_permitted_leaves_mappings_to_the_program(void **state)
{
    (void)state;
    uint64_t at = rig.base + (uint64_t)BLOCKS * RIG_BLOCK, size = 128ull * RIG_BLOCK;
    assert_int_equal(mmu_add(at, size), CUDA_SUCCESS);
    for (uint64_t page = 0; page < size; page += 2 * RIG_PAGE)
        assert_int_equal(mmu_set(MMU_HOST, at + page, RIG_PAGE, MMU_WRITE), CUDA_SUCCESS);
    assert_true(mappings() < 30000);
    for (uint64_t page = 0; page < size; page += 2 * RIG_PAGE) *(volatile uint64_t *)(at + page) = page;
    assert_int_equal(rig_faults(MMU_HOST), 0);
    for (uint64_t page = RIG_PAGE; page < 64 * RIG_BLOCK; page += 2 * RIG_PAGE)
        *(volatile uint64_t *)(at + page) = page;
    assert_int_equal(mmu_set(MMU_HOST, at, size, MMU_NONE), CUDA_SUCCESS);
    assert_true(mappings() < 1000);
    rig_forget_faults();
    for (uint64_t page = 0; page < size; page += RIG_BLOCK) assert_int_equal(*(volatile uint64_t *)(at + page), page);
    assert_int_equal(rig.reads[MMU_HOST], 128);
    mmu_remove(at, size);
}

static void a_fatal_access_by_a_system_call_is_efault(void **state)
{
    (void)state;
    int ends[2];
    struct sigaction a = { .sa_handler = on_segv, .sa_flags = SA_NODEFER }, old;
    sigaction(SIGSEGV, &a, &old);
    rig.fatal_lo = rig.base;
    rig.fatal_hi = rig.base + RIG_PAGE;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    assert_int_equal(read(ends[0], (void *)word(0), 5), -1);
    assert_int_equal(errno, EFAULT);
    usleep(5000);
    rig.fatal_lo = rig.fatal_hi = 0;
    sigaction(SIGSEGV, &old, NULL);
    *word(0) = 1;
    close(ends[0]);
    close(ends[1]);
}

/* ---- the program's own handlers */

static void a_handler_installed_later_gets_what_is_not_ours(void **state)
{
    (void)state;
    struct sigaction a = { .sa_handler = on_segv, .sa_flags = SA_NODEFER }, old;
    char *none = mmap(NULL, RIG_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile unsigned caught = 0;
    sigaction(SIGSEGV, &a, &old);
    for (volatile unsigned k = 0; k < 3; k++) {
        *word(k * RIG_PAGE) = 1;
        if (sigsetjmp(after, 1))
            caught++;
        else
            *(volatile char *)none = 1;
    }
    sigaction(SIGSEGV, &old, NULL);
    assert_int_equal(caught, 3);
    assert_int_equal(rig_faults(MMU_HOST), 3);
    munmap(none, RIG_PAGE);
}

static bool faults(volatile uint64_t *at, bool write)
{
    if (sigsetjmp(after, 1)) return true;
    if (write)
        *at = 1;
    else
        (void)*at;
    return false;
}

static void what_the_program_protects_itself_faults_and_ends(void **state)
{
    (void)state;
    struct sigaction a = { .sa_handler = on_segv, .sa_flags = SA_NODEFER }, old;
    sigaction(SIGSEGV, &a, &old);
    *word(0) = 1;
    mprotect((void *)word(0), RIG_PAGE, PROT_READ);
    assert_true(faults(word(0), true));
    assert_false(faults(word(0), false));
    mprotect((void *)word(0), RIG_PAGE, PROT_NONE);
    assert_true(faults(word(0), false));
    mprotect((void *)word(0), RIG_PAGE, PROT_READ | PROT_WRITE);
    assert_false(faults(word(0), true));
    sigaction(SIGSEGV, &old, NULL);
}

static void descriptors_that_run_out_are_an_error_and_not_more(void **state)
{
    (void)state;
    struct rlimit limit, few;
    struct processor *p;
    getrlimit(RLIMIT_NOFILE, &limit);
    int free_fd = dup(0);
    close(free_fd);
    for (int more = 0; more < 8; more++) {
        few = (struct rlimit){ (rlim_t)(free_fd + more), limit.rlim_max };
        setrlimit(RLIMIT_NOFILE, &few);
        CUresult r = processor_start(&p, 5, 132);
        if (!r) processor_stop(p);
        setrlimit(RLIMIT_NOFILE, &limit);
        if (!r) break;
    }
    assert_int_equal(rig_run(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, 4, 1, 0 }, 1, 0, NULL), CUDA_SUCCESS);
    int now_free = dup(0);
    close(now_free);
    assert_int_equal(now_free, free_fd);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_forked_child_has_no_managed_memory),
        TEST(a_device_killed_while_it_waits_for_a_verdict_hangs_nobody),
        TEST(a_device_whose_host_is_killed_during_a_fault_ends),
        TEST(many_threads_fault_on_the_same_page_and_all_go_on),
        TEST(pages_taken_away_all_the_time_lose_nothing),
        TEST(signals_that_arrive_during_faults_disturb_nobody),
        TEST(several_workers_of_a_device_wait_at_the_same_time_and_are_counted),
        TEST(memory_removed_while_threads_fault_there_is_fatal_for_them_alone_and_once),
        TEST(memory_removed_while_a_kernel_runs_there_is_an_illegal_address),
        TEST(a_tebibyte_costs_nothing_until_it_is_touched),
        TEST(every_other_page_permitted_leaves_mappings_to_the_program),
        TEST(a_fatal_access_by_a_system_call_is_efault),
        TEST(a_handler_installed_later_gets_what_is_not_ours),
        TEST(what_the_program_protects_itself_faults_and_ends),
        TEST(descriptors_that_run_out_are_an_error_and_not_more),
    };
    setenv("FAULTLINE_WORKERS", "4", 1);
    if (argc == 3 && !strcmp(argv[1], "host")) return be_host(argv[2][0] - '0');
    return cmocka_run_group_tests(tests, NULL, NULL);
}
