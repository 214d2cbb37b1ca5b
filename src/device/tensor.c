/* Copies of tensors: rows between global memory, where they lie as tensor_box.h
 * says, and shared memory, where they lie densely, or swizzled. */
#include "device/block.h"
#include "device/device.h"
#include "device/rt.h"
#include "device/tensor_box.h"

#include <string.h>

enum { CHUNK = TENSOR_CHUNK, MOST_ROW = FL_TENSOR_BOX * 8 };

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

static void load(struct fl_block *b, struct tensor_box *x, uint64_t shared, uint64_t mbarrier, uint32_t mask)
{
    uint8_t row[MOST_ROW], blank[MOST_ROW];
    fill(blank, x->row, &x->map);
    for (uint32_t n = 0; n < x->rows; n++) {
        uint32_t first, end;
        uint64_t from = tensor_row(x, &first, &end);
        memcpy(row, blank, x->row);
        if (first < end) {
            tell(b, from + first, end - first, FL_ACCESS_READ);
            memcpy(row + first, (const void *)(from + first), end - first);
            convert(row + first, end - first, x->map.type);
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
static void store(struct fl_block *b, struct tensor_box *x, uint64_t shared, struct place p, uint32_t what)
{
    uint8_t row[MOST_ROW];
    bool reduces = what >> FL_REDUCE_OP & 255;
    for (uint32_t n = 0; n < x->rows; n++) {
        uint32_t first, end;
        uint64_t to = tensor_row(x, &first, &end);
        if (first >= end) continue;
        end = (end + CHUNK - 1) / CHUNK * CHUNK;
        get_row(shared + n * x->pitch, row, x->row, x->map.swizzle);
        tell(b, to + first, end - first, reduces ? FL_ACCESS_REDUCTION : FL_ACCESS_WRITE);
        if (reduces)
            device_reduce(b, p.thread, p.line, to + first, (uint64_t)(row + first), end - first,
                          (what & 255u << FL_REDUCE_OP) | (uint32_t)x->map.type << FL_REDUCE_TYPE);
        else
            memcpy((void *)(to + first), row + first, end - first);
    }
}

void device_tensor(struct fl_block *b, uint32_t t, uint32_t line, uint64_t map, uint64_t shared,
                   const int32_t *coordinates, uint64_t mbarrier, uint32_t mask, uint32_t what)
{
    struct tensor_box x = { .axes = 0 };
    const bool columns = what & FL_TENSOR_COLUMNS, stores = what & FL_TENSOR_STORE;
    memcpy(&x.map, (const void *)map, sizeof x.map);
    if (!tensor_is_sound(&x.map, what & FL_TENSOR_DIMENSIONS, columns))
        fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, "the tensor map is none, or one of another rank or mode");
    if (!tensor_may_begin(&x.map, coordinates, stores))
        fault_raise(
            FAULT_ILLEGAL_INSTRUCTION, t, line,
            columns ? "a column that begins outside of its bounds or within 16 bytes of a tensor's row, or is stored "
                      "with bounds outside of the tensor"
                    : "a box that begins within 16 bytes of a tensor's row, or is stored before its beginning");
    tensor_box(&x, coordinates, columns && !stores);
    if (stores) {
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
    default: m.interleave = (uint8_t)v; break;
    }
    memcpy((void *)map, &m, sizeof m);
}
