/* Expands calls of functions that suspend into their callers, so that every
 * suspension point stands in a kernel. All other functions stay functions, and
 * kernels for which that is not possible stay whole (whole.h). */
#include "arena.h"
#include "calls.h"
#include "cfg.h"
#include "ptxc.h"
#include "spins.h"
#include "whole.h"

#include <string.h>

/* True if a function that may be called through an address looks at memory that other threads write. */
static bool mark_looking(struct module_ir *m)
{
    bool others_look = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < m->nfuncs; n++) {
            struct func *f = m->funcs[n];
            for (uint32_t k = 0; k < f->ncode && !f->looks; k++) {
                const struct instr *i = &f->code[k];
                const struct func *g = callee(i);
                f->looks =
                    looks_at_memory(i) || reads_clock(i) || (g && g->looks) || (i->op == OP_call && !g && others_look);
                changed |= f->looks;
            }
            others_look |= f->looks && f->address_taken;
        }
    }
    return others_look;
}

/* What ends or suspends its thread can only stand in a kernel, and so do the calls that lead there. */
static void mark_suspending(struct module_ir *m)
{
    bool others_look = mark_looking(m);
    for (uint32_t n = 0; n < m->nfuncs; n++) {
        struct func *f = m->funcs[n];
        if (!f->body) continue;
        f->suspends = f->spins = mark_spins(f, others_look);
        for (uint32_t k = 0; k < f->ncode; k++)
            f->suspends |= is_suspension(&f->code[k]) || (!f->entry && f->code[k].op == OP_exit);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < m->nfuncs; n++) {
            struct func *f = m->funcs[n];
            for (uint32_t k = 0; k < f->ncode; k++) {
                const struct func *g = callee(&f->code[k]);
                if (!g || (f->suspends >= g->suspends && f->spins >= g->spins)) continue;
                f->suspends |= g->suspends;
                f->spins |= g->spins;
                changed = true;
            }
        }
    }
}

struct copy {
    struct func *from, *to;
    struct reg **regs;
    struct var **vars_from, **vars_to;
    uint32_t nvars;
    struct label **labels;
};

static struct var *map_var(struct copy *c, struct var *v)
{
    for (uint32_t k = 0; k < c->nvars; k++)
        if (c->vars_from[k] == v) return c->vars_to[k];
    return v;
}

static void map_operand(struct copy *c, struct operand *o)
{
    if (o->reg) o->reg = c->regs[o->reg->index];
    if (o->second) o->second = c->regs[o->second->index];
    if (o->var) o->var = map_var(c, o->var);
    if (o->label) {
        struct label *l = label_resolve(o->label);
        for (uint32_t k = 0; k < c->from->nlabels; k++)
            if (c->from->labels[k] == l) o->label = c->labels[k];
    }
    if (o->count) {
        struct operand *fresh = arena_alloc(o->count * sizeof *fresh);
        memcpy(fresh, o->elements, o->count * sizeof *fresh);
        o->elements = fresh;
        for (uint32_t k = 0; k < o->count; k++) map_operand(c, &fresh[k]);
    }
}

static void add_var(struct copy *c, struct var *from, struct var *to)
{
    uint32_t n = c->nvars;
    ARENA_PUSH(c->vars_from, n) = from;
    ARENA_PUSH(c->vars_to, c->nvars) = to;
}

/* Formal parameters become the caller's .param variables themselves. */
static void bind_params(struct copy *c, const struct instr *call, const struct operand *list, struct var *formal,
                        uint32_t count)
{
    uint32_t given = list ? list->count : 0;
    if (given != count && !(c->from->returns_less && formal == c->from->sig.rets && given > count))
        fatal_at(EXIT_INVALID_PTX, call->line, "'%s' is called with the wrong number of arguments", c->from->name);
    for (uint32_t k = 0; k < count; k++) {
        if (list->elements[k].kind != OPERAND_var)
            fatal_at(EXIT_UNSUPPORTED, call->line, "arguments that are no .param variables");
        add_var(c, &formal[k], list->elements[k].var);
    }
}

static struct instr jump(struct label *to, int line)
{
    struct instr i = { .op = OP_bra, .text = "bra", .line = line, .nops = 1 };
    i.ops[0] = (struct operand){ .kind = OPERAND_label, .label = to };
    return i;
}

static struct label *label_new(struct func *f)
{
    struct label *l = arena_alloc(sizeof *l);
    l->defined = true;
    l->name = "";
    ARENA_PUSH(f->labels, f->nlabels) = l;
    return l;
}

/* Registers and variables of its own for the copy; shared variables are the same. */
static void copy_declarations(struct copy *c)
{
    struct func *to = c->to, *from = c->from;
    c->regs = arena_alloc((from->nregs + 1ul) * sizeof *c->regs);
    for (uint32_t k = 0; k < from->nregs; k++) {
        struct reg *r = arena_alloc(sizeof *r);
        *r = (struct reg){ from->regs[k]->name, from->regs[k]->type, to->nregs };
        ARENA_PUSH(to->regs, to->nregs) = r;
        c->regs[k] = r;
    }
    for (uint32_t k = 0; k < from->nvars; k++) {
        struct var *v = from->vars[k];
        if (v->space == SPACE_global || v->space == SPACE_const || v->space == SPACE_shared) continue;
        struct var *fresh = arena_alloc(sizeof *fresh);
        *fresh = *v;
        add_var(c, v, fresh);
        ARENA_PUSH(to->vars, to->nvars) = fresh;
    }
    for (uint32_t k = 0; k < from->nvars; k++)
        if (from->vars[k]->space == SPACE_shared) {
            bool known = false;
            for (uint32_t j = 0; j < to->nvars; j++) known |= to->vars[j] == from->vars[k];
            if (!known) ARENA_PUSH(to->vars, to->nvars) = from->vars[k];
        }
}

/* The copy's code begins at base. */
static void place_labels(struct copy *c, uint32_t base)
{
    struct func *from = c->from;
    for (uint32_t k = 0; k < from->nlabels; k++) {
        struct label *l = from->labels[k];
        c->labels[k]->position = label_resolve(l)->position + base;
        for (uint32_t j = 0; j < l->ntargets; j++) {
            struct label *target = label_resolve(l->targets[j]);
            for (uint32_t m = 0; m < from->nlabels; m++)
                if (from->labels[m] == target) ARENA_PUSH(c->labels[k]->targets, c->labels[k]->ntargets) = c->labels[m];
        }
    }
}

/* A return is a jump to the end. */
static struct instr copy_instruction(struct copy *c, const struct instr *original, struct label *end)
{
    struct instr i = *original;
    if (i.guard) i.guard = c->regs[i.guard->index];
    if (i.carry) i.carry = c->regs[i.carry->index];
    for (unsigned o = 0; o < i.nops; o++) map_operand(c, &i.ops[o]);
    if (i.op != OP_ret) return i;
    struct instr back = jump(end, i.line);
    back.guard = i.guard;
    back.guard_negated = i.guard_negated;
    return back;
}

static void expand(struct func *to, struct instr **code, uint32_t *n, const struct instr *call, struct func *from)
{
    struct copy c = { .from = from, .to = to };
    bool rets = call->nops && call->ops[0].kind == OPERAND_list;
    const struct operand *args =
        call->nops > rets + 1u && call->ops[rets + 1].kind == OPERAND_list ? &call->ops[rets + 1] : NULL;
    copy_declarations(&c);
    bind_params(&c, call, rets ? &call->ops[0] : NULL, from->sig.rets, from->sig.nrets);
    bind_params(&c, call, args, from->sig.params, from->sig.nparams);
    struct label *end = label_new(to);
    c.labels = arena_alloc((from->nlabels + 1ul) * sizeof *c.labels);
    for (uint32_t k = 0; k < from->nlabels; k++) c.labels[k] = label_new(to);
    if (call->guard) {
        struct instr around = jump(end, call->line);
        around.guard = call->guard;
        around.guard_negated = !call->guard_negated;
        ARENA_PUSH(*code, *n) = around;
    }
    place_labels(&c, *n);
    for (uint32_t k = 0; k < from->ncode; k++) ARENA_PUSH(*code, *n) = copy_instruction(&c, &from->code[k], end);
    to->uses_reserved |= from->uses_reserved;
    end->position = *n;
}

/* Rewrites f's code with one level of calls expanded; positions of labels move along. */
static bool expand_calls(struct func *f)
{
    bool any = false;
    for (uint32_t k = 0; k < f->ncode && !any; k++) {
        struct func *g = callee(&f->code[k]);
        any = g && g->body && g->suspends;
    }
    if (!any) return false;
    struct instr *code = NULL;
    uint32_t n = 0, *moved = arena_alloc((f->ncode + 1ul) * 4), nlabels = f->nlabels;
    for (uint32_t k = 0; k < f->ncode; k++) {
        struct func *g = callee(&f->code[k]);
        moved[k] = n;
        if (g && g->body && g->suspends)
            expand(f, &code, &n, &f->code[k], g);
        else
            ARENA_PUSH(code, n) = f->code[k];
    }
    moved[f->ncode] = n;
    for (uint32_t k = 0; k < nlabels; k++) f->labels[k]->position = moved[f->labels[k]->position];
    f->code = code;
    f->ncode = n;
    return true;
}

/* Every function ends in an instruction that leaves it. */
static void close_function(struct func *f)
{
    struct instr *last = f->ncode ? &f->code[f->ncode - 1] : NULL;
    bool open = !last || !is_terminator(last) || last->guard;
    for (uint32_t k = 0; k < f->nlabels; k++) open |= f->labels[k]->position == f->ncode;
    if (open)
        ARENA_PUSH(f->code, f->ncode) =
            (struct instr){ .op = OP_ret, .text = "ret", .line = last ? last->line : f->line };
}

void inline_calls(struct module_ir *m)
{
    for (uint32_t k = 0; k < m->nfuncs; k++)
        if (m->funcs[k]->body) close_function(m->funcs[k]);
    mark_suspending(m);
    whole_choose(m);
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        if (!f->entry || !f->body || f->whole) continue;
        while (expand_calls(f))
            ;
        close_function(f);
    }
}
