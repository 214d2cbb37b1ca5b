/* The host's side of one device process: start it, change its page table,
 * give it kernels, learn that they are done, notice that it died.
 *
 * Page-table commands are asynchronous. While the device runs no kernel
 * nobody waits for them: the ring's order makes them visible before any kernel
 * launched later. A command that takes access away (unmap, protect) waits
 * until a running device has applied it, so that access is gone on return.
 *
 * Kernels are launched into channels: kernels of one channel run in order,
 * channels run side by side. A channel counts its commands: processor_launch
 * tells the command's sequence number, and the command is done once the
 * channel's completed count has reached it.
 *
 * All functions may be called by any thread; none calls back. Locks: one per
 * processor, the innermost of the host's lock order. Who holds a lock of base/quiet.h
 * does not wait for it but where a device process begins. */
#ifndef FL_PROCESSOR_PROCESSOR_H
#define FL_PROCESSOR_PROCESSOR_H

#include "base/backing.h"
#include "processor/fault.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct processor;

enum { PROT_DEVICE_NONE = 0, PROT_DEVICE_READ = 1, PROT_DEVICE_WRITE = 2, PROT_DEVICE_EXEC = 4,
       PROT_DEVICE_KEEP = 8,       /* for the host's own addresses: the device ends rather than lose a mapping of its own */
       PROT_DEVICE_WATCHED = 16 }; /* permits what mmu_set says */

/* Where a device process has its own mappings: nothing of the user's may be mapped there. */
#define PROCESSOR_PRIVATE 0x510000000000ul
#define PROCESSOR_PRIVATE_END 0x550000000000ul

/* Starts faultline-device (found beside libcuda.so.1, or FAULTLINE_DEVICE_EXE).
 * ordinal: which device it is, for messages; sm_count: what %nsmid says. CUDA_ERROR_SYSTEM_NOT_READY: it is missing,
 * CUDA_ERROR_OPERATING_SYSTEM: it does not start here, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult processor_start(struct processor **out, int ordinal, uint32_t sm_count);
/* Ends the process and waits for its end. p stays valid for whoever still has it: a dead processor. */
void processor_stop(struct processor *p);
/* CUDA_SUCCESS, or the error this processor has died of: what a kernel did
 * (CUDA_ERROR_ILLEGAL_ADDRESS ...), CUDA_ERROR_LAUNCH_FAILED if the process was killed. */
CUresult processor_status(const struct processor *p);
/* Whether it has died otherwise than of what a kernel did. */
bool processor_killed(const struct processor *p);
int processor_pid(const struct processor *p);

/* [va, va+size) shows [offset, offset+size) of b. Page-granular. */
CUresult processor_map(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset, unsigned prot);
CUresult processor_unmap(struct processor *p, uint64_t va, uint64_t size);
/* Members' memory behind multicast addresses: each call adds a piece of one member; prot: what kernels may do there. Sums
 * are made in the order of members. An address that not all of `team` members have faults. The end forgets the member's
 * pieces that begin in [va, va+size). */
CUresult processor_multicast(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset,
                             unsigned prot, unsigned member, unsigned team);
CUresult processor_multicast_end(struct processor *p, uint64_t va, uint64_t size, unsigned member);
/* What is mapped there permits prot (PROT_DEVICE_*) from now on. */
CUresult processor_protect(struct processor *p, uint64_t va, uint64_t size, unsigned prot);
/* The same for ranges that are only ever mapped, protected and unmapped as a whole: what an idle device would see is
 * put off until its next kernel, and what was unmapped by then it never sees. */
CUresult processor_map_whole(struct processor *p, uint64_t va, uint64_t size, const struct backing *b, uint64_t offset, unsigned prot);
CUresult processor_unmap_whole(struct processor *p, uint64_t va, uint64_t size);
CUresult processor_protect_whole(struct processor *p, uint64_t va, uint64_t size, unsigned prot);
/* What was mapped so far is there for kernels that run already, too. */
void processor_settle(struct processor *p);
/* Nothing that the device has mapped shows b, and nothing will: its descriptor goes there too. */
void processor_forget(struct processor *p, const struct backing *b);

/* A queue of commands that are done in order. CUDA_ERROR_OUT_OF_MEMORY: all are in use. */
CUresult processor_channel_open(struct processor *p, uint32_t *channel);
/* The channel must be drained. */
void processor_channel_close(struct processor *p, uint32_t channel);

enum { RESIDENT_FEW = 132 * 16 /* blocks of any grid that the device lets wait for each other */ };
struct launch {
    uint64_t image;                /* device address of a mapped struct fl_image */
    uint32_t kernel;               /* index in it */
    uint64_t symbols;              /* device address of the symbol table */
    uint32_t grid[3], block[3];
    uint32_t cluster[3];           /* blocks of a cluster */
    bool explicit_cluster;         /* somebody said how many */
    uint32_t dynamic_shared;       /* bytes */
    bool cooperative;              /* all blocks are resident at once */
    uint32_t resident;             /* of others, so many are, if they are more than RESIDENT_FEW */
    uint64_t heap, heap_size;      /* device-side malloc's arena, 0: none */
    uint32_t stack_limit;          /* CU_LIMIT_STACK_SIZE */
    uint64_t sms[4];               /* bits: the multiprocessors it is said to run on; none: all */
    const void *params;            /* copied before return */
    uint32_t params_size;
    uint64_t gridid;
    const char *name;              /* for the trace: valid during stream_launch */
    uint32_t static_shared, local, registers;
    uint64_t ticket;               /* set by src/stream: the trace's entry for this launch, 0: not traced */
};
/* *seq: the command's sequence number in the channel. tells: of one thread, it is to tell of its accesses to managed memory
 * (mmu_next_accesses). What the processor has died of, or why it cannot get what it must have before the kernel. */
CUresult processor_launch(struct processor *p, uint32_t channel, const struct launch *l, bool tells, uint64_t *seq);
/* Writes the time (CLOCK_MONOTONIC, ns) at which it is reached to *slot, which
 * processor_mark_time reads once the mark is done. */
uint64_t processor_mark(struct processor *p, uint32_t channel);
/* What comes behind it in channel comes after the command seq of awaited. */
uint64_t processor_wait_for(struct processor *p, uint32_t channel, uint32_t awaited, uint64_t seq);
uint64_t processor_mark_time(struct processor *p, uint32_t channel, uint64_t seq);

/* Whether the channel has done its command seq. */
bool processor_done(const struct processor *p, uint32_t channel, uint64_t seq);
/* Spins for a short time, then sleeps. Returns processor_status at the end. */
CUresult processor_wait(struct processor *p, uint32_t channel, uint64_t seq);
/* Whether any kernel is queued or running. */
bool processor_busy(const struct processor *p);
/* Launches wait until processor_release. False: kernels are queued or run already. */
bool processor_hold(struct processor *p);
void processor_release(struct processor *p);
/* Takes what kernels printed since the last call to standard output. Every synchronising call does it. */
void processor_flush_printf(struct processor *p);
CUresult processor_set_printf_size(struct processor *p, uint64_t bytes);

/* Called on a thread of the processor's own before the error that a device dies of becomes visible, so that nobody takes
 * what it did not do for done. f: of a kernel's, or NULL: its process has ended. */
typedef void fault_reporter(int ordinal, CUresult error, const struct fault *f);
void processor_set_reporter(fault_reporter *r);

#endif
