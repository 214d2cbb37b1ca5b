/* CUDA arrays: linear storage of rows in device memory, or tiles (vmm/sparse.h)
 * that are mapped when the user wants. */
#ifndef FL_API_ARRAY_H
#define FL_API_ARRAY_H

#include "base/objects.h"
#include "base/uses.h"
#include "space/space.h"
#include "vmm/sparse.h"

enum { ARRAY_MAPPED = CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING, ARRAY_LEVELS = 32 };

struct array {                     /* CUarray_st */
    struct object_link link;
    struct uses uses;              /* calls that have it from array_get, until array_end */
    _Atomic uint64_t life;         /* of all arrays that ever were, whichever were here; 0: its memory is gone */
    CUDA_ARRAY3D_DESCRIPTOR desc;
    struct context *context;
    struct allocation *memory;     /* NULL: it has tiles */
    struct sparse *tiles;          /* the mipmapped array's if it is a level of one */
    struct mipmapped *mipmap;      /* that it is a level of, or NULL */
    unsigned level;
    size_t element, row;           /* bytes of an element, or a compressed block, of a row */
    size_t rows, slices;           /* at least 1 */
    struct array *next;
};
struct mipmapped {                 /* CUmipmappedArray_st */
    struct object_link link;
    struct uses uses;              /* as of an array */
    CUDA_ARRAY3D_DESCRIPTOR desc;
    struct context *context;
    struct sparse *tiles;          /* NULL: the levels have memory */
    struct array *levels[ARRAY_LEVELS];
    unsigned count;
    struct mipmapped *next;
};

/* CUDA_ERROR_INVALID_HANDLE unless it is a living array. It stays until the end, which returns r. */
CUresult array_get(CUarray handle, struct array **out);
CUresult array_end(struct array *a, CUresult r);
/* The same for one that was found before, the one that lived then; that it is being destroyed does not matter yet. */
CUresult array_get_again(struct array *a, uint64_t life);
CUresult mipmap_get(CUmipmappedArray handle, struct mipmapped **out);
CUresult mipmap_end(struct mipmapped *m, CUresult r);

/* Bytes of an element, of compressed formats of a block; 0: format and channels do not go together. */
size_t array_piece_bytes(CUarray_format format, unsigned channels);

/* What mipmap.c shares with array.c. */
CUresult array_check(const struct context *c, const CUDA_ARRAY3D_DESCRIPTOR *d);
CUresult array_tiles(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels, struct sparse **out);
/* The caller has checked d. Without tiles the array gets memory. */
CUresult array_create(struct context *c, const CUDA_ARRAY3D_DESCRIPTOR *d, struct sparse *tiles, struct array **out);
/* Of a level of a mipmapped one: nobody finds it any more, and no call has it; then it goes. */
void array_withdraw(struct array *a);
void array_free(struct array *a);
void mipmap_release_context(struct context *c);

/* Frees the arrays of a dying context. */
extern const struct space_owner array_owner;

#endif
