/* Which green context a stream is of; the default streams are the calling
 * thread's current context's. */
#ifndef FL_API_GREEN_H
#define FL_API_GREEN_H

#include "context/green.h"
#include "stream/stream.h"

struct green *green_of(const struct stream *s); /* or NULL */

#endif
