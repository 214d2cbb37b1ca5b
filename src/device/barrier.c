/* Barriers of one block: who has arrived at each of the sixteen, and when a
 * barrier is complete. Which threads run then is decided in block.c. */
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
    if (s->op == FL_BAR_ARRIVE || !(s->flags & FL_SEG_IMM1) || (s->imm1 && s->imm1 != n)) return false;
    if (!(s->flags & FL_SEG_IMM0) && !same_values(b->op_a, n)) return false;
    if (f->barriers[number_of(f, s, 0)].arrived) return false;
    if (s->op == FL_BAR_SYNC) return true;
    for (uint32_t t = 0; t < n; t++) ones += b->op_pred[t] != 0;
    for (uint32_t t = 0; t < n; t++) b->op_result[t] = ones;
    memset(b->op_pred, s->op == FL_BAR_RED_AND ? ones == n : ones != 0, n);
    return true;
}

static void arrive_one(struct frame *f, const struct fl_image_segment *s, uint32_t t)
{
    struct barrier *bar = &f->barriers[f->arrived_at[t] = (uint8_t)number_of(f, s, t)];
    bool p = f->b.op_pred[t] != 0;
    if (!bar->arrived) *bar = (struct barrier){ .all = true, .cluster = s->op == FL_BAR_CLUSTER };
    bar->arrived++;
    bar->expected = s->flags & FL_SEG_IMM1 ? s->imm1 : (uint32_t)f->b.op_b[t];
    bar->ones += p;
    bar->all &= p;
    bar->any |= p;
}

void barrier_arrive(struct frame *f, const struct fl_image_segment *s, uint32_t first, uint32_t count)
{
    if (s->op == FL_BAR_SYNC && s->flags & FL_SEG_IMM0 && s->flags & FL_SEG_IMM1) {
        arrive_one(f, s, first);
        memset(f->arrived_at + first, (int)(s->imm0 & 15), count);
        f->barriers[s->imm0 & 15].arrived += count - 1;
        return;
    }
    for (uint32_t t = first; t < first + count; t++) arrive_one(f, s, t);
    if (s->op == FL_BAR_ARRIVE) memset(f->status + first, THREAD_READY, count);
}

static bool release(struct frame *f, uint32_t number)
{
    struct fl_block *b = &f->b;
    const struct barrier bar = f->barriers[number];
    bool any = false;
    for (uint32_t t = 0; t < b->nthreads; t++) {
        if (f->status[t] != THREAD_AT_BARRIER || f->arrived_at[t] != number) continue;
        uint8_t op = f->code.segments[b->state[t]].op;
        if (op != FL_BAR_SYNC && op != FL_BAR_CLUSTER) {
            b->op_result[t] = bar.ones;
            b->op_pred[t] = op == FL_BAR_RED_AND ? bar.all : bar.any;
        }
        f->status[t] = THREAD_READY;
        any = true;
    }
    f->barriers[number] = (struct barrier){ 0 };
    return any;
}

bool barrier_release(struct frame *f)
{
    bool any = false;
    for (uint32_t k = 0; k < 16; k++) {
        const struct barrier *bar = &f->barriers[k];
        if (!bar->arrived || bar->arrived < (bar->expected ? bar->expected : f->b.nthreads - f->ended)) continue;
        if (!bar->cluster || cluster_passes(f)) any |= release(f, k);
    }
    return any;
}
