/* Device functions, written block by block: as they are called, as probes call
 * them, and as what runs whole calls them. LLVM inlines the first where that
 * pays; the last look at their stack first. */
#include "abi.h"
#include "arena.h"
#include "emit.h"
#include "kernel.h"
#include "ptxc.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 32 << 10 }; /* of a stack, for what the run time does on it */

/* The thread waits until the scheduler calls it back at segment. */
static void suspend_at(struct emitter *e, uint32_t segment) { call_rt(e, "suspend", "i32 %s, i32 %u", e->t, segment); }

/* Every SPIN_ROUNDS-th time round a waiting loop the thread suspends. */
static void give_way(struct emitter *e, const struct instr *i)
{
    const char *stop = new_label(e, "stop"), *go = new_label(e, "go");
    const char *n = emit(e, "add i32 %s, 1", emit(e, "load i32, ptr %%SPIN"));
    emit_void(e, "store i32 %s, ptr %%SPIN", n);
    emit_void(e, "br i1 %s, label %%%s, label %%%s", emit(e, "icmp uge i32 %s, %d", n, SPIN_ROUNDS), stop, go);
    fprintf(e->body, "%s:\n  store i32 0, ptr %%SPIN\n", stop);
    suspend_at(e, i->segment);
    place_label(e, go);
}

static void branch_indexed(struct emitter *e, const struct cfg *c, const struct instr *i)
{
    const struct label *table = i->nops == 2 && i->ops[1].kind == OPERAND_label ? label_resolve(i->ops[1].label) : NULL;
    if (!table || !table->ntargets) fail(i, "the second operand names no .branchtargets");
    const char *index = value(e, &i->ops[0], T_u32), *none = new_label(e, "none");
    fprintf(e->body, "  switch i32 %s, label %%%s [", index, none);
    for (uint32_t t = 0; t < table->ntargets; t++)
        fprintf(e->body, " i32 %u, label %%B%u", t, c->block_at[label_resolve(table->targets[t])->position]);
    fprintf(e->body, " ]\n%s:\n  unreachable\n", none);
}

/* An instruction that does not go on to the next one. */
static void terminate(struct emitter *e, const struct cfg *c, const struct instr *i)
{
    switch (i->op) {
    case OP_bra:
        if (i->nops != 1 || i->ops[0].kind != OPERAND_label) fail(i, "a label was expected");
        if (e->whole && i->yield) give_way(e, i);
        emit_void(e, "br label %%B%u", c->block_at[label_resolve(i->ops[0].label)->position]);
        return;
    case OP_brx: branch_indexed(e, c, i); return;
    case OP_ret: emit_void(e, "ret void"); return;
    case OP_exit:
        if (!e->whole) unsupported(i, "in a function that is not expanded into its kernel");
        suspend_at(e, FL_EXITED);
        break;
    default: call_rt(e, c->func->remote ? "not_compiled" : "trap", "i32 %s, i32 %d", e->t, i->line);
    }
    emit_void(e, "unreachable");
}

static void execute(struct emitter *e, const struct instr *i)
{
    if (!is_suspension(i)) {
        emit_instruction(e, i);
        return;
    }
    tell_place(e, i);
    emit_suspend(e, i);
    suspend_at(e, i->segment);
    emit_resume(e, i);
}

static void function_block(struct emitter *e, const struct cfg *c, uint32_t number)
{
    const struct block *b = &c->blocks[number];
    fprintf(e->body, "B%u:\n", number);
    for (uint32_t k = b->start; k < b->end; k++) {
        const struct instr *i = &c->func->code[k];
        const char *skip = NULL;
        bool last = k + 1 == b->end && is_terminator(i);
        e->current = i;
        if (i->guard) {
            const char *p = load_reg(e, i->guard), *then = new_label(e, "then");
            if (i->guard_negated) p = emit(e, "xor i1 %s, true", p);
            skip = last ? arena_printf("B%u", c->block_at[b->end]) : new_label(e, "skip");
            emit_void(e, "br i1 %s, label %%%s, label %%%s", p, then, skip);
            fprintf(e->body, "%s:\n", then);
        }
        if (last) {
            terminate(e, c, i);
            return;
        }
        execute(e, i);
        if (skip) place_label(e, skip);
    }
    emit_void(e, "br label %%B%u", c->block_at[b->end]);
}

/* Ends the kernel if the stack, with bytes more on it (an i64 value), is too full. */
static void check_stack(struct emitter *e, const char *bytes, int line)
{
    const char *sp = emit(e, "call i64 @llvm.read_register.i64(" IR_STACK_POINTER ")"), *over = new_label(e, "over"),
               *good = new_label(e, "good");
    const char *mine = emit(e, "mul i64 %s, %s", emit(e, "zext i32 %s to i64", e->t),
                            block_field(e, "i64", offsetof(struct fl_block, stack_stride)));
    const char *least = emit(e, "add i64 %s, %s", mine, block_field(e, "i64", offsetof(struct fl_block, stack_lo)));
    const char *room = emit(e, "sub i64 %s, %s", sp, emit(e, "add i64 %s, %d", least, ROOM));
    const char *full =
        emit(e, "or i1 %s, %s", emit(e, "icmp slt i64 %s, 0", room), emit(e, "icmp ult i64 %s, %s", room, bytes));
    emit_void(e, "br i1 %s, label %%%s, label %%%s" IR_RARELY, full, over, good);
    fprintf(e->body, "%s:\n", over);
    call_rt(e, "overflow", "i32 %s, i32 %d", e->t, line);
    fprintf(e->body, "  unreachable\n%s:\n", good);
}

/* Of 32 bits, the lower half of what was saved, which lies near to what the stack has now. */
static const char *saved_stack(struct emitter *e, const struct instr *i, enum ptx_type t)
{
    const char *saved = value(e, &i->ops[0], t);
    if (type_bits(t) == 64) return saved;
    const char *now = emit(e, "ptrtoint ptr %s to i64", emit(e, "call ptr @llvm.stacksave()")),
               *distance = emit(e, "sub i32 %s, %s", saved, emit(e, "trunc i64 %s to i32", now));
    return emit(e, "add i64 %s, %s", now, emit(e, "sext i32 %s to i64", distance));
}

bool emit_stack(struct emitter *e, const struct instr *i)
{
    if (i->op != OP_alloca && i->op != OP_stacksave && i->op != OP_stackrestore) return false;
    if (e->kernel) unsupported(i, NULL);
    enum ptx_type t = need_type(i, 0);
    need_operands(i, 1, 3);
    if (i->op == OP_stacksave) {
        result(e, &i->ops[0], t, emit(e, "ptrtoint ptr %s to %s", emit(e, "call ptr @llvm.stacksave()"), lltype(t)));
    } else if (i->op == OP_stackrestore) {
        emit_void(e, "call void @llvm.stackrestore(ptr %s)", emit(e, "inttoptr i64 %s to ptr", saved_stack(e, i, t)));
    } else {
        need_operands(i, 2, 3);
        uint64_t align = i->nops > 2 && i->ops[2].kind == OPERAND_int ? i->ops[2].bits : 8;
        if (!align || align & (align - 1)) fail(i, "the alignment is no power of two");
        if (align > 4096) unsupported(i, "with so large an alignment");
        const char *bytes = value(e, &i->ops[1], t);
        if (type_bits(t) == 32) bytes = emit(e, "zext i32 %s to i64", bytes);
        if (e->whole) check_stack(e, bytes, i->line);
        const char *p = emit(e, "alloca i8, i64 %s, align %u", bytes, align < 16 ? 16u : (unsigned)align);
        result(e, &i->ops[0], t, emit(e, "ptrtoint ptr %s to %s", p, lltype(t)));
    }
    return true;
}

/* What a thread of a kernel calls first: as a segment is called, for one thread. */
static const char *start_of(const struct func *f)
{
    const size_t block = sizeof(struct fl_block), threads = offsetof(struct fl_block, ntid);
    return arena_printf("define void @k%u_s0(ptr " BLOCK_ATTRIBUTES " %%b, i32 %%t, i32 %%count) #0 {\n"
                        "  %%NXP = getelementptr i8, ptr %%b, i64 %zu\n  %%NX = load i32, ptr %%NXP\n"
                        "  %%NYP = getelementptr i8, ptr %%b, i64 %zu\n  %%NY = load i32, ptr %%NYP\n"
                        "  %%x = urem i32 %%t, %%NX\n  %%YZ = udiv i32 %%t, %%NX\n  %%y = urem i32 %%YZ, %%NY\n"
                        "  %%z = udiv i32 %%YZ, %%NY\n"
                        "  call void @wf%u(ptr %%b, i32 %%t, i32 %%x, i32 %%y, i32 %%z)\n  ret void\n}\n\n",
                        f->kernel->number, block, threads, threads + 4, f->number);
}

static void emit_version(struct emitter *e, struct func *f, bool probe, bool whole)
{
    struct cfg c;
    cfg_build(&c, f);
    function_begin(e, f);
    e->probe = probe;
    e->whole = whole;
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
    close_text(inner);
    e->body = outer;
    /* the frame is there, but nothing has been written to it */
    if (whole) check_stack(e, "0", f->line);
    for (uint32_t r = 0; r < f->nregs; r++)
        if (e->reg_used[r]) fprintf(outer, "  store %s zeroinitializer, ptr %%R%u\n", lltype(f->regs[r]->type), r);
    if (strstr(text, "%SPIN")) {
        fputs("  %SPIN = alloca i32\n", e->head);
        fputs("  store i32 0, ptr %SPIN\n", outer);
    }
    fprintf(outer, "  br label %%B0\n%s", text);
    free(text);
    const char *list = "";
    for (uint32_t k = 0; k < f->sig.nrets && !f->entry; k++) list = arena_printf("%s, ptr %%Q%u", list, k);
    for (uint32_t k = 0; k < f->sig.nparams && !f->entry; k++) list = arena_printf("%s, ptr %%A%u", list, k);
    const char *name = whole ? "wf" : probe ? "pf" : "f";
    enum ir_attributes attributes = whole ? IR_WHOLE : probe ? IR_PROBE : IR_FAST;
    bool keep = f->address_taken && whole == f->whole && (whole || !probe);
    function_end(e, arena_printf("%sdefine %s void @%s%u(ptr " BLOCK_ATTRIBUTES
                                 " %%b, i32 %%t, i32 %%x, i32 %%y, i32 %%z%s) #%d%s",
                                 f->entry ? start_of(f) : "", keep ? "" : "internal", name, f->number,
                                 sizeof(struct fl_block), list, attributes, subnormals(e)));
    e->probe = e->whole = false;
}

void emit_function(struct emitter *e, struct func *f)
{
    if (f->whole) emit_whole(e, f);
    if (f->suspends) return;
    emit_version(e, f, false, false);
    emit_version(e, f, true, false);
}

void emit_whole(struct emitter *e, struct func *f) { emit_version(e, f, true, true); }
