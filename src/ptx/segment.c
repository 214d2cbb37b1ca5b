/* Cuts a kernel into segments and decides which registers are spilled at a
 * suspension and which are computed anew after it; see abi.h. */
#include "arena.h"
#include "emit.h"
#include "kernel.h"
#include "lockstep.h"
#include "ptxc.h"
#include "spins.h"

#include <stdlib.h>
#include <string.h>

enum { CHEAP = 24, MAX_WORK = 3000000, MAX_CUTS = FL_MAX_SEGMENTS - 8192 /* loops in step may add to them */ };

uint32_t segment_add(struct kernel *k, uint32_t start, const struct instr *cause, enum fl_suspend suspend, int line)
{
    if (k->nsegments >= FL_MAX_SEGMENTS)
        fatal_at(EXIT_UNSUPPORTED, line, "kernel '%s' has too many suspension points", k->func->name);
    struct segment *s = &ARENA_PUSH(k->segments, k->nsegments);
    s->start = start;
    s->cause = cause;
    s->image.suspend = (uint8_t)suspend;
    s->image.line = (uint32_t)line;
    if (cause) suspension_describe(cause, &s->image);
    return k->nsegments - 1;
}

static bool find_segments(struct kernel *k)
{
    struct func *f = k->func;
    segment_add(k, 0, NULL, FL_SUSPEND_START, f->line);
    for (uint32_t i = 0; i < f->ncode && k->nsegments < MAX_CUTS; i++) {
        struct instr *in = &f->code[i];
        in->segment = 0;
        if (is_suspension(in)) {
            in->segment = segment_add(k, i + 1, in, FL_SUSPEND_WARP, in->line);
        } else if (in->yield) {
            uint32_t head = label_resolve(in->ops[0].label)->position;
            for (uint32_t s = 1; s < k->nsegments; s++)
                if (k->segments[s].image.suspend == FL_SUSPEND_YIELD && k->segments[s].start == head) in->segment = s;
            if (!in->segment) in->segment = segment_add(k, head, NULL, FL_SUSPEND_YIELD, in->line);
        }
    }
    return k->nsegments < MAX_CUTS;
}

/* ---- registers that are cheaper to compute again than to keep */

static bool pure_source(const struct operand *o)
{
    switch (o->kind) {
    case OPERAND_reg:
    case OPERAND_int:
    case OPERAND_float:
    case OPERAND_func: return true;
    case OPERAND_var: return o->var->space != SPACE_param;
    case OPERAND_special:
        return o->special != SR_clock && o->special != SR_clock_hi && o->special != SR_clock64 &&
               o->special != SR_globaltimer && o->special != SR_globaltimer_lo && o->special != SR_globaltimer_hi;
    default: return false;
    }
}

bool is_pure(const struct instr *i)
{
    if (i->guard || i->ops[0].kind != OPERAND_reg || i->ops[0].second || has(i, MOD_cc)) return false;
    if (i->op == OP_ld) {
        const struct operand *a = &i->ops[1];
        return i->space == SPACE_param && a->kind == OPERAND_address && a->var && a->var->is_argument && !a->reg &&
               !has(i, MOD_v2) && !has(i, MOD_v4);
    }
    switch (i->op) {
    case OP_mov:
    case OP_cvta:
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_mad:
    case OP_shl:
    case OP_shr:
    case OP_and:
    case OP_or:
    case OP_xor:
    case OP_not:
    case OP_neg:
    case OP_min:
    case OP_max:
    case OP_cvt: break;
    default: return false;
    }
    for (unsigned k = 0; k < i->ntypes; k++)
        if (type_bits(i->types[k]) > 64 || i->types[k] == T_f32 || i->types[k] == T_f64 || i->types[k] == T_f16 ||
            i->types[k] == T_f16x2 || i->types[k] == T_bf16 || i->types[k] == T_bf16x2) {
            if (i->op != OP_mov) return false;
        }
    for (unsigned k = 1; k < i->nops; k++)
        if (!pure_source(&i->ops[k])) return false;
    return true;
}

struct definitions {
    const struct instr **only;
    uint8_t *count;
    const struct instr *current;
};

static void note_definition(struct reg *r, void *arg)
{
    struct definitions *d = arg;
    d->only[r->index] = d->current;
    if (d->count[r->index] < 2) d->count[r->index]++;
}

/* Cost of computing r, CHEAP + 1 if it cannot be. state: 0 unknown, 1 on the way, 2 known. */
static unsigned cost(const struct instr **only, uint8_t *state, uint8_t *known, struct reg *r)
{
    if (state[r->index] == 2) return known[r->index];
    if (state[r->index] == 1 || !only[r->index] || !is_pure(only[r->index])) return CHEAP + 1;
    state[r->index] = 1;
    unsigned c = 1;
    const struct instr *i = only[r->index];
    for (unsigned k = 1; k < i->nops && c <= CHEAP; k++)
        if (i->ops[k].kind == OPERAND_reg) c += cost(only, state, known, i->ops[k].reg);
    if (c > CHEAP) c = CHEAP + 1;
    state[r->index] = 2;
    known[r->index] = (uint8_t)c;
    return c;
}

static void find_recomputable(struct kernel *k)
{
    struct func *f = k->func;
    struct definitions d = { arena_alloc((f->nregs + 1ul) * sizeof *d.only), arena_alloc(f->nregs + 1ul), NULL };
    for (uint32_t i = 0; i < f->ncode; i++) {
        d.current = &f->code[i];
        instr_defs(d.current, note_definition, &d);
    }
    for (uint32_t r = 0; r < f->nregs; r++)
        if (d.count[r] != 1) d.only[r] = NULL;
    uint8_t *state = arena_alloc(f->nregs + 1ul), *known = arena_alloc(f->nregs + 1ul);
    k->definition = arena_alloc((f->nregs + 1ul) * sizeof *k->definition);
    for (uint32_t r = 0; r < f->nregs; r++)
        if (cost(d.only, state, known, f->regs[r]) <= CHEAP) k->definition[r] = d.only[r];
}

/* ---- context slots, the largest first so that each is aligned */

static void assign_slots(struct kernel *k)
{
    struct func *f = k->func;
    uint64_t *live = arena_alloc(k->cfg.words * 8ul);
    for (uint32_t s = 1; s < k->nsegments; s++) {
        if (k->segments[s].start >= f->ncode) continue;
        const struct block *b = &k->cfg.blocks[k->cfg.block_at[k->segments[s].start]];
        for (uint32_t w = 0; w < k->cfg.words; w++) live[w] |= b->live_in[w];
    }
    k->slot = arena_alloc((f->nregs + 1ul) * sizeof *k->slot);
    for (uint32_t r = 0; r < f->nregs; r++) k->slot[r] = -1;
    static const unsigned sizes[] = { 16, 8, 4, 2, 1 };
    for (unsigned n = 0; n < 5; n++)
        for (uint32_t r = 0; r < f->nregs; r++)
            if (bit(live, r) && !k->definition[r] && type_bytes(f->regs[r]->type) == sizes[n]) {
                k->slot[r] = (int32_t)k->context;
                k->context += sizes[n];
            }
}

/* ---- shared and local variables */

static void place(struct var *v, uint32_t *size)
{
    *size = (*size + v->align - 1) & ~(v->align - 1);
    v->offset = *size;
    *size += (uint32_t)v->size;
}

/* Threads' frames lie side by side: each is aligned as the variable in it that is aligned most. */
static void align_local(struct kernel *k)
{
    uint32_t align = 16;
    for (uint32_t n = 0; n < k->func->nvars; n++) {
        const struct var *v = k->func->vars[n];
        if ((v->space == SPACE_local || v->kept) && v->align > align) align = v->align;
    }
    k->local = (k->local + align - 1) & ~(align - 1);
}

/* How shared memory is aligned that launches add behind all that. A module that names it rounds what each of its kernels
 * has up to that, also of those that do not use it (observed on an H200). 1: none does. */
static uint32_t dynamic_align(const struct module_ir *m)
{
    uint32_t align = 1;
    for (uint32_t k = 0; k < m->nvars; k++) {
        const struct var *v = m->vars[k];
        if (v->space != SPACE_shared || !v->is_extern || v->size) continue;
        if (align < 16) align = 16;
        if (v->align > align) align = v->align;
    }
    return align;
}

void kernel_lay_out(struct kernel *k, struct module_ir *m)
{
    enum { MOST_SHARED = 227 << 10 }; /* of a block of any device */
    struct func *f = k->func;
    const uint32_t align = dynamic_align(m);
    k->static_shared = f->shared_end;
    for (uint32_t i = 0; i < f->nvars; i++) {
        struct var *v = f->vars[i];
        if (v->space == SPACE_shared && !v->placed) place(v, &k->static_shared);
        if (v->space == SPACE_local) place(v, &k->local);
    }
    k->static_shared = (k->static_shared + align - 1) & ~(align - 1);
    if (k->static_shared > MOST_SHARED)
        fatal_at(EXIT_INVALID_PTX, f->line, "the shared variables of '%s' take %u bytes, at most %d are possible", f->name,
                 k->static_shared, MOST_SHARED);
    k->local_reported = (k->local + 15) & ~15u;
    align_local(k);
    /* what an allocator would need; at 32 registers no block is kept off a multiprocessor for their sake */
    k->registers = f->nregs < 10 ? 10 : f->nregs > 32 ? 32 : f->nregs;
}

/* ---- parameters of calls that were expanded */

/* Where each variable is accessed first and last, in the order of the code. */
static void note_accesses(const struct func *f)
{
    for (uint32_t n = 0; n < f->nvars; n++) f->vars[n]->first = f->ncode;
    for (uint32_t n = 0; n < f->ncode; n++)
        for (unsigned o = 0; o < f->code[n].nops; o++) {
            const struct operand *operand = &f->code[n].ops[o];
            struct var *v = operand->kind == OPERAND_address || operand->kind == OPERAND_var ? operand->var : NULL;
            if (!v || v->space != SPACE_param) continue;
            if (v->first > n) v->first = n;
            v->last = n;
        }
}

static bool is_between(const struct label *l, uint32_t first, uint32_t last)
{
    return label_position(l) > first && label_position(l) <= last;
}

/* Whether the instruction may go to somewhere behind first, up to last. */
static bool goes_between(const struct instr *i, uint32_t first, uint32_t last)
{
    if (i->op == OP_bra && i->ops[0].kind == OPERAND_label) return is_between(i->ops[0].label, first, last);
    if (i->op != OP_brx || i->nops < 2 || i->ops[1].kind != OPERAND_label) return false;
    const struct label *table = label_resolve(i->ops[1].label);
    for (uint32_t k = 0; k < table->ntargets; k++)
        if (is_between(table->targets[k], first, last)) return true;
    return false;
}

/* Whether a segment begins between the first access to v and its last, or in a loop from behind the last back to it. */
static bool outlives_segment(const struct kernel *k, const struct var *v)
{
    const struct func *f = k->func;
    uint32_t last = v->last;
    if (v->first >= last) return false;
    for (uint32_t n = last + 1; n < f->ncode; n++)
        if (goes_between(&f->code[n], v->first, last)) last = n;
    for (uint32_t s = 1; s < k->nsegments; s++)
        if (k->segments[s].start > v->first && k->segments[s].start <= last) return true;
    return false;
}

/* A parameter that a function reads, or a result that it writes, and then waits must outlive the segment. */
static void keep_parameters(struct kernel *k)
{
    struct func *f = k->func;
    if (k->nsegments == 1) return;
    note_accesses(f);
    for (uint32_t n = 0; n < f->nvars; n++) {
        struct var *v = f->vars[n];
        if (v->space != SPACE_param || v->is_argument || v->is_result || !outlives_segment(k, v)) continue;
        v->kept = true;
        place(v, &k->local);
    }
    align_local(k);
}

uint32_t kernel_flags(const struct kernel *k)
{
    uint32_t flags = k->func->spins ? FL_KERNEL_SPINS : 0;
    for (uint32_t s = 0; s < k->nsegments; s++)
        if (k->segments[s].cause && is_matrix(k->segments[s].cause)) flags |= FL_KERNEL_MATRIX;
    return flags;
}

bool segment_goes_on(const struct kernel *k, const struct block *b)
{
    const struct instr *last = &k->func->code[b->end - 1];
    return !last->segment || last->guard || last->yield;
}

/* Segments may have much code in common. */
static bool is_small_enough(const struct kernel *k)
{
    uint64_t work = 0;
    uint32_t *stack = arena_alloc((k->cfg.nblocks + 1ul) * 4);
    uint8_t *seen = arena_alloc(k->cfg.nblocks + 1ul);
    for (uint32_t s = 0; s < k->nsegments && k->segments[s].start < k->func->ncode; s++) {
        uint32_t depth = 0;
        memset(seen, 0, k->cfg.nblocks);
        stack[depth++] = k->cfg.block_at[k->segments[s].start];
        seen[stack[0]] = 1;
        while (depth) {
            const struct block *b = &k->cfg.blocks[stack[--depth]];
            work += b->end - b->start;
            if (!segment_goes_on(k, b)) continue;
            for (uint32_t i = 0; i < b->nsucc; i++)
                if (!seen[b->succ[i]]) {
                    seen[b->succ[i]] = 1;
                    stack[depth++] = b->succ[i];
                }
        }
        if (work > MAX_WORK) return false;
    }
    return true;
}

/* ---- stores that may go past the cache */

static bool is_plain(const struct instr *i)
{
    return i->space == SPACE_global && !is_sync_load(i) && !has(i, MOD_volatile) && !has(i, MOD_relaxed) &&
           !has(i, MOD_release) && !has(i, MOD_mmio);
}

static bool reads_at(const struct kernel *k, const struct operand *o)
{
    const struct func *f = k->func;
    for (uint32_t n = 0; n < f->ncode; n++) {
        const struct instr *i = &f->code[n];
        if (i->op == OP_ld && i->ops[1].reg == o->reg && i->ops[1].offset == o->offset) return true;
    }
    return false;
}

static bool streams(const struct kernel *k)
{
    const struct func *f = k->func;
    bool any = false;
    if (!k->vector || k->nsegments != 1 || k->static_shared) return false;
    for (uint32_t n = 0; n < f->ncode; n++) {
        const struct instr *i = &f->code[n];
        switch (i->op) {
        case OP_st:
            if (!is_plain(i) || reads_at(k, &i->ops[0])) return false;
            any = true;
            break;
        case OP_ld:
            if (i->space != SPACE_param && i->space != SPACE_const && !is_plain(i)) return false;
            break;
        case OP_call:
        case OP_atom:
        case OP_red:
        case OP_membar:
        case OP_fence:
        case OP_mbarrier:
        case OP_cp: return false;
        default: break;
        }
    }
    return any;
}

bool kernel_analyse(struct kernel *k, struct module_ir *m, struct func *f)
{
    k->func = f;
    if (!find_segments(k)) return false;
    cfg_build(&k->cfg, f);
    cfg_liveness(&k->cfg);
    find_recomputable(k);
    lockstep_find(k);
    cuts_find(k);
    assign_slots(k);
    kernel_lay_out(k, m);
    keep_parameters(k);
    k->vector = !k->local;
    k->streams = streams(k);
    k->flags = kernel_flags(k);
    return is_small_enough(k);
}
