/* The thread that serves those faults of devices outside the window that cannot
 * be decided at once. Who serves one waits for locks that a thread of the
 * application may hold; if that is interrupted, and its signal's handler touches
 * managed memory, the service thread must be free for the handler's fault. */
#include "base/futex.h"
#include "base/thread.h"
#include "processor/table.h"

/* More than the workers of all devices ask for at a time, but for those of processes that ended. */
enum { ROOM = 32 * WORKERS_MOST /* a power of two */ };

static struct errand errands[ROOM];
static _Atomic uint32_t brought, taken; /* by the service thread alone, by the other alone */

bool outside_bring(const struct errand *e)
{
    uint32_t at = atomic_load_explicit(&brought, memory_order_relaxed);
    if (at - atomic_load(&taken) == ROOM) return false;
    errands[at % ROOM] = *e;
    atomic_store(&brought, at + 1);
    futex_wake(&brought, 1);
    return true;
}

static void *serve(void *arg)
{
    quiet_begin(); /* for ever: no signal is for this thread */
    for (;;) {
        uint32_t at = atomic_load_explicit(&taken, memory_order_relaxed);
        if (at == atomic_load(&brought)) {
            futex_wait(&brought, at, 0);
            continue;
        }
        struct errand e = errands[at % ROOM];
        atomic_store(&taken, at + 1);
        bool woken;
        errand_answer(&e, fault_serve(&e.fault, false, &woken));
    }
    return arg;
}

CUresult outside_start(void)
{
    return thread_start(serve, NULL, THREAD_STACK) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
