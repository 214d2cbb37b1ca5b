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

static const char *blocks(struct emitter *e)
{
    return emit(e, "mul i32 %s, %s", dimension(e, 0), emit(e, "mul i32 %s, %s", dimension(e, 1), dimension(e, 2)));
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
    case SR_cluster_nctarank: return blocks(e);
    default: return emit(e, "icmp ne i32 %s, 0", block_field(e, "i32", offsetof(struct fl_block, explicit_cluster)));
    }
}

/* Where the shared memory begins of the block of that rank */
static const char *window(struct emitter *e, const char *type, const char *rank)
{
    const char *windows = block_field(e, "ptr", offsetof(struct fl_block, windows));
    const char *at = emit(e, "getelementptr i64, ptr %s, i64 %s", windows, emit(e, "zext i32 %s to i64", rank));
    return emit(e, "load %s, ptr %s", type, at);
}

const char *cluster_pointer(struct emitter *e, const char *offset32, int64_t displacement)
{
    const char *rank = emit(e, "sub i32 %s, 1", emit(e, "lshr i32 %s, %d", offset32, FL_CLUSTER_SHIFT)),
               *named = emit(e, "icmp ult i32 %s, %s", rank, blocks(e));
    const char *peer = window(e, "ptr", emit(e, "select i1 %s, i32 %s, i32 0", named, rank));
    const char *base =
        emit(e, "select i1 %s, ptr %s, ptr %s", named, peer, block_field(e, "ptr", offsetof(struct fl_block, shared)));
    const char *offset = emit(e, "select i1 %s, i32 %s, i32 %s", named,
                              emit(e, "and i32 %s, %d", offset32, (1 << FL_CLUSTER_SHIFT) - 1), offset32);
    const char *p = emit(e, "getelementptr i8, ptr %s, i64 %s", base, emit(e, "sext i32 %s to i64", offset));
    return displacement ? emit(e, "getelementptr i8, ptr %s, i64 %" PRId64, p, displacement) : p;
}

const char *cluster_shared(struct emitter *e, const char *address, const char *size)
{
    const char *base = window(e, "i64", call_rt(e, "ctarank", "i64 %s", address));
    return emit(e, "icmp ult i64 %s, %s", emit(e, "sub i64 %s, %s", address, base), size);
}

/* The rank + 1 of the block whose shared memory the generic address is in. 0: this one, which is told without a call, or
 * none. */
static const char *named_by(struct emitter *e, const char *address)
{
    const char *here = new_label(e, "HERE"), *beyond = new_label(e, "BEYOND"), *end = new_label(e, "NAMED");
    place_label(e, here);
    emit_void(e, "br i1 %s, label %%%s, label %%%s", is_shared(e, address, false), end, beyond);
    fprintf(e->body, "%s:\n", beyond);
    const char *rank = call_rt(e, "ctarank", "i64 %s", address);
    const char *offset = emit(e, "sub i64 %s, %s", address, window(e, "i64", rank)),
               *any = emit(e, "icmp ult i64 %s, %d", offset, 1 << FL_CLUSTER_SHIFT);
    const char *named = emit(e, "select i1 %s, i32 %s, i32 0", any, emit(e, "add i32 %s, 1", rank));
    place_label(e, end);
    return emit(e, "phi i32 [ 0, %%%s ], [ %s, %%%s ]", here, named, beyond);
}

/* How far a generic address is from where the shared memory begins that it is in. */
static const char *offset_in(struct emitter *e, const char *address, const char *named)
{
    const char *own = emit(e, "icmp eq i32 %s, 0", named);
    const char *peer = window(e, "i64", emit(e, "select i1 %s, i32 0, i32 %s", own, emit(e, "sub i32 %s, 1", named)));
    const char *base =
        emit(e, "select i1 %s, i64 %s, i64 %s", own, block_field(e, "i64", offsetof(struct fl_block, shared)), peer);
    return emit(e, "sub i64 %s, %s", address, base);
}

const char *cluster_address(struct emitter *e, const char *address)
{
    const char *named = named_by(e, address), *offset = offset_in(e, address, named);
    return emit(e, "or i64 %s, %s", offset,
                emit(e, "shl i64 %s, %d", emit(e, "zext i32 %s to i64", named), FL_CLUSTER_SHIFT));
}

/* The same place in the shared memory of the block of that rank, whosever the address is. A shared address names the block
 * unless it is this one. */
static void emit_mapa(struct emitter *e, const struct instr *i)
{
    enum ptx_type t = need_type(i, 0);
    const char *a = value(e, &i->ops[1], t), *rank = value(e, &i->ops[2], T_b32);
    if (i->space == SPACE_shared) {
        const char *type = lltype(t), *named = emit(e, "add i32 %s, 1", rank);
        if (t != T_b32 && t != T_u32 && t != T_s32) named = emit(e, "zext i32 %s to i64", named);
        a = emit(e, "and %s %s, %d", type, a, (1 << FL_CLUSTER_SHIFT) - 1);
        named = emit(e, "or %s %s, %s", type, a, emit(e, "shl %s %s, %d", type, named, FL_CLUSTER_SHIFT));
        const char *own = emit(e, "icmp eq i32 %s, %s", rank, own_rank(e));
        result(e, &i->ops[0], t, emit(e, "select i1 %s, %s %s, %s %s", own, type, a, type, named));
        return;
    }
    const char *offset = offset_in(e, a, named_by(e, a));
    result(e, &i->ops[0], t, emit(e, "add i64 %s, %s", offset, window(e, "i64", rank)));
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
