/* What observation costs: an event that nobody listens to, one that is
 * recorded, beside the two atomic additions that counting takes; and launches
 * that leave records beside launches that do not. Prints "name value" in ns. */
#include "trace/trace.h"

#include <cuda.h>
#include <faultline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EVENTS = 100000, ROUNDS = 15, LAUNCHES = 400 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void event(void)
{
    trace_write(
        (struct trace_record){ .kind = TRACE_CPU_FAULT, .access = TRACE_ACCESS_READ, .address = 4096, .bytes = 4096 });
}

static void add(void)
{
    static _Atomic uint64_t a, b;
    atomic_fetch_add_explicit(&a, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&b, 1, memory_order_relaxed);
}

static double each(void (*what)(void))
{
    double ns[ROUNDS];
    for (int k = 0; k < ROUNDS; k++) {
        double from = now_ns();
        for (int i = 0; i < EVENTS; i++) what();
        ns[k] = (now_ns() - from) / EVENTS;
    }
    qsort(ns, ROUNDS, sizeof *ns, ascending);
    return ns[ROUNDS / 2];
}

static CUfunction empty;

static double launch(void)
{
    double ns[ROUNDS];
    for (int k = 0; k < ROUNDS; k++) {
        double from = now_ns();
        for (int i = 0; i < LAUNCHES; i++)
            if (cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)) exit(1);
        if (cuCtxSynchronize()) exit(1);
        ns[k] = (now_ns() - from) / LAUNCHES;
    }
    qsort(ns, ROUNDS, sizeof *ns, ascending);
    return ns[ROUNDS / 2];
}

int main(void)
{
    struct faultline_cursor cursor;
    CUcontext c;
    CUmodule m;
    static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty(){ ret; }\n";
    if (cuInit(0) || cuCtxCreate(&c, NULL, 0, 0) || cuModuleLoadData(&m, ptx) ||
        cuModuleGetFunction(&empty, m, "empty"))
        return 1;
    printf("trace.add.ns %.2f\ntrace.idle.ns %.2f\n", each(add), each(event));
    trace_listen(TRACE_LISTEN_RECORDS, true);
    printf("trace.recorded.ns %.2f\n", each(event));
    trace_listen(TRACE_LISTEN_RECORDS, false);
    printf("trace.launch.ns %.1f\n", launch());
    if (faultline_subscribe(&cursor, 1)) return 1;
    printf("trace.launch.recorded.ns %.1f\n", launch());
    return 0;
}
