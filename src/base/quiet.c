/* See quiet.h. A thread's mask is what it was before the outermost quiet_begin. */
#include "base/quiet.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNAL(number) (1ull << ((number)-1))
enum { SYSTEM_FIRST = 32, SYSTEM_LAST = 33 }; /* the C library's own */

static _Thread_local unsigned depth;
static _Thread_local uint64_t before;
static _Atomic uint64_t waiting = ~(SIGNAL(SIGSEGV) | SIGNAL(SIGBUS) | SIGNAL(SIGILL) | SIGNAL(SIGFPE) |
                                    SIGNAL(SIGTRAP) | SIGNAL(SIGSYS) | SIGNAL(SYSTEM_FIRST) | SIGNAL(SYSTEM_LAST));

/* The system's mask is 64 bits; sigset_t is sixteen times as large, for every thread. */
static void set(int how, const uint64_t *mask, uint64_t *old)
{
    syscall(SYS_rt_sigprocmask, how, mask, old, sizeof *mask);
}

void quiet_begin(void)
{
    uint64_t most = atomic_load_explicit(&waiting, memory_order_relaxed);
    uint64_t old;
    /* a handler that comes before the system call finds, and leaves, 0 */
    if (!depth) {
        set(SIG_BLOCK, &most, &old);
        before = old;
    }
    depth++;
}

void quiet_end(void)
{
    if (!--depth) set(SIG_SETMASK, &before, NULL);
}

void quiet_spare(int number) { atomic_fetch_and(&waiting, ~SIGNAL(number)); }
