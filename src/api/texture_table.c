/* Where texture and surface objects are: descriptors in memory that kernels
 * read and only the host writes. A chunk of it belongs to one context. */
#include "api/texture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 2 << 20, IN_CHUNK = CHUNK / TEXTURE_ROOM };

struct chunk {
    struct context *context;
    uint64_t va;
    char *alias;
    unsigned used, next;      /* how many are taken, where to look for a free one */
    uint16_t times[IN_CHUNK]; /* that a place was given: part of the handle */
    struct texture_object *objects[IN_CHUNK];
    struct chunk *link;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *chunks;

static struct texture *descriptor(const struct chunk *k, unsigned n)
{
    return (struct texture *)(k->alias + (size_t)n * TEXTURE_ROOM);
}

/* Under the lock. */
static CUresult chunk_new(struct context *c, struct chunk **out)
{
    struct chunk *k = calloc(1, sizeof *k);
    void *alias;
    if (!k) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = space_alloc_code(c->device, CHUNK, &k->va, &alias);
    if (r) {
        free(k);
        return r;
    }
    k->context = c;
    k->alias = alias;
    for (unsigned n = 0; n < IN_CHUNK; n++) descriptor(k, n)->self = 0; /* it may have held code */
    k->link = chunks;
    *out = chunks = k;
    return CUDA_SUCCESS;
}

/* With a free place. Under the lock. */
static CUresult chunk_with_room(struct context *c, struct chunk **out)
{
    struct chunk *k = chunks;
    while (k && (k->context != c || k->used == IN_CHUNK)) k = k->link;
    *out = k;
    return k ? CUDA_SUCCESS : chunk_new(c, out);
}

CUresult texture_add(struct context *c, struct texture *x, const struct texture_object *o)
{
    struct chunk *k;
    struct texture_object *copy = malloc(sizeof *copy);
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *o;
    pthread_mutex_lock(&lock);
    CUresult r = chunk_with_room(c, &k);
    if (r) {
        free(copy);
    } else {
        while (k->objects[k->next]) k->next = (k->next + 1) % IN_CHUNK;
        unsigned n = k->next;
        k->objects[n] = copy;
        k->used++;
        k->next = (n + 1) % IN_CHUNK;
        x->self = (k->va + (uint64_t)n * TEXTURE_ROOM) | (uint64_t)k->times[n]++ << TEXTURE_ADDRESS_BITS;
        *descriptor(k, n) = *x;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

/* Its place; NULL: there is no such object. Under the lock. */
static struct chunk *find(uint64_t handle, bool surface, unsigned *n)
{
    uint64_t address = handle & ((1ull << TEXTURE_ADDRESS_BITS) - 1);
    for (struct chunk *k = chunks; k; k = k->link) {
        if (address - k->va >= CHUNK) continue;
        *n = (unsigned)((address - k->va) / TEXTURE_ROOM);
        return k->objects[*n] && descriptor(k, *n)->self == handle && descriptor(k, *n)->surface == surface ? k : NULL;
    }
    return NULL;
}

CUresult texture_get(uint64_t handle, bool surface, struct texture_object *out)
{
    unsigned n;
    pthread_mutex_lock(&lock);
    struct chunk *k = find(handle, surface, &n);
    if (k) *out = *k->objects[n];
    pthread_mutex_unlock(&lock);
    return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult texture_remove(uint64_t handle, bool surface)
{
    unsigned n;
    pthread_mutex_lock(&lock);
    struct chunk *k = find(handle, surface, &n);
    if (k) {
        descriptor(k, n)->self = 0;
        free(k->objects[n]);
        k->objects[n] = NULL;
        k->used--;
    }
    pthread_mutex_unlock(&lock);
    /* observed on H200: what is no object, or none any more, is fine */
    return CUDA_SUCCESS;
}

static void release_context(struct context *c)
{
    pthread_mutex_lock(&lock);
    for (struct chunk **at = &chunks; *at;) {
        struct chunk *k = *at;
        if (k->context != c) {
            at = &k->link;
            continue;
        }
        *at = k->link;
        for (unsigned n = 0; n < IN_CHUNK; n++) free(k->objects[n]);
        space_free_code(c->device, k->va, CHUNK);
        free(k);
    }
    pthread_mutex_unlock(&lock);
}

const struct space_owner texture_owner = { .release_context = release_context };
