/* A team of three devices with a multicast object between them, for tests that
 * run each in a process of its own. */
#ifndef FL_TESTS_MULTICAST_RIG_H
#define FL_TESTS_MULTICAST_RIG_H

#include "../child.h"
#include "rig.h"

#include <string.h>

enum { TEAM = 3, SIZE = 4 * MIB, HALF = SIZE / 2 };

static CUcontext contexts[TEAM];
static CUmemGenericAllocationHandle object, memory[TEAM];
static CUdeviceptr object_at, memory_at[TEAM]; /* where they are mapped */

static inline void on(int device) { CHECK(cuCtxSetCurrent(contexts[device])); }

static inline CUdeviceptr map(CUmemGenericAllocationHandle h, size_t size)
{
    CUdeviceptr at;
    CHECK(cuMemAddressReserve(&at, size, 0, 0, 0));
    CHECK(cuMemMap(at, size, 0, h, 0));
    return at;
}

static inline void access_by(CUdeviceptr at, size_t size, int device, CUmemAccess_flags flags)
{
    const CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, device }, flags };
    CHECK(cuMemSetAccess(at, size, &desc, 1));
}

/* Everything exists, and the object has its team; nothing is bound to it. */
static inline void form_team(void)
{
    const CUmulticastObjectProp prop = { .numDevices = TEAM, .size = SIZE };
    CHECK(cuInit(0));
    CHECK(cuMulticastCreate(&object, &prop));
    for (int k = 0; k < TEAM; k++) {
        const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .location = { CU_MEM_LOCATION_TYPE_DEVICE, k } };
        CHECK(cuDevicePrimaryCtxRetain(&contexts[k], k));
        CHECK(cuMulticastAddDevice(object, k));
        CHECK(cuMemCreate(&memory[k], SIZE, &p, 0));
        memory_at[k] = map(memory[k], SIZE);
        access_by(memory_at[k], SIZE, k, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
}

/* By memory, by address, and of the last member the second half before the first: see member_address. */
static inline void bind_team(void)
{
    CHECK(cuMulticastBindMem(object, 0, memory[0], 0, SIZE, 0));
    CHECK(cuMulticastBindAddr(object, 0, memory_at[1], SIZE, 0));
    CHECK(cuMulticastBindMem(object, 0, memory[2], HALF, HALF, 0));
    object_at = map(object, SIZE);
    for (int k = 0; k < TEAM; k++) access_by(object_at, SIZE, k, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMulticastBindMem(object, HALF, memory[2], 0, HALF, 0));
}

static inline void form_and_bind_team(void)
{
    form_team();
    bind_team();
}

/* Where a member keeps what is at offset of the object. */
static inline CUdeviceptr member_address(int member, size_t offset)
{
    return memory_at[member] + (member == 2 ? (offset + HALF) % SIZE : offset);
}

static inline void put(int member, size_t offset, const void *p, size_t size)
{
    on(member);
    CHECK(cuMemcpyHtoD(member_address(member, offset), p, size));
}

static inline void get(int member, size_t offset, void *p, size_t size)
{
    on(member);
    CHECK(cuMemcpyDtoH(p, member_address(member, offset), size));
}

/* One thread of the current device runs the kernel "one", which is given two addresses; how that ended. */
static inline CUresult run_one(const char *ptx, CUdeviceptr first, CUdeviceptr second)
{
    CUmodule m;
    CUfunction f;
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "one"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &first, &second }, NULL));
    CUresult r = cuCtxSynchronize();
    cuModuleUnload(m);
    return r;
}

#define MULTIMEM_KERNEL_BEGIN \
    ".version 8.1\n.target sm_90\n.address_size 64\n" \
    ".visible .entry one(.param .u64 object, .param .u64 other)\n{\n"
/* Puts all members' words together; *other = the sum */
#define ADD_UP \
    MULTIMEM_KERNEL_BEGIN ".reg .b64 %a<2>; .reg .b32 %r;\n" \
                          "ld.param.u64 %a0, [object]; ld.param.u64 %a1, [other];\n" \
                          "multimem.ld_reduce.relaxed.sys.global.add.u32 %r, [%a0];\n" \
                          "st.global.u32 [%a1], %r; ret;\n}\n"
/* Each member's word += 7 */
#define ADD_7 \
    MULTIMEM_KERNEL_BEGIN ".reg .b64 %a; .reg .b32 %r;\n" \
                          "ld.param.u64 %a, [object]; mov.u32 %r, 7;\n" \
                          "multimem.red.relaxed.sys.global.add.u32 [%a], %r; ret;\n}\n"
/* Each member's word = 5 */
#define STORE_5 \
    MULTIMEM_KERNEL_BEGIN ".reg .b64 %a; .reg .b32 %r;\n" \
                          "ld.param.u64 %a, [object]; mov.u32 %r, 5;\n" \
                          "multimem.st.relaxed.sys.global.u32 [%a], %r; ret;\n}\n"

static inline uint32_t add_up(CUdeviceptr at)
{
    CUdeviceptr sum;
    uint32_t v;
    CHECK(cuMemAlloc(&sum, 4));
    CHECK(run_one(ADD_UP, at, sum));
    CHECK(cuMemcpyDtoH(&v, sum, 4));
    CHECK(cuMemFree(sum));
    return v;
}

#endif
