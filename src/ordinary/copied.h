/* Variables of shared objects that lie in the program: environ, stderr, switches of a sanitizer. */
#ifndef FL_ORDINARY_COPIED_H
#define FL_ORDINARY_COPIED_H

#include <stdbool.h>
#include <stdint.h>

/* Whether pages that have some of them lie in [low, high): *from to *to. One thread at a time. */
bool copied_overlaps(uint64_t low, uint64_t high, uint64_t *from, uint64_t *to);

#endif
