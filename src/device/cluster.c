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

enum { MET_LAST = 2 };

void cluster_begin(struct frame *f)
{
    f->alone = (struct meeting){ .live = f->b.nthreads, .missing = f->b.nthreads };
    f->meeting = &f->alone;
    f->at_cluster = 0;
    if (f->code.kernel->nsegments > 1) memset(f->met, 0, f->b.nthreads);
}

static void look(struct meeting *m)
{
    if (m->missing) return;
    m->missing = m->live;
    m->phase++;
}

/* A kernel of one segment waits nowhere. */
void cluster_arrive(struct frame *f, uint32_t t)
{
    struct meeting *m = f->meeting;
    if (f->code.kernel->nsegments == 1 || f->met[t] != (m->phase & 1)) return;
    f->met[t] ^= 1;
    m->missing--;
    look(m);
}

void cluster_end(struct frame *f, uint32_t first, uint32_t count)
{
    struct meeting *m = f->meeting;
    uint32_t missing = 0, live = 0;
    for (uint32_t t = first; t < first + count; t++) {
        missing += f->met[t] == (m->phase & 1);
        live += f->met[t] != MET_LAST;
    }
    memset(f->met + first, MET_LAST, count);
    m->missing -= missing;
    m->live -= live;
    look(m);
}

bool cluster_passes(const struct frame *f) { return !memchr(f->met, !(f->meeting->phase & 1), f->live); }

bool cluster_release(struct frame *f)
{
    const uint32_t before = f->at_cluster;
    for (uint32_t t = 0; t < f->b.nthreads; t++)
        if (f->status[t] == THREAD_AT_CLUSTER && f->met[t] == (f->meeting->phase & 1)) {
            f->status[t] = THREAD_READY;
            f->at_cluster--;
        }
    return f->at_cluster < before;
}

void cluster_leave(struct frame *f)
{
    struct cluster *c = f->cluster;
    if (f->code.kernel->nsegments > 1) cluster_end(f, 0, f->b.nthreads);
    f->cluster = NULL;
    if (++c->ended == c->size) free(c);
}
