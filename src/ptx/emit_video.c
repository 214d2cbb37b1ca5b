/* Video instructions: operations on parts of words, sign- or zero-extended, whose results are cut, or clamped, to
 * parts of words. */
#include "arena.h"
#include "emit_int.h"

#include <inttypes.h>
#include <string.h>

enum { WORD = 32 };

/* What is done to each pair of numbers, and to how many pairs. */
struct video {
    enum ptx_op of;
    enum { ADD, SUBTRACT, AVERAGE, DIFFERENCE, MIN, MAX, COMPARE, LEFT, RIGHT, MULTIPLY } how;
    unsigned lanes;
};

static const struct video *video_of(enum ptx_op op)
{
    static const struct video all[] = {
        { OP_vadd, ADD, 1 },
        { OP_vadd2, ADD, 2 },
        { OP_vadd4, ADD, 4 },
        { OP_vsub, SUBTRACT, 1 },
        { OP_vsub2, SUBTRACT, 2 },
        { OP_vsub4, SUBTRACT, 4 },
        { OP_vavrg2, AVERAGE, 2 },
        { OP_vavrg4, AVERAGE, 4 },
        { OP_vabsdiff, DIFFERENCE, 1 },
        { OP_vmin, MIN, 1 },
        { OP_vabsdiff2, DIFFERENCE, 2 },
        { OP_vabsdiff4, DIFFERENCE, 4 },
        { OP_vmin2, MIN, 2 },
        { OP_vmin4, MIN, 4 },
        { OP_vmax, MAX, 1 },
        { OP_vmax2, MAX, 2 },
        { OP_vmax4, MAX, 4 },
        { OP_vset, COMPARE, 1 },
        { OP_vset2, COMPARE, 2 },
        { OP_vset4, COMPARE, 4 },
        { OP_vshl, LEFT, 1 },
        { OP_vshr, RIGHT, 1 },
        { OP_vmad, MULTIPLY, 1 },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].of == op) return &all[k];
    return NULL;
}

/* Numbers are calculated with in 64 bits. */
static const char *field(struct emitter *e, const char *word, unsigned at, unsigned bits, bool sign)
{
    if (at) word = emit(e, "lshr i32 %s, %u", word, at);
    if (bits < WORD) word = emit(e, "trunc i32 %s to i%u", word, bits);
    return emit(e, "%s i%u %s to i64", sign ? "sext" : "zext", bits, word);
}

/* Of "b3" or "h1": how many bits it has, and where they begin. NULL: all. */
static unsigned part_bits(const char *part) { return !part ? WORD : *part == 'b' ? 8 : 16; }
static unsigned part_begin(const char *part) { return part ? part_bits(part) * (unsigned)(part[1] - '0') : 0; }

static const char *source(struct emitter *e, const struct instr *i, unsigned n, enum ptx_type t)
{
    const char *part = i->ops[n].part;
    return field(e, arg(e, i, n, T_b32), part_begin(part), part_bits(part), type_signed(t));
}

static const char *clamp(struct emitter *e, const char *v, unsigned bits, bool sign)
{
    const int64_t most = (1ll << (bits - sign)) - 1, least = sign ? -most - 1 : 0;
    v = emit(e, "call i64 @llvm.smax.i64(i64 %s, i64 %" PRId64 ")", v, least);
    return emit(e, "call i64 @llvm.smin.i64(i64 %s, i64 %" PRId64 ")", v, most);
}

static const char *shift(struct emitter *e, const struct instr *i, const char *op, const char *x, const char *by)
{
    const char *n = has(i, MOD_wrap) ? emit(e, "and i64 %s, %d", by, WORD - 1)
                                     : emit(e, "call i64 @llvm.umin.i64(i64 %s, i64 %d)", by, WORD);
    return emit(e, "%s i64 %s, %s", op, x, n);
}

static const char *compare(struct emitter *e, const struct instr *i, const char *x, const char *y)
{
    const char *test = has(i, MOD_eq)   ? "eq"
                       : has(i, MOD_ne) ? "ne"
                       : has(i, MOD_lt) ? "slt"
                       : has(i, MOD_le) ? "sle"
                       : has(i, MOD_gt) ? "sgt"
                                        : "sge";
    return emit(e, "zext i1 %s to i64", emit(e, "icmp %s i64 %s, %s", test, x, y));
}

static const char *operate(struct emitter *e, const struct instr *i, const struct video *v, const char *x,
                           const char *y)
{
    switch (v->how) {
    case ADD: return emit(e, "add i64 %s, %s", x, y);
    case SUBTRACT: return emit(e, "sub i64 %s, %s", x, y);
    case DIFFERENCE: return emit(e, "call i64 @llvm.abs.i64(i64 %s, i1 false)", emit(e, "sub i64 %s, %s", x, y));
    case MIN: return emit(e, "call i64 @llvm.smin.i64(i64 %s, i64 %s)", x, y);
    case MAX: return emit(e, "call i64 @llvm.smax.i64(i64 %s, i64 %s)", x, y);
    case COMPARE: return compare(e, i, x, y);
    case LEFT: return shift(e, i, "shl", x, y);
    case RIGHT: return shift(e, i, "ashr", x, y);
    default: { /* an average: half of an odd sum is rounded away from zero */
        const char *sum = emit(e, "add i64 %s, %s", x, y), *positive = emit(e, "icmp sge i64 %s, 0", sum);
        return emit(e, "ashr i64 %s, 1", emit(e, "add i64 %s, %s", sum, emit(e, "zext i1 %s to i64", positive)));
    }
    }
}

/* Of word, the bits from at on become v's. */
static const char *insert(struct emitter *e, const char *word, const char *v, unsigned at, unsigned bits)
{
    const uint32_t mask = ((bits < WORD ? 1u << bits : 0u) - 1) << at;
    v = emit(e, "trunc i64 %s to i32", v);
    if (at) v = emit(e, "shl i32 %s, %u", v, at);
    return emit(e, "or i32 %s, %s", emit(e, "and i32 %s, %u", v, mask), emit(e, "and i32 %s, %u", word, ~mask));
}

/* The upper half of a word gets the upper half of the result (observed on H200). */
static const char *put_part(struct emitter *e, const struct instr *i, const char *v)
{
    const char *part = i->ops[0].part, *c = arg(e, i, 3, T_b32);
    if (!strcmp(part, "h1")) v = emit(e, "lshr i64 %s, %d", v, WORD / 2);
    return insert(e, c, v, part_begin(part), part_bits(part));
}

static bool is_sum(const struct video *v) { return v->how == ADD || v->how == SUBTRACT; }

/* As observed on H200: unsigned sums and differences saturate at 0 only, unless they go into a part; into a part, what is
 * negative saturates to the greatest number; what was shifted saturates to a word whatever the part is, and is counted
 * with 34 bits. */
static const char *saturate_result(struct emitter *e, const struct instr *i, const struct video *v, const char *r,
                                   bool sign)
{
    const char *part = i->ops[0].part;
    if ((is_sum(v) || v->how == DIFFERENCE) && !sign && !part)
        return emit(e, "call i64 @llvm.smax.i64(i64 %s, i64 0)", r);
    if (v->how == LEFT) r = emit(e, "ashr i64 %s, 30", emit(e, "shl i64 %s, 30", r));
    if (!part || v->how == LEFT || v->how == RIGHT) return clamp(e, r, WORD, sign);
    return emit(e, "call i64 @llvm.umin.i64(i64 %s, i64 %u)", r, (1u << (part_bits(part) - sign)) - 1);
}

/* Results are compared with all their bits, but sums and what saturated after a shift: these as signed words. For
 * unsigned ones a negative result is the greatest (observed on H200). */
static const char *select_second(struct emitter *e, const struct instr *i, const struct video *v, const char *r,
                                 bool sign)
{
    const bool sat = has(i, MOD_sat), sum = is_sum(v);
    const char *c = arg(e, i, 3, T_b32), *key = r;
    if (sum || ((v->how == LEFT || v->how == RIGHT) && sat))
        key = emit(e, "sext i32 %s to i64", emit(e, "trunc i64 %s to i32", r));
    const char *less = emit(e, "icmp %s i64 %s, %s", sign ? "slt" : "ult", key,
                            emit(e, "%s i32 %s to i64", sign ? "sext" : "zext", c));
    r = emit(e, "trunc i64 %s to i32", r);
    return has(i, MOD_min) ? emit(e, "select i1 %s, i32 %s, i32 %s", less, r, c)
                           : emit(e, "select i1 %s, i32 %s, i32 %s", less, c, r);
}

static void emit_scalar(struct emitter *e, const struct instr *i, const struct video *v)
{
    /* vset names no type of its result, which is of the first source's */
    const bool compares = v->how == COMPARE, sign = type_signed(need_type(i, 0));
    const char *x = source(e, i, 1, need_type(i, compares ? 0 : 1)),
               *y = source(e, i, 2, need_type(i, compares ? 1 : 2)), *r = operate(e, i, v, x, y);
    if (has(i, MOD_sat)) r = saturate_result(e, i, v, r, sign);
    if (i->ops[0].part)
        r = put_part(e, i, r);
    else if (has(i, MOD_min) || has(i, MOD_max))
        r = select_second(e, i, v, r, sign);
    else
        r = emit(e, "trunc i64 %s to i32", r);
    if (has(i, MOD_add)) r = emit(e, "add i32 %s, %s", r, arg(e, i, 3, T_b32));
    give(e, i, T_b32, r);
}

/* A factor that is a word is a signed one, whatever its type (observed on H200). */
static const char *factor(struct emitter *e, const struct instr *i, unsigned n)
{
    return source(e, i, n, i->ops[n].part ? need_type(i, n) : T_s32);
}

/* A product, added to the third operand; the minus of an operand complements, and adds one. */
static void emit_multiply(struct emitter *e, const struct instr *i)
{
    const bool minus = i->ops[1].minus != i->ops[2].minus, minus_c = i->ops[3].minus,
               sign = type_signed(need_type(i, 1)) || type_signed(need_type(i, 2)) || minus || minus_c;
    const unsigned by = has(i, MOD_shr7) ? 7 : has(i, MOD_shr15) ? 15 : 0;
    const char *c = arg(e, i, 3, T_b32), *r = emit(e, "mul i64 %s, %s", factor(e, i, 1), factor(e, i, 2));
    if (minus) r = emit(e, "xor i64 %s, -1", r);
    if (minus_c) c = emit(e, "xor i32 %s, -1", c);
    r = emit(e, "add i64 %s, %s", r, emit(e, "sext i32 %s to i64", c));
    if (minus || minus_c || has(i, MOD_po)) r = emit(e, "add i64 %s, 1", r);
    if (by) r = emit(e, "%s i64 %s, %u", sign ? "ashr" : "lshr", r, by);
    if (has(i, MOD_sat)) r = clamp(e, r, WORD, sign);
    give(e, i, T_b32, emit(e, "trunc i64 %s to i32", r));
}

/* Which part of both sources, counted through, a lane takes: the last digit is the first lane's. */
static unsigned chosen(const struct instr *i, unsigned n, unsigned lanes, unsigned lane)
{
    const char *part = i->ops[n].part;
    if (!part) return lane + (n - 1) * lanes;
    if (strlen(part) != lanes + 1) fail(i, "a part for each lane is needed");
    return (unsigned)(part[lanes - lane] - '0') % (2 * lanes);
}

static bool is_masked_out(const struct instr *i, unsigned lane)
{
    const char *mask = i->ops[0].part;
    return mask && !strchr(mask + 1, '0' + (int)lane);
}

static void emit_lanes(struct emitter *e, const struct instr *i, const struct video *v)
{
    const unsigned bits = WORD / v->lanes, first = v->how == COMPARE ? 0 : 1;
    const bool sign = !first ? false : type_signed(need_type(i, 0)), add = has(i, MOD_add);
    const char *words[] = { arg(e, i, 1, T_b32), arg(e, i, 2, T_b32) }, *r = arg(e, i, 3, T_b32);
    for (unsigned lane = 0; lane < v->lanes; lane++) {
        const char *in[2];
        if (is_masked_out(i, lane)) continue;
        for (unsigned n = 0; n < 2; n++) {
            unsigned which = chosen(i, n + 1, v->lanes, lane);
            in[n] =
                field(e, words[which / v->lanes], which % v->lanes * bits, bits, type_signed(need_type(i, first + n)));
        }
        const char *one = operate(e, i, v, in[0], in[1]);
        if (has(i, MOD_sat)) one = clamp(e, one, bits, sign);
        r = add ? emit(e, "add i32 %s, %s", r, emit(e, "trunc i64 %s to i32", one))
                : insert(e, r, one, lane * bits, bits);
    }
    give(e, i, T_b32, r);
}

bool emit_video(struct emitter *e, const struct instr *i)
{
    const struct video *v = video_of(i->op);
    if (!v) return false;
    if (v->how == MULTIPLY)
        emit_multiply(e, i);
    else if (v->lanes == 1)
        emit_scalar(e, i, v);
    else
        emit_lanes(e, i, v);
    return true;
}
