/* A full device: which managed memory leaves it, and what becomes of that. One
 * host, two devices of four chunks each. */
#include "context/context.h"
#include "uvm_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { GPU0 = 1, GPU1, CHUNKS = 4, WINDOWS = 8 };
enum { NOWHERE, ON_HOST, ON_GPU0, ON_GPU1 }; /* as uvm_residency says */

static struct allocation *a;
static const CUmemLocation on_host = { CU_MEM_LOCATION_TYPE_HOST, 0 }, on_gpu0 = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                           on_gpu1 = { CU_MEM_LOCATION_TYPE_DEVICE, 1 };

static int allocated(void **s)
{
    static struct context context;
    (void)s;
    memset(&fake_counted, 0, sizeof fake_counted);
    fake_ends_often = true;
    fake_now += 5000000;
    uvm_launching(0, 1, 1);
    return uvm_alloc(&context, WINDOWS * WINDOW_BYTES, CU_MEM_ATTACH_GLOBAL, &a);
}

static int freed(void **s)
{
    (void)s;
    uvm_free(a);
    return devices[0].vram.used || devices[1].vram.used;
}

static uint64_t at(unsigned window) { return a->base + window * (uint64_t)WINDOW_BYTES; }

static void bring(unsigned window, CUmemLocation where)
{
    assert_int_equal(uvm_prefetch(at(window), WINDOW_BYTES, where), CUDA_SUCCESS);
}

static void fill_device(void)
{
    for (unsigned k = 0; k < CHUNKS; k++) bring(k, on_gpu0);
}

/* Where the window's first page is, as uvm_residency says. */
static unsigned place_of(unsigned window)
{
    uint8_t place;
    uvm_residency(at(window), 1, &place);
    return place;
}

static void what_was_brought_first_leaves_first(void **s)
{
    (void)s;
    fill_device();
    bring(4, on_gpu0);
    assert_int_equal(place_of(0), ON_HOST);
    assert_int_equal(place_of(1), ON_GPU0);
    assert_int_equal(place_of(4), ON_GPU0);
    assert_int_equal(fake_counted.dtoh, WINDOW_BYTES);
}

static void what_is_brought_again_leaves_later(void **s)
{
    (void)s;
    fill_device();
    bring(0, on_gpu0);
    bring(4, on_gpu0);
    assert_int_equal(place_of(0), ON_GPU0);
    assert_int_equal(place_of(1), ON_HOST);
}

static void what_is_merely_used_leaves_when_its_turn_comes(void **s)
{
    (void)s;
    fill_device();
    for (unsigned k = 0; k < WINDOW_PAGES; k++) fake_touch(GPU0, at(0) + k * PAGE_BYTES, true);
    uvm_settle();
    bring(4, on_gpu0);
    assert_int_equal(place_of(0), ON_HOST);
}

static void unused_chunks_leave_before_discarded_ones_and_these_before_others(void **s)
{
    (void)s;
    fill_device();
    bring(3, on_host); /* its chunk stays, unused */
    fake_counted.dtoh = 0;
    bring(4, on_gpu0);
    assert_int_equal(fake_counted.dtoh, 0);
    assert_int_equal(place_of(0), ON_GPU0);
}

static void a_discarded_window_costs_no_copy(void **s)
{
    (void)s;
    fill_device();
    assert_int_equal(uvm_discard(at(2), WINDOW_BYTES, false), CUDA_SUCCESS);
    bring(4, on_gpu0);
    assert_int_equal(fake_counted.dtoh, 0);
    assert_int_equal(place_of(2), NOWHERE);
}

static void the_host_has_what_left_whatever_was_preferred(void **s)
{
    (void)s;
    uvm_advise(at(0), WINDOW_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_gpu1);
    fill_device();
    bring(4, on_gpu0);
    assert_int_equal(place_of(0), ON_HOST);
}

static void copies_on_all_devices_end_when_one_of_them_leaves(void **s)
{
    (void)s;
    uvm_advise(at(0), WINDOW_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_host);
    bring(0, on_gpu1);
    fill_device();
    bring(4, on_gpu0);
    assert_int_equal(place_of(0), ON_HOST);
}

static void who_accesses_by_advice_maps_the_host_instead(void **s)
{
    (void)s;
    uvm_advise(at(0), WINDOW_BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, on_gpu1);
    fill_device();
    bring(4, on_gpu0);
    struct block *b = block_at(at(0), false);
    assert_int_not_equal(page_prot(b, GPU1, 0), PROT_NOTHING);
    assert_int_equal(page_prot(b, GPU0, 0), PROT_NOTHING);
}

static void other_memory_takes_room_until_there_is_none_left_to_take(void **s)
{
    (void)s;
    struct vram *v = &devices[0].vram;
    fill_device();
    assert_int_equal(v->reclaim(v, 2 * VRAM_CHUNK), CUDA_SUCCESS);
    assert_int_equal(v->capacity - v->used, 2 * VRAM_CHUNK);
    assert_int_equal(place_of(1), ON_HOST);
    assert_int_equal(place_of(2), ON_GPU0);
}

static void what_there_is_no_room_for_moves_nothing(void **s)
{
    (void)s;
    struct vram *v = &devices[0].vram;
    for (unsigned k = 0; k < 2; k++) bring(k, on_gpu0);
    v->used += 2 * VRAM_CHUNK;
    assert_int_equal(v->reclaim(v, 3 * VRAM_CHUNK), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(place_of(0), ON_GPU0);
    assert_int_equal(place_of(1), ON_GPU0);
    assert_int_equal(v->reclaim(v, 2 * VRAM_CHUNK), CUDA_SUCCESS);
    assert_int_equal(place_of(1), ON_HOST);
    v->used -= 2 * VRAM_CHUNK;
}

static void a_device_full_of_other_memory_takes_no_managed_memory(void **s)
{
    (void)s;
    struct vram *v = &devices[0].vram;
    v->used = v->capacity;
    assert_int_equal(uvm_prefetch(at(0), WINDOW_BYTES, on_gpu0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(place_of(0), NOWHERE);
    v->used = 0;
}

/* All of the allocation, as one thread after the other goes over it. */
static void go_over_it(unsigned times)
{
    while (times--) {
        for (unsigned k = 0; k < WINDOWS; k++) fake_touch(GPU0, at(k), true);
        uvm_enter();
        uvm_leave();
    }
}

static void a_kernel_does_not_fetch_the_same_again_and_again(void **s)
{
    (void)s;
    fake_ends_often = false;
    go_over_it(10);
    unsigned faults = (unsigned)fake_counted.gpu_faults;
    go_over_it(10);
    assert_int_equal(fake_counted.gpu_faults, faults);
    /* what is launched later does */
    fake_progress++;
    fake_settle(GPU0);
    go_over_it(1);
    assert_true(fake_counted.gpu_faults > faults);
}

#define ON_A_FULL_DEVICE(test) cmocka_unit_test_setup_teardown(test, allocated, freed)

int main(void)
{
    fake_begin(2, CHUNKS * VRAM_CHUNK);
    const struct CMUnitTest tests[] = {
        ON_A_FULL_DEVICE(what_was_brought_first_leaves_first),
        ON_A_FULL_DEVICE(what_is_brought_again_leaves_later),
        ON_A_FULL_DEVICE(what_is_merely_used_leaves_when_its_turn_comes),
        ON_A_FULL_DEVICE(unused_chunks_leave_before_discarded_ones_and_these_before_others),
        ON_A_FULL_DEVICE(a_discarded_window_costs_no_copy),
        ON_A_FULL_DEVICE(the_host_has_what_left_whatever_was_preferred),
        ON_A_FULL_DEVICE(copies_on_all_devices_end_when_one_of_them_leaves),
        ON_A_FULL_DEVICE(who_accesses_by_advice_maps_the_host_instead),
        ON_A_FULL_DEVICE(other_memory_takes_room_until_there_is_none_left_to_take),
        ON_A_FULL_DEVICE(what_there_is_no_room_for_moves_nothing),
        ON_A_FULL_DEVICE(a_device_full_of_other_memory_takes_no_managed_memory),
        ON_A_FULL_DEVICE(a_kernel_does_not_fetch_the_same_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
