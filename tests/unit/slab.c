/* Places in a chunk that small allocations share. */
#include "space/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* after the others */
#include <cmocka.h>

enum { PAGE = 4096 };

static uint64_t tight(struct slab *s, uint64_t size)
{
    uint64_t at;
    assert_true(slab_hole(s, size, &at) >= size);
    slab_fill(s, at, size);
    return at;
}

static void managed_memory_goes_into_the_smallest_hole(void **unused)
{
    (void)unused;
    struct slab s = { 0 };
    uint64_t a = tight(&s, 8 * PAGE), keep = tight(&s, PAGE), b = tight(&s, 3 * PAGE);
    tight(&s, PAGE);
    slab_give(&s, a, 8 * PAGE);
    slab_give(&s, b, 3 * PAGE);
    assert_int_equal(tight(&s, 2 * PAGE), b);
    assert_int_equal(tight(&s, 4 * PAGE), a);
    assert_int_equal(keep, 8 * PAGE);
}

static void the_lowest_of_equal_holes_is_taken(void **unused)
{
    (void)unused;
    struct slab s = { 0 };
    uint64_t a = tight(&s, PAGE);
    tight(&s, PAGE);
    uint64_t b = tight(&s, PAGE);
    tight(&s, PAGE);
    slab_give(&s, a, PAGE);
    slab_give(&s, b, PAGE);
    assert_int_equal(tight(&s, 100), a);
    assert_int_equal(tight(&s, 1), 512);
}

static void a_chunk_can_be_lent_as_a_whole_and_then_no_more(void **unused)
{
    (void)unused;
    struct slab s = { 0 };
    uint64_t at;
    assert_int_equal(tight(&s, 2 << 20), 0);
    assert_int_equal(slab_hole(&s, 1, &at), 0);
    slab_give(&s, 0, 2 << 20);
    assert_int_equal(tight(&s, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(managed_memory_goes_into_the_smallest_hole),
        cmocka_unit_test(the_lowest_of_equal_holes_is_taken),
        cmocka_unit_test(a_chunk_can_be_lent_as_a_whole_and_then_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
