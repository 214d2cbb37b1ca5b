/* The scheduler of one block: runs segments for as many threads at once as it
 * can and decides when a suspension is over. While all threads are in step the
 * block is uniform and nothing is kept per thread; see src/ptx/abi.h. */
#include "device/block.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUNDS_BEFORE_YIELD = 2000 };
static const uint64_t WINDOW = 5ull << 30, SMALL_WINDOW = 1 << 20; /* address space behind a shared window */

/* ---- frames */

static bool grow(char **p, uint64_t *have, uint64_t want)
{
    if (want <= *have) return true;
    if (*p) munmap(*p, *have);
    want = (want + 4095) & ~4095ull;
    *p = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *have = *p == MAP_FAILED ? 0 : want;
    if (*p == MAP_FAILED) *p = NULL;
    return *p;
}

/* Only the launch's bytes, rounded up to a page, can be touched; what lies behind faults. */
static bool open_window(struct frame *f, uint64_t bytes)
{
    bytes = (bytes + 4095) & ~4095ull;
    if (!f->window) {
        f->window_size = WINDOW;
        f->window = mmap(NULL, WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (f->window == MAP_FAILED)
            f->window = mmap(NULL, f->window_size = SMALL_WINDOW, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (f->window == MAP_FAILED) return f->window = NULL, false;
        f->window_open = 0;
    }
    if (bytes == f->window_open) return true;
    if (bytes > f->window_size) return false;
    if (bytes > f->window_open ? mprotect(f->window, bytes, PROT_READ | PROT_WRITE)
                               : mprotect(f->window + bytes, f->window_open - bytes, PROT_NONE))
        return false;
    f->window_open = bytes;
    return true;
}

bool frame_prepare(struct frame *f, const struct kernel_code *code, const uint32_t block[3], uint32_t dynamic_shared)
{
    struct fl_block *b = &f->b;
    const struct fl_image_kernel *k = code->kernel;
    uint32_t n = block[0] * block[1] * block[2], r = (n + 31) & ~31u;
    f->code = *code;
    memcpy(b->ntid, block, sizeof b->ntid);
    b->nthreads = n;
    f->rounded = r;
    b->dynamic_shared = k->static_shared;
    b->dynamic_shared_size = dynamic_shared;
    b->total_shared_size = k->static_shared + dynamic_shared;
    if (!open_window(f, b->total_shared_size)) return false;
    b->shared = (uint8_t *)f->window;
    b->shared_window_size = f->window_size;
    b->local_stride = k->local;
    if (k->nsegments == 1) return true;
    if (!grow(&f->arrays, &f->arrays_size, r * 48ull) ||
        !grow(&f->context, &f->context_size, (uint64_t)k->context * n + 64) ||
        !grow(&f->local, &f->local_size, (uint64_t)k->local * n + 64))
        return false;
    char *p = f->arrays;
    b->op_a = (uint64_t *)p;
    b->op_b = b->op_a + r;
    b->op_c = b->op_b + r;
    b->op_result = b->op_c + r;
    b->op_mask = (uint32_t *)(b->op_result + r);
    b->state = (uint16_t *)(b->op_mask + r);
    b->op_pred = (uint8_t *)(b->state + r);
    f->status = b->op_pred + r;
    f->arrived_at = f->status + r;
    b->context = (uint8_t *)f->context;
    b->local = (uint8_t *)f->local;
    if (k->local) {
        b->local_lo = (uint64_t)f->local;
        b->local_hi = b->local_lo + f->local_size;
    }
    return true;
}

void frame_release(struct frame *f)
{
    if (f->arrays) munmap(f->arrays, f->arrays_size);
    if (f->context) munmap(f->context, f->context_size);
    if (f->local) munmap(f->local, f->local_size);
    if (f->window) munmap(f->window, f->window_size);
    memset(f, 0, sizeof *f);
}

void block_begin(struct frame *f)
{
    f->uniform = true;
    f->segment = 0;
    f->ended = f->rounds = 0;
    f->stuck_said = false;
    f->b.misaligned = 0;
    memset(f->barriers, 0, sizeof f->barriers);
    if (f->code.kernel->nsegments > 1) memset(f->b.state, 0, f->b.nthreads * sizeof *f->b.state);
}

/* ---- in step */

static bool all_equal(const uint16_t *state, uint32_t n)
{
    uint16_t first = state[0], differs = 0;
    for (uint32_t t = 0; t < n; t++) differs |= (uint16_t)(state[t] ^ first);
    return !differs;
}

static uint32_t lanes_of(const struct frame *f, uint32_t base)
{
    uint32_t left = f->b.nthreads - base;
    return left >= 32 ? ~0u : (1u << left) - 1;
}

static bool same_values(const uint64_t *v, uint32_t n)
{
    for (uint32_t t = 1; t < n; t++)
        if ((uint32_t)v[t] != (uint32_t)v[0]) return false;
    return true;
}

/* All threads wait at the same barrier: over at once, unless it counts otherwise. */
static bool uniform_barrier(struct frame *f, const struct fl_image_segment *s)
{
    struct fl_block *b = &f->b;
    uint32_t n = b->nthreads;
    if (s->op == FL_BAR_ARRIVE || !(s->flags & FL_SEG_IMM1) || (s->imm1 && s->imm1 != n)) return false;
    if (!(s->flags & FL_SEG_IMM0) && !same_values(b->op_a, n)) return false;
    if (f->barriers[s->flags & FL_SEG_IMM0 ? s->imm0 & 15 : b->op_a[0] & 15].arrived) return false;
    if (s->op == FL_BAR_SYNC) return true;
    uint32_t ones = 0;
    for (uint32_t t = 0; t < n; t++) ones += b->op_pred[t] != 0;
    for (uint32_t t = 0; t < n; t++) {
        b->op_result[t] = ones;
        b->op_pred[t] = s->op == FL_BAR_RED_AND ? ones == n : ones != 0;
    }
    return true;
}

static bool uniform_warp(struct frame *f, const struct fl_image_segment *s)
{
    struct fl_block *b = &f->b;
    bool full = s->flags & (FL_SEG_FULL_MASK | FL_SEG_CONVERGED) || s->op == FL_WARP_ACTIVEMASK;
    for (uint32_t t = 0; t < b->nthreads && !full; t++)
        if ((b->op_mask[t] & lanes_of(f, t & ~31u)) != lanes_of(f, t & ~31u)) return false;
    for (uint32_t base = 0; base < b->nthreads; base += 32) warp_complete(b, base, lanes_of(f, base), s);
    return true;
}

/* What a thread that stops at segment s does: goes on at once, or waits. */
static uint8_t status_at(const struct frame *f, uint32_t s)
{
    if (s == FL_EXITED) return THREAD_ENDED;
    switch (f->code.segments[s].suspend) {
    case FL_SUSPEND_CONTINUE: return THREAD_READY;
    case FL_SUSPEND_YIELD: return THREAD_YIELDED;
    default: return THREAD_WAITS;
    }
}

static void arrive(struct frame *f, uint32_t t);

static void fall_out_of_step(struct frame *f)
{
    f->uniform = false;
    f->ended = 0;
    for (uint32_t t = 0; t < f->b.nthreads; t++) arrive(f, t);
}

/* Runs while all threads are in step. True: block_run is to return *outcome. */
static bool run_uniform(struct frame *f, enum block_outcome *outcome)
{
    struct fl_block *b = &f->b;
    for (;;) {
        segment_code(&f->code, f->segment)(b, 0, b->nthreads);
        if (b->misaligned) return *outcome = BLOCK_FAULT, true;
        uint32_t s = b->state[0];
        if (!all_equal(b->state, b->nthreads)) break;
        if (s == FL_EXITED) return *outcome = BLOCK_DONE, true;
        const struct fl_image_segment *g = &f->code.segments[s];
        if (g->suspend == FL_SUSPEND_BARRIER && !uniform_barrier(f, g)) break;
        if (g->suspend == FL_SUSPEND_WARP && !uniform_warp(f, g)) break;
        f->segment = s;
        if (g->suspend == FL_SUSPEND_YIELD ||
            (g->suspend != FL_SUSPEND_CONTINUE && ++f->rounds >= ROUNDS_BEFORE_YIELD)) {
            f->rounds = 0;
            return *outcome = BLOCK_YIELDED, true;
        }
    }
    fall_out_of_step(f);
    return false;
}

/* ---- out of step */

static uint32_t barrier_number(const struct frame *f, const struct fl_image_segment *s, uint32_t t)
{
    return (s->flags & FL_SEG_IMM0 ? s->imm0 : (uint32_t)f->b.op_a[t]) & 15;
}

/* Thread t has stopped at state[t]. */
static void arrive(struct frame *f, uint32_t t)
{
    uint32_t s = f->b.state[t];
    f->status[t] = status_at(f, s);
    if (f->status[t] == THREAD_ENDED) f->ended++;
    if (f->status[t] != THREAD_WAITS || f->code.segments[s].suspend != FL_SUSPEND_BARRIER) return;
    const struct fl_image_segment *g = &f->code.segments[s];
    struct barrier *bar = &f->barriers[f->arrived_at[t] = (uint8_t)barrier_number(f, g, t)];
    bool p = f->b.op_pred[t] != 0;
    if (!bar->arrived) *bar = (struct barrier){ .all = true };
    bar->arrived++;
    bar->expected = g->flags & FL_SEG_IMM1 ? g->imm1 : (uint32_t)f->b.op_b[t];
    bar->ones += p;
    bar->all &= p;
    bar->any |= p;
    if (g->op == FL_BAR_ARRIVE) f->status[t] = THREAD_READY;
}

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
        segment_code(&f->code, s)(b, t, end - t);
        for (; t < end; t++) arrive(f, t);
    }
}

static bool release_barriers(struct frame *f)
{
    struct fl_block *b = &f->b;
    bool any = false;
    for (uint32_t k = 0; k < 16; k++) {
        struct barrier *bar = &f->barriers[k];
        if (!bar->arrived || bar->arrived < (bar->expected ? bar->expected : b->nthreads - f->ended)) continue;
        for (uint32_t t = 0; t < b->nthreads; t++) {
            if (f->status[t] != THREAD_WAITS || f->arrived_at[t] != k) continue;
            const struct fl_image_segment *g = &f->code.segments[b->state[t]];
            if (g->suspend != FL_SUSPEND_BARRIER) continue;
            b->op_result[t] = bar->ones;
            b->op_pred[t] = g->op == FL_BAR_RED_AND ? bar->all : bar->any;
            f->status[t] = THREAD_READY;
            any = true;
        }
        *bar = (struct barrier){ 0 };
    }
    return any;
}

static bool waits_at_warp_op(const struct frame *f, uint32_t t)
{
    return f->status[t] == THREAD_WAITS && f->code.segments[f->b.state[t]].suspend == FL_SUSPEND_WARP;
}

static bool is_converged(const struct fl_image_segment *s)
{
    return s->flags & FL_SEG_CONVERGED || s->op == FL_WARP_ACTIVEMASK;
}

static void wake(struct frame *f, uint32_t base, uint32_t group)
{
    for (; group; group &= group - 1) f->status[base + (uint32_t)__builtin_ctz(group)] = THREAD_READY;
}

/* The members of thread t's operation, if all of them have arrived; 0 otherwise. */
static uint32_t complete_group(const struct frame *f, uint32_t base, uint32_t t)
{
    const struct fl_block *b = &f->b;
    const struct fl_image_segment *s = &f->code.segments[b->state[t]];
    uint32_t mask = s->flags & FL_SEG_FULL_MASK ? ~0u : b->op_mask[t], group = 0;
    for (uint32_t l = 0; l < 32 && base + l < b->nthreads; l++) {
        uint32_t o = base + l;
        if (!(mask >> l & 1) && o != t) continue;
        if (f->status[o] == THREAD_ENDED) continue;
        if (!waits_at_warp_op(f, o)) return 0;
        const struct fl_image_segment *g = &f->code.segments[b->state[o]];
        uint32_t other = g->flags & FL_SEG_FULL_MASK ? ~0u : b->op_mask[o];
        if (is_converged(g) || g->op != s->op || g->width != s->width || other != mask) return 0;
        group |= 1u << l;
    }
    return group;
}

static bool complete_warps(struct frame *f)
{
    bool any = false;
    for (uint32_t base = 0; base < f->b.nthreads; base += 32)
        for (uint32_t t = base; t < base + 32 && t < f->b.nthreads; t++) {
            if (!waits_at_warp_op(f, t) || is_converged(&f->code.segments[f->b.state[t]])) continue;
            uint32_t group = complete_group(f, base, t);
            if (!group) continue;
            warp_complete(&f->b, base, group, &f->code.segments[f->b.state[t]]);
            wake(f, base, group);
            any = true;
        }
    return any;
}

/* Operations whose members are whoever is there when nobody else can come. */
static bool complete_converged(struct frame *f)
{
    bool any = false;
    for (uint32_t base = 0; base < f->b.nthreads; base += 32) {
        for (uint32_t t = base; t < base + 32 && t < f->b.nthreads; t++) {
            if (!waits_at_warp_op(f, t) || !is_converged(&f->code.segments[f->b.state[t]])) continue;
            uint32_t group = 0, s = f->b.state[t];
            for (uint32_t o = t; o < base + 32 && o < f->b.nthreads; o++)
                if (waits_at_warp_op(f, o) && f->b.state[o] == s) group |= 1u << (o - base);
            warp_complete(&f->b, base, group, &f->code.segments[s]);
            wake(f, base, group);
            any = true;
        }
    }
    return any;
}

static bool back_in_step(struct frame *f)
{
    if (f->ended || !all_equal(f->b.state, f->b.nthreads)) return false;
    for (uint32_t t = 0; t < f->b.nthreads; t++)
        if (f->status[t] != THREAD_READY) return false;
    for (int k = 0; k < 16; k++)
        if (f->barriers[k].arrived) return false;
    f->uniform = true;
    f->segment = f->b.state[0];
    return true;
}

static bool any_with(const struct frame *f, uint8_t status) { return memchr(f->status, status, f->b.nthreads) != NULL; }

/* Threads wait for what cannot come, as they would on a GPU, for ever. */
static void say_stuck(struct frame *f)
{
    if (f->stuck_said) return;
    f->stuck_said = true;
    for (uint32_t t = 0; t < f->b.nthreads; t++)
        if (f->status[t] == THREAD_WAITS) {
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
        bool went_on = complete_warps(f) | release_barriers(f);
        if (!went_on && !any_with(f, THREAD_READY)) went_on = complete_converged(f);
        if (!went_on && !any_with(f, THREAD_READY)) {
            if (!any_with(f, THREAD_YIELDED)) say_stuck(f);
            for (uint32_t t = 0; t < f->b.nthreads; t++)
                if (f->status[t] == THREAD_YIELDED) f->status[t] = THREAD_READY;
            f->rounds = 0;
            return BLOCK_YIELDED;
        }
        if (back_in_step(f)) return BLOCK_YIELDED;
        if (++f->rounds >= ROUNDS_BEFORE_YIELD) {
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
    for (;;) {
        if (f->uniform && run_uniform(f, &outcome)) return outcome;
        outcome = run_divergent(f);
        if (outcome != BLOCK_YIELDED || !f->uniform) return outcome;
    }
}
