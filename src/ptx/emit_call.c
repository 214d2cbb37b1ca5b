/* Calls. A device function is an LLVM function
 *   (ptr b, i32 t, i32 x, i32 y, i32 z, ptr for each result and parameter)
 * Its address, as PTX sees it, is the address of its code. function.c writes it. */
#include "arena.h"
#include "calls.h"
#include "emit.h"
#include "ptxc.h"

#include <string.h>

struct call {
    const struct operand *rets, *target, *args, *proto;
};

static struct call parts(const struct instr *i)
{
    struct call c = { 0 };
    unsigned k = 0;
    if (k < i->nops && i->ops[k].kind == OPERAND_list) c.rets = &i->ops[k++];
    if (k < i->nops) c.target = &i->ops[k++];
    if (k < i->nops && i->ops[k].kind == OPERAND_list) c.args = &i->ops[k++];
    if (k < i->nops) c.proto = &i->ops[k++];
    if (!c.target || k != i->nops) fail(i, "wrong operands");
    return c;
}

static const char *argument(struct emitter *e, const struct instr *i, const struct operand *o)
{
    if (o->kind == OPERAND_var && o->var->space == SPACE_param) return param_pointer(e, o->var);
    fail(i, "arguments and results are .param variables");
}

static const char *pointers(struct emitter *e, const struct instr *i, const struct call *c, const struct proto *sig,
                            bool returns_less)
{
    uint32_t rets = c->rets ? c->rets->count : 0, args = c->args ? c->args->count : 0;
    if (returns_less && rets > sig->nrets) rets = sig->nrets;
    if (rets != sig->nrets || args != sig->nparams) fail(i, "wrong number of arguments");
    const char *text = "";
    for (uint32_t k = 0; k < rets; k++) text = arena_printf("%s, ptr %s", text, argument(e, i, &c->rets->elements[k]));
    for (uint32_t k = 0; k < args; k++) text = arena_printf("%s, ptr %s", text, argument(e, i, &c->args->elements[k]));
    return text;
}

static const char *nth_value(struct emitter *e, const struct instr *i, const struct call *c, unsigned n,
                             enum ptx_type type)
{
    if (!c->args || c->args->count <= n) fail(i, "wrong number of arguments");
    return emit(e, "load %s, ptr %s", lltype(type), argument(e, i, &c->args->elements[n]));
}

static void set_result(struct emitter *e, const struct instr *i, const struct call *c, enum ptx_type type,
                       const char *v)
{
    if (c->rets && c->rets->count)
        emit_void(e, "store %s %s, ptr %s", lltype(type), v, argument(e, i, &c->rets->elements[0]));
}

/* What the system provides to every kernel. */
static bool system_call(struct emitter *e, const struct instr *i, const struct call *c, const char *name)
{
    if (!strcmp(name, "vprintf")) {
        const char *format = nth_value(e, i, c, 0, T_b64), *args = nth_value(e, i, c, 1, T_b64);
        set_result(e, i, c, T_b32, call_rt(e, "vprintf", "i64 %s, i64 %s", format, args));
    } else if (!strcmp(name, "malloc")) {
        set_result(e, i, c, T_b64, call_rt(e, "malloc", "i64 %s", nth_value(e, i, c, 0, T_b64)));
    } else if (!strcmp(name, "free")) {
        call_rt(e, "free", "i64 %s", nth_value(e, i, c, 0, T_b64));
    } else if (!strcmp(name, "cudaGraphSetConditional")) { /* a condition's handle is its address */
        const char *word = emit(e, "inttoptr i64 %s to ptr", nth_value(e, i, c, 0, T_b64));
        emit_void(e, "store volatile i32 %s, ptr %s", nth_value(e, i, c, 1, T_b32), word);
    } else if (!strcmp(name, "__assertfail")) {
        const char *message = nth_value(e, i, c, 0, T_b64), *file = nth_value(e, i, c, 1, T_b64),
                   *line = nth_value(e, i, c, 2, T_b32), *func = nth_value(e, i, c, 3, T_b64);
        call_rt(e, "assertfail", "i32 %s, i64 %s, i64 %s, i32 %s, i32 %d, i64 %s", e->t, message, file, line, i->line,
                func);
    } else {
        return false;
    }
    return true;
}

bool emit_call(struct emitter *e, const struct instr *i)
{
    if (i->op != OP_call) return false;
    struct call c = parts(i);
    tell_place(e, i);
    if (c.target->kind == OPERAND_func) {
        struct func *f = func_resolve(c.target->func);
        if (!f->body) {
            if (system_call(e, i, &c, f->name)) return true;
            fatal_at(EXIT_INVALID_PTX, i->line, "unresolved extern function '%s'", f->name);
        }
        if (f->entry) unsupported(i, "calling a kernel");
        const char *p = pointers(e, i, &c, &f->sig, f->returns_less);
        emit_void(e, "call void @%s%u(ptr %%b, i32 %s, i32 %s, i32 %s, i32 %s%s)",
                  e->whole   ? "wf"
                  : e->probe ? "pf"
                             : "f",
                  f->number, e->t, e->x, e->y, e->z, p);
        return true;
    }
    if (c.target->kind != OPERAND_reg) fail(i, "a function was expected");
    if (!c.proto || c.proto->kind != OPERAND_proto) fail(i, "a call through a register needs a prototype");
    const char *p = pointers(e, i, &c, c.proto->proto, false), *target = value(e, c.target, T_b64);
    const char *null = emit(e, "icmp eq i64 %s, 0", target), *bad = new_label(e, "bad"), *good = new_label(e, "good");
    emit_void(e, "br i1 %s, label %%%s, label %%%s" IR_RARELY, null, bad, good);
    fprintf(e->body, "%s:\n", bad);
    call_rt(e, "bad_call", "i32 %s, i32 %d, i64 %s", e->t, i->line, target);
    fprintf(e->body, "  unreachable\n%s:\n", good);
    emit_void(e, "call void %s(ptr %%b, i32 %s, i32 %s, i32 %s, i32 %s%s)", emit(e, "inttoptr i64 %s to ptr", target),
              e->t, e->x, e->y, e->z, p);
    return true;
}
