/* The scheduler of one block: runs segments for as many threads at once as it
 * can and decides when a suspension is over. While all threads are in step the
 * block is uniform and nothing is kept per thread; see src/ptx/abi.h. */
#include "device/cluster.h"
#include "base/log.h"

#include <string.h>

enum { ROUNDS_BEFORE_LOOKING = 64, ROUNDS_BEFORE_YIELD = 32 * ROUNDS_BEFORE_LOOKING };

void block_begin(struct frame *f)
{
    f->uniform = true;
    f->live = f->count = f->b.nthreads;
    f->segment = f->first = 0;
    f->ended = f->rounds = 0;
    f->stuck_said = f->let_go = false;
    f->b.misaligned = 0;
    memset(f->barriers, 0, sizeof f->barriers);
    if (f->code.kernel->flags & FL_KERNEL_RESERVED) memset(f->b.shared + f->b.reserved_shared, 0, FL_RESERVED_SHARED);
    cluster_begin(f);
    if (f->code.kernel->nsegments > 1) memset(f->b.state, 0, f->b.nthreads * sizeof *f->b.state);
    if (f->fibers.sp) memset(f->fibers.sp, 0, f->b.nthreads * sizeof *f->fibers.sp);
}

static void run_segment(struct frame *f)
{
    if (f->fibers.sp)
        fibers_run(f, f->first, f->count);
    else
        segment_code(&f->code, f->segment)(&f->b, f->first, f->count);
}

/* ---- in step */

static bool all_equal(const uint16_t *state, uint32_t n)
{
    uint16_t first = state[0], differs = 0;
    for (uint32_t t = 0; t < n; t++) differs |= (uint16_t)(state[t] ^ first);
    return !differs;
}

/* Whether the block is still in step: threads that end must be the last ones. */
static bool still_in_step(struct frame *f)
{
    const uint16_t *state = f->b.state;
    uint32_t n = f->live;
    if (all_equal(state, n)) return true;
    while (state[n - 1] == FL_EXITED) n--;
    if (n == f->live || !all_equal(state, n)) return false;
    cluster_end(f, n, f->live - n);
    f->live = n;
    return true;
}

/* The lanes that the warp of threads base .. base+31 has among the first n. */
static uint32_t lanes_below(uint32_t n, uint32_t base) { return n - base >= 32 ? ~0u : (1u << (n - base)) - 1; }

static bool uniform_warp(struct frame *f, const struct fl_image_segment *s)
{
    struct fl_block *b = &f->b;
    bool all = s->flags & (FL_SEG_FULL_MASK | FL_SEG_CONVERGED) || s->op == FL_WARP_ACTIVEMASK;
    for (uint32_t t = 0; t < f->live && !all; t++) {
        uint32_t lanes = lanes_below(f->live, t & ~31u);
        if ((b->op_mask[t] & lanes) != lanes) return false;
    }
    for (uint32_t base = 0; base < f->live; base += 32) warp_complete(b, base, lanes_below(f->live, base), s);
    return true;
}

/* What a thread that stops at segment s does: goes on at once, or waits. */
static uint8_t status_at(const struct frame *f, uint32_t s)
{
    if (s == FL_EXITED) return THREAD_ENDED;
    switch (f->code.segments[s].suspend) {
    case FL_SUSPEND_BARRIER: return THREAD_AT_BARRIER;
    case FL_SUSPEND_WARP: return THREAD_AT_WARP_OP;
    case FL_SUSPEND_YIELD: return THREAD_YIELDED;
    default: return THREAD_READY;
    }
}

/* Threads first .. end-1 have stopped where their state says. */
static void arrive(struct frame *f, uint32_t first, uint32_t end)
{
    const uint16_t *state = f->b.state;
    while (first < end) {
        uint32_t s = state[first], n = 1;
        while (first + n < end && state[first + n] == s) n++;
        uint8_t status = status_at(f, s);
        if (status == THREAD_AT_BARRIER)
            barrier_arrive(f, &f->code.segments[s], first, n);
        else
            memset(f->status + first, status, n);
        if (status == THREAD_ENDED) {
            f->ended += n;
            barrier_end(f, first, n);
            cluster_end(f, first, n);
        }
        first += n;
    }
}

static void fall_out_of_step(struct frame *f)
{
    f->uniform = false;
    f->moved = true;
    f->ended = 0;
    memset(f->status, THREAD_READY, f->b.nthreads);
    arrive(f, 0, f->b.nthreads);
}

/* Runs while all threads are in step. True: block_run is to return *outcome. */
static bool run_uniform(struct frame *f, enum block_outcome *outcome)
{
    struct fl_block *b = &f->b;
    const bool spins = f->code.kernel->flags & FL_KERNEL_SPINS; /* then a loop without waits may be within one that waits */
    for (;;) {
        f->first = 0;
        f->count = f->live;
        run_segment(f);
        if (b->misaligned) {
            *outcome = BLOCK_FAULT;
            return true;
        }
        if (!still_in_step(f)) break;
        uint32_t s = b->state[0];
        if (s == FL_EXITED) {
            *outcome = BLOCK_DONE;
            return true;
        }
        const struct fl_image_segment *g = &f->code.segments[s];
        if (g->suspend == FL_SUSPEND_BARRIER && !barrier_uniform(f, g)) break;
        if (g->suspend == FL_SUSPEND_WARP && !uniform_warp(f, g)) break;
        f->moved |= s != f->segment || g->suspend != FL_SUSPEND_YIELD;
        f->segment = s;
        if (g->suspend == FL_SUSPEND_YIELD ||
            ((g->suspend != FL_SUSPEND_CONTINUE || spins) && ++f->rounds >= ROUNDS_BEFORE_YIELD)) {
            f->rounds = 0;
            *outcome = BLOCK_YIELDED;
            return true;
        }
    }
    fall_out_of_step(f);
    return false;
}

/* ---- out of step */

static void run_ready(struct frame *f)
{
    struct fl_block *b = &f->b;
    for (uint32_t t = 0; t < b->nthreads;) {
        if (f->status[t] != THREAD_READY) {
            t++;
            continue;
        }
        uint32_t s = b->state[t], end = t + 1;
        while (end < b->nthreads && f->status[end] == THREAD_READY && b->state[end] == s) end++;
        f->segment = s;
        f->first = t;
        f->count = end - t;
        run_segment(f);
        f->moved |= b->state[t] != s || !all_equal(b->state + t, end - t);
        arrive(f, t, end);
        t = end;
    }
}

static bool is_converged(const struct fl_image_segment *s)
{
    return s->flags & FL_SEG_CONVERGED || s->op == FL_WARP_ACTIVEMASK;
}

static void wake(struct frame *f, uint32_t base, uint32_t group)
{
    for (; group; group &= group - 1) f->status[base + (uint32_t)__builtin_ctz(group)] = THREAD_READY;
}

static uint32_t mask_of(const struct frame *f, const struct fl_image_segment *s, uint32_t t)
{
    return s->flags & FL_SEG_FULL_MASK ? ~0u : f->b.op_mask[t];
}

/* The members of thread t's operation, if all of them have arrived; 0 otherwise. */
static uint32_t complete_group(const struct frame *f, uint32_t base, uint32_t t)
{
    const struct fl_block *b = &f->b;
    const struct fl_image_segment *s = &f->code.segments[b->state[t]];
    uint32_t mask = mask_of(f, s, t), group = 1u << (t - base);
    for (uint32_t left = mask & lanes_below(b->nthreads, base); left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left), o = base + lane;
        if (f->status[o] == THREAD_ENDED) continue;
        if (f->status[o] != THREAD_AT_WARP_OP) return 0;
        const struct fl_image_segment *g = &f->code.segments[b->state[o]];
        if (g != s && (is_converged(g) || g->op != s->op || g->width != s->width || g->imm0 != s->imm0)) return 0;
        if (mask_of(f, g, o) != mask) return 0;
        group |= 1u << lane;
    }
    return group;
}

static bool complete_warp(struct frame *f, uint32_t base)
{
    const struct fl_block *b = &f->b;
    uint32_t incomplete = 0; /* a mask whose operation is known to miss somebody */
    bool any = false;
    for (uint32_t t = base; t < base + 32 && t < b->nthreads; t++) {
        const struct fl_image_segment *s = &f->code.segments[b->state[t]];
        if (f->status[t] != THREAD_AT_WARP_OP || is_converged(s) || mask_of(f, s, t) == incomplete) continue;
        uint32_t group = complete_group(f, base, t);
        if (!group) {
            incomplete = mask_of(f, s, t);
            continue;
        }
        warp_complete(&f->b, base, group, s);
        wake(f, base, group);
        any = true;
    }
    return any;
}

static bool any_with(const struct frame *f, uint8_t status) { return memchr(f->status, status, f->b.nthreads) != NULL; }

static bool complete_warps(struct frame *f)
{
    bool any = false;
    if (!any_with(f, THREAD_AT_WARP_OP)) return false;
    for (uint32_t base = 0; base < f->b.nthreads; base += 32) any |= complete_warp(f, base);
    return any;
}

static bool waits_converged(const struct frame *f, uint32_t t)
{
    return f->status[t] == THREAD_AT_WARP_OP && is_converged(&f->code.segments[f->b.state[t]]);
}

/* Whoever waits in the warp at segment s. */
static uint32_t waiting_at(const struct frame *f, uint32_t base, uint32_t s)
{
    uint32_t group = 0;
    for (uint32_t t = base; t < base + 32 && t < f->b.nthreads; t++)
        if (f->status[t] == THREAD_AT_WARP_OP && f->b.state[t] == s) group |= 1u << (t - base);
    return group;
}

/* Operations whose members are whoever is there when nobody else can come. Threads that have parted meet again where
 * their ways do, as on a GPU: of a warp, those go on that are least far, and others wait for them. Now and then all
 * go on, for the first may be waiting for the others. */
static bool complete_converged(struct frame *f)
{
    enum { TURNS = 1024 };
    bool any = false, all = ++f->reunions % TURNS == 0;
    for (uint32_t base = 0; base < f->b.nthreads; base += 32)
        for (;;) {
            uint32_t least = FL_NONE;
            for (uint32_t t = base; t < base + 32 && t < f->b.nthreads; t++)
                if (waits_converged(f, t) && f->b.state[t] < least) least = f->b.state[t];
            if (least == FL_NONE) break;
            uint32_t group = waiting_at(f, base, least);
            warp_complete(&f->b, base, group, &f->code.segments[least]);
            wake(f, base, group);
            any = true;
            if (!all) break;
        }
    return any;
}

static bool back_in_step(struct frame *f)
{
    uint32_t live = f->b.nthreads - f->ended;
    if (!all_equal(f->b.state, live)) return false;
    for (uint32_t t = 0; t < live; t++)
        if (f->status[t] != THREAD_READY) return false;
    for (int k = 0; k < BARRIERS; k++)
        if (f->barriers[k].arrived) return false;
    f->uniform = true;
    f->live = live;
    f->segment = f->b.state[0];
    return true;
}

static void wake_yielded(struct frame *f)
{
    for (uint32_t t = 0; t < f->b.nthreads; t++)
        if (f->status[t] == THREAD_YIELDED) f->status[t] = THREAD_READY;
}

/* Threads wait for what cannot come, as they would on a GPU, for ever. */
static void say_stuck(struct frame *f)
{
    if (f->stuck_said || f->at_cluster) return;
    f->stuck_said = true;
    for (uint32_t t = 0; t < f->b.nthreads; t++)
        if (f->status[t] == THREAD_AT_BARRIER || f->status[t] == THREAD_AT_WARP_OP) {
            fl_log(FL_LOG_WARN,
                   "kernel %s, block (%u,%u,%u): thread %u waits for others at PTX line %u, but none of them can come",
                   (const char *)f->code.image + f->code.image->strings + f->code.kernel->name, f->b.ctaid[0],
                   f->b.ctaid[1], f->b.ctaid[2], t, f->code.segments[f->b.state[t]].line);
            return;
        }
}

static enum block_outcome run_divergent(struct frame *f)
{
    for (;;) {
        run_ready(f);
        if (f->b.misaligned) return BLOCK_FAULT;
        if (f->ended == f->b.nthreads) return BLOCK_DONE;
        bool went_on = complete_warps(f) | barrier_release(f);
        if (!went_on && !any_with(f, THREAD_READY)) went_on = complete_converged(f);
        f->moved |= went_on;
        if (!went_on && !any_with(f, THREAD_READY)) {
            if (!any_with(f, THREAD_YIELDED)) say_stuck(f);
            wake_yielded(f);
            f->rounds = 0;
            return BLOCK_YIELDED;
        }
        if (back_in_step(f)) return BLOCK_YIELDED;
        /* those that look at memory get their turn even while others always find something to do */
        if (++f->rounds % ROUNDS_BEFORE_LOOKING == 0) wake_yielded(f);
        if (f->rounds >= ROUNDS_BEFORE_YIELD) {
            f->rounds = 0;
            return BLOCK_YIELDED;
        }
    }
}

void block_run_batch(struct frame *f, uint64_t count)
{
    fl_segment_fn *code = segment_code(&f->code, 0);
    uint32_t *at = f->b.ctaid, n = f->b.nthreads;
    while (count--) {
        code(&f->b, 0, n);
        if (f->b.misaligned || !count) return;
        if (++at[0] < f->b.nctaid[0]) continue;
        at[0] = 0;
        if (++at[1] < f->b.nctaid[1]) continue;
        at[1] = 0;
        at[2]++;
    }
}

enum block_outcome block_run(struct frame *f)
{
    enum block_outcome outcome;
    f->moved = false;
    for (;;) {
        if (f->uniform && run_uniform(f, &outcome)) return outcome;
        outcome = run_divergent(f);
        if (outcome != BLOCK_YIELDED || !f->uniform) return outcome;
    }
}
