/* The application's own memory, registered: kernels reach the same bytes at the
 * same address while host threads go on using them.
 *
 * Ordinary private pages are replaced in place by pages of one sparse memfd, in
 * which the offset of a page is its address; so a page that two registrations
 * share, or that also holds other data of the heap, has one place. Unregistering
 * puts private pages back. Of a shared mapping of a file the devices map the file.
 *
 * fork: the child gets private copies of what there is at that moment, made while
 * the parent waits; meanwhile devices do not see what the host stores. Beyond
 * FORK_COPIES bytes the child sees the parent's later changes to pages that it has not
 * itself written. A child made by clone or _Fork shares the pages with its parent.
 * Page properties set with madvise, mlock or mbind are lost. */
#ifndef FL_ORDINARY_REGISTERED_H
#define FL_ORDINARY_REGISTERED_H

#include "space/space.h"

enum { FORK_COPIES = 256 << 20 };

/* Registers [va, va+size), any bytes, for c with the flags of cuMemHostRegister.
 * CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: some byte is. CUDA_ERROR_INVALID_VALUE: not
 * mapped, not the application's own, or read-only without CU_MEMHOSTREGISTER_READ_ONLY.
 * CUDA_ERROR_NOT_SUPPORTED: huge pages, or a file that this process cannot open. */
CUresult registered_add(struct context *c, uint64_t va, uint64_t size, unsigned flags);
/* va is what was registered. CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, CUDA_ERROR_INVALID_VALUE. */
CUresult registered_remove(uint64_t va);
/* Where the bytes of [va, va+size), which is registered, can be touched: there or, if the program has protected or unmapped
 * some since, elsewhere, until it is unregistered and the copy is over that is under way (space_copy_begins). NULL: it is
 * not registered any more, or nowhere for writing. */
void *registered_reach(uint64_t va, uint64_t size, bool write);

extern const struct space_owner registered_owner;

#endif
