/* What the operands of an opcode may be: syntax.c finds it out, syntax_operands.c compares. */
#ifndef FL_PTX_SYNTAX_SHAPE_H
#define FL_PTX_SYNTAX_SHAPE_H

#include "syntax.h"

enum { SLOTS = MAX_OPERANDS };

/* What one operand may be. */
struct slot {
    char kind; /* a letter of struct form */
    bool optional;
    enum ptx_type type;
};
struct shape {
    struct slot slots[SLOTS];
    unsigned count;
};
struct syntax {
    struct shape *shapes;
    uint32_t count;
    unsigned vector; /* elements of x and y */
    bool anything;   /* may follow the opcode */
};

#endif
