/* Arrays of handles: functions, kernels. Their memory is used again for handles
 * of the same kind but never given back, so that a stale handle, which reads
 * no magic number, is seen to be one. */
#ifndef FL_MODULE_HANDLES_H
#define FL_MODULE_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { HANDLES_SIZES = 32 };

struct handles {
    size_t size;                   /* of one */
    pthread_mutex_t lock;
    struct handles_array *first[HANDLES_SIZES], *last[HANDLES_SIZES]; /* unused ones with room for 1 << index */
};

#define HANDLES_INIT(type) { .size = sizeof(type), .lock = PTHREAD_MUTEX_INITIALIZER }

/* The magic number that a handle begins with. What is no handle, such as a host function, may lie at any address. */
static inline uint32_t handle_magic(const void *handle)
{
    return handle && (uintptr_t)handle % _Alignof(uint64_t) == 0 ? atomic_load((const _Atomic uint32_t *)handle) : 0;
}

/* As they were left, zeroed at first; the longest unused first; NULL if there is no memory. */
void *handles_get(struct handles *h, uint32_t count);
/* The caller has made them invalid. NULL is nothing. */
void handles_put(struct handles *h, void *array);

#endif
