/* Matrix operations of warps: which lane holds what of a fragment, as the PTX
 * manual draws it, and the product. How floating-point sums are rounded is
 * sums.h's; integers and doubles are summed one by one. */
#include "device/block.h"
#include "device/sums.h"

#include <math.h>
#include <string.h>

enum { LANES = 32, MOST = 32 * 32 };

struct matrix {
    enum fl_matrix_type type;
    uint32_t rows, columns;
    double v[MOST];
};

/* ---- elements of a register */

static float half_value(uint16_t h)
{
    _Float16 v;
    memcpy(&v, &h, 2);
    return (float)v;
}

static float single(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Four bits of exponent, no infinity. */
static double e4m3_value(uint8_t b)
{
    int exponent = b >> 3 & 15, mantissa = b & 7;
    double v = (b & 127) == 127 ? NAN : exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
    return b & 128 ? -v : v;
}

static double unpack(enum fl_matrix_type type, const uint32_t *word, uint32_t n)
{
    double d;
    switch (type) {
    case FL_MATRIX_F16: return half_value((uint16_t)(*word >> 16 * n));
    case FL_MATRIX_BF16: return single(*word >> 16 * n << 16);
    case FL_MATRIX_TF32: return single(*word & 0xffffe000u);
    case FL_MATRIX_S8: return (int8_t)(*word >> 8 * n);
    case FL_MATRIX_U8: return (uint8_t)(*word >> 8 * n);
    case FL_MATRIX_F32: return single(*word);
    case FL_MATRIX_E4M3: return e4m3_value((uint8_t)(*word >> 8 * n));
    case FL_MATRIX_E5M2: return half_value((uint16_t)((*word >> 8 * n & 255) << 8));
    case FL_MATRIX_S32: return (int32_t)*word;
    default: memcpy(&d, word, 8); return d;
    }
}

static void pack(enum fl_matrix_type type, bool saturate, double v, uint32_t *word, uint32_t n)
{
    float f = (float)v;
    switch (type) {
    case FL_MATRIX_F16: {
        _Float16 h = (_Float16)v;
        memcpy((uint16_t *)word + n, &h, 2);
        break;
    }
    case FL_MATRIX_S32:
        if (saturate) v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
        *word = (uint32_t)(int64_t)v;
        break;
    case FL_MATRIX_F64: memcpy(word, &v, 8); break;
    default: memcpy(word, &f, 4);
    }
}

/* ---- fragments */

enum part { PART_A, PART_B, PART_C };

/* The place, among the matrix's elements, of the n-th element of a lane's register r. */
static uint32_t place(const struct matrix *m, enum part part, uint32_t lane, uint32_t r, uint32_t n)
{
    uint32_t group = lane >> 2, in_group = lane & 3, row, column, per = fl_matrix_packed(m->type);
    if (part == PART_B) {
        row = (r * 4 + in_group) * per + n;
        column = group;
    } else if (part == PART_A) {
        uint32_t halves = m->rows / 8;
        row = group + r % halves * 8;
        column = (r / halves * 4 + in_group) * per + n;
    } else {
        uint32_t e = r * per + n;
        row = group + e / 2 * 8;
        column = in_group * 2 + e % 2;
    }
    return row * m->columns + column;
}

/* The fragments of a wmma are rows, cut into as many pieces as there are lanes. */
static uint32_t place_in_rows(const struct matrix *m, uint32_t lane, uint32_t r, uint32_t n)
{
    uint32_t each = m->rows * m->columns / LANES;
    return lane * each + (r * fl_matrix_packed(m->type) + n) % each;
}

static uint32_t registers(const struct matrix *m, enum part part, bool wmma)
{
    uint32_t n = m->rows * m->columns / LANES / fl_matrix_packed(m->type);
    return wmma && part != PART_C && m->type == FL_MATRIX_F16 ? 8 : n ? n : 1;
}

static uint32_t *words(const struct fl_block *b, uint32_t thread)
{
    return b->op_matrix + (size_t)thread * FL_MATRIX_WORDS;
}

/* Returns where in the lanes' words the next matrix begins. */
static uint32_t gather(struct matrix *m, enum part part, bool wmma, const struct fl_block *b, uint32_t base,
                       uint32_t at)
{
    uint32_t count = registers(m, part, wmma), size = fl_matrix_words(m->type), per = fl_matrix_packed(m->type);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t r = 0; r < count; r++)
            for (uint32_t n = 0; n < per; n++)
                m->v[wmma ? place_in_rows(m, lane, r, n) : place(m, part, lane, r, n)] =
                    unpack(m->type, words(b, base + lane) + at + r * size, n);
    return at + count * size;
}

static void scatter(const struct matrix *m, bool wmma, bool saturate, struct fl_block *b, uint32_t base)
{
    uint32_t count = registers(m, PART_C, wmma), size = fl_matrix_words(m->type), per = fl_matrix_packed(m->type);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t r = 0; r < count; r++)
            for (uint32_t n = 0; n < per; n++)
                pack(m->type, saturate, m->v[wmma ? place_in_rows(m, lane, r, n) : place(m, PART_C, lane, r, n)],
                     words(b, base + lane) + r * size, n);
}

static void shape(struct matrix *m, enum fl_matrix_type type, uint32_t rows, uint32_t columns)
{
    m->type = type;
    m->rows = rows;
    m->columns = columns;
}

/* The k-th of those that are summed together. Observed on an H200: of numbers of 8 bits these are the first two of each
 * four, and then the others. */
static uint32_t depth_of(uint32_t k, uint32_t part, uint32_t parts)
{
    return parts == 1 ? k : k / 2 * 4 + k % 2 + part * 2;
}

static float add(float a, float b)
{
    static const uint32_t nan = 0x7fffffff;
    float sum = a + b;
    return sum == sum ? sum : single(nan);
}

static void sum_tile(const struct sums *s, const struct matrix *a, const struct matrix *x, struct matrix *c,
                     uint32_t row, uint32_t column)
{
    const uint32_t parts = a->type == FL_MATRIX_E4M3 || a->type == FL_MATRIX_E5M2 ? 2 : 1;
    double left[SUMS_ROWS][SUMS_DEPTH], right[SUMS_DEPTH][SUMS_COLUMNS];
    float v[SUMS_ROWS][SUMS_COLUMNS] = { 0 };
    struct sums t = *s;
    t.depth = a->columns / parts;
    t.a = left;
    t.b = right;
    for (uint32_t i = 0; i < s->rows && parts == 1; i++)
        for (uint32_t j = 0; j < SUMS_COLUMNS; j++) v[i][j] = (float)c->v[(row + i) * c->columns + column + j];
    for (uint32_t part = 0; part < parts; part++) {
        for (uint32_t k = 0; k < t.depth; k++) {
            uint32_t d = depth_of(k, part, parts);
            for (uint32_t i = 0; i < s->rows; i++) left[i][k] = a->v[(row + i) * a->columns + d];
            for (uint32_t j = 0; j < SUMS_COLUMNS; j++) right[k][j] = x->v[d * x->columns + column + j];
        }
        sums_measure(&t);
        sums_add(&t, v);
    }
    for (uint32_t i = 0; i < s->rows; i++)
        for (uint32_t j = 0; j < SUMS_COLUMNS; j++) {
            double *sum = &c->v[(row + i) * c->columns + column + j];
            *sum = parts == 1 ? v[i][j] : add(v[i][j], (float)*sum);
        }
}

static void sum_numbers(const struct matrix *a, const struct matrix *x, struct matrix *c, enum fl_matrix_type to)
{
    struct sums s = { .rows = a->rows < SUMS_ROWS ? a->rows : SUMS_ROWS };
    sums_prepare(&s, a->type, x->type, to, false);
    for (uint32_t row = 0; row < a->rows; row += s.rows)
        for (uint32_t column = 0; column < x->columns; column += SUMS_COLUMNS) sum_tile(&s, a, x, c, row, column);
}

static void sum_one_by_one(const struct matrix *a, const struct matrix *x, struct matrix *c)
{
    for (uint32_t i = 0; i < a->rows; i++)
        for (uint32_t k = 0; k < a->columns; k++) {
            double v = a->v[i * a->columns + k];
            for (uint32_t j = 0; j < x->columns; j++) {
                double *sum = &c->v[i * x->columns + j];
                *sum = fma(v, x->v[k * x->columns + j], *sum);
            }
        }
}

static void product(struct fl_block *b, uint32_t base, const struct fl_image_segment *s)
{
    const struct fl_matrix_product p = fl_product(s->imm0, s->imm1);
    struct matrix a, x, c;
    shape(&a, p.a, p.rows, p.depth);
    shape(&x, p.b, p.depth, p.columns);
    shape(&c, p.c, p.rows, p.columns);
    uint32_t at = gather(&a, PART_A, p.wmma, b, base, 0);
    at = gather(&x, PART_B, p.wmma, b, base, at);
    gather(&c, PART_C, p.wmma, b, base, at);
    if (p.d == FL_MATRIX_F32 || p.d == FL_MATRIX_F16)
        sum_numbers(&a, &x, &c, p.d);
    else
        sum_one_by_one(&a, &x, &c);
    c.type = p.d;
    scatter(&c, p.wmma, p.saturated, b, base);
}

/* ---- rows in memory */

static void rows(struct fl_block *b, uint32_t base, const struct fl_image_segment *s)
{
    const uint64_t *row = b->op_a + base;
    bool transposed = s->imm0 & FL_ROWS_TRANSPOSED;
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t k = 0; k < (s->imm0 & FL_ROWS_MATRICES); k++) {
            uint64_t to[2] = { row[k * 8 + lane / 4] + lane % 4 * 4 };
            if (transposed)
                for (uint32_t n = 0; n < 2; n++) to[n] = row[k * 8 + lane % 4 * 2 + n] + lane / 4 * 2;
            uint32_t each = transposed ? 2 : 1;
            memcpy(words(b, base + lane) + k * each * 2, to, each * 8);
        }
}

static void transpose(struct fl_block *b, uint32_t base)
{
    uint16_t v[8][8];
    for (uint32_t lane = 0; lane < LANES; lane++) memcpy(&v[lane / 4][lane % 4 * 2], words(b, base + lane), 4);
    for (uint32_t lane = 0; lane < LANES; lane++)
        words(b, base + lane)[0] = v[lane % 4 * 2][lane / 4] | (uint32_t)v[lane % 4 * 2 + 1][lane / 4] << 16;
}

static void complete(struct fl_block *b, uint32_t base, const struct fl_image_segment *s)
{
    switch (s->op) {
    case FL_WARP_MMA: product(b, base, s); break;
    case FL_WARP_ROWS: rows(b, base, s); break;
    default: transpose(b, base);
    }
}

/* Subnormals count in matrices, whatever the kernel's other instructions do with them. */
void matrix_complete(struct fl_block *b, uint32_t base, const struct fl_image_segment *s)
{
    bool flushed = ((struct frame *)b)->code.kernel->flags & FL_KERNEL_FLUSHED;
    if (flushed) flush_subnormals(false);
    complete(b, base, s);
    if (flushed) flush_subnormals(true);
}
