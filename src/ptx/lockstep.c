/* Finds the loops of lockstep.h: one block, whose condition comes from values
 * that are the same in all threads, whose accesses are to neighbouring places
 * in neighbouring threads; or blocks without a loop of their own, whose condition
 * comes from an induction and what the loop does not change, with such an access. That such a value really is the same is tested when
 * the loop is entered, unless it follows from the kernel's parameters. */
#include "lockstep.h"
#include "arena.h"

enum {
    MOST_CARRIED = 8,
    MOST_INSTRUCTIONS = 200,
    MOST_BLOCKS = 12,
    MOST_DEPTH = 64,
    MOST_STEPS = 20000,
    MOST_LOOKED_AT = 4000000 /* registers times loops, in one kernel */
};

struct search {
    struct kernel *k;
    struct lockstep *l;
    const struct block *b;
    uint8_t *defined;             /* by register: how often the block sets it, up to 2 */
    const struct instr **outside; /* by register: the only instruction outside the block that sets it */
    uint8_t *outside_count;
    const struct instr *current;
    bool own;        /* roles are found as if each thread left by a condition of its own */
    unsigned *steps; /* left for looking where values come from, which may be very many ways */
    bool good;
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

static void count_definitions(struct search *s)
{
    for (uint32_t i = 0; i < s->k->func->ncode; i++) {
        s->current = &s->k->func->code[i];
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
    if (!s->defined[r->index]) {
        const struct instr *d = s->k->definition[r->index];
        if (d && depends_on_thread(s, d, 0)) s->good = false;
        l->start[r->index] = d;
        return;
    }
    const struct instr *d = start_of(s, r);
    if (d && depends_on_thread(s, d, 0)) s->good = false;
    l->start[r->index] = d;
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

static void find_induction(struct search *s, struct reg *r)
{
    struct lockstep *l = s->l;
    if (s->defined[r->index] != 1 || l->role[r->index] == ROLE_SHARED) return;
    const struct instr *in = set_each_round(s, r);
    if (!in || in->op != OP_add || in->nops != 3 || in->ops[0].kind != OPERAND_reg || has(in, MOD_sat) || !in->ntypes ||
        type_bits(in->types[0]) < 32 || in->types[0] >= T_f16 || type_bits(in->types[0]) > 64 ||
        type_bits(in->types[0]) != type_bits(r->type) || r->type == T_f32 || r->type == T_f64)
        return;
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

/* ---- by how much a value grows from one thread to the next */

struct slope {
    bool known;
    int64_t value;
};
static const struct slope unknown;

static struct slope slope_of_reg(const struct search *s, const struct reg *r, unsigned depth);

static struct slope slope_of_operand(const struct search *s, const struct operand *o, unsigned depth)
{
    switch (o->kind) {
    case OPERAND_int:
    case OPERAND_float: return (struct slope){ true, 0 };
    case OPERAND_var: return o->var->space == SPACE_local ? unknown : (struct slope){ true, 0 };
    case OPERAND_special:
        if (o->special == SR_tid) return (struct slope){ true, o->component == 0 };
        if (o->special == SR_ntid || o->special == SR_ctaid || o->special == SR_nctaid)
            return (struct slope){ true, 0 };
        return unknown;
    case OPERAND_reg: return slope_of_reg(s, o->reg, depth + 1);
    default: return unknown;
    }
}

static struct slope times(struct slope a, const struct operand *by, struct slope b)
{
    if (a.known && b.known && !a.value && !b.value) return a;
    if (a.known && by->kind == OPERAND_int) return (struct slope){ true, a.value * (int64_t)by->bits };
    return unknown;
}

static struct slope slope_of_instr(const struct search *s, const struct instr *i, unsigned depth)
{
    struct slope a = unknown, b = unknown, c = unknown, r = unknown;
    if (depth > MOST_DEPTH || i->guard) return unknown;
    if (i->op == OP_ld && i->space == SPACE_param) return (struct slope){ true, 0 };
    if (i->op == OP_ld) return unknown;
    if (i->nops > 1) a = slope_of_operand(s, &i->ops[1], depth);
    if (i->nops > 2) b = slope_of_operand(s, &i->ops[2], depth);
    if (i->nops > 3) c = slope_of_operand(s, &i->ops[3], depth);
    bool flat = a.known && !a.value && (i->nops < 3 || (b.known && !b.value)) && (i->nops < 4 || (c.known && !c.value));
    if (flat) return a;
    switch (i->op) {
    case OP_mov:
    case OP_cvta:
    case OP_cvt: return a;
    case OP_add:
        if (a.known && b.known) r = (struct slope){ true, a.value + b.value };
        return r;
    case OP_sub:
        if (a.known && b.known) r = (struct slope){ true, a.value - b.value };
        return r;
    case OP_shl:
        if (a.known && i->ops[2].kind == OPERAND_int && i->ops[2].bits < 32)
            r = (struct slope){ true, a.value * (1ll << i->ops[2].bits) };
        return r;
    case OP_mul:
    case OP_mad:
        if (has(i, MOD_hi)) return unknown;
        r = times(a, &i->ops[2], b);
        if (!r.known) r = times(b, &i->ops[1], a);
        if (i->op == OP_mad) r = r.known && c.known ? (struct slope){ true, r.value + c.value } : unknown;
        return r;
    default: return unknown;
    }
}

static struct slope slope_of_reg(const struct search *s, const struct reg *r, unsigned depth)
{
    const struct lockstep *l = s->l;
    if (depth > MOST_DEPTH || !*s->steps) return unknown;
    --*s->steps;
    if (l->role[r->index] == ROLE_SHARED) return (struct slope){ true, 0 };
    if (s->k->definition[r->index]) return slope_of_instr(s, s->k->definition[r->index], depth + 1);
    if (l->role[r->index] == ROLE_INDUCTION && l->start[r->index])
        return slope_of_instr(s, l->start[r->index], depth + 1);
    /* what it is before the loop may depend on inductions: good enough to tell what is worth while */
    if (s->own && s->outside_count[r->index] == 1 && (!s->defined[r->index] || l->role[r->index] == ROLE_INDUCTION))
        return slope_of_instr(s, s->outside[r->index], depth + 1);
    if (s->defined[r->index] != 1 || bit(s->b->live_in, r->index)) return unknown;
    for (uint32_t i = s->b->start; i < l->end; i++)
        if (has_destination(&s->k->func->code[i]) && s->k->func->code[i].ops[0].reg == r)
            return slope_of_instr(s, &s->k->func->code[i], depth + 1);
    return unknown;
}

static int64_t access_bytes(const struct instr *i)
{
    unsigned n = has(i, MOD_v8) ? 8 : has(i, MOD_v4) ? 4 : has(i, MOD_v2) ? 2 : 1;
    return (int64_t)(n * type_bytes(i->types[0]));
}

/* Neighbouring threads access neighbouring places, or all the same one; of own conditions: there is such an access. */
static bool accesses_fit(const struct search *s)
{
    bool neighbours = false;
    for (uint32_t i = s->b->start; i < s->l->end; i++) {
        const struct instr *in = &s->k->func->code[i];
        if ((in->op != OP_ld && in->op != OP_st) || (in->op == OP_ld && in->space == SPACE_param)) continue;
        const struct operand *o = &in->ops[in->op == OP_ld];
        if (o->kind != OPERAND_address || !in->ntypes || in->space == SPACE_local) return false;
        struct slope slope = o->reg ? slope_of_reg(s, o->reg, 0) : (struct slope){ true, 0 };
        bool beside = slope.known && slope.value == access_bytes(in);
        if (!s->own && !beside && (!slope.known || slope.value)) return false;
        neighbours |= beside;
    }
    return !s->own || neighbours;
}

/* ---- */

/* Which comparison decides, after the induction's step, whether a thread goes round again. */
static const struct instr *own_condition(const struct search *s)
{
    const struct func *f = s->k->func;
    const struct reg *holds = f->code[s->l->end].guard;
    const struct instr *compare;
    bool stepped = false;
    compare = set_each_round(s, holds);
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

static bool find_roles(struct search *s, bool own)
{
    struct kernel *k = s->k;
    struct lockstep *l = s->l;
    const uint64_t *after = l->exit < k->func->ncode ? k->cfg.blocks[k->cfg.block_at[l->exit]].live_in : NULL;
    unsigned carried = 0;
    s->good = true;
    s->own = own;
    l->role = arena_alloc(k->func->nregs + 1ul);
    l->start = arena_alloc((k->func->nregs + 1ul) * sizeof *l->start);
    l->step = arena_alloc((k->func->nregs + 1ul) * sizeof *l->step);
    l->in_slice = arena_alloc(l->end - s->b->start + 1ul);
    if (!own) need_shared(s, k->func->code[l->end].guard);
    for (uint32_t r = 0; r < k->func->nregs && s->good; r++)
        if (bit(s->b->live_in, r)) find_induction(s, k->func->regs[r]);
    l->own = own ? own_condition(s) : NULL;
    if (!s->good || own != !!l->own) return false;
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
    return carried <= MOST_CARRIED && accesses_fit(s);
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
    unsigned steps = MOST_STEPS;
    struct search s = { .k = k, .l = l, .b = b, .steps = &steps };
    s.defined = arena_alloc(f->nregs + 1ul);
    s.outside = arena_alloc((f->nregs + 1ul) * sizeof *s.outside);
    s.outside_count = arena_alloc(f->nregs + 1ul);
    count_definitions(&s);
    return (vector && find_roles(&s, false)) || find_roles(&s, true);
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
