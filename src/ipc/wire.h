/* What exporter and importer say to each other, over a sequenced-packet socket
 * in the abstract namespace, which goes with its process. */
#ifndef FL_IPC_WIRE_H
#define FL_IPC_WIRE_H

#include "base/message.h"

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IPC_NAME = MESSAGE_NAME, IPC_SECRET = 16, IPC_PATIENCE_US = 2000000 };
enum ipc_kind { IPC_MEMORY = 1, IPC_EVENT };
enum ipc_verb { IPC_OPEN = 1, IPC_CLOSE };

/* A handle. */
struct ticket {
    char magic[8];
    uint32_t kind, zero;
    unsigned char socket[IPC_NAME], secret[IPC_SECRET];
    unsigned char zeros[16];
};
_Static_assert(sizeof(struct ticket) == sizeof(CUipcMemHandle) && sizeof(struct ticket) == sizeof(CUipcEventHandle),
               "a ticket is a handle");
extern const char ipc_magic[8];
extern const char ipc_prefix[];      /* of sockets' names */

/* One is held for each IPC_OPEN that succeeded until its IPC_CLOSE, or the connection's end. */
struct ipc_request {
    uint32_t verb, kind;
    uint64_t serial;               /* comes back with the answer, which may come late */
    unsigned char secret[IPC_SECRET];
};
/* To IPC_OPEN, with a descriptor; IPC_CLOSE has no answer. */
struct ipc_reply {
    uint32_t result;               /* CUresult */
    uint32_t device;               /* whose memory: struct device's physical */
    uint64_t offset, size;         /* in the file, bytes */
    uint64_t index;                /* of the event */
    uint64_t serial;
};

/* The other end is a process of this process's user. */
bool ipc_same_user(int s);

#endif
