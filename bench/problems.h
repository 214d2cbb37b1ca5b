/* What the bench programs share: the problems that the peers solve, too, and how
 * time is taken and told. */
#ifndef BENCH_PROBLEMS_H
#define BENCH_PROBLEMS_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ADD_N = 16 << 20, REDUCE_N = 16 << 20, MATMUL_N = 768 };

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *v, int n)
{
    qsort(v, n, sizeof *v, compare_doubles);
    return v[n / 2];
}

/* To one processor or another: on the same one a wake-up is but a switch. */
static inline void pin(const cpu_set_t *all, int last)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int k = 0; k < CPU_SETSIZE; k++) {
        if (!CPU_ISSET(k, all)) continue;
        if (last) CPU_ZERO(&one);
        CPU_SET(k, &one);
        if (!last) break;
    }
    sched_setaffinity(0, sizeof one, &one);
}

/* One line per figure: "name value"; bench/run puts them side by side. */
static inline void report(const char *name, double value)
{
    printf("%s %.3f\n", name, value);
    fflush(stdout);
}

#endif
