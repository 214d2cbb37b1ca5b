/* The chunk allocator of a device's memory: a bitmap over a file that is
 * larger than the capacity, so that a contiguous place always exists; the
 * count of chunks in use enforces the capacity. Places are taken in turn, so
 * an address that was just freed is not used again soon. */
#include "space/vram.h"

#include <stdlib.h>

struct vram_chunks {
    uint64_t count, next;
    uint64_t words[];
};

CUresult vram_init(struct vram *v, uint64_t capacity, const char *name)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t chunks = capacity / VRAM_CHUNK;
    v->capacity = chunks * VRAM_CHUNK;
    v->used = 0;
    /* less where the address space is limited */
    for (uint64_t times = 4; times && r; times /= 2) {
        v->chunks = calloc(1, sizeof *v->chunks + (chunks * times + 63) / 64 * 8);
        if (!v->chunks) return CUDA_ERROR_OUT_OF_MEMORY;
        v->chunks->count = chunks * times;
        r = backing_create(&v->backing, name, v->chunks->count * VRAM_CHUNK);
        if (r) free(v->chunks), v->chunks = NULL;
    }
    if (!r) pthread_mutex_init(&v->lock, NULL);
    return r;
}

void vram_destroy(struct vram *v)
{
    if (!v->chunks) return;
    backing_destroy(&v->backing);
    free(v->chunks);
    v->chunks = NULL;
    pthread_mutex_destroy(&v->lock);
}

static bool taken(const struct vram_chunks *c, uint64_t k) { return c->words[k / 64] >> (k % 64) & 1; }

/* The first of n free chunks in a row in [from, to), or to. */
static uint64_t find(const struct vram_chunks *c, uint64_t n, uint64_t from, uint64_t to)
{
    uint64_t run = 0;
    for (uint64_t k = from; k < to; k++) {
        if (!run && !(k % 64) && c->words[k / 64] == ~0ull) {
            k += 63;
            continue;
        }
        run = taken(c, k) ? 0 : run + 1;
        if (run == n) return k + 1 - n;
    }
    return to;
}

CUresult vram_alloc(struct vram *v, uint64_t size, uint64_t *offset)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t n = size / VRAM_CHUNK;
    pthread_mutex_lock(&v->lock);
    struct vram_chunks *c = v->chunks;
    if (size <= v->capacity - v->used) {
        uint64_t k = find(c, n, c->next, c->count);
        if (k == c->count) {
            uint64_t end = c->next + n < c->count ? c->next + n : c->count;
            k = find(c, n, 0, end);
            if (k == end) k = c->count;
        }
        if (k < c->count) {
            for (uint64_t j = k; j < k + n; j++) c->words[j / 64] |= 1ull << (j % 64);
            c->next = k + n == c->count ? 0 : k + n;
            v->used += size;
            *offset = k * VRAM_CHUNK;
            r = CUDA_SUCCESS;
        }
    }
    pthread_mutex_unlock(&v->lock);
    return r;
}

void vram_free(struct vram *v, uint64_t offset, uint64_t size)
{
    backing_discard(&v->backing, offset, size);
    pthread_mutex_lock(&v->lock);
    for (uint64_t j = offset / VRAM_CHUNK; j < (offset + size) / VRAM_CHUNK; j++)
        v->chunks->words[j / 64] &= ~(1ull << (j % 64));
    v->used -= size;
    pthread_mutex_unlock(&v->lock);
}
