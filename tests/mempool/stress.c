/* Threads and streams take and give back memory of one pool at random, for a
 * short time. Every word of an allocation is written by a kernel with the
 * allocation's own number and checked in stream order before it is freed: a
 * piece lent twice, or lent too early, is seen. argv[1]: milliseconds. */
#include "../check.h"
#include "../rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 4, STREAMS = 3, HELD = 24, MOST_WORDS = 300000 };

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
    CHECK(cuMemAllocFromPoolAsync(&h->p, 4ul * h->words, pool, s));
    CHECK(rig_launch(fill, h->p, h->words, h->number, s));
}

/* Sometimes in another stream, which waits for the one that used it. */
static void give(struct held *h, CUstream other, CUevent e, unsigned *seed, uint32_t *pinned)
{
    struct look *l = malloc(sizeof *l);
    *l = (struct look){ h->number, pinned };
    CHECK(cuMemcpyDtoHAsync(&pinned[0], h->p, 4, h->stream));
    CHECK(cuMemcpyDtoHAsync(&pinned[1], h->p + 4 * (h->words / 2), 4, h->stream));
    CHECK(cuMemcpyDtoHAsync(&pinned[2], h->p + 4 * (h->words - 1), 4, h->stream));
    CHECK(cuLaunchHostFunc(h->stream, look, l));
    if (rand_r(seed) % 3 == 0) {
        CHECK(cuEventRecord(e, h->stream));
        CHECK(cuStreamWaitEvent(other, e, 0));
        CHECK(cuMemFreeAsync(h->p, other));
    } else {
        CHECK(cuMemFreeAsync(h->p, h->stream));
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
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAllocHost((void **)&pinned, 4096 * 12));
    CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    for (int k = 0; k < STREAMS; k++) CHECK(cuStreamCreate(&s[k], k ? CU_STREAM_NON_BLOCKING : 0));
    for (unsigned n = 0; now() < until; n++) {
        struct held *h = &held[rand_r(&seed) % HELD];
        if (h->p)
            give(h, s[rand_r(&seed) % STREAMS], e, &seed, pinned + 3 * (n % 4096));
        else
            take(h, s[rand_r(&seed) % STREAMS], &seed);
        if (rand_r(&seed) % 50 == 0) CHECK(cuStreamSynchronize(s[rand_r(&seed) % STREAMS]));
        if (rand_r(&seed) % 200 == 0) CHECK(cuMemPoolTrimTo(pool, 0));
        if (n % 1024 == 1023) /* the pinned words are used again */
            for (int k = 0; k < STREAMS; k++) CHECK(cuStreamSynchronize(s[k]));
    }
    for (int k = 0; k < HELD; k++)
        if (held[k].p) CHECK(cuMemFreeAsync(held[k].p, held[k].stream));
    for (int k = 0; k < STREAMS; k++) {
        CHECK(cuStreamSynchronize(s[k]));
        CHECK(cuStreamDestroy(s[k]));
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
    CHECK(cuMemGetInfo(&before, &total));
    CHECK(cuMemPoolCreate(&pool, &props));
    until = now() + (argc > 1 ? atof(argv[1]) : 2000);
    for (uintptr_t k = 0; k < THREADS; k++) pthread_create(&t[k], NULL, work, (void *)k);
    for (int k = 0; k < THREADS; k++) pthread_join(t[k], NULL);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(cuMemPoolDestroy(pool));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemGetInfo(&after, &total));
    printf("%u allocations, %u checked, %u wrong; %lu bytes in use at the end, %ld bytes lost\n", number, done, wrong,
           (unsigned long)used, (long)(before - after));
    return wrong || !done || used || before != after;
}
