/* Who calls whom; see calls.h. */
#include "calls.h"
#include "arena.h"
#include "ptxc.h"

struct func *func_resolve(struct func *f)
{
    for (int hops = 0; f->alias && hops < 8; hops++) f = f->alias;
    return f;
}

struct func *callee(const struct instr *i)
{
    if (i->op != OP_call) return NULL;
    for (unsigned k = 0; k < i->nops && k < 2; k++)
        if (i->ops[k].kind == OPERAND_func) {
            struct func *f = func_resolve(i->ops[k].func);
            if (f->entry) fatal_at(EXIT_INVALID_PTX, i->line, "'%s' is a kernel, which cannot be called", f->name);
            return f;
        }
    return NULL;
}

void calls_note_addresses(struct module_ir *m)
{
    for (uint32_t n = 0; n < m->nfuncs; n++) {
        const struct func *f = m->funcs[n];
        for (uint32_t k = 0; k < f->ncode; k++)
            for (unsigned o = 0; o < f->code[k].nops; o++) {
                const struct operand *op = &f->code[k].ops[o];
                if (op->kind == OPERAND_func && f->code[k].op != OP_call) op->func->address_taken = true;
            }
    }
    for (uint32_t n = 0; n < m->nfuncs; n++)
        if (m->funcs[n]->address_taken) func_resolve(m->funcs[n])->address_taken = true;
}

struct search {
    struct func **list;
    uint32_t count, number;
};

static void found(struct search *s, struct func *f)
{
    if (f->search == s->number || (f->entry && s->count)) return;
    f->search = s->number;
    ARENA_PUSH(s->list, s->count) = f;
}

static uint32_t reach(struct module_ir *m, struct func *f, bool through_address, struct func ***list)
{
    struct search s = { .number = ++m->searches };
    bool all_found = !through_address;
    found(&s, f);
    for (uint32_t n = 0; n < s.count; n++)
        for (uint32_t k = 0; k < s.list[n]->ncode; k++) {
            const struct instr *i = &s.list[n]->code[k];
            struct func *g = callee(i);
            if (g) found(&s, g);
            if (i->op != OP_call || g || all_found) continue;
            all_found = true;
            for (uint32_t a = 0; a < m->nfuncs; a++)
                if (m->funcs[a]->address_taken) found(&s, func_resolve(m->funcs[a]));
        }
    *list = s.list;
    return s.count;
}

uint32_t calls_named(struct module_ir *m, struct func *f, struct func ***list) { return reach(m, f, false, list); }
uint32_t calls_reachable(struct module_ir *m, struct func *f, struct func ***list) { return reach(m, f, true, list); }
