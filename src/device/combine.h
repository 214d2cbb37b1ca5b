/* Two numbers become one, as reductions do it: of memory, of tensors, behind
 * multicast addresses. */
#ifndef FL_DEVICE_COMBINE_H
#define FL_DEVICE_COMBINE_H

#include <stdbool.h>
#include <stdint.h>

/* The first bits of a and b, and of what is returned, are the numbers. op: enum fl_reduce_op, type: enum fl_tensor_type. */
uint64_t combine(uint64_t a, uint64_t b, uint32_t op, uint32_t type);
/* Of a number of half precision, or of a bfloat16. */
float combine_value(uint16_t v, bool bf);

#endif
