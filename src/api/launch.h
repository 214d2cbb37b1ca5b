/* A launch as the program asked for it: launch_check.c says whether it is right, launch.c does it. */
#ifndef FL_API_LAUNCH_H
#define FL_API_LAUNCH_H

#include "module/module.h"
#include "stream/stream.h"

struct request {
    CUfunction handle;
    CUstream stream_handle;
    void **params, **extra;
    const CUlaunchAttribute *attributes; /* all that were given */
    unsigned attribute_count;
    bool attribute_refused;        /* one of them, which spoils no capture (observed on H200) */
    struct event *programmatic, *completion; /* recorded behind the kernel, or NULL */
    struct stream *stream;
    struct function *function;
    uint32_t cluster[3];           /* that were asked for, zeros: none */
    uint32_t preferred[3];         /* the same of what would be better */
    bool as_before;                /* CUDA 4.0: without clusters, whatever the kernel was compiled for (observed on H200) */
    struct launch launch;
};

/* launch_check.c. Whether q, whose stream and function are known, is right: the first error in the driver's order (observed
 * on H200). Completes the launch's shape, and what its attributes say. */
CUresult launch_request_check(struct request *q);

/* launch.c. At cuInit. */
void launch_init(void);
/* What was launched into s is done, if CUDA_LAUNCH_BLOCKING wants that and s is not captured: what became of it. */
CUresult launch_wait(struct stream *s);
/* As cuLaunchKernel, but as it was before CUDA 4.0, without clusters. */
CUresult launch_as_before(CUfunction f, const unsigned grid[2], const unsigned block[3], unsigned shared, CUstream stream,
                          void **extra);

#endif
