/* Stores that are tried again, because they may have met memory that was
 * protected for a moment; see retry.h. */
#include "ordinary/retry.h"
#include "base/units.h"
#include "ordinary/standstill.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WINDOWS = 64, RETRY_MS = 1000 };

/* Ranges that are or were protected: closed 0 while they are. A fault in one that was
 * closed a moment ago may have happened before. */
struct window {
    _Atomic uint64_t start, end, closed_ms;
};
static struct window windows[WINDOWS];
static unsigned window; /* the newest */
static struct sigaction previous;

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 + 1;
}

static bool covers(struct window *w, uint64_t address)
{
    return address >= atomic_load(&w->start) && address < atomic_load(&w->end);
}

static bool to_be_retried(uint64_t address)
{
    static const struct timespec moment = { .tv_nsec = 20000 };
    for (unsigned k = 0; k < WINDOWS; k++) {
        struct window *w = &windows[k];
        uint64_t closed = 0;
        bool waited = false;
        /* Who tried again at once would keep the kernel's lock from who replaces the pages, and give others the time to
         * map something there. */
        for (; covers(w, address) && !(closed = atomic_load(&w->closed_ms)); waited = true)
            syscall(SYS_nanosleep, &moment, NULL);
        if (waited || (covers(w, address) && now_ms() - closed < RETRY_MS)) return true;
    }
    return false;
}

/* The handler that was here before us gets what is not ours. It may have found us, and pass it back: the same signal,
 * further down the same stack. One that jumped out of an earlier signal has left that where it was. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    static _Thread_local struct {
        const void *volatile context, *volatile frame;
    } passed;
    const void *frame = __builtin_frame_address(0);
    bool back = passed.context == context && (uintptr_t)frame < (uintptr_t)passed.frame;
    bool handled = previous.sa_flags & SA_SIGINFO || (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN);
    if (back || !handled) {
        signal(number, SIG_DFL);
        return;
    }
    passed.context = context;
    passed.frame = frame;
    if (previous.sa_flags & SA_SIGINFO)
        previous.sa_sigaction(number, info, context);
    else
        previous.sa_handler(number);
    passed.context = NULL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    if (info->si_code == SEGV_ACCERR && to_be_retried((uint64_t)info->si_addr)) {
        syscall(SYS_sched_yield);
        errno = saved;
        return;
    }
    pass_on(number, info, context);
}

static bool listen_for_faults(void)
{
    struct sigaction ours = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER }, old;
    if (sigaction(SIGSEGV, NULL, &old)) return false;
    if (old.sa_flags & SA_SIGINFO && old.sa_sigaction == on_fault) return true;
    previous = old;
    return !sigaction(SIGSEGV, &ours, NULL);
}

static bool has_hole(uint64_t va, uint64_t size) { return msync((void *)va, size, MS_ASYNC) && errno == ENOMEM; }

CUresult retry_begin(uint64_t va, uint64_t size, int prot, int but)
{
    struct window *w = &windows[++window % WINDOWS];
    if (!listen_for_faults()) return CUDA_ERROR_OUT_OF_MEMORY;
    /* a thread whose stack is protected has none for the signal */
    if (!standstill_begin(va, size, but)) return CUDA_ERROR_NOT_SUPPORTED;
    atomic_store(&w->end, 0);
    atomic_store(&w->start, va);
    atomic_store(&w->closed_ms, 0);
    atomic_store(&w->end, va + size);
    if (!mprotect((void *)va, size, prot & ~PROT_WRITE)) return CUDA_SUCCESS;
    bool hole = has_hole(va, size);
    retry_end(va, size, prot, false); /* what lies before the hole is protected */
    return hole ? CUDA_ERROR_NOT_READY : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Behind what the program has unmapped meanwhile, too. */
static void give_back(uint64_t va, uint64_t size, int prot)
{
    if (!mprotect((void *)va, size, prot)) return;
    for (uint64_t at = va; at < va + size; at += PAGE_BYTES) mprotect((void *)at, PAGE_BYTES, prot);
}

void retry_end(uint64_t va, uint64_t size, int prot, bool moved)
{
    if (!moved) give_back(va, size, prot);
    atomic_store(&windows[window % WINDOWS].closed_ms, now_ms());
    standstill_end();
}
