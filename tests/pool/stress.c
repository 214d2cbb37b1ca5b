/* Threads and streams take and give back memory of one pool at random, for a
 * short time. Every word of an allocation is written by a kernel with the
 * allocation's own number and checked in stream order before it is freed: a
 * piece lent twice, or lent too early, is seen. argv[1]: milliseconds. */
#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 4, STREAMS = 3, HELD = 24, MOST_WORDS = 300000 };

#define must(call) \
    do { \
        CUresult r_ = (call); \
        if (r_) { \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, r_); \
            exit(2); \
        } \
    } while (0)

static CUcontext context;
static CUmemoryPool pool;
static CUfunction fill;
static _Atomic uint32_t number;
static _Atomic unsigned wrong, done;
static double until;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* What a check finds, when its turn comes in the stream. */
struct look {
    uint32_t expected, *found; /* first, middle and last word */
};

static void look(void *arg)
{
    struct look *l = arg;
    for (int k = 0; k < 3; k++)
        if (l->found[k] != l->expected && atomic_fetch_add(&wrong, 1) < 5)
            fprintf(stderr, "an allocation of number %u has %u\n", l->expected, l->found[k]);
    atomic_fetch_add(&done, 1);
    free(l);
}

struct held {
    CUdeviceptr p;
    uint32_t words, number;
    CUstream stream;
};

static void take(struct held *h, CUstream s, unsigned *seed)
{
    h->words = 1 + rand_r(seed) % (rand_r(seed) % 4 ? 3000 : MOST_WORDS);
    h->number = atomic_fetch_add(&number, 1) + 1;
    h->stream = s;
    must(cuMemAllocFromPoolAsync(&h->p, 4ul * h->words, pool, s));
    must(rig_launch(fill, h->p, h->words, h->number, s));
}

/* Sometimes in another stream, which waits for the one that used it. */
static void give(struct held *h, CUstream other, CUevent e, unsigned *seed, uint32_t *pinned)
{
    struct look *l = malloc(sizeof *l);
    *l = (struct look){ h->number, pinned };
    must(cuMemcpyDtoHAsync(&pinned[0], h->p, 4, h->stream));
    must(cuMemcpyDtoHAsync(&pinned[1], h->p + 4 * (h->words / 2), 4, h->stream));
    must(cuMemcpyDtoHAsync(&pinned[2], h->p + 4 * (h->words - 1), 4, h->stream));
    must(cuLaunchHostFunc(h->stream, look, l));
    if (rand_r(seed) % 3 == 0) {
        must(cuEventRecord(e, h->stream));
        must(cuStreamWaitEvent(other, e, 0));
        must(cuMemFreeAsync(h->p, other));
    } else {
        must(cuMemFreeAsync(h->p, h->stream));
    }
    h->p = 0;
}

static void *work(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg * 7919 + 1;
    struct held held[HELD] = { 0 };
    CUstream s[STREAMS];
    CUevent e;
    uint32_t *pinned;
    must(cuCtxSetCurrent(context));
    must(cuMemAllocHost((void **)&pinned, 4096 * 12));
    must(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    for (int k = 0; k < STREAMS; k++) must(cuStreamCreate(&s[k], k ? CU_STREAM_NON_BLOCKING : 0));
    for (unsigned n = 0; now() < until; n++) {
        struct held *h = &held[rand_r(&seed) % HELD];
        if (h->p)
            give(h, s[rand_r(&seed) % STREAMS], e, &seed, pinned + 3 * (n % 4096));
        else
            take(h, s[rand_r(&seed) % STREAMS], &seed);
        if (rand_r(&seed) % 50 == 0) must(cuStreamSynchronize(s[rand_r(&seed) % STREAMS]));
        if (rand_r(&seed) % 200 == 0) must(cuMemPoolTrimTo(pool, 0));
        if (n % 1024 == 1023) /* the pinned words are used again */
            for (int k = 0; k < STREAMS; k++) must(cuStreamSynchronize(s[k]));
    }
    for (int k = 0; k < HELD; k++)
        if (held[k].p) must(cuMemFreeAsync(held[k].p, held[k].stream));
    for (int k = 0; k < STREAMS; k++) {
        must(cuStreamSynchronize(s[k]));
        must(cuStreamDestroy(s[k]));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    size_t before, after, total;
    cuuint64_t used;
    context = rig_context(0);
    fill = rig_kernel("fill");
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    must(cuMemGetInfo(&before, &total));
    must(cuMemPoolCreate(&pool, &props));
    until = now() + (argc > 1 ? atof(argv[1]) : 2000);
    for (uintptr_t k = 0; k < THREADS; k++) pthread_create(&t[k], NULL, work, (void *)k);
    for (int k = 0; k < THREADS; k++) pthread_join(t[k], NULL);
    must(cuCtxSynchronize());
    must(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    must(cuMemPoolDestroy(pool));
    must(cuCtxSynchronize());
    must(cuMemGetInfo(&after, &total));
    printf("%u allocations, %u checked, %u wrong; %lu bytes in use at the end, %ld bytes lost\n", number, done, wrong,
           (unsigned long)used, (long)(before - after));
    return wrong || !done || used || before != after;
}
