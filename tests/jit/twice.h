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
