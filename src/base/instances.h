/* Objects of this process that had a copy of a library linked into them, which is replaced by ours: what such a copy
 * keeps to itself, the object still has for itself. */
#ifndef FL_BASE_INSTANCES_H
#define FL_BASE_INSTANCES_H

#include <stdint.h>

enum { MOST_INSTANCES = 64 };

/* These are libfaultline-lead.so's. */

/* bias: where the object was put. Objects are added one at a time; one that is added again, or too many, changes nothing. */
void instance_add(uintptr_t bias);
/* Below MOST_INSTANCES; that of the object that the code is of, 0 if it has none of its own. A library of ours that stands
 * for the copies finds it where libfaultline-lead.so was preloaded; elsewhere it is NULL. */
unsigned faultline_instance_of(const void *code) __attribute__((weak, visibility("default")));

#endif
