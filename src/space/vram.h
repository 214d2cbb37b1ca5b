/* A device's physical memory: one sparse memfd of the configured capacity and
 * the allocator over it. 2 MiB chunks; small allocations share a chunk. */
#ifndef FL_SPACE_VRAM_H
#define FL_SPACE_VRAM_H

#include "base/backing.h"
#include <pthread.h>
#include <stdbool.h>

struct vram_chunks;
struct vram {
    struct backing backing;
    uint64_t capacity;     /* bytes, a multiple of 2 MiB; as is */
    _Atomic uint64_t used; /* charged without the lock: serving a fault takes chunks */
    struct vram_chunks *chunks;
    /* Asks who holds charged memory to give so much back; NULL: nobody does. Called without the lock. */
    CUresult (*reclaim)(struct vram *v, uint64_t size);
    pthread_mutex_t lock; /* of the chunks' places */
};
#define VRAM_CHUNK (2ul << 20)

/* capacity is at most space_layout.span. */
CUresult vram_init(struct vram *v, uint64_t capacity, const char *name);
void vram_destroy(struct vram *v);
/* size bytes (a multiple of VRAM_CHUNK), contiguous in the file.
 * CUDA_ERROR_OUT_OF_MEMORY exactly when capacity - used < size. */
CUresult vram_alloc(struct vram *v, uint64_t size, uint64_t *offset);
/* The same, where there is room to grow, as long as such places are left. */
CUresult vram_alloc_apart(struct vram *v, uint64_t size, uint64_t *offset);
/* The chunks from offset on, if they are free. */
CUresult vram_alloc_at(struct vram *v, uint64_t size, uint64_t offset);
void vram_free(struct vram *v, uint64_t offset, uint64_t size);
/* Places in the file, as vram_alloc_apart finds them, with no memory to them yet: the pages are the caller's to charge
 * before they are used, and to uncharge. vram_drop gives the places back. */
CUresult vram_place(struct vram *v, uint64_t size, uint64_t *offset);
/* The same, as vram_alloc finds them: those that were given back do not come again soon. */
CUresult vram_place_in_turn(struct vram *v, uint64_t size, uint64_t *offset);
/* Memory of the device that others hold: counted, but with no place in the file. */
CUresult vram_charge(struct vram *v, uint64_t size);
/* The same, after whoever can give some back was asked to. */
CUresult vram_charge_reclaiming(struct vram *v, uint64_t size);
void vram_uncharge(struct vram *v, uint64_t size);
/* Uncharged chunks keep their place and contents until they are charged again, or dropped. */
void vram_drop(struct vram *v, uint64_t offset, uint64_t size);

#endif
