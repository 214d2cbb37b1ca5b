/* Where the allocations of this folder lie, and what of that is mapped.
 *
 * A small one is a piece of a slab, a larger one has chunks of its own. Devices'
 * page tables follow late: what is allocated or freed while no kernel runs is
 * only noted, and place_settle, which comes before every launch, brings page
 * tables to what is allocated then. So memory that lives between two launches
 * costs no page-table command at all, and a freed address still faults in every
 * kernel that is launched later. The host's page table follows at once.
 *
 * Freed chunks of a device are parked (parked.h). They are the process's own, so
 * their contents are nobody else's.
 *
 * All functions want the space's lock for writing. */
#ifndef FL_SPACE_PLACE_H
#define FL_SPACE_PLACE_H

#include "context/context.h"
#include "space/space.h"
#include <bsd/sys/queue.h>

struct slab;

/* An allocation of this folder's own. */
struct node {
    struct allocation a;
    struct slab *slab;             /* NULL: chunks of its own */
    unsigned holds;                /* other processes that use its memory */
    bool freed;                    /* only they keep it */
    bool fresh;                    /* chunks of its own that no device has mapped yet */
    LIST_ENTRY(node) link;         /* of the fresh ones */
};

/* What cuMemAlloc, modules, and pinned memory take from a context are kept apart (observed on H200). */
enum place_class { PLACE_USER, PLACE_MODULE, PLACE_HOST, PLACE_HOST_COMBINED };

/* Fills in where n lies: base, offset, backing, mapping_*; size, device and context are given. */
CUresult place_take(struct node *n, enum place_class class, uint64_t align);
/* n's memory is not the program's any more. What holds are left keep it from being used again. */
void place_give(struct node *n);
/* The last hold of a freed node is gone. */
void place_reclaim(struct node *n);

/* Whether something has to be settled; to be asked without the lock. */
bool place_unsettled(void);
CUresult place_settle(void);
/* As the functions of space.h. */
CUresult place_attach(struct device *d);
CUresult place_set_peer(struct device *d, struct device *peer, bool enabled);
/* Devices that see the owner's memory have these bytes of it mapped no more. */
void place_unmap(struct device *owner, uint64_t offset, uint64_t size);
/* Something is to be settled: at once if a kernel runs. */
void place_note(void);

/* Whether kernels of d may touch memory of owner; NULL: the host. */
bool place_sees(const struct device *d, const struct device *owner);

/* Physical memory that all processors see, and code. */
CUresult place_host(struct vram **out);
uint64_t place_base(const struct device *d); /* of its addresses; NULL: the host's */

#endif
