/* Clusters of blocks; see cluster.h. */
#include "device/cluster.h"

#include <stdlib.h>
#include <string.h>

void cluster_place(struct fl_block *b, const uint32_t dimensions[3], uint64_t number)
{
    const uint32_t *d = dimensions;
    const uint64_t size = (uint64_t)d[0] * d[1] * d[2], cluster = number / size, wide = b->nctaid[0] / d[0],
                   high = b->nctaid[1] / d[1];
    const uint32_t rank = (uint32_t)(number % size);
    b->ctaid[0] = (uint32_t)(cluster % wide) * d[0] + rank % d[0];
    b->ctaid[1] = (uint32_t)(cluster / wide % high) * d[1] + rank / d[0] % d[1];
    b->ctaid[2] = (uint32_t)(cluster / wide / high) * d[2] + rank / d[0] / d[1];
}

static void look(struct cluster *c)
{
    if (c->arrived + c->ended < c->size) return;
    c->arrived = 0;
    c->phase++;
}

static void arrive(struct frame *f)
{
    f->at_cluster = true;
    f->phase = f->cluster->phase;
    f->cluster->arrived++;
    look(f->cluster);
}

void cluster_arrive(struct frame *f)
{
    if (f->cluster && ++f->arrivals == f->b.nthreads) arrive(f);
}

/* Where threads have ended, the others are known to have arrived when all of them wait. */
bool cluster_passes(struct frame *f)
{
    if (!f->cluster) return true;
    if (!f->at_cluster) arrive(f);
    if (f->cluster->phase == f->phase) return false;
    f->at_cluster = false;
    f->arrivals = 0;
    return true;
}

void cluster_leave(struct frame *f)
{
    struct cluster *c = f->cluster;
    f->cluster = NULL;
    if (++c->ended == c->size)
        free(c);
    else
        look(c);
}
