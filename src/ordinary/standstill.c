/* See standstill.h. Threads are found by their descriptors and stopped by a signal. */
#include "ordinary/standstill.h"
#include "base/quiet.h"
#include "base/tasks.h"
#include "ordinary/free_signal.h"
#include "ordinary/movable.h"
#include "ordinary/regions.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256, PAUSE_NS = 50000, PAUSES = 4000 };

void stand_still(_Atomic int *here, _Atomic int *until)
{
#if defined __x86_64__
    register long timeout __asm__("r10") = 0;
    __asm__ volatile("movl $1, (%[here])\n"
                     "1: movl %[futex], %%eax\n"
                     "syscall\n"
                     "cmpl $0, (%%rdi)\n"
                     "je 1b"
                     :
                     : [here] "r"(here), [futex] "i"(SYS_futex), "D"(until), "S"((long)FUTEX_WAIT_PRIVATE), "d"(0L),
                       "r"(timeout)
                     : "rax", "rcx", "r11", "cc", "memory");
#else
    atomic_store(here, 1);
    while (!atomic_load(until)) syscall(SYS_futex, until, FUTEX_WAIT_PRIVATE, 0, NULL);
#endif
}

static struct {
    uint64_t va, end;
    int but;
    unsigned count;
    bool too_many;
    struct {
        _Atomic int thread, stands;
    } of[MOST];
} crowd;
static _Atomic int over = 1;
static int number; /* of the signal */

/* Where a stack begins that ends above `at`: at its guard, if it has one. */
static bool stack_begins(uint64_t at, uint64_t *start)
{
    struct region *list;
    size_t n;
    uint64_t reach = movable_reach();
    if (regions_of(at > reach ? at - reach : 0, at + 1, &list, &n)) return false;
    for (*start = at + 1; n && list[n - 1].end == *start && list[n - 1].prot & PROT_WRITE; n--) *start = list[n - 1].start;
    free(list);
    return true;
}

static void note(void *arg, int thread, uint64_t descriptor)
{
    uint64_t start;
    (void)arg;
    if (thread == crowd.but || thread == (int)syscall(SYS_gettid)) return;
    /* the main thread's descriptor lies elsewhere; what its program was called with, above its stack */
    uint64_t at = thread == getpid() ? getauxval(AT_EXECFN) : descriptor;
    if (!at || !stack_begins(at, &start)) return;
    if (at + TASK_DESCRIPTOR <= crowd.va || start >= crowd.end) return;
    crowd.too_many |= crowd.count == MOST;
    if (crowd.too_many) return;
    atomic_store(&crowd.of[crowd.count].stands, 0);
    atomic_store(&crowd.of[crowd.count++].thread, thread);
}

/* Who comes late, when all is over, goes on. */
static void on_signal(int signal)
{
    int self = (int)syscall(SYS_gettid);
    (void)signal;
    for (unsigned k = 0; k < MOST; k++) {
        if (atomic_load(&crowd.of[k].thread) != self || atomic_load(&over)) continue;
        stand_still(&crowd.of[k].stands, &over);
        atomic_store(&crowd.of[k].stands, 0);
    }
}

static bool gone(int thread) { return syscall(SYS_tgkill, getpid(), thread, 0) != 0; }

/* Waits until all do, or none. */
static bool all_stand(bool want)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    unsigned k = 0;
    for (unsigned pauses = 0; k < crowd.count && pauses < PAUSES;) {
        if (atomic_load(&crowd.of[k].stands) == want || gone(atomic_load(&crowd.of[k].thread))) {
            k++;
            continue;
        }
        nanosleep(&pause, NULL);
        pauses++;
    }
    return k == crowd.count;
}

bool standstill_prepare(void)
{
    if (!free_signal(&number, on_signal)) return false;
    quiet_spare(number);
    return true;
}

bool standstill_begin(uint64_t va, uint64_t size, int but)
{
    crowd.va = va;
    crowd.end = va + size;
    crowd.but = but;
    crowd.count = 0;
    crowd.too_many = false;
    for (unsigned k = 0; k < MOST; k++) atomic_store(&crowd.of[k].thread, 0);
    bool known = tasks_each(note, NULL) && !crowd.too_many;
    if (!known || !crowd.count) return known;
    if (!standstill_prepare()) return false;
    atomic_store(&over, 0);
    for (unsigned k = 0; k < crowd.count; k++) syscall(SYS_tgkill, getpid(), atomic_load(&crowd.of[k].thread), number);
    if (all_stand(true)) return true;
    standstill_end();
    return false;
}

void standstill_end(void)
{
    atomic_store(&over, 1);
    if (!crowd.count) return;
    syscall(SYS_futex, &over, FUTEX_WAKE_PRIVATE, INT_MAX);
    all_stand(false); /* who is still about to go on would stand where it does when it is to stand again */
}
