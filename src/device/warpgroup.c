/* Products of warpgroups (wgmma): where a matrix in shared memory has its
 * elements, as the PTX manual describes descriptors, and the 16 rows of the
 * product that a warp makes. How floating-point sums are rounded is sums.h's. */
#include "device/block.h"
#include "device/device.h"
#include "device/sparse.h"
#include "device/sums.h"

#include <string.h>

enum {
    ROWS = 16,  /* a warp's */
    TILE = 8,   /* columns that are computed side by side */
    CHUNK = 16, /* bytes that a descriptor keeps together */
    MOST_COLUMNS = 256,
    MOST_STORED = 32, /* elements in FL_WARPGROUP_DEPTH bytes, which are converted */
    MOST_DEPTH = 2 * MOST_STORED,
    BIT_WORDS = FL_WARPGROUP_DEPTH / 8,
    SHARED_BITS = 0x3ffff,
};

typedef double vector __attribute__((vector_size(TILE * 8)));
typedef float singles __attribute__((vector_size(TILE * 4)));
typedef int32_t integers __attribute__((vector_size(TILE * 4)));
typedef int32_t quarter __attribute__((vector_size(16)));

/* ---- matrices in shared memory */

struct layout {
    uint32_t start, leading, stride;
    uint32_t width;           /* bytes of a swizzled row, 16 if nothing is swizzled */
    uint32_t first_row, rows; /* of a pattern; rows is a power of two minus one */
};

static struct layout layout_of(uint64_t descriptor)
{
    static const uint8_t widths[] = { 16, 128, 64, 32 };
    struct layout l = { .start = (uint32_t)(descriptor & 0x3fff) << 4,
                        .leading = (uint32_t)(descriptor >> 16 & 0x3fff) << 4,
                        .stride = (uint32_t)(descriptor >> 32 & 0x3fff) << 4,
                        .width = widths[descriptor >> 62],
                        .first_row = (uint32_t)(descriptor >> 49 & 7) };
    l.rows = l.width / CHUNK - 1;
    return l;
}

/* Of the chunk with depths part * 16 bytes ... of the line-th row of A, or column of B. */
static uint32_t offset_along_depth(const struct layout *l, uint32_t line, uint32_t part)
{
    uint32_t per = l->width / CHUNK;
    return line / 8 * l->stride + line % 8 * l->width + part / per * l->leading + part % per * CHUNK;
}

/* Of the chunk with 8 lines, the part-th such, at one depth. */
static uint32_t offset_across_depth(const struct layout *l, uint32_t depth, uint32_t part)
{
    uint32_t per = l->width / CHUNK;
    uint32_t next_part = per == 1 ? l->stride : l->leading, next_depths = per == 1 ? l->leading : l->stride;
    return part / per * next_part + part % per * CHUNK + depth / 8 * next_depths + depth % 8 * l->width;
}

struct access {
    const struct fl_block *b;
    uint32_t base, line; /* of the warp, and of the PTX, if something is wrong */
};

static void fetch(const struct access *x, const struct layout *l, uint32_t offset, void *to)
{
    uint32_t at = (l->start + offset) & SHARED_BITS;
    at ^= (((at >> 7) - l->first_row) & l->rows) << 4;
    if (at + CHUNK > ((const struct frame *)x->b)->window_open)
        fault_raise_address((uint64_t)x->b->shared + at, x->base, x->line);
    memcpy(to, x->b->shared + at, CHUNK);
}

/* Lines first .. first+count-1 of so many bytes, as they lie in memory: each line's depths, or each depth's lines, one
 * after the other. */
static void fetch_lines(const struct access *x, const struct layout *l, bool transposed, uint32_t first, uint32_t count,
                        uint32_t bytes, uint8_t *to)
{
    if (transposed) /* only elements of two bytes ever are */
        for (uint32_t depth = 0; depth < bytes / 2; depth++)
            for (uint32_t part = 0; part < count / 8; part++, to += CHUNK)
                fetch(x, l, offset_across_depth(l, depth, first / 8 + part), to);
    else
        for (uint32_t line = first; line < first + count; line++)
            for (uint32_t part = 0; part < bytes / CHUNK; part++, to += CHUNK)
                fetch(x, l, offset_along_depth(l, line, part), to);
}

/* ---- elements */

static double of_bits(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static uint64_t bits_of(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, 8);
    return bits;
}

/* Without the library's conversion, which would be slower than all the rest. */
static double of_half(uint32_t h)
{
    uint64_t special = (h & 0x7c00) == 0x7c00 ? 0x7ffull << 52 : 0;
    double d = of_bits((uint64_t)(h & 0x7fff) << 42) * 0x1p1008;
    return of_bits(bits_of(d) | special | (uint64_t)(h & 0x8000) << 48);
}

static double of_e4m3(uint32_t v)
{
    uint64_t special = (v & 127) == 127 ? 0x7ffull << 52 : 0;
    double d = of_bits((uint64_t)(v & 127) << 49) * 0x1p1016;
    return of_bits(bits_of(d) | special | (uint64_t)(v & 128) << 56);
}

static double of_single(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

#define EACH(type, expression) \
    for (uint32_t n = 0; n < count; n++) { \
        type v; \
        memcpy(&v, from + n * sizeof v, sizeof v); \
        to[n] = (expression); \
    } \
    break

static void convert(enum fl_matrix_type t, const uint8_t *from, uint32_t count, double *to)
{
    switch (t) {
    case FL_MATRIX_F16: EACH(uint16_t, of_half(v));
    case FL_MATRIX_BF16: EACH(uint16_t, of_single((uint32_t)v << 16));
    case FL_MATRIX_TF32: EACH(uint32_t, of_single(v & 0xffffe000u));
    case FL_MATRIX_E4M3: EACH(uint8_t, of_e4m3(v));
    case FL_MATRIX_E5M2: EACH(uint8_t, of_half((uint32_t)v << 8));
    case FL_MATRIX_S8: EACH(int8_t, v);
    default: EACH(uint8_t, v);
    }
}

/* ---- A and B */

struct product {
    struct fl_warpgroup_product p;
    uint32_t stored, depth; /* elements of a row of A that there are, rows of B */
    bool adds;
    double a[ROWS][MOST_STORED];
    uint8_t depths[SPARSE_ROWS * SPARSE_MOST]; /* of a sparse A's elements */
    const double (*b)[TILE];               /* [tile * depth + k]: a row of eight columns */
    uint64_t a_bits[ROWS][BIT_WORDS];      /* of matrices of bits, and B's [column] */
    const uint64_t (*b_bits)[BIT_WORDS];
    uint8_t *sums[FL_WARPGROUP_REGISTERS]; /* by register: 32 lanes' words */
};

/* The rows of a fragment are as mma's. */
static void take_registers(const struct fl_block *b, uint32_t base, uint8_t *raw)
{
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint64_t pairs[] = { b->op_a[base + lane], b->op_c[base + lane] };
        for (uint32_t r = 0; r < 4; r++) {
            uint32_t word = (uint32_t)(pairs[r / 2] >> r % 2 * 32);
            memcpy(raw + (lane / 4 + r % 2 * 8) * FL_WARPGROUP_DEPTH + (r / 2 * 4 + lane % 4) * 4, &word, 4);
        }
    }
}

static void take_a(struct product *m, const struct access *x)
{
    const struct fl_block *b = x->b;
    uint8_t raw[ROWS * FL_WARPGROUP_DEPTH];
    if (m->p.a_in_registers) {
        take_registers(b, x->base, raw);
    } else {
        struct layout l = layout_of(b->op_a[x->base]);
        fetch_lines(x, &l, m->p.a_transposed, x->base / 32 % 4 * ROWS, ROWS, FL_WARPGROUP_DEPTH, raw);
    }
    double each[ROWS];
    for (uint32_t k = 0; m->p.a_transposed && k < m->stored; k++) {
        convert(m->p.a, raw + k * ROWS * 2, ROWS, each);
        for (uint32_t row = 0; row < ROWS; row++) m->a[row][k] = each[row];
    }
    if (m->p.a == FL_MATRIX_B1)
        memcpy(m->a_bits, raw, sizeof raw);
    else
        for (uint32_t row = 0; !m->p.a_transposed && row < ROWS; row++)
            convert(m->p.a, raw + row * FL_WARPGROUP_DEPTH, m->stored, m->a[row]);
    if (m->p.sparse) sparse_depths(m->p.a, m->stored, b->op_mask + x->base, m->p.selector, m->depths);
    if (m->p.a_negated == m->p.b_negated) return;
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t k = 0; k < m->stored; k++) m->a[row][k] = -m->a[row][k];
}

static void convert_b(const struct product *m, const uint8_t *raw, uint32_t bytes, double (*to)[TILE])
{
    double line[MOST_DEPTH];
    const uint32_t depth = m->depth;
    for (uint32_t tile = 0; tile < m->p.columns / TILE; tile++, to += depth)
        if (m->p.b_transposed)
            for (uint32_t k = 0; k < depth; k++)
                convert(m->p.b, raw + (k * m->p.columns + tile * TILE) * 2, TILE, to[k]);
        else
            for (uint32_t n = 0; n < TILE; n++) {
                convert(m->p.b, raw + (tile * TILE + n) * bytes, depth, line);
                for (uint32_t k = 0; k < depth; k++) to[k][n] = line[k];
            }
}

/* The four warps of a group have the same B, mostly one after the other: it is kept as long as its bytes are the same. */
static void take_b(struct product *m, const struct access *x)
{
    enum { MOST_BYTES = MOST_COLUMNS * 2 * FL_WARPGROUP_DEPTH };
    static _Thread_local struct {
        enum fl_matrix_type type;
        uint32_t size, bytes;
        bool transposed;
        _Alignas(8) uint8_t raw[MOST_BYTES];
        double v[MOST_COLUMNS / TILE * MOST_DEPTH][TILE];
    } kept;
    uint8_t raw[MOST_BYTES];
    const uint32_t bytes = FL_WARPGROUP_DEPTH << m->p.sparse, size = m->p.columns * bytes;
    struct layout l = layout_of(x->b->op_b[x->base]);
    fetch_lines(x, &l, m->p.b_transposed, 0, m->p.columns, bytes, raw);
    m->b = kept.v;
    m->b_bits = (const uint64_t(*)[BIT_WORDS])kept.raw;
    if (kept.type == m->p.b && kept.size == size && kept.bytes == bytes && kept.transposed == m->p.b_transposed &&
        !memcmp(kept.raw, raw, size))
        return;
    kept.type = m->p.b;
    kept.size = size;
    kept.bytes = bytes;
    kept.transposed = m->p.b_transposed;
    memcpy(kept.raw, raw, size);
    if (m->p.b != FL_MATRIX_B1) convert_b(m, raw, bytes, kept.v);
}

/* ---- the product */

#define INLINE static inline __attribute__((always_inline))

/* Where the four lanes that have a row's eight columns keep their n-th word of the tile. */
INLINE uint8_t *words_of(const struct product *m, uint32_t tile, uint32_t row, uint32_t n)
{
    uint32_t each = m->p.d == FL_MATRIX_F16 ? 1 : 2;
    return m->sums[(tile * 2 + row / 8) * each + n] + row % 8 * 16;
}

INLINE void load(const struct product *m, uint32_t tile, uint32_t row, vector *to)
{
    quarter lo, hi;
    if (m->p.d == FL_MATRIX_F16) {
        convert(FL_MATRIX_F16, words_of(m, tile, row, 0), TILE, (double *)to);
        return;
    }
    memcpy(&lo, words_of(m, tile, row, 0), sizeof lo);
    memcpy(&hi, words_of(m, tile, row, 1), sizeof hi);
    integers both = __builtin_shufflevector(lo, hi, 0, 4, 1, 5, 2, 6, 3, 7);
    *to = m->p.d == FL_MATRIX_S32 ? __builtin_convertvector(both, vector)
                                  : __builtin_convertvector((singles)both, vector);
}

static void to_integers(const vector *v, bool saturated, integers *to)
{
    for (uint32_t n = 0; n < TILE; n++) {
        double each = (*v)[n];
        if (saturated) each = each > INT32_MAX ? INT32_MAX : each < INT32_MIN ? INT32_MIN : each;
        (*to)[n] = (int32_t)(uint32_t)(int64_t)each;
    }
}

INLINE void store(const struct product *m, uint32_t tile, uint32_t row, const vector *v)
{
    if (m->p.d == FL_MATRIX_F16) {
        _Float16 halves[TILE];
        for (uint32_t n = 0; n < TILE; n++) halves[n] = (_Float16)(*v)[n];
        memcpy(words_of(m, tile, row, 0), halves, sizeof halves);
        return;
    }
    integers both;
    if (m->p.d == FL_MATRIX_S32)
        to_integers(v, m->p.saturated, &both);
    else
        both = (integers) __builtin_convertvector(*v, singles);
    quarter lo = __builtin_shufflevector(both, both, 0, 2, 4, 6), hi = __builtin_shufflevector(both, both, 1, 3, 5, 7);
    memcpy(words_of(m, tile, row, 0), &lo, sizeof lo);
    memcpy(words_of(m, tile, row, 1), &hi, sizeof hi);
}

/* Adds to rows first .. first+s->rows-1 of a tile. */
static void sum_rows(const struct product *m, const struct sums *s, uint32_t tile, uint32_t first)
{
    float v[ROWS][TILE] = { 0 };
    vector each;
    for (uint32_t row = 0; row < s->rows && m->adds; row++) {
        load(m, tile, first + row, &each);
        for (uint32_t n = 0; n < TILE; n++) v[row][n] = (float)each[n];
    }
    sums_add(s, v);
    for (uint32_t row = 0; row < s->rows; row++) {
        for (uint32_t n = 0; n < TILE; n++) each[n] = v[row][n];
        store(m, tile, first + row, &each);
    }
}

static void multiply_numbers(const struct product *m)
{
    struct sums s = { .rows = ROWS, .depth = m->stored, .a = m->a };
    sums_prepare(&s, m->p.a, m->p.b, m->p.d, true);
    sums_measure(&s);
    for (uint32_t tile = 0; tile < m->p.columns / TILE; tile++) {
        s.b = m->b + tile * m->depth;
        sum_rows(m, &s, tile, 0);
    }
}

/* Each row of A has rows of B of its own. */
static void multiply_sparse_numbers(const struct product *m)
{
    double b[MOST_STORED][TILE];
    struct sums s = { .rows = 1, .depth = m->stored, .b = b };
    sums_prepare(&s, m->p.a, m->p.b, m->p.d, true);
    for (uint32_t row = 0; row < ROWS; row++) {
        s.a = &m->a[row];
        sums_measure(&s);
        for (uint32_t tile = 0; tile < m->p.columns / TILE; tile++) {
            for (uint32_t k = 0; k < m->stored; k++)
                memcpy(b[k], m->b[tile * m->depth + m->depths[row * m->stored + k]], sizeof *b);
            sum_rows(m, &s, tile, row);
        }
    }
}

static void count_bits(const struct product *m)
{
    for (uint32_t tile = 0; tile < m->p.columns / TILE; tile++)
        for (uint32_t row = 0; row < ROWS; row++) {
            vector sum = { 0 };
            if (m->adds) load(m, tile, row, &sum);
            for (uint32_t n = 0; n < TILE; n++)
                for (uint32_t k = 0; k < BIT_WORDS; k++)
                    sum[n] += __builtin_popcountll(m->a_bits[row][k] & m->b_bits[tile * TILE + n][k]);
            store(m, tile, row, &sum);
        }
}

/* Of integers, exactly. So many rows side by side, as the processor has registers for their sums. */
INLINE void multiply(const struct product *m, const uint32_t at_once, const bool sparse)
{
    const uint32_t depth = m->depth;
    for (uint32_t tile = 0; tile < m->p.columns / TILE; tile++)
        for (uint32_t first = 0; first < ROWS; first += at_once) {
            vector sums[ROWS];
            for (uint32_t r = 0; r < at_once; r++)
                if (m->adds)
                    load(m, tile, first + r, &sums[r]);
                else
                    sums[r] = (vector){ 0 };
            for (uint32_t k = 0; k < m->stored; k++) {
                vector b;
                if (!sparse) memcpy(&b, m->b[tile * depth + k], sizeof b);
                for (uint32_t r = 0; r < at_once; r++) {
                    if (sparse) memcpy(&b, m->b[tile * depth + m->depths[(first + r) * m->stored + k]], sizeof b);
                    sums[r] += m->a[first + r][k] * b;
                }
            }
            for (uint32_t r = 0; r < at_once; r++) store(m, tile, first + r, &sums[r]);
        }
}

/* All products of two elements are exact in double precision, so it does not matter whether they are fused. */
static void multiply_anywhere(const struct product *m) { multiply(m, 2, false); }
static void multiply_sparse(const struct product *m) { multiply(m, 2, true); }
__attribute__((target("avx2,fma"))) static void multiply_avx2(const struct product *m) { multiply(m, 4, false); }
__attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq"))) static void multiply_avx512(const struct product *m)
{
    multiply(m, 8, false);
}

static void multiply_best(const struct product *m)
{
    if (m->p.d != FL_MATRIX_S32)
        m->p.sparse ? multiply_sparse_numbers(m) : multiply_numbers(m);
    else if (m->p.a == FL_MATRIX_B1)
        count_bits(m);
    else if (m->p.sparse)
        multiply_sparse(m);
    else if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        multiply_avx512(m);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        multiply_avx2(m);
    else
        multiply_anywhere(m);
}

/* What is computed but nobody reads has no slot in the context. */
static void find_sums(struct product *m, const struct fl_block *b, uint32_t base, uint32_t first_slot, uint8_t *nobodys)
{
    const struct fl_image *h = ((const struct frame *)b)->code.image;
    const uint32_t *slots = (const uint32_t *)((const char *)h + h->slots) + first_slot;
    for (uint32_t r = 0; r < m->p.columns / 2 / fl_matrix_packed(m->p.d); r++)
        m->sums[r] = slots[r] == FL_NONE ? nobodys : b->context + (uint64_t)slots[r] * b->nthreads + base * 4ull;
}

void warpgroup_complete(struct fl_block *b, uint32_t base, const struct fl_image_segment *s)
{
    struct product m = { .p = fl_warpgroup_product(s->imm0), .adds = b->op_pred[base] };
    const struct access x = { b, base, s->line };
    uint8_t nobodys[32 * 4] = { 0 };
    bool flushed = ((struct frame *)b)->code.kernel->flags & FL_KERNEL_FLUSHED;
    if (base / 128 * 128 + 128 > b->nthreads)
        fault_raise(FAULT_ILLEGAL_INSTRUCTION, base, s->line, "a warpgroup has 128 threads");
    if (flushed) flush_subnormals(false);
    m.stored = FL_WARPGROUP_DEPTH / 4 * fl_matrix_packed(m.p.a);
    m.depth = m.stored << m.p.sparse;
    find_sums(&m, b, base, s->imm1, nobodys);
    take_a(&m, &x);
    take_b(&m, &x);
    multiply_best(&m);
    if (flushed) flush_subnormals(true);
}
