/* What happened to managed memory, in the driver's vocabulary: one record an
 * event, in a ring of this process. Writers are src/uvm (faults and policy),
 * src/stream (kernels) and src/api (copies); readers are faultline.h, CUPTI and the reports of src/cli. */
#ifndef FL_TRACE_TRACE_H
#define FL_TRACE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum trace_kind {
    TRACE_CPU_FAULT = 1, TRACE_MIGRATION, TRACE_GPU_FAULT, TRACE_GPU_FAULT_REPLAY, TRACE_FATAL_FAULT,
    TRACE_READ_DUPLICATE, TRACE_READ_DUPLICATE_INVALIDATE, TRACE_THRASHING, TRACE_THROTTLING_START,
    TRACE_THROTTLING_END, TRACE_MAP_REMOTE, TRACE_ALLOC, TRACE_FREE, TRACE_KERNEL, TRACE_TRANSFER,
};
enum trace_cause { TRACE_CAUSE_NONE, TRACE_CAUSE_USER, TRACE_CAUSE_COHERENCE, TRACE_CAUSE_PREFETCH, TRACE_CAUSE_EVICTION,
                   TRACE_CAUSE_POLICY, TRACE_CAUSE_THRASHING };
enum trace_reason { TRACE_REASON_ADDRESS = 1, TRACE_REASON_PERMISSION = 2, TRACE_REASON_MEMORY = 4 };
enum trace_access { TRACE_ACCESS_NONE, TRACE_ACCESS_READ, TRACE_ACCESS_WRITE, TRACE_ACCESS_ATOMIC, TRACE_ACCESS_PREFETCH };
/* What the memory of a side of a transfer is; NONE: of a memset's source. */
enum trace_memory { TRACE_MEMORY_NONE, TRACE_MEMORY_PAGEABLE, TRACE_MEMORY_PINNED, TRACE_MEMORY_DEVICE, TRACE_MEMORY_ARRAY,
                    TRACE_MEMORY_MANAGED };

/* Processor numbers: 0 the host, 1 + k device k. Of a TRANSFER, a copy or a memset, address is the destination, count the
 * context, thread the stream, batch the source or the value; managed memory is the device's, unless the call says otherwise. */
struct trace_record {
    uint64_t time, end;            /* CLOCK_REALTIME ns as CUPTI gives; end: of a migration, a kernel, a transfer, a throttling */
    uint64_t address, bytes;       /* bytes: of a migration, an allocation; pages concerned times 4096. KERNEL: address is its ticket */
    uint8_t kind, cause, access, processor; /* processor: faulting, mapping, destination of a migration */
    uint8_t source;                /* a migration's source; a remote mapping's holder; a duplicate's origin; ALLOC: 1: not managed */
    uint8_t from : 4, to : 4;      /* TRANSFER: enum trace_memory */
    uint8_t device;                /* TRANSFER: the context's */
    uint8_t asynchronous : 1;      /* TRANSFER: so the call is named */
    uint8_t engine : 1;            /* TRANSFER: a GPU would use a copy engine, and no kernel */
    uint32_t thread;               /* CPU_FAULT: the host thread; GPU_FAULT: 0; THRASHING: bit k: processor k takes part */
    uint32_t count;                /* GPU_FAULT: faults that this record stands for; FATAL_FAULT: enum trace_reason */
    uint64_t batch;                /* GPU_FAULT: number of its batch; KERNEL: grid id; CPU_FAULT: the instruction, 0: not known */
};

/* What somebody wants to see. Counters of the process are always kept. */
enum trace_listen {
    TRACE_LISTEN_RECORDS = 1,      /* the ring is written */
    TRACE_LISTEN_ALLOCATIONS = 2,  /* statistics of each allocation */
    TRACE_LISTEN_KERNELS = 4,      /* kernels leave records, with times of the device */
    TRACE_LISTEN_MAP = 8,          /* where pages are is noted before and after each kernel */
    TRACE_LISTEN_TRANSFERS = 16,   /* copies and memsets leave records */
    TRACE_LISTEN_LEDGER = 32,      /* what the program has of memory is in the ledger */
    TRACE_LISTEN_UNKNOWN = 1 << 16,/* nobody has asked the environment yet */
};
extern _Atomic unsigned trace_listeners;

/* Costs one relaxed load and two counters while nobody listens. Sets time if it is 0. Any thread, any lock;
 * not in a signal handler that may have interrupted the library. */
void trace_write(const struct trace_record *r);

/* trace_wanted and trace_begin need them. */
void trace_ask_environment(void);
void trace_note_begin(void);
/* Whether somebody wants any of these: for writers whose record costs something to make. */
static inline bool trace_wanted(unsigned listen)
{
    unsigned l = atomic_load_explicit(&trace_listeners, memory_order_relaxed);
    if (__builtin_expect(l & TRACE_LISTEN_UNKNOWN, 0)) {
        trace_ask_environment();
        l = atomic_load_explicit(&trace_listeners, memory_order_relaxed);
    }
    return l & listen;
}

/* What the calling thread does to managed memory begins now: its first migration lasts from here to
 * when it is written, each further one from the one before. */
static inline void trace_begin(void)
{
    if (trace_wanted(TRACE_LISTEN_RECORDS)) trace_note_begin();
}

/* Begins or ends listening; calls nest, each bit by itself. */
void trace_listen(unsigned listen, bool on);

/* CLOCK_REALTIME, ns. */
uint64_t trace_now(void);

/* The process's region, NULL if there is no memory for one. */
struct trace_region;
struct trace_region *trace_region(void);

/* A name's offset in the region's table; 0, the empty name, once that is full. */
uint32_t trace_intern(const char *name);
/* Room for a kernel's details: the caller fills what it returns (but ticket), then trace_kernel_publish. NULL: no region. */
struct trace_kernel *trace_kernel_begin(uint64_t *ticket);
void trace_kernel_publish(struct trace_kernel *k, uint64_t ticket);

#endif
