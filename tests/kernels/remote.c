/* A module so large that only what is called by name is compiled. Most of it is a comment. */
#include "../child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 33 << 20 };

static const char text[] =
    "\n.version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .func (.param .u32 r) remote(.param .u32 n)\n{\nst.param.u32 [r], 1; no.such.instruction; ret;\n}\n"
    ".visible .func (.param .u32 r) deep(.param .u32 n)\n{\n.reg .u32 %t;\n"
    "ld.param.u32 %t, [n]; add.u32 %t, %t, 5; st.param.u32 [r], %t; ret;\n}\n"
    ".visible .func (.param .u32 r) near(.param .u32 n)\n{\n.reg .u32 %t;\nld.param.u32 %t, [n];\n"
    "{\n.param .u32 a; .param .u32 b;\nst.param.u32 [a], %t; call (b), deep, (a); ld.param.u32 %t, [b];\n}\n"
    "add.u32 %t, %t, %t; st.param.u32 [r], %t; ret;\n}\n"
    ".visible .global .align 8 .u64 table[2] = { near, remote };\n"
    ".visible .entry k(.param .u64 out, .param .u32 which)\n{\n.reg .u32 %t, %w; .reg .u64 %o, %f; .reg .pred %p;\n"
    "ld.param.u64 %o, [out]; ld.param.u32 %w, [which]; mov.u32 %t, 7; setp.eq.u32 %p, %w, 2; @%p bra named;\n"
    "mov.u64 %f, table; mad.wide.u32 %f, %w, 8, %f; ld.global.u64 %f, [%f];\n"
    "{\n.param .u32 a; .param .u32 b;\nst.param.u32 [a], %t;\n"
    "p: .callprototype (.param .u32 _) _ (.param .u32 _);\ncall (b), %f, (a), p; ld.param.u32 %t, [b];\n}\nbra end;\n"
    "named:\n{\n.param .u32 a; .param .u32 b;\nst.param.u32 [a], %t; call (b), near, (a); ld.param.u32 %t, [b];\n}\n"
    "end: st.global.u32 [%o], %t; ret;\n}\n";

static CUfunction k;
static CUdeviceptr out;

static void start(void)
{
    CUmodule m;
    char *all = malloc(LARGE + sizeof text);
    memset(all, 'x', LARGE);
    memcpy(all, "//", 2);
    strcpy(all + LARGE, text);
    setenv("FAULTLINE_CACHE", "off", 1);
    check_context();
    CHECK(cuModuleLoadData(&m, all));
    CHECK(cuModuleGetFunction(&k, m, "k"));
    CHECK(cuMemAlloc(&out, 4));
    free(all);
}

static CUresult call(unsigned which)
{
    CHECK(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &out, &which }, NULL));
    return cuCtxSynchronize();
}

static void functions_that_are_called_by_name_run(void)
{
    for (unsigned which = 0; which <= 2; which += 2) {
        unsigned got;
        CHECK(call(which));
        CHECK(cuMemcpyDtoH(&got, out, sizeof got));
        EXPECT_EQUAL(got, 24);
    }
}

static void others_end_who_calls_them(void) { EXPECT_EQUAL(call(1), CUDA_ERROR_ILLEGAL_INSTRUCTION); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, functions_that_are_called_by_name_run),
        ALONE(start, others_end_who_calls_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
