/* Calls, and the functions they reach. A device function is an LLVM function
 *   (ptr b, i32 t, i32 x, i32 y, i32 z, ptr for each result and parameter)
 * which LLVM inlines where that pays. Its address, as PTX sees it, is the
 * address of its code. */
#include "abi.h"
#include "arena.h"
#include "emit.h"
#include "ptxc.h"

#include <stdlib.h>
#include <string.h>

struct call {
    const struct operand *rets, *target, *args, *proto;
};

static struct call parts(struct emitter *e, const struct instr *i)
{
    struct call c = { 0 };
    unsigned k = 0;
    if (k < i->nops && i->ops[k].kind == OPERAND_list) c.rets = &i->ops[k++];
    if (k < i->nops) c.target = &i->ops[k++];
    if (k < i->nops && i->ops[k].kind == OPERAND_list) c.args = &i->ops[k++];
    if (k < i->nops) c.proto = &i->ops[k++];
    if (!c.target || k != i->nops) fail(e, i, "wrong operands");
    return c;
}

static const char *argument(struct emitter *e, const struct instr *i, const struct operand *o)
{
    if (o->kind == OPERAND_var && o->var->space == SPACE_param) return param_pointer(e, o->var);
    fail(e, i, "arguments and results are .param variables");
}

static const char *pointers(struct emitter *e, const struct instr *i, const struct call *c, const struct proto *sig)
{
    uint32_t rets = c->rets ? c->rets->count : 0, args = c->args ? c->args->count : 0;
    if (rets != sig->nrets || args != sig->nparams) fail(e, i, "wrong number of arguments");
    const char *text = "";
    for (uint32_t k = 0; k < rets; k++) text = arena_printf("%s, ptr %s", text, argument(e, i, &c->rets->elements[k]));
    for (uint32_t k = 0; k < args; k++) text = arena_printf("%s, ptr %s", text, argument(e, i, &c->args->elements[k]));
    return text;
}

static const char *nth_value(struct emitter *e, const struct instr *i, const struct call *c, unsigned n,
                             enum ptx_type type)
{
    if (!c->args || c->args->count <= n) fail(e, i, "wrong number of arguments");
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
    struct call c = parts(e, i);
    if (c.target->kind == OPERAND_func) {
        struct func *f = c.target->func;
        for (int hops = 0; f->alias && hops < 8; hops++) f = f->alias;
        if (!f->body) {
            if (system_call(e, i, &c, f->name)) return true;
            fatal_at(EXIT_INVALID_PTX, i->line, "unresolved extern function '%s'", f->name);
        }
        if (f->entry) unsupported(e, i, "calling a kernel");
        const char *p = pointers(e, i, &c, &f->sig);
        emit_void(e, "call void @%s%u(ptr %%b, i32 %s, i32 %s, i32 %s, i32 %s%s)", e->probe ? "pf" : "f", f->number,
                  e->t, e->x, e->y, e->z, p);
        return true;
    }
    if (c.target->kind != OPERAND_reg) fail(e, i, "a function was expected");
    if (!c.proto || c.proto->kind != OPERAND_proto) fail(e, i, "a call through a register needs a prototype");
    const char *p = pointers(e, i, &c, c.proto->proto), *target = value(e, c.target, T_b64);
    const char *null = emit(e, "icmp eq i64 %s, 0", target), *bad = new_label(e, "bad"), *good = new_label(e, "good");
    emit_void(e, "br i1 %s, label %%%s, label %%%s, !prof !3", null, bad, good);
    fprintf(e->body, "%s:\n", bad);
    call_rt(e, "bad_call", "i32 %s, i32 %d, i64 %s", e->t, i->line, target);
    fprintf(e->body, "  unreachable\n%s:\n", good);
    emit_void(e, "call void %s(ptr %%b, i32 %s, i32 %s, i32 %s, i32 %s%s)", emit(e, "inttoptr i64 %s to ptr", target),
              e->t, e->x, e->y, e->z, p);
    return true;
}

/* ---- functions */

static void function_block(struct emitter *e, const struct cfg *c, uint32_t number)
{
    struct func *f = c->func;
    const struct block *b = &c->blocks[number];
    fprintf(e->body, "B%u:\n", number);
    for (uint32_t k = b->start; k < b->end; k++) {
        const struct instr *i = &f->code[k];
        const char *then = NULL, *skip = NULL;
        bool last = k + 1 == b->end && is_terminator(i);
        e->current = i;
        if (i->guard) {
            const char *p = load_reg(e, i->guard);
            if (i->guard_negated) p = emit(e, "xor i1 %s, true", p);
            then = new_label(e, "then");
            skip = last ? arena_printf("B%u", c->block_at[b->end]) : new_label(e, "skip");
            emit_void(e, "br i1 %s, label %%%s, label %%%s", p, then, skip);
            fprintf(e->body, "%s:\n", then);
        }
        if (!last) {
            emit_instruction(e, i);
            if (skip) place_label(e, skip);
            continue;
        }
        if (i->op == OP_bra) {
            if (i->nops != 1 || i->ops[0].kind != OPERAND_label) fail(e, i, "a label was expected");
            emit_void(e, "br label %%B%u", c->block_at[label_resolve(i->ops[0].label)->position]);
        } else if (i->op == OP_brx) {
            const struct label *table =
                i->nops == 2 && i->ops[1].kind == OPERAND_label ? label_resolve(i->ops[1].label) : NULL;
            if (!table || !table->ntargets) fail(e, i, "the second operand names no .branchtargets");
            const char *index = value(e, &i->ops[0], T_u32), *none = new_label(e, "none");
            fprintf(e->body, "  switch i32 %s, label %%%s [", index, none);
            for (uint32_t t = 0; t < table->ntargets; t++)
                fprintf(e->body, " i32 %u, label %%B%u", t, c->block_at[label_resolve(table->targets[t])->position]);
            fprintf(e->body, " ]\n%s:\n  unreachable\n", none);
        } else if (i->op == OP_ret) {
            emit_void(e, "ret void");
        } else if (i->op == OP_exit) {
            unsupported(e, i, "in a function that is not expanded into its kernel");
        } else {
            call_rt(e, "trap", "i32 %s, i32 %d", e->t, i->line);
            emit_void(e, "unreachable");
        }
        return;
    }
    emit_void(e, "br label %%B%u", c->block_at[b->end]);
}

static void emit_version(struct emitter *e, struct func *f, bool probe)
{
    struct cfg c;
    cfg_build(&c, f);
    function_begin(e, f);
    e->probe = probe;
    e->kernel = NULL;
    e->group = "";
    e->t = "%t";
    e->x = "%x";
    e->y = "%y";
    e->z = "%z";
    char *text;
    size_t size;
    FILE *outer = e->body, *inner = open_memstream(&text, &size);
    if (!inner) fatal(EXIT_INTERNAL, "out of memory");
    e->body = inner;
    for (uint32_t b = 0; b < c.nblocks; b++) function_block(e, &c, b);
    fclose(inner);
    e->body = outer;
    for (uint32_t r = 0; r < f->nregs; r++)
        if (e->reg_used[r]) fprintf(outer, "  store %s zeroinitializer, ptr %%R%u\n", lltype(f->regs[r]->type), r);
    if (e->carry_used) fputs("  store i1 false, ptr %CC\n", outer);
    fprintf(outer, "  br label %%B0\n%s", text);
    free(text);
    const char *list = "";
    for (uint32_t k = 0; k < f->sig.nrets; k++) list = arena_printf("%s, ptr %%Q%u", list, k);
    for (uint32_t k = 0; k < f->sig.nparams; k++) list = arena_printf("%s, ptr %%A%u", list, k);
    bool keep = f->address_taken && !probe;
    function_end(e, arena_printf("define %s void @%s%u(ptr " BLOCK_ATTRIBUTES
                                 " %%b, i32 %%t, i32 %%x, i32 %%y, i32 %%z%s) #%d",
                                 keep ? "" : "internal", probe ? "pf" : "f", f->number, sizeof(struct fl_block), list,
                                 probe ? 1 : 0));
}

void emit_function(struct emitter *e, struct func *f)
{
    if (f->suspends) {
        if (f->address_taken)
            fatal_at(
                EXIT_UNSUPPORTED, f->line,
                "function '%s' has a barrier, a warp operation, a waiting loop or an exit and its address is taken",
                f->name);
        return;
    }
    emit_version(e, f, false);
    emit_version(e, f, true);
    e->probe = false;
}
