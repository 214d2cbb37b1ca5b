/* The last step of a compilation: the image file (image.h). */
#ifndef FL_PTX_WRITE_H
#define FL_PTX_WRITE_H

#include "object.h"
#include "translate.h"
#include <stdio.h>

/* Of a deferred translation the code has what is of no part; the image has the IR of the parts. */
void image_write(const struct translation *t, const struct code *code, FILE *file);

#endif
