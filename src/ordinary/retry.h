/* Memory that is protected for a moment where no userfaultfd can do it: a store
 * to it is a SIGSEGV, whose handler lets the thread try again. One range at a
 * time, from one thread at a time. */
#ifndef FL_ORDINARY_RETRY_H
#define FL_ORDINARY_RETRY_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* [va, va+size), which has the access prot, cannot be written. Threads whose stacks lie there stand still, for they
 * have none for the signal; `but` does so by itself. CUDA_ERROR_NOT_SUPPORTED: one of them cannot be made to.
 * CUDA_ERROR_NOT_READY: not all of it is mapped. */
CUresult retry_begin(uint64_t va, uint64_t size, int prot, int but);
/* moved: others have taken the pages' place; otherwise they get their access back. */
void retry_end(uint64_t va, uint64_t size, int prot, bool moved);

#endif
