/* User objects and the references that graphs hold; see user.h. */
#include "base/thread.h"
#include "graph/user.h"

#include <stdlib.h>

static void construct(void *object) { (void)object; }

static struct objects user_objects = OBJECTS_INIT(struct user_object, construct);

struct grave {
    CUhostFn destroy;
    void *value;
    struct grave *next;
};
static struct grave *graves;

CUresult user_object_get(CUuserObject handle, struct user_object **out)
{
    struct user_object *o = (struct user_object *)handle;
    if (!objects_hold(&user_objects, o) || !atomic_load(&o->valid)) return CUDA_ERROR_INVALID_VALUE;
    *out = o;
    return CUDA_SUCCESS;
}

CUresult user_object_new(void *value, CUhostFn destroy, unsigned references, struct user_object **out)
{
    struct user_object *o = object_take(&user_objects);
    if (!o) return CUDA_ERROR_OUT_OF_MEMORY;
    o->references = references;
    o->destroy = destroy;
    o->value = value;
    atomic_store(&o->valid, true);
    *out = o;
    return CUDA_SUCCESS;
}

CUresult user_object_release(struct user_object *o, uint64_t count)
{
    if (count > o->references) return CUDA_ERROR_INVALID_VALUE;
    if ((o->references -= count)) return CUDA_SUCCESS;
    struct grave *g = malloc(sizeof *g);
    if (g) {
        *g = (struct grave){ o->destroy, o->value, graves };
        graves = g;
    }
    atomic_store(&o->valid, false);
    object_give(&user_objects, o);
    return CUDA_SUCCESS;
}

static void *bury(void *list)
{
    for (struct grave *next, *g = list; g; g = next) {
        next = g->next;
        g->destroy(g->value);
        free(g);
    }
    return NULL;
}

struct grave *graves_set_aside(void)
{
    struct grave *all = graves;
    graves = NULL;
    return all;
}

void user_objects_bury(void)
{
    pthread_mutex_lock(&graphs_lock);
    struct grave *all = graves_set_aside();
    pthread_mutex_unlock(&graphs_lock);
    bury(all);
}

void user_objects_bury_apart(struct grave *others)
{
    struct grave *own = graves_set_aside(), **end = &graves;
    graves = others;
    if (!own || !thread_start(bury, own, THREAD_STACK_DEFAULT)) return;
    while (*end) end = &(*end)->next;
    *end = own; /* the next call that buries does it */
}

static struct user_reference **find(struct graph *g, const struct user_object *o)
{
    struct user_reference **at = &g->objects;
    while (*at && (*at)->object != o) at = &(*at)->next;
    return at;
}

CUresult graph_retain(struct graph *g, struct user_object *o, unsigned count, bool move)
{
    struct user_reference **at = find(g, o);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    if (!*at && !(*at = calloc(1, sizeof **at))) return CUDA_ERROR_OUT_OF_MEMORY;
    (*at)->object = o;
    (*at)->count += count;
    if (!move) o->references += count;
    return CUDA_SUCCESS;
}

CUresult graph_release(struct graph *g, struct user_object *o, unsigned count)
{
    struct user_reference **at = find(g, o), *gone = *at;
    if (!gone || !count || count > gone->count) return CUDA_ERROR_INVALID_VALUE;
    if (!(gone->count -= count)) {
        *at = gone->next;
        free(gone);
    }
    return user_object_release(o, count);
}

CUresult user_references_copy(const struct user_reference *from, struct user_reference **to)
{
    *to = NULL;
    for (struct user_reference **end = to; from; from = from->next, end = &(*end)->next) {
        if (!(*end = calloc(1, sizeof **end))) {
            user_references_drop(to);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        **end = (struct user_reference){ from->object, from->count, NULL };
        from->object->references += from->count;
    }
    return CUDA_SUCCESS;
}

void user_references_drop(struct user_reference **list)
{
    while (*list) {
        struct user_reference *gone = *list;
        *list = gone->next;
        user_object_release(gone->object, gone->count);
        free(gone);
    }
}
