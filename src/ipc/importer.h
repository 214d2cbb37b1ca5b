/* The importing side: one connection to each process that something is open of. */
#ifndef FL_IPC_IMPORTER_H
#define FL_IPC_IMPORTER_H

#include "base/backing.h"
#include "context/context.h"
#include "ipc/wire.h"
#include "stream/beacon.h"

/* A process that exports. Its devices' memory and its events come once each. */
struct peer {
    unsigned char socket[IPC_NAME];
    int fd;
    unsigned users;
    struct backing memory[MAX_DEVICES]; /* id 0: not come yet */
    struct beacon *beacons;        /* NULL: not come yet */
    struct peer *next;
};

/* All want the importer's lock, which comes before the space's. */
void importer_lock(void);
void importer_unlock(void);
/* Opens what the ticket names; *out has one user more. The results of ipc_open_memory. */
CUresult importer_open(const struct ticket *t, struct peer **out, struct ipc_reply *reply);
/* The opposite. */
void importer_close(struct peer *p, const struct ticket *t);

#endif
