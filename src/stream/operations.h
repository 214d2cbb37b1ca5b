/* What the stream entry points of the API need beside stream.h. */
#ifndef FL_STREAM_OPERATIONS_H
#define FL_STREAM_OPERATIONS_H

#include "stream/stream.h"

struct green;

enum { STREAM_PRIORITY_LEAST = 0, STREAM_PRIORITY_GREATEST = -5 };
/* To what there is. */
int stream_clamp_priority(int priority);

/* Flags are checked by the caller. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult stream_create(struct context *c, unsigned flags, int priority, struct stream **out);
/* One of a green context; it ends with that. */
CUresult stream_create_green(struct green *g, unsigned flags, int priority, struct stream **out);
/* For branches of graphs: waits for nothing that its context waits for. */
CUresult stream_create_lane(struct context *c, struct stream **out);
struct green *stream_green(const struct stream *s); /* or NULL */
/* Invalidates the handle at once; the stream goes when its work is done. The default streams
 * and handles that are no longer valid: CUDA_ERROR_INVALID_HANDLE. */
CUresult stream_destroy(struct stream *s);

struct stream_info { unsigned long long id; unsigned flags; int priority; };
/* What cuStreamGetId, GetFlags and GetPriority answer. */
struct stream_info stream_describe(struct stream *s);

/* CUDA_ERROR_INVALID_VALUE: no attribute of streams, or no value of it. */
CUresult stream_get_attribute(struct stream *s, CUstreamAttrID id, CUstreamAttrValue *value);
/* Whether a stream, a launch or a kernel node may have an attribute of this value. */
bool stream_attribute_valid(const struct device *d, CUstreamAttrID id, const CUstreamAttrValue *value);
CUresult stream_set_attribute(struct stream *s, CUstreamAttrID id, const CUstreamAttrValue *value);
void stream_copy_attributes(struct stream *to, struct stream *from);

/* As stream_enqueue, for work that makes calls itself: always on a thread of the stream. */
CUresult stream_enqueue_calls(struct stream *s, stream_work *run, const void *arg, size_t size);
/* Calls call(arg, status) in stream order, always on a thread of the stream; status is what
 * made the context unusable before, or success. arg is copied. */
typedef void host_work(void *arg, CUresult status);
CUresult stream_call(struct stream *s, host_work *call, const void *arg, size_t size);

/* What can be said against an operation without looking at its memory. */
CUresult stream_check_operation(const CUstreamBatchMemOpParams *op, bool may_flush);
/* cuStreamWaitValue, cuStreamWriteValue: ops in order; all are checked before any is issued.
 * may_flush: the device can flush remote writes. */
CUresult stream_memory_operations(struct stream *s, const CUstreamBatchMemOpParams *ops, unsigned count, bool may_flush);

#endif
