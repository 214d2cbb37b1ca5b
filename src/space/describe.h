/* What an address is, in words for whoever has to find a mistake: what is there,
 * was there, or is near. Under the space's lock. */
#ifndef FL_SPACE_DESCRIBE_H
#define FL_SPACE_DESCRIBE_H

#include "space/space.h"

/* The allocation at an address, and the next ones on both sides; NULL: none. */
struct surroundings { const struct allocation *at, *below, *above; };

/* Writes at most size bytes, as snprintf. */
void describe(uint64_t address, const struct surroundings *s, char *out, size_t size);
/* The allocation goes. The last thousand or so are remembered. */
void describe_freed(const struct allocation *a);

#endif
