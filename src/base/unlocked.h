/* Mappings that the system fills as they are touched, also in a process that locks all its memory: devices' memory,
 * and managed memory that nobody has touched, must not all be made at once. */
#ifndef FL_BASE_UNLOCKED_H
#define FL_BASE_UNLOCKED_H

#include <stddef.h>
#include <sys/types.h>

/* mmap, whatever the program has said to mlockall: nothing in the mapping is made, and it is not locked. */
void *map_unlocked(void *at, size_t size, int prot, int flags, int fd, off_t offset);

#endif
