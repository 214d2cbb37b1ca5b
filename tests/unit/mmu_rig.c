/* See mmu_rig.h. */
#include "mmu_rig.h"
#include "ptx/abi.h"
#include "ptx/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#ifdef __SANITIZE_THREAD__
static const uint64_t WINDOW = 0x1000000000, MANAGED = 0x2000000000, MEMORY = 1ull << 36;
#else
static const uint64_t WINDOW = 0x570000000000, MANAGED = 0x580000000000, MEMORY = 4ull << 40;
#endif
enum { CODE = 1 << 16, RESULTS = 1 << 16 };

struct rig rig;

/* ---- the kernel, in a section of its own so that it can be copied */

struct params {
    struct rig_job job;
    uint64_t span;
};

__attribute__((section("rig_kernel"), used, noinline, no_sanitize("address", "thread", "undefined"),
               optimize("O1"))) static void
kernel(struct fl_block *b, uint32_t first, uint32_t count)
{
    const struct params *p = (const struct params *)b->params;
    const struct rig_job *j = &p->job;
    uint64_t va = j->va + b->ctaid[0] * p->span, sum = 0;
    (void)first;
    (void)count;
    for (uint64_t k = 0; k < j->count; k++, va += j->stride) {
        volatile uint64_t *word = (volatile uint64_t *)va;
        if (j->deed == RIG_READ) sum += *word;
        if (j->deed == RIG_WRITE) *word = j->value + k;
        if (j->deed == RIG_WAIT)
            while (!*word) __builtin_ia32_pause();
        if (j->deed == RIG_ADD) __atomic_fetch_add(word, j->value, __ATOMIC_SEQ_CST);
    }
    if (j->deed == RIG_READ) __atomic_fetch_add((uint64_t *)j->sum, sum, __ATOMIC_SEQ_CST);
}
extern const char __start_rig_kernel[], __stop_rig_kernel[];

static void make_image(char *at)
{
    struct fl_image *i = (struct fl_image *)at;
    struct fl_image_kernel *k = (struct fl_image_kernel *)(at + 512);
    struct fl_image_segment *s = (struct fl_image_segment *)(at + 1024);
    uint64_t in_section = (uint64_t)((const char *)(uintptr_t)kernel - __start_rig_kernel);
    memcpy(i->magic, FL_IMAGE_MAGIC, sizeof i->magic);
    i->size = CODE;
    i->kernels = 512;
    i->segments = 1024;
    i->strings = 2048;
    i->nkernels = i->nsegments = 1;
    strcpy(at + 2048, "rig");
    k->nsegments = 1;
    k->param_size = sizeof(struct params);
    s->code = s->probe = 4096 + in_section;
    memcpy(at + 4096, __start_rig_kernel, (size_t)(__stop_rig_kernel - __start_rig_kernel));
}

/* ---- the service function */

static enum mmu_verdict serve(const struct mmu_fault *f)
{
    uint64_t bytes = rig.granularity, va = f->address & ~(bytes - 1);
    atomic_fetch_add(f->write ? &rig.writes[f->processor] : &rig.reads[f->processor], 1);
    if (f->pending > rig.most_pending) rig.most_pending = f->pending;
    if (rig.delay_us) usleep(rig.delay_us);
    if (f->address >= rig.fatal_lo && f->address < rig.fatal_hi) return MMU_FATAL;
    for (unsigned n = 0; n < 1 + RIG_DEVICES && rig.exclusive; n++)
        if (n != f->processor && mmu_set(n, va, bytes, MMU_NONE)) return MMU_FATAL;
    return mmu_set(f->processor, va, bytes, f->write || rig.exclusive ? MMU_WRITE : MMU_READ) ? MMU_FATAL : MMU_RETRY;
}

unsigned rig_faults(unsigned processor) { return rig.reads[processor] + rig.writes[processor]; }

void rig_forget_faults(void)
{
    for (unsigned n = 0; n < MMU_PROCESSORS; n++) rig.reads[n] = rig.writes[n] = 0;
    rig.most_pending = 0;
}

/* ---- processes */

void rig_device_start(int k)
{
    assert_int_equal(processor_start(&rig.device[k], k, 132), CUDA_SUCCESS);
    assert_int_equal(processor_map(rig.device[k], WINDOW, CODE, &rig.code, 0, PROT_DEVICE_READ | PROT_DEVICE_EXEC), 0);
    assert_int_equal(processor_map(rig.device[k], WINDOW + CODE, RESULTS, &rig.code, CODE, PROT_DEVICE_WRITE), 0);
    assert_int_equal(processor_channel_open(rig.device[k], &rig.channel[k]), CUDA_SUCCESS);
    assert_int_equal(processor_channel_open(rig.device[k], &rig.side[k]), CUDA_SUCCESS);
    assert_int_equal(mmu_attach(1 + (unsigned)k), CUDA_SUCCESS);
}

void rig_device_stop(int k)
{
    mmu_detach(1 + (unsigned)k);
    processor_stop(rig.device[k]);
    rig.device[k] = NULL;
}

void rig_start(int devices)
{
    if (!rig.base) {
        rig.base = MANAGED;
        if (!rig.memory.id) assert_int_equal(backing_create_huge(&rig.memory, "test-managed", MEMORY), CUDA_SUCCESS);
        assert_int_equal(backing_create(&rig.code, "test-code", CODE + RESULTS), CUDA_SUCCESS);
        make_image(rig.code.alias);
        assert_int_equal(mmu_init(&rig.memory, rig.base, serve), CUDA_SUCCESS);
        const char *expected = getenv("FAULTLINE_EXPECT_RUNG");
        if (expected) assert_int_equal(mmu_rung(), atoi(expected));
    }
    rig.fatal_lo = rig.fatal_hi = 0;
    rig.exclusive = false;
    rig.delay_us = 0;
    rig.granularity = RIG_PAGE;
    for (int k = 0; k < devices; k++) rig_device_start(k);
    rig_forget_faults();
}

void rig_stop(void)
{
    for (int k = 0; k < RIG_DEVICES; k++)
        if (rig.device[k]) rig_device_stop(k);
}

int rig_begin(unsigned blocks)
{
    rig_start(1);
    assert_int_equal(mmu_add(rig.base, (uint64_t)blocks * RIG_BLOCK), CUDA_SUCCESS);
    return 0;
}

int rig_end(unsigned blocks)
{
    mmu_remove(rig.base, (uint64_t)blocks * RIG_BLOCK);
    rig_stop();
    return 0;
}

uint64_t *rig_results(void) { return (uint64_t *)(rig.code.alias + CODE); }

static uint64_t launch(int k, uint32_t channel, struct rig_job job, unsigned blocks, uint64_t span)
{
    struct params p = { job, span };
    p.job.sum = WINDOW + CODE;
    struct launch l = {
        .image = WINDOW, .grid = { blocks, 1, 1 }, .block = { 1, 1, 1 }, .params = &p, .params_size = sizeof p
    };
    uint64_t seq = 0;
    processor_launch(rig.device[k], channel, &l, false, &seq);
    return seq;
}

uint64_t rig_launch(int k, struct rig_job job, unsigned blocks, uint64_t span)
{
    return launch(k, rig.channel[k], job, blocks, span);
}

void rig_keep_busy(int k, bool busy)
{
    _Atomic uint64_t *go_on = (_Atomic uint64_t *)rig_results() + 8 + k;
    if (busy && !rig.busy[k]) {
        atomic_store(go_on, 0);
        rig.busy[k] = launch(k, rig.side[k],
                             (struct rig_job){ RIG_WAIT, WINDOW + CODE + 64 + 8 * (uint64_t)k, 0, 1, 0, 0 }, 1, 0);
    } else if (!busy && rig.busy[k]) {
        atomic_store(go_on, 1);
        assert_int_equal(processor_wait(rig.device[k], rig.side[k], rig.busy[k]), CUDA_SUCCESS);
        rig.busy[k] = 0;
    }
}

CUresult rig_run(int k, struct rig_job job, unsigned blocks, uint64_t span, uint64_t *sum)
{
    *rig_results() = 0;
    CUresult r = processor_wait(rig.device[k], rig.channel[k], rig_launch(k, job, blocks, span));
    if (sum) *sum = *rig_results();
    return r;
}
