/* Finds the loops of lockstep.h: which blocks make one, and whether all that
 * they do may be done round by round for all threads. What their registers and
 * accesses have to be like: lockstep_search.h. */
#include "arena.h"
#include "lockstep_search.h"

enum {
    MOST_INSTRUCTIONS = 200,
    MOST_BLOCKS = 12,
    MOST_STEPS = 20000,
    MOST_LOOKED_AT = 4000000 /* registers times loops, in one kernel */
};

static bool plain_access(const struct instr *i)
{
    return !has(i, MOD_volatile) && !has(i, MOD_relaxed) && !has(i, MOD_acquire) && !has(i, MOD_release) &&
           !has(i, MOD_mmio);
}

static bool vectorises(const struct instr *i)
{
    switch (i->op) {
    case OP_ld:
    case OP_st: return plain_access(i) && !has(i, MOD_v2) && !has(i, MOD_v4) && !has(i, MOD_v8);
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_mad: return !has(i, MOD_cc);
    case OP_fma:
    case OP_min:
    case OP_max:
    case OP_abs:
    case OP_neg:
    case OP_and:
    case OP_or:
    case OP_xor:
    case OP_not:
    case OP_shl:
    case OP_shr:
    case OP_mov:
    case OP_cvta:
    case OP_cvt:
    case OP_setp:
    case OP_selp: return true;
    default: return false;
    }
}

/* What else a loop may do in which threads leave by conditions of their own: there it is not
 * vector code that counts, but that memory is gone through in order. */
static bool runs_in_step(const struct instr *i)
{
    switch (i->op) {
    case OP_ld:
    case OP_st: return plain_access(i);
    case OP_atom:
    case OP_red:
    case OP_div:
    case OP_rem:
    case OP_mul24:
    case OP_mad24:
    case OP_sad:
    case OP_sqrt:
    case OP_rsqrt:
    case OP_rcp:
    case OP_ex2:
    case OP_lg2:
    case OP_sin:
    case OP_cos:
    case OP_tanh:
    case OP_bfe:
    case OP_bfi:
    case OP_brev:
    case OP_clz:
    case OP_popc:
    case OP_lop3:
    case OP_prmt:
    case OP_shf:
    case OP_set:
    case OP_slct:
    case OP_copysign:
    case OP_testp: return true;
    default: return vectorises(i);
    }
}

/* ---- the loop's shape */

static uint32_t target_of(const struct instr *bra) { return label_resolve(bra->ops[0].label)->position; }

/* The block goes to the loop's first, directly or by way of a block that only jumps. */
static bool ends_loop(const struct kernel *k, const struct block *first, const struct block *b, struct lockstep *l)
{
    const struct func *f = k->func;
    const struct instr *last = &f->code[b->end - 1];
    if (last->op != OP_bra || !last->guard || last->yield || last->ops[0].kind != OPERAND_label) return false;
    l->end = b->end - 1;
    if (target_of(last) == first->start) {
        l->taken_goes_round = true;
        l->exit = b->end;
        return true;
    }
    if (b->end >= f->ncode) return false;
    const struct instr *back = &f->code[b->end];
    l->exit = target_of(last);
    return back->op == OP_bra && !back->guard && !back->yield && back->ops[0].kind == OPERAND_label &&
           target_of(back) == first->start;
}

/* Block n goes on within blocks up to last, and never back. */
static bool goes_forward(const struct kernel *k, uint32_t n, uint32_t last)
{
    const struct cfg *c = &k->cfg;
    for (uint32_t s = 0; s < c->blocks[n].nsucc; s++)
        if (c->blocks[n].succ[s] <= n || c->blocks[n].succ[s] > last) return false;
    const struct instr *i = &k->func->code[c->blocks[n].end - 1];
    if (i->op == OP_bra) return !i->yield && i->ops[0].kind == OPERAND_label;
    return !is_terminator(i);
}

/* Nobody else enters blocks from first on up to last but by the first. */
static bool is_entered_once(const struct kernel *k, uint32_t first, uint32_t last)
{
    const struct cfg *c = &k->cfg;
    for (uint32_t n = 0; n < c->nblocks; n++)
        for (uint32_t s = 0; s < c->blocks[n].nsucc && (n < first || n > last); s++)
            if (c->blocks[n].succ[s] > first && c->blocks[n].succ[s] <= last) return false;
    for (uint32_t n = first + 1; n <= last; n++)
        if (c->blocks[n].cut) return false;
    return true;
}

static bool has_shape(const struct kernel *k, uint32_t number, struct lockstep *l)
{
    const struct cfg *c = &k->cfg;
    const struct block *first = &c->blocks[number];
    l->block = number;
    for (uint32_t n = number; n < c->nblocks && n - number < MOST_BLOCKS; n++) {
        l->last = n;
        if (ends_loop(k, first, &c->blocks[n], l)) break;
        *l = (struct lockstep){ .block = number };
    }
    if (!l->end) return false;
    for (uint32_t n = number; n < l->last; n++)
        if (!goes_forward(k, n, l->last)) return false;
    return l->last == number || is_entered_once(k, number, l->last);
}

/* ---- the search */

static bool is_worth_while(struct search *s, bool own)
{
    s->own = own;
    return lockstep_find_roles(s) && lockstep_accesses_fit(s);
}

static bool examine(struct kernel *k, uint32_t number, struct lockstep *l)
{
    struct func *f = k->func;
    const struct block *b = &k->cfg.blocks[number];
    bool vector = l->last == l->block, in_step = true;
    if (l->end - b->start > MOST_INSTRUCTIONS) return false;
    for (uint32_t i = b->start; i < l->end && in_step; i++) {
        vector = vector && vectorises(&f->code[i]);
        in_step = f->code[i].op == OP_bra || runs_in_step(&f->code[i]);
    }
    if (!in_step) return false;
    struct search s = { .k = k, .l = l, .b = b, .steps = MOST_STEPS };
    lockstep_count_definitions(&s);
    return (vector && is_worth_while(&s, false)) || is_worth_while(&s, true);
}

static bool ends_thread(const struct instr *i) { return (i->op == OP_ret || i->op == OP_exit) && !i->guard; }

void lockstep_find(struct kernel *k)
{
    struct func *f = k->func;
    for (uint32_t i = 0; i < f->nvars; i++)
        if (f->vars[i]->space == SPACE_local) return;
    uint64_t looked_at = 0;
    for (uint32_t n = 0; n < k->cfg.nblocks; n++) {
        struct lockstep l = { 0 };
        if (!has_shape(k, n, &l)) continue;
        if ((looked_at += f->nregs + 1ull) > MOST_LOOKED_AT) break;
        if (!examine(k, n, &l)) continue;
        l.segment = segment_add(k, k->cfg.blocks[n].start, NULL, FL_SUSPEND_CONTINUE, f->code[l.end].line);
        k->cfg.blocks[n].cut = l.segment;
        ARENA_PUSH(k->locksteps, k->nlocksteps) = l;
    }
    for (uint32_t n = 0; n < k->nlocksteps; n++) {
        struct lockstep *l = &k->locksteps[n];
        if (l->exit >= f->ncode || ends_thread(&f->code[l->exit])) continue;
        l->exit_segment = k->cfg.blocks[k->cfg.block_at[l->exit]].cut;
        if (!l->exit_segment)
            l->exit_segment = segment_add(k, l->exit, NULL, FL_SUSPEND_CONTINUE, f->code[l->exit].line);
    }
}
