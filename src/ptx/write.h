/* The last step of a compilation: the image file (image.h). */
#ifndef FL_PTX_WRITE_H
#define FL_PTX_WRITE_H

#include "object.h"
#include "ptxc.h"

/* variables and functions: the image's symbols in the order of their indices, variables first. */
void image_write(struct module_ir *m, struct var **variables, uint32_t nvariables, struct func **functions,
                 uint32_t nfunctions, const struct code *code, FILE *file);

#endif
