/* How benchmarks take time and tell it: medians, in microseconds unless a
 * figure's name ends in .ns or -a-second. */
#ifndef FL_BENCH_MEASURE_H
#define FL_BENCH_MEASURE_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Both sort v. */
static inline double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return v[n / 2];
}
static inline double least(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return v[0];
}

/* One line per figure: "name value"; bench/run puts them side by side. */
static inline void report(const char *name, double value)
{
    printf("%s %.3f\n", name, value);
    fflush(stdout);
}

/* This thread to the first processor of all, or to the last: two that wake each other on one would only switch. */
enum place { FIRST_PROCESSOR, LAST_PROCESSOR };
static inline void pin(const cpu_set_t *all, enum place place)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int k = 0; k < CPU_SETSIZE; k++) {
        if (!CPU_ISSET(k, all)) continue;
        CPU_ZERO(&one);
        CPU_SET(k, &one);
        if (place == FIRST_PROCESSOR) break;
    }
    sched_setaffinity(0, sizeof one, &one);
}

#endif
