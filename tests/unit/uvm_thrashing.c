/* The thrashing detector by itself (src/uvm/thrashing.c): what counts as
 * thrashing, when a page rests and where it is pinned, row by row. One host,
 * three linked devices that reach the host; the host reaches no device. */
#include "context/context.h"
#include "uvm_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { GPU0 = 1, GPU1, PAGE = 5 };
enum { US = 1000, MS = 1000 * US, LAPSE = 500 * US, NAP = 500 * US, PIN_LIFE = 150 * MS, EPOCH = 1000 * MS };

static struct range range;
static struct window window;
static struct block block;
static struct place places[4];
static uint64_t now = 1;

static int begin(void **s)
{
    (void)s;
    memset(places, 0, sizeof places);
    range = (struct range){ .policy = { .preferred = NOBODY, .preferred_node = -1 } };
    block = (struct block){ .window = &window, .range = &range, .region = { 0, WINDOW_PAGES } };
    for (unsigned p = 0; p < 4; p++) block.place[p] = &places[p];
    return 0;
}

static int end(void **s)
{
    (void)s;
    thrashing_free(&block);
    return 0;
}

static void move(unsigned p)
{
    struct mask page = { { 0 } };
    mask_set(&page, PAGE);
    for (unsigned q = 0; q < 4; q++) mask_clear(&places[q].resident, PAGE);
    mask_set(&places[p].resident, PAGE);
    block.resident = bit(p);
    thrashing_event(&block, &page, p, false, now);
}

static struct hint hint(unsigned p) { return thrashing_hint(&block, PAGE, p, now); }

#define assert_hint(p, what, where) \
    do { \
        struct hint h_ = hint(p); \
        assert_int_equal(h_.kind, what); \
        assert_int_equal(h_.target, where); \
    } while (0)

static bool thrashes(void)
{
    const struct mask *m = thrashing_pages(&block);
    return m && mask_test(m, PAGE);
}

/* p and q take the page from each other until that is noticed; q has it last. */
static void fight(unsigned p, unsigned q)
{
    for (int k = 0; k < 6; k++) {
        now += 50 * US;
        move(k % 2 ? q : p);
    }
    assert_true(thrashes());
}

/* p faults and is served unless it has to rest; one that rests comes back when its nap is over. */
static struct hint serve(unsigned p)
{
    now += 50 * US;
    struct hint h = hint(p);
    while (h.kind == HINT_THROTTLE) {
        now = (h.until > now ? h.until : now) + 60 * US; /* nobody wakes up in time */
        h = hint(p);
    }
    if (h.kind == HINT_PIN) return h;
    now += 20 * US;
    move(p);
    return h;
}

/* How often p and q take the page in turn until it is pinned at q; 0: never. */
static int turns_until_pinned_at(unsigned q, unsigned p)
{
    for (int k = 0; k < 200; k++) {
        struct hint h = serve(k % 2 ? q : p);
        if (h.kind == HINT_PIN && h.target == q) return k + 1;
    }
    return 0;
}

static void three_quick_events_are_thrashing_and_slow_ones_are_not(void **s)
{
    (void)s;
    for (int k = 0; k < 5; k++) {
        assert_false(thrashes());
        now += LAPSE;
        move(k % 2 ? CPU : GPU0);
    }
    assert_true(thrashes()); /* the first makes the block suspect, the second starts the page's clock */
    now += LAPSE + 1;
    move(CPU);
    assert_false(thrashes());
}

static void one_processor_alone_never_thrashes(void **s)
{
    (void)s;
    for (int k = 0; k < 20; k++) {
        now += US;
        move(GPU0);
    }
    assert_false(thrashes());
    assert_hint(GPU0, HINT_NONE, NOBODY);
}

static void who_comes_first_is_served_and_the_other_rests_for_a_nap(void **s)
{
    (void)s;
    fight(GPU0, CPU);
    assert_hint(GPU0, HINT_NONE, NOBODY);
    uint64_t nap = now + NAP;
    now += 20 * US;
    struct hint h = hint(CPU);
    assert_int_equal(h.kind, HINT_THROTTLE);
    assert_int_equal(h.until, nap);
    now += 20 * US;
    assert_int_equal(hint(CPU).until, nap);
    assert_hint(GPU0, HINT_NONE, NOBODY);
    now = nap;
    assert_hint(CPU, HINT_NONE, NOBODY); /* its turn */
    assert_hint(GPU0, HINT_THROTTLE, NOBODY);
}

static void nobody_is_served_before_the_others_in_two_naps_running(void **s)
{
    (void)s;
    fight(GPU0, CPU);
    assert_hint(GPU0, HINT_NONE, NOBODY);
    now += NAP;
    move(GPU0);
    assert_hint(GPU0, HINT_THROTTLE, NOBODY);
}

static void a_page_that_was_quiet_for_a_lapse_is_served_at_once(void **s)
{
    (void)s;
    fight(GPU0, CPU);
    assert_hint(GPU0, HINT_NONE, NOBODY);
    now += LAPSE + 1;
    assert_hint(CPU, HINT_NONE, NOBODY);
}

static void a_reachable_preferred_location_pins_at_once(void **s)
{
    (void)s;
    range.policy.preferred = CPU;
    fight(GPU0, CPU);
    assert_hint(GPU0, HINT_PIN, CPU);
}

static void linked_devices_pin_where_the_page_is(void **s)
{
    (void)s;
    fight(GPU0, GPU1);
    assert_hint(GPU0, HINT_PIN, GPU1);
}

static void processors_with_a_fast_link_to_the_host_pin_at_the_device(void **s)
{
    (void)s;
    struct topology saved = topology;
    for_each_processor(p, 7) topology.can_access[p] = topology.native_atomics[p] = topology.fast_link[p] = 7;
    fight(GPU0, CPU);
    struct hint of_host = hint(CPU);
    move(CPU);
    struct hint of_device = hint(GPU0);
    topology = saved;
    assert_int_equal(of_host.kind, HINT_NONE);
    assert_int_equal(of_device.kind, HINT_PIN);
    assert_int_equal(of_device.target, GPU0);
}

static void the_tenth_nap_pins_a_page_in_the_host_though_each_made_its_events_slow(void **s)
{
    (void)s;
    fight(GPU0, CPU);
    assert_in_range(turns_until_pinned_at(CPU, GPU0), 40, 80); /* 58 to 72 moves on the H200 */
    assert_true(thrashing_pinned(&block, PAGE));
    assert_int_equal(thrashing_processors(&block, PAGE), bit(CPU) | bit(GPU0));
}

static void a_pinned_page_is_mapped_where_it_is_by_who_reaches_it(void **s)
{
    (void)s;
    fight(GPU0, CPU);
    assert_true(turns_until_pinned_at(CPU, GPU0));
    move(CPU);
    for (int k = 0; k < 5; k++) {
        now += US;
        assert_hint(GPU0, HINT_PIN, CPU);
        assert_hint(CPU, HINT_PIN, CPU);
        now += NAP;
    }
}

/* The host does not reach the preferred device. */
static void a_preferred_device_that_the_host_does_not_reach_takes_turns_with_it(void **s)
{
    (void)s;
    range.policy.preferred = GPU0;
    fight(GPU0, CPU);
    assert_hint(CPU, HINT_NONE, NOBODY); /* privileged */
    assert_hint(GPU0, HINT_THROTTLE, NOBODY);
    now += NAP;
    move(CPU);
    assert_hint(GPU0, HINT_NONE, NOBODY);
    assert_hint(CPU, HINT_THROTTLE, NOBODY);
}

static void a_preferred_device_gets_its_page_pinned_after_ten_naps_and_the_host_rests(void **s)
{
    (void)s;
    range.policy.preferred = GPU0;
    fight(GPU0, CPU);
    assert_true(turns_until_pinned_at(GPU0, CPU));
    now += US;
    assert_hint(CPU, HINT_THROTTLE, NOBODY); /* cannot map it */
    assert_hint(GPU0, HINT_PIN, GPU0);
}

static void a_pin_ends_after_its_life_and_all_starts_over(void **s)
{
    (void)s;
    fight(GPU0, CPU);
    assert_true(turns_until_pinned_at(CPU, GPU0));
    assert_true(thrashing_pinned_any());
    uint64_t deadline = thrashing_unpin(now);
    assert_in_range(deadline, now + PIN_LIFE - MS, now + PIN_LIFE); /* it moved while it was pinned */
    assert_int_equal(thrashing_unpin(deadline - 1), deadline);
    assert_true(thrashes());
    assert_int_equal(thrashing_unpin(deadline), 0);
    assert_false(thrashes());
    assert_false(thrashing_pinned_any());
    now = deadline;
    assert_hint(GPU0, HINT_NONE, NOBODY);
}

static void a_slow_event_of_a_page_that_thrashes_is_forgotten_with_the_others(void **s)
{
    (void)s;
    fight(GPU0, CPU);
    now += 2 * LAPSE;
    move(GPU0);
    for (int k = 0; k < 4; k++) {
        assert_false(thrashes());
        now += US;
        move(k % 2 ? GPU0 : CPU);
    }
    assert_true(thrashes());
}

static void a_pinned_page_whose_rights_are_taken_back_rests(void **s)
{
    (void)s;
    struct mask page = { { 0 } };
    mask_set(&page, PAGE);
    fight(GPU0, CPU);
    assert_true(turns_until_pinned_at(CPU, GPU0));
    thrashing_event(&block, &page, GPU0, true, now += US);
    thrashing_event(&block, &page, GPU0, true, now += US); /* quick */
    now += 2 * NAP;
    struct hint of_device = hint(GPU0), of_host = hint(CPU); /* one of them, in turn */
    assert_int_equal(of_device.kind + of_host.kind, HINT_PIN + HINT_THROTTLE);
}

static void other_migrations_reset_pages_that_thrash_only(void **s)
{
    (void)s;
    struct mask page = { { 0 } };
    mask_set(&page, PAGE);
    for (int k = 0; k < 4; k++) { /* two quick events of the page's */
        now += US;
        move(k % 2 ? CPU : GPU0);
    }
    thrashing_reset(&block, &page);
    now += US;
    move(GPU0);
    assert_true(thrashes()); /* they still count */
    thrashing_reset(&block, &page);
    assert_false(thrashes());
}

static void a_block_that_never_pinned_forgets_after_a_quiet_second(void **s)
{
    (void)s;
    fight(GPU0, CPU);
    now += EPOCH + MS;
    assert_hint(GPU0, HINT_NONE, NOBODY);
    assert_false(thrashes());
}

int main(void)
{
    fake_begin(3, 1ull << 30);
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(three_quick_events_are_thrashing_and_slow_ones_are_not),
        TEST(one_processor_alone_never_thrashes),
        TEST(who_comes_first_is_served_and_the_other_rests_for_a_nap),
        TEST(nobody_is_served_before_the_others_in_two_naps_running),
        TEST(a_page_that_was_quiet_for_a_lapse_is_served_at_once),
        TEST(a_reachable_preferred_location_pins_at_once),
        TEST(linked_devices_pin_where_the_page_is),
        TEST(processors_with_a_fast_link_to_the_host_pin_at_the_device),
        TEST(the_tenth_nap_pins_a_page_in_the_host_though_each_made_its_events_slow),
        TEST(a_pinned_page_is_mapped_where_it_is_by_who_reaches_it),
        TEST(a_preferred_device_that_the_host_does_not_reach_takes_turns_with_it),
        TEST(a_preferred_device_gets_its_page_pinned_after_ten_naps_and_the_host_rests),
        TEST(a_pin_ends_after_its_life_and_all_starts_over),
        TEST(a_slow_event_of_a_page_that_thrashes_is_forgotten_with_the_others),
        TEST(a_pinned_page_whose_rights_are_taken_back_rests),
        TEST(other_migrations_reset_pages_that_thrash_only),
        TEST(a_block_that_never_pinned_forgets_after_a_quiet_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
