/* Copies and fills by devices' engines: which pages they touch, in how many batches of faults. */
#include "context/context.h"
#include "uvm_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { GPU0 = 1, GPU1, PAGES = 768 };
static struct allocation *a;
static const CUmemLocation on_host = { CU_MEM_LOCATION_TYPE_HOST, 0 };

static int allocated(void **s)
{
    static struct context context;
    (void)s;
    memset(&fake_counted, 0, sizeof fake_counted);
    return uvm_alloc(&context, PAGES * PAGE_BYTES, CU_MEM_ATTACH_GLOBAL, &a);
}

static int freed(void **s)
{
    (void)s;
    uvm_free(a);
    return 0;
}

static uint64_t at(unsigned page) { return a->base + page * (uint64_t)PAGE_BYTES; }

static void on_the_host(unsigned pages)
{
    for (unsigned k = 0; k < pages; k++) fake_touch(CPU, at(k), true);
}

static bool reaches(unsigned p, unsigned page)
{
    return page_prot(block_at(at(page), false), p, page_of(at(page))) != PROT_NOTHING;
}

static void an_engine_that_goes_over_rows_leaves_alone_what_lies_between_them(void **s)
{
    (void)s;
    enum { PITCH = 20, ROWS = 30, SLICE = 400 };
    const struct uvm_box rows = { at(0) + 100, 3 * PAGE_BYTES, PITCH * PAGE_BYTES, ROWS, 0, 1 },
                         slices = { at(0), PAGE_BYTES, 3 * PAGE_BYTES, 2, SLICE * PAGE_BYTES, 2 };
    on_the_host(PAGES);
    /* the prefetcher adds nothing */
    uvm_advise(at(0), PAGES * PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_host);
    assert_int_equal(uvm_copy_engine_box(0, &rows, UVM_COPIES_TO), CUDA_SUCCESS);
    for (unsigned k = 0; k < PAGES; k++) {
        bool touched = k / PITCH < ROWS && k % PITCH < 4; /* a row begins in the midst of a page */
        assert_int_equal(reaches(GPU0, k), touched);
    }
    assert_int_equal(uvm_copy_engine_box(1, &slices, UVM_COPIES_FROM), CUDA_SUCCESS);
    for (unsigned k = 0; k < PAGES; k++) {
        bool touched = k % SLICE == 0 || k % SLICE == 3;
        assert_int_equal(reaches(GPU1, k), touched);
    }
    assert_int_equal(fake_counted.htod, 0);
}

/* 16 to 22 batches on an H200, and 4 of other pages. */
static void a_fill_of_read_mostly_pages_faults_again_where_it_has_been(void **s)
{
    (void)s;
    on_the_host(512);
    uvm_copy_engine(0, at(256), 256 * PAGE_BYTES, UVM_FILLS);
    assert_true(fake_counted.gpu_faults <= 4);
    fake_counted.gpu_faults = 0;
    uvm_advise(at(0), 256 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_host);
    uvm_copy_engine(0, at(0), 256 * PAGE_BYTES, UVM_FILLS);
    assert_in_range(fake_counted.gpu_faults, 14, 24);
    assert_int_equal(fake_counted.htod, 512 * PAGE_BYTES);
}

static void rows_an_allocation_apart_make_no_blocks_between_them(void **s)
{
    (void)s;
    struct allocation *large;
    static struct context context;
    const uint64_t pitch = 3 * (uint64_t)WINDOW_BYTES;
    assert_int_equal(uvm_alloc(&context, 3 * pitch, 1, &large), CUDA_SUCCESS);
    const struct uvm_box rows = { large->base, 64, pitch, 3, 0, 1 };
    assert_int_equal(uvm_copy_engine_box(0, &rows, UVM_FILLS), CUDA_SUCCESS);
    for (unsigned k = 0; k < 9; k++)
        assert_int_equal(block_at(large->base + k * (uint64_t)WINDOW_BYTES, false) != NULL, k % 3 == 0);
    assert_int_equal(fake_counted.gpu_faults, 1); /* one batch */
    uvm_free(large);
}

static bool never(void) { return false; }

static void an_engine_that_comes_to_memory_that_was_freed_makes_an_illegal_access(void **s)
{
    (void)s;
    static struct context context;
    struct allocation *gone;
    assert_int_equal(uvm_alloc(&context, 4 * (uint64_t)WINDOW_BYTES, 1, &gone), CUDA_SUCCESS);
    const uint64_t va = gone->base;
    const struct uvm_box rows = { va, 64, 2 * PAGE_BYTES, 3, 0, 1 };
    uvm_free(gone);
    fake_refuses = never; /* so that an error that stays is no surprise */
    assert_int_equal(uvm_copy_engine(0, va, PAGE_BYTES, UVM_COPIES_FROM), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(uvm_copy_engine_box(0, &rows, UVM_FILLS), CUDA_ERROR_ILLEGAL_ADDRESS);
    fake_refuses = NULL;
}

#define OVER_AN_ALLOCATION(test) cmocka_unit_test_setup_teardown(test, allocated, freed)

int main(void)
{
    fake_begin(2, 64ul << 20);
    const struct CMUnitTest tests[] = {
        OVER_AN_ALLOCATION(an_engine_that_goes_over_rows_leaves_alone_what_lies_between_them),
        OVER_AN_ALLOCATION(rows_an_allocation_apart_make_no_blocks_between_them),
        OVER_AN_ALLOCATION(an_engine_that_comes_to_memory_that_was_freed_makes_an_illegal_access),
        OVER_AN_ALLOCATION(a_fill_of_read_mostly_pages_faults_again_where_it_has_been),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
