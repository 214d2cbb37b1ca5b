/* Threads of the host, kernels of two devices, prefetches and advice on the same
 * pages at once, in several times the devices' memory: no increment is lost.
 * usage: FAULTLINE_DEVICES=2 FAULTLINE_VRAM=32M stress SECONDS */

#include "../check.h"
#include "../draw.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ALLOCATIONS = 5, PAGES = 6144, PAGE = 4096, HOSTS = 2, LAUNCHERS = 3 };

/* bump(base, pages, stride): each thread adds 1 to the first word of a page */
static const char kernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry bump(.param .u64 a, .param .u32 n, .param .u32 s) {\n"
    ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [a]; ld.param.u32 %r1, [n]; ld.param.u32 %r7, [s];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "setp.ge.u32 %p, %r5, %r1; @%p bra E;\n"
    "mul.lo.u32 %r5, %r5, %r7; mul.wide.u32 %d2, %r5, 4096; add.u64 %d3, %d1, %d2;\n"
    "atom.global.sys.add.u32 %r6, [%d3], 1;\nE: ret; }\n";

static CUcontext context[2];
static CUfunction bump[2];
static CUdeviceptr memory[ALLOCATIONS];
static _Atomic uint32_t expected[ALLOCATIONS][PAGES];
static _Atomic int stop;
static _Atomic long operations;

struct place {
    int a;
    uint32_t first, count, stride;
};

static struct place draw_place(uint64_t *s, uint32_t most)
{
    struct place p = { .a = (int)draw_from(s, ALLOCATIONS),
                       .first = draw_from(s, PAGES),
                       .stride = 1 + draw_from(s, 3) * draw_from(s, 9) };
    p.count = 1 + draw_from(s, most);
    if (p.first + p.count * p.stride > PAGES) p.count = (PAGES - p.first + p.stride - 1) / p.stride;
    return p;
}

static void expect(struct place p)
{
    for (uint32_t k = 0; k < p.count; k++) atomic_fetch_add(&expected[p.a][p.first + k * p.stride], 1);
    atomic_fetch_add(&operations, 1);
}

static void *host(void *arg)
{
    uint64_t s = 0x9e3779b97f4a7c15u * (1 + (uintptr_t)arg);
    while (!stop) {
        struct place p = draw_place(&s, 64);
        for (uint32_t k = 0; k < p.count; k++) {
            uintptr_t word = memory[p.a] + (uint64_t)(p.first + k * p.stride) * PAGE;
            atomic_fetch_add((_Atomic uint32_t *)word, 1);
        }
        expect(p);
    }
    return NULL;
}

static void *launcher(void *arg)
{
    int d = (uintptr_t)arg % 2;
    uint64_t s = 0xc2b2ae3d27d4eb4fu * (1 + (uintptr_t)arg);
    CUstream stream;
    CHECK(cuCtxSetCurrent(context[d]));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    while (!stop) {
        struct place p = draw_place(&s, 1500);
        CUdeviceptr base = memory[p.a] + (uint64_t)p.first * PAGE;
        void *parameters[] = { &base, &p.count, &p.stride };
        CHECK(cuLaunchKernel(bump[d], (p.count + 31) / 32, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
        expect(p);
        if (draw_from(&s, 2)) CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuStreamSynchronize(stream));
    return NULL;
}

static void *adviser(void *arg)
{
    uint64_t s = 77;
    CHECK(cuCtxSetCurrent(context[0]));
    while (!stop) {
        struct place p = draw_place(&s, 3000);
        CUdeviceptr base = memory[p.a] + (uint64_t)p.first * PAGE;
        uint32_t pages = p.count * p.stride < PAGES - p.first ? p.count * p.stride : PAGES - p.first;
        CUmemLocation where = { CU_MEM_LOCATION_TYPE_DEVICE, (int)draw_from(&s, 3) };
        if (where.id == 2) where = (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 };
        if (draw_from(&s, 3))
            CHECK(cuMemPrefetchAsync(base, (size_t)pages * PAGE, where, 0, NULL));
        else
            CHECK(cuMemAdvise(base, (size_t)pages * PAGE, (CUmem_advise)(1 + draw_from(&s, 6)), where));
        if (!draw_from(&s, 4)) CHECK(cuStreamSynchronize(NULL));
        usleep(200);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t threads[HOSTS + LAUNCHERS + 1];
    int count = 0;
    CHECK(cuInit(0));
    for (int d = 1; d >= 0; d--) {
        CUmodule m;
        CHECK(cuDevicePrimaryCtxRetain(&context[d], d));
        CHECK(cuCtxSetCurrent(context[d]));
        CHECK(cuModuleLoadData(&m, kernels));
        CHECK(cuModuleGetFunction(&bump[d], m, "bump"));
    }
    for (int a = 0; a < ALLOCATIONS; a++) CHECK(cuMemAllocManaged(&memory[a], (size_t)PAGES * PAGE, CU_MEM_ATTACH_GLOBAL));
    for (uintptr_t k = 0; k < HOSTS; k++) pthread_create(&threads[count++], NULL, host, (void *)k);
    for (uintptr_t k = 0; k < LAUNCHERS; k++) pthread_create(&threads[count++], NULL, launcher, (void *)k);
    pthread_create(&threads[count++], NULL, adviser, NULL);
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 5);
    stop = 1;
    while (count) pthread_join(threads[--count], NULL);
    for (int d = 0; d < 2; d++) {
        CHECK(cuCtxSetCurrent(context[d]));
        CHECK(cuCtxSynchronize());
    }
    long wrong = 0;
    for (int a = 0; a < ALLOCATIONS; a++)
        for (int k = 0; k < PAGES; k++) {
            uint32_t saw = *(volatile uint32_t *)(memory[a] + (uint64_t)k * PAGE), want = expected[a][k];
            if (saw != want && !wrong++) printf("allocation %d, page %d: %u, not %u\n", a, k, saw, want);
        }
    printf("%ld operations, %ld pages wrong\n", operations, wrong);
    return wrong != 0;
}
