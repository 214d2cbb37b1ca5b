/* Signals are the program's: whichever it blocks, and whatever handlers it has, pages that lie on a device are there for
 * it. On every way to fault. */
#include "rig.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

enum { SIZE = 4 << 20 };
static const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
static CUdeviceptr memory;
static sigjmp_buf back;
static volatile int seen;
static volatile int *volatile nowhere = (volatile int *)8;

static volatile int *on_device(void)
{
    *(volatile int *)memory = 1;
    CHECK(cuMemPrefetchAsync(memory, SIZE, device, 0, NULL));
    CHECK(cuCtxSynchronize());
    return (volatile int *)memory;
}

static void *with_all_blocked(void *word)
{
    sigset_t all, now;
    sigfillset(&all);
    EXPECT_EQUAL(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
    seen = *(volatile int *)word;
    EXPECT_EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    EXPECT(sigismember(&now, SIGSEGV) && sigismember(&now, SIGUSR1));
    sigemptyset(&all);
    EXPECT_EQUAL(pthread_sigmask(SIG_SETMASK, &all, &now), 0);
    EXPECT(sigismember(&now, SIGSEGV));
    EXPECT_EQUAL(sigprocmask(SIG_BLOCK, NULL, &now), 0);
    EXPECT(!sigismember(&now, SIGSEGV));
    return NULL;
}

static void a_thread_that_blocks_everything_touches_them(void)
{
    pthread_t thread;
    seen = 0;
    EXPECT_EQUAL(pthread_create(&thread, NULL, with_all_blocked, (void *)on_device()), 0);
    pthread_join(thread, NULL);
    EXPECT_EQUAL(seen, 1);
}

static void look(int number)
{
    (void)number;
    seen = *(volatile int *)memory;
}

static void a_handler_that_blocks_everything_touches_them(void)
{
    struct sigaction a = { .sa_handler = look };
    sigfillset(&a.sa_mask);
    EXPECT_EQUAL(sigaction(SIGUSR1, &a, NULL), 0);
    on_device();
    seen = 0;
    raise(SIGUSR1);
    EXPECT_EQUAL(seen, 1);
}

static void look_and_leave(int number)
{
    look(number);
    siglongjmp(back, 1);
}

static void the_handler_of_sigsegv_touches_them(void)
{
    struct sigaction a = { .sa_handler = look_and_leave }, before;
    EXPECT_EQUAL(sigaction(SIGSEGV, &a, &before), 0);
    for (int k = 0; k < 3; k++) {
        on_device();
        seen = 0;
        if (!sigsetjmp(back, 1)) *nowhere = 1;
        EXPECT_EQUAL(seen, 1);
    }
    EXPECT_EQUAL(sigaction(SIGSEGV, &before, NULL), 0);
}

static void note(int number) { seen += number == SIGSEGV; }

/* Ends with the second of its faults, not before and not after. */
static void a_handler_for_one_signal_is_called_once(void)
{
    pid_t child = fork();
    if (!child) {
        struct sigaction a = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND };
        alarm(20);
        seen = 0;
        sigaction(SIGSEGV, &a, NULL);
        raise(SIGSEGV);
        if (seen != 1) _exit(1);
        *nowhere = 1;
        _exit(2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void who_blocks_it_is_ended_by_a_fault_of_its_own(void)
{
    pid_t child = fork();
    if (!child) {
        sigset_t segv;
        alarm(20);
        signal(SIGSEGV, note);
        sigemptyset(&segv);
        sigaddset(&segv, SIGSEGV);
        sigprocmask(SIG_BLOCK, &segv, NULL);
        *nowhere = 1;
        _exit(2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(void)
{
    alarm(100);
    check_context();
    CHECK(cuMemAllocManaged(&memory, SIZE, CU_MEM_ATTACH_GLOBAL));
    a_thread_that_blocks_everything_touches_them();
    a_handler_that_blocks_everything_touches_them();
    the_handler_of_sigsegv_touches_them();
    a_handler_for_one_signal_is_called_once();
    who_blocks_it_is_ended_by_a_fault_of_its_own();
    CHECK(cuMemFree(memory));
    return 0;
}
