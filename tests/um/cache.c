/* A cache in managed memory that is several times as large as the device: each thread has blocks that its kernels and
 * its host code change in turn, with all kinds of advice, prefetches there and back, discards, copies and fills, while
 * those of other threads push them out. usage: cache [SECONDS [SEED]] */
#include "../soak.h"

#include <stdint.h>
#include <string.h>

enum { THREADS = 3, BLOCKS = 12, LARGEST = 3 << 20, SAMPLE = 256 /* words between those that are looked at */ };

/* Each SAMPLE-th word grows by what is given; check counts those that are not so large. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry grow(.param .u64 at, .param .u32 n, .param .u32 by, .param .u64 wrong) {\n"
    ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [by]; ld.param.u64 %a3, [wrong];\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r3, %r3, %r4, %r5;\n"
    "setp.ge.u32 %p, %r3, %r1; @%p ret; mul.wide.u32 %a2, %r3, 1024; add.u64 %a1, %a1, %a2; ld.global.u32 %r6, [%a1];\n"
    "setp.ne.u64 %p, %a3, 0; @%p bra LOOK; add.u32 %r6, %r6, %r2; st.global.u32 [%a1], %r6; ret;\n"
    "LOOK: setp.eq.u32 %p, %r6, %r2; @%p ret; red.global.add.u32 [%a3], 1; ret; }\n";

static CUfunction grow;

struct block {
    uint32_t *words; /* managed; NULL: none */
    unsigned samples;
    uint32_t value; /* of each sample */
};
struct user {
    struct soaker soaker;
    CUstream stream;
    struct block block[BLOCKS];
    unsigned long steps;
};

static unsigned any(struct user *u, unsigned n) { return soak_draw(&u->soaker, n); }
static size_t bytes(const struct block *b) { return (size_t)b->samples * SAMPLE * sizeof *b->words; }

static void launch(struct user *u, const struct block *b, uint32_t by, CUdeviceptr wrong)
{
    CUdeviceptr at = (CUdeviceptr)b->words;
    unsigned n = b->samples;
    CHECK(cuLaunchKernel(grow, (n + 127) / 128, 1, 1, 128, 1, 1, 0, u->stream, (void *[]){ &at, &n, &by, &wrong }, NULL));
}

static void make(struct user *u, struct block *b)
{
    CUdeviceptr at;
    b->samples = 1 + any(u, LARGEST / SAMPLE / sizeof *b->words);
    CHECK(cuMemAllocManaged(&at, bytes(b), CU_MEM_ATTACH_GLOBAL));
    b->words = (uint32_t *)at;
    b->value = 0;
    if (any(u, 2))
        CHECK(cuMemsetD32Async(at, 0, bytes(b) / 4, u->stream));
    else
        memset(b->words, 0, bytes(b));
}

static void unmake(struct block *b)
{
    CHECK(cuMemFree((CUdeviceptr)b->words)); /* waits for the kernels */
    *b = (struct block){ .words = NULL };
}

static void on_host(struct user *u, struct block *b)
{
    CHECK(cuStreamSynchronize(u->stream));
    const uint32_t by = any(u, 1000);
    for (unsigned k = 0; k < b->samples; k++) {
        EXPECT_EQUAL(b->words[(size_t)k * SAMPLE], b->value);
        b->words[(size_t)k * SAMPLE] += by;
    }
    b->value += by;
}

static CUmemLocation somewhere(struct user *u)
{
    return (CUmemLocation){ .type = any(u, 2) ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST };
}

static void advise(struct user *u, const struct block *b)
{
    static const CUmem_advise advice[] = { CU_MEM_ADVISE_SET_READ_MOSTLY,        CU_MEM_ADVISE_UNSET_READ_MOSTLY,
                                           CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
                                           CU_MEM_ADVISE_SET_ACCESSED_BY,        CU_MEM_ADVISE_UNSET_ACCESSED_BY };
    CHECK(cuMemAdvise((CUdeviceptr)b->words, bytes(b), advice[any(u, 6)], somewhere(u)));
}

static void prefetch(struct user *u, const struct block *b)
{
    size_t from = any(u, b->samples) * (size_t)SAMPLE * sizeof *b->words;
    CHECK(cuMemPrefetchAsync((CUdeviceptr)b->words + from, bytes(b) - from, somewhere(u), 0, u->stream));
}

/* What it held is worth nothing, so it is filled anew. */
static void refill(struct user *u, struct block *b)
{
    CUdeviceptr at = (CUdeviceptr)b->words;
    size_t size = bytes(b);
    CUmemLocation there = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
    size_t first = 0;
    if (any(u, 2)) CHECK(cuMemDiscardBatchAsync(&at, &size, 1, 0, u->stream));
    if (any(u, 2)) CHECK(cuMemPrefetchBatchAsync(&at, &size, 1, &there, &first, 1, 0, u->stream));
    b->value = any(u, 1u << 30);
    CHECK(cuMemsetD32Async(at, b->value, size / 4, u->stream));
}

/* Out to another block of the same thread, which becomes as large. */
static void copy(struct user *u, const struct block *b, struct block *other)
{
    if (other == b) return;
    if (other->words) unmake(other);
    CUdeviceptr at;
    CHECK(cuMemAllocManaged(&at, bytes(b), CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemcpyDtoDAsync(at, (CUdeviceptr)b->words, bytes(b), u->stream));
    *other = (struct block){ (uint32_t *)at, b->samples, b->value };
}

static void step(void *arg)
{
    struct user *u = arg;
    struct block *b = &u->block[any(u, BLOCKS)];
    unsigned what = any(u, 100);
    u->steps++;
    if (!b->words) {
        make(u, b);
    } else if (what < 35) {
        launch(u, b, what, 0);
        b->value += what;
    } else if (what < 45) {
        launch(u, b, b->value, u->soaker.wrong);
    } else if (what < 60) {
        on_host(u, b);
    } else if (what < 72) {
        advise(u, b);
    } else if (what < 84) {
        prefetch(u, b);
    } else if (what < 90) {
        refill(u, b);
    } else if (what < 96) {
        copy(u, b, &u->block[any(u, BLOCKS)]);
    } else {
        unmake(b);
    }
}

static void begin(void *arg)
{
    CHECK(cuStreamCreate(&((struct user *)arg)->stream, CU_STREAM_NON_BLOCKING));
}

static void end(void *arg)
{
    struct user *u = arg;
    for (struct block *b = u->block; b < u->block + BLOCKS; b++) {
        if (!b->words) continue;
        on_host(u, b);
        unmake(b);
    }
}

int main(int argc, char **argv)
{
    static struct user users[THREADS];
    size_t before, after, total;
    unsigned long steps = 0;
    CHECK(cuModuleGetFunction(&grow, soak_begin(argc, argv, ptx), "grow"));
    CHECK(cuMemGetInfo(&before, &total));
    soak((struct soak){ begin, step, end }, users, sizeof *users, THREADS);
    CHECK(cuMemGetInfo(&after, &total));
    EXPECT_EQUAL(after, before);
    for (unsigned k = 0; k < THREADS; k++) steps += users[k].steps;
    printf("%lu steps\n", steps);
    return 0;
}
