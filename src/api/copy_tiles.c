/* Copies to and from arrays made of tiles, piece by piece. What is not mapped
 * reads as zero and takes no writes, unless the array is one that must be
 * mapped as a whole: touching it is then a fault of the GPU's. */
#include "api/array.h"
#include "api/copy.h"
#include "context/context.h"

#include <string.h>

struct piece {
    char *bytes; /* NULL: a hole */
    struct tile_pool *held;
};

/* Byte x of row (y, z) of the box on one side; *bytes shrinks to what lies in a row there. */
static CUresult find(const struct copy *c, const struct side *s, size_t x, size_t y, size_t z, size_t *bytes,
                     struct piece *out)
{
    size_t run;
    *out = (struct piece){ 0 };
    if (!s->array) {
        out->bytes = span_reach(&s->span, c->pieces, z * s->slice + y * s->pitch + x, bytes);
        return CUDA_SUCCESS;
    }
    out->bytes = sparse_run(s->array->tiles, s->array->level, s->x + x, s->y + y, s->z + z, &run, &out->held);
    if (run < *bytes) *bytes = run;
    return out->bytes || s->array->desc.Flags & CUDA_ARRAY3D_SPARSE ? CUDA_SUCCESS
                                                                    : sticky_set(CUDA_ERROR_LAUNCH_FAILED);
}

static void let_go(struct piece *p)
{
    if (p->held) tile_pool_put(p->held);
}

static CUresult copy_row(const struct copy *c, size_t y, size_t z)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t x = 0, bytes; x < c->width && !r; x += bytes) {
        struct piece to, from = { 0 };
        bytes = c->width - x;
        if (!(r = find(c, &c->to, x, y, z, &bytes, &to))) r = find(c, &c->from, x, y, z, &bytes, &from);
        if (!r && to.bytes && from.bytes) memmove(to.bytes, from.bytes, bytes);
        if (!r && to.bytes && !from.bytes) memset(to.bytes, 0, bytes);
        let_go(&to);
        let_go(&from);
    }
    return r;
}

CUresult copy_tiles(const struct copy *c)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t z = 0; z < c->depth && !r; z++)
        for (size_t y = 0; y < c->height && !r; y++) r = copy_row(c, y, z);
    /* pageable memory is copied from a staging buffer, after the call has returned */
    return c->from.pageable ? CUDA_SUCCESS : r;
}
