/* Asynchronous copies and the objects that count their completion (mbarrier).
 * A copy is done at once, so nothing of it is ever to be waited for; who waits
 * at an mbarrier waits for threads. What one is made of: struct in abi.h. */
#include "abi.h"
#include "arena.h"
#include "emit.h"

#include <string.h>

static const char *address(struct emitter *e, const struct instr *i, unsigned n, enum ptx_space space, unsigned bytes)
{
    const char *group;
    if (i->nops <= n) fail(i, "wrong number of operands");
    return address_of(e, i, &i->ops[n], space, bytes, &group);
}

static const char *address64(struct emitter *e, const struct instr *i, unsigned n, enum ptx_space space, unsigned bytes)
{
    return emit(e, "ptrtoint ptr %s to i64", address(e, i, n, space, bytes));
}

/* ---- mbarrier */

static const char *change(struct emitter *e, const char *at, enum fl_mbarrier_op op, const char *count)
{
    return call_rt(e, "mbarrier", "i64 %s, i32 %d, i32 %s", at, (int)op, count);
}

static void emit_arrive(struct emitter *e, const struct instr *i)
{
    bool state = i->nops && i->ops[0].kind != OPERAND_address, expects = has(i, MOD_expect_tx);
    unsigned first = state ? 1 : 0;
    need_operands(i, first + 1, first + 2);
    const char *at = address64(e, i, first, i->space, 8),
               *count = i->nops > first + 1 ? value(e, &i->ops[first + 1], T_b32) : "1";
    if (expects && i->nops == first + 1) fail(i, "wrong number of operands");
    if (expects) {
        change(e, at, FL_MBARRIER_EXPECT, count);
        count = "1";
    }
    const char *was = change(e, at, has(i, MOD_arrive_drop) ? FL_MBARRIER_DROP : FL_MBARRIER_ARRIVE, count);
    if (state) result(e, &i->ops[0], T_b64, was);
}

static void emit_wait(struct emitter *e, const struct instr *i)
{
    need_operands(i, 3, 4);
    const char *now = emit(e, "load atomic volatile i64, ptr %s acquire, align 8", address(e, i, 1, i->space, 8));
    const char *phase = emit(e, "lshr i64 %s, %d", now, FL_MBARRIER_PHASE), *differs;
    if (has(i, MOD_parity)) {
        const char *parity = emit(e, "zext i32 %s to i64", value(e, &i->ops[2], T_b32));
        differs = emit(e, "and i64 %s, 1", emit(e, "xor i64 %s, %s", phase, parity));
    } else {
        differs = emit(e, "xor i64 %s, %s", phase,
                       emit(e, "lshr i64 %s, %d", value(e, &i->ops[2], T_b64), FL_MBARRIER_PHASE));
    }
    result(e, &i->ops[0], T_pred, emit(e, "icmp ne i64 %s, 0", differs));
}

static void emit_mbarrier(struct emitter *e, const struct instr *i)
{
    if (has(i, MOD_arrive) || has(i, MOD_arrive_drop)) {
        emit_arrive(e, i);
    } else if (has(i, MOD_test_wait) || has(i, MOD_try_wait)) {
        emit_wait(e, i);
    } else if (has(i, MOD_pending_count)) {
        need_operands(i, 2, 2);
        const char *v = emit(e, "trunc i64 %s to i32", value(e, &i->ops[1], T_b64));
        result(e, &i->ops[0], T_b32, emit(e, "and i32 %s, %d", v, FL_MBARRIER_MOST));
    } else if (has(i, MOD_init) || has(i, MOD_expect_tx) || has(i, MOD_complete_tx)) {
        need_operands(i, 2, 2);
        change(e, address64(e, i, 0, i->space, 8),
               has(i, MOD_init)        ? FL_MBARRIER_INIT
               : has(i, MOD_expect_tx) ? FL_MBARRIER_EXPECT
                                       : FL_MBARRIER_COMPLETE,
               value(e, &i->ops[1], T_b32));
    } else if (has(i, MOD_inval)) {
        need_operands(i, 1, 1);
        address(e, i, 0, i->space, 8);
    } else {
        fail(i, "an operation is missing");
    }
}

/* ---- cp.async */

/* How many bytes are read, the others are zeros; NULL: all. A predicate says that it is none. */
static const char *bytes_read(struct emitter *e, const struct instr *i)
{
    unsigned most = strstr(i->text, ".L2::cache_hint") ? i->nops - 1u : i->nops; /* without the policy */
    if (most <= 3) return NULL;
    const struct operand *o = &i->ops[3];
    if (o->kind != OPERAND_reg || o->reg->type != T_pred) return value(e, o, T_b32);
    return emit(e, "select i1 %s, i32 0, i32 16", predicate(e, o));
}

/* A mask of the bytes of the word at k that are among the first size ones. */
static const char *bytes_of_word(struct emitter *e, const char *size, unsigned k)
{
    const char *rest = emit(e, "sub i32 %s, %u", size, k), *part = emit(e, "icmp ult i32 %s, 4", rest);
    const char *above = emit(e, "shl i32 -1, %s", emit(e, "shl i32 %s, 3", rest));
    return emit(e, "select i1 %s, i32 %s, i32 -1", part, emit(e, "xor i32 %s, -1", above));
}

static void emit_copy(struct emitter *e, const struct instr *i)
{
    if (i->nops < 3 || i->ops[2].kind != OPERAND_int) unsupported(i, NULL);
    uint64_t bytes = i->ops[2].bits;
    if (bytes != 4 && bytes != 8 && bytes != 16) fail(i, "4, 8 or 16 bytes can be copied");
    const char *group, *from = address_of(e, i, &i->ops[1], SPACE_global, (unsigned)bytes, &group),
                       *to = address_of(e, i, &i->ops[0], SPACE_shared, (unsigned)bytes, &group);
    const char *size = bytes_read(e, i);
    for (unsigned k = 0; k < bytes; k += 4) {
        const char *p = emit(e, "getelementptr i8, ptr %s, i64 %u", from, k),
                   *q = emit(e, "getelementptr i8, ptr %s, i64 %u", to, k), *v;
        if (size) {
            const char *read = new_label(e, "read"), *over = new_label(e, "over"),
                       *slot = arena_printf("%%CP%u", e->next++);
            fprintf(e->head, "  %s = alloca i32\n", slot);
            emit_void(e, "store i32 0, ptr %s", slot);
            const char *inside = emit(e, "icmp ugt i32 %s, %u", size, k);
            emit_void(e, "br i1 %s, label %%%s, label %%%s", inside, read, over);
            fprintf(e->body, "%s:\n", read);
            emit_void(e, "store i32 %s, ptr %s", emit(e, "load i32, ptr %s, align 4%s", p, group), slot);
            place_label(e, over);
            v = emit(e, "and i32 %s, %s", emit(e, "load i32, ptr %s", slot), bytes_of_word(e, size, k));
        } else {
            v = emit(e, "load i32, ptr %s, align 4%s", p, group);
        }
        emit_void(e, "store i32 %s, ptr %s, align 4%s", v, q, group);
    }
}

/* Any number of bytes, between shared and global memory. */
static void emit_bulk(struct emitter *e, const struct instr *i)
{
    if (has(i, MOD_prefetch)) {
        need_operands(i, 2, 3);
        return;
    }
    bool counted = !has(i, MOD_bulk_group);
    need_operands(i, counted ? 4 : 3, 6);
    if (!i->space || !i->space2) fail(i, "state spaces are missing");
    const char *to = address64(e, i, 0, i->space, 16), *from = address64(e, i, 1, i->space2, 16),
               *bytes = value(e, &i->ops[2], T_b32);
    if (has(i, MOD_multicast)) {
        if (i->nops < 5) fail(i, "wrong number of operands");
        call_rt(e, "multicast", "i32 %s, i32 %d, i64 %s, i64 %s, i32 %s, i64 %s, i32 %s", e->t, i->line, to, from, bytes,
                address64(e, i, 3, SPACE_shared, 8), emit(e, "zext i16 %s to i32", value(e, &i->ops[4], T_b16)));
        return;
    }
    call_rt(e, "copy", "i64 %s, i64 %s, i32 %s", to, from, bytes);
    if (counted) change(e, address64(e, i, 3, SPACE_shared, 8), FL_MBARRIER_COMPLETE, bytes);
}

static void emit_cp(struct emitter *e, const struct instr *i)
{
    if (!has(i, MOD_async)) unsupported(i, NULL);
    if (has(i, MOD_commit_group) || has(i, MOD_wait_group) || has(i, MOD_wait_all)) return;
    if (has(i, MOD_arrive)) {
        /* the copies are complete: the arrival that they cause is one more than before, or one of those that are counted */
        const char *at = address64(e, i, 0, i->space, 8);
        if (has(i, MOD_noinc)) change(e, at, FL_MBARRIER_ARRIVE, "1");
    } else if (has(i, MOD_bulk)) {
        emit_bulk(e, i);
    } else {
        emit_copy(e, i);
    }
}

/* st.async: a store, and as many bytes complete at the mbarrier. */
static void emit_store_async(struct emitter *e, const struct instr *i)
{
    need_operands(i, 3, 3);
    enum ptx_type type = need_type(i, 0);
    unsigned n = has(i, MOD_v2) ? 2 : has(i, MOD_v4) ? 4 : 1, bytes = type_bytes(type);
    const struct operand *s = &i->ops[1];
    if ((s->kind == OPERAND_vector) != (n > 1) || (n > 1 && s->count != n)) fail(i, "the vector's length does not fit");
    const char *p = address(e, i, 0, i->space, bytes * n);
    for (unsigned k = 0; k < n; k++)
        emit_void(e, "store %s %s, ptr %s, align %u", lltype(type), value(e, n > 1 ? &s->elements[k] : s, type),
                  emit(e, "getelementptr i8, ptr %s, i64 %u", p, k * bytes), bytes);
    change(e, address64(e, i, 2, SPACE_shared, 8), FL_MBARRIER_COMPLETE, arena_printf("%u", bytes * n));
}

bool emit_asynchronous(struct emitter *e, const struct instr *i)
{
    switch (i->op) {
    case OP_mbarrier: emit_mbarrier(e, i); return true;
    case OP_cp: emit_cp(e, i); return true;
    case OP_st: emit_store_async(e, i); return true;
    default: return false;
    }
}
