/* Histories that pages share, against a model in which each page has its own. */
#include "../draw.h"
#include "uvm/histories.h"
#include "uvm/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
/* after the others */
#include <cmocka.h>

enum { STEPS = 20000 };

static struct history model[WINDOW_PAGES];
static struct histories *shared;

static void set(unsigned page, const struct history *is)
{
    assert_true(history_set(shared, page, is));
    model[page] = *is;
}

static void all_are_equal(void)
{
    for (unsigned page = 0; page < WINDOW_PAGES; page++)
        assert_memory_equal(history_of(shared, page), &model[page], sizeof model[page]);
}

/* As the detector does: a page's history changes once or twice before the next page's does. */
static void change(unsigned first, unsigned outer, uint64_t now)
{
    bool twice = draw(2), forgets = !draw(4);
    for (unsigned page = first; page < outer; page++) {
        struct history g = *history_of(shared, page);
        g.last = now;
        g.events = (uint8_t)(g.events < 7 ? g.events + 1 : 0);
        set(page, &g);
        if (twice) g.nap_end = now + 1, g.privileged = now % 3;
        if (forgets) g = (struct history){ .target = 9 };
        set(page, &g);
    }
}

static void pages_have_the_histories_that_they_were_given(void **unused)
{
    (void)unused;
    const struct history first = { .target = 7 };
    assert_non_null(shared = histories_new(&first));
    for (unsigned page = 0; page < WINDOW_PAGES; page++) model[page] = first;
    all_are_equal();
    for (unsigned n = 1; n <= STEPS; n++) {
        unsigned page = draw(WINDOW_PAGES), pages = draw(8) ? 1 + draw(64) : WINDOW_PAGES;
        change(page, page + pages < WINDOW_PAGES ? page + pages : WINDOW_PAGES, n);
        if (draw(2)) histories_tidy(shared);
        if (n % 100 == 0) all_are_equal();
    }
    all_are_equal();
    histories_free(shared);
}

static void each_page_may_have_its_own(void **unused)
{
    (void)unused;
    assert_non_null(shared = histories_new(&(struct history){ 0 }));
    for (unsigned turn = 0; turn < 3; turn++)
        for (unsigned page = 0; page < WINDOW_PAGES; page++)
            set(page * 77 % WINDOW_PAGES, &(struct history){ .last = 1 + turn * WINDOW_PAGES + page });
    all_are_equal();
    histories_free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_the_histories_that_they_were_given),
        cmocka_unit_test(each_page_may_have_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
