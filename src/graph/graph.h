/* Graphs: operations and what each must come after, to be launched as one; and
 * streams in capture, whose operations become the nodes of a graph instead of
 * being done. What a node does when its turn comes is src/api's affair
 * (graph_run.h): a launch issues each node as the program itself would have.
 *
 * Everything here is guarded by graphs_lock, which callers take, but for what
 * says otherwise. Only an executable graph's own locks are taken before it. */
#ifndef FL_GRAPH_GRAPH_H
#define FL_GRAPH_GRAPH_H

#include "base/objects.h"
#include "graph/list.h"
#include "stream/event.h"
#include "stream/stream.h"

extern pthread_mutex_t graphs_lock;

enum { NODE_ATTRIBUTES = 12 };

/* What a node's parameters point to. */
struct owned {
    struct owned *earlier;         /* which was too small; there the program may still look */
    size_t size, pointers;         /* of bytes; how many of those begin it, which point into the rest */
    _Alignas(16) char bytes[];
};

struct node {                      /* CUgraphNode_st */
    struct object_link link;
    _Atomic bool valid;
    uint64_t id, origin;           /* its own; that of the node it is a copy of, 0: of none */
    unsigned number;               /* in its graph, and in copies of it */
    uint64_t rooted, sunk;         /* numbers that grow: when it came to depend on none, and none on it */
    struct graph *graph;
    CUgraphNodeParams params;      /* with memory of our own */
    struct owned *owned;           /* that memory */
    struct graph *child;           /* of CU_GRAPH_NODE_TYPE_GRAPH */
    struct graph_memory *memory;   /* of CU_GRAPH_NODE_TYPE_MEM_ALLOC */
    bool frees_own;                /* of CU_GRAPH_NODE_TYPE_MEM_FREE: what its graph allocates */
    struct condition *condition;   /* of CU_GRAPH_NODE_TYPE_CONDITIONAL, and what it may run */
    struct graph **bodies;
    unsigned body_count;
    CUlaunchAttribute attribute[NODE_ATTRIBUTES]; /* of kernels */
    unsigned attributes;
    struct node_list before, after; /* what it must come after; what must come after it */
    unsigned born_behind;          /* of `before`, those it was made with */
    bool disabled;                 /* in an executable graph */
    unsigned missing;              /* while nodes are being ordered */
    struct node *partner;          /* during an update: that of the other graph to which it corresponds */
    bool counted;                  /* allocates or frees memory, or has a child, which may */
    struct lane *lane;             /* during a launch: where it is issued, and the point behind it, */
    struct mark *mark;             /* if it is known; NULL: it is done, or not needed yet */
    bool marked;
};

struct graph {                     /* CUgraph_st */
    struct object_link link;
    _Atomic bool valid;
    uint64_t number;               /* of all graphs so far, from 1 */
    struct node_list nodes;        /* in the order of creation */
    unsigned numbers;              /* of nodes, those removed too */
    unsigned counted;              /* nodes that are */
    struct node *parent;           /* the node whose child or body it is */
    unsigned executables;          /* that were made of it and are not destroyed */
    struct user_reference *objects; /* that it keeps alive (user.h) */
    struct condition *conditions;  /* that were made for it */
    struct graph_arena *arenas;    /* what its memory lies in (memory.h) */
    const struct node *marked_for; /* those that this one comes after are marked; NULL: none are */
};

/* What launches of an executable graph run. */
struct edition {
    struct graph *graph;           /* a copy of its own */
    struct node_list order;
    unsigned pending;              /* launches that have conditions to look at, or that user objects have to outlive: until
                                      these have ended it does not change, and is not freed, */
    bool orphan;                   /* but by the last of them */
};

struct executable {                /* CUgraphExec_st */
    struct object_link link;
    _Atomic bool valid;
    pthread_mutex_t launch;        /* one launch at a time; before graphs_lock */
    struct edition *edition;       /* for the next launch */
    uint64_t number;               /* of all so far, from 1 */
    CUgraph of;                    /* the one that it was made of, which may be gone; */
    uint64_t of_number;            /* its number tells */
    uint64_t flags;
    CUevent done;                  /* behind the newest launch */
    struct context *context;       /* of that launch, and its number */
    uint64_t context_id;
};

/* CUDA_ERROR_INVALID_VALUE unless the handle is valid. */
CUresult graph_get(CUgraph handle, struct graph **out);
CUresult node_get(CUgraphNode handle, struct node **out);
CUresult executable_get(CUgraphExec handle, struct executable **out);

/* Those that come after none, and those after which none comes: who became so last comes first (observed on H200). There is
 * room for all nodes of g; how many. */
size_t graph_roots(const struct graph *g, struct node **out);
size_t graph_sinks(const struct graph *g, struct node **out);

/* An empty graph; the end of a graph and its nodes; a copy of one. exact: its nodes are copies of what those of g are copies
 * of, and what their parameters name may be gone. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult graph_new(struct graph **out);
void graph_free(struct graph *g);
CUresult graph_clone(const struct graph *g, bool exact, struct graph **out);
/* Whether the graph allocates memory or has conditions: such a graph can be neither cloned nor made a child, and has
 * one executable graph at a time. */
bool graph_is_single(const struct graph *g);
/* Whether it allocates or frees memory: then nothing of it is taken away. */
bool graph_has_memory(const struct graph *g);
/* The copy of a node in a graph, its children included, or NULL. */
struct node *graph_find_copy(const struct graph *g, const struct node *of);

/* A node behind others, with a copy of its parameters. CUDA_ERROR_INVALID_VALUE: one of those is no node of g, or is named
 * twice; CUDA_ERROR_NOT_SUPPORTED: its child is inside another graph, or g, a copied child, would get memory;
 * CUDA_ERROR_OUT_OF_MEMORY; and what its parameters are refused for. */
CUresult node_add(struct graph *g, const CUgraphNode *before, const CUgraphEdgeData *data, size_t count,
                  const CUgraphNodeParams *params, struct node **out);
void node_remove(struct node *n);
/* Other parameters, copied; where they are refused the node keeps those it has. */
CUresult node_set_params(struct node *n, const CUgraphNodeParams *params);
/* data NULL: plain edges. CUDA_ERROR_INVALID_VALUE: not between two nodes of g, or of a kind that is not permitted, and nothing
 * was done; or one of them is there already (is not there), and those before it were added (removed), as on an H200. */
CUresult edges_add(struct graph *g, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
                   size_t count);
CUresult edges_remove(struct graph *g, const CUgraphNode *from, const CUgraphNode *to, size_t count);
/* Whether an edge to a node of this type may say this; data NULL: nothing. */
bool edge_is_permitted(const struct node *from, CUgraphNodeType to, const CUgraphEdgeData *data);
/* Each node after those it depends on. CUDA_ERROR_INVALID_VALUE if there is no such order. */
CUresult graph_order(struct graph *g, struct node_list *out);

/* params.c: deep copies of parameters, checked. *owned, NULL if there is nothing, is what they point to. */
CUresult params_copy(const CUgraphNodeParams *from, CUgraphNodeParams *to, struct owned **owned);
/* The same without a check. p, which points to old, points to *owned then. */
CUresult params_duplicate(CUgraphNodeParams *p, const struct owned *old, struct owned **owned);
void params_free(struct owned *owned);
/* They take the place of others, which pointed to old, and may lie in there. Returns what they point to from now on. */
struct owned *params_settle(CUgraphNodeParams *p, struct owned *owned, struct owned *old);

/* executable.c */
/* A copy of g to be launched. *why and *culprit say what keeps g from being one. */
CUresult executable_new(struct graph *g, uint64_t flags, CUgraphInstantiateResult *why, const struct node **culprit,
                        struct executable **out);
/* Its handle is invalid at once; what it runs is freed when nothing of it is left to run. With graphs_lock and
 * x->launch held. */
void executable_free(struct executable *x);
/* Between these nothing of x is issued. executable_lock takes graphs_lock as well. */
void executable_lock(struct executable *x);
void executable_unlock(struct executable *x);
/* x is about to change: launches that are not over keep what they run. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult executable_detach(struct executable *x);
/* A launch is pending; it has ended. Without graphs_lock. */
void edition_begin(struct edition *e);
void edition_end(struct edition *e);
/* A node of an executable graph takes other parameters; CUDA_ERROR_INVALID_VALUE if these are no other operands of the
 * same operation. */
CUresult executable_set_node(struct node *n, const CUgraphNodeParams *params);
/* Takes the parameters of g, whose shape is the same, or says why not. */
CUresult executable_update(struct executable *x, struct graph *g, CUgraphExecUpdateResultInfo *info);

/* user.c: objects that graphs keep alive */
CUresult user_references_copy(const struct user_reference *from, struct user_reference **to);
void user_references_drop(struct user_reference **list);

#endif
