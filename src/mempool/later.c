/* Memory of cuMemAlloc that cuMemFreeAsync frees. It is there, and known, until
 * somebody waits for the stream that it was freed in, for its context, or for an
 * event behind the free (observed on H200, which hangs when it is freed again
 * until then; here that is an error). */
#include "base/tree.h"
#include "mempool/internal.h"

#include <stdlib.h>

struct later {
    struct allocation copy;
    struct place place;
    struct mark *mark;
    RB_ENTRY(later) link;
};
RB_HEAD(later_tree, later);

static int compare(const struct later *a, const struct later *b)
{
    return a->copy.buffer_id < b->copy.buffer_id ? -1 : a->copy.buffer_id > b->copy.buffer_id;
}
TREE_FUNCTIONS(later_tree, later, link, compare)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct later_tree all; /* by allocation */
static _Atomic bool any;

CUresult mempool_free_later(const struct allocation *a, struct stream *s)
{
    struct later *l = malloc(sizeof *l);
    if (!l) return CUDA_ERROR_OUT_OF_MEMORY;
    l->copy = *a;
    struct allocation now;
    pthread_mutex_lock(&lock);
    bool gone = !space_look(a->base, &now) || now.buffer_id != a->buffer_id || RB_FIND(later_tree, &all, l);
    CUresult r = gone ? CUDA_ERROR_INVALID_VALUE : stream_point(s, &l->place, &l->mark);
    if (!r) {
        RB_INSERT(later_tree, &all, l);
        atomic_store(&any, true);
    }
    pthread_mutex_unlock(&lock);
    if (r) free(l);
    return r;
}

CUresult mempool_free_device(const struct allocation *a)
{
    struct later key = { .copy = *a };
    pthread_mutex_lock(&lock);
    CUresult r = RB_FIND(later_tree, &all, &key) ? CUDA_ERROR_INVALID_VALUE : space_free_same(a);
    pthread_mutex_unlock(&lock);
    return r;
}

static bool waited_for(const struct place *p, const struct context *c, struct stream *s)
{
    if (!s) return !c || place_in(p, c);
    return stream_is_at(s, p) || (stream_is_legacy(s) && stream_legacy_orders(s, p->stream));
}

static bool is_due(const struct later *l, const struct context *c, struct stream *s)
{
    if (!waited_for(&l->place, c, s)) return false;
    return point_done(l->mark) && context_idle(l->copy.context); /* others may use it still, as before any cuMemFree */
}

static void release(struct later *l)
{
    space_free_same(&l->copy); /* unless it is gone by now */
    if (l->mark) point_release(l->mark);
    free(l);
}

bool mempool_free_idle(void) { return later_free(NULL, NULL); }

bool later_free(const struct context *c, struct stream *s)
{
    struct later *next;
    bool freed = false;
    if (!atomic_load_explicit(&any, memory_order_relaxed)) return false;
    pthread_mutex_lock(&lock);
    for (struct later *l = RB_MIN(later_tree, &all); l; l = next) {
        next = RB_NEXT(later_tree, &all, l);
        if (!is_due(l, c, s)) continue;
        RB_REMOVE(later_tree, &all, l);
        release(l);
        freed = true;
    }
    atomic_store(&any, !RB_EMPTY(&all));
    pthread_mutex_unlock(&lock);
    return freed;
}
