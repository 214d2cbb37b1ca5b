/* From LLVM's relocatable objects to one flat piece of position-independent code. */
#ifndef FL_PTX_OBJECT_H
#define FL_PTX_OBJECT_H

#include <stddef.h>
#include <stdint.h>

struct code { unsigned char *bytes; size_t size; };
struct object { const unsigned char *bytes; size_t size; };
/* Places their sections and resolves what they refer to, each of them only to itself. */
void object_link(const struct object *objects, uint32_t count, struct code *out);
/* Offset of a symbol in the code, of several equal ones the first; the process ends if there is none. */
uint64_t object_symbol(const char *name);

#endif
