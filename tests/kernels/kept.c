/* What a thread has while it waits for others: the carry of a sum, local variables where they are to lie, parameters of a
 * call. */
#include "../child.h"

#include <stdio.h>

enum { THREADS = 32 };

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"
/* %r0: the thread; what is in %r1 at the end is its word of the result */
#define KERNEL(body) \
    ".visible .entry go(.param .u64 out)\n{\n" \
    ".reg .b64 %d<4>; .reg .b32 %r<9>; .reg .pred %p<4>; mov.u32 %r0, %tid.x;\n" body \
    "ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 4, %d0; st.global.u32 [%d0], %r1; ret;\n}\n"

static void run(const char *ptx, uint32_t out[THREADS])
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p;
    check_context();
    CHECK(cuMemAlloc(&p, THREADS * sizeof *out));
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "go"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &p }, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(out, p, THREADS * sizeof *out));
}

/* Odd threads carry. */
static void a_sum_carries_into_what_follows_a_barrier(void **state)
{
    (void)state;
    uint32_t out[THREADS];
    run(HEADER KERNEL("and.b32 %r2, %r0, 1; neg.s32 %r2, %r2; add.cc.u32 %r2, %r2, 1; bar.sync 0; addc.u32 %r1, 0, 0;\n"),
        out);
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(out[t], t % 2);
}

static void a_carry_that_a_guard_leaves_alone_stays(void **state)
{
    (void)state;
    uint32_t out[THREADS];
    run(HEADER KERNEL("setp.lt.u32 %p1, %r0, 5; add.cc.u32 %r2, -1, 1; bar.sync 0; @%p1 add.cc.u32 %r2, 0, 0; bar.sync 0;\n"
                      "addc.cc.u32 %r1, %r0, 0; bar.sync 0; addc.u32 %r1, %r1, 0;\n"),
        out);
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(out[t], t < 5 ? t : t + 1);
}

static void local_variables_are_aligned_in_every_thread(void **state)
{
    (void)state;
    uint32_t out[THREADS];
    run(HEADER KERNEL(".local .align 64 .b8 l[80]; .local .b32 other; st.local.u32 [l+4], %r0; st.local.u32 [other], %r0;\n"
                      "bar.sync 0; mov.u64 %d1, l; cvt.u32.u64 %r1, %d1; and.b32 %r1, %r1, 63; ld.local.u32 %r2, [l+4];\n"
                      "ld.local.u32 %r3, [other]; add.u32 %r2, %r2, %r3; mad.lo.u32 %r1, %r1, 1000, %r2;\n"),
        out);
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(out[t], 2 * t);
}

/* The function writes its result before it reads its parameter. */
static void one_variable_may_be_argument_and_result(void **state)
{
    (void)state;
    static const char *const waits[] = { "", "bar.sync 0;" };
    char text[2048];
    uint32_t out[THREADS];
    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text, "%s%s%s%s", HEADER
                 ".func (.param .align 4 .b8 o[10]) f(.param .align 4 .b8 i[10])\n{\n.reg .b32 %t<3>; .reg .b16 %h;\n"
                 "mov.u32 %t0, 100; st.param.b32 [o], %t0; st.param.b32 [o+4], %t0; st.param.b16 [o+8], 7;\n", waits[k],
                 "ld.param.b32 %t1, [i]; ld.param.b16 %h, [i+8]; cvt.u32.u16 %t2, %h; add.u32 %t0, %t0, %t1;\n"
                 "add.u32 %t0, %t0, %t2; st.param.b32 [o], %t0; ret;\n}\n",
                 KERNEL("setp.ne.u32 %p1, %r0, 9; .reg .b16 %h; .param .align 4 .b8 q[10];\n"
                        "st.param.b32 [q], %r0; st.param.b32 [q+4], 1; st.param.b16 [q+8], 5; @%p1 call (q), f, (q);\n"
                        "ld.param.b32 %r1, [q]; ld.param.b32 %r2, [q+4]; add.u32 %r1, %r1, %r2;\n"
                        "ld.param.b16 %h, [q+8]; cvt.u32.u16 %r2, %h; add.u32 %r1, %r1, %r2;\n"));
        run(text, out);
        for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(out[t], t == 9 ? 9 + 1 + 5 : 105 + t + 100 + 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_carries_into_what_follows_a_barrier),
        cmocka_unit_test(a_carry_that_a_guard_leaves_alone_stays),
        cmocka_unit_test(local_variables_are_aligned_in_every_thread),
        cmocka_unit_test(one_variable_may_be_argument_and_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
