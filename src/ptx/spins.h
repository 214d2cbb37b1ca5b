/* Which loops may go round until another thread writes memory, or until some
 * time has passed, which is the same time for all threads: there the thread
 * has to let others run. Knows the control flow of one function, and
 * of those it calls only whether they look at memory in that way. */
#ifndef FL_PTX_SPINS_H
#define FL_PTX_SPINS_H

#include "ir.h"

/* What a thread may look at again and again until another has written it. */
bool is_sync_load(const struct instr *i);
/* Such a load, or one that says that it is to read what is in memory by then. */
bool looks_at_memory(const struct instr *i);
bool reads_clock(const struct instr *i);
/* Marks instr.yield on the back edges of loops that may spin, which it makes branches where they are none; true if there
 * is one. f ends in an instruction that leaves it. Which functions look is known;
 * others_look: one whose address is taken does. */
bool mark_spins(struct func *f, bool others_look);

#endif
