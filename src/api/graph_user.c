/* Graph management: user objects, which graphs keep alive. */
#include "api/graph_api.h"
#include "graph/user.h"

#include <limits.h>

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount,
                                    unsigned int flags)
{
    struct user_object *o;
    CUresult r = graph_begin();
    if (r) return r;
    if (!object_out || !destroy || !initialRefcount || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = user_object_new(ptr, destroy, initialRefcount, &o))) *object_out = (CUuserObject)o;
    return graph_end(r);
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    struct user_object *o;
    CUresult r = graph_begin();
    if (r) return r;
    if (!count || count > INT_MAX) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = user_object_get(object, &o))) o->references += count;
    return graph_end(r);
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    struct user_object *o;
    CUresult r = graph_begin();
    if (r) return r;
    if (!count) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = user_object_get(object, &o))) r = user_object_release(o, count);
    return graph_end(r);
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
    struct graph *g;
    struct user_object *o;
    CUresult r = graph_begin();
    if (r) return r;
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE || count > INT_MAX) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if (!(r = graph_get(graph, &g)) && !(r = user_object_get(object, &o))) r = graph_retain(g, o, count, flags);
    return graph_end(r);
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    struct graph *g;
    struct user_object *o;
    CUresult r = graph_begin();
    if (r) return r;
    if (!(r = graph_get(graph, &g)) && !(r = user_object_get(object, &o))) r = graph_release(g, o, count);
    return graph_end(r);
}
