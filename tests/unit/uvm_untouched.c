/* Managed memory that nobody has touched: whatever is said of it, nothing is made
 * for it, and what was said holds when it is touched. */
#include "context/context.h"
#include "uvm_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

#define GIB (1ull << 30)
enum { GPU0 = 1 };
static struct context context = { .device = &devices[0] };
static const CUmemLocation gpu0 = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };

static struct allocation *managed(uint64_t size)
{
    struct allocation *a;
    assert_int_equal(uvm_alloc(&context, size, CU_MEM_ATTACH_GLOBAL, &a), CUDA_SUCCESS);
    return a;
}

static unsigned windows_of(const struct allocation *a)
{
    unsigned n = 0;
    for (uint64_t va = a->base; va < a->base + a->size; va += WINDOW_BYTES) n += window_at(va, false) != NULL;
    return n;
}

static void what_is_said_of_it_makes_nothing(void **unused)
{
    (void)unused;
    struct allocation *a = managed(8 * GIB);
    for (CUmem_advise what = CU_MEM_ADVISE_SET_READ_MOSTLY; what <= CU_MEM_ADVISE_UNSET_ACCESSED_BY; what++)
        assert_int_equal(uvm_advise(a->base, a->size, what, gpu0), CUDA_SUCCESS);
    assert_int_equal(uvm_attach(a->base, CU_MEM_ATTACH_HOST, NULL), CUDA_SUCCESS);
    assert_int_equal(uvm_discard(a->base, a->size, false), CUDA_SUCCESS);
    assert_int_equal(uvm_discard(a->base + 3 * WINDOW_BYTES, 5 * GIB, false), CUDA_SUCCESS);
    assert_int_equal(windows_of(a), 0);
    uvm_free(a);
}

static void a_prefetch_to_a_full_device_makes_nothing_but_where_it_fails(void **unused)
{
    (void)unused;
    struct allocation *a = managed(8 * GIB);
    devices[0].vram.used = devices[0].vram.capacity;
    assert_int_equal(uvm_prefetch(a->base, a->size, gpu0), CUDA_ERROR_OUT_OF_MEMORY);
    devices[0].vram.used = 0;
    assert_in_range(windows_of(a), 0, 1);
    uvm_free(a);
}

/* A read of what was discarded does not permit writing, so that a write is noticed. */
static bool is_discarded(uint64_t va)
{
    fake_touch(CPU, va, false);
    return fake_entries[CPU][fake_page(va)] == MMU_READ;
}

static void discarded_memory_is_so_when_it_is_touched(void **unused)
{
    (void)unused;
    struct allocation *a = managed(3 * GIB);
    uint64_t from = a->base + GIB / 2 + WINDOW_BYTES / 2, to = a->base + 2 * GIB + 5 * WINDOW_BYTES;
    fake_touch(CPU, a->base + GIB, true);
    assert_int_equal(uvm_discard(from, to - from, false), CUDA_SUCCESS);
    assert_true(windows_of(a) <= 2);
    assert_false(is_discarded(from - PAGE_BYTES));
    assert_true(is_discarded(from));
    assert_true(is_discarded(a->base + GIB));
    assert_true(is_discarded(a->base + GIB + GIB / 2));
    assert_true(is_discarded(to - PAGE_BYTES));
    assert_false(is_discarded(to));
    fake_touch(CPU, to - PAGE_BYTES, true);
    assert_int_equal(fake_entries[CPU][fake_page(to - PAGE_BYTES)], MMU_ATOMIC);
    uvm_free(a);
}

static void a_policy_for_a_part_of_discarded_memory_changes_nothing_of_that(void **unused)
{
    (void)unused;
    struct allocation *a = managed(2 * GIB);
    uint64_t middle = a->base + GIB + WINDOW_BYTES / 2;
    assert_int_equal(uvm_discard(a->base, a->size, false), CUDA_SUCCESS);
    assert_int_equal(uvm_advise(middle, GIB / 2, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, gpu0), CUDA_SUCCESS);
    assert_true(is_discarded(middle - PAGE_BYTES));
    assert_true(is_discarded(middle));
    uvm_free(a);
}

static void what_is_allocated_there_next_is_not_discarded(void **unused)
{
    (void)unused;
    uint64_t size = space_managed_end() - space_managed_base();
    for (int k = 0; k < 2; k++) {
        struct allocation *a = managed(size);
        for (uint64_t va = a->base; va < a->base + size; va += GIB + WINDOW_BYTES) assert_false(is_discarded(va));
        assert_int_equal(uvm_discard(a->base, size, false), CUDA_SUCCESS);
        uvm_free(a);
    }
}

/* Ranges at random, against those discarded by halves of windows, for which blocks are made. */
static void discarding_whole_windows_is_discarding_their_halves(void **unused)
{
    (void)unused;
    enum { WINDOWS = 700, HALVES = 2 * WINDOWS };
    const uint64_t half = WINDOW_BYTES / 2;
    srandom(7);
    for (int round = 0; round < 8; round++) {
        struct allocation *a = managed(WINDOWS * (uint64_t)WINDOW_BYTES);
        bool discarded[HALVES] = { false };
        for (int k = 0; k < 12; k++) {
            unsigned from = (unsigned)random() % HALVES, to = from + (unsigned)random() % (HALVES - from + 1);
            if (k % 3 == 2) {
                discarded[from] = false;
                fake_touch(CPU, a->base + from * half, true);
            } else if (from < to) {
                assert_int_equal(uvm_discard(a->base + from * half, (to - from) * half, false), CUDA_SUCCESS);
                for (unsigned h = from; h < to; h++) discarded[h] = true;
            }
        }
        for (unsigned h = 0; h < HALVES; h++) assert_int_equal(is_discarded(a->base + h * half), discarded[h]);
        uvm_free(a);
    }
}

/* Ordinary memory has blocks where devices came to it, policy wherever it was advised. */
static void a_policy_that_begins_where_a_block_does_cuts_nothing_off_it(void **unused)
{
    (void)unused;
    char *room = mmap(NULL, 2 * WINDOW_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t at = ((uint64_t)room / WINDOW_BYTES + 1) * WINDOW_BYTES, page = PAGE_BYTES;
    uvm_enter();
    assert_int_equal(ordinary_cover(at, at + 30 * page), CUDA_SUCCESS);
    assert_int_equal(ordinary_begin(at + 10 * page, at + 20 * page), CUDA_SUCCESS);
    uvm_leave();
    assert_int_equal(uvm_advise(at + 10 * page, 5 * page, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, gpu0), CUDA_SUCCESS);
    const struct block *low = window_at(at, false)->blocks, *high = low->next;
    assert_true(low->region.first == 10 && low->region.outer == 15 && low->range->policy.preferred == GPU0);
    assert_true(high->region.first == 15 && high->region.outer == 20 && high->range->policy.preferred == NOBODY);
    assert_null(high->next);
    uvm_enter();
    ordinary_forget(at, at + 30 * page);
    uvm_leave();
    assert_null(window_at(at, false));
    munmap(room, 2 * WINDOW_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_it_makes_nothing),
        cmocka_unit_test(a_prefetch_to_a_full_device_makes_nothing_but_where_it_fails),
        cmocka_unit_test(discarded_memory_is_so_when_it_is_touched),
        cmocka_unit_test(a_policy_for_a_part_of_discarded_memory_changes_nothing_of_that),
        cmocka_unit_test(what_is_allocated_there_next_is_not_discarded),
        cmocka_unit_test(a_policy_that_begins_where_a_block_does_cuts_nothing_off_it),
        cmocka_unit_test(discarding_whole_windows_is_discarding_their_halves),
    };
    fake_begin(1, 64ul << 20);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
