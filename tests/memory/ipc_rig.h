/* What players of legacy IPC share: a device to work on, a kernel that stores a
 * word, and memory that one offers and the other takes. */
#ifndef FL_TESTS_IPC_RIG_H
#define FL_TESTS_IPC_RIG_H

#include "../players.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SIZE = 3 << 20 };

static const char ipc_ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                              ".visible .entry poke(.param .u64 a, .param .u32 b){ .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
                              "ld.param.u64 %d1,[a]; ld.param.u32 %r1,[b]; cvta.to.global.u64 %d1,%d1;\n"
                              "st.global.u32 [%d1],%r1; ret; }\n";

/* A player's first act. */
static inline void start_cuda(void)
{
    CUcontext c;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
}

static inline void store(CUdeviceptr p, unsigned value)
{
    static CUfunction poke;
    CUmodule m;
    if (!poke) {
        CHECK(cuModuleLoadData(&m, ipc_ptx));
        CHECK(cuModuleGetFunction(&poke, m, "poke"));
    }
    CHECK(cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &p, &value }, NULL));
    CHECK(cuCtxSynchronize());
}

static inline unsigned load(CUdeviceptr p)
{
    unsigned value = 0;
    CHECK(cuMemcpyDtoH(&value, p, sizeof value));
    return value;
}

static inline size_t free_bytes(void)
{
    size_t free, total;
    CHECK(cuMemGetInfo(&free, &total));
    return free;
}

/* The library's thread hears of what other processes do in a moment. */
static inline void wait_for_free_bytes(size_t wanted)
{
    for (int k = 0; k < 20000 && free_bytes() != wanted; k++) usleep(1000);
    EXPECT_EQUAL(free_bytes(), wanted);
}

/* Memory full of sevens; the other process gets its handle. */
static inline CUdeviceptr offer(int s, size_t size)
{
    CUdeviceptr p;
    CUipcMemHandle h;
    CHECK(cuMemAlloc(&p, size));
    CHECK(cuMemsetD32(p, 7, size / 4));
    CHECK(cuIpcGetMemHandle(&h, p));
    tell(s, &h, sizeof h);
    return p;
}

static inline CUdeviceptr take(int s, CUipcMemHandle *h)
{
    CUdeviceptr p;
    hear(s, h, sizeof *h);
    CHECK(cuIpcOpenMemHandle(&p, *h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    return p;
}

/* An event that can be shared; the other process gets its handle. */
static inline CUevent offer_event(int s)
{
    CUevent e;
    CUipcEventHandle h;
    CHECK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    CHECK(cuIpcGetEventHandle(&h, e));
    tell(s, &h, sizeof h);
    return e;
}

#endif
