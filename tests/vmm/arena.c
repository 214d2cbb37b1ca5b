/* An arena that grows in place, as frameworks with expandable segments have it: one large reservation, memory mapped at
 * its end when it is needed and unmapped where everything is free, blocks that are freed in the order of a stream and
 * handed out again only when that stream has come there. Each thread has streams of its own and blocks that others'
 * streams read. What a block holds is checked by kernels until it is freed. usage: arena [SECONDS [SEED]] */
#include "../soak.h"

#include <stdbool.h>
#include <stdint.h>

enum { THREADS = 3, STREAMS = 3, LIVE = 24, GRANULE = 2 << 20, UNIT = 64 << 10, PER_GRANULE = GRANULE / UNIT,
       GRANULES = 48, UNITS = GRANULES * PER_GRANULE, LARGEST = 80 };

/* Every 64th word of a block is tag ^ its number. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry touch(.param .u64 at, .param .u32 n, .param .u32 tag, .param .u64 wrong) {\n"
    ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [tag]; ld.param.u64 %a3, [wrong];\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r3, %r3, %r4, %r5;\n"
    "setp.ge.u32 %p, %r3, %r1; @%p ret; mul.wide.u32 %a2, %r3, 256; add.u64 %a1, %a1, %a2; xor.b32 %r2, %r2, %r3;\n"
    "setp.ne.u64 %p, %a3, 0; @%p bra LOOK; st.global.u32 [%a1], %r2; ret;\n"
    "LOOK: ld.global.u32 %r6, [%a1]; setp.eq.u32 %p, %r6, %r2; @%p ret; red.global.add.u32 [%a3], 1; ret; }\n";

static CUfunction touch;
static CUdeviceptr base;

/* ---- the arena, with its lock */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool taken[UNITS], mapped[GRANULES];
static unsigned long grown, shrunk;

static void map(unsigned g)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    const CUmemAccessDesc both = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    const CUdeviceptr at = base + (size_t)g * GRANULE;
    CUmemGenericAllocationHandle h;
    CHECK(cuMemCreate(&h, GRANULE, &prop, 0));
    CHECK(cuMemMap(at, GRANULE, 0, h, 0));
    CHECK(cuMemSetAccess(at, GRANULE, &both, 1));
    CHECK(cuMemRelease(h)); /* the mapping keeps it */
    mapped[g] = true;
    grown++;
}

/* The first run of free units that is long enough; UNITS: none. */
static unsigned first_fit(unsigned n)
{
    unsigned run = 0;
    for (unsigned k = 0; k < UNITS; k++) {
        run = taken[k] ? 0 : run + 1;
        if (run == n) return k + 1 - n;
    }
    return UNITS;
}

static unsigned arena_take(unsigned n)
{
    pthread_mutex_lock(&lock);
    unsigned at = first_fit(n);
    for (unsigned k = at; k < at + n && at < UNITS; k++) {
        taken[k] = true;
        if (!mapped[k / PER_GRANULE]) map(k / PER_GRANULE);
    }
    pthread_mutex_unlock(&lock);
    return at;
}

static void arena_give(unsigned at, unsigned n)
{
    pthread_mutex_lock(&lock);
    for (unsigned k = at; k < at + n; k++) taken[k] = false;
    pthread_mutex_unlock(&lock);
}

/* Neighbours that are free go back to the system in one call. */
static void arena_trim(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned g = 0, first = 0; g <= GRANULES; g++) {
        bool idle = g < GRANULES && mapped[g];
        for (unsigned k = 0; idle && k < PER_GRANULE; k++) idle = !taken[g * PER_GRANULE + k];
        if (idle) {
            mapped[g] = false;
            shrunk++;
            continue;
        }
        if (g > first) CHECK(cuMemUnmap(base + (size_t)first * GRANULE, (size_t)(g - first) * GRANULE));
        first = g + 1;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- blocks */

struct block {
    unsigned at, units;
    uint32_t tag;
    CUstream stream;
    CUevent freed; /* NULL: it is not */
};
struct user {
    struct soaker soaker;
    CUstream stream[STREAMS];
    struct block block[LIVE];
    unsigned long taken, waited;
};

static unsigned any(struct user *u, unsigned n) { return soak_draw(&u->soaker, n); }

static void launch(const struct block *b, CUstream s, CUdeviceptr wrong)
{
    CUdeviceptr at = base + (size_t)b->at * UNIT;
    unsigned n = b->units * (UNIT / 256);
    uint32_t tag = b->tag;
    CHECK(cuLaunchKernel(touch, (n + 127) / 128, 1, 1, 128, 1, 1, 0, s, (void *[]){ &at, &n, &tag, &wrong }, NULL));
}

/* Freed blocks whose stream has come to where they were freed; wait: all of them. */
static void collect(struct user *u, bool wait)
{
    for (struct block *b = u->block; b < u->block + LIVE; b++) {
        if (!b->freed) continue;
        if (wait) CHECK(cuEventSynchronize(b->freed));
        CUresult r = cuEventQuery(b->freed);
        if (r == CUDA_ERROR_NOT_READY) continue;
        CHECK(r);
        CHECK(cuEventDestroy(b->freed));
        arena_give(b->at, b->units);
        *b = (struct block){ .at = 0 };
    }
}

static void block_take(struct user *u, struct block *b)
{
    unsigned n = 1 + any(u, any(u, 4) ? 8 : LARGEST), at = arena_take(n);
    if (at == UNITS) {
        collect(u, true);
        arena_trim();
        u->waited++;
        return;
    }
    *b = (struct block){ at, n, any(u, 1u << 31), u->stream[any(u, STREAMS)], NULL };
    if (any(u, 2)) CHECK(cuMemsetD32Async(base + (size_t)at * UNIT, 0xffffffff, (size_t)n * UNIT / 4, b->stream));
    launch(b, b->stream, 0);
    u->taken++;
}

/* Another stream reads it, before whatever its own does next. */
static void block_lend(struct user *u, const struct block *b)
{
    CUevent e;
    CUstream s = u->stream[any(u, STREAMS)];
    CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventRecord(e, b->stream));
    CHECK(cuStreamWaitEvent(s, e, 0));
    launch(b, s, u->soaker.wrong);
    CHECK(cuEventRecord(e, s));
    CHECK(cuStreamWaitEvent(b->stream, e, 0));
    CHECK(cuEventDestroy(e));
}

static void block_free(struct block *b)
{
    CHECK(cuEventCreate(&b->freed, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventRecord(b->freed, b->stream));
}

static void step(void *arg)
{
    struct user *u = arg;
    struct block *b = &u->block[any(u, LIVE)];
    collect(u, false);
    if (b->freed) return;
    if (!b->units) {
        block_take(u, b);
        return;
    }
    launch(b, b->stream, u->soaker.wrong);
    unsigned what = any(u, 8);
    if (what < 3)
        block_free(b);
    else if (what < 6)
        block_lend(u, b);
    else if (what == 6 && !any(u, 8))
        arena_trim();
}

static void begin(void *arg)
{
    struct user *u = arg;
    for (unsigned k = 0; k < STREAMS; k++) CHECK(cuStreamCreate(&u->stream[k], CU_STREAM_NON_BLOCKING));
}

static void end(void *arg)
{
    struct user *u = arg;
    for (struct block *b = u->block; b < u->block + LIVE; b++)
        if (b->units && !b->freed) block_free(b);
    collect(u, true);
}

int main(int argc, char **argv)
{
    static struct user users[THREADS];
    size_t before, after, total;
    unsigned long blocks = 0, waits = 0;
    CHECK(cuModuleGetFunction(&touch, soak_begin(argc, argv, ptx), "touch"));
    CHECK(cuMemAddressReserve(&base, (size_t)GRANULES * GRANULE, 0, 0, 0));
    CHECK(cuMemGetInfo(&before, &total));
    soak((struct soak){ begin, step, end }, users, sizeof *users, THREADS);
    arena_trim();
    CHECK(cuMemGetInfo(&after, &total));
    EXPECT_EQUAL(after, before);
    CHECK(cuMemAddressFree(base, (size_t)GRANULES * GRANULE));
    for (unsigned k = 0; k < THREADS; k++) {
        blocks += users[k].taken;
        waits += users[k].waited;
    }
    printf("%lu blocks, %lu times full, %lu granules mapped and %lu unmapped\n", blocks, waits, grown, shrunk);
    return 0;
}
