/* Tiles of sparse arrays; see sparse.h. Extents as recorded on H200: the
 * standard 64 KiB block of each element size. */
#include "vmm/sparse.h"
#include "base/units.h"
#include "vmm/vmm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LEVELS = 32 };
/* The GPU's own block-linear layout: bytes, rows, and GOBs of a block at most, upwards and back. */
enum { GOB_WIDTH = 64, GOB_HEIGHT = 8, BLOCK_HEIGHT = 16, BLOCK_DEPTH = 16 };

struct level {
    size_t row, rows, slices; /* bytes of a row, rows, slices of one layer */
    uint64_t tiles[3], first; /* of a tiled level: how many, and the first one of layer 0 */
    uint64_t offset;          /* of a level in the tail: where in its layer's */
};
struct tile_pool {
    struct vmm_memory *memory;
    char *bytes;
    _Atomic uint64_t references;
};
struct tile {
    struct tile_pool *pool;
    char *bytes;
};
struct sparse {
    struct sparse_shape shape;
    struct sparse_layout layout;
    struct level levels[LEVELS];
    uint64_t tail_tile, tail_stride; /* first tile; bytes from a layer to the next in a single tail */
    uint64_t count;
    pthread_mutex_t lock; /* of the tiles */
    struct tile *tiles;
};

CUresult tile_pool_open(struct vmm_memory *m, struct tile_pool **out)
{
    struct tile_pool *p = malloc(sizeof *p);
    if (!p) {
        vmm_memory_put(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *p = (struct tile_pool){ m, m->backing->alias + m->offset, 1 };
    *out = p;
    return CUDA_SUCCESS;
}

static void tile_pool_get(struct tile_pool *p) { atomic_fetch_add_explicit(&p->references, 1, memory_order_relaxed); }

void tile_pool_put(struct tile_pool *p)
{
    if (atomic_fetch_sub(&p->references, 1) > 1) return;
    vmm_memory_put(p->memory);
    free(p);
}

static size_t halved(size_t v, unsigned times) { return v >> times ? v >> times : 1; }

static void tile_extent(const struct sparse_shape *p, unsigned out[3])
{
    static const unsigned flat[5][3] = {
        { 256, 256, 1 }, { 256, 128, 1 }, { 128, 128, 1 }, { 128, 64, 1 }, { 64, 64, 1 }
    };
    static const unsigned deep[5][3] = {
        { 64, 32, 32 }, { 32, 32, 32 }, { 32, 32, 16 }, { 32, 16, 16 }, { 16, 16, 16 }
    };
    const unsigned *e = (p->volume ? deep : flat)[__builtin_ctzl(p->element)];
    for (int k = 0; k < 3; k++) out[k] = e[k];
}

/* The smallest power of two that holds v, at most most. */
static uint64_t block(uint64_t v, uint64_t most)
{
    uint64_t b = 1;
    while (b < v && b < most) b *= 2;
    return b;
}

/* Rows and slices of a level's blocks, which shrink with it: those of volumes are deep, others high (found in what an
 * H200 answered). */
static uint64_t block_rows(const struct sparse_shape *p, const struct level *l)
{
    return block((l->rows + GOB_HEIGHT - 1) / GOB_HEIGHT, p->volume ? 1 : BLOCK_HEIGHT) * GOB_HEIGHT;
}
static uint64_t block_slices(const struct level *l) { return block(l->slices, BLOCK_DEPTH); }

/* What the GPU would need for one layer of a level. */
static uint64_t gpu_bytes(const struct sparse_shape *p, const struct level *l)
{
    return round_up(l->row, GOB_WIDTH) * round_up(l->rows, block_rows(p, l)) * round_up(l->slices, block_slices(l));
}

static void extents(const struct sparse_shape *p, unsigned level, struct level *l)
{
    l->row = (halved(p->width, level) + p->block - 1) / p->block * p->element;
    l->rows = (halved(p->height, level) + p->block - 1) / p->block;
    l->slices = halved(p->depth, level);
}

/* Layers begin with a block of level 0. */
static uint64_t layer_bytes(const struct sparse_shape *p, uint64_t all)
{
    struct level first = { 0 };
    extents(p, 0, &first);
    return p->layers > 1 ? round_up(all, GOB_WIDTH * block_rows(p, &first) * block_slices(&first)) : all;
}

uint64_t sparse_gpu_bytes(const struct sparse_shape *p)
{
    uint64_t all = 0;
    for (unsigned k = 0; k < p->levels; k++) {
        struct level l = { 0 };
        extents(p, k, &l);
        all += gpu_bytes(p, &l);
    }
    return layer_bytes(p, all) * p->layers;
}

static bool tiled(const struct sparse *s, const struct level *l)
{
    const unsigned *t = s->layout.tile;
    return !s->shape.deferred && l->row >= t[0] * s->shape.element && l->rows >= t[1] && l->slices >= t[2];
}

static void lay_out(struct sparse *s)
{
    const struct sparse_shape *p = &s->shape;
    struct sparse_layout *y = &s->layout;
    uint64_t tail = 0;
    tile_extent(p, y->tile);
    y->tail_first = p->levels;
    for (unsigned k = 0; k < p->levels && k < LEVELS; k++) {
        struct level *l = &s->levels[k];
        extents(p, k, l);
        if (y->tail_first == p->levels && tiled(s, l)) {
            const size_t extent[3] = { l->row / p->element, l->rows, l->slices };
            for (int d = 0; d < 3; d++) l->tiles[d] = (extent[d] + y->tile[d] - 1) / y->tile[d];
            l->first = s->count;
            s->count += l->tiles[0] * l->tiles[1] * l->tiles[2] * p->layers;
            continue;
        }
        if (y->tail_first == p->levels) y->tail_first = k;
        l->offset = tail;
        tail += gpu_bytes(p, l);
    }
    y->single = tail && !y->tail_first;
    s->tail_tile = s->count;
    if (y->single) tail = layer_bytes(p, tail);
    s->tail_stride = y->single ? tail : 0;
    y->tail_size = round_up(y->single ? tail * p->layers : tail, SPARSE_TILE);
    s->count += y->tail_size / SPARSE_TILE * (y->single ? 1 : p->layers);
}

CUresult sparse_create(const struct sparse_shape *shape, struct sparse **out)
{
    if (!shape->levels || shape->levels > LEVELS) return CUDA_ERROR_INVALID_VALUE;
    struct sparse *s = calloc(1, sizeof *s);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    s->shape = *shape;
    lay_out(s);
    if (!(s->tiles = calloc(s->count, sizeof *s->tiles))) {
        free(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return CUDA_SUCCESS;
}

void sparse_destroy(struct sparse *s)
{
    for (uint64_t k = 0; k < s->count; k++)
        if (s->tiles[k].pool) tile_pool_put(s->tiles[k].pool);
    pthread_mutex_destroy(&s->lock);
    free(s->tiles);
    free(s);
}

const struct sparse_layout *sparse_layout(const struct sparse *s) { return &s->layout; }

CUresult sparse_box(const struct sparse *s, unsigned level, unsigned layer, const unsigned offset[3],
                    const unsigned extent[3], struct sparse_region *out)
{
    if (level >= s->layout.tail_first || layer >= s->shape.layers) return CUDA_ERROR_INVALID_VALUE;
    const struct level *l = &s->levels[level];
    const size_t whole[3] = { l->row / s->shape.element, l->rows, l->slices };
    uint64_t first[3];
    for (int d = 0; d < 3; d++) {
        unsigned tile = s->layout.tile[d];
        if (offset[d] % tile || offset[d] >= whole[d]) return CUDA_ERROR_INVALID_VALUE;
        size_t left = whole[d] - offset[d];
        if (!extent[d] || extent[d] > left || (extent[d] % tile && extent[d] != left)) return CUDA_ERROR_INVALID_VALUE;
        first[d] = offset[d] / tile;
        out->count[d] = (extent[d] + tile - 1) / tile;
    }
    out->pitch = l->tiles[0];
    out->slice = l->tiles[0] * l->tiles[1];
    out->first = l->first + layer * out->slice * l->tiles[2] + first[2] * out->slice + first[1] * out->pitch + first[0];
    return CUDA_SUCCESS;
}

static void in_a_row(struct sparse_region *out, uint64_t first, uint64_t count)
{
    *out = (struct sparse_region){ .first = first, .count = { count, 1, 1 }, .pitch = count, .slice = count };
}

CUresult sparse_tail(const struct sparse *s, unsigned layer, uint64_t offset, uint64_t size, struct sparse_region *out)
{
    const struct sparse_layout *y = &s->layout;
    if (layer >= (y->single ? 1 : s->shape.layers) || offset % SPARSE_TILE || !size || size % SPARSE_TILE ||
        offset >= y->tail_size || size > y->tail_size - offset)
        return CUDA_ERROR_INVALID_VALUE;
    in_a_row(out, s->tail_tile + (layer * y->tail_size + offset) / SPARSE_TILE, size / SPARSE_TILE);
    return CUDA_SUCCESS;
}

void sparse_whole(const struct sparse *s, struct sparse_region *out) { in_a_row(out, 0, s->count); }

uint64_t sparse_bytes(const struct sparse_region *r) { return r->count[0] * r->count[1] * r->count[2] * SPARSE_TILE; }

/* Returns what t showed before, for the caller to let go of without the lock. */
static struct tile_pool *show(struct sparse *s, struct tile *t, struct tile_pool *p, uint64_t offset)
{
    if (p) tile_pool_get(p);
    pthread_mutex_lock(&s->lock);
    struct tile_pool *before = t->pool;
    *t = (struct tile){ p, p ? p->bytes + offset : NULL };
    pthread_mutex_unlock(&s->lock);
    return before;
}

void sparse_map(struct sparse *s, const struct sparse_region *r, struct tile_pool *p, uint64_t offset)
{
    for (uint64_t z = 0; z < r->count[2]; z++)
        for (uint64_t y = 0; y < r->count[1]; y++)
            for (uint64_t x = 0; x < r->count[0]; x++, offset += SPARSE_TILE) {
                struct tile_pool *before = show(s, &s->tiles[r->first + z * r->slice + y * r->pitch + x], p, offset);
                if (before) tile_pool_put(before);
            }
}

/* Which tile, and where in it, an element is; the bytes of the piece that are in a row from there. */
static uint64_t locate(const struct sparse *s, unsigned level, size_t x, size_t y, size_t z, uint64_t *offset,
                       size_t *bytes)
{
    const struct level *l = &s->levels[level];
    uint64_t layer = s->shape.volume ? 0 : z, deep = s->shape.volume ? z : 0;
    if (level >= s->layout.tail_first) {
        uint64_t at = l->offset + layer * s->tail_stride + deep * l->row * l->rows + y * l->row + x;
        *offset = at % SPARSE_TILE;
        *bytes = SPARSE_TILE - *offset;
        return s->tail_tile + (s->layout.single ? 0 : layer * s->layout.tail_size / SPARSE_TILE) + at / SPARSE_TILE;
    }
    const unsigned *t = s->layout.tile;
    size_t width = t[0] * s->shape.element;
    *offset = ((deep % t[2]) * t[1] + y % t[1]) * width + x % width;
    *bytes = width - x % width;
    return l->first + (layer * l->tiles[2] + deep / t[2]) * l->tiles[0] * l->tiles[1] + y / t[1] * l->tiles[0] +
           x / width;
}

char *sparse_run(struct sparse *s, unsigned level, size_t x, size_t y, size_t z, size_t *bytes, struct tile_pool **held)
{
    uint64_t offset;
    struct tile *t = &s->tiles[locate(s, level, x, y, z, &offset, bytes)];
    pthread_mutex_lock(&s->lock);
    char *p = t->bytes ? t->bytes + offset : NULL;
    if ((*held = t->pool)) tile_pool_get(t->pool);
    pthread_mutex_unlock(&s->lock);
    return p;
}
