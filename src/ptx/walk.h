/* What kernel.c and lockstep_emit.c share: the pieces of a segment's function. */
#ifndef FL_PTX_WALK_H
#define FL_PTX_WALK_H

#include "emit.h"
#include "kernel.h"

struct walk {
    struct emitter *e;
    struct kernel *k;
    uint8_t *wanted;               /* by block: is, or will be, written */
    uint32_t *stack, depth;        /* those still to write */
    const char *next_thread;       /* label */
    uint32_t segment;
    uint8_t *slot_used; /* by byte of the context: the place of the slot there is known */
    uint64_t *touched, *written; /* the registers that its code reads or writes, and writes, on any way through it */
};

/* --- threads.c --- */
/* Where the block's arrays are; before any loop. */
void threads_prologue(struct emitter *e, const struct kernel *k);
/* The n-th loop over threads of a function, entered from block from; what is written between begin
 * and end runs for each thread and ends with a jump to NEXTn; the loop ends in block ENDn. */
void threads_begin(struct emitter *e, unsigned n, const char *from);
void threads_end(struct emitter *e, unsigned n, const char *metadata);
/* What write writes, with registers that start at zero: nothing leaks from one thread to the next. */
void thread_code(struct walk *w, void (*write)(struct walk *, const void *), const void *arg);
/* After all loops. */
void threads_epilogue(struct emitter *e);

/* --- kernel.c --- */
/* A register's place in the context of thread (an i32 value). */
const char *slot_pointer(struct walk *w, uint32_t reg, const char *thread);
void context_move(struct walk *w, uint32_t reg, bool save);
/* Computes r, and first what it comes from, anew. done: by register. */
void recompute(struct walk *w, struct reg *r, uint8_t *done);
void set_state(struct walk *w, uint32_t state);
/* An instruction that does not decide where to go, under its guard. */
void plain(struct emitter *e, const struct instr *i);
/* Whether i's guard holds, i1. */
const char *guard(struct emitter *e, const struct instr *i);

#endif
