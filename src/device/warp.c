/* Warp operations, once all their members have arrived: PTX's semantics of
 * shfl, vote, match, redux, activemask and elect. */
#include "device/block.h"

#define EACH(l, group) \
    (uint32_t l##_left = (group), l; l##_left && (l = (uint32_t)__builtin_ctz(l##_left), true); \
     l##_left &= l##_left - 1)

static void shuffle(struct fl_block *b, uint32_t base, uint32_t group, uint8_t mode)
{
    for
        EACH(lane, group)
        {
            int32_t by = (int32_t)(b->op_b[base + lane] & 31), c = (int32_t)b->op_c[base + lane], clamp = c & 31,
                    segment = c >> 8 & 31;
            int32_t me = (int32_t)lane, least = me & segment, most = least | (clamp & ~segment), from;
            bool in;
            switch (mode) {
            case FL_WARP_SHFL_UP:
                from = me - by;
                in = from >= most;
                break;
            case FL_WARP_SHFL_DOWN:
                from = me + by;
                in = from <= most;
                break;
            case FL_WARP_SHFL_BFLY:
                from = me ^ by;
                in = from <= most;
                break;
            default: from = least | (by & ~segment); in = from <= most;
            }
            if (!in || from < 0 || !(group >> from & 1)) from = me;
            b->op_result[base + lane] = b->op_a[base + (uint32_t)from];
            b->op_pred[base + lane] = in;
        }
}

static void vote(struct fl_block *b, uint32_t base, uint32_t group, uint8_t op)
{
    uint32_t ballot = 0;
    for
        EACH(lane, group) ballot |= (uint32_t)(b->op_pred[base + lane] != 0) << lane;
    bool p = op == FL_WARP_VOTE_ALL   ? ballot == group
             : op == FL_WARP_VOTE_ANY ? ballot != 0
                                      : ballot == 0 || ballot == group;
    for
        EACH(lane, group)
        {
            b->op_pred[base + lane] = p;
            b->op_result[base + lane] = ballot;
        }
}

static void match(struct fl_block *b, uint32_t base, uint32_t group, bool all, uint8_t width)
{
    uint64_t mask = width == 64 ? ~0ull : 0xffffffffu;
    bool same = true;
    uint64_t first = b->op_a[base + (uint32_t)__builtin_ctz(group)] & mask;
    for
        EACH(lane, group)
        {
            uint64_t mine = b->op_a[base + lane] & mask;
            uint32_t equal = 0;
        for
            EACH(other, group) equal |= (uint32_t)((b->op_a[base + other] & mask) == mine) << other;
        b->op_result[base + lane] = equal;
        same &= mine == first;
        }
    if (!all) return;
    for
        EACH(lane, group)
        {
            b->op_result[base + lane] = same ? group : 0;
            b->op_pred[base + lane] = same;
        }
}

static uint32_t reduce(uint8_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case FL_WARP_REDUX_ADD: return a + b;
    case FL_WARP_REDUX_MIN_U: return a < b ? a : b;
    case FL_WARP_REDUX_MAX_U: return a > b ? a : b;
    case FL_WARP_REDUX_MIN_S: return (int32_t)a < (int32_t)b ? a : b;
    case FL_WARP_REDUX_MAX_S: return (int32_t)a > (int32_t)b ? a : b;
    case FL_WARP_REDUX_AND: return a & b;
    case FL_WARP_REDUX_OR: return a | b;
    default: return a ^ b;
    }
}

static void redux(struct fl_block *b, uint32_t base, uint32_t group, uint8_t op)
{
    uint32_t first = (uint32_t)__builtin_ctz(group), v = (uint32_t)b->op_a[base + first];
    for
        EACH(lane, group & (group - 1)) v = reduce(op, v, (uint32_t)b->op_a[base + lane]);
    for
        EACH(lane, group) b->op_result[base + lane] = v;
}

void warp_complete(struct fl_block *b, uint32_t base, uint32_t group, const struct fl_image_segment *s)
{
    if (!group) return;
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
    case FL_WARP_ACTIVEMASK:
        for
            EACH(lane, group) b->op_result[base + lane] = group;
        break;
    case FL_WARP_ELECT:
        for
            EACH(lane, group)
            {
                b->op_result[base + lane] = (uint32_t)__builtin_ctz(group);
                b->op_pred[base + lane] = lane == (uint32_t)__builtin_ctz(group);
            }
        break;
    default: redux(b, base, group, s->op);
    }
}
