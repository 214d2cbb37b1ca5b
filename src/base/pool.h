/* Objects behind handles. Their memory is reused but never given back, so a
 * stale handle still points to an object of its kind, and any other value is
 * told apart without touching it. What an object means is its owner's affair. */
#ifndef FL_BASE_POOL_H
#define FL_BASE_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { POOL_CHUNKS = 24, POOL_FIRST_CHUNK = 64 };

/* The first member of a pooled object. */
struct pool_link { struct pool_link *next; };

struct pool {
    size_t object_size;
    void (*construct)(void *object);   /* once in an object's life, on zeroed memory */
    pthread_mutex_t lock;
    struct pool_link *first, **last;   /* free ones; the longest free is taken first */
    _Atomic unsigned chunks;
    char *chunk[POOL_CHUNKS];          /* chunk i holds POOL_FIRST_CHUNK << i objects */
};

#define POOL_INIT(type, constructor) \
    { .object_size = sizeof(type), .construct = (constructor), .lock = PTHREAD_MUTEX_INITIALIZER }

/* As the last owner left it; NULL if there is no memory. */
void *pool_get(struct pool *p);
void pool_put(struct pool *p, void *object);
/* Whether address is that of an object, free or in use. */
bool pool_holds(struct pool *p, const void *address);

#endif
