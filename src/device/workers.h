/* The worker threads of a device process and the grids they run. A worker that
 * has nothing to do reads the host's commands (device.h); one that has runs
 * blocks: of every grid in turn, earlier blocks of a grid before later ones,
 * blocks that wait again and again. */
#ifndef FL_DEVICE_WORKERS_H
#define FL_DEVICE_WORKERS_H

#include "device/block.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct frame_queue { struct frame *first, **end; };

/* Neighbouring blocks of a grid, for one worker before the others: it reads and
 * writes memory in order then, as processors like it. */
struct part { _Alignas(64) _Atomic uint64_t next; uint64_t end; };

struct grid {
    struct kernel_code code;
    uint32_t grid[3], block[3], dynamic_shared, stack_limit;
    uint32_t cluster[3], cluster_size; /* of blocks; 1 unless they see each other's shared memory */
    bool explicit_cluster;
    bool cooperative;
    uint32_t resident;             /* blocks that are on a GPU at once, each of which may wait for the others */
    uint32_t workspace[16];        /* a cooperative grid's barrier */
    const uint64_t *symbols;
    uint64_t heap, heap_size, gridid;
    uint64_t sms[4];               /* its multiprocessors' bits, */
    uint32_t sm_count;             /* and how many: 0, all */
    uint8_t *params;               /* owned */
    uint32_t params_room;
    uint32_t channel;
    uint64_t seq;
    uint64_t blocks;               /* 0: a mark, or, with an awaited command, a wait */
    uint64_t awaited_seq;
    uint32_t awaited;              /* channel */
    _Atomic uint64_t next;         /* block to start, unless there are parts */
    struct part *parts;            /* of a large grid without suspensions, one for each worker; owned */
    _Atomic uint64_t finished;
    /* under grids_lock: */
    struct frame_queue waiting;    /* blocks put aside that are to be tried again, the earliest first */
    struct frame_queue tried;      /* those that still waited when tried since a block ended */
    _Atomic uint32_t waiting_count; /* in both, and those being tried; read without the lock */
    _Atomic bool has_waited;       /* a block was put aside: start others sparingly */
    uint32_t workers;              /* busy with it */
    TAILQ_ENTRY(grid) among_active;
    struct grid *next_queued;
    struct grid *next_waiting;     /* for the same channel; under the queues' lock */
    bool listed;                   /* is in that list */
};

/* As many threads as this process may use (FAULTLINE_WORKERS overrides). */
unsigned workers_wanted(void);
int workers_start(unsigned workers);
/* Takes ownership of g and runs it. */
void grid_submit(struct grid *g);
/* No block is started any more; running ones end at their next suspension. */
void grids_abort(void);
bool grids_aborted(void);

extern pthread_mutex_t grids_lock;
extern unsigned worker_count;      /* how many there are */

/* run.c: before the grid is in any list. */
void grid_begin(struct grid *g);
/* Under grids_lock: whether there is a block to start or to try again. */
bool grid_has_work(struct grid *g);
/* The calling worker does something for g. */
enum progress { MOVED, TRIED, STILL /* a round is over and nothing could be started */ };
enum progress grid_run(struct grid *g);

/* The calling worker's: what it runs at the moment. */
struct worker {
    unsigned number; /* from 1 on; 0: no worker */
    struct grid *grid;
    struct frame *frame;
    struct frame *spare;
    char *signal_stack;
    uint64_t stack_lo, stack_hi;
};
extern _Thread_local struct worker worker;

#endif
