/* Random changes of entries and random accesses, while devices run kernels
 * and while they do not, against a model: a fault
 * comes exactly where the model says that it must, and no data is ever lost.
 * FAULTLINE_SEED and FAULTLINE_STEPS choose another walk, another length. With
 * FAULTLINE_SHORT there often is no memory for the books of what changes: then
 * processors may have less than they were given, but never more. */
#include "../draw.h"
#include "base/heap.h"
#include "mmu_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCKS = 6, PAGES = BLOCKS * 512, PROCESSORS = 1 + RIG_DEVICES };

static enum mmu_access may[PROCESSORS][PAGES];
static uint64_t value[PAGES]; /* the first word of each page */

static bool is_short;
static _Thread_local bool scarce;
static uint64_t refusals = 1;
void *heap_take(size_t size) { return scarce && draw_from(&refusals, 3) ? NULL : calloc(1, size); }
void heap_give(void *p) { free(p); }

static uint64_t address(unsigned page) { return rig.base + (uint64_t)page * RIG_PAGE; }

/* Pages [*first, *first + n): single ones, some, or whole blocks. */
static unsigned some_pages(unsigned *first)
{
    unsigned n;
    switch (draw(4)) {
    case 0: n = 1; break;
    case 1: n = 1 + draw(40); break;
    case 2: n = 1 + draw(700); break;
    default:
        n = 512 * (1 + draw(3));
        *first = 512 * draw(BLOCKS - n / 512 + 1);
        return n;
    }
    *first = draw(PAGES - n);
    return n;
}

static void set(unsigned p, unsigned first, unsigned n, enum mmu_access access)
{
    scarce = is_short;
    CUresult r = mmu_set(p, address(first), (uint64_t)n * RIG_PAGE, access);
    scarce = false;
    if (!is_short || access == MMU_NONE) assert_int_equal(r, CUDA_SUCCESS);
    for (unsigned k = first; k < first + n; k++)
        if (!r || may[p][k] < access) may[p][k] = access;
}

static void expect_faults(unsigned saw, unsigned want)
{
    if (is_short)
        assert_true(saw >= want);
    else
        assert_int_equal(saw, want);
}

static void change_entries(void)
{
    unsigned first, n = some_pages(&first), p = draw(PROCESSORS);
    set(p, first, n, (enum mmu_access)draw(3));
}

static void move(void)
{
    unsigned first, n = some_pages(&first), to = draw(PROCESSORS);
    for (unsigned p = 0; p < PROCESSORS; p++) set(p, first, n, p == to ? MMU_WRITE : MMU_NONE);
}

static void discard(void)
{
    unsigned first, n = some_pages(&first);
    scarce = is_short;
    mmu_discard(address(first), (uint64_t)n * RIG_PAGE);
    scarce = false;
    for (unsigned k = first; k < first + n; k++) value[k] = 0;
}

/* What the access does to the model; true if it faults. */
static bool touch(unsigned p, unsigned page, bool write)
{
    enum mmu_access need = write ? MMU_WRITE : MMU_READ;
    if (may[p][page] >= need) return false;
    may[p][page] = need;
    return true;
}

static void host_touches(void)
{
    for (unsigned n = 1 + draw(20), page = draw(PAGES - 20); n--; page++) {
        volatile uint64_t *word = (volatile uint64_t *)address(page);
        unsigned before = rig_faults(MMU_HOST);
        bool write = draw(2), faults = touch(MMU_HOST, page, write);
        if (write)
            *word = value[page] = draw_from(&draw_state, UINT64_MAX);
        else
            assert_int_equal(*word, value[page]);
        expect_faults(rig_faults(MMU_HOST) - before, faults);
    }
}

static void device_touches(void)
{
    unsigned count = 1 + draw(60), stride = 1 + draw(20), first = draw(PAGES - count * stride), faults = 0;
    int k = (int)draw(RIG_DEVICES);
    bool write = draw(2);
    uint64_t sum = 0, wanted = 0, base = draw_from(&draw_state, UINT64_MAX);
    unsigned before = rig_faults(1 + (unsigned)k);
    for (unsigned i = 0; i < count; i++) {
        unsigned page = first + i * stride;
        faults += touch(1 + (unsigned)k, page, write);
        if (write) value[page] = base + i;
        wanted += value[page];
    }
    struct rig_job job = { write ? RIG_WRITE : RIG_READ, address(first), (uint64_t)stride * RIG_PAGE, count, base, 0 };
    assert_int_equal(rig_run(k, job, 1, 0, &sum), CUDA_SUCCESS);
    if (!write) assert_int_equal(sum, wanted);
    expect_faults(rig_faults(1 + (unsigned)k) - before, faults);
}

static void begin_again(void)
{
    mmu_remove(rig.base, (uint64_t)BLOCKS * RIG_BLOCK);
    assert_int_equal(mmu_add(rig.base, (uint64_t)BLOCKS * RIG_BLOCK), CUDA_SUCCESS);
    memset(may, 0, sizeof may);
    memset(value, 0, sizeof value);
}

static void restart_device(void)
{
    int k = (int)draw(RIG_DEVICES);
    rig_keep_busy(k, false);
    rig_device_stop(k);
    rig_device_start(k);
    memset(may[1 + k], 0, sizeof may[1 + k]);
}

static void faults_come_where_they_must_and_nowhere_else(void **unused)
{
    const char *seed = getenv("FAULTLINE_SEED"), *steps = getenv("FAULTLINE_STEPS");
    (void)unused;
    is_short = getenv("FAULTLINE_SHORT");
    draw_state = 0x9e3779b97f4a7c15ull * (1 + (seed ? strtoull(seed, NULL, 0) : 0));
    rig_start(RIG_DEVICES);
    assert_int_equal(mmu_add(rig.base, (uint64_t)BLOCKS * RIG_BLOCK), CUDA_SUCCESS);
    for (unsigned n = steps ? (unsigned)atoi(steps) : 4000; n--;) {
        unsigned what = draw(1000);
        if (what < 300)
            change_entries();
        else if (what < 500)
            move();
        else if (what < 780)
            host_touches();
        else if (what < 960)
            device_touches();
        else if (what < 990)
            discard();
        else if (what < 996)
            begin_again();
        else if (what < 998)
            restart_device();
        else
            rig_keep_busy((int)draw(RIG_DEVICES), draw(2));
    }
    for (int k = 0; k < RIG_DEVICES; k++) rig_keep_busy(k, false);
    mmu_remove(rig.base, (uint64_t)BLOCKS * RIG_BLOCK);
    rig_stop();
}

int main(void)
{
    setenv("FAULTLINE_WORKERS", "3", 1);
    const struct CMUnitTest tests[] = { cmocka_unit_test(faults_come_where_they_must_and_nowhere_else) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
