/* Vectors that one thread writes and another reads meanwhile: they are seen as a whole, as programs expect that send data
 * and a flag side by side. */
#include "../child.h"

#include <stdio.h>

enum { ROUNDS = 1 << 20 };

/* Block 0 writes the round to all elements of a vector, block 1 counts vectors whose elements differ. */
static const char pattern[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 16 .b8 place[16];\n"
    ".visible .entry k(.param .u64 torn)\n{\n"
    ".reg .u32 %%r, %%b, %%n; .reg .u64 %%o; .reg .%s %%e<4>; .reg .pred %%p;\n"
    "ld.param.u64 %%o, [torn]; mov.u32 %%b, %%ctaid.x; mov.u32 %%r, 0; mov.u32 %%n, 0;\n"
    "setp.ne.u32 %%p, %%b, 0; @%%p bra read;\n"
    "write: cvt.u%d.u32 %%e0, %%r;\nst%s.global.v%d.%s [place], {%s};\n"
    "add.u32 %%r, %%r, 1; setp.lt.u32 %%p, %%r, %d; @%%p bra write; ret;\n"
    "read: ld%s.global.v%d.%s {%s}, [place];\nsetp.ne.%s %%p, %%e0, %%e%d; @%%p add.u32 %%n, %%n, 1;\n"
    "add.u32 %%r, %%r, 1; setp.lt.u32 %%p, %%r, %d; @%%p bra read; st.global.u32 [%%o], %%n; ret;\n}\n";

static unsigned torn_in(const char *text)
{
    CUmodule m;
    CUfunction k;
    CUdeviceptr torn;
    unsigned n;
    CHECK(cuModuleLoadData(&m, text));
    CHECK(cuModuleGetFunction(&k, m, "k"));
    CHECK(cuMemAlloc(&torn, 4));
    CHECK(cuLaunchKernel(k, 2, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &torn }, NULL));
    CHECK(cuMemcpyDtoH(&n, torn, 4));
    return n;
}

static unsigned torn_vectors(const char *store, const char *load, int elements)
{
    char text[4096];
    const char *type = elements == 4 ? "u32" : "u64";
    snprintf(text, sizeof text, pattern, type, elements == 4 ? 32 : 64, store, elements, type,
             elements == 4 ? "%e0, %e0, %e0, %e0" : "%e0, %e0", ROUNDS, load, elements, type,
             elements == 4 ? "%e0, %e1, %e2, %e3" : "%e0, %e1", type, elements - 1, ROUNDS);
    return torn_in(text);
}

/* The same of values of 128 bits, in halves of which the round stands. */
static unsigned torn_values(const char *store, const char *load)
{
    static const char kernel[] =
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .global .align 16 .b8 place[16];\n"
        ".visible .entry k(.param .u64 torn)\n{\n"
        ".reg .u32 %%b, %%n; .reg .u64 %%o, %%r, %%e<2>; .reg .b128 %%w; .reg .pred %%p;\n"
        "ld.param.u64 %%o, [torn]; mov.u32 %%b, %%ctaid.x; mov.u64 %%r, 0; mov.u32 %%n, 0;\n"
        "setp.ne.u32 %%p, %%b, 0; @%%p bra read;\n"
        "write: mov.b128 %%w, {%%r, %%r}; st%s.global.b128 [place], %%w;\n"
        "add.u64 %%r, %%r, 1; setp.lt.u64 %%p, %%r, %d; @%%p bra write; ret;\n"
        "read: ld%s.global.b128 %%w, [place]; mov.b128 {%%e0, %%e1}, %%w;\n"
        "setp.ne.u64 %%p, %%e0, %%e1; @%%p add.u32 %%n, %%n, 1;\n"
        "add.u64 %%r, %%r, 1; setp.lt.u64 %%p, %%r, %d; @%%p bra read; st.global.u32 [%%o], %%n; ret;\n}\n";
    char text[2048];
    snprintf(text, sizeof text, kernel, store, ROUNDS, load, ROUNDS);
    return torn_in(text);
}

static void start(void)
{
    setenv("FAULTLINE_WORKERS", "2", 1);
    check_context();
}

static void volatile_vectors_are_seen_as_a_whole(void)
{
    EXPECT_EQUAL(torn_vectors(".volatile", ".volatile", 4), 0);
    EXPECT_EQUAL(torn_vectors(".volatile", ".volatile", 2), 0);
}

static void so_are_relaxed_and_ordered_ones(void)
{
    EXPECT_EQUAL(torn_vectors(".relaxed.gpu", ".relaxed.gpu", 4), 0);
    EXPECT_EQUAL(torn_vectors(".release.sys", ".acquire.sys", 2), 0);
}

static void so_are_values_of_128_bits(void)
{
    EXPECT_EQUAL(torn_values(".relaxed.gpu", ".relaxed.gpu"), 0);
    EXPECT_EQUAL(torn_values(".release.gpu", ".acquire.gpu"), 0);
    EXPECT_EQUAL(torn_values(".volatile", ".volatile"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, volatile_vectors_are_seen_as_a_whole),
        ALONE(start, so_are_relaxed_and_ordered_ones),
        ALONE(start, so_are_values_of_128_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
