/* Writes a loop of lockstep.h:
 *
 *     set up what is the same in all threads; test that it is
 *     do {
 *         for each thread: one round, its own registers from and to the context
 *         what all compute alike, once
 *     } while (the condition, which is among that)
 *     for each thread: leave in the context what is read after the loop
 *
 * If the test fails the function calls itself for each thread alone. Where each
 * thread has a condition of its own, the first loop goes on while all of them
 * hold, and before a thread leaves it goes round alone while its own does. */
#include "arena.h"
#include "lockstep.h"
#include "walk.h"

#include <inttypes.h>

static const uint64_t *live_before(const struct walk *w, const struct lockstep *l)
{
    return w->k->cfg.blocks[l->block].live_in;
}

/* SHARED registers whose values at the start only the context knows. */
static bool from_context(const struct walk *w, const struct lockstep *l, uint32_t r)
{
    return l->role[r] == ROLE_SHARED && !l->start[r] && bit(live_before(w, l), r) && w->k->slot[r] >= 0;
}

static const char *slot_type(const struct reg *r) { return r->type == T_pred ? "i8" : lltype(r->type); }

/* Sets r as the instruction start does, whose operands can all be computed anew. */
static void start_again(struct walk *w, struct reg *r, const struct instr *start, uint8_t *done)
{
    if (start == w->k->definition[r->index]) {
        recompute(w, r, done);
        return;
    }
    for (unsigned n = 1; n < start->nops; n++)
        if (start->ops[n].kind == OPERAND_reg) recompute(w, start->ops[n].reg, done);
    w->e->current = start;
    emit_instruction(w->e, start);
}

static void set_up_shared(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    struct func *f = e->func;
    uint8_t *done = arena_alloc(f->nregs + 1ul);
    e->shared = true;
    e->t = "%first";
    for (uint32_t r = 0; r < f->nregs; r++) {
        if (l->role[r] == ROLE_INDUCTION) {
            fprintf(e->head, "  %%D%u = alloca %s\n", r, lltype_bits(type_bits(f->regs[r]->type)));
            emit_void(e, "store %s 0, ptr %%D%u", lltype_bits(type_bits(f->regs[r]->type)), r);
        }
        if (l->role[r] != ROLE_SHARED) continue;
        if (from_context(w, l, r)) {
            const char *v = emit(e, "load %s, ptr %s", slot_type(f->regs[r]), slot_pointer(w, r, "%first"));
            store_reg(e, f->regs[r], f->regs[r]->type == T_pred ? emit(e, "trunc i8 %s to i1", v) : v);
        } else if (l->start[r]) {
            start_again(w, f->regs[r], l->start[r], done);
        } else {
            store_reg(e, f->regs[r], "zeroinitializer");
        }
    }
    e->shared = false;
}

/* Goes on at ROUND if all threads agree; otherwise runs each of them alone. */
static void test_agreement(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    struct func *f = e->func;
    bool any = false;
    for (uint32_t r = 0; r < f->nregs; r++) any |= from_context(w, l, r);
    if (!any) {
        emit_void(e, "br label %%ROUND");
        return;
    }
    place_label(e, "SHARED"); /* what is shared may have labels of its own */
    fputs("  br label %AGREE\nAGREE:\n  %AI = phi i32 [ 0, %SHARED ], [ %AN, %AGREE ]\n"
          "  %AD = phi i1 [ false, %SHARED ], [ %ADN, %AGREE ]\n  %AT = add i32 %first, %AI\n",
          e->body);
    const char *differs = "%AD";
    for (uint32_t r = 0; r < f->nregs; r++) {
        if (!from_context(w, l, r)) continue;
        unsigned bits = f->regs[r]->type == T_pred ? 8 : type_bits(f->regs[r]->type);
        const char *first = emit(e, "load i%u, ptr %s", bits, slot_pointer(w, r, "%first")),
                   *mine = emit(e, "load i%u, ptr %s", bits, slot_pointer(w, r, "%AT"));
        differs = emit(e, "or i1 %s, %s", differs, emit(e, "icmp ne i%u %s, %s", bits, first, mine));
    }
    fprintf(e->body,
            "  %%ADN = or i1 %s, false\n  %%AN = add nuw i32 %%AI, 1\n  %%AM = icmp ult i32 %%AN, %%count\n"
            "  br i1 %%AM, label %%AGREE, label %%AGREED\nAGREED:\n  br i1 %%ADN, label %%ALONE, label %%ROUND\n",
            differs);
    fprintf(e->body,
            "ALONE:\n  %%LI = phi i32 [ 0, %%AGREED ], [ %%LN, %%ALONE ]\n  %%LT = add i32 %%first, %%LI\n"
            "  call void @k%u_%c%u(ptr %%b, i32 %%LT, i32 1)\n  %%LN = add nuw i32 %%LI, 1\n"
            "  %%LM = icmp ult i32 %%LN, %%count\n  br i1 %%LM, label %%ALONE, label %%ALONED\nALONED:\n  ret void\n",
            w->k->number, e->probe ? 'p' : 's', l->segment);
}

/* The registers that live at the loop's start, as of this round. */
static void begin_round(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    struct kernel *k = w->k;
    uint8_t *done = arena_alloc(k->func->nregs + 1ul);
    for (uint32_t r = 0; r < k->func->nregs; r++) {
        struct reg *reg = k->func->regs[r];
        if (!bit(live_before(w, l), r)) continue;
        if (l->role[r] == ROLE_SHARED) {
            store_reg(e, reg, emit(e, "load %s, ptr %%U%u", lltype(reg->type), r));
            done[r] = 1;
        } else if (k->definition[r]) {
            recompute(w, reg, done);
        } else if (l->role[r] == ROLE_INDUCTION) {
            const char *type = lltype(reg->type);
            if (l->start[r])
                start_again(w, reg, l->start[r], done);
            else
                context_move(w, r, false);
            const char *sum = emit(e, "load %s, ptr %%D%u", type, r);
            store_reg(e, reg, emit(e, "add %s %s, %s", type, load_reg(e, reg), sum));
        } else if (k->slot[r] >= 0) {
            context_move(w, r, false);
        }
    }
}

/* Whether the thread goes round again, i1, once its registers are set. */
static const char *goes_round(struct emitter *e, const struct lockstep *l)
{
    const char *holds = guard(e, &e->func->code[l->end]);
    return l->taken_goes_round ? holds : emit(e, "xor i1 %s, true", holds);
}

/* The loop's blocks once, which go forward only. */
static void round_of_thread(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    const struct cfg *c = &w->k->cfg;
    const char **label = arena_alloc((l->last - l->block + 2ul) * sizeof *label);
    for (uint32_t n = l->block + 1; n <= l->last; n++) label[n - l->block] = new_label(e, "part");
    for (uint32_t n = l->block; n <= l->last; n++) {
        const char *next = label[n - l->block + 1];
        bool branches = false;
        if (n > l->block) fprintf(e->body, "%s:\n", label[n - l->block]);
        for (uint32_t i = c->blocks[n].start; i < c->blocks[n].end && i < l->end; i++) {
            const struct instr *in = &e->func->code[i];
            branches = in->op == OP_bra;
            if (!branches) {
                plain(e, in);
                continue;
            }
            const char *to = label[c->block_at[label_resolve(in->ops[0].label)->position] - l->block];
            if (in->guard)
                emit_void(e, "br i1 %s, label %%%s, label %%%s", guard(e, in), to, next);
            else
                emit_void(e, "br label %%%s", to);
        }
        if (n < l->last && !branches) emit_void(e, "br label %%%s", next);
    }
    for (uint32_t r = 0; r < e->func->nregs; r++)
        if (l->role[r] == ROLE_CARRIED || l->role[r] == ROLE_RESULT) context_move(w, r, true);
}

static void write_round(struct walk *w, const void *arg)
{
    const struct lockstep *l = arg;
    struct emitter *e = w->e;
    begin_round(w, l);
    round_of_thread(w, l);
    if (l->own) {
        const char *leaves = emit(e, "zext i1 %s to i32", emit(e, "xor i1 %s, true", goes_round(e, l)));
        emit_void(e, "store i32 %s, ptr %%LEAVING",
                  emit(e, "add i32 %s, %s", emit(e, "load i32, ptr %%LEAVING"), leaves));
    }
    emit_void(e, "br label %%NEXT0");
}

static void step_inductions(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    struct func *f = e->func;
    for (uint32_t r = 0; r < f->nregs; r++) {
        if (l->role[r] != ROLE_INDUCTION) continue;
        const char *type = lltype(f->regs[r]->type), *by = l->step[r]->kind == OPERAND_int
                                                               ? arena_printf("%" PRId64, (int64_t)l->step[r]->bits)
                                                               : load_reg(e, l->step[r]->reg);
        if (l->step[r]->kind == OPERAND_int && type_bits(f->regs[r]->type) == 32)
            by = arena_printf("%" PRId32, (int32_t)l->step[r]->bits);
        const char *sum = emit(e, "load %s, ptr %%D%u", type, r);
        emit_void(e, "store %s %s, ptr %%D%u", type, emit(e, "add %s %s, %s", type, sum, by), r);
    }
}

/* What all threads compute alike, once; ends with the branch back. */
static void write_shared_part(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    struct func *f = e->func;
    const struct block *b = &w->k->cfg.blocks[l->block];
    e->shared = true;
    e->t = "%first";
    step_inductions(w, l);
    for (uint32_t i = b->start; i < l->end; i++)
        if (l->in_slice[i - b->start]) plain(e, &f->code[i]);
    const char *holds = l->own ? emit(e, "icmp eq i32 %s, 0", emit(e, "load i32, ptr %%LEAVING")) : goes_round(e, l);
    emit_void(e, "br i1 %s, label %%ROUND, label %%LEAVE", holds);
    e->shared = false;
}

/* How far the inductions are, for one thread or (save) for all. */
static void move_sums(struct walk *w, const struct lockstep *l, bool save)
{
    struct emitter *e = w->e;
    for (uint32_t r = 0; r < e->func->nregs; r++) {
        if (l->role[r] != ROLE_INDUCTION) continue;
        const char *type = lltype(e->func->regs[r]->type);
        if (save) fprintf(e->head, "  %%DS%u = alloca %s\n", r, type);
        emit_void(e, "store %s %s, ptr %%D%s%u", type, emit(e, "load %s, ptr %%D%s%u", type, save ? "" : "S", r),
                  save ? "S" : "", r);
    }
}

/* The rounds that this thread goes and others do not. */
static void go_round_alone(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    const char *test = new_label(e, "test"), *body = new_label(e, "body"), *out = new_label(e, "out");
    move_sums(w, l, false);
    place_label(e, test);
    begin_round(w, l);
    plain(e, l->own);
    emit_void(e, "br i1 %s, label %%%s, label %%%s", goes_round(e, l), body, out);
    fprintf(e->body, "%s:\n", body);
    round_of_thread(w, l);
    step_inductions(w, l);
    emit_void(e, "br label %%%s", test);
    fprintf(e->body, "%s:\n", out);
}

static void leave(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    struct kernel *k = w->k;
    uint8_t *done = arena_alloc(k->func->nregs + 1ul);
    const uint64_t *live = l->exit_segment ? k->cfg.blocks[k->cfg.block_at[l->exit]].live_in : NULL;
    for (uint32_t r = 0; r < k->func->nregs && live; r++) {
        struct reg *reg = k->func->regs[r];
        if (!bit(live, r) || k->slot[r] < 0) continue;
        if (l->role[r] == ROLE_SHARED) {
            store_reg(e, reg, emit(e, "load %s, ptr %%U%u", lltype(reg->type), r));
            context_move(w, r, true);
        } else if (l->role[r] == ROLE_INDUCTION) {
            if (l->start[r])
                start_again(w, reg, l->start[r], done);
            else
                context_move(w, r, false);
            const char *type = lltype(reg->type), *sum = emit(e, "load %s, ptr %%D%u", type, r);
            store_reg(e, reg, emit(e, "add %s %s, %s", type, load_reg(e, reg), sum));
            context_move(w, r, true);
        }
    }
    set_state(w, l->exit_segment ? l->exit_segment : FL_EXITED);
}

static void write_leave(struct walk *w, const void *arg)
{
    leave(w, arg);
    emit_void(w->e, "br label %%NEXT1");
}

static void write_leave_alone(struct walk *w, const void *arg)
{
    go_round_alone(w, arg);
    leave(w, arg);
    emit_void(w->e, "br label %%NEXT2");
}

/* Most often all threads leave after the same round. */
static void leave_together_or_not(struct walk *w, const struct lockstep *l, const char *metadata)
{
    struct emitter *e = w->e;
    const char *all = emit(e, "icmp eq i32 %s, %%count", emit(e, "load i32, ptr %%LEAVING"));
    emit_void(e, "br i1 %s, label %%TOGETHER, label %%APART\nAPART:", all);
    move_sums(w, l, true);
    threads_begin(e, 2, "APART");
    thread_code(w, write_leave_alone, l);
    threads_end(e, 2, metadata);
    emit_void(e, "br label %%LEFT\nTOGETHER:");
    threads_begin(e, 1, "TOGETHER");
    thread_code(w, write_leave, l);
    threads_end(e, 1, metadata);
    place_label(e, "LEFT");
}

void lockstep_emit(struct walk *w, const struct lockstep *l)
{
    struct emitter *e = w->e;
    const char *metadata = w->k->vector && !e->probe ? IR_LOCKSTEP_LOOP : "";
    set_up_shared(w, l);
    test_agreement(w, l);
    fputs("ROUND:\n", e->body);
    if (l->own) {
        fputs("  %LEAVING = alloca i32\n", e->head);
        emit_void(e, "store i32 0, ptr %%LEAVING");
    }
    threads_begin(e, 0, "ROUND");
    thread_code(w, write_round, l);
    threads_end(e, 0, metadata);
    write_shared_part(w, l);
    fputs("LEAVE:\n", e->body);
    if (l->own) {
        leave_together_or_not(w, l, metadata);
        return;
    }
    threads_begin(e, 1, "LEAVE");
    thread_code(w, write_leave, l);
    threads_end(e, 1, metadata);
}
