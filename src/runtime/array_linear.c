/* Deprecated copies of bytes in a row to and from arrays: where a row ends the next one goes on, so that a copy
 * is up to three rectangles. */
#include "runtime/array.h"
#include "runtime/copy.h"

struct place {
    cudaArray_t array; /* NULL: an address */
    char *at;          /* that address */
    size_t x, y, row;  /* bytes; SIZE_MAX: an address has no rows */
    size_t left;       /* bytes from there to the end */
};

static cudaError_t place(struct place *p, cudaArray_const_t array, size_t x, size_t y)
{
    *p = (struct place){ .array = (cudaArray_t)array, .x = x, .y = y };
    if (!array) return cudaErrorInvalidResourceHandle;
    size_t rows;
    cudaError_t r = runtime_rows(array, &p->row, &rows);
    if (r) return r;
    if (x >= p->row || y >= rows) return cudaErrorInvalidValue;
    p->left = (rows - y) * p->row - x;
    return cudaSuccess;
}

static struct place address(const void *p)
{
    return (struct place){ .at = (char *)p, .row = SIZE_MAX, .left = SIZE_MAX };
}

/* The next rectangle: width bytes of that many rows. */
static void rectangle(const struct place *to, const struct place *from, size_t left, size_t *width, size_t *rows)
{
    size_t row = to->row < from->row ? to->row : from->row, fits = to->row - to->x;
    if (from->row - from->x < fits) fits = from->row - from->x;
    *width = left < fits ? left : fits;
    *rows = 1;
    bool alike = to->row == from->row || !to->array || !from->array;
    if (alike && *width == row) *rows = left / row;
}

static void advance(struct place *p, size_t width, size_t rows)
{
    p->at += p->array ? 0 : width * rows;
    if (!p->array) return;
    p->x += width;
    p->y += rows - 1 + p->x / p->row;
    p->x %= p->row;
}

static cudaError_t one(const struct place *to, const struct place *from, size_t width, size_t rows,
                       enum cudaMemcpyKind kind, bool async, cudaStream_t s)
{
    if (to->array && from->array)
        return cudaMemcpy2DArrayToArray(to->array, to->x, to->y, from->array, from->x, from->y, width, rows, kind);
    if (to->array)
        return async ? cudaMemcpy2DToArrayAsync(to->array, to->x, to->y, from->at, width, width, rows, kind, s)
                     : cudaMemcpy2DToArray(to->array, to->x, to->y, from->at, width, width, rows, kind);
    return async ? cudaMemcpy2DFromArrayAsync(to->at, width, from->array, from->x, from->y, width, rows, kind, s)
                 : cudaMemcpy2DFromArray(to->at, width, from->array, from->x, from->y, width, rows, kind);
}

static cudaError_t copy(struct place to, struct place from, size_t left, enum cudaMemcpyKind kind, bool async,
                        cudaStream_t stream)
{
    CUmemorytype any;
    cudaError_t r = runtime_kind(kind, &any, &any);
    if (!r && (left > to.left || left > from.left)) r = cudaErrorInvalidValue;
    for (size_t width, rows; left && !r; left -= width * rows) {
        rectangle(&to, &from, left, &width, &rows);
        r = one(&to, &from, width, rows, kind, async, stream);
        advance(&to, width, rows);
        advance(&from, width, rows);
    }
    return r;
}

static cudaError_t copy_to(cudaArray_t dst, size_t x, size_t y, const void *src, size_t count, enum cudaMemcpyKind kind,
                           bool async, cudaStream_t stream)
{
    struct place to;
    if (!count) return runtime_ready();
    cudaError_t r = place(&to, dst, x, y);
    return r ? r : copy(to, address(src), count, kind, async, stream);
}

static cudaError_t copy_from(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t count,
                             enum cudaMemcpyKind kind, bool async, cudaStream_t stream)
{
    struct place from;
    if (!count) return runtime_ready();
    cudaError_t r = place(&from, src, x, y);
    return r ? r : copy(address(dst), from, count, kind, async, stream);
}

cudaError_t CUDARTAPI cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
                                        enum cudaMemcpyKind kind)
{
    return copy_to(dst, wOffset, hOffset, src, count, kind, false, NULL);
}

cudaError_t CUDARTAPI cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                             size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_to(dst, wOffset, hOffset, src, count, kind, true, stream);
}

cudaError_t CUDARTAPI cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                          size_t count, enum cudaMemcpyKind kind)
{
    return copy_from(dst, src, wOffset, hOffset, count, kind, false, NULL);
}

cudaError_t CUDARTAPI cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                               size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_from(dst, src, wOffset, hOffset, count, kind, true, stream);
}

cudaError_t CUDARTAPI cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                             cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc, size_t count,
                                             enum cudaMemcpyKind kind)
{
    struct place to, from;
    if (!count) return runtime_ready();
    cudaError_t r = place(&to, dst, wOffsetDst, hOffsetDst);
    if (!r) r = place(&from, src, wOffsetSrc, hOffsetSrc);
    return r ? r : copy(to, from, count, kind, false, NULL);
}
