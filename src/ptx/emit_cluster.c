/* Clusters of blocks: which one a block is in, and addresses in the shared
 * memory of the others. Waiting at their barrier is emit_warp.c's. */
#include "abi.h"
#include "emit.h"

#include <inttypes.h>
#include <stddef.h>

static const char *dimension(struct emitter *e, unsigned k)
{
    return block_field(e, "i32", offsetof(struct fl_block, cluster) + 4ul * k);
}

static const char *ctaid(struct emitter *e, unsigned k)
{
    return block_field(e, "i32", offsetof(struct fl_block, ctaid) + 4ul * k);
}

static const char *place(struct emitter *e, unsigned k)
{
    return emit(e, "urem i32 %s, %s", ctaid(e, k), dimension(e, k));
}

static const char *own_rank(struct emitter *e)
{
    const char *plane = emit(e, "mul i32 %s, %s", place(e, 2), dimension(e, 1));
    const char *row = emit(e, "mul i32 %s, %s", emit(e, "add i32 %s, %s", plane, place(e, 1)), dimension(e, 0));
    return emit(e, "add i32 %s, %s", row, place(e, 0));
}

const char *cluster_value(struct emitter *e, const struct operand *o)
{
    const unsigned k = o->component;
    switch (o->special) {
    case SR_clusterid: return k == 3 ? "0" : emit(e, "udiv i32 %s, %s", ctaid(e, k), dimension(e, k));
    case SR_nclusterid:
        return k == 3 ? "1"
                      : emit(e, "udiv i32 %s, %s", block_field(e, "i32", offsetof(struct fl_block, nctaid) + 4ul * k),
                             dimension(e, k));
    case SR_cluster_ctaid: return k == 3 ? "0" : place(e, k);
    case SR_cluster_nctaid: return k == 3 ? "1" : dimension(e, k);
    case SR_cluster_ctarank: return own_rank(e);
    case SR_cluster_nctarank:
        return emit(e, "mul i32 %s, %s", dimension(e, 0), emit(e, "mul i32 %s, %s", dimension(e, 1), dimension(e, 2)));
    default: return emit(e, "icmp ne i32 %s, 0", block_field(e, "i32", offsetof(struct fl_block, explicit_cluster)));
    }
}

const char *cluster_pointer(struct emitter *e, const char *offset32, int64_t displacement)
{
    const char *named = emit(e, "lshr i32 %s, %d", offset32, FL_CLUSTER_SHIFT),
               *own = emit(e, "icmp eq i32 %s, 0", named);
    const char *rank = emit(e, "select i1 %s, i32 0, i32 %s", own, emit(e, "sub i32 %s, 1", named));
    const char *windows = block_field(e, "ptr", offsetof(struct fl_block, windows));
    const char *at = emit(e, "getelementptr i64, ptr %s, i64 %s", windows, emit(e, "zext i32 %s to i64", rank));
    const char *base = emit(e, "select i1 %s, ptr %s, ptr %s", own,
                            block_field(e, "ptr", offsetof(struct fl_block, shared)), emit(e, "load ptr, ptr %s", at));
    const char *offset = emit(e, "and i32 %s, %d", offset32, (1 << FL_CLUSTER_SHIFT) - 1);
    const char *p = emit(e, "getelementptr i8, ptr %s, i64 %s", base, emit(e, "zext i32 %s to i64", offset));
    return displacement ? emit(e, "getelementptr i8, ptr %s, i64 %" PRId64, p, displacement) : p;
}

const char *cluster_shared(struct emitter *e, const char *address, const char *size)
{
    const char *windows = block_field(e, "ptr", offsetof(struct fl_block, windows));
    const char *rank = emit(e, "zext i32 %s to i64", call_rt(e, "ctarank", "i64 %s", address));
    const char *base = emit(e, "load i64, ptr %s", emit(e, "getelementptr i64, ptr %s, i64 %s", windows, rank));
    return emit(e, "icmp ult i64 %s, %s", emit(e, "sub i64 %s, %s", address, base), size);
}

/* The same place in the shared memory of the block of that rank. A shared address names the block unless it is this
 * one. */
static void emit_mapa(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    const char *a = value(e, &i->ops[1], t), *rank = value(e, &i->ops[2], T_b32);
    if (i->space == SPACE_shared) {
        const char *type = lltype(t), *named = emit(e, "add i32 %s, 1", rank);
        if (t != T_b32 && t != T_u32 && t != T_s32) named = emit(e, "zext i32 %s to i64", named);
        named = emit(e, "or %s %s, %s", type, a, emit(e, "shl %s %s, %d", type, named, FL_CLUSTER_SHIFT));
        const char *own = emit(e, "icmp eq i32 %s, %s", rank, own_rank(e));
        result(e, &i->ops[0], t, emit(e, "select i1 %s, %s %s, %s %s", own, type, a, type, named));
        return;
    }
    const char *windows = block_field(e, "ptr", offsetof(struct fl_block, windows));
    const char *at = emit(e, "getelementptr i64, ptr %s, i64 %s", windows, emit(e, "zext i32 %s to i64", rank));
    const char *offset = emit(e, "sub i64 %s, %s", a, block_field(e, "i64", offsetof(struct fl_block, shared)));
    result(e, &i->ops[0], t, emit(e, "add i64 %s, %s", offset, emit(e, "load i64, ptr %s", at)));
}

static void emit_getctarank(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    const char *a = value(e, &i->ops[1], t);
    if (i->space != SPACE_shared) {
        result(e, &i->ops[0], T_b32, call_rt(e, "ctarank", "i64 %s", a));
        return;
    }
    if (t != T_b32 && t != T_u32 && t != T_s32) a = emit(e, "trunc i64 %s to i32", a);
    const char *named = emit(e, "lshr i32 %s, %d", a, FL_CLUSTER_SHIFT), *own = emit(e, "icmp eq i32 %s, 0", named);
    result(e, &i->ops[0], T_b32,
           emit(e, "select i1 %s, i32 %s, i32 %s", own, own_rank(e), emit(e, "sub i32 %s, 1", named)));
}

bool emit_cluster(struct emitter *e, const struct instr *i)
{
    if (i->op == OP_mapa) {
        need_operands(i, 3, 3);
        emit_mapa(e, i);
        return true;
    }
    if (i->op == OP_barrier && has(i, MOD_cluster) && has(i, MOD_arrive)) {
        call_rt(e, "cluster_arrive", "i32 %s", e->t);
        return true;
    }
    if (i->op != OP_getctarank) return false;
    need_operands(i, 2, 2);
    emit_getctarank(e, i);
    return true;
}
