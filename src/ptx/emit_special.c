/* Special registers: who the thread is, its masks, clocks. Names and types are
 * parse_operand.c's; what has no counterpart here reads 0. */
#include "abi.h"
#include "arena.h"
#include "emit.h"

#include <stddef.h>

enum { RESERVED_USED = 0x120 }; /* of the shared memory that is reserved (observed on an H200) */

static const char *shared_size(struct emitter *e)
{
    return block_field(e, "i32", offsetof(struct fl_block, total_shared_size));
}

/* Shared memory is given in pieces. */
static const char *shared_given(struct emitter *e)
{
    enum { PIECE = 128 };
    return emit(e, "and i32 %s, %d", emit(e, "add i32 %s, %d", shared_size(e), PIECE - 1), -PIECE);
}

static const char *reserved(struct emitter *e)
{
    return block_field(e, "i32", offsetof(struct fl_block, reserved_shared));
}

static const char *lane(struct emitter *e) { return emit(e, "and i32 %s, 31", e->t); }

static const char *lane_mask(struct emitter *e, enum special s)
{
    const char *bit = emit(e, "shl i32 1, %s", lane(e)), *below = emit(e, "sub i32 %s, 1", bit);
    switch (s) {
    case SR_lanemask_eq: return bit;
    case SR_lanemask_lt: return below;
    case SR_lanemask_le: return emit(e, "or i32 %s, %s", below, bit);
    case SR_lanemask_ge: return emit(e, "xor i32 %s, -1", below);
    default: return emit(e, "xor i32 %s, -1", emit(e, "or i32 %s, %s", below, bit));
    }
}

static const char *counter(struct emitter *e, enum special s)
{
    const char *v = s == SR_clock || s == SR_clock_hi || s == SR_clock64 ? emit(e, "call i64 @llvm.readcyclecounter()")
                                                                         : call_rt(e, "globaltimer", "%s", "");
    if (s == SR_clock64 || s == SR_globaltimer) return v;
    if (s == SR_clock_hi || s == SR_globaltimer_hi) v = emit(e, "lshr i64 %s, 32", v);
    return emit(e, "trunc i64 %s to i32", v);
}

const char *special_value(struct emitter *e, const struct operand *o)
{
    const char *const tid[] = { e->x, e->y, e->z, "0" };
    size_t part = o->component * 4ul;
    switch (o->special) {
    case SR_tid: return tid[o->component];
    case SR_ntid: return o->component == 3 ? "1" : block_field(e, "i32", offsetof(struct fl_block, ntid) + part);
    case SR_ctaid: return o->component == 3 ? "0" : block_field(e, "i32", offsetof(struct fl_block, ctaid) + part);
    case SR_nctaid: return o->component == 3 ? "1" : block_field(e, "i32", offsetof(struct fl_block, nctaid) + part);
    case SR_laneid: return lane(e);
    case SR_warpid: return emit(e, "lshr i32 %s, 5", e->t);
    case SR_nwarpid: return "64";
    case SR_smid: return block_field(e, "i32", offsetof(struct fl_block, smid));
    case SR_nsmid: return block_field(e, "i32", offsetof(struct fl_block, nsmid));
    case SR_gridid: return block_field(e, "i64", offsetof(struct fl_block, gridid));
    case SR_total_smem_size: return shared_given(e);
    case SR_aggr_smem_size: return emit(e, "add i32 %s, %d", shared_size(e), FL_RESERVED_SHARED);
    case SR_reserved_begin: return reserved(e);
    case SR_reserved_end: return emit(e, "add i32 %s, %d", reserved(e), RESERVED_USED);
    case SR_reserved_cap: return arena_printf("%d", FL_RESERVED_SHARED);
    case SR_dynamic_smem_size: return block_field(e, "i32", offsetof(struct fl_block, dynamic_shared_size));
    case SR_lanemask_eq:
    case SR_lanemask_le:
    case SR_lanemask_lt:
    case SR_lanemask_ge:
    case SR_lanemask_gt: return lane_mask(e, o->special);
    case SR_clock:
    case SR_clock_hi:
    case SR_clock64:
    case SR_globaltimer:
    case SR_globaltimer_lo:
    case SR_globaltimer_hi: return counter(e, o->special);
    case SR_workspace_lo:
        return emit(e, "trunc i64 %s to i32", block_field(e, "i64", offsetof(struct fl_block, grid_workspace)));
    case SR_workspace_hi:
        return emit(e, "trunc i64 %s to i32",
                    emit(e, "lshr i64 %s, 32", block_field(e, "i64", offsetof(struct fl_block, grid_workspace))));
    case SR_clusterid:
    case SR_nclusterid:
    case SR_cluster_ctaid:
    case SR_cluster_nctaid:
    case SR_cluster_ctarank:
    case SR_cluster_nctarank:
    case SR_explicit_cluster: return cluster_value(e, o);
    case SR_one: return "1";
    case SR_warp_size: return "32";
    default: return o->type == T_pred ? "false" : "0";
    }
}
