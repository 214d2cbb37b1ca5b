/* Basic blocks, liveness and spinning loops; see cfg.h. */
#include "cfg.h"
#include "arena.h"
#include "calls.h"

#include <string.h>

bool is_suspension(const struct instr *i)
{
    switch (i->op) {
    case OP_bar:
    case OP_barrier: return !(has(i, MOD_cluster) && has(i, MOD_arrive));
    case OP_shfl:
    case OP_vote:
    case OP_match:
    case OP_redux:
    case OP_activemask:
    case OP_elect:
    case OP_mma:
    case OP_ldmatrix:
    case OP_stmatrix:
    case OP_movmatrix: return true;
    case OP_wmma: return has(i, MOD_mma);
    default: return false;
    }
}

bool is_terminator(const struct instr *i)
{
    return i->op == OP_bra || i->op == OP_brx || i->op == OP_ret || i->op == OP_exit || i->op == OP_trap ||
           i->op == OP_brkpt;
}

bool has_destination(const struct instr *i)
{
    switch (i->op) {
    case OP_st:
    case OP_stackrestore:
    case OP_bra:
    case OP_brx:
    case OP_call:
    case OP_ret:
    case OP_exit:
    case OP_trap:
    case OP_brkpt:
    case OP_membar:
    case OP_fence:
    case OP_nanosleep:
    case OP_prefetch:
    case OP_prefetchu:
    case OP_cp:
    case OP_pmevent:
    case OP_discard:
    case OP_applypriority:
    case OP_griddepcontrol:
    case OP_setmaxnreg: return false;
    case OP_stmatrix:
    case OP_red: return false;
    case OP_wmma: return !has(i, MOD_store);
    case OP_mbarrier: return i->nops > 1 || has(i, MOD_arrive);
    case OP_bar:
    case OP_barrier: return has(i, MOD_red);
    default: return i->nops > 0;
    }
}

static void visit_all(const struct operand *o, reg_visitor *visit, void *arg)
{
    if (o->reg) visit(o->reg, arg);
    if (o->second) visit(o->second, arg);
    for (uint32_t k = 0; k < o->count; k++) visit_all(&o->elements[k], visit, arg);
}

void instr_uses(const struct instr *i, reg_visitor *visit, void *arg)
{
    if (i->guard) visit(i->guard, arg);
    for (unsigned k = 0; k < i->nops; k++) {
        const struct operand *o = &i->ops[k];
        bool dest = k == 0 && has_destination(i) && o->kind != OPERAND_address;
        if (i->op == OP_call && k == 0 && i->nops > 1 && o->kind == OPERAND_list &&
            (i->ops[1].kind == OPERAND_func || i->ops[1].kind == OPERAND_reg))
            dest = true;
        if (!dest) visit_all(o, visit, arg);
    }
}

void instr_defs(const struct instr *i, reg_visitor *visit, void *arg)
{
    if (!i->nops) return;
    const struct operand *o = &i->ops[0];
    if (has_destination(i) && o->kind != OPERAND_address) visit_all(o, visit, arg);
    if (i->op == OP_call && o->kind == OPERAND_list && i->nops > 1 &&
        (i->ops[1].kind == OPERAND_func || i->ops[1].kind == OPERAND_reg))
        visit_all(o, visit, arg);
}

static uint32_t target_of(const struct label *l) { return label_resolve((struct label *)l)->position; }

static void add_succ(struct cfg *c, struct block *b, uint32_t position)
{
    if (position < c->func->ncode) ARENA_PUSH(b->succ, b->nsucc) = c->block_at[position];
}

void cfg_build(struct cfg *c, struct func *f)
{
    memset(c, 0, sizeof *c);
    c->func = f;
    c->words = (f->nregs + 63) / 64 + 1;
    c->block_at = arena_alloc((f->ncode + 1ul) * sizeof *c->block_at);
    uint8_t *start = arena_alloc(f->ncode + 2ul);
    start[0] = 1;
    for (uint32_t i = 0; i < f->nlabels; i++) start[target_of(f->labels[i])] = 1;
    for (uint32_t i = 0; i < f->ncode; i++) {
        if (is_terminator(&f->code[i])) start[i + 1] = 1;
        if (is_suspension(&f->code[i])) start[i + 1] = 1;
    }
    for (uint32_t i = 0; i < f->ncode; i++) {
        if (start[i]) ARENA_PUSH(c->blocks, c->nblocks).start = i;
        c->block_at[i] = c->nblocks - 1;
        c->blocks[c->nblocks - 1].end = i + 1;
    }
    for (uint32_t k = 0; k < c->nblocks; k++) {
        struct block *b = &c->blocks[k];
        const struct instr *last = &f->code[b->end - 1];
        bool falls = !is_terminator(last) || last->guard;
        if (last->op == OP_bra) add_succ(c, b, target_of(last->ops[0].label));
        if (last->op == OP_brx) {
            const struct label *table = label_resolve(last->ops[1].label);
            for (uint32_t t = 0; t < table->ntargets; t++) add_succ(c, b, target_of(table->targets[t]));
        }
        if (falls) add_succ(c, b, b->end);
    }
}

static void set_bit_of(struct reg *r, void *set) { bit_set(set, r->index); }
static void clear_bit_of(struct reg *r, void *set) { bit_clear(set, r->index); }

void cfg_liveness(struct cfg *c)
{
    uint64_t *live = arena_alloc(c->words * 8ul);
    for (uint32_t k = 0; k < c->nblocks; k++) c->blocks[k].live_in = arena_alloc(c->words * 8ul);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = c->nblocks; k-- > 0;) {
            struct block *b = &c->blocks[k];
            memset(live, 0, c->words * 8ul);
            for (uint32_t s = 0; s < b->nsucc; s++)
                for (uint32_t w = 0; w < c->words; w++) live[w] |= c->blocks[b->succ[s]].live_in[w];
            for (uint32_t i = b->end; i-- > b->start;) {
                const struct instr *in = &c->func->code[i];
                if (!in->guard) instr_defs(in, clear_bit_of, live);
                instr_uses(in, set_bit_of, live);
            }
            if (memcmp(live, b->live_in, c->words * 8ul)) {
                memcpy(b->live_in, live, c->words * 8ul);
                changed = true;
            }
        }
    }
}

/* ---- loops that may wait for memory */

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

/* Whether what some memory word holds decides how often the loop goes round. */
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
        instr_defs(&f->code[i], set_bit_of, defined);
    }
    for (uint32_t i = 0; i < f->ncode; i++) {
        const struct instr *in = &f->code[i];
        if (!in_loop[c->block_at[i]]) continue;
        bool seed = is_sync_load(in) || is_told(in, others_look);
        if (in->op == OP_ld && in->space != SPACE_param && !effects && size <= 16)
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
            bool taken = last->op == OP_bra && c.block_at[target_of(last->ops[0].label)] == to;
            loop_body(&c, to, k, in_loop);
            if (taken && !last->yield && loop_spins(&c, in_loop, others_look)) last->yield = found = true;
        }
    }
    return found;
}
