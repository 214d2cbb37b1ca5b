/* Threads that take random steps for a while, each with memory and streams of its own, while kernels check what they
 * find. usage of such a program: [SECONDS [SEED]] */
#ifndef FL_TESTS_SOAK_H
#define FL_TESTS_SOAK_H

#include "check.h"
#include "draw.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* A thread's state begins with this. */
struct soaker {
    pthread_t thread;
    uint64_t draws;
    CUdeviceptr wrong; /* what its kernels count there was not as it had to be */
};

/* What a thread does with its state: once, again and again, once. */
struct soak {
    void (*begin)(void *state), (*step)(void *state), (*end)(void *state);
};

static CUcontext soak_context;
static unsigned long soak_seconds, soak_until;
static uint64_t soak_seed;
static struct soak soak_steps;

static inline unsigned soak_draw(struct soaker *s, unsigned n) { return (unsigned)draw_from(&s->draws, n); }

static inline unsigned long soak_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long)t.tv_sec;
}

/* A context, and the module that the PTX makes. */
static inline CUmodule soak_begin(int argc, char **argv, const char *ptx)
{
    CUmodule m;
    soak_seconds = argc > 1 ? strtoul(argv[1], NULL, 0) : 2;
    soak_seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&soak_context, 0));
    CHECK(cuCtxSetCurrent(soak_context));
    CHECK(cuModuleLoadData(&m, ptx));
    return m;
}

static void *soak_thread(void *state)
{
    struct soaker *s = state;
    uint32_t wrong;
    CHECK(cuCtxSetCurrent(soak_context));
    CHECK(cuMemAlloc(&s->wrong, sizeof wrong));
    CHECK(cuMemsetD32(s->wrong, 0, 1));
    CHECK(cuStreamSynchronize(NULL));
    soak_steps.begin(state);
    while (soak_clock() < soak_until) soak_steps.step(state);
    soak_steps.end(state);
    CHECK(cuMemcpyDtoH(&wrong, s->wrong, sizeof wrong));
    EXPECT_EQUAL(wrong, 0);
    CHECK(cuMemFree(s->wrong));
    return NULL;
}

/* count threads, whose states are so many bytes each, until the time is over. */
static inline void soak(struct soak steps, void *states, size_t size, unsigned count)
{
    soak_steps = steps;
    soak_until = soak_clock() + soak_seconds;
    for (unsigned k = 0; k < count; k++) {
        struct soaker *s = (struct soaker *)((char *)states + k * size);
        s->draws = soak_seed * count + k + 1;
        EXPECT(!pthread_create(&s->thread, NULL, soak_thread, s));
    }
    for (unsigned k = 0; k < count; k++) EXPECT(!pthread_join(((struct soaker *)((char *)states + k * size))->thread, NULL));
}

#endif
