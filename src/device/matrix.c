/* Matrix operations of warps: which lane holds what of a fragment, as the PTX
 * manual draws it, and the product. How floating-point sums are rounded is
 * sums.h's; integers and doubles are summed one by one. */
#include "device/block.h"
#include "device/quads.h"
#include "device/sparse.h"
#include "device/sums.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

enum { LANES = 32 };

struct matrix {
    enum fl_matrix_type type;
    uint32_t rows, columns;
    double v[FL_MATRIX_MOST];
    const uint8_t *depths; /* of a sparse A: of each element, the row of B that it is multiplied with */
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
    case FL_MATRIX_S4: return (int32_t)(*word << (28 - 4 * n)) >> 28;
    case FL_MATRIX_U4: return *word >> 4 * n & 15;
    case FL_MATRIX_B1: return *word >> n & 1;
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

/* The place, among the matrix's elements, of the n-th element of a lane's register r. */
static uint32_t place(const struct matrix *m, enum fl_fragment_part part, uint32_t lane, uint32_t r, uint32_t n)
{
    struct fl_fragment_place p = fl_fragment_place(part, m->type, m->rows, m->columns, r, n);
    const uint32_t along = lane % 4 * fl_fragment_step(part, m->type), across = lane / 4;
    const bool turned = fl_fragment_turned(part, m->columns);
    return (p.row + (turned ? along : across)) * m->columns + p.column + (turned ? across : along);
}

static uint32_t registers(const struct matrix *m)
{
    return m->rows * m->columns / LANES / fl_matrix_packed(m->type);
}

static uint32_t *words(const struct fl_block *b, uint32_t thread)
{
    return b->op_matrix + (size_t)thread * FL_MATRIX_WORDS;
}

/* From the lanes' words that begin there. */
static void gather(struct matrix *m, enum fl_fragment_part part, const struct fl_block *b, uint32_t base, uint32_t at)
{
    const uint32_t count = registers(m), size = fl_matrix_words(m->type), per = fl_matrix_packed(m->type);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t r = 0; r < count; r++)
            for (uint32_t n = 0; n < per; n++)
                m->v[place(m, part, lane, r, n)] = unpack(m->type, words(b, base + lane) + at + r * size, n);
}

static void scatter(const struct matrix *m, bool saturate, struct fl_block *b, uint32_t base)
{
    const uint32_t count = registers(m), size = fl_matrix_words(m->type), per = fl_matrix_packed(m->type);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t r = 0; r < count; r++)
            for (uint32_t n = 0; n < per; n++)
                pack(m->type, saturate, m->v[place(m, FL_FRAGMENT_C, lane, r, n)], words(b, base + lane) + r * size, n);
}

static void shape(struct matrix *m, enum fl_matrix_type type, uint32_t rows, uint32_t columns)
{
    m->type = type;
    m->rows = rows;
    m->columns = columns;
    m->depths = NULL;
}

/* ---- the product */

static uint32_t depth_of(const struct matrix *a, uint32_t row, uint32_t k)
{
    return a->depths ? a->depths[row * a->columns + k] : k;
}

/* How a product is summed. Observed on an H200: of numbers of 8 bits the first two of each four, and then the others, are
 * summed, from zero, and what that gives, of halves after each of the two, is added to C; wmma sums the first half of
 * depths with short singles, and then the second. */
struct steps {
    uint32_t count;
    bool apart;  /* C comes last, */
    bool halves; /* which has halves */
};

static struct steps steps_of(const struct fl_matrix_product *p)
{
    const bool small = p->a == FL_MATRIX_E4M3 || p->a == FL_MATRIX_E5M2;
    return (struct steps){ .count = small || (p->wmma && p->a == FL_MATRIX_TF32) ? 2 : 1,
                           .apart = small,
                           .halves = small && p->d == FL_MATRIX_F16 };
}

/* The n-th element of a row in that step. */
static uint32_t summed(const struct steps *s, uint32_t step, uint32_t n, uint32_t count)
{
    return s->apart ? n / 2 * 4 + n % 2 + step * 2 : step * count + n;
}

/* Of as many rows as have the same depths. */
static void sum_tile(const struct sums *s, const struct steps *steps, const struct matrix *a, const struct matrix *x,
                     struct matrix *c, uint32_t row, uint32_t column)
{
    double left[SUMS_ROWS][SUMS_DEPTH], right[SUMS_DEPTH][SUMS_COLUMNS];
    float v[SUMS_ROWS][SUMS_COLUMNS] = { 0 };
    struct sums t = *s;
    t.depth = a->columns / steps->count;
    t.a = left;
    t.b = right;
    for (uint32_t i = 0; i < s->rows && !steps->apart; i++)
        for (uint32_t j = 0; j < SUMS_COLUMNS; j++) v[i][j] = (float)c->v[(row + i) * c->columns + column + j];
    for (uint32_t step = 0; step < steps->count; step++) {
        for (uint32_t n = 0; n < t.depth; n++) {
            uint32_t k = summed(steps, step, n, t.depth), d = depth_of(a, row, k);
            for (uint32_t i = 0; i < s->rows; i++) left[i][n] = a->v[(row + i) * a->columns + k];
            for (uint32_t j = 0; j < SUMS_COLUMNS; j++) right[n][j] = x->v[d * x->columns + column + j];
        }
        sums_measure(&t);
        sums_add(&t, v);
        for (uint32_t i = 0; i < s->rows && steps->halves; i++)
            for (uint32_t j = 0; j < SUMS_COLUMNS; j++) v[i][j] = (float)(_Float16)v[i][j];
    }
    for (uint32_t i = 0; i < s->rows; i++)
        for (uint32_t j = 0; j < SUMS_COLUMNS; j++) {
            double *sum = &c->v[(row + i) * c->columns + column + j];
            *sum = steps->apart ? sums_plus(v[i][j], (float)*sum) : v[i][j];
        }
}

static void sum_numbers(const struct fl_matrix_product *p, const struct matrix *a, const struct matrix *x,
                        struct matrix *c)
{
    const struct steps steps = steps_of(p);
    struct sums s = { .rows = a->depths ? 1 : a->rows < SUMS_ROWS ? a->rows : SUMS_ROWS };
    sums_prepare(&s, a->type, x->type, p->d, false);
    for (uint32_t row = 0; row < a->rows; row += s.rows)
        for (uint32_t column = 0; column < x->columns; column += SUMS_COLUMNS)
            sum_tile(&s, &steps, a, x, c, row, column);
}

__attribute__((noinline)) static void sum_one_by_one(const struct matrix *a, const struct matrix *x, struct matrix *c)
{
    for (uint32_t i = 0; i < a->rows; i++)
        for (uint32_t k = 0; k < a->columns; k++) {
            const double v = a->v[i * a->columns + k], *row = &x->v[depth_of(a, i, k) * x->columns];
            for (uint32_t j = 0; j < x->columns; j++) {
                double *sum = &c->v[i * x->columns + j];
                *sum = fma(v, row[j], *sum);
            }
        }
}

static void sum_doubles(const struct matrix *a, const struct matrix *x, struct matrix *c, uint32_t rounding)
{
    static const int modes[] = { [FL_ROUND_NEAREST] = FE_TONEAREST,
                                 [FL_ROUND_ZERO] = FE_TOWARDZERO,
                                 [FL_ROUND_DOWN] = FE_DOWNWARD,
                                 [FL_ROUND_UP] = FE_UPWARD };
    fesetround(modes[rounding]);
    sum_one_by_one(a, x, c);
    fesetround(FE_TONEAREST);
}

static void count_differing(const struct matrix *a, const struct matrix *x, struct matrix *c)
{
    for (uint32_t i = 0; i < a->rows; i++)
        for (uint32_t k = 0; k < a->columns; k++)
            for (uint32_t j = 0; j < x->columns; j++)
                c->v[i * x->columns + j] += a->v[i * a->columns + k] != x->v[k * x->columns + j];
}

static void product(struct fl_block *b, uint32_t base, const struct fl_image_segment *s)
{
    const struct fl_matrix_product p = fl_product(s->imm0, s->imm1);
    if (fl_product_quads(&p)) {
        quads_product(b, base, &p);
        return;
    }
    struct matrix a, x, c;
    uint8_t depths[SPARSE_ROWS * SPARSE_MOST];
    uint32_t lanes[LANES];
    shape(&a, p.a, p.rows, p.depth >> p.sparse);
    shape(&x, p.b, p.depth, p.columns);
    shape(&c, p.c, p.rows, p.columns);
    const uint32_t at_b = fl_product_words(&p, p.a, a.rows * a.columns),
                   at_c = at_b + fl_product_words(&p, p.b, x.rows * x.columns),
                   end = at_c + registers(&c) * fl_matrix_words(p.c);
    gather(&a, FL_FRAGMENT_A, b, base, 0);
    gather(&x, FL_FRAGMENT_B, b, base, at_b);
    gather(&c, FL_FRAGMENT_C, b, base, at_c);
    if (p.sparse) {
        for (uint32_t lane = 0; lane < LANES; lane++) lanes[lane] = words(b, base + lane)[end];
        sparse_depths(p.a, a.columns, lanes, p.selector, depths);
        a.depths = depths;
    }
    if (p.d == FL_MATRIX_F32 || p.d == FL_MATRIX_F16)
        sum_numbers(&p, &a, &x, &c);
    else if (p.d == FL_MATRIX_F64)
        sum_doubles(&a, &x, &c, p.rounding);
    else if (p.differing)
        count_differing(&a, &x, &c);
    else
        sum_one_by_one(&a, &x, &c);
    c.type = p.d;
    scatter(&c, p.saturated, b, base);
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
