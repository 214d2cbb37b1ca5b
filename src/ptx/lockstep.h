/* Loops that all threads of a block go round together, found so that they can
 * be turned inside out: one round for all threads, then the next. What the
 * threads compute side by side becomes vector code, and goes through memory in
 * order; as a loop within each thread it would do neither. Threads go round
 * equally often, or each compares an induction of its own (a loop in strides of
 * the grid): then they go together until the first one leaves. Such a loop is a
 * segment of its own that runs to its end in one call; see abi.h. */
#ifndef FL_PTX_LOCKSTEP_H
#define FL_PTX_LOCKSTEP_H

#include "kernel.h"

/* What becomes of a register in the loop. */
enum lockstep_role {
    ROLE_OTHER,                    /* computed anew, or unchanged in the context */
    ROLE_SHARED,                   /* the same in all threads: kept once */
    ROLE_INDUCTION,                /* a start of each thread's own plus a sum that is the same in all */
    ROLE_CARRIED,                  /* each thread's own, in the context from round to round */
    ROLE_RESULT,                   /* set in the loop, first read after it */
};

struct lockstep {
    uint32_t block, last, end;      /* its blocks, from the one to the other; its instructions end before end */
    uint32_t segment, exit_segment; /* the loop's own; where threads go on, 0: nowhere, they end */
    uint32_t exit;                 /* instruction */
    bool taken_goes_round;         /* the branch that ends the block; otherwise it leaves the loop */
    const struct instr *own;       /* the comparison by which each thread leaves; NULL: all leave together */
    uint8_t *role;                 /* by register */
    const struct instr **start;    /* by register, SHARED and INDUCTION: what sets it before the loop, if
                                      that can be computed anew in the loop; NULL: the context has it */
    const struct operand **step;   /* by register, INDUCTION: what each round adds */
    uint8_t *in_slice;             /* by instruction of the block: part of what all threads compute alike */
};

/* Adds a segment for each such loop of k, and for what follows it. */
void lockstep_find(struct kernel *k);
/* Writes the segment's function up to its header; e is prepared as for any segment. */
struct walk;
void lockstep_emit(struct walk *w, const struct lockstep *l);

#endif
