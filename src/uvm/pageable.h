/* Faults of kernels in the application's ordinary memory. */
#ifndef FL_UVM_PAGEABLE_H
#define FL_UVM_PAGEABLE_H

#include "processor/mmu.h"

/* Page tables are there, no device has one yet. */
void pageable_begin(void);

#endif
