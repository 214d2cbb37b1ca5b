/* The chunk allocator: what is full, what is given back. */
#include "space/vram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

enum { CHUNKS = 1024, LIVE = 1024 };

static void memory_is_full_exactly_when_every_chunk_is_in_use(void **state)
{
    struct vram v;
    uint64_t at;
    (void)state;
    assert_int_equal(vram_init(&v, 3 * VRAM_CHUNK, "test"), CUDA_SUCCESS);
    assert_int_equal(vram_alloc(&v, 4 * VRAM_CHUNK, &at), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(vram_alloc(&v, 3 * VRAM_CHUNK, &at), CUDA_SUCCESS);
    uint64_t none = 1;
    assert_int_equal(vram_alloc(&v, VRAM_CHUNK, &none), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(none, 1);
    vram_free(&v, at, 3 * VRAM_CHUNK);
    assert_int_equal(v.used, 0);
    assert_int_equal(vram_alloc(&v, 3 * VRAM_CHUNK, &at), CUDA_SUCCESS);
    vram_destroy(&v);
}

/* Long-lived and short-lived pieces of mixed sizes, and then the rest in one piece. */
static void what_is_free_can_be_had_in_one_piece_whatever_came_before(void **state)
{
    static struct {
        uint64_t at, size;
    } live[LIVE];
    struct vram v;
    (void)state;
    assert_int_equal(vram_init(&v, CHUNKS * VRAM_CHUNK, "test"), CUDA_SUCCESS);
    srand(1);
    for (int step = 0; step < 200000; step++) {
        int k = rand() % LIVE;
        if (live[k].size) {
            vram_free(&v, live[k].at, live[k].size);
            live[k].size = 0;
        } else {
            uint64_t size = (rand() % 10 ? 1 : 1 + rand() % 64) * VRAM_CHUNK;
            uint64_t left = v.capacity - v.used;
            if (size > left / 2) continue;
            assert_int_equal(vram_alloc(&v, size, &live[k].at), CUDA_SUCCESS);
            live[k].size = size;
        }
        if (step % 1000 == 0 && v.used < v.capacity) {
            uint64_t at, rest = v.capacity - v.used;
            assert_int_equal(vram_alloc(&v, rest, &at), CUDA_SUCCESS);
            vram_free(&v, at, rest);
        }
    }
    vram_destroy(&v);
}

static void two_allocations_never_overlap(void **state)
{
    struct vram v;
    uint64_t at[CHUNKS];
    static bool seen[64 * CHUNKS];
    (void)state;
    assert_int_equal(vram_init(&v, CHUNKS * VRAM_CHUNK, "test"), CUDA_SUCCESS);
    for (int k = 0; k < CHUNKS; k++) {
        assert_int_equal(vram_alloc(&v, VRAM_CHUNK, &at[k]), CUDA_SUCCESS);
        assert_true(at[k] + VRAM_CHUNK <= v.backing.size);
        assert_false(seen[at[k] / VRAM_CHUNK]);
        seen[at[k] / VRAM_CHUNK] = true;
    }
    vram_destroy(&v);
}

static void freed_memory_goes_back_to_the_machine(void **state)
{
    struct vram v;
    struct stat before, after;
    uint64_t at;
    (void)state;
    assert_int_equal(vram_init(&v, 4 * VRAM_CHUNK, "test"), CUDA_SUCCESS);
    assert_int_equal(vram_alloc(&v, VRAM_CHUNK, &at), CUDA_SUCCESS);
    v.backing.alias[at] = 1;
    fstat(v.backing.fd, &before);
    vram_free(&v, at, VRAM_CHUNK);
    fstat(v.backing.fd, &after);
    assert_true(before.st_blocks > 0);
    assert_int_equal(after.st_blocks, 0);
    vram_destroy(&v);
}

/* Somebody else takes what it gives back, but for the third time. */
static CUresult third_time_lucky(struct vram *v, uint64_t size)
{
    static int times;
    if (++times == 3) vram_uncharge(v, size);
    return CUDA_SUCCESS;
}

static void an_allocation_asks_again_for_what_somebody_else_was_faster_to_take(void **state)
{
    struct vram v;
    uint64_t at;
    (void)state;
    assert_int_equal(vram_init(&v, 4 * VRAM_CHUNK, "test"), CUDA_SUCCESS);
    assert_int_equal(vram_charge(&v, v.capacity), CUDA_SUCCESS);
    v.reclaim = third_time_lucky;
    assert_int_equal(vram_alloc(&v, 2 * VRAM_CHUNK, &at), CUDA_SUCCESS);
    assert_int_equal(v.used, v.capacity);
    vram_destroy(&v);
}

static void what_is_to_grow_has_room_behind_it_while_others_allocate(void **state)
{
    struct vram v;
    uint64_t first, second, at;
    (void)state;
    assert_int_equal(vram_init(&v, CHUNKS * VRAM_CHUNK, "test"), CUDA_SUCCESS);
    assert_int_equal(vram_alloc_apart(&v, VRAM_CHUNK, &first), CUDA_SUCCESS);
    assert_int_equal(vram_alloc_apart(&v, VRAM_CHUNK, &second), CUDA_SUCCESS);
    for (int k = 0; k < CHUNKS / 4; k++) {
        assert_int_equal(vram_alloc(&v, VRAM_CHUNK, &at), CUDA_SUCCESS);
        assert_int_equal(vram_alloc_at(&v, VRAM_CHUNK, first + (uint64_t)(k + 1) * VRAM_CHUNK), CUDA_SUCCESS);
        assert_int_equal(vram_alloc_at(&v, VRAM_CHUNK, second + (uint64_t)(k + 1) * VRAM_CHUNK), CUDA_SUCCESS);
    }
    vram_destroy(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_full_exactly_when_every_chunk_is_in_use),
        cmocka_unit_test(what_is_free_can_be_had_in_one_piece_whatever_came_before),
        cmocka_unit_test(two_allocations_never_overlap),
        cmocka_unit_test(freed_memory_goes_back_to_the_machine),
        cmocka_unit_test(an_allocation_asks_again_for_what_somebody_else_was_faster_to_take),
        cmocka_unit_test(what_is_to_grow_has_room_behind_it_while_others_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
