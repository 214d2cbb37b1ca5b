/* Waiting for a word in memory that processes share. */
#ifndef FL_BASE_FUTEX_H
#define FL_BASE_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns when *word is no longer value, when woken, after ns nanoseconds (0: never), or for no reason. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
    syscall(SYS_futex, word, FUTEX_WAIT, value, ns ? &t : NULL, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word, int count) { syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0); }

static inline void cpu_relax(void) { __builtin_ia32_pause(); }

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
