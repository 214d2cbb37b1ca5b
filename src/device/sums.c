/* See sums.h. Doubles hold every product and every sum of what was cut off exactly. To cut off, a number as large as
 * that the rest does not fit is added and taken away again, while the processor rounds towards zero. */
#include "device/sums.h"

#include <math.h>
#include <string.h>
#include <xmmintrin.h>

enum { FRACTION = 52, SINGLE_BITS = 25, SMALL_BITS = 13, SMALL_DROPPED = 23 - SMALL_BITS };
enum { ROUND_TO_ZERO = 0x6000 }; /* of the MXCSR */

typedef double vector __attribute__((vector_size(SUMS_COLUMNS * 8)));
typedef int64_t longs __attribute__((vector_size(SUMS_COLUMNS * 8)));
typedef float singles __attribute__((vector_size(SUMS_COLUMNS * 4)));
typedef int32_t integers __attribute__((vector_size(SUMS_COLUMNS * 4)));

/* Nothing is passed in vector registers: these functions become part of their callers. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define INLINE static inline __attribute__((always_inline))

static double least(enum fl_matrix_type t)
{
    switch (t) {
    case FL_MATRIX_F16:
    case FL_MATRIX_E5M2: return 0x1p-14;
    case FL_MATRIX_E4M3: return 0x1p-6;
    default: return 0x1p-126;
    }
}

static bool is_small(enum fl_matrix_type t) { return t == FL_MATRIX_E4M3 || t == FL_MATRIX_E5M2; }

void sums_prepare(struct sums *s, enum fl_matrix_type a, enum fl_matrix_type b, enum fl_matrix_type d, bool warpgroup)
{
    bool small = warpgroup && is_small(a);
    s->least_a = least(a);
    s->least_b = least(b);
    s->least_sum = d == FL_MATRIX_F16 ? least(d) : 0;
    s->bits = small ? SMALL_BITS : SINGLE_BITS;
    s->dropped = small && d == FL_MATRIX_F32 ? SMALL_DROPPED : 0;
    s->odd = d == FL_MATRIX_F16;
}

INLINE vector choose(longs where, vector x, vector y)
{
    return (vector)((where & (longs)x) | (~where & (longs)y));
}
INLINE vector larger(vector x, vector y) { return choose(x > y, x, y); }
INLINE vector every(double x) { return x - (vector){ 0 }; }

/* The power of two that a number begins with, 0 of 0. */
INLINE vector size_of(vector v, double least)
{
    vector power = (vector)((longs)v & (longs)every(INFINITY));
    return (vector)((longs)larger(power, every(least)) & (v != 0));
}

/* v to a whole number of what is worth 2^-52 of limit. */
INLINE vector cut(vector v, vector limit)
{
    vector away = (vector)((longs)limit | ((longs)v & INT64_MIN));
    return (v + away) - away;
}

INLINE singles finish(vector sum, vector plain, const struct sums *s)
{
    const integers nan = 0x7fffffff - (integers){ 0 };
    vector size = (vector)((longs)sum & INT64_MAX), inf = (vector)((longs)every(INFINITY) | ((longs)sum & INT64_MIN));
    sum = choose(size >= 0x1p128, inf, sum);
    sum = choose(plain - plain == 0, sum, plain); /* which is 0 of numbers only */
    integers is_number = __builtin_convertvector(sum == sum, integers);
    singles single = __builtin_convertvector(sum, singles);
    integers bits = (integers)single >> s->dropped << s->dropped;
    if (s->odd) bits |= __builtin_convertvector(__builtin_convertvector(single, vector) != sum, integers) & 1;
    return (singles)((bits & is_number) | (nan & ~is_number));
}

INLINE void add_row(const struct sums *s, uint32_t row, const vector *sizes, float *v)
{
    const double *a = s->a[row];
    singles c;
    memcpy(&c, v, sizeof c);
    vector plain = __builtin_convertvector(c, vector), sum, largest = size_of(plain, s->least_sum);
    for (uint32_t k = 0; k < s->depth; k++) largest = larger(s->sizes[row][k] * sizes[k], largest);
    vector limit = largest * (double)(1ull << (FRACTION - s->bits));
    sum = cut(plain, limit);
    for (uint32_t k = 0; k < s->depth; k++) {
        vector b;
        memcpy(&b, s->b[k], sizeof b);
        vector product = a[k] * b;
        plain += product;
        sum += cut(product, limit);
    }
    c = finish(sum, plain, s);
    memcpy(v, &c, sizeof c);
}

INLINE void add_rows(const struct sums *s, float (*v)[SUMS_COLUMNS])
{
    vector sizes[SUMS_DEPTH], b;
    for (uint32_t k = 0; k < s->depth; k++) {
        memcpy(&b, s->b[k], sizeof b);
        sizes[k] = size_of(b, s->least_b);
    }
    for (uint32_t row = 0; row < s->rows; row++) add_row(s, row, sizes, v[row]);
}

/* Functions of their own, so that nothing is computed before or after the processor rounds as it should. */
typedef void adder(const struct sums *s, float (*v)[SUMS_COLUMNS]);
__attribute__((noinline)) static void add_anywhere(const struct sums *s, float (*v)[SUMS_COLUMNS]) { add_rows(s, v); }
__attribute__((noinline, target("avx2,fma"))) static void add_avx2(const struct sums *s, float (*v)[SUMS_COLUMNS])
{
    add_rows(s, v);
}
__attribute__((noinline, target("avx2,fma,avx512f,avx512vl,avx512dq"))) static void
add_avx512(const struct sums *s, float (*v)[SUMS_COLUMNS])
{
    add_rows(s, v);
}

static adder *best(void)
{
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return add_avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? add_avx2 : add_anywhere;
}

void sums_measure(struct sums *s)
{
    for (uint32_t row = 0; row < s->rows; row++)
        for (uint32_t k = 0; k < s->depth; k++) {
            vector size = size_of(every(s->a[row][k]), s->least_a);
            s->sizes[row][k] = size[0];
        }
}

void sums_add(const struct sums *s, float (*v)[SUMS_COLUMNS])
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | ROUND_TO_ZERO);
    best()(s, v);
    _mm_setcsr(before);
}

float sums_plus(float a, float b)
{
    static const uint32_t nan = 0x7fffffff;
    float sum = a + b;
    if (sum != sum) memcpy(&sum, &nan, sizeof sum);
    return sum;
}
