/* A paged cache of sequences, as servers of language models have it: each thread has sequences in reservations of their
 * own, whose pages are mapped as they grow. Forks share pages until somebody writes, who then gets a copy at the same
 * address; pages move elsewhere (defragmentation) while kernels of other sequences run in other streams. What a
 * sequence holds is checked by kernels all the time, and the memory that is used is what the pages say.
 * usage: paged_cache [SECONDS [SEED]] */
#include "../soak.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { THREADS = 4, SEQUENCES = 6, LONGEST = 12, PAGE = 2 << 20, WORDS = PAGE / 4, SAMPLES = 256, POOL = 160 };

/* A sample of a page's words: word k * WORDS / SAMPLES is tag + k. check counts those that are not. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry write(.param .u64 page, .param .u32 tag) {\n"
    ".reg .b32 %r<4>; .reg .b64 %a<3>;\n"
    "ld.param.u64 %a1, [page]; ld.param.u32 %r1, [tag]; mov.u32 %r2, %tid.x; add.u32 %r1, %r1, %r2;\n"
    "mul.wide.u32 %a2, %r2, 8192; add.u64 %a1, %a1, %a2; st.global.u32 [%a1], %r1; ret; }\n"
    ".visible .entry check(.param .u64 page, .param .u32 tag, .param .u64 wrong) {\n"
    ".reg .pred %p; .reg .b32 %r<4>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [page]; ld.param.u32 %r1, [tag]; ld.param.u64 %a3, [wrong];\n"
    "mov.u32 %r2, %tid.x; add.u32 %r1, %r1, %r2; mul.wide.u32 %a2, %r2, 8192; add.u64 %a1, %a1, %a2;\n"
    "ld.global.u32 %r3, [%a1]; setp.eq.u32 %p, %r3, %r1; @%p ret; red.global.add.u32 [%a3], 1; ret; }\n";

static CUfunction write_page, check_page;

/* ---- physical pages, shared by all threads */

static struct page {
    CUmemGenericAllocationHandle handle;
    unsigned users; /* 0: free */
    uint32_t tag;
} pool[POOL];
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static struct page *take(void)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    struct page *p = pool;
    pthread_mutex_lock(&pool_lock);
    while (p < pool + POOL && p->users) p++;
    if (p < pool + POOL) p->users = 1;
    pthread_mutex_unlock(&pool_lock);
    if (p == pool + POOL) return NULL;
    CHECK(cuMemCreate(&p->handle, PAGE, &prop, 0));
    return p;
}

static void share(struct page *p)
{
    pthread_mutex_lock(&pool_lock);
    p->users++;
    pthread_mutex_unlock(&pool_lock);
}

/* The last user's mapping keeps the memory, so the handle goes first. */
static void drop(struct page *p)
{
    pthread_mutex_lock(&pool_lock);
    if (p->users == 1) CHECK(cuMemRelease(p->handle));
    p->users--;
    pthread_mutex_unlock(&pool_lock);
}

static bool is_shared(const struct page *p)
{
    pthread_mutex_lock(&pool_lock);
    bool shared = p->users > 1;
    pthread_mutex_unlock(&pool_lock);
    return shared;
}

/* ---- sequences, each of one thread */

struct sequence {
    CUdeviceptr base;
    CUstream stream;
    unsigned length;
    struct page *page[LONGEST];
};

struct server {
    struct soaker soaker;
    CUdeviceptr scratch;
    struct sequence sequence[SEQUENCES];
    unsigned long steps, copies, moves, forks;
};

static unsigned any(struct server *v, unsigned n) { return soak_draw(&v->soaker, n); }
static CUdeviceptr address(const struct sequence *q, unsigned k) { return q->base + (size_t)k * PAGE; }

static void map(CUdeviceptr at, const struct page *p, CUmemAccess_flags flags)
{
    const CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, flags };
    CHECK(cuMemMap(at, PAGE, 0, p->handle, 0));
    CHECK(cuMemSetAccess(at, PAGE, &access, 1));
}

static void launch_write(struct sequence *q, unsigned k)
{
    CUdeviceptr at = address(q, k);
    CHECK(cuLaunchKernel(write_page, 1, 1, 1, SAMPLES, 1, 1, 0, q->stream, (void *[]){ &at, &q->page[k]->tag }, NULL));
}

static void launch_check(struct server *v, struct sequence *q)
{
    for (unsigned k = 0; k < q->length; k++) {
        CUdeviceptr at = address(q, k);
        CHECK(cuLaunchKernel(check_page, 1, 1, 1, SAMPLES, 1, 1, 0, q->stream,
                             (void *[]){ &at, &q->page[k]->tag, &v->soaker.wrong }, NULL));
    }
}

static void grow(struct server *v, struct sequence *q)
{
    struct page *p = q->length < LONGEST ? take() : NULL;
    if (!p) return;
    p->tag = any(v, 1 << 30);
    q->page[q->length] = p;
    map(address(q, q->length), p, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    launch_write(q, q->length++);
}

static void shrink(struct sequence *q, unsigned length)
{
    if (q->length <= length) return;
    CHECK(cuStreamSynchronize(q->stream)); /* cuMemUnmap waits for nobody */
    CHECK(cuMemUnmap(address(q, length), (size_t)(q->length - length) * PAGE));
    while (q->length > length) drop(q->page[--q->length]);
}

/* q begins as other does: both may only read the pages that they share. */
static void fork_from(struct server *v, struct sequence *q, struct sequence *other)
{
    const CUmemAccessDesc reads = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READ };
    shrink(q, 0);
    CHECK(cuStreamSynchronize(other->stream)); /* what it still writes */
    q->length = other->length;
    for (unsigned k = 0; k < q->length; k++) {
        share(q->page[k] = other->page[k]);
        map(address(q, k), q->page[k], CU_MEM_ACCESS_FLAGS_PROT_READ);
    }
    if (q->length) CHECK(cuMemSetAccess(other->base, (size_t)q->length * PAGE, &reads, 1));
    v->forks++;
}

/* The page at the same address becomes another one with the same bytes. */
static bool replace(struct server *v, struct sequence *q, unsigned k)
{
    struct page *p = take();
    if (!p) return false;
    p->tag = q->page[k]->tag;
    map(v->scratch, p, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMemcpyDtoDAsync(v->scratch, address(q, k), PAGE, q->stream));
    CHECK(cuStreamSynchronize(q->stream));
    CHECK(cuMemUnmap(v->scratch, PAGE));
    CHECK(cuMemUnmap(address(q, k), PAGE));
    drop(q->page[k]);
    q->page[k] = p;
    map(address(q, k), p, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return true;
}

static void overwrite(struct server *v, struct sequence *q)
{
    const CUmemAccessDesc both = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    if (!q->length) return;
    unsigned k = any(v, q->length);
    if (is_shared(q->page[k])) {
        if (!replace(v, q, k)) return;
        v->copies++;
    } else {
        CHECK(cuMemSetAccess(address(q, k), PAGE, &both, 1)); /* who shared it may have left */
    }
    CHECK(cuStreamSynchronize(q->stream)); /* the tag is about to change for what is checked there */
    q->page[k]->tag = any(v, 1 << 30);
    launch_write(q, k);
}

static void step(void *arg)
{
    struct server *v = arg;
    struct sequence *q = &v->sequence[any(v, SEQUENCES)], *other = &v->sequence[any(v, SEQUENCES)];
    unsigned what = any(v, 100);
    if (what < 40)
        grow(v, q);
    else if (what < 60)
        overwrite(v, q);
    else if (what < 70 && q != other)
        fork_from(v, q, other);
    else if (what < 80 && q->length)
        v->moves += replace(v, q, any(v, q->length));
    else if (what < 88)
        shrink(q, any(v, LONGEST));
    launch_check(v, q);
    v->steps++;
}

static void begin(void *arg)
{
    struct server *v = arg;
    CHECK(cuMemAddressReserve(&v->scratch, PAGE, 0, 0, 0));
    for (unsigned k = 0; k < SEQUENCES; k++) {
        CHECK(cuMemAddressReserve(&v->sequence[k].base, (size_t)LONGEST * PAGE, 0, 0, 0));
        CHECK(cuStreamCreate(&v->sequence[k].stream, CU_STREAM_NON_BLOCKING));
    }
}

static void end(void *arg)
{
    struct server *v = arg;
    for (unsigned k = 0; k < SEQUENCES; k++) {
        shrink(&v->sequence[k], 0);
        CHECK(cuStreamDestroy(v->sequence[k].stream));
        CHECK(cuMemAddressFree(v->sequence[k].base, (size_t)LONGEST * PAGE));
    }
    CHECK(cuMemAddressFree(v->scratch, PAGE));
}

int main(int argc, char **argv)
{
    static struct server servers[THREADS];
    struct server sum = { .steps = 0 };
    size_t before, after, total;
    CUmodule m = soak_begin(argc, argv, ptx);
    CHECK(cuModuleGetFunction(&write_page, m, "write"));
    CHECK(cuModuleGetFunction(&check_page, m, "check"));
    CHECK(cuMemGetInfo(&before, &total));
    soak((struct soak){ begin, step, end }, servers, sizeof *servers, THREADS);
    CHECK(cuMemGetInfo(&after, &total));
    EXPECT_EQUAL(after, before);
    for (unsigned k = 0; k < THREADS; k++) {
        sum.steps += servers[k].steps;
        sum.copies += servers[k].copies;
        sum.moves += servers[k].moves;
        sum.forks += servers[k].forks;
    }
    printf("%lu steps: %lu forks, %lu pages copied when written, %lu moved\n", sum.steps, sum.forks, sum.copies, sum.moves);
    return 0;
}
