/* Which green context a stream is of; the default streams are the calling
 * thread's current context's. */
#ifndef FL_API_GREEN_H
#define FL_API_GREEN_H

#include "context/green.h"
#include "stream/stream.h"

struct green *green_of(const struct stream *s); /* or NULL */
/* What a program knows the stream's context as: the green context's CUcontext if it is of one. */
struct context *named_context_of(const struct stream *s);

#endif
