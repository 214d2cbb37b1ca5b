/* Integer arithmetic. Division never traps: the results of x / 0 and x % 0 are
 * those of the GPU. */
#include "emit_int.h"

#include <inttypes.h>

static void need_integer(const struct instr *i, enum ptx_type t)
{
    if (!type_integer(t) || type_bits(t) < 16) fail(i, "the type does not fit the operation");
}

static const char *extend(struct emitter *e, const char *v, enum ptx_type t, unsigned bits)
{
    if (type_bits(t) == bits) return v;
    return emit(e, "%s %s %s to i%u", type_signed(t) ? "sext" : "zext", lltype(t), v, bits);
}

/* The smallest type that holds a full product. */
static enum ptx_type wider(enum ptx_type t)
{
    switch (t) {
    case T_u16: return T_u32;
    case T_s16: return T_s32;
    case T_u32: return T_u64;
    case T_s32: return T_s64;
    default: return T_none;
    }
}

static const char *product(struct emitter *e, enum ptx_type t, const char *a, const char *b)
{
    unsigned bits = type_bits(t) * 2;
    return emit(e, "mul i%u %s, %s", bits, extend(e, a, t, bits), extend(e, b, t, bits));
}

static const char *high_half(struct emitter *e, enum ptx_type t, const char *p)
{
    unsigned bits = type_bits(t);
    return emit(e, "trunc i%u %s to i%u", bits * 2, emit(e, "lshr i%u %s, %u", bits * 2, p, bits), bits);
}

/* ---- carry chains */

/* a + b + in, or a - b - in; *out: the carry or the borrow. in NULL: none. */
static const char *with_carry(struct emitter *e, bool subtract, const char *t, const char *a, const char *b,
                              const char *in, const char **out)
{
    const char *op = subtract ? "usub" : "uadd";
    const char *p = emit(e, "call { %s, i1 } @llvm.%s.with.overflow.%s(%s %s, %s %s)", t, op, t, t, a, t, b);
    const char *s = emit(e, "extractvalue { %s, i1 } %s, 0", t, p), *c = emit(e, "extractvalue { %s, i1 } %s, 1", t, p);
    if (in) {
        p = emit(e, "call { %s, i1 } @llvm.%s.with.overflow.%s(%s %s, %s %s)", t, op, t, t, s, t,
                 emit(e, "zext i1 %s to %s", in, t));
        s = emit(e, "extractvalue { %s, i1 } %s, 0", t, p);
        c = emit(e, "or i1 %s, %s", c, emit(e, "extractvalue { %s, i1 } %s, 1", t, p));
    }
    *out = c;
    return s;
}

static const char *inverse(struct emitter *e, bool really, const char *v)
{
    return really ? emit(e, "xor i1 %s, true", v) : v;
}

/* a + b + in, or a - b - in, as an .s32 that saturates */
static const char *saturated(struct emitter *e, bool subtract, const char *a, const char *b, const char *in)
{
    const char *op = subtract ? "sub" : "add";
    const char *v = emit(e, "%s i64 %s, %s", op, emit(e, "sext i32 %s to i64", a), emit(e, "sext i32 %s to i64", b));
    v = emit(e, "%s i64 %s, %s", op, v, emit(e, "zext i1 %s to i64", in));
    v = emit(e, "call i64 @llvm.smax.i64(i64 %s, i64 %d)", v, INT32_MIN);
    return emit(e, "trunc i64 %s to i32", emit(e, "call i64 @llvm.smin.i64(i64 %s, i64 %d)", v, INT32_MAX));
}

/* The same for instruction i: the carry comes from CC if use, and goes there with .cc. Of a difference CC has what a
 * sum of a, ~b and 1 carries, no borrow, so that each may go on with what the other left (observed on an H200). */
static const char *carry_chain(struct emitter *e, const struct instr *i, bool subtract, bool use, const char *a,
                               const char *b)
{
    const char *out, *in = use ? inverse(e, subtract, load_reg(e, i->carry)) : NULL;
    const char *v = with_carry(e, subtract, lltype(i->types[0]), a, b, in, &out);
    if (has(i, MOD_cc)) store_reg(e, i->carry, inverse(e, subtract, out));
    return v;
}

static void emit_add(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    bool use_carry = i->op == OP_addc || i->op == OP_subc, subtract = i->op == OP_sub || i->op == OP_subc;
    need_operands(i, 3, 3);
    if (t == T_u16x2 || t == T_s16x2) {
        const char *a = emit(e, "bitcast i32 %s to <2 x i16>", arg(e, i, 1, T_b32)),
                   *b = emit(e, "bitcast i32 %s to <2 x i16>", arg(e, i, 2, T_b32));
        give(e, i, T_b32,
             emit(e, "bitcast <2 x i16> %s to i32", emit(e, "%s <2 x i16> %s, %s", subtract ? "sub" : "add", a, b)));
        return;
    }
    need_integer(i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t), *v;
    if (has(i, MOD_cc) || use_carry) {
        v = has(i, MOD_sat) ? saturated(e, subtract, a, b, inverse(e, subtract, load_reg(e, i->carry)))
                            : carry_chain(e, i, subtract, use_carry, a, b);
    } else if (has(i, MOD_sat)) {
        if (t != T_s32) fail(i, "only .s32 saturates");
        v = emit(e, "call i32 @llvm.%s.sat.i32(i32 %s, i32 %s)", subtract ? "ssub" : "sadd", a, b);
    } else {
        v = emit(e, "%s %s %s, %s", subtract ? "sub" : "add", lltype(t), a, b);
    }
    give(e, i, t, v);
}

static void emit_mul(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 3, 3);
    need_integer(i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t);
    if (has(i, MOD_wide)) {
        if (!wider(t)) fail(i, "the type does not fit .wide");
        give(e, i, wider(t), product(e, t, a, b));
    } else if (has(i, MOD_hi)) {
        give(e, i, t, high_half(e, t, product(e, t, a, b)));
    } else if (has(i, MOD_lo)) {
        give(e, i, t, emit(e, "mul %s %s, %s", lltype(t), a, b));
    } else {
        fail(i, ".lo, .hi or .wide is missing");
    }
}

static void emit_mad(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 4, 4);
    need_integer(i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t), *v;
    if (has(i, MOD_wide)) {
        if (!wider(t)) fail(i, "the type does not fit .wide");
        enum ptx_type w = wider(t);
        give(e, i, w, emit(e, "add %s %s, %s", lltype(w), product(e, t, a, b), arg(e, i, 3, w)));
        return;
    }
    if (!has(i, MOD_hi) && !has(i, MOD_lo)) fail(i, ".lo, .hi or .wide is missing");
    const char *p = has(i, MOD_hi) ? high_half(e, t, product(e, t, a, b)) : emit(e, "mul %s %s, %s", lltype(t), a, b),
               *add = arg(e, i, 3, t);
    if (has(i, MOD_cc) || i->op == OP_madc) { /* which does not saturate, whatever it says (observed on an H200) */
        v = carry_chain(e, i, false, i->op == OP_madc, p, add);
    } else if (has(i, MOD_sat)) {
        if (t != T_s32 || !has(i, MOD_hi)) fail(i, "only .hi.s32 saturates");
        v = emit(e, "call i32 @llvm.sadd.sat.i32(i32 %s, i32 %s)", p, add);
    } else {
        v = emit(e, "add %s %s, %s", lltype(t), p, add);
    }
    give(e, i, t, v);
}

static void emit_mul24(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    bool mad = i->op == OP_mad24;
    need_operands(i, mad ? 4 : 3, mad ? 4 : 3);
    if (t != T_u32 && t != T_s32) fail(i, "the type does not fit the operation");
    const char *shift = t == T_s32 ? "ashr" : "lshr", *p[2];
    for (unsigned k = 0; k < 2; k++)
        p[k] = extend(e, emit(e, "%s i32 %s, 8", shift, emit(e, "shl i32 %s, 8", arg(e, i, k + 1, t))), t, 64);
    const char *full = emit(e, "mul i64 %s, %s", p[0], p[1]);
    if (has(i, MOD_hi)) full = emit(e, "lshr i64 %s, 16", full);
    const char *v = emit(e, "trunc i64 %s to i32", full);
    if (mad)
        v = has(i, MOD_sat) ? emit(e, "call i32 @llvm.sadd.sat.i32(i32 %s, i32 %s)", v, arg(e, i, 3, t))
                            : emit(e, "add i32 %s, %s", v, arg(e, i, 3, t));
    give(e, i, t, v);
}

static void emit_divide(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 3, 3);
    need_integer(i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t), *ll = lltype(t), *zero = emit(e, "icmp eq %s %s, 0", ll, b),
               *bad = zero;
    if (type_signed(t)) {
        const char *least = emit(e, "icmp eq %s %s, %" PRId64, ll, a, INT64_MIN >> (64 - type_bits(t)));
        bad = emit(e, "or i1 %s, %s", zero, emit(e, "and i1 %s, %s", least, emit(e, "icmp eq %s %s, -1", ll, b)));
    }
    const char *by = emit(e, "select i1 %s, %s 1, %s %s", bad, ll, ll, b), *v;
    v = emit(e, "%c%s %s %s, %s", type_signed(t) ? 's' : 'u', i->op == OP_div ? "div" : "rem", ll, a, by);
    v = emit(e, "select i1 %s, %s -1, %s %s", zero, ll, ll, v); /* of both, as observed on H200 */
    give(e, i, t, v);
}

static void emit_sign(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 2, 2);
    if (!type_signed(t) || type_bits(t) < 16) fail(i, "the type does not fit the operation");
    const char *a = arg(e, i, 1, t), *ll = lltype(t);
    give(e, i, t,
         i->op == OP_neg ? emit(e, "sub %s 0, %s", ll, a)
                         : emit(e, "call %s @llvm.abs.%s(%s %s, i1 false)", ll, ll, ll, a));
}

static void emit_minmax(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 3, 4);
    bool packed = t == T_u16x2 || t == T_s16x2, sign = type_signed(t) || t == T_s16x2;
    if (!packed) need_integer(i, t);
    enum ptx_type in = packed ? T_b32 : t;
    const char *ll = packed ? "<2 x i16>" : lltype(t), *name = packed ? "v2i16" : lltype(t), *v = NULL;
    for (unsigned k = 1; k < i->nops; k++) {
        const char *x = arg(e, i, k, in);
        if (packed) x = emit(e, "bitcast i32 %s to <2 x i16>", x);
        v = v ? emit(e, "call %s @llvm.%c%s.%s(%s %s, %s %s)", ll, sign ? 's' : 'u', i->op == OP_min ? "min" : "max",
                     name, ll, v, ll, x)
              : x;
    }
    if (has(i, MOD_relu)) v = emit(e, "call %s @llvm.smax.%s(%s %s, %s zeroinitializer)", ll, name, ll, v, ll);
    give(e, i, in, packed ? emit(e, "bitcast <2 x i16> %s to i32", v) : v);
}

static const char *byte_of(struct emitter *e, const char *v, unsigned at, unsigned bits, bool sign)
{
    const char *x = emit(e, "trunc i32 %s to i%u", at ? emit(e, "lshr i32 %s, %u", v, at) : v, bits);
    return emit(e, "%s i%u %s to i32", sign ? "sext" : "zext", bits, x);
}

static void emit_dot(struct emitter *e, const struct instr *i)
{
    need_operands(i, 4, 4);
    bool sa = type_signed(need_type(i, 0)), sb = type_signed(need_type(i, 1)), two = i->op == OP_dp2a;
    const char *a = arg(e, i, 1, T_b32), *b = arg(e, i, 2, T_b32), *sum = arg(e, i, 3, T_b32);
    unsigned n = two ? 2 : 4, base = two && has(i, MOD_hi) ? 16 : 0;
    for (unsigned k = 0; k < n; k++)
        sum = emit(e, "add i32 %s, %s", sum,
                   emit(e, "mul i32 %s, %s", byte_of(e, a, k * (two ? 16 : 8), two ? 16 : 8, sa),
                        byte_of(e, b, base + k * 8, 8, sb)));
    give(e, i, T_b32, sum);
}

static void emit_sad(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 4, 4);
    need_integer(i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t), *ll = lltype(t),
               *less = emit(e, "icmp %s %s %s, %s", type_signed(t) ? "slt" : "ult", ll, a, b);
    const char *d = emit(e, "select i1 %s, %s %s, %s %s", less, ll, emit(e, "sub %s %s, %s", ll, b, a), ll,
                         emit(e, "sub %s %s, %s", ll, a, b));
    give(e, i, t, emit(e, "add %s %s, %s", ll, arg(e, i, 3, t), d));
}

bool emit_integer(struct emitter *e, const struct instr *i)
{
    switch (i->op) {
    case OP_add:
    case OP_addc:
    case OP_sub:
    case OP_subc: emit_add(e, i); return true;
    case OP_mul: emit_mul(e, i); return true;
    case OP_mad:
    case OP_madc: emit_mad(e, i); return true;
    case OP_mul24:
    case OP_mad24: emit_mul24(e, i); return true;
    case OP_div:
    case OP_rem: emit_divide(e, i); return true;
    case OP_abs:
    case OP_neg: emit_sign(e, i); return true;
    case OP_min:
    case OP_max: emit_minmax(e, i); return true;
    case OP_dp4a:
    case OP_dp2a: emit_dot(e, i); return true;
    case OP_sad: emit_sad(e, i); return true;
    default: return false;
    }
}
