/* cvt: conversions between all types, with rounding, saturation, packing. */
#include "arena.h"
#include "emit_float.h"

#include <inttypes.h>

static bool half_type(enum ptx_type t) { return t == T_f16 || t == T_bf16; }
static int infinity_of(enum ptx_type half) { return half == T_f16 ? F16_INFINITY : BF16_INFINITY; }
static bool integer_rounding(const struct instr *i)
{
    return has(i, MOD_rni) || has(i, MOD_rzi) || has(i, MOD_rmi) || has(i, MOD_rpi);
}
static bool float_rounding(const struct instr *i)
{
    return has(i, MOD_rn) || has(i, MOD_rz) || has(i, MOD_rm) || has(i, MOD_rp);
}

static const char *half_to_f32(struct emitter *e, enum ptx_type half, const char *v)
{
    return half == T_f16 ? f16_to_f32(e, v) : bf16_to_f32(e, v);
}
static const char *f32_to_half(struct emitter *e, enum ptx_type half, const char *v)
{
    return half == T_f16 ? f32_to_f16(e, v) : f32_to_bf16(e, v);
}

/* To [0, 1], whatever floating-point type v has. */
static const char *saturate_float(struct emitter *e, enum ptx_type t, const char *v)
{
    if (!half_type(t)) return saturate(e, t, v);
    return f32_to_half(e, t, saturate(e, T_f32, half_to_f32(e, t, v)));
}

/* ---- integers */

static const char *saturate_integer(struct emitter *e, enum ptx_type d, enum ptx_type s, const char *v)
{
    unsigned w = type_bits(d);
    v = emit(e, "%s %s %s to i72", type_signed(s) ? "sext" : "zext", lltype(s), v);
    if (type_signed(d)) {
        int64_t most = w == 64 ? INT64_MAX : (1ll << (w - 1)) - 1;
        v = emit(e, "call i72 @llvm.smax.i72(i72 %s, i72 %" PRId64 ")", v, -most - 1);
        v = emit(e, "call i72 @llvm.smin.i72(i72 %s, i72 %" PRId64 ")", v, most);
    } else {
        v = emit(e, "call i72 @llvm.smax.i72(i72 %s, i72 0)", v);
        v = emit(e, "call i72 @llvm.smin.i72(i72 %s, i72 %" PRIu64 ")", v,
                 w == 64 ? UINT64_MAX : ((uint64_t)1 << w) - 1);
    }
    return emit(e, "trunc i72 %s to %s", v, lltype(d));
}

static const char *integer_to_integer(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s,
                                      const char *v)
{
    if (has(i, MOD_sat)) return saturate_integer(e, d, s, v);
    unsigned have = type_bits(s), want = type_bits(d);
    if (have == want) return v;
    return emit(e, "%s %s %s to %s", have > want ? "trunc" : type_signed(s) ? "sext" : "zext", lltype(s), v, lltype(d));
}

/* ---- floating point to integer */

static const char *round_to_integral(struct emitter *e, const struct instr *i, enum ptx_type t, const char *v)
{
    const char *name = has(i, MOD_rni)   ? "roundeven"
                       : has(i, MOD_rzi) ? "trunc"
                       : has(i, MOD_rmi) ? "floor"
                                         : "ceil",
               *ll = lltype(t);
    return emit(e, "call %s @llvm.%s.%s(%s %s)", ll, name, t == T_f32 ? "f32" : "f64", ll, v);
}

static const char *float_to_integer(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s,
                                    const char *v)
{
    if (!integer_rounding(i)) fail(i, "an integer rounding is missing");
    if (half_type(s)) v = half_to_f32(e, s, v);
    enum ptx_type t = s == T_f64 ? T_f64 : T_f32;
    if (t == T_f32 && has(i, MOD_ftz)) v = flush_f32(e, v);
    const char *r = has(i, MOD_rzi) ? v : round_to_integral(e, i, t, v), *ll = lltype(d);
    const char *n = emit(e, "call %s @llvm.fpto%ci.sat.%s.%s(%s %s)", ll, type_signed(d) ? 's' : 'u', ll,
                         t == T_f32 ? "f32" : "f64", lltype(t), r);
    /* NaN: zero, but the highest bit alone where 64 bits are involved (observed on H200) */
    if (t == T_f32 && type_bits(d) < 64) return n;
    return emit(e, "select i1 %s, %s %" PRId64 ", %s %s", emit(e, "fcmp uno %s %s, 0.0", lltype(t), v), ll,
                type_bits(d) == 64 ? INT64_MIN : -(int64_t)(1ull << (type_bits(d) - 1)), ll, n);
}

/* ---- integer to floating point */

static const char *integer_to_float(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s,
                                    const char *v)
{
    if (!float_rounding(i)) fail(i, "a rounding is missing");
    bool sign = type_signed(s);
    unsigned mode = rounding_mode(i);
    if (!mode && is_float_value(d))
        return emit(e, "%s %s %s to %s", sign ? "sitofp" : "uitofp", lltype(s), v, lltype(d));
    if (type_bits(s) < 64) v = emit(e, "%s %s %s to i64", sign ? "sext" : "zext", lltype(s), v);
    const char *name = d == T_f32 ? "f32" : d == T_f64 ? "f64" : d == T_f16 ? "f16" : "bf16";
    return call_rt(e, arena_printf("%s_from_%c64", name, sign ? 's' : 'u'), "i64 %s, i32 %u", v, mode);
}

/* ---- between floating-point types */

static const char *narrow(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s, const char *v)
{
    unsigned mode = rounding_mode(i);
    const char *name = d == T_f16 ? "f16" : "bf16";
    if (s == T_f64) return call_rt(e, arena_printf("%s_from_f64", name), "double %s, i32 %u", v, mode);
    if (mode) return call_rt(e, arena_printf("%s_from_f32", name), "float %s, i32 %u", v, mode);
    return f32_to_half(e, d, v);
}

static const char *relu(struct emitter *e, enum ptx_type d, const char *v)
{
    if (d == T_f32) return emit(e, "select i1 %s, float %s, float 0.0", emit(e, "fcmp ugt float %s, 0.0", v), v);
    const char *nan = emit(e, "icmp ugt i16 %s, %d", emit(e, "and i16 %s, %d", v, HALF_MAGNITUDE), infinity_of(d));
    return emit(e, "select i1 %s, i16 %d, i16 %s", nan, HALF_NAN,
                emit(e, "select i1 %s, i16 0, i16 %s", emit(e, "icmp slt i16 %s, 0", v), v));
}

/* Values beyond the largest finite one become it. */
static const char *cap(struct emitter *e, enum ptx_type d, const char *v)
{
    const char *is = emit(e, "icmp eq i16 %s, %d", emit(e, "and i16 %s, %d", v, HALF_MAGNITUDE), infinity_of(d));
    return emit(e, "select i1 %s, i16 %s, i16 %s", is, emit(e, "sub i16 %s, 1", v), v);
}

static const char *round_in_place(struct emitter *e, const struct instr *i, enum ptx_type t, const char *v)
{
    if (!integer_rounding(i)) return v;
    if (!half_type(t)) return round_to_integral(e, i, t, v);
    return f32_to_half(e, t, round_to_integral(e, i, T_f32, half_to_f32(e, t, v)));
}

/* Zero for a double that is no normal single, rounded to a normal one's precision. */
static const char *without_tiny(struct emitter *e, const char *v)
{
    static const char least[] = "0x380FFFFFF0000000"; /* (1 - 2^-25) * 2^-126 */
    return emit(e, "select i1 %s, double %s, double %s",
                emit(e, "fcmp olt double %s, %s", emit(e, "call double @llvm.fabs.f64(double %s)", v), least),
                emit(e, "call double @llvm.copysign.f64(double 0.0, double %s)", v), v);
}

static const char *change_format(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s,
                                 const char *v)
{
    if (d == s) return round_in_place(e, i, d, v);
    bool halves = half_type(d) && half_type(s); /* rounded to nearest, if it is not said */
    if (half_type(s)) {
        v = half_to_f32(e, s, v);
        s = T_f32;
        if (d == T_f32) return v;
    }
    if (d == T_f64) return emit(e, "fpext float %s to double", v);
    if (!float_rounding(i) && !halves) fail(i, "a rounding is missing");
    if (half_type(d)) return narrow(e, i, d, s, v);
    if (rounding_mode(i)) return call_rt(e, "f32_from_f64", "double %s, i32 %u", v, rounding_call(i));
    return emit(e, "fptrunc double %s to float", has(i, MOD_ftz) ? without_tiny(e, v) : v);
}

static const char *float_to_float(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s,
                                  const char *v)
{
    if (s == T_f32 && d != T_f16 && has(i, MOD_ftz)) v = flush_f32(e, v);
    v = change_format(e, i, d, s, v);
    if (d == T_f32 && has(i, MOD_ftz)) v = flush_f32(e, v);
    if (has(i, MOD_sat)) v = saturate_float(e, d, v);
    if (has(i, MOD_satfinite) && half_type(d)) v = cap(e, d, v);
    return has(i, MOD_relu) ? relu(e, d, v) : v;
}

/* tf32: a single with 10 bits of fraction; the 13 bits below are 0. A NaN has all others but its sign, unless rounded by
 * .rna (observed on H200). */
static void emit_tf32(struct emitter *e, const struct instr *i)
{
    enum { LOW = 13, HALF = 1 << (LOW - 1), NOT_A_NUMBER = 0x7fffe000 };
    need_operands(i, 2, 2);
    const char *f = value(e, &i->ops[1], T_f32), *bits = emit(e, "bitcast float %s to i32", f), *r;
    if (has(i, MOD_rz))
        r = bits;
    else if (has(i, MOD_rna))
        r = emit(e, "add i32 %s, %d", bits, HALF);
    else
        r = emit(e, "add i32 %s, %s", emit(e, "add i32 %s, %d", bits, HALF - 1),
                 emit(e, "and i32 %s, 1", emit(e, "lshr i32 %s, %d", bits, LOW)));
    r = emit(e, "and i32 %s, %d", r, -(1 << LOW));
    const char *special = emit(e, "icmp eq i32 %s, %d", emit(e, "and i32 %s, %d", bits, F32_INFINITY), F32_INFINITY);
    r = emit(e, "select i1 %s, i32 %s, i32 %s", special, emit(e, "and i32 %s, %d", bits, -(1 << LOW)), r);
    if (!has(i, MOD_rna))
        r = emit(e, "select i1 %s, i32 %d, i32 %s", emit(e, "fcmp uno float %s, 0.0", f), NOT_A_NUMBER, r);
    if (has(i, MOD_satfinite)) {
        const char *over = emit(e, "icmp eq i32 %s, %d", emit(e, "and i32 %s, %d", r, F32_INFINITY), F32_INFINITY);
        r = emit(e, "select i1 %s, i32 %s, i32 %s", over, emit(e, "sub i32 %s, %d", r, 1 << LOW), r);
    }
    if (has(i, MOD_relu)) r = emit(e, "select i1 %s, i32 0, i32 %s", emit(e, "icmp slt i32 %s, 0", r), r);
    result(e, &i->ops[0], T_b32, r);
}

/* Two singles to two halves: the first goes high. */
static void emit_packed(struct emitter *e, const struct instr *i, enum ptx_type d)
{
    need_operands(i, 3, 3);
    enum ptx_type one = d == T_f16x2 ? T_f16 : T_bf16;
    const char *v[2];
    for (unsigned k = 0; k < 2; k++) {
        const char *f = value(e, &i->ops[k + 1], T_f32);
        if (has(i, MOD_ftz)) f = flush_f32(e, f);
        v[k] = narrow(e, i, one, T_f32, f);
        if (has(i, MOD_satfinite)) v[k] = cap(e, one, v[k]);
        if (has(i, MOD_relu)) v[k] = relu(e, one, v[k]);
        v[k] = emit(e, "zext i16 %s to i32", v[k]);
    }
    result(e, &i->ops[0], T_b32, emit(e, "or i32 %s, %s", emit(e, "shl i32 %s, 16", v[0]), v[1]));
}

/* Two numbers, from a pair of halves or from two singles, to a pair of 8 bits each; the first goes high. */
static void emit_to_fp8(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s)
{
    bool from_pair = s == T_f16x2;
    const char *v[2];
    need_operands(i, from_pair ? 2 : 3, from_pair ? 2 : 3);
    const char *pair = from_pair ? value(e, &i->ops[1], T_b32) : NULL;
    for (unsigned k = 0; k < 2; k++) {
        const char *f = from_pair
                            ? f16_to_f32(e, emit(e, "trunc i32 %s to i16", k ? pair : emit(e, "lshr i32 %s, 16", pair)))
                            : value(e, &i->ops[k + 1], T_f32);
        if (has(i, MOD_relu)) f = relu(e, T_f32, f);
        v[k] = emit(e, "trunc i32 %s to i16", call_rt(e, "fp8_from_f32", "float %s, i32 %d", f, d == T_e5m2x2));
    }
    result(e, &i->ops[0], T_b16, emit(e, "or i16 %s, %s", emit(e, "shl i16 %s, 8", v[0]), v[1]));
}

static void emit_from_fp8(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s)
{
    const char *v[2];
    if (d != T_f16x2) unsupported(i, NULL);
    need_operands(i, 2, 2);
    const char *pair = emit(e, "zext i16 %s to i32", value(e, &i->ops[1], T_b16));
    for (unsigned k = 0; k < 2; k++) {
        v[k] = call_rt(e, "f16_from_fp8", "i32 %s, i32 %d",
                       emit(e, "and i32 %s, 255", k ? pair : emit(e, "lshr i32 %s, 8", pair)), s == T_e5m2x2);
        if (has(i, MOD_relu)) v[k] = relu(e, T_f16, v[k]);
        v[k] = emit(e, "zext i16 %s to i32", v[k]);
    }
    result(e, &i->ops[0], T_b32, emit(e, "or i32 %s, %s", emit(e, "shl i32 %s, 16", v[0]), v[1]));
}

/* cvt.pack.sat: two integers, narrowed, in one register; the third operand, if any, goes above them. */
static void emit_pack(struct emitter *e, const struct instr *i)
{
    enum ptx_type d = need_type(i, 0);
    unsigned w = type_bits(d);
    bool more = i->ntypes > 2;
    need_operands(i, more ? 4 : 3, more ? 4 : 3);
    const char *v = NULL;
    for (unsigned k = 0; k < 2; k++) {
        const char *x = saturate_integer(e, d, T_s32, value(e, &i->ops[k + 1], T_s32));
        x = emit(e, "zext %s %s to i32", lltype(d), x);
        v = k ? emit(e, "or i32 %s, %s", emit(e, "shl i32 %s, %u", v, w), x) : x;
    }
    if (more) v = emit(e, "or i32 %s, %s", emit(e, "shl i32 %s, %u", value(e, &i->ops[3], T_b32), 2 * w), v);
    result(e, &i->ops[0], T_b32, v);
}

static bool is_fp8(enum ptx_type t) { return t == T_e4m3x2 || t == T_e5m2x2; }

/* One number to one number. */
static void emit_single(struct emitter *e, const struct instr *i, enum ptx_type d, enum ptx_type s)
{
    need_operands(i, 2, 2);
    bool to_float = is_float_value(d) || half_type(d), from_float = is_float_value(s) || half_type(s);
    if (!(to_float || type_integer(d)) || !(from_float || type_integer(s)))
        fail(i, "the types do not fit the operation");
    const char *v = value(e, &i->ops[1], s);
    if (to_float && from_float) {
        v = float_to_float(e, i, d, s, v);
    } else if (to_float) {
        v = integer_to_float(e, i, d, s, v);
        if (has(i, MOD_sat)) v = saturate_float(e, d, v);
        if (integer_rounding(i)) fail(i, "an integer rounding does not fit here");
    } else {
        v = from_float ? float_to_integer(e, i, d, s, v) : integer_to_integer(e, i, d, s, v);
    }
    result(e, &i->ops[0], d, v);
}

bool emit_convert(struct emitter *e, const struct instr *i)
{
    if (i->op != OP_cvt) return false;
    enum ptx_type d = need_type(i, 0), s = need_type(i, 1);
    if (has(i, MOD_pack))
        emit_pack(e, i);
    else if (d == T_tf32)
        emit_tf32(e, i);
    else if (is_fp8(d))
        emit_to_fp8(e, i, d, s);
    else if (is_fp8(s))
        emit_from_fp8(e, i, d, s);
    else if (d == T_f16x2 || d == T_bf16x2)
        emit_packed(e, i, d);
    else
        emit_single(e, i, d, s);
    return true;
}
