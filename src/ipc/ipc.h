/* Legacy IPC: a process hands 64 bytes to another one of the same user, which
 * opens the memory, or the event, that they name.
 *
 * The bytes are a ticket: the name of a socket of the exporting process and a
 * secret. Nothing of them can be guessed, and the exporter's thread serves its
 * own user alone. The importer gets the descriptor of the device's memory, maps
 * the allocation's pages of it and nothing else, and stays connected while it
 * has something open; so the exporter knows what is in use, also when the
 * importer dies. Memory that is freed while others use it is kept for them;
 * what an importer has open survives the exporter. */
#ifndef FL_IPC_IPC_H
#define FL_IPC_IPC_H

#include "context/context.h"
#include "space/space.h"

struct event;

/* The allocation that contains address. CUDA_ERROR_INVALID_VALUE: it is not cuMemAlloc's. */
CUresult ipc_export_memory(uint64_t address, CUipcMemHandle *out);
/* CUDA_ERROR_INVALID_CONTEXT: it is this process's own; CUDA_ERROR_INVALID_VALUE: no handle,
 * or the exporter or the memory is gone; CUDA_ERROR_NOT_PERMITTED: another user's;
 * CUDA_ERROR_PEER_ACCESS_UNSUPPORTED. Opening it again in c gives the same address, counted. */
CUresult ipc_open_memory(struct context *c, const CUipcMemHandle *handle, uint64_t *base);
/* CUDA_ERROR_INVALID_VALUE: base was not opened. */
CUresult ipc_close_memory(uint64_t base);

/* CUDA_ERROR_INVALID_HANDLE: not interprocess, or itself opened from a handle. */
CUresult ipc_export_event(struct event *e, CUipcEventHandle *out);
CUresult ipc_open_event(struct context *c, const CUipcEventHandle *handle, struct event **out);

extern const struct space_owner ipc_owner;

#endif
