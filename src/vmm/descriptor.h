/* Descriptors for memory that may be exported, of which there can be thousands.
 * A process's soft limit is on the number of a descriptor, not on how many there
 * are: beyond the first few, these get numbers above it, so that the application
 * keeps its own, as long as the hard limit has room. */
#ifndef FL_VMM_DESCRIPTOR_H
#define FL_VMM_DESCRIPTOR_H

#include <stdbool.h>

/* A memfd that can be sealed; -1: errno. needed: even if the application then has few descriptors left. */
int descriptor_memory(const char *name, bool needed);
/* Another descriptor of the same open file. */
int descriptor_copy(int fd);

#endif
