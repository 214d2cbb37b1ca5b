/* What many allocations have in common: their device, context and pool, kind and
 * flags (the members of struct allocation from device up to mapping_base). There
 * are few of these, so each has a number, and stays: numbers are read without a lock. */
#ifndef FL_SPACE_TRAITS_H
#define FL_SPACE_TRAITS_H

#include "space/space.h"

enum { TRAITS_MOST = 1 << 12 };

/* The number of a's, at least 1; 0: there is no room for them. One caller at a time. */
unsigned traits_number(const struct allocation *a);
/* Copies those of a number to their members of *copy. The number came from traits_number by a release and an acquire. */
void traits_copy(unsigned number, struct allocation *copy);

#endif
