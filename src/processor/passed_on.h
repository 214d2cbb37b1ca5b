/* Ranges that threads leave for one other: a few, in no order. Takes no lock, nor memory. */
#ifndef FL_PROCESSOR_PASSED_ON_H
#define FL_PROCESSOR_PASSED_ON_H

#include <stdbool.h>
#include <stdint.h>

/* False: there is no room for it. Any thread. */
bool passed_on_put(uint64_t va, uint64_t end);
/* One thread; false: there is none. */
bool passed_on_take(uint64_t *va, uint64_t *end);

#endif
