/* What is answered about advice, against a model that knows one value for each
 * page and where a piece begins, and goes through them as attributes.h says. */
#include "../draw.h"
#include "uvm/attributes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* after the others */
#include <cmocka.h>

enum { PAGE = 4096, MOST_PAGES = 96, MAPPINGS = 6, THREADS = 4, OPERATIONS = 1000000 };

static const CUmemLocation none = { .type = CU_MEM_LOCATION_TYPE_INVALID, .id = ATTRIBUTES_NOBODY };
static const CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST, .id = -1 };
static const CUmemLocation device0 = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };

struct value {
    bool read_mostly;
    CUmemLocation preferred, prefetched;
    uint32_t accessed_by;
};

struct model {
    uint64_t base;
    unsigned pages;
    struct value value[MOST_PAGES];
    bool begins[MOST_PAGES];
};

static bool same_place(CUmemLocation x, CUmemLocation y) { return x.type == y.type && x.id == y.id; }

static bool same(const struct value *x, const struct value *y)
{
    return x->read_mostly == y->read_mostly && x->accessed_by == y->accessed_by &&
           same_place(x->preferred, y->preferred) && same_place(x->prefetched, y->prefetched);
}

static void model_clear(struct model *m)
{
    for (unsigned k = 0; k < m->pages; k++) {
        m->value[k] = (struct value){ .preferred = none, .prefetched = none };
        m->begins[k] = !k;
    }
}

static unsigned piece_begin(const struct model *m, unsigned page)
{
    while (!m->begins[page]) page--;
    return page;
}

static unsigned piece_end(const struct model *m, unsigned page)
{
    do page++;
    while (page < m->pages && !m->begins[page]);
    return page;
}

static void model_set(struct value *v, int what, CUmemLocation l)
{
    uint32_t bit = l.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1u << l.id : ATTRIBUTES_HOST;
    switch (what) {
    case 0: v->prefetched = l; break;
    case CU_MEM_ADVISE_SET_READ_MOSTLY: v->read_mostly = true; break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: v->read_mostly = false; break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: v->preferred = l; break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: v->preferred = none; break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY: v->accessed_by |= bit; break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: v->accessed_by &= ~bit; break;
    default: *v = (struct value){ .preferred = none, .prefetched = none };
    }
}

static void model_change(struct model *m, unsigned first, unsigned end, int what, CUmemLocation l)
{
    for (unsigned at = first; at < end && at < m->pages;) {
        if (piece_end(m, at) > end) m->begins[end] = true;
        if (piece_begin(m, at) < first) m->begins[first] = true;
        unsigned low = piece_begin(m, at), high = piece_end(m, at);
        for (unsigned k = low; k < high; k++) model_set(&m->value[k], what, l);
        if (low && same(&m->value[low - 1], &m->value[low])) m->begins[low] = false;
        if (high < m->pages && same(&m->value[high], &m->value[low])) m->begins[high] = false;
        at += piece_end(m, low) - piece_begin(m, low);
    }
}

static struct value model_get(const struct model *m, unsigned first, unsigned end)
{
    struct value all = m->value[first];
    for (unsigned at = first; at < end && at < m->pages; at += piece_end(m, at) - piece_begin(m, at)) {
        const struct value *v = &m->value[at];
        all.read_mostly &= v->read_mostly;
        all.accessed_by &= v->accessed_by;
        if (!same_place(all.preferred, v->preferred)) all.preferred = none;
        if (!same_place(all.prefetched, v->prefetched)) all.prefetched = none;
    }
    return all;
}

static CUmemLocation some_place(uint64_t *state)
{
    static const CUmemLocation places[] = { { .type = 1, .id = 0 },  { .type = 1, .id = 1 }, { .type = 1, .id = 15 },
                                            { .type = 2, .id = -1 }, { .type = 3, .id = 0 }, { .type = 4, .id = 7 } };
    return places[draw_from(state, 6)];
}

static struct allocation whole(uint64_t base, uint64_t size)
{
    return (
        struct allocation){ .base = base, .size = size, .mapping_base = base, .mapping_size = (size + 4095) & -4096 };
}

/* One random operation, on the model and on the real thing, then a question to both. Returns whether they agree. */
static bool operate(struct model *m, uint64_t *state)
{
    struct allocation a = whole(m->base, m->pages * (uint64_t)PAGE);
    unsigned first = (unsigned)draw_from(state, m->pages), count = 1 + (unsigned)draw_from(state, m->pages - first);
    if (!draw_from(state, 3)) {
        first = 0;
        count = m->pages;
    }
    uint64_t odd = draw_from(state, PAGE), va = a.base + first * (uint64_t)PAGE + odd;
    uint64_t size = count * (uint64_t)PAGE - odd - draw_from(state, count == 1 ? PAGE - odd : PAGE);
    CUmemLocation l = some_place(state);
    unsigned what = (unsigned)draw_from(state, 64);
    if (!what) {
        attributes_unmapped(a.mapping_base);
        model_clear(m);
    } else if (what == 1) {
        struct allocation part = a;
        part.base = va;
        part.size = size;
        attributes_freed(&part);
        model_change(m, first, first + count, -1, l);
    } else if (what < 16) {
        attributes_prefetched(&a, va, size, l);
        model_change(m, first, first + count, 0, l);
    } else {
        attributes_advise(&a, va, size, (CUmem_advise)(1 + what % 6), l);
        model_change(m, first, first + count, 1 + (int)(what % 6), l);
    }
    first = (unsigned)draw_from(state, m->pages);
    count = 1 + (unsigned)draw_from(state, m->pages - first);
    struct value want = model_get(m, first, first + count);
    struct attributes got = attributes_get(&a, a.base + first * (uint64_t)PAGE, count * (uint64_t)PAGE);
    struct value seen = { got.read_mostly, got.preferred, got.prefetched, got.accessed_by };
    return same(&want, &seen);
}

static void *operate_many(void *arg)
{
    uint64_t seed = *(uint64_t *)arg, state = seed * 0x9e3779b97f4a7c15u + 1;
    struct model *m = calloc(MAPPINGS, sizeof *m);
    for (unsigned k = 0; k < MAPPINGS; k++) {
        m[k].base = (seed << 40) + (k << 21);
        m[k].pages = 1 + (unsigned)draw_from(&state, MOST_PAGES);
        model_clear(&m[k]);
    }
    uint64_t bad = 0;
    for (unsigned k = 0; k < OPERATIONS / THREADS; k++) bad += !operate(&m[draw_from(&state, MAPPINGS)], &state);
    for (unsigned k = 0; k < MAPPINGS; k++) attributes_unmapped(m[k].base);
    free(m);
    return (void *)bad;
}

static void a_million_random_operations_of_several_threads_are_answered_as_by_the_model(void **unused)
{
    (void)unused;
    pthread_t thread[THREADS];
    uint64_t seed[THREADS];
    for (unsigned k = 0; k < THREADS; k++) {
        seed[k] = k + 1;
        assert_int_equal(pthread_create(&thread[k], NULL, operate_many, &seed[k]), 0);
    }
    for (unsigned k = 0; k < THREADS; k++) {
        void *bad;
        pthread_join(thread[k], &bad);
        assert_int_equal((uint64_t)bad, 0);
    }
}

static struct allocation shared_mapping;

static void *disturb(void *arg)
{
    uint64_t state = *(uint64_t *)arg;
    struct allocation *a = &shared_mapping;
    for (unsigned k = 0; k < 50000; k++) {
        uint64_t va = a->base + draw_from(&state, a->size), size = 1 + draw_from(&state, a->base + a->size - va);
        CUmemLocation l = draw_from(&state, 2) ? device0 : host;
        if (draw_from(&state, 3))
            attributes_get(a, va, size);
        else
            attributes_advise(a, va, size, (CUmem_advise)(1 + draw_from(&state, 6)), l);
        if (!draw_from(&state, 1000)) attributes_unmapped(a->mapping_base);
    }
    return NULL;
}

static void threads_may_advise_the_same_memory(void **unused)
{
    (void)unused;
    pthread_t thread[THREADS];
    uint64_t seed[THREADS];
    shared_mapping = whole(1ull << 45, 1 << 20);
    for (unsigned k = 0; k < THREADS; k++) {
        seed[k] = k * 77 + 5;
        pthread_create(&thread[k], NULL, disturb, &seed[k]);
    }
    for (unsigned k = 0; k < THREADS; k++) pthread_join(thread[k], NULL);
    attributes_unmapped(shared_mapping.mapping_base);
    struct attributes v = attributes_get(&shared_mapping, shared_mapping.base, shared_mapping.size);
    assert_int_equal(v.preferred.type, CU_MEM_LOCATION_TYPE_INVALID);
}

static void ranges_are_rounded_out_to_pages(void **unused)
{
    (void)unused;
    struct allocation a = whole(1 << 30, 64 * PAGE);
    attributes_advise(&a, a.base + 3 * PAGE + 4090, 10, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device0);
    assert_int_equal(attributes_get(&a, a.base + 3 * PAGE, 2 * PAGE).preferred.id, 0);
    assert_int_equal(attributes_get(&a, a.base + 5 * PAGE, 1).preferred.id, ATTRIBUTES_NOBODY);
    assert_int_equal(attributes_get(&a, a.base + 2 * PAGE, PAGE).preferred.id, ATTRIBUTES_NOBODY);
    attributes_unmapped(a.mapping_base);
}

static void an_attribute_is_only_answered_where_all_pages_have_it(void **unused)
{
    (void)unused;
    struct allocation a = whole(1 << 30, 64 * PAGE);
    attributes_advise(&a, a.base, 64 * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, device0);
    attributes_advise(&a, a.base, 32 * PAGE, CU_MEM_ADVISE_SET_ACCESSED_BY, host);
    assert_int_equal(attributes_get(&a, a.base, 32 * PAGE).accessed_by, 1 | ATTRIBUTES_HOST);
    assert_int_equal(attributes_get(&a, a.base, 64 * PAGE).accessed_by, 1);
    attributes_unmapped(a.mapping_base);
}

/* fuzz_um_02.0052: [0x19,0x22) prefetched; asked for [0x1a,0x23), the driver answers for the piece's size from there. */
static void a_question_that_begins_inside_a_piece_stops_early(void **unused)
{
    (void)unused;
    struct allocation a = whole(1 << 30, 0x23 * PAGE);
    attributes_prefetched(&a, a.base + 0x19 * PAGE, 9 * PAGE, device0);
    assert_int_equal(attributes_get(&a, a.base + 0x1a * PAGE, 9 * PAGE).prefetched.id, 0);
    assert_int_equal(attributes_get(&a, a.base + 0x1a * PAGE, 10 * PAGE).prefetched.id, 0);
    assert_int_equal(attributes_get(&a, a.base + 0x19 * PAGE, 10 * PAGE).prefetched.id, ATTRIBUTES_NOBODY);
    attributes_unmapped(a.mapping_base);
}

/* fuzz_um_04.0073: two pieces on the device, then the whole range on the host, then on the device. */
static void advice_that_makes_neighbours_equal_misses_what_follows(void **unused)
{
    (void)unused;
    struct allocation a = whole(1 << 30, 0x300 * PAGE);
    attributes_prefetched(&a, a.base + 0x2b4 * PAGE, 0x35 * PAGE, device0);
    attributes_prefetched(&a, a.base + 0x199 * PAGE, 0x77 * PAGE, device0);
    attributes_prefetched(&a, a.base, a.size, host);
    attributes_prefetched(&a, a.base, a.size, device0);
    assert_int_equal(attributes_get(&a, a.base, a.size).prefetched.type, CU_MEM_LOCATION_TYPE_INVALID);
    attributes_unmapped(a.mapping_base);
}

static void allocations_of_one_chunk_are_told_apart_and_a_freed_one_is_forgotten(void **unused)
{
    (void)unused;
    struct allocation a = whole(1 << 30, 2 << 20), b = a;
    a.size = 3 * PAGE;
    b.base += 3 * PAGE;
    b.size = 2 * PAGE;
    attributes_advise(&a, a.base, a.size, CU_MEM_ADVISE_SET_READ_MOSTLY, host);
    assert_false(attributes_get(&b, b.base, b.size).read_mostly);
    attributes_advise(&b, b.base, b.size, CU_MEM_ADVISE_SET_READ_MOSTLY, host);
    attributes_freed(&a);
    assert_false(attributes_get(&a, a.base, a.size).read_mostly);
    assert_true(attributes_get(&b, b.base, b.size).read_mostly);
    attributes_unmapped(a.mapping_base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_rounded_out_to_pages),
        cmocka_unit_test(an_attribute_is_only_answered_where_all_pages_have_it),
        cmocka_unit_test(a_question_that_begins_inside_a_piece_stops_early),
        cmocka_unit_test(advice_that_makes_neighbours_equal_misses_what_follows),
        cmocka_unit_test(allocations_of_one_chunk_are_told_apart_and_a_freed_one_is_forgotten),
        cmocka_unit_test(threads_may_advise_the_same_memory),
        cmocka_unit_test(a_million_random_operations_of_several_threads_are_answered_as_by_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
