/* Boxes of tensors and columns of pixels, as rows: a row is the box's elements
 * along the first dimension, or a slice of what is interleaved. */
#include "device/tensor_box.h"

static uint32_t row_bytes(const struct fl_tensor_map *m)
{
    return m->interleave ? fl_tensor_slice(m) : m->box[0] * fl_tensor_bytes(m->type);
}

static uint32_t in_steps(const struct fl_tensor_map *m, uint32_t d)
{
    return ((uint32_t)m->box[d] + m->steps[d] - 1) / m->steps[d];
}

/* The dimension of channels, or of slices of them. */
static uint32_t channels(const struct fl_tensor_map *m) { return m->interleave ? m->rank - 2u : 0; }
static bool is_place(const struct fl_tensor_map *m, uint32_t d) { return d != channels(m) && d != m->rank - 1u; }

/* ---- what is right */

static bool box_is_sound(const struct fl_tensor_map *m)
{
    uint64_t size = fl_tensor_bytes(m->type);
    for (uint32_t d = 0; d < m->rank; d++) {
        if (!m->box[d] || m->box[d] > FL_TENSOR_BOX) return false;
        size *= fl_tensor_counted(m->box[d], m->steps[d]);
    }
    return size <= FL_TENSOR_BOX_BYTES;
}

bool tensor_is_sound(const struct fl_tensor_map *m, uint32_t dimensions, bool columns)
{
    if (m->magic != FL_TENSOR_MAP_MAGIC || m->rank != dimensions || m->rank > FL_TENSOR_RANK ||
        m->type >= FL_TENSOR_TYPES || m->swizzle > 3 || m->interleave > 2 || m->address % TENSOR_CHUNK ||
        columns != !!m->pixels || ((columns || m->interleave) && m->rank < 3))
        return false;
    for (uint32_t d = 0; d < m->rank; d++)
        if (!m->steps[d] || (d && m->strides[d] % TENSOR_CHUNK)) return false;
    const uint64_t row = (uint64_t)m->box[0] * fl_tensor_bytes(m->type);
    if (row % TENSOR_CHUNK || (m->swizzle && !m->interleave && row > 16u << m->swizzle)) return false;
    return columns ? m->box[0] && m->box[0] <= FL_TENSOR_BOX && m->pixels <= FL_TENSOR_PIXELS : box_is_sound(m);
}

/* The first and last of a column's places in a dimension. */
static int64_t first_place(const struct fl_tensor_map *m, uint32_t d) { return m->lower[d - fl_tensor_place(m)]; }
static int64_t last_place(const struct fl_tensor_map *m, uint32_t d)
{
    return (int64_t)m->dims[d] + m->upper[d - fl_tensor_place(m)];
}

/* Observed on an H200: rows are read and written in whole chunks, and nothing is stored before the tensor's beginning, or
 * in columns that may leave it. */
bool tensor_may_begin(const struct fl_tensor_map *m, const int32_t *coordinates, bool stores)
{
    for (uint32_t d = 0; d < m->rank; d++) {
        if (stores && coordinates[d] < 0) return false;
        if (!m->pixels || !is_place(m, d)) continue;
        const int64_t first = first_place(m, d), last = last_place(m, d);
        if (coordinates[d] < first || coordinates[d] > last || (stores && (first < 0 || last > m->dims[d])))
            return false;
    }
    return m->interleave || coordinates[0] * (int64_t)fl_tensor_bytes(m->type) % TENSOR_CHUNK == 0;
}

/* ---- rows */

static void box_axis(struct tensor_axis *a, const struct fl_tensor_map *m, uint32_t d)
{
    a->first = a->at;
    a->last = a->at + (m->interleave && d == channels(m) ? 0 : (int64_t)m->box[d] - 1);
}

/* Images follow each other without end. */
static void column_axis(struct tensor_axis *a, const struct fl_tensor_map *m, uint32_t d)
{
    a->first = is_place(m, d) ? first_place(m, d) : a->at;
    a->last = is_place(m, d) ? last_place(m, d) : d == channels(m) ? a->at : INT64_MAX;
}

/* Offsets share 16 bits. What is too large for its own is cut off, but where there are three, which are added up (observed
 * on an H200). */
static uint32_t offset(const struct fl_tensor_map *m, const int32_t *offsets, uint32_t k)
{
    const uint32_t n = m->rank - 2, bits = 16 / n, mask = (1u << bits) - 1;
    uint32_t packed = 0;
    for (uint32_t i = 0; i < n; i++) packed += ((uint32_t)offsets[i] & (n == 3 ? 0xffff : mask)) << i * bits;
    return packed >> k * bits & mask;
}

void tensor_box(struct tensor_box *x, const int32_t *coordinates, bool shifted)
{
    const struct fl_tensor_map *m = &x->map;
    const uint32_t each = fl_tensor_bytes(m->type);
    x->row = row_bytes(m);
    x->pitch = m->swizzle && !m->interleave ? 16u << m->swizzle : x->row;
    x->begin = m->interleave ? 0 : (int64_t)coordinates[0] * each;
    x->end = m->interleave ? x->row : ((int64_t)m->dims[0] + 1) * each;
    x->rows = m->pixels ? m->pixels : 1;
    for (uint32_t d = m->interleave ? 0 : 1; d < m->rank; d++) {
        struct tensor_axis *a = &x->axis[x->axes++];
        *a = (struct tensor_axis){
            .at = coordinates[d], .limit = m->dims[d], .stride = d ? m->strides[d] : x->row, .step = m->steps[d]
        };
        if (m->pixels)
            column_axis(a, m, d);
        else
            box_axis(a, m, d);
        if (shifted && is_place(m, d)) a->shift = offset(m, coordinates + FL_TENSOR_RANK, d - fl_tensor_place(m));
        if (!m->pixels && !(m->interleave && d == channels(m))) x->rows *= in_steps(m, d);
    }
}

static void next_row(struct tensor_box *x)
{
    for (uint32_t k = 0; k < x->axes; k++) {
        struct tensor_axis *a = &x->axis[k];
        a->at += a->step;
        if (a->at <= a->last) return;
        a->at = a->first;
    }
}

uint64_t tensor_row(struct tensor_box *x, uint32_t *first, uint32_t *end)
{
    uint64_t address = x->map.address + (uint64_t)x->begin;
    const int64_t left = x->end - x->begin;
    *first = x->begin >= 0 ? 0 : -x->begin < x->row ? (uint32_t)-x->begin : x->row;
    *end = left <= 0 ? 0 : left < x->row ? (uint32_t)left : x->row;
    for (uint32_t k = 0; k < x->axes; k++) {
        const struct tensor_axis *a = &x->axis[k];
        const int64_t at = a->at + a->shift;
        if (at < 0 || at > a->limit) *end = 0;
        address += (uint64_t)at * a->stride;
    }
    next_row(x);
    return address;
}
