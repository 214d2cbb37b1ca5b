/* Locks that the service of a fault in managed memory may need. The fault of an
 * application's signal handler is served by another thread; if the handler has
 * interrupted who holds such a lock, neither goes on. So while a thread holds
 * one, the application's signals wait, save those for what it does itself
 * (SIGSEGV and the like). Holding one, nobody waits for any other kind of lock,
 * nor for long. */
#ifndef FL_BASE_QUIET_H
#define FL_BASE_QUIET_H

#include <pthread.h>
#include <stdbool.h>

/* The same without a lock. They nest; the outermost pair costs two system calls, the others a counter. */
void quiet_begin(void);
void quiet_end(void);
/* One more signal that does not wait: its handler takes no lock, and touches no managed memory. */
void quiet_spare(int number);

struct quiet_mutex {
    pthread_mutex_t mutex;
};
#define QUIET_MUTEX_INITIALIZER \
    { \
        PTHREAD_MUTEX_INITIALIZER \
    }

static inline void quiet_lock(struct quiet_mutex *m)
{
    quiet_begin();
    pthread_mutex_lock(&m->mutex);
}

static inline bool quiet_trylock(struct quiet_mutex *m)
{
    quiet_begin();
    if (!pthread_mutex_trylock(&m->mutex)) return true;
    quiet_end();
    return false;
}

static inline void quiet_unlock(struct quiet_mutex *m)
{
    pthread_mutex_unlock(&m->mutex);
    quiet_end();
}

#endif
