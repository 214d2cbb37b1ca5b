/* Whether processes that are no children of ours are still there. */
#ifndef FL_BASE_ALIVE_H
#define FL_BASE_ALIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* It is gone, or has ended and its parent has not asked how; a process of this one's PID namespace. */
bool alive_ended(pid_t pid);
/* What tells this process's PID namespace from others. */
uint32_t alive_namespace(void);

#endif
