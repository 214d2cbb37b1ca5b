/* Emits kernels: for each segment the loop over threads and, within it, the
 * instructions that a thread runs until its next suspension; see abi.h. */
#include "kernel.h"
#include "arena.h"
#include "emit.h"
#include "lockstep.h"
#include "walk.h"

#include <string.h>

static void want(struct walk *w, uint32_t block)
{
    if (w->wanted[block]) return;
    w->wanted[block] = 1;
    w->stack[w->depth++] = block;
}

static const char *jump_to(struct walk *w, uint32_t position)
{
    if (position >= w->k->func->ncode) return w->next_thread;
    uint32_t b = w->k->cfg.block_at[position];
    want(w, b);
    return arena_printf("B%u", b);
}

const char *slot_pointer(struct walk *w, uint32_t reg, const char *thread)
{
    struct emitter *e = w->e;
    unsigned bytes = type_bytes(w->k->func->regs[reg]->type);
    int32_t slot = w->k->slot[reg];
    if (!w->slot_used[slot]) {
        w->slot_used[slot] = 1;
        fprintf(e->head, "  %%CO%d = mul i64 %%NT64, %d\n  %%C%d = getelementptr i8, ptr %%CTX, i64 %%CO%d\n", slot,
                slot, slot, slot);
    }
    const char *t = emit(e, "zext i32 %s to i64", thread);
    return emit(e, "getelementptr i8, ptr %%C%d, i64 %s", slot,
                bytes == 1 ? t : emit(e, "mul nuw nsw i64 %s, %u", t, bytes));
}

void context_move(struct walk *w, uint32_t reg, bool save)
{
    struct emitter *e = w->e;
    struct reg *r = w->k->func->regs[reg];
    const char *p = slot_pointer(w, reg, e->t), *type = r->type == T_pred ? "i8" : lltype(r->type);
    if (save) {
        const char *v = load_reg(e, r);
        if (r->type == T_pred) v = emit(e, "zext i1 %s to i8", v);
        emit_void(e, "store %s %s, ptr %s%s", type, v, p, e->group);
    } else {
        const char *v = emit(e, "load %s, ptr %s%s", type, p, e->group);
        if (r->type == T_pred) v = emit(e, "trunc i8 %s to i1", v);
        store_reg(e, r, v);
    }
}

void recompute(struct walk *w, struct reg *r, uint8_t *done)
{
    if (done[r->index]) return;
    done[r->index] = 1;
    const struct instr *i = w->k->definition[r->index];
    for (unsigned k = 1; k < i->nops; k++)
        if (i->ops[k].kind == OPERAND_reg) recompute(w, i->ops[k].reg, done);
    emit_instruction(w->e, i);
}

static void look_at(struct walk *w, const struct instr *i)
{
    struct instr operands = *i;
    if (is_wgmma(i)) { /* its sums are the context's */
        operands.ops[0] = (struct operand){ .kind = OPERAND_none };
        i = &operands;
    }
    instr_uses(i, reg_set, w->touched);
    instr_defs(i, reg_set, w->touched);
    instr_defs(i, reg_set, w->written);
}

/* Fills in what the segment touches and writes. While a thread does not run, its context has the value of every
 * register that lives; what a segment does not write is there already when the thread stops again. */
static void look_ahead(struct walk *w, const struct segment *s)
{
    const struct kernel *k = w->k;
    uint8_t *seen = arena_alloc(k->cfg.nblocks + 1ul);
    uint32_t *stack = arena_alloc((k->cfg.nblocks + 1ul) * sizeof *stack), depth = 0;
    w->touched = arena_alloc(k->cfg.words * 8ul);
    w->written = arena_alloc(k->cfg.words * 8ul);
    if (s->cause && !is_wgmma(s->cause)) look_at(w, s->cause);
    /* nothing is in the context before the first segment */
    if (s->image.suspend == FL_SUSPEND_START) memset(w->written, 0xff, k->cfg.words * 8ul);
    if (s->start >= k->func->ncode) return;
    stack[depth++] = k->cfg.block_at[s->start];
    seen[stack[0]] = 1;
    while (depth) {
        const struct block *b = &k->cfg.blocks[stack[--depth]];
        if (b->cut && b->cut != w->segment) continue;
        for (uint32_t i = b->start; i < b->end; i++) look_at(w, &k->func->code[i]);
        for (uint32_t i = 0; i < b->nsucc && segment_goes_on(k, b); i++) {
            if (!seen[b->succ[i]]) stack[depth++] = b->succ[i];
            seen[b->succ[i]] = 1;
        }
    }
}

/* The registers that live at the segment's start, but not those the suspension itself defines. */
static void restore(struct walk *w, const struct segment *s)
{
    struct kernel *k = w->k;
    uint8_t *done = arena_alloc(k->func->nregs + 1ul);
    if (s->start >= k->func->ncode) return;
    const struct block *b = &k->cfg.blocks[k->cfg.block_at[s->start]];
    for (uint32_t r = 0; r < k->func->nregs; r++) {
        if (!bit(b->live_in, r) || !bit(w->touched, r)) continue;
        if (k->definition[r])
            recompute(w, k->func->regs[r], done);
        else if (k->slot[r] >= 0 && s->image.suspend != FL_SUSPEND_START)
            context_move(w, r, false);
    }
}

static void save(struct walk *w, uint32_t segment)
{
    struct kernel *k = w->k;
    const struct segment *s = &k->segments[segment];
    if (s->start < k->func->ncode) {
        const struct block *b = &k->cfg.blocks[k->cfg.block_at[s->start]];
        for (uint32_t r = 0; r < k->func->nregs; r++)
            if (bit(b->live_in, r) && bit(w->written, r) && k->slot[r] >= 0) context_move(w, r, true);
    }
}

void set_state(struct walk *w, uint32_t state)
{
    struct emitter *e = w->e;
    if (w->k->nsegments == 1) return;
    const char *t = emit(e, "zext i32 %s to i64", e->t);
    emit_void(e, "store i16 %d, ptr %s%s", (int)(int16_t)state, emit(e, "getelementptr i16, ptr %%STATE, i64 %s", t),
              e->group);
}

static void leave(struct walk *w)
{
    set_state(w, FL_EXITED);
    emit_void(w->e, "br label %%%s", w->next_thread);
}

static void suspend(struct walk *w, const struct instr *i)
{
    emit_suspend(w->e, i);
    save(w, i->segment);
    set_state(w, i->segment);
    emit_void(w->e, "br label %%%s", w->next_thread);
}

/* Every SPIN_ROUNDS-th time round a waiting loop the thread suspends. */
static const char *yield_label(struct walk *w, const struct instr *i)
{
    return arena_printf("YIELD%u", (unsigned)(i - w->k->func->code));
}

static void yield_code(struct walk *w, const struct instr *i)
{
    struct emitter *e = w->e;
    const char *go = jump_to(w, label_resolve(i->ops[0].label)->position), *stop = new_label(e, "stop");
    fprintf(e->body, "%s:\n", yield_label(w, i));
    const char *n = emit(e, "add i32 %s, 1", emit(e, "load i32, ptr %%SPIN"));
    emit_void(e, "store i32 %s, ptr %%SPIN", n);
    const char *full = emit(e, "icmp uge i32 %s, %d", n, SPIN_ROUNDS);
    emit_void(e, "br i1 %s, label %%%s, label %%%s", full, stop, go);
    fprintf(e->body, "%s:\n", stop);
    save(w, i->segment);
    set_state(w, i->segment);
    emit_void(e, "br label %%%s", w->next_thread);
}

const char *guard(struct emitter *e, const struct instr *i)
{
    const char *p = load_reg(e, i->guard);
    return i->guard_negated ? emit(e, "xor i1 %s, true", p) : p;
}

static void branch_indexed(struct walk *w, const struct instr *i)
{
    struct emitter *e = w->e;
    need_operands(i, 2, 2);
    const struct label *table = i->ops[1].kind == OPERAND_label ? label_resolve(i->ops[1].label) : NULL;
    if (!table || !table->ntargets) fail(i, "the second operand names no .branchtargets");
    const char *index = value(e, &i->ops[0], T_u32), *none = new_label(e, "none");
    fprintf(e->body, "  switch i32 %s, label %%%s [", index, none);
    for (uint32_t k = 0; k < table->ntargets; k++)
        fprintf(e->body, " i32 %u, label %%%s", k, jump_to(w, label_resolve(table->targets[k])->position));
    fprintf(e->body, " ]\n%s:\n  unreachable\n", none);
}

/* The last instruction of a block, if it decides where to go; false: it just goes on. */
static bool control(struct walk *w, const struct instr *i, uint32_t after)
{
    struct emitter *e = w->e;
    e->current = i;
    if (!i->segment && !is_terminator(i)) return false;
    const char *then = NULL, *other = NULL;
    if (i->guard) {
        other = jump_to(w, after);
        if (i->op == OP_bra)
            then = i->yield ? yield_label(w, i) : jump_to(w, label_resolve(i->ops[0].label)->position);
        else
            then = new_label(e, "then");
        emit_void(e, "br i1 %s, label %%%s, label %%%s", guard(e, i), then, other);
        if (i->op == OP_bra) {
            if (i->yield) yield_code(w, i);
            return true;
        }
        fprintf(e->body, "%s:\n", then);
    }
    if (i->op == OP_bra) {
        if (i->nops != 1 || i->ops[0].kind != OPERAND_label) fail(i, "a label was expected");
        emit_void(e, "br label %%%s",
                  i->yield ? yield_label(w, i) : jump_to(w, label_resolve(i->ops[0].label)->position));
        if (i->yield) yield_code(w, i);
    } else if (i->op == OP_brx) {
        branch_indexed(w, i);
    } else if (i->op == OP_ret || i->op == OP_exit) {
        leave(w);
    } else if (i->op == OP_trap || i->op == OP_brkpt) {
        call_rt(e, "trap", "i32 %s, i32 %d", e->t, i->line);
        emit_void(e, "unreachable");
    } else {
        suspend(w, i);
    }
    return true;
}

void plain(struct emitter *e, const struct instr *i)
{
    const char *skip = NULL;
    e->current = i;
    if (i->guard) {
        const char *then = new_label(e, "then");
        skip = new_label(e, "skip");
        emit_void(e, "br i1 %s, label %%%s, label %%%s", guard(e, i), then, skip);
        fprintf(e->body, "%s:\n", then);
    }
    emit_instruction(e, i);
    if (skip) place_label(e, skip);
}

static void write_block(struct walk *w, uint32_t number)
{
    const struct block *b = &w->k->cfg.blocks[number];
    fprintf(w->e->body, "B%u:\n", number);
    if (b->cut && b->cut != w->segment) {
        save(w, b->cut);
        set_state(w, b->cut);
        emit_void(w->e, "br label %%%s", w->next_thread);
        return;
    }
    for (uint32_t i = b->start; i < b->end; i++) {
        const struct instr *in = &w->k->func->code[i];
        if (i + 1 == b->end && control(w, in, i + 1)) return;
        plain(w->e, in);
    }
    emit_void(w->e, "br label %%%s", jump_to(w, b->end));
}

static void write_segment(struct walk *w, const void *arg)
{
    const struct segment *s = arg;
    look_ahead(w, s);
    restore(w, s);
    if (s->cause) emit_resume(w->e, s->cause);
    emit_void(w->e, "br label %%%s", jump_to(w, s->start));
    while (w->depth) write_block(w, w->stack[--w->depth]);
}

static const struct lockstep *lockstep_of(const struct kernel *k, uint32_t segment)
{
    for (uint32_t n = 0; n < k->nlocksteps; n++)
        if (k->locksteps[n].segment == segment) return &k->locksteps[n];
    return NULL;
}

static void emit_segment(struct emitter *e, struct kernel *k, uint32_t number)
{
    struct func *f = k->func;
    const struct lockstep *l = lockstep_of(k, number);
    function_begin(e, f);
    e->kernel = k;
    e->group = k->vector && !e->probe ? IR_INDEPENDENT : "";
    struct walk w = { .e = e,
                      .k = k,
                      .wanted = arena_alloc(k->cfg.nblocks + 1ul),
                      .stack = arena_alloc((k->cfg.nblocks + 1ul) * sizeof *w.stack),
                      .next_thread = "NEXT0",
                      .segment = number,
                      .slot_used = arena_alloc(k->context + 1ul) };
    threads_prologue(e, k);
    if (l) {
        lockstep_emit(&w, l);
    } else {
        threads_begin(e, 0, "entry");
        thread_code(&w, write_segment, &k->segments[number]);
        threads_end(e, 0, k->vector && !e->probe ? IR_LOOP : "");
    }
    threads_epilogue(e);
    function_end(e, arena_printf("define void @k%u_%c%u(ptr noalias " BLOCK_ATTRIBUTES
                                 " %%b, i32 %%first, i32 %%count) #%d%s",
                                 k->number, e->probe ? 'p' : 's', number, sizeof(struct fl_block),
                                 e->probe     ? IR_PROBE
                                 : k->streams ? IR_STREAMING
                                              : IR_FAST,
                                 subnormals(e)));
    e->kernel = NULL;
}

void emit_kernel(struct emitter *e, struct func *f)
{
    struct kernel *k = f->kernel;
    for (uint32_t s = 0; s < k->nsegments; s++) {
        e->probe = false;
        emit_segment(e, k, s);
        e->probe = true;
        emit_segment(e, k, s);
    }
    e->probe = false;
}
