/* Shared variables that a module declares outside its kernels: each kernel has those that it, or what it calls, names, and
 * they lie apart. */
#include "../child.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

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

static CUmodule m;

static void start(void)
{
    CUcontext c;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_kernel_has_room_for_the_shared_variables_that_it_may_use),
        ALONE(start, shared_variables_that_one_kernel_uses_lie_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
