/* Order and asynchrony. A stream is a queue of operations that are done one
 * after the other; streams run side by side. The legacy default stream waits
 * for all blocking streams of its context, and they for it.
 *
 * An operation is either a kernel or work of the host (a copy, memset, host
 * function or wait). A kernel goes straight into the stream's channel of the
 * device process if no host work is queued before it. Host work is done by a
 * thread of the stream, or by the calling thread if the stream is idle and the
 * caller would wait anyway. */
#ifndef FL_STREAM_STREAM_H
#define FL_STREAM_STREAM_H

#include "context/context.h"

struct stream;                     /* CUstream_st */
struct event;                      /* CUevent_st */

/* For a new green context: its default stream. */
CUresult stream_green_begins(struct green *g);
/* All its streams end; id: its number, which it has no more. */
void stream_green_ends(const struct green *g, unsigned long long id);

/* For a new context: its default streams. */
CUresult stream_set_create(struct context *c);
/* Waits for all work, ends all threads, frees streams and events. */
void stream_set_destroy(struct context *c);

/* Set while the calling thread is in a _ptds or _ptsz entry point that takes no
 * stream: the default stream is then the per-thread one. */
extern _Thread_local bool stream_default_per_thread;
/* The stream that handle means: NULL and CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, or one of
 * cuStreamCreate, of any context. per_thread: NULL means the per-thread stream (the _ptsz
 * entry points). CUDA_ERROR_INVALID_HANDLE. */
CUresult stream_get(struct context *c, CUstream handle, bool per_thread, struct stream **out);
/* The context in which a call is made that names this stream: the current one or, where the thread has none, the stream's
 * own (observed on H200). As context_current. */
CUresult stream_caller(CUstream handle, struct context **c);
/* The same for what a host function may not do. */
CUresult stream_caller_outside(CUstream handle, struct context **c);
/* That, and the stream. As both. */
CUresult stream_named(CUstream handle, struct stream **out);
struct context *stream_context(const struct stream *s);
bool stream_is_legacy(const struct stream *s);  /* what NULL means: a green context has its own */
bool stream_is_default(const struct stream *s); /* the legacy one, or a thread's */
/* Whether the legacy stream waits for s, as for every blocking stream of its context. */
bool stream_legacy_orders(const struct stream *legacy, const struct stream *s);

/* Host work: run(arg) in stream order, on some thread; an error that it returns becomes sticky.
 * arg is copied (size bytes). It is not run if the context has become unusable by then. */
typedef CUresult stream_work(void *arg);
CUresult stream_enqueue(struct stream *s, stream_work *run, const void *arg, size_t size);
/* The same for work that takes no longer than waking a thread: the calling thread does it at
 * once if the stream is idle. */
CUresult stream_enqueue_short(struct stream *s, stream_work *run, const void *arg, size_t size);
/* The same, but waits until it is done, so arg is not copied; on the calling thread if no host work is queued.
 * What run returns is returned; what a device does wrong becomes sticky, too. */
CUresult stream_run(struct stream *s, stream_work *run, const void *arg);
/* A kernel. Its parameters are copied. */
CUresult stream_launch(struct stream *s, const struct launch *l);

/* `one` learns of each stream that ends before its context, `all` of each context that ends with its streams and events: when
 * nothing can be issued into them any more, and before others can have their handles. To be called once. */
void streams_on_end(void (*one)(struct stream *s), void (*all)(struct context *c));

/* Returns when all that any thread has issued into s is done. */
CUresult stream_synchronize(struct stream *s);
/* CUDA_ERROR_NOT_READY while something is left to do. */
CUresult stream_query(struct stream *s);
/* All streams of the context, those of its green ones, too. g: of that green context alone. */
CUresult context_synchronize(struct context *c);
CUresult green_synchronize(const struct green *g);
/* Whether nothing is left to do in any of its streams. */
bool context_idle(struct context *c);

/* Whether the stream has work on its device. Takes no lock. */
bool stream_runs(const void *s);

/* Afterwards each kernel that has ended is in the trace. */
void streams_trace_flush(void);
/* In a forked child: its parent's kernels are not its to record. */
void streams_trace_in_child(void);

/* Whether the calling thread is inside a host function, where no API call is permitted. */
bool stream_in_host_function(void);

#endif
