/* Kernels that cannot be cut into segments, because what suspends may be
 * called through an address or by itself: they run whole. Each thread has a
 * stack of its own, on which functions are called as they are and suspend by
 * calling the run time; see abi.h. */
#ifndef FL_PTX_WHOLE_H
#define FL_PTX_WHOLE_H

#include "kernel.h"

/* Marks the kernels that run whole, and what they may call. What suspends is known. */
void whole_choose(struct module_ir *m);
/* Marks f and what it may call. */
void whole_mark(struct module_ir *m, struct func *f);
/* Numbers the suspension points of all that is marked: they are the segments of each of its kernels. */
void whole_number(struct module_ir *m);
/* What kernel_analyse does for others. */
void whole_analyse(struct kernel *k, struct module_ir *m, struct func *f);

#endif
