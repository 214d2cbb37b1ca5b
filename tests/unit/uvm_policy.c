/* The decision tables of src/uvm/policy.c, row by row: one host, three devices
 * that reach each other and the host; the host reaches no device. */
#include "context/context.h"
#include "uvm_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { GPU0 = 1, GPU1, GPU2, PAGE = 5 };
static const struct hint none = { HINT_NONE, NOBODY, 0 };

static struct range range;
static struct window window;
static struct block block;
static struct place places[4];

/* A block whose page is resident on the processors of `holders`. */
static struct block *with(uint32_t holders)
{
    memset(places, 0, sizeof places);
    range = (struct range){ .policy = { .preferred = NOBODY, .preferred_node = -1 } };
    block = (struct block){ .window = &window, .range = &range, .region = { 0, WINDOW_PAGES }, .resident = holders };
    for (unsigned p = 0; p < 4; p++) {
        block.place[p] = &places[p];
        if (holders >> p & 1) mask_set(&places[p].resident, PAGE);
    }
    if (holders & (holders - 1)) mask_set(&block.read_duplicated, PAGE);
    return &block;
}

static void map(unsigned p, enum prot prot)
{
    for (int k = 0; k < (int)prot; k++) mask_set(&places[p].mapped[k], PAGE);
    block.mapped |= bit(p);
}

static unsigned goes(unsigned p, bool write)
{
    return policy_select_residency(&block, PAGE, p, !write, none).residency;
}
static bool duplicates(unsigned p, bool write)
{
    return policy_select_residency(&block, PAGE, p, !write, none).duplicate;
}

static void without_policy_a_page_goes_to_who_touches_it(void **s)
{
    (void)s;
    for (unsigned at = 0; at < 4; at++)
        for (unsigned p = 0; p < 4; p++) {
            with(bit(at));
            assert_int_equal(goes(p, false), p);
            assert_int_equal(goes(p, true), p);
        }
    with(0);
    assert_int_equal(goes(GPU1, true), GPU1);
}

static void read_mostly_duplicates_for_readers_and_moves_for_writers(void **s)
{
    (void)s;
    with(bit(CPU));
    range.policy.read_duplication = READ_DUPLICATION_ENABLED;
    assert_int_equal(goes(GPU0, false), GPU0);
    assert_true(duplicates(GPU0, false));
    assert_false(duplicates(GPU0, true));
    range.policy.preferred = CPU; /* overridden */
    assert_int_equal(goes(GPU0, true), GPU0);
}

static void a_page_that_has_copies_keeps_them_unless_duplication_was_ended(void **s)
{
    (void)s;
    with(bit(CPU) | bit(GPU0));
    assert_true(duplicates(GPU1, false));
    range.policy.read_duplication = READ_DUPLICATION_DISABLED;
    assert_false(duplicates(GPU1, false));
}

static void the_preferred_location_pulls_pages_when_it_touches_them(void **s)
{
    (void)s;
    with(bit(GPU1));
    range.policy.preferred = GPU0;
    assert_int_equal(goes(GPU0, false), GPU0);
}

static void a_first_touch_goes_to_the_preferred_location_if_it_is_reached(void **s)
{
    (void)s;
    with(0);
    range.policy.preferred = CPU;
    assert_int_equal(goes(GPU0, true), CPU);
    range.policy.preferred = GPU1;
    assert_int_equal(goes(GPU0, true), GPU1);
    assert_int_equal(goes(CPU, true), CPU); /* cannot map a device's memory */
}

static void who_accesses_by_advice_maps_and_moves_nothing(void **s)
{
    (void)s;
    with(bit(CPU));
    range.policy.accessed_by = bit(GPU0) | bit(CPU);
    assert_int_equal(goes(GPU0, true), CPU);
    with(bit(GPU1));
    range.policy.accessed_by = bit(GPU0) | bit(CPU);
    assert_int_equal(goes(GPU0, false), GPU1);
    assert_int_equal(goes(CPU, false), CPU); /* useless: it cannot reach it */
}

static void a_fault_moves_a_page_to_a_preferred_location_that_is_reached(void **s)
{
    (void)s;
    with(bit(GPU2));
    range.policy.preferred = CPU;
    assert_int_equal(goes(GPU0, false), CPU);
    with(bit(GPU0));
    range.policy.preferred = CPU;
    assert_int_equal(goes(GPU0, false), GPU0); /* it is there */
    with(bit(CPU));
    range.policy.preferred = GPU1;
    assert_int_equal(goes(CPU, false), CPU);
}

static void a_pin_overrides_all_but_duplication_and_preference(void **s)
{
    (void)s;
    const struct hint pin = { HINT_PIN, CPU, 0 };
    with(bit(GPU0));
    range.policy.accessed_by = bit(GPU1);
    assert_int_equal(policy_select_residency(&block, PAGE, GPU1, false, pin).residency, CPU);
    range.policy.preferred = GPU1;
    assert_int_equal(policy_select_residency(&block, PAGE, GPU1, false, pin).residency, GPU1);
}

static void the_closest_holder_is_oneself_then_a_linked_device_then_the_host(void **s)
{
    (void)s;
    assert_int_equal(closest(GPU0, bit(CPU) | bit(GPU0) | bit(GPU1)), GPU0);
    assert_int_equal(closest(GPU0, bit(CPU) | bit(GPU2)), GPU2);
    assert_int_equal(closest(GPU0, bit(CPU)), CPU);
    assert_int_equal(closest(CPU, bit(GPU1) | bit(GPU2)), GPU1);
    assert_int_equal(closest(CPU, 0), NOBODY);
}

static void a_read_that_brings_a_page_gives_every_permission(void **s)
{
    (void)s;
    with(bit(GPU0));
    assert_int_equal(policy_new_prot(&block, PAGE, GPU0, GPU0, ACCESS_READ), PROT_RWA);
    assert_int_equal(policy_new_prot(&block, PAGE, GPU0, GPU0, ACCESS_PREFETCH), PROT_RWA);
    assert_int_equal(policy_new_prot(&block, PAGE, CPU, CPU, ACCESS_READ), PROT_RWA);
}

static void a_device_that_maps_the_host_gets_no_atomics_it_does_not_ask_for(void **s)
{
    (void)s;
    with(bit(CPU));
    assert_int_equal(policy_new_prot(&block, PAGE, GPU0, CPU, ACCESS_READ), PROT_RW);
    assert_int_equal(policy_new_prot(&block, PAGE, GPU0, CPU, ACCESS_ATOMIC_STRONG), PROT_RWA);
}

static void reads_of_read_mostly_and_discarded_pages_stay_reads(void **s)
{
    (void)s;
    with(bit(GPU0));
    range.policy.read_duplication = READ_DUPLICATION_ENABLED;
    assert_int_equal(policy_new_prot(&block, PAGE, GPU0, GPU0, ACCESS_READ), PROT_RO);
    assert_int_equal(policy_new_prot(&block, PAGE, GPU0, GPU0, ACCESS_WRITE), PROT_RWA);
    with(bit(GPU0));
    mask_set(&block.discarded, PAGE);
    assert_int_equal(policy_new_prot(&block, PAGE, GPU0, GPU0, ACCESS_PREFETCH), PROT_RO);
}

static void a_mapping_that_takes_from_nobody_is_as_high_as_others_allow(void **s)
{
    (void)s;
    with(bit(CPU));
    assert_int_equal(policy_highest_prot(&block, PAGE, GPU0), PROT_RWA); /* nobody else maps it */
    map(CPU, PROT_RWA);
    assert_int_equal(policy_highest_prot(&block, PAGE, GPU0), PROT_RW);
    with(bit(CPU));
    map(GPU1, PROT_RWA); /* atomics over the bus: nobody else may write */
    assert_int_equal(policy_highest_prot(&block, PAGE, CPU), PROT_RO);
    with(bit(GPU1));
    map(GPU1, PROT_RWA);
    assert_int_equal(policy_highest_prot(&block, PAGE, GPU0), PROT_RWA);
    assert_int_equal(policy_highest_prot(&block, PAGE, CPU), PROT_NOTHING);
    with(bit(CPU) | bit(GPU0));
    assert_int_equal(policy_highest_prot(&block, PAGE, GPU0), PROT_RO);
    assert_int_equal(policy_highest_prot(&block, PAGE, GPU1), PROT_NOTHING);
    with(0);
    assert_int_equal(policy_highest_prot(&block, PAGE, GPU0), PROT_NOTHING);
}

/* ---- the prefetcher */

static unsigned faulted_alone(unsigned page, unsigned at)
{
    struct mask one = { { 0 } };
    mask_set(&one, page);
    struct mask more = prefetch_pages(&block, at, &one, NULL);
    more = mask_or(&more, &one);
    places[at].resident = mask_or(&places[at].resident, &more);
    block.resident |= bit(at);
    return mask_weight(&more);
}

static void a_sequential_walk_doubles(void **s)
{
    (void)s;
    with(bit(CPU));
    places[CPU].resident = mask_region(block.region);
    static const unsigned at[] = { 0, 16, 32, 64, 128, 256 }, moved[] = { 16, 16, 32, 64, 128, 256 };
    for (int k = 0; k < 6; k++) {
        unsigned before = mask_weight(&places[GPU0].resident);
        faulted_alone(at[k], GPU0);
        assert_int_equal(mask_weight(&places[GPU0].resident) - before, moved[k]);
    }
}

static void every_second_64_kib_never_triggers_more(void **s)
{
    (void)s;
    with(bit(CPU));
    places[CPU].resident = mask_region(block.region);
    for (unsigned page = 0; page < WINDOW_PAGES; page += 32) faulted_alone(page, GPU0);
    assert_int_equal(mask_weight(&places[GPU0].resident), 256);
}

static void a_first_touch_at_the_preferred_location_brings_the_block(void **s)
{
    (void)s;
    with(0);
    range.policy.preferred = GPU0;
    assert_int_equal(faulted_alone(77, GPU0), WINDOW_PAGES);
}

static void thrashing_pages_are_not_prefetched(void **s)
{
    (void)s;
    struct mask one = { { 0 } }, thrashing = { { 0 } };
    with(bit(CPU));
    places[CPU].resident = mask_region(block.region);
    mask_set(&one, 0);
    mask_set(&thrashing, 3);
    struct mask more = prefetch_pages(&block, GPU0, &one, &thrashing);
    assert_int_equal(mask_weight(&more), 0); /* its 64 KiB do not grow */
}

/* ---- whole allocations, as programs use them */

enum { PAGES = 768 };
static struct allocation *a;
static const CUmemLocation on_host = { CU_MEM_LOCATION_TYPE_HOST, 0 }, on_gpu0 = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };

static int allocated(void **s)
{
    static struct context context;
    (void)s;
    memset(&fake_counted, 0, sizeof fake_counted);
    fake_now += 5000000;
    uvm_launching(0, 1, 1);
    uvm_launching(1, 1, 1);
    return uvm_alloc(&context, PAGES * PAGE_BYTES, 1, &a);
}

static int freed(void **s)
{
    (void)s;
    uvm_free(a);
    return 0;
}

static uint64_t at(unsigned page) { return a->base + page * (uint64_t)PAGE_BYTES; }

static void touch(unsigned p, unsigned from, unsigned to, bool write)
{
    for (unsigned k = from; k < to; k++) fake_touch(p, at(k), write);
    uvm_settle();
}

static void nothing_moves_beyond_the_last_page_of_a_large_allocation(void **s)
{
    (void)s;
    uvm_advise(at(513), 255 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_gpu0); /* a block of 255 pages */
    touch(CPU, 512, PAGES, true);
    touch(GPU0, 513, PAGES, false);
    assert_int_equal(fake_counted.htod, 255 * PAGE_BYTES);
    assert_null(range_at(at(PAGES)));
}

static void accessed_by_maps_the_whole_of_a_range_that_was_so_advised_before(void **s)
{
    (void)s;
    touch(CPU, 0, 512, true);
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_gpu0);
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, on_gpu0);
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_UNSET_READ_MOSTLY, on_gpu0);
    assert_int_equal(page_prot(block_at(at(0), false), GPU0, page_of(at(0))), PROT_NOTHING);
    uvm_advise(at(100), 10 * PAGE_BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, on_gpu0);
    assert_int_not_equal(page_prot(block_at(at(0), false), GPU0, page_of(at(0))), PROT_NOTHING);
    assert_int_not_equal(page_prot(block_at(at(511), false), GPU0, page_of(at(511))), PROT_NOTHING);
}

/* Observed on an H200. */
static void atomics_of_a_device_on_the_hosts_memory_leave_the_host_to_read(void **s)
{
    (void)s;
    touch(CPU, 0, 8, true);
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_host);
    touch(GPU0, 0, 8, true);
    assert_int_equal(page_prot(block_at(at(0), false), GPU0, 0), PROT_RW);
    fake_atomic(GPU0, at(0));
    uvm_settle();
    assert_int_equal(page_prot(block_at(at(0), false), GPU0, 0), PROT_RWA);
    assert_int_equal(page_prot(block_at(at(0), false), CPU, 0), PROT_RO);
    assert_int_equal(page_prot(block_at(at(0), false), CPU, 1), PROT_RWA);
    touch(CPU, 0, 8, true);
    assert_int_equal(page_prot(block_at(at(0), false), GPU0, 0), PROT_RW);
    assert_int_equal(fake_counted.cpu_faults, 2); /* 64 KiB at first */
    assert_int_equal(fake_counted.htod, 0);
}

/* What was discarded, each observed on an H200. */
static void those_that_access_by_advice_map_what_was_discarded_when_it_is_touched(void **s)
{
    (void)s;
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, on_gpu0);
    touch(CPU, 0, 512, true);
    assert_int_equal(uvm_discard(at(8), 32 * PAGE_BYTES, false), CUDA_SUCCESS);
    assert_int_equal(page_prot(block_at(at(0), false), GPU0, 20), PROT_NOTHING);
    fake_counted.remote = 0;
    touch(CPU, 20, 21, false);
    assert_int_equal(fake_counted.remote, 1);
    for (unsigned page = 8; page < 40; page++)
        assert_int_equal(page_prot(block_at(at(0), false), GPU0, page), PROT_RO);
}

static void what_is_discarded_and_prefetched_stays_mapped_where_it_is_already(void **s)
{
    (void)s;
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, on_gpu0);
    touch(CPU, 0, 512, true);
    fake_counted.remote = fake_counted.cpu_faults = 0;
    assert_int_equal(uvm_discard(at(8), 32 * PAGE_BYTES, true), CUDA_SUCCESS);
    uvm_prefetch(at(8), 32 * PAGE_BYTES, on_host);
    assert_int_equal(fake_counted.remote, 0);
    assert_int_equal(page_prot(block_at(at(0), false), GPU0, 20), PROT_RW);
    uvm_discard(at(8), 32 * PAGE_BYTES, true);
    uvm_prefetch(at(8), 32 * PAGE_BYTES, on_gpu0);
    assert_int_equal(fake_counted.htod, 0);
    assert_int_equal(page_prot(block_at(at(0), false), GPU0, 20), PROT_RWA);
}

static void what_was_discarded_is_no_copy_when_it_is_prefetched(void **s)
{
    (void)s;
    for (int in_place = 0; in_place < 2; in_place++) {
        touch(CPU, 0, 512, true);
        uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_gpu0);
        uvm_discard(at(8), 32 * PAGE_BYTES, in_place);
        uvm_prefetch(at(0), 40 * PAGE_BYTES, on_gpu0);
        struct block *b = block_at(at(0), false);
        assert_int_equal(page_holders(b, 20), bit(GPU0));
        assert_int_equal(page_prot(b, GPU0, 20), PROT_RWA);
        assert_int_equal(page_holders(b, 4), bit(CPU) | bit(GPU0));
        assert_int_equal(page_prot(b, GPU0, 4), PROT_RO);
    }
}

static void a_prefetch_to_where_discarded_pages_were_read_gives_no_right_to_write(void **s)
{
    (void)s;
    touch(CPU, 0, 512, true);
    uvm_discard(at(8), 32 * PAGE_BYTES, false);
    touch(CPU, 20, 21, false);
    uvm_prefetch(at(18), 4 * PAGE_BYTES, on_host);
    assert_int_equal(page_prot(block_at(at(0), false), CPU, 20), PROT_RO);
    uvm_prefetch(at(18), 4 * PAGE_BYTES, on_gpu0); /* nor are they discarded any more */
    assert_int_equal(fake_counted.htod, 4 * PAGE_BYTES);
}

static void what_was_discarded_comes_to_where_it_is_preferred_before_it_is_a_copy(void **s)
{
    (void)s;
    touch(CPU, 0, 512, true);
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_gpu0);
    uvm_advise(at(20), 20 * PAGE_BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_host);
    for (int in_place = 0; in_place < 2; in_place++) {
        fake_counted.htod = 0;
        uvm_discard(at(8), 32 * PAGE_BYTES, in_place);
        uvm_prefetch(at(8), 32 * PAGE_BYTES, on_gpu0);
        assert_int_equal(fake_counted.htod, 20 * PAGE_BYTES);
    }
}

static void read_mostly_again_takes_no_writer_its_right(void **s)
{
    (void)s;
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_host);
    touch(CPU, 0, 1, true);
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_host);
    touch(CPU, 0, 1, true);
    assert_int_equal(fake_counted.cpu_faults, 1);
}

static void bringing_a_copy_takes_the_right_to_write_from_who_has_one_already(void **s)
{
    (void)s;
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_gpu0);
    touch(GPU0, 0, 1, true);
    uvm_prefetch(at(0), PAGE_BYTES, on_gpu0);
    touch(GPU0, 0, 1, true);
    assert_int_equal(fake_counted.gpu_faults, 2);
}

static bool thrashes(unsigned page)
{
    const struct mask *m = thrashing_pages(block_at(at(page), false));
    return m && mask_test(m, page);
}

static void a_device_that_loses_its_right_to_write_to_its_copy_twice_thrashes(void **s)
{
    (void)s;
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_host);
    touch(CPU, 0, 16, true);
    touch(GPU0, 0, 16, false); /* the host has lost it just now */
    for (unsigned k = 0; k < 2; k++) {
        assert_false(thrashes(0));
        touch(GPU0, 0, 1, true);
        touch(GPU0, 1, 2, true); /* what is prefetched beside it is a copy */
    }
    assert_true(thrashes(0));
    uvm_advise(at(16), 16 * PAGE_BYTES, CU_MEM_ADVISE_SET_ACCESSED_BY, on_gpu0); /* the block is cut */
    assert_false(thrashes(0));
}

static void a_prefetch_of_new_read_mostly_pages_lets_the_destination_write_them(void **s)
{
    (void)s;
    uvm_advise(at(0), 100 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_gpu0);
    uvm_prefetch(at(0), 100 * PAGE_BYTES, on_gpu0);
    touch(GPU0, 0, 100, true);
    assert_int_equal(fake_counted.gpu_faults, 0);
}

static void a_prefetch_of_several_blocks_lets_the_destination_write_single_copies(void **s)
{
    (void)s;
    uvm_advise(at(0), PAGES * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_gpu0);
    uvm_prefetch(at(0), PAGES * PAGE_BYTES, on_gpu0);
    touch(GPU0, 0, 1, true);
    assert_int_equal(fake_counted.gpu_faults, 0);
    uvm_prefetch(at(0), 256 * PAGE_BYTES, on_gpu0);
    touch(GPU0, 1, 2, true);
    assert_int_equal(fake_counted.gpu_faults, 1);
}

static void a_third_processor_that_writes_copies_from_the_nearest_duplicate(void **s)
{
    (void)s;
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_host);
    touch(GPU0, 256, 257, false); /* holds some of the block */
    touch(CPU, 0, 16, true);
    touch(GPU1, 0, 16, false);
    touch(GPU0, 0, 16, true);
    assert_int_equal(fake_counted.dtod, 16 * PAGE_BYTES);
    assert_int_equal(fake_counted.htod, 16 * PAGE_BYTES);
}

/* GPU0 and GPU1 reach only the host. */
static void part_devices(void)
{
    topology.can_access[GPU0] &= ~bit(GPU1);
    topology.can_access[GPU1] &= ~bit(GPU0);
    topology.fast_link[GPU0] &= ~bit(GPU1);
    topology.fast_link[GPU1] &= ~bit(GPU0);
}

static int link_devices(void **s)
{
    topology.can_access[GPU0] |= bit(GPU1);
    topology.can_access[GPU1] |= bit(GPU0);
    topology.fast_link[GPU0] |= bit(GPU1);
    topology.fast_link[GPU1] |= bit(GPU0);
    return freed(s);
}

static void between_devices_without_a_link_pages_go_by_way_of_the_host(void **s)
{
    (void)s;
    part_devices();
    uvm_prefetch(at(0), 16 * PAGE_BYTES, on_gpu0);
    touch(GPU1, 0, 16, true);
    assert_int_equal(fake_counted.dtod, 0);
    assert_int_equal(fake_counted.dtoh, 16 * PAGE_BYTES);
    assert_int_equal(fake_counted.htod, 16 * PAGE_BYTES);
    assert_int_equal(page_holders(block_at(at(0), false), page_of(at(0))), bit(GPU1));
}

static void duplicates_between_devices_without_a_link_leave_one_on_the_host(void **s)
{
    (void)s;
    part_devices();
    uvm_advise(at(0), 512 * PAGE_BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, on_host);
    uvm_prefetch(at(0), 16 * PAGE_BYTES, on_gpu0);
    touch(GPU1, 0, 16, false);
    assert_int_equal(page_holders(block_at(at(0), false), page_of(at(0))), bit(CPU) | bit(GPU0) | bit(GPU1));
    touch(CPU, 0, 16, false);
    assert_int_equal(fake_counted.dtoh, 16 * PAGE_BYTES);
}

int main(void)
{
    fake_begin(3, 1ull << 30);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_policy_a_page_goes_to_who_touches_it),
        cmocka_unit_test(read_mostly_duplicates_for_readers_and_moves_for_writers),
        cmocka_unit_test(a_page_that_has_copies_keeps_them_unless_duplication_was_ended),
        cmocka_unit_test(the_preferred_location_pulls_pages_when_it_touches_them),
        cmocka_unit_test(a_first_touch_goes_to_the_preferred_location_if_it_is_reached),
        cmocka_unit_test(who_accesses_by_advice_maps_and_moves_nothing),
        cmocka_unit_test(a_fault_moves_a_page_to_a_preferred_location_that_is_reached),
        cmocka_unit_test(a_pin_overrides_all_but_duplication_and_preference),
        cmocka_unit_test(the_closest_holder_is_oneself_then_a_linked_device_then_the_host),
        cmocka_unit_test(a_read_that_brings_a_page_gives_every_permission),
        cmocka_unit_test(a_device_that_maps_the_host_gets_no_atomics_it_does_not_ask_for),
        cmocka_unit_test(reads_of_read_mostly_and_discarded_pages_stay_reads),
        cmocka_unit_test(a_mapping_that_takes_from_nobody_is_as_high_as_others_allow),
        cmocka_unit_test(a_sequential_walk_doubles),
        cmocka_unit_test(every_second_64_kib_never_triggers_more),
        cmocka_unit_test(a_first_touch_at_the_preferred_location_brings_the_block),
        cmocka_unit_test(thrashing_pages_are_not_prefetched),
        cmocka_unit_test_setup_teardown(nothing_moves_beyond_the_last_page_of_a_large_allocation, allocated, freed),
        cmocka_unit_test_setup_teardown(accessed_by_maps_the_whole_of_a_range_that_was_so_advised_before, allocated,
                                        freed),
        cmocka_unit_test_setup_teardown(atomics_of_a_device_on_the_hosts_memory_leave_the_host_to_read, allocated,
                                        freed),
        cmocka_unit_test_setup_teardown(those_that_access_by_advice_map_what_was_discarded_when_it_is_touched,
                                        allocated, freed),
        cmocka_unit_test_setup_teardown(what_is_discarded_and_prefetched_stays_mapped_where_it_is_already, allocated,
                                        freed),
        cmocka_unit_test_setup_teardown(what_was_discarded_is_no_copy_when_it_is_prefetched, allocated, freed),
        cmocka_unit_test_setup_teardown(a_prefetch_to_where_discarded_pages_were_read_gives_no_right_to_write, allocated,
                                        freed),
        cmocka_unit_test_setup_teardown(what_was_discarded_comes_to_where_it_is_preferred_before_it_is_a_copy,
                                        allocated, freed),
        cmocka_unit_test_setup_teardown(read_mostly_again_takes_no_writer_its_right, allocated, freed),
        cmocka_unit_test_setup_teardown(bringing_a_copy_takes_the_right_to_write_from_who_has_one_already, allocated,
                                        freed),
        cmocka_unit_test_setup_teardown(a_device_that_loses_its_right_to_write_to_its_copy_twice_thrashes, allocated,
                                        freed),
        cmocka_unit_test_setup_teardown(a_prefetch_of_new_read_mostly_pages_lets_the_destination_write_them, allocated,
                                        freed),
        cmocka_unit_test_setup_teardown(a_prefetch_of_several_blocks_lets_the_destination_write_single_copies,
                                        allocated, freed),
        cmocka_unit_test_setup_teardown(a_third_processor_that_writes_copies_from_the_nearest_duplicate, allocated,
                                        freed),
        cmocka_unit_test_setup_teardown(between_devices_without_a_link_pages_go_by_way_of_the_host, allocated,
                                        link_devices),
        cmocka_unit_test_setup_teardown(duplicates_between_devices_without_a_link_leave_one_on_the_host, allocated,
                                        link_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
