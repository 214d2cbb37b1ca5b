/* What becomes of each register in a loop of lockstep.h: which values all
 * threads compute alike, which are inductions, which each thread carries from
 * round to round; and by which condition threads leave. */
#include "arena.h"
#include "lockstep_search.h"

enum { MOST_CARRIED = 8 };

static void count_definition(struct reg *r, void *arg)
{
    struct search *s = arg;
    uint32_t at = (uint32_t)(s->current - s->k->func->code);
    if (at >= s->b->start && at <= s->l->end) {
        if (s->defined[r->index] < 2) s->defined[r->index]++;
    } else {
        if (s->outside_count[r->index] < 2) s->outside_count[r->index]++;
        s->outside[r->index] = s->current;
    }
}

void lockstep_count_definitions(struct search *s)
{
    const struct func *f = s->k->func;
    s->defined = arena_alloc(f->nregs + 1ul);
    s->outside = arena_alloc((f->nregs + 1ul) * sizeof *s->outside);
    s->outside_count = arena_alloc(f->nregs + 1ul);
    for (uint32_t i = 0; i < f->ncode; i++) {
        s->current = &f->code[i];
        instr_defs(s->current, count_definition, s);
    }
}

/* ---- values at the loop's start */

/* Whether the loop can be entered again without passing instruction i. */
static bool bypassed(const struct search *s, const struct instr *i)
{
    const struct cfg *c = &s->k->cfg;
    uint32_t wall = c->block_at[i - s->k->func->code], *stack = arena_alloc((c->nblocks + 1ul) * 4), depth = 0;
    uint8_t *seen = arena_alloc(c->nblocks + 1ul);
    if (s->l->exit >= s->k->func->ncode) return false;
    stack[depth++] = c->block_at[s->l->exit];
    seen[stack[0]] = 1;
    while (depth) {
        uint32_t at = stack[--depth];
        if (at == s->l->block) return true;
        if (at == wall) continue;
        for (uint32_t n = 0; n < c->blocks[at].nsucc; n++)
            if (!seen[c->blocks[at].succ[n]]) {
                seen[c->blocks[at].succ[n]] = 1;
                stack[depth++] = c->blocks[at].succ[n];
            }
    }
    return false;
}

/* What sets r before the loop, if that can be done again with the same result. */
static const struct instr *start_of(const struct search *s, const struct reg *r)
{
    const struct instr *i = s->outside_count[r->index] == 1 ? s->outside[r->index] : NULL;
    if (!i || !is_pure(i)) return NULL;
    for (unsigned n = 1; n < i->nops; n++)
        if (i->ops[n].kind == OPERAND_reg && !s->k->definition[i->ops[n].reg->index]) return NULL;
    return bypassed(s, i) ? NULL : i;
}

static bool names_thread(const struct instr *i)
{
    for (unsigned n = 1; n < i->nops; n++)
        if (i->ops[n].kind == OPERAND_special &&
            (i->ops[n].special == SR_tid || i->ops[n].special == SR_laneid || i->ops[n].special == SR_warpid ||
             (i->ops[n].special >= SR_lanemask_eq && i->ops[n].special <= SR_globaltimer_hi)))
            return true;
    return false;
}

/* Of an instruction that can be done again, as all are that its operands come from. */
static bool depends_on_thread(const struct search *s, const struct instr *i, unsigned depth)
{
    if (depth > MOST_DEPTH || names_thread(i)) return true;
    for (unsigned n = 1; n < i->nops; n++) {
        const struct operand *o = &i->ops[n];
        if (o->kind == OPERAND_reg && depends_on_thread(s, s->k->definition[o->reg->index], depth + 1)) return true;
    }
    return false;
}

/* ---- what all threads compute alike */

static void need_shared(struct search *s, struct reg *r);

static void need_shared_reg(struct reg *r, void *arg) { need_shared(arg, r); }

static void need_shared(struct search *s, struct reg *r)
{
    struct lockstep *l = s->l;
    if (l->role[r->index] == ROLE_SHARED || !s->good) return;
    l->role[r->index] = ROLE_SHARED;
    l->start[r->index] = s->defined[r->index] ? start_of(s, r) : s->k->definition[r->index];
    if (l->start[r->index] && depends_on_thread(s, l->start[r->index], 0)) s->good = false;
    if (!s->defined[r->index]) return;
    for (uint32_t i = s->b->start; i < l->end; i++) {
        const struct instr *in = &s->k->func->code[i];
        if (!has_destination(in) || in->ops[0].kind != OPERAND_reg) continue;
        if (in->ops[0].reg != r && in->ops[0].second != r) continue;
        if ((in->op == OP_ld && in->space != SPACE_param) || names_thread(in)) s->good = false;
        l->in_slice[i - s->b->start] = 1;
        instr_uses(in, need_shared_reg, s);
        if (in->ops[0].second) need_shared(s, in->ops[0].second);
        if (in->ops[0].reg != r) need_shared(s, in->ops[0].reg);
    }
}

/* ---- inductions */

/* What sets r in the loop; NULL: nothing, or only where a condition holds. */
static const struct instr *set_each_round(const struct search *s, const struct reg *r)
{
    const struct cfg *c = &s->k->cfg;
    for (uint32_t i = s->b->start; i < s->l->end && s->defined[r->index] == 1; i++) {
        const struct instr *in = &s->k->func->code[i];
        if (!has_destination(in) || in->ops[0].kind != OPERAND_reg || in->ops[0].reg != r) continue;
        return in->guard || (c->block_at[i] != s->l->block && c->block_at[i] != s->l->last) ? NULL : in;
    }
    return NULL;
}

/* Whether by is r, perhaps after it was converted to more bits and back. */
static bool is_same(const struct search *s, const struct reg *by, const struct reg *r)
{
    for (unsigned k = 0; k < 3 && by != r; k++) {
        const struct instr *in = bit(s->b->live_in, by->index) ? NULL : set_each_round(s, by);
        if (!in || (in->op != OP_mov && in->op != OP_cvt) || in->nops != 2 || in->ops[1].kind != OPERAND_reg ||
            in->ntypes < 1 || in->types[0] >= T_f16 || in->types[in->ntypes - 1] >= T_f16 || has(in, MOD_sat) ||
            type_bits(in->types[0]) < type_bits(r->type) || type_bits(in->ops[1].reg->type) < type_bits(r->type))
            return false;
        by = in->ops[1].reg;
    }
    return by == r;
}

/* Whether i adds in whole numbers of r's width, 32 or 64 bits. */
static bool adds_to(const struct instr *i, const struct reg *r)
{
    return i->op == OP_add && i->nops == 3 && i->ops[0].kind == OPERAND_reg && !has(i, MOD_sat) && i->ntypes &&
           type_bits(i->types[0]) >= 32 && i->types[0] < T_f16 && type_bits(i->types[0]) <= 64 &&
           type_bits(i->types[0]) == type_bits(r->type) && r->type != T_f32 && r->type != T_f64;
}

static void find_induction(struct search *s, struct reg *r)
{
    struct lockstep *l = s->l;
    if (s->defined[r->index] != 1 || l->role[r->index] == ROLE_SHARED) return;
    const struct instr *in = set_each_round(s, r);
    if (!in || !adds_to(in, r)) return;
    const struct operand *step = in->ops[1].kind == OPERAND_reg && is_same(s, in->ops[1].reg, r)   ? &in->ops[2]
                                 : in->ops[2].kind == OPERAND_reg && is_same(s, in->ops[2].reg, r) ? &in->ops[1]
                                                                                                   : NULL;
    if (!step || (step->kind != OPERAND_int && step->kind != OPERAND_reg) || step->reg == r) return;
    if (step->kind == OPERAND_reg) {
        struct reg *by = step->reg;
        const struct instr *d = s->k->definition[by->index];
        if (s->defined[by->index] || type_bits(by->type) != type_bits(r->type) ||
            (l->role[by->index] != ROLE_SHARED && d && depends_on_thread(s, d, 0)))
            return;
        need_shared(s, by);
    }
    l->role[r->index] = ROLE_INDUCTION;
    l->step[r->index] = step;
    l->start[r->index] = start_of(s, r);
}

/* ---- who leaves when, and the roles of all registers */

/* Which comparison decides, after the induction's step, whether a thread goes round again. */
static const struct instr *own_condition(const struct search *s)
{
    const struct func *f = s->k->func;
    const struct reg *holds = f->code[s->l->end].guard;
    const struct instr *compare = set_each_round(s, holds);
    bool stepped = false;
    if (!compare || compare->op != OP_setp || compare->nops != 3 || compare->ops[0].second ||
        s->k->cfg.block_at[compare - f->code] != s->l->last)
        return NULL;
    for (unsigned n = 1; n < 3; n++) {
        const struct operand *o = &compare->ops[n];
        if (o->kind == OPERAND_int) continue;
        if (o->kind != OPERAND_reg) return NULL;
        if (!s->defined[o->reg->index]) continue;
        if (s->l->role[o->reg->index] != ROLE_INDUCTION) return NULL;
        for (const struct instr *i = &f->code[s->b->start]; i < compare; i++)
            stepped |= has_destination(i) && i->ops[0].kind == OPERAND_reg && i->ops[0].reg == o->reg;
        if (!stepped) return NULL;
    }
    return stepped ? compare : NULL;
}

bool lockstep_find_roles(struct search *s)
{
    struct kernel *k = s->k;
    struct lockstep *l = s->l;
    const uint64_t *after = l->exit < k->func->ncode ? k->cfg.blocks[k->cfg.block_at[l->exit]].live_in : NULL;
    unsigned carried = 0;
    s->good = true;
    l->role = arena_alloc(k->func->nregs + 1ul);
    l->start = arena_alloc((k->func->nregs + 1ul) * sizeof *l->start);
    l->step = arena_alloc((k->func->nregs + 1ul) * sizeof *l->step);
    l->in_slice = arena_alloc(l->end - s->b->start + 1ul);
    if (!s->own) need_shared(s, k->func->code[l->end].guard);
    for (uint32_t r = 0; r < k->func->nregs && s->good; r++)
        if (bit(s->b->live_in, r)) find_induction(s, k->func->regs[r]);
    l->own = s->own ? own_condition(s) : NULL;
    if (!s->good || s->own != !!l->own) return false;
    for (uint32_t r = 0; r < k->func->nregs; r++) {
        if (l->role[r] || !s->defined[r] || k->definition[r]) continue;
        if (bit(s->b->live_in, r)) {
            l->role[r] = ROLE_CARRIED;
            carried++;
        } else if (after && bit(after, r)) {
            l->role[r] = ROLE_RESULT;
            carried++;
        }
    }
    return carried <= MOST_CARRIED;
}
