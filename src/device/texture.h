/* What texture.c and surface.c share. */
#ifndef FL_DEVICE_TEXTURE_H
#define FL_DEVICE_TEXTURE_H

#include "processor/texture.h"
#include "ptx/abi.h"

/* The thread's fault, in words, at this line of the PTX. */
void texture_fault(uint32_t t, uint32_t line, const char *text) __attribute__((noreturn));

/* What the handle names, of the shape that what (abi.h) says; all else is the thread's fault. No levels: a reference
 * for which nothing is set. */
const struct texture *texture_find(uint32_t t, uint32_t line, uint64_t handle, bool surface);
void texture_check_shape(uint32_t t, uint32_t line, const struct texture *x, uint32_t what);
void texture_check_sampled(uint32_t t, uint32_t line, const struct texture *x, uint32_t what);

#endif
