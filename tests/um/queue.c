/* A queue between the host and a kernel that runs all the while: the host produces, the kernel
 * consumes, each waits for the other's counter. In managed, pinned and registered memory, and in
 * managed memory that is to stay on the host. Prints nothing and exits 0 if all is well. */
#include "../check.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64, ITEMS = 5000 };

struct queue {
    uint32_t head, pad[15], tail, more[15], slot[SLOTS];
    uint64_t sum;
};

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry consume(.param .u64 queue, .param .u32 items)\n{\n"
    " .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<6>;\n"
    " ld.param.u64 %d0, [queue]; ld.param.u32 %r0, [items]; mov.u32 %r1, 0; mov.u64 %d1, 0;\n"
    "WAIT: ld.acquire.sys.u32 %r2, [%d0]; setp.eq.u32 %p, %r2, %r1; @%p bra WAIT;\n"
    " and.b32 %r3, %r1, 63; mul.wide.u32 %d2, %r3, 4; add.u64 %d2, %d2, %d0;\n"
    " ld.u32 %r4, [%d2+128]; cvt.u64.u32 %d3, %r4; add.u64 %d1, %d1, %d3;\n"
    " add.u32 %r1, %r1, 1; st.release.sys.u32 [%d0+64], %r1;\n"
    " setp.lt.u32 %p, %r1, %r0; @%p bra WAIT;\n"
    " st.u64 [%d0+384], %d1; ret;\n}\n";

static CUfunction consume;

static void pass_items(struct queue *q, CUdeviceptr device)
{
    uint32_t items = ITEMS;
    uint64_t sum = 0, waited = 0;
    memset(q, 0, sizeof *q);
    CHECK(cuLaunchKernel(consume, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &device, &items }, NULL));
    for (uint32_t k = 0; k < ITEMS; k++) {
        while (k - __atomic_load_n(&q->tail, __ATOMIC_ACQUIRE) >= SLOTS)
            if (++waited % (1 << 24) == 0) ANSWERS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY); /* it lives */
        q->slot[k % SLOTS] = k * 7;
        sum += k * 7;
        __atomic_store_n(&q->head, k + 1, __ATOMIC_RELEASE);
    }
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(q->sum, sum);
}

int main(void)
{
    CUmodule m;
    CUdeviceptr managed, device;
    void *pinned, *registered = aligned_alloc(4096, 4096);
    _Static_assert(offsetof(struct queue, slot) == 128 && offsetof(struct queue, sum) == 384, "as the kernel knows it");
    check_context();
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&consume, m, "consume"));
    CHECK(cuMemAllocManaged(&managed, sizeof(struct queue), CU_MEM_ATTACH_GLOBAL));
    pass_items((struct queue *)managed, managed);
    CHECK(cuMemAdvise(managed, sizeof(struct queue), CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                      (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST }));
    CHECK(cuMemAdvise(managed, sizeof(struct queue), CU_MEM_ADVISE_SET_ACCESSED_BY,
                      (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE }));
    pass_items((struct queue *)managed, managed);
    CHECK(cuMemHostAlloc(&pinned, sizeof(struct queue), CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&device, pinned, 0));
    pass_items(pinned, device);
    CHECK(cuMemHostRegister(registered, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
    pass_items(registered, (CUdeviceptr)registered);
    CHECK(cuMemHostUnregister(registered));
    free(registered);
    return 0;
}
