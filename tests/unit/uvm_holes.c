/* Places in chunks that allocations share, against a model that looks at every byte of every chunk. */
#include "../draw.h"
#include "uvm/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* after the others */
#include <cmocka.h>

enum { CHUNKS = 6, UNITS = WINDOW_BYTES / SLAB_UNIT, PIECES = 400 };

static struct context *const nobody = NULL;

static struct managed *chunk(struct managed *m, uint64_t start)
{
    *m = (struct managed){ .start = start, .end = start + WINDOW_BYTES };
    holes_begin(m);
    return m;
}

static uint64_t tight(uint64_t size, struct hole *behind)
{
    struct hole *h = hole_find(nobody, false, size);
    assert_non_null(h);
    assert_true(h->size >= size);
    uint64_t at = h->at;
    hole_take(h, size, behind);
    return at;
}

static void the_smallest_hole_is_taken(void **unused)
{
    (void)unused;
    struct managed m;
    struct hole a, b, keep, rest, more[2];
    chunk(&m, 0);
    tight(8 * PAGE_BYTES, &a);
    assert_int_equal(tight(PAGE_BYTES, &keep), 8 * PAGE_BYTES);
    uint64_t at = tight(3 * PAGE_BYTES, &b);
    tight(PAGE_BYTES, &rest);
    hole_give(&a);
    hole_give(&b);
    assert_int_equal(tight(2 * PAGE_BYTES, &more[0]), at);
    assert_int_equal(tight(4 * PAGE_BYTES, &more[1]), 0);
    hole_give(&keep);
    hole_give(&rest);
    hole_give(&more[0]);
    hole_give(&more[1]);
    holes_end(&m);
}

static void a_chunk_can_be_lent_as_a_whole_and_then_no_more(void **unused)
{
    (void)unused;
    struct managed m;
    struct hole all, next;
    chunk(&m, WINDOW_BYTES);
    assert_int_equal(tight(WINDOW_BYTES, &all), WINDOW_BYTES);
    assert_null(hole_find(nobody, false, 1));
    hole_give(&all);
    assert_int_equal(tight(1, &all), WINDOW_BYTES);
    assert_int_equal(tight(1, &next), WINDOW_BYTES + SLAB_UNIT);
    hole_give(&all);
    hole_give(&next);
    holes_end(&m);
}

/* ---- the model */

static struct managed chunks[CHUNKS]; /* from the oldest to the newest */
static bool taken[CHUNKS][UNITS];
static struct {
    struct hole behind;
    unsigned chunk, at, units; /* 0: none is */
} pieces[PIECES];

static unsigned run_at(unsigned chunk, unsigned at)
{
    unsigned n = 0;
    while (at + n < UNITS && !taken[chunk][at + n]) n++;
    return n;
}

/* Where the model would put it; 0: nowhere. */
static uint64_t best(unsigned owner, unsigned units)
{
    unsigned smallest = UNITS + 1;
    uint64_t at = 0;
    for (unsigned c = CHUNKS; c-- > 0;)
        for (unsigned k = 0, run; chunks[c].of_module == owner && k < UNITS; k += run + 1) {
            run = run_at(c, k);
            if (run < units || run >= smallest) continue;
            smallest = run;
            at = chunks[c].start + (uint64_t)k * SLAB_UNIT;
        }
    return at;
}

static void mark(unsigned k, bool is)
{
    for (unsigned u = 0; u < pieces[k].units; u++) taken[pieces[k].chunk][pieces[k].at + u] = is;
}

static void put(unsigned k)
{
    unsigned owner = draw(2), units = 1 + draw(draw(4) ? 16 : UNITS / 4);
    uint64_t at = best(owner, units);
    struct hole *h = hole_find(nobody, owner, (uint64_t)units * SLAB_UNIT - draw(SLAB_UNIT));
    assert_int_equal(h ? h->at : 0, at);
    if (!h) return;
    pieces[k].chunk = (unsigned)(h->chunk - chunks);
    pieces[k].at = (unsigned)((at - h->chunk->start) / SLAB_UNIT);
    pieces[k].units = units;
    hole_take(h, (uint64_t)units * SLAB_UNIT, &pieces[k].behind);
    mark(k, true);
}

static void the_best_of_all_chunks_is_found(void **unused)
{
    (void)unused;
    for (unsigned c = 0; c < CHUNKS; c++) {
        chunks[c] = (struct managed){ .start = (1 + draw(9) * CHUNKS + c) * (uint64_t)WINDOW_BYTES, .of_module = c % 2 };
        chunks[c].end = chunks[c].start + WINDOW_BYTES;
        holes_begin(&chunks[c]);
    }
    for (unsigned n = 0; n < 20000; n++) {
        unsigned k = draw(PIECES);
        if (!pieces[k].units) {
            put(k);
            continue;
        }
        mark(k, false);
        hole_give(&pieces[k].behind);
        pieces[k].units = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_hole_is_taken),
        cmocka_unit_test(a_chunk_can_be_lent_as_a_whole_and_then_no_more),
        cmocka_unit_test(the_best_of_all_chunks_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
