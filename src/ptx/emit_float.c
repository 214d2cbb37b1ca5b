/* Single and double precision. Nearest-even operations are LLVM's own, so that
 * they vectorise; directed roundings are calls (src/device/math.c). */
#include "emit_float.h"
#include "arena.h"
#include "llvm.h"
#include "rt_math.h"

#include <string.h>

unsigned rounding_mode(const struct instr *i)
{
    return has(i, MOD_rz) ? 1 : has(i, MOD_rm) ? 2 : has(i, MOD_rp) ? 3 : 0;
}

/* The same for a function of rt_math.h. A GPU flushes what is less than the least normal number after it was rounded to
 * a normal one's precision; what is flushed afterwards is found out too late. */
unsigned rounding_call(const struct instr *i) { return rounding_mode(i) | (has(i, MOD_ftz) ? FL_MATH_FLUSHES : 0); }

static bool has_rounding(const struct instr *i)
{
    return has(i, MOD_rn) || has(i, MOD_rz) || has(i, MOD_rm) || has(i, MOD_rp);
}

const char *flush_f32(struct emitter *e, const char *v)
{
    const char *bits = emit(e, "bitcast float %s to i32", v),
               *tiny = emit(e, "icmp eq i32 %s, 0", emit(e, "and i32 %s, %d", bits, F32_INFINITY));
    return emit(e, "bitcast i32 %s to float",
                emit(e, "select i1 %s, i32 %s, i32 %s", tiny, emit(e, "and i32 %s, %d", bits, F32_SIGN), bits));
}

const char *flush_f16(struct emitter *e, const char *v)
{
    const char *tiny = emit(e, "icmp eq i16 %s, 0", emit(e, "and i16 %s, %d", v, F16_INFINITY));
    return emit(e, "select i1 %s, i16 %s, i16 %s", tiny, emit(e, "and i16 %s, %d", v, HALF_SIGN), v);
}

const char *saturate(struct emitter *e, enum ptx_type t, const char *v)
{
    const char *ll = lltype(t),
               *positive = emit(e, "select i1 %s, %s %s, %s 0.0", emit(e, "fcmp ogt %s %s, 0.0", ll, v), ll, v, ll);
    return emit(e, "select i1 %s, %s %s, %s 1.0", emit(e, "fcmp olt %s %s, 1.0", ll, positive), ll, positive, ll);
}

/* A NaN gives way to a number, unless nan is asked for; -0 is less than +0. */
const char *minmax_float(struct emitter *e, const char *ll, bool max, bool nan, const char *a, const char *b)
{
    const char *name = !strcmp(ll, "float") ? "f32" : "f64";
    const char *m = emit(e, "call %s @llvm.%s.%s(%s %s, %s %s)", ll, max ? "maximum" : "minimum", name, ll, a, ll, b);
    /* LLVM 19's forget a NaN beside a zero whose sign they know */
    if (nan)
        return emit(e, "select i1 %s, %s %s, %s %s", emit(e, "fcmp uno %s %s, %s", ll, a, b), ll,
                    emit(e, "fadd %s %s, %s", ll, a, b), ll, m);
    m = emit(e, "select i1 %s, %s %s, %s %s", emit(e, "fcmp uno %s %s, 0.0", ll, a), ll, b, ll, m);
    return emit(e, "select i1 %s, %s %s, %s %s", emit(e, "fcmp uno %s %s, 0.0", ll, b), ll, a, ll, m);
}

const char *f16_to_f32(struct emitter *e, const char *v)
{
    if (!llvm_host_has("f16c")) return call_rt(e, "f32_from_f16", "i16 %s", v);
    return emit(e, "fpext half %s to float", emit(e, "bitcast i16 %s to half", v));
}

const char *f32_to_f16(struct emitter *e, const char *v)
{
    if (!llvm_host_has("f16c")) return call_rt(e, "f16_from_f32", "float %s, i32 0", v);
    return emit(e, "bitcast half %s to i16", emit(e, "fptrunc float %s to half", v));
}

const char *bf16_to_f32(struct emitter *e, const char *v)
{
    return emit(e, "bitcast i32 %s to float", emit(e, "shl i32 %s, 16", emit(e, "zext i16 %s to i32", v)));
}

const char *f32_to_bf16(struct emitter *e, const char *v)
{
    const char *bits = emit(e, "bitcast float %s to i32", v),
               *odd = emit(e, "and i32 %s, 1", emit(e, "lshr i32 %s, 16", bits));
    const char *r = emit(e, "lshr i32 %s, 16", emit(e, "add i32 %s, %s", emit(e, "add i32 %s, %d", bits, 0x7fff), odd));
    return emit(e, "trunc i32 %s to i16",
                emit(e, "select i1 %s, i32 %d, i32 %s", emit(e, "fcmp uno float %s, 0.0", v), HALF_NAN, r));
}

/* ---- operands and results with .ftz and .sat */

/* Whether the processor flushes what the instruction takes and gives. What a constant is combined with LLVM may leave
 * as it is. */
static bool processor_flushes(const struct emitter *e, const struct instr *i)
{
    if (!e->func->flushed || rounding_mode(i)) return false;
    for (unsigned k = 1; k < i->nops; k++)
        if (i->ops[k].kind != OPERAND_reg) return false;
    switch (i->op) {
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_div:
    case OP_rcp:
    case OP_sqrt:
    case OP_rsqrt: return true;
    case OP_fma:
    case OP_mad: return !e->avoid_fma;
    default: return false;
    }
}

const char *float_operand(struct emitter *e, const struct instr *i, unsigned n, enum ptx_type t)
{
    if (i->nops <= n) fail(i, "wrong number of operands");
    fits(e, &i->ops[n], t);
    const char *v = value(e, &i->ops[n], t);
    return t == T_f32 && has(i, MOD_ftz) && !processor_flushes(e, i) ? flush_f32(e, v) : v;
}

void float_result(struct emitter *e, const struct instr *i, enum ptx_type t, const char *v)
{
    fits(e, &i->ops[0], t);
    if (t == T_f32 && has(i, MOD_ftz) && !processor_flushes(e, i)) v = flush_f32(e, v);
    if (has(i, MOD_sat)) v = saturate(e, t, v);
    result(e, &i->ops[0], t, v);
}

static const char *suffix(enum ptx_type t) { return t == T_f32 ? "f32" : "f64"; }

static const char *fused(struct emitter *e, enum ptx_type t, const char *a, const char *b, const char *c)
{
    const char *ll = lltype(t);
    if (e->avoid_fma)
        return call_rt(e, arena_printf("fma_%s", suffix(t)), "%s %s, %s %s, %s %s, i32 0", ll, a, ll, b, ll, c);
    return emit(e, "call %s @llvm.fma.%s(%s %s, %s %s, %s %s)", ll, suffix(t), ll, a, ll, b, ll, c);
}

/* a * b + c rounded down, without changing the processor's mode, which would cost more and no vector code has: the
 * product is exact in double precision, the sum is known with its error, and what the nearest single is above goes to
 * the one below. A sum of 0 is negative unless both are positive. */
static const char *fused_down(struct emitter *e, const char *a, const char *b, const char *c)
{
    const char *p = emit(e, "fmul double %s, %s", emit(e, "fpext float %s to double", a),
                         emit(e, "fpext float %s to double", b)),
               *d = emit(e, "fpext float %s to double", c), *sum = emit(e, "fadd double %s, %s", p, d);
    const char *part = emit(e, "fsub double %s, %s", sum, p),
               *error = emit(e, "fadd double %s, %s",
                             emit(e, "fsub double %s, %s", p, emit(e, "fsub double %s, %s", sum, part)),
                             emit(e, "fsub double %s, %s", d, part));
    const char *nearest = emit(e, "fptrunc double %s to float", sum),
               *bits = emit(e, "bitcast float %s to i32", nearest),
               *wide = emit(e, "fpext float %s to double", nearest);
    const char *above = emit(e, "or i1 %s, %s", emit(e, "fcmp ogt double %s, %s", wide, sum),
                             emit(e, "and i1 %s, %s", emit(e, "fcmp oeq double %s, %s", wide, sum),
                                  emit(e, "fcmp olt double %s, 0.0", error)));
    const char *below = emit(e, "select i1 %s, i32 %s, i32 %s", emit(e, "icmp slt i32 %s, 0", bits),
                             emit(e, "add i32 %s, 1", bits), emit(e, "add i32 %s, -1", bits));
    below = emit(e, "select i1 %s, i32 %d, i32 %s", emit(e, "icmp eq i32 %s, 0", bits), F32_SIGN + 1, below);
    const char *signs = emit(e, "or i64 %s, %s", emit(e, "bitcast double %s to i64", p),
                             emit(e, "bitcast double %s to i64", d)),
               *zero = emit(e, "select i1 %s, i32 0, i32 %d", emit(e, "icmp eq i64 %s, 0", signs), F32_SIGN);
    const char *r = emit(e, "select i1 %s, i32 %s, i32 %s", above, below, bits);
    r = emit(e, "select i1 %s, i32 %s, i32 %s", emit(e, "fcmp oeq double %s, 0.0", sum), zero, r);
    return emit(e, "bitcast i32 %s to float", r);
}

static void emit_basic(struct emitter *e, const struct instr *i, enum ptx_type t, const char *op)
{
    need_operands(i, 3, 3);
    const char *ll = lltype(t), *a = float_operand(e, i, 1, t), *b = float_operand(e, i, 2, t);
    unsigned mode = rounding_mode(i);
    if (!mode)
        float_result(e, i, t, emit(e, "f%s %s %s, %s", op, ll, a, b));
    else
        float_result(
            e, i, t,
            call_rt(e, arena_printf("%s_%s", op, suffix(t)), "%s %s, %s %s, i32 %u", ll, a, ll, b, rounding_call(i)));
}

static void emit_fused(struct emitter *e, const struct instr *i, enum ptx_type t)
{
    need_operands(i, 4, 4);
    if (!has_rounding(i)) fail(i, "a rounding is missing");
    const char *ll = lltype(t), *a = float_operand(e, i, 1, t), *b = float_operand(e, i, 2, t),
               *c = float_operand(e, i, 3, t);
    unsigned mode = rounding_mode(i);
    if (!mode)
        float_result(e, i, t, fused(e, t, a, b, c));
    else if (t == T_f32 && has(i, MOD_rm) && !has(i, MOD_ftz))
        float_result(e, i, t, fused_down(e, a, b, c));
    else
        float_result(e, i, t,
                     call_rt(e, arena_printf("fma_%s", suffix(t)), "%s %s, %s %s, %s %s, i32 %u", ll, a, ll, b, ll, c,
                             rounding_call(i)));
}

static void emit_minmax(struct emitter *e, const struct instr *i, enum ptx_type t)
{
    need_operands(i, 3, 4);
    if (has(i, MOD_xorsign) && t != T_f32) fail(i, "the type does not fit the operation");
    const char *ll = lltype(t), *v = float_operand(e, i, 1, t), *sign = NULL;
    for (unsigned k = 2; k < i->nops; k++) {
        const char *b = float_operand(e, i, k, t);
        if (has(i, MOD_xorsign)) {
            sign =
                emit(e, "xor i32 %s, %s", emit(e, "bitcast float %s to i32", v), emit(e, "bitcast float %s to i32", b));
            v = emit(e, "call float @llvm.fabs.f32(float %s)", v);
            b = emit(e, "call float @llvm.fabs.f32(float %s)", b);
        } else if (has(i, MOD_abs)) {
            v = emit(e, "call %s @llvm.fabs.%s(%s %s)", ll, suffix(t), ll, v);
            b = emit(e, "call %s @llvm.fabs.%s(%s %s)", ll, suffix(t), ll, b);
        }
        v = minmax_float(e, ll, i->op == OP_max, has(i, MOD_NaN), v, b);
        if (sign)
            v = emit(e, "call float @llvm.copysign.f32(float %s, float %s)", v,
                     emit(e, "bitcast i32 %s to float", sign));
    }
    float_result(e, i, t, v);
}

/* ---- division and roots */

/* .approx multiplies by a reciprocal, which is 0 if it would be subnormal. */
static void emit_quotient(struct emitter *e, const struct instr *i)
{
    static const char most[] = "0x47D0000000000000"; /* 2^126 */
    need_operands(i, 3, 3);
    const char *a = float_operand(e, i, 1, T_f32), *b = float_operand(e, i, 2, T_f32);
    const char *size = emit(e, "call float @llvm.fabs.f32(float %s)", b),
               *zero = emit(e, "call float @llvm.copysign.f32(float 0.0, float %s)", b);
    float_result(e, i, T_f32,
                 emit(e, "select i1 %s, float %s, float %s", emit(e, "fcmp ogt float %s, %s", size, most),
                      emit(e, "fmul float %s, %s", a, zero), emit(e, "fdiv float %s, %s", a, b)));
}

static void emit_divide(struct emitter *e, const struct instr *i, enum ptx_type t)
{
    need_operands(i, 3, 3);
    if (!has_rounding(i) && !has(i, MOD_approx) && !has(i, MOD_full))
        fail(i, "a rounding, .approx or .full is missing");
    if (t == T_f64 && !has_rounding(i)) fail(i, "a rounding is missing");
    if (has(i, MOD_approx))
        emit_quotient(e, i);
    else
        emit_basic(e, i, t, "div");
}

static const char *flush_f64(struct emitter *e, const char *v)
{
    static const char least[] = "0x0010000000000000";
    return emit(e, "select i1 %s, double %s, double %s",
                emit(e, "fcmp olt double %s, %s", emit(e, "call double @llvm.fabs.f64(double %s)", v), least),
                emit(e, "call double @llvm.copysign.f64(double 0.0, double %s)", v), v);
}

static void emit_root(struct emitter *e, const struct instr *i, enum ptx_type t)
{
    need_operands(i, 2, 2);
    bool approximate = has(i, MOD_approx);
    if (!approximate && !has_rounding(i)) fail(i, "a rounding or .approx is missing");
    const char *ll = lltype(t), *a = float_operand(e, i, 1, t), *v;
    unsigned mode = rounding_mode(i);
    if (t == T_f64 && has(i, MOD_ftz)) a = flush_f64(e, a);
    switch (i->op) {
    case OP_rcp:
        if (mode)
            v = call_rt(e, arena_printf("div_%s", suffix(t)), "%s 1.0, %s %s, i32 %u", ll, ll, a, rounding_call(i));
        else
            v = emit(e, "fdiv %s 1.0, %s", ll, a);
        break;
    case OP_sqrt:
        if (mode)
            v = call_rt(e, arena_printf("sqrt_%s", suffix(t)), "%s %s, i32 %u", ll, a, mode);
        else
            v = emit(e, "call %s @llvm.sqrt.%s(%s %s)", ll, suffix(t), ll, a);
        break;
    default: v = emit(e, "fdiv %s 1.0, %s", ll, emit(e, "call %s @llvm.sqrt.%s(%s %s)", ll, suffix(t), ll, a));
    }
    if (t == T_f64 && has(i, MOD_ftz)) v = flush_f64(e, v);
    float_result(e, i, t, v);
}

static void emit_sign(struct emitter *e, const struct instr *i, enum ptx_type t)
{
    const char *ll = lltype(t);
    if (i->op == OP_copysign) {
        need_operands(i, 3, 3);
        float_result(e, i, t,
                     emit(e, "call %s @llvm.copysign.%s(%s %s, %s %s)", ll, suffix(t), ll, float_operand(e, i, 2, t),
                          ll, float_operand(e, i, 1, t)));
        return;
    }
    need_operands(i, 2, 2);
    const char *a = float_operand(e, i, 1, t);
    float_result(e, i, t,
                 i->op == OP_neg ? emit(e, "fneg %s %s", ll, a)
                                 : emit(e, "call %s @llvm.fabs.%s(%s %s)", ll, suffix(t), ll, a));
}

/* Two singles in one 64-bit register, each as the scalar operation. */
static void emit_pair(struct emitter *e, const struct instr *i)
{
    const char *in[3][2], *out[2];
    unsigned n = i->op == OP_fma ? 3 : 2;
    need_operands(i, n + 1, n + 1);
    for (unsigned k = 0; k < n; k++) {
        const char *v = value(e, &i->ops[k + 1], T_b64);
        for (unsigned h = 0; h < 2; h++) {
            in[k][h] = emit(e, "bitcast i32 %s to float",
                            emit(e, "trunc i64 %s to i32", h ? emit(e, "lshr i64 %s, 32", v) : v));
            if (has(i, MOD_ftz)) in[k][h] = flush_f32(e, in[k][h]);
        }
    }
    unsigned mode = rounding_mode(i);
    for (unsigned h = 0; h < 2; h++) {
        const char *name = i->op == OP_add ? "add" : i->op == OP_sub ? "sub" : "mul";
        if (n == 3)
            out[h] =
                mode ? call_rt(e, "fma_f32", "float %s, float %s, float %s, i32 %u", in[0][h], in[1][h], in[2][h], mode)
                     : fused(e, T_f32, in[0][h], in[1][h], in[2][h]);
        else
            out[h] =
                mode ? call_rt(e, arena_printf("%s_f32", name), "float %s, float %s, i32 %u", in[0][h], in[1][h], mode)
                     : emit(e, "f%s float %s, %s", name, in[0][h], in[1][h]);
        if (has(i, MOD_ftz)) out[h] = flush_f32(e, out[h]);
        out[h] = emit(e, "zext i32 %s to i64", emit(e, "bitcast float %s to i32", out[h]));
    }
    result(e, &i->ops[0], T_b64, emit(e, "or i64 %s, %s", out[0], emit(e, "shl i64 %s, 32", out[1])));
}

bool emit_float(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = i->ntypes ? i->types[0] : T_none;
    if (t == T_f32x2 && (i->op == OP_add || i->op == OP_sub || i->op == OP_mul || i->op == OP_fma)) {
        emit_pair(e, i);
        return true;
    }
    if (t != T_f32 && t != T_f64) return false;
    if ((has(i, MOD_sat) && t == T_f64) || (has(i, MOD_ftz) && t == T_f64 && i->op != OP_rcp && i->op != OP_rsqrt))
        fail(i, "the modifier does not fit .f64");
    if (has(i, MOD_lo) || has(i, MOD_hi) || has(i, MOD_wide)) fail(i, "the modifier does not fit the type");
    switch (i->op) {
    case OP_add: emit_basic(e, i, t, "add"); return true;
    case OP_sub: emit_basic(e, i, t, "sub"); return true;
    case OP_mul: emit_basic(e, i, t, "mul"); return true;
    case OP_fma:
    case OP_mad: emit_fused(e, i, t); return true;
    case OP_div: emit_divide(e, i, t); return true;
    case OP_rcp:
    case OP_sqrt:
    case OP_rsqrt: emit_root(e, i, t); return true;
    case OP_sin:
    case OP_cos:
    case OP_lg2:
    case OP_ex2:
    case OP_tanh: emit_approximation(e, i, t); return true;
    case OP_min:
    case OP_max: emit_minmax(e, i, t); return true;
    case OP_abs:
    case OP_neg:
    case OP_copysign: emit_sign(e, i, t); return true;
    default: return false;
    }
}
