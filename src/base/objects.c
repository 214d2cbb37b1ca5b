/* See objects.h. Chunks double in size, so a lookup compares with a handful of ranges and
 * needs no lock: a chunk is published once and stays. */
#include "base/objects.h"

#include <stdint.h>
#include <stdlib.h>

static size_t chunk_objects(unsigned chunk) { return (size_t)OBJECTS_FIRST_CHUNK << chunk; }

static void append(struct objects *all, struct object_link *object)
{
    object->next = NULL;
    *all->last = object;
    all->last = &object->next;
}

static bool grow(struct objects *all)
{
    unsigned n = atomic_load_explicit(&all->chunks, memory_order_relaxed);
    if (n == OBJECT_CHUNKS) return false;
    char *chunk = calloc(chunk_objects(n), all->object_size);
    if (!chunk) return false;
    for (size_t i = 0; i < chunk_objects(n); i++) {
        all->construct(chunk + i * all->object_size);
        append(all, (struct object_link *)(chunk + i * all->object_size));
    }
    all->chunk[n] = chunk;
    atomic_store_explicit(&all->chunks, n + 1, memory_order_release);
    return true;
}

void *object_take(struct objects *all)
{
    pthread_mutex_lock(&all->lock);
    if (!all->last) all->last = &all->first;
    struct object_link *object = NULL;
    if (all->first || grow(all)) {
        object = all->first;
        all->first = object->next;
        if (!all->first) all->last = &all->first;
    }
    pthread_mutex_unlock(&all->lock);
    return object;
}

void object_give(struct objects *all, void *object)
{
    pthread_mutex_lock(&all->lock);
    append(all, object);
    pthread_mutex_unlock(&all->lock);
}

bool objects_hold(struct objects *all, const void *address)
{
    unsigned n = atomic_load_explicit(&all->chunks, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        uintptr_t offset = (uintptr_t)address - (uintptr_t)all->chunk[i];
        if (offset < chunk_objects(i) * all->object_size) return offset % all->object_size == 0;
    }
    return false;
}
