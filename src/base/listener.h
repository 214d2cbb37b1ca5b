/* A socket of this process's that others call by its name, and the thread that serves them. A forked child has neither:
 * it serves nobody, and must not look as if it did. */
#ifndef FL_BASE_LISTENER_H
#define FL_BASE_LISTENER_H

#include "base/message.h"

#include <cuda.h>

struct listener {                  /* in static storage, never freed */
    const char *prefix;            /* what the socket's name begins with (message.h) */
    int flags;                     /* the socket's: SOCK_NONBLOCK or 0 */
    void *(*serve)(void *);        /* what the thread runs; it does not return */
    void (*in_child)(void);        /* NULL, or closes what the thread has open, in a child that was forked */
    int fd;                        /* -1: nobody listens; so it begins */
    unsigned char name[MESSAGE_NAME]; /* the rest of the socket's name, while somebody listens */
    struct listener *next;         /* of all that ever listened */
    bool known;                    /* is one of these */
};

/* Somebody listens from now on, if nobody did. One call at a time for the same listener.
 * CUDA_ERROR_OUT_OF_MEMORY; CUDA_ERROR_OPERATING_SYSTEM: no socket, or no thread. */
CUresult listener_start(struct listener *l);

/* Between these nobody forks: around changes of what in_child looks at. For moments only. */
void listener_hold_forks(void);
void listener_release_forks(void);

#endif
