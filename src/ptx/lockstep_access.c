/* Where the accesses of a loop of lockstep.h go: neighbouring threads to
 * neighbouring places, or all to the same one. Where each thread leaves by a
 * condition of its own it is enough that one access goes to neighbouring ones. */
#include "lockstep_search.h"

/* By how much a value grows from one thread to the next. */
struct slope {
    bool known;
    int64_t value;
};
static const struct slope unknown;

static struct slope slope_of_reg(struct search *s, const struct reg *r, unsigned depth);

static struct slope slope_of_operand(struct search *s, const struct operand *o, unsigned depth)
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

static struct slope slope_of_instr(struct search *s, const struct instr *i, unsigned depth)
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

static struct slope slope_of_reg(struct search *s, const struct reg *r, unsigned depth)
{
    const struct lockstep *l = s->l;
    if (depth > MOST_DEPTH || !s->steps) return unknown;
    s->steps--;
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

bool lockstep_accesses_fit(struct search *s)
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
