/* Half precision and bfloat16, one or two to a register. Sums and products are
 * exact enough in single precision to be rounded once; fused operations are
 * calls (src/device/math.c) unless the processor has them. */
#include "emit_float.h"

struct half {
    bool bf;
    unsigned lanes;
    enum ptx_type type;
};

static const char *up(struct emitter *e, const struct half *h, const char *v)
{
    return h->bf ? bf16_to_f32(e, v) : f16_to_f32(e, v);
}
static const char *down(struct emitter *e, const struct half *h, const char *v)
{
    return h->bf ? f32_to_bf16(e, v) : f32_to_f16(e, v);
}

/* Every NaN becomes the one that a GPU has. */
static const char *canonical_nan(struct emitter *e, const struct half *h, const char *v)
{
    const char *nan = emit(e, "icmp ugt i16 %s, %d", emit(e, "and i16 %s, %d", v, HALF_MAGNITUDE),
                           h->bf ? BF16_INFINITY : F16_INFINITY);
    return emit(e, "select i1 %s, i16 %d, i16 %s", nan, HALF_NAN, v);
}

/* An approximation in bfloat16 is one in single precision without its last bits (observed on an H200). */
static const char *cut_off(struct emitter *e, const char *v)
{
    const char *high =
        emit(e, "trunc i32 %s to i16", emit(e, "lshr i32 %s, 16", emit(e, "bitcast float %s to i32", v)));
    return emit(e, "select i1 %s, i16 %d, i16 %s", emit(e, "fcmp uno float %s, 0.0", v), HALF_NAN, high);
}

static const char *operate(struct emitter *e, const struct instr *i, const struct half *h, const char *const *in)
{
    if (i->op == OP_neg) return emit(e, "xor i16 %s, %d", in[0], HALF_SIGN);
    if (i->op == OP_abs) return emit(e, "and i16 %s, %d", in[0], HALF_MAGNITUDE);
    if (i->op == OP_fma)
        return call_rt(e, h->bf ? "fma_bf16" : "fma_f16", "i16 %s, i16 %s, i16 %s", in[0], in[1], in[2]);
    if (i->op == OP_ex2 || i->op == OP_tanh) {
        const char *v = approximate(e, i->op, up(e, h, in[0]));
        return h->bf ? cut_off(e, v) : down(e, h, v);
    }
    const char *a = up(e, h, in[0]), *b = up(e, h, in[1]);
    switch (i->op) {
    case OP_add: return down(e, h, emit(e, "fadd float %s, %s", a, b));
    case OP_sub: return down(e, h, emit(e, "fsub float %s, %s", a, b));
    case OP_mul: return down(e, h, emit(e, "fmul float %s, %s", a, b));
    default: break;
    }
    const char *sign =
        has(i, MOD_xorsign) ? emit(e, "and i16 %s, %d", emit(e, "xor i16 %s, %s", in[0], in[1]), HALF_SIGN) : NULL;
    if (sign) {
        a = emit(e, "call float @llvm.fabs.f32(float %s)", a);
        b = emit(e, "call float @llvm.fabs.f32(float %s)", b);
    }
    const char *v = down(e, h, minmax_float(e, "float", i->op == OP_max, has(i, MOD_NaN), a, b));
    if (has(i, MOD_NaN)) v = canonical_nan(e, h, v);
    return sign ? emit(e, "or i16 %s, %s", v, sign) : v;
}

static const char *finish(struct emitter *e, const struct instr *i, const struct half *h, const char *v)
{
    if (has(i, MOD_ftz)) v = flush_f16(e, v);
    if (has(i, MOD_sat)) v = down(e, h, saturate(e, T_f32, up(e, h, v)));
    if (has(i, MOD_relu)) {
        v = canonical_nan(e, h, v);
        v = emit(e, "select i1 %s, i16 0, i16 %s", emit(e, "icmp slt i16 %s, 0", v), v);
    }
    return v;
}

/* With .oob, a product with what a copy of a tensor fills in for elements outside makes zero of the whole. */
static const char *outside(struct emitter *e, const char *const *in, const char *v)
{
    const char *is[2];
    for (unsigned k = 0; k < 2; k++)
        is[k] = emit(e, "icmp eq i16 %s, %d", emit(e, "and i16 %s, %d", in[k], HALF_MAGNITUDE), HALF_OUTSIDE);
    return emit(e, "select i1 %s, i16 0, i16 %s", emit(e, "or i1 %s, %s", is[0], is[1]), v);
}

/* False: the instruction is of another type. */
static bool half_of(const struct instr *i, struct half *h)
{
    enum ptx_type t = i->ntypes ? i->types[0] : T_none;
    bool two = t == T_f16x2 || t == T_bf16x2;
    *h = (struct half){ .bf = t == T_bf16 || t == T_bf16x2, .lanes = two ? 2 : 1, .type = t };
    return two || t == T_f16 || t == T_bf16;
}

/* How many operands the operation takes beside the destination; 0: it is not for this file. */
static unsigned operand_count(const struct instr *i)
{
    switch (i->op) {
    case OP_neg:
    case OP_abs:
    case OP_ex2:
    case OP_tanh: return 1;
    case OP_add:
    case OP_sub:
    case OP_mul: return 2;
    case OP_min:
    case OP_max: return i->nops == 4 ? 3 : 2;
    case OP_fma: return 3;
    default: return 0;
    }
}

bool emit_half(struct emitter *e, const struct instr *i)
{
    struct half h;
    unsigned n = operand_count(i);
    if (!half_of(i, &h) || !n) return false;
    need_operands(i, n + 1, n + 1);
    const char *in[3], *whole[3], *sum = NULL;
    enum ptx_type bits = h.lanes == 2 ? T_b32 : T_b16;
    for (unsigned k = 0; k < n; k++) {
        fits(e, &i->ops[k + 1], h.type);
        whole[k] = value(e, &i->ops[k + 1], bits);
    }
    for (unsigned lane = 0; lane < h.lanes; lane++) {
        for (unsigned k = 0; k < n; k++) {
            in[k] = h.lanes == 2
                        ? emit(e, "trunc i32 %s to i16", lane ? emit(e, "lshr i32 %s, 16", whole[k]) : whole[k])
                        : whole[k];
            if (has(i, MOD_ftz)) in[k] = flush_f16(e, in[k]);
        }
        const char *v = operate(e, i, &h, in);
        if (n == 3 && i->op != OP_fma) v = operate(e, i, &h, (const char *[]){ v, in[2] });
        v = finish(e, i, &h, v);
        if (has(i, MOD_oob)) v = outside(e, in, v);
        if (h.lanes == 2) v = emit(e, "zext i16 %s to i32", v);
        sum = lane ? emit(e, "or i32 %s, %s", sum, emit(e, "shl i32 %s, 16", v)) : v;
    }
    fits(e, &i->ops[0], h.type);
    result(e, &i->ops[0], bits, sum);
    return true;
}
