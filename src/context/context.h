/* Devices, contexts, the calling thread's context stack, and the sticky error.
 *
 * Every entry point that needs a context starts with
 *     struct context *c; CUresult r = context_current(&c); if (r) return r;
 * which answers, in this order, CUDA_ERROR_NOT_INITIALIZED,
 * CUDA_ERROR_INVALID_CONTEXT (none current), CUDA_ERROR_CONTEXT_IS_DESTROYED,
 * and the sticky error. As observed on H200, a kernel's fault is sticky for
 * every context of the process, on every device. */
#ifndef FL_CONTEXT_CONTEXT_H
#define FL_CONTEXT_CONTEXT_H

#include "base/objects.h"
#include "base/profile.h"
#include "base/uses.h"
#include "processor/processor.h"
#include "space/vram.h"
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct stream_set;                 /* stream/stream.h: all streams of a context */

struct device {
    int ordinal;  /* as this process numbers it; a hidden one has a number behind the visible ones' */
    int physical; /* its number in the machine: the same in every process */
    const struct profile *profile;
    struct vram vram;
    struct processor *processor;   /* NULL until the first context */
    struct context *primary;       /* the same object all the time; active while primary_count > 0 */
    unsigned primary_count;
    _Atomic unsigned primary_flags;
    uint32_t peers;                /* bit i: kernels of this device may touch memory of device i */
    _Atomic unsigned contexts;     /* how many are alive; changed under the lock of context.c */
};

struct context {
    struct object_link link;       /* its memory is never given back: stacks may still name a destroyed context */
    struct device *device;
    _Atomic unsigned flags;
    _Atomic unsigned long long id; /* a primary one has another whenever it is made again */
    bool primary;
    _Atomic bool destroyed;
    _Atomic int attached;          /* cuCtxAttach without cuCtxDetach */
    _Atomic bool finishing;        /* somebody waits for its streams, to end it */
    _Atomic bool released;         /* it has no memory any more, and gets none */
    bool ending;                   /* what belongs to it is being freed; under the table's lock */
    struct uses makers;            /* calls that make what belongs to it (context_enter) */
    _Atomic size_t limits[PROFILE_LIMITS];
    _Atomic bool heap_used, printf_used; /* by a kernel: those limits hold from then on */
    _Atomic CUfunc_cache cache;
    struct stream_set *_Atomic streams;
    struct context *real;          /* if this is only a green context's name: the context that it names; else NULL */
    struct green *green;           /* that green context; NULL: this is an ordinary context */
    uint64_t heap, heap_size;      /* device-side malloc's arena, 0: not made yet */
    struct uses modules;           /* those that are loaded in it, or being unloaded */
    pthread_mutex_t lock;
    struct context *next;          /* in the table */
};

extern struct device devices[MAX_DEVICES]; /* the visible ones; behind them the hidden ones, which are there only to be
                                               the place of memory that other processes share */
extern int device_count;                   /* visible ones */

/* cuInit. Reads the profile and the environment once. */
CUresult library_init(unsigned flags);
/* CUDA_SUCCESS, or CUDA_ERROR_NOT_INITIALIZED: before cuInit, and in a forked child. */
CUresult library_ready(void);
/* CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_DEVICE. */
CUresult device_get(CUdevice dev, struct device **out);
/* A device of the machine, as another process calls it; NULL: there is none. */
struct device *device_physical(int64_t physical);
/* What this process calls it; a hidden one has no ordinal. */
static inline CUdevice device_name(const struct device *d)
{
    return d->ordinal < device_count ? d->ordinal : CU_DEVICE_INVALID;
}

/* Nothing that any device has mapped shows b, and nothing will: before its descriptor is closed. */
void devices_forget(const struct backing *b);

/* The calling thread's context, if calls may use it. Otherwise CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT
 * (there is none), CUDA_ERROR_CONTEXT_IS_DESTROYED, the sticky error, or CUDA_ERROR_NOT_PERMITTED (in a host function). */
CUresult context_current(struct context **out);
/* For calls that can do without one, as they name what has its own: NULL where the thread has none (observed on H200).
 * But in a host function that is an error, as are the others. */
CUresult context_optional(struct context **out);
/* As context_current, but does not look at the sticky error. */
CUresult context_current_unchecked(struct context **out);
/* c, which was current just now, does not end before context_leave: for calls that make what belongs to it.
 * CUDA_ERROR_CONTEXT_IS_DESTROYED. */
CUresult context_enter(struct context *c);
CUresult context_leave(struct context *c, CUresult r); /* r */
/* Whether handle is a live context (not NULL, not destroyed): CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_CONTEXT_IS_DESTROYED. */
CUresult context_check(CUcontext handle, struct context **out);
struct context *context_top(void); /* of the calling thread's stack, or NULL; no checks */
/* As context_check and context_top, but the name of a green context is given as it is, not the context it names. */
CUresult context_check_named(CUcontext handle, struct context **out);
struct context *context_top_named(void);
/* Makes another CUcontext for a context: the name of a green one. Its end. */
CUresult context_name(struct context *real, struct green *g, struct context **out);
void context_unname(struct context *c);

/* The calling thread's stack of contexts. push: CUDA_ERROR_OUT_OF_MEMORY, it is full. pop: CUDA_ERROR_INVALID_CONTEXT,
 * there is none. set replaces the top. */
CUresult context_push(struct context *c);
CUresult context_pop(struct context **c);
void context_set(struct context *c);
/* A new context, on no thread's stack. Its end: waits for its work, then frees all that belongs to it. */
CUresult context_create(struct device *d, unsigned flags, struct context **out);
CUresult context_destroy(CUcontext handle);
/* The primary context begins with the first retain and ends with the last release (CUDA_ERROR_INVALID_CONTEXT: there
 * was no retain), or with a reset. Retains before a reset still count; the next retain makes the context work again. */
CUresult primary_retain(struct device *d, struct context **out);
CUresult primary_release(struct device *d);
void primary_reset(struct device *d);
bool primary_active(const struct device *d);
/* Whether the primary context that had this number has not ended. */
bool primary_lives(unsigned long long id);

/* Peer access of from's kernels to to's memory: CUDA_ERROR_PEER_ACCESS_*. */
CUresult peer_enable(struct context *from, struct context *to);
CUresult peer_disable(struct context *from, struct context *to);
/* c is dying: it is nobody's peer any more. */
void peers_forget(const struct context *c);

/* The error after which every call of the process fails (observed on H200); CUDA_SUCCESS: none yet. The first
 * error stays; sticky_set returns the one that stays. */
CUresult sticky_set(CUresult error);
CUresult sticky_get(void);

#endif
