/* Barriers of one block: who has arrived at each, and when one is complete. Which threads run then is decided in block.c. */
#include "device/cluster.h"

#include <string.h>

static bool same_values(const uint64_t *v, uint32_t n)
{
    uint32_t differs = 0;
    for (uint32_t t = 0; t < n; t++) differs |= (uint32_t)v[t] ^ (uint32_t)v[0];
    return !differs;
}

static uint32_t number_of(const struct frame *f, const struct fl_image_segment *s, uint32_t t)
{
    return (s->flags & FL_SEG_IMM0 ? s->imm0 : (uint32_t)f->b.op_a[t]) & 15;
}

bool barrier_uniform(struct frame *f, const struct fl_image_segment *s)
{
    struct fl_block *b = &f->b;
    uint32_t n = f->live, ones = 0;
    if (s->op == FL_BAR_CLUSTER) return cluster_passes(f);
    if (s->op == FL_BAR_ARRIVE || !(s->flags & FL_SEG_IMM1) || (s->imm1 && s->imm1 != ((n + 31) & ~31u))) return false;
    if (!(s->flags & FL_SEG_IMM0) && !same_values(b->op_a, n)) return false;
    if (f->barriers[number_of(f, s, 0)].arrived) return false;
    if (s->op == FL_BAR_SYNC) return true;
    for (uint32_t t = 0; t < n; t++) ones += b->op_pred[t] != 0;
    for (uint32_t t = 0; t < n; t++) b->op_result[t] = ones;
    memset(b->op_pred, s->op == FL_BAR_RED_AND ? ones == n : ones != 0, n);
    return true;
}

static uint32_t bits(uint32_t first, uint32_t n) { return (n < 32 ? (1u << n) - 1 : ~0u) << first % 32; }

static uint32_t absent_lanes(const struct frame *f, uint32_t base)
{
    uint32_t lanes = 0;
    if (!f->ended && base + 32 <= f->b.nthreads) return 0;
    for (uint32_t t = base; t < base + 32; t++)
        lanes |= (uint32_t)(t >= f->b.nthreads || f->status[t] == THREAD_ENDED) << t % 32;
    return lanes;
}

static void count_lanes(struct frame *f, uint32_t number, uint32_t warp, uint32_t lanes)
{
    f->lanes[number][warp] |= lanes;
    f->barriers[number].arrived += (uint32_t)__builtin_popcount(lanes);
}

static bool release(struct frame *f, uint32_t number, uint8_t status)
{
    struct fl_block *b = &f->b;
    const struct barrier bar = f->barriers[number];
    uint32_t segment = FL_NONE;
    uint8_t op = FL_BAR_SYNC;
    bool any = false;
    for (uint32_t warps = bar.warps; warps; warps &= warps - 1) {
        uint32_t base = 32 * (uint32_t)__builtin_ctz(warps), end = base + 32 < b->nthreads ? base + 32 : b->nthreads;
        for (uint32_t t = base; t < end; t++) {
            if (f->status[t] != THREAD_AT_BARRIER || f->arrived_at[t] != number) continue;
            if (b->state[t] != segment) op = f->code.segments[segment = b->state[t]].op;
            if (op != FL_BAR_SYNC) {
                b->op_result[t] = bar.ones;
                b->op_pred[t] = op == FL_BAR_RED_AND ? bar.all : bar.any;
            }
            f->status[t] = status;
            any = true;
        }
    }
    f->barriers[number] = (struct barrier){ 0 };
    return any;
}

/* A barrier where threads are counted is complete in the moment in which enough have come: those that come later, even
 * in the same round, are the first of the next time. */
static void let_go(struct frame *f, uint32_t number)
{
    const struct barrier *bar = &f->barriers[number];
    if (bar->expected && bar->arrived >= bar->expected) f->let_go |= release(f, number, THREAD_LET_GO);
}

static void note_operands(const struct frame *f, struct barrier *bar, uint32_t first, uint32_t n)
{
    for (uint32_t t = first; t < first + n; t++) {
        bool p = f->b.op_pred[t] != 0;
        bar->ones += p;
        bar->all &= p;
        bar->any |= p;
    }
}

static void count_warp(struct frame *f, uint32_t number, uint32_t first, uint32_t n)
{
    struct barrier *bar = &f->barriers[number];
    const uint32_t warp = first / 32;
    if (!(bar->warps >> warp & 1)) {
        bar->warps |= 1u << warp;
        f->lanes[number][warp] = 0;
        count_lanes(f, number, warp, absent_lanes(f, first & ~31u));
    }
    count_lanes(f, number, warp, bits(first, n));
}

static void count(struct frame *f, const struct fl_image_segment *s, uint32_t number, uint32_t expected, uint32_t first,
                  uint32_t n)
{
    struct barrier *bar = &f->barriers[number];
    if (!bar->arrived) *bar = (struct barrier){ .all = true };
    bar->expected = expected;
    if (s->op != FL_BAR_SYNC && s->op != FL_BAR_ARRIVE) note_operands(f, bar, first, n);
    if (expected) {
        count_warp(f, number, first, n);
        return;
    }
    bar->arrived += n;
    bar->warps |= bits(first / 32, (first + n - 1) / 32 - first / 32 + 1);
}

/* All at one barrier. */
static void arrive_together(struct frame *f, const struct fl_image_segment *s, uint32_t expected, uint32_t first, uint32_t end)
{
    const uint32_t number = number_of(f, s, first);
    for (uint32_t t = first, next; t < end; t = next) {
        next = expected && (t | 31) < end ? (t | 31) + 1 : end;
        count(f, s, number, expected, t, next - t);
        if (next < end && f->barriers[number].arrived < expected) continue;
        memset(f->arrived_at + first, (int)number, next - first);
        memset(f->status + first, s->op == FL_BAR_ARRIVE ? THREAD_READY : THREAD_AT_BARRIER, next - first);
        let_go(f, number);
        first = next;
    }
}

void barrier_arrive(struct frame *f, const struct fl_image_segment *s, uint32_t first, uint32_t count)
{
    if (s->op == FL_BAR_CLUSTER) {
        memset(f->status + first, THREAD_AT_CLUSTER, count);
        f->at_cluster += count;
        return;
    }
    for (uint32_t end = first + count, n; first < end; first += n) {
        n = s->flags & FL_SEG_IMM0 ? count : 1;
        while (first + n < end && number_of(f, s, first + n) == number_of(f, s, first)) n++;
        arrive_together(f, s, s->flags & FL_SEG_IMM1 ? s->imm1 : (uint32_t)f->b.op_b[first], first, first + n);
    }
}

void barrier_end(struct frame *f, uint32_t first, uint32_t count)
{
    for (uint32_t k = 0; k < BARRIERS; k++) {
        if (!f->barriers[k].arrived || !f->barriers[k].expected) continue;
        for (uint32_t t = first, n; t < first + count; t += n) {
            n = first + count - t < 32 - t % 32 ? first + count - t : 32 - t % 32;
            if (f->barriers[k].warps >> t / 32 & 1) count_lanes(f, k, t / 32, bits(t, n) & ~f->lanes[k][t / 32]);
        }
        let_go(f, k);
    }
}

bool barrier_release(struct frame *f)
{
    bool any = f->let_go;
    if (f->let_go)
        for (uint32_t t = 0; t < f->b.nthreads; t++)
            f->status[t] = f->status[t] == THREAD_LET_GO ? THREAD_READY : f->status[t];
    f->let_go = false;
    if (f->at_cluster) any |= cluster_release(f);
    for (uint32_t k = 0; k < BARRIERS; k++) {
        const struct barrier *bar = &f->barriers[k];
        if (bar->arrived && !bar->expected && bar->arrived >= f->b.nthreads - f->ended) any |= release(f, k, THREAD_READY);
    }
    return any;
}
