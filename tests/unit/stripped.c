/* Finding the entry points of a runtime in an object without symbol table. */
#include "../draw.h"
#include "lead/stripped.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 32, MUTATIONS = 3000 };

static const char *stand_in; /* the file */

struct found {
    unsigned count;
    struct {
        char name[80];
        uint64_t address;
    } all[MOST];
};

static void note(const char *name, uint64_t address, void *data)
{
    struct found *f = data;
    assert_true(f->count < MOST);
    snprintf(f->all[f->count].name, sizeof f->all->name, "%s", name);
    f->all[f->count++].address = address;
}

static void *where(void *library, const struct found *f, const char *name)
{
    Dl_info info;
    assert_true(dladdr(dlsym(library, "stand_in_malloc"), &info));
    for (unsigned k = 0; k < f->count; k++)
        if (!strcmp(f->all[k].name, name)) return (char *)info.dli_fbase + f->all[k].address;
    return NULL;
}

static void entry_points_are_found_by_the_names_that_they_tell(void **state)
{
    static const struct {
        const char *name, *function;
    } wanted[] = { { "cudaMalloc", "stand_in_malloc" },
                   { "cudaFree", "stand_in_free" },
                   { "cudaMemcpyAsync_ptsz", "stand_in_copy" },
                   { "cudaMemsetAsync", "stand_in_fill" },
                   { "__cudaRegisterFatBinary", "stand_in_register" },
                   { "__cudaRegisterFatBinaryEnd", "stand_in_end" },
                   { "__cudaUnregisterFatBinary", "stand_in_unregister" },
                   { "__cudaRegisterVar", "stand_in_variable" },
                   { "__cudaRegisterManagedVar", "stand_in_managed" },
                   { "__cudaRegisterHostVar", "stand_in_host" },
                   { "__cudaRegisterFunction", "stand_in_function" },
                   { "__cudaPushCallConfiguration", "stand_in_push" },
                   { "__cudaPopCallConfiguration", "stand_in_pop" },
                   { "__cudaGetKernel", "stand_in_kernel" },
                   { "__cudaLaunchKernel", "stand_in_launch" },
                   { "__cudaLaunchKernel_ptsz", "stand_in_launch_ptsz" } };
    struct found f = { 0 };
    (void)state;
    void *library = dlopen(stand_in, RTLD_NOW);
    assert_non_null(library);
    assert_false(symbols_visit(stand_in, SYMBOLS_ALL, note, &f));
    assert_true(stripped_visit(stand_in, note, &f));
    for (unsigned k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        if (where(library, &f, wanted[k].name) != dlsym(library, wanted[k].function))
            fail_msg("%s is not where it is", wanted[k].name);
    }
    assert_int_equal(f.count, sizeof wanted / sizeof *wanted + 1); /* __cudaInitModule */
    dlclose(library);
}

static void functions_of_a_program_that_use_the_names_are_left_alone(void **state)
{
    struct found f = { 0 };
    (void)state;
    assert_true(stripped_visit(stand_in, note, &f));
    for (unsigned k = 0; k < f.count; k++) {
        assert_string_not_equal(f.all[k].name, "cudaMemset");
        assert_string_not_equal(f.all[k].name, "cudaHostAlloc");
        assert_string_not_equal(f.all[k].name, "cudaMallocHost");
    }
}

static void an_object_without_a_runtime_has_none(void **state)
{
    struct found f = { 0 };
    (void)state;
    assert_false(stripped_visit("/proc/self/exe", note, &f));
    assert_false(stripped_visit("/nonexistent", note, &f));
    assert_int_equal(f.count, 0);
}

static void ignore(const char *name, uint64_t address, void *data)
{
    (void)address;
    (void)data;
    assert_true(strlen(name) < 80);
}

/* Its headers and tables, wherever they lie. */
static void a_damaged_object_harms_nobody(void **state)
{
    struct stat s;
    char path[64];
    (void)state;
    int from = open(stand_in, O_RDONLY), to = memfd_create("damaged", MFD_CLOEXEC);
    assert_true(from >= 0 && to >= 0 && !fstat(from, &s) && !ftruncate(to, s.st_size));
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    char *whole = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, from, 0);
    char *copy = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
    assert_true(whole != MAP_FAILED && copy != MAP_FAILED);
    for (int k = 0; k < MUTATIONS; k++) {
        memcpy(copy, whole, (size_t)s.st_size);
        for (uint32_t n = 1 + draw(4); n; n--)
            copy[draw(draw(2) ? 1024 : (uint32_t)s.st_size)] = (char)(draw(3) ? draw(256) : 255);
        stripped_visit(path, ignore, NULL);
    }
    munmap(whole, (size_t)s.st_size);
    munmap(copy, (size_t)s.st_size);
    close(from);
    close(to);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_points_are_found_by_the_names_that_they_tell),
        cmocka_unit_test(functions_of_a_program_that_use_the_names_are_left_alone),
        cmocka_unit_test(an_object_without_a_runtime_has_none),
        cmocka_unit_test(a_damaged_object_harms_nobody),
    };
    if (argc != 2) return 2;
    stand_in = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
