/* Per-thread default streams: one for each thread and context, made at its
 * first use, destroyed with the thread or the context. */
#include "stream/internal.h"

#include <stdlib.h>

struct own {
    struct stream_set *set;
    struct stream *stream;
    uint64_t id;
};
struct owns {
    size_t count, capacity;
    struct own own[];
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_error;

static bool valid(const struct own *o) { return atomic_load_explicit(&o->stream->id, memory_order_acquire) == o->id; }

static void thread_ends(void *arg)
{
    struct owns *owns = arg;
    /* a forked child has none of them */
    for (size_t i = 0; i < owns->count && !library_ready(); i++) stream_end(owns->own[i].stream, owns->own[i].id);
    free(owns);
}

static void make_key(void) { key_error = pthread_key_create(&key, thread_ends); }

/* Forgets streams that went with their contexts, and makes room for one more. */
static struct owns *tidy(struct owns *owns)
{
    size_t kept = 0;
    for (size_t i = 0; owns && i < owns->count; i++)
        if (valid(&owns->own[i])) owns->own[kept++] = owns->own[i];
    if (owns) owns->count = kept;
    if (owns && kept < owns->capacity) return owns;
    size_t capacity = kept ? 2 * kept : 4;
    struct owns *more = realloc(owns, sizeof *more + capacity * sizeof more->own[0]);
    if (!more) return NULL;
    more->count = kept;
    more->capacity = capacity;
    if (pthread_setspecific(key, more) == 0) return more;
    free(more); /* only at a thread's first stream, when nothing was kept */
    return NULL;
}

CUresult stream_of_thread(struct context *c, struct stream **out)
{
    pthread_once(&once, make_key);
    if (key_error) return CUDA_ERROR_OUT_OF_MEMORY;
    struct owns *owns = pthread_getspecific(key);
    for (size_t i = 0; owns && i < owns->count; i++)
        if (owns->own[i].set == c->streams && valid(&owns->own[i])) {
            *out = owns->own[i].stream;
            return CUDA_SUCCESS;
        }
    if (!(owns = tidy(owns))) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = stream_new(c->streams, &(struct stream_traits){ .kind = STREAM_PER_THREAD }, out);
    if (!r) owns->own[owns->count++] = (struct own){ c->streams, *out, (*out)->id };
    return r;
}
