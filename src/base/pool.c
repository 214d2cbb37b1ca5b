/* Chunks double in size, so a lookup compares with a handful of ranges and
 * needs no lock: a chunk is published once and stays. */
#include "base/pool.h"

#include <stdint.h>
#include <stdlib.h>

static size_t chunk_objects(unsigned chunk) { return (size_t)POOL_FIRST_CHUNK << chunk; }

static void append(struct pool *p, struct pool_link *object)
{
    object->next = NULL;
    *p->last = object;
    p->last = &object->next;
}

static bool grow(struct pool *p)
{
    unsigned n = atomic_load_explicit(&p->chunks, memory_order_relaxed);
    if (n == POOL_CHUNKS) return false;
    char *chunk = calloc(chunk_objects(n), p->object_size);
    if (!chunk) return false;
    for (size_t i = 0; i < chunk_objects(n); i++) {
        p->construct(chunk + i * p->object_size);
        append(p, (struct pool_link *)(chunk + i * p->object_size));
    }
    p->chunk[n] = chunk;
    atomic_store_explicit(&p->chunks, n + 1, memory_order_release);
    return true;
}

void *pool_get(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    if (!p->last) p->last = &p->first;
    struct pool_link *object = NULL;
    if (p->first || grow(p)) {
        object = p->first;
        p->first = object->next;
        if (!p->first) p->last = &p->first;
    }
    pthread_mutex_unlock(&p->lock);
    return object;
}

void pool_put(struct pool *p, void *object)
{
    pthread_mutex_lock(&p->lock);
    append(p, object);
    pthread_mutex_unlock(&p->lock);
}

bool pool_holds(struct pool *p, const void *address)
{
    unsigned n = atomic_load_explicit(&p->chunks, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        uintptr_t offset = (uintptr_t)address - (uintptr_t)p->chunk[i];
        if (offset < chunk_objects(i) * p->object_size) return offset % p->object_size == 0;
    }
    return false;
}
