/* What the emitters of integer instructions share. */
#ifndef FL_PTX_EMIT_INT_H
#define FL_PTX_EMIT_INT_H

#include "emit.h"

/* Operand n, which must be of that type or be bits of its size. */
static inline const char *arg(struct emitter *e, const struct instr *i, unsigned n, enum ptx_type type)
{
    if (i->nops <= n) fail(i, "wrong number of operands");
    fits(e, &i->ops[n], type);
    return value(e, &i->ops[n], type);
}

/* v becomes the value of the first operand, which must be so, too. */
static inline void give(struct emitter *e, const struct instr *i, enum ptx_type type, const char *v)
{
    fits(e, &i->ops[0], type);
    result(e, &i->ops[0], type, v);
}

#endif
