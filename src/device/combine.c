/* See combine.h. */
#include "device/combine.h"
#include "device/rt.h"
#include "ptx/tensor_map.h"

#include <string.h>

enum { NAN_OF_HALVES = 0x7fff };

float combine_value(uint16_t v, bool bf)
{
    uint32_t bits = (uint32_t)v << 16;
    float f;
    if (!bf) return fl_math_f32_from_f16(v);
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t half(uint16_t a, uint16_t b, uint32_t op, bool bf)
{
    float x = combine_value(a, bf), y = combine_value(b, bf);
    if (op == FL_REDUCE_ADD) return bf ? fl_math_bf16_from_f32(x + y, 0) : fl_math_f16_from_f32(x + y, 0);
    if (x != x && y != y) return NAN_OF_HALVES;
    if (x != x || y != y) return x != x ? b : a;
    return (op == FL_REDUCE_MIN) == (x < y || (x == y && (int16_t)a < 0)) ? a : b;
}

#define INTEGER(type) \
    { \
        type x = (type)a, y = (type)b; \
        switch (op) { \
        case FL_REDUCE_ADD: return (uint64_t)(x + y); \
        case FL_REDUCE_MIN: return (uint64_t)(x < y ? x : y); \
        case FL_REDUCE_MAX: return (uint64_t)(x > y ? x : y); \
        case FL_REDUCE_INC: return (uint64_t)(x >= y ? 0 : x + 1); \
        case FL_REDUCE_DEC: return (uint64_t)(!x || x > y ? y : x - 1); \
        case FL_REDUCE_AND: return (uint64_t)(x & y); \
        case FL_REDUCE_OR: return (uint64_t)(x | y); \
        default: return (uint64_t)(x ^ y); \
        } \
    }

static uint64_t sum_of_doubles(uint64_t a, uint64_t b)
{
    double x, y;
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    x += y;
    memcpy(&a, &x, 8);
    return a;
}

static uint64_t sum_of_singles(uint64_t a, uint64_t b)
{
    float x, y;
    uint32_t bits;
    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    x += y;
    memcpy(&bits, &x, 4);
    return bits;
}

uint64_t combine(uint64_t a, uint64_t b, uint32_t op, uint32_t type)
{
    switch (type) {
    case FL_TENSOR_U32: INTEGER(uint32_t)
    case FL_TENSOR_S32: INTEGER(int32_t)
    case FL_TENSOR_U64: INTEGER(uint64_t)
    case FL_TENSOR_S64: INTEGER(int64_t)
    case FL_TENSOR_F64: return sum_of_doubles(a, b);
    case FL_TENSOR_F16:
    case FL_TENSOR_BF16: return half((uint16_t)a, (uint16_t)b, op, type == FL_TENSOR_BF16);
    default: return sum_of_singles(a, b);
    }
}
