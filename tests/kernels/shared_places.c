/* Shared variables that a module declares outside its kernels: each kernel has those that it, or what it calls, names, and
 * they lie apart, also from what the driver keeps for itself. */
#include "../child.h"

#include <string.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* The kernel overwrites all that is reserved, and looks what has changed. */
#define RESERVED(name, asked) \
    ".visible .entry " name "(.param .u64 out)\n{\n.reg .b32 %x<8>; .reg .b64 %d; .reg .pred %p;\n" \
    ".shared .align 4 .b8 mine[4096];\nld.param.u64 %d, [out];\nst.volatile.shared.u32 [mine], 7;\n" \
    "st.volatile.shared.u32 [mine+4092], 11;\nst.volatile.shared.u32 [more], 13;\n" asked \
    "ld.volatile.shared.u32 %x1, [%x0];\nadd.u32 %x2, %x0, 1024;\nmov.u32 %x3, %x0;\n" \
    "L: st.volatile.shared.u32 [%x3], -1;\nadd.u32 %x3, %x3, 4;\nsetp.lt.u32 %p, %x3, %x2;\n@%p bra L;\n" \
    "ld.volatile.shared.u32 %x3, [mine];\nld.volatile.shared.u32 %x4, [mine+4092];\nld.volatile.shared.u32 %x5, [more];\n" \
    "st.global.v4.u32 [%d], {%x1, %x3, %x4, %x5};\nmov.u32 %x1, %reserved_smem_offset_begin;\n" \
    "mov.u32 %x2, %reserved_smem_offset_0;\nmov.u32 %x3, %reserved_smem_offset_end;\n" \
    "mov.u32 %x4, %reserved_smem_offset_cap;\nmov.u32 %x5, %total_smem_size;\nsub.u32 %x1, %x1, %x0;\n" \
    "sub.u32 %x2, %x2, %x0;\nsub.u32 %x3, %x3, %x0;\nst.global.v4.u32 [%d+16], {%x1, %x2, %x3, %x4};\n" \
    "st.global.u32 [%d+32], %x5;\nret;\n}\n"
#define CALLED(name) RESERVED(name, "call (%x0), " name "_asks, ();\n")

static const char text[] =
    HEAD ".shared .align 4 .b8 a[1000];\n.shared .align 16 .b8 b[2000];\n.shared .align 4 .b8 unused[4000];\n"
         ".shared .align 8 .b8 c[8];\n"
         ".func (.reg .b32 r) of_c()\n{\nld.volatile.shared.u32 r, [c];\nret;\n}\n"
         ".func (.reg .b32 r) of_b()\n{\nld.volatile.shared.u32 r, [b+1996];\nret;\n}\n"
         ".visible .entry only_a()\n{\n.reg .b32 %x;\nld.volatile.shared.u32 %x, [a+4];\nret;\n}\n"
         ".visible .entry own()\n{\n.reg .b32 %x;\n.shared .align 4 .b8 mine[12];\n"
         "ld.volatile.shared.u32 %x, [mine+4];\nret;\n}\n"
         ".visible .entry b_and_c(.param .u64 out)\n{\n.reg .b32 %x<2>; .reg .b64 %d;\nld.param.u64 %d, [out];\n"
         "st.volatile.shared.u32 [b+1996], 5;\nst.volatile.shared.u32 [c], 7;\n"
         "call (%x0), of_c, ();\ncall (%x1), of_b, ();\nst.global.v2.u32 [%d], {%x0, %x1};\nret;\n}\n"
         ".visible .entry a_and_b(.param .u64 out)\n{\n.reg .b32 %x<2>; .reg .b64 %d;\nld.param.u64 %d, [out];\n"
         "st.volatile.shared.u32 [a+996], 11;\nst.volatile.shared.u32 [b+1996], 13;\n"
         "ld.volatile.shared.u32 %x0, [a+996];\ncall (%x1), of_b, ();\nst.global.v2.u32 [%d], {%x0, %x1};\nret;\n}\n"
         /* two that no block has room for together */
         ".shared .align 4 .b8 large[40000];\n.shared .align 4 .b8 larger[48000];\n"
         ".visible .entry of_large()\n{\n.reg .b32 %x;\nld.volatile.shared.u32 %x, [large];\nret;\n}\n"
         ".visible .entry of_larger()\n{\n.reg .b32 %x;\nld.volatile.shared.u32 %x, [larger];\nret;\n}\n";

static const char reserved_text[] =
    HEAD ".extern .shared .align 4 .b8 more[];\n"
         ".func (.reg .b32 r) called_asks()\n{\nmov.u32 r, %reserved_smem_offset_1;\nret;\n}\n"
         ".func (.reg .b32 r) waiting_asks()\n{\nmov.u32 r, %reserved_smem_offset_1;\nbar.sync 0;\nret;\n}\n"
         CALLED("called") CALLED("waiting") RESERVED("itself", "mov.u32 %x0, %reserved_smem_offset_1;\n");

static CUmodule m;

static void start(void)
{
    check_context();
    CHECK(cuModuleLoadData(&m, text));
}

static int bytes_of(const char *name)
{
    CUfunction f;
    int bytes;
    CHECK(cuModuleGetFunction(&f, m, name));
    CHECK(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    return bytes;
}

static void a_kernel_has_room_for_the_shared_variables_that_it_may_use(void)
{
    EXPECT(bytes_of("only_a") == 1000);
    EXPECT(bytes_of("own") == 12);
    EXPECT(bytes_of("of_large") == 40000);
    EXPECT(bytes_of("of_larger") == 48000);
    /* what a function names has one place in all kernels, which may leave a hole; but what no kernel names has none */
    EXPECT(bytes_of("a_and_b") == 3008);
    EXPECT(bytes_of("b_and_c") >= 2008 && bytes_of("b_and_c") <= 3016);
}

static void expect(const char *name, unsigned first, unsigned second)
{
    CUdeviceptr out;
    unsigned r[2];
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, m, name));
    CHECK(cuMemAlloc(&out, sizeof r));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &out }, NULL));
    CHECK(cuMemcpyDtoH(r, out, sizeof r));
    EXPECT(r[0] == first && r[1] == second);
}

static void shared_variables_that_one_kernel_uses_lie_apart(void)
{
    expect("b_and_c", 7, 5);
    expect("a_and_b", 11, 13);
}

/* Cooperative groups have their barriers there, for tiles of more threads than a warp. */
static void what_is_reserved_of_shared_memory_is_none_of_the_programs(void)
{
    static const char *const names[] = { "itself", "called", "waiting", "itself" };
    static const unsigned expected[] = { 0, 7, 11, 13, 0, 0, 0x120, 1024, 4224 };
    CUdeviceptr out;
    unsigned r[sizeof expected / sizeof *expected];
    CHECK(cuModuleLoadData(&m, reserved_text));
    CHECK(cuMemAlloc(&out, sizeof r));
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++) {
        CUfunction f;
        EXPECT(bytes_of(names[k]) == 4096);
        CHECK(cuModuleGetFunction(&f, m, names[k]));
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 20, NULL, (void *[]){ &out }, NULL));
        CHECK(cuMemcpyDtoH(r, out, sizeof r));
        EXPECT(!memcmp(r, expected, sizeof r));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_kernel_has_room_for_the_shared_variables_that_it_may_use),
        ALONE(start, shared_variables_that_one_kernel_uses_lie_apart),
        ALONE(start, what_is_reserved_of_shared_memory_is_none_of_the_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
