/* From events of the trace to CUPTI's records. */
#ifndef FL_CUPTI_RECORD_H
#define FL_CUPTI_RECORD_H

#include <cupti.h>
#include <faultline.h>
#include <stdbool.h>

enum { UM_KINDS = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT };

/* What the client wants to have. */
struct selection {
    bool memory;                   /* UNIFIED_MEMORY_COUNTER is enabled */
    bool counter[UM_KINDS];        /* and these of its kinds are */
    bool kernel, concurrent_kernel;
    bool copy, copy_between_devices, fill;
    bool latency;                  /* kernels' records say when they were queued */
};

union record {
    CUpti_Activity head;
    CUpti_ActivityUnifiedMemoryCounter3 memory;
    CUpti_ActivityKernel10 kernel;
    CUpti_ActivityMemcpy6 copy;
    CUpti_ActivityMemcpyPtoP4 copy_between_devices;
    CUpti_ActivityMemset4 fill;
};

/* The record of an event, and its size; 0 if there is none for it, or it is not selected. */
size_t record_make(const struct faultline_event *e, const struct selection *s, union record *out);
/* The size of records of this kind; 0: no kind that is made here. */
size_t record_size(CUpti_ActivityKind kind);

#endif
