/* One thread block in flight. A frame holds everything a block needs while it
 * runs: shared memory, context, the state of each thread. Frames are reused
 * from block to block; a block that waits keeps its frame. */
#ifndef FL_DEVICE_BLOCK_H
#define FL_DEVICE_BLOCK_H

#include "device/fiber.h"
#include "ptx/abi.h"
#include "ptx/image.h"
#include <stdbool.h>
#include <stdint.h>

/* Why a thread is not running. */
enum thread_status {
    THREAD_READY, THREAD_AT_BARRIER, THREAD_AT_CLUSTER, THREAD_AT_WARP_OP, THREAD_YIELDED, THREAD_ENDED,
    THREAD_LET_GO, /* by a barrier: in this round others still run */
};

enum { BARRIERS = 16, WARPS_MOST = 32 };

/* Where threads are counted, each warp that comes counts as a whole: its lanes that never were, or have ended, too. */
struct barrier {
    uint32_t arrived, expected /* 0: all threads that have not ended */, ones;
    uint32_t warps; /* bits: of whose threads some have arrived */
    bool all, any;
};

/* The cluster's barrier; a block by itself is a cluster, too. */
struct meeting {
    uint32_t live, missing; /* threads: that have not ended, and those of them that have not arrived in this phase */
    uint32_t phase;
};

struct kernel_code {
    const struct fl_image *image;
    const struct fl_image_kernel *kernel;
    const struct fl_image_segment *segments;
    bool told; /* the probes run, for what they tell of accesses */
};

struct frame {
    struct fl_block b;
    struct kernel_code code;
    uint32_t ended;
    bool uniform;                  /* threads 0 .. live-1 are ready at the same segment, the others have ended */
    uint32_t live;
    uint32_t segment;              /* the one that runs, or is to run next while uniform */
    uint32_t first, count;         /* the threads it runs for */
    uint32_t rounds;               /* suspensions since the block was last put aside */
    uint32_t reunions;             /* how often those of a warp were let go on who waited for nobody in particular */
    bool moved;                    /* block_run did more than look again at what its threads wait for */
    bool stuck_said;
    struct cluster *cluster;       /* NULL: the block is one by itself */
    struct meeting *meeting, alone;
    uint32_t at_cluster;           /* threads that wait there */
    uint8_t *status;               /* [t] enum thread_status, while not uniform */
    uint8_t *arrived_at;           /* [t] barrier number */
    uint8_t *met;                  /* [t] the phase, modulo 2, of the cluster's barrier at which it arrives next, or 2: it has ended */
    struct barrier barriers[BARRIERS];
    bool let_go;                   /* there are threads that are */
    uint32_t lanes[BARRIERS][WARPS_MOST]; /* of warps that have arrived where threads are counted: which count */
    struct fibers fibers; /* of a kernel that runs whole */
    /* what is allocated */
    char *arrays, *local, *context, *matrix, *window;
    uint64_t arrays_size, local_size, context_size, matrix_size, window_size, window_before, window_open;
    struct frame *next;            /* in a queue */
};

/* Whether subnormals are taken and given as zeros, by this thread, as the kernel's code counts on. */
void flush_subnormals(bool yes);

enum block_outcome { BLOCK_DONE, BLOCK_YIELDED, BLOCK_FAULT /* b.misaligned says that an access was */ };

/* frame.c */
/* Prepares a frame for blocks of this shape; stack_limit: CU_LIMIT_STACK_SIZE. False: no memory. */
bool frame_prepare(struct frame *f, const struct kernel_code *code, const uint32_t block[3], uint32_t dynamic_shared,
                   uint32_t stack_limit);
/* All of its memory goes; it can be prepared again. */
void frame_release(struct frame *f);

/* block.c */
/* Starts a block: b.ctaid is set; everything else is from frame_prepare. */
void block_begin(struct frame *f);
/* Runs until the block, of a kernel with suspensions, is done or cannot go on by itself. */
enum block_outcome block_run(struct frame *f);
/* Runs count blocks of a kernel without suspensions, from the one at b.ctaid on; stops at a misaligned access. */
void block_run_batch(struct frame *f, uint64_t count);

/* barrier.c */
/* All threads of a uniform block wait at s: true if that completes it, and only it. */
bool barrier_uniform(struct frame *f, const struct fl_image_segment *s);
/* Threads first .. first+count-1, all at s, arrive: they wait, or are ready if they only announce themselves. */
void barrier_arrive(struct frame *f, const struct fl_image_segment *s, uint32_t first, uint32_t count);
/* They have ended. */
void barrier_end(struct frame *f, uint32_t first, uint32_t count);
/* Makes the threads of complete barriers ready; true if there were any. */
bool barrier_release(struct frame *f);

/* warp.c: the lanes of group (bits, from thread base) have all arrived at the operation that s describes. */
void warp_complete(struct fl_block *b, uint32_t base, uint32_t group, const struct fl_image_segment *s);

/* matrix.c: the same for those of a whole warp that work on op_matrix. */
void matrix_complete(struct fl_block *b, uint32_t base, const struct fl_image_segment *s);
/* warpgroup.c: the same for FL_WARP_WGMMA. */
void warpgroup_complete(struct fl_block *b, uint32_t base, const struct fl_image_segment *s);

static inline fl_segment_fn *segment_code(const struct kernel_code *c, uint32_t segment)
{
    const struct fl_image_segment *s = &c->segments[segment];
    return (fl_segment_fn *)((const char *)c->image + (c->told ? s->probe : s->code));
}

#endif
