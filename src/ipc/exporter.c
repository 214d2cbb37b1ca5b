/* Tickets of this process and who uses them; see exporter.h. The thread holds
 * the memory of a ticket once for each time that a connection has opened it, so
 * what a dead importer had is released with its connection. */
#include "ipc/exporter.h"
#include "base/listener.h"
#include "context/context.h"
#include "space/space.h"
#include "stream/beacon.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { BUCKETS = 256, MOST = 4096, PAUSE_US = 50000 };

struct offer {
    unsigned char secret[IPC_SECRET];
    enum ipc_kind kind;
    uint64_t base, number; /* number: the allocation's buffer_id, the event's id */
    struct event *event;
    struct offer *next;
};

/* What a connection has open. */
struct hold {
    unsigned char secret[IPC_SECRET];
    struct allocation *memory;
    struct beacon *beacon;
    struct hold *next;
};
struct connection {
    int fd;
    struct hold *holds;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* offers; before the space's */
static struct offer *offers[BUCKETS];
/* the thread's own, but that a forked child finds them whole */
static struct connection *connections;
static unsigned count, room;

static void *serve_all(void *arg);
static void close_all(void);
static struct listener listener = {
    .prefix = ipc_prefix, .flags = SOCK_NONBLOCK, .serve = serve_all, .in_child = close_all, .fd = -1 };

/* ---- offers */

static struct offer *by_secret(const unsigned char *secret)
{
    for (struct offer *o = offers[secret[0] % BUCKETS]; o; o = o->next)
        if (!memcmp(o->secret, secret, IPC_SECRET)) return o;
    return NULL;
}

static struct offer *by_number(enum ipc_kind kind, uint64_t number)
{
    for (unsigned k = 0; k < BUCKETS; k++)
        for (struct offer *o = offers[k]; o; o = o->next)
            if (o->kind == kind && o->number == number) return o;
    return NULL;
}

static void forget(struct offer *gone)
{
    for (struct offer **at = &offers[gone->secret[0] % BUCKETS]; *at; at = &(*at)->next)
        if (*at == gone) {
            *at = gone->next;
            free(gone);
            return;
        }
}

static bool alive(const struct offer *o)
{
    struct allocation a;
    if (o->kind == IPC_EVENT) return event_id(o->event) == o->number;
    return space_look(o->base, &a) && a.buffer_id == o->number;
}

static void sweep(void)
{
    for (unsigned k = 0; k < BUCKETS; k++)
        for (struct offer *o = offers[k], *next; o; o = next) {
            next = o->next;
            if (!alive(o)) forget(o);
        }
}

/* ---- the thread */

static void release(struct hold *h)
{
    if (h->memory) space_unhold(h->memory);
    if (h->beacon) beacon_release(h->beacon);
    free(h);
}

static struct hold *hold(const unsigned char *secret, uint32_t kind, struct ipc_reply *a, int *fd)
{
    struct hold *h = calloc(1, sizeof *h);
    a->result = h ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    if (!h) return NULL;
    memcpy(h->secret, secret, IPC_SECRET);
    pthread_mutex_lock(&lock);
    struct offer *o = by_secret(secret);
    if (o && o->kind != kind) o = NULL;
    if (o && kind == IPC_MEMORY && (h->memory = space_hold(o->base, o->number))) {
        a->device = (uint32_t)h->memory->device->physical;
        a->offset = h->memory->offset;
        a->size = h->memory->size;
        *fd = h->memory->backing->fd;
    } else if (o && kind == IPC_EVENT && alive(o) && (h->beacon = event_beacon(o->event))) {
        beacon_hold(h->beacon);
        a->index = beacon_index(h->beacon);
        /* unless it was destroyed at this moment */
        if (alive(o)) *fd = beacons_descriptor();
    }
    pthread_mutex_unlock(&lock);
    if (*fd >= 0) {
        a->result = CUDA_SUCCESS;
        return h;
    }
    release(h);
    return NULL;
}

static void let_go(struct connection *c, const unsigned char *secret)
{
    for (struct hold **at = &c->holds; *at; at = &(*at)->next)
        if (!memcmp((*at)->secret, secret, IPC_SECRET)) {
            struct hold *h = *at;
            *at = h->next;
            release(h);
            return;
        }
}

/* One message of c; false: it is over. */
static bool serve(struct connection *c)
{
    struct ipc_request q;
    struct ipc_reply a = { 0 };
    int fd = -1, none;
    if (!message_receive(c->fd, &q, sizeof q, &none)) return false;
    if (none >= 0) close(none);
    if (q.verb == IPC_CLOSE) {
        let_go(c, q.secret);
        return true;
    }
    a.serial = q.serial;
    struct hold *h = q.verb == IPC_OPEN ? hold(q.secret, q.kind, &a, &fd) : NULL;
    if (h) {
        h->next = c->holds;
        c->holds = h;
    }
    return q.verb == IPC_OPEN && message_send(c->fd, &a, sizeof a, fd);
}

static void end(unsigned k)
{
    struct connection *c = &connections[k];
    while (c->holds) {
        struct hold *h = c->holds;
        c->holds = h->next;
        release(h);
    }
    listener_hold_forks();
    close(c->fd);
    connections[k] = connections[--count];
    listener_release_forks();
}

/* Of who has called. Forks are held; -1: nobody has, or there is no room. */
static int take(void)
{
    int fd = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return fd;
    if (count == room) {
        struct connection *more = room < MOST ? realloc(connections, (room + 16) * sizeof *connections) : NULL;
        if (!more) {
            close(fd);
            errno = ECONNABORTED;
            return -1;
        }
        connections = more;
        room += 16;
    }
    connections[count++] = (struct connection){ .fd = fd };
    return fd;
}

static void welcome(void)
{
    const struct ipc_reply no = { .result = CUDA_ERROR_NOT_PERMITTED };
    listener_hold_forks();
    int fd = take(), error = errno;
    listener_release_forks();
    if (fd < 0) {
        /* out of descriptors, which passes */
        if (error != EINTR && error != EAGAIN && error != ECONNABORTED) usleep(PAUSE_US);
        return;
    }
    message_be_impatient(fd, IPC_PATIENCE_US);
    if (ipc_same_user(fd)) return;
    message_send(fd, &no, sizeof no, -1);
    end(count - 1);
}

static void *serve_all(void *arg)
{
    static struct pollfd fds[MOST + 17];
    for (;;) {
        unsigned n = count;
        fds[0] = (struct pollfd){ .fd = listener.fd, .events = POLLIN };
        for (unsigned k = 0; k < n; k++) fds[k + 1] = (struct pollfd){ .fd = connections[k].fd, .events = POLLIN };
        if (poll(fds, n + 1, -1) < 0) continue;
        for (unsigned k = n; k--;)
            if (fds[k + 1].revents && !serve(&connections[k])) end(k);
        if (fds[0].revents) welcome();
    }
    return arg;
}

static void close_all(void)
{
    for (unsigned k = 0; k < count; k++) close(connections[k].fd);
    count = 0;
}

/* ---- tickets */

static CUresult offer(const struct offer *wanted, struct ticket *out)
{
    pthread_mutex_lock(&lock);
    CUresult r = listener_start(&listener);
    struct offer *o = r ? NULL : by_number(wanted->kind, wanted->number);
    if (!r && !o) {
        sweep();
        if ((o = malloc(sizeof *o))) *o = *wanted;
        if (!o || getrandom(o->secret, IPC_SECRET, 0) != IPC_SECRET) {
            free(o);
            r = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            o->next = offers[o->secret[0] % BUCKETS];
            offers[o->secret[0] % BUCKETS] = o;
        }
    }
    if (!r) {
        *out = (struct ticket){ .kind = wanted->kind };
        memcpy(out->magic, ipc_magic, sizeof out->magic);
        memcpy(out->socket, listener.name, IPC_NAME);
        memcpy(out->secret, o->secret, IPC_SECRET);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult exporter_memory(uint64_t base, uint64_t buffer_id, struct ticket *out)
{
    return offer(&(struct offer){ .kind = IPC_MEMORY, .base = base, .number = buffer_id }, out);
}

CUresult exporter_event(struct event *e, struct ticket *out)
{
    return offer(&(struct offer){ .kind = IPC_EVENT, .number = event_id(e), .event = e }, out);
}

bool exporter_made(const struct ticket *t)
{
    pthread_mutex_lock(&lock);
    bool own = listener.fd >= 0 && !memcmp(t->socket, listener.name, IPC_NAME);
    pthread_mutex_unlock(&lock);
    return own;
}
