/* Children of a program that has managed memory: one that fork made has none of it, one that vfork made has its
 * parent's. Whoever may not touch it gets SIGSEGV, and nobody else does. On every way to fault.
 * usage: children */
#include "rig.h"

#include <pthread.h>
#include <sys/mman.h>

static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };

static void start(void)
{
    alarm(240);
    check_context();
}

static CUdeviceptr managed(size_t size)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL));
    return p;
}

static void a_forked_child_has_no_managed_memory(void)
{
    CUdeviceptr p = managed(2 * MIB);
    *(int *)p = 1;
    for (int told = 0; told < 2; told++) {
        if (told) EXPECT_EQUAL(madvise((void *)p, 2 * MIB, MADV_DOFORK), 0);
        pid_t child = fork();
        if (!child) {
            *(volatile int *)p = 2;
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        EXPECT(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS));
        EXPECT_EQUAL(*(int *)p, 1);
    }
}

static void a_vfork_child_touches_what_is_on_a_device(void)
{
    enum { PAGES = 64, PAGE = 4096 };
    static const CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    CUdeviceptr p = managed(2 * MIB);
    for (int round = 0; round < 3; round++) {
        CHECK(cuMemPrefetchAsync(p, 2 * MIB, round ? device : host, 0, NULL));
        CHECK(cuCtxSynchronize());
        pid_t child = vfork();
        if (!child) {
            alarm(20);
            for (int k = 0; k < PAGES; k++) ((volatile char *)p)[k * PAGE]++;
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQUAL(status, 0);
        for (int k = 0; k < PAGES; k++) EXPECT_EQUAL(((char *)p)[k * PAGE], round + 1);
    }
}

static void a_vfork_child_may_not_touch_a_freed_one_among_others(void)
{
    CUdeviceptr keep = managed(4096), p = managed(MIB);
    *(int *)p = *(int *)keep = 1;
    CHECK(cuMemFree(p));
    pid_t child = vfork();
    if (!child) {
        alarm(20);
        *(volatile int *)p = 2;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQUAL(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGSEGV);
    EXPECT_EQUAL(*(int *)keep, 1);
}

static _Atomic bool over;

static void *set_actions(void *unused)
{
    struct sigaction now;
    while (!over) {
        EXPECT(!sigaction(SIGSEGV, NULL, &now));
        EXPECT(!sigaction(SIGSEGV, &now, NULL));
    }
    return unused;
}

static void a_forked_child_may_handle_its_signals(void)
{
    enum { CHILDREN = 300 };
    pthread_t thread;
    managed(MIB);
    EXPECT(!pthread_create(&thread, NULL, set_actions, NULL));
    for (int k = 0; k < CHILDREN; k++) {
        int status = -1;
        pid_t child = fork();
        if (!child) {
            alarm(20);
            signal(SIGSEGV, SIG_DFL);
            _exit(0);
        }
        waitpid(child, &status, 0);
        EXPECT_EQUAL(status, 0);
    }
    over = true;
    EXPECT(!pthread_join(thread, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_forked_child_has_no_managed_memory),
        ALONE(start, a_forked_child_may_handle_its_signals),
        ALONE(start, a_vfork_child_touches_what_is_on_a_device),
        ALONE(start, a_vfork_child_may_not_touch_a_freed_one_among_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
