/* What the tests of managed and ordinary memory share. Each test runs in a
 * process of its own, for some end by a signal or leave an error that stays;
 * there the file's start() comes first. */
#include "../child.h"
#include "../userfaultfd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

#define PTX_HEADER ".version 7.0\n.target sm_70\n.address_size 64\n"
/* poke(at, value) writes a word. */
#define PTX_POKE \
    ".visible .entry poke(.param .u64 at, .param .u32 value) { .reg .b32 %r<2>; .reg .b64 %a<2>;\n" \
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [value]; st.global.u32 [%a1], %r1; ret; }\n"

/* For start(): the context of a device, current, with a module of these kernels. No test takes longer than a minute. */
static inline CUmodule start_with(int ordinal, const char *kernels)
{
    CUcontext c;
    CUmodule m;
    alarm(60);
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&c, ordinal));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuModuleLoadData(&m, kernels));
    return m;
}

static inline CUfunction function_of(CUmodule m, const char *name)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, m, name));
    return f;
}
