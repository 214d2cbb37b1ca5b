/* What waits for the next kernel, against a page table that sees everything at once. */
#include "processor/lazy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANGES = 24, PAGE = 2 << 20, STEPS = 200000 };
static const struct backing memory = { .id = 3 };

struct entry {
    uint64_t offset; /* of its first page, + 1; 0: not mapped */
    unsigned prot;
};
static struct entry device[RANGES], now[RANGES];
static unsigned sent, refused /* the which-th is */;

CUresult page_command_now(struct processor *p, enum command_kind kind, uint64_t va, uint64_t size,
                          const struct backing *b, uint64_t offset, unsigned prot)
{
    (void)p;
    if (++sent == refused) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint64_t k = 0; k < size / PAGE; k++) {
        struct entry *e = &device[va / PAGE + k];
        if (kind == COMMAND_MAP) {
            assert_ptr_equal(b, &memory);
            *e = (struct entry){ offset + k * PAGE + 1, prot };
        } else {
            assert_true(e->offset); /* a real page table refuses to change what is not there */
            *e = kind == COMMAND_UNMAP ? (struct entry){ 0 } : (struct entry){ e->offset, prot };
        }
    }
    return CUDA_SUCCESS;
}

static void put(struct processor *p, const struct lazy_command *c)
{
    if (lazy_put(p, c)) return;
    assert_int_equal(lazy_flush(p), CUDA_SUCCESS);
    assert_true(lazy_put(p, c));
}

static void map(struct processor *p, unsigned range, uint64_t offset, unsigned prot)
{
    now[range] = (struct entry){ offset + 1, prot };
    put(p, &(struct lazy_command){ .kind = COMMAND_MAP,
                                   .va = (uint64_t)range * PAGE,
                                   .size = PAGE,
                                   .backing = &memory,
                                   .offset = offset,
                                   .prot = prot });
}

static void unmap(struct processor *p, unsigned range)
{
    now[range] = (struct entry){ 0 };
    put(p, &(struct lazy_command){ .kind = COMMAND_UNMAP, .va = (uint64_t)range * PAGE, .size = PAGE });
}

static void protect(struct processor *p, unsigned range, unsigned prot)
{
    now[range].prot = prot;
    put(p, &(struct lazy_command){ .kind = COMMAND_PROTECT, .va = (uint64_t)range * PAGE, .size = PAGE, .prot = prot });
}

static int begin(void **state)
{
    memset(device, 0, sizeof device);
    memset(now, 0, sizeof now);
    sent = refused = 0;
    *state = calloc(1, sizeof(struct processor));
    return *state ? 0 : -1;
}

static int end(void **state)
{
    lazy_free(*state);
    free(*state);
    return 0;
}

static void a_page_that_comes_and_goes_is_never_sent(void **state)
{
    struct processor *p = *state;
    for (unsigned k = 0; k < 1000; k++) {
        map(p, 1, 0, 1);
        protect(p, 1, 3);
        unmap(p, 1);
    }
    lazy_flush(p);
    assert_int_equal(sent, 0);
}

static void neighbours_are_sent_as_one(void **state)
{
    struct processor *p = *state;
    for (unsigned k = 0; k < 10; k++) map(p, k, (uint64_t)k * PAGE, 3);
    map(p, 10, 10ul * PAGE, 1); /* other rights */
    map(p, 12, 12ul * PAGE, 1); /* other addresses */
    lazy_flush(p);
    assert_int_equal(sent, 3);
    assert_memory_equal(device, now, sizeof now);
}

static void what_a_flush_could_not_send_goes_on_waiting(void **state)
{
    struct processor *p = *state;
    map(p, 1, 0, 3);
    map(p, 3, 0, 3);
    map(p, 5, 0, 3);
    refused = 2;
    assert_int_equal(lazy_flush(p), CUDA_ERROR_OUT_OF_MEMORY);
    unmap(p, 5); /* which was never sent */
    protect(p, 3, 1);
    assert_int_equal(lazy_flush(p), CUDA_SUCCESS);
    assert_int_equal(sent, 3);
    assert_memory_equal(device, now, sizeof now);
}

static void in_any_order_the_device_ends_with_the_same_table(void **state)
{
    struct processor *p = *state;
    srandom(7);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned range = (unsigned)random() % RANGES, prot = random() % 2 ? 3 : 1;
        if (!now[range].offset)
            map(p, range, (uint64_t)(random() % RANGES) * PAGE, prot);
        else if (random() % 3)
            unmap(p, range);
        else
            protect(p, range, prot);
        if (random() % 100 && step != STEPS - 1) continue;
        lazy_flush(p);
        assert_memory_equal(device, now, sizeof now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_page_that_comes_and_goes_is_never_sent, begin, end),
        cmocka_unit_test_setup_teardown(neighbours_are_sent_as_one, begin, end),
        cmocka_unit_test_setup_teardown(what_a_flush_could_not_send_goes_on_waiting, begin, end),
        cmocka_unit_test_setup_teardown(in_any_order_the_device_ends_with_the_same_table, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
