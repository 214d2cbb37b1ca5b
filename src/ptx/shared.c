/* Where shared variables lie that functions or several kernels name. Each has one place, since a function is compiled once
 * for all its kernels; but a kernel has room for no other than those that it, or what it calls, names (as ptxas counts),
 * so variables without a kernel in common may lie at the same place. */
#include "shared.h"
#include "arena.h"
#include "calls.h"

#include <stdlib.h>

struct places {
    struct var **vars;
    uint32_t count, seen;
};

static void gather(struct places *all, struct var **vars, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        struct var *v = vars[k];
        if (v->space != SPACE_shared || v->placed || (v->is_extern && !v->size)) continue;
        v->placed = true;
        ARENA_PUSH(all->vars, all->count) = v;
    }
}

static void use(struct func *f, struct var *v, uint32_t seen)
{
    if (!v || !v->placed || v->seen == seen) return;
    v->seen = seen;
    ARENA_PUSH(f->shared, f->nshared) = v;
}

static void use_operand(struct func *f, const struct operand *o, uint32_t seen)
{
    use(f, o->var, seen);
    for (uint32_t k = 0; k < o->count; k++) use_operand(f, &o->elements[k], seen);
}

/* What f itself names. */
static void find_named(struct places *all, struct func *f)
{
    all->seen++;
    for (uint32_t k = 0; k < f->ncode; k++)
        for (unsigned o = 0; o < f->code[k].nops; o++) use_operand(f, &f->code[k].ops[o], all->seen);
}

/* The same of all that a kernel may call. */
static void find_reached(struct places *all, struct module_ir *m, struct func *kernel)
{
    struct func **list;
    const uint32_t n = calls_reachable(m, kernel, &list);
    all->seen++;
    for (uint32_t k = 0; k < kernel->nshared; k++) kernel->shared[k]->seen = all->seen;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t v = 0; list[k] != kernel && v < list[k]->nshared; v++) use(kernel, list[k]->shared[v], all->seen);
    for (uint32_t k = 0; k < kernel->nshared; k++) {
        struct var *v = kernel->shared[k];
        ARENA_PUSH(v->kernels, v->nkernels) = kernel;
    }
}

/* What most kernels use comes first: so the others leave few holes. */
static int by_kernels(const void *a, const void *b)
{
    const struct var *x = *(struct var *const *)a, *y = *(struct var *const *)b;
    if (x->nkernels != y->nkernels) return x->nkernels < y->nkernels ? 1 : -1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void place(struct var *v)
{
    uint32_t end = 0;
    for (uint32_t k = 0; k < v->nkernels; k++)
        if (v->kernels[k]->shared_end > end) end = v->kernels[k]->shared_end;
    v->offset = (end + v->align - 1) & ~(v->align - 1);
    for (uint32_t k = 0; k < v->nkernels; k++) v->kernels[k]->shared_end = v->offset + (uint32_t)v->size;
}

void shared_place(struct module_ir *m)
{
    struct places all = { .count = 0 };
    for (uint32_t k = 0; k < m->nfuncs; k++)
        if (!m->funcs[k]->entry) gather(&all, m->funcs[k]->vars, m->funcs[k]->nvars);
    gather(&all, m->vars, m->nvars);
    if (!all.count) return;
    for (uint32_t k = 0; k < m->nfuncs; k++) find_named(&all, m->funcs[k]);
    for (uint32_t k = 0; k < m->nfuncs; k++)
        if (m->funcs[k]->body && m->funcs[k]->entry) find_reached(&all, m, m->funcs[k]);
    for (uint32_t k = 0; k < all.count; k++) all.vars[k]->offset = k; /* as they were declared */
    qsort(all.vars, all.count, sizeof *all.vars, by_kernels);
    for (uint32_t k = 0; k < all.count; k++) place(all.vars[k]);
}
