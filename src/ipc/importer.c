/* Connections to exporters; see importer.h. */
#include "ipc/importer.h"
#include "base/cancel.h"
#include "base/log.h"
#include "ipc/exporter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct peer *peers;

void importer_lock(void) { pthread_mutex_lock(&lock); }
void importer_unlock(void) { pthread_mutex_unlock(&lock); }

static int call(const unsigned char *name, CUresult *r)
{
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    *r = CUDA_ERROR_OPERATING_SYSTEM;
    if (s < 0) return -1;
    message_be_impatient(s, IPC_PATIENCE_US);
    *r = CUDA_ERROR_INVALID_VALUE;
    if (!message_connect(s, ipc_prefix, name)) {
        fl_log_once(FL_LOG_WARN, "an IPC handle is of no use: the process that exported it %s",
                    errno == EAGAIN ? "does not answer" : "is gone");
    } else if (!ipc_same_user(s)) {
        fl_log_once(FL_LOG_WARN, "an IPC handle is of no use: another user's process exported it");
        *r = CUDA_ERROR_NOT_PERMITTED;
    } else {
        *r = CUDA_SUCCESS;
        return s;
    }
    close(s);
    return -1;
}

/* A forked child has nothing open. */
static void in_child(void)
{
    const int cancel = cancel_defer();
    for (struct peer *p = peers; p; p = p->next)
        if (p->fd >= 0) {
            close(p->fd);
            p->fd = -1;
        }
    cancel_restore(cancel);
}

/* *out has one user more, whatever the result; NULL: no memory. */
static CUresult get_peer(const unsigned char *name, struct peer **out)
{
    static bool watching;
    CUresult r;
    struct peer *p;
    *out = NULL;
    if (!watching && pthread_atfork(NULL, NULL, in_child)) return CUDA_ERROR_OUT_OF_MEMORY;
    watching = true;
    for (p = peers; p; p = p->next)
        if (!memcmp(p->socket, name, IPC_NAME)) break;
    if (!p) {
        if (!(p = calloc(1, sizeof *p))) return CUDA_ERROR_OUT_OF_MEMORY;
        p->fd = -1;
        memcpy(p->socket, name, IPC_NAME);
        p->next = peers;
        peers = p;
    }
    p->users++;
    *out = p;
    /* the exporter may have ended since, or have been asked before it was gone */
    if (p->fd < 0 && (p->fd = call(name, &r)) < 0) return r;
    return CUDA_SUCCESS;
}

static void put_peer(struct peer *p)
{
    if (--p->users) return;
    for (struct peer **at = &peers; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    for (int k = 0; k < MAX_DEVICES; k++) {
        if (!p->memory[k].id) continue;
        devices_forget(&p->memory[k]);
        backing_destroy(&p->memory[k]);
    }
    if (p->beacons) beacon_release(p->beacons);
    if (p->fd >= 0) close(p->fd);
    free(p);
}

/* What came with the reply is what it says: the other process is trusted with its own memory alone. */
static CUresult accept_memory(struct peer *p, const struct ipc_reply *a, int fd)
{
    struct stat s;
    if (!device_physical(a->device) || !a->size || fstat(fd, &s) || a->offset > (uint64_t)s.st_size ||
        a->size > (uint64_t)s.st_size - a->offset)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->memory[a->device].id)
        close(fd);
    else
        backing_adopt(&p->memory[a->device], fd, (uint64_t)s.st_size);
    return CUDA_SUCCESS;
}

static CUresult accept_event(struct peer *p, const struct ipc_reply *a, int fd)
{
    if (!p->beacons) p->beacons = beacons_open(fd);
    if (!p->beacons || a->index >= BEACONS) return CUDA_ERROR_INVALID_VALUE;
    close(fd);
    return CUDA_SUCCESS;
}

static void say_closed(struct peer *p, const struct ticket *t)
{
    struct ipc_request q = { .verb = IPC_CLOSE, .kind = t->kind };
    memcpy(q.secret, t->secret, IPC_SECRET);
    if (p->fd >= 0) message_send(p->fd, &q, sizeof q, -1);
}

/* The answer to the request with that serial; answers to others were too late. */
static CUresult hear(struct peer *p, uint64_t serial, struct ipc_reply *a, int *fd)
{
    while (message_receive(p->fd, a, sizeof *a, fd)) {
        if (a->serial == serial || a->result == CUDA_ERROR_NOT_PERMITTED) return (CUresult)a->result;
        if (*fd >= 0) close(*fd);
    }
    if (errno != EAGAIN) {
        const int gone = p->fd;
        p->fd = -1; /* first: a forked child closes what it finds */
        close(gone);
    } else {
        fl_log_once(FL_LOG_WARN, "an IPC handle is of no use: the process that exported it does not answer");
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult ask(struct peer *p, const struct ticket *t, struct ipc_reply *a)
{
    static uint64_t serial;
    struct ipc_request q = { .verb = IPC_OPEN, .kind = t->kind, .serial = ++serial };
    int fd = -1;
    memcpy(q.secret, t->secret, IPC_SECRET);
    if (!message_send(p->fd, &q, sizeof q, -1)) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = hear(p, q.serial, a, &fd);
    bool refused = r && a->serial == q.serial;
    if (!r && fd < 0) r = CUDA_ERROR_OPERATING_SYSTEM;
    if (!r) r = t->kind == IPC_MEMORY ? accept_memory(p, a, fd) : accept_event(p, a, fd);
    if (r && fd >= 0) close(fd);
    /* also when it will be opened too late */
    if (r && !refused) say_closed(p, t);
    return r;
}

static bool plausible(const struct ticket *t)
{
    static const unsigned char zeros[sizeof t->zeros];
    return !memcmp(t->magic, ipc_magic, sizeof t->magic) && !t->zero && !memcmp(t->zeros, zeros, sizeof zeros);
}

CUresult importer_open(const struct ticket *t, struct peer **out, struct ipc_reply *reply)
{
    struct peer *p;
    *reply = (struct ipc_reply){ 0 };
    if (!plausible(t)) return CUDA_ERROR_INVALID_VALUE;
    if (exporter_made(t)) return CUDA_ERROR_INVALID_CONTEXT;
    CUresult r = get_peer(t->socket, &p);
    if (!p) return r;
    if (!r) r = ask(p, t, reply);
    if (r)
        put_peer(p);
    else
        *out = p;
    return r;
}

void importer_close(struct peer *p, const struct ticket *t)
{
    say_closed(p, t);
    put_peer(p);
}
