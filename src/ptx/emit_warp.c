/* Suspension points: what a barrier or warp operation stores before its thread
 * suspends, and what the thread finds when it resumes. See abi.h. */
#include "emit.h"
#include "kernel.h"

static const struct operand no_operand;

static bool constant_operand(const struct instr *i, unsigned n) { return i->nops > n && i->ops[n].kind == OPERAND_int; }

static void describe_barrier(const struct instr *i, struct fl_image_segment *s)
{
    s->suspend = FL_SUSPEND_BARRIER;
    unsigned first = has(i, MOD_red) ? 1 : 0;
    if (has(i, MOD_cluster)) {
        s->flags = FL_SEG_IMM0 | FL_SEG_IMM1;
        s->op = FL_BAR_CLUSTER;
        return;
    }
    s->op = FL_BAR_SYNC;
    if (has(i, MOD_arrive)) s->op = FL_BAR_ARRIVE;
    if (has(i, MOD_red)) s->op = has(i, MOD_popc) ? FL_BAR_RED_POPC : has(i, MOD_and) ? FL_BAR_RED_AND : FL_BAR_RED_OR;
    if (i->nops <= first) fail(i, "the barrier's number is missing");
    if (constant_operand(i, first)) {
        if (i->ops[first].bits > 15) fail(i, "barriers have the numbers 0 to 15");
        s->flags |= FL_SEG_IMM0;
        s->imm0 = (uint32_t)i->ops[first].bits;
    }
    bool counted = i->nops > first + 1u + (has(i, MOD_red) ? 1 : 0);
    if (!counted || constant_operand(i, first + 1)) {
        s->flags |= FL_SEG_IMM1;
        s->imm1 = counted ? (uint32_t)i->ops[first + 1].bits : 0;
        if (s->imm1 % 32) fail(i, "a barrier's thread count is a multiple of 32");
    }
    if (s->op == FL_BAR_ARRIVE && !counted) fail(i, "the thread count is missing");
}

static enum fl_warp_op shuffle_mode(const struct instr *i)
{
    if (has(i, MOD_up)) return FL_WARP_SHFL_UP;
    if (has(i, MOD_down)) return FL_WARP_SHFL_DOWN;
    if (has(i, MOD_bfly)) return FL_WARP_SHFL_BFLY;
    if (!has(i, MOD_idx)) fail(i, "a mode is missing");
    return FL_WARP_SHFL_IDX;
}

static enum fl_warp_op vote_mode(const struct instr *i)
{
    if (has(i, MOD_all)) return FL_WARP_VOTE_ALL;
    if (has(i, MOD_any)) return FL_WARP_VOTE_ANY;
    if (has(i, MOD_uni)) return FL_WARP_VOTE_UNI;
    if (!has(i, MOD_ballot)) fail(i, "a mode is missing");
    return FL_WARP_VOTE_BALLOT;
}

static enum fl_warp_op redux_op(const struct instr *i)
{
    enum ptx_type t = i->ntypes ? i->types[0] : T_none;
    bool s = t == T_s32;
    if (t != T_s32 && t != T_u32 && t != T_b32) fail(i, "the type does not fit the operation");
    if (has(i, MOD_add)) return FL_WARP_REDUX_ADD;
    if (has(i, MOD_min)) return s ? FL_WARP_REDUX_MIN_S : FL_WARP_REDUX_MIN_U;
    if (has(i, MOD_max)) return s ? FL_WARP_REDUX_MAX_S : FL_WARP_REDUX_MAX_U;
    if (has(i, MOD_and)) return FL_WARP_REDUX_AND;
    if (has(i, MOD_or)) return FL_WARP_REDUX_OR;
    if (!has(i, MOD_xor)) fail(i, "an operation is missing");
    return FL_WARP_REDUX_XOR;
}

/* The operand that holds the member mask, or NULL for operations without .sync. */
static const struct operand *mask_of(const struct instr *i)
{
    if (i->op == OP_activemask) return NULL;
    if (i->op != OP_elect && i->op != OP_bar && i->op != OP_barrier && !has(i, MOD_sync)) return NULL;
    return i->nops ? &i->ops[i->nops - 1] : &no_operand;
}

static bool is_barrier(const struct instr *i) { return (i->op == OP_bar || i->op == OP_barrier) && !has(i, MOD_warp); }

void suspension_describe(const struct instr *i, struct fl_image_segment *s)
{
    if (is_barrier(i)) {
        describe_barrier(i, s);
        return;
    }
    s->suspend = FL_SUSPEND_WARP;
    if (is_matrix(i)) {
        matrix_describe(i, s);
        return;
    }
    if (is_wgmma(i)) {
        wgmma_describe(i, s);
        return;
    }
    s->width = i->ntypes ? (uint8_t)type_bits(i->types[0]) : 32;
    switch (i->op) {
    case OP_shfl: s->op = (uint8_t)shuffle_mode(i); break;
    case OP_vote: s->op = (uint8_t)vote_mode(i); break;
    case OP_match: s->op = has(i, MOD_all) ? FL_WARP_MATCH_ALL : FL_WARP_MATCH_ANY; break;
    case OP_redux: s->op = (uint8_t)redux_op(i); break;
    case OP_activemask: s->op = FL_WARP_ACTIVEMASK; break;
    case OP_elect: s->op = FL_WARP_ELECT; break;
    default: s->op = FL_WARP_SYNC;
    }
    const struct operand *mask = mask_of(i);
    if (!mask)
        s->flags |= i->op == OP_activemask ? 0 : FL_SEG_CONVERGED;
    else if (mask->kind == OPERAND_int && (uint32_t)mask->bits == 0xffffffffu)
        s->flags |= FL_SEG_FULL_MASK;
}

/* ---- code */

static const char *lane_slot(struct emitter *e, size_t array, unsigned bytes)
{
    const char *base = block_field(e, "ptr", array), *t = emit(e, "zext i32 %s to i64", e->t);
    return emit(e, "getelementptr %s, ptr %s, i64 %s", lltype_bits(bytes * 8), base, t);
}

void lane_put(struct emitter *e, size_t array, unsigned bytes, const char *v)
{
    const char *p = lane_slot(e, array, bytes);
    emit_void(e, "store %s %s, ptr %s%s", lltype_bits(bytes * 8), v, p, e->group);
}

static const char *get(struct emitter *e, size_t array, unsigned bytes)
{
    const char *p = lane_slot(e, array, bytes);
    return emit(e, "load %s, ptr %s%s", lltype_bits(bytes * 8), p, e->group);
}

static void put64(struct emitter *e, size_t array, const struct operand *o, enum ptx_type type)
{
    const char *v = value(e, o, type);
    if (type_bits(type) < 64) v = emit(e, "zext %s %s to i64", lltype(type), v);
    lane_put(e, array, 8, v);
}

void lane_put_predicate(struct emitter *e, const struct operand *o)
{
    lane_put(e, offsetof(struct fl_block, op_pred), 1, emit(e, "zext i1 %s to i8", predicate(e, o)));
}

static void suspend_barrier(struct emitter *e, const struct instr *i, const struct fl_image_segment *s)
{
    unsigned first = has(i, MOD_red) ? 1 : 0;
    if (!(s->flags & FL_SEG_IMM0)) put64(e, offsetof(struct fl_block, op_a), &i->ops[first], T_b32);
    if (!(s->flags & FL_SEG_IMM1)) put64(e, offsetof(struct fl_block, op_b), &i->ops[first + 1], T_b32);
    if (has(i, MOD_red)) lane_put_predicate(e, &i->ops[i->nops - 1]);
}

static enum ptx_type bits_type(const struct instr *i)
{
    return i->ntypes && type_bits(i->types[0]) == 64 ? T_b64 : T_b32;
}

void emit_suspend(struct emitter *e, const struct instr *i)
{
    struct fl_image_segment s = { 0 };
    suspension_describe(i, &s);
    if (s.suspend == FL_SUSPEND_BARRIER) {
        suspend_barrier(e, i, &s);
        return;
    }
    if (is_matrix(i)) {
        matrix_suspend(e, i);
        return;
    }
    if (is_wgmma(i)) {
        wgmma_suspend(e, i);
        return;
    }
    const struct operand *mask = mask_of(i);
    if ((i->op == OP_shfl || i->op == OP_vote || i->op == OP_match) && !mask && e->module->target >= 70)
        fail(i, "sm_70 and newer need .sync");
    if (i->op == OP_redux && e->module->target < 80) fail(i, "it needs sm_80 or newer");
    if (mask && mask->kind == OPERAND_none) fail(i, "the member mask is missing");
    if (mask && !(s.flags & FL_SEG_FULL_MASK))
        lane_put(e, offsetof(struct fl_block, op_mask), 4, value(e, mask, T_b32));
    switch (i->op) {
    case OP_shfl:
        need_operands(i, mask ? 5 : 4, mask ? 5 : 4);
        put64(e, offsetof(struct fl_block, op_a), &i->ops[1], T_b32);
        put64(e, offsetof(struct fl_block, op_b), &i->ops[2], T_b32);
        put64(e, offsetof(struct fl_block, op_c), &i->ops[3], T_b32);
        break;
    case OP_vote:
        need_operands(i, mask ? 3 : 2, mask ? 3 : 2);
        lane_put_predicate(e, &i->ops[1]);
        break;
    case OP_match:
    case OP_redux:
        need_operands(i, 3, 3);
        put64(e, offsetof(struct fl_block, op_a), &i->ops[1], bits_type(i));
        break;
    default: break;
    }
}

void emit_resume(struct emitter *e, const struct instr *i)
{
    struct fl_image_segment s = { 0 };
    e->current = i;
    if (is_wgmma(i)) return;
    if (is_matrix(i)) {
        matrix_resume(e, i);
        return;
    }
    suspension_describe(i, &s);
    if (!has_destination(i) || (i->op == OP_bar && !has(i, MOD_red)) || (i->op == OP_barrier && !has(i, MOD_red)))
        return;
    const struct operand *d = &i->ops[0];
    bool predicate_result = s.suspend == FL_SUSPEND_BARRIER
                                ? s.op != FL_BAR_RED_POPC
                                : s.op == FL_WARP_VOTE_ALL || s.op == FL_WARP_VOTE_ANY || s.op == FL_WARP_VOTE_UNI;
    if (predicate_result || d->second) {
        const char *p = emit(e, "icmp ne i8 %s, 0", get(e, offsetof(struct fl_block, op_pred), 1));
        if (predicate_result) {
            result(e, d, T_pred, p);
            return;
        }
        store_reg(e, d->second, p);
    }
    if (d->kind == OPERAND_sink) return;
    result(e, d, T_b32, emit(e, "trunc i64 %s to i32", get(e, offsetof(struct fl_block, op_result), 8)));
}
