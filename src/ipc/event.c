/* Events of other processes, and handles of this process's; see ipc.h. */
#include "ipc/exporter.h"
#include "ipc/importer.h"
#include "ipc/ipc.h"

#include <stdlib.h>
#include <string.h>

struct opened {
    struct peer *peer;
    struct ticket ticket;
};

CUresult ipc_export_event(struct event *e, CUipcEventHandle *out)
{
    struct ticket t;
    memset(out, 0, sizeof *out); /* where it fails, too, as programs see it on GPUs */
    if (!event_beacon(e) || event_adopted(e)) return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = exporter_event(e, &t);
    if (!r) memcpy(out, &t, sizeof t);
    return r;
}

/* The event was destroyed. */
static void leave(void *arg)
{
    struct opened *o = arg;
    importer_lock();
    importer_close(o->peer, &o->ticket);
    importer_unlock();
    free(o);
}

CUresult ipc_open_event(struct context *c, const CUipcEventHandle *handle, struct event **out)
{
    struct ipc_reply reply;
    struct opened *o = calloc(1, sizeof *o);
    if (!o) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(&o->ticket, handle, sizeof o->ticket);
    importer_lock();
    CUresult r = o->ticket.kind == IPC_EVENT ? importer_open(&o->ticket, &o->peer, &reply) : CUDA_ERROR_MAP_FAILED;
    importer_unlock();
    if (r) {
        free(o);
        return r;
    }
    struct beacon *b = &o->peer->beacons[reply.index];
    beacon_hold(b);
    return event_adopt(c, b, leave, o, out);
}
