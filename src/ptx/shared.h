/* Where the shared variables of a module lie. */
#ifndef FL_PTX_SHARED_H
#define FL_PTX_SHARED_H

#include "ir.h"

/* Gives each shared variable that is not a kernel's own a place, and each kernel the end of those that it may use. Before
 * kernels are laid out, after calls were inlined. */
void shared_place(struct module_ir *m);

#endif
