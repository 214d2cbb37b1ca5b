/* Clusters: blocks of a grid that run together, see each other's shared memory
 * and wait for each other. One block of a cluster runs at a time, as a block is
 * one worker's at a time: who has it is said under grids_lock. */
#ifndef FL_DEVICE_CLUSTER_H
#define FL_DEVICE_CLUSTER_H

#include "device/block.h"

struct cluster {
    uint64_t windows[FL_CLUSTER_MOST]; /* [rank] where a block's shared memory is */
    uint32_t size, ended;              /* blocks */
    struct meeting meeting;
    bool busy;                         /* one of its blocks is run; under grids_lock */
};

/* Rank and place of the number-th block of a grid of such clusters; dimensions in blocks. */
void cluster_place(struct fl_block *b, const uint32_t dimensions[3], uint64_t number);

/* The cluster's barrier. A thread that arrives sees its phase over when all threads of the cluster that have not ended
 * have arrived. Who waits and has not arrived goes on at once (observed on H200). */
void cluster_begin(struct frame *f); /* a block that is one by itself */
void cluster_arrive(struct frame *f, uint32_t t);
/* Of a block of several segments; those that have ended before may be among them. */
void cluster_end(struct frame *f, uint32_t first, uint32_t count);
/* All threads of a uniform block wait: true if each may go on. */
bool cluster_passes(const struct frame *f);
/* Makes those that may go on ready; true if there were any. */
bool cluster_release(struct frame *f);
/* The block has ended. The last one frees the cluster. */
void cluster_leave(struct frame *f);

#endif
