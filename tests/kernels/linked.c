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

static CUresult join(const char *const *file, int count, CUmodule *m)
{
    CUlinkState link;
    void *binary;
    CHECK(cuLinkCreate(0, NULL, NULL, &link));
    for (int k = 0; k < count; k++)
        CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)file[k], strlen(file[k]) + 1, "a file", 0, NULL, NULL));
    CUresult r = cuLinkComplete(link, &binary, NULL);
    if (!r) r = cuModuleLoadData(m, binary);
    CHECK(cuLinkDestroy(link));
    return r;
}

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
#define USER(declared) \
    declared ".visible .entry user(.param .u64 out)\n{\n" \
             ".reg .b32 %r<3>; .reg .b64 %rd; .param .b64 result; .param .b64 where;\n" \
             "ld.param.u64 %rd, [out]; st.param.b64 [where], %rd;\n" \
             "call.uni (result), gives_nothing, (where);\n" \
             "ld.global.b32 %r1, [%rd]; add.s32 %r1, %r1, 1; st.global.b32 [%rd], %r1; ret;\n}\n"
#define GIVES_NOTHING(linkage, waits) \
    linkage " .func gives_nothing(.param .b64 where)\n{\n" \
            ".reg .b64 %rd; ld.param.b64 %rd, [where];" waits "st.global.b32 [%rd], 41; ret;\n}\n"

/* A declaration that promises a result is only seen to be wrong where the definition is in the same file. */
static void a_file_may_expect_a_result_that_another_does_not_give(void)
{
    static const char declared[] = HEAD USER(".extern .func (.param .b64 r) gives_nothing(.param .b64 where);\n");
    static const char both[] = HEAD GIVES_NOTHING("", "") USER("");
    static const char *const definitions[] = { HEAD GIVES_NOTHING(".visible", ""),
                                               HEAD GIVES_NOTHING(".visible", "bar.sync 0;") };
    CUmodule m;
    CUfunction f;
    for (int k = 0; k < 4; k++) {
        const char *const files[2] = { k / 2 ? definitions[k % 2] : declared, k / 2 ? declared : definitions[k % 2] };
        CUdeviceptr out = give(NULL, 4);
        CHECK(join(files, 2, &m));
        CHECK(cuModuleGetFunction(&f, m, "user"));
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out), NULL));
        EXPECT(*(int *)take(out, 4) == 42);
        CHECK(cuModuleUnload(m));
    }
    EXPECT(cuModuleLoadData(&m, both) == CUDA_ERROR_INVALID_PTX);
}

/* As a program of relocatable code with cooperative groups has it: the device runtime has these functions. */
static const char groups[] =
    HEAD ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
         ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);\n"
         /* out[block] becomes the number of the round in which all were seen to be there, or that of a failure */
         ".visible .entry rounds(.param .u64 out, .param .u32 count)\n{\n"
         ".reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<4>;\n"
         "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [count]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;\n"
         "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd1, %rd2; mov.u32 %r4, 0;\n"
         "call (%rd4), cudaCGGetIntrinsicHandle, (1);\n"
         "round: st.volatile.global.u32 [%rd2], %r4;\n"
         "call (%r5), cudaCGSynchronize, (%rd4, 0); setp.ne.u32 %p1, %r5, 0; @%p1 bra failed;\n"
         "add.u32 %r6, %r2, 1; rem.u32 %r6, %r6, %r3; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd3, %rd1, %rd3;\n"
         "ld.volatile.global.u32 %r7, [%rd3]; setp.ne.u32 %p2, %r7, %r4; mov.u32 %r5, -1; @%p2 bra failed;\n"
         "call (%r5), cudaCGSynchronize, (%rd4, 0);\n"
         "add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, %r1; @%p3 bra round;\n"
         "st.global.u32 [%rd2], %r4; ret;\n"
         "failed: st.global.u32 [%rd2], %r5; ret;\n}\n";

static void blocks_of_a_cooperative_grid_wait_for_each_other(void)
{
    enum { BLOCKS = 12, ROUNDS = 50, UNKNOWN = 999 };
    const char *const files[] = { groups };
    char library[64] = "!<arch>\n";
    unsigned rounds = ROUNDS;
    CUmodule m;
    CUfunction f;
    CUlinkState link;
    CUdeviceptr out = give(NULL, BLOCKS * 4);
    CHECK(cuLinkCreate(0, NULL, NULL, &link));
    CHECK(cuLinkAddData(link, CU_JIT_INPUT_LIBRARY, library, sizeof library, "cudadevrt", 0, NULL, NULL));
    EXPECT(cuLinkAddData(link, CU_JIT_INPUT_LIBRARY, (void *)groups, sizeof groups, "", 0, NULL, NULL) ==
           CUDA_ERROR_UNKNOWN);
    CHECK(cuLinkDestroy(link));
    CHECK(join(files, 1, &m));
    CHECK(cuModuleGetFunction(&f, m, "rounds"));
    CHECK(cuLaunchCooperativeKernel(f, BLOCKS, 1, 1, 64, 1, 1, 0, 0, ARGS(&out, &rounds)));
    const int *r = take(out, BLOCKS * 4);
    for (int k = 0; k < BLOCKS; k++) EXPECT(r[k] == ROUNDS);
    CHECK(cuLaunchKernel(f, BLOCKS, 1, 1, 64, 1, 1, 0, 0, ARGS(&out, &rounds), NULL)); /* nobody to wait for */
    r = take(out, BLOCKS * 4);
    for (int k = 0; k < BLOCKS; k++) EXPECT(r[k] == UNKNOWN);
    CHECK(cuModuleUnload(m));
}

static int shared_bytes(CUmodule m, const char *name)
{
    CUfunction f;
    int bytes;
    CHECK(cuModuleGetFunction(&f, m, name));
    CHECK(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    return bytes;
}

/* What the launch adds begins where vectors may lie. A module that has none of that tells to the byte what a kernel has. */
static void shared_memory_of_the_launch_lies_behind_the_kernels_own(void)
{
    static const char only_own[] = HEAD ".visible .entry only_own()\n{\n.shared .align 4 .b8 bytes[40]; .reg .b32 %r;\n"
                                        "mov.u32 %r, bytes; st.shared.b32 [%r], %r; ret;\n}\n";
    static const char where[] =
        HEAD ".extern .shared .align 16 .b8 dynamic[];\n"
             ".visible .entry where(.param .u64 out)\n{\n.shared .align 4 .b8 own[40];\n"
             ".reg .b64 %rd; .reg .b32 %r<3>; ld.param.u64 %rd, [out]; mov.u32 %r1, own; mov.u32 %r2, dynamic;\n"
             "sub.u32 %r2, %r2, %r1; st.global.b32 [%rd], %r2; mov.u32 %r1, %dynamic_smem_size;\n"
             "st.global.b32 [%rd+4], %r1; ret;\n}\n"
             ".visible .entry beside()\n{\n.shared .align 4 .b8 bytes[40]; .reg .b32 %r;\n"
             "mov.u32 %r, bytes; st.shared.b32 [%r], %r; ret;\n}\n";
    CUdeviceptr out = give(NULL, 8);
    CUmodule m;
    CUfunction f;
    CHECK(join((const char *[]){ only_own }, 1, &m));
    EXPECT(shared_bytes(m, "only_own") == 40);
    CHECK(cuModuleUnload(m));
    CHECK(join((const char *[]){ where }, 1, &m));
    EXPECT(shared_bytes(m, "beside") == 48 && shared_bytes(m, "where") == 48);
    CHECK(cuModuleGetFunction(&f, m, "where"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 100, 0, ARGS(&out), NULL));
    const int *r = take(out, 8);
    EXPECT(r[0] == 48 && r[1] == 100);
    CHECK(cuModuleUnload(m));
}

/* As compilers leave it of table[i + 16] where i may be below 0. */
static void a_displacement_brings_a_shared_address_back_into_the_block(void)
{
    const char *const files[] = {
        HEAD ".visible .entry negative(.param .u64 out)\n{\n.shared .align 4 .b8 table[256];\n"
             ".reg .b64 %rd<3>; .reg .b32 %r<6>; ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;\n"
             "mov.u32 %r3, table; add.s32 %r3, %r3, %r2; sub.s32 %r3, %r3, 64; add.s32 %r4, %r1, 7;\n"
             "st.shared.u32 [%r3+64], %r4; bar.sync 0; xor.b32 %r2, %r2, 124; mov.u32 %r5, table;\n"
             "add.s32 %r5, %r5, %r2; sub.s32 %r5, %r5, 8320; ld.shared.u32 %r4, [%r5+8320];\n"
             "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r4; ret;\n}\n"
    };
    CUdeviceptr out = give(NULL, 32 * 4);
    CUmodule m;
    CUfunction f;
    CHECK(join(files, 1, &m));
    CHECK(cuModuleGetFunction(&f, m, "negative"));
    CHECK(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, 0, ARGS(&out), NULL));
    const int *r = take(out, 32 * 4);
    for (int t = 0; t < 32; t++) EXPECT(r[t] == 31 - t + 7);
    CHECK(cuModuleUnload(m));
}

/* One file shows a function and a variable, the other has such of its own: in either order each kernel uses its file's.
 * What is a file's own is nothing for those who look for it elsewhere. */
static void what_a_file_keeps_for_itself_may_have_another_ones_name(void)
{
#define FILE_OF(linkage, name, number) \
    HEAD linkage ".global .align 4 .b32 value = " number ";\n" \
         linkage ".func (.param .b32 r) give() { st.param.b32 [r], " number "; ret; }\n" \
         ".visible .entry " name "(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [out];\n" \
         "call (%r1), give; ld.global.b32 %r2, [value]; add.s32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1; ret; }\n"
    static const char shown[] = FILE_OF(".visible ", "shows", "1"), kept[] = FILE_OF("", "keeps", "10"),
                      asks[] = HEAD ".extern .global .align 4 .b32 value;\n.visible .entry asks(.param .u64 out) { .reg .b32 %r; "
                                    "ld.global.b32 %r, [value]; st.global.b32 [value], %r; ret; }\n";
    const char *const orders[][2] = { { shown, kept }, { kept, shown } };
    CUdeviceptr out = give(NULL, 4);
    CUmodule m;
    CUfunction f;
    for (int k = 0; k < 2; k++) {
        CHECK(join(orders[k], 2, &m));
        CHECK(cuModuleGetFunction(&f, m, "shows"));
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out), NULL));
        EXPECT(*(int *)take(out, 4) == 2);
        CHECK(cuModuleGetFunction(&f, m, "keeps"));
        CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out), NULL));
        EXPECT(*(int *)take(out, 4) == 20);
        CHECK(cuModuleUnload(m));
    }
    EXPECT(join((const char *[]){ asks, kept }, 2, &m) != CUDA_SUCCESS);
    EXPECT(join((const char *[]){ kept, asks }, 2, &m) != CUDA_SUCCESS);
    /* and it must be as large as they think, as far as they say */
    CHECK(join((const char *[]){ asks, shown }, 2, &m));
    CHECK(join((const char *[]){ HEAD ".visible .global .align 4 .b32 value[1];\n", asks }, 2, &m));
    EXPECT(join((const char *[]){ HEAD ".visible .global .align 4 .b32 value[2];\n", asks }, 2, &m) != CUDA_SUCCESS);
    EXPECT(join((const char *[]){ asks, HEAD ".visible .global .align 4 .b32 value[2];\n" }, 2, &m) != CUDA_SUCCESS);
    CHECK(join((const char *[]){ HEAD ".extern .global .align 4 .b32 value[];\n", shown }, 2, &m));
}

/* What kernel k of the two files, in this order, writes first. */
static int linked_first(const char *a, const char *b)
{
    CUdeviceptr out = give(NULL, 4);
    CUmodule m;
    CUfunction f;
    CHECK(join((const char *[]){ a, b }, 2, &m));
    CHECK(cuModuleGetFunction(&f, m, "k"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out), NULL));
    const int r = *(int *)take(out, 4);
    CHECK(cuModuleUnload(m));
    return r;
}

#define K(body) \
    ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %d; ld.param.u64 %d, [out];\n" body \
    "st.global.u32 [%d], %r1; ret; }\n"

static void a_definition_that_is_not_weak_replaces_a_weak_one(void)
{
#define BOTH_OF(linkage, number) \
    HEAD linkage ".global .align 4 .b32 value = " number ";\n" \
         linkage ".func (.param .b32 r) give() { st.param.b32 [r], " number "; ret; }\n"
    static const char weak[] =
        BOTH_OF(".weak ", "1") K("call (%r1), give; ld.global.b32 %r2, [value]; mad.lo.s32 %r1, %r1, 10, %r2;\n");
    EXPECT_EQUAL(linked_first(weak, BOTH_OF(".visible ", "2")), 22);
    EXPECT_EQUAL(linked_first(BOTH_OF(".visible ", "2"), weak), 22);
    EXPECT_EQUAL(linked_first(weak, BOTH_OF(".weak ", "2")), 11);
    EXPECT_EQUAL(linked_first(BOTH_OF(".weak ", "2"), weak), 22);
}

static void of_common_variables_the_largest_holds_unless_one_is_defined(void)
{
#define COMMON(align, size) HEAD ".common .global .align " align " .b32 value[" size "];\n"
    /* behind the variable lies another one; all of it is written, and that is looked at */
    static const char writes[] = ".visible .func fill() { .reg .b32 %r; .reg .b64 %d; .reg .pred %p; mov.u32 %r, 64;\n"
                                 "mov.u64 %d, value; again: st.global.u32 [%d], 1; add.u64 %d, %d, 4; sub.u32 %r, %r, 1;\n"
                                 "setp.ne.u32 %p, %r, 0; @%p bra again; ret; }\n",
                      looks[] = ".visible .global .align 4 .b32 behind[64];\n.extern .func fill();\n" K(
                          "call fill; mov.u64 %d, value; cvt.u32.u64 %r2, %d; and.b32 %r2, %r2, 63; ld.param.u64 %d, [out];\n"
                          "ld.global.b32 %r1, [behind]; ld.global.b32 %r3, [behind+12]; add.u32 %r1, %r1, %r3;\n"
                          "add.u32 %r1, %r1, %r2;\n");
    static const char gives[] = K("ld.global.b32 %r1, [value+4];\n");
    static const char defined[] = HEAD ".visible .global .align 4 .b32 value[2] = {7, 8};\n";
    CUmodule m;
    char small[2048], large[2048], given[1024];
    snprintf(small, sizeof small, "%s%s", COMMON("64", "1"), looks);
    snprintf(large, sizeof large, "%s%s", COMMON("4", "64"), writes);
    snprintf(given, sizeof given, "%s%s", COMMON("4", "2"), gives);
    EXPECT_EQUAL(linked_first(small, large), 0);
    EXPECT_EQUAL(linked_first(large, small), 0);
    EXPECT_EQUAL(linked_first(given, defined), 8);
    EXPECT_EQUAL(linked_first(defined, given), 8);
    EXPECT(join((const char *[]){ large, defined }, 2, &m) != CUDA_SUCCESS);
}

/* That parameters lie in registers is no difference, nor whether integers have a sign. */
static void what_files_say_of_one_name_must_be_the_same(void)
{
#define CALLS_F(signature, arguments) \
    HEAD ".extern .func " signature ";\n" \
         K(".param .b32 p; .param .b32 q; st.param.b32 [p], 3; call (q), f, " arguments "; ld.param.b32 %r1, [q];\n")
#define F(results, parameters) HEAD ".visible .func " results " f" parameters " { ret; }\n"
#define READS_IN(space) HEAD ".extern ." space " .align 4 .b32 value;\n" K("ld." space ".b32 %r1, [value];\n")
    static const char calls[] = CALLS_F("(.param .b32 r) f(.param .b32 i)", "(p)");
    static const char *const others[] = { F("(.param .b64 r)", "(.param .b64 i)"), F("(.param .b32 r)", "(.param .b64 i)"),
                                          F("(.param .b32 r)", "(.param .f32 i)"), F("(.param .b32 r)", "()"),
                                          F("(.param .b32 r)", "(.param .b32 i, .param .b32 j)"),
                                          F("(.param .b32 r)", "(.param .align 4 .b8 i[4])") };
    static const char global[] = HEAD ".visible .global .align 4 .b32 value = 5;\n";
    CUmodule m;
    for (unsigned k = 0; k < sizeof others / sizeof *others; k++) {
        EXPECT(join((const char *[]){ calls, others[k] }, 2, &m) != CUDA_SUCCESS);
        EXPECT(join((const char *[]){ others[k], calls }, 2, &m) != CUDA_SUCCESS);
    }
    EXPECT_EQUAL(linked_first(calls, HEAD ".visible .func (.reg .s32 r) f(.reg .u32 i) { mov.u32 r, i; ret; }\n"), 3);
    EXPECT_EQUAL(linked_first(READS_IN("global"), global), 5);
    EXPECT(join((const char *[]){ READS_IN("const"), global }, 2, &m) != CUDA_SUCCESS);
    EXPECT(join((const char *[]){ global, READS_IN("const") }, 2, &m) != CUDA_SUCCESS);
}

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(two_files_become_one_program),
                                               P(a_file_may_expect_a_result_that_another_does_not_give),
                                               P(blocks_of_a_cooperative_grid_wait_for_each_other),
                                               P(shared_memory_of_the_launch_lies_behind_the_kernels_own),
                                               P(a_displacement_brings_a_shared_address_back_into_the_block),
                                               P(what_a_file_keeps_for_itself_may_have_another_ones_name),
                                               P(a_definition_that_is_not_weak_replaces_a_weak_one),
                                               P(of_common_variables_the_largest_holds_unless_one_is_defined),
                                               P(what_files_say_of_one_name_must_be_the_same),
                                               { 0 } };
    return run_programs(argc, argv, programs);
}
