/* What the reports of `faultline run` share: the regions that the watched
 * processes leave, and how numbers are written. Nothing in a region is
 * trusted: the program could have written anything there. */
#ifndef FL_CLI_WATCH_H
#define FL_CLI_WATCH_H

#include "trace/region.h"

#include <stdio.h>

/* Reports of one process; whether there is anything to report. */
bool summary_any(const struct trace_region *r);
void summary_print(FILE *to, struct trace_region *r);
void page_map_print(FILE *to, struct trace_region *r, bool colour);
/* How many pieces of memory the process still had. */
size_t leaks_print(FILE *to, struct trace_region *r);

/* One line of advice on an allocation; false if there is none to give. */
bool advice_give(const struct trace_allocation *a, const struct trace_statistics *s, char *out, size_t size);

/* The trace file: begin, records as they come, end. */
void perfetto_begin(FILE *to);
void perfetto_process(FILE *to, const struct trace_region *r);
void perfetto_record(FILE *to, struct trace_region *r, const struct trace_record *record);
void perfetto_end(FILE *to);

/* "40 MiB", "1.5 GiB", "640 B"; returns out. */
char *bytes_text(uint64_t bytes, char out[16]);
/* What the process runs, on one line; returns out. */
char *program_text(const struct trace_region *r, char *out, size_t size);
/* Entries of r->allocations that may be looked at. */
uint64_t allocation_entries(const struct trace_region *r);

#endif
