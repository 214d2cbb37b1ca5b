/* What cmocka tests of streams, pools and graphs share: a context, a stream that can be
 * held up, and kernels. */
#ifndef FL_TESTS_RIG_H
#define FL_TESTS_RIG_H

#include <cuda.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MiB (1ul << 20)
#define CHUNK (32 * MiB)
#define ok(call) assert_int_equal(call, CUDA_SUCCESS)

static inline CUcontext rig_context(int ordinal)
{
    CUdevice d;
    CUcontext c;
    ok(cuInit(0));
    ok(cuDeviceGet(&d, ordinal));
    ok(cuDevicePrimaryCtxRetain(&c, d));
    ok(cuCtxSetCurrent(c));
    return c;
}

static inline CUstream rig_stream(void)
{
    CUstream s;
    ok(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return s;
}

static uint32_t *rig_held;         /* released by a test's end too, should it fail */
static inline void rig_release(uint32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST); }

/* Everything issued into s from now on waits until rig_release. */
static inline uint32_t *rig_hold(CUstream s)
{
    uint32_t *flag;
    ok(cuMemAllocHost((void **)&flag, 4));
    *flag = 0;
    rig_held = flag;
    ok(cuStreamWaitValue32(s, (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    return flag;
}

static const char rig_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 v)\n{\n"
    " .reg .u32 %r<6>; .reg .u64 %d<4>; .reg .pred %q;\n"
    " ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [v];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r2, %r2, %r3, %r4; setp.ge.u32 %q, %r2, %r0; @%q ret;\n"
    " mul.wide.u32 %d1, %r2, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r1; ret;\n}\n"
    ".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 v)\n{\n"
    " .reg .u32 %r<7>; .reg .u64 %d<4>; .reg .pred %q;\n"
    " ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [v];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r2, %r2, %r3, %r4; setp.ge.u32 %q, %r2, %r0; @%q ret;\n"
    " mul.wide.u32 %d1, %r2, 4; add.u64 %d0, %d0, %d1; ld.global.u32 %r5, [%d0]; add.u32 %r5, %r5, %r1;\n"
    " st.global.u32 [%d0], %r5; ret;\n}\n";

static inline CUfunction rig_kernel(const char *name)
{
    CUmodule m;
    CUfunction f;
    ok(cuModuleLoadData(&m, rig_ptx));
    ok(cuModuleGetFunction(&f, m, name));
    return f;
}

static inline CUresult rig_launch(CUfunction f, CUdeviceptr p, uint32_t n, uint32_t v, CUstream s)
{
    void *params[] = { &p, &n, &v };
    return cuLaunchKernel(f, (n + 127) / 128, 1, 1, 128, 1, 1, 0, s, params, NULL);
}

/* A node in which one thread runs f. */
static inline CUDA_KERNEL_NODE_PARAMS rig_node(CUfunction f, void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
                                      .blockDimY = 1, .blockDimZ = 1, .kernelParams = params };
}

static inline uint32_t rig_word(CUdeviceptr p)
{
    uint32_t v = 0xdead;
    ok(cuMemcpyDtoH(&v, p, 4));
    return v;
}

#endif
