/* How a loop of lockstep.h is found. Three questions are asked of each block at
 * which one might begin, each by a file of its own:
 *
 *  1. Is it a loop, and of instructions that may change their order between
 *     threads? (lockstep.c)
 *  2. What becomes of each register, and by which condition do threads leave?
 *     (lockstep_roles.c) Either all threads compute the condition alike; that
 *     the values it comes from really are the same is tested when the loop is
 *     entered, unless it follows from the kernel's parameters. Or each thread
 *     compares an induction of its own with what the loop does not change: a
 *     loop in strides of the grid.
 *  3. Is it worth while: do neighbouring threads touch neighbouring places?
 *     (lockstep_access.c)
 *
 * A loop in which all leave together must be one block of what becomes vector
 * code. One in strides may be several blocks, and do nearly anything that does
 * not suspend: there it counts that memory is gone through in order. */
#ifndef FL_PTX_LOCKSTEP_SEARCH_H
#define FL_PTX_LOCKSTEP_SEARCH_H

#include "lockstep.h"

enum { MOST_DEPTH = 64 }; /* of values that come from values */

/* One loop that is looked at. */
struct search {
    struct kernel *k;
    struct lockstep *l;           /* has its shape; gets its roles */
    const struct block *b;        /* its first */
    uint8_t *defined;             /* by register: how often the loop sets it, up to 2 */
    const struct instr **outside; /* by register: the last instruction outside the loop that sets it */
    uint8_t *outside_count;       /* by register: how many there are, up to 2 */
    const struct instr *current;  /* while definitions are counted */
    bool own;                     /* each thread leaves by a condition of its own */
    bool good;                    /* what all threads are to compute alike, they do */
    unsigned steps;               /* left for looking where values come from, which may be very many ways */
};

void lockstep_count_definitions(struct search *s);
/* Fills in l; false: the loop is not of the kind that s->own says. */
bool lockstep_find_roles(struct search *s);
/* Needs the roles. */
bool lockstep_accesses_fit(struct search *s);

#endif
