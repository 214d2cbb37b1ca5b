/* The counters: of the process, which are always kept, and of each allocation. */
#ifndef FL_TRACE_STATISTICS_H
#define FL_TRACE_STATISTICS_H

#include "trace/region.h"

/* Counts the record for the process. */
void statistics_total(struct trace_region *r, const struct trace_record *record);
/* The same; of_allocation: also for the allocation that it is about. ALLOC and FREE
 * enter and leave the list of allocations in any case. */
void statistics_count(struct trace_region *r, const struct trace_record *record, bool of_allocation);

/* In a forked child: there are no allocations. */
void statistics_forget(void);

struct live_allocation { uint64_t address, bytes, ordinal; uint32_t entry; };
/* Those that are not freed, by address. Returns how many there are; writes most at most. */
size_t statistics_live(struct trace_region *r, struct live_allocation *out, size_t most);

#endif
