/* Freed chunks of devices. They keep address and contents until some others were
 * freed after them, so that a use of freed memory faults for a while, and are
 * then used again without being mapped anew. They do not count as used. Under
 * the space's lock for writing. */
#ifndef FL_SPACE_PARKED_H
#define FL_SPACE_PARKED_H

#include "context/context.h"

/* Chunks of d that nobody uses any more. mapped: devices have them mapped still. */
void park(struct device *d, uint64_t offset, uint64_t size, bool mapped);
/* The longest parked one of that size, which counts as used again; false: none has been parked long enough. */
bool unpark(struct device *d, uint64_t size, uint64_t *offset, bool *mapped);
/* No device has parked chunks mapped any more. */
void parked_settle(void);
/* All of d's are given back. */
void parked_trim(struct device *d);

#endif
