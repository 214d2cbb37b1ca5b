/* Calls that are under way in an object, so that its end can wait for them. Its memory is used again but never given back
 * (objects.h): who comes too late finds what says so in it, and ends his use at once. */
#ifndef FL_BASE_USES_H
#define FL_BASE_USES_H

#include "base/futex.h"

struct uses {
    _Atomic uint32_t count; /* and USES_AWAITED */
};

static const uint32_t USES_AWAITED = 1u << 31;

/* Before the object is asked whether it is there. */
static inline void uses_begin(struct uses *u) { atomic_fetch_add(&u->count, 1); }

static inline void uses_end(struct uses *u)
{
    if (atomic_fetch_sub(&u->count, 1) == USES_AWAITED + 1) futex_wake(&u->count, 1);
}

/* Until there are none, after the object has been made one that is not there. One thread for each object. */
static inline void uses_wait(struct uses *u)
{
    uint32_t n;
    atomic_fetch_or(&u->count, USES_AWAITED);
    while ((n = atomic_load(&u->count)) != USES_AWAITED) futex_wait(&u->count, n, 0);
    atomic_fetch_and(&u->count, ~USES_AWAITED);
}

#endif
