/* What the tests of mapped memory share: a device to work on, memory mapped in
 * one call, and a kernel that writes or checks tags all over many pages. */
#ifndef FL_TESTS_VMM_RIG_H
#define FL_TESTS_VMM_RIG_H

#include "../check.h"
#include "../draw.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MIB = 1 << 20, TAGS = 16, TILE = 64 << 10 };

/* TAGS words from address on, stride bytes apart: word k is tag ^ k. */
struct tagged {
    uint64_t address;
    uint32_t stride, tag;
};

struct device {
    CUcontext context;
    CUfunction tags;
    CUdeviceptr list, wrong; /* room for most entries; a counter */
    unsigned most;
};

static const char tags_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry tags(.param .u64 list, .param .u32 n, .param .u64 wrong, .param .u32 write)\n{\n"
    "    .reg .pred %p<4>; .reg .b32 %r<11>; .reg .b64 %a<5>;\n"
    "    ld.param.u64 %a0, [list]; ld.param.u32 %r0, [n]; ld.param.u64 %a1, [wrong]; ld.param.u32 %r1, [write];\n"
    "    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p0, %r5, %r0; @%p0 bra END;\n"
    "    mul.wide.u32 %a2, %r5, 16; add.u64 %a2, %a0, %a2;\n"
    "    ld.global.u64 %a3, [%a2]; ld.global.u32 %r6, [%a2+8]; ld.global.u32 %r7, [%a2+12];\n"
    "    cvt.u64.u32 %a4, %r6; mov.u32 %r8, 0; setp.ne.u32 %p1, %r1, 0;\n"
    "LOOP:\n"
    "    xor.b32 %r9, %r7, %r8; @%p1 st.global.u32 [%a3], %r9; @%p1 bra NEXT;\n"
    "    ld.global.u32 %r10, [%a3]; setp.eq.u32 %p2, %r10, %r9; @%p2 bra NEXT;\n"
    "    red.global.add.u32 [%a1], 1;\n"
    "NEXT:\n"
    "    add.u64 %a3, %a3, %a4; add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, 16; @%p3 bra LOOP;\n"
    "END: ret;\n}\n";

static inline void device_open(struct device *d, unsigned most)
{
    CUmodule m;
    d->most = most;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&d->context, 0));
    CHECK(cuCtxSetCurrent(d->context));
    CHECK(cuModuleLoadData(&m, tags_ptx));
    CHECK(cuModuleGetFunction(&d->tags, m, "tags"));
    CHECK(cuMemAlloc(&d->list, most * sizeof(struct tagged)));
    CHECK(cuMemAlloc(&d->wrong, 4));
}

/* A kernel writes the tags of count entries, or counts those that are not there. */
static inline unsigned tags_run(struct device *d, const struct tagged *list, unsigned count, unsigned write)
{
    unsigned wrong = 0;
    if (!count) return 0;
    EXPECT(count <= d->most);
    CHECK(cuMemcpyHtoD(d->list, list, count * sizeof *list));
    CHECK(cuMemcpyHtoD(d->wrong, &wrong, 4));
    CHECK(cuLaunchKernel(d->tags, (count + 63) / 64, 1, 1, 64, 1, 1, 0, 0,
                         (void *[]){ &d->list, &count, &d->wrong, &write }, NULL));
    CHECK(cuMemcpyDtoH(&wrong, d->wrong, 4));
    return wrong;
}

static inline void give_access(CUdeviceptr at, size_t size, CUmemAccess_flags flags)
{
    const CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, flags };
    CHECK(cuMemSetAccess(at, size, &desc, 1));
}

static inline size_t free_memory(void)
{
    size_t available, total;
    CHECK(cuMemGetInfo(&available, &total));
    return available;
}

/* Memory for at least size bytes of tiles of sparse arrays. */
static inline CUmemGenericAllocationHandle tile_pool_of(size_t size)
{
    CUmemGenericAllocationHandle h;
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                                    .allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL };
    CHECK(cuMemCreate(&h, (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB), &p, 0));
    return h;
}

#endif
