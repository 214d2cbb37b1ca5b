/* The compiler but for LLVM: see translate.h. */
#include "translate.h"
#include "arena.h"
#include "emit.h"
#include "kernel.h"
#include "llvm.h"
#include "ptxc.h"

#include <string.h>

static void add_variable(struct translation *t, struct var *v)
{
    if (v->space != SPACE_global && v->space != SPACE_const) return;
    v->index = t->nvariables;
    ARENA_PUSH(t->variables, t->nvariables) = v;
}

static void note_addresses(struct func *f)
{
    for (uint32_t k = 0; k < f->ncode; k++)
        for (unsigned o = 0; o < f->code[k].nops; o++) {
            struct operand *op = &f->code[k].ops[o];
            if (op->kind == OPERAND_func && f->code[k].op != OP_call) op->func->address_taken = true;
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
        f->number = k;
        note_addresses(f);
        for (uint32_t v = 0; v < f->nvars; v++) add_variable(t, f->vars[v]);
    }
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        if (!f->address_taken || f->entry) continue;
        struct func *target = f;
        for (int hops = 0; target->alias && hops < 8; hops++) target = target->alias;
        if (!target->body) continue;
        target->address_taken = true;
        f->index = t->nvariables + t->nfunctions;
        ARENA_PUSH(t->functions, t->nfunctions) = target;
    }
}

/* Shared variables that functions and several kernels use have one place for the whole module. */
static void place_shared(struct module_ir *m)
{
    uint32_t size = 0;
    for (uint32_t k = 0; k < m->nfuncs + 1; k++) {
        bool module = k == m->nfuncs;
        struct var **list = module ? m->vars : m->funcs[k]->vars;
        uint32_t n = module ? m->nvars : m->funcs[k]->nvars;
        for (uint32_t v = 0; v < n; v++) {
            struct var *x = list[v];
            if (x->space != SPACE_shared || x->placed || (!module && m->funcs[k]->entry) || (x->is_extern && !x->size))
                continue;
            size = (size + x->align - 1) & ~(x->align - 1);
            x->offset = size;
            x->placed = true;
            size += (uint32_t)x->size;
        }
    }
}

/* Whether f may call what the system provides under this name. Each function is looked at once a search. */
static bool reaches(const struct module_ir *m, struct func *f, const char *name, uint32_t search)
{
    struct func **queue = arena_alloc((m->nfuncs + 1ul) * sizeof *queue);
    uint32_t n = 0;
    queue[n++] = f;
    f->search = search;
    while (n) {
        f = queue[--n];
        for (uint32_t k = 0; k < f->ncode; k++) {
            if (f->code[k].op != OP_call) continue;
            bool direct = false;
            for (unsigned o = 0; o < f->code[k].nops; o++) {
                struct func *g = f->code[k].ops[o].kind == OPERAND_func ? f->code[k].ops[o].func : NULL;
                if (!g) continue;
                direct = true;
                for (int hops = 0; g->alias && hops < 8; hops++) g = g->alias;
                if (!g->body && !strcmp(g->name, name)) return true;
                if (g->search != search) g->search = search, queue[n++] = g;
            }
            for (uint32_t a = 0; a < m->nfuncs && !direct; a++)
                if (m->funcs[a]->address_taken && m->funcs[a]->search != search)
                    m->funcs[a]->search = search, queue[n++] = m->funcs[a];
        }
    }
    return false;
}

static void emit_all(const struct translation *t, struct emitter *e)
{
    struct module_ir *m = t->module;
    fputs("attributes #0 = { nounwind null_pointer_is_valid \"no-builtins\" \"prefer-vector-width\"=\"512\" }\n"
          "attributes #1 = { nounwind null_pointer_is_valid noinline optnone \"no-builtins\" }\n"
          "!0 = !{}\n!1 = distinct !{}\n!2 = distinct !{!2, !{!\"llvm.loop.parallel_accesses\", !1}}\n!3 = "
          "!{!\"branch_weights\", i32 1, i32 100000}\n!5 = !{i64 8}\n"
          "!6 = distinct !{!6, !{!\"llvm.loop.parallel_accesses\", !1}, !{!\"llvm.loop.interleave.count\", i32 1}}\n"
          "declare i32 @llvm.umin.i32(i32, i32)\ndeclare i64 @llvm.readcyclecounter()\n",
          e->out);
    fprintf(e->out, "!4 = !{i64 %u}\n", (t->nvariables + t->nfunctions) * 8);
    uint32_t number = 0;
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        if (!f->body) continue;
        if (!f->entry) {
            emit_function(e, f);
            continue;
        }
        f->kernel = arena_alloc(sizeof *f->kernel);
        f->kernel->number = number++;
        f->uses_printf = reaches(m, f, "vprintf", number * 2);
        f->uses_malloc = reaches(m, f, "malloc", number * 2 + 1);
        kernel_analyse(f->kernel, m, f);
        emit_kernel(e, f);
    }
}

void translate(const char *text, size_t size, struct translation *t)
{
    *t = (struct translation){ .module = parse(text, size) };
    check_module(t->module);
    inline_calls(t->module);
    number_symbols(t);
    place_shared(t->module);
    struct emitter e = { .module = t->module, .out = open_memstream(&t->ir, &t->ir_size), .avoid_fma = !llvm_host_has("fma") };
    if (!e.out) fatal(EXIT_INTERNAL, "out of memory");
    emit_all(t, &e);
    fclose(e.out);
}
