/* Functions of modules that are so large that compiling all of them would take hours (NCCL's has some hundreds, of
 * 100 MiB): only kernels are compiled, and what is called by name. Who calls another function, through its address, is
 * told so, and ends. */
#ifndef FL_PTX_REMOTE_H
#define FL_PTX_REMOTE_H

#include "ir.h"
#include <stddef.h>

/* Compiling begins, for the first time. */
void remote_choose(size_t text_size);
/* Whether nothing is known of the function of that name so far that wants it compiled. */
bool remote_is(const char *name);
/* Wants what is called by name; false: there is nothing more than was known. Else compiling has to begin again. */
bool remote_want(const struct module_ir *m);

#endif
