/* Units: pieces of a module's IR that LLVM compiles by themselves, several at a
 * time. A unit has functions of kernels (their segments or their probes), which
 * call nothing of each other, and a copy of every device function that those
 * kernels call by name. Functions whose address is taken have units of their own:
 * their address is one for all. Which unit has what does not depend on the machine.
 *
 * A part is what is compiled together if not all is: whole kernels, so some units.
 * Small kernels that follow one another share one. */
#ifndef FL_PTX_UNITS_H
#define FL_PTX_UNITS_H

#include "ir.h"

struct unit {
    char *ir; /* malloc'd */
    size_t size;
    uint32_t part;
};

struct units;

/* preamble: what every unit begins with. */
struct units *units_begin(struct module_ir *m, const char *preamble);
/* IR of f, or of its probes. Device functions come before kernels, and what is of one kernel together. */
void units_add(struct units *u, struct func *f, bool probes, const char *ir);
/* All that was added, in the order of their parts. At least one; *shared: how many, the last ones, are of no part, but of
 * functions whose address is taken, or empty where there are no kernels either. */
uint32_t units_end(struct units *u, struct unit **units, uint32_t *shared);

#endif
