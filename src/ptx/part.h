/* Compiling a part of an image that has its IR (image.h). */
#ifndef FL_PTX_PART_H
#define FL_PTX_PART_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes its struct fl_code. part counts from 0. */
void part_compile(const void *image, size_t size, uint32_t part, FILE *file);

#endif
