/* What a pointer is, and cuMemAlloc: nanoseconds of cuPointerGetAttribute with
 * 100,000 live allocations, at random and in the order of their making, millions
 * of queries a second by two threads while a third allocates and frees,
 * microseconds of cuMemAlloc + cuMemFree of 2 MiB, each beside the raw primitive
 * it stands on. */
#include "client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LIVE = 100000, QUERIES = 1 << 20, READERS = 2, SECONDS_US = 500000, PAIRS = 2000 };

static CUdeviceptr live[LIVE];
static _Atomic int stop;
static _Atomic uint64_t answered;

/* The next of a row that hops about. */
static unsigned hop(unsigned *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static double query_ns(bool in_order)
{
    unsigned state = 1, value, sum = 0;
    double t = now_us();
    for (int k = 0; k < QUERIES; k++) {
        unsigned which = (in_order ? (unsigned)k : hop(&state)) % LIVE;
        CHECK(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, live[which]));
        sum += value;
    }
    if (sum != QUERIES * CU_MEMORYTYPE_DEVICE) exit(1);
    return (now_us() - t) * 1e3 / QUERIES;
}

/* The cost of hopping about in an array of that many cache lines: what any index must pay. */
static double hop_ns(void)
{
    struct line {
        volatile unsigned word;
        unsigned other[31];
    } *lines = calloc(LIVE, sizeof *lines);
    unsigned state = 1, sum = 0;
    double t = now_us();
    for (int k = 0; k < QUERIES; k++) sum += lines[(hop(&state) + sum) % LIVE].word;
    t = now_us() - t;
    free(lines);
    return t * 1e3 / QUERIES;
}

static void *read_on(void *arg)
{
    unsigned state = (unsigned)(uintptr_t)arg, value;
    uint64_t n = 0;
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        for (int k = 0; k < 1000; k++, n++)
            CHECK(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, live[hop(&state) % 1000]));
    atomic_fetch_add(&answered, n);
    return NULL;
}

static void *write_on(void *arg)
{
    CUdeviceptr p;
    CHECK(cuCtxSetCurrent(arg));
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        CHECK(cuMemAlloc(&p, 4096));
        CHECK(cuMemFree(p));
    }
    return NULL;
}

static double million_queries(CUcontext c)
{
    pthread_t readers[READERS], writer;
    atomic_store(&answered, 0);
    atomic_store(&stop, 0);
    double t = now_us();
    for (intptr_t k = 0; k < READERS; k++) pthread_create(&readers[k], NULL, read_on, (void *)(k + 1));
    pthread_create(&writer, NULL, write_on, c);
    while (now_us() - t < SECONDS_US) {
        struct timespec pause = { 0, 1000000 };
        nanosleep(&pause, NULL);
    }
    atomic_store(&stop, 1);
    for (int k = 0; k < READERS; k++) pthread_join(readers[k], NULL);
    pthread_join(writer, NULL);
    return (double)atomic_load(&answered) / (now_us() - t);
}

static double pair_us(void)
{
    CUdeviceptr p;
    double t = now_us();
    for (int k = 0; k < PAIRS; k++) {
        CHECK(cuMemAlloc(&p, 2 << 20));
        CHECK(cuMemFree(p));
    }
    return (now_us() - t) / PAIRS;
}

static double map_us(void)
{
    double t = now_us();
    for (int k = 0; k < PAIRS; k++)
        munmap(mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 2 << 20);
    return (now_us() - t) / PAIRS;
}

/* Other work on the machine only ever makes one slower: so the least, or the greatest. */
static double greatest(double *v, int n) { return median(v, n), v[n - 1]; }

int main(void)
{
    double query[9], order[9], hops[9], pair[9], maps[9], many[5];
    CUcontext c = use_device();
    for (int k = 0; k < LIVE; k++) CHECK(cuMemAlloc(&live[k], 512 + 512 * (size_t)(k % 3)));
    for (int r = -2; r < 9; r++) {
        double q = query_ns(false), o = query_ns(true), h = hop_ns(), p = pair_us(), m = map_us();
        if (r >= 0) query[r] = q, order[r] = o, hops[r] = h, pair[r] = p, maps[r] = m;
    }
    for (int r = 0; r < 5; r++) many[r] = million_queries(c);
    report("pointer.query.ns", least(query, 9));
    report("pointer.order.ns", least(order, 9));
    report("pointer.hop.ns", least(hops, 9));
    report("pointer.million-a-second", greatest(many, 5));
    report("alloc.pair", least(pair, 9));
    report("alloc.pair.raw", least(maps, 9));
    return 0;
}
