/* Parameters in registers, as PTX written by hand has them:
 *   .func (.reg .u32 q) f (.reg .u32 a) ...      call (r), f, (7);
 * They become .param variables here, with loads and stores around; what
 * follows the parser knows no others. */
#include "arena.h"
#include "parse.h"

static struct operand of_reg(struct reg *r) { return (struct operand){ .kind = OPERAND_reg, .reg = r }; }

static struct instr access(const struct instr *like, bool load, struct var *v, struct operand o)
{
    struct instr i = { .op = load ? OP_ld : OP_st,
                       .text = load ? "ld.param" : "st.param",
                       .line = like->line,
                       .types = { v->type },
                       .ntypes = 1,
                       .space = SPACE_param,
                       .nops = 2 };
    struct operand address = { .kind = OPERAND_address, .var = v };
    i.ops[0] = load ? o : address;
    i.ops[1] = load ? address : o;
    return i;
}

/* Loads r from the variable, or stores what o says to it. */
static void transfer(struct parser *p, const struct instr *like, bool load, struct var *v, struct operand o)
{
    struct instr i = access(like, load, v, o);
    if (load) {
        i.guard = like->guard;
        i.guard_negated = like->guard_negated;
    }
    code_add(p, &i);
}

/* Of the same size and alignment, as a call that may be under a guard. */
static void move(struct parser *p, const struct instr *call, struct var *from, struct var *to)
{
    static const enum ptx_type types[] = { [1] = T_b8, [2] = T_b16, [4] = T_b32, [8] = T_b64 };
    const unsigned step = from->align < 8 ? from->align : 8;
    unsigned n = 0;
    for (uint64_t at = 0; at < from->size; at += n) {
        for (n = step; n > from->size - at;) n /= 2;
        struct reg *r = reg_new(p, "", types[n]);
        for (int store = 0; store < 2; store++) {
            struct instr i = access(call, !store, store ? to : from, of_reg(r));
            i.types[0] = types[n];
            i.ops[!store].offset = (int64_t)at;
            i.guard = call->guard;
            i.guard_negated = call->guard_negated;
            code_add(p, &i);
        }
    }
}

void registers_begin(struct parser *p, struct func *f)
{
    struct instr like = { .line = f->line };
    for (uint32_t k = 0; k < f->sig.nrets + f->sig.nparams; k++) {
        bool result = k < f->sig.nrets;
        struct var *v = result ? &f->sig.rets[k] : &f->sig.params[k - f->sig.nrets];
        if (!v->is_register) continue;
        struct reg *r = reg_new(p, v->name, v->type);
        declare(p->scope, v->name, NAME_REG, r);
        v->reg = r;
        if (!result) transfer(p, &like, true, v, of_reg(r));
    }
}

void registers_return(struct parser *p, const struct instr *ret)
{
    for (uint32_t k = 0; k < p->func->sig.nrets; k++) {
        struct var *v = &p->func->sig.rets[k];
        if (v->is_register) transfer(p, ret, false, v, of_reg(v->reg));
    }
}

static struct var *variable_like(struct parser *p, const struct var *formal)
{
    struct var *v = arena_alloc(sizeof *v);
    *v = (struct var){ .name = "",
                       .space = SPACE_param,
                       .line = p->token.line,
                       .type = formal->type,
                       .size = formal->size,
                       .align = formal->align };
    ARENA_PUSH(p->func->vars, p->func->nvars) = v;
    return v;
}

static bool alike(enum ptx_type a, enum ptx_type b)
{
    return type_bits(a) == type_bits(b) &&
           (type_bitwise(a) || type_bitwise(b) || type_integer(a) == type_integer(b));
}

/* Whether what is given is what the function has said that it takes. */
static bool is_as_declared(const struct operand *o, const struct var *formal)
{
    const struct var *v = o->var;
    if (o->kind == OPERAND_reg) return alike(o->reg->type, formal->type) && !formal->stride;
    if (o->kind == OPERAND_special || o->kind == OPERAND_func || o->kind == OPERAND_label) return false;
    if (o->kind != OPERAND_var) return true;
    if (v->space != SPACE_param || v->align != formal->align || !v->stride != !formal->stride) return false;
    return formal->stride ? v->size == formal->size || !formal->size : alike(v->type, formal->type);
}

static bool is_among(const struct operand *list, const struct var *v)
{
    for (uint32_t k = 0; list && k < list->count; k++)
        if (list->elements[k].kind == OPERAND_var && list->elements[k].var == v) return true;
    return false;
}

/* Gives each operand of the list that is no variable, or one of others, a variable; what it was goes to was[]. */
static void replace(struct parser *p, struct operand *list, const struct operand *others, const struct var *formal,
                    uint32_t count, struct operand *was)
{
    if (!list || list->count != count) return; /* who expands or emits the call says so */
    for (uint32_t k = 0; k < count && !p->unchecked; k++)
        if (!is_as_declared(&list->elements[k], &formal[k]))
            fatal_at(EXIT_INVALID_PTX, p->token.line, "'%s' is declared otherwise", formal[k].name);
    for (uint32_t k = 0; k < count; k++) {
        struct operand *o = &list->elements[k];
        was[k] = *o;
        if (o->kind == OPERAND_var && o->var->space == SPACE_param && !is_among(others, o->var)) continue;
        *o = (struct operand){ .kind = OPERAND_var, .var = variable_like(p, &formal[k]) };
    }
}

static const struct proto *signature_of(const struct instr *call, unsigned target)
{
    if (call->ops[target].kind == OPERAND_func) return &call->ops[target].func->sig;
    const struct operand *last = &call->ops[call->nops - 1];
    return last->kind == OPERAND_proto ? last->proto : NULL;
}

void parsed_call(struct parser *p, struct instr *call)
{
    unsigned target = call->nops && call->ops[0].kind == OPERAND_list;
    struct operand *rets = target ? &call->ops[0] : NULL,
                   *args = call->nops > target + 1 && call->ops[target + 1].kind == OPERAND_list
                               ? &call->ops[target + 1]
                               : NULL;
    const struct proto *sig = call->nops > target ? signature_of(call, target) : NULL;
    if (!sig) {
        code_add(p, call);
        return;
    }
    struct operand *in = arena_alloc((sig->nparams + 1ul) * sizeof *in),
                   *out = arena_alloc((sig->nrets + 1ul) * sizeof *out);
    replace(p, args, NULL, sig->params, sig->nparams, in);
    replace(p, rets, args, sig->rets, sig->nrets, out);
    for (uint32_t k = 0; args && args->count == sig->nparams && k < args->count; k++)
        if (in[k].kind != OPERAND_var || in[k].var != args->elements[k].var)
            transfer(p, call, false, args->elements[k].var, in[k]);
    code_add(p, call);
    for (uint32_t k = 0; rets && rets->count == sig->nrets && k < rets->count; k++)
        if (out[k].kind == OPERAND_reg)
            transfer(p, call, true, rets->elements[k].var, out[k]);
        else if (out[k].kind == OPERAND_var && out[k].var->space == SPACE_param) {
            if (out[k].var != rets->elements[k].var) move(p, call, rets->elements[k].var, out[k].var);
        } else if (out[k].kind != OPERAND_sink)
            fatal_at(EXIT_INVALID_PTX, call->line, "a result goes to a register or a .param variable");
}
