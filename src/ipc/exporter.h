/* The exporting side: tickets, and the thread that serves them. */
#ifndef FL_IPC_EXPORTER_H
#define FL_IPC_EXPORTER_H

#include "ipc/wire.h"
#include "stream/event.h"

/* The same allocation, or event, gets the same ticket each time. Starts the thread. CUDA_ERROR_OUT_OF_MEMORY;
 * CUDA_ERROR_OPERATING_SYSTEM: no descriptor or thread for it. */
CUresult exporter_memory(uint64_t base, uint64_t buffer_id, struct ticket *out);
CUresult exporter_event(struct event *e, struct ticket *out);
/* Whether the ticket is this process's own. */
bool exporter_made(const struct ticket *t);

#endif
