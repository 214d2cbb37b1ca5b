/* Multicast objects: memory of several devices, one piece of each bound to the
 * same place, so that a multimem instruction, a copy or a memset at an address
 * of the object reaches all of them. An object is a memory (vmm.h) of a kind of
 * its own; nothing is mapped at its addresses. */
#ifndef FL_VMM_MULTICAST_H
#define FL_VMM_MULTICAST_H

#include "vmm/vmm.h"

enum { MULTICAST_GRANULARITY = 2 << 20, MULTICAST_RECOMMENDED = 512 << 20 };

/* An object without devices and memory. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult multicast_create(const CUmulticastObjectProp *prop, CUmemGenericAllocationHandle *out);
/* CUDA_ERROR_INVALID_VALUE: no multicast object, or the team has d already, or is complete. */
CUresult multicast_add(CUmemGenericAllocationHandle h, struct device *d);
/* [memory_offset, + size) of memory, whose reference the call takes over, is its device's part of [offset, + size). Waits
 * until the team is complete. CUDA_ERROR_INVALID_VALUE: no multicast object, the device is not in the team, or has
 * something bound there already; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult multicast_bind(CUmemGenericAllocationHandle h, uint64_t offset, struct vmm_memory *memory,
                        uint64_t memory_offset, uint64_t size);
/* CUDA_ERROR_INVALID_VALUE: d has nothing bound there. */
CUresult multicast_unbind(CUmemGenericAllocationHandle h, const struct device *d, uint64_t offset, uint64_t size);
/* Whether there is any object: while there is none, nobody need ask further. */
extern _Atomic unsigned multicast_objects;
static inline bool multicast_any(void) { return __atomic_load_n(&multicast_objects, __ATOMIC_RELAXED) != 0; }

/* Returns at once if h is no multicast object; otherwise when its team is complete. */
void multicast_wait(CUmemGenericAllocationHandle h);

/* Takes notice of what other processes have bound and unbound. Before anything that could touch an object. */
void multicast_refresh(void);
/* The object behind a descriptor, which stays the caller's. CUDA_ERROR_UNKNOWN: it is none. */
CUresult multicast_import(int fd, CUmemGenericAllocationHandle *out);

/* Members of the object mapped at address; 0: there is none. */
unsigned multicast_members(uint64_t address);
/* vmm_pieces for writing, in the memory of one member. */
size_t multicast_pieces(uint64_t va, uint64_t size, const struct device *d, unsigned member, struct vmm_piece *pieces,
                        size_t room);

#endif
