/* Floating-point pieces that several emitters need. */
#ifndef FL_PTX_EMIT_FLOAT_H
#define FL_PTX_EMIT_FLOAT_H

#include "emit.h"

/* Numbers as bits: of f16, bf16, f32 (IEEE 754). What is above the infinity, without the sign, is no number. */
enum {
    F16_ONE = 0x3c00, F16_INFINITY = 0x7c00,
    BF16_ONE = 0x3f80, BF16_INFINITY = 0x7f80,
    HALF_MAGNITUDE = 0x7fff, HALF_SIGN = -0x8000, HALF_NAN = 0x7fff, /* of both; the NaN that GPUs make */
    HALF_OUTSIDE = 0x7ff7, /* of both; the NaN that copies of tensors fill in */
    F32_INFINITY = 0x7f800000, F32_LEAST_NORMAL = 0x00800000, F32_MAGNITUDE = 0x7fffffff,
};
static const int F32_SIGN = -0x7fffffff - 1;
static const long F64_INFINITY = 0x7ff0000000000000, F64_LEAST_NORMAL = 0x0010000000000000,
                  F64_MAGNITUDE = 0x7fffffffffffffff;

/* 0 nearest, 1 towards zero, 2 down, 3 up: as the run-time functions take it. */
unsigned rounding_mode(const struct instr *i);
unsigned rounding_call(const struct instr *i); /* the same, and whether it flushes: what a function of rt_math.h takes */
const char *flush_f32(struct emitter *e, const char *v);               /* subnormals to zero of the same sign */
const char *flush_f16(struct emitter *e, const char *v);               /* (bf16 has no .ftz) */
const char *saturate(struct emitter *e, enum ptx_type t, const char *v); /* to [0, 1], NaN to +0 */
const char *minmax_float(struct emitter *e, const char *ll, bool max, bool nan, const char *a, const char *b);
const char *f16_to_f32(struct emitter *e, const char *bits16);
const char *f32_to_f16(struct emitter *e, const char *f);              /* nearest even */
const char *bf16_to_f32(struct emitter *e, const char *bits16);
const char *f32_to_bf16(struct emitter *e, const char *f);             /* nearest even */

/* Operand n as .ftz says, and the result as .ftz and .sat say. */
const char *float_operand(struct emitter *e, const struct instr *i, unsigned n, enum ptx_type t);
void float_result(struct emitter *e, const struct instr *i, enum ptx_type t, const char *v);
const char *approximate(struct emitter *e, enum ptx_op op, const char *x); /* op: ex2, lg2, sin, cos or tanh */
void emit_approximation(struct emitter *e, const struct instr *i, enum ptx_type t);

#endif
