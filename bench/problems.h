/* The problems that both bench programs solve, so that their figures compare. */
#ifndef BENCH_PROBLEMS_H
#define BENCH_PROBLEMS_H

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

/* One line per figure: "name value"; bench/run puts them side by side. */
static inline void report(const char *name, double value)
{
    printf("%s %.3f\n", name, value);
    fflush(stdout);
}

#endif
