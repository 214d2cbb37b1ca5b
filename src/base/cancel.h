/* A thread of the program's that is cancelled within the library would keep what it has locked or half done. So it is
 * not, wherever the library may come to a function at which the C library cancels (open, read, poll, a condition's
 * wait): such code goes between these two. Asynchronous cancellation is not provided for: POSIX permits hardly any
 * call where it is enabled. */
#ifndef FL_BASE_CANCEL_H
#define FL_BASE_CANCEL_H

#include <pthread.h>

/* What cancel_restore takes. They nest. */
static inline int cancel_defer(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void cancel_restore(int before) { pthread_setcancelstate(before, &before); }

#endif
