/* Which kernels run whole, and what is to be known of them; see whole.h. */
#include "whole.h"
#include "arena.h"
#include "calls.h"

enum {
    MOST_EXPANDED = 300000, /* instructions of a kernel after its calls are expanded */
    MOST_LEVELS = 60,
    MOST_STACK = 1 << 30,
    FRAME = 256 /* what a function may need beside its variables and registers */
};

/* ---- which */

struct expansion {
    uint64_t size;
    enum { UNKNOWN, ON_THE_WAY, KNOWN } state;
};

/* How large f becomes when the calls that suspend are expanded; more than possible if it calls itself. */
static const struct expansion *expand(struct expansion *by_number, const struct func *f, uint32_t depth)
{
    static const struct expansion impossible = { MOST_EXPANDED + 1, KNOWN };
    struct expansion *x = &by_number[f->number];
    if (x->state == ON_THE_WAY || depth > MOST_LEVELS) return &impossible;
    if (x->state == KNOWN) return x;
    x->state = ON_THE_WAY;
    x->size = f->ncode;
    for (uint32_t k = 0; k < f->ncode && x->size <= MOST_EXPANDED; k++) {
        const struct func *g = callee(&f->code[k]);
        if (g && g->body && g->suspends) x->size += expand(by_number, g, depth + 1)->size;
    }
    x->state = KNOWN;
    return x;
}

static bool suspends_through_address(struct func *const *list, uint32_t count)
{
    bool through_address = false, suspends = false;
    for (uint32_t n = 0; n < count; n++) {
        suspends |= list[n]->address_taken && list[n]->suspends;
        for (uint32_t k = 0; k < list[n]->ncode && !through_address; k++)
            through_address = list[n]->code[k].op == OP_call && !callee(&list[n]->code[k]);
    }
    return through_address && suspends;
}

/* A kernel's stack grows with each thread that takes memory from it, unless each has one. */
static bool takes_from_stack(const struct func *f)
{
    for (uint32_t k = 0; k < f->ncode; k++) {
        enum ptx_op op = f->code[k].op;
        if (op == OP_alloca || op == OP_stacksave || op == OP_stackrestore) return f->entry || f->suspends;
    }
    return false;
}

static void mark(struct module_ir *m, struct func *f)
{
    struct func **list;
    for (uint32_t n = calls_reachable(m, f, &list); n-- > 0;) list[n]->whole |= list[n]->body;
}

void whole_mark(struct module_ir *m, struct func *f)
{
    mark(m, f);
    if (m->whole) return;
    m->whole = true;
    /* an address means one function to all kernels */
    for (uint32_t n = 0; n < m->nfuncs; n++)
        if (m->funcs[n]->address_taken && m->funcs[n]->body && !m->funcs[n]->entry) mark(m, m->funcs[n]);
}

void whole_choose(struct module_ir *m)
{
    struct expansion *by_number = arena_alloc((m->nfuncs + 1ul) * sizeof *by_number);
    for (uint32_t n = 0; n < m->nfuncs; n++) m->funcs[n]->number = n;
    for (uint32_t n = 0; n < m->nfuncs; n++) {
        struct func *f = m->funcs[n], **list;
        if (!f->body || (!f->entry && !(f->address_taken && f->suspends))) continue;
        uint32_t count = calls_reachable(m, f, &list);
        bool whole =
            !f->entry || expand(by_number, f, 0)->size > MOST_EXPANDED || suspends_through_address(list, count);
        for (uint32_t k = 0; k < count; k++) whole |= takes_from_stack(list[k]);
        if (whole) whole_mark(m, f);
    }
}

/* ---- what they suspend at */

static void number_function(struct kernel *all, struct func *f)
{
    for (uint32_t n = 0; n < f->ncode; n++) {
        struct instr *i = &f->code[n];
        i->segment = 0;
        if (is_suspension(i))
            i->segment = segment_add(all, n + 1, i, FL_SUSPEND_WARP, i->line);
        else if (i->yield)
            i->segment = segment_add(all, n, NULL, FL_SUSPEND_YIELD, i->line);
    }
}

void whole_number(struct module_ir *m)
{
    struct kernel all = { 0 };
    for (uint32_t n = 0; n < m->nfuncs; n++) {
        struct func *f = m->funcs[n];
        if (!f->whole) continue;
        if (!all.func) {
            all.func = f;
            segment_add(&all, 0, NULL, FL_SUSPEND_START, f->line);
        }
        number_function(&all, f);
    }
    /* a kernel of one segment would be run as one that never suspends */
    if (all.nsegments == 1) segment_add(&all, 0, NULL, FL_SUSPEND_CONTINUE, all.func->line);
    for (uint32_t n = 0; n < m->nfuncs; n++)
        if (m->funcs[n]->whole && m->funcs[n]->entry) {
            m->funcs[n]->kernel->segments = all.segments;
            m->funcs[n]->kernel->nsegments = all.nsegments;
            m->funcs[n]->kernel->flags = FL_KERNEL_WHOLE | kernel_flags(m->funcs[n]->kernel);
        }
}

static uint64_t frame_of(const struct func *f)
{
    uint64_t size = FRAME + f->nregs * 8ull;
    for (uint32_t v = 0; v < f->nvars; v++)
        if (f->vars[v]->space == SPACE_local || f->vars[v]->space == SPACE_param) size += f->vars[v]->size + 16;
    return size;
}

void whole_analyse(struct kernel *k, struct module_ir *m, struct func *f)
{
    struct func **list;
    uint64_t stack = 0;
    for (uint32_t n = calls_reachable(m, f, &list); n-- > 0;) stack += frame_of(list[n]);
    k->func = f;
    k->stack = stack < MOST_STACK ? (uint32_t)stack : MOST_STACK;
    kernel_lay_out(k, m);
}
