/* PTX in objects and libraries of the host, with memory that ends where the data ends; and which of it a link takes. */
#include "../draw.h"
#include "../jit/object.h"
#include "module/container.h"
#include "module/join.h"
#include "module/spare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { PAGE = 4096, ROOM = 2 * PAGE, MUTATIONS = 50000 };

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"
static const char f[] = HEADER ".visible .func (.param .b32 r) f(.param .b32 x) { ret; }\n";
static const char g[] = HEADER ".extern .func f();\n.weak .func g() { call f; ret; }\n"
                               ".visible .global .align 4 .b32 table[2];\n";
static char *end; /* a page that cannot be read begins here */

static int set_up(void **state)
{
    (void)state;
    char *p = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + ROOM, PAGE, PROT_NONE)) return -1;
    end = p + ROOM;
    return 0;
}

static const void *at_end(const void *data, size_t n) { return memcpy(end - n, data, n); }

struct seen {
    unsigned n;
    char *texts[4];
};

static CUresult see(char *text, void *data)
{
    struct seen *s = data;
    assert_true(s->n < 4);
    s->texts[s->n++] = strdup(text);
    return CUDA_SUCCESS;
}

static void forget(struct seen *s)
{
    while (s->n) free(s->texts[--s->n]);
}

static void an_object_gives_its_ptx(void **state)
{
    (void)state;
    unsigned char data[4096];
    struct seen s = { 0 };
    size_t n = object_make(data, OBJECT_PTX, f);
    assert_true(is_object(at_end(data, n), n));
    assert_false(is_library(at_end(data, n), n));
    assert_int_equal(container_visit(at_end(data, n), n, 90, see, &s), CUDA_SUCCESS);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.texts[0], f);
    forget(&s);
}

static void an_object_of_machine_code_only_is_told_from_one_without_any(void **state)
{
    (void)state;
    unsigned char data[4096];
    struct seen s = { 0 };
    size_t n = object_make(data, OBJECT_CODE, "code");
    assert_int_equal(container_visit(at_end(data, n), n, 90, see, &s), CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_int_equal(container_visit(at_end("neither", 8), 8, 90, see, &s), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(s.n, 0);
}

static void a_library_gives_that_of_all_its_objects(void **state)
{
    (void)state;
    unsigned char data[4096];
    struct seen s = { 0 };
    size_t n = library_make(data, f, g);
    assert_true(is_library(at_end(data, n), n));
    assert_int_equal(container_visit(at_end(data, n), n, 90, see, &s), CUDA_SUCCESS);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.texts[0], f);
    assert_string_equal(s.texts[1], g);
    forget(&s);
}

static CUresult refuse(char *text, void *data)
{
    (void)text;
    ++*(int *)data;
    return CUDA_ERROR_INVALID_PTX;
}

static void who_is_given_the_ptx_may_end_the_visit(void **state)
{
    (void)state;
    unsigned char data[4096];
    int calls = 0;
    size_t n = library_make(data, f, g);
    assert_int_equal(container_visit(at_end(data, n), n, 90, refuse, &calls), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(calls, 1);
}

static void damaged_ones_do_no_harm(void **state)
{
    (void)state;
    unsigned char whole[4096], data[4096];
    for (int k = 0; k < MUTATIONS; k++) {
        struct seen s = { 0 };
        size_t n = k % 2 ? library_make(whole, f, g) : object_make(whole, OBJECT_PTX, f);
        memcpy(data, whole, n);
        for (unsigned flips = 1 + draw(4); flips; flips--) data[draw((uint32_t)n)] = (unsigned char)draw(256);
        if (draw(4) == 0) n = draw((uint32_t)n) + 1;
        container_visit(at_end(data, n), n, 90, see, &s);
        forget(&s);
    }
}

static void a_link_takes_what_defines_what_is_missing(void **state)
{
    (void)state;
    struct spares s = { 0 };
    assert_int_equal(spares_keep(&s, g), CUDA_SUCCESS);
    assert_int_equal(spares_keep(&s, f), CUDA_SUCCESS);
    assert_null(spares_take(&s, "line 5; error: syntax error\n"));
    assert_null(spares_take(&s, "line 5; error: unresolved extern function 'h'\n"));
    assert_null(spares_take(&s, "line 5; error: unresolved extern function 'fu'\n"));
    /* g calls f, and declares it; f is what defines it */
    char *text = spares_take(&s, "line 5; error: unresolved extern function 'f'\n");
    assert_string_equal(text, f);
    free(text);
    assert_null(spares_take(&s, "line 5; error: unresolved extern function 'f'\n"));
    text = spares_take(&s, "line 7; error: unresolved extern variable 'table'\n");
    assert_string_equal(text, g);
    free(text);
    spares_forget(&s);
}

static void joined_pieces_keep_their_headers(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(ptx_join(&text, f), CUDA_SUCCESS);
    assert_string_equal(text, f);
    assert_int_equal(ptx_join(&text, g), CUDA_SUCCESS);
    assert_true(strlen(text) > strlen(f) + strlen(g));
    assert_memory_equal(text, f, strlen(f));
    assert_string_equal(text + strlen(text) - strlen(g), g);
    free(text);
}

#define T(function) cmocka_unit_test(function)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_object_gives_its_ptx),
        T(an_object_of_machine_code_only_is_told_from_one_without_any),
        T(a_library_gives_that_of_all_its_objects),
        T(who_is_given_the_ptx_may_end_the_visit),
        T(damaged_ones_do_no_harm),
        T(a_link_takes_what_defines_what_is_missing),
        T(joined_pieces_keep_their_headers),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
