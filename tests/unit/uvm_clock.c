/* How much time passes for policy, when a clock and a sleep are this test's. */
#include "context/context.h"
#include "processor/mmu.h"
#include "processor/processor.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t NAP = 500000, STOP = 5000000000u; /* ns */
enum { SECOND = 1000000000 };

struct quiet_mutex uvm_lock = QUIET_MUTEX_INITIALIZER;
struct device devices[MAX_DEVICES];
int device_count;
static uint64_t fake_time = 60u * (uint64_t)SECOND, slept;

pid_t processor_pid(const struct processor *p)
{
    (void)p;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    uint64_t at = clock == CLOCK_MONOTONIC ? fake_time : 0; /* no processor has run for anybody */
    *t = (struct timespec){ (time_t)(at / SECOND), (long)(at % SECOND) };
    return 0;
}

int nanosleep(const struct timespec *t, struct timespec *left)
{
    uint64_t span = (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec;
    (void)left;
    fake_time += span;
    slept += span;
    return 0;
}

long mmu_slept(void) { return 0; }

static struct mmu_fault own_fault(void) { return (struct mmu_fault){ .thread = (int)syscall(SYS_gettid), .slept = 1 }; }

static void what_a_machine_takes_from_a_thread_is_no_time(void **state)
{
    const struct mmu_fault fault = own_fault();
    (void)state;
    quiet_lock(&uvm_lock);
    clock_waited();
    uint64_t begin = uvm_now();
    clock_end();
    fake_time += STOP;
    clock_fault(&fault);
    assert_true(uvm_now() - begin < NAP);
    clock_end();
    quiet_unlock(&uvm_lock);
}

/* The process stood still; another thread saw the time before the one that had acted last did. */
static void a_rest_after_a_stop_is_no_longer_than_any_other(void **state)
{
    const struct mmu_fault fault = own_fault();
    (void)state;
    quiet_lock(&uvm_lock);
    clock_waited();
    clock_end();
    fake_time += STOP;
    uint64_t others = uvm_now();
    clock_fault(&fault);
    uint64_t until = uvm_now() + NAP;
    assert_true(uvm_now() >= others);
    slept = 0;
    uvm_sleep(until);
    assert_int_equal(slept, NAP);
    assert_true(uvm_now() >= until);
    clock_end();
    quiet_unlock(&uvm_lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_machine_takes_from_a_thread_is_no_time),
        cmocka_unit_test(a_rest_after_a_stop_is_no_longer_than_any_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
