/* The application's ordinary memory, which kernels reach: their faults there, and what is said of it. */
#ifndef FL_UVM_PAGEABLE_H
#define FL_UVM_PAGEABLE_H

#include "processor/mmu.h"
#include "uvm/attributes.h"

/* Page tables are there, no device has one yet. pages_move: devices have page tables of their own for such memory. */
CUresult pageable_begin(bool pages_move);
/* What the program has unmapped, moved or protected is forgotten. */
void pageable_review(void);

/* As their namesakes for managed memory, for memory that uvm_reaches. Where devices go through the host's page
 * tables they have access anyway: who accesses it is not noted then (cuMemAdvise). */
CUresult pageable_advise(uint64_t va, uint64_t size, CUmem_advise advice, CUmemLocation l, bool host_tables);
/* A prefetch was called; it is done. */
CUresult pageable_prefetched(uint64_t va, uint64_t size, CUmemLocation shown);
CUresult pageable_prefetch(uint64_t va, uint64_t size, CUmemLocation location);
struct attributes pageable_attributes(uint64_t va, uint64_t size);

#endif
