/* What capture.c and captured.c share; under graphs_lock. */
#ifndef FL_GRAPH_CAPTURE_INTERNAL_H
#define FL_GRAPH_CAPTURE_INTERNAL_H

#include "graph/capture.h"

#include <bsd/sys/tree.h>

/* A stream in a capture, or an event recorded there, and the nodes that what follows comes behind. */
struct member {
    void *what;
    struct context *context;
    struct node_list before;
    RB_ENTRY(member) link;
};
RB_HEAD(members, member); /* by address: programs record thousands of events in one capture */

struct capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    uint64_t thread; /* capture_thread of who began it */
    struct graph *graph; /* NULL: it is gone, and the capture invalid */
    bool given; /* the graph is the caller's */
    bool invalid;
    struct stream *origin;
    struct members streams, events;
    struct node_list left; /* where streams that were destroyed had come to */
    struct capture *next;
};

extern struct capture *captures;

/* The calling thread's number, which no later thread has. */
uint64_t capture_thread(void);

/* The capture that the stream is in, the one that the event was last recorded in, and what it knows of them; NULL: none. */
struct capture *capture_of(const struct stream *s, struct member **m);
struct capture *capture_of_event(const struct event *e, struct member **m);
/* What comes next for the member, which is new or known, comes behind these nodes. */
CUresult member_enter(struct members *set, void *what, struct context *context, const struct node_list *before);
void member_leave(struct members *set, struct member *m);
/* All of them, in some order; NULL: there are no more. */
struct member *member_first(struct members *set);
struct member *member_next(struct member *m);

/* An error unless the stream, which was looked up before graphs_lock was taken, is still there: it may have ended, and been
 * forgotten by all captures, meanwhile. */
static inline CUresult capture_still(struct stream *s) { return stream_get(NULL, (CUstream)s, false, &s); }

/* An error after which the capture is invalid. */
static inline CUresult spoil(struct capture *c, CUresult r)
{
    c->invalid = true;
    return r;
}

#endif
