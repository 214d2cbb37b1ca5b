/* Managed memory under everything at once: threads that allocate, free, advise,
 * prefetch, discard, copy and touch, with kernels on all devices. Each thread
 * knows what its words are; nothing may get lost. Device memory is small, so
 * that pages are evicted all the time.
 * With "ordinary" (and FAULTLINE_PROFILE=h200-hmm) the same in malloc's memory, which grows
 * and moves by realloc, while children are forked.
 * usage: FAULTLINE_DEVICES=2 FAULTLINE_VRAM=16M churn SECONDS SEED [ordinary] */

#include "../check.h"
#include "../draw.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, RANGES = 6, WORDS = 64, DEVICES_MOST = 16 };

/* poke: one word. bump: thread i adds 1 to the word at + i * stride, for i below n. */
static const char kernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry poke(.param .u64 at, .param .u32 value) { .reg .b32 %r<2>; .reg .b64 %a<2>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [value]; st.global.u32 [%a1], %r1; ret; }\n"
    ".visible .entry bump(.param .u64 at, .param .u64 stride, .param .u32 n) { .reg .pred %p; .reg .b32 %r<4>; .reg "
    ".b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u64 %a2, [stride]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
    "setp.ge.u32 %p, %r2, %r1; @%p bra E; cvt.u64.u32 %a3, %r2; mul.lo.u64 %a3, %a3, %a2; add.u64 %a1, %a1, %a3;\n"
    "atom.sys.global.add.u32 %r3, [%a1], 1; E: ret; }\n";

static CUcontext context[DEVICES_MOST];
static CUfunction poke[DEVICES_MOST], bump[DEVICES_MOST];
static int devices;
static double end;
static bool ordinary;

struct range {
    CUdeviceptr p;
    size_t size, stride;
    uint32_t word[WORDS];
};
struct worker {
    uint64_t state, operations;
    CUstream stream[DEVICES_MOST];
    struct range range[RANGES];
};

static uint32_t next(struct worker *w, uint32_t n) { return (uint32_t)draw_from(&w->state, n); }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static CUdeviceptr get(size_t size)
{
    CUdeviceptr p = 0;
    if (!ordinary)
        CHECK(cuMemAllocManaged(&p, size, CU_MEM_ATTACH_GLOBAL));
    else if (!(p = (CUdeviceptr)malloc(size)))
        abort();
    return p;
}

static void give(CUdeviceptr p)
{
    if (ordinary)
        free((void *)p);
    else
        CHECK(cuMemFree(p));
}

static volatile uint32_t *word(struct range *r, uint32_t k) { return (void *)(r->p + k * r->stride); }

static void allocate(struct worker *w, struct range *r)
{
    r->size = next(w, 2) ? 256 + next(w, 300000) : 65536ul * (1 + next(w, 64));
    r->stride = r->size / WORDS / 4 * 4;
    r->p = get(r->size);
    for (uint32_t k = 0; k < WORDS; k++) *word(r, k) = r->word[k] = w->state >> 20 & 0xffff;
}

static void check(struct range *r, const char *after)
{
    for (uint32_t k = 0; k < WORDS; k++)
        if (*word(r, k) != r->word[k]) {
            fprintf(stderr, "word %u of %zu bytes at %llx is %u, not %u, after %s\n", k, r->size,
                    (unsigned long long)r->p, *word(r, k), r->word[k], after);
            abort();
        }
}

static CUmemLocation somewhere(struct worker *w)
{
    int k = (int)next(w, (uint32_t)devices + 1);
    return (CUmemLocation){ .type = k == devices ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                            .id = k == devices ? 0 : k };
}

/* ---- operations on a range, in the context of device d; each leaves in r->word what memory has to hold */

typedef void operation(struct worker *w, struct range *r, int d);

/* Somewhere in the range. */
static size_t part(struct worker *w, const struct range *r, CUdeviceptr *p)
{
    size_t at = next(w, (uint32_t)r->size);
    *p = r->p + at;
    return 1 + next(w, (uint32_t)(r->size - at));
}

static void host_writes(struct worker *w, struct range *r, int d)
{
    uint32_t k = next(w, WORDS);
    (void)d;
    *word(r, k) = r->word[k] = next(w, 1 << 20);
}

static void host_reads(struct worker *w, struct range *r, int d)
{
    (void)w, (void)d;
    check(r, "nothing");
}

static void kernel(struct worker *w, struct range *r, int d)
{
    uint32_t k = next(w, WORDS), value = next(w, 1 << 20), n = WORDS;
    CUdeviceptr at = r->p + k * r->stride;
    void *one[] = { &at, &value }, *all[] = { &r->p, &r->stride, &n };
    if (next(w, 2)) {
        CHECK(cuLaunchKernel(poke[d], 1, 1, 1, 1, 1, 1, 0, w->stream[d], one, NULL));
        r->word[k] = value;
    } else {
        CHECK(cuLaunchKernel(bump[d], 1, 1, 1, WORDS, 1, 1, 0, w->stream[d], all, NULL));
        for (k = 0; k < WORDS; k++) r->word[k]++;
    }
    CHECK(cuStreamSynchronize(w->stream[d]));
}

static void advice(struct worker *w, struct range *r, int d)
{
    CUdeviceptr p;
    size_t n = part(w, r, &p);
    (void)d;
    CHECK(cuMemAdvise(p, n, (CUmem_advise)(1 + next(w, 6)), somewhere(w)));
}

static void prefetch(struct worker *w, struct range *r, int d)
{
    CUdeviceptr p;
    size_t n = part(w, r, &p);
    CHECK(cuMemPrefetchAsync(p, n, somewhere(w), 0, w->stream[d]));
    if (next(w, 2)) CHECK(cuStreamSynchronize(w->stream[d]));
}

static void device_fills(struct worker *w, struct range *r, int d)
{
    CHECK(cuMemsetD32Async(r->p, 77, r->size / 4, w->stream[d]));
    CHECK(cuStreamSynchronize(w->stream[d]));
    for (uint32_t k = 0; k < WORDS; k++) r->word[k] = 77;
}

static void device_copies(struct worker *w, struct range *r, int d)
{
    struct range other = *r;
    other.p = get(r->size);
    CHECK(cuMemcpyAsync(other.p, r->p, r->size, w->stream[d]));
    CHECK(cuStreamSynchronize(w->stream[d]));
    check(&other, "a copy");
    give(other.p);
}

static void discard(struct worker *w, struct range *r, int d)
{
    CHECK(cuMemDiscardBatchAsync(&r->p, &r->size, 1, 0, w->stream[d]));
    CHECK(cuStreamSynchronize(w->stream[d]));
    for (uint32_t k = 0; k < WORDS; k++) *word(r, k) = r->word[k] = k;
}

static void question(struct worker *w, struct range *r, int d)
{
    CUdeviceptr p;
    size_t n = part(w, r, &p);
    int v;
    (void)d;
    CHECK(cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, n));
}

static void growth(struct worker *w, struct range *r, int d)
{
    (void)d;
    if (r->size > 16000000 || next(w, 8)) return;
    if (!(r->p = (CUdeviceptr)realloc((void *)r->p, r->size * 2))) abort();
    check(r, "a move");
    r->size *= 2;
}

static void child(struct worker *w, struct range *r, int d)
{
    (void)r, (void)d;
    if (next(w, 4)) return;
    pid_t pid = fork();
    if (!pid) _exit(0);
    waitpid(pid, NULL, 0);
}

static void last_look(struct worker *w, struct range *r, int d)
{
    for (d = 0; d < devices; d++) CHECK(cuStreamSynchronize(w->stream[d]));
    check(r, "everything");
    give(r->p);
    r->p = 0;
}

/* Of a hundred operations so many are */
static const struct {
    uint32_t share;
    operation *managed, *ordinary;
} operations[] = {
    { 20, host_writes, host_writes },
    { 10, host_reads, host_reads },
    { 20, kernel, kernel },
    { 20, advice, advice },
    { 15, prefetch, prefetch },
    { 3, device_fills, growth },
    { 3, device_copies, device_copies },
    { 2, discard, child },
    { 3, question, child },
    { 4, last_look, last_look },
};

static void operate(struct worker *w)
{
    struct range *r = &w->range[next(w, RANGES)];
    int d = (int)next(w, (uint32_t)devices), k = 0;
    if (!r->p) {
        allocate(w, r);
        return;
    }
    for (uint32_t n = next(w, 100); n >= operations[k].share; k++) n -= operations[k].share;
    CHECK(cuCtxSetCurrent(context[d]));
    (ordinary ? operations[k].ordinary : operations[k].managed)(w, r, d);
    w->operations++;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (int d = 0; d < devices; d++) {
        CHECK(cuCtxSetCurrent(context[d]));
        CHECK(cuStreamCreate(&w->stream[d], CU_STREAM_NON_BLOCKING));
    }
    while (now() < end) operate(w);
    for (int d = 0; d < devices; d++) CHECK(cuStreamSynchronize(w->stream[d]));
    for (int k = 0; k < RANGES; k++)
        if (w->range[k].p) check(&w->range[k], "the end");
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];
    pthread_t thread[THREADS];
    uint64_t operations = 0;
    if (argc < 3) return 2;
    uint64_t seed = strtoull(argv[2], NULL, 10);
    ordinary = argc > 3 && !strcmp(argv[3], "ordinary");
    alarm(120 + (unsigned)atoi(argv[1]));
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&devices));
    EXPECT(devices <= DEVICES_MOST);
    for (int d = 0; d < devices; d++) {
        CUmodule m;
        CHECK(cuDevicePrimaryCtxRetain(&context[d], d));
        CHECK(cuCtxSetCurrent(context[d]));
        CHECK(cuModuleLoadData(&m, kernels));
        CHECK(cuModuleGetFunction(&poke[d], m, "poke"));
        CHECK(cuModuleGetFunction(&bump[d], m, "bump"));
    }
    end = now() + atof(argv[1]);
    for (int k = 0; k < THREADS; k++) {
        workers[k].state = (seed * THREADS + (unsigned)k + 1) * 0x9e3779b97f4a7c15u;
        pthread_create(&thread[k], NULL, work, &workers[k]);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        operations += workers[k].operations;
    }
    printf("%llu operations\n", (unsigned long long)operations);
    return 0;
}
