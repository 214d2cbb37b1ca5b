/* Machines whose kernels reach everything that the host's program can. Such
 * memory does not migrate here: all processors see its one place. */
#include "uvm/pageable.h"
#include "space/adopted.h"
#include "trace/trace.h"
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

void pageable_begin(void)
{
    if (uvm_pageable) mmu_serve_outside(service);
}

bool uvm_reaches(uint64_t va, uint64_t size) { return uvm_pageable && adopted_touchable(va, size); }
