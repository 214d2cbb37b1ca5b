/* Copies and memsets in the trace, while somebody wants them. An operation has its record with it, complete but for
 * the times. */
#ifndef FL_API_TRANSFER_H
#define FL_API_TRANSFER_H

#include "stream/stream.h"
#include "trace/trace.h"

/* Who does it: the stream's context. Of kind 0 if nobody wants it, and then the others do nothing. */
struct trace_record transfer_record(struct stream *s, bool asynchronous);
/* What memory is at p for device d, and whose: 0 the host's, 1 + k device k's. */
enum trace_memory transfer_memory(uint64_t p, const struct device *d, uint8_t *processor);
/* It is done from now on; the answer is for transfer_end. One that fails is told nobody of. */
static inline uint64_t transfer_begin(const struct trace_record *r) { return r->kind ? trace_now() : 0; }
void transfer_end(const struct trace_record *r, uint64_t began, CUresult result);

#endif
