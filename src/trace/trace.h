/* What happened to managed memory, in the driver's vocabulary: one record an
 * event, in a ring of this process. Writers are src/uvm (policy), src/stream
 * (kernels) and src/api (calls); readers are faultline.h, CUPTI and the summary. */
#ifndef FL_TRACE_TRACE_H
#define FL_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

enum trace_kind {
    TRACE_CPU_FAULT = 1, TRACE_MIGRATION, TRACE_GPU_FAULT, TRACE_GPU_FAULT_REPLAY, TRACE_FATAL_FAULT,
    TRACE_READ_DUPLICATE, TRACE_READ_DUPLICATE_INVALIDATE, TRACE_THRASHING, TRACE_THROTTLING_START,
    TRACE_THROTTLING_END, TRACE_MAP_REMOTE, TRACE_ALLOC, TRACE_FREE, TRACE_KERNEL,
};
enum trace_cause { TRACE_CAUSE_NONE, TRACE_CAUSE_USER, TRACE_CAUSE_COHERENCE, TRACE_CAUSE_PREFETCH, TRACE_CAUSE_EVICTION,
                   TRACE_CAUSE_POLICY, TRACE_CAUSE_THRASHING };
enum trace_access { TRACE_ACCESS_NONE, TRACE_ACCESS_READ, TRACE_ACCESS_WRITE, TRACE_ACCESS_ATOMIC, TRACE_ACCESS_PREFETCH };

/* Processor numbers: 0 the host, 1 + k device k. */
struct trace_record {
    uint64_t time, end;            /* CLOCK_REALTIME ns as CUPTI gives; end: of a migration, a kernel */
    uint64_t address, bytes;       /* bytes: of a migration, an allocation; pages concerned times 4096 */
    uint8_t kind, cause, access, processor; /* processor: faulting, mapping, destination of a migration */
    uint8_t source;                /* a migration's source; a remote mapping's holder; a duplicate's origin */
    uint32_t thread;               /* CPU_FAULT: the host thread; GPU_FAULT: 0 */
    uint32_t count;                /* GPU_FAULT: faults that this record stands for */
    uint64_t batch;                /* GPU_FAULT: number of its batch; KERNEL: grid id */
};

/* Costs one relaxed load while nobody listens but the counters. Sets time if it is 0. Any thread, any lock. */
void trace_write(struct trace_record r);

#endif
