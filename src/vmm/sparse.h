/* The tiles of sparse arrays: which 64 KiB tile of an array, or of a mipmapped
 * array with all its levels and layers, lies where in a tile pool. Knows
 * shapes, tile extents and mip tails; knows nothing of formats and descriptors,
 * and copies nothing.
 *
 * A level that spans at least one tile in every dimension is made of tiles.
 * From the first that does not, levels are the mip tail: bytes in a row, one
 * tail for each layer, or a single one for all layers if even level 0 is in it.
 * An array whose memory is mapped later as a whole (deferred) is all tail. */
#ifndef FL_VMM_SPARSE_H
#define FL_VMM_SPARSE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPARSE_TILE = 64 << 10 };   /* bytes */

struct sparse;
struct vmm_memory;

/* A tile pool in use: counted by tiles that show it, operations that will, copies under way. */
struct tile_pool;
/* Takes over the caller's reference of m. CUDA_ERROR_OUT_OF_MEMORY: it is put back. */
CUresult tile_pool_open(struct vmm_memory *m, struct tile_pool **out);
void tile_pool_put(struct tile_pool *p);

struct sparse_shape {
    size_t width, height, depth;   /* of level 0, in texels; depth 1 unless volume */
    size_t layers, element;        /* bytes of an element: a power of two, at most 16 */
    unsigned block;                /* elements that are compressed together have so many texels in a row, and rows */
    unsigned levels;
    bool volume;                   /* three-dimensional */
    bool deferred;                 /* mapped as a whole or not at all */
};
struct sparse_layout {
    unsigned tile[3];              /* in elements */
    unsigned tail_first;           /* the number of levels: no tail */
    uint64_t tail_size;            /* of each layer, or of all if single; a multiple of SPARSE_TILE */
    bool single;
};

/* Bytes that a GPU needs for an array of this shape whose memory is not mapped. */
uint64_t sparse_gpu_bytes(const struct sparse_shape *shape);

/* Without memory. The shape was checked. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sparse_create(const struct sparse_shape *shape, struct sparse **out);
/* Lets go of all memory that tiles still hold. */
void sparse_destroy(struct sparse *s);
const struct sparse_layout *sparse_layout(const struct sparse *s);

/* Tiles in the order in which they take memory: x first, then y, then z. */
struct sparse_region {
    uint64_t first;                /* tile */
    uint64_t count[3], pitch, slice; /* tiles of a row, rows, slices; tiles from one to the next */
};
/* A box of a level, in elements. CUDA_ERROR_INVALID_VALUE unless it begins with a tile and ends with
 * one or with the level, and not beyond it (the last tiles may be cut off: observed on H200). */
CUresult sparse_box(const struct sparse *s, unsigned level, unsigned layer, const unsigned offset[3],
                    const unsigned extent[3], struct sparse_region *out);
/* Bytes of the mip tail of a layer (0 if there is a single one); likewise. */
CUresult sparse_tail(const struct sparse *s, unsigned layer, uint64_t offset, uint64_t size, struct sparse_region *out);
/* Everything: of a deferred array. */
void sparse_whole(const struct sparse *s, struct sparse_region *out);
uint64_t sparse_bytes(const struct sparse_region *r);

/* From now on the region shows [offset, offset + its bytes) of p, or nothing if p is NULL. */
void sparse_map(struct sparse *s, const struct sparse_region *r, struct tile_pool *p, uint64_t offset);

/* The bytes from byte x of row y of slice (or layer) z of a level to the end of their piece, at
 * least one element: where this process reaches them, NULL if nothing is mapped. *held, unless
 * NULL, keeps them until the caller puts it back. */
char *sparse_run(struct sparse *s, unsigned level, size_t x, size_t y, size_t z, size_t *bytes, struct tile_pool **held);

#endif
