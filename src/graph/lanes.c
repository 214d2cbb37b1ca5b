/* The lanes that no launch has at the moment. */
#include "graph/lanes.h"
#include "stream/operations.h"
#include "stream/point.h"

#include <stdlib.h>

enum { SPARE = 32 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lane *spare;
static unsigned spare_count;

/* The stream goes with its context, whose memory may be gone as well. */
static bool lives(const struct lane *l)
{
    struct context *c;
    return !context_check((CUcontext)l->context, &c) && l->context->id == l->context_id;
}

static struct lane *take_spare(const struct context *c)
{
    struct lane *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct lane **at = &spare, *l; (l = *at) && !found;) {
        bool dead = !lives(l);
        if (dead || (l->context == c && stream_done(l->stream))) {
            *at = l->next;
            spare_count--;
            if (dead)
                free(l);
            else
                found = l;
        } else {
            at = &l->next;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult lane_take(struct context *c, struct lane **out)
{
    struct lane *l = take_spare(c);
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
    l->tail = NULL;
    l->joined = NULL;
    l->next = NULL;
    *out = l;
    return r;
}

void lanes_give(struct lane *list)
{
    while (list) {
        struct lane *l = list;
        list = l->next;
        pthread_mutex_lock(&lock);
        bool keep = lives(l) && spare_count < SPARE;
        if (keep) {
            l->next = spare;
            spare = l;
            spare_count++;
        }
        pthread_mutex_unlock(&lock);
        if (keep) continue;
        if (lives(l)) stream_destroy(l->stream);
        free(l);
    }
}
