/* Which allocation holds an address. Readers take no lock and wait for nobody,
 * whatever others allocate and free meanwhile; writers exclude each other
 * (space.c's lock). It knows nothing of processors or physical memory. */
#ifndef FL_SPACE_INDEX_H
#define FL_SPACE_INDEX_H

#include "space/space.h"

/* Enters a, which overlaps no other. Sets a->record. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult index_insert(struct allocation *a);
/* What changed in *a since is to be seen by readers; not its base or size. */
void index_update(const struct allocation *a);
void index_remove(struct allocation *a);

/* Copies the allocation that contains address, as it was at one moment during
 * the call, to *copy, and returns the object that was inserted; NULL if there was none. */
struct allocation *index_find(uint64_t address, struct allocation *copy);
/* Whether there was one, and the same of the members from device up to mapping_base; what the others are then
 * means nothing. Mostly no allocation is looked at for that. */
bool index_glance(uint64_t address, struct allocation *copy);
/* The object alone, which its owner may free at any time. */
struct allocation *index_object(uint64_t address);

#endif
