/* Where a graph's allocations lie: the rules by themselves, and at random that no two lie in one place unless one is freed
 * before the other is allocated. */
#include "mempool/layout.h"
#include "../draw.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* after the others */
#include <cmocka.h>

enum { NODES = 200, GRAPHS = 300, EDGES = 3, GROWTH = 1 << 16 };

/* A graph of nodes that allocate or free, or do neither; before[n][m]: n comes after m. */
static struct node {
    bool before[NODES];
    uint64_t at, size; /* of one that allocates */
    int freed_by;      /* its node, or -1 */
} nodes[NODES];
static int count;
static uint64_t end;
static struct layout layout;

static bool is_behind(const void *point) { return nodes[count].before[(const struct node *)point - nodes]; }

static void behind(int n)
{
    nodes[count].before[n] = true;
    for (int k = 0; k < n; k++) nodes[count].before[k] |= nodes[n].before[k];
}

static uint64_t take(uint64_t size)
{
    struct node *n = &nodes[count];
    if (!layout_take(&layout, size, is_behind, &n->at)) {
        assert_int_equal(layout_extend(&layout, end, GROWTH), CUDA_SUCCESS);
        end += GROWTH;
        assert_true(layout_take(&layout, size, is_behind, &n->at));
    }
    n->size = size;
    n->freed_by = -1;
    count++;
    return n->at;
}

static void give(int which)
{
    behind(which);
    nodes[which].freed_by = count;
    assert_int_equal(layout_free(&layout, nodes[which].at, nodes[which].size, &nodes[count], is_behind), CUDA_SUCCESS);
    count++;
}

static int begin(void **unused)
{
    (void)unused;
    memset(nodes, 0, sizeof nodes);
    memset(&layout, 0, sizeof layout);
    count = 0;
    end = 0;
    return 0;
}

static int finish(void **unused)
{
    (void)unused;
    layout_end(&layout);
    return 0;
}

/* As recorded of an H200, here and below. */
static void what_is_freed_serves_who_comes_after(void **unused)
{
    (void)unused;
    assert_int_equal(take(1000), 0);
    give(0);
    assert_int_equal(take(500), 1000); /* not after the free */
    behind(1);
    assert_int_equal(take(500), 0);
    behind(1);
    assert_int_equal(take(500), 500); /* nor after the last one, but what it left is free */
}

static void frees_one_after_the_other_join(void **unused)
{
    (void)unused;
    take(1000);
    behind(0);
    take(1000);
    give(0);
    behind(2);
    give(1);
    behind(2);
    assert_int_equal(take(1000), 2000); /* joined, it is for those after both */
    behind(3);
    assert_int_equal(take(2000), 0);
}

static void frees_side_by_side_do_not(void **unused)
{
    (void)unused;
    take(1000);
    behind(0);
    take(1000);
    give(0);
    give(1);
    behind(2), behind(3);
    assert_int_equal(take(2000), 2000);
    behind(2), behind(3);
    assert_int_equal(take(1000), 0);
}

static void the_smallest_hole_is_taken(void **unused)
{
    (void)unused;
    take(3000);
    take(10);
    take(1000);
    take(10);
    for (int k = 0; k < 4; k += 2) {
        for (int j = 0; j < count; j++) behind(j);
        give(k);
    }
    behind(5);
    assert_int_equal(take(900), 3010);
}

static bool overlap(const struct node *a, const struct node *b)
{
    return a->at < b->at + b->size && b->at < a->at + a->size;
}

/* Whether b is allocated after a was freed. */
static bool follows(int a, int b) { return nodes[a].freed_by >= 0 && nodes[b].before[nodes[a].freed_by]; }

static void step(void)
{
    const int which = count ? (int)draw((uint32_t)count) : 0;
    for (int k = 0; k < EDGES && count; k++)
        if (draw(2)) behind(count - 1 - (int)draw((uint32_t)(count < 12 ? count : 12)));
    if (count && nodes[which].size && nodes[which].freed_by < 0)
        give(which);
    else
        take(1 + draw(3000));
}

static void allocations_that_may_live_together_lie_apart(void **state)
{
    uint64_t shared = 0;
    for (int g = 0; g < GRAPHS; g++) {
        begin(state);
        while (count < NODES) step();
        for (int a = 0; a < count; a++)
            for (int b = 0; b < a; b++) {
                if (!nodes[a].size || !nodes[b].size || !overlap(&nodes[a], &nodes[b])) continue;
                assert_true(follows(b, a));
                shared++;
            }
        layout_end(&layout);
    }
    assert_true(shared > (uint64_t)10 * GRAPHS); /* else nothing is shown */
    begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_freed_serves_who_comes_after, begin, finish),
        cmocka_unit_test_setup_teardown(frees_one_after_the_other_join, begin, finish),
        cmocka_unit_test_setup_teardown(frees_side_by_side_do_not, begin, finish),
        cmocka_unit_test_setup_teardown(the_smallest_hole_is_taken, begin, finish),
        cmocka_unit_test_setup_teardown(allocations_that_may_live_together_lie_apart, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
