/* Host and device take a page from each other, on a processor on which others have to be done first. Only time in
 * which the program might have run counts for thrashing; time in which it wanted to sleep counts, too.
 * Each test runs in a process of its own. */
#include "../victims.h"
#include "rig.h"

#include <faultline.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

enum { ROUNDS = 30, MOST = 256, BUSY = 4000000, IDLE_US = 50, STALL_US = 500000 };

static const char kernels[] = PTX_HEADER PTX_POKE;
static CUfunction poke_kernel;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Leaves the processor to the program from time to time. */
static void be_another(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    EXPECT_EQUAL(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }), 0);
    for (;;) {
        for (uint64_t end = now() + BUSY; now() < end;) {}
        usleep(IDLE_US);
    }
}

/* The program, its devices and another share a processor; the other comes first. */
static void start(void)
{
    cpu_set_t allowed, one;
    EXPECT_EQUAL(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int k = 0; !CPU_COUNT(&one); k++)
        if (CPU_ISSET(k, &allowed)) CPU_SET(k, &one);
    EXPECT_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQUAL(sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 }), 0);
    poke_kernel = function_of(start_with(0, kernels), "poke");
    alarm(280); /* there may be others who come first */
    if (!fork()) be_another();
}

static void start_marked(void)
{
    victims_mark();
    poke_kernel = function_of(start_with(0, kernels), "poke");
}

static void poke(CUdeviceptr p, useconds_t asleep_meanwhile)
{
    uint32_t value = 1;
    CHECK(cuLaunchKernel(poke_kernel, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &p, &value }, NULL));
    if (asleep_meanwhile) usleep(asleep_meanwhile);
    CHECK(cuCtxSynchronize());
}

/* How long it sleeps, in us: before each launch, until the kernel is done, after that. */
static unsigned thrashing_of_rounds(useconds_t before, useconds_t meanwhile, useconds_t after)
{
    struct faultline_cursor cursor;
    struct faultline_event e[MOST];
    unsigned thrashing = 0;
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
    poke(p, 0);
    CHECK(faultline_subscribe(&cursor, 0));
    for (int k = 0; k < ROUNDS && !thrashing; k++) {
        *(volatile uint32_t *)p = 2;
        if (before) usleep(before);
        poke(p, meanwhile);
        if (after) usleep(after);
        for (size_t n; (n = faultline_read(&cursor, e, MOST));)
            for (size_t i = 0; i < n; i++) thrashing += e[i].kind == FAULTLINE_THRASHING;
    }
    return thrashing;
}

static void pages_thrash_on_a_busy_machine_too(void) { EXPECT(thrashing_of_rounds(0, 0, 0) > 0); }
static void who_sleeps_in_between_does_not_thrash(void) { EXPECT_EQUAL(thrashing_of_rounds(2000, 0, 2000), 0); }
static void who_sleeps_until_the_kernel_is_done_does_not_thrash(void) { EXPECT_EQUAL(thrashing_of_rounds(2000, 5000, 0), 0); }

/* A kernel stands still, then faults: this was late, and what comes after is later. */
static void time_goes_on_after_a_kernel_was_held_up(void)
{
    int device = 0;
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, 4 * MIB, CU_MEM_ATTACH_GLOBAL));
    EXPECT_EQUAL(victims_find(&device, 1), 1);
    poke(p, 0);
    EXPECT(!kill(device, SIGSTOP));
    if (!fork()) {
        usleep(STALL_US);
        kill(device, SIGCONT);
        _exit(0);
    }
    poke(p + 2 * MIB, 0);
    EXPECT_EQUAL(thrashing_of_rounds(2000, 0, 2000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start_marked, time_goes_on_after_a_kernel_was_held_up),
        ALONE(start, pages_thrash_on_a_busy_machine_too),
        ALONE(start, who_sleeps_in_between_does_not_thrash),
        ALONE(start_marked, who_sleeps_until_the_kernel_is_done_does_not_thrash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
