/* Memory for the books that the service of faults keeps. Not the C library's: an application's handler may have
 * interrupted malloc, or the application's malloc may itself take managed memory. What is given back is used
 * again, not returned to the system, but for large pieces. */
#ifndef FL_BASE_HEAP_H
#define FL_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed, aligned to 16 bytes; NULL: the system has none. Of a large piece nothing is there until it is touched. */
void *heap_take(size_t size);
/* p may be NULL. */
void heap_give(void *p);
/* The lowest addresses of [va, end), if any, that are the heap's, or lie in large pieces given back. */
bool heap_overlaps(uint64_t va, uint64_t end, uint64_t *from, uint64_t *to);

#endif
