/* Rows of the page map: where the pages of each managed allocation are at one moment. */
#ifndef FL_TRACE_PAGE_MAP_H
#define FL_TRACE_PAGE_MAP_H

#include "trace/region.h"

/* Looks at all live allocations. name and device: of the kernel before or after which it is. No
 * lock of src/uvm may be held. */
void page_map_note(enum trace_moment moment, uint32_t name, int device);

/* The same for the moment at which the process ends. */
void page_map_at_exit(void);

/* In a forked child, which has none. */
void page_map_forget(void);

#endif
