/* Integer arithmetic, logic and bit operations. Division never traps: the
 * results of x / 0 and x % 0 are those of the GPU. */
#include "arena.h"
#include "emit.h"
#include "ptxc.h"

#include <inttypes.h>
#include <string.h>

static const char *arg(struct emitter *e, const struct instr *i, unsigned n, enum ptx_type type)
{
    if (i->nops <= n) fail(e, i, "wrong number of operands");
    fits(e, &i->ops[n], type);
    return value(e, &i->ops[n], type);
}

static void give(struct emitter *e, const struct instr *i, enum ptx_type type, const char *v)
{
    fits(e, &i->ops[0], type);
    result(e, &i->ops[0], type, v);
}

static void need_integer(struct emitter *e, const struct instr *i, enum ptx_type t)
{
    if (!type_integer(t) || type_bits(t) < 16) fail(e, i, "the type does not fit the operation");
}

static void need_bits(struct emitter *e, const struct instr *i, enum ptx_type t, bool predicates)
{
    if (!(type_bitwise(t) && type_bits(t) >= 16 && type_bits(t) <= 64) && !(predicates && t == T_pred))
        fail(e, i, "the type does not fit the operation");
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

static const char *add_carry(struct emitter *e, const char *t, const char *a, const char *b, const char *in,
                             const char **out)
{
    const char *p = emit(e, "call { %s, i1 } @llvm.uadd.with.overflow.%s(%s %s, %s %s)", t, t, t, a, t, b);
    const char *s = emit(e, "extractvalue { %s, i1 } %s, 0", t, p), *c = emit(e, "extractvalue { %s, i1 } %s, 1", t, p);
    if (in) {
        p = emit(e, "call { %s, i1 } @llvm.uadd.with.overflow.%s(%s %s, %s %s)", t, t, t, s, t,
                 emit(e, "zext i1 %s to %s", in, t));
        s = emit(e, "extractvalue { %s, i1 } %s, 0", t, p);
        c = emit(e, "or i1 %s, %s", c, emit(e, "extractvalue { %s, i1 } %s, 1", t, p));
    }
    *out = c;
    return s;
}

static const char *sub_borrow(struct emitter *e, const char *t, const char *a, const char *b, const char *in,
                              const char **out)
{
    const char *p = emit(e, "call { %s, i1 } @llvm.usub.with.overflow.%s(%s %s, %s %s)", t, t, t, a, t, b);
    const char *s = emit(e, "extractvalue { %s, i1 } %s, 0", t, p), *c = emit(e, "extractvalue { %s, i1 } %s, 1", t, p);
    if (in) {
        p = emit(e, "call { %s, i1 } @llvm.usub.with.overflow.%s(%s %s, %s %s)", t, t, t, s, t,
                 emit(e, "zext i1 %s to %s", in, t));
        s = emit(e, "extractvalue { %s, i1 } %s, 0", t, p);
        c = emit(e, "or i1 %s, %s", c, emit(e, "extractvalue { %s, i1 } %s, 1", t, p));
    }
    *out = c;
    return s;
}

static void emit_add(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    bool with_carry = i->op == OP_addc || i->op == OP_subc, subtract = i->op == OP_sub || i->op == OP_subc;
    need_operands(e, i, 3, 3);
    if (t == T_u16x2 || t == T_s16x2) {
        const char *a = emit(e, "bitcast i32 %s to <2 x i16>", arg(e, i, 1, T_b32)),
                   *b = emit(e, "bitcast i32 %s to <2 x i16>", arg(e, i, 2, T_b32));
        give(e, i, T_b32,
             emit(e, "bitcast <2 x i16> %s to i32", emit(e, "%s <2 x i16> %s, %s", subtract ? "sub" : "add", a, b)));
        return;
    }
    need_integer(e, i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t), *ll = lltype(t), *v, *c;
    if (has(i, MOD_cc) || with_carry) {
        const char *in = with_carry ? carry_load(e) : NULL;
        v = subtract ? sub_borrow(e, ll, a, b, in, &c) : add_carry(e, ll, a, b, in, &c);
        if (has(i, MOD_cc)) carry_store(e, c);
    } else if (has(i, MOD_sat)) {
        if (t != T_s32) fail(e, i, "only .s32 saturates");
        v = emit(e, "call i32 @llvm.%s.sat.i32(i32 %s, i32 %s)", subtract ? "ssub" : "sadd", a, b);
    } else {
        v = emit(e, "%s %s %s, %s", subtract ? "sub" : "add", ll, a, b);
    }
    give(e, i, t, v);
}

static void emit_mul(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 3, 3);
    need_integer(e, i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t);
    if (has(i, MOD_wide)) {
        if (!wider(t)) fail(e, i, "the type does not fit .wide");
        give(e, i, wider(t), product(e, t, a, b));
    } else if (has(i, MOD_hi)) {
        give(e, i, t, high_half(e, t, product(e, t, a, b)));
    } else if (has(i, MOD_lo)) {
        give(e, i, t, emit(e, "mul %s %s, %s", lltype(t), a, b));
    } else {
        fail(e, i, ".lo, .hi or .wide is missing");
    }
}

static void emit_mad(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 4, 4);
    need_integer(e, i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t), *v, *c;
    if (has(i, MOD_wide)) {
        if (!wider(t)) fail(e, i, "the type does not fit .wide");
        enum ptx_type w = wider(t);
        give(e, i, w, emit(e, "add %s %s, %s", lltype(w), product(e, t, a, b), arg(e, i, 3, w)));
        return;
    }
    if (!has(i, MOD_hi) && !has(i, MOD_lo)) fail(e, i, ".lo, .hi or .wide is missing");
    const char *p = has(i, MOD_hi) ? high_half(e, t, product(e, t, a, b)) : emit(e, "mul %s %s, %s", lltype(t), a, b),
               *add = arg(e, i, 3, t);
    if (has(i, MOD_cc) || i->op == OP_madc) {
        const char *in = i->op == OP_madc ? carry_load(e) : NULL;
        v = add_carry(e, lltype(t), p, add, in, &c);
        if (has(i, MOD_cc)) carry_store(e, c);
    } else if (has(i, MOD_sat)) {
        if (t != T_s32 || !has(i, MOD_hi)) fail(e, i, "only .hi.s32 saturates");
        v = emit(e, "call i32 @llvm.sadd.sat.i32(i32 %s, i32 %s)", p, add);
    } else {
        v = emit(e, "add %s %s, %s", lltype(t), p, add);
    }
    give(e, i, t, v);
}

static void emit_mul24(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    bool mad = i->op == OP_mad24;
    need_operands(e, i, mad ? 4 : 3, mad ? 4 : 3);
    if (t != T_u32 && t != T_s32) fail(e, i, "the type does not fit the operation");
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
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 3, 3);
    need_integer(e, i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t), *ll = lltype(t), *zero = emit(e, "icmp eq %s %s, 0", ll, b),
               *bad = zero;
    if (type_signed(t)) {
        const char *least = emit(e, "icmp eq %s %s, %s", ll, a,
                                 type_bits(t) == 64   ? "-9223372036854775808"
                                 : type_bits(t) == 32 ? "-2147483648"
                                                      : "-32768");
        bad = emit(e, "or i1 %s, %s", zero, emit(e, "and i1 %s, %s", least, emit(e, "icmp eq %s %s, -1", ll, b)));
    }
    const char *by = emit(e, "select i1 %s, %s 1, %s %s", bad, ll, ll, b), *v;
    if (i->op == OP_div) {
        v = emit(e, "%s %s %s, %s", type_signed(t) ? "sdiv" : "udiv", ll, a, by);
        v = emit(e, "select i1 %s, %s -1, %s %s", zero, ll, ll, v);
    } else {
        v = emit(e, "%s %s %s, %s", type_signed(t) ? "srem" : "urem", ll, a, by);
        v = emit(e, "select i1 %s, %s %s, %s %s", zero, ll, a, ll, v);
    }
    give(e, i, t, v);
}

static void emit_unary(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 2, 2);
    if (i->op == OP_abs || i->op == OP_neg) {
        if (!type_signed(t) || type_bits(t) < 16) fail(e, i, "the type does not fit the operation");
        const char *a = arg(e, i, 1, t);
        give(e, i, t,
             i->op == OP_neg ? emit(e, "sub %s 0, %s", lltype(t), a)
                             : emit(e, "call %s @llvm.abs.%s(%s %s, i1 false)", lltype(t), lltype(t), lltype(t), a));
        return;
    }
    need_bits(e, i, t, i->op == OP_not);
    const char *a = arg(e, i, 1, t), *ll = lltype(t), *v;
    switch (i->op) {
    case OP_not: v = emit(e, "xor %s %s, -1", ll, a); break;
    case OP_cnot: v = emit(e, "zext i1 %s to %s", emit(e, "icmp eq %s %s, 0", ll, a), ll); break;
    case OP_brev: v = emit(e, "call %s @llvm.bitreverse.%s(%s %s)", ll, ll, ll, a); break;
    default: { /* popc and clz count in 32 bits */
        v = i->op == OP_popc ? emit(e, "call %s @llvm.ctpop.%s(%s %s)", ll, ll, ll, a)
                             : emit(e, "call %s @llvm.ctlz.%s(%s %s, i1 false)", ll, ll, ll, a);
        if (type_bits(t) == 64) v = emit(e, "trunc i64 %s to i32", v);
        give(e, i, T_b32, v);
        return;
    }
    }
    give(e, i, t, v);
}

static void emit_minmax(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 3, 4);
    bool packed = t == T_u16x2 || t == T_s16x2, sign = type_signed(t) || t == T_s16x2;
    if (!packed) need_integer(e, i, t);
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

static void emit_logic(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 3, 3);
    need_bits(e, i, t, true);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t);
    give(e, i, t, emit(e, "%s %s %s, %s", i->op == OP_and ? "and" : i->op == OP_or ? "or" : "xor", lltype(t), a, b));
}

static void emit_shift(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    unsigned bits = type_bits(t);
    need_operands(e, i, 3, 3);
    if (i->op == OP_shl ? !type_bitwise(t) : !type_bitwise(t) && !type_integer(t))
        fail(e, i, "the type does not fit the operation");
    if (bits < 16 || bits > 64) fail(e, i, "the type does not fit the operation");
    const char *a = arg(e, i, 1, t), *n = arg(e, i, 2, T_u32), *ll = lltype(t);
    bool arithmetic = i->op == OP_shr && type_signed(t);
    const char *most = emit(e, "call i32 @llvm.umin.i32(i32 %s, i32 %u)", n, bits - 1);
    const char *by = bits == 32 ? most : emit(e, "%s i32 %s to %s", bits < 32 ? "trunc" : "zext", most, ll);
    const char *v = emit(e, "%s %s %s, %s", i->op == OP_shl ? "shl" : arithmetic ? "ashr" : "lshr", ll, a, by);
    if (!arithmetic) v = emit(e, "select i1 %s, %s %s, %s 0", emit(e, "icmp ult i32 %s, %u", n, bits), ll, v, ll);
    give(e, i, t, v);
}

static void emit_funnel(struct emitter *e, const struct instr *i)
{
    need_operands(e, i, 4, 4);
    const char *a = arg(e, i, 1, T_b32), *b = arg(e, i, 2, T_b32), *c = arg(e, i, 3, T_u32);
    const char *n =
        has(i, MOD_clamp) ? emit(e, "call i32 @llvm.umin.i32(i32 %s, i32 32)", c) : emit(e, "and i32 %s, 31", c);
    const char *x = emit(e, "or i64 %s, %s", emit(e, "shl i64 %s, 32", emit(e, "zext i32 %s to i64", b)),
                         emit(e, "zext i32 %s to i64", a));
    n = emit(e, "zext i32 %s to i64", n);
    const char *v =
        has(i, MOD_l) ? emit(e, "lshr i64 %s, 32", emit(e, "shl i64 %s, %s", x, n)) : emit(e, "lshr i64 %s, %s", x, n);
    give(e, i, T_b32, emit(e, "trunc i64 %s to i32", v));
}

/* ---- bit fields; worked on in twice the width, where no shift overflows */

static const char *low_mask(struct emitter *e, unsigned bits, const char *n)
{
    return emit(e, "sub i%u %s, 1", bits, emit(e, "shl i%u 1, %s", bits, n));
}

/* A position or length: eight bits of the operand, but all of it for 64-bit fields (observed on H200). */
static const char *field_number(struct emitter *e, const struct instr *i, unsigned op, unsigned bits)
{
    const char *v = arg(e, i, op, T_u32);
    return emit(e, "zext i32 %s to i%u", bits == 128 ? v : emit(e, "and i32 %s, 255", v), bits);
}

static const char *at_most(struct emitter *e, unsigned bits, const char *v, const char *limit)
{
    return emit(e, "call i%u @llvm.umin.i%u(i%u %s, i%u %s)", bits, bits, bits, v, bits, limit);
}

static void emit_bfe(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 4, 4);
    if (t != T_u32 && t != T_s32 && t != T_u64 && t != T_s64) fail(e, i, "the type does not fit the operation");
    unsigned w = type_bits(t), d = w * 2;
    const char *a = arg(e, i, 1, t), *size = arena_printf("%u", w);
    const char *pos = at_most(e, d, field_number(e, i, 2, d), size), *len = field_number(e, i, 3, d);
    const char *n = at_most(e, d, len, emit(e, "sub i%u %u, %s", d, w, pos)), *mask = low_mask(e, d, n);
    const char *field =
        emit(e, "and i%u %s, %s", d, emit(e, "lshr i%u %s, %s", d, emit(e, "zext i%u %s to i%u", w, a, d), pos), mask);
    if (type_signed(t)) {
        const char *end = emit(e, "add i%u %s, %s", d, pos, len), *none = emit(e, "icmp eq i%u %s, 0", d, len);
        const char *top = at_most(
            e, d, emit(e, "sub i%u %s, 1", d, emit(e, "call i%u @llvm.umax.i%u(i%u %s, i%u 1)", d, d, d, end, d)),
            arena_printf("%u", w - 1));
        const char *sign = emit(e, "trunc i%u %s to i1", d,
                                emit(e, "lshr i%u %s, %s", d, emit(e, "zext i%u %s to i%u", w, a, d), top));
        const char *full = emit(e, "or i%u %s, %s", d, field, emit(e, "xor i%u %s, -1", d, mask));
        field = emit(e, "select i1 %s, i%u %s, i%u %s", sign, d, full, d, field);
        field = emit(e, "select i1 %s, i%u 0, i%u %s", none, d, d, field);
    }
    give(e, i, t, emit(e, "trunc i%u %s to i%u", d, field, w));
}

static void emit_bfi(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 5, 5);
    if (t != T_b32 && t != T_b64) fail(e, i, "the type does not fit the operation");
    unsigned w = type_bits(t), d = w * 2;
    const char *a = emit(e, "zext i%u %s to i%u", w, arg(e, i, 1, t), d),
               *b = emit(e, "zext i%u %s to i%u", w, arg(e, i, 2, t), d), *size = arena_printf("%u", w);
    const char *pos = at_most(e, d, field_number(e, i, 3, d), size),
               *len = at_most(e, d, field_number(e, i, 4, d), size);
    const char *mask = emit(e, "shl i%u %s, %s", d, low_mask(e, d, len), pos);
    const char *v =
        emit(e, "or i%u %s, %s", d, emit(e, "and i%u %s, %s", d, emit(e, "shl i%u %s, %s", d, a, pos), mask),
             emit(e, "and i%u %s, %s", d, b, emit(e, "xor i%u %s, -1", d, mask)));
    give(e, i, t, emit(e, "trunc i%u %s to i%u", d, v, w));
}

static void emit_bfind(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 2, 2);
    if (t != T_u32 && t != T_s32 && t != T_u64 && t != T_s64) fail(e, i, "the type does not fit the operation");
    unsigned w = type_bits(t);
    const char *a = arg(e, i, 1, t), *ll = lltype(t);
    if (type_signed(t)) a = emit(e, "xor %s %s, %s", ll, a, emit(e, "ashr %s %s, %u", ll, a, w - 1));
    const char *zeros = emit(e, "call %s @llvm.ctlz.%s(%s %s, i1 false)", ll, ll, ll, a),
               *v = has(i, MOD_shiftamt) ? zeros : emit(e, "sub %s %u, %s", ll, w - 1, zeros);
    if (w == 64) v = emit(e, "trunc i64 %s to i32", v);
    give(e, i, T_b32, emit(e, "select i1 %s, i32 -1, i32 %s", emit(e, "icmp eq %s %s, 0", ll, a), v));
}

static void emit_bmsk(struct emitter *e, const struct instr *i)
{
    need_operands(e, i, 3, 3);
    const char *a = arg(e, i, 1, T_b32), *b = arg(e, i, 2, T_b32);
    const char *a1 = emit(e, "and i32 %s, 31", a), *sum = emit(e, "add i32 %s, %s", a1, emit(e, "and i32 %s, 31", b));
    const char *over = emit(e, "icmp uge i32 %s, 32", sum), *from = emit(e, "shl i32 -1, %s", a1);
    if (has(i, MOD_clamp)) {
        const char *far = emit(e, "icmp uge i32 %s, 32", a);
        from = emit(e, "select i1 %s, i32 0, i32 %s", far, from);
        over = emit(e, "or i1 %s, %s", over, emit(e, "or i1 %s, %s", far, emit(e, "icmp uge i32 %s, 32", b)));
    }
    const char *to = emit(e, "shl i32 -1, %s", emit(e, "and i32 %s, 31", sum));
    to = emit(e, "select i1 %s, i32 0, i32 %s", over, to);
    give(e, i, T_b32, emit(e, "and i32 %s, %s", from, emit(e, "xor i32 %s, -1", to)));
}

static void emit_szext(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 3, 3);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, T_u32), *n = emit(e, "and i32 %s, 31", b),
               *mask = emit(e, "shl i32 -1, %s", n);
    const char *none = emit(e, "icmp eq i32 %s, 0", n);
    if (has(i, MOD_clamp)) {
        const char *large = emit(e, "icmp uge i32 %s, 32", b);
        mask = emit(e, "select i1 %s, i32 0, i32 %s", large, mask);
        none = emit(e, "or i1 %s, %s", none, large);
    }
    const char *v = emit(e, "and i32 %s, %s", a, emit(e, "xor i32 %s, -1", mask));
    if (t == T_s32) {
        const char *top = emit(e, "and i32 %s, 31", emit(e, "sub i32 %s, 1", n)),
                   *sign = emit(e, "trunc i32 %s to i1", emit(e, "lshr i32 %s, %s", a, top));
        sign = emit(e, "and i1 %s, %s", sign, emit(e, "xor i1 %s, true", none));
        v = emit(e, "or i32 %s, %s", v, emit(e, "select i1 %s, i32 %s, i32 0", sign, mask));
    }
    give(e, i, t, v);
}

/* ---- byte and table operations */

static const char *byte_of(struct emitter *e, const char *v, unsigned at, unsigned bits, bool sign)
{
    const char *x = emit(e, "trunc i32 %s to i%u", at ? emit(e, "lshr i32 %s, %u", v, at) : v, bits);
    return emit(e, "%s i%u %s to i32", sign ? "sext" : "zext", bits, x);
}

static void emit_dot(struct emitter *e, const struct instr *i)
{
    need_operands(e, i, 4, 4);
    bool sa = type_signed(need_type(e, i, 0)), sb = type_signed(need_type(e, i, 1)), two = i->op == OP_dp2a;
    const char *a = arg(e, i, 1, T_b32), *b = arg(e, i, 2, T_b32), *sum = arg(e, i, 3, T_b32);
    unsigned n = two ? 2 : 4, base = two && has(i, MOD_hi) ? 16 : 0;
    for (unsigned k = 0; k < n; k++)
        sum = emit(e, "add i32 %s, %s", sum,
                   emit(e, "mul i32 %s, %s", byte_of(e, a, k * (two ? 16 : 8), two ? 16 : 8, sa),
                        byte_of(e, b, base + k * 8, 8, sb)));
    give(e, i, T_b32, sum);
}

/* A function of a and b given by its truth table, bit index 2a+b. */
static const char *table2(struct emitter *e, unsigned table, const char *a, const char *b)
{
    switch (table) {
    case 0x0: return "0";
    case 0x1: return emit(e, "xor i32 %s, -1", emit(e, "or i32 %s, %s", a, b));
    case 0x2: return emit(e, "and i32 %s, %s", emit(e, "xor i32 %s, -1", a), b);
    case 0x3: return emit(e, "xor i32 %s, -1", a);
    case 0x4: return emit(e, "and i32 %s, %s", a, emit(e, "xor i32 %s, -1", b));
    case 0x5: return emit(e, "xor i32 %s, -1", b);
    case 0x6: return emit(e, "xor i32 %s, %s", a, b);
    case 0x7: return emit(e, "xor i32 %s, -1", emit(e, "and i32 %s, %s", a, b));
    case 0x8: return emit(e, "and i32 %s, %s", a, b);
    case 0x9: return emit(e, "xor i32 %s, %s", a, emit(e, "xor i32 %s, -1", b));
    case 0xa: return b;
    case 0xb: return emit(e, "or i32 %s, %s", emit(e, "xor i32 %s, -1", a), b);
    case 0xc: return a;
    case 0xd: return emit(e, "or i32 %s, %s", a, emit(e, "xor i32 %s, -1", b));
    case 0xe: return emit(e, "or i32 %s, %s", a, b);
    default: return "-1";
    }
}

static void emit_lop3(struct emitter *e, const struct instr *i)
{
    bool with_predicate = has(i, MOD_and) || has(i, MOD_or) || has(i, MOD_xor);
    need_operands(e, i, with_predicate ? 6 : 5, with_predicate ? 6 : 5);
    if (i->ops[4].kind != OPERAND_int || i->ops[4].bits > 255) fail(e, i, "the table is a constant of 8 bits");
    unsigned lut = (unsigned)i->ops[4].bits, with = 0, without = 0;
    for (unsigned k = 0; k < 4; k++) without |= (lut >> (2 * k) & 1) << k, with |= (lut >> (2 * k + 1) & 1) << k;
    const char *a = arg(e, i, 1, T_b32), *b = arg(e, i, 2, T_b32), *c = arg(e, i, 3, T_b32), *v;
    if (with == without)
        v = table2(e, with, a, b);
    else if (with == (~without & 15))
        v = emit(e, "xor i32 %s, %s", table2(e, without, a, b), c);
    else
        v = emit(e, "or i32 %s, %s", emit(e, "and i32 %s, %s", table2(e, with, a, b), c),
                 emit(e, "and i32 %s, %s", table2(e, without, a, b), emit(e, "xor i32 %s, -1", c)));
    v = emit(e, "or i32 %s, 0", v);
    if (with_predicate) {
        const char *p = emit(e, "%s i1 %s, %s",
                             has(i, MOD_and)  ? "and"
                             : has(i, MOD_or) ? "or"
                                              : "xor",
                             emit(e, "icmp ne i32 %s, 0", v), predicate(e, &i->ops[5]));
        if (i->ops[0].second) store_reg(e, i->ops[0].second, p);
    }
    give(e, i, T_b32, v);
}

static const char *permute_index(struct emitter *e, const struct instr *i, const char *c, unsigned k)
{
    const char *low = emit(e, "and i32 %s, 3", c);
    if (has(i, MOD_f4e)) return emit(e, "add i32 %s, %u", low, k);
    if (has(i, MOD_b4e)) return emit(e, "and i32 %s, 7", emit(e, "sub i32 %s, %u", low, k));
    if (has(i, MOD_rc8)) return low;
    if (has(i, MOD_ecl)) return emit(e, "call i32 @llvm.umax.i32(i32 %s, i32 %u)", low, k);
    if (has(i, MOD_ecr)) return emit(e, "call i32 @llvm.umin.i32(i32 %s, i32 %u)", low, k);
    if (has(i, MOD_rc16))
        return emit(e, "add i32 %s, %u", emit(e, "shl i32 %s, 1", emit(e, "and i32 %s, 1", c)), k & 1);
    return emit(e, "and i32 %s, 15", emit(e, "lshr i32 %s, %u", c, k * 4));
}

static void emit_prmt(struct emitter *e, const struct instr *i)
{
    need_operands(e, i, 4, 4);
    const char *a = arg(e, i, 1, T_b32), *b = arg(e, i, 2, T_b32), *c = arg(e, i, 3, T_b32), *v = "0";
    const char *x = emit(e, "or i64 %s, %s", emit(e, "shl i64 %s, 32", emit(e, "zext i32 %s to i64", b)),
                         emit(e, "zext i32 %s to i64", a));
    for (unsigned k = 0; k < 4; k++) {
        const char *s = permute_index(e, i, c, k),
                   *by = emit(e, "zext i32 %s to i64", emit(e, "shl i32 %s, 3", emit(e, "and i32 %s, 7", s)));
        const char *byte = emit(e, "trunc i64 %s to i8", emit(e, "lshr i64 %s, %s", x, by)),
                   *sign = emit(e, "ashr i8 %s, 7", byte);
        byte = emit(e, "select i1 %s, i8 %s, i8 %s", emit(e, "icmp uge i32 %s, 8", s), sign, byte);
        byte = emit(e, "zext i8 %s to i32", byte);
        v = emit(e, "or i32 %s, %s", v, k ? emit(e, "shl i32 %s, %u", byte, k * 8) : byte);
    }
    give(e, i, T_b32, v);
}

static void emit_sad(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(e, i, 0);
    need_operands(e, i, 4, 4);
    need_integer(e, i, t);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t), *ll = lltype(t),
               *less = emit(e, "icmp %s %s %s, %s", type_signed(t) ? "slt" : "ult", ll, a, b);
    const char *d = emit(e, "select i1 %s, %s %s, %s %s", less, ll, emit(e, "sub %s %s, %s", ll, b, a), ll,
                         emit(e, "sub %s %s, %s", ll, a, b));
    give(e, i, t, emit(e, "add %s %s, %s", ll, arg(e, i, 3, type_signed(t) ? t : t), d));
}

/* Absolute differences of the bytes, or halves, of two words; .add: their sum and a third. */
static void emit_differences(struct emitter *e, const struct instr *i)
{
    unsigned bits = i->op == OP_vabsdiff4 ? 8 : 16;
    bool sat = has(i, MOD_sat), result_signed = type_signed(need_type(e, i, 0)), add = has(i, MOD_add);
    need_operands(e, i, 4, 4);
    const char *of[2] = { arg(e, i, 1, T_b32), arg(e, i, 2, T_b32) }, *c = arg(e, i, 3, T_b32), *sum = add ? c : "0";
    for (unsigned k = 0; k < 32; k += bits) {
        const char *part[2];
        for (unsigned n = 0; n < 2; n++) {
            const char *v = emit(e, "trunc i32 %s to i%u", emit(e, "lshr i32 %s, %u", of[n], k), bits);
            part[n] = emit(e, "%s i%u %s to i32", type_signed(need_type(e, i, n + 1)) ? "sext" : "zext", bits, v);
        }
        const char *d = emit(e, "sub i32 %s, %s", part[0], part[1]), *negative = emit(e, "icmp slt i32 %s, 0", d);
        d = emit(e, "select i1 %s, i32 %s, i32 %s", negative, emit(e, "sub i32 0, %s", d), d);
        if (sat) {
            unsigned most = (1u << (bits - result_signed)) - 1;
            d = emit(e, "select i1 %s, i32 %u, i32 %s", emit(e, "icmp ugt i32 %s, %u", d, most), most, d);
        }
        if (!add) d = emit(e, "shl i32 %s, %u", emit(e, "and i32 %s, %u", d, (1u << bits) - 1), k);
        sum = emit(e, "add i32 %s, %s", sum, d);
    }
    give(e, i, T_b32, sum);
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
    case OP_neg:
    case OP_not:
    case OP_cnot:
    case OP_popc:
    case OP_clz:
    case OP_brev: emit_unary(e, i); return true;
    case OP_min:
    case OP_max: emit_minmax(e, i); return true;
    case OP_and:
    case OP_or:
    case OP_xor: emit_logic(e, i); return true;
    case OP_shl:
    case OP_shr: emit_shift(e, i); return true;
    case OP_shf: emit_funnel(e, i); return true;
    case OP_bfe: emit_bfe(e, i); return true;
    case OP_bfi: emit_bfi(e, i); return true;
    case OP_bfind: emit_bfind(e, i); return true;
    case OP_bmsk: emit_bmsk(e, i); return true;
    case OP_szext: emit_szext(e, i); return true;
    case OP_dp4a:
    case OP_dp2a: emit_dot(e, i); return true;
    case OP_lop3: emit_lop3(e, i); return true;
    case OP_prmt: emit_prmt(e, i); return true;
    case OP_sad: emit_sad(e, i); return true;
    case OP_vabsdiff2:
    case OP_vabsdiff4: emit_differences(e, i); return true;
    case OP_fns: {
        need_operands(e, i, 4, 4);
        const char *m = arg(e, i, 1, T_b32), *b = arg(e, i, 2, T_b32), *n = arg(e, i, 3, T_b32);
        give(e, i, T_b32, call_rt(e, "fns", "i32 %s, i32 %s, i32 %s", m, b, n));
        return true;
    }
    default: return false;
    }
}
