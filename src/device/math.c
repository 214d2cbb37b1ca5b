/* What compiled kernels call for arithmetic (src/ptx/rt_math.h). Directed
 * rounding of singles and doubles is the processor's, under another rounding
 * mode; everything narrower is rounded here, once, from an exact value. */
#include "device/rt.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <xmmintrin.h>

static unsigned enter(uint32_t mode)
{
    static const unsigned bits[] = { 0x0000, 0x6000, 0x2000, 0x4000 };
    unsigned was = _mm_getcsr();
    _mm_setcsr((was & ~0x6000u) | bits[mode & 3] | (mode & FL_MATH_FLUSHES ? _MM_FLUSH_ZERO_ON : 0));
    return was;
}

/* A function of rt_math.h that rounds as mode says. volatile keeps the operation between the two changes of mode. */
#define DIRECTED(name, type, expression, operands, ...) \
    type fl_math_##name(UNPACK operands, uint32_t mode) \
    { \
        volatile type __VA_ARGS__; \
        unsigned was = enter(mode); \
        volatile type r = expression; \
        _mm_setcsr(was); \
        return r; \
    }
#define UNPACK(...) __VA_ARGS__

/* clang-format off */
DIRECTED(add_f32, float, x + y, (float a, float b), x = a, y = b)
DIRECTED(sub_f32, float, x - y, (float a, float b), x = a, y = b)
DIRECTED(mul_f32, float, x * y, (float a, float b), x = a, y = b)
DIRECTED(div_f32, float, x / y, (float a, float b), x = a, y = b)
DIRECTED(fma_f32, float, fmaf(x, y, z), (float a, float b, float c), x = a, y = b, z = c)
DIRECTED(sqrt_f32, float, sqrtf(x), (float a), x = a)
DIRECTED(add_f64, double, x + y, (double a, double b), x = a, y = b)
DIRECTED(sub_f64, double, x - y, (double a, double b), x = a, y = b)
DIRECTED(mul_f64, double, x * y, (double a, double b), x = a, y = b)
DIRECTED(div_f64, double, x / y, (double a, double b), x = a, y = b)
DIRECTED(fma_f64, double, fma(x, y, z), (double a, double b, double c), x = a, y = b, z = c)
DIRECTED(sqrt_f64, double, sqrt(x), (double a), x = a)
/* clang-format on */

float fl_math_f32_from_f64(double a, uint32_t mode)
{
    volatile double x = a;
    unsigned was = enter(mode);
    volatile float r = (float)x;
    _mm_setcsr(was);
    return r;
}

/* ---- one rounding from an exact value */

struct format {
    int fraction, exponent;
}; /* bits of each */
static const struct format F16 = { 10, 5 }, BF16 = { 7, 8 }, F32 = { 23, 8 }, F64 = { 52, 11 };

/* The value (-1)^negative * m * 2^e, m not 0, in the format's bits. The lowest
 * bit of m may stand for a remainder below it, if m is longer than the format. */
static uint64_t pack(bool negative, uint64_t m, int e, struct format f, uint32_t mode)
{
    int bias = (1 << (f.exponent - 1)) - 1, top = e + 63 - __builtin_clzll(m), least = 1 - bias;
    int unit = (top > least ? top : least) - f.fraction, shift = unit - e;
    uint64_t kept, infinity = (uint64_t)((1 << f.exponent) - 1) << f.fraction,
                   sign = (uint64_t)negative << (f.fraction + f.exponent);
    bool up = false;
    if (shift <= 0) {
        kept = m << -shift;
    } else {
        uint64_t rest = shift > 63 ? m : m & ((1ull << shift) - 1), half = shift > 64 ? 0 : 1ull << (shift - 1);
        kept = shift > 63 ? 0 : m >> shift;
        switch (mode) {
        case 0: up = shift <= 64 && (rest > half || (rest == half && (kept & 1))); break;
        case 2: up = negative && rest; break;
        case 3: up = !negative && rest; break;
        default: break;
        }
    }
    kept += up;
    if (kept >> (f.fraction + 1)) {
        kept >>= 1;
        unit++;
    }
    int field = kept >> f.fraction ? unit + f.fraction + bias : 0;
    if (field >= (1 << f.exponent) - 1) {
        bool to_infinity = mode == 0 || (mode == 2 && negative) || (mode == 3 && !negative);
        return sign | (to_infinity ? infinity : infinity - 1);
    }
    return sign | (uint64_t)field << f.fraction | (kept & ((1ull << f.fraction) - 1));
}

static uint16_t from_double(double x, struct format f, uint32_t mode)
{
    uint64_t bits, sign;
    memcpy(&bits, &x, 8);
    sign = bits >> 63 << 15;
    int field = (int)(bits >> 52 & 0x7ff);
    uint64_t m = bits & ((1ull << 52) - 1);
    if (field == 0x7ff) return m ? 0x7fff : (uint16_t)(sign | (uint64_t)((1 << f.exponent) - 1) << f.fraction);
    if (!field && !m) return (uint16_t)sign;
    return (uint16_t)pack(bits >> 63, field ? m | 1ull << 52 : m, (field ? field : 1) - 1075, f, mode);
}

uint16_t fl_math_f16_from_f32(float x, uint32_t mode) { return from_double(x, F16, mode); }
uint16_t fl_math_bf16_from_f32(float x, uint32_t mode) { return from_double(x, BF16, mode); }
uint16_t fl_math_f16_from_f64(double x, uint32_t mode) { return from_double(x, F16, mode); }
uint16_t fl_math_bf16_from_f64(double x, uint32_t mode) { return from_double(x, BF16, mode); }

static uint64_t from_integer(bool negative, uint64_t m, struct format f, uint32_t mode)
{
    return m ? pack(negative, m, 0, f, mode) : 0;
}
static uint64_t magnitude(int64_t x) { return x < 0 ? -(uint64_t)x : (uint64_t)x; }

static float single(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float f;
    memcpy(&f, &b, 4);
    return f;
}

static double twice(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

float fl_math_f32_from_s64(int64_t x, uint32_t mode) { return single(from_integer(x < 0, magnitude(x), F32, mode)); }
float fl_math_f32_from_u64(uint64_t x, uint32_t mode) { return single(from_integer(false, x, F32, mode)); }
double fl_math_f64_from_s64(int64_t x, uint32_t mode) { return twice(from_integer(x < 0, magnitude(x), F64, mode)); }
double fl_math_f64_from_u64(uint64_t x, uint32_t mode) { return twice(from_integer(false, x, F64, mode)); }
uint16_t fl_math_f16_from_s64(int64_t x, uint32_t mode)
{
    return (uint16_t)from_integer(x < 0, magnitude(x), F16, mode);
}
uint16_t fl_math_f16_from_u64(uint64_t x, uint32_t mode) { return (uint16_t)from_integer(false, x, F16, mode); }
uint16_t fl_math_bf16_from_s64(int64_t x, uint32_t mode)
{
    return (uint16_t)from_integer(x < 0, magnitude(x), BF16, mode);
}
uint16_t fl_math_bf16_from_u64(uint64_t x, uint32_t mode) { return (uint16_t)from_integer(false, x, BF16, mode); }

float fl_math_f32_from_f16(uint16_t x)
{
    uint32_t sign = (uint32_t)(x >> 15) << 31, field = x >> 10 & 31, m = x & 1023;
    if (field == 31) return single(sign | 0x7f800000 | m << 13);
    if (field) return single(sign | (field + 112) << 23 | m << 13);
    float v = (float)m * 0x1p-24f;
    return sign ? -v : v;
}

/* Every f16 is a multiple of 2^-24, so a product plus a sum fits 128 bits exactly. */
static __int128 scaled(uint16_t x, int scale)
{
    int field = x >> 10 & 31;
    __int128 m = (x & 1023) | (field ? 1024 : 0);
    m <<= (field ? field - 1 : 0) + scale;
    return x >> 15 ? -m : m;
}

uint16_t fl_math_fma_f16(uint16_t a, uint16_t b, uint16_t c)
{
    double d = (double)fl_math_f32_from_f16(a) * fl_math_f32_from_f16(b) + fl_math_f32_from_f16(c);
    if (!isfinite(d)) return from_double(d, F16, 0);
    __int128 sum = scaled(a, 0) * scaled(b, 0) + scaled(c, 24);
    if (!sum) return from_double(d, F16, 0);
    bool negative = sum < 0;
    unsigned __int128 m = negative ? -(unsigned __int128)sum : (unsigned __int128)sum;
    int e = -48;
    while (m >> 64) m = m >> 1 | (m & 1), e++;
    return (uint16_t)pack(negative, (uint64_t)m, e, F16, 0);
}

static double from_bf16(uint16_t x) { return single((uint32_t)x << 16); }

/* The product is exact in double; the sum is rounded to odd, after which one
 * more rounding to a narrower format is harmless. */
uint16_t fl_math_fma_bf16(uint16_t a, uint16_t b, uint16_t c)
{
    double p = from_bf16(a) * from_bf16(b), z = from_bf16(c), s = p + z;
    if (!isfinite(s) || s == 0) return from_double(s, BF16, 0);
    double zz = s - p, error = (p - (s - zz)) + (z - zz);
    uint64_t bits;
    memcpy(&bits, &s, 8);
    if (error != 0 && !(bits & 1)) bits = (error > 0) == (s > 0) ? bits + 1 : bits - 1;
    return from_double(twice(bits), BF16, 0);
}

/* E4M3 has no infinity and one NaN; E5M2 is f16 cut short. Both saturate to the largest finite value. */
uint32_t fl_math_fp8_from_f32(float x, uint32_t e5m2)
{
    uint32_t sign = signbit(x) ? 0x80 : 0, most = e5m2 ? 0x7b : 0x7e;
    if (isnan(x)) return e5m2 ? 0x7f : 0x7f;
    if (x == 0) return sign;
    if (isinf(x)) return sign | most;
    int e;
    double m = frexp(fabs((double)x), &e);
    struct format f = e5m2 ? (struct format){ 2, 5 } : (struct format){ 3, 5 };
    /* E4M3 is packed as if its exponent had five bits, then shifted to its own bias of 7 */
    if (e5m2) {
        uint32_t v = (uint32_t)pack(false, (uint64_t)(m * 0x1p53), e - 53, f, 0);
        return sign | (v > most ? most : v);
    }
    double unit = ldexp(1, (e - 1 < -6 ? -6 : e - 1) - 3), q = nearbyint(fabs((double)x) / unit);
    double v = q * unit;
    if (v > 448) return sign | most;
    if (v == 0) return sign;
    m = frexp(v, &e);
    int field = e - 1 + 7;
    if (field <= 0) return sign | (uint32_t)(v * 512);
    return sign | (uint32_t)field << 3 | ((uint32_t)(m * 16) & 7);
}

uint16_t fl_math_f16_from_fp8(uint32_t x, uint32_t e5m2)
{
    if (e5m2) return (uint16_t)(x << 8);
    uint32_t sign = (x & 0x80) << 8, field = x >> 3 & 15, m = x & 7;
    if (field == 15 && m == 7) return 0x7fff;
    double v = field ? ldexp(1 + m / 8.0, (int)field - 7) : ldexp(m / 8.0, -6);
    return (uint16_t)(sign | from_double(v, F16, 0));
}

uint32_t fl_math_fns(uint32_t mask, uint32_t base, uint32_t offset)
{
    int32_t n = (int32_t)offset, at = (int32_t)(base & 31);
    if (n == 0) return mask >> at & 1 ? (uint32_t)at : 0xffffffffu;
    for (int step = n > 0 ? 1 : -1; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && (n -= step) == 0) return (uint32_t)at;
    return 0xffffffffu;
}
