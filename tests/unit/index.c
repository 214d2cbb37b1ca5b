/* The index of allocations: what readers find while a writer changes it. */
#include "space/index.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define BASE 0x570000000000ul
enum { SPACING = 12345, POOLS = 1000 };

/* Of another for each SPACING bytes. */
static void *pool_at(uint64_t address) { return (void *)((address - BASE) / SPACING % POOLS + 1); }

static struct allocation make(uint64_t base, uint64_t size)
{
    return (struct allocation){
        .base = base, .size = size, .buffer_id = base ^ size, .pool = pool_at(base), .mapping_base = ~base
    };
}

static void insert(struct allocation *a) { assert_int_equal(index_insert(a), CUDA_SUCCESS); }

/* ---- alone */

static void an_allocation_is_found_at_each_of_its_bytes(void **state)
{
    static const struct {
        uint64_t at, size;
    } cases[] = {
        { 0, 1 },          { 511, 2 },           { 512, 512 },        { 4095, 4098 },
        { 100, 2 << 20 },  { 2 << 20, 2 << 20 }, { 4096, 64 << 20 },  { 0, 1ul << 34 },
        { 17, 3ul << 34 }, { (2 << 20) - 1, 1 }, { 1ul << 34, 4096 }, { 8191, 1 },
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct allocation a = make(BASE + cases[k].at, cases[k].size), copy;
        uint64_t last = a.base + a.size - 1;
        insert(&a);
        for (uint64_t at = a.base; at <= last && at - a.base < 10000; at++) assert_ptr_equal(index_object(at), &a);
        for (uint64_t at = last; at >= a.base && last - at < 10000; at--) assert_ptr_equal(index_object(at), &a);
        for (uint64_t step = 1; step < a.size; step *= 3) assert_ptr_equal(index_object(a.base + step), &a);
        assert_null(index_object(a.base - 1));
        assert_null(index_object(last + 1));
        assert_ptr_equal(index_find(last, &copy), &a);
        assert_int_equal(copy.mapping_base, a.mapping_base);
        index_remove(&a);
        assert_null(index_object(a.base));
        assert_null(index_object(last));
    }
}

static void neighbours_share_pages_and_512_byte_units(void **state)
{
    struct allocation a[100];
    (void)state;
    for (unsigned k = 0; k < 100; k++) {
        a[k] = make(BASE + 3 + k * 71, 70);
        insert(&a[k]);
    }
    for (unsigned k = 1; k < 100; k += 2) index_remove(&a[k]);
    for (unsigned k = 0; k < 100; k++)
        for (unsigned b = 0; b < 71; b++)
            assert_ptr_equal(index_object(a[k].base + b), k % 2 || b == 70 ? NULL : &a[k]);
    for (unsigned k = 0; k < 100; k += 2) index_remove(&a[k]);
}

static void what_changes_is_seen_after_an_update_only(void **state)
{
    struct allocation a = make(BASE, 100), copy;
    (void)state;
    insert(&a);
    a.sync_memops = true;
    index_find(BASE, &copy);
    assert_false(copy.sync_memops);
    index_update(&a);
    index_find(BASE, &copy);
    assert_true(copy.sync_memops);
    index_remove(&a);
}

static void a_glance_sees_what_many_have_in_common(void **state)
{
    struct allocation a = make(BASE, 100), copy;
    (void)state;
    a.pool = &a;
    a.flags = 7;
    insert(&a);
    assert_true(index_glance(BASE + 99, &copy));
    assert_int_equal(copy.flags, 7);
    assert_ptr_equal(copy.pool, &a);
    assert_false(copy.dormant);
    a.dormant = true;
    index_update(&a);
    for (uint64_t at = BASE; at < BASE + 100; at++) assert_true(index_glance(at, &copy) && copy.dormant);
    assert_false(index_glance(BASE + 100, &copy));
    index_remove(&a);
    assert_false(index_glance(BASE, &copy));
}

static void a_glance_sees_it_however_much_there_is(void **state)
{
    struct allocation a = make(BASE, 1 << 20), copy;
    (void)state;
    insert(&a);
    for (uintptr_t n = 1; n < 10000; n++) {
        a.context = (struct context *)n;
        a.device = (struct device *)(n & 1);
        index_update(&a);
        assert_true(index_glance(BASE + n, &copy));
        assert_ptr_equal(copy.context, a.context);
        assert_ptr_equal(copy.device, a.device);
    }
    index_remove(&a);
}

static void addresses_that_no_process_has_are_nothing(void **state)
{
    (void)state;
    struct allocation a = make((1ul << 47) - 10, 20);
    assert_int_equal(index_insert(&a), CUDA_ERROR_INVALID_VALUE);
    assert_null(index_object(1ul << 47));
    assert_null(index_object(~0ul));
    assert_null(index_object(0));
}

/* ---- readers beside a writer */

enum { STAY = 500, COME = 500, READERS = 3, CHANGES = 60000 };
static struct allocation staying[STAY], coming[COME];
static _Atomic bool stop;

/* STAY and COME lie one after the other, in turn, so that they share tables of every level. */
static uint64_t place_of(unsigned k, bool stays) { return BASE + (2 * (uint64_t)k + !stays) * SPACING; }

static void *read_on(void *arg)
{
    unsigned state = (unsigned)(uintptr_t)arg;
    uintptr_t wrong = 0;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        struct allocation copy;
        unsigned r = (state = state * 1664525u + 1013904223u) >> 8, k = r % STAY;
        uint64_t at = place_of(k, true) + r / STAY % staying[k].size;
        wrong +=
            index_find(at, &copy) != &staying[k] || copy.base != staying[k].base || copy.mapping_base != ~copy.base;
        wrong += !index_glance(at, &copy) || copy.pool != pool_at(at);
        at = place_of(k, true) + staying[k].size;
        wrong += at < place_of(k, true) + SPACING && index_glance(at, &copy); /* where nothing ever is */
        at = place_of(r % COME, false) + r % SPACING;
        if (index_glance(at, &copy)) wrong += copy.pool != pool_at(at);
        if (index_find(at, &copy))
            wrong += at - copy.base >= copy.size || copy.buffer_id != (copy.base ^ copy.size) ||
                     copy.mapping_base != ~copy.base;
    }
    return (void *)wrong;
}

static void readers_find_what_stays_and_never_a_mixture(void **state)
{
    pthread_t readers[READERS];
    (void)state;
    srand(1);
    for (unsigned k = 0; k < STAY; k++) {
        staying[k] = make(place_of(k, true), 1 + (uint64_t)(rand() % SPACING));
        insert(&staying[k]);
    }
    atomic_store(&stop, false);
    for (uintptr_t k = 0; k < READERS; k++) pthread_create(&readers[k], NULL, read_on, (void *)(k + 1));
    for (unsigned n = 0; n < CHANGES; n++) {
        struct allocation *a = &coming[(unsigned)rand() % COME];
        if (a->record) {
            index_remove(a);
        } else {
            uint64_t skip = (uint64_t)(rand() % 5000);
            *a = make(place_of((unsigned)(a - coming), false) + skip, 1 + (uint64_t)rand() % (SPACING - skip));
            insert(a);
        }
    }
    atomic_store(&stop, true);
    for (unsigned k = 0; k < READERS; k++) {
        void *wrong;
        pthread_join(readers[k], &wrong);
        assert_null(wrong);
    }
    for (unsigned k = 0; k < STAY; k++) index_remove(&staying[k]);
    for (unsigned k = 0; k < COME; k++)
        if (coming[k].record) index_remove(&coming[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_is_found_at_each_of_its_bytes),
        cmocka_unit_test(neighbours_share_pages_and_512_byte_units),
        cmocka_unit_test(what_changes_is_seen_after_an_update_only),
        cmocka_unit_test(a_glance_sees_what_many_have_in_common),
        cmocka_unit_test(addresses_that_no_process_has_are_nothing),
        cmocka_unit_test(readers_find_what_stays_and_never_a_mixture),
        cmocka_unit_test(a_glance_sees_it_however_much_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
