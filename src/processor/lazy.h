/* Page-table commands that an idle device need not see yet. What is mapped and
 * unmapped again before the next kernel costs the device nothing, and what stays
 * is sent in as few commands as it takes. Everything here wants the processor's lock. */
#ifndef FL_PROCESSOR_LAZY_H
#define FL_PROCESSOR_LAZY_H

#include "processor/internal.h"

struct lazy_command {
    enum command_kind kind;        /* MAP, UNMAP, PROTECT */
    bool dropped;                  /* as if it had never been */
    uint64_t va, size, offset;
    const struct backing *backing; /* MAP */
    unsigned prot;
    uint32_t next;                 /* MAP with the same hash: its index + 1 */
};

/* Takes the command, or false: there is no room for it. */
bool lazy_put(struct processor *p, const struct lazy_command *c);
/* All that waits goes into the ring; what cannot goes on waiting. */
CUresult lazy_flush(struct processor *p);
void lazy_free(struct processor *p);

#endif
