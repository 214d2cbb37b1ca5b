/* The lanes that no launch is issued into at the moment. */
#include "graph/lanes.h"
#include "stream/operations.h"
#include "stream/point.h"

#include <stdlib.h>

enum { SPARE = 32 }; /* so many are kept in which nothing is left to do */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lane *spare;

/* The stream goes with its context, whose memory may be gone as well. */
static bool lives(const struct lane *l)
{
    struct context *c;
    return !context_check((CUcontext)l->context, &c) && l->context->id == l->context_id;
}

static struct lane **find(const struct context *c, uint64_t of)
{
    struct lane **found = NULL;
    for (struct lane **at = &spare, *l; (l = *at); at = &l->next) {
        if (l->context != c || l->context_id != c->id) continue;
        if (of && l->of == of) return at;
        if (!found && stream_done(l->stream)) found = at;
    }
    return found;
}

static struct lane *take_spare(const struct context *c, uint64_t of)
{
    struct lane *l = NULL;
    pthread_mutex_lock(&lock);
    struct lane **at = find(c, of);
    if (at) {
        l = *at;
        *at = l->next;
    }
    pthread_mutex_unlock(&lock);
    return l;
}

CUresult lane_take(struct context *c, uint64_t of, struct lane **out)
{
    struct lane *l = take_spare(c, of);
    CUresult r = CUDA_SUCCESS;
    if (!l) {
        if (!(l = calloc(1, sizeof *l))) return CUDA_ERROR_OUT_OF_MEMORY;
        if ((r = stream_create_lane(c, &l->stream))) {
            free(l);
            return r;
        }
        l->context = c;
        l->context_id = c->id;
    }
    l->of = of;
    l->tail = NULL;
    l->joined = NULL;
    l->next = NULL;
    *out = l;
    return r;
}

/* With the lock: takes out lanes of contexts that are gone, and those with nothing left to do that are too many. */
static struct lane *take_superfluous(void)
{
    struct lane *out = NULL;
    unsigned idle = 0;
    for (struct lane **at = &spare, *l; (l = *at);) {
        if (lives(l) && (!stream_done(l->stream) || ++idle <= SPARE)) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        l->next = out;
        out = l;
    }
    return out;
}

void lanes_give(struct lane *list)
{
    if (!list) return;
    struct lane *last = list;
    while (last->next) last = last->next;
    pthread_mutex_lock(&lock);
    last->next = spare;
    spare = list;
    list = take_superfluous();
    pthread_mutex_unlock(&lock);
    while (list) {
        struct lane *l = list;
        list = l->next;
        if (lives(l)) stream_destroy(l->stream);
        free(l);
    }
}
