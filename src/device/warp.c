/* Warp operations, once all their members have arrived: PTX's semantics of
 * shfl, vote, match, redux, activemask and elect. Whole warps, the usual case,
 * take loops of 32 that the compiler can unroll. */
#include "device/block.h"

#include <string.h>

enum { ALL = -1 };

/* for each lane of group */
#define FOR_LANES(lane, group) \
    for (uint32_t lane##_left = (group), lane; lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), 1); \
         lane##_left &= lane##_left - 1)

static void set_results(struct fl_block *b, uint32_t base, uint32_t group, uint64_t value)
{
    uint64_t *to = b->op_result + base;
    if (group == (uint32_t)ALL)
        for (int lane = 0; lane < 32; lane++) to[lane] = value;
    else
        FOR_LANES (lane, group) to[lane] = value;
}

static void set_preds(struct fl_block *b, uint32_t base, uint32_t group, bool value)
{
    if (group == (uint32_t)ALL)
        memset(b->op_pred + base, value, 32);
    else
        FOR_LANES (lane, group) b->op_pred[base + lane] = value;
}

/* ---- shfl */

/* The lane that me reads from, and whether it is in range, as the PTX manual puts it. */
static uint32_t source(uint8_t mode, uint32_t me, uint32_t by, uint32_t c, uint8_t *in)
{
    uint32_t clamp = c & 31, segment = c >> 8 & 31, least = me & segment, most = least | (clamp & ~segment);
    int32_t from = mode == FL_WARP_SHFL_UP     ? (int32_t)me - (int32_t)by
                   : mode == FL_WARP_SHFL_DOWN ? (int32_t)(me + by)
                   : mode == FL_WARP_SHFL_BFLY ? (int32_t)(me ^ by)
                                               : (int32_t)(least | (by & ~segment));
    *in = mode == FL_WARP_SHFL_UP ? from >= (int32_t)most : from <= (int32_t)most;
    return *in ? (uint32_t)from : me;
}

/* A lane that is not there is undefined to read: its reader gets its own value. */
static void shuffle_lanes(struct fl_block *b, uint32_t base, uint32_t group, uint8_t mode)
{
    FOR_LANES (lane, group) {
        uint32_t by = b->op_b[base + lane] & 31, c = (uint32_t)b->op_c[base + lane];
        uint32_t from = source(mode, lane, by, c, &b->op_pred[base + lane]);
        b->op_result[base + lane] = b->op_a[base + (group >> from & 1 ? from : lane)];
    }
}

/* Lanes usually agree on how far and within what, and so do the warps of a
 * block: who reads from whom is kept from one shuffle to the next. */
struct exchange {
    uint32_t by, c, mode;
    uint8_t from[32], in[32];
};

static void exchange_prepare(struct exchange *x, uint8_t mode, uint32_t by, uint32_t c)
{
    x->mode = mode;
    x->by = by;
    x->c = c;
    for (uint32_t lane = 0; lane < 32; lane++) x->from[lane] = (uint8_t)source(mode, lane, by & 31, c, &x->in[lane]);
}

static void shuffle(struct fl_block *b, uint32_t base, uint32_t group, uint8_t mode)
{
    static _Thread_local struct exchange x;
    const uint64_t *a = b->op_a + base, *by = b->op_b + base, *c = b->op_c + base;
    uint64_t *to = b->op_result + base, differs = 0;
    for (int lane = 0; lane < 32; lane++) differs |= (by[lane] ^ by[0]) | (c[lane] ^ c[0]);
    if (group != (uint32_t)ALL || (uint32_t)differs) {
        shuffle_lanes(b, base, group, mode);
        return;
    }
    if (x.mode != mode || x.by != (uint32_t)by[0] || x.c != (uint32_t)c[0])
        exchange_prepare(&x, mode, (uint32_t)by[0], (uint32_t)c[0]);
    for (int lane = 0; lane < 32; lane++) to[lane] = a[x.from[lane]];
    memcpy(b->op_pred + base, x.in, 32);
}

/* ---- vote and match */

/* Bit n: byte n is not 0. */
static uint32_t ballot_of(const uint8_t *bytes)
{
    uint32_t ballot = 0;
    for (uint32_t n = 0; n < 4; n++) {
        const uint64_t low = 0x7f7f7f7f7f7f7f7full;
        uint64_t v;
        memcpy(&v, bytes + 8 * n, 8);
        v = (((v & low) + low) | v) >> 7 & 0x0101010101010101ull;
        ballot |= (uint32_t)(v * 0x0102040810204080ull >> 56) << 8 * n;
    }
    return ballot;
}

static void vote(struct fl_block *b, uint32_t base, uint32_t group, uint8_t op)
{
    uint32_t ballot = ballot_of(b->op_pred + base) & group;
    switch (op) {
    case FL_WARP_VOTE_ALL: set_preds(b, base, group, ballot == group); break;
    case FL_WARP_VOTE_ANY: set_preds(b, base, group, ballot != 0); break;
    case FL_WARP_VOTE_UNI: set_preds(b, base, group, ballot == 0 || ballot == group); break;
    default: set_results(b, base, group, ballot);
    }
}

static void match(struct fl_block *b, uint32_t base, uint32_t group, bool all, uint8_t width)
{
    uint64_t mask = width == 64 ? ~0ull : 0xffffffffu;
    const uint64_t *a = b->op_a + base;
    for (uint32_t left = group; left;) {
        uint32_t first = (uint32_t)__builtin_ctz(left), equal = 0;
        for (uint32_t lane = 0; lane < 32; lane++) equal |= (uint32_t)(!((a[lane] ^ a[first]) & mask)) << lane;
        equal &= group;
        if (all) {
            set_results(b, base, group, equal == group ? group : 0);
            set_preds(b, base, group, equal == group);
            return;
        }
        set_results(b, base, equal, equal);
        left &= ~equal;
    }
}

/* ---- redux */

#define FOLD(next) \
    FOR_LANES (lane, group & (group - 1)) { \
        uint32_t x = (uint32_t)a[lane]; \
        v = (next); \
    } \
    break

static void redux(struct fl_block *b, uint32_t base, uint32_t group, uint8_t op)
{
    const uint64_t *a = b->op_a + base;
    uint32_t v = (uint32_t)a[__builtin_ctz(group)];
    switch (op) {
    case FL_WARP_REDUX_ADD: FOLD(v + x);
    case FL_WARP_REDUX_MIN_U: FOLD(x < v ? x : v);
    case FL_WARP_REDUX_MAX_U: FOLD(x > v ? x : v);
    case FL_WARP_REDUX_MIN_S: FOLD((int32_t)x < (int32_t)v ? x : v);
    case FL_WARP_REDUX_MAX_S: FOLD((int32_t)x > (int32_t)v ? x : v);
    case FL_WARP_REDUX_AND: FOLD(v & x);
    case FL_WARP_REDUX_OR: FOLD(v | x);
    default: FOLD(v ^ x);
    }
    set_results(b, base, group, v);
}

void warp_complete(struct fl_block *b, uint32_t base, uint32_t group, const struct fl_image_segment *s)
{
    if (!group) return;
    uint32_t leader = (uint32_t)__builtin_ctz(group);
    switch (s->op) {
    case FL_WARP_SYNC: break;
    case FL_WARP_SHFL_UP:
    case FL_WARP_SHFL_DOWN:
    case FL_WARP_SHFL_BFLY:
    case FL_WARP_SHFL_IDX: shuffle(b, base, group, s->op); break;
    case FL_WARP_VOTE_ALL:
    case FL_WARP_VOTE_ANY:
    case FL_WARP_VOTE_UNI:
    case FL_WARP_VOTE_BALLOT: vote(b, base, group, s->op); break;
    case FL_WARP_MATCH_ANY:
    case FL_WARP_MATCH_ALL: match(b, base, group, s->op == FL_WARP_MATCH_ALL, s->width); break;
    case FL_WARP_ACTIVEMASK: set_results(b, base, group, group); break;
    case FL_WARP_ELECT:
        set_results(b, base, group, leader);
        set_preds(b, base, group, false);
        b->op_pred[base + leader] = true;
        break;
    case FL_WARP_MMA:
    case FL_WARP_ROWS:
    case FL_WARP_TRANSPOSE: matrix_complete(b, base, s); break;
    case FL_WARP_WGMMA: warpgroup_complete(b, base, s); break;
    default: redux(b, base, group, s->op);
    }
}
