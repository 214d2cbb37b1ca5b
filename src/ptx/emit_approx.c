/* The approximations that the GPU has instructions for, written out so that they
 * vectorise. All are a good deal more precise than the GPU's. */
#include "arena.h"
#include "emit_float.h"

#include <inttypes.h>
#include <string.h>

/* LLVM writes a single as the bits of the same number in double precision. */
static const char plus_infinity[] = "0x7FF0000000000000", minus_infinity[] = "0xFFF0000000000000",
                  quiet_nan[] = "0x7FFFFFFFE0000000", one_over_two_pi[] = "0x3FC45F3060000000";
enum { SQRT_HALF_BITS = 0x3f3504f3 }; /* of the single nearest to the square root of 1/2 */

static const char *constant(float v)
{
    double wide = v;
    uint64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    return arena_printf("0x%016" PRIX64, bits);
}

static const char *bits_of(struct emitter *e, const char *v) { return emit(e, "bitcast float %s to i32", v); }

/* coefficient[0] * x^(count - 1) + ... + coefficient[count - 1] */
static const char *polynomial(struct emitter *e, const char *x, const float *coefficient, unsigned count)
{
    const char *p = constant(coefficient[0]);
    for (unsigned k = 1; k < count; k++) {
        const char *c = constant(coefficient[k]);
        p = e->avoid_fma ? emit(e, "fadd float %s, %s", emit(e, "fmul float %s, %s", p, x), c)
                         : emit(e, "call float @llvm.fma.f32(float %s, float %s, float %s)", p, x, c);
    }
    return p;
}

/* 2^x: 2^n by the exponent, 2^f, f from -1/2 to 1/2, by the polynomial whose largest relative error is the least (2^-28),
 * of those that are 1 at 0: 2^n is exact. */
static const char *exp2_f32(struct emitter *e, const char *x)
{
    const char *clamped = emit(e, "call float @llvm.minnum.f32(float %s, float 129.0)",
                               emit(e, "call float @llvm.maxnum.f32(float %s, float -160.0)", x));
    const char *n = emit(e, "call float @llvm.rint.f32(float %s)", clamped),
               *f = emit(e, "fsub float %s, %s", clamped, n);
    static const float least[] = { 0.00015329264f, 0.00133909693f, 0.00961849932f, 0.0555035956f,
                                   0.240226477f,   0.693147182f,   1 };
    const char *p = polynomial(e, f, least, 7);
    /* in two steps, so that subnormal results come out right */
    const char *in = emit(e, "fptosi float %s to i32", n), *half = emit(e, "ashr i32 %s, 1", in),
               *rest = emit(e, "sub i32 %s, %s", in, half);
    const char *s1 = emit(e, "bitcast i32 %s to float", emit(e, "shl i32 %s, 23", emit(e, "add i32 %s, 127", half)));
    const char *s2 = emit(e, "bitcast i32 %s to float", emit(e, "shl i32 %s, 23", emit(e, "add i32 %s, 127", rest)));
    const char *v = emit(e, "fmul float %s, %s", emit(e, "fmul float %s, %s", p, s1), s2);
    return emit(e, "select i1 %s, float %s, float %s", emit(e, "fcmp uno float %s, 0.0", x), x, v);
}

/* log2(2^n m) = n + log2(m), m within a factor of sqrt(2) of 1; log2(m) by the series of the inverse of tanh:
 * 2 / (k ln 2) for k = 9, 7, ... 1. */
static const char *log2_f32(struct emitter *e, const char *x)
{
    static const float series[] = { 0.32059890f, 0.41219858f, 0.57707802f, 0.96179669f, 2.88539008f };
    const char *tiny = emit(e, "fcmp olt float %s, %s", x, constant(0x1p-126f));
    const char *y =
        emit(e, "select i1 %s, float %s, float %s", tiny, emit(e, "fmul float %s, %s", x, constant(0x1p23f)), x);
    const char *bits = bits_of(e, y), *n = emit(e, "ashr i32 %s, 23", emit(e, "sub i32 %s, %d", bits, SQRT_HALF_BITS));
    const char *m = emit(e, "bitcast i32 %s to float", emit(e, "sub i32 %s, %s", bits, emit(e, "shl i32 %s, 23", n)));
    const char *f = emit(e, "fsub float %s, 1.0", m),
               *s = emit(e, "fdiv float %s, %s", f, emit(e, "fadd float %s, 2.0", f));
    const char *log = emit(e, "fmul float %s, %s", s, polynomial(e, emit(e, "fmul float %s, %s", s, s), series, 5));
    const char *whole = emit(e, "sub i32 %s, %s", n, emit(e, "select i1 %s, i32 23, i32 0", tiny));
    const char *v = emit(e, "fadd float %s, %s", emit(e, "sitofp i32 %s to float", whole), log);
    v = emit(e, "select i1 %s, float %s, float %s", emit(e, "fcmp oeq float %s, %s", x, plus_infinity), x, v);
    v = emit(e, "select i1 %s, float %s, float %s", emit(e, "fcmp oeq float %s, 0.0", x), minus_infinity, v);
    return emit(e, "select i1 %s, float %s, float %s", emit(e, "fcmp ult float %s, 0.0", x), quiet_nan, v);
}

/* 1 - 2 / (e^2x + 1), but near 0, where that loses precision, x + x^3 P(x^2): P and 0.625 are those of tanhf in Cephes. */
static const char *tanh_f32(struct emitter *e, const char *x)
{
    static const float series[] = { -5.70498872745e-3f, 2.06390887954e-2f,  -5.37397155531e-2f,
                                    1.33314422036e-1f,  -3.33332819422e-1f, 0 };
    const char *size = emit(e, "call float @llvm.fabs.f32(float %s)", x);
    const char *power = exp2_f32(e, emit(e, "fmul float %s, %s", size, constant(2.88539008f))); /* 2 / ln 2 */
    const char *large =
        emit(e, "fsub float 1.0, %s", emit(e, "fdiv float 2.0, %s", emit(e, "fadd float %s, 1.0", power)));
    const char *bend = polynomial(e, emit(e, "fmul float %s, %s", x, x), series, 6);
    const char *little = emit(e, "fadd float %s, %s", emit(e, "fmul float %s, %s", bend, size), size);
    const char *near = emit(e, "fcmp olt float %s, 0.625", size);
    return emit(e, "call float @llvm.copysign.f32(float %s, float %s)",
                emit(e, "select i1 %s, float %s, float %s", near, little, large), x);
}

/* How many turns an angle is, rounded towards zero to a single: what the GPU goes on with, so that large angles lose
 * their precision here, too. */
static const char *turns(struct emitter *e, const char *angle)
{
    const char *exact = emit(e, "fmul double %s, %s", emit(e, "fpext float %s to double", angle), one_over_two_pi);
    const char *near = emit(e, "fptrunc double %s to float", exact), *back = emit(e, "fpext float %s to double", near);
    const char *beyond = emit(e, "fcmp ogt double %s, %s", emit(e, "call double @llvm.fabs.f64(double %s)", back),
                              emit(e, "call double @llvm.fabs.f64(double %s)", exact));
    return emit(e, "bitcast i32 %s to float",
                emit(e, "sub i32 %s, %s", bits_of(e, near), emit(e, "zext i1 %s to i32", beyond)));
}

/* sin of so many turns, a quarter at most, by its Taylor series */
static const char *sin_turns(struct emitter *e, const char *part)
{
    static const float series[] = {
        -2.50521084e-8f, 2.75573192e-6f, -1.98412698e-4f, 8.33333333e-3f, -1.66666667e-1f, 1
    };
    const char *angle = emit(e, "fmul float %s, %s", part, constant(6.28318531f)); /* 2 pi */
    return emit(e, "fmul float %s, %s", angle, polynomial(e, emit(e, "fmul float %s, %s", angle, angle), series, 6));
}

static const char *sin_or_cos(struct emitter *e, bool sine, const char *x)
{
    const char *all = turns(e, x);
    const char *part = emit(e, "fsub float %s, %s", all, emit(e, "call float @llvm.rint.f32(float %s)", all));
    /* of which the GPU has 25 bits: the sine of less than the last one is 0 */
    part = emit(e, "call float @llvm.trunc.f32(float %s)", emit(e, "fmul float %s, %s", part, constant(0x1p25f)));
    part = emit(e, "fmul float %s, %s", part, constant(0x1p-25f));
    const char *size = emit(e, "call float @llvm.fabs.f32(float %s)", part);
    if (!sine) return sin_turns(e, emit(e, "fsub float 0.25, %s", size));
    const char *folded = emit(e, "select i1 %s, float %s, float %s", emit(e, "fcmp ogt float %s, 0.25", size),
                              emit(e, "fsub float 0.5, %s", size), size);
    /* the sine of -0 is -0 */
    const char *sign = emit(e, "select i1 %s, float %s, float %s", emit(e, "fcmp oeq float %s, 0.0", part), x, part);
    return emit(e, "call float @llvm.copysign.f32(float %s, float %s)", sin_turns(e, folded), sign);
}

const char *approximate(struct emitter *e, enum ptx_op op, const char *x)
{
    switch (op) {
    case OP_ex2: return exp2_f32(e, x);
    case OP_lg2: return log2_f32(e, x);
    case OP_tanh: return tanh_f32(e, x);
    default: return sin_or_cos(e, op == OP_sin, x);
    }
}

void emit_approximation(struct emitter *e, const struct instr *i, enum ptx_type t)
{
    need_operands(i, 2, 2);
    if (t != T_f32) fail(i, "the type does not fit the operation");
    if (!has(i, MOD_approx)) fail(i, ".approx is missing");
    float_result(e, i, t, approximate(e, i->op, float_operand(e, i, 1, t)));
}
