/* What the user has said about managed memory: advice, last prefetch targets.
 * What cuMemRangeGetAttribute answers comes from here, wherever pages are. Owns
 * no policy: src/uvm acts on advice by itself.
 *
 * The driver's answers are not those of a map from pages to values (observed on
 * H200, 4,700 recorded answers agree). It keeps the pieces of each mapping - a
 * large allocation, or a 2 MiB chunk that small ones share - in order, neighbours
 * of equal value merged, and goes through a range by
 *     for (at = start; at < end; at += size of the piece that holds at)
 * where the size is that of the whole piece: begin inside a piece, or merge the
 * piece just set with its neighbours, and what follows is passed over. So an
 * answer may speak of a part of the range alone, and advice may miss a part of
 * it. What is passed over, and when, is part of what programs see. */
#ifndef FL_UVM_ATTRIBUTES_H
#define FL_UVM_ATTRIBUTES_H

#include "space/space.h"

enum { ATTRIBUTES_NOBODY = -2 };   /* an id: CU_DEVICE_INVALID */
#define ATTRIBUTES_HOST (1u << 31) /* in accessed_by; bit k: device k */

struct attributes {
    CUmemLocation preferred, prefetched; /* type INVALID, id ATTRIBUTES_NOBODY: none, or not one for all */
    uint32_t accessed_by;                /* by all */
    bool read_mostly;                    /* all */
};

/* The range lies in a (its mapping_base and mapping_size matter); it is rounded out to pages.
 * location: as it will be answered. CUDA_ERROR_OUT_OF_MEMORY: nothing has changed. */
CUresult attributes_advise(const struct allocation *a, uint64_t va, uint64_t size, CUmem_advise advice,
                           CUmemLocation location);
/* A prefetch was called, whether it moved anything or not. */
CUresult attributes_prefetched(const struct allocation *a, uint64_t va, uint64_t size, CUmemLocation location);
/* What cuMemRangeGetAttribute answers of the range; of no pages, size 0, whatever all pages may have. */
struct attributes attributes_get(const struct allocation *a, uint64_t va, uint64_t size);

/* a is freed: whoever gets its addresses next starts anew. */
void attributes_freed(const struct allocation *a);
/* Its mapping is given back: nothing is known of it any more. */
void attributes_unmapped(uint64_t mapping_base);

#endif
