/* Objects behind handles, all of one kind. Their memory is used again but never
 * given back, so a stale handle still points to an object of its kind, and any
 * other value is told apart without touching it. Whether an object is in use,
 * and by whom, is its owner's affair. */
#ifndef FL_BASE_OBJECTS_H
#define FL_BASE_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { OBJECT_CHUNKS = 24, OBJECTS_FIRST_CHUNK = 64 };

/* The first member of such an object. */
struct object_link { struct object_link *next; };

struct objects {
    size_t object_size;
    void (*construct)(void *object);   /* once in an object's life, on zeroed memory */
    pthread_mutex_t lock;
    struct object_link *first, **last; /* free ones; the longest free is taken first */
    _Atomic unsigned chunks;
    char *chunk[OBJECT_CHUNKS];        /* chunk i holds OBJECTS_FIRST_CHUNK << i objects */
};

#define OBJECTS_INIT(type, constructor) \
    { .object_size = sizeof(type), .construct = (constructor), .lock = PTHREAD_MUTEX_INITIALIZER }

/* As the last owner left it; NULL if there is no memory. Any thread. */
void *object_take(struct objects *all);
void object_give(struct objects *all, void *object);
/* Whether address, any value at all, is that of an object, free or in use. Takes no lock. */
bool objects_hold(struct objects *all, const void *address);

#endif
