/* Page tables of managed memory when the system has no memory left: a file system of 16 MiB stands for it. */
#include "mmu_rig.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

enum { BLOCKS = 32 };
static const uint64_t SPAN = 1ull << 36;

static bool make_small_memory(void)
{
    int context = (int)syscall(SYS_fsopen, "tmpfs", 0), mount, fd;
    if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", "16m", 0) ||
        syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) ||
        (mount = (int)syscall(SYS_fsmount, context, 0, 0)) < 0 ||
        (fd = openat(mount, ".", O_TMPFILE | O_RDWR, 0600)) < 0 || ftruncate(fd, (off_t)SPAN))
        return false;
    backing_adopt(&rig.memory, fd, SPAN);
    rig.memory.alias = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return rig.memory.alias != MAP_FAILED;
}

static bool say(const char *file, const char *what, unsigned user)
{
    FILE *f = fopen(file, "w");
    return f && fprintf(f, what, user) > 0 && !fclose(f);
}

/* An ordinary user may make a file system in name spaces of its own. */
static bool become_root_of_name_spaces(void)
{
    unsigned user = geteuid(), group = getegid();
    return !unshare(CLONE_NEWUSER | CLONE_NEWNS) && say("/proc/self/setgroups", "deny", 0) &&
           say("/proc/self/uid_map", "0 %u 1", user) && say("/proc/self/gid_map", "0 %u 1", group);
}

static int begin(void **state) { return (void)state, rig_begin(BLOCKS); }
static int end(void **state) { return (void)state, rig_end(BLOCKS); }

static void more_than_there_is_is_out_of_memory_and_can_be_given_back(void **state)
{
    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        assert_int_equal(mmu_set(p, rig.base, (uint64_t)BLOCKS * RIG_BLOCK, MMU_WRITE), CUDA_ERROR_OUT_OF_MEMORY);
        mmu_discard(rig.base, (uint64_t)BLOCKS * RIG_BLOCK);
        assert_int_equal(mmu_set(p, rig.base, (uint64_t)BLOCKS * RIG_BLOCK, MMU_NONE), CUDA_SUCCESS);
        assert_int_equal(mmu_set(p, rig.base + 20 * RIG_BLOCK, 4 * RIG_BLOCK, MMU_WRITE), CUDA_SUCCESS);
        mmu_discard(rig.base, (uint64_t)BLOCKS * RIG_BLOCK);
    }
}

static sigjmp_buf after;
static volatile int caught;
static void on_signal(int number)
{
    caught = number;
    siglongjmp(after, 1);
}

static void the_host_s_access_is_a_segmentation_fault_and_the_library_s_threads_live(void **state)
{
    (void)state;
    struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_NODEFER }, segv, bus;
    sigaction(SIGSEGV, &a, &segv);
    sigaction(SIGBUS, &a, &bus);
    caught = 0;
    volatile uint64_t at = 0;
    if (!sigsetjmp(after, 1))
        for (; at < (uint64_t)BLOCKS * RIG_BLOCK; at += RIG_PAGE) *word(at) = at;
    sigaction(SIGSEGV, &segv, NULL);
    sigaction(SIGBUS, &bus, NULL);
    assert_int_equal(caught, SIGSEGV);
    assert_true(at >= 6 * RIG_BLOCK && at <= 9 * RIG_BLOCK);
    mmu_discard(rig.base, RIG_BLOCK);
    *word(at) = 1;
    assert_int_equal(*word(RIG_BLOCK), RIG_BLOCK);
}

static void a_kernel_s_access_is_an_illegal_address(void **state)
{
    (void)state;
    assert_int_equal(
        rig_run(0, (struct rig_job){ RIG_WRITE, rig.base, RIG_PAGE, (uint64_t)BLOCKS * 512, 1, 0 }, 1, 0, NULL),
        CUDA_ERROR_ILLEGAL_ADDRESS);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(more_than_there_is_is_out_of_memory_and_can_be_given_back),
        TEST(the_host_s_access_is_a_segmentation_fault_and_the_library_s_threads_live),
        TEST(a_kernel_s_access_is_an_illegal_address),
    };
    if (!make_small_memory() && (!become_root_of_name_spaces() || !make_small_memory())) {
        fprintf(stderr, "SKIP: this user may not make a file system, nor name spaces in which it might\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
