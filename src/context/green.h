/* Green contexts: a part of a device's multiprocessors under a name, and a
 * default stream. Everything else of one is the primary context's: what is made
 * while one is current, or with its CUcontext, belongs to that; but its streams
 * order with no other one's, and cuCtxSynchronize waits for them alone. */
#ifndef FL_CONTEXT_GREEN_H
#define FL_CONTEXT_GREEN_H

#include "base/objects.h"
#include "context/context.h"

enum { SM_MOST = 256 };
struct sm_set {
    uint64_t word[SM_MOST / 64];
    bool pairs; /* it may be divided by twos: some of it is what a division left over */
};

struct green { /* CUgreenCtx_st */
    struct object_link link;
    _Atomic unsigned long long id; /* 0: the handle is not valid */
    struct context *primary;
    struct context *named; /* its CUcontext */
    struct sm_set sms;
    struct stream *standard; /* its default stream, if that still has this number */
    uint64_t standard_id;
};

static inline unsigned sm_count(const struct sm_set *s)
{
    unsigned n = 0;
    for (int k = 0; k < SM_MOST / 64; k++) n += (unsigned)__builtin_popcountll(s->word[k]);
    return n;
}
/* All that d has; CUDA_ERROR_NOT_SUPPORTED if they are too many. */
CUresult sm_all(const struct device *d, struct sm_set *out);

/* Retains the primary context. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult green_create(struct device *d, const struct sm_set *sms, struct green **out);
/* CUDA_ERROR_INVALID_VALUE, or CUDA_ERROR_CONTEXT_IS_DESTROYED. */
CUresult green_get(CUgreenCtx handle, struct green **out);
/* Its streams end, the primary context is released. */
CUresult green_destroy(struct green *g);
/* What the calling thread's current context is part of, or NULL. */
struct green *green_current(void);

#endif
