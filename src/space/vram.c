/* The chunk allocator of a device's memory: a bitmap over a file much larger
 * than the capacity, which the count of chunks in use enforces. The file has two
 * zones. In the first, places are taken in turn, so that an address that was just
 * freed is not used again soon; what survives there scatters. What finds no room
 * in it gets the lowest place in the second, which needs little more than its
 * contents then (Robson 1977: at most log2 of the largest piece times as much).
 * What is to grow begins where nothing else is for a whole capacity, in the upper
 * half of the file, while there are such places. */
#include "space/vram.h"

#include "space/layout.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { TIMES = 32, IN_TURN = 2 }; /* sizes of the file and of its first zone, in capacities */
enum { RECLAIMS = 100 };          /* for one allocation, at most */

struct vram_chunks {
    uint64_t count, turn, next;
    uint64_t words[];
};

/* Addresses for one memory; where they are limited, others need some too. And what a file may have. */
static uint64_t room(void)
{
    struct rlimit addresses, file;
    uint64_t most = space_layout.span;
    if (!getrlimit(RLIMIT_AS, &addresses) && addresses.rlim_cur != RLIM_INFINITY && addresses.rlim_cur / 8 < most)
        most = addresses.rlim_cur / 8;
    if (!getrlimit(RLIMIT_FSIZE, &file) && file.rlim_cur < most) most = file.rlim_cur;
    return most;
}

CUresult vram_init(struct vram *v, uint64_t capacity, const char *name)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t chunks = capacity / VRAM_CHUNK, times = TIMES;
    uint64_t most = room() / VRAM_CHUNK;
    while (times > 1 && chunks * times > most) times /= 2;
    v->capacity = chunks * VRAM_CHUNK;
    v->used = 0;
    v->reclaim = NULL;
    /* less where the address space is limited */
    for (; times && r; times /= 2) {
        v->chunks = calloc(1, sizeof *v->chunks + (chunks * times + 63) / 64 * 8);
        if (!v->chunks) return CUDA_ERROR_OUT_OF_MEMORY;
        v->chunks->count = chunks * times;
        v->chunks->turn = times > IN_TURN ? chunks * IN_TURN : v->chunks->count;
        r = backing_create(&v->backing, name, v->chunks->count * VRAM_CHUNK);
        if (r) {
            free(v->chunks);
            v->chunks = NULL;
        }
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

/* The first of n free chunks, or count. */
static uint64_t place(const struct vram_chunks *c, uint64_t n)
{
    uint64_t end = c->next + n < c->turn ? c->next + n : c->turn, k = find(c, n, c->next, c->turn);
    if (k < c->turn) return k;
    if ((k = find(c, n, 0, end)) < end) return k;
    if ((k = find(c, n, c->turn, c->count)) < c->count) return k;
    return find(c, n, 0, c->count);
}

/* The first of as many free chunks as the memory has, or count. */
static uint64_t place_apart(const struct vram_chunks *c, uint64_t all)
{
    for (uint64_t k = c->count / 2 > c->turn ? c->count / 2 : c->turn; k + all <= c->count; k += all)
        if (find(c, all, k, k + all) == k) return k;
    return c->count;
}

static void fill(struct vram_chunks *c, uint64_t k, uint64_t n)
{
    for (uint64_t j = k; j < k + n; j++) c->words[j / 64] |= 1ull << (j % 64);
}

static CUresult take_place(struct vram *v, uint64_t n, bool apart, bool charged, uint64_t *offset)
{
    struct vram_chunks *c = v->chunks;
    uint64_t k = apart ? place_apart(c, v->capacity / VRAM_CHUNK) : c->count;
    if (k == c->count) k = place(c, n);
    if (k == c->count || (charged && vram_charge(v, n * VRAM_CHUNK))) return CUDA_ERROR_OUT_OF_MEMORY;
    fill(c, k, n);
    if (k + n <= c->turn) c->next = k + n;
    *offset = k * VRAM_CHUNK;
    return CUDA_SUCCESS;
}

static CUresult take(struct vram *v, uint64_t size, bool apart, uint64_t *offset)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&v->lock);
    if (size <= v->capacity - v->used) r = take_place(v, size / VRAM_CHUNK, apart, true, offset);
    pthread_mutex_unlock(&v->lock);
    return r;
}

CUresult vram_place_in_turn(struct vram *v, uint64_t size, uint64_t *offset)
{
    pthread_mutex_lock(&v->lock);
    CUresult r = take_place(v, size / VRAM_CHUNK, false, false, offset);
    pthread_mutex_unlock(&v->lock);
    return r;
}

CUresult vram_place(struct vram *v, uint64_t size, uint64_t *offset)
{
    uint64_t n = size / VRAM_CHUNK;
    pthread_mutex_lock(&v->lock);
    struct vram_chunks *c = v->chunks;
    uint64_t k = place_apart(c, n);
    if (k == c->count) k = find(c, n, c->turn, c->count);
    const bool found = k < c->count;
    if (found) fill(c, k, n);
    pthread_mutex_unlock(&v->lock);
    if (!found) return CUDA_ERROR_OUT_OF_MEMORY;
    *offset = k * VRAM_CHUNK;
    return CUDA_SUCCESS;
}

/* Kernels that run may have fetched managed memory into the room that was made, before it is taken. */
static CUresult allocate(struct vram *v, uint64_t size, bool apart, uint64_t *offset)
{
    CUresult r = take(v, size, apart, offset);
    if (!v->reclaim || size > v->capacity) return r;
    for (int k = 0; k < RECLAIMS && r && size > v->capacity - v->used && !v->reclaim(v, size); k++)
        r = take(v, size, apart, offset);
    return r;
}

CUresult vram_alloc(struct vram *v, uint64_t size, uint64_t *offset) { return allocate(v, size, false, offset); }

CUresult vram_alloc_apart(struct vram *v, uint64_t size, uint64_t *offset) { return allocate(v, size, true, offset); }

CUresult vram_alloc_at(struct vram *v, uint64_t size, uint64_t offset)
{
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t k = offset / VRAM_CHUNK, n = size / VRAM_CHUNK;
    pthread_mutex_lock(&v->lock);
    struct vram_chunks *c = v->chunks;
    if (n <= c->count && k <= c->count - n && find(c, n, k, k + n) == k && !vram_charge(v, size)) {
        fill(c, k, n);
        if (k <= c->next && k + n > c->next && k + n <= c->turn) c->next = k + n;
        r = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&v->lock);
    return r;
}

void vram_drop(struct vram *v, uint64_t offset, uint64_t size)
{
    backing_discard(&v->backing, offset, size);
    pthread_mutex_lock(&v->lock);
    for (uint64_t j = offset / VRAM_CHUNK; j < (offset + size) / VRAM_CHUNK; j++)
        v->chunks->words[j / 64] &= ~(1ull << (j % 64));
    pthread_mutex_unlock(&v->lock);
}

CUresult vram_charge(struct vram *v, uint64_t size)
{
    uint64_t used = atomic_load(&v->used);
    do {
        if (size > v->capacity - used) return CUDA_ERROR_OUT_OF_MEMORY;
    } while (!atomic_compare_exchange_weak(&v->used, &used, used + size));
    return CUDA_SUCCESS;
}

CUresult vram_charge_reclaiming(struct vram *v, uint64_t size)
{
    CUresult r = vram_charge(v, size);
    if (!v->reclaim || size > v->capacity) return r;
    for (int k = 0; k < RECLAIMS && r && !v->reclaim(v, size); k++) r = vram_charge(v, size);
    return r;
}

void vram_uncharge(struct vram *v, uint64_t size) { atomic_fetch_sub(&v->used, size); }

void vram_free(struct vram *v, uint64_t offset, uint64_t size)
{
    vram_drop(v, offset, size);
    vram_uncharge(v, size);
}
