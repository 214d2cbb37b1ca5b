/* How much memory this machine has for the process, and whether that was enough. */
#ifndef FL_BASE_MACHINE_H
#define FL_BASE_MACHINE_H

#include <stdint.h>

/* Bytes of shared memory that can be backed now: what is available of memory and swap, less what control groups and
 * the process's own limits forbid. */
uint64_t machine_room(void);
/* Bytes of memory that the process may ever have: the machine's, or its control groups' limit. */
uint64_t machine_memory(void);
/* How many processes the system, or the container, has ended for lack of memory so far. */
uint64_t machine_oom_kills(void);

#endif
