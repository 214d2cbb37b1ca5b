/* Streams in capture. What is issued into one is not done but becomes a node
 * of the capture's graph, behind what the stream was given before. Events carry
 * a capture from stream to stream. A call that would need the captured work to
 * be done is an error, and the capture is invalid from then on.
 *
 * These functions take graphs_lock themselves. While nothing is captured they
 * cost one load. */
#ifndef FL_GRAPH_CAPTURE_H
#define FL_GRAPH_CAPTURE_H

#include "graph/graph.h"

/* At cuInit. */
void capture_init(void);

extern _Atomic unsigned capture_count;

static inline bool capture_any(void) { return atomic_load_explicit(&capture_count, memory_order_relaxed) != 0; }

/* graph NULL: a new one. Else nodes are added to it, behind `before`. */
CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode, struct graph *graph, const CUgraphNode *before,
                       const CUgraphEdgeData *data, size_t count);
/* *out is NULL if there is an error. */
CUresult capture_end(struct stream *s, struct graph **out);

/* g ends, and takes a capture into it along. With graphs_lock. */
void capture_forget_graph(const struct graph *g);

struct capture_info {
    CUstreamCaptureStatus status;
    uint64_t id;
    struct graph *graph;
    const CUgraphNode *before;     /* valid until the capture goes on */
    const CUgraphEdgeData *edges;
    size_t count;
};
/* What cuStreamGetCaptureInfo answers. CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: the legacy stream, while it would order
 * with a captured one. */
CUresult capture_describe(struct stream *s, struct capture_info *out);
/* What is issued into s next comes behind these nodes; add: also behind what it comes behind now.
 * CUDA_ERROR_ILLEGAL_STATE: s is not captured. */
CUresult capture_set_dependencies(struct stream *s, const CUgraphNode *before, const CUgraphEdgeData *data,
                                  size_t count, bool add);

/* An operation is about to be issued into s. Whether it is captured, or must not be issued: *r. */
bool capture_node(struct stream *s, const CUgraphNodeParams *params, CUresult *r);
/* The same with a kernel's attributes. programmatic: kernels before it need not end before it begins. */
bool capture_kernel(struct stream *s, const CUgraphNodeParams *params, const CUlaunchAttribute *attributes,
                    unsigned count, bool programmatic, CUresult *r);
/* The same, and says where the memory is that the node allocates. */
bool capture_alloc(struct stream *s, const CUgraphNodeParams *params, CUdeviceptr *address, CUresult *r);
/* The same for a record of e, a wait for e. Not external: no node, but e carries the capture on. */
bool capture_record(struct event *e, struct stream *s, bool external, CUresult *r);
/* A record of e that is part of the newest launch; what the edges from it say. */
bool capture_record_launch(struct event *e, struct stream *s, CUgraphEdgeData edge, CUresult *r);
bool capture_wait(struct stream *s, struct event *e, bool external, CUresult *r);

/* Something is issued into s that is nothing to do: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT if it would wait for a captured
 * stream. */
CUresult capture_order(struct stream *s);
bool capture_has(const struct stream *s);
/* An operation of s that cannot be captured: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED if s is. */
CUresult capture_refuse(struct stream *s);
/* An operation of s failed before it could be captured: if s is, its capture is invalid. */
void capture_spoil(struct stream *s);
/* Whether a stream is captured into the graph; under graphs_lock. */
bool capture_is_into(const struct graph *g);
/* Something that waits for all streams of c. */
CUresult capture_refuse_context(struct context *c);
/* The event's state is asked for: CUDA_ERROR_CAPTURED_EVENT if its last record was captured. */
CUresult capture_refuse_event(struct event *e);
/* The same, but the capture goes on. */
CUresult capture_check_event(struct event *e);
/* A call that the calling thread's mode may forbid while something is captured. */
CUresult capture_refuse_unsafe(void);
/* The calling thread's mode; the one before. */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);
/* It ends. */
void capture_forget_event(struct event *e);

#endif
