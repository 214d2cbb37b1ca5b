/* Products of quarters of a warp; see quads.c. */
#ifndef FL_DEVICE_QUADS_H
#define FL_DEVICE_QUADS_H

#include "ptx/abi.h"

/* Registers of the warp that begins at thread base: A, B, C; D. */
void quads_product(struct fl_block *b, uint32_t base, const struct fl_matrix_product *p);

#endif
