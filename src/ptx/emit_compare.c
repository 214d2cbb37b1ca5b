/* Comparison and selection: setp, set, selp, slct, testp. */
#include "arena.h"
#include "emit_float.h"

static bool is_half(enum ptx_type t) { return t == T_f16 || t == T_bf16 || t == T_f16x2 || t == T_bf16x2; }

static const char *integer_condition(const struct instr *i, enum ptx_type t)
{
    bool s = type_signed(t), u = type_unsigned(t);
    if (has(i, MOD_eq)) return "eq";
    if (has(i, MOD_ne)) return "ne";
    if (s || u) {
        if (has(i, MOD_lt)) return s ? "slt" : "ult";
        if (has(i, MOD_le)) return s ? "sle" : "ule";
        if (has(i, MOD_gt)) return s ? "sgt" : "ugt";
        if (has(i, MOD_ge)) return s ? "sge" : "uge";
    }
    if (u) {
        if (has(i, MOD_lo)) return "ult";
        if (has(i, MOD_ls)) return "ule";
        if (has(i, MOD_hi)) return "ugt";
        if (has(i, MOD_hs)) return "uge";
    }
    fail(i, "the comparison does not fit the type");
}

static const char *float_condition(const struct instr *i)
{
    static const struct {
        enum ptx_mod mod;
        const char *name;
    } conditions[] = { { MOD_eq, "oeq" },  { MOD_ne, "one" },  { MOD_lt, "olt" },  { MOD_le, "ole" },
                       { MOD_gt, "ogt" },  { MOD_ge, "oge" },  { MOD_equ, "ueq" }, { MOD_neu, "une" },
                       { MOD_ltu, "ult" }, { MOD_leu, "ule" }, { MOD_gtu, "ugt" }, { MOD_geu, "uge" },
                       { MOD_num, "ord" }, { MOD_nan, "uno" } };
    for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++)
        if (has(i, conditions[k].mod)) return conditions[k].name;
    fail(i, "a comparison is missing");
}

/* One lane's value as a single, for half types. */
static const char *half_lane(struct emitter *e, const struct instr *i, enum ptx_type t, const char *v, unsigned lane)
{
    if (type_bits(t) == 32) v = emit(e, "trunc i32 %s to i16", lane ? emit(e, "lshr i32 %s, 16", v) : v);
    if (has(i, MOD_ftz)) v = flush_f16(e, v);
    return t == T_bf16 || t == T_bf16x2 ? bf16_to_f32(e, v) : f16_to_f32(e, v);
}

static const char *compare(struct emitter *e, const struct instr *i, enum ptx_type t, unsigned lane)
{
    if (i->nops < 3) fail(i, "wrong number of operands");
    const struct operand *oa = &i->ops[1], *ob = &i->ops[2];
    fits(e, oa, t);
    fits(e, ob, t);
    if (is_half(t)) {
        enum ptx_type bits = type_bits(t) == 32 ? T_b32 : T_b16;
        const char *a = half_lane(e, i, t, value(e, oa, bits), lane), *b = half_lane(e, i, t, value(e, ob, bits), lane);
        return emit(e, "fcmp %s float %s, %s", float_condition(i), a, b);
    }
    const char *a = value(e, oa, t), *b = value(e, ob, t);
    if (is_float_value(t)) {
        if (t == T_f32 && has(i, MOD_ftz) && !e->func->flushed) {
            a = flush_f32(e, a);
            b = flush_f32(e, b);
        }
        return emit(e, "fcmp %s %s %s, %s", float_condition(i), lltype(t), a, b);
    }
    return emit(e, "icmp %s %s %s, %s", integer_condition(i, t), lltype(t), a, b);
}

/* The optional second operation with a predicate: .and .or .xor */
static const char *combine(struct emitter *e, const struct instr *i, const char *v, unsigned n)
{
    const char *op = has(i, MOD_and) ? "and" : has(i, MOD_or) ? "or" : has(i, MOD_xor) ? "xor" : NULL;
    if (!op) {
        if (i->nops > n) fail(i, "wrong number of operands");
        return v;
    }
    if (i->nops != n + 1) fail(i, "wrong number of operands");
    return emit(e, "%s i1 %s, %s", op, v, predicate(e, &i->ops[n]));
}

static void emit_setp(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    const char *c = compare(e, i, t, 0), *p = combine(e, i, c, 3);
    const struct operand *d = &i->ops[0];
    const char *q = NULL;
    if (d->second && type_bits(t) == 32 && is_half(t))
        q = combine(e, i, compare(e, i, t, 1), 3);
    else if (d->second)
        q = combine(e, i, emit(e, "xor i1 %s, true", c), 3);
    if (d->kind == OPERAND_reg && d->reg->type != T_pred) fail(i, "the destination is no predicate");
    result(e, d, T_pred, p);
    if (q) store_reg(e, d->second, q);
}

static void emit_set(struct emitter *e, const struct instr *i)
{
    enum ptx_type d = need_type(i, 0), t = need_type(i, 1);
    if (type_bits(t) == 32 && is_half(t)) {
        const char *v[2];
        for (unsigned k = 0; k < 2; k++) {
            const char *c = combine(e, i, compare(e, i, t, k), 3);
            unsigned one = d == T_f16x2 ? F16_ONE : d == T_bf16x2 ? BF16_ONE : 0xffff;
            v[k] = emit(e, "select i1 %s, i32 %u, i32 0", c, one);
        }
        result(e, &i->ops[0], T_b32, emit(e, "or i32 %s, %s", v[0], emit(e, "shl i32 %s, 16", v[1])));
        return;
    }
    if (type_bits(d) == 32 && is_half(d)) fail(i, "two results need two comparisons");
    const char *c = combine(e, i, compare(e, i, t, 0), 3);
    fits(e, &i->ops[0], d);
    if (is_float_value(d))
        result(e, &i->ops[0], d, emit(e, "select i1 %s, %s 1.0, %s 0.0", c, lltype(d), lltype(d)));
    else if (is_half(d))
        result(e, &i->ops[0], d, emit(e, "select i1 %s, i16 %d, i16 0", c, d == T_f16 ? F16_ONE : BF16_ONE));
    else
        result(e, &i->ops[0], d, emit(e, "sext i1 %s to %s", c, lltype(d)));
}

static void emit_testp(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 2, 2);
    if (!is_float_value(t)) fail(i, "the type does not fit the operation");
    unsigned w = type_bits(t);
    fits(e, &i->ops[1], t);
    const char *bits = emit(e, "bitcast %s %s to i%u", lltype(t), value(e, &i->ops[1], t), w);
    const char *infinite = arena_printf("%ld", w == 32 ? F32_INFINITY : F64_INFINITY),
               *least = arena_printf("%ld", w == 32 ? F32_LEAST_NORMAL : F64_LEAST_NORMAL);
    const char *magnitude = emit(e, "and i%u %s, %ld", w, bits, w == 32 ? F32_MAGNITUDE : F64_MAGNITUDE), *v;
    if (has(i, MOD_finite))
        v = emit(e, "icmp ult i%u %s, %s", w, magnitude, infinite);
    else if (has(i, MOD_infinite))
        v = emit(e, "icmp eq i%u %s, %s", w, magnitude, infinite);
    else if (has(i, MOD_number))
        v = emit(e, "icmp ule i%u %s, %s", w, magnitude, infinite);
    else if (has(i, MOD_notanumber))
        v = emit(e, "icmp ugt i%u %s, %s", w, magnitude, infinite);
    else if (has(i, MOD_normal)) {
        /* zero passes for normal (observed on H200) */
        const char *least_or_zero = emit(e, "or i1 %s, %s", emit(e, "icmp uge i%u %s, %s", w, magnitude, least),
                                         emit(e, "icmp eq i%u %s, 0", w, magnitude));
        v = emit(e, "and i1 %s, %s", least_or_zero, emit(e, "icmp ult i%u %s, %s", w, magnitude, infinite));
    } else if (has(i, MOD_subnormal))
        v = emit(e, "and i1 %s, %s", emit(e, "icmp ult i%u %s, %s", w, magnitude, least),
                 emit(e, "icmp ne i%u %s, 0", w, magnitude));
    else
        fail(i, "a property is missing");
    result(e, &i->ops[0], T_pred, v);
}

static void emit_select(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 4, 4);
    for (unsigned k = 0; k < 3; k++) fits(e, &i->ops[k], t);
    const char *a = value(e, &i->ops[1], t), *b = value(e, &i->ops[2], t), *c;
    if (i->op == OP_selp) {
        if (i->ops[3].kind == OPERAND_reg && i->ops[3].reg->type != T_pred) fail(i, "the last operand is no predicate");
        c = predicate(e, &i->ops[3]);
    } else {
        enum ptx_type by = need_type(i, 1);
        fits(e, &i->ops[3], by);
        const char *v = value(e, &i->ops[3], by);
        if (by == T_f32 && has(i, MOD_ftz)) v = flush_f32(e, v);
        c = by == T_f32 ? emit(e, "fcmp oge float %s, 0.0", v) : emit(e, "icmp sge i32 %s, 0", v);
    }
    result(e, &i->ops[0], t, emit(e, "select i1 %s, %s %s, %s %s", c, lltype(t), a, lltype(t), b));
}

bool emit_compare(struct emitter *e, const struct instr *i)
{
    switch (i->op) {
    case OP_setp: emit_setp(e, i); return true;
    case OP_set: emit_set(e, i); return true;
    case OP_testp: emit_testp(e, i); return true;
    case OP_selp:
    case OP_slct: emit_select(e, i); return true;
    default: return false;
    }
}
