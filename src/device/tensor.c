/* Copies of tensors: boxes between global memory, where a tensor map
 * (ptx/tensor_map.h) tells how a tensor lies, and shared memory, where they lie
 * densely, or swizzled. A row is a box's elements along the first dimension. */
#include "device/block.h"
#include "device/device.h"
#include "device/rt.h"
#include "ptx/tensor_map.h"

#include <string.h>

enum { CHUNK = 16, MOST_ROW = FL_TENSOR_BOX * 8 };

/* ---- in shared memory */

/* The rows' chunks of 16 bytes change places by address bits further up. */
static uint64_t swizzled(uint64_t at, uint32_t swizzle)
{
    return swizzle ? at ^ (at >> 7 & ((1u << swizzle) - 1)) << 4 : at;
}

static void put_row(uint64_t to, const uint8_t *row, uint32_t bytes, uint32_t swizzle)
{
    if (!swizzle) memcpy((void *)to, row, bytes);
    for (uint32_t k = 0; swizzle && k < bytes; k += CHUNK) memcpy((void *)swizzled(to + k, swizzle), row + k, CHUNK);
}

static void get_row(uint64_t from, uint8_t *row, uint32_t bytes, uint32_t swizzle)
{
    if (!swizzle) memcpy(row, (const void *)from, bytes);
    for (uint32_t k = 0; swizzle && k < bytes; k += CHUNK)
        memcpy(row + k, (const void *)swizzled(from + k, swizzle), CHUNK);
}

/* The same place in the shared memory of the block of that rank. */
static uint64_t in_block(struct fl_block *b, uint64_t address, uint32_t rank)
{
    return address - b->windows[device_ctarank(b, address)] + b->windows[rank];
}

static uint32_t cluster_size(const struct fl_block *b) { return b->cluster[0] * b->cluster[1] * b->cluster[2]; }

/* ---- in global memory */

struct box {
    struct fl_tensor_map map;
    int64_t at[FL_TENSOR_RANK];     /* of its first element */
    uint32_t count[FL_TENSOR_RANK]; /* of its elements that are copied */
    uint32_t each, row; /* bytes of an element, and of a row */
    uint32_t pitch;     /* from row to row in shared memory; what is swizzled takes as much as it could */
    uint32_t rows;
};

/* What is valid of the n-th row, elements *first .. *end-1, and where the element 0 of it would be. */
static uint64_t find_row(const struct box *x, uint32_t n, uint32_t *first, uint32_t *end)
{
    uint64_t address = x->map.address + (uint64_t)x->at[0] * x->each;
    int64_t left = (int64_t)x->map.dims[0] + 1 - x->at[0];
    *first = x->at[0] >= 0 ? 0 : -x->at[0] < x->count[0] ? (uint32_t)-x->at[0] : x->count[0];
    *end = left <= 0 ? 0 : left < x->count[0] ? (uint32_t)left : x->count[0];
    for (uint32_t d = 1; d < x->map.rank; d++) {
        int64_t at = x->at[d] + (int64_t)(n % x->count[d]) * x->map.steps[d];
        n /= x->count[d];
        if (at < 0 || at > x->map.dims[d]) *end = 0;
        address += (uint64_t)at * x->map.strides[d];
    }
    return address;
}

static void tell(struct fl_block *b, uint64_t address, uint32_t bytes, uint32_t access)
{
    if (!((const struct frame *)b)->code.told) return;
    managed_accessed(b, address, access);
    managed_accessed(b, address + bytes - 1, access);
}

/* ---- elements that change on their way */

/* To ten bits behind the point: to nearest, to even. All NaNs are one (observed on an H200). */
static uint32_t shortened(uint32_t v)
{
    if ((v & 0x7fffffff) > 0x7f800000) return 0x7fffe000;
    return (v + 0xfff + (v >> 13 & 1)) & 0xffffe000;
}

/* Subnormals stay, also where the type says that they are flushed (observed on an H200). */
static void convert(uint8_t *row, uint32_t bytes, uint32_t type)
{
    for (uint32_t k = 0; type >= FL_TENSOR_TF32 && k < bytes; k += 4) {
        uint32_t v;
        memcpy(&v, row + k, 4);
        v = shortened(v);
        memcpy(row + k, &v, 4);
    }
}

/* The NaN is one of halves, whatever the type (observed on an H200). */
static void fill(uint8_t *row, uint32_t bytes, const struct fl_tensor_map *m)
{
    static const uint16_t nan = 0x7ff7;
    memset(row, 0, bytes);
    for (uint32_t k = 0; m->fill && k < bytes; k += sizeof nan) memcpy(row + k, &nan, sizeof nan);
}

/* ---- copies */

static void load(struct fl_block *b, const struct box *x, uint64_t shared, uint64_t mbarrier, uint32_t mask)
{
    uint8_t row[MOST_ROW], blank[MOST_ROW];
    fill(blank, x->row, &x->map);
    for (uint32_t n = 0; n < x->rows; n++) {
        uint32_t first, end;
        uint64_t from = find_row(x, n, &first, &end);
        memcpy(row, blank, x->row);
        if (first < end) {
            uint32_t skip = first * x->each, bytes = (end - first) * x->each;
            tell(b, from + skip, bytes, FL_ACCESS_READ);
            memcpy(row + skip, (const void *)(from + skip), bytes);
            convert(row + skip, bytes, x->map.type);
        }
        for (uint32_t left = mask; left; left &= left - 1) {
            uint64_t to = in_block(b, shared, (uint32_t)__builtin_ctz(left));
            put_row(to + n * x->pitch, row, x->row, x->map.swizzle);
        }
    }
    for (uint32_t left = mask; left; left &= left - 1)
        device_mbarrier(b, in_block(b, mbarrier, (uint32_t)__builtin_ctz(left)), FL_MBARRIER_COMPLETE,
                        x->rows * x->row);
}

struct place {
    uint32_t thread, line;
};

/* What is stored ends where a chunk does, be it behind the tensor's last element (observed on an H200). */
static void store(struct fl_block *b, const struct box *x, uint64_t shared, struct place p, uint32_t what)
{
    uint8_t row[MOST_ROW];
    bool reduces = what >> FL_REDUCE_OP & 255;
    for (uint32_t n = 0; n < x->rows; n++) {
        uint32_t first, end;
        uint64_t to = find_row(x, n, &first, &end);
        if (first >= end) continue;
        uint32_t skip = first * x->each, bytes = (end - first) * x->each;
        if (!reduces) bytes = (skip + bytes + CHUNK - 1) / CHUNK * CHUNK - skip;
        get_row(shared + n * x->pitch, row, x->row, x->map.swizzle);
        tell(b, to + skip, bytes, reduces ? FL_ACCESS_REDUCTION : FL_ACCESS_WRITE);
        if (reduces)
            device_reduce(b, p.thread, p.line, to + skip, (uint64_t)(row + skip), bytes,
                          (what & 255u << FL_REDUCE_OP) | (uint32_t)x->map.type << FL_REDUCE_TYPE);
        else
            memcpy((void *)(to + skip), row + skip, bytes);
    }
}

static bool is_sound(const struct fl_tensor_map *m, uint32_t dimensions)
{
    if (m->magic != FL_TENSOR_MAP_MAGIC || m->rank != dimensions || m->rank > FL_TENSOR_RANK ||
        m->type >= FL_TENSOR_TYPES || m->swizzle > 3 || m->address % CHUNK)
        return false;
    uint64_t size = fl_tensor_bytes(m->type);
    const uint64_t row = m->box[0] * size;
    for (uint32_t d = 0; d < m->rank; d++) {
        if (!m->box[d] || m->box[d] > FL_TENSOR_BOX || !m->steps[d] || (d && m->strides[d] % CHUNK)) return false;
        size *= m->box[d];
    }
    return row % CHUNK == 0 && (!m->swizzle || row <= 16u << m->swizzle) && size <= FL_TENSOR_BOX_BYTES;
}

/* Observed on an H200: rows are read and written in whole chunks, and nothing is stored before the tensor's beginning. */
static bool may_be_at(const struct fl_tensor_map *m, const int32_t *coordinates, bool stores)
{
    for (uint32_t d = 0; d < m->rank && stores; d++)
        if (coordinates[d] < 0) return false;
    return coordinates[0] * (int64_t)fl_tensor_bytes(m->type) % CHUNK == 0;
}

void device_tensor(struct fl_block *b, uint32_t t, uint32_t line, uint64_t map, uint64_t shared,
                   const int32_t *coordinates, uint64_t mbarrier, uint32_t mask, uint32_t what)
{
    struct box x = { .rows = 1 };
    memcpy(&x.map, (const void *)map, sizeof x.map);
    if (!is_sound(&x.map, what & FL_TENSOR_DIMENSIONS))
        fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, "the tensor map is none, or one of another rank");
    if (!may_be_at(&x.map, coordinates, what & FL_TENSOR_STORE))
        fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line,
                    "a box that begins within 16 bytes of a tensor's row, or is stored before its beginning");
    x.each = fl_tensor_bytes(x.map.type);
    x.row = x.map.box[0] * x.each;
    x.pitch = x.map.swizzle ? 16u << x.map.swizzle : x.row;
    for (uint32_t d = 0; d < x.map.rank; d++) {
        x.at[d] = coordinates[d];
        x.count[d] = (x.map.box[d] + (d ? x.map.steps[d] : 1u) - 1) / (d ? x.map.steps[d] : 1u);
        if (d) x.rows *= x.count[d];
    }
    if (what & FL_TENSOR_STORE) {
        store(b, &x, shared, (struct place){ t, line }, what);
        return;
    }
    if (!mask) mask = 1u << device_ctarank(b, shared);
    if (mask >> cluster_size(b)) fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, "the cluster has no such block");
    load(b, &x, shared, mbarrier, mask);
}

void device_multicast(struct fl_block *b, uint32_t t, uint32_t line, uint64_t to, uint64_t from, uint32_t bytes,
                      uint64_t mbarrier, uint32_t mask)
{
    if (mask >> cluster_size(b)) fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, "the cluster has no such block");
    for (; mask; mask &= mask - 1) {
        uint32_t rank = (uint32_t)__builtin_ctz(mask);
        memmove((void *)in_block(b, to, rank), (const void *)from, bytes);
        device_mbarrier(b, in_block(b, mbarrier, rank), FL_MBARRIER_COMPLETE, bytes);
    }
}

/* ---- tensormap.replace */

/* PTX numbers the types otherwise than the driver. */
static const uint8_t types[] = { FL_TENSOR_U8,   FL_TENSOR_U16,  FL_TENSOR_U32,     FL_TENSOR_S32,     FL_TENSOR_U64,
                                 FL_TENSOR_S64,  FL_TENSOR_F16,  FL_TENSOR_F32,     FL_TENSOR_F32_FTZ, FL_TENSOR_F64,
                                 FL_TENSOR_BF16, FL_TENSOR_TF32, FL_TENSOR_TF32_FTZ };

void device_tensor_replace(struct fl_block *b, uint32_t t, uint32_t line, uint64_t map, uint32_t field,
                           uint32_t ordinal, uint64_t v)
{
    struct fl_tensor_map m;
    const uint32_t last = field == FL_TENSOR_FIELD_STRIDE ? FL_TENSOR_RANK - 2 : FL_TENSOR_RANK - 1;
    (void)b;
    memcpy(&m, (const void *)map, sizeof m);
    m.magic = FL_TENSOR_MAP_MAGIC; /* maps are also made of zeros */
    if (ordinal > last) fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, "tensors have no such dimension");
    switch (field) {
    case FL_TENSOR_FIELD_ADDRESS: m.address = v; break;
    case FL_TENSOR_FIELD_RANK: m.rank = (uint8_t)(v + 1); break;
    case FL_TENSOR_FIELD_BOX: m.box[ordinal] = (uint16_t)v; break;
    case FL_TENSOR_FIELD_DIM: m.dims[ordinal] = (uint32_t)v - 1; break;
    case FL_TENSOR_FIELD_STRIDE: m.strides[ordinal + 1] = v; break;
    case FL_TENSOR_FIELD_STEP: m.steps[ordinal] = (uint8_t)v; break;
    case FL_TENSOR_FIELD_TYPE: m.type = v < sizeof types ? types[v] : FL_TENSOR_TYPES; break;
    case FL_TENSOR_FIELD_SWIZZLE: m.swizzle = (uint8_t)v; break;
    case FL_TENSOR_FIELD_FILL: m.fill = (uint8_t)v; break;
    default:
        if (v) fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, "interleaved tensors are not supported");
    }
    memcpy((void *)map, &m, sizeof m);
}
