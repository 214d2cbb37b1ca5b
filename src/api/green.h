/* What programs know contexts as. */
#ifndef FL_API_GREEN_H
#define FL_API_GREEN_H

#include "context/green.h"
#include "stream/stream.h"

/* What a program knows the stream's context as: the green context's CUcontext if it is of one. */
struct context *named_context_of(const struct stream *s);

#endif
