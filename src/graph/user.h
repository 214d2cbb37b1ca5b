/* User objects: things of the application that live as long as references to
 * them do, its own and those of graphs. Guarded by graphs_lock; destructors are
 * called later, without it. */
#ifndef FL_GRAPH_USER_H
#define FL_GRAPH_USER_H

#include "graph/graph.h"

struct user_object {               /* CUuserObject_st */
    struct object_link link;
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

/* CUDA_ERROR_INVALID_VALUE unless the handle is valid. */
CUresult user_object_get(CUuserObject handle, struct user_object **out);
/* destroy(value) is called when all references are gone. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult user_object_new(void *value, CUhostFn destroy, unsigned references, struct user_object **out);
/* CUDA_ERROR_INVALID_VALUE: it has not so many. With the last it goes; user_objects_bury calls its destructor. */
CUresult user_object_release(struct user_object *o, uint64_t count);
/* The graph holds count references: the caller's (move) or new ones. release: CUDA_ERROR_INVALID_VALUE, it has not so many. */
CUresult graph_retain(struct graph *g, struct user_object *o, unsigned count, bool move);
CUresult graph_release(struct graph *g, struct user_object *o, unsigned count);
/* Destructors of objects without references are called. Without graphs_lock. */
void user_objects_bury(void);
/* Those of objects released between both calls are called by a thread of their own (observed on H200): whoever releases
 * them holds up a stream, and they may wait for what somebody holds who waits for it. Under graphs_lock. */
struct grave *graves_set_aside(void);
void user_objects_bury_apart(struct grave *others);

#endif
