/* The address space, with page tables that are arrays of bits. */
#include "context/context.h"
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { PAGES = 8192, PAGE = 4096 };

struct device devices[MAX_DEVICES];
int device_count;

/* a device's page table: the first PAGES pages from where its own memory begins */
struct processor {
    uint64_t first;
    bool mapped[PAGES], busy;
    unsigned commands;
};
static struct processor processors[2];
static struct profile profile;
static struct context contexts[2];

static void set_pages(struct processor *p, uint64_t va, uint64_t size, bool mapped)
{
    for (uint64_t at = va; at < va + size; at += PAGE)
        if (at - p->first < (uint64_t)PAGES * PAGE) p->mapped[(at - p->first) / PAGE] = mapped;
}

CUresult processor_map(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset,
                       unsigned protection)
{
    (void)b, (void)offset, (void)protection;
    p->commands++;
    set_pages(p, va, size, true);
    return CUDA_SUCCESS;
}

CUresult processor_unmap(struct processor *p, uint64_t va, uint64_t size)
{
    p->commands++;
    set_pages(p, va, size, false);
    return CUDA_SUCCESS;
}

bool processor_busy(const struct processor *p) { return p->busy; }

/* Whether a kernel that is launched now could touch va. */
static bool sees(int device, uint64_t va)
{
    assert_int_equal(space_settle(), CUDA_SUCCESS);
    const struct processor *p = &processors[device];
    return va - p->first < (uint64_t)PAGES * PAGE && p->mapped[(va - p->first) / PAGE];
}

static struct allocation *take(int device, uint64_t size)
{
    struct allocation *a;
    assert_int_equal(space_alloc_device(&contexts[device], size, &a), CUDA_SUCCESS);
    return a;
}

static int begin(void **state)
{
    (void)state;
    memset(processors, 0, sizeof processors);
    profile.host_memory = 64 << 20;
    device_count = 2;
    for (int k = 0; k < 2; k++) {
        devices[k] = (struct device){ .ordinal = k, .profile = &profile, .processor = &processors[k] };
        contexts[k] = (struct context){ .device = &devices[k] };
        if (vram_init(&devices[k].vram, 16 << 20, "test")) return -1;
    }
    /* both page tables look at device 0's memory */
    struct allocation *a = take(0, 1);
    processors[0].first = processors[1].first = a->mapping_base;
    space_free(a);
    space_settle();
    memset(processors[0].mapped, 0, sizeof processors[0].mapped);
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        space_release_context(&contexts[k]);
        if (devices[k].vram.used) return -1;
        space_trim(&devices[k]);
        vram_destroy(&devices[k].vram);
    }
    return 0;
}

static void small_allocations_lie_512_bytes_apart(void **state)
{
    (void)state;
    struct allocation *a = take(0, 100), *b = take(0, 300);
    assert_int_equal(b->base - a->base, 512);
    assert_int_equal(a->mapping_size, VRAM_CHUNK);
    assert_int_equal(devices[0].vram.used, VRAM_CHUNK);
}

static void every_byte_of_an_allocation_finds_it_and_no_other_does(void **state)
{
    (void)state;
    struct allocation *a = take(0, 1000);
    assert_ptr_equal(space_find(a->base), a);
    assert_ptr_equal(space_find(a->base + 999), a);
    assert_null(space_find(a->base + 1000));
    assert_null(space_find(a->base - 1));
    assert_null(space_find((uint64_t)&a));
}

static void what_is_cleared_is_zero_and_what_lies_beside_it_stays(void **state)
{
    static const uint64_t sizes[] = { 100, 70000, (4 << 20) + 700 };
    (void)state;
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct allocation *a = take(0, 3 << 20), *b = take(0, sizes[k]), *c = take(0, 3 << 20);
        char *bytes = space_alias(b, b->base);
        memset(space_alias(a, a->base), 5, a->size);
        memset(bytes, 6, b->size);
        memset(space_alias(c, c->base), 7, c->size);
        space_clear(b);
        for (uint64_t i = 0; i < b->size; i++) assert_int_equal(bytes[i], 0);
        assert_int_equal(((char *)space_alias(a, a->base))[a->size - 1], 5);
        assert_int_equal(*(char *)space_alias(c, c->base), 7);
        space_free(a), space_free(b), space_free(c);
    }
}

static void a_page_stays_visible_while_an_allocation_on_it_lives(void **state)
{
    (void)state;
    struct allocation *a = take(0, 512), *b = take(0, 512);
    uint64_t at = a->base, other = b->base;
    assert_true(sees(0, at));
    space_free(a);
    assert_true(sees(0, other));
    assert_null(space_find(at));
    space_free(b);
    assert_false(sees(0, other));
}

static void module_memory_shares_no_chunk_with_the_users(void **state)
{
    struct allocation *a, *b = take(0, 8);
    (void)state;
    assert_int_equal(space_alloc_module(&contexts[0], 8, 512, &a), CUDA_SUCCESS);
    assert_true(a->module_owned);
    assert_int_not_equal(a->mapping_base, b->mapping_base);
}

static void only_a_peer_with_access_sees_a_devices_memory(void **state)
{
    (void)state;
    struct allocation *a = take(0, 4096);
    assert_false(sees(1, a->base));
    assert_int_equal(space_set_peer(&devices[1], &devices[0], true), CUDA_SUCCESS);
    assert_true(sees(1, a->base));
    struct allocation *b = take(0, 4 << 20);
    assert_true(sees(1, b->base + (4 << 20) - 1));
    assert_int_equal(space_set_peer(&devices[1], &devices[0], false), CUDA_SUCCESS);
    assert_false(sees(1, a->base) || sees(1, b->base));
    assert_true(sees(0, a->base) && sees(0, b->base));
}

static void what_does_not_fit_changes_nothing(void **state)
{
    struct allocation *a = NULL;
    (void)state;
    assert_int_equal(space_alloc_device(&contexts[0], 17 << 20, &a), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(space_alloc_device(&contexts[0], UINT64_MAX, &a), CUDA_ERROR_OUT_OF_MEMORY);
    assert_null(a);
    assert_int_equal(devices[0].vram.used, 0);
}

static void pinned_memory_has_one_address_and_is_not_bounded_by_the_devices(void **state)
{
    struct allocation *a;
    (void)state;
    assert_int_equal(space_alloc_host(&contexts[0], 40 << 20, 0, &a), CUDA_SUCCESS);
    *(char *)a->base = 7;
    assert_int_equal(*(char *)space_alias(a, a->base), 7);
    space_free(a);
}

static void memory_that_lives_between_two_launches_costs_no_command(void **state)
{
    (void)state;
    assert_int_equal(space_settle(), CUDA_SUCCESS);
    unsigned before = processors[0].commands;
    for (int k = 0; k < 100; k++) {
        space_free(take(0, 100));
        space_free(take(0, 2 << 20));
    }
    assert_int_equal(space_settle(), CUDA_SUCCESS);
    assert_int_equal(processors[0].commands, before);
}

static void a_running_device_sees_memory_come_and_go_at_once(void **state)
{
    (void)state;
    processors[0].busy = true;
    struct allocation *a = take(0, 4096), *b = take(0, 4 << 20);
    uint64_t at = a->base - processors[0].first, other = b->base - processors[0].first;
    assert_true(processors[0].mapped[at / PAGE] && processors[0].mapped[other / PAGE]);
    space_free(a);
    space_free(b);
    assert_false(processors[0].mapped[at / PAGE] || processors[0].mapped[other / PAGE]);
}

static void an_address_just_freed_is_not_used_again_soon(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 30; round++) {
        uint64_t last[4] = { 0 };
        for (unsigned k = 0; k < 4; k++) {
            struct allocation *a = take(0, 2 << 20);
            for (unsigned j = 0; j < k; j++) assert_int_not_equal(a->base, last[j]);
            last[k] = a->base;
            space_free(a);
        }
    }
}

static void freed_memory_does_not_count_as_used_and_can_be_had_in_one_piece(void **state)
{
    struct allocation *a[8];
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 8; k++) a[k] = take(0, 2 << 20);
        assert_int_equal(devices[0].vram.used, 16 << 20);
        for (int k = 0; k < 8; k++) space_free(a[k]);
        assert_int_equal(devices[0].vram.used, 0);
        space_free(take(0, 16 << 20));
    }
}

static void memory_held_for_another_process_is_not_used_again(void **state)
{
    (void)state;
    struct allocation *a = take(0, 1000), *b = take(0, 2 << 20), *other[32];
    uint64_t at = a->base, large = b->base;
    assert_null(space_hold(a->base + 1, a->buffer_id));
    assert_null(space_hold(a->base, a->buffer_id + 1));
    assert_ptr_equal(space_hold(a->base, a->buffer_id), a);
    assert_ptr_equal(space_hold(b->base, b->buffer_id), b);
    space_free(a);
    space_free(b);
    assert_null(space_find(at));
    assert_false(sees(0, at) || sees(0, large));
    assert_int_equal(devices[0].vram.used, 4 << 20);
    for (unsigned k = 0; k < 12; k++) {
        other[k] = take(0, k % 2 ? 1000 : 2 << 20);
        assert_int_not_equal(other[k]->base, at);
        assert_int_not_equal(other[k]->base, large);
    }
    for (unsigned k = 0; k < 12; k++) space_free(other[k]);
    space_unhold(a);
    space_unhold(b);
    assert_int_equal(devices[0].vram.used, 0);
}

static void small_pinned_allocations_share_a_chunk_unless_write_combined(void **state)
{
    struct allocation *a, *b, *w;
    (void)state;
    assert_int_equal(space_alloc_host(&contexts[0], 10000, 0, &a), CUDA_SUCCESS);
    assert_int_equal(space_alloc_host(&contexts[0], 10000, CU_MEMHOSTALLOC_WRITECOMBINED, &w),
                     CUDA_SUCCESS);
    assert_int_equal(space_alloc_host(&contexts[0], 10000, CU_MEMHOSTALLOC_PORTABLE, &b),
                     CUDA_SUCCESS);
    assert_int_equal(b->base - a->base, 10240);
    assert_int_equal(b->mapping_base, a->mapping_base);
    assert_int_equal(w->mapping_base, w->base);
    memset((void *)a->base, 1, 10000);
    memset((void *)b->base, 2, 10000);
    space_free(a);
    assert_int_equal(((char *)b->base)[0], 2); /* on a page that a was on too */
    space_free(b);
    space_free(w);
}

static void an_address_is_described_by_what_it_was(void **state)
{
    char text[256];
    (void)state;
    struct allocation *a = take(0, 400);
    uint64_t at = a->base;
    space_describe(at + 8, 0, text, sizeof text);
    assert_non_null(strstr(text, "byte 8 of 400 bytes of device memory"));
    space_describe(at + 404, 0, text, sizeof text);
    assert_non_null(strstr(text, "4 bytes past the end of 400 bytes"));
    space_describe(at, 1, text, sizeof text);
    assert_non_null(strstr(text, "no peer access"));
    space_free(a);
    space_describe(at + 8, 0, text, sizeof text);
    assert_non_null(strstr(text, "that were freed"));
    space_describe(0, 0, text, sizeof text);
    assert_non_null(strstr(text, "null pointer"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(small_allocations_lie_512_bytes_apart),
        CASE(every_byte_of_an_allocation_finds_it_and_no_other_does),
        CASE(what_is_cleared_is_zero_and_what_lies_beside_it_stays),
        CASE(a_page_stays_visible_while_an_allocation_on_it_lives),
        CASE(module_memory_shares_no_chunk_with_the_users),
        CASE(only_a_peer_with_access_sees_a_devices_memory),
        CASE(what_does_not_fit_changes_nothing),
        CASE(pinned_memory_has_one_address_and_is_not_bounded_by_the_devices),
        CASE(memory_that_lives_between_two_launches_costs_no_command),
        CASE(a_running_device_sees_memory_come_and_go_at_once),
        CASE(an_address_just_freed_is_not_used_again_soon),
        CASE(freed_memory_does_not_count_as_used_and_can_be_had_in_one_piece),
        CASE(memory_held_for_another_process_is_not_used_again),
        CASE(small_pinned_allocations_share_a_chunk_unless_write_combined),
        CASE(an_address_is_described_by_what_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
