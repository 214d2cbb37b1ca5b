/* Basic blocks and liveness; see cfg.h. */
#include "cfg.h"
#include "arena.h"

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
    case OP_wgmma: return has(i, MOD_mma_async);
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
    case OP_setmaxnreg:
    case OP_tensormap: return false;
    case OP_stmatrix:
    case OP_sust:
    case OP_sured:
    case OP_red: return false;
    case OP_wmma: return !has(i, MOD_store);
    case OP_wgmma: return has(i, MOD_mma_async);
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

/* Whether i writes its first operand: of a call, the list of results. */
static bool writes_first(const struct instr *i)
{
    const struct operand *o = &i->ops[0];
    if (i->op == OP_call)
        return i->nops > 1 && o->kind == OPERAND_list &&
               (i->ops[1].kind == OPERAND_func || i->ops[1].kind == OPERAND_reg);
    return has_destination(i) && o->kind != OPERAND_address;
}

bool reads_carry(const struct instr *i)
{
    const bool chained = i->op == OP_add || i->op == OP_sub;
    return i->op == OP_addc || i->op == OP_subc || i->op == OP_madc || (chained && has(i, MOD_cc) && has(i, MOD_sat));
}

bool writes_carry(const struct instr *i) { return has(i, MOD_cc) && !has(i, MOD_sat); }

void instr_uses(const struct instr *i, reg_visitor *visit, void *arg)
{
    if (i->guard) visit(i->guard, arg);
    if (i->carry && reads_carry(i)) visit(i->carry, arg);
    for (unsigned k = 0; k < i->nops; k++) {
        const struct operand *o = &i->ops[k];
        if (k || !writes_first(i) || i->op == OP_wgmma /* adds to it */) visit_all(o, visit, arg);
    }
}

void instr_defs(const struct instr *i, reg_visitor *visit, void *arg)
{
    if (i->carry && writes_carry(i)) visit(i->carry, arg);
    if (i->nops && writes_first(i)) visit_all(&i->ops[0], visit, arg);
}

uint32_t label_position(const struct label *l) { return label_resolve((struct label *)l)->position; }

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
    for (uint32_t i = 0; i < f->nlabels; i++) start[label_position(f->labels[i])] = 1;
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
        if (last->op == OP_bra) add_succ(c, b, label_position(last->ops[0].label));
        if (last->op == OP_brx) {
            const struct label *table = label_resolve(last->ops[1].label);
            for (uint32_t t = 0; t < table->ntargets; t++) add_succ(c, b, label_position(table->targets[t]));
        }
        if (falls) add_succ(c, b, b->end);
    }
}

void reg_set(struct reg *r, void *set) { bit_set(set, r->index); }
static void reg_clear(struct reg *r, void *set) { bit_clear(set, r->index); }

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
                if (!in->guard) instr_defs(in, reg_clear, live);
                instr_uses(in, reg_set, live);
            }
            if (memcmp(live, b->live_in, c->words * 8ul)) {
                memcpy(b->live_in, live, c->words * 8ul);
                changed = true;
            }
        }
    }
}
