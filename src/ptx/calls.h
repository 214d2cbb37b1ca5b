/* Who calls whom. */
#ifndef FL_PTX_CALLS_H
#define FL_PTX_CALLS_H

#include "ir.h"

/* Marks the functions whose address is taken. First of all. */
void calls_note_addresses(struct module_ir *m);
/* The function that is meant: what an alias stands for. */
struct func *func_resolve(struct func *f);
/* The function that i calls; NULL: i is no call, or one through an address. */
struct func *callee(const struct instr *i);
/* f and all that it calls by name, or that those do. Returns how many. */
uint32_t calls_named(struct module_ir *m, struct func *f, struct func ***list);
/* f and all that it may call, which through an address is any whose address is taken. Returns how many. */
uint32_t calls_reachable(struct module_ir *m, struct func *f, struct func ***list);

#endif
