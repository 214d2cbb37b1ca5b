/* Children of a program that has managed memory: one that fork made has none of it, one that vfork made has its
 * parent's. Whoever may not touch it gets SIGSEGV, and nobody else does. On every way to fault.
 * usage: children */
#include "rig.h"

#include <sys/mman.h>

static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };

static void start(void)
{
    CUcontext c;
    alarm(240);
    EXPECT(cuInit(0), 0);
    EXPECT(cuDevicePrimaryCtxRetain(&c, 0), 0);
    EXPECT(cuCtxSetCurrent(c), 0);
}

static CUdeviceptr managed(size_t size)
{
    CUdeviceptr p;
    EXPECT(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL), 0);
    return p;
}

static void a_forked_child_has_no_managed_memory(void)
{
    CUdeviceptr p = managed(2 * MIB);
    *(int *)p = 1;
    for (int told = 0; told < 2; told++) {
        if (told) EXPECT(madvise((void *)p, 2 * MIB, MADV_DOFORK), 0);
        pid_t child = fork();
        if (!child) {
            *(volatile int *)p = 2;
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        EXPECT(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS), true);
        EXPECT(*(int *)p, 1);
    }
}

static void a_vfork_child_touches_what_is_on_a_device(void)
{
    enum { PAGES = 64, PAGE = 4096 };
    static const CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    CUdeviceptr p = managed(2 * MIB);
    for (int round = 0; round < 3; round++) {
        EXPECT(cuMemPrefetchAsync(p, 2 * MIB, round ? device : host, 0, NULL), 0);
        EXPECT(cuCtxSynchronize(), 0);
        pid_t child = vfork();
        if (!child) {
            alarm(20);
            for (int k = 0; k < PAGES; k++) ((volatile char *)p)[k * PAGE]++;
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT(status, 0);
        for (int k = 0; k < PAGES; k++) EXPECT(((char *)p)[k * PAGE], round + 1);
    }
}

static void a_vfork_child_may_not_touch_a_freed_one_among_others(void)
{
    CUdeviceptr keep = managed(4096), p = managed(MIB);
    *(int *)p = *(int *)keep = 1;
    EXPECT(cuMemFree(p), 0);
    pid_t child = vfork();
    if (!child) {
        alarm(20);
        *(volatile int *)p = 2;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGSEGV);
    EXPECT(*(int *)keep, 1);
}

/* ---- each in a process of its own */

IN_CHILD(a_forked_child_has_no_managed_memory, 0)
IN_CHILD(a_vfork_child_touches_what_is_on_a_device, 0)
IN_CHILD(a_vfork_child_may_not_touch_a_freed_one_among_others, 0)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_forked_child_has_no_managed_memory),
        cmocka_unit_test(test_a_vfork_child_touches_what_is_on_a_device),
        cmocka_unit_test(test_a_vfork_child_may_not_touch_a_freed_one_among_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
