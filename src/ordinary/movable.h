/* Which of the program's pages may be taken out of the host's page table while it runs (processor/ordinary.c). */
#ifndef FL_ORDINARY_MOVABLE_H
#define FL_ORDINARY_MOVABLE_H

#include "ordinary/regions.h"

/* How far below an address the regions have to be known. */
uint64_t movable_reach(void);
/* Whether the page at va may, which lies in list[at] and in [*low, *high): these become the bounds within which
 * that is so. The list has all regions from movable_reach() below *low to *high.
 *
 * Private anonymous memory for reading and writing may, but for
 * - stacks, the thread-local memory above them included: when a thread ends, the system writes there without
 *   waiting for anybody; what is known of threads that ended is that their stacks begin above a guard page;
 * - data of shared objects, ours and the C library's among them, wherever they lie, and the library's own heap: who
 *   serves faults needs them. */
bool movable_page(const struct region *list, size_t at, uint64_t va, uint64_t *low, uint64_t *high);

#endif
