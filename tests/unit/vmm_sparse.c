/* src/vmm/sparse.c alone: shapes, tails, regions, and what tiles keep alive. */
#include "vmm/sparse.h"
#include "vmm/vmm.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { POOL_TILES = 16, ROUNDS = 20000 };

static struct backing file;
static struct vmm_memory memory;
static _Atomic int put_back;

void vmm_memory_put(struct vmm_memory *m)
{
    assert_ptr_equal(m, &memory);
    put_back++;
}

static struct tile_pool *open_pool(void)
{
    struct tile_pool *p;
    put_back = 0;
    assert_int_equal(tile_pool_open(&memory, &p), CUDA_SUCCESS);
    return p;
}

static struct sparse *make(size_t width, size_t height, size_t depth, size_t layers, size_t element, unsigned levels)
{
    struct sparse *s;
    const struct sparse_shape shape = { .block = 1,
                                        .width = width,
                                        .height = height,
                                        .depth = depth ? depth : 1,
                                        .layers = layers,
                                        .element = element,
                                        .levels = levels,
                                        .volume = depth != 0 };
    assert_int_equal(sparse_create(&shape, &s), CUDA_SUCCESS);
    return s;
}

static void a_tile_is_64_KiB_for_every_element(void **state)
{
    (void)state;
    for (size_t element = 1; element <= 16; element *= 2)
        for (size_t depth = 0; depth <= 64; depth += 64) {
            struct sparse *s = make(1024, 1024, depth, 1, element, 1);
            const unsigned *t = sparse_layout(s)->tile;
            assert_int_equal(t[0] * t[1] * t[2] * element, SPARSE_TILE);
            assert_true(t[0] >= t[1] && t[1] >= t[2]);
            sparse_destroy(s);
        }
}

static void the_tail_begins_where_no_whole_tile_fits(void **state)
{
    (void)state;
    struct sparse *s = make(1024, 512, 0, 4, 4, 11);
    assert_int_equal(sparse_layout(s)->tail_first, 3);
    assert_int_equal(sparse_layout(s)->tail_size, SPARSE_TILE);
    assert_false(sparse_layout(s)->single);
    sparse_destroy(s);
    s = make(1024, 512, 0, 4, 4, 3);
    assert_int_equal(sparse_layout(s)->tail_first, 3);
    assert_int_equal(sparse_layout(s)->tail_size, 0);
    sparse_destroy(s);
    s = make(16, 16, 0, 4, 4, 1);
    assert_int_equal(sparse_layout(s)->tail_first, 0);
    assert_true(sparse_layout(s)->single);
    sparse_destroy(s);
}

static void a_box_ends_with_a_tile_or_with_the_level(void **state)
{
    (void)state;
    struct sparse *s = make(1000, 300, 0, 2, 4, 1);
    struct sparse_region r;
    const unsigned zero[3] = { 0, 0, 0 }, odd[3] = { 1, 0, 0 }, last[3] = { 896, 256, 0 };
    const unsigned one[3] = { 128, 128, 1 }, all[3] = { 1000, 300, 1 }, flat[3] = { 128, 0, 1 };
    const unsigned cut[3] = { 104, 44, 1 }, more[3] = { 1024, 384, 1 };
    assert_int_equal(sparse_box(s, 0, 0, zero, all, &r), CUDA_SUCCESS);
    assert_int_equal(sparse_bytes(&r), 24 * SPARSE_TILE);
    assert_int_equal(sparse_box(s, 0, 1, last, cut, &r), CUDA_SUCCESS);
    assert_int_equal(sparse_bytes(&r), SPARSE_TILE);
    assert_int_equal(sparse_box(s, 0, 1, last, one, &r), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(sparse_box(s, 0, 1, zero, cut, &r), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(sparse_box(s, 0, 0, zero, more, &r), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(sparse_box(s, 0, 0, odd, one, &r), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(sparse_box(s, 0, 0, zero, flat, &r), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(sparse_box(s, 0, 2, zero, one, &r), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(sparse_box(s, 1, 0, zero, one, &r), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(sparse_tail(s, 0, 0, SPARSE_TILE, &r), CUDA_ERROR_INVALID_VALUE);
    sparse_destroy(s);
}

static void elements_of_different_places_are_different_bytes(void **state)
{
    (void)state;
    struct sparse *s = make(64, 96, 40, 1, 4, 7);
    size_t count = 0, run;
    char *seen = calloc(POOL_TILES * 4, SPARSE_TILE);
    struct sparse_region all;
    struct tile_pool *p = open_pool(), *held;
    sparse_whole(s, &all);
    assert_true(sparse_bytes(&all) <= POOL_TILES * 4ul * SPARSE_TILE);
    sparse_map(s, &all, p, 0);
    for (unsigned l = 0; l < 7; l++)
        for (size_t z = 0; z < (40u >> l ? 40u >> l : 1); z++)
            for (size_t y = 0; y < (96u >> l ? 96u >> l : 1); y++)
                for (size_t x = 0; x < (64u >> l ? 64u >> l : 1); x++, count++) {
                    char *at = sparse_run(s, l, x * 4, y, z, &run, &held);
                    tile_pool_put(held);
                    assert_true(at >= file.alias && run >= 4 && run % 4 == 0);
                    assert_int_equal(seen[at - file.alias]++, 0);
                }
    assert_true(count > 64 * 96 * 40);
    tile_pool_put(p);
    sparse_destroy(s);
    assert_int_equal(put_back, 1);
    free(seen);
}

static void a_pool_lives_while_a_tile_shows_it(void **state)
{
    (void)state;
    struct sparse *s = make(256, 256, 0, 1, 4, 1);
    const unsigned zero[3] = { 0, 0, 0 }, one[3] = { 128, 128, 1 };
    struct sparse_region r;
    struct tile_pool *p = open_pool(), *held;
    size_t run;
    assert_int_equal(sparse_box(s, 0, 0, zero, one, &r), CUDA_SUCCESS);
    sparse_map(s, &r, p, SPARSE_TILE);
    tile_pool_put(p);
    assert_int_equal(put_back, 0);
    assert_ptr_equal(sparse_run(s, 0, 4, 1, 0, &run, &held), file.alias + SPARSE_TILE + 512 + 4);
    assert_int_equal(run, 508);
    sparse_map(s, &r, NULL, 0);
    assert_int_equal(put_back, 0); /* a copy is still at it */
    tile_pool_put(held);
    assert_int_equal(put_back, 1);
    assert_null(sparse_run(s, 0, 4, 1, 0, &run, &held));
    assert_null(held);
    sparse_destroy(s);
}

struct crowd {
    struct sparse *s;
    struct tile_pool *p;
};

static void *map_and_unmap(void *arg)
{
    struct crowd *c = arg;
    const unsigned zero[3] = { 0, 0, 0 }, all[3] = { 256, 256, 1 };
    struct sparse_region r;
    sparse_box(c->s, 0, 0, zero, all, &r);
    for (unsigned k = 0; k < ROUNDS; k++) sparse_map(c->s, &r, k % 3 ? c->p : NULL, k % 4 * SPARSE_TILE);
    return NULL;
}

static void *look(void *arg)
{
    struct crowd *c = arg;
    for (unsigned k = 0; k < ROUNDS; k++) {
        struct tile_pool *held;
        size_t run;
        char *at = sparse_run(c->s, 0, k % 256 * 4, k % 199, 0, &run, &held);
        if ((at != NULL) != (held != NULL)) abort();
        if (held) tile_pool_put(held);
    }
    return NULL;
}

static void threads_may_map_and_look_at_once(void **state)
{
    (void)state;
    struct crowd c = { make(256, 256, 0, 1, 4, 1), open_pool() };
    pthread_t t[4];
    for (unsigned k = 0; k < 4; k++) pthread_create(&t[k], NULL, k % 2 ? look : map_and_unmap, &c);
    for (unsigned k = 0; k < 4; k++) pthread_join(t[k], NULL);
    sparse_destroy(c.s);
    assert_int_equal(put_back, 0);
    tile_pool_put(c.p);
    assert_int_equal(put_back, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_is_64_KiB_for_every_element),
        cmocka_unit_test(the_tail_begins_where_no_whole_tile_fits),
        cmocka_unit_test(a_box_ends_with_a_tile_or_with_the_level),
        cmocka_unit_test(elements_of_different_places_are_different_bytes),
        cmocka_unit_test(a_pool_lives_while_a_tile_shows_it),
        cmocka_unit_test(threads_may_map_and_look_at_once),
    };
    file.alias = calloc(POOL_TILES * 4, SPARSE_TILE);
    memory.backing = &file;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
