/* Loops that may wait; see spins.h. What a loop loads in a way that
 * sees other threads' writes, what clocks say, and whatever is computed of that, is followed
 * to the branches: a loop that such a value may end is one. */
#include "spins.h"
#include "arena.h"
#include "calls.h"
#include "cfg.h"

#include <string.h>

enum { SHORT_LOOP = 16 }; /* instructions: with no effects and that short, a plain load waits too */

struct taint {
    uint64_t *set;
    bool hit, changed;
};
static void test_taint(struct reg *r, void *arg)
{
    struct taint *t = arg;
    t->hit |= bit(t->set, r->index);
}
static void spread_taint(struct reg *r, void *arg)
{
    struct taint *t = arg;
    if (!bit(t->set, r->index)) {
        bit_set(t->set, r->index);
        t->changed = true;
    }
}

bool is_sync_load(const struct instr *i)
{
    return (i->op == OP_ld &&
            (has(i, MOD_volatile) || has(i, MOD_relaxed) || has(i, MOD_acquire) || has(i, MOD_mmio))) ||
           (i->op == OP_atom && i->nops && i->ops[0].kind != OPERAND_sink) ||
           (i->op == OP_mbarrier && (has(i, MOD_test_wait) || has(i, MOD_try_wait)));
}

bool reads_clock(const struct instr *i)
{
    for (uint32_t k = 0; k < i->nops; k++)
        if (i->ops[k].kind == OPERAND_special && i->ops[k].special >= SR_clock &&
            i->ops[k].special <= SR_globaltimer_hi)
            return true;
    return false;
}

static bool has_effect(const struct instr *i)
{
    return i->op == OP_st || i->op == OP_atom || i->op == OP_red || i->op == OP_call || i->op == OP_mbarrier ||
           i->op == OP_cp;
}

/* A call of what looks at memory: its result may be what decides. */
static bool is_told(const struct instr *i, bool others_look)
{
    if (i->op == OP_ld) return i->space == SPACE_param && i->ops[1].var && i->ops[1].var->told;
    if (i->op != OP_call || i->nops < 2 || i->ops[0].kind != OPERAND_list) return false;
    const struct func *f = callee(i);
    if (f ? !f->looks : !others_look) return false;
    for (uint32_t k = 0; k < i->ops[0].count; k++)
        if (i->ops[0].elements[k].var) i->ops[0].elements[k].var->told = true;
    return true;
}

/* Whether what some memory word holds, or the time, decides how often the loop goes round. */
static bool loop_spins(struct cfg *c, const uint8_t *in_loop, bool others_look)
{
    struct func *f = c->func;
    uint64_t *defined = arena_alloc(c->words * 8ul);
    struct taint t = { .set = arena_alloc(c->words * 8ul) };
    uint32_t size = 0;
    bool effects = false;
    for (uint32_t i = 0; i < f->ncode; i++) {
        if (!in_loop[c->block_at[i]]) continue;
        if (is_suspension(&f->code[i])) return false;
        if (f->code[i].op == OP_nanosleep) return true;
        size++;
        effects |= has_effect(&f->code[i]);
        instr_defs(&f->code[i], reg_set, defined);
    }
    for (uint32_t i = 0; i < f->ncode; i++) {
        const struct instr *in = &f->code[i];
        if (!in_loop[c->block_at[i]]) continue;
        bool seed = is_sync_load(in) || reads_clock(in) || is_told(in, others_look);
        if (in->op == OP_ld && in->space != SPACE_param && !effects && size <= SHORT_LOOP)
            seed |= !in->ops[1].reg || !bit(defined, in->ops[1].reg->index);
        if (seed) instr_defs(in, spread_taint, &t);
    }
    do {
        t.changed = false;
        for (uint32_t i = 0; i < f->ncode; i++) {
            if (!in_loop[c->block_at[i]]) continue;
            t.hit = false;
            instr_uses(&f->code[i], test_taint, &t);
            if (t.hit && (f->code[i].op == OP_bra || f->code[i].op == OP_ret || f->code[i].op == OP_exit)) return true;
            if (t.hit) instr_defs(&f->code[i], spread_taint, &t);
        }
    } while (t.changed);
    return false;
}

/* The blocks that reach tail without passing head, and both. */
static void loop_body(struct cfg *c, uint32_t head, uint32_t tail, uint8_t *in_loop)
{
    memset(in_loop, 0, c->nblocks);
    in_loop[head] = in_loop[tail] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = c->nblocks; k-- > 0;) {
            if (in_loop[k]) continue;
            for (uint32_t s = 0; s < c->blocks[k].nsucc; s++) {
                uint32_t to = c->blocks[k].succ[s];
                if (in_loop[to] && to != head && !in_loop[k]) {
                    in_loop[k] = 1;
                    changed = true;
                }
            }
        }
    }
}

bool mark_spins(struct func *f, bool others_look)
{
    struct cfg c;
    bool found = false;
    if (!f->ncode) return false;
    cfg_build(&c, f);
    uint8_t *in_loop = arena_alloc(c.nblocks), *state = arena_alloc(c.nblocks);
    uint32_t *stack = arena_alloc((c.nblocks + 1ul) * 4), *at = arena_alloc((c.nblocks + 1ul) * 4), depth = 0;
    stack[depth++] = 0;
    state[0] = 1;
    while (depth) {
        uint32_t k = stack[depth - 1];
        struct block *b = &c.blocks[k];
        if (at[k] == b->nsucc) {
            state[k] = 2;
            depth--;
            continue;
        }
        uint32_t to = b->succ[at[k]++];
        struct instr *last = &f->code[b->end - 1];
        if (!state[to]) {
            state[to] = 1;
            stack[depth++] = to;
        } else if (state[to] == 1) {
            bool taken = last->op == OP_bra && c.block_at[label_position(last->ops[0].label)] == to;
            loop_body(&c, to, k, in_loop);
            if (taken && !last->yield && loop_spins(&c, in_loop, others_look)) last->yield = found = true;
        }
    }
    return found;
}
