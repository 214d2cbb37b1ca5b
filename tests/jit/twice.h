/* The kernel that the tests of this folder load, and what it does. */
#ifndef FL_TESTS_JIT_TWICE_H
#define FL_TESTS_JIT_TWICE_H

#include "../check.h"

/* Behind a header, as compilers write it: vectors of one, too. */
#define TWICE \
    ".target sm_90\n.address_size 64\n" \
    ".visible .entry twice(.param .u64 p) {\n" \
    ".reg .b64 %a, %b; .reg .b32 %i, %v;\n" \
    "ld.param.u64 %a, [p]; mov.u32 %i, %tid.x; mul.wide.u32 %b, %i, 4; add.u64 %a, %a, %b;\n" \
    "ld.global.b32 { %v }, [%a]; add.u32 %v, %v, %v; st.global.b32 [%a], { %v }; ret; }\n"

/* The same by a function of another file. */
#define CALLS_TWICE \
    ".target sm_90\n.address_size 64\n" \
    ".extern .func (.param .b32 r) doubled(.param .b32 v);\n" \
    ".visible .entry twice(.param .u64 p) {\n" \
    ".reg .b64 %a, %b; .reg .b32 %i, %v;\n" \
    "ld.param.u64 %a, [p]; mov.u32 %i, %tid.x; mul.wide.u32 %b, %i, 4; add.u64 %a, %a, %b;\n" \
    "ld.global.b32 %v, [%a];\n" \
    "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %v; call (y), doubled, (x); ld.param.b32 %v, [y]; }\n" \
    "st.global.b32 [%a], %v; ret; }\n"
#define DOUBLED \
    ".target sm_90\n.address_size 64\n" \
    ".visible .func (.param .b32 r) doubled(.param .b32 v) {\n" \
    ".reg .b32 %v; ld.param.b32 %v, [v]; add.u32 %v, %v, %v; st.param.b32 [r], %v; ret; }\n"

static inline void use_device(void)
{
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
}

/* A device is in use. */
static inline void run_twice(const void *image)
{
    CUmodule module;
    CUfunction twice;
    CUdeviceptr numbers;
    int data[4] = { 1, 2, 3, 4 };
    void *params[] = { &numbers };
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(&twice, module, "twice"));
    CHECK(cuMemAlloc(&numbers, sizeof data));
    CHECK(cuMemcpyHtoD(numbers, data, sizeof data));
    CHECK(cuLaunchKernel(twice, 1, 1, 1, 4, 1, 1, 0, NULL, params, NULL));
    CHECK(cuMemcpyDtoH(data, numbers, sizeof data));
    for (int k = 0; k < 4; k++) EXPECT_EQUAL(data[k], 2 * (k + 1));
    CHECK(cuMemFree(numbers));
    CHECK(cuModuleUnload(module));
}

#endif
