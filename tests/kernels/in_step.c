/* Warps whose lanes exchange values through volatile shared memory without saying where they wait for each other, as
 * programs did before there was __syncwarp: the lanes are in step. */
#include "../child.h"

#include <string.h>

enum { THREADS = 64, WARP = 32 };

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"
/* %r1: the thread; %r2: its word in shared memory, s; %d1: its word of the result */
#define KERNEL(body) \
    HEADER ".visible .entry go(.param .u64 out)\n{\n" \
           ".reg .b64 %d<4>; .reg .b32 %r<12>; .reg .pred %p<4>; .shared .align 4 .b8 s[512];\n" \
           "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n" \
           "mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r1; bar.sync 0;\n" body \
           "ld.shared.u32 %r9, [%r2]; st.global.u32 [%d1], %r9; ret;\n}\n"
#define ADD(bytes) \
    "ld.volatile.shared.u32 %r5, [%r2]; ld.volatile.shared.u32 %r6, [%r2+" #bytes "]; add.u32 %r5, %r5, %r6;\n" \
    "st.volatile.shared.u32 [%r2], %r5;\n"

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

static void the_last_steps_of_a_reduction_are_done_by_a_warp_in_step(void **state)
{
    (void)state;
    uint32_t out[THREADS];
    run(KERNEL("setp.ge.u32 %p1, %r1, 32; @%p1 bra Done;\n" ADD(128) ADD(64) ADD(32) ADD(16) ADD(8) ADD(4) "Done:\n"), out);
    assert_int_equal(out[0], THREADS * (THREADS - 1) / 2);
}

/* Each lane takes its neighbour's number, round and round. */
static void lanes_that_pass_values_on_in_a_loop_are_in_step(void **state)
{
    (void)state;
    uint32_t out[THREADS];
    run(KERNEL("xor.b32 %r4, %r3, 4; mov.u32 %r7, s; add.u32 %r7, %r7, %r4; mov.u32 %r8, 0;\n"
               "Again: ld.volatile.shared.u32 %r5, [%r7]; add.u32 %r5, %r5, 1; st.volatile.shared.u32 [%r2], %r5;\n"
               "add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 7; @%p1 bra Again;\n"),
        out);
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(out[t], (t ^ 1) + 7);
}

/* Half of the lanes do something else meanwhile, and wait for nobody. */
static void lanes_that_part_are_in_step_with_those_beside_them(void **state)
{
    (void)state;
    uint32_t out[THREADS];
    run(KERNEL("and.b32 %r10, %r1, 31; setp.ge.u32 %p1, %r10, 16; @%p1 bra Upper;\n" ADD(32) ADD(16) ADD(8) ADD(4)
               "bra Done;\nUpper: mov.u32 %r5, 77; st.volatile.shared.u32 [%r2+128], %r5;\nDone:\n"),
        out);
    assert_int_equal(out[0], 16 * 15 / 2);
    assert_int_equal(out[WARP], 16 * WARP + 16 * 15 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_steps_of_a_reduction_are_done_by_a_warp_in_step),
        cmocka_unit_test(lanes_that_pass_values_on_in_a_loop_are_in_step),
        cmocka_unit_test(lanes_that_part_are_in_step_with_those_beside_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
