/* Addresses that come again: whoever gets one has memory that is nobody else's any more, and page tables do not grow with
 * what was allocated over time. */
#include "rig.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { THREADS = 5, ROUNDS = 40, PAGE = 4096 };
static CUcontext context;

static void start(void)
{
    alarm(200);
    context = check_context();
}

static void addresses_are_used_again(void)
{
    const size_t size = 4ul << 30, some = 100ul << 30;
    CUdeviceptr p, lowest = UINTPTR_MAX, highest = 0;
    for (size_t k = 0; k < 200; k++) {
        CHECK(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL));
        if (p < lowest) lowest = p;
        if (p > highest) highest = p;
        CHECK(cuMemFree(p));
    }
    EXPECT(highest - lowest < some);
    /* what is more than that is there all the same */
    CUdeviceptr held[60];
    for (size_t k = 0; k < 60; k++) CHECK(cuMemAllocManaged(&held[k], size, CU_MEM_ATTACH_GLOBAL));
    for (size_t k = 0; k < 60; k++) *(volatile size_t *)held[k] = k;
    for (size_t k = 0; k < 60; k++) EXPECT_EQUAL(*(volatile size_t *)held[k], k);
    for (size_t k = 0; k < 60; k++) CHECK(cuMemFree(held[k]));
}

/* Fills memory, and finds it as it was. There is room for all of them at once. */
static void *fill(void *number)
{
    const size_t size = 96 << 20;
    CHECK(cuCtxSetCurrent(context));
    for (size_t round = 0; round < ROUNDS; round++) {
        CUdeviceptr p;
        CHECK(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL));
        const size_t mark = round * THREADS + (size_t)(uintptr_t)number + 1;
        for (size_t at = 0; at < size; at += PAGE) *(size_t *)(p + at) = mark;
        for (size_t at = 0; at < size; at += PAGE) EXPECT_EQUAL(*(volatile size_t *)(p + at), mark);
        CHECK(cuMemFree(p));
    }
    return NULL;
}

/* In little room, so that they come again at once. */
static void what_is_freed_late_takes_nothing_away(void)
{
    pthread_t threads[THREADS];
    const struct rlimit little = { 8ul << 30, 8ul << 30 };
    EXPECT_EQUAL(setrlimit(RLIMIT_AS, &little), 0);
    start();
    for (uintptr_t k = 0; k < THREADS; k++) EXPECT_EQUAL(pthread_create(&threads[k], NULL, fill, (void *)k), 0);
    for (unsigned k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "little")) {
        what_is_freed_late_takes_nothing_away();
        return 0;
    }
    start();
    addresses_are_used_again();
    return 0;
}
