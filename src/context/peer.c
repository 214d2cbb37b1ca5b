/* Which context may use which other's memory. Page tables are a device's, so a
 * device sees another's memory while any context of it is a peer of any there. */
#include "context/context.h"
#include "space/space.h"

#include <stdlib.h>

struct pair {
    struct context *from, *to; /* kernels of from may use memory of to */
    struct pair *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* before the space's */
static struct pair *pairs;

static struct pair **find(const struct context *from, const struct context *to)
{
    struct pair **at = &pairs;
    while (*at && ((*at)->from != from || (*at)->to != to)) at = &(*at)->next;
    return at;
}

static bool related(const struct device *d, const struct device *other)
{
    for (const struct pair *p = pairs; p; p = p->next)
        if (p->from->device == d && p->to->device == other) return true;
    return false;
}

/* Takes the pair out, and the page tables with the last of its devices. */
static CUresult take_out(struct pair **at)
{
    struct pair *p = *at;
    struct device *d = p->from->device, *other = p->to->device;
    *at = p->next;
    free(p);
    return related(d, other) ? CUDA_SUCCESS : space_set_peer(d, other, false);
}

CUresult peer_enable(struct context *from, struct context *to)
{
    CUresult r = CUDA_SUCCESS;
    if (from->device == to->device || !from->device->profile->p2p[CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED])
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    struct pair *p = malloc(sizeof *p);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    if (*find(from, to))
        r = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    else if (!related(from->device, to->device))
        r = space_set_peer(from->device, to->device, true);
    if (!r) {
        *p = (struct pair){ from, to, pairs };
        pairs = p;
    }
    pthread_mutex_unlock(&lock);
    if (r) free(p);
    return r;
}

CUresult peer_disable(struct context *from, struct context *to)
{
    pthread_mutex_lock(&lock);
    struct pair **at = find(from, to);
    CUresult r = *at ? take_out(at) : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    pthread_mutex_unlock(&lock);
    return r;
}

void peers_forget(const struct context *c)
{
    pthread_mutex_lock(&lock);
    for (struct pair **at = &pairs; *at;)
        if ((*at)->from == c || (*at)->to == c)
            take_out(at);
        else
            at = &(*at)->next;
    pthread_mutex_unlock(&lock);
}
