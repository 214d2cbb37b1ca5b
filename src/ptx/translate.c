/* The compiler but for LLVM: see translate.h. */
#include "translate.h"
#include "arena.h"
#include "calls.h"
#include "emit.h"
#include "kernel.h"
#include "llvm.h"
#include "ptxc.h"
#include "remote.h"
#include "shared.h"
#include "whole.h"

#include <string.h>

static void add_variable(struct translation *t, struct var *v)
{
    if (v->space != SPACE_global && v->space != SPACE_const) return;
    v->index = t->nvariables;
    ARENA_PUSH(t->variables, t->nvariables) = v;
}

/* Arrays of no size in shared memory are the launch's. */
static void note_dynamic_shared(struct func *f)
{
    for (uint32_t k = 0; k < f->ncode; k++)
        for (unsigned o = 0; o < f->code[k].nops; o++) {
            struct operand *op = &f->code[k].ops[o];
            if (op->kind == OPERAND_var && op->var->space == SPACE_shared && !op->var->size && !op->var->is_extern)
                op->var->is_extern = true;
        }
}

static void number_symbols(struct translation *t)
{
    struct module_ir *m = t->module;
    for (uint32_t k = 0; k < m->nvars; k++) add_variable(t, m->vars[k]);
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        note_dynamic_shared(f);
        for (uint32_t v = 0; v < f->nvars; v++) add_variable(t, f->vars[v]);
    }
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        if (!f->address_taken || f->entry) continue;
        struct func *target = func_resolve(f);
        if (!target->body) continue;
        f->index = t->nvariables + t->nfunctions;
        ARENA_PUSH(t->functions, t->nfunctions) = target;
    }
}

/* Whether f may call what the system provides under this name. */
static bool reaches(struct func *const *list, uint32_t count, const char *name)
{
    for (uint32_t n = 0; n < count; n++)
        if (!list[n]->body && !strcmp(list[n]->name, name)) return true;
    return false;
}

static void analyse_kernels(struct module_ir *m)
{
    uint32_t number = 0;
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k], **list;
        if (!f->body || !f->entry) continue;
        f->kernel = arena_alloc(sizeof *f->kernel);
        f->kernel->number = number++;
        uint32_t count = calls_reachable(m, f, &list);
        for (uint32_t n = 0; n < count && !f->refused; n++) {
            f->refused = list[n]->refused;
            f->refused_line = list[n]->refused_line;
        }
        for (uint32_t n = 0; n < count; n++) f->uses_reserved |= list[n]->uses_reserved;
        f->uses_printf = reaches(list, count, "vprintf");
        f->uses_malloc = reaches(list, count, "malloc") || reaches(list, count, "free");
        if (!f->whole && !kernel_analyse(f->kernel, m, f)) {
            *f->kernel = (struct kernel){ .number = f->kernel->number };
            whole_mark(m, f);
        }
        if (f->whole) whole_analyse(f->kernel, m, f);
    }
    whole_number(m);
}

/* What the IR_ names of emit.h stand for, and what of LLVM's own is called. */
static const char *preamble(const struct translation *t)
{
    static const char text[] =
        "attributes #0 = { nounwind null_pointer_is_valid \"no-builtins\" \"prefer-vector-width\"=\"512\" }\n"
        "attributes #1 = { nounwind null_pointer_is_valid noinline optnone \"no-builtins\" }\n"
        "attributes #2 = { nounwind null_pointer_is_valid noinline \"no-builtins\" \"prefer-vector-width\"=\"512\" }\n"
        "attributes #3 = { nounwind null_pointer_is_valid \"no-builtins\" \"prefer-vector-width\"=\"512\" "
        "\"" STREAMS_ATTRIBUTE "\" }\n"
        "!0 = !{}\n"
        "!1 = distinct !{}\n"
        "!2 = distinct !{!2, !{!\"llvm.loop.parallel_accesses\", !1}}\n"
        "!3 = !{!\"branch_weights\", i32 1, i32 100000}\n"
        "!5 = !{i64 8}\n"
        "!6 = distinct !{!6, !{!\"llvm.loop.parallel_accesses\", !1}, !{!\"llvm.loop.interleave.count\", i32 1}}\n"
        "!7 = !{!\"rsp\"}\n"
        "declare i64 @llvm.read_register.i64(metadata)\n"
        "declare ptr @llvm.stacksave()\n"
        "declare void @llvm.stackrestore(ptr)\n"
        "declare i32 @llvm.umin.i32(i32, i32)\n"
        "declare i64 @llvm.readcyclecounter()\n";
    unsigned symbol_table = (t->nvariables + t->nfunctions) * 8; /* bytes */
    return arena_printf("%s!4 = !{i64 %u}\n", text, symbol_table);
}

static void emit_all(const struct module_ir *m, struct emitter *e)
{
    for (uint32_t k = 0; k < m->nfuncs; k++)
        if (m->funcs[k]->body && !m->funcs[k]->entry) emit_function(e, m->funcs[k]);
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        if (!f->body || !f->entry) continue;
        if (f->whole)
            emit_whole(e, f);
        else
            emit_kernel(e, f);
    }
}

/* Instructions of a module that LLVM compiles in less time than anybody would notice. */
enum { SMALL = 1000, LARGE = 4 * SMALL };

/* Who loads a module of many kernels launches few of them, or none. */
static bool is_deferred(const struct translation *t)
{
    size_t size = 0;
    for (uint32_t k = 0; k < t->module->nfuncs; k++) size += t->module->funcs[k]->ncode;
    const uint32_t last = t->nunits - t->nshared;
    return !options.eager && last && size >= SMALL && (size >= LARGE || t->units[last - 1].part > 0);
}

void translate(const char *text, size_t size, struct translation *t)
{
    *t = (struct translation){ .module = parse(text, size) };
    check_module(t->module);
    if (remote_want(t->module)) begin_again();
    calls_note_addresses(t->module);
    inline_calls(t->module);
    flush_choose(t->module);
    number_symbols(t);
    shared_place(t->module);
    analyse_kernels(t->module);
    struct emitter e = { .module = t->module,
                         .units = units_begin(t->module, preamble(t)),
                         .avoid_fma = !llvm_host_has("fma") };
    emit_all(t->module, &e);
    t->nunits = units_end(e.units, &t->units, &t->nshared);
    t->deferred = is_deferred(t);
}
