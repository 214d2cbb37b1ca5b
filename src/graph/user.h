/* User objects: things of the application that live as long as references to
 * them do, its own and those of graphs. Guarded by graphs_lock, but for what
 * user_object_release returns, which is to be called without it. */
#ifndef FL_GRAPH_USER_H
#define FL_GRAPH_USER_H

#include "graph/graph.h"

struct user_object {               /* CUuserObject_st */
    struct pool_link link;
    _Atomic bool valid;
    uint64_t references;
    CUhostFn destroy;
    void *value;
};
struct user_reference {
    struct user_object *object;
    uint64_t count;
    struct user_reference *next;
};

CUresult user_object_get(CUuserObject handle, struct user_object **out);
CUresult user_object_new(void *value, CUhostFn destroy, unsigned references, struct user_object **out);
CUresult user_object_release(struct user_object *o, uint64_t count);
/* From the caller's references (move) or new ones. */
CUresult graph_retain(struct graph *g, struct user_object *o, unsigned count, bool move);
CUresult graph_release(struct graph *g, struct user_object *o, unsigned count);
/* Destructors of objects without references. Without graphs_lock. */
void user_objects_bury(void);

#endif
