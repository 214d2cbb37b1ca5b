/* Clusters: blocks of a grid that run together, see each other's shared memory
 * and wait for each other. One block of a cluster runs at a time, as a block is
 * one worker's at a time: who has it is said under grids_lock. */
#ifndef FL_DEVICE_CLUSTER_H
#define FL_DEVICE_CLUSTER_H

#include "device/block.h"

struct cluster {
    uint64_t windows[FL_CLUSTER_MOST]; /* [rank] where a block's shared memory is */
    uint32_t size, ended;              /* blocks */
    uint32_t arrived;                  /* blocks whose threads have all come to the barrier of this phase */
    uint32_t phase;
    bool busy;                         /* one of its blocks is run; under grids_lock */
};

/* Rank and place of the number-th block of a grid of such clusters; dimensions in blocks. */
void cluster_place(struct fl_block *b, const uint32_t dimensions[3], uint64_t number);

/* A thread of the block has arrived: with the last one the block has. */
void cluster_arrive(struct frame *f);
/* All threads of the block are at the cluster's barrier. True: those of all its blocks are, they go on. */
bool cluster_passes(struct frame *f);
/* The block has ended, nobody waits for it. The last one frees the cluster. */
void cluster_leave(struct frame *f);

#endif
