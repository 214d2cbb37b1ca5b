/* Integers as bits: logic, shifts, fields, and what is chosen by tables. */
#include "arena.h"
#include "emit_int.h"

static void need_bits(const struct instr *i, enum ptx_type t, bool predicates)
{
    if (!(type_bitwise(t) && type_bits(t) >= 16 && type_bits(t) <= 64) && !(predicates && t == T_pred))
        fail(i, "the type does not fit the operation");
}

static void emit_unary(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 2, 2);
    need_bits(i, t, i->op == OP_not);
    if (i->op != OP_not && i->op != OP_cnot && type_bits(t) < 32) fail(i, "the type does not fit the operation");
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

static void emit_logic(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 3, 3);
    need_bits(i, t, true);
    const char *a = arg(e, i, 1, t), *b = arg(e, i, 2, t);
    give(e, i, t, emit(e, "%s %s %s, %s", i->op == OP_and ? "and" : i->op == OP_or ? "or" : "xor", lltype(t), a, b));
}

static void emit_shift(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    unsigned bits = type_bits(t);
    need_operands(i, 3, 3);
    if (i->op == OP_shl ? !type_bitwise(t) : !type_bitwise(t) && !type_integer(t))
        fail(i, "the type does not fit the operation");
    if (bits < 16 || bits > 64) fail(i, "the type does not fit the operation");
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
    need_operands(i, 4, 4);
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

/* A field of some bits behind the last one, if both numbers are constants: an H200's assembler makes -1 of it. */
static bool is_beyond(const struct instr *i)
{
    return i->ops[2].kind == OPERAND_int && i->ops[3].kind == OPERAND_int && (i->ops[2].bits & 255) >= 32 &&
           i->ops[3].bits & 255;
}

/* If both numbers are constants, and the place is within a byte, the same assembler counts five bits of the length. */
static bool is_cut(const struct instr *i)
{
    const uint64_t place = i->ops[3].bits & 255;
    return i->ops[3].kind == OPERAND_int && i->ops[4].kind == OPERAND_int && place % 8 && place < 32;
}

static void emit_bfe(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 4, 4);
    if (t != T_u32 && t != T_s32 && t != T_u64 && t != T_s64) fail(i, "the type does not fit the operation");
    if (t == T_s32 && is_beyond(i)) {
        give(e, i, t, "-1");
        return;
    }
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
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 5, 5);
    if (t != T_b32 && t != T_b64) fail(i, "the type does not fit the operation");
    unsigned w = type_bits(t), d = w * 2;
    const char *a = emit(e, "zext i%u %s to i%u", w, arg(e, i, 1, t), d),
               *b = emit(e, "zext i%u %s to i%u", w, arg(e, i, 2, t), d), *size = arena_printf("%u", w);
    const char *pos = at_most(e, d, field_number(e, i, 3, d), size),
               *len = at_most(e, d, field_number(e, i, 4, d), size);
    if (t == T_b32 && is_cut(i)) len = emit(e, "and i%u %s, 31", d, field_number(e, i, 4, d));
    const char *mask = emit(e, "shl i%u %s, %s", d, low_mask(e, d, len), pos);
    const char *v =
        emit(e, "or i%u %s, %s", d, emit(e, "and i%u %s, %s", d, emit(e, "shl i%u %s, %s", d, a, pos), mask),
             emit(e, "and i%u %s, %s", d, b, emit(e, "xor i%u %s, -1", d, mask)));
    give(e, i, t, emit(e, "trunc i%u %s to i%u", d, v, w));
}

static void emit_bfind(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 2, 2);
    if (t != T_u32 && t != T_s32 && t != T_u64 && t != T_s64) fail(i, "the type does not fit the operation");
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
    need_operands(i, 3, 3);
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
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 3, 3);
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

/* ---- tables */

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
    need_operands(i, with_predicate ? 6 : 5, with_predicate ? 6 : 5);
    if (i->ops[4].kind != OPERAND_int || i->ops[4].bits > 255) fail(i, "the table is a constant of 8 bits");
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
    need_operands(i, 4, 4);
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

static void emit_fns(struct emitter *e, const struct instr *i)
{
    need_operands(i, 4, 4);
    const char *m = arg(e, i, 1, T_b32), *b = arg(e, i, 2, T_b32), *n = arg(e, i, 3, T_b32);
    give(e, i, T_b32, call_rt(e, "fns", "i32 %s, i32 %s, i32 %s", m, b, n));
}

bool emit_bits(struct emitter *e, const struct instr *i)
{
    switch (i->op) {
    case OP_not:
    case OP_cnot:
    case OP_popc:
    case OP_clz:
    case OP_brev: emit_unary(e, i); return true;
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
    case OP_lop3: emit_lop3(e, i); return true;
    case OP_prmt: emit_prmt(e, i); return true;
    case OP_fns: emit_fns(e, i); return true;
    default: return false;
    }
}
