/* The threads of this process, as the system knows them. Takes nothing from the heap. */
#ifndef FL_BASE_TASKS_H
#define FL_BASE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

/* What the C library notes of a thread is no larger, from where its page begins. */
enum { TASK_DESCRIPTOR = 8 << 10 };
/* Calls f for each. descriptor: where the C library has its notes of the thread, and the system writes when it ends;
 * 0: the thread is about to begin or to end, or is none of the C library's. False: nobody can tell. */
typedef void task_action(void *arg, int thread, uint64_t descriptor);
bool tasks_each(task_action *f, void *arg);

#endif
