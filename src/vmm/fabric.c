/* Both ends of the exchange; see fabric.h. */
#include "vmm/fabric.h"
#include "base/listener.h"
#include "vmm/imex.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Who asks waits longer than whoever is asked may be kept by others. */
enum { NAME = MESSAGE_NAME, PATIENCE_US = 500000, ANSWER_US = 5000000 };
static const char MAGIC[8] = "FLfabric", PREFIX[] = "faultline-fabric-";

struct ticket {
    char magic[sizeof MAGIC];
    unsigned char socket[NAME];
    unsigned char secret[SECRET];
    struct imex_channel channel;
    uint64_t zero;
};
_Static_assert(sizeof(struct ticket) == sizeof(CUmemFabricHandle), "a ticket is a handle");

struct request {
    unsigned char secret[SECRET];
    struct imex_channel channel;
};
struct reply {
    uint32_t result;
};

static void *listen_on(void *arg);
static struct listener listener = { .prefix = PREFIX, .serve = listen_on, .fd = -1 };

/* ---- the exporter */

static void serve(int s)
{
    struct request q;
    struct reply a = { CUDA_ERROR_INVALID_VALUE };
    int proof, fd = -1;
    message_be_impatient(s, PATIENCE_US);
    if (message_receive(s, &q, sizeof q, &proof)) {
        pthread_rwlock_wrlock(&vmm_lock);
        struct vmm_own *o = own_by_secret(q.secret);
        bool invited = o && o->invited && !q.channel.inode;
        if (o && !invited &&
            (o->channel.device != q.channel.device || o->channel.inode != q.channel.inode || proof < 0 ||
             !imex_proves(proof, &o->channel)))
            a.result = CUDA_ERROR_NOT_PERMITTED;
        else if (o)
            a.result = own_export(o, &fd);
        pthread_rwlock_unlock(&vmm_lock);
        message_send(s, &a, sizeof a, fd);
    }
    if (fd >= 0) close(fd);
    if (proof >= 0) close(proof);
}

static void *listen_on(void *arg)
{
    (void)arg;
    for (;;) {
        int s = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
        if (s >= 0) {
            serve(s);
            close(s);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            usleep(PATIENCE_US / 10); /* out of descriptors, which passes */
        }
    }
    return NULL;
}

bool fabric_permitted(void)
{
    struct imex_channel id;
    int fd = imex_open(NULL, &id);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

CUresult fabric_export(struct vmm_own *o, CUmemFabricHandle *out)
{
    struct ticket t = { 0 };
    int fd = imex_open(o->channel.inode ? &o->channel : NULL, &t.channel);
    if (fd < 0) return CUDA_ERROR_NOT_PERMITTED;
    close(fd);
    CUresult r = listener_start(&listener);
    if (!r) r = own_label(o);
    if (r) return r;
    o->channel = t.channel;
    memcpy(t.magic, MAGIC, sizeof MAGIC);
    memcpy(t.socket, listener.name, NAME);
    memcpy(t.secret, o->secret, SECRET);
    memcpy(out, &t, sizeof t);
    return CUDA_SUCCESS;
}

/* ---- the importer */

static CUresult ask(const struct ticket *t, int channel, int *fd)
{
    struct reply answer;
    struct request q = { .channel = t->channel };
    CUresult r = CUDA_ERROR_OPERATING_SYSTEM;
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (s < 0) return r;
    message_be_impatient(s, ANSWER_US);
    r = CUDA_ERROR_INVALID_VALUE;
    memcpy(q.secret, t->secret, SECRET);
    if (message_connect(s, PREFIX, t->socket) && message_send(s, &q, sizeof q, channel) &&
        message_receive(s, &answer, sizeof answer, fd)) {
        r = (CUresult)answer.result;
        if (!r && *fd < 0) r = CUDA_ERROR_OPERATING_SYSTEM;
    } else if (errno == EAGAIN) {
        r = CUDA_ERROR_NOT_READY;
    }
    close(s);
    return r;
}

CUresult fabric_fetch(const CUmemFabricHandle *from, int *fd)
{
    struct ticket t;
    struct imex_channel opened;
    memcpy(&t, from, sizeof t);
    if (memcmp(t.magic, MAGIC, sizeof MAGIC) || t.zero) return CUDA_ERROR_NOT_SUPPORTED;
    int channel = imex_open(&t.channel, &opened);
    if (channel < 0) return CUDA_ERROR_NOT_PERMITTED;
    CUresult r = ask(&t, channel, fd);
    close(channel);
    return r == CUDA_ERROR_NOT_READY ? CUDA_ERROR_INVALID_VALUE : r;
}

/* ---- without a channel */

_Static_assert((int)NAME == (int)SECRET, "a name and a secret are as long");

CUresult fabric_invite(struct vmm_own *o, unsigned char socket[SECRET], unsigned char secret[SECRET])
{
    CUresult r = listener_start(&listener);
    if (!r) r = own_label(o);
    if (r) return r;
    o->invited = true;
    memcpy(socket, listener.name, NAME);
    memcpy(secret, o->secret, SECRET);
    return CUDA_SUCCESS;
}

bool fabric_answers(const unsigned char socket_name[SECRET])
{
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) return true;
    bool ended = !message_connect(s, PREFIX, socket_name) && errno == ECONNREFUSED;
    close(s);
    return !ended;
}

CUresult fabric_accept(const unsigned char socket[SECRET], const unsigned char secret[SECRET], int *fd)
{
    struct ticket t = { 0 };
    memcpy(t.socket, socket, NAME);
    memcpy(t.secret, secret, SECRET);
    return ask(&t, -1, fd);
}
