/* Machines whose kernels reach everything that the host's program can. Such
 * memory does not migrate here: all processors see its one place. What is said
 * of it is kept and answered; what is prefetched is mapped for devices at once,
 * so that their kernels do not fault. */
#include "uvm/pageable.h"
#include "space/adopted.h"
#include "trace/trace.h"
#include "uvm/attributes.h"
#include "uvm/uvm.h"

bool uvm_pageable;

static enum mmu_verdict service(const struct mmu_fault *f)
{
    if (adopted_add(f->address, f->write)) return MMU_FATAL;
    trace_write((struct trace_record){ .kind = TRACE_GPU_FAULT,
                                       .access = f->write ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ,
                                       .processor = (uint8_t)f->processor,
                                       .address = f->address & ~4095ull,
                                       .bytes = 4096,
                                       .count = 1 });
    return MMU_RETRY;
}

/* All that the program has; what is said of a part ends with its mapping. */
static const struct allocation everything = { .mapping_size = 1ull << 47, .size = 1ull << 47 };

static void forget(uint64_t va, uint64_t size)
{
    struct allocation gone = everything;
    gone.base = va;
    gone.size = size;
    attributes_freed(&gone);
}

CUresult pageable_begin(void)
{
    if (!uvm_pageable) return CUDA_SUCCESS;
    adopted_on_loss(forget);
    return mmu_serve_outside(service);
}

CUresult pageable_advise(uint64_t va, uint64_t size, CUmem_advise advice, CUmemLocation l, bool host_tables)
{
    bool accessed = (advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY) &&
                    l.type == CU_MEM_LOCATION_TYPE_DEVICE;
    return accessed && host_tables ? CUDA_SUCCESS : attributes_advise(&everything, va, size, advice, l);
}

CUresult pageable_prefetch(uint64_t va, uint64_t size, CUmemLocation shown)
{
    CUresult r = adopted_cover(va, size);
    return r ? r : attributes_prefetched(&everything, va, size, shown);
}

struct attributes pageable_attributes(uint64_t va, uint64_t size)
{
    adopted_review();
    return attributes_get(&everything, va, size);
}

bool uvm_reaches(uint64_t va, uint64_t size) { return uvm_pageable && adopted_touchable(va, size); }
