/* Instructions that kernels cannot have: of legal ones it is said that Faultline
 * does not run them, of wrong ones what is wrong. None is taken for another one,
 * and the other kernels of their module run. */
#include "../child.h"

#include <stdbool.h>
#include <string.h>

/* What the compiler says of a kernel that has the instruction; "" if it compiles. */
static const char *said_of(const char *instruction)
{
    static const char form[] = ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
                               ".reg .b16 %%h; .reg .b32 %%r<12>; .reg .b64 %%d<4>; .reg .f32 %%f<8>; .reg .pred %%p;\n"
                               "%s;\nret;\n}\n";
    static char log[1024];
    char ptx[1024];
    CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *values[] = { log, (void *)sizeof log };
    CUmodule m;
    log[0] = 0;
    snprintf(ptx, sizeof ptx, form, instruction);
    CUresult r = cuModuleLoadDataEx(&m, ptx, 2, options, values);
    EXPECT_EQUAL(r, *log ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS);
    return log;
}

static void all_are(bool legal, const char *const *instructions, size_t count)
{
    int wrong = 0;
    for (size_t k = 0; k < count; k++) {
        const char *said = said_of(instructions[k]);
        if (*said && legal == !!strstr(said, "is not supported")) continue;
        printf("%s: \"%s\"\n", instructions[k], said);
        wrong++;
    }
    EXPECT_EQUAL(wrong, 0);
}

static void legal_ones_that_are_not_run_are_said_to_be_not_supported(void)
{
    static const char *const legal[] = {
        "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, %d1, {%f4, %f5}]",
        "txq.filter_mode.b32 %r0, [%d0]",
        "suq.memory_layout.b32 %r0, [%d0]",
        "istypep.texref %p, %d0",
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes "
        "[%r0], [%d0, {%r1, %r2, %r3}], [%r2], {%h}",
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
        "[%r0], [%d0, {%r1, %r2, %r3, %r4, %r5}], [%r2]",
        "pmevent.mask 1",
    };
    all_are(true, legal, sizeof legal / sizeof *legal);
}

static void wrong_ones_are_said_to_be_wrong(void)
{
    static const char *const wrong[] = {
        "frobnicate.u32 %r0, %r1",
        "add.frobnicate.u32 %r0, %r1, %r2",
        "add.tensor.u32 %r0, %r1, %r2",
        "add.u32 %r0, %r1.b0, %r2",
        "vadd.u32.u32.u32 %r0, %r1.b4, %r2",
        "vset4.u32.u32.lt %r0.b01, %r1, %r2, %r3",
        "vmad.u32.u32.u32.po %r0, -%r1, %r2, %r3",
        "popc.b16 %r0, %h",
        "brev.b16 %h, %h",
        "set.eq.f16x2.f32 %r0, %f0, %f1",
        "min.xorsign.abs.f64 %d0, %d1, %d2",
        "redux.sync.min.f32 %f0, %f1, -1",
        "redux.sync.add.u64 %d0, %d1, -1",
        "atom.shared.u32 %r0, [%r1], %r2",
        "atom.shared.add.b32 %r0, [%r1], %r2",
        "shfl.up.b32 %r0, %r1, 1, 0",
        "add.mma_async.u32 %r0, %r1, %r2",
        "mma.sync.aligned.m16n8k24.row.col.s32.u4.u4.s32 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6}, {%r0, %r1, %r2, %r3}",
        "mma.sync.aligned.m8n8k32.col.row.s32.u4.u4.s32 {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1}",
        "mma.sync.aligned.m8n8k32.row.col.s32.u4.u4.s32 {%f0, %f1}, {%r2}, {%r3}, {%r0, %r1}",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2, %r3}, {%f0, %f1, %f2, %f3}, %r4, 4",
        "wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r0}, [%d0]",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d0, {%r1}], [%r0]",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%d0], [%r0], 16",
    };
    all_are(false, wrong, sizeof wrong / sizeof *wrong);
}

static void the_other_kernels_of_a_module_run(void)
{
    static const char ptx[] = ".version 8.7\n.target sm_90\n.address_size 64\n"
                              ".func fetch()\n{\n.reg .b64 %d<2>; .reg .b32 %r<2>;\n"
                              "/* } */ suq.memory_layout.b32 %r0, [%d0];\n"
                              "ret;\n}\n"
                              ".visible .entry good()\n{\nret;\n}\n"
                              ".visible .entry bad()\n{\npmevent.mask 1;\nret;\n}\n"
                              ".visible .entry caller()\n{\ncall fetch;\nret;\n}\n"
                              ".visible .entry cluster() .reqnctapercluster 2, 1, 1\n{\nret;\n}\n";
    static const struct {
        const char *name;
        CUresult wanted;
    } kernels[] = {
        { "good", CUDA_SUCCESS },
        { "bad", CUDA_ERROR_NOT_SUPPORTED },
        { "caller", CUDA_ERROR_NOT_SUPPORTED },
        { "cluster", CUDA_SUCCESS },
    };
    CUmodule m;
    CUfunction f;
    CHECK(cuModuleLoadData(&m, ptx));
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        CHECK(cuModuleGetFunction(&f, m, kernels[k].name));
        EXPECT_EQUAL(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), kernels[k].wanted);
    }
    CHECK(cuCtxSynchronize());
    CHECK(cuModuleUnload(m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(with_context, legal_ones_that_are_not_run_are_said_to_be_not_supported),
        ALONE(with_context, wrong_ones_are_said_to_be_wrong),
        ALONE(with_context, the_other_kernels_of_a_module_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
