/* Functions of CUDA's device runtime that are PTX here, too. */
#ifndef FL_PTX_PROVIDED_H
#define FL_PTX_PROVIDED_H

#include "ir.h"

/* PTX, without a header, that defines what the module declares and does not define. NULL: it needs none of it. */
const char *provided(const struct module_ir *m);

#endif
