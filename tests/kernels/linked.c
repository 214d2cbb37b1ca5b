/* A program of two files, as nvcc -rdc makes them, linked at run time: what one declares the other defines, names of no
 * linkage are each file's own, and of a weak definition there may be two.
 * usage: linked SOME.ptx (which it does not need) */
#include "program.h"

static const char first[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b32 r) other(.param .b32 x);\n"
    ".visible .global .align 4 .b32 shared_table[2] = {1, 2};\n"
    ".extern .const .align 4 .b32 constants[2];\n"
    ".global .align 4 .b32 hidden = 5;\n"
    ".weak .global .align 4 .b32 calls;\n"
    ".weak .func count() { .reg .b32 %r; atom.global.add.u32 %r, [calls], 1; ret; }\n"
    ".func (.param .b32 r) local(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.s32 %a, %a, 1; st.param.b32 "
    "[r], %a; ret; }\n"
    ".visible .entry linked(.param .u64 out)\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;\n"
    "call count; call (%r2), local, (%r1); call (%r3), other, (%r1);\n"
    "ld.global.b32 %r4, [hidden]; ld.const.b32 %r5, [constants+4];\n"
    "add.s32 %r2, %r2, %r3; add.s32 %r2, %r2, %r4; add.s32 %r2, %r2, %r5; st.global.b32 [%rd1], %r2; ret;\n}\n";
static const char second[] =
    "/* a header in one line, of another .version */ .version 7.1 .target sm_80 .address_size 64 "
    ".visible .const .align 4 .b32 constants[2] = {100, 200};\n"
    ".extern .global .align 4 .b32 shared_table[2];\n"
    ".global .align 4 .b32 hidden = 7000;\n"
    ".weak .global .align 4 .b32 calls;\n"
    ".weak .func count() { .reg .b32 %r; atom.global.add.u32 %r, [calls], 1; ret; }\n"
    ".func (.param .b32 r) local(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; mul.lo.s32 %a, %a, 10; "
    "st.param.b32 [r], %a; ret; }\n"
    ".visible .func (.param .b32 r) other(.param .b32 x)\n{\n.reg .b32 %r<4>;\n"
    "call count; ld.param.b32 %r1, [x]; call (%r1), local, (%r1); ld.global.b32 %r2, [hidden]; add.s32 %r1, %r1, %r2;\n"
    "ld.global.b32 %r2, [shared_table+4]; add.s32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret;\n}\n";

static void try_order(const char *const file[2])
{
    CUlinkState link;
    CUmodule m;
    CUfunction f;
    CUdeviceptr out = give(NULL, 32 * 4), calls;
    void *binary;
    size_t size;
    CHECK(cuLinkCreate(0, NULL, NULL, &link));
    for (int k = 0; k < 2; k++)
        CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)file[k], strlen(file[k]) + 1, "a file", 0, NULL, NULL));
    CHECK(cuLinkComplete(link, &binary, &size));
    CHECK(cuModuleLoadData(&m, binary));
    CHECK(cuLinkDestroy(link));
    CHECK(cuModuleGetFunction(&f, m, "linked"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, ARGS(&out), NULL));
    const int *r = take(out, 32 * 4);
    for (int t = 0; t < 32; t++) EXPECT(r[t] == t + 1 + (t * 10 + 7000 + 2) + 5 + 200);
    CHECK(cuModuleGetGlobal(&calls, &size, m, "calls"));
    EXPECT(*(int *)take(calls, 4) == 64);
    CHECK(cuModuleUnload(m));
}

static void two_files_become_one_program(void)
{
    try_order((const char *[]){ first, second });
    try_order((const char *[]){ second, first });
}

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(two_files_become_one_program), { 0 } };
    return run_programs(argc, argv, programs);
}
