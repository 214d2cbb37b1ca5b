/* Threads of the library within the application's process. */
#ifndef FL_BASE_THREAD_H
#define FL_BASE_THREAD_H

#include <cuda.h>
#include <stddef.h>

#define THREAD_STACK (2ul << 20)
#define THREAD_STACK_DEFAULT 0 /* what the application's threads have: its functions run there */

/* What to add to a message if no thread or process can be started, for this reason. */
#define FEW_TASKS(error) \
    ((error) == EAGAIN ? " (ulimit -u and the control group's pids.max limit processes and threads; ulimit -v and " \
                         "vm.max_map_count limit their stacks)" : "")

/* Nobody joins it. The application's signals do not reach it, save those for what it does itself. */
CUresult thread_start(void *(*run)(void *), void *argument, size_t stack);

#endif
