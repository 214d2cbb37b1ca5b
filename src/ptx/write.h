/* The last step of a compilation: the image file (image.h). */
#ifndef FL_PTX_WRITE_H
#define FL_PTX_WRITE_H

#include "object.h"
#include "translate.h"
#include <stdio.h>

/* code NULL: the image has the IR instead. */
void image_write(const struct translation *t, const struct code *code, FILE *file);

#endif
