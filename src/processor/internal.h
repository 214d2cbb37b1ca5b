/* The host's state of one device process; only src/processor sees it. */
#ifndef FL_PROCESSOR_INTERNAL_H
#define FL_PROCESSOR_INTERNAL_H

#include "processor/processor.h"
#include "processor/ring.h"
#include <pthread.h>

struct sent { uint64_t id; struct sent *next; };
struct lazy;

struct processor {
    int ordinal;
    struct control *control;
    int socket, pidfd, pid;
    int userfault;                 /* the device's, for its managed memory; -1: it has none */
    int owner;                     /* the process that may use it; a forked child may not */
    pthread_mutex_t lock;          /* producers of commands */
    struct sent *sent[64];         /* backings whose descriptor the device has; under lock */
    struct lazy *lazy;             /* page-table commands that wait for the next kernel (lazy.h); under lock */
    uint64_t params_head;          /* under lock */
    uint64_t submitted[CHANNELS];  /* commands of each channel; under lock */
    uint64_t used[CHANNELS / 64];  /* channels; under lock */
    _Atomic unsigned holds;        /* of launches */
    _Atomic int status;            /* CUresult; never changes back */
    uint64_t oom_kills;            /* machine.h; when it began */
    struct processor *next;        /* the monitor's list */
};

/* monitor.c: watches for faults and deaths. */
CUresult monitor_add(struct processor *p);
void monitor_remove(struct processor *p);
/* The first error stays; whoever waits for the device learns of it. */
void processor_give_up(struct processor *p, CUresult error);

/* wait.c: nobody takes what kernels print meanwhile. */
void printf_lock(void);
void printf_unlock(void);

/* start.c: the running process of a device, NULL: none. */
struct processor *processor_of(unsigned ordinal);

/* submit.c */
/* Into the ring at once; with the lock. */
CUresult page_command_now(struct processor *p, enum command_kind kind, uint64_t va, uint64_t size,
                          const struct backing *b, uint64_t offset, unsigned prot);
/* The window of managed memory is there. *position, here and below: where in the ring the command is. */
CUresult window_command(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t *position);
/* Entries in the window become prot. False: somebody has the lock, who may have been interrupted by what waits for the
 * caller (quiet.h). */
bool entries_command(struct processor *p, uint64_t va, uint64_t size, int prot, uint64_t *position);
/* Waits until the device has applied all up to position; false: it is dead. */
bool commands_applied(struct processor *p, uint64_t position);

/* table.c: p is about to run; its page table comes to permit no more than it may. */
void table_settle(struct processor *p);

#endif
