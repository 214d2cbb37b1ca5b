/* The loops over threads in a segment's function: over rows of the block, and
 * along x within a row. See walk.h. */
#include "arena.h"
#include "ptxc.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

void threads_prologue(struct emitter *e, const struct kernel *k)
{
    fprintf(e->body,
            "  %%NXP = getelementptr i8, ptr %%b, i64 %zu\n  %%NX = load i32, ptr %%NXP" IR_INVARIANT "\n"
            "  %%NYP = getelementptr i8, ptr %%b, i64 %zu\n  %%NY = load i32, ptr %%NYP" IR_INVARIANT "\n",
            offsetof(struct fl_block, ntid), offsetof(struct fl_block, ntid) + 4);
    if (k->nsegments > 1) {
        fprintf(e->body,
                "  %%STATEP = getelementptr i8, ptr %%b, i64 %zu\n  %%STATE = load ptr, ptr %%STATEP" IR_INVARIANT "\n",
                offsetof(struct fl_block, state));
        /* the slots' places follow there, as they are needed */
        fprintf(e->head,
                "  %%CTXP = getelementptr i8, ptr %%b, i64 %zu\n  %%CTX = load ptr, ptr %%CTXP" IR_INVARIANT "\n",
                offsetof(struct fl_block, context));
        fprintf(e->head,
                "  %%NTP = getelementptr i8, ptr %%b, i64 %zu\n  %%NT = load i32, ptr %%NTP" IR_INVARIANT "\n  "
                "%%NT64 = zext i32 %%NT to i64\n",
                offsetof(struct fl_block, nthreads));
    }
    fputs("  %X0 = urem i32 %first, %NX\n  %YZ = udiv i32 %first, %NX\n  %Y0 = urem i32 %YZ, %NY\n"
          "  %Z0 = udiv i32 %YZ, %NY\n",
          e->body);
}

void threads_begin(struct emitter *e, unsigned n, const char *from)
{
    fprintf(e->body,
            "  br label %%ROW%u\nROW%u:\n"
            "  %%T%u = phi i32 [ %%first, %%%s ], [ %%TN%u, %%ROWEND%u ]\n"
            "  %%LEFT%u = phi i32 [ %%count, %%%s ], [ %%LEFTN%u, %%ROWEND%u ]\n"
            "  %%X%uR = phi i32 [ %%X0, %%%s ], [ 0, %%ROWEND%u ]\n"
            "  %%Y%uR = phi i32 [ %%Y0, %%%s ], [ %%YN%u, %%ROWEND%u ]\n"
            "  %%Z%uR = phi i32 [ %%Z0, %%%s ], [ %%ZN%u, %%ROWEND%u ]\n",
            n, n, n, from, n, n, n, from, n, n, n, from, n, n, from, n, n, n, from, n, n);
    fprintf(e->body,
            "  %%ROOM%u = sub i32 %%NX, %%X%uR\n  %%N%u = call i32 @llvm.umin.i32(i32 %%ROOM%u, i32 %%LEFT%u)\n"
            "  br label %%THREAD%u\nTHREAD%u:\n  %%I%u = phi i32 [ 0, %%ROW%u ], [ %%IN%u, %%NEXT%u ]\n"
            "  %%XI%u = add nuw nsw i32 %%X%uR, %%I%u\n  %%TI%u = add nuw nsw i32 %%T%u, %%I%u\n",
            n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n);
    e->t = arena_printf("%%TI%u", n);
    e->x = arena_printf("%%XI%u", n);
    e->y = arena_printf("%%Y%uR", n);
    e->z = arena_printf("%%Z%uR", n);
}

void threads_end(struct emitter *e, unsigned n, const char *metadata)
{
    fprintf(e->body,
            "NEXT%u:\n  %%IN%u = add nuw nsw i32 %%I%u, 1\n  %%MORE%u = icmp ult i32 %%IN%u, %%N%u\n"
            "  br i1 %%MORE%u, label %%THREAD%u, label %%ROWEND%u%s\nROWEND%u:\n",
            n, n, n, n, n, n, n, n, n, metadata, n);
    fprintf(e->body,
            "  %%TN%u = add i32 %%T%u, %%N%u\n  %%LEFTN%u = sub i32 %%LEFT%u, %%N%u\n  %%Y1%u = add i32 %%Y%uR, 1\n"
            "  %%WRAP%u = icmp eq i32 %%Y1%u, %%NY\n  %%YN%u = select i1 %%WRAP%u, i32 0, i32 %%Y1%u\n"
            "  %%Z1%u = add i32 %%Z%uR, 1\n  %%ZN%u = select i1 %%WRAP%u, i32 %%Z1%u, i32 %%Z%uR\n"
            "  %%ROWS%u = icmp ne i32 %%LEFTN%u, 0\n  br i1 %%ROWS%u, label %%ROW%u, label %%END%u\nEND%u:\n",
            n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n);
}

void threads_epilogue(struct emitter *e)
{
    if (e->misaligned_used) {
        fprintf(e->body,
                "  %%MISP = getelementptr i8, ptr %%b, i64 %zu\n  %%MISN = load i32, ptr %%MIS\n  %%MISZ = icmp ne i32 "
                "%%MISN, 0\n"
                "  br i1 %%MISZ, label %%BAD, label %%GOOD\nBAD:\n  store i32 %%MISN, ptr %%MISP\n  br label "
                "%%GOOD\nGOOD:\n",
                offsetof(struct fl_block, misaligned));
        fputs("  %MIS = alloca i32\n  store i32 0, ptr %MIS\n", e->head);
    }
    fputs("  ret void\n", e->body);
}

void thread_code(struct walk *w, void (*write)(struct walk *, const void *), const void *arg)
{
    struct emitter *e = w->e;
    FILE *outer = e->body;
    char *text;
    size_t size;
    FILE *inner = open_memstream(&text, &size);
    if (!inner) fatal(EXIT_INTERNAL, "out of memory");
    e->body = inner;
    write(w, arg);
    close_text(inner);
    e->body = outer;
    for (uint32_t r = 0; r < e->func->nregs; r++)
        if (e->reg_used[r])
            fprintf(outer, "  store %s zeroinitializer, ptr %%R%u\n", lltype(e->func->regs[r]->type), r);
    if (strstr(text, "%SPIN")) {
        fputs("  %SPIN = alloca i32\n", e->head);
        fputs("  store i32 0, ptr %SPIN\n", outer);
    }
    fputs(text, outer);
    free(text);
}
