/* From LLVM's relocatable object to one flat piece of position-independent code. */
#ifndef FL_PTX_OBJECT_H
#define FL_PTX_OBJECT_H

#include <stddef.h>
#include <stdint.h>

struct code { unsigned char *bytes; size_t size; };
/* Places its sections and resolves what they refer to, all of which is in the object. */
void object_link(const unsigned char *object, size_t size, struct code *out);
/* Offset of a symbol in the code; the process ends if there is none. */
uint64_t object_symbol(const char *name);

#endif
