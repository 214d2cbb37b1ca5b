/* Floating-point pieces that several emitters need. */
#ifndef FL_PTX_EMIT_FLOAT_H
#define FL_PTX_EMIT_FLOAT_H

#include "emit.h"

/* 0 nearest, 1 towards zero, 2 down, 3 up: as the run-time functions take it. */
unsigned rounding_mode(const struct instr *i);
const char *flush_f32(struct emitter *e, const char *v);               /* subnormals to zero of the same sign */
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
